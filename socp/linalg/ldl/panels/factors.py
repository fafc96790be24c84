"""The memory of a factorization by panels."""

from __future__ import annotations

from ....compiled.signatures import Floats
from ....compiled.structures import floats, integers, structure
from ...cholesky import NARROW
from ..factors import Factors
from ..symbolic.assembly_tree import AssemblyTree


class PanelFactors(Factors):
    """L as dense panels, of which supernode k has ``values[panel_start[k]:panel_start[k + 1]]``.

    Attributes
    ----------
    tree : AssemblyTree
    head, following, position : arrays
        The supernodes that wait for each one, as linked lists; the first row of each that has not been subtracted yet.
    place, places, product, scaled, below : arrays
        Work arrays.
    """

    tree = structure(AssemblyTree)
    values, work = floats("entries", scratch=True), floats("2 * n")
    head, following, position = integers("supernodes"), integers("supernodes"), integers("supernodes")
    place, places = integers("n"), integers("n")
    product, scaled, below = floats("update"), floats("front"), floats("rows")

    def __init__(self, tree: AssemblyTree, signs: Floats) -> None:
        super().__init__(
            n=tree.perm.size, supernodes=tree.parent.size, entries=int(tree.panel_start[-1]),
            rows=tree.largest_update, update=tree.largest_update * NARROW,
            front=tree.largest_front * NARROW, tree=tree,
        )  # fmt: skip
        self.perm[:], self.signs[:] = tree.perm, signs[tree.perm]
        self.d[:] = 1.0
