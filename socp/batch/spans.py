"""Where the entries of banded matrices are, and the order of variables and rows that gives a narrow band."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..compiled.structures import Structure, integers

NO_CONES = np.zeros(1, np.int64)
WORTHWHILE = 0.7  # the share of the factor's entries up to which the order is changed


class Spans(Structure):
    """Entries of A and of the factor T of P + A'A: none is outside.

    Row i of A has them in the columns row_first[i]:row_end[i], column j in the rows column_first[j]:column_end[j], row
    i of T from column begin[i] on, column j of T above row end[j].  None of these falls with i or j.  Cone k has them
    in the columns cone_first[k]:cone_end[k].
    """

    row_first, row_end, column_first, column_end = integers(), integers(), integers(), integers()
    begin, end = integers(), integers()
    cone_first, cone_end = integers(), integers()


def spans_of(P: np.ndarray, A: np.ndarray, cone_start: np.ndarray = NO_CONES) -> Spans:
    """The spans of matrices, or of patterns; cone k has the rows cone_start[k]:cone_start[k + 1]."""
    row_first, row_end = _hull(A != 0.0)
    column_first, column_end = _hull((A != 0.0).T)
    n = P.shape[0]
    lower = np.tril((P != 0.0) | (P != 0.0).T) | np.eye(n, dtype=bool)
    cones = [(A[a:e] != 0.0).any(axis=0) for a, e in pairwise(cone_start)]  # all of it is coupled
    for row in [*cones, *(A[cone_start[-1] :] != 0.0)]:
        used = np.flatnonzero(row)
        lower[used, used[:1]] = True
    begin, _ = _hull(lower)
    cone_first, cone_end = _spans_of_rows(np.array(cones).reshape(len(cones), n))
    return Spans(
        row_first=row_first, row_end=row_end, column_first=column_first, column_end=column_end, begin=begin,
        end=np.searchsorted(begin, np.arange(n), side="right"), cone_first=cone_first, cone_end=cone_end,
    )  # fmt: skip


class Order:
    """An order of variables and of rows with a narrow band where there is one; else the given one.

    Parameters
    ----------
    P, A : arrays, shapes (1 or k, n, n), (1 or k, m, n)
        Those of a batch.  Where its programs have matrices of their own, the order is the given one.
    cone_start : array of int
        Second-order cone k has the rows cone_start[k]:cone_start[k + 1].  With cones the order is the given one, too.

    Attributes
    ----------
    spans : Spans
    """

    def __init__(self, P: np.ndarray, A: np.ndarray, cone_start: np.ndarray = NO_CONES) -> None:
        self._P, self._A, n, shared = P, A, P.shape[1], P.shape[0] == 1 == A.shape[0]
        found = narrow_band(P[0], A[0]) if shared and not cone_start[-1] else None
        self._columns = self._all = None
        if found is None:
            P, A = (P[0], A[0]) if shared else (np.ones(P.shape[1:]), np.ones(A.shape[1:]))
            self.spans = spans_of(P, A, cone_start)
            return
        self._columns, rows = found
        self._all = np.append(rows, A.shape[1] + self._columns)
        self._P = P[0][np.ix_(self._columns, self._columns)].reshape(1, n, n)
        self._A = A[0][np.ix_(rows, self._columns)].reshape(1, -1, n)
        self.spans = spans_of(self._P[0], self._A[0])

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """P and A in this order, a row for each program."""
        return tuple(part.reshape(part.shape[0], part.shape[1] * part.shape[2]) for part in (self._P, self._A))  # type: ignore[return-value]

    def of_variables(self, array: np.ndarray) -> np.ndarray:
        """The last axis, of variables, in this order."""
        return array if self._columns is None else np.take(array, self._columns, axis=-1)

    def of_all(self, array: np.ndarray) -> np.ndarray:
        """The last axis, of rows and the variables behind them, in this order."""
        return array if self._all is None else np.take(array, self._all, axis=-1)

    def variables_back(self, array: np.ndarray) -> np.ndarray:
        """The last axis, of variables, in the given order."""
        return array if self._columns is None else np.take(array, np.argsort(self._columns), axis=-1)

    def all_back(self, array: np.ndarray) -> np.ndarray:
        """The last axis, of rows and the variables behind them, in the given order."""
        return array if self._all is None else np.take(array, np.argsort(self._all), axis=-1)


def _spans_of_rows(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first column of each row, that behind all of an empty one, and one past the last."""
    rows, columns = entries.shape
    if not columns:
        return np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    some = entries.any(axis=1)
    first, end = entries.argmax(axis=1), columns - entries[:, ::-1].argmax(axis=1)
    return np.where(some, first, columns), np.where(some, end, 0)


def _hull(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same such that neither falls from a row to the next."""
    first, end = _spans_of_rows(entries)
    return np.minimum.accumulate(first[::-1])[::-1].copy(), np.maximum.accumulate(end)


def narrow_band(P: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """An order of variables and one of rows with a narrow band of P + A'A, or None where there is none.

    Variables are taken breadth first from one that is far from another, those with few neighbours first, as Cuthill
    and McKee do it.
    """
    n, used = P.shape[0], A != 0.0
    near = (P != 0.0) | (used.T.astype(float) @ used.astype(float) > 0.0)
    np.fill_diagonal(near, False)
    degree = near.sum(axis=1)
    if degree.min() > WORTHWHILE * n:
        return None
    left, order = np.ones(n, bool), []
    while left.any():
        start = int(np.where(left, degree, n + 1).argmin())
        for _ in range(2):  # the last of a breadth-first walk is far from its start
            found = _breadth_first(near, degree, left, start)
            start = found[-1]
        left[found] = False
        order += found
    columns = np.array(order)
    where = used[:, columns]
    rows = np.lexsort(
        (where.shape[1] - where[:, ::-1].argmax(axis=1), np.where(where.any(axis=1), where.argmax(axis=1), n))
    )
    begin = spans_of(P[np.ix_(columns, columns)], A[np.ix_(rows, columns)]).begin
    return (columns, rows) if (np.arange(n) - begin).sum() <= WORTHWHILE * n * (n - 1) / 2 else None


def _breadth_first(near: np.ndarray, degree: np.ndarray, left: np.ndarray, start: int) -> list[int]:
    """The variables of `left` that hang together with the first, in the order in which they are met."""
    found, open_ones = [start], left.copy()
    open_ones[start] = False
    for i in found:
        neighbours = np.flatnonzero(near[i] & open_ones)
        open_ones[neighbours] = False
        found += neighbours[np.argsort(degree[neighbours], kind="stable")].tolist()
    return found
