"""The arrays of a factorization K = P' (L D L') P: pattern, values and work, of both methods."""

from __future__ import annotations

from ...compiled.structures import Structure, floats, integer, integers, structure, unsigned
from .supernodes import AssemblyTree


class Factors(Structure):
    """What the kernels of `uplooking` and `supernodal` work on; each method uses its own part.

    Attributes
    ----------
    n : int
    perm, signs, d : arrays, shape (n,)
        The order of elimination; in this order the signs that pivots must have, and D.
    values : array
        L by columns, or the panels of the supernodes one after the other.
    source : array of int64
        The places in the data of K of the entries, in the order in which a factorization by rows reads them.
    rows, row_start : arrays of int64
        The row indices of L, and the beginnings of the rows of L in `columns`.
    tree : AssemblyTree
        The supernodes.

    By rows: indptr, indices (the permuted upper triangle), start (columns of L), columns; work (2 n), end.
    By panels: tree; place, places, head, following, position, product, scaled, below.
    """

    n = integer()
    tree = structure(AssemblyTree)
    perm, signs, d = integers("n"), floats("n"), floats("n")
    values, work = floats("entries"), floats("2 * n")
    indptr, indices, source = integers("scalar * (n + 1)"), integers("scalar * given"), integers("scalar * given")
    start, rows = integers("scalar * (n + 1)"), integers("scalar * entries")
    row_start, columns = integers("scalar * (n + 1)"), integers("scalar * entries")
    end = integers("scalar * n")
    place, places = unsigned("supernodal * n"), unsigned("supernodal * n")
    head, following, position = integers("supernodes"), integers("supernodes"), integers("supernodes")
    product, scaled, below = floats("product"), floats("scaled"), floats("below")
