"""The arrays of a factorization K = P' (L D L') P: pattern, values and work, of both methods."""

from __future__ import annotations

from ...compiled.structures import Structure, floats, integer, integers, unsigned


class Factors(Structure):
    """What the kernels of `uplooking` and `supernodal` work on; each method uses its own part.

    Attributes
    ----------
    n : int
    perm, signs, d : arrays, shape (n,)
        The order of elimination; in this order the signs that pivots must have, and D.
    values : array
        L by columns, or the panels of the supernodes one after the other.
    rows : array of int64
        The row indices of L, or those below the triangles of the supernodes.
    source : array of int64
        The places in the data of K of the entries, in the order in which a factorization reads them.
    row_start : array of int64
        The beginnings of the rows of L in `columns`, or of the rows of the supernodes in `rows`.

    By rows: indptr, indices (the permuted upper triangle), start (columns of L), columns; work (2 n), end.
    By panels: the arrays of `AssemblyTree`; place, places, head, following, position, product, scaled, below.
    """

    n = integer()
    perm, signs, d = integers(), floats(), floats("n")
    values, work = floats("entries"), floats("2 * n")
    rows, source, row_start = integers(), integers(), integers()
    indptr, indices, start, columns, end = integers(), integers(), integers(), integers(), integers("n")
    first, owner, panel_start, entry_start, target = integers(), integers(), integers(), integers(), integers()
    place, places = unsigned("supernodal * n"), unsigned("supernodal * n")
    head, following, position = integers("supernodes"), integers("supernodes"), integers("supernodes")
    product, scaled, below = floats("product"), floats("scaled"), floats("below")
