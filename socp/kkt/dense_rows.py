"""The rows of M as the dense backends see them: bounds apart, equalities and the other rows as dense arrays."""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats
from ..compiled.structures import Structure, dimension, flag, floats, number
from ..form.standard import NO_HESSIAN, SPARSE, StandardForm


class DenseRows(Structure):
    """Equalities A, and G: the merged rows of the orthant, then all rows of the second-order cones; both by rows.

    Attributes
    ----------
    count : int
        The rows of G.
    bounded, largest : bool and float
        Whether every variable has a bound, and the largest entry of A.
    A, G, scaled : arrays, shapes (p n,), (count n,), (count n,)
        `scaled` is what `scale_rows` makes of G.
    factor : (n,) array
        Work of `scale_rows`.
    """

    count, bounded, largest = dimension(), flag(), number()
    A, G, scaled = floats("p * n"), floats("count * n"), floats("count * n")
    factor = floats("n")

    def __init__(self, form: StandardForm) -> None:
        super().__init__(n=form.n, p=form.p, count=form.distinct)
        spread_rows(form, self)


@inner
def spread_hessian(form: StandardForm, P: Floats) -> None:
    """P by rows from the sparse P of the form, or zeros where it has none."""
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
    """A and G from M by rows, the largest entry of A, and whether every variable has a bound."""
    n, p, l, groups, data = form.n, form.p, form.l, form.groups, form.M_data
    A, G, variable, has_bound = rows.A, rows.G, groups.variable, np.zeros(n, np.bool_)
    indptr, indices, source = form.Mt_indptr, form.Mt_indices, form.Mt_source
    for at in range(A.size):
        A[at] = 0.0
    for at in range(G.size):
        G[at] = 0.0
    rows.largest = 0.0
    for i in range(p):
        for k in range(indptr[i], indptr[i + 1]):
            A[i * n + indices[k]] = data[source[k]]
            rows.largest = max(rows.largest, abs(data[source[k]]))
    missing = n
    for i in range(l):
        if variable[i] >= 0 and not has_bound[variable[i]]:
            has_bound[variable[i]] = True
            missing -= 1
    rows.bounded = missing == 0
    for r in range(rows.count):
        i = p + (groups.representative[r] if r < groups.count else l + r - groups.count)
        for k in range(indptr[i], indptr[i + 1]):
            G[r * n + indices[k]] = data[source[k]]


@inner
def scale_rows(form: StandardForm, rows: DenseRows, w: Floats, eta: Floats, out: Floats) -> None:
    """out := sqrt(theta) times the merged rows, and W^-1 times those of the second-order cones."""
    n, l, ptr, G, theta, distinct = form.n, form.l, form.ptr, rows.G, form.groups.theta, form.groups.count
    for r in range(distinct):
        root = math.sqrt(theta[r])
        for j in range(r * n, (r + 1) * n):
            out[j] = root * G[j]
    for k in range(ptr.size - 1):
        first, size = ptr[k], ptr[k + 1] - ptr[k]
        # W^-1 = (w_0, -w_1'; -w_1, I + w_1 w_1' / (1 + w_0)) / eta, row operations on the block
        scale_cone(n, size, (distinct + first - l) * n, w[first : first + size], eta[k], G, rows.factor, out)


@inner
def scale_cone(n: int, size: int, top: int, w: Floats, eta: float, G: Floats, factor: Floats, out: Floats) -> None:
    """The rows of one cone, which begin at `top`, times W^-1."""
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
