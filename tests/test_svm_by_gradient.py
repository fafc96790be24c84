"""C and gamma by the gradient of the validation loss: against central differences, and the result of the search."""

import numpy as np
import pytest

from tests.test_examples import example

module = example("svm_by_gradient")
LossModel, ValidationLoss, choose_parameters = module.LossModel, module.ValidationLoss, module.choose_parameters


def rings(seed, count):
    """Return samples and labels of two noisy rings, one per class."""
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


class Valley:
    """Smooth function of (log C, log gamma) with its minimum 0 at (3, -2), and points to start from."""

    distances = np.ones((2, 2))

    def __call__(self, point):
        C, gamma = point - np.array([3.0, -2.0])
        return C * C + gamma * gamma + C * gamma, np.array([2.0 * C + gamma, 2.0 * gamma + C])


def test_the_search_finds_the_minimum_of_a_valley():
    found = choose_parameters(Valley(), fits=12)
    assert np.log([found.C, found.gamma]) == pytest.approx([3.0, -2.0], abs=0.1)


@pytest.mark.parametrize("C, gamma", [((10.0, 20.0), (0.01, 0.02)), ((5.0, 5.0), (0.3, 0.3))])
def test_the_search_stays_in_its_ranges(C, gamma):
    trace = np.array(choose_parameters(Valley(), C, gamma, fits=7).trace)
    for j, ends in enumerate([C, gamma]):
        assert (trace[:, j] >= ends[0] * (1 - 1e-12)).all() and (trace[:, j] <= ends[1] * (1 + 1e-12)).all()


@pytest.mark.parametrize("fits", [1, 2, 4])
def test_few_fits_are_kept_to(fits):
    found = choose_parameters(Valley(), fits=fits)
    assert len(found.trace) == fits and found.loss == min(value for _, _, value in found.trace)


def test_the_model_goes_through_values_and_slopes():
    rng = np.random.default_rng(4)
    points = rng.uniform(-5.0, 5.0, (6, 2))
    values, slopes = np.array([Valley()(point)[0] for point in points]), np.array([Valley()(p)[1] for p in points])
    model = LossModel(points, values, slopes)
    assert model(points)[0] == pytest.approx(values, abs=1e-3 * np.ptp(values))
    for j in range(2):
        step = 1e-4 * np.eye(2)[j]
        near = (model(points + step)[0] - model(points - step)[0]) / 2e-4
        assert near == pytest.approx(slopes[:, j], abs=0.02 * np.abs(slopes).max())
    assert model.fall(points).max() < 1e-2 * np.ptp(values)
