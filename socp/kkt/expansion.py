"""Sparse expansion of second-order cones in the KKT matrix: two columns each, with short rows eliminated.

With w the Nesterov-Todd point of a second-order cone, W^2 = eta^2 (2ww' - J) has the eigenvectors
q+- = (1, +-w_1 / ||w_1||) / sqrt(2) with the eigenvalues (eta rho)^2 and (eta / rho)^2, rho = w_0 + ||w_1||, and
eta^2 on all that is orthogonal to them.  Stored entry by entry, W^2 would lose the small eigenvalue once rho^4 nears
the inverse of the machine precision.  A cone is the block

    [ -eta^2 I   v   u ]     v = eta sqrt(1 - rho^-2) q-
    [  v'       -1   0 ]     u = eta sqrt(rho^2 - 1) q+       (Schur complement on the first block: -W^2)
    [  u'        0   1 ]

which is quasi-definite since I - vv' / eta^2 > 0.  A row of G with at most one entry, a in column j, is eliminated from
it as a bound is (see `row_groups`).  With E the eliminated and S the remaining rows this adds

    a^2 / eta^2 to (j, j),   a v_E / eta^2 to (j, v),   a u_E / eta^2 to (j, u),   v_E'u_E / eta^2 to (v, u)

and leaves -1 + v_E'v_E / eta^2 = -(rho^-2 + v_S'v_S / eta^2) and 1 + u_E'u_E / eta^2 on the diagonal of the two
columns, which are scaled so that these become -1 and 1.  Norms of variables, ||x|| <= t, have only such rows: their
cones leave nothing but the two columns.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..compiled.kernels import deferred, deferred_kernel, inner
from ..compiled.signatures import Floats, Ints
from ..compiled.structures import Structure, floats, integer, integers, matrix
from ..cones.scaling import apply_cone
from ..form.standard import StandardForm
from ..linalg.vectors import norm_tail


class ConeColumns(Structure):
    """Columns of the second-order cones in the KKT matrix, from column `base` on.

    Attributes
    ----------
    first : array of int64, one entry per cone
        Column v of the cone; its column u follows.
    column : array of int64, one entry per cone row
        Column of the KKT matrix, or -1 for an eliminated row.
    variable, entry : arrays, one entry per cone row
        Variable of an eliminated row and its entry in G, or -1 and 0.
    touched, slots, slot : arrays of int64
        Columns v and u of cone k have entries in touched[k] variables, which begin at slots[ptr[k] - l]; slot[i] is the
        place among these of the variable of the eliminated row i.
    scales : array, shape (cones, 6)
        For each cone at the last scaling: factors of v and u, eta^2 + delta, v_0 and u_0 times these, and ||w_1||.
    end : int
        Order of the KKT matrix.
    """

    first, touched, scales = integers("cones"), integers("cones"), matrix("cones, 6")
    column, variable, slot, entry = integers("size"), integers("size"), integers("size"), floats("size")
    slots, end = integers("size"), integer()

    def __init__(self, form: StandardForm, base: int) -> None:
        super().__init__(cones=form.cones, size=form.m - form.l)
        number_columns(form, self, base)


@functools.cache
def no_cones() -> ConeColumns:
    """Return the shared, read-only expansion of programs without second-order cones."""
    none = object.__new__(ConeColumns)
    Structure.__init__(none, cones=0, size=0)
    return none


@deferred_kernel
def number_columns(form: StandardForm, cones: ConeColumns, base: int) -> None:
    """Assign numbers from `base` to the remaining rows, then to v and u of each cone; find the eliminated variables.

    The variables of each cone ascend.
    """
    l, ptr, variable, slots, touched = form.l, form.ptr, cones.variable, cones.slots, cones.touched
    cone, first_row, indptr, end = np.empty(variable.size, np.int64), form.p + form.l, form.Mt_indptr, base
    for i in range(variable.size):
        length = indptr[first_row + i + 1] - indptr[first_row + i]
        variable[i] = form.Mt_indices[indptr[first_row + i]] if length == 1 else -1
        cones.column[i] = end if length > 1 else -1
        end += length > 1
    for k in range(cones.first.size):
        cones.first[k] = end
        end += 2
        for i in range(ptr[k] - l, ptr[k + 1] - l):
            cone[i] = k
    cones.end = end
    for j in range(form.n):
        for q in range(form.M_indptr[j], form.M_indptr[j + 1]):
            i = form.M_indices[q] - first_row
            if i < 0 or variable[i] != j:
                continue
            k = cone[i]
            begin, count = ptr[k] - l, touched[k]
            if count == 0 or slots[begin + count - 1] != j:
                slots[begin + count] = j
                touched[k] = count = count + 1
            cones.slot[i] = count - 1


@deferred
def take_entries(form: StandardForm, cones: ConeColumns) -> None:
    """Copy the entries of the eliminated rows from the form."""
    variable, entry, first = cones.variable, cones.entry, form.p + form.l
    for i in range(variable.size):
        if variable[i] >= 0:
            entry[i] = form.M_data[form.Mt_source[form.Mt_indptr[first + i]]]


@inner
def scale_columns(cones: ConeColumns, k: int, w: Floats, eta: float, delta: float, start: int, stop: int) -> float:
    """Compute the scales of columns v and u of cone `k`; return v_E'u_E / (eta^2 + delta) without these scales."""
    tail = norm_tail(w, start, stop)
    rho, square, scales = w[start] + tail, eta * eta + delta, cones.scales
    in_remaining, in_eliminated = 0.0, 0.0  # shares of ||w_1||^2 in the remaining and in the eliminated rows
    if tail > 0.0:
        inverse = 1.0 / tail
        for i in range(start + 1, stop):
            if cones.column[i] < 0:
                in_eliminated += (w[i] * inverse) ** 2
            else:
                in_remaining += (w[i] * inverse) ** 2
    # q+- has the square 1/2 in row 0 and shares of 1/2 in the others: v_S'v_S = eta^2 tail / rho S, v_E'v_E with E.
    head_remains, regularized = cones.column[start] >= 0, delta / square  # regularized: delta / (eta^2 + delta)
    v_u_eliminated = (1.0 - regularized) * (-tail * in_eliminated if head_remains else tail * in_remaining)
    S = in_remaining + (1.0 if head_remains else 0.0)
    E = in_eliminated + (0.0 if head_remains else 1.0)
    scales[k, 0] = 1.0 / math.sqrt(1.0 / (rho * rho) + tail / rho * (S + E * regularized))
    scales[k, 1] = 1.0 / math.sqrt(1.0 + tail * rho * E * (1.0 - regularized))
    scales[k, 2] = square
    # v0 and u0, the first entries of the scaled v and u; the others are -v0 and u0 times w_1 / ||w_1||
    scales[k, 3] = scales[k, 0] * eta * math.sqrt(tail / rho)
    scales[k, 4] = scales[k, 1] * eta * math.sqrt(tail * rho)
    scales[k, 5] = tail
    return v_u_eliminated


@deferred
def fill_cones(
    form: StandardForm, cones: ConeColumns, w: Floats, eta: Floats, delta: float, indptr: Ints, diagonal: Ints,
    data: Floats,
) -> None:  # fmt: skip
    """Fill the columns of the cones, add to the diagonal of variables, and set `scales`; w is without the orthant.

    The static regularization delta applies to the expanded block, before rows are eliminated and columns scaled.
    """
    l, ptr, first, column, variable = form.l, form.ptr, cones.first, cones.column, cones.variable
    slot, entry, scales = cones.slot, cones.entry, cones.scales
    for k in range(ptr.size - 1):
        start, stop = ptr[k] - l, ptr[k + 1] - l
        cross = scale_columns(cones, k, w, eta[k], delta, start, stop)
        square, v0, u0, tail = scales[k, 2], scales[k, 3], scales[k, 4], scales[k, 5]
        v1, u1 = (-v0 / tail, u0 / tail) if tail > 0.0 else (0.0, 0.0)
        at_v, at_u = indptr[first[k]], indptr[first[k] + 1]
        place = cones.touched[k]
        for q in range(place):
            data[at_v + q] = 0.0
            data[at_u + q] = 0.0
        inverse = 1.0 / square
        for i in range(start, stop):
            v_i, u_i = v1 * w[i], u1 * w[i]
            if i == start:
                v_i, u_i = v0, u0
            if column[i] >= 0:
                data[diagonal[column[i]]] = -square
                data[at_v + place], data[at_u + place] = v_i, u_i
                place += 1
            elif variable[i] >= 0:
                weight = entry[i] * inverse
                data[diagonal[variable[i]]] += entry[i] * weight
                data[at_v + slot[i]] += weight * v_i
                data[at_u + slot[i]] += weight * u_i
        data[diagonal[first[k]]] = -1.0 - delta * scales[k, 0] ** 2
        data[diagonal[first[k] + 1]] = 1.0 + delta * scales[k, 1] ** 2
        if diagonal[first[k] + 1] > at_u + place:  # The cone has remaining and eliminated rows.
            data[diagonal[first[k] + 1] - 1] = scales[k, 0] * scales[k, 1] * cross


@deferred
def reduce_cones(
    form: StandardForm, cones: ConeColumns, w: Floats, eta: Floats, rz: Floats, f: Floats, out: Floats
) -> None:
    """Compute f := W rz on the cones and their part of the right-hand side `out`; w and rz are without the orthant."""
    l, ptr, first, column, variable = form.l, form.ptr, cones.first, cones.column, cones.variable
    entry, scales = cones.entry, cones.scales
    for k in range(ptr.size - 1):
        start, stop = ptr[k] - l, ptr[k + 1] - l
        apply_cone(eta[k], w, rz, f, start, stop)
        inverse = 1.0 / scales[k, 2]
        inner = 0.0  # w_1'f_1 over the eliminated rows
        for i in range(start, stop):
            if column[i] >= 0:
                out[column[i]] = f[i]
            else:
                if i > start:
                    inner += w[i] * f[i]
                if variable[i] >= 0:
                    out[variable[i]] += entry[i] * f[i] * inverse
        head = f[start] if column[start] < 0 else 0.0
        v0, u0, tail = scales[k, 3], scales[k, 4], scales[k, 5]
        share = inner / tail if tail > 0.0 else 0.0
        out[first[k]] = v0 * (head - share) * inverse
        out[first[k] + 1] = u0 * (head + share) * inverse


@deferred
def recover_cones(
    form: StandardForm, cones: ConeColumns, w: Floats, eta: Floats, f: Floats, reduced: Floats, work: Floats, dz: Floats
) -> None:
    """dz += W z on the cones, where z_E = (a x + v xi + u upsilon - f) / eta^2 in the eliminated rows."""
    l, ptr, first, column, variable = form.l, form.ptr, cones.first, cones.column, cones.variable
    entry, scales = cones.entry, cones.scales
    for k in range(ptr.size - 1):
        start, stop = ptr[k] - l, ptr[k + 1] - l
        v0, u0, tail = scales[k, 3] * reduced[first[k]], scales[k, 4] * reduced[first[k] + 1], scales[k, 5]
        inverse = 1.0 / scales[k, 2]
        along = (u0 - v0) / tail if tail > 0.0 else 0.0
        for i in range(start, stop):
            if column[i] >= 0:
                work[i] = reduced[column[i]]
            else:
                value = along * w[i] - f[i]
                if i == start:
                    value = v0 + u0 - f[i]
                if variable[i] >= 0:
                    value += entry[i] * reduced[variable[i]]
                work[i] = value * inverse
        apply_cone(eta[k], w, work, work, start, stop)
        for i in range(start, stop):
            dz[i] += work[i]
