"""The projection onto sides and cones, smoothed or not, compared with NumPy: values, weights, shares and frames."""

import numpy as np
import pytest
from scipy.optimize import brentq

from socp.derivatives.sides import Sides, begin_at, is_weak, note_cones, project, reflect

INF = np.inf


def sides_of(before, dims, mu):
    """Return `before` rows between sides and then cones of dimensions `dims`; those of three rows are orthants."""
    r = before + sum(dims)
    found = Sides(r=r)
    found.mu = mu
    start = np.concatenate([[0], np.cumsum(dims)]).astype(np.int64)
    note_cones(found, start, np.array([dim != 3 for dim in dims], dtype=bool), before)
    return found


def rooted(t, mu):
    """Return the s > 0 with s - mu / s = t, or max(t, 0) if mu = 0."""
    return 0.5 * (t + np.sqrt(t * t + 4.0 * mu)) if mu else np.maximum(t, 0.0)


def pi_of_row(v, low, up, mu):
    """Return the a with v - a = mu / (up - a) - mu / (a - low), or v clipped to [low, up] if mu = 0."""
    if mu == 0.0 or low == up or (low == -INF and up == INF):
        return np.clip(v, low, up)
    if low == -INF:
        return up - rooted(up - v, mu)
    if up == INF:
        return low + rooted(v - low, mu)
    return brentq(lambda a: (v - a) * (up - a) * (a - low) - mu * (a - low) + mu * (up - a), low, up, xtol=1e-15)


def pi_of_cone(v, mu):
    t, r = -v[0], np.linalg.norm(v[1:])
    low, high = rooted(np.array([t - r, t + r]), mu)
    return -np.concatenate([[0.5 * (low + high)], 0.5 * (high - low) * -v[1:] / r])


@pytest.mark.parametrize("mu", [0.0, 1e-3, 0.7])
def test_rows_are_projected_onto_their_sides(mu):
    pairs = [(1.0, 1.0), (-INF, 2.0), (-1.0, INF), (-INF, INF), (-1.0, 2.0), (0.0, 0.5), (-1e3, 1e-3)]
    rows = [(low, up, v) for low, up in pairs for v in (-4.0, -1.1, 0.2, 0.49, 0.51, 1.9, 2.1, 60.0)]
    low, up, v = np.array(rows).T.copy()
    found = sides_of(len(rows), (), mu)
    found.low[:], found.up[:], found.origin[:] = low, up, 0.0
    project(found, v)
    a = np.array([pi_of_row(*row, mu) for row in zip(v, low, up, strict=True)])
    np.testing.assert_allclose(found.a, a, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.w, v - a, rtol=1e-9, atol=1e-9)
    is_equal, is_free = low == up, (low == -INF) & (up == INF)
    with np.errstate(divide="ignore", invalid="ignore"):
        above, below = mu / (up - a) ** 2, mu / (a - low) ** 2
        if mu == 0.0:
            above, below = np.where(v > up, INF, 0.0), np.where(v < low, INF, 0.0)
        share = above / (above + below) if mu else (v >= 0.5 * (low + up)) * 1.0
    np.testing.assert_allclose(found.theta, np.where(is_equal, INF, above + below), rtol=1e-6)
    np.testing.assert_allclose(found.share, np.where(is_equal, 0.5, np.where(is_free, 1.0, share)), rtol=1e-6)


def test_what_is_beyond_a_side_by_rounding_is_at_it():
    found = sides_of(4, (), 0.0)
    found.low[:], found.up[:], found.origin[:] = -INF, 0.0, [0.0, 1.0, 1.0, -1e6]
    project(found, np.array([0.0, 0.5e-14, 2e-14, 0.5e-8]))
    assert found.theta.tolist() == [0.0, 0.0, INF, 0.0]


@pytest.mark.parametrize("mu", [0.0, 1e-2, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_cones_are_projected_and_turned_into_the_frame_of_their_weights(seed, mu):
    rng, dims, before = np.random.default_rng(seed), (2, 1, 3, 5, 4, 2, 6), 2
    found = sides_of(before, dims, mu)
    starts = before + np.concatenate([[0], np.cumsum(dims)])
    cones = [slice(starts[k], starts[k + 1]) for k in (0, 3, 4, 5, 6)]
    assert found.cones == 5 and found.cone.tolist() == [-1, -1, 0, 0, *[-1] * 4, *[1] * 5, *[2] * 4, 3, 3, *[4] * 6]
    assert [(found.first[k], found.last[k]) for k in range(5)] == [(c.start, c.stop) for c in cones]
    found.low[:], found.up[:], found.origin[:] = -INF, 0.0, 0.0
    v = rng.normal(size=found.r)
    v[cones[2].start] = (9.0, -9.0, 0.1)[seed]  # all cases: to 0, unchanged, to the boundary
    project(found, v)
    Q, back = np.eye(found.r).ravel(), np.eye(found.r).ravel()
    reflect(found, found.unit, Q, found.r, False)
    reflect(found, found.unit, back, found.r, True)
    Q, back = Q.reshape(found.r, -1), back.reshape(found.r, -1)
    np.testing.assert_allclose(Q @ Q.T, np.eye(found.r), atol=1e-14)
    np.testing.assert_allclose(Q.T, back, atol=1e-14)
    for cone in cones:
        np.testing.assert_allclose(found.a[cone], pi_of_cone(v[cone], mu), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.w[cone], v[cone] - pi_of_cone(v[cone], mu), rtol=1e-10, atol=1e-12)
        assert (found.share[cone] == 1.0).all()
        size, step = cone.stop - cone.start, 1e-6
        D = [(pi_of_cone(v[cone] + e, mu) - pi_of_cone(v[cone] - e, mu)) / (2 * step) for e in step * np.eye(size)]
        turned = Q[cone, cone]
        np.testing.assert_allclose(turned.T @ np.diag(1.0 / (1.0 + found.theta[cone])) @ turned, D, atol=1e-7)


@pytest.mark.parametrize("mu, theta", [(0.0, 0.0), (0.3, 0.3 / (0.5 * (2.0 + np.sqrt(5.2))) ** 2)])
def test_a_cone_at_its_axis_needs_no_frame(mu, theta):
    found = sides_of(0, (4,), mu)
    project(found, np.array([-2.0, 0.0, 0.0, 0.0]))
    assert found.unit[0] == 0.0 and not found.a[1:].any()
    np.testing.assert_allclose(found.theta, theta, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_rows_begin_at_the_nearer_of_their_sides(seed):
    rng, r, given = np.random.default_rng(seed), 60, 20
    kinds = rng.integers(0, 5, r)  # an equality, lower, upper, both, free
    kinds[-given:] = np.where(rng.random(given) < 0.5, 2, 4)
    a, w = rng.normal(size=(2, r))
    low, up = a - rng.random(r), a + rng.random(r)
    low, up = np.where(np.isin(kinds, (2, 4)), -INF, low), np.where(np.isin(kinds, (1, 4)), INF, up)
    low[kinds == 0] = up[kinds == 0]
    slacks, found, v = rng.random(given), sides_of(r, (), 0.0), np.empty(r)
    found.a[:], found.w[:] = a, w
    begin_at(found, low, up, slacks, v)
    above, below = up - a, a - low
    above[-given:], below[-given:] = slacks, INF
    is_free, at_upper = kinds == 4, above <= below
    side = np.where(is_free, 0.0, np.where(at_upper, up, low))
    expected = np.where(at_upper, w - above, w + below)
    expected[kinds == 0] = w[kinds == 0]
    expected[is_free] = np.where(np.arange(r) >= r - given, 0.0, a)[is_free]
    np.testing.assert_allclose(v, expected, rtol=1e-14)
    for part, values in ((found.origin, side), (found.low, low - side), (found.up, up - side)):
        np.testing.assert_array_equal(part, values)


def test_slacks_and_multipliers_are_complementary_by_their_digits():
    weak = [(0.0, 0.0), (1.0, 1.0), (1.0, 1.1e-3), (1.1e-3, 1.0), (-1.0, -2.0)]
    strict = [(1.0, 0.0), (0.0, 1.0), (1.0, 0.9e-3), (0.9e-6, 1e-3), (-1.0, 1.0), (2.0, -1.0)]
    assert [is_weak(*pair) for pair in weak + strict] == [True] * 5 + [False] * 6
    both, tail = np.array([-3.0]), np.array([2.0])  # between -3 and 2 at 2 - s, its multiplier w
    for (s, w), is_strict in [(pair, False) for pair in weak[:4]] + [(pair, True) for pair in strict[:4]]:
        for sign in (1.0, -1.0):
            found = sides_of(1, (), 0.0)
            found.a[0], found.w[0] = (2.0 - s, w) if sign > 0.0 else (s - 3.0, -w)
            assert begin_at(found, both, tail, np.zeros(0), np.empty(1)) == is_strict, (s, w, sign)
    for gap, is_strict in ((0.5e-6, False), (5e-6, True), (-0.5e-6, False), (-5e-6, True)):
        for size in (4.0, 0.01):
            found = sides_of(0, (4,), 0.0)
            s = size * np.array([1.0 + gap, 0.6, 0.0, -0.8])  # v = w - s is at the cone's boundary up to `gap`
            found.a[:], found.w[:] = -s, 0.0
            assert begin_at(found, np.full(4, -INF), np.zeros(4), s, np.empty(4)) == is_strict, gap
