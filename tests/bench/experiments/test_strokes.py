"""Lines of images by the Hough transform, and the pixels of strokes."""

import numpy as np
import pytest

from bench.experiments.strokes import hough_line, stroke_explanations
from models import ExplanationAugmentedSVC


def drawn(theta, rho, side=24, thickness=0.6):
    y, x = np.indices((side, side))
    return (np.abs(x * np.cos(theta) + y * np.sin(theta) - rho) <= thickness).astype(float)


@pytest.mark.parametrize("theta, rho", [(0.0, 7.0), (np.pi / 2, 15.0), (np.pi / 4, 16.0), (3 * np.pi / 4, -2.0)])
def test_a_line_is_found_where_it_was_drawn(theta, rho):
    found = hough_line(drawn(theta, rho))
    assert found[0] == pytest.approx(theta, abs=np.pi / 36 + 1e-9) and found[1] == pytest.approx(rho, abs=0.8)


def test_votes_are_the_ink_of_the_pixels_near_the_line_and_count_once():
    image = drawn(0.0, 5.0) + 0.5 * drawn(np.pi / 2, 18.0)
    *_, rho, votes = hough_line(image, width=0.5)
    assert rho == pytest.approx(5.0) and votes == pytest.approx(image[:, 5].sum())
    image[:, 5] = 0.0
    *_, rho, votes = hough_line(image, width=0.5)
    assert rho == pytest.approx(18.0) and votes == pytest.approx(0.5 * 23)
    assert hough_line(np.zeros((4, 4))) is None


def test_the_votes_are_the_most_that_any_line_has():
    rng = np.random.default_rng(0)
    image = drawn(np.pi / 6, 14.0) + 0.1 * rng.random((24, 24))
    *_, votes = hough_line(image)
    y, x = np.indices(image.shape)
    most = max(
        image[np.abs(x * np.cos(t) + y * np.sin(t) - r) <= 1.0].sum()
        for t in np.arange(36) * np.pi / 36
        for r in np.arange(-24.0, 34.0, 0.25)
    )
    assert votes > 0.95 * most


def test_a_stroke_is_found_moved_and_turned_and_its_pixels_alone_are_kept():
    image = np.zeros((16, 16))
    image[3:13, 9] = 1.0  # the stroke, two pixels beside the prototype
    image[14, :] = 1.0  # another
    (kept,) = stroke_explanations(image[None], [[(3, 7, 12, 7)]])
    expected = np.zeros((16, 16), dtype=bool)
    expected[3:13, 9] = True
    assert np.array_equal(kept.reshape(16, 16), expected)
    tilted = drawn(0.2, 8.0, 16)
    (kept,) = stroke_explanations(tilted[None], [[(0, 8, 15, 6)]])
    assert (kept.reshape(16, 16) & (tilted > 0.0)).sum() > 0.9 * tilted.sum()


def test_where_no_stroke_is_found_nothing_is_explained():
    image = np.zeros((2, 8, 8))
    image[:, 1, 1:7] = 1.0
    kept = stroke_explanations(image, [[(6, 1, 6, 6)], []])
    assert kept.all()
    faint = image.copy()
    faint[:, 6, 1:3] = 1.0  # a third of the stroke
    assert stroke_explanations(faint[:1], [[(6, 1, 6, 6)]]).all()
    assert not stroke_explanations(faint[:1], [[(6, 1, 6, 6)]], share=0.2).all()


def test_strokes_explain_to_the_machine():
    rng = np.random.default_rng(0)
    images = 0.3 * rng.random((40, 8, 8))
    y = np.arange(40) % 2
    images[y == 1, 1:7, 3] = 1.0
    images[y == 0, 3, 1:7] = 1.0
    strokes = {1: [(1, 3, 6, 3)], 0: [(3, 1, 3, 6)]}
    X = images.reshape(40, -1)
    mask = stroke_explanations(images, [strokes[k] for k in y], radius=0.5)
    assert (mask.sum(axis=1) == 6).all()
    machine = ExplanationAugmentedSVC(C=1.0, Q=10.0).fit(X, y, explanations=mask)
    plain = ExplanationAugmentedSVC(C=1.0, Q=0.0).fit(X, y, explanations=mask)
    assert np.abs(machine.deviation_).max() < 1e-6 < 1e-2 < np.abs(plain.deviation_).max()
