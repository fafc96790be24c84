"""Bounds on the error of classifiers with a margin, by their fat-shattering dimension.

This dimension is the size of the largest set of points that a class of functions labels in every way with margin gamma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from .validation import check_number


@dataclass(frozen=True)
class Bound:
    """Bound of a theorem, with the assumptions that fail."""

    value: float  # the bound, inf if an assumption fails; an error bound of 1 or more is vacuous
    dimension: float  # bound on the fat-shattering dimension from which `value` is computed
    failing: tuple[str, ...] = ()  # one sentence per failing assumption
    details: dict[str, Any] = field(default_factory=dict)  # quantities of the theorem, by name

    @property
    def holds(self) -> bool:
        """Whether no assumption fails."""
        return not self.failing

    def __str__(self) -> str:
        return ": ".join([f"{self.value:.6g}", *(["; ".join(self.failing)] if self.failing else [])])


def large_margin_dimension(gamma: float, radius: float, norm: float = 1.0) -> float:
    """Return (B R / gamma)^2, the dimension of x -> w'x with ||w|| <= B = `norm` and ||x|| <= R = `radius`.

    Theorem 2 of Sun and DeJong has in place of R the radius R_V of the *explained* examples, for functions with equal
    values at every x of the domain and at its explained v.  The theorem assumes this for the sample only; its proof,
    which replaces each x by v, needs it for every point that is shattered.
    """
    for name, value in (("gamma", gamma), ("radius", radius), ("norm", norm)):
        check_number(name, value, low=0.0, open_low=True)
    return (norm * radius / gamma) ** 2


def margin_error(m: int, dimension: float, delta: float) -> Bound:
    r"""Return a bound on the error of a classifier without training errors at its margin, with probability 1 - delta.

    .. math:: \epsilon(m, h, \delta) = \frac{2}{m} \Bigl(h \log_2 \frac{8 e m}{h} \log_2 (32 m)
              + \log_2 \frac{8 m}{\delta}\Bigr), \qquad h \le e m

    Corollary 6.3 of Epshteyn and DeJong (whose logarithms, without a base, are of base 2 in the theorem that it quotes)
    and Theorems 3 and 4 of Sun and DeJong.

    The m examples are independent, and all on their side by the margin; h is the `dimension` at the fraction of the
    margin that the theorem names.

    Examples
    --------
    >>> print(margin_error(10**6, 20.0, 0.05))
    0.020052
    >>> margin_error(100, 1000.0, 0.05).holds
    False
    """
    m = check_number("m", m, low=1, whole=True)
    check_number("dimension", dimension, low=0.0)
    check_number("delta", delta, low=0.0, high=1.0, open_low=True)
    if dimension > math.e * m:
        return Bound(math.inf, dimension, (f"h = {dimension:.6g} must be at most e m = {math.e * m:.6g}",))
    growth = dimension * math.log2(8.0 * math.e * m / dimension) if dimension > 0.0 else 0.0
    return Bound(2.0 / m * (growth * math.log2(32.0 * m) + math.log2(8.0 * m / delta)), dimension)
