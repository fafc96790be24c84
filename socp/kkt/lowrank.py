"""The KKT system of a diagonal plus low-rank P by the Cholesky factor of a small Schur complement.

P = F F' + diag(d), every variable bounded or d > 0.  With f = -F'dx as further unknowns, D = d + the weights of the
bounds, B = [F'; A; W^-1 G without the bounds]:

    [ D  B' ] [dx]   [r]
    [ B  -E ] [v ] = [t],    E = (1, static, 1),    (E + B D^-1 B') v = B D^-1 r - t,    dx = D^-1 (r - B'v).
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, gemv, syrk
from ..compiled.jit import kernel
from ..form.standard import StandardForm
from ..linalg.cholesky import ONE, START, cholesky, solve_lower, solve_lower_transposed
from ..linalg.refinement import GO_ON, STOP, judge
from .base import KKT, kkt_residual
from .dense import Rows, bound_weights, scale_rows


@kernel
def factor_low_rank(n, k, p, D, static, B, BD, S):
    """S := the factor of E + B D^-1 B', all flat, B by rows; 0, or not when it fails."""
    rows = BD.size // n
    for j in range(n):
        root = math.sqrt(D[j])
        for i in range(rows):
            BD[i * n + j] = B[i * n + j] / root
    syrk(LOWER, TRANSPOSE, rows, n, 1.0, BD, START, n, 0.0, S, START, rows)
    for i in range(rows):
        S[i + i * rows] += static if k <= i < k + p else 1.0
    return cholesky(rows, S)


@kernel
def add_low_rank(n, k, p, l, w, variable, coefficient, others, D, B, S, count, rhs, out, r, v):
    """out += the solution, not refined, for `count` right-hand sides one after the other."""
    size, rows = rhs.size // count, k + p + others.size
    rows += size - n - p - l  # the second-order cones
    tail = rows - (size - n - p - l)
    for c in range(count):
        b = rhs[c * size : (c + 1) * size]
        t = v[c * rows : (c + 1) * rows]
        for j in range(n):
            r[j] = b[j]
        for i in range(l):  # the bounds' share of G'W^-1 r3; the other rows stay in the system
            if variable[i] >= 0:
                r[variable[i]] += coefficient[i] * b[n + p + i] / w[i]
        for j in range(n):
            r[j] /= D[j]
        t[:k] = 0.0
        t[k : k + p] = b[n : n + p]
        for i in range(others.size):
            t[k + p + i] = b[n + p + others[i]]
        t[tail:] = b[n + p + l :]
        gemv(TRANSPOSE, n, rows, 1.0, B, START, n, r, START, -1.0, v, c * rows)
    solve_lower(rows, S, count, v)
    solve_lower_transposed(rows, S, count, v)
    for c in range(count):
        b, u = rhs[c * size : (c + 1) * size], out[c * size : (c + 1) * size]
        t = v[c * rows : (c + 1) * rows]
        for j in range(n):
            r[j] = b[j]
        for i in range(l):
            if variable[i] >= 0:
                r[variable[i]] += coefficient[i] * b[n + p + i] / w[i]
        gemv(NO_TRANSPOSE, n, rows, -1.0, B, START, n, v, c * rows, 1.0, r, START)
        for j in range(n):
            r[j] /= D[j]
            u[j] += r[j]
        for i in range(p):
            u[n + i] += t[k + i]
        for i in range(l):
            if variable[i] >= 0:
                u[n + p + i] += coefficient[i] * r[variable[i]] / w[i] - b[n + p + i]
        for i in range(others.size):
            u[n + p + others[i]] += t[k + p + i]
        for i in range(tail, rows):
            u[n + p + l + i - tail] += t[i]


@kernel
def refine_low_rank(
    n, k, p, l, ptr, w, eta, M_indptr, M_indices, M_data, d, variable, coefficient, others, D, B, S, steps, count,
    rhs, out, before, residual, Pu, r, t, v, Mtv, found,
):  # fmt: skip
    """K out = rhs with refinement, for `count` right-hand sides; found[r] := (|rhs|, |residual|, further solves)."""
    size = n + v.size
    out[:] = 0.0
    add_low_rank(n, k, p, l, w, variable, coefficient, others, D, B, S, count, rhs, out, r, t)
    for c in range(count):
        b, u, Px = rhs[c * size : (c + 1) * size], out[c * size : (c + 1) * size], Pu[c]
        found[c, 0], found[c, 1], found[c, 2] = np.abs(b).max(), np.inf, 0.0
        what = GO_ON
        while what != STOP:
            for j in range(n):
                Px[j] = d[j] * u[j]
            gemv(TRANSPOSE, n, k, 1.0, B, START, n, u, START, 0.0, t, START)
            gemv(NO_TRANSPOSE, n, k, 1.0, B, START, n, t, START, 1.0, Px, START)
            norm = kkt_residual(n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, Px, u, b, v, Mtv, residual)
            what = judge(what, norm, steps, u, before, found[c])
            if what == GO_ON:
                add_low_rank(n, k, p, l, w, variable, coefficient, others, D, B, S, ONE, residual, u, r, t)


class LowRankKKT(KKT):
    """Cholesky of E + B D^-1 B', of the order of the rank of P and the rows that are not bounds."""

    choices = (1e-14, 1e-10, 1e-7)

    def __init__(
        self, form: StandardForm, regularization: float | None, refinement_steps: int, F: np.ndarray, d: np.ndarray
    ) -> None:
        super().__init__(form, regularization, refinement_steps)
        n, p, m = form.n, form.p, form.m
        self.rows = Rows(form)
        self.k, self.d = F.shape[1], d
        order = self.k + self.rows.dense.shape[0]
        self.B, self.BD, self.S = np.empty((order, n)), np.empty(order * n), np.zeros(order * order)
        self.D, self.r, self.t = np.zeros(n), np.zeros(n), np.zeros(2 * order)
        self.before, self.found = np.zeros(n + p + m), np.zeros((2, 3))
        self._allow_correctors(order**2 * (n + order / 3.0), order * (n + 0.5 * order))
        self.B[: self.k] = F.T
        self.B[self.k : self.k + p] = self.rows.A

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        order = self.B.shape[0]
        return f"diagonal plus low rank, Cholesky of order {order} (rank {self.k} of P, {order - self.k} rows)"

    def refresh(self) -> None:
        """Take the values of M from the form anew (a new P needs new factors, see `still_fits`)."""
        self.rows.refresh()
        self.B[self.k : self.k + self.form.p] = self.rows.A

    def still_fits(self) -> bool:
        """A change of P is a change of its factors."""
        return False

    def _factor(self, static: float) -> int:
        form, rows, p = self.form, self.rows, self.form.p
        self.static = static
        scale_rows(form.l, form.ptr, self.w, self.eta, rows.others, rows.G, self.B[self.k + p :])
        np.add(self.d, static, out=self.D)
        bound_weights(rows.variable, rows.coefficient, self.w, self.D)
        info = factor_low_rank(form.n, self.k, p, self.D, static, self.B.ravel(), self.BD, self.S)
        return -1 if info != 0 else 0

    def _solve_rows(self, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
        form, rows = self.form, self.rows
        refine_low_rank(
            form.n, self.k, form.p, form.l, form.ptr, self.w, self.eta, form.M_indptr, form.M_indices, form.M_data,
            self.d, rows.variable, rows.coefficient, rows.others, self.D, self.B.ravel(), self.S,
            self.refinement_steps, rhs.shape[0], rhs.ravel(), out.ravel(), self.before, self.residual,
            self.Pu, self.r, self.t, self.v, self.Mtv, self.found,
        )  # fmt: skip
        return self.found

    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        form, rows = self.form, self.rows
        add_low_rank(
            form.n, self.k, form.p, form.l, self.w, rows.variable, rows.coefficient, rows.others, self.D,
            self.B.ravel(), self.S, 1, rhs, out, self.r, self.t,
        )  # fmt: skip
