"""Test by a linear program whether a linear rule separates classes (Albert, Anderson 1984)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import qp

from ..base.estimator import uninterrupted, warn_unconverged
from ..numerics.newton_minimizer import Minimum
from ..programs.separation import separation_program

CERTAIN = 1e-6  # smallest 1 - P(y_i | x_i) from which the samples cannot be separable


def unit_of(weights: np.ndarray) -> float:
    """Return the power of two next to the mean of the weights.

    Divided by it, weights lose no digits, and a tolerance relative to 1 plus the objective means the same for all.
    """
    return float(2.0 ** np.round(np.log2(weights.mean())))


def least_loss(
    model: Any, loss: Any, C: float, minimize: Callable[[], Minimum], what: str, unit: float
) -> tuple[Minimum, float]:
    """Minimize a loss whose weights were divided by `unit`, with the penalty 1 / C of the weights that came.

    Return the minimum, in the unit of the weights that came, and the C that was used.

    Without a penalty and with separable samples there is no minimum; then a small penalty is used, with a warning.
    The linear program that decides this becomes `program_` of the model, its solution `solution_`.  `loss.penalty` is
    set before each call of `minimize`; `what` is the reason that the warning states.
    """
    for name in ("program_", "solution_"):
        model.__dict__.pop(name, None)
    loss.penalty = 1.0 / (C * unit)
    found = in_unit(minimize(), unit)
    if C < math.inf or loss.nearest_to_certain(found.theta) >= CERTAIN:
        return found, C
    model.program_ = separation_program(loss.margins())
    model.solution_ = uninterrupted(qp.solve(model.program_))
    if -model.solution_.objective <= 0.5:  # the optimal value counts strict inequalities: 0 means not separable
        return found, C
    loss.penalty = loss.least_penalty()
    C = 1.0 / (loss.penalty * unit)
    warn_unconverged(f"{type(model).__name__}: {what}; the answer of C = {C:.3g} is given.  Set C.")
    return in_unit(minimize(), unit), C


def in_unit(found: Minimum, unit: float) -> Minimum:
    """Return the minimum of `unit` times the function that was minimized."""
    return replace(found, value=unit * found.value, decrement=unit * found.decrement)
