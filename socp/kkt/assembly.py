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

from ..compiled.kernels import deferred, deferred_kernel, inner, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, floats, integer, integers, structure
from ..form.row_groups import RowGroups, weigh_rows
from ..form.standard import StandardForm
from ..linalg.vectors import norm_tail, sort_integers
from ..problem.distances import NO_CONES
from .expansion import ConeColumns, fill_expanded, no_cones, take_entries


class KKTMatrix(Structure):
    """The upper triangle of the matrix in CSC, its pattern static, its values refreshed in place.

    Attributes
    ----------
    size : int
        Its order.
    indptr, indices, data : the upper triangle
    diagonal : array of int64
        The place of each diagonal entry.
    signs : array of int64
        The signs of the pivots of its LDL'.
    zero_diagonal : array of bool
        Diagonal entries that are zero but for the static regularization.
    static : array of bool
        Rows and columns that do not change with the scaling.
    groups : RowGroups
    cones : ConeColumns
        How the second-order cones enter.
    union_ptr, dense_ptr, dense : arrays
        The number of columns that the rows of each rotated cone touch, and these rows as dense blocks.
    """

    form, groups, cones = structure(StandardForm), structure(RowGroups), structure(ConeColumns)
    size = integer()
    indptr, indices, data = integers(), integers("entries", scratch=True), floats("entries")
    diagonal, signs = integers("order"), integers("order")
    # of each entry in `data`, or -1
    place_P, place_M = integers("hessian", scratch=True), integers("stacked", scratch=True)
    P_diagonal, weights = floats("n"), floats("n")
    union_ptr, dense_ptr, entry, dense, work = integers(), integers(), integers(), floats(), floats()

    def __init__(self, form: StandardForm) -> None:
        P_indptr, P_indices, P_data = form.P.upper()
        base = form.n + form.p + form.groups.count
        cones = ConeColumns(form, base) if form.cones else no_cones()
        order = cones.end if form.cones else base
        indptr, union_ptr, union, entry = np.zeros(order + 1, np.int64), NO_CONES, NO_CONES, NO_CONES
        if form.cones:
            union_ptr, (union, entry) = np.empty(form.cones + 1, np.int64), np.empty((2, form.entries), np.int64)
            touch_columns(form, cones, union_ptr, union, entry)
        count_pattern(form, cones, P_indptr, P_indices, union_ptr, indptr)
        super().__init__(
            form=form, groups=form.groups, cones=cones, n=form.n, order=order, entries=int(indptr[-1]),
            hessian=P_indices.size, stacked=form.entries,
        )  # fmt: skip
        self.size, self.indptr, self.zero_diagonal, self.static = (
            order,
            indptr,
            np.empty(order, np.bool_),
            np.empty(order, np.bool_),
        )
        if form.cones:
            self._hold_rotated(union_ptr, entry)
        fill_pattern(self, P_indptr, P_indices, union, self.zero_diagonal, self.static)
        take_values(self, P_data)

    def _hold_rotated(self, union_ptr: np.ndarray, entry: np.ndarray) -> None:
        """Take the memory of the rotated cones."""
        self.union_ptr, self.entry = union_ptr, entry
        blocks = np.diff(self.form.ptr) * np.diff(union_ptr)
        self.dense_ptr = np.concatenate([NO_CONES, np.cumsum(blocks)])
        self.dense, self.work = np.zeros(int(self.dense_ptr[-1])), np.zeros(int(blocks.max()))

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        take_values(self, self.form.P.upper()[2])


@kernel
def take_values(matrix: KKTMatrix, P_data: Floats) -> None:
    """The values of P and M; the diagonal of P apart."""
    form, diagonal, data, place_P, place_M = (
        matrix.form, matrix.diagonal, matrix.data, matrix.place_P, matrix.place_M
    )  # fmt: skip
    for j in range(diagonal.size):
        data[diagonal[j]] = 0.0
    for k in range(place_P.size):
        if place_P[k] >= 0:
            data[place_P[k]] = P_data[k]
    for j in range(form.n):
        matrix.P_diagonal[j] = data[diagonal[j]]
    for k in range(place_M.size):
        if place_M[k] >= 0:
            data[place_M[k]] = form.M_data[k]
    if form.cones > 0:
        take_entries(form, matrix.cones)
        gather_cones(matrix)


@deferred_kernel
def touch_columns(form: StandardForm, cones: ConeColumns, union_ptr: Ints, union: Ints, entry: Ints) -> None:
    """The columns that the rows of each rotated cone touch, sorted, and for each entry its place among them.

    `union` has room for all entries, `entry` follows the rows of M.
    """
    n, p, ptr, indptr, indices, extra = form.n, form.p, form.ptr, form.Mt_indptr, form.Mt_indices, cones.extra
    seen, place = np.empty(n, np.int64), np.empty(n, np.int64)
    for j in range(n):
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
def count_pattern(
    form: StandardForm, cones: ConeColumns, P_indptr: Ints, P_indices: Ints, union_ptr: Ints, indptr: Ints
) -> None:  # fmt: skip
    """indptr := the beginnings of the columns of the upper triangle."""
    n, p, l, ptr, lead, M_indptr = form.n, form.p, form.l, form.ptr, form.groups.representative, form.Mt_indptr
    extra, column, slots_ptr, counts = cones.extra, cones.column, cones.slots_ptr, indptr[1:]
    for j in range(n):
        counts[j] = 1
        for k in range(P_indptr[j], P_indptr[j + 1]):
            counts[j] += P_indices[k] < j
    for i in range(p):
        counts[n + i] = M_indptr[i + 1] - M_indptr[i] + 1
    for r in range(form.groups.count):
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
    for j in range(counts.size):
        indptr[j + 1] += indptr[j]


@kernel
def fill_pattern(
    matrix: KKTMatrix, P_indptr: Ints, P_indices: Ints, union: Ints, zero_diagonal: Bools, static: Bools
) -> None:
    """The row indices of the upper triangle, and where each entry of P and of M, and each diagonal entry, is.

    Of P at least the upper triangle is given.
    """
    form, groups, place_P, place_M = matrix.form, matrix.groups, matrix.place_P, matrix.place_M
    n, p, lead, M_indptr = form.n, form.p, groups.representative, form.Mt_indptr
    indptr, indices, diagonal = matrix.indptr, matrix.indices, matrix.diagonal
    find_signs(matrix, zero_diagonal)
    for j in range(static.size):
        static[j] = zero_diagonal[j]
    for j in range(diagonal.size):
        diagonal[j] = indptr[j + 1] - 1
        indices[diagonal[j]] = j
    for j in range(n):
        at = indptr[j]
        for k in range(P_indptr[j], P_indptr[j + 1]):
            place_P[k] = -1
            if P_indices[k] <= j:
                zero_diagonal[j] = zero_diagonal[j] and P_indices[k] < j
                indices[at] = P_indices[k]
                place_P[k] = at
                at += 1
    for k in range(place_M.size):
        place_M[k] = -1
    for r in range(p + groups.count):
        i = r if r < p else p + lead[r - p]
        fill_row(form, M_indptr[i], M_indptr[i + 1], indptr[n + r], indices, place_M)
    if form.cones > 0:
        fill_cone_pattern(matrix, union)
        for k in range(n + p + groups.count, static.size):  # of the cones' columns all entries change
            for q in range(indptr[k], indptr[k + 1]):
                static[indices[q]] = False


@inner
def find_signs(matrix: KKTMatrix, zero_diagonal: Bools) -> None:
    """The signs of the pivots, and the diagonal entries that neither bounds nor cones add to; P is not looked at."""
    form, cones, signs = matrix.form, matrix.cones, matrix.signs
    for j in range(signs.size):
        signs[j] = 1 if j < form.n else -1
        zero_diagonal[j] = j < form.n + form.p
    for j in matrix.groups.variable:
        if j >= 0:
            zero_diagonal[j] = False
    for j in cones.variable:
        if j >= 0:
            zero_diagonal[j] = False
    for v in cones.extra:
        if v >= 0:
            signs[v + 1] = 1


@deferred
def fill_cone_pattern(matrix: KKTMatrix, union: Ints) -> None:
    """`fill_pattern` for the columns of the second-order cones."""
    M_indptr, place_M = matrix.form.Mt_indptr, matrix.place_M
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
                fill_row(matrix.form, a, b, indptr[column[i - l]], indices, place_M)
                indices[at_v] = indices[at_u] = column[i - l]
                at_v += 1
                at_u += 1
        if at_u < diagonal[extra[k] + 1]:
            indices[at_u] = extra[k]


@inner
def fill_row(form: StandardForm, begin: int, end: int, at: int, indices: Ints, place_M: Ints) -> None:
    """One row of M, entries begin to end, as the column of the upper triangle that begins at `at`."""
    for k in range(begin, end):
        indices[at] = form.Mt_indices[k]
        place_M[form.Mt_source[k]] = at
        at += 1


@deferred
def gather_cones(matrix: KKTMatrix) -> None:
    """The rows of G of each rotated cone as a dense (dimension, columns) block."""
    form, extra, entry = matrix.form, matrix.cones.extra, matrix.entry
    p, ptr, M_data, M_indptr, M_source = form.p, form.ptr, form.M_data, form.Mt_indptr, form.Mt_source
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


@deferred
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
