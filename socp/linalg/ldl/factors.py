"""What all factorizations K = P' (L D L') P share: the order, D, the replacement of pivots, and calls by address."""

from __future__ import annotations

import math
from typing import Any

from ...compiled.kernels import address_of, kernel, kernel_type, leaf
from ...compiled.signatures import Floats
from ...compiled.structures import Structure, dimension, floats, integer, integers, number


class Factors(Structure):
    """The order of elimination and D; each method adds its L, its work arrays and its two kernels.

    Attributes
    ----------
    n : int
    perm, signs, d : arrays, shape (n,)
        The order of elimination; in this order the signs that pivots must have, and D.
    eps, delta : float
        A pivot d of sign s with ``s d <= eps`` is replaced by ``s delta``.
    """

    n, eps, delta = dimension(), number(), number()
    factor_address, solve_address = integer(), integer()
    perm, signs, d = integers("n"), floats("n"), floats("n")

    def use(self, factor_by: Any, solve_by: Any) -> Factors:
        """Take the kernels that factor and solve."""
        self.factor_address, self.solve_address = address_of(factor_by), address_of(solve_by)
        return self


@kernel_type
def factor_by(address: int, ldl: Factors, data: Floats) -> int:
    """L and D; the number of replaced pivots, -1 where one is not finite."""
    raise NotImplementedError


@kernel_type
def solve_by(address: int, ldl: Factors, count: int, rhs: Floats, out: Floats) -> None:
    """out := K^-1 rhs for one or two right-hand sides, one after the other."""


@kernel
def factor(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """The factorization of K with these values, see `LDL.factor`."""
    ldl.eps, ldl.delta = eps, delta
    return factor_by(ldl.factor_address, ldl, data)


@kernel
def solve(ldl: Factors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides, one after the other."""
    solve_by(ldl.solve_address, ldl, count, rhs, out)


@leaf
def put_pivot(ldl: Factors, k: int, pivot: float) -> int:
    """D(k) := the pivot, or signs(k) delta where its sign is wrong or it is too small.

    Returns 1 where it was replaced, 0 where not, and -1 for one that is not finite, which goes nowhere.
    """
    if not math.isfinite(pivot):
        return -1
    sign = ldl.signs[k]
    if sign * pivot <= ldl.eps:
        ldl.d[k] = sign * ldl.delta
        return 1
    ldl.d[k] = pivot
    return 0
