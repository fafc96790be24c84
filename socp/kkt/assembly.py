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

from ..compiled.jit import inner_kernel, kernel
from ..form.row_groups import RowGroups
from ..form.standard import StandardForm
from ..linalg.vectors import norm_tail
from .expansion import ConeColumns, fill_expanded


@kernel
def cone_columns(n, p, ptr, M_indptr, M_indices, extra, union_ptr, union, entry):
    """The columns that the rows of each rotated cone touch, sorted, and for each entry its place among them.

    Returns the number of columns found; `union` has room for all entries, `entry` follows the rows of M.
    """
    seen = np.full(n, -1, dtype=np.int64)
    total = 0
    for k in range(ptr.size - 1):
        union_ptr[k] = total
        if extra[k] < 0:
            for q in range(M_indptr[p + ptr[k]], M_indptr[p + ptr[k + 1]]):
                if seen[M_indices[q]] != k:
                    seen[M_indices[q]] = k
                    union[total] = M_indices[q]
                    total += 1
            union[union_ptr[k] : total].sort()
            for q in range(M_indptr[p + ptr[k]], M_indptr[p + ptr[k + 1]]):
                entry[q] = np.searchsorted(union[union_ptr[k] : total], M_indices[q])
    union_ptr[ptr.size - 1] = total
    return total


@kernel
def count_pattern(n, p, l, lead, ptr, P_indptr, P_indices, M_indptr, union_ptr, extra, column, slots_ptr, counts):
    """counts[j] := entries in column j of the upper triangle."""
    for j in range(n):
        counts[j] = P_indptr[j + 1] - P_indptr[j]
        if counts[j] == 0 or P_indices[P_indptr[j + 1] - 1] != j:
            counts[j] += 1
    for i in range(p):
        counts[n + i] = M_indptr[i + 1] - M_indptr[i] + 1
    for r in range(lead.size):
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
    n, p, l, lead, ptr, P_indptr, P_indices, M_indptr, M_indices, M_source, union_ptr, union, extra, column, slots_ptr,
    slots, indptr, indices, place_P, place_M, diagonal,
):  # fmt: skip
    """The row indices of the upper triangle, and where each entry of P and of M, and each diagonal entry, is.

    P is the upper triangle of P, M the rows of M.
    """
    for j in range(diagonal.size):
        diagonal[j] = indptr[j + 1] - 1
        indices[diagonal[j]] = j
    for j in range(n):
        at = indptr[j]
        for k in range(P_indptr[j], P_indptr[j + 1]):
            indices[at] = P_indices[k]
            place_P[k] = at
            at += 1
    for r in range(p + lead.size):
        i = r if r < p else p + lead[r - p]
        fill_row(M_indptr[i], M_indptr[i + 1], M_indices, M_source, indptr[n + r], indices, place_M)
    for k in range(ptr.size - 1):
        if extra[k] < 0:
            for i in range(ptr[k], ptr[k + 1]):
                at = indptr[column[i - l]]
                indices[at : at + union_ptr[k + 1] - union_ptr[k]] = union[union_ptr[k] : union_ptr[k + 1]]
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


@kernel
def fill_row(begin, end, M_indices, M_source, at, indices, place_M):
    """One row of M, entries begin to end, as the column of the upper triangle that begins at `at`."""
    for k in range(begin, end):
        indices[at] = M_indices[k]
        place_M[M_source[k]] = at
        at += 1


@kernel
def gather_cones(p, ptr, M_indptr, M_source, M_data, union_ptr, entry, extra, dense_ptr, dense):
    """The rows of G of each rotated cone as a dense (dimension, columns) block."""
    dense[:] = 0.0
    for k in range(ptr.size - 1):
        if extra[k] >= 0:
            continue
        width = union_ptr[k + 1] - union_ptr[k]
        for i in range(ptr[k], ptr[k + 1]):
            at = dense_ptr[k] + (i - ptr[k]) * width
            for q in range(M_indptr[p + i], M_indptr[p + i + 1]):
                dense[at + entry[q]] = M_data[M_source[q]]


@kernel
def orthant_weights(n, p, l, w, variable, group, coefficient, theta, heaviest, P_diagonal, static, diagonal, data):
    """The diagonal of the variables, equalities and merged rows; theta and the heaviest row of each group."""
    for j in range(n):
        data[diagonal[j]] = P_diagonal[j] + static
    for i in range(p):
        data[diagonal[n + i]] = -static
    theta[:] = 0.0
    for i in range(l):
        weight = (coefficient[i] / w[i]) ** 2
        r = group[i]
        if r < 0:
            data[diagonal[variable[i]]] += weight
        else:
            if theta[r] == 0.0 or weight > (coefficient[heaviest[r]] / w[heaviest[r]]) ** 2:
                heaviest[r] = i
            theta[r] += weight
    for r in range(theta.size):
        data[diagonal[n + p + r]] = -1.0 / theta[r] - static


@inner_kernel
def rotate(w, start, stop, tail, v, offset, stride):
    """v := Q'v on a second-order cone, in place, for v[offset], v[offset + stride], ...; tail = ||w_1||.

    Q' is the Householder reflection of v_1 that takes w_1 / ||w_1|| to +-e_1, then the rotation by 45 degrees of
    the two leading entries.  Q' is symmetric but for the order, and its inverse is `rotate_back`.
    """
    reflect(w, start, stop, tail, v, offset, stride)
    a, b = v[offset], v[offset + stride]
    v[offset] = (a + b) * math.sqrt(0.5)
    v[offset + stride] = (a - b) * math.sqrt(0.5)


@inner_kernel
def rotate_back(w, start, stop, tail, v, offset, stride):
    """v := Q v, the inverse of `rotate`."""
    a, b = v[offset], v[offset + stride]
    v[offset] = (a + b) * math.sqrt(0.5)
    v[offset + stride] = (a - b) * math.sqrt(0.5)
    reflect(w, start, stop, tail, v, offset, stride)


@inner_kernel
def reflect(w, start, stop, tail, v, offset, stride):
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


@kernel
def rotated_blocks(l, ptr, w, eta, static, extra, column, indptr, diagonal, union_ptr, dense_ptr, dense, work, data):
    """The rows and diagonals of the rotated cones."""
    for k in range(ptr.size - 1):
        if extra[k] >= 0:
            continue
        start, stop = ptr[k], ptr[k + 1]
        size, first = stop - start, column[start - l]
        tail = norm_tail(w, start, stop)
        rho, square = w[start] + tail, eta[k] * eta[k]
        data[diagonal[first]] = -square * rho * rho - static
        data[diagonal[first + 1]] = -square / (rho * rho) - static
        for i in range(2, size):
            data[diagonal[first + i]] = -square - static
        width = union_ptr[k + 1] - union_ptr[k]
        work[: size * width] = dense[dense_ptr[k] : dense_ptr[k + 1]]
        for j in range(width):
            rotate(w, start, stop, tail, work, j, width)
        for i in range(size):
            at = indptr[first + i]
            data[at : at + width] = work[i * width : (i + 1) * width]


class KKTMatrix:
    """The upper triangle of the matrix in CSC, its pattern fixed, its values refreshed in place.

    Attributes
    ----------
    size : int
        Its order.
    indptr, indices, data : the upper triangle
    signs : array of int64
        The signs of the pivots of its LDL'.
    groups : RowGroups
    theta, heaviest : arrays
        See `row_groups`; of the last `fill`.
    coefficient : array, shape (l,)
        The scaled factors of the orthant's rows.
    cones : ConeColumns
        How the second-order cones enter.
    """

    def __init__(self, form: StandardForm) -> None:
        self.form = form
        n, p, l, ptr = form.n, form.p, form.l, form.ptr
        self.rows = rows = form.rows_of_M()
        self.groups = RowGroups(p, l, rows, form.raw_M)
        lead = self.groups.representative
        P_indptr, P_indices, _ = form.P.upper()
        self.cones = cones = ConeColumns(form, rows, n + p + lead.size)
        self.size = cones.end

        self.union_ptr = np.zeros(ptr.size, dtype=np.int64)
        union, self.entry = np.empty(rows[1].size, dtype=np.int64), np.empty(rows[1].size, dtype=np.int64)
        found = cone_columns(n, p, ptr, rows[0], rows[1], cones.extra, self.union_ptr, union, self.entry)
        blocks = np.diff(ptr) * np.diff(self.union_ptr)
        self.dense_ptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(blocks)])
        self.dense = np.zeros(self.dense_ptr[-1])
        self.work = np.zeros(int(blocks.max(initial=0)))

        counts = np.zeros(self.size, dtype=np.int64)
        count_pattern(
            n, p, l, lead, ptr, P_indptr, P_indices, rows[0], self.union_ptr, cones.extra, cones.column,
            cones.slots_ptr, counts,
        )  # fmt: skip
        self.indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self.indices = np.empty(self.indptr[-1], dtype=np.int64)
        self.data = np.zeros(self.indptr[-1])
        self.diagonal = np.empty(self.size, dtype=np.int64)
        self.place_P = np.empty(P_indices.size, dtype=np.int64)
        self.place_M = np.full(form.M_indices.size, -1, dtype=np.int64)
        fill_pattern(
            n, p, l, lead, ptr, P_indptr, P_indices, *rows, self.union_ptr, union[:found], cones.extra, cones.column,
            cones.slots_ptr, cones.slots, self.indptr, self.indices, self.place_P, self.place_M, self.diagonal,
        )  # fmt: skip
        self.in_M = np.flatnonzero(self.place_M >= 0)
        self.signs = np.full(self.size, -1, dtype=np.int64)
        self.signs[:n] = 1
        self.signs[cones.extra[cones.extra >= 0] + 1] = 1
        # diagonal entries that are zero but for the static regularization
        self.weak = np.zeros(self.size, dtype=np.bool_)
        self.weak[: n + p] = True
        self.weak[self.groups.variable[self.groups.bound]] = self.weak[cones.variable[cones.variable >= 0]] = False
        has_diagonal = np.flatnonzero(np.diff(P_indptr) > 0)
        self.weak[has_diagonal[P_indices[P_indptr[has_diagonal + 1] - 1] == has_diagonal]] = False
        self.theta, self.heaviest = np.zeros(lead.size), np.zeros(lead.size, dtype=np.int64)
        self.refresh()

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        form = self.form
        self.data[self.diagonal] = 0.0
        self.data[self.place_P] = form.P.upper()[2]
        self.P_diagonal = self.data[self.diagonal[: form.n]]
        self.data[self.place_M[self.in_M]] = form.M_data[self.in_M]
        self.coefficient = self.groups.coefficients(form.E[form.p : form.p + form.l], form.M_data)
        self.cones.refresh(form.M_data)
        gather_cones(
            form.p, form.ptr, self.rows[0], self.rows[2], form.M_data, self.union_ptr, self.entry, self.cones.extra,
            self.dense_ptr, self.dense,
        )  # fmt: skip

    def fill(self, w: np.ndarray, eta: np.ndarray, static: float) -> None:
        """The values at the scaling (w, eta), with static added to the diagonal along its signs."""
        form, groups, cones = self.form, self.groups, self.cones
        orthant_weights(
            form.n, form.p, form.l, w, groups.variable, groups.group, self.coefficient, self.theta, self.heaviest,
            self.P_diagonal, static, self.diagonal, self.data,
        )  # fmt: skip
        if form.ptr.size == 1:  # no second-order cones
            return
        rotated_blocks(
            form.l, form.ptr, w, eta, static, cones.extra, cones.column, self.indptr, self.diagonal, self.union_ptr,
            self.dense_ptr, self.dense, self.work, self.data,
        )  # fmt: skip
        fill_expanded(
            form.l, form.ptr, w[form.l :], eta, static, self.indptr, self.diagonal, cones.extra, cones.column,
            cones.variable, cones.slot, cones.slots_ptr, cones.entry, cones.scales, self.data,
        )  # fmt: skip
