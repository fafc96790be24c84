"""Rows of the orthant that cost less than a row of the KKT matrix.

A bound (a row of G with one entry a != 0 in column j) is eliminated onto the diagonal: it adds a^2 / w^2 to
entry (j, j).  A row whose only entry is a stored zero is no bound.  Rows that are multiples of each other before
equilibration (the two sides of l <= a'x <= u) share one row of the KKT matrix.  With row_i = d_i rho for the group's
representative rho and v = sum_i d_i dz_i, the equations row_i dx - w_i^2 dz_i = r_i become

    rho dx - v / theta = t / theta,    theta = sum_i d_i^2 / w_i^2,    t = sum_i d_i r_i / w_i^2.
"""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import inner, leaf
from ..compiled.signatures import Floats, Ints
from ..compiled.structures import Structure, flag, floats, integer, integers
from ..linalg.parallel_rows import parallel_rows


class RowGroups(Structure):
    """Bounds and merged rows among the l rows of the orthant, as they enter the KKT matrix.

    Attributes
    ----------
    variable : array of int64, shape (l,)
        Variable bounded by the row, or -1.
    group : array of int64, shape (l,)
        Merged row to which the row belongs, or -1 for a bound.
    coefficient : array, shape (l,)
        Entry a of a bound, or factor d_i of another row, both equilibrated.
    count : int
        Number of merged rows.
    are_told : bool
        Whether the program that stacks the rows writes `lead` and `ratio`; else rows are compared.
    representative : array of int64, shape (count,)
        The row that stands for each merged row.
    scaled : array, shape (l,)
        coefficient / w at the last scaling.
    theta, heaviest : arrays, shape (count,)
        Weight of each merged row at the last scaling, and the row with the largest part in it.
    """

    count, are_told = integer(), flag()
    variable, group, lead = integers("l", scratch=True), integers("l", scratch=True), integers("l", scratch=True)
    coefficient, ratio = floats("l", scratch=True), floats("l", scratch=True)
    representative, heaviest = integers("l", scratch=True), integers("l", scratch=True)
    theta, scaled = floats("l", scratch=True), floats("l", scratch=True)


@inner
def parallel_in_orthant(
    p: int, indptr: Ints, indices: Ints, source: Ints, data: Floats, lead: Ints, ratio: Floats
) -> None:  # fmt: skip
    """Run `parallel_rows` on the orthant's rows with two entries or more; the orthant begins after the first p rows."""
    wanted = np.empty(lead.size, np.bool_)
    for i in range(lead.size):
        wanted[i] = indptr[p + i + 1] - indptr[p + i] > 1
    parallel_rows(p, indptr, indices, source, data, wanted, lead, ratio)


@leaf
def is_bound(i: int, indptr: Ints, source: Ints, data: Floats) -> bool:
    """Return True if row i has one entry and this is not a stored zero."""
    return indptr[i + 1] - indptr[i] == 1 and data[source[indptr[i]]] != 0.0


@inner
def find_groups(p: int, indptr: Ints, indices: Ints, source: Ints, data: Floats, groups: RowGroups) -> int:
    """Find the bounds and the merged rows; return the number of bounds.

    lead, ratio := the first row that each row is a multiple of, and the factor.
    """
    lead, group, representative = groups.lead, groups.group, groups.representative
    count, bounds = 0, 0
    if not groups.are_told:
        parallel_in_orthant(p, indptr, indices, source, data, lead, groups.ratio)
    for i in range(lead.size):
        groups.variable[i], group[i] = -1, -1
        if is_bound(p + i, indptr, source, data):
            groups.variable[i] = indices[indptr[p + i]]
            bounds += 1
        elif lead[i] == i:
            group[i], representative[count] = count, i
            count += 1
        else:
            group[i] = group[lead[i]]
    groups.count = count
    return bounds


@inner
def scale_groups(p: int, indptr: Ints, source: Ints, E: Floats, data: Floats, groups: RowGroups) -> None:
    """Compute the coefficients under the row scaling E; `data` holds the entries of the equilibrated matrix."""
    lead, ratio, coefficient = groups.lead, groups.ratio, groups.coefficient
    for i in range(lead.size):
        if groups.variable[i] >= 0:
            coefficient[i] = data[source[indptr[p + i]]]
        else:
            coefficient[i] = ratio[i] * E[p + i] / E[p + lead[i]]


@inner
def weigh_rows(groups: RowGroups, w: Floats, diagonal: Floats) -> None:
    """diagonal += weights of the bounds, theta := weights of the merged rows, heaviest := the heaviest row of each."""
    variable, group, coefficient, scaled = groups.variable, groups.group, groups.coefficient, groups.scaled
    theta, heaviest = groups.theta, groups.heaviest
    for r in range(groups.count):
        theta[r] = 0.0
    for i in range(variable.size):
        scaled[i] = coefficient[i] / w[i]
    for i in range(variable.size):
        weight = scaled[i] ** 2
        if group[i] < 0:
            diagonal[variable[i]] += weight
            continue
        merged = group[i]
        if theta[merged] == 0.0 or weight > scaled[heaviest[merged]] ** 2:
            heaviest[merged] = i
        theta[merged] += weight


@inner
def reduce_orthant(groups: RowGroups, at: int, rhs: Floats, t: Floats, out: Floats) -> None:
    """out := (r1 + the bounds' share of G'W^-1 r3, r2, t / theta), where rhs = (r1, r2, r3) and r3 begins at `at`."""
    variable, group, scaled, theta = groups.variable, groups.group, groups.scaled, groups.theta
    for i in range(at):
        out[i] = rhs[i]
    for r in range(t.size):
        t[r] = 0.0
    rz, merged = rhs[at:], out[at:]
    for i in range(variable.size):
        value = scaled[i] * rz[i]
        if group[i] < 0:
            out[variable[i]] += value
        else:
            t[group[i]] += value
    for r in range(t.size):
        merged[r] = t[r] / theta[r]


@inner
def recover_orthant(groups: RowGroups, at: int, rhs: Floats, t: Floats, reduced: Floats, out: Floats) -> None:
    """out += (dx, dy, W dz) on x, y and the orthant, where reduced = (dx, dy, v).

    A group with the representative rho has  rho dx = (v + t) / theta,  and its row i  dz_i = d_i rho dx / w_i - r_i in
    scaled variables.  Each lighter row takes its part of v, which is moved from v to t so that v + t does not change;
    the heaviest row takes what remains of v, so that sum_i d_i dz_i = v to the last bit.  Both v and t are overwritten.
    """
    variable, group, scaled, theta, heaviest = (
        groups.variable, groups.group, groups.scaled, groups.theta, groups.heaviest
    )  # fmt: skip
    for i in range(at):
        out[i] += reduced[i]
    dz, rz, v_left = out[at:], rhs[at:], reduced[at:]
    for i in range(variable.size):
        if group[i] < 0:
            dz[i] += scaled[i] * reduced[variable[i]] - rz[i]
            continue
        r = group[i]
        if heaviest[r] != i:
            dz_i = scaled[i] * (v_left[r] + t[r]) / theta[r] - rz[i]
            dz[i] += dz_i
            v_left[r] -= scaled[i] * dz_i
            t[r] += scaled[i] * dz_i
    for k in range(t.size):
        last = heaviest[k]
        dz[last] += v_left[k] / scaled[last]
