"""The bilevel objective as a function of the means: beside differences, and descent beside the alternation."""

import math

import numpy as np
import pytest

from models import BilevelClassifier
from models.bilevel.gradient import MeansObjective, descend
from models.bilevel.prior import GenerativePrior
from models.programs.bilevel import Constants, Samples


def problem(seed):
    rng = np.random.default_rng((71, seed))
    n, m = 6, 30
    y = np.where(rng.random(m) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    X = rng.normal(size=(m, n)) + 0.7 * y[:, None] * np.eye(n)[0]
    prior = GenerativePrior(t=(-0.5 * rng.random(n), 0.5 * rng.random(n)), Omega=(0.5, rng.random(n)))
    return X, y, prior, rng


def objective_of(X, y, prior, C3=math.inf):
    return MeansObjective(Samples(X, y, np.ones(y.size)), prior, Constants(0.4, 1.0, 1.0, 5.0, C3), tol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_is_that_of_central_differences(seed):
    X, y, prior, rng = problem(seed)
    objective, direction = objective_of(X, y, prior), rng.normal(size=prior.t.shape)
    _, gradient = objective(prior.t)
    near = [objective(prior.t + share * direction)[0] for share in (1e-4, -1e-4)]
    assert (gradient * direction).sum() == pytest.approx((near[0] - near[1]) / 2e-4, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_descent_ends_where_the_alternation_does_or_below(seed):
    X, y, prior, _ = problem(seed)
    found = descend(objective_of(X, y, prior))
    alternation = BilevelClassifier(prior, beta=0.4, phi=1.0, C1=1.0, C2=5.0).fit(X, y)
    assert found.objective <= alternation.objective_ * (1.0 + 1e-4)
    assert (np.diff(found.trace) < 0.0).all() and found.programs <= 50
    for i in (0, 1):  # (4.19)
        root = prior.Omega[i].root_matrix()
        v = np.linalg.lstsq(np.asarray(root.toarray()).T, found.mu[i] - prior.t[i], rcond=None)[0]
        assert np.linalg.norm(v) <= 1.0 + 1e-9
    again = descend(objective_of(X, y, prior), found.mu)
    assert again.objective == pytest.approx(found.objective, rel=1e-6)


def test_radii_that_cost_are_refused():
    X, y, prior, _ = problem(0)
    with pytest.raises(ValueError, match="C3 must be inf"):
        objective_of(X, y, prior, C3=1.0)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"mu": np.zeros((2, 5))}, r"mu must be finite numbers of shape \(2, 6\)"),
        ({"mu": np.full((2, 6), np.nan)}, "mu must be finite"),
        ({"programs": 0}, "programs must be a whole number of at least 1"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
    ],
)
def test_what_descent_cannot_begin_with_is_refused(given, message):
    X, y, prior, _ = problem(0)
    objective = objective_of(X, y, prior)
    with pytest.raises(ValueError, match=message):
        descend(objective, **given)
    assert objective.programs == 0
