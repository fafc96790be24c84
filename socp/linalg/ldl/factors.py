"""Parts that all factorizations K = P' (L D L') P share: order, D, replacement of pivots, and calls by address."""

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
        Order of elimination, required signs of the pivots, and D; the last two in the order of elimination.
    eps, delta : float
        A pivot d of sign s with ``s d <= eps`` is replaced by ``s delta``.
    until : float
        Time on the clock at which a factorization fails, 0 for none.
    """

    n, eps, delta, until = dimension(), number(), number(), number()
    factor_address, solve_address = integer(), integer()
    perm, signs, d = integers("n"), floats("n"), floats("n")

    def use(self, factor_by: Any, solve_by: Any) -> Factors:
        """Set the addresses of the kernels that factor and solve; return self."""
        self.factor_address, self.solve_address = address_of(factor_by), address_of(solve_by)
        return self


@kernel_type
def factor_by(address: int, ldl: Factors, data: Floats) -> int:
    """Compute L and D; return the number of replaced pivots, or -1 if a pivot is not finite."""
    raise NotImplementedError


@kernel_type
def solve_by(address: int, ldl: Factors, count: int, rhs: Floats, out: Floats) -> None:
    """out := K^-1 rhs for one or two right-hand sides, stored one after the other."""


@kernel
def factor(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """Factor K with the values `data`; see `LDL.factor`."""
    ldl.eps, ldl.delta = eps, delta
    return factor_by(ldl.factor_address, ldl, data)


@kernel
def solve(ldl: Factors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides, stored one after the other."""
    solve_by(ldl.solve_address, ldl, count, rhs, out)


@leaf
def put_pivot(ldl: Factors, k: int, pivot: float) -> int:
    """Set d[k] to the pivot, or to signs[k] delta if the pivot has the wrong sign or is too small.

    Return 1 if the pivot was replaced, 0 if it was not, and -1 if it is not finite; d[k] is then unchanged.
    """
    if not math.isfinite(pivot):
        return -1
    sign = ldl.signs[k]
    if sign * pivot <= ldl.eps:
        ldl.d[k] = sign * ldl.delta
        return 1
    ldl.d[k] = pivot
    return 0
