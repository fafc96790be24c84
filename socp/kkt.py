"""The KKT system of a Newton step, by sparse LDL'.

    [ P   A'   G'  ] [dx]   [r1]
    [ A   0    0   ] [dy] = [r2]
    [ G   0   -W^2 ] [dz]   [r3]

is factored in a reduced and expanded form (bounds and parallel rows merged, see `groups`; large
second-order cones kept sparse).  A quasi-definite matrix has an LDL' with known signs under any symmetric
permutation (Vanderbei 1995); this one is quasi-definite only when P is definite and A has full rank, and
so a pivot that comes out below `PIVOT_EPS`, or with the wrong sign, is replaced by +-`PIVOT_DELTA`: the
matrix is regularized only where it must be.  (A static regularization of the whole diagonal at 1e-8, the
usual choice, needs half as many iterations again on the Maros-Meszaros programs and loses the LISWET
family, whose Schur complement has eigenvalues far below it.)  Iterative refinement on the system above
takes the regularization out again.

A second-order cone of dimension above `DENSE_CONE` is kept sparse by two extra rows.  With w of the
Nesterov-Todd scaling, W^2 = eta^2 (2ww' - J) = eta^2 (D + uu' - vv') where

    D = diag(1 / (4 w_0^2 - 1), 1, ..., 1)    v = sqrt(beta) (0, w_1)    beta = 1 / (w_0^2 - 3/4)
    u = (2 w_0 / sqrt(2 + beta), sqrt(2 + beta) w_1)

Any beta between 1 / (w_0^2 - 1/2) and 1 / (w_0^2 - 1) makes D and D - vv' positive definite, which keeps

    [ -eta^2 D   eta v   eta u ]
    [  eta v'    -1      0     ]        (Schur complement on the first block: -W^2)
    [  eta u'     0      1     ]

quasi-definite; this one gives the closed forms above, without cancellation.
"""

from __future__ import annotations

import math

import numpy as np

from .form import StandardForm
from .groups import RowGroups
from .jit import kernel
from .ldl import LDL
from .scaling import apply_square
from .sparse import multiply_both

DENSE_CONE = 4  # cones up to this dimension are a dense block of the KKT matrix
PIVOT_EPS, PIVOT_DELTA = 1e-13, 2e-7  # dynamic regularization: smaller pivots are replaced


@kernel
def count_pattern(n, p, l, lead, ptr, P_indptr, P_indices, M_indptr, counts, dense):
    """counts[j] := entries in column j of the upper triangle (rows of M given by M_indptr)."""
    for j in range(n):
        counts[j] = P_indptr[j + 1] - P_indptr[j]
        if counts[j] == 0 or P_indices[P_indptr[j + 1] - 1] != j:
            counts[j] += 1
    for i in range(p):
        counts[n + i] = M_indptr[i + 1] - M_indptr[i] + 1
    base = n + p
    for r in range(lead.size):
        i = p + lead[r]
        counts[base + r] = M_indptr[i + 1] - M_indptr[i] + 1
    base += lead.size
    extra = base + ptr[-1] - l
    for k in range(ptr.size - 1):
        size = ptr[k + 1] - ptr[k]
        for i in range(ptr[k], ptr[k + 1]):
            counts[base + i - l] = M_indptr[p + i + 1] - M_indptr[p + i] + 1
            if size <= dense:
                counts[base + i - l] += i - ptr[k]
        if size > dense:
            counts[extra] = size  # v has no entry in the first row
            counts[extra + 1] = size + 1
            extra += 2


@kernel
def fill_pattern(n, p, l, lead, ptr, P, M, indptr, indices, place_P, place_M, diagonal, cone_place, dense):
    """The upper triangle: its indices, and where each entry of P and M, each diagonal entry, each cone's entries are.

    P is (indptr, indices) of the upper triangle of P, M (indptr, indices, source) of the rows of M.
    """
    P_indptr, P_indices = P
    M_indptr, M_indices, M_source = M
    for j in range(n):
        at = indptr[j]
        for k in range(P_indptr[j], P_indptr[j + 1]):
            indices[at] = P_indices[k]
            place_P[k] = at
            at += 1
        if at < indptr[j + 1]:
            indices[at] = j
        diagonal[j] = indptr[j + 1] - 1
    column = n
    for r in range(p + lead.size):
        i = r if r < p else p + lead[r - p]
        at = indptr[column]
        for k in range(M_indptr[i], M_indptr[i + 1]):
            indices[at] = M_indices[k]
            place_M[M_source[k]] = at
            at += 1
        indices[at] = column
        diagonal[column] = at
        column += 1
    base = column
    extra = base + ptr[-1] - l
    cursor = 0
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        for i in range(start, stop):
            column = base + i - l
            at = indptr[column]
            for q in range(M_indptr[p + i], M_indptr[p + i + 1]):
                indices[at] = M_indices[q]
                place_M[M_source[q]] = at
                at += 1
            if stop - start <= dense:
                for h in range(start, i):
                    indices[at] = base + h - l
                    cone_place[cursor] = at
                    cursor += 1
                    at += 1
            indices[at] = column
            diagonal[column] = at
        if stop - start > dense:
            for which in range(2):
                at = indptr[extra]
                for i in range(start + 1 - which, stop):
                    indices[at] = base + i - l
                    at += 1
                indices[at] = extra
                diagonal[extra] = at
                extra += 1


@kernel
def orthant_weights(n, p, l, w, variable, group, coefficient, theta, pivot, P_diagonal, static, diagonal, data):
    """The diagonal of the variables and of the merged rows; theta and the heaviest row of each group."""
    for j in range(n):
        data[diagonal[j]] = P_diagonal[j] + static
    for i in range(p):
        data[diagonal[n + i]] = -static
    theta[:] = 0.0
    for i in range(l):
        weight = (coefficient[i] / w[i]) ** 2
        if group[i] < 0:
            data[diagonal[variable[i]]] += weight
        else:
            r = group[i]
            if pivot[r] < 0 or theta[r] == 0.0 or weight > (coefficient[pivot[r]] / w[pivot[r]]) ** 2:
                pivot[r] = i
            theta[r] += weight
    for r in range(theta.size):
        data[diagonal[n + p + r]] = -1.0 / theta[r] - static


@kernel
def cone_blocks(l, ptr, w, eta, static, base, indptr, diagonal, cone_place, data, dense):
    """The blocks -W^2 of the second-order cones, dense or expanded."""
    extra = base + ptr[-1] - l
    cursor = 0
    for k in range(ptr.size - 1):
        start, stop = ptr[k], ptr[k + 1]
        square = eta[k] * eta[k]
        w0 = w[start]
        if stop - start <= dense:
            for i in range(start, stop):
                for h in range(start, i):
                    data[cone_place[cursor]] = -2.0 * square * w[i] * w[h]
                    cursor += 1
                j_sign = 1.0 if i == start else -1.0
                data[diagonal[base + i - l]] = -square * (2.0 * w[i] * w[i] - j_sign) - static
            continue
        beta = 1.0 / (w0 * w0 - 0.75)
        data[diagonal[base + start - l]] = -square / (4.0 * w0 * w0 - 1.0) - static
        for i in range(start + 1, stop):
            data[diagonal[base + i - l]] = -square - static
        v_factor = eta[k] * math.sqrt(beta)
        at = indptr[extra]
        for i in range(start + 1, stop):
            data[at] = v_factor * w[i]
            at += 1
        data[at] = -1.0 - static
        u_factor = math.sqrt(2.0 + beta)
        at = indptr[extra + 1]
        data[at] = eta[k] * 2.0 * w0 / u_factor
        at += 1
        for i in range(start + 1, stop):
            data[at] = eta[k] * u_factor * w[i]
            at += 1
        data[at] = 1.0 + static
        extra += 2


@kernel
def reduce_rhs(n, p, l, m, rhs, w, variable, group, coefficient, theta, t, out):
    """The right-hand side of the reduced system; t as in `groups`."""
    out[: n + p] = rhs[: n + p]
    t[:] = 0.0
    for i in range(l):
        value = coefficient[i] * rhs[n + p + i] / (w[i] * w[i])
        if group[i] < 0:
            out[variable[i]] += value
        else:
            t[group[i]] += value
    base = n + p
    for r in range(t.size):
        out[base + r] = t[r] / theta[r]
    base += t.size
    for i in range(l, m):
        out[base + i - l] = rhs[n + p + i]
    out[base + m - l :] = 0.0


@kernel
def recover(n, p, l, m, rhs, w, variable, group, coefficient, theta, t, pivot, reduced, out):
    """out += (dx, dy, dz) from the solution of the reduced system."""
    for i in range(n + p):
        out[i] += reduced[i]
    base = n + p
    for i in range(l):
        r = group[i]
        if r < 0:
            out[base + i] += (coefficient[i] * reduced[variable[i]] - rhs[base + i]) / (w[i] * w[i])
        elif pivot[r] != i:
            # rho dx = (v + t) / theta; the heaviest row gets what is left of v, which does not cancel
            dz = (coefficient[i] * (reduced[base + r] + t[r]) / theta[r] - rhs[base + i]) / (w[i] * w[i])
            out[base + i] += dz
            reduced[base + r] -= coefficient[i] * dz
            t[r] += coefficient[i] * dz  # keeps v + t, hence rho dx, for the group's further rows
    for r in range(theta.size):
        out[base + pivot[r]] += reduced[base + r] / coefficient[pivot[r]]
    shift = base + theta.size - l
    for i in range(l, m):
        out[base + i] += reduced[shift + i]


@kernel
def kkt_residual(n, p, l, m, ptr, w, eta, M_indptr, M_indices, M_data, Px, solution, rhs, Mtv, residual):
    """residual := rhs - K solution for the unreduced, unregularized K; returns its infinity norm."""
    multiply_both(M_indptr, M_indices, M_data, solution[:n], solution[n:], residual[n:], Mtv)
    W2z = Mtv[n:]
    apply_square(l, ptr, w, eta, solution[n + p :], W2z)
    for i in range(m):
        residual[n + p + i] -= W2z[i]
    norm = 0.0
    for j in range(n):
        residual[j] = rhs[j] - Px[j] - Mtv[j]
        norm = max(norm, abs(residual[j]))
    for i in range(n, n + p + m):
        residual[i] = rhs[i] - residual[i]
        norm = max(norm, abs(residual[i]))
    return norm if norm == norm else np.inf


class SparseKKT:
    """Factors and solves the KKT systems of one program by sparse LDL'."""

    def __init__(self, form: StandardForm, regularization: float, refinement_steps: int) -> None:
        self.form, self.refinement_steps = form, refinement_steps
        self.static = regularization
        self._refinements = 0
        self._build_pattern()
        n, p, m = form.n, form.p, form.m
        self.theta, self.t = np.zeros(self.groups.count), np.zeros(self.groups.count)
        self.pivot = np.full(self.groups.count, -1, dtype=np.int64)
        self.data = np.zeros(self.indices.size)
        self.reduced_rhs, self.reduced = np.zeros(self.size), np.zeros(self.size)
        self.Px, self.Mtv = np.zeros(n), np.zeros(n + m)
        self.residual, self.best = np.zeros(n + p + m), np.zeros(n + p + m)
        self.refresh()

    def _build_pattern(self) -> None:
        form = self.form
        n, p, l, m, ptr = form.n, form.p, form.l, form.m, form.ptr
        rows = form.rows_of_M()
        self.groups = groups = RowGroups(p, l, rows, form.raw_M)
        lead = groups.representative
        P_indptr, P_indices, _ = form.P.upper()
        expanded = int((np.diff(ptr) > DENSE_CONE).sum())
        self.base = n + p + lead.size
        self.size = self.base + (m - l) + 2 * expanded

        counts = np.zeros(self.size, dtype=np.int64)
        count_pattern(n, p, l, lead, ptr, P_indptr, P_indices, rows[0], counts, DENSE_CONE)
        self.indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        self.indices = np.empty(self.indptr[-1], dtype=np.int64)
        self.diagonal = np.empty(self.size, dtype=np.int64)
        self.place_P = np.empty(P_indices.size, dtype=np.int64)
        self.place_M = np.full(form.M_indices.size, -1, dtype=np.int64)
        sizes = np.diff(ptr)
        small = sizes[sizes <= DENSE_CONE]
        self.cone_place = np.empty(int((small * (small - 1) // 2).sum()), dtype=np.int64)
        fill_pattern(
            n, p, l, lead, ptr, (P_indptr, P_indices), rows, self.indptr, self.indices,
            self.place_P, self.place_M, self.diagonal, self.cone_place, DENSE_CONE,
        )  # fmt: skip
        self.in_M = np.flatnonzero(self.place_M >= 0)
        self.signs = np.full(self.size, -1, dtype=np.int64)
        self.signs[:n] = 1
        self.signs[self.base + (m - l) + 1 :: 2] = 1
        self.ldl = LDL(self.size, self.indptr, self.indices, self.signs)

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        form = self.form
        self.data[self.place_P] = form.P.upper()[2]
        self.data[self.place_M[self.in_M]] = form.M_data[self.in_M]
        self.P_diagonal = np.zeros(form.n)
        has = np.zeros(self.indices.size, dtype=bool)
        has[self.place_P] = True
        own = has[self.diagonal[: form.n]]
        self.P_diagonal[own] = self.data[self.diagonal[: form.n][own]]
        self.coefficient = self.groups.coefficients(form.E[form.p : form.p + form.l], form.M_data)

    @property
    def description(self) -> str:
        """The method, its order and its entries, in words."""
        return f"sparse LDL' ({self.ldl.method}), order {self.size}, {self.indices.size} entries, {self.ldl.nnz} in L"

    def take_refinements(self) -> int:
        """The steps of iterative refinement since the last call."""
        count, self._refinements = self._refinements, 0
        return count

    def factor(self, w: np.ndarray, eta: np.ndarray) -> int:
        """Factor at the scaling (w, eta); returns the number of replaced pivots, -1 on failure."""
        form, groups = self.form, self.groups
        self.w, self.eta = w, eta
        orthant_weights(
            form.n, form.p, form.l, w, groups.variable, groups.group, self.coefficient, self.theta, self.pivot,
            self.P_diagonal, self.static, self.diagonal, self.data,
        )  # fmt: skip
        cone_blocks(
            form.l, form.ptr, w, eta, self.static, self.base, self.indptr, self.diagonal, self.cone_place, self.data,
            DENSE_CONE,
        )  # fmt: skip
        return self.ldl.factor(self.data, PIVOT_EPS, PIVOT_DELTA)

    def solve(self, rhs: np.ndarray, out: np.ndarray) -> float:
        """K out = rhs with refinement; returns the infinity norm of the residual that is left."""
        out[:] = 0.0
        self._add_solution(rhs, out)
        norm = self._residual(rhs, out)
        enough = 1e-14 + 1e-13 * np.abs(rhs).max(initial=0.0)
        for _ in range(self.refinement_steps):
            if norm <= enough:
                break
            self._refinements += 1
            self.best[:] = out
            self._add_solution(self.residual, out)
            previous, norm = norm, self._residual(rhs, out)
            if norm > 0.5 * previous:
                if norm >= previous:
                    out[:] = self.best
                    norm = previous
                break
        return norm

    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        form, groups = self.form, self.groups
        reduce_rhs(
            form.n, form.p, form.l, form.m, rhs, self.w, groups.variable, groups.group, self.coefficient, self.theta,
            self.t, self.reduced_rhs,
        )  # fmt: skip
        self.ldl.solve(self.reduced_rhs, self.reduced)
        recover(
            form.n, form.p, form.l, form.m, rhs, self.w, groups.variable, groups.group, self.coefficient, self.theta,
            self.t, self.pivot, self.reduced, out,
        )  # fmt: skip

    def _residual(self, rhs: np.ndarray, out: np.ndarray) -> float:
        form = self.form
        form.P.product(out[: form.n], self.Px)
        return kkt_residual(
            form.n, form.p, form.l, form.m, form.ptr, self.w, self.eta, form.M_indptr, form.M_indices, form.M_data,
            self.Px, out, rhs, self.Mtv, self.residual,
        )  # fmt: skip
