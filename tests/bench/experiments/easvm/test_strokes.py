"""Lines of images by the Hough transform, and the pixels of strokes."""

import numpy as np
import pytest

from bench.experiments.easvm.strokes import hough_line, stroke_explanations


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


def test_a_stroke_is_found_moved_and_turned_and_its_pixels_alone_are_kept():
    image = np.zeros((16, 16))
    image[3:13, 9] = 1.0  # the stroke, two pixels from the prototype
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
