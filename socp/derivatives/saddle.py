r"""Symmetric saddle-point systems with rows that are equations, weighted, or absent.

    [ P   B'  I ] [u]   [a]
    [ B  -E   0 ] [w] = [b],        P symmetric positive semidefinite, E and F diagonal, from 0 to infinity
    [ I   0  -F ] [t]   [f]

A row with E_i = 0 is an equation, a row with E_i = inf is absent (w_i = 0); for bounds F_j has this role.  A bound that
is an equation determines its variable, and weighted bounds are added to the diagonal of P.  The matrix of the other
variables and rows has an LDL' factorization after its diagonal is regularized; solutions are refined.  If the system is
singular, the solution is the least-squares solution of least norm.

Dense systems, with the weighted rows in H = P + B'E^-1 B and the equations in C, have Cholesky factors:

    [ H  C' ] [u]   [a]
    [ C  0  ] [w] = [b],        R = H + rho C'C = LL',   C R^-1 C' = Y'Y = MM',  Y = L^-1 C'.

R is definite if and only if this system is regular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.blas import LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, TRANSPOSE, syrk, trsm
from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Floats
from ..linalg.cholesky import LOOPS, cholesky, solve_lower, solve_lower_transposed
from ..linalg.csc import append_upper
from ..linalg.dense import gram, multiply_tall
from ..linalg.ldl.factorization import LDL
from ..linalg.refinement import SLOW

SPECTRAL_UP_TO = 400  # largest order at which computing all eigenvectors, or a null space, is cheap
PIVOT = 1e-9  # least pivot, relative to its diagonal entry, that proves a dense system regular
PROBED = 1e-2  # residual of a random right-hand side that proves a system regular, times 1 / order^(1/2)
DELTA = 1e-11  # static regularization of the equilibrated matrix
DAMPING = 1e-7  # regularization of the system whose solution approximates the least-norm solution
EQUILIBRATIONS = 3  # most passes of equilibration
REFINED, STEPS = 1e-14, 100  # relative residual that ends refinement; most steps of refinement or of Newton's method


class Saddle:
    """Factored saddle-point system.

    Parameters
    ----------
    P : array or sparse, shape (n, n), or None; or an object with F and d for FF' + diag(d)
        Order less than n means the first variables; P is zero for the other ones.
    B : array or sparse, shape (m, n)
    E : array, shape (m,)
    F : array, shape (n,), optional
        Infinite for all bounds by default.

    Attributes
    ----------
    is_regular : bool
        True if each right-hand side has exactly one solution, as far as double precision shows.

    Examples
    --------
    >>> import numpy as np
    >>> saddle = Saddle(np.eye(2), np.array([[1.0, 1.0]]), np.zeros(1))  # the shortest u with u_1 + u_2 = 2
    >>> u, w, _ = saddle.solve(np.zeros(2), np.array([2.0]), np.zeros(2))
    >>> print(u.round(9), w.round(9), saddle.is_regular)
    [1. 1.] [-1.] True
    """

    def __init__(self, P: Any, B: Any, E: np.ndarray, F: np.ndarray | None = None) -> None:
        n, B = B.shape[1], sp.csr_array(B)
        if hasattr(P, "d"):  # rows F'u - w = 0 in place of F F'
            B, E = sp.vstack([B, _widened(P.F.T, n)], format="csr"), np.pad(E, (0, P.F.shape[1]), constant_values=1.0)
            P = sp.diags_array(P.d)
        self.P = _widened(sp.csc_array((n, n)) if P is None else P, n, n)
        self.F, self._given = np.full(n, np.inf) if F is None else F, B
        fixed = np.flatnonzero(self.F == 0.0)
        self._set_up(E, fixed)
        if fixed.size and not self.is_regular:  # The least norm includes the multipliers of bounds.
            self._set_up(E, fixed[:0])

    def _set_up(self, E: np.ndarray, fixed: np.ndarray) -> None:
        """Factor the system without the `fixed` variables; other bounds that are equations become rows."""
        is_free = np.ones(self.F.size, bool)
        is_free[fixed] = False
        self.fixed, self.free = fixed, np.flatnonzero(is_free)
        self._units = np.flatnonzero(is_free & (self.F == 0.0))
        self.B = self._given
        if self._units.size:
            self.B = sp.vstack([self.B, sp.eye_array(self.F.size, format="csr")[self._units]], format="csr")
            E = np.pad(E, (0, self._units.size))
        self.rows, weights = np.flatnonzero(E < np.inf), self.F[self.free]
        self._diagonal = np.divide(1.0, weights, out=np.zeros(weights.size), where=weights > 0.0)
        own_P, own_B = self.P, self.B[self.rows]
        if fixed.size:
            own_P, own_B = own_P[:, self.free].tocsr()[self.free].tocsc(), own_B.tocsc()[:, self.free].tocsr()
        self._system = _System(own_P, own_B, E[self.rows], self._diagonal)
        self.is_regular = self._system.is_regular

    def solve(self, a: np.ndarray, b: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the solution (u, w, t) for the right-hand side (a, b, f)."""
        free, fixed, units = self.free, self.fixed, self._units
        u, w, t, m = np.zeros(self.F.size), np.zeros(self.B.shape[0]), np.zeros(self.F.size), self._given.shape[0]
        u[fixed] = f[fixed]
        right = np.concatenate([b, np.zeros(m - b.size), f[units]]) - self.B @ u
        first = (a - self.P @ u)[free] + self._diagonal * f[free]
        found = self._system.solve(np.concatenate([first, right[self.rows]]))
        u[free], w[self.rows] = found[: free.size], found[free.size :]
        t[free], t[fixed] = self._diagonal * (u - f)[free], (a - self.P @ u - self.B.T @ w)[fixed]
        t[units] = w[m:]
        return u, w[: b.size], t


class _System:
    """Equilibrated and regularized system of the free variables and the present rows."""

    def __init__(self, P: Any, B: Any, E: np.ndarray, diagonal: np.ndarray) -> None:
        n, m = diagonal.size, E.size
        self.P, self.B, self.E, self.n, self.diagonal, self.scale = P, B, E, n, diagonal, np.ones(n + m)
        self.spectrum: tuple[np.ndarray, np.ndarray] | None = None
        self.is_damped, self.is_regular = False, True
        if n + m == 0:
            return
        P, columns = _with_long_indices(P), _with_long_indices(B)  # CSC of P and of B'
        indptr, indices = np.empty(n + m + 1, np.int64), np.empty(P.nnz + n + B.nnz + m, np.int64)
        data = np.empty(indices.size)
        append_upper(P.indptr, P.indices, P.data, diagonal, 0, indptr, indices, data)
        append_upper(columns.indptr, columns.indices, columns.data, -E, n, indptr, indices, data)
        indices, data = indices[: indptr[-1]], data[: indptr[-1]]
        scale_upper(indptr, indices, data, EQUILIBRATIONS, self.scale)
        self.ldl = _factored(indptr, indices, data, np.repeat([1.0, -1.0], [n, m]), DELTA)
        self.is_regular = self._leaves_nothing()
        if self.is_regular:
            return
        if n + m <= SPECTRAL_UP_TO:
            full = B.toarray()
            values, vectors = np.linalg.eigh(np.block([[P.toarray() + np.diag(diagonal), full.T], [full, -np.diag(E)]]))
            rounding = values.size * np.finfo(np.float64).eps  # relative size at which an eigenvalue is zero
            kept = np.abs(values) > rounding * np.abs(values).max(initial=0.0)
            self.spectrum, self.is_regular = (values[kept], vectors[:, kept]), bool(kept.all())
            return
        # [ delta I  K ] [r / delta]   [right]
        # [ K  -delta I] [    v    ] = [  0  ],    (K^2 + delta^2 I) v = K right
        half = sp.csc_array((data, indices, indptr), shape=(n + m, n + m))
        K, none = half + sp.triu(half, 1).T, sp.csc_array((n + m, n + m))
        both = sp.csc_array(sp.block_array([[none, K], [None, none]]) + sp.diags_array(np.ones(2 * (n + m))))
        both.data -= both.indices == np.repeat(np.arange(2 * (n + m)), np.diff(both.indptr))
        both = _with_long_indices(both)
        signs = np.repeat([1.0, -1.0], n + m)
        self.ldl, self.is_damped = _factored(both.indptr, both.indices, both.data, signs, DAMPING), True

    def _leaves_nothing(self) -> bool:
        """Return True if refinement solves a random right-hand side, which has a part in each singular direction."""
        left = np.random.default_rng(0).uniform(-1.0, 1.0, self.scale.size)
        last, size = np.inf, 1.0
        while not size <= PROBED / np.sqrt(left.size):  # not a number is more, too
            if not size < SLOW * last:
                return False
            with np.errstate(invalid="ignore", over="ignore"):  # In singular directions it grows.
                left = left - self.scale * self.multiply(self.scale * _solved(self.ldl, left))
            last, size = size, float(np.abs(left).max(initial=0.0))
        return True

    def multiply(self, v: np.ndarray) -> np.ndarray:
        """Return the product of the system's matrix and v."""
        u, w = v[: self.n], v[self.n :]
        return np.concatenate([self.P @ u + self.diagonal * u + self.B.T @ w, self.B @ u - self.E * w])

    def approximate(self, right: np.ndarray) -> np.ndarray:
        """Return the solution up to rounding and regularization; a singular system's has nearly least norm."""
        if self.spectrum is not None:
            values, vectors = self.spectrum
            least: np.ndarray = vectors @ ((right @ vectors) / values)
            return least
        scaled = self.scale * right
        if self.is_damped:
            return self.scale * _solved(self.ldl, np.concatenate([scaled, np.zeros(right.size)]))[right.size :]
        return self.scale * _solved(self.ldl, scaled)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """Return the solution, refined while its residual decreases."""
        found, left, size = np.zeros(right.size), right, np.inf
        limit = REFINED * np.abs(right).max(initial=0.0)
        for _ in range(STEPS if right.size else 0):
            moved = found + self.approximate(left)
            now = right - self.multiply(moved)
            last, size = size, float(np.abs(now).max(initial=0.0))
            if not size < last:
                break
            found, left = moved, now
            if size <= limit:
                break
        return found


def _widened(matrix: Any, columns: int, rows: int | None = None) -> sp.csc_array:
    """Return a CSC copy of `matrix`, padded with zero columns, and zero rows if `rows` is given."""
    found = sp.csc_array(matrix, copy=True)
    found.resize(found.shape[0] if rows is None else rows, columns)
    return found


def _with_long_indices(matrix: Any) -> Any:
    """Sort the indices of the matrix, convert them to int64 in place, and return the matrix."""
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return matrix


def _factored(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, signs: np.ndarray, delta: float) -> LDL:
    """Return the LDL' of an upper triangle with +-delta added to the diagonal, the last entry of each column."""
    last = indptr[1:] - 1
    data = data.copy()
    data[last] += delta * signs
    nearly_zero = np.abs(data[last]) <= 2.0 * delta
    ldl = LDL(indptr, indices, signs, zero_diagonal=nearly_zero)
    ldl.factor(data, 1e-3 * delta, delta)
    return ldl


def _solved(ldl: LDL, right: np.ndarray) -> np.ndarray:
    out = np.empty(right.size)
    ldl.solve(right, out)
    return out


def scale_upper(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, passes: int, scale: np.ndarray) -> None:
    """Equilibrate the upper triangle of a symmetric matrix in place; multiply `scale` by the factors."""
    column = np.repeat(np.arange(scale.size), np.diff(indptr))
    for _ in range(passes):
        largest, size = np.zeros(scale.size), np.abs(data)
        np.maximum.at(largest, column, size)
        np.maximum.at(largest, indices, size)
        factor = 1.0 / np.sqrt(np.where(largest > 0.0, largest, 1.0))
        scale *= factor
        data *= factor[column] * factor[indices]


@inner
def add_squares(n: int, q: int, rho: float, C: Floats, L: Floats) -> None:
    """L += rho C'C, in the lower triangle of L, stored by columns; C has q rows."""
    if n * q > LOOPS:
        syrk(LOWER, NO_TRANSPOSE, n, q, rho, C, 0, n, 1.0, L, 0, n)
        return
    for k in range(q):
        row = C[k * n :]
        for j in range(n):
            factor, column = rho * row[j], L[j * n :]
            for i in range(j, n):
                column[i] += factor * row[i]


@kernel
def factor_saddle(n: int, q: int, H: Floats, C: Floats, L: Floats, Y: Floats, S: Floats, workspace: Floats) -> float:
    """Factor the dense system into L, Y and S; return the smallest ratio of a pivot to its original diagonal entry.

    Returns 0 if a factor does not exist.  H is stored by columns, the q rows of C by rows.  `workspace` has n + q + 1
    entries; the last one becomes rho.
    """
    largest, longest, least = 0.0, 0.0, 1.0
    for j in range(n):
        largest = max(largest, H[j * n + j])
    for i in range(q):
        length, row = 0.0, C[i * n :]
        for j in range(n):
            length += row[j] * row[j]
        longest = max(longest, length)
    rho = (largest if largest > 0.0 else 1.0) / longest if longest > 0.0 else 0.0
    workspace[n + q] = rho
    for i in range(n * n):
        L[i] = H[i]
    add_squares(n, q, rho, C, L)
    for j in range(n):
        workspace[j] = L[j * n + j]
    if cholesky(n, L) != 0:
        return 0.0
    for j in range(n):
        ratio = L[j * n + j] * L[j * n + j] / workspace[j]
        if not ratio >= least:
            least = ratio
    if q == 0:
        return least
    for i in range(n * q):
        Y[i] = C[i]
    if n * q > LOOPS:
        trsm(LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, n, q, 1.0, L, 0, n, Y, 0, n)
    else:
        solve_lower(n, L, q, Y)
    gram(n, q, Y, S)
    for i in range(q):
        workspace[i] = S[i * q + i]
    if not workspace[0] > 0.0 or cholesky(q, S) != 0:
        return 0.0
    for i in range(q):
        ratio = S[i * q + i] * S[i * q + i] / workspace[i]
        if not ratio >= least:
            least = ratio
    return least


@kernel
def solve_saddle(n: int, q: int, C: Floats, L: Floats, Y: Floats, S: Floats, workspace: Floats, right: Floats) -> None:
    """Solve in place with the factors of `factor_saddle`; `right` has n entries of u, then q entries of w."""
    u, w = right[:n], right[n : n + q]
    if q > 0:
        multiply_tall(NO_TRANSPOSE, n, q, workspace[n + q], C, w, 1.0, u)
    solve_lower(n, L, 1, u)
    if q > 0:
        multiply_tall(TRANSPOSE, n, q, 1.0, Y, u, -1.0, w)
        solve_lower(q, S, 1, w)
        solve_lower_transposed(q, S, 1, w)
        multiply_tall(NO_TRANSPOSE, n, q, -1.0, Y, w, 1.0, u)
    solve_lower_transposed(n, L, 1, u)
