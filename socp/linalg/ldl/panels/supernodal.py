"""Supernodal factorization K = P' (L D L') P, left-looking (Ng and Peyton 1993), by one thread or several."""

from __future__ import annotations

from ....compiled.kernels import inner, kernel
from ....compiled.signatures import Floats
from ....compiled.teams import begin_team, end_team, restore_blas, silence_blas
from ..factors import Factors
from ..parallel.factor import factor_side_by_side, solve_side_by_side
from .left_looking import WHOLE, factor_supernodes, permute, permute_back, solve_lower_part, solve_upper_part


@kernel
def supernodal_factor(ldl: Factors, data: Floats, eps: float, delta: float) -> int:
    """The panels of L and D in d; see `LDL.factor`, and `AssemblyTree` for the arrays of the tree."""
    for k in range(ldl.head.size):
        ldl.head[k] = -1
    silence_blas(ldl)
    if ldl.members <= 1:
        replaced = factor_supernodes(ldl, data, eps, delta, 0, ldl.head.size, WHOLE, 0)
    else:
        begin_team(ldl)
        replaced = factor_side_by_side(ldl, data, eps, delta)
        end_team(ldl)
    restore_blas(ldl)
    return replaced


@inner
def supernodal_solve(ldl: Factors, rhs: Floats, out: Floats) -> None:
    """out = P' (L' \\ (D \\ (L \\ (P rhs))))."""
    solve_with_panels(ldl, 1, rhs, out)


@inner
def supernodal_solve_two(ldl: Factors, rhs: Floats, out: Floats) -> None:
    """`supernodal_solve` for two right-hand sides, one after the other, in one pass over L."""
    solve_with_panels(ldl, 2, rhs, out)


@inner
def solve_with_panels(ldl: Factors, count: int, rhs: Floats, out: Floats) -> None:
    """`supernodal_solve` for `count` right-hand sides."""
    n, size, work = ldl.n, ldl.head.size, ldl.work
    silence_blas(ldl)
    permute(ldl, count, rhs, 0, n, work)
    if ldl.members <= 1 or ldl.private.size == 0:
        solve_lower_part(ldl, count, 0, size, work, 0)
        solve_upper_part(ldl, count, 0, size, work, 0)
    else:
        begin_team(ldl)
        solve_side_by_side(ldl, count)
        end_team(ldl)
    permute_back(ldl, count, work, 0, n, out)
    restore_blas(ldl)
