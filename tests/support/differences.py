"""Derivatives of answers along a change of all data: by central differences, from gradients, and in both modes."""

import numpy as np
import pytest
import scipy.sparse as sp


def weighed(parts, weights):
    """Return the sum of the parts of an answer times their weights."""
    return sum(float((weight * part).sum()) for part, weight in zip(parts, weights, strict=True))


def difference(solve, data, change, weights, step):
    """Return the derivative of the weighed parts that `solve` returns, by central differences of fourth order."""
    values = []
    for share in (-2.0, -1.0, 1.0, 2.0):
        moved = {name: value + share * step * change[name] for name, value in data.items()}
        values.append(weighed(solve(moved), weights))
    far, near = (values[3] - values[0]) / (4.0 * step), (values[2] - values[1]) / (2.0 * step)
    return near + (near - far) / 3.0


def along(gradient, change):
    """Return the directional derivative along `change`, computed from `gradient`."""
    parts = [getattr(gradient, name) for name in change]
    return weighed([part.toarray() if sp.issparse(part) else part for part in parts], change.values())


def both_modes(answer, names, change, weights, tol=1e-8, **smoothing):
    """Return the gradient, the derivative along `change` and its size, after checking that both modes agree on it."""
    gradient = answer.vjp(*weights, **smoothing)
    tangent = answer.jvp(**{f"d{name}": value for name, value in change.items()}, **smoothing)
    parts, found = [getattr(tangent, name) for name in names], along(gradient, change)
    size = 1.0 + sum(np.abs(part).max(initial=0.0) for part in parts)
    assert weighed(parts, weights) == pytest.approx(found, rel=tol, abs=tol * size)
    return gradient, found, size
