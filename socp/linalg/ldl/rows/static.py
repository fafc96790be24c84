"""Columns of L that do not change from one factorization to the next.

Some entries of K never change, for example the rows of free variables and of equations in a KKT matrix.  A column of L
never changes if the entries of K in this column and in its descendants in the elimination tree never change.  With
these columns first,

    K = [ K11  K21' ]     L11, D1 and L21 are computed once, and so is  base := L21 D1 L21',
        [ K21  K22  ]     and a factorization factors K22 - base.
"""

from __future__ import annotations

from ....compiled.kernels import deferred
from ....compiled.signatures import Floats
from .eliminate import eliminate
from .four_wide import DONE, FIRST, FIRST_AFTER, ROW_BEGIN, FourWideFactors


@deferred
def are_unchanged(ldl: FourWideFactors, data: Floats) -> bool:
    """Return True if the entries of static columns of K, `eps` and `delta` are as in the last factorization.

    Store all of them for the next comparison.
    """
    kept, indptr, middle, source, at = ldl.kept, ldl.indptr, ldl.middle, ldl.source, 0
    same = ldl.kept_eps == ldl.eps and ldl.kept_delta == ldl.delta
    ldl.kept_eps, ldl.kept_delta = ldl.eps, ldl.delta
    for k in range(ldl.n):
        stop = indptr[k + 1] if k < ldl.static_columns else middle[k]
        for p in range(indptr[k], stop):
            value = data[source[p]]
            same &= kept[at] == value
            kept[at] = value
            at += 1
    return same


@deferred
def find_base(ldl: FourWideFactors, data: Floats) -> None:
    """Compute L21, and base := L21 D1 L21' in the pattern of L."""
    table, indices, source = ldl.table, ldl.indices, ldl.source
    indptr, middle, work = ldl.indptr, ldl.middle, ldl.work_four
    for s in range(ldl.static, ldl.supernodes):
        k = table[(s << 2) + FIRST]
        count = table[(s << 2) + FIRST_AFTER] - k
        table[(s << 2) + DONE] = table[(s << 2) + ROW_BEGIN]
        for c in range(count):
            for p in range(indptr[k + c], middle[k + c]):
                work[(indices[p] << 2) + c] = data[source[p]]
        eliminate(ldl, ldl.row_start[s], ldl.link[s], k, count)
        pass_base(ldl, s, work, 2, True)


@deferred
def pass_base(ldl: FourWideFactors, s: int, work: Floats, shift: int, is_new: bool) -> None:
    """Subtract `base` from the rows of supernode `s` in `work`; if `is_new`, set base := -rows and the rows to zero.

    Column j of the rows is at work[j << shift].
    """
    table, linked, base, at = ldl.table, ldl.columns, ldl.base, ldl.base_start[s]
    end, count = ldl.row_start[s + 1], table[(s << 2) + FIRST_AFTER] - table[(s << 2) + FIRST]
    for q in range(ldl.link[s], end + 1):  # the linked supernodes that are not static, then `s` itself
        t = linked[q] & ~1 if q < end else s << 2
        for j in range(table[t + FIRST], table[t + FIRST_AFTER]):
            for i in range(j << shift, (j << shift) + count):
                if is_new:
                    base[at], work[i] = -work[i], 0.0
                else:
                    work[i] -= base[at]
                at += 1
