"""Supernodal factorization K = P' (L D L') P, left-looking (Ng and Peyton 1993), by one thread.

BLAS uses one thread of its own in between: in many small calls others cost more than they save.
"""

from __future__ import annotations

from ....compiled.kernels import inner
from ....compiled.signatures import Floats
from ....compiled.teams import Team, restore_blas, silence_blas
from ..symbolic.assembly_tree import AssemblyTree
from .factors import PanelFactors
from .left_looking import WHOLE, factor_supernodes, permute, permute_back, solve_lower_part, solve_upper_part


def panel_factors(tree: AssemblyTree, signs: Floats) -> PanelFactors:
    """The factors of one thread."""
    team = Team(team=1)
    team.gather(1)
    factors = PanelFactors(tree, signs, team)
    factors.use(supernodal_factor, supernodal_solve)
    return factors


@inner
def supernodal_factor(ldl: PanelFactors, data: Floats) -> int:
    """The panels of L and D in d."""
    for k in range(ldl.head.size):
        ldl.head[k] = -1
    silence_blas(ldl.team)
    replaced = factor_supernodes(ldl, data, 0, ldl.head.size, WHOLE, 0)
    restore_blas(ldl.team)
    return replaced


@inner
def supernodal_solve(ldl: PanelFactors, count: int, rhs: Floats, out: Floats) -> None:
    """out := P' (L' \\ (D \\ (L \\ (P rhs)))) for one or two right-hand sides."""
    silence_blas(ldl.team)
    permute(ldl, count, rhs, ldl.work)
    solve_lower_part(ldl, count, 0, ldl.head.size, ldl.work, 0)
    solve_upper_part(ldl, count, 0, ldl.head.size, ldl.work, 0)
    permute_back(ldl, count, ldl.work, out)
    restore_blas(ldl.team)
