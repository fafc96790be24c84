"""C and gamma by the gradient of the validation loss: beside central differences, and what the search finds."""

import numpy as np
import pytest

from models.svm.gradient import ValidationLoss, choose_parameters


def rings(seed, count):
    """Two noisy rings, a class each."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], count // 2)
    angle = 2.0 * np.pi * rng.random(y.size)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (1.5 + 0.5 * y)[:, None] + 0.4 * rng.normal(
        size=(y.size, 2)
    ), y


@pytest.mark.parametrize("C, gamma", [(1.0, 0.5), (30.0, 0.1), (0.3, 1.0)])
def test_the_gradient_is_that_of_central_differences(C, gamma):
    loss = ValidationLoss(*rings(0, 60), *rings(1, 60))
    point = np.log([C, gamma])
    _, slope = loss(point)
    for j in range(2):
        step = 1e-4 * np.eye(2)[j]
        near = (loss(point + step)[0] - loss(point - step)[0]) / 2e-4
        assert slope[j] == pytest.approx(near, rel=1e-4, abs=1e-6)


def test_a_few_fits_do_as_a_grid():
    loss = ValidationLoss(*rings(2, 60), *rings(3, 60))
    found = choose_parameters(loss, fits=15)
    assert loss.fits == len(found.trace) <= 15
    grid = np.log(np.logspace(-2, 3, 8)), np.log(np.logspace(-3, 2, 8))
    assert found.loss <= 1.01 * min(loss(np.array([C, gamma]))[0] for C in grid[0] for gamma in grid[1])


def test_bad_labels_are_refused():
    X, y = rings(0, 10)
    with pytest.raises(ValueError, match="y must be labels -1 and 1"):
        ValidationLoss(X, y + 1.0, X, y)
