"""Rows of the orthant that cost less than a row of the KKT matrix.

A bound (a row of G with one entry a in column j) is eliminated onto the diagonal: it adds a^2 / w^2 to
entry (j, j).  Rows that are +-1 times each other before equilibration (the two sides of l <= a'x <= u)
share one row of the KKT matrix.  With row_i = d_i rho for the group's representative rho and
v = sum_i d_i dz_i, the equations row_i dx - w_i^2 dz_i = r_i become

    rho dx - v / theta = t / theta,    theta = sum_i d_i^2 / w_i^2,    t = sum_i d_i r_i / w_i^2.
"""

from __future__ import annotations

import numpy as np

from ..compiled.jit import kernel


@kernel
def hash_rows(first, last, indptr, indices, source, data, keys):
    """A key for each row in [first, last): equal for rows that are +-1 times each other."""
    mask = (1 << 62) - 1
    for i in range(first, last):
        start = indptr[i]
        sign = 1.0 if start < indptr[i + 1] and data[source[start]] > 0.0 else -1.0
        key = 1469598103934665603 & mask
        for k in range(start, indptr[i + 1]):
            value = sign * data[source[k]]
            mantissa = np.int64(value * 1048576.0) if abs(value) < 1e12 else np.int64(value / 1048576.0 % 1e18)
            key = ((key ^ (indices[k] + 1)) * 1099511) & mask
            key = ((key ^ (mantissa & mask)) * 1099511) & mask
        keys[i - first] = key


@kernel
def match_rows(first, count, indptr, indices, source, data, keys, order, representative, sign):
    """For each row its representative (the first of its group in `order`) and the sign between them.

    `order` sorts the rows by key, ties in row order.
    """
    for a in range(count):
        i = order[a]
        representative[i] = i
        sign[i] = 1.0
        for b in range(a - 1, max(a - 9, -1), -1):
            j = order[b]
            if keys[j] != keys[i]:
                break
            lead = representative[j]
            s = rows_equal(first + i, first + lead, indptr, indices, source, data)
            if s != 0.0:
                representative[i] = lead
                sign[i] = s
                break


@kernel
def rows_equal(i, j, indptr, indices, source, data):
    """1 when row i equals row j, -1 when it is its negative, else 0 (empty rows stay apart)."""
    length = indptr[i + 1] - indptr[i]
    if length == 0 or length != indptr[j + 1] - indptr[j]:
        return 0.0
    sign = 1.0 if data[source[indptr[i]]] == data[source[indptr[j]]] else -1.0
    for k in range(length):
        a, b = indptr[i] + k, indptr[j] + k
        if indices[a] != indices[b] or data[source[a]] != sign * data[source[b]]:
            return 0.0
    return sign


@kernel
def groups_hold(first, indptr, indices, source, data, lead, sign):
    """Whether each row equals its sign times its representative."""
    for i in range(lead.size):
        if lead[i] != i and rows_equal(first + i, first + lead[i], indptr, indices, source, data) != sign[i]:
            return False
    return True


class RowGroups:
    """How the l rows of the orthant enter the KKT matrix.

    Attributes
    ----------
    variable : array of int64, shape (l,)
        The variable whose bound the row is, or -1.
    group : array of int64, shape (l,)
        The merged row that it belongs to, or -1 for a bound.
    coefficient : array, shape (l,)
        The entry a of a bound, the factor d_i of another row.
    representative : array of int64, shape (count,)
        The row that stands for each merged row.
    """

    def __init__(self, p: int, l: int, rows: tuple[np.ndarray, np.ndarray, np.ndarray], raw: np.ndarray) -> None:
        self.p = p
        indptr, indices, source = rows
        sizes = np.diff(indptr[p : p + l + 1])
        keys = np.empty(l, dtype=np.int64)
        hash_rows(p, p + l, indptr, indices, source, raw, keys)
        order = np.argsort(keys, kind="stable").astype(np.int64)
        lead = np.empty(l, dtype=np.int64)
        self.sign = np.empty(l)
        match_rows(p, l, indptr, indices, source, raw, keys, order, lead, self.sign)

        bound = sizes == 1
        starts = np.minimum(indptr[p : p + l], max(indices.size - 1, 0))
        self.bound_source = source[starts[bound]] if indices.size else np.zeros(0, dtype=np.int64)
        self.variable = np.full(l, -1, dtype=np.int64)
        self.variable[bound] = indices[starts[bound]]
        leads = (lead == np.arange(l)) & ~bound
        self.representative = np.flatnonzero(leads)
        self.group = (np.cumsum(leads) - 1)[lead]
        self.group[bound] = -1
        self.lead, self.bound, self.count = lead, bound, self.representative.size

    def still_hold(self, rows: tuple[np.ndarray, np.ndarray, np.ndarray], raw: np.ndarray) -> bool:
        """Whether new values of M keep every merged row parallel to its representative."""
        return groups_hold(self.p, *rows, raw, self.lead, self.sign)

    def coefficients(self, E: np.ndarray, data: np.ndarray) -> np.ndarray:
        """The factors under the row scaling E of the orthant, for the scaled data of M."""
        coefficient = self.sign * E / E[self.lead]
        coefficient[self.bound] = data[self.bound_source]
        return coefficient
