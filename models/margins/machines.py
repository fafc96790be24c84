"""Two-class machines f(x) = sum_i c_i k(x_i, x) + b: the problems that state them, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

import qp

from .multipliers import NOT_SUPPORT, ON_MARGIN

Priced = TypeVar("Priced", bound=Any)  # a dataclass with q and C


@dataclass(frozen=True)
class Problem:
    """One machine: the indices `rows` of its samples, and signs, q and C of its variables as in `margin.Margin`.

    With nu the variables have the sum `total`, and variables of sign 1 come first.
    """

    rows: np.ndarray
    signs: np.ndarray
    C: np.ndarray
    q: np.ndarray
    total: float | None = None

    @property
    def sides(self) -> int:
        """Number of variables per sample."""
        return self.signs.size // self.rows.size

    @property
    def may_lack_tube(self) -> bool:
        """True for a regression with epsilon = 0, which nu may lead to, too."""
        return self.sides == 2 and not self.q.reshape(2, -1).sum(axis=0).any()


@dataclass(frozen=True)
class Machines:
    """Machines f(x) = sum_i coefficients_i k(x_i, x) + intercept: one row per machine, one column per sample.

    Attributes
    ----------
    coefficients : array, shape (machines, samples)
        alpha_i y_i, in a regression alpha_i - alpha*_i; exactly zero unless sample i is a support vector, exactly
        C_i y_i at the bound, unless `dual.sort_out` must keep the engine's values.
    kinds : array of int, shape (machines, samples)
        NOT_SUPPORT, ON_MARGIN (0 < alpha_i < C_i), INSIDE_MARGIN (alpha_i = C_i, xi_i <= 1), WRONG_SIDE (xi_i > 1).
    intercepts, margins, rhos : arrays, shape (machines,)
        b; 1 / |w|, the distance of the supporting hyperplanes from the separating one; the divisor of a classifier with
        nu, or -epsilon of a regression with nu.
    iterations : int
        Largest number of iterations of any machine.
    answer : function
        Builds and returns the program and the solution of the last machine.
    """

    coefficients: np.ndarray
    kinds: np.ndarray
    intercepts: np.ndarray
    margins: np.ndarray
    rhos: np.ndarray
    iterations: int
    answer: Callable[[], tuple[qp.QuadraticProgram, qp.Solution]]

    def among(self, rows: np.ndarray, samples: int) -> Machines:
        """Return the machines, whose samples are `rows` of all `samples`, with a column for each of all samples."""
        if np.array_equal(rows, np.arange(samples)):
            return self
        spread = [np.zeros((one.shape[0], samples), one.dtype) for one in (self.coefficients, self.kinds)]
        spread[0][:, rows], spread[1][:, rows] = self.coefficients, self.kinds
        return replace(self, coefficients=spread[0], kinds=spread[1])


def together(machines: list[Machines]) -> Machines:
    """Return machines of the same samples as one object, with the answer of the last one."""
    names = ("coefficients", "kinds", "intercepts", "margins", "rhos")
    arrays = {name: np.concatenate([getattr(one, name) for one in machines]) for name in names}
    return Machines(**arrays, iterations=max(one.iterations for one in machines), answer=machines[-1].answer)


def divided(priced: Priced, rho: float) -> Priced:
    """Return a `Margin`, or another dataclass with its q and C, divided by `rho` if that is positive.

    Margins of width rho become one; with rho <= 0 there is a tube of half width -rho.
    """
    own = rho if rho > 0.0 else 1.0
    return replace(priced, q=(priced.q - rho) / own, C=priced.C / own)  # type: ignore[no-any-return]


def intercept_of(left: np.ndarray, y: np.ndarray, kinds: np.ndarray) -> float:
    """Return b from the KKT conditions, given left_i = y_i - (f(x_i) - b).

    On the margin b = left_i, and the mean of these is returned.  If no vector is on the margin, the other samples bound
    b from both sides, and the middle of the interval is returned.
    """
    if (kinds == ON_MARGIN).any():
        return float(left[kinds == ON_MARGIN].mean())
    is_below = (kinds == NOT_SUPPORT) == (y > 0.0)
    return middle(left[is_below].max(initial=-np.inf), left[~is_below].min(initial=np.inf))


def middle(low: float, high: float) -> float:
    """Return the middle of an interval, or its finite end if the other is infinite."""
    if np.isinf(low) or np.isinf(high):
        return float(high if np.isinf(low) else low)
    return float(0.5 * (low + high))
