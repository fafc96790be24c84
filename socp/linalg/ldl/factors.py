"""The arrays of a factorization K = P' (L D L') P: pattern, values and work, of all methods."""

from __future__ import annotations

from ...compiled.structures import floats, integer, integers, number, structure, unsigned
from ...compiled.teams import Team
from .parallel.subtrees import Sharing
from .symbolic.assembly_tree import AssemblyTree


class Factors(Team):
    """What the kernels of `uplooking`, `strip_factor` and `supernodal` work on; each method uses its own part.

    Attributes
    ----------
    n : int
    perm, signs, d : arrays, shape (n,)
        The order of elimination; in this order the signs that pivots must have, and D.
    values : array
        L by columns, by strips (the triangle of each, then its rows), or the panels of the supernodes.
    source : array of int64
        The places in the data of K of the entries, in the order in which a factorization by rows reads them.
    rows, row_start : arrays of int64
        The row indices of L, and the beginnings of the rows of L in `columns`.
    tree : AssemblyTree
        The supernodes.

    sharing : Sharing
        What threads do side by side, where there are several.

    By rows: indptr, indices (the permuted upper triangle), start (columns of L), columns; work (2 n), end.
    By strips: the same but that `start` holds, for each strip, twice the place of its rows, and 1 more for four
    columns; columns (for each strip, those that have its rows); `strip` (for each its first column, the places of its
    rows and of its values, the end of the rows that are factored), `reached`; inverse (of D), work_four.  Where some
    columns are constant (see `constant`), these and their strips: constant_columns, constant; base, base_d; kept (the
    entries of K there), replaced_constants; link and middle (where in a row the other strips, and the other entries of
    K, begin).
    By panels: tree; place, places, head, following, position, product, scaled, below.
    By several threads: sharing, and what its tasks are told.  `waiting` is, for each task, the first and the last of
    the supernodes that are to update the top of the tree, in the order in which one thread would have come to it.
    """

    n = integer()
    tree = structure(AssemblyTree)
    perm, signs, d = integers("n"), floats("n"), floats("n")
    values, work = floats("entries", scratch=True), floats("2 * n")
    indptr, indices = integers("by_rows * (n + 1)"), integers("by_rows * given", scratch=True)
    source = integers("by_rows * given", scratch=True)
    start, row_start = integers("by_rows * (lists + 1)"), integers("by_rows * (lists + 1)")
    rows, columns, end = integers("held", scratch=True), integers("held", scratch=True), integers("scalar * n")
    strip, strips, reached = integers("striped * 4 * (lists + 2)"), integer(), integer()
    inverse, work_four = floats("striped * n"), floats("striped * 4 * n")
    link, middle = integers("striped * lists"), integers("striped * n")
    base, base_d, kept = floats("based * entries"), floats("based * n"), floats("kept")
    constant, constant_columns, replaced_constants = integer(), integer(), integer()
    place, places = unsigned("supernodal * n * workers"), unsigned("supernodal * n * workers")
    head, following, position = integers("supernodes"), integers("supernodes"), integers("supernodes")
    product, scaled, below = floats("product * workers"), floats("scaled * workers"), floats("below * workers")

    sharing = structure(Sharing)
    tasks_of_factors, tasks_of_panels, rows_of_panels, columns_of_panels = integer(), integer(), integer(), integer()
    lower_tasks, upper_tasks = integer(), integer()
    data_address, data_size, eps, delta = integer(), integer(), number(), number()
    panel, from_column, to_column, chunk = integer(), integer(), integer(), integer()
    replaced, waiting = integers("tasks"), integers("2 * tasks")
    workers, right_hand_sides = integer(), integer()
    private, sums = floats("2 * n * workers * shared"), floats("2 * boundary")
