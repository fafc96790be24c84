"""The matrix that is factored: the KKT matrix in its reduced, rotated and expanded form.

Its rows and columns, before the fill-reducing permutation:

    x                      n         bounds eliminated onto the diagonal (see `groups`)
    y                      p
    merged orthant rows    one a group of parallel rows (see `groups`)
    second-order cones     one a cone row
    v, u of large cones    two a cone

With w the Nesterov-Todd point of a second-order cone, W^2 = eta^2 (2ww' - J) has the eigenvectors
q+- = (1, +-w_1 / ||w_1||) / sqrt(2) with the eigenvalues (eta rho)^2 and (eta / rho)^2, rho = w_0 + ||w_1||, and
eta^2 on all that is orthogonal to them.  Stored entry by entry, W^2 loses the small eigenvalue once rho^4
nears the inverse of the machine precision.  Hence:

* A cone of dimension up to `SMALL_CONE` is rotated: with Q = [q+, q-, ...] orthogonal (a Householder
  reflection), the rows of G become Q'G and the block the diagonal -(eta rho)^2, -(eta / rho)^2, -eta^2 ...
* A larger one is kept sparse by two further rows,

      [ -eta^2 I   v   u ]     v = eta sqrt(1 - rho^-2) q-
      [  v'       -1   0 ]     u = eta sqrt(rho^2 - 1) q+       (Schur complement on the first block: -W^2)
      [  u'        0   1 ]

  which is quasi-definite since I - vv' / eta^2 > 0.
"""

from __future__ import annotations

import math

import numpy as np

from .cones import norm_tail
from .form import StandardForm
from .groups import RowGroups
from .jit import kernel

SMALL_CONE = 6


@kernel
def cone_columns(n, p, l, ptr, M_indptr, M_indices, small, union_ptr, union, entry):
    """The columns that the rows of each small cone touch, sorted, and for each entry its place among them.

    Returns the number of columns found; `union` has room for all entries, `entry` follows the rows of M.
    """
    seen = np.full(n, -1, dtype=np.int64)
    total = 0
    for k in range(ptr.size - 1):
        union_ptr[k] = total
        if ptr[k + 1] - ptr[k] <= small:
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
def count_pattern(n, p, l, lead, ptr, P_indptr, P_indices, M_indptr, union_ptr, small, counts):
    """counts[j] := entries in column j of the upper triangle."""
    for j in range(n):
        counts[j] = P_indptr[j + 1] - P_indptr[j]
        if counts[j] == 0 or P_indices[P_indptr[j + 1] - 1] != j:
            counts[j] += 1
    for i in range(p):
        counts[n + i] = M_indptr[i + 1] - M_indptr[i] + 1
    base = n + p
    for r in range(lead.size):
        counts[base + r] = M_indptr[p + lead[r] + 1] - M_indptr[p + lead[r]] + 1
    base += lead.size - l
    extra = base + ptr[-1]
    for k in range(ptr.size - 1):
        size = ptr[k + 1] - ptr[k]
        for i in range(ptr[k], ptr[k + 1]):
            if size <= small:
                counts[base + i] = union_ptr[k + 1] - union_ptr[k] + 1
            else:
                counts[base + i] = M_indptr[p + i + 1] - M_indptr[p + i] + 1
        if size > small:
            counts[extra] = size + 1
            counts[extra + 1] = size + 1
            extra += 2


@kernel
def fill_pattern(
    n, p, l, lead, ptr, P_indptr, P_indices, M_indptr, M_indices, M_source, union_ptr, union, small, indptr, indices,
    place_P, place_M, diagonal,
):  # fmt: skip
    """The row indices of the upper triangle, and where each entry of P and of M, and each diagonal entry, is.

    P is the upper triangle of P, M the rows of M.
    """
    for j in range(n):
        at = indptr[j]
        for k in range(P_indptr[j], P_indptr[j + 1]):
            indices[at] = P_indices[k]
            place_P[k] = at
            at += 1
        diagonal[j] = indptr[j + 1] - 1
        indices[diagonal[j]] = j
    column = n
    for r in range(p + lead.size):
        i = r if r < p else p + lead[r - p]
        fill_row(M_indptr[i], M_indptr[i + 1], M_indices, M_source, column, indptr, indices, place_M, diagonal)
        column += 1
    base = column - l
    extra = base + ptr[-1]
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        for i in range(start, stop):
            column = base + i
            if stop - start <= small:
                at = indptr[column]
                for q in range(union_ptr[k], union_ptr[k + 1]):
                    indices[at] = union[q]
                    at += 1
                indices[at] = column
                diagonal[column] = at
            else:
                a, b = M_indptr[p + i], M_indptr[p + i + 1]
                fill_row(a, b, M_indices, M_source, column, indptr, indices, place_M, diagonal)
        if stop - start > small:
            for _ in range(2):
                at = indptr[extra]
                for i in range(start, stop):
                    indices[at] = base + i
                    at += 1
                indices[at] = extra
                diagonal[extra] = at
                extra += 1


@kernel
def fill_row(begin, end, M_indices, M_source, column, indptr, indices, place_M, diagonal):
    """One row of M, entries begin to end, as a column of the upper triangle."""
    at = indptr[column]
    for k in range(begin, end):
        indices[at] = M_indices[k]
        place_M[M_source[k]] = at
        at += 1
    indices[at] = column
    diagonal[column] = at


@kernel
def gather_cones(p, ptr, M_indptr, M_source, M_data, union_ptr, entry, small, dense_ptr, dense):
    """The rows of G of each small cone as a dense (dimension, columns) block."""
    dense[:] = 0.0
    for k in range(ptr.size - 1):
        if ptr[k + 1] - ptr[k] > small:
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


@kernel
def rotate(w, start, stop, tail, v, offset, stride):
    """v := Q'v on a second-order cone, in place, for v[offset], v[offset + stride], ...; tail = ||w_1||.

    Q' is the Householder reflection of v_1 that takes w_1 / ||w_1|| to +-e_1, then the rotation by 45 degrees of
    the two leading entries.  Q' is symmetric but for the order, and its inverse is `rotate_back`.
    """
    reflect(w, start, stop, tail, v, offset, stride)
    a, b = v[offset], v[offset + stride]
    v[offset] = (a + b) * math.sqrt(0.5)
    v[offset + stride] = (a - b) * math.sqrt(0.5)


@kernel
def rotate_back(w, start, stop, tail, v, offset, stride):
    """v := Q v, the inverse of `rotate`."""
    a, b = v[offset], v[offset + stride]
    v[offset] = (a + b) * math.sqrt(0.5)
    v[offset + stride] = (a - b) * math.sqrt(0.5)
    reflect(w, start, stop, tail, v, offset, stride)


@kernel
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
def cone_blocks(l, ptr, w, eta, static, base, indptr, diagonal, union_ptr, dense_ptr, dense, small, work, data):
    """The second-order cones: rotated rows and diagonals of the small ones, diagonals and v, u of the large ones."""
    extra = base + ptr[-1] - l
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        size = stop - start
        tail = norm_tail(w, start, stop)
        rho = w[start] + tail
        square = eta[k] * eta[k]
        for i in range(start, stop):
            data[diagonal[base + i - l]] = -square - static
        if size <= small:
            data[diagonal[base + start - l]] = -square * rho * rho - static
            data[diagonal[base + start + 1 - l]] = -square / (rho * rho) - static
            width = union_ptr[k + 1] - union_ptr[k]
            work[: size * width] = dense[dense_ptr[k] : dense_ptr[k + 1]]
            for j in range(width):
                rotate(w, start, stop, tail, work, j, width)
            for i in range(size):
                at = indptr[base + start + i - l]
                data[at : at + width] = work[i * width : (i + 1) * width]
            continue
        v0, u0 = eta[k] * math.sqrt(tail / rho), eta[k] * math.sqrt(tail * rho)
        v1 = -v0 / tail if tail > 0.0 else 0.0
        u1 = u0 / tail if tail > 0.0 else 0.0
        at_v, at_u = indptr[extra], indptr[extra + 1]
        data[at_v], data[at_u] = v0, u0
        for i in range(1, size):
            data[at_v + i] = v1 * w[start + i]
            data[at_u + i] = u1 * w[start + i]
        data[at_v + size] = -1.0 - static
        data[at_u + size] = 1.0 + static
        extra += 2


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
        See `groups`; of the last `fill`.
    coefficient : array, shape (l,)
        The scaled factors of the orthant's rows.
    """

    def __init__(self, form: StandardForm) -> None:
        self.form = form
        n, p, l, m, ptr = form.n, form.p, form.l, form.m, form.ptr
        self.rows = rows = form.rows_of_M()
        self.groups = RowGroups(p, l, rows, form.raw_M)
        lead = self.groups.representative
        P_indptr, P_indices, _ = form.P.upper()
        sizes = np.diff(ptr)
        expanded = int((sizes > SMALL_CONE).sum())
        self.base = n + p + lead.size
        self.size = self.base + (m - l) + 2 * expanded

        self.union_ptr = np.zeros(ptr.size, dtype=np.int64)
        union, self.entry = np.empty(rows[1].size, dtype=np.int64), np.empty(rows[1].size, dtype=np.int64)
        found = cone_columns(n, p, l, ptr, rows[0], rows[1], SMALL_CONE, self.union_ptr, union, self.entry)
        blocks = np.where(sizes <= SMALL_CONE, sizes * np.diff(self.union_ptr), 0)
        self.dense_ptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(blocks)])
        self.dense = np.zeros(self.dense_ptr[-1])
        self.work = np.zeros(int(blocks.max(initial=0)))

        counts = np.zeros(self.size, dtype=np.int64)
        count_pattern(n, p, l, lead, ptr, P_indptr, P_indices, rows[0], self.union_ptr, SMALL_CONE, counts)
        self.indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self.indices = np.empty(self.indptr[-1], dtype=np.int64)
        self.data = np.zeros(self.indptr[-1])
        self.diagonal = np.empty(self.size, dtype=np.int64)
        self.place_P = np.empty(P_indices.size, dtype=np.int64)
        self.place_M = np.full(form.M_indices.size, -1, dtype=np.int64)
        fill_pattern(
            n, p, l, lead, ptr, P_indptr, P_indices, *rows, self.union_ptr, union[:found], SMALL_CONE, self.indptr,
            self.indices, self.place_P, self.place_M, self.diagonal,
        )  # fmt: skip
        self.in_M = np.flatnonzero(self.place_M >= 0)
        self.signs = np.full(self.size, -1, dtype=np.int64)
        self.signs[:n] = 1
        self.signs[self.base + (m - l) + 1 :: 2] = 1
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
        gather_cones(
            form.p, form.ptr, self.rows[0], self.rows[2], form.M_data, self.union_ptr, self.entry, SMALL_CONE,
            self.dense_ptr, self.dense,
        )  # fmt: skip

    def fill(self, w: np.ndarray, eta: np.ndarray, static: float) -> None:
        """The values at the scaling (w, eta), with static added to the diagonal along its signs."""
        form, groups = self.form, self.groups
        orthant_weights(
            form.n, form.p, form.l, w, groups.variable, groups.group, self.coefficient, self.theta, self.heaviest,
            self.P_diagonal, static, self.diagonal, self.data,
        )  # fmt: skip
        cone_blocks(
            form.l, form.ptr, w, eta, static, self.base, self.indptr, self.diagonal, self.union_ptr, self.dense_ptr,
            self.dense, SMALL_CONE, self.work, self.data,
        )  # fmt: skip
