"""Rows of the orthant that cost less than a row of the KKT matrix.

A bound (a row of G with one entry a in column j) is eliminated onto the diagonal: it adds a^2 / w^2 to
entry (j, j).  Rows that are multiples of each other before equilibration (the two sides of l <= a'x <= u)
share one row of the KKT matrix.  With row_i = d_i rho for the group's representative rho and
v = sum_i d_i dz_i, the equations row_i dx - w_i^2 dz_i = r_i become

    rho dx - v / theta = t / theta,    theta = sum_i d_i^2 / w_i^2,    t = sum_i d_i r_i / w_i^2.
"""

from __future__ import annotations

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Bools, Floats, Ints
from ..compiled.structures import Structure, floats, integer, integers
from ..linalg.parallel_rows import parallel_rows
from .standard import StandardForm


class RowGroups(Structure):
    """How the l rows of the orthant enter the KKT matrix.

    Attributes
    ----------
    variable : array of int64, shape (l,)
        The variable whose bound the row is, or -1.
    group : array of int64, shape (l,)
        The merged row that it belongs to, or -1 for a bound.
    coefficient : array, shape (l,)
        The entry a of a bound, the factor d_i of another row, both equilibrated.
    count : int
        The number of merged rows.
    representative : array of int64, shape (count,)
        The row that stands for each merged row.
    theta, heaviest : arrays, shape (count,)
        The weight of each merged row at the last scaling, and the row with the largest part in it.
    """

    count = integer()
    variable, group, lead = integers("l"), integers("l"), integers("l")
    coefficient, ratio = floats("l"), floats("l")
    representative, heaviest, theta = integers("l"), integers("l"), floats("l")

    def __init__(self, form: StandardForm) -> None:
        super().__init__(l=form.l)
        self.form, self.rows = form, form.rows_of_M()
        find_groups(form, *self.rows, form.raw_M, self, *self._work())
        self.refresh()

    def _work(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `parallel_rows` needs beside the rows: which are looked at, its table and its keys."""
        l = self.lead.size
        return np.empty(l, np.bool_), np.empty(2 << max(l, 2).bit_length(), np.int64), np.empty(l, np.int64)

    def still_hold(self) -> bool:
        """Whether the values of the form keep the merged rows parallel; their new factors are taken."""
        indptr, indices, source = self.rows
        p, l = self.form.p, self.lead.size
        lead, ratio = np.empty(l, np.int64), np.empty(l)
        wanted, table, keys = self._work()
        wanted[:] = np.diff(indptr[p : p + l + 1]) > 1
        parallel_rows(p, l, indptr, indices, source, self.form.raw_M, wanted, lead, ratio, table, keys)
        if not np.array_equal(lead, self.lead):
            return False
        self.ratio[:] = ratio
        return True

    def refresh(self) -> None:
        """Take the values of M from the form anew."""
        scale_groups(self.form, self.rows[0], self.rows[2], self)


@kernel
def find_groups(
    form: StandardForm, indptr: Ints, indices: Ints, source: Ints, data: Floats, groups: RowGroups, wanted: Bools,
    table: Ints, keys: Ints,
) -> None:  # fmt: skip
    """The bounds and the merged rows; lead, ratio := the first row that a row is a multiple of, and the factor."""
    p, lead, group, representative = form.p, groups.lead, groups.group, groups.representative
    count = 0
    for i in range(lead.size):
        wanted[i] = indptr[p + i + 1] - indptr[p + i] > 1
    parallel_rows(p, lead.size, indptr, indices, source, data, wanted, lead, groups.ratio, table, keys)
    for i in range(lead.size):
        groups.variable[i], group[i] = -1, -1
        if indptr[p + i + 1] - indptr[p + i] == 1:
            groups.variable[i] = indices[indptr[p + i]]
        elif lead[i] == i:
            group[i], representative[count] = count, i
            count += 1
        else:
            group[i] = group[lead[i]]
    groups.count = count


@kernel
def scale_groups(form: StandardForm, indptr: Ints, source: Ints, groups: RowGroups) -> None:
    """The coefficients under the form's row scaling E."""
    p, E, M_data, lead, ratio, coefficient = form.p, form.E, form.M_data, groups.lead, groups.ratio, groups.coefficient
    for i in range(lead.size):
        if groups.variable[i] >= 0:
            coefficient[i] = M_data[source[indptr[p + i]]]
        else:
            coefficient[i] = ratio[i] * E[p + i] / E[p + lead[i]]


@inner
def weigh_rows(groups: RowGroups, w: Floats, diagonal: Floats) -> None:
    """diagonal += the weights of the bounds, theta := those of the merged rows, and the heaviest row of each."""
    variable, group, coefficient = groups.variable, groups.group, groups.coefficient
    theta, heaviest = groups.theta, groups.heaviest
    for r in range(groups.count):
        theta[r] = 0.0
    for i in range(variable.size):
        weight = (coefficient[i] / w[i]) ** 2
        r = group[i]
        if r < 0:
            diagonal[variable[i]] += weight
        else:
            if theta[r] == 0.0 or weight > (coefficient[heaviest[r]] / w[heaviest[r]]) ** 2:
                heaviest[r] = i
            theta[r] += weight
