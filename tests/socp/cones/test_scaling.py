"""The Nesterov-Todd scaling against its definition: W z = W^-1 s, W symmetric, an automorphism of the cone."""

import itertools

import numpy as np
import pytest

from socp.cones import product as cones
from socp.cones import scaling
from tests.support.cone_points import SHAPES, inside, layout, matrices, scaled


def apply_inverse(l, ptr, w, eta, v, out):
    scaling.apply_inverse(l, ptr, w, eta, v, 0, out, 0)


def by_columns(operation, l, ptr, w, eta):
    out = np.zeros((ptr[-1], ptr[-1]))
    for j, column in enumerate(np.eye(ptr[-1])):
        operation(l, ptr, w, eta, column, out[j])
    return out.T


@pytest.fixture(params=SHAPES, ids=str)
def cone(request):
    return layout(request.param)


def test_operators_are_their_matrices(cone):
    l, ptr = cone
    rng = np.random.default_rng(0)
    w, eta, _ = scaled(l, ptr, inside(l, ptr, rng), inside(l, ptr, rng))
    W, W_inverse, W_square = matrices(l, ptr, w, eta)
    np.testing.assert_allclose(by_columns(scaling.apply, l, ptr, w, eta), W, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_columns(apply_inverse, l, ptr, w, eta), W_inverse, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_allclose(W @ W_inverse, np.eye(ptr[-1]), atol=1e-11)
    np.testing.assert_allclose(W @ W, W_square, rtol=1e-10, atol=1e-10)


def test_the_norm_of_the_scaling_of_each_cone(cone):
    l, ptr = cone
    rng = np.random.default_rng(1)
    w, eta, _ = scaled(l, ptr, inside(l, ptr, rng, 1e-3), inside(l, ptr, rng))
    W = matrices(l, ptr, w, eta)[0]
    for k, (start, stop) in enumerate(itertools.pairwise(ptr)):
        norm = np.linalg.norm(W[start:stop, start:stop], 2)
        assert scaling.norm(eta[k], w[start]) == pytest.approx(norm, rel=1e-12, abs=0.0)


def test_operators_may_overwrite_their_argument_and_the_inverse_may_lie_within_other_arrays(cone):
    l, ptr = cone
    rng = np.random.default_rng(1)
    w, eta, _ = scaled(l, ptr, inside(l, ptr, rng), inside(l, ptr, rng))
    v = rng.normal(size=ptr[-1])
    for operation in (scaling.apply, apply_inverse):
        out, same = np.empty_like(v), v.copy()
        operation(l, ptr, w, eta, v, out)
        operation(l, ptr, w, eta, same, same)
        np.testing.assert_array_equal(same, out)
    longer, within = np.concatenate([np.full(3, np.nan), v, [np.nan]]), np.full(ptr[-1] + 6, 7.0)
    scaling.apply_inverse(l, ptr, w, eta, longer, 3, within, 5)
    np.testing.assert_array_equal(within, [*[7.0] * 5, *out, 7.0])


@pytest.mark.parametrize("distance", [(None, None), (1e-6, None), (1e-12, None), (None, 1e-12), (1e-9, 1e-9)])
def test_both_points_are_scaled_to_lambda(cone, distance):
    l, ptr = cone
    rng = np.random.default_rng(2)
    for _ in range(5):
        s, z = (inside(l, ptr, rng, d) for d in distance)
        w, eta, lam = scaled(l, ptr, s, z)
        Wz, W_inverse_s = np.empty_like(s), np.empty_like(s)
        scaling.apply(l, ptr, w, eta, z, Wz)
        apply_inverse(l, ptr, w, eta, s, W_inverse_s)
        np.testing.assert_array_equal(Wz[l:], lam[l:])
        # cancellation in W^-1 s loses accuracy like the square root of s's distance from the boundary
        error = 1e-15 / min(d or 0.1 for d in distance)
        size = np.abs(lam).max(initial=0.0)
        np.testing.assert_allclose(W_inverse_s, lam, atol=error * 100 * size)
        assert lam @ lam == pytest.approx(s @ z, rel=error * 1000 if ptr.size > 1 else 1e-13, abs=0.0)
        assert cones.margin(l, ptr, lam) > 0.0


@pytest.mark.parametrize("s_size, z_size", [(1e-150, 1e-150), (1e-100, 1e100), (1e30, 1e-30), (1e140, 1e140)])
def test_any_scale(cone, s_size, z_size):
    l, ptr = cone
    rng = np.random.default_rng(3)
    s, z = inside(l, ptr, rng), inside(l, ptr, rng)
    w, eta, lam = scaled(l, ptr, s, z)
    w_big, eta_big, lam_big = scaled(l, ptr, s_size * s, z_size * z)
    ratio = np.sqrt(s_size / z_size)
    np.testing.assert_allclose(w_big[:l], ratio * w[:l], rtol=1e-12)
    np.testing.assert_allclose(w_big[l:], w[l:], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(eta_big, ratio * eta, rtol=1e-12)
    np.testing.assert_allclose(lam_big, np.sqrt(s_size) * np.sqrt(z_size) * lam, rtol=1e-9)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("which", ["s", "z"])
def test_a_point_outside_is_refused(cone, bad, which):
    l, ptr = cone
    rng = np.random.default_rng(5)
    s, z = inside(l, ptr, rng), inside(l, ptr, rng)
    point = s if which == "s" else z
    for entry in [*range(l), *ptr[:-1][np.diff(ptr) > 0]]:
        kept, point[entry] = point[entry], bad
        assert scaling.nesterov_todd(l, ptr, s, z, np.zeros(ptr[-1]), np.ones(ptr.size - 1), np.zeros(ptr[-1])) == -1
        point[entry] = kept
