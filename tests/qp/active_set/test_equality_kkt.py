"""The KKT system of equalities: its solves against dense ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from qp import QuadraticProgram
from qp.active_set.equality_kkt import correct, equality_kkt, rows_of
from qp.active_set.sparse import csc_with_entries
from socp.linalg.ldl.factors import solve

PROXIMAL = 1e-4


def made(P, E):
    n, none = E.shape[1], np.zeros(0, int)
    program = QuadraticProgram(P, np.zeros(n), E, 0.0, 0.0)
    rows = rows_of(sp.csr_array(program.A), np.arange(program.m), none, n)
    return equality_kkt(csc_with_entries(program.hessian), rows, rows[:0], PROXIMAL)


def solved(kkt, rhs):
    z = np.empty(rhs.size)
    kkt.rhs[:] = rhs
    solve(kkt.factors, 1, kkt.rhs, z)
    correct(kkt, z)
    return z


def test_a_solve_is_that_of_the_dense_matrix():
    rng = np.random.default_rng(0)
    n, p = 12, 5
    F, E = rng.normal(size=(n, n)), rng.normal(size=(p, n))
    kkt, ldl = made(F @ F.T, E)
    K = np.block([[F @ F.T, E.T], [E, np.zeros((p, p))]])
    rhs = rng.normal(size=n + p)
    assert ldl.nnz > 0 and kkt.rho == 0.0 and not kkt.corrects
    np.testing.assert_allclose(solved(kkt, rhs), np.linalg.solve(K, rhs), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_P_must_be_definite_only_where_the_equalities_hold(scale):
    E = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, 1.0]])
    P = scale * np.diag([0.0, 0.0, 1.0])  # E x = 0 is spanned by (1, 1, -1)
    kkt, _ = made(P, E)
    K = np.block([[P, E.T], [E, np.zeros((2, 2))]])
    rhs = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert kkt.rho == 0.0
    np.testing.assert_allclose(solved(kkt, rhs), np.linalg.solve(K, rhs), rtol=1e-8, atol=1e-9)


def test_a_singular_system_has_a_proximal_term():
    P, E = np.diag([0.0, 0.0, 4.0]), np.array([[0.0, 1.0, 1.0]])  # P d = E d = 0 for d = (1, 0, 0)
    kkt, _ = made(P, E)
    assert kkt.rho == PROXIMAL * 4.0
    K = np.block([[P + kkt.rho * np.eye(3), E.T], [E, np.zeros((1, 1))]])
    np.testing.assert_allclose(solved(kkt, np.ones(4)), np.linalg.solve(K, np.ones(4)), rtol=1e-8)


def test_equalities_that_depend_on_each_other_are_consistent():
    rng = np.random.default_rng(1)
    E = rng.normal(size=(3, 6))
    kkt, _ = made(np.eye(6), np.vstack([E, E[0] + E[1]]))
    rhs = np.append(rng.normal(size=6), [1.0, 2.0, 3.0, 3.0])
    z, expected = solved(kkt, rhs), made(np.eye(6), E)
    one = solved(expected[0], rhs[:-1])
    np.testing.assert_allclose(z[:6], one[:6], rtol=1e-8)
    np.testing.assert_allclose(np.vstack([E, E[0] + E[1]]).T @ z[6:], E.T @ one[6:], rtol=1e-7, atol=1e-9)


def test_a_negative_P_has_no_factor():
    assert made(-np.eye(3), np.ones((1, 3))) is None


def test_rows_of_a_matrix_and_of_the_identity():
    A = sp.csr_array(np.arange(12.0).reshape(3, 4))
    expected = np.vstack([A.toarray()[[2, 0]], np.eye(4)[[1, 3]]])
    np.testing.assert_array_equal(rows_of(A, np.array([2, 0]), np.array([1, 3]), 4).toarray(), expected)
