"""Programs of machine learning agree with the papers, and their answers satisfy the papers' optimality conditions."""

import numpy as np
import pytest

import qp
from bench.answers import answer
from bench.answers.verify import verify
from bench.programs import generate, learning


def test_primal_and_dual_support_vector_machines_have_opposite_values():
    dual = answer.solve(program := generate.svm_dual_linear(60, 3))
    primal = answer.solve(other := generate.svm_primal(60, 3))
    values = [verify(p, r.x, r.y, r.z).objective for p, r in ((program, dual), (other, primal))]
    assert values[0] == pytest.approx(-values[1], rel=1e-6)


def test_ea_svm_dual_gives_the_weights_of_its_primal():
    """Compare with min 1/2 ||w||^2 + C sum xi + Q sum |w'(x_i - v_i)|, written here from section 2.2 directly."""
    size, C, Q = 14, 1.0, 0.1
    points, explained, labels = learning._explained_points(size, 0)
    dim = points.shape[1]
    dual_program = learning.ea_svm_linear(size, 0)
    dual = answer.solve(dual_program)
    one, zero = np.eye(size), np.zeros((size, size))
    #  x = (w, b, xi, delta)
    apart, column = points - explained, np.zeros((size, 1))
    rows = np.block(
        [
            [points * labels[:, None], labels[:, None], one, zero],
            [apart, column, zero, one],
            [-apart, column, zero, one],
        ]
    )
    primal_program = qp.QuadraticProgram(
        np.diag(np.r_[np.ones(dim), np.zeros(1 + 2 * size)]),
        np.r_[np.zeros(dim + 1), np.full(size, C), np.full(size, Q)],
        rows,
        np.r_[np.ones(size), np.zeros(2 * size)],
        None,
        np.r_[np.full(dim + 1, -np.inf), np.zeros(2 * size)],
    )
    primal = answer.solve(primal_program)
    w = dual_program.P.F.T @ dual.x
    assert np.allclose(w, primal.x[:dim], atol=1e-5)
    values = [verify(p, r.x, r.y, r.z).objective for p, r in ((dual_program, dual), (primal_program, primal))]
    assert values[0] == pytest.approx(-values[1], rel=1e-6)


def test_the_cubic_kernel_of_the_ea_svm_is_the_inner_product_of_its_monomials():
    size = 10
    points, explained, labels = learning._explained_points(size, 0)
    assert points.shape[1] == 2

    def monomials(u):  # (1 + u'v / 2)^3 expanded: 1, u, uu, uuu
        u = u / np.sqrt(2.0)
        parts = [[1.0], np.sqrt(3.0) * u, np.sqrt(3.0) * np.outer(u, u).ravel()]
        return np.concatenate([*parts, np.einsum("i,j,k", u, u, u).ravel()])

    X, V = np.array([*map(monomials, points)]), np.array([*map(monomials, explained)])
    F = np.vstack([X * labels[:, None], X - V])
    assert np.allclose(learning.ea_svm_cubic(size, 0).P, F @ F.T, atol=1e-10)


def test_bilevel_step_one_at_a_point():
    """Compare the objective and every constraint of (4.17)-(4.24), at some (w, b), with those of the program."""
    size = 4
    program = learning.bilevel(size, 2)
    documents, labels, means = learning.documents(np.random.default_rng(2), size)
    words = documents.shape[1]
    assert set(np.unique(documents.toarray())) == {0.0, 1.0}
    rng = np.random.default_rng(0)
    w, b, xi, zeta = rng.normal(size=words), 0.3, rng.uniform(size=size), rng.uniform(size=2)
    norm = np.linalg.norm(w)
    x = np.concatenate([w, [b, norm], xi, zeta])
    s = program.h - program.G @ x
    assert np.allclose(s[:size], labels * (documents @ w + b) - 1 + xi)
    prior = [zeta[0] - norm - (w @ means[0] + b) / 0.2, zeta[1] - norm + (w @ means[1] + b) / 0.2]
    assert np.allclose(s[size : size + 2], 0.2 * np.array(prior))
    assert np.allclose(s[size + 2 : 2 * size + 4], np.concatenate([xi, zeta]))
    assert np.allclose(s[2 * size + 4 :], [norm, *w])
    assert program.c @ x == pytest.approx(norm + xi.sum() + zeta.sum())
