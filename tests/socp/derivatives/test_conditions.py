"""The compiled optimality conditions compared with NumPy: points and their derivatives satisfy their equations."""

import numpy as np
import pytest

from socp.derivatives.conditions import Conditions, differentiate, find_point
from socp.derivatives.linearization import Linearization, RowForm
from socp.derivatives.sides import note_cones
from socp.linalg.csc import csc_of_dense
from socp.problem.hessian import hessian_of

NO_CONES = np.zeros(1, np.int64), np.zeros(0, bool)


def planted(seed, bounds, n=6, m=5, k=3):
    """Return programs with strictly complementary solutions: P, B, rows, c, sides, x, w and the kinds of the rows."""
    rng = np.random.default_rng(seed)
    r = m + n * bounds
    F = rng.normal(size=(k, n, n - 2))
    P, B = F @ np.swapaxes(F, 1, 2) + 0.5 * np.eye(n), rng.normal(size=(k, m, n))
    x = rng.normal(size=(k, n))
    kinds = np.concatenate([rng.permutation([0, 1, 2, 3, 4]), np.tile([1, 3, 2, 3, 4, 3], 3)])[:r]
    rows = np.concatenate([B, np.broadcast_to(np.eye(n), (k, n, n))], axis=1)[:, :r]
    a = np.einsum("kri,ki->kr", rows, x)
    # kinds: an equality, at the lower side, at the upper side, between, free
    low = np.choose(kinds, [a, a, a - 2.0, a - 1.5, np.full_like(a, -np.inf)])
    up = np.choose(kinds, [a, a + 3.0, a, a + 1.0, np.full_like(a, np.inf)])
    w = np.choose(kinds, [rng.normal(size=(k, r)), -0.5 - rng.random((k, r)), 0.5 + rng.random((k, r)), 0.0, 0.0])
    c = -np.einsum("kij,kj->ki", P, x) - np.einsum("kri,kr->ki", rows, w)
    return rng, P, B, rows, c, low, up, x, w, kinds


def conditions_of(P, B, c, low, up, x, w, right, mu=0.0, slacks=None):
    (k, n), r = x.shape, w.shape[1]
    slacks = np.zeros((k, 0)) if slacks is None else slacks
    answer = np.concatenate([x, w, np.full((k, r), np.nan), slacks, np.zeros((k, 2))], axis=1)
    found = Conditions(
        n=n, m=B.shape[1], r=r, given=slacks.shape[1], P=P.reshape(k, -1), B=B.reshape(k, -1), c=c,
        limits=np.concatenate([low, up], axis=1), answer=answer, right=right,
    )  # fmt: skip
    found.sides.mu = mu
    note_cones(found.sides, *NO_CONES, r)
    return found, answer


@pytest.mark.parametrize("mu", [0.0, 0.05])
@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_points_and_derivatives_leave_nothing(seed, bounds, mu):
    rng, P, B, rows, c, low, up, x, w, kinds = planted(seed, bounds)
    (k, n), r = x.shape, w.shape[1]
    near = x + 1e-4 * rng.normal(size=x.shape) if mu == 0.0 else x
    begun = w * (1.0 + 1e-4 * rng.random(w.shape)) if mu == 0.0 else w
    right = rng.normal(size=(k, n + 2 * r))
    given = right.copy()
    found, answer = conditions_of(P, B, c, low, up, near, begun, right, mu)
    differentiate(found, 0, k)
    held = kinds < 3
    for i in range(k):
        at, dual, share = np.split(answer[i, : n + 2 * r], [n, n + r])
        value = rows[i] @ at
        assert answer[i, -2] > 0.0 and answer[i, -1] == 1.0
        np.testing.assert_allclose(P[i] @ at + c[i] + rows[i].T @ dual, 0.0, atol=1e-9)
        above, below = up[i] - value, value - low[i]
        if mu == 0.0:
            np.testing.assert_allclose(at, x[i], atol=1e-9)
            np.testing.assert_allclose(dual, w[i], atol=1e-9)
            inverse = np.where(held, 0.0, np.inf)
        else:
            two = (kinds > 0) & (kinds < 4)
            above, below = np.where(kinds == 0, 1.0, above), np.where(kinds == 0, np.inf, below)
            path = mu / above[two] - mu / below[two]
            np.testing.assert_allclose(dual[two], path, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose((up[i] - value)[kinds == 0], 0.0, atol=1e-9)
            theta = mu / above**2 + mu / below**2
            inverse = np.where(kinds == 0, 0.0, np.where(kinds == 4, np.inf, 1.0 / np.where(kinds == 4, 1.0, theta)))
            np.testing.assert_allclose(share[two], (mu / above[two] ** 2 / theta[two]), rtol=1e-6)
        a, upper, lower = np.split(given[i], [n, n + r])
        b = share * upper + (1.0 - share) * lower
        u, dw = right[i, :n], right[i, n : n + r]
        np.testing.assert_allclose(P[i] @ u + rows[i].T @ dw, a, atol=1e-8)
        finite = np.isfinite(inverse)
        np.testing.assert_allclose((rows[i] @ u - np.where(finite, inverse, 0.0) * dw)[finite], b[finite], atol=1e-8)
        np.testing.assert_array_equal(dw[~finite], 0.0)
        if mu == 0.0:  # the upper side's part is zero for a row at its lower side
            assert share[kinds == 1].tolist() == [0.0] * (kinds == 1).sum()
            assert (share[kinds == 2] == 1.0).all() and (share[kinds == 0] == 0.5).all()


def test_what_is_degenerate_is_told():
    """Two equal active rows, more rows than variables, a singular P, and a zero multiplier at its side."""
    eye = np.eye(2)[None]
    equal = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    for P, B, quality in ((eye, equal, 0.0), (0.0 * eye, equal[:, :1], 0.0), (eye, equal[:, :1], 1.0)):
        r = B.shape[1]
        w = np.full((1, r), 1.0)
        x, c = np.array([[0.5, 0.5]]), -0.5 * P.sum(axis=1) - B.sum(axis=1)
        found, answer = conditions_of(P, B, c, np.full((1, r), -9.0), np.ones((1, r)), x, w, np.ones((1, 2 + r)))
        differentiate(found, 0, 1)
        assert (answer[0, -2] > 0.0) == quality, (P, B)
        if not quality:
            np.testing.assert_array_equal(found.right, 1.0)  # unchanged
    many = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]])
    found, answer = conditions_of(eye, many, -np.ones((1, 2)), np.full((1, 3), -9.0), np.array([[0.0, 0.0, 0.0]]),
                                  np.zeros((1, 2)), np.array([[0.5, 0.5, 0.5]]), np.ones((1, 5)))  # fmt: skip
    differentiate(found, 0, 1)
    assert answer[0, -2] == 0.0
    found, answer = conditions_of(eye, equal[:, :1], np.zeros((1, 2)), np.full((1, 1), -9.0), np.zeros((1, 1)),
                                  np.zeros((1, 2)), np.zeros((1, 1)), np.ones((1, 3)))  # fmt: skip
    find_point(found, 0)
    assert answer[0, -1] == 0.0 and answer[0, -2] > 0.0


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("seed, extra", [(0, False), (1, False), (0, True), (1, True)])
def test_of_all_multipliers_those_of_least_norm(seed, extra, is_dense):
    """Rows with one entry are factored as bounds, unless the remaining system is singular."""
    rng = np.random.default_rng(seed)
    n, F = 5, rng.normal(size=(5, 5))
    P, single = F @ F.T, np.diag(rng.uniform(1.0, 2.0, n))[[0, 3]]
    B = np.vstack(
        [single, rng.normal(size=(1, n)), *[rng.normal(size=2) @ single] * extra]
    )  # the last row depends on the first two
    r, x = len(B), rng.normal(size=n)
    w, active = 0.5 + rng.random(r), np.arange(r) != 2
    w[2] = 0.0
    limits = np.concatenate([np.full(r, -np.inf), B @ x + ~active])
    form = RowForm(hessian_of(csc_of_dense(P), n), -P @ x - B.T @ w, (csc_of_dense(B),), limits, NO_CONES, r)
    found = Linearization(form, (x, w), (), 0.0, is_dense)
    assert found.differentiable != extra
    a, b, own = rng.normal(size=n), B @ rng.normal(size=n), B[active]
    K = np.block([[P, own.T], [own, np.zeros((len(own), len(own)))]])
    expected = np.linalg.lstsq(K, np.concatenate([a, b[active]]), rcond=1e-12)[0]
    u, dw = found.solve(a, b)
    np.testing.assert_allclose(np.concatenate([u, dw[active]]), expected, rtol=1e-6, atol=1e-6)
    assert dw[2] == 0.0
