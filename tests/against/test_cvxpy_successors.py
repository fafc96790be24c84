"""Programs of successors of the papers, against other statements of the same problems in cvxpy."""

import cvxpy as cp
import numpy as np
import pytest

import qp
import socp
from models.programs.explanations import rationale_program
from models.programs.margins import adaptive_dual
from models.programs.moments import biased_minimax_program, minimax_program
from tests.against.test_cvxpy_svm import solve
from tests.support.svm_data import two_classes


@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_annotators_rationales(mu):
    """The contrast examples (x - v) / mu are samples of a machine without b for them, as the paper has it."""
    X, y = two_classes(40, 5)
    y = y.astype(float)
    rng = np.random.default_rng(0)
    owner = rng.integers(0, 40, 60)
    V = X[owner] * (rng.random((60, 5)) < 0.7)
    C, Q = rng.uniform(0.5, 2.0, 40), rng.uniform(0.1, 0.5, 60)
    w, b = cp.Variable(5), cp.Variable()
    hinge = C @ cp.pos(1.0 - cp.multiply(y, X @ w + b))
    contrast = Q @ cp.pos(1.0 - cp.multiply(y[owner], ((X[owner] - V) / mu) @ w))
    expected = solve(0.5 * cp.sum_squares(w) + hinge + contrast)
    p = rationale_program(X, y, C, V, owner, Q, mu)
    found = qp.solve(p.program(), tol=1e-10)
    assert found.objective == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(found.x[p.w], w.value, atol=1e-5)


def test_an_older_machine_adapted():
    X, y = two_classes(40, 4)
    rng = np.random.default_rng(1)
    old, C = X @ rng.normal(size=4) + 0.3, rng.uniform(0.2, 3.0, 40)
    w = cp.Variable(4)
    expected = solve(0.5 * cp.sum_squares(w) + C @ cp.pos(1.0 - cp.multiply(y, old + X @ w)))
    found = qp.solve(adaptive_dual(np.outer(y, y) * (X @ X.T), y, C, old), tol=1e-10)
    assert -found.objective == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(X.T @ (found.x * y), w.value, atol=1e-5)


def test_the_minimum_error_minimax_machine():
    """With w'd = 1 the greatest kappa_1 leaves kappa_1 |R_1 w| + kappa |R_2 w| <= 1 no room."""
    rng = np.random.default_rng(2)
    d, roots = 2.0 * rng.normal(size=4), [rng.normal(size=(6, 4)) / 4.0, rng.normal(size=(6, 4)) / 4.0]
    least = socp.solve(minimax_program(d, roots).program(), tol=1e-10).objective
    right = []
    for kappa in (0.5 / least, 1.0 / least, 1.2 / least):
        first = -socp.solve(biased_minimax_program(d, roots, kappa).program(), tol=1e-10).objective
        w = cp.Variable(4)
        lengths = first * cp.norm(roots[0] @ w) + kappa * cp.norm(roots[1] @ w)
        assert cp.Problem(cp.Minimize(lengths), [w @ d == 1.0]).solve(cp.CLARABEL) == pytest.approx(1.0, rel=1e-6)
        right.append([k**2 / (1.0 + k**2) for k in (first, kappa)])
        if kappa == 1.0 / least:  # both classes alike: the minimax machine itself
            assert first == pytest.approx(kappa, rel=1e-6)
    for theta, other in ((0.9, 0), (0.1, 2)):  # with unequal classes another kappa has the smaller error
        assert np.dot([theta, 1.0 - theta], right[other]) > np.dot([theta, 1.0 - theta], right[1])
