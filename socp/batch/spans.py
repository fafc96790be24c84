"""The places of entries of banded matrices, and orders of variables and rows with a narrow band."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..compiled.structures import Structure, integers
from ..verify.distances import NO_CONES

WORTHWHILE = 0.7  # largest share of a dense factor's entries in a band that is worth a reordering


class Spans(Structure):
    """Ranges that contain all entries of A and of the factor T of P + A'A.

    Row i of A has its entries in the columns row_first[i]:row_end[i], column j in the rows
    column_first[j]:column_end[j], row i of T from column begin[i] on, column j of T above row end[j].  None of these
    limits decreases with i or j.  The rows of cone k have their entries in the columns cone_first[k]:cone_end[k].

    Row i is the caller's row rows[i], column j the variable columns[j]; the variables follow the rows in `rows`.
    """

    row_first, row_end, column_first, column_end = integers(), integers(), integers(), integers()
    begin, end = integers(), integers()
    cone_first, cone_end = integers(), integers()
    rows, columns = integers(), integers()


def spans_of(P: np.ndarray, A: np.ndarray, cone_start: np.ndarray = NO_CONES) -> Spans:
    """Return the spans of matrices, or of their patterns; cone k has the rows cone_start[k]:cone_start[k + 1]."""
    row_first, row_end = _hull(A != 0.0)
    column_first, column_end = _hull((A != 0.0).T)
    n = P.shape[0]
    lower = np.tril((P != 0.0) | (P != 0.0).T) | np.eye(n, dtype=bool)
    cones = [(A[a:e] != 0.0).any(axis=0) for a, e in pairwise(cone_start)]  # A cone couples all of its variables.
    for row in [*cones, *(A[cone_start[-1] :] != 0.0)]:
        used = np.flatnonzero(row)
        lower[used, used[:1]] = True
    begin, _ = _hull(lower)
    cone_first, cone_end = _spans_of_rows(np.array(cones).reshape(len(cones), n))
    return Spans(
        row_first=row_first, row_end=row_end, column_first=column_first, column_end=column_end, begin=begin,
        end=np.searchsorted(begin, np.arange(n), side="right"), cone_first=cone_first, cone_end=cone_end,
        rows=np.arange(len(A) + n), columns=np.arange(n),
    )  # fmt: skip


def ordered_spans(P: np.ndarray, A: np.ndarray, rows: np.ndarray, cone_start: np.ndarray = NO_CONES) -> Spans:
    """Return the spans of a batch, in an order with a narrow band if there is one, else in the given order.

    Parameters
    ----------
    P, A : arrays, shapes (1 or k, n, n), (1 or k, m, n)
        If programs have different matrices, every entry counts as nonzero.
    rows : array of int
        The rows of A that are used.
    cone_start : array of int
        Second-order cone k has cone_start[k]:cone_start[k + 1] of `rows`.  With cones the given order is kept.
    """
    (_, m, n), shared = A.shape, P.shape[0] == 1 == A.shape[0]
    P, A = (P[0], A[0, rows]) if shared else (np.ones((n, n)), np.ones((rows.size, n)))
    columns, found = np.arange(n), narrow_band(P, A) if shared and not cone_start[-1] else None
    if found is not None:
        columns, order = found
        P, A, rows = P[np.ix_(columns, columns)], A[np.ix_(order, columns)], rows[order]
    spans = spans_of(P, A, cone_start)
    spans.rows, spans.columns = np.append(rows, m + columns), columns
    return spans


def _spans_of_rows(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first column of each row (n if it is empty), and one past its last column (0 if it is empty)."""
    rows, columns = entries.shape
    if not columns:
        return np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    some = entries.any(axis=1)
    first, end = entries.argmax(axis=1), columns - entries[:, ::-1].argmax(axis=1)
    return np.where(some, first, columns), np.where(some, end, 0)


def _hull(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the spans of rows, widened so that neither end decreases from one row to the next."""
    first, end = _spans_of_rows(entries)
    return np.minimum.accumulate(first[::-1])[::-1].copy(), np.maximum.accumulate(end)


def narrow_band(P: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return an order of variables and an order of rows that give P + A'A a narrow band, or None if none is found.

    Variables are in the reverse order of Cuthill and McKee, and rows in the order of their first variables.
    """
    n, used = P.shape[0], A != 0.0
    near = (P != 0.0) | (used.T.astype(float) @ used.astype(float) > 0.0)
    if near.sum(axis=1).min() > WORTHWHILE * n + 1:
        return None
    columns = reverse_cuthill_mckee(sp.csr_array(near), symmetric_mode=True)
    where = used[:, columns]
    rows = np.lexsort(
        (where.shape[1] - where[:, ::-1].argmax(axis=1), np.where(where.any(axis=1), where.argmax(axis=1), n))
    )
    begin = spans_of(P[np.ix_(columns, columns)], A[np.ix_(rows, columns)]).begin
    return (columns, rows) if (np.arange(n) - begin).sum() <= WORTHWHILE * n * (n - 1) / 2 else None
