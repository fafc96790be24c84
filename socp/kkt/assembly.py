"""The matrix that is factored: the KKT matrix in its reduced and expanded form.

Its rows and columns, before the fill-reducing permutation:

    x                      n         bounds eliminated onto the diagonal (see `row_groups`)
    y                      p
    merged orthant rows    one per group of parallel rows (see `row_groups`)
    second-order cones     one per cone row of two entries or more (see `expansion`)
    v, u                   two per second-order cone
"""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import deferred, inner, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, floats, integer, integers, structure
from ..form.row_groups import RowGroups, weigh_rows
from ..form.standard import StandardForm
from ..problem.checks import INT
from .expansion import ConeColumns, fill_cones, no_cones, take_entries


class KKTMatrix(Structure):
    """Upper triangle of the KKT matrix in CSC, with a fixed pattern and values refreshed in place.

    Attributes
    ----------
    size : int
        Order of the matrix.
    indptr, indices, data : the upper triangle by columns
    diagonal : array of int64
        The place of each diagonal entry.
    signs : array of int64
        Signs of the pivots of its LDL' factorization.
    zero_diagonal : array of bool
        Whether each diagonal entry is zero apart from the static regularization.
    static : array of bool
        Whether each row and column is independent of the scaling.
    groups : RowGroups
    cones : ConeColumns
        Columns of the second-order cones.
    """

    form, groups, cones = structure(StandardForm), structure(RowGroups), structure(ConeColumns)
    size = integer()
    indptr, indices, data = integers(), integers("entries", scratch=True), floats("entries")
    diagonal, signs = integers("order"), integers("order")
    # place in `data` of each entry of P and of M, or -1
    place_P, place_M = integers("hessian", scratch=True), integers("stacked", scratch=True)
    P_diagonal, weights = floats("n"), floats("n")

    def __init__(self, form: StandardForm) -> None:
        P_indptr, P_indices, P_data = form.P.upper()
        base = form.n + form.p + form.groups.count
        cones = ConeColumns(form, base) if form.cones else no_cones()
        order = cones.end if form.cones else base
        indptr = np.zeros(order + 1, np.int64)
        count_pattern(form, cones, P_indptr, P_indices, indptr)
        super().__init__(
            form=form, groups=form.groups, cones=cones, n=form.n, order=order, entries=int(indptr[-1]),
            hessian=P_indices.size, stacked=form.entries,
        )  # fmt: skip
        self.size, self.indptr = order, indptr
        self.zero_diagonal, self.static = np.empty(order, np.bool_), np.empty(order, np.bool_)
        fill_pattern(self, P_indptr, P_indices, self.zero_diagonal, self.static)
        take_values(self, P_data)


def pattern_of(form: StandardForm) -> np.ndarray:
    """Return all integers that determine the pattern of the KKT matrix of a form of known sizes."""
    indptr, indices, _ = form.P.upper()
    found = np.empty(2 * (form.n + 1) + form.cones + 1 + form.entries + indices.size + form.l + form.groups.count, INT)
    write_pattern(form, indptr, indices, found)
    return found


@kernel
def write_pattern(form: StandardForm, P_indptr: Ints, P_indices: Ints, found: Ints) -> None:
    """Write the arrays that `pattern_of` returns, one after another."""
    groups, at = form.groups, 0
    rows = groups.representative[: groups.count]
    for part in (form.M_indptr, form.M_indices, P_indptr, P_indices, form.ptr, groups.variable, rows):
        for k in range(part.size):
            found[at + k] = part[k]
        at += part.size


@kernel
def take_values(matrix: KKTMatrix, P_data: Floats) -> None:
    """Copy the values of P and M from the form to the matrix, and the diagonal of P to `P_diagonal`."""
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


@kernel
def count_pattern(form: StandardForm, cones: ConeColumns, P_indptr: Ints, P_indices: Ints, indptr: Ints) -> None:
    """Compute `indptr`, the places at which the columns of the upper triangle begin."""
    n, p, l, ptr, lead, M_indptr = form.n, form.p, form.l, form.ptr, form.groups.representative, form.Mt_indptr
    first, column, counts = cones.first, cones.column, indptr[1:]
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
            if column[i - l] >= 0:
                counts[column[i - l]] = M_indptr[p + i + 1] - M_indptr[p + i] + 1
                kept += 1
        counts[first[k]] = counts[first[k] + 1] = cones.touched[k] + kept + 1
        if 0 < kept < ptr[k + 1] - ptr[k]:
            counts[first[k] + 1] += 1
    for j in range(counts.size):
        indptr[j + 1] += indptr[j]


@kernel
def fill_pattern(matrix: KKTMatrix, P_indptr: Ints, P_indices: Ints, zero_diagonal: Bools, static: Bools) -> None:
    """Find the row indices, the places of all entries of P, M and the diagonal, and the signs of the pivots.

    P may be given in full or by its upper triangle.
    """
    form, groups, place_P, place_M = matrix.form, matrix.groups, matrix.place_P, matrix.place_M
    n, p, lead, M_indptr = form.n, form.p, groups.representative, form.Mt_indptr
    indptr, indices, diagonal, cones = matrix.indptr, matrix.indices, matrix.diagonal, matrix.cones
    for j in range(diagonal.size):
        diagonal[j] = indptr[j + 1] - 1
        indices[diagonal[j]] = j
        matrix.signs[j] = 1 if j < n else -1
        zero_diagonal[j] = j < n + p
    for v in cones.first:
        matrix.signs[v + 1] = 1
    for j in groups.variable:  # Bounds and cones add to the diagonal.
        if j >= 0:
            zero_diagonal[j] = False
    for j in cones.variable:
        if j >= 0:
            zero_diagonal[j] = False
    for j in range(static.size):
        static[j] = zero_diagonal[j]
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
        fill_cone_pattern(matrix)
        for k in range(n + p + groups.count, static.size):  # The scaling changes the cones' columns.
            for q in range(indptr[k], indptr[k + 1]):
                static[indices[q]] = False


@deferred
def fill_cone_pattern(matrix: KKTMatrix) -> None:
    """Find the row indices, and the places of M, in the columns of the second-order cones."""
    M_indptr, place_M = matrix.form.Mt_indptr, matrix.place_M
    cones, p, l, ptr = matrix.cones, matrix.form.p, matrix.form.l, matrix.form.ptr
    indptr, indices, diagonal = matrix.indptr, matrix.indices, matrix.diagonal
    first, column, slots = cones.first, cones.column, cones.slots
    for k in range(ptr.size - 1):
        at_v, at_u = indptr[first[k]], indptr[first[k] + 1]
        for q in range(cones.touched[k]):
            indices[at_v] = indices[at_u] = slots[ptr[k] - l + q]
            at_v += 1
            at_u += 1
        for i in range(ptr[k], ptr[k + 1]):
            if column[i - l] >= 0:
                a, b = M_indptr[p + i], M_indptr[p + i + 1]
                fill_row(matrix.form, a, b, indptr[column[i - l]], indices, place_M)
                indices[at_v] = indices[at_u] = column[i - l]
                at_v += 1
                at_u += 1
        if at_u < diagonal[first[k] + 1]:
            indices[at_u] = first[k]


@inner
def fill_row(form: StandardForm, begin: int, end: int, at: int, indices: Ints, place_M: Ints) -> None:
    """Write entries begin:end of a row of M as the column of the upper triangle that begins at `at`."""
    for k in range(begin, end):
        indices[at] = form.Mt_indices[k]
        place_M[form.Mt_source[k]] = at
        at += 1


@inner
def fill_matrix(matrix: KKTMatrix, w: Floats, eta: Floats, delta: float) -> None:
    """Compute the values of the matrix at the scaling (w, eta); add +-delta to the diagonal by the signs of pivots."""
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
        fill_cones(form, matrix.cones, w[form.l :], eta, delta, matrix.indptr, diagonal, data)
