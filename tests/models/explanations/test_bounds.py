"""The bounds of machines with explanations."""

import math

import numpy as np
import pytest

from models.explanations import bounds


def test_explanations_help_as_far_as_they_shorten():
    whole = bounds.parallel_error(10**8, 1.0, 10.0, 0.05)
    explained = bounds.parallel_error(10**8, 1.0, 2.0, 0.05)
    assert (whole.dimension, explained.dimension) == (6450, 258) and explained.value < whole.value
    assert bounds.explained_error(10**8, 1.0, 2.0, 0.0, 0.05).value == explained.value
    assert not bounds.parallel_error(10, 1.0, 10.0, 0.05).holds


def test_the_best_embedding_is_the_best():
    best = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05)
    assert best.dimension == math.floor(64.5 * 2.7**2 / 0.01) and not best.details["fixed before"]
    for Delta in np.geomspace(0.1, 10.0, 41):
        other = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05, Delta)
        assert other.dimension >= best.dimension and other.value >= best.value
    grid = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05, np.geomspace(0.1, 10.0, 41))
    alone = bounds.explained_error(10**8, 0.1, 2.0, 0.7, 0.05 / 41.0, grid.details["Delta"])
    assert grid.value == alone.value >= best.value  # each of the values bears its share of delta


def test_wrong_arguments_are_named():
    for call, words in (
        (lambda: bounds.explained_error(10, 1.0, 1.0, -1.0, 0.1), "deviation must be"),
        (lambda: bounds.explained_error(10, 1.0, 1.0, 1.0, 0.1, 0.0), "Delta must be"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
