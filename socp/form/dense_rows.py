"""A dense copy of the rows of M that are not bounds, for the dense backends, and products with M.

Where M is dense, BLAS multiplies by this copy, twice as fast as by the entries of M.  A row with two sides is copied
once, so that BLAS reads half of the entries.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.blas import NO_TRANSPOSE, TRANSPOSE, gemv
from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats
from ..compiled.structures import Structure, dimension, flag, floats, number
from ..linalg.cholesky import LOOPS
from ..linalg.csc import multiply, multiply_both, multiply_transposed
from ..problem.hessian import FULL
from .standard import NO_HESSIAN, SPARSE, StandardForm


class DenseRows(Structure):
    """[A; G] by rows: equalities A; in G the merged rows of the orthant, then all rows of the second-order cones.

    Attributes
    ----------
    count : int
        Number of rows of G.
    bounded, largest : bool and float
        Whether every variable has a bound, and the largest absolute entry of A.
    M, scaled : arrays, shapes ((p + count) n,), (count n,)
        [A; G], and G scaled by `scale_rows`.
    factor : (n,) array
        Workspace of `scale_rows`.
    """

    count, bounded, largest = dimension(), flag(), number()
    M, scaled = floats("(p + count) * n"), floats("count * n")
    factor = floats("n")

    def __init__(self, form: StandardForm) -> None:
        super().__init__(n=form.n, p=form.p, count=form.distinct)
        self.spread(form)

    def spread(self, form: StandardForm) -> None:
        """Copy the rows of M, and bind the copy to the form, whose products then use it."""
        form.spread_M = self.M
        spread_rows(form, self)


@inner
def spread_hessian(form: StandardForm, P: Floats) -> None:
    """Write the sparse P of the form to `P` by rows, zeros if the form has no P; other kinds of P are skipped."""
    n = form.n
    if form.hessian_kind != NO_HESSIAN and form.hessian_kind != SPARSE:
        return
    for at in range(n * n):
        P[at] = 0.0
    if form.hessian_kind == SPARSE:
        indptr, indices, data = form.P_indptr, form.P_indices, form.P_data
        for j in range(n):
            for k in range(indptr[j], indptr[j + 1]):
                P[indices[k] * n + j] += data[k]


@kernel
def spread_rows(form: StandardForm, rows: DenseRows) -> None:
    """Copy [A; G] from M by rows; find the largest entry of A, and whether every variable has a bound."""
    n, p, l, groups, data, M = form.n, form.p, form.l, form.groups, form.M_data, rows.M
    variable, has_bound = groups.variable, np.zeros(n, np.bool_)
    indptr, indices, source = form.Mt_indptr, form.Mt_indices, form.Mt_source
    for at in range(M.size):
        M[at] = 0.0
    rows.largest = 0.0
    missing = n
    for i in range(l):
        if variable[i] >= 0 and not has_bound[variable[i]]:
            has_bound[variable[i]] = True
            missing -= 1
    rows.bounded = missing == 0
    for r in range(p + rows.count):
        i = r if r < p else p + groups.representative[r - p] if r < p + groups.count else r + l - groups.count
        for k in range(indptr[i], indptr[i + 1]):
            M[r * n + indices[k]] = data[source[k]]
            if r < p:
                rows.largest = max(rows.largest, abs(data[source[k]]))
    form.is_spread = M.size > LOOPS and form.entries - form.bounds >= FULL * M.size


@inner
def multiply_M(form: StandardForm, x: Floats, out: Floats) -> None:
    """out := M x[:n]."""
    if not form.is_spread:
        multiply(form.M_indptr, form.M_indices, form.M_data, x, out)
        return
    n, p, l, groups, product = form.n, form.p, form.l, form.groups, form.product
    variable, group, coefficient, behind = groups.variable, groups.group, groups.coefficient, groups.count - l
    gemv(TRANSPOSE, n, form.spread_M.size // n, 1.0, form.spread_M, 0, n, x, 0, 0.0, product, 0)
    for i in range(p):
        out[i] = product[i]
    for i in range(l):
        out[p + i] = coefficient[i] * (x[variable[i]] if group[i] < 0 else product[p + group[i]])
    for i in range(p + l, out.size):
        out[i] = product[i + behind]


@inner
def multiply_M_transposed(form: StandardForm, v: Floats, out: Floats) -> None:
    """out := M'v."""
    if not form.is_spread:
        multiply_transposed(form.M_indptr, form.M_indices, form.M_data, v, out)
        return
    n, p, l, groups, merged = form.n, form.p, form.l, form.groups, form.product
    variable, group, coefficient, behind = groups.variable, groups.group, groups.coefficient, groups.count - l
    for j in range(n):
        out[j] = 0.0
    for i in range(p + groups.count):
        merged[i] = v[i] if i < p else 0.0
    for i in range(l):
        value = coefficient[i] * v[p + i]
        if group[i] < 0:
            out[variable[i]] += value
        else:
            merged[p + group[i]] += value
    for i in range(p + l, v.size):
        merged[i + behind] = v[i]
    gemv(NO_TRANSPOSE, n, form.spread_M.size // n, 1.0, form.spread_M, 0, n, merged, 0, 1.0, out, 0)


@inner
def multiply_M_both(form: StandardForm, x: Floats, v: Floats, Mx: Floats, Mtv: Floats) -> None:
    """Mx := M x[:n] and Mtv := M'v."""
    if form.is_spread:
        multiply_M(form, x, Mx)
        multiply_M_transposed(form, v, Mtv)
    else:
        multiply_both(form.M_indptr, form.M_indices, form.M_data, x, v, Mx, Mtv)


@inner
def scale_rows(form: StandardForm, rows: DenseRows, w: Floats, eta: Floats, out: Floats) -> None:
    """out := sqrt(theta) times the merged rows of G, then W^-1 times the rows of the second-order cones."""
    n, l, ptr, theta, distinct = form.n, form.l, form.ptr, form.groups.theta, form.groups.count
    G = rows.M[form.p * n :]
    for r in range(distinct):
        root = math.sqrt(theta[r])
        for j in range(r * n, (r + 1) * n):
            out[j] = root * G[j]
    for k in range(ptr.size - 1):
        first, size = ptr[k], ptr[k + 1] - ptr[k]
        # W^-1 = (w_0, -w_1'; -w_1, I + w_1 w_1' / (1 + w_0)) / eta is applied by row operations.
        scale_cone(n, size, (distinct + first - l) * n, w[first : first + size], eta[k], G, rows.factor, out)


@inner
def scale_cone(n: int, size: int, top: int, w: Floats, eta: float, G: Floats, factor: Floats, out: Floats) -> None:
    """Write to `out` W^-1 times the rows of G of one second-order cone, which begin at entry `top`."""
    for j in range(n):
        factor[j] = 0.0
    for i in range(1, size):
        row, weight = top + i * n, w[i]
        for j in range(n):
            factor[j] += weight * G[row + j]
    for j in range(n):
        head = G[top + j]
        out[top + j] = (w[0] * head - factor[j]) / eta
        factor[j] = factor[j] / (1.0 + w[0]) - head
    for i in range(1, size):
        row, weight = top + i * n, w[i]
        for j in range(n):
            out[row + j] = (G[row + j] + factor[j] * weight) / eta
