"""The matrix that is factored: the KKT matrix in its reduced, rotated and expanded form.

Its rows and columns, before the fill-reducing permutation:

    x                      n         bounds eliminated onto the diagonal (see `row_groups`)
    y                      p
    merged orthant rows    one a group of parallel rows (see `row_groups`)
    second-order cones     one a cone row, but for the eliminated ones (see `expansion`)
    v, u of large cones    two a cone

With w the Nesterov-Todd point of a second-order cone, W^2 = eta^2 (2ww' - J) has the eigenvectors
q+- = (1, +-w_1 / ||w_1||) / sqrt(2) with the eigenvalues (eta rho)^2 and (eta / rho)^2, rho = w_0 + ||w_1||, and
eta^2 on all that is orthogonal to them.  Stored entry by entry, W^2 loses the small eigenvalue once rho^4
nears the inverse of the machine precision.  Hence:

* A small cone is rotated: with Q = [q+, q-, ...] orthogonal (a Householder reflection), the rows of G become Q'G
  and the block the diagonal -(eta rho)^2, -(eta / rho)^2, -eta^2 ...
* A larger one, or one with short rows, is kept sparse by two further columns: see `expansion`.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats, Ints
from ..compiled.structures import Structure, floats, integer, integers, structure
from ..form.row_groups import RowGroups, weigh_rows
from ..form.standard import StandardForm
from ..linalg.vectors import norm_tail, sort_integers
from .expansion import ConeColumns, fill_expanded


class KKTMatrix(Structure):
    """The upper triangle of the matrix in CSC, its pattern fixed, its values refreshed in place.

    Attributes
    ----------
    size : int
        Its order.
    indptr, indices, data : the upper triangle
    diagonal : array of int64
        The place of each diagonal entry.
    signs : array of int64
        The signs of the pivots of its LDL'.
    weak : array of bool
        Diagonal entries that are zero but for the static regularization.
    groups : RowGroups
    cones : ConeColumns
        How the second-order cones enter.
    union_ptr, dense_ptr, dense : arrays
        The number of columns that the rows of each rotated cone touch, and these rows as dense blocks.
    """

    form, groups, cones = structure(StandardForm), structure(RowGroups), structure(ConeColumns)
    size = integer()
    indptr, indices, data, diagonal = integers(), integers(), floats(), integers()
    P_diagonal, weights = floats("n"), floats("n")
    union_ptr, dense_ptr, dense, work = integers("cones + 1"), integers(), floats(), floats()

    def __init__(self, form: StandardForm) -> None:
        n, p = form.n, form.p
        super().__init__(n=n, cones=form.cones)
        self.form, self.groups = form, form.groups
        self.rows = rows = form.rows_of_M
        P_indptr, P_indices, _ = form.P.upper()
        self.cones = cones = ConeColumns(form, rows, n + p + self.groups.count)
        self.size = size = cones.end

        union = self._gather_unions()
        counts = np.empty(size, dtype=np.int64)
        count_pattern(self, P_indptr, P_indices, rows[0], counts)
        self.indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self.indices = np.empty(self.indptr[-1], dtype=np.int64)
        self.data = np.zeros(self.indptr[-1])
        self.diagonal = np.empty(size, dtype=np.int64)
        self.place_P = np.empty(P_indices.size, dtype=np.int64)
        self.place_M = np.full(form.M_indices.size, -1, dtype=np.int64)
        fill_pattern(self, P_indptr, P_indices, *rows, union, self.place_P, self.place_M)
        self.in_M = np.flatnonzero(self.place_M >= 0)
        self.signs = np.full(size, -1, dtype=np.int64)
        self.signs[:n] = 1
        self.signs[cones.extra[cones.extra >= 0] + 1] = 1
        self.weak = self._weak(P_indptr, P_indices)
        self.refresh()

    def _gather_unions(self) -> np.ndarray:
        """The columns that the rows of each rotated cone touch; `union_ptr` and what comes with it."""
        form, rows = self.form, self.rows
        count = form.cones
        self.entry = np.empty(rows[1].size if count else 0, dtype=np.int64)
        union = np.empty(rows[1].size if count else 0, dtype=np.int64)
        if count:
            touch_columns(self, rows[0], rows[1], union, self.entry, *np.empty((2, form.n), dtype=np.int64))
        blocks = np.diff(form.ptr) * np.diff(self.union_ptr)
        self.dense_ptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(blocks)])
        self.dense = np.zeros(int(self.dense_ptr[-1]))
        self.work = np.zeros(int(blocks.max(initial=0)))
        return union

    def _weak(self, P_indptr: np.ndarray, P_indices: np.ndarray) -> np.ndarray:
        n, p, groups, cones = self.form.n, self.form.p, self.groups, self.cones
        weak = np.zeros(self.size, dtype=np.bool_)
        weak[: n + p] = True
        weak[groups.variable[groups.variable >= 0]] = weak[cones.variable[cones.variable >= 0]] = False
        has_diagonal = np.flatnonzero(np.diff(P_indptr) > 0)
        weak[has_diagonal[P_indices[P_indptr[has_diagonal + 1] - 1] == has_diagonal]] = False
        return weak

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        form = self.form
        self.data[self.diagonal] = 0.0
        self.data[self.place_P] = form.P.upper()[2]
        self.P_diagonal[:] = self.data[self.diagonal[: form.n]]
        self.data[self.place_M[self.in_M]] = form.M_data[self.in_M]
        if form.cones > 0:
            self.cones.refresh(form.M_data)
            gather_cones(self, self.rows[0], self.rows[2], self.entry)


@kernel
def touch_columns(
    matrix: KKTMatrix, indptr: Ints, indices: Ints, union: Ints, entry: Ints, seen: Ints, place: Ints
) -> None:
    """The columns that the rows of each rotated cone touch, sorted, and for each entry its place among them.

    `union` has room for all entries, `entry` follows the rows of M.
    """
    p, ptr, extra, union_ptr = matrix.form.p, matrix.form.ptr, matrix.cones.extra, matrix.union_ptr
    for j in range(seen.size):
        seen[j] = -1
    total = 0
    for k in range(ptr.size - 1):
        union_ptr[k] = total
        if extra[k] < 0:
            for q in range(indptr[p + ptr[k]], indptr[p + ptr[k + 1]]):
                if seen[indices[q]] != k:
                    seen[indices[q]] = k
                    union[total] = indices[q]
                    total += 1
            sort_integers(union, union_ptr[k], total)
            for q in range(union_ptr[k], total):
                place[union[q]] = q - union_ptr[k]
            for q in range(indptr[p + ptr[k]], indptr[p + ptr[k + 1]]):
                entry[q] = place[indices[q]]
    union_ptr[ptr.size - 1] = total


@kernel
def count_pattern(matrix: KKTMatrix, P_indptr: Ints, P_indices: Ints, M_indptr: Ints, counts: Ints) -> None:
    """counts[j] := entries in column j of the upper triangle."""
    form, groups, cones = matrix.form, matrix.groups, matrix.cones
    n, p, l, ptr, union_ptr, lead = form.n, form.p, form.l, form.ptr, matrix.union_ptr, groups.representative
    extra, column, slots_ptr = cones.extra, cones.column, cones.slots_ptr
    for j in range(n):
        counts[j] = P_indptr[j + 1] - P_indptr[j]
        if counts[j] == 0 or P_indices[P_indptr[j + 1] - 1] != j:
            counts[j] += 1
    for i in range(p):
        counts[n + i] = M_indptr[i + 1] - M_indptr[i] + 1
    for r in range(groups.count):
        counts[n + p + r] = M_indptr[p + lead[r] + 1] - M_indptr[p + lead[r]] + 1
    for k in range(ptr.size - 1):
        kept = 0
        for i in range(ptr[k], ptr[k + 1]):
            if extra[k] < 0:
                counts[column[i - l]] = union_ptr[k + 1] - union_ptr[k] + 1
            elif column[i - l] >= 0:
                counts[column[i - l]] = M_indptr[p + i + 1] - M_indptr[p + i] + 1
                kept += 1
        if extra[k] >= 0:
            counts[extra[k]] = counts[extra[k] + 1] = slots_ptr[k + 1] - slots_ptr[k] + kept + 1
            if 0 < kept < ptr[k + 1] - ptr[k]:
                counts[extra[k] + 1] += 1


@kernel
def fill_pattern(
    matrix: KKTMatrix, P_indptr: Ints, P_indices: Ints, M_indptr: Ints, M_indices: Ints, M_source: Ints, union: Ints,
    place_P: Ints, place_M: Ints,
) -> None:  # fmt: skip
    """The row indices of the upper triangle, and where each entry of P and of M, and each diagonal entry, is.

    P is the upper triangle of P, M the rows of M.
    """
    form, groups = matrix.form, matrix.groups
    n, p, lead = form.n, form.p, groups.representative
    indptr, indices, diagonal = matrix.indptr, matrix.indices, matrix.diagonal
    for j in range(diagonal.size):
        diagonal[j] = indptr[j + 1] - 1
        indices[diagonal[j]] = j
    for j in range(n):
        at = indptr[j]
        for k in range(P_indptr[j], P_indptr[j + 1]):
            indices[at] = P_indices[k]
            place_P[k] = at
            at += 1
    for r in range(p + groups.count):
        i = r if r < p else p + lead[r - p]
        fill_row(M_indptr[i], M_indptr[i + 1], M_indices, M_source, indptr[n + r], indices, place_M)
    fill_cone_pattern(matrix, M_indptr, M_indices, M_source, union, place_M)


@inner
def fill_cone_pattern(
    matrix: KKTMatrix, M_indptr: Ints, M_indices: Ints, M_source: Ints, union: Ints, place_M: Ints
) -> None:
    """`fill_pattern` for the columns of the second-order cones."""
    cones, p, l, ptr = matrix.cones, matrix.form.p, matrix.form.l, matrix.form.ptr
    indptr, indices, diagonal, union_ptr = matrix.indptr, matrix.indices, matrix.diagonal, matrix.union_ptr
    extra, column, slots_ptr, slots = cones.extra, cones.column, cones.slots_ptr, cones.slots
    for k in range(ptr.size - 1):
        if extra[k] < 0:
            for i in range(ptr[k], ptr[k + 1]):
                at = indptr[column[i - l]]
                for q in range(union_ptr[k], union_ptr[k + 1]):
                    indices[at + q - union_ptr[k]] = union[q]
            continue
        at_v, at_u = indptr[extra[k]], indptr[extra[k] + 1]
        for q in range(slots_ptr[k], slots_ptr[k + 1]):
            indices[at_v] = indices[at_u] = slots[q]
            at_v += 1
            at_u += 1
        for i in range(ptr[k], ptr[k + 1]):
            if column[i - l] >= 0:
                a, b = M_indptr[p + i], M_indptr[p + i + 1]
                fill_row(a, b, M_indices, M_source, indptr[column[i - l]], indices, place_M)
                indices[at_v] = indices[at_u] = column[i - l]
                at_v += 1
                at_u += 1
        if at_u < diagonal[extra[k] + 1]:
            indices[at_u] = extra[k]


@inner
def fill_row(begin: int, end: int, M_indices: Ints, M_source: Ints, at: int, indices: Ints, place_M: Ints) -> None:
    """One row of M, entries begin to end, as the column of the upper triangle that begins at `at`."""
    for k in range(begin, end):
        indices[at] = M_indices[k]
        place_M[M_source[k]] = at
        at += 1


@kernel
def gather_cones(matrix: KKTMatrix, M_indptr: Ints, M_source: Ints, entry: Ints) -> None:
    """The rows of G of each rotated cone as a dense (dimension, columns) block."""
    p, ptr, M_data, extra = matrix.form.p, matrix.form.ptr, matrix.form.M_data, matrix.cones.extra
    union_ptr, dense_ptr, dense = matrix.union_ptr, matrix.dense_ptr, matrix.dense
    for at in range(dense.size):
        dense[at] = 0.0
    for k in range(ptr.size - 1):
        if extra[k] >= 0:
            continue
        width = union_ptr[k + 1] - union_ptr[k]
        for i in range(ptr[k], ptr[k + 1]):
            at = dense_ptr[k] + (i - ptr[k]) * width
            for q in range(M_indptr[p + i], M_indptr[p + i + 1]):
                dense[at + entry[q]] = M_data[M_source[q]]


@inner
def fill_matrix(matrix: KKTMatrix, w: Floats, eta: Floats, delta: float) -> None:
    """The values at the scaling (w, eta), with delta added to the diagonal along its signs."""
    form, groups, diagonal, data, weights = matrix.form, matrix.groups, matrix.diagonal, matrix.data, matrix.weights
    n, p, theta = form.n, form.p, groups.theta
    for j in range(n):
        weights[j] = matrix.P_diagonal[j] + delta
    weigh_rows(groups, w, weights)
    for j in range(n):
        data[diagonal[j]] = weights[j]
    for i in range(p):
        data[diagonal[n + i]] = -delta
    for r in range(groups.count):
        data[diagonal[n + p + r]] = -1.0 / theta[r] - delta
    if form.cones > 0:
        fill_rotated(matrix, w, eta, delta)
        fill_expanded(form, matrix.cones, w[form.l :], eta, delta, matrix.indptr, diagonal, data)


@inner
def rotate(w: Floats, start: int, stop: int, tail: float, v: Floats, offset: int, stride: int) -> None:
    """v := Q'v on a second-order cone, in place, for v[offset], v[offset + stride], ...; tail = ||w_1||.

    Q' is the Householder reflection of v_1 that takes w_1 / ||w_1|| to +-e_1, then the rotation by 45 degrees of
    the two leading entries.  Q' is symmetric but for the order, and its inverse is `rotate_back`.
    """
    reflect(w, start, stop, tail, v, offset, stride)
    a, b = v[offset], v[offset + stride]
    v[offset] = (a + b) * math.sqrt(0.5)
    v[offset + stride] = (a - b) * math.sqrt(0.5)


@inner
def rotate_back(w: Floats, start: int, stop: int, tail: float, v: Floats, offset: int, stride: int) -> None:
    """v := Q v, the inverse of `rotate`."""
    a, b = v[offset], v[offset + stride]
    v[offset] = (a + b) * math.sqrt(0.5)
    v[offset + stride] = (a - b) * math.sqrt(0.5)
    reflect(w, start, stop, tail, v, offset, stride)


@inner
def reflect(w: Floats, start: int, stop: int, tail: float, v: Floats, offset: int, stride: int) -> None:
    """v_1 := H v_1 with H = H' = H^-1 and H w_1 = ||w_1|| e_1 (the identity for w_1 = 0).

    H = -(I - 2 a a' / a'a) with a = w_1 + ||w_1|| e_1 when the first entry of w_1 is positive, which does not
    cancel, and H = I - 2 a a' / a'a with a = w_1 - ||w_1|| e_1 otherwise.
    """
    if tail == 0.0:
        return
    first = w[start + 1]
    sign = 1.0 if first > 0.0 else -1.0
    lead = first + sign * tail
    # a'a = 2 ||w_1|| (||w_1|| + |first|)
    inner = lead * v[offset + stride]
    for i in range(start + 2, stop):
        inner += w[i] * v[offset + (i - start) * stride]
    factor = inner / (tail * (tail + abs(first)))
    v[offset + stride] = -sign * (v[offset + stride] - factor * lead)
    for i in range(start + 2, stop):
        at = offset + (i - start) * stride
        v[at] = -sign * (v[at] - factor * w[i])


@inner
def fill_rotated(matrix: KKTMatrix, w: Floats, eta: Floats, delta: float) -> None:
    """The rows and diagonals of the rotated cones."""
    l, ptr, extra, column = matrix.form.l, matrix.form.ptr, matrix.cones.extra, matrix.cones.column
    indptr, diagonal, data, work = matrix.indptr, matrix.diagonal, matrix.data, matrix.work
    union_ptr, dense_ptr, dense = matrix.union_ptr, matrix.dense_ptr, matrix.dense
    for k in range(ptr.size - 1):
        if extra[k] >= 0:
            continue
        start, stop = ptr[k], ptr[k + 1]
        size, first = stop - start, column[start - l]
        tail = norm_tail(w, start, stop)
        rho, square = w[start] + tail, eta[k] * eta[k]
        data[diagonal[first]] = -square * rho * rho - delta
        data[diagonal[first + 1]] = -square / (rho * rho) - delta
        for i in range(2, size):
            data[diagonal[first + i]] = -square - delta
        width = union_ptr[k + 1] - union_ptr[k]
        for at in range(size * width):
            work[at] = dense[dense_ptr[k] + at]
        for j in range(width):
            rotate(w, start, stop, tail, work, j, width)
        for i in range(size):
            at = indptr[first + i]
            for j in range(width):
                data[at + j] = work[i * width + j]
