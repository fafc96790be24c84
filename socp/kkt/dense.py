"""The KKT system by dense Cholesky, where the data are dense or few variables carry many rows.

Eliminating W dz = W^-1 G dx - r3 from the system of `base` leaves

    [ H  A' ] [dx]   [r1 + G'W^-1 r3 + rho A'r2]
    [ A  0  ] [dy] = [r2                       ],      H = P + G'W^-2 G + rho A'A,

solved by H = LL' and the Cholesky factor of the Schur complement A H^-1 A' = Y'Y, Y = L^-1 A'.  Bounds enter
H on its diagonal only; the other rows of G as the product of W^-1 G with its transpose (no W^-2 is formed, whose
small eigenvalues would be lost).  rho A'A changes no solution; where not every variable has a bound it makes up
for what P + G'W^-2 G does not see.

Towards the end the bounds' weights Theta of most variables are so large that P matters little beside them: a support
vector machine's dual has few free variables.  Of these weakly coupled variables B only the diagonal D of H is kept,

    H = [ H_BB  P_BF ]   ~   [ D^1/2          0    ] [ D^1/2  D^-1/2 P_BF ]
        [ P_FB  H_FF ]       [ P_FB D^-1/2  L_FF ] [ 0      L_FF'       ],

a Cholesky factor of order |F| in place of n.  With e = || D^-1/2 (H_BB - D) D^-1/2 || <= sum of P_jj / D_jj over B,
each step of refinement leaves about e of the error; B is taken so large that this sum stays below `WEAK`, but
no larger than pays once it stays below `VERY_WEAK`.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled.blas import LOWER, NO_TRANSPOSE, TRANSPOSE, gemv, syrk
from ..compiled.jit import kernel
from ..cones.scaling import apply_inverse
from ..form.hessian import DenseHessian
from ..form.standard import StandardForm
from ..linalg.cholesky import (
    ONE,
    START,
    cholesky,
    solve_lower,
    solve_lower_many,
    solve_lower_transposed,
    symmetric_product,
)
from ..linalg.csc import multiply_both
from ..linalg.refinement import GO_ON, STOP, judge
from .base import GOOD_RESIDUAL, KKT, kkt_residual

LEAST_SPLIT, SPLIT_SHARE = 400, 0.3  # the order, and the share of weakly coupled variables, from which a split pays
ENOUGH_SHARE = 0.65  # and the share beyond which the rest costs next to nothing
WEAK, VERY_WEAK = 0.02, 1e-3  # sums of P_jj / D_jj over the weakly coupled variables
MANY_SOLVES = 8  # further solves after which these limits are lowered


@kernel
def scale_rows(l, ptr, w, eta, dense_rows, G, out):
    """out := W^-1 G for the listed orthant rows and all second-order cones, rows of G in this order."""
    count = dense_rows.size
    for r in range(count):
        out[r] = G[r] / w[dense_rows[r]]
    for k in range(ptr.size - 1):
        start, size = count + ptr[k] - l, ptr[k + 1] - ptr[k]
        first = ptr[k]
        # W^-1 = (w_0, -w_1'; -w_1, I + w_1 w_1' / (1 + w_0)) / eta, row operations on the block
        for j in range(G.shape[1]):
            inner = 0.0
            for i in range(1, size):
                inner += w[first + i] * G[start + i, j]
            head = G[start, j]
            factor = inner / (1.0 + w[first]) - head
            out[start, j] = (w[first] * head - inner) / eta[k]
            for i in range(1, size):
                out[start + i, j] = (G[start + i, j] + factor * w[first + i]) / eta[k]


@kernel
def bound_weights(variable, coefficient, w, diagonal):
    """diagonal_j += a_i^2 / w_i^2 for each bound i on variable j."""
    for i in range(variable.size):
        if variable[i] >= 0:
            diagonal[variable[i]] += (coefficient[i] / w[i]) ** 2


class Rows:
    """The rows of M as a dense method sees them: bounds apart, equalities and the other rows as dense arrays.

    Attributes
    ----------
    variable, coefficient : arrays, shape (l,)
        The variable of each bound (-1 for another row) and its entry.
    others : array of int64
        The orthant rows that are not bounds.
    A, G : arrays, shapes (p, n), (others + second-order rows, n)
    """

    def __init__(self, form: StandardForm) -> None:
        self.form = form
        n, p, l, m = form.n, form.p, form.l, form.m
        indptr, indices, source = form.rows_of_M()
        bound = np.diff(indptr[p : p + l + 1]) == 1
        first = indptr[p : p + l][bound]
        self.variable = np.full(l, -1, dtype=np.int64)
        self.variable[bound] = indices[first]
        self.bound, self.source = bound, source[first]
        self.others = np.flatnonzero(~bound)
        self.place = np.full(p + m, -1, dtype=np.int64)
        self.place[:p] = np.arange(p)
        rest = np.concatenate([p + self.others, np.arange(p + l, p + m)])
        self.place[rest] = p + np.arange(rest.size)
        self.columns = np.repeat(np.arange(n), np.diff(form.M_indptr))
        self.dense = np.zeros((p + rest.size, n))
        self.refresh()

    def refresh(self) -> None:
        """Take the values of M from the form anew."""
        form = self.form
        self.coefficient = np.zeros(form.l)
        self.coefficient[self.bound] = form.M_data[self.source]
        rows = self.place[form.M_indices]
        keep = rows >= 0
        self.dense[:] = 0.0
        self.dense[rows[keep], self.columns[keep]] = form.M_data[keep]
        self.A, self.G = self.dense[: form.p], self.dense[form.p :]


@kernel
def factor_dense(n, p, rows, P, A, G, rho, diagonal, static, H, Y, S):
    """H := L, Y := L^-1 A', S := the factor of Y'Y, for `rows` rows of W^-1 G in G; 0, or not when it fails.

    All matrices flat: P, H, S by columns, A and G by rows.  The diagonals of H and S are raised by a share of their
    largest entry, but H by no more than the same share of one: W may make all of it small, or some of it large.
    So with rho: rho[0] is meant for an H of size one, rho[1] is the one that is used.
    """
    for j in range(n):
        H[j + j * n : (j + 1) * n] = P[j + j * n : (j + 1) * n]
        H[j + j * n] += diagonal[j]
    if rows > 0:
        syrk(LOWER, NO_TRANSPOSE, n, rows, 1.0, G, START, n, 1.0, H, START, n)
    size = min(largest_on_diagonal(n, H), 1.0)
    rho[1] = rho[0] * size
    if rho[1] > 0.0:
        syrk(LOWER, NO_TRANSPOSE, n, p, rho[1], A, START, n, 1.0, H, START, n)
    raise_diagonal(n, H, static * size)
    info = cholesky(n, H)
    if info != 0 or p == 0:
        return info
    Y[:] = A
    solve_lower_many(n, H, p, Y)
    return factor_schur(n, p, Y, static, S)


@kernel
def factor_split(n, p, P, A, diagonal, static, order, weak, roots, H, Y, S):
    """`factor_dense` when of the variables order[:weak] only the diagonal of H is kept, and G has no rows but bounds.

    H := (P_FB D^-1/2, L_FF), each by columns; Y is in the order of `order`.
    """
    free = n - weak
    at = 0
    for j in range(weak):
        column = order[j] * n
        roots[j] = math.sqrt(P[column + order[j]] + diagonal[order[j]] + static)
        for i in range(weak, n):
            H[at] = P[column + order[i]] / roots[j]
            at += 1
    L = H[at:]
    for j in range(free):
        column = order[weak + j] * n
        for i in range(j, free):
            L[i + j * free] = P[column + order[weak + i]]
        L[j + j * free] += diagonal[order[weak + j]] + static
    info = cholesky(free, L)
    if info != 0 or p == 0:
        return info
    for k in range(p):
        for i in range(n):
            Y[k * n + i] = A[k * n + order[i]]
    solve_factor(NO_TRANSPOSE, n, weak, roots, H, p, Y)
    return factor_schur(n, p, Y, static, S)


@kernel
def factor_schur(n, p, Y, static, S):
    """S := the factor of Y'Y."""
    syrk(LOWER, TRANSPOSE, p, n, 1.0, Y, START, n, 0.0, S, START, p)
    raise_diagonal(p, S, static * largest_on_diagonal(p, S))
    return cholesky(p, S)


@kernel
def solve_factor(trans, n, weak, roots, H, count, X):
    """x := L^-1 x, or L'^-1 x for TRANSPOSE, for `count` vectors one after the other.

    L is that of `factor_dense` (weak = 0) or of `factor_split`.
    """
    if weak == 0:
        if trans == TRANSPOSE:
            solve_lower_transposed(n, H, count, X)
        else:
            solve_lower(n, H, count, X)
        return
    free = n - weak
    L = H[free * weak :]
    for r in range(count):
        x = X[r * n : (r + 1) * n]
        if trans == TRANSPOSE:
            solve_lower_transposed(free, L, ONE, x[weak:])
            gemv(TRANSPOSE, free, weak, -1.0, H, START, free, x, weak, 1.0, x, START)
        for j in range(weak):
            x[j] /= roots[j]
        if trans == NO_TRANSPOSE:
            gemv(NO_TRANSPOSE, free, weak, -1.0, H, START, free, x, START, 1.0, x, weak)
            solve_lower(free, L, ONE, x[weak:])


@kernel
def largest_on_diagonal(n, H):
    """max H_ii, 1 when there is no positive one."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, H[i + i * n])
    return largest if largest > 0.0 else 1.0


@kernel
def raise_diagonal(n, H, shift):
    """H := H + shift I."""
    for i in range(n):
        H[i + i * n] += shift


@kernel
def add_dense(
    n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, order, weak, roots, H, Y, S, rho, count, rhs, out, t, dy, v, Mtv,
    room,
):  # fmt: skip
    """out += the solution, not refined, for `count` right-hand sides one after the other."""
    size = n + v.size
    for r in range(count):
        # t := L^-1 (r1 + G'W^-1 r3 + rho A'r2)
        b = rhs[r * size : (r + 1) * size]
        for i in range(p):
            v[i] = rho[1] * b[n + i]
        apply_inverse(l, ptr, w, eta, b[n + p :], v[p:])
        room[:n] = 0.0
        multiply_both(M_indptr, M_indices, M_data, room[:n], v, room[n:], Mtv)
        for j in range(n):
            t[r * n + j] = b[order[j]] + Mtv[order[j]]
    solve_factor(NO_TRANSPOSE, n, weak, roots, H, count, t)
    if p > 0:  # S dy = Y't - r2, t := t - Y dy
        for r in range(count):
            dy[r * p : (r + 1) * p] = rhs[r * size + n : r * size + n + p]
            gemv(TRANSPOSE, n, p, 1.0, Y, START, n, t, r * n, -1.0, dy, r * p)
        solve_lower(p, S, count, dy)
        solve_lower_transposed(p, S, count, dy)
        for r in range(count):
            gemv(NO_TRANSPOSE, n, p, -1.0, Y, START, n, dy, r * p, 1.0, t, r * n)
    solve_factor(TRANSPOSE, n, weak, roots, H, count, t)
    for r in range(count):
        b, u = rhs[r * size : (r + 1) * size], out[r * size : (r + 1) * size]
        dx = room[:n]
        for j in range(n):
            dx[order[j]] = t[r * n + j]
        multiply_both(M_indptr, M_indices, M_data, dx, v, room[n:], Mtv)
        apply_inverse(l, ptr, w, eta, room[n + p :], room[n + p :])
        for j in range(n):
            u[j] += dx[j]
        for i in range(p):
            u[n + i] += dy[r * p + i]
        for i in range(n + p, size):
            u[i] += room[i] - b[i]


@kernel
def refine_dense(
    n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, P, curved, order, weak, roots, H, Y, S, rho, steps, count, rhs,
    out, before, residual, Pu, t, dy, v, Mtv, room, found,
):  # fmt: skip
    """K out = rhs with refinement, for `count` right-hand sides; found[r] := (|rhs|, |residual|, further solves)."""
    size = n + v.size
    out[:] = 0.0
    add_dense(
        n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, order, weak, roots, H, Y, S, rho, count, rhs, out, t, dy, v,
        Mtv, room,
    )  # fmt: skip
    for r in range(count):
        b, u, Px = rhs[r * size : (r + 1) * size], out[r * size : (r + 1) * size], Pu[r]
        found[r, 0], found[r, 1], found[r, 2] = np.abs(b).max(), np.inf, 0.0
        what = GO_ON
        while what != STOP:
            Px[:] = 0.0
            if curved:
                symmetric_product(n, P, u, Px)
            norm = kkt_residual(n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, Px, u, b, v, Mtv, residual)
            what = judge(what, norm, steps, u, before, found[r])
            if what == GO_ON:
                add_dense(
                    n, p, l, ptr, w, eta, M_indptr, M_indices, M_data, order, weak, roots, H, Y, S, rho, ONE, residual,
                    u, t, dy, v, Mtv, room,
                )  # fmt: skip


class DenseKKT(KKT):
    """Dense Cholesky of H = P + G'W^-2 G + rho A'A."""

    choices = (1e-13, 1e-8, 1e-6)

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        super().__init__(form, regularization, refinement_steps)
        self.rows = Rows(form)
        n, p, m = form.n, form.p, form.m
        self.scaled, self.diagonal = np.empty_like(self.rows.G), np.zeros(n)
        self.H = form.P.take_room() if isinstance(form.P, DenseHessian) else np.empty(n * n)
        self.Y, self.S = np.zeros(n * p), np.zeros(p * p)
        self.order, self.weak, self.roots, self.caution = np.arange(n), 0, np.zeros(n), 1.0
        self.before, self.room = np.zeros(n + p + m), np.zeros(n + p + m)
        self._allow_correctors(n**3 / 3.0 + n**2 * self.rows.G.shape[0], 0.5 * n**2)
        self.t, self.dy, self.found = np.zeros(2 * n), np.zeros(2 * p), np.zeros((2, 3))
        self.refresh()

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        p = f", Schur complement of {self.form.p} equalities" if self.form.p else ""
        return f"dense Cholesky, order {self.form.n}, {self.rows.G.shape[0]} dense rows{p}"

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        form, rows = self.form, self.rows
        rows.refresh()
        self.P = form.P.dense().ravel()
        self.A = rows.A.ravel()
        bounded = np.zeros(form.n, dtype=bool)
        bounded[rows.variable[rows.bound]] = True
        self.rho = np.zeros(2)
        if form.p and not bounded.all():
            self.rho[0] = max(1.0, form.P.largest()) / max(1.0, float(np.abs(self.A).max())) ** 2

    def restart(self) -> None:
        super().restart()
        self.caution = 1.0

    def factor(self, w: np.ndarray, eta: np.ndarray, rhs: np.ndarray, out: np.ndarray) -> int:
        self.w, self.eta = w, eta
        self.diagonal[:] = 0.0
        bound_weights(self.rows.variable, self.rows.coefficient, w, self.diagonal)
        self._split()
        if self.weak:
            before = self.refinements
            if self._factor_timed(self.static) >= 0 and self.solve(rhs, out) <= GOOD_RESIDUAL:
                if self.refinements - before > MANY_SOLVES:
                    self.caution *= 0.3
                return 0
            self.caution *= 0.1
            self.order, self.weak = np.arange(self.form.n), 0
        return super().factor(w, eta, rhs, out)

    def _split(self) -> None:
        """Choose the weakly coupled variables and put them first in `order`."""
        n = self.form.n
        self.order, self.weak = np.arange(n), 0
        if n < LEAST_SPLIT or self.rows.G.shape[0] or self.rho[0] > 0.0:
            return
        share = self.P[:: n + 1] / (self.P[:: n + 1] + self.diagonal)
        ascending = np.argsort(share, kind="stable")
        sums = np.cumsum(share[ascending])
        most, least = np.searchsorted(sums, [WEAK * self.caution, VERY_WEAK * self.caution])
        weak = min(int(most), max(int(least), int(ENOUGH_SHARE * n)), n - 1)
        if weak >= SPLIT_SHARE * n:
            self.order, self.weak = np.concatenate([np.sort(ascending[:weak]), np.sort(ascending[weak:])]), weak

    def _factor(self, static: float) -> int:
        form, rows = self.form, self.rows
        self.static = static
        if self.weak:
            info = factor_split(
                form.n, form.p, self.P, self.A, self.diagonal, static, self.order, self.weak, self.roots, self.H,
                self.Y, self.S,
            )  # fmt: skip
            return -1 if info != 0 else 0
        scale_rows(form.l, form.ptr, self.w, self.eta, rows.others, rows.G, self.scaled)
        info = factor_dense(
            form.n, form.p, rows.G.shape[0], self.P, self.A, self.scaled.ravel(), self.rho, self.diagonal, static,
            self.H, self.Y, self.S,
        )  # fmt: skip
        return -1 if info != 0 else 0

    def _solve_rows(self, rhs: np.ndarray, out: np.ndarray) -> np.ndarray:
        form = self.form
        refine_dense(
            form.n, form.p, form.l, form.ptr, self.w, self.eta, form.M_indptr, form.M_indices, form.M_data, self.P,
            not form.P.is_zero, self.order, self.weak, self.roots, self.H, self.Y, self.S, self.rho,
            self.refinement_steps, rhs.shape[0], rhs.ravel(), out.ravel(), self.before, self.residual,
            self.Pu, self.t, self.dy, self.v, self.Mtv, self.room, self.found,
        )  # fmt: skip
        return self.found

    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        form = self.form
        add_dense(
            form.n, form.p, form.l, form.ptr, self.w, self.eta, form.M_indptr, form.M_indices, form.M_data,
            self.order, self.weak, self.roots, self.H, self.Y, self.S, self.rho, 1, rhs, out, self.t, self.dy, self.v,
            self.Mtv, self.room,
        )  # fmt: skip
