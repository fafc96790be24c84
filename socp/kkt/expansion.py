"""Second-order cones that stay sparse in the KKT matrix: the expansion by two columns, short rows eliminated.

With q+- the eigenvectors of W^2 for the eigenvalues (eta rho)^2 and (eta / rho)^2 (see `assembly`), a cone is the block

    [ -eta^2 I   v   u ]     v = eta sqrt(1 - rho^-2) q-
    [  v'       -1   0 ]     u = eta sqrt(rho^2 - 1) q+       (Schur complement on the first block: -W^2)
    [  u'        0   1 ]

which is quasi-definite since I - vv' / eta^2 > 0.  A row of G with at most one entry, a in column j, is eliminated from
it as a bound is (see `row_groups`).  With E the rows that go and S those that stay this adds

    a^2 / eta^2 to (j, j),   a v_E / eta^2 to (j, v),   a u_E / eta^2 to (j, u),   v_E'u_E / eta^2 to (v, u)

and leaves -1 + v_E'v_E / eta^2 = -(rho^-2 + v_S'v_S / eta^2) and 1 + u_E'u_E / eta^2 on the diagonal of the two
columns, which are scaled so that these become -1 and 1.  Norms of variables, ||x|| <= t, have such rows alone: their
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
from ..linalg.vectors import norm_tail, sort_integers


class ConeColumns(Structure):
    """How the rows of the second-order cones enter the KKT matrix, whose columns from `base` on are theirs.

    Attributes
    ----------
    extra : array of int64, one a cone
        The column v of an expanded cone, before its u; -1 for a rotated cone.
    column : array of int64, one a cone row
        The column of the KKT matrix, -1 for a row that is eliminated.
    variable, entry : arrays, one a cone row
        The variable of a row that is eliminated and the entry in G, or -1 and 0.
    slots_ptr, slots, slot : arrays of int64
        The variables that the columns v and u of each cone touch, and the place of each eliminated row's among them.
    scales : array, shape (cones, 6)
        The factors of v and u, eta^2 + delta, the first entries of the scaled v and u, ||w_1||; of the last fill.
    end : int
        The order of the KKT matrix.
    """

    extra, slots_ptr, scales = integers("cones"), integers("cones + 1"), matrix("cones, 6")
    column, variable, slot, entry = integers("size"), integers("size"), integers("size"), floats("size")
    slots, end = integers("size"), integer()

    def __init__(self, form: StandardForm, base: int) -> None:
        super().__init__(cones=form.cones, size=form.m - form.l)
        choose_expansions(form, self, base)
        gather_variables(form, self)


@functools.cache
def no_cones() -> ConeColumns:
    """What all programs without second-order cones share; nothing is ever written there."""
    none = object.__new__(ConeColumns)
    Structure.__init__(none, cones=0, size=0)
    return none


@deferred_kernel
def choose_expansions(form: StandardForm, cones: ConeColumns, base: int) -> None:
    """Which cones are expanded, which of their rows stay, and the variable of each row that goes (or -1).

    A cone is expanded when this takes fewer entries than the rotated rows.
    """
    n, p, l, ptr, indptr, indices = form.n, form.p, form.l, form.ptr, form.Mt_indptr, form.Mt_indices
    extra, column, variable, end = cones.extra, cones.column, cones.variable, base
    touched, alone = np.empty(n, np.int64), np.empty(n, np.int64)
    for j in range(form.n):
        touched[j] = alone[j] = -1
    for k in range(ptr.size - 1):
        size, width, kept, entries, variables = ptr[k + 1] - ptr[k], 0, 0, 0, 0
        for i in range(ptr[k], ptr[k + 1]):
            length = indptr[p + i + 1] - indptr[p + i]
            for q in range(indptr[p + i], indptr[p + i + 1]):
                if touched[indices[q]] != k:
                    touched[indices[q]] = k
                    width += 1
            if length > 1:
                kept += 1
                entries += length + 1
            elif length == 1 and alone[indices[indptr[p + i]]] != k:
                alone[indices[indptr[p + i]]] = k
                variables += 1
        expanded = entries + 2 * (variables + kept + 1) + 1 < size * (width + 1)
        for i in range(ptr[k], ptr[k + 1]):
            length = indptr[p + i + 1] - indptr[p + i]
            variable[i - l] = indices[indptr[p + i]] if expanded and length == 1 else -1
            column[i - l] = -1
            if not expanded or length > 1:
                column[i - l] = end
                end += 1
        extra[k] = 0 if expanded else -1
    for k in range(ptr.size - 1):
        if extra[k] == 0:
            extra[k] = end
            end += 2
    cones.end = end


@deferred_kernel
def gather_variables(form: StandardForm, cones: ConeColumns) -> None:
    """The variables of the rows that go, ascending for each cone, and the place of each row's own among them."""
    l, ptr, variable, slot, slots_ptr = form.l, form.ptr, cones.variable, cones.slot, cones.slots_ptr
    slots, seen, place = cones.slots, np.empty(form.n, np.int64), np.empty(form.n, np.int64)
    for j in range(form.n):
        seen[j] = -1
    total = 0
    for k in range(ptr.size - 1):
        slots_ptr[k] = total
        for i in range(ptr[k] - l, ptr[k + 1] - l):
            if variable[i] >= 0 and seen[variable[i]] != k:
                seen[variable[i]] = k
                slots[total] = variable[i]
                total += 1
        sort_integers(slots, slots_ptr[k], total)
        for q in range(slots_ptr[k], total):
            place[slots[q]] = q - slots_ptr[k]
        for i in range(ptr[k] - l, ptr[k + 1] - l):
            slot[i] = place[variable[i]] if variable[i] >= 0 else -1
    slots_ptr[ptr.size - 1] = total


@deferred
def take_entries(form: StandardForm, cones: ConeColumns) -> None:
    """The entries of the eliminated rows, from the form."""
    variable, entry, first = cones.variable, cones.entry, form.p + form.l
    for i in range(variable.size):
        if variable[i] >= 0:
            entry[i] = form.M_data[form.Mt_source[form.Mt_indptr[first + i]]]


@inner
def scale_columns(cones: ConeColumns, k: int, w: Floats, eta: float, delta: float, start: int, stop: int) -> float:
    """The scales of columns v and u of cone k; returns v_E'u_E / (eta^2 + delta) without them."""
    tail = norm_tail(w, start, stop)
    rho, square, scales = w[start] + tail, eta * eta + delta, cones.scales
    stay, gone = 0.0, 0.0  # of ||w_1||^2, the shares of the rows that stay and of those that go
    if tail > 0.0:
        inverse = 1.0 / tail
        for i in range(start + 1, stop):
            if cones.column[i] < 0:
                gone += (w[i] * inverse) ** 2
            else:
                stay += (w[i] * inverse) ** 2
    head = 1.0 if cones.column[start] >= 0 else 0.0
    lost = delta / square
    cross = (1.0 - lost) * (-tail * gone if head > 0.0 else tail * stay)
    stay, gone = head + stay, 1.0 - head + gone
    scales[k, 0] = 1.0 / math.sqrt(1.0 / (rho * rho) + tail / rho * (stay + gone * lost))
    scales[k, 1] = 1.0 / math.sqrt(1.0 + tail * rho * gone * (1.0 - lost))
    scales[k, 2] = square
    # the first entries of the scaled v and u; the others are -v0 and u0 times w_1 / ||w_1||
    scales[k, 3] = scales[k, 0] * eta * math.sqrt(tail / rho)
    scales[k, 4] = scales[k, 1] * eta * math.sqrt(tail * rho)
    scales[k, 5] = tail
    return cross


@deferred
def fill_expanded(
    form: StandardForm, cones: ConeColumns, w: Floats, eta: Floats, delta: float, indptr: Ints, diagonal: Ints,
    data: Floats,
) -> None:  # fmt: skip
    """The values of the expanded cones; to the diagonal of the variables they are added.  w is without the orthant.

    The static regularization is that of the expanded block, before rows are eliminated and columns scaled.
    Fills `scales`.
    """
    l, ptr, extra, column, variable = form.l, form.ptr, cones.extra, cones.column, cones.variable
    slot, slots_ptr, entry, scales = cones.slot, cones.slots_ptr, cones.entry, cones.scales
    for k in range(ptr.size - 1):
        if extra[k] < 0:
            continue
        start, stop = ptr[k] - l, ptr[k + 1] - l
        cross = scale_columns(cones, k, w, eta[k], delta, start, stop)
        square, v0, u0, tail = scales[k, 2], scales[k, 3], scales[k, 4], scales[k, 5]
        v1, u1 = (-v0 / tail, u0 / tail) if tail > 0.0 else (0.0, 0.0)
        at_v, at_u = indptr[extra[k]], indptr[extra[k] + 1]
        place = slots_ptr[k + 1] - slots_ptr[k]
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
        data[diagonal[extra[k]]] = -1.0 - delta * scales[k, 0] ** 2
        data[diagonal[extra[k] + 1]] = 1.0 + delta * scales[k, 1] ** 2
        if diagonal[extra[k] + 1] > at_u + place:  # rows of both kinds
            data[diagonal[extra[k] + 1] - 1] = scales[k, 0] * scales[k, 1] * cross


@inner
def reduce_expanded(
    form: StandardForm, cones: ConeColumns, w: Floats, eta: Floats, rz: Floats, f: Floats, out: Floats
) -> None:
    """f := W rz on the expanded cones, and their part of the right-hand side; w and rz are without the orthant."""
    l, ptr, extra, column, variable = form.l, form.ptr, cones.extra, cones.column, cones.variable
    entry, scales = cones.entry, cones.scales
    for k in range(ptr.size - 1):
        if extra[k] < 0:
            continue
        start, stop = ptr[k] - l, ptr[k + 1] - l
        apply_cone(eta[k], w, rz, f, start, stop)
        inverse = 1.0 / scales[k, 2]
        inner = 0.0  # w_1'f_1 over the rows that go
        for i in range(start, stop):
            if column[i] >= 0:
                out[column[i]] = f[i]
            else:
                if i > start:
                    inner += w[i] * f[i]
                if variable[i] >= 0:
                    out[variable[i]] += entry[i] * f[i] * inverse
        first = f[start] if column[start] < 0 else 0.0
        v0, u0, tail = scales[k, 3], scales[k, 4], scales[k, 5]
        share = inner / tail if tail > 0.0 else 0.0
        out[extra[k]] = v0 * (first - share) * inverse
        out[extra[k] + 1] = u0 * (first + share) * inverse


@inner
def recover_expanded(
    form: StandardForm, cones: ConeColumns, w: Floats, eta: Floats, f: Floats, reduced: Floats, work: Floats, dz: Floats
) -> None:
    """dz += W z on the expanded cones, z_E = (a x + v xi + u upsilon - f) / eta^2 in the rows that went."""
    l, ptr, extra, column, variable = form.l, form.ptr, cones.extra, cones.column, cones.variable
    entry, scales = cones.entry, cones.scales
    for k in range(ptr.size - 1):
        if extra[k] < 0:
            continue
        start, stop = ptr[k] - l, ptr[k + 1] - l
        v0, u0, tail = scales[k, 3] * reduced[extra[k]], scales[k, 4] * reduced[extra[k] + 1], scales[k, 5]
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
