"""The algebra of the cones against its definitions, entry by entry."""

import itertools

import numpy as np
import pytest

from socp.cones import product as cones
from tests.support.cone_points import SHAPES, arrow, identity, inside, layout


def eigenvalues(l, ptr, v):
    parts = [v[:l]]
    for start, stop in itertools.pairwise(ptr):
        tail = np.linalg.norm(v[start + 1 : stop])
        parts.append(v[start] + np.array([-tail, tail]))
    return np.concatenate(parts)


@pytest.fixture(params=SHAPES, ids=str)
def cone(request):
    return layout(request.param)


def test_the_projection_is_the_nearest_point(cone):
    l, ptr = cone
    for seed in range(9):
        v = np.random.default_rng(seed).normal(size=ptr[-1]) * (1.0 + 3.0 * identity(l, ptr) * (seed % 3 - 1))
        near = v.copy()
        cones.project(l, ptr, near)
        # Moreau: v = near - polar part, both in the self-dual cone, orthogonal to each other
        assert np.append(eigenvalues(l, ptr, near), eigenvalues(l, ptr, near - v)).min(initial=0.0) >= -1e-14
        assert near @ (near - v) == pytest.approx(0.0, abs=1e-13)


def test_product_is_bilinear_commutative_and_has_the_identity(cone):
    l, ptr = cone
    rng = np.random.default_rng(0)
    u, v, w = rng.normal(size=(3, ptr[-1]))
    out, other = np.empty_like(u), np.empty_like(u)
    cones.product(l, ptr, u, v, out)
    np.testing.assert_allclose(out, arrow(l, ptr, u) @ v, rtol=1e-14, atol=1e-14)
    cones.product(l, ptr, v, u, other)
    np.testing.assert_array_equal(out, other)
    cones.product(l, ptr, u, identity(l, ptr), other)
    np.testing.assert_array_equal(other, u)
    # the trace form is associative: (u o v)'w = v'(u o w)
    cones.product(l, ptr, u, w, other)
    assert out @ w == pytest.approx(v @ other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("distance", [None, 1e-3, 1e-7])
@pytest.mark.parametrize("size", [1e-100, 1e-8, 1.0, 1e8, 1e100])
def test_divide_is_the_inverse_of_product(cone, distance, size):
    l, ptr = cone
    rng = np.random.default_rng(2)
    lam, d = size * inside(l, ptr, rng, distance), rng.normal(size=ptr[-1])
    u, back = np.empty_like(d), np.empty_like(d)
    cones.divide(l, ptr, lam, d, u)
    cones.product(l, ptr, lam, u, back)
    # the condition number of lam is 1 / distance
    np.testing.assert_allclose(back, d, rtol=1e-12 / (distance or 0.1), atol=1e-13 / (distance or 0.1))


def test_add_identity(cone):
    l, ptr = cone
    v = np.random.default_rng(3).normal(size=ptr[-1])
    out = v.copy()
    cones.add_identity(l, ptr, -0.75, out)
    np.testing.assert_allclose(out, v - 0.75 * identity(l, ptr), rtol=1e-15, atol=1e-15)


def test_margin_is_the_smallest_eigenvalue(cone):
    l, ptr = cone
    rng = np.random.default_rng(4)
    for v in rng.normal(size=(20, ptr[-1])):
        margin = cones.margin(l, ptr, v)
        rounding = 1e-14 * np.linalg.norm(v)  # t and ||u|| may cancel
        assert margin == pytest.approx(eigenvalues(l, ptr, v).min(initial=np.inf), rel=0.0, abs=rounding)
        if ptr[-1]:
            shifted = v.copy()
            cones.add_identity(l, ptr, -margin, shifted)
            assert cones.margin(l, ptr, shifted) == pytest.approx(0.0, abs=1e-14 * (1 + abs(margin)) * 10)
    assert cones.margin(0, np.zeros(1, dtype=np.int64), np.zeros(0)) == np.inf


def longest_step_by_bisection(l, ptr, v, d):
    """Return the longest step from v along d inside the cones, by bisection in extended precision."""
    v, d = v.astype(np.longdouble), d.astype(np.longdouble)

    def holds(alpha):
        point = v + alpha * d
        if l and point[:l].min() < 0:
            return False
        for start, stop in itertools.pairwise(ptr):
            if point[start] < 0 or point[start] ** 2 < (point[start + 1 : stop] ** 2).sum():
                return False
        return True

    high = np.longdouble(1.0)
    while holds(high):
        high *= 2
        if high > 1e30:
            return np.inf
    low = np.longdouble(0.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(low)


@pytest.mark.parametrize("distance", [None, 1e-3, 1e-6])
def test_max_step_against_bisection(cone, distance):
    l, ptr = cone
    rng = np.random.default_rng(5)
    for _ in range(15):
        v, d = inside(l, ptr, rng, distance), rng.normal(size=ptr[-1])
        expected = longest_step_by_bisection(l, ptr, v, d)
        assert cones.max_step(l, ptr, v, d) == pytest.approx(expected, rel=1e-12 / (distance or 0.1) ** 1.5, abs=0.0)


@pytest.mark.parametrize("size", [1e-100, 1e-20, 1e20, 1e100])
def test_max_step_knows_no_scale(cone, size):
    l, ptr = cone
    rng = np.random.default_rng(6)
    v, d = inside(l, ptr, rng), rng.normal(size=ptr[-1])
    assert cones.max_step(l, ptr, size * v, size * d) == pytest.approx(cones.max_step(l, ptr, v, d), rel=1e-12, abs=0.0)
    assert cones.max_step(l, ptr, v, size * d) == pytest.approx(cones.max_step(l, ptr, v, d) / size, rel=1e-12, abs=0.0)


def test_max_step_is_infinite_inside_and_reaches_the_vertex(cone):
    l, ptr = cone
    rng = np.random.default_rng(7)
    v = inside(l, ptr, rng)
    assert cones.max_step(l, ptr, v, inside(l, ptr, rng)) == np.inf
    assert cones.max_step(l, ptr, v, np.zeros_like(v)) == np.inf
    if ptr[-1]:
        assert cones.max_step(l, ptr, v, -v) == pytest.approx(1.0, rel=1e-13, abs=0.0)
        for boundary in (np.zeros_like(v), np.repeat([1.0, 0.0], [l, ptr[-1] - l])):  # with cones: no step
            assert cones.max_step(l, ptr, boundary, v) == (0.0 if ptr.size > 1 else np.inf)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e150, 1e300])
def test_norm_tail_neither_overflows_nor_underflows(size):
    v = size * np.array([9.0, 3.0, -4.0, 12.0])
    assert cones.norm_tail(v, 0, 4) == pytest.approx(13.0 * size, rel=1e-14, abs=0.0)
    assert cones.norm_tail(v, 1, 2) == 0.0
    assert np.isnan(cones.norm_tail(np.array([1.0, np.nan, 1.0]), 0, 3))
    assert cones.norm_tail(np.array([1.0, -np.inf, 1.0]), 0, 3) == np.inf


def test_j_residual_does_not_cancel():
    # v = (t, u) with ||u|| = 5 exactly: t^2 - 25 = (t - 5)(t + 5)
    for gap in (1e-3, 1e-9, 1e-14):
        v = np.array([5.0 + gap, 3.0, 4.0])
        assert cones.j_residual(v, 0, 3) == pytest.approx((v[0] - 5.0) * (v[0] + 5.0), rel=1e-15, abs=0.0)
