"""The memory of a factorization by panels, and of one thread or several that work on it."""

from __future__ import annotations

from ....compiled.signatures import Floats
from ....compiled.structures import dimension, floats, integers, structure
from ....compiled.teams import Team
from ..factors import Factors
from ..symbolic.assembly_tree import AssemblyTree

BLOCK = 128  # columns of a panel that are factorized before the rest of it is updated
COLUMNS = 192  # columns of one call of gemm, so that it stays near the lower triangle


class PanelFactors(Factors):
    """L as dense panels, of which supernode k has ``values[panel_start[k]:panel_start[k + 1]]``.

    Attributes
    ----------
    tree : AssemblyTree
    head, following, position : arrays
        The supernodes that wait for each one, as linked lists; the first row of each that has not been subtracted yet.
    waiting : array
        For each task of several threads, the first and the last supernode that is to update others than its own, in the
        order in which one thread would have come to it.
    place, places, product, scaled, below : arrays
        Work arrays, a part of each for every one of the `workers`.
    team : Team
        What sets the number of BLAS's threads.
    """

    tree, team, workers = structure(AssemblyTree), structure(Team), dimension()
    values, work = floats("entries", scratch=True), floats("2 * n")
    head, following, position = integers("supernodes"), integers("supernodes"), integers("supernodes")
    waiting = integers("2 * tasks")
    place, places = integers("n * workers"), integers("n * workers")
    product, scaled = floats("update * workers"), floats("front * workers")
    below = floats("rows * workers")

    def __init__(self, tree: AssemblyTree, signs: Floats, team: Team, workers: int = 1, tasks: int = 0) -> None:
        super().__init__(
            n=tree.perm.size, supernodes=tree.parent.size, entries=int(tree.panel_start[-1]), tasks=tasks,
            workers=workers, rows=tree.largest_update, update=tree.largest_update * COLUMNS,
            front=tree.largest_front * max(BLOCK, COLUMNS), tree=tree, team=team,
        )  # fmt: skip
        self.perm[:], self.signs[:] = tree.perm, signs[tree.perm]
        self.d[:] = 1.0
