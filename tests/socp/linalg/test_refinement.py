"""Decisions of iterative refinement, and the vectors of GMRES compared with least squares."""

import numpy as np
import pytest

from socp.linalg.refinement import GO_ON, SLOW, STOP, TAKE_BACK, USEFUL, add_images, extend_basis, refinement_decision


@pytest.mark.parametrize("values", [4, 9, None])
@pytest.mark.parametrize("steps", [1, 2, 6])
def test_steps_of_arnoldi_leave_the_least_of_krylovs_space(steps, values):
    """If the matrix has few eigenvalues, the residual is zero after as many steps."""
    size, rng = 9, np.random.default_rng(steps)
    A = rng.normal(size=(size, size))
    if values:
        A = A @ np.diag(np.arange(size) % (values // 3) + 1.0) @ np.linalg.inv(A)
    right, image = rng.normal(size=(2, size))
    vectors, small, beta = np.zeros((steps + 1, size)), np.zeros((steps + 1, steps + 3)), np.linalg.norm(right)
    vectors[0], small[0, steps + 2] = right / beta, beta
    for k in range(steps):
        left = extend_basis(k, A @ vectors[k], vectors.reshape(-1), small)
        space = A @ vectors[: k + 1].T
        y = np.linalg.lstsq(space, right, rcond=None)[0]
        assert left == pytest.approx(np.linalg.norm(right - space @ y), rel=1e-9, abs=1e-12)
        if left < 1e-12:
            break
        np.testing.assert_allclose(vectors[: k + 2] @ vectors[: k + 2].T, np.eye(k + 2), rtol=0, atol=1e-12)
    images = rng.normal(size=(k + 1, size))
    out = image.copy()
    add_images(k + 1, images.reshape(-1), small, out)
    np.testing.assert_allclose(out, image + y @ images, rtol=1e-8, atol=1e-8)
    assert extend_basis(0, np.full(size, np.inf), vectors.reshape(-1), small) == -1.0


def test_images_without_a_pivot_have_no_part():
    small, out = np.array([[2.0, 1.0, 0.0, 0.0, 6.0], [0.0, 0.0, 0.0, 0.0, 5.0], [0.0] * 5]), np.ones(1)
    add_images(2, np.array([1.0, 10.0]), small, out)
    assert out[0] == 1.0 + 3.0


def test_a_vector_that_is_nearly_in_the_span_is_made_orthogonal_once_more():
    size, count = 30, 3
    rng, basis, small = np.random.default_rng(7), np.zeros((count + 2) * size), np.zeros((count + 2, count + 4))
    vectors = basis.reshape(-1, size)
    vectors[: count + 1] = np.linalg.qr(rng.normal(size=(size, count + 1)))[0].T
    w = rng.normal(size=count + 1) @ vectors[: count + 1] + 1e-10 * rng.normal(size=size)
    assert extend_basis(count, w, basis, small) >= 0.0
    gram = vectors @ vectors.T
    np.testing.assert_allclose(gram, np.eye(count + 2), rtol=0, atol=1e-13)  # once would leave 1e-16 / 1e-10


def test_what_follows_a_solve():
    # (residual over allowance, the previous one, further solves so far, their limit, the expected number)
    assert refinement_decision(1e3, np.inf, 0, 10, 2) == GO_ON
    assert refinement_decision(0.5, np.inf, 0, 10, 2) == STOP
    assert refinement_decision(1e3, np.inf, 0, 0, 2) == STOP
    assert refinement_decision(0.9 * SLOW, 1.0, 1, 10, 2) == STOP  # small enough
    assert refinement_decision(1.1, 0.9 * 1.1 / SLOW, 1, 10, 2) == STOP  # it decreases too slowly
    for further in (1, 2, 10):  # small enough after this many steps, or not
        assert refinement_decision(0.9 * 0.3**-further, 0.9 * 0.3 ** -(further + 1), 1, 10, further) == GO_ON
        assert refinement_decision(1.1 * 0.3**-further, 1.1 * 0.3 ** -(further + 1), 1, 10, further) == STOP
    assert refinement_decision(1.1e4 * USEFUL, 1e4, 1, 10, 2) == TAKE_BACK
    assert refinement_decision(1e3, 1e4, 10, 10, 2) == STOP
    assert refinement_decision(np.inf, 1e4, 3, 10, 2) == TAKE_BACK
    assert refinement_decision(np.inf, np.inf, 0, 10, 2) == GO_ON  # the first residual may be infinite
