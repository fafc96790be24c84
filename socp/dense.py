"""The KKT system by dense Cholesky, where the data are dense or few variables carry many rows.

Eliminating W dz = W^-1 G dx - r3 from the system of `kkt` leaves

    [ H  A' ] [dx]   [r1 + G'W^-1 r3]
    [ A  0  ] [dy] = [r2            ],      H = P + G'W^-2 G,

solved by H = LL' and the Cholesky factor of the Schur complement A H^-1 A' = Y'Y, Y = L^-1 A'.  Bounds enter
H on its diagonal only; the other rows of G as the product of W^-1 G with its transpose (no W^-2 is formed, whose
small eigenvalues would be lost).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from .form import StandardForm
from .hessian import DenseHessian, LowRankHessian, SparseHessian
from .jit import kernel
from .kkt import KKT
from .scaling import apply_inverse
from .sparse import multiply_both


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


class DenseKKT(KKT):
    """Dense Cholesky of H = P + G'W^-2 G."""

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int) -> None:
        # without a dense P, H may be singular, and delta^2 must stay above the rounding errors of A H^-1 A'
        self.choices = (1e-13, 1e-8, 1e-6) if isinstance(form.P, DenseHessian) else (1e-7,)
        super().__init__(form, regularization, refinement_steps)
        self.rows = Rows(form)
        n = form.n
        self.scaled = np.empty_like(self.rows.G)
        self.H = np.empty((n, n), order="F")
        self.diagonal, self.rz, self.room = np.zeros(n), np.zeros(form.m), np.zeros(form.p + form.m)
        self.refresh()

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        p = f", Schur complement of {self.form.p} equalities" if self.form.p else ""
        return f"dense Cholesky, order {self.form.n}, {self.rows.G.shape[0]} dense rows{p}"

    def refresh(self) -> None:
        """Take the values of P and M from the form anew."""
        self.rows.refresh()
        self.P = _dense_hessian(self.form.P, self.form.n)

    def _factor(self, static: float) -> int:
        form, rows = self.form, self.rows
        self.static = static
        self.H[:] = self.P
        if rows.G.shape[0]:
            scale_rows(form.l, form.ptr, self.w, self.eta, rows.others, rows.G, self.scaled)
            # scaled is C-ordered: its transpose is the Fortran array that dsyrk wants
            self.H = blas.dsyrk(1.0, self.scaled.T, beta=1.0, c=self.H, lower=1, overwrite_c=1)
        self.diagonal[:] = static
        bound_weights(rows.variable, rows.coefficient, self.w, self.diagonal)
        self.H.ravel(order="K")[:: form.n + 1] += self.diagonal
        self.H, info = lapack.dpotrf(self.H, lower=1, overwrite_a=1, clean=0)
        if info != 0:
            return -1
        if form.p:
            self.Y = blas.dtrsm(1.0, self.H, rows.A.T, lower=1)
            S = blas.dsyrk(1.0, self.Y, trans=1, lower=1)
            S.ravel(order="K")[:: form.p + 1] += static
            self.S, info = lapack.dpotrf(S, lower=1, overwrite_a=1, clean=0)
            if info != 0:
                return -1
        return 0

    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        form = self.form
        n, p = form.n, form.p
        # t := L^-1 (r1 + G'W^-1 r3), then dy, then dx = L'^-1 (t - Y dy)
        self.v[:p] = 0.0
        apply_inverse(form.l, form.ptr, self.w, self.eta, rhs[n + p :], self.v[p:])
        multiply_both(form.M_indptr, form.M_indices, form.M_data, self.zero[:n], self.v, self.room, self.Mtv)
        t = blas.dtrsv(self.H, rhs[:n] + self.Mtv, lower=1, overwrite_x=1)
        if p:
            dy = lapack.dpotrs(self.S, self.Y.T @ t - rhs[n : n + p], lower=1)[0]
            t -= self.Y @ dy
            out[n : n + p] += dy
        dx = blas.dtrsv(self.H, t, lower=1, trans=1, overwrite_x=1)
        out[:n] += dx
        multiply_both(form.M_indptr, form.M_indices, form.M_data, dx, self.v, self.room, self.Mtv)
        apply_inverse(form.l, form.ptr, self.w, self.eta, self.room[p:], self.rz)
        self.rz -= rhs[n + p :]
        out[n + p :] += self.rz


class LowRankKKT(KKT):
    """P = F F' + diag(d), every variable bounded or d > 0: Cholesky of the Schur complement onto the few rows.

    With f = -F'dx as further unknowns, D = d + the weights of the bounds, B = [F'; A; W^-1 G without the bounds]:

        [ D  B' ] [dx]   [r]
        [ B  -E ] [v ] = [t],    E = (1, static, 1),    (E + B D^-1 B') v = B D^-1 r - t,    dx = D^-1 (r - B'v).
    """

    choices = (1e-14, 1e-10, 1e-7)

    def __init__(
        self, form: StandardForm, regularization: float | None, refinement_steps: int, F: np.ndarray, d: np.ndarray
    ) -> None:
        super().__init__(form, regularization, refinement_steps)
        self.rows = Rows(form)
        self.k, self.count = F.shape[1], self.rows.dense.shape[0]
        self.B = np.empty((self.k + self.count, form.n))
        self.BD = np.empty_like(self.B)
        self.diagonal, self.room = np.zeros(form.n), np.zeros(form.p + form.m)
        self._set_hessian(F, d)

    def _set_hessian(self, F: np.ndarray, d: np.ndarray) -> None:
        self.B[: self.k], self.d = F.T, d
        self.B[self.k : self.k + self.form.p] = self.rows.A

    @property
    def description(self) -> str:
        """The method and its order, in words."""
        return f"diagonal plus low rank, Cholesky of order {self.B.shape[0]} (rank {self.k} of P, {self.count} rows)"

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
        if rows.G.shape[0]:
            scale_rows(form.l, form.ptr, self.w, self.eta, rows.others, rows.G, self.B[self.k + p :])
        self.diagonal[:] = self.d + static
        bound_weights(rows.variable, rows.coefficient, self.w, self.diagonal)
        np.divide(self.B, np.sqrt(self.diagonal), out=self.BD)
        S = blas.dsyrk(1.0, self.BD.T, trans=1, lower=1)
        E = np.ones(S.shape[0])
        E[self.k : self.k + p] = static
        S.ravel(order="K")[:: S.shape[0] + 1] += E
        self.S, info = lapack.dpotrf(S, lower=1, overwrite_a=1, clean=0)
        return -1 if info != 0 else 0

    def _add_solution(self, rhs: np.ndarray, out: np.ndarray) -> None:
        form, rows = self.form, self.rows
        n, p, l = form.n, form.p, form.l
        # the bounds' share of G'W^-1 r3; the other rows stay in the system
        scaled = np.where(rows.bound, rhs[n + p : n + p + l], 0.0) / self.w[:l]
        r = rhs[:n] + np.bincount(np.maximum(rows.variable, 0), weights=scaled * rows.coefficient, minlength=n)
        t = np.zeros(self.B.shape[0])
        t[self.k : self.k + p] = rhs[n : n + p]
        t[self.k + p :] = np.concatenate([rhs[n + p + rows.others], rhs[n + p + l :]])
        v = lapack.dpotrs(self.S, self.B @ (r / self.diagonal) - t, lower=1)[0]
        dx = (r - v @ self.B) / self.diagonal
        out[:n] += dx
        out[n : n + p] += v[self.k : self.k + p]
        others = v[self.k + p :]
        out[n + p + rows.others] += others[: rows.others.size]
        out[n + p + l :] += others[rows.others.size :]
        bound = rows.bound
        dz = rows.coefficient * dx[np.maximum(rows.variable, 0)] / self.w[:l] - rhs[n + p : n + p + l]
        out[n + p : n + p + l][bound] += dz[bound]


def _dense_hessian(P: SparseHessian | DenseHessian | LowRankHessian, n: int) -> np.ndarray:
    if isinstance(P, DenseHessian):
        return P.array
    if isinstance(P, LowRankHessian):
        return P.F @ P.F.T + np.diag(P.d)
    full = np.zeros((n, n))
    full[P.indices, np.repeat(np.arange(n), np.diff(P.indptr))] = P.data
    return full
