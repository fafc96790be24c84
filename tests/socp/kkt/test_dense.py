"""Dense KKT systems: the factor, and the treatment of a singular Hessian."""

import numpy as np
import pytest

from socp import ConeProgram
from socp.form.standard import StandardForm
from socp.kkt.dense import DenseKKT
from socp.kkt.policy import PIVOT_EPS
from tests.support.kkt_systems import factor_precisely
from tests.support.standard_forms import dense_kkt, dense_M, mixture, operator_matrix, scaling_point


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("curvature", [0.25, 4.0])
def test_rho_brings_the_equalities_to_the_size_of_the_hessian(size, curvature):
    A = size * np.array([[1.0, -0.5, 0.25], [0.0, 0.5, 1.0]])
    program = ConeProgram(np.ones(3), A=A, b=np.ones(2), P=curvature * np.diag([1.0, 0.5, 0.0]))
    kkt = DenseKKT(StandardForm(program, False), None, 0)
    assert kkt.rho == pytest.approx(max(1.0, curvature) / max(1.0, size) ** 2, rel=1e-14)


@pytest.mark.parametrize("seed, dims, wide", [
    (0, [], 1.0), (0, [3, 7], 1.0), (0, [3, 7], 1e3), (1, [2, 12], 1.0), (1, [], 1.0)
])  # fmt: skip
def test_the_factor_multiplied_back(seed, dims, wide):
    # H = P + G'W^-2 G + rho A'A, by its lower triangle; G'W^-2 G is small where W is large
    form = mixture(seed, dims)
    w, eta = scaling_point(form, seed)
    w[: form.l] *= wide
    eta *= wide
    n, p = form.n, form.p
    kkt = DenseKKT(form, 0.0, 0)
    rhs = np.random.default_rng(seed).normal(size=(2, n + p + form.m))
    out = np.full_like(rhs, np.nan)
    assert factor_precisely(kkt, w, eta, rhs, out) == 0
    K = dense_kkt(form, w, eta)
    assert np.abs(out @ K - rhs).max() <= 1e-14 * np.linalg.cond(K) * np.abs(rhs).max()  # nothing was refined
    L, A, scaled = np.tril(kkt.H.reshape(n, n).T), dense_M(form)[:p], dense_kkt(form, w, eta)[n + p :, :n]
    without = operator_matrix(form.P, n) + scaled.T @ scaled
    H = without + kkt.rho * min(1.0, without.diagonal().max()) * A.T @ A
    assert kkt.rho > 0.0
    np.testing.assert_allclose(L @ L.T, H, rtol=0, atol=1e-13 * n * H.diagonal().max())
    Y, S = kkt.Y.reshape(p, n).T, np.tril(kkt.S.reshape(p, p).T)
    np.testing.assert_allclose(S @ S.T, Y.T @ Y, rtol=0, atol=1e-13 * n * (Y**2).sum())


@pytest.mark.parametrize("n", [2, 5, 40])
def test_a_singular_hessian_leaves_no_pivot_of_rounding(n):
    # v v' has one nonzero pivot; the others are at least what is added to the diagonal
    v = np.random.default_rng(n).uniform(0.5, 2.0, n)
    kkt = DenseKKT(StandardForm(ConeProgram(np.ones(n), P=np.outer(v, v)), False), 0.0, 0)
    rhs = np.ones(n)
    assert factor_precisely(kkt, np.empty(0), np.empty(0), rhs, np.empty_like(rhs)) == 0
    pivots = np.diag(kkt.H.reshape(n, n)) ** 2
    assert (pivots[1:] > 0.3 * PIVOT_EPS * v[1:] ** 2).all()
