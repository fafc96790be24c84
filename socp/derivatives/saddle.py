"""Symmetric saddle-point systems with rows that are equations, weighted, or absent.

    [ P   B'  I ] [u]   [a]
    [ B  -E   0 ] [w] = [b],        P symmetric positive semidefinite, E and F diagonal, from 0 to infinity
    [ I   0  -F ] [t]   [f]

A row with E_i = 0 is an equation, one with E_i = inf is absent (w_i = 0); the same of the bounds, with F.  A bound that
is an equation gives its variable, and weighted bounds go to the diagonal of P, so that the variables that are left and
the rows make a system

    [ H  C'   ] [u]   [a]
    [ C  -E_C ] [w] = [b],                            R = H + rho C'C = LL',   C R^-1 C' = Y'Y = MM',  Y = L^-1 C'.

Dense: weighted rows go to H = P + B'E^-1 B, too, equations to C.  R is definite exactly where the system is regular.
Sparse: all rows are in C, and the matrix has an LDL' once its diagonal is regularized.  Both are refined.
Where the system is singular the solution is the one of least norm, in the sense of least squares.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.blas import LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, TRANSPOSE, syrk, trsm
from ..compiled.kernels import kernel
from ..compiled.signatures import Floats, Ints
from ..linalg.cholesky import cholesky, solve_lower, solve_lower_transposed
from ..linalg.csc import append_upper
from ..linalg.dense import ENTRIES, gram, multiply_tall
from ..linalg.ldl.factorization import LDL

DENSE_UP_TO, DENSE_SHARE = 200, 0.25  # the order, and the share of entries, from which on it is solved as dense
EQUATION = 1e-12  # an E_i up to which the factors take it for zero
PIVOT = 1e-9  # of its diagonal entry, a smaller pivot does not show that the system is regular
PROBED, PROBES = 1e-2, 3  # of a probe, the residual that a regular system leaves, by 1 / order^(1/2); its solves
DELTA = 1e-11  # static regularization of the equilibrated sparse matrix
DAMPING = 1e-7  # of the system whose solutions approach the one of least norm
EQUILIBRATIONS = 3
REFINED, STEPS, DAMPED_STEPS = 1e-14, 6, 60  # of the right-hand side, the residual at which refinement ends; its steps


class Saddle:
    """A saddle-point system, factored.

    Parameters
    ----------
    P : array or CSC, shape (n, n), or None; or with F and d for FF' + diag(d)
    B : array or CSC, shape (m, n)
    E : array, shape (m,)
    F : array, shape (n,), optional
        All infinite without it.

    Attributes
    ----------
    is_regular : bool
        Whether the system has one solution for each right-hand side, as far as double precision tells.

    Examples
    --------
    >>> import numpy as np
    >>> saddle = Saddle(np.eye(2), np.array([[1.0, 1.0]]), np.zeros(1))  # the shortest u with u_1 + u_2 = 2
    >>> u, w, _ = saddle.solve(np.zeros(2), np.array([2.0]), np.zeros(2))
    >>> print(u, w, saddle.is_regular)
    [1. 1.] [-1.] True
    """

    def __init__(self, P: Any, B: Any, E: np.ndarray, F: np.ndarray | None = None) -> None:
        n = B.shape[1]
        if hasattr(P, "d"):  # F'u = w as rows
            B = np.vstack([B, P.F.T]) if isinstance(B, np.ndarray) else sp.vstack([B, P.F.T], format="csc")
            P, E = sp.diags_array(P.d, format="csc"), np.concatenate([E, np.ones(B.shape[0] - E.size)])
        self.P, self.B, self.F = P, B, np.full(n, np.inf) if F is None else F
        self.fixed, self.free = np.flatnonzero(self.F == 0.0), np.flatnonzero(self.F > 0.0)
        self.rows, self._diagonal = np.flatnonzero(E < np.inf), 1.0 / self.F[self.free]
        own_P, own_B = _part(P, self.free, self.free), _part(B, self.rows, self.free)
        order = self.free.size + self.rows.size
        entries = _entries(own_P) + 2 * _entries(own_B)
        kind = _Dense if order <= DENSE_UP_TO or entries > DENSE_SHARE * order * order else _Sparse
        self._system: _Dense | _Sparse = kind(own_P, own_B, E[self.rows], self._diagonal)
        self.is_regular = self._system.is_regular

    def solve(self, a: np.ndarray, b: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(u, w, t) for a right-hand side (a, b, f)."""
        free, fixed, rows = self.free, self.fixed, self.rows
        u, w, t = np.zeros(self.F.size), np.zeros(self.B.shape[0]), np.zeros(self.F.size)
        given, b = b.size, np.pad(b, (0, w.size - b.size))
        a_free, b_rows = a, b[rows]
        if fixed.size:
            u[fixed] = f[fixed]
            a_free, b_rows = a_free - self._times_P(u), b_rows - (self.B @ u)[rows]
        right = np.concatenate([a_free[free] + self._diagonal * f[free], b_rows])
        u[free], w[rows] = np.split(_refined(self._system, right), [free.size])
        t[free] = self._diagonal * (u - f)[free]
        if fixed.size:
            t[fixed] = (a - self._times_P(u) - self.B.T @ w)[fixed]
        return u, w[:given], t

    def _times_P(self, u: np.ndarray) -> Any:
        return 0.0 * u if self.P is None else self.P @ u


class _Dense:
    """The system of the free variables and the present rows, by Cholesky factors."""

    def __init__(self, P: Any, B: Any, E: np.ndarray, diagonal: np.ndarray) -> None:
        n, self.hard = diagonal.size, E <= EQUATION
        self.n, self.B, self.E = n, np.ascontiguousarray(B.toarray() if sp.issparse(B) else B), E
        self.P = np.zeros((n, n)) if P is None else P.toarray() if sp.issparse(P) else P.copy()
        self.P[np.arange(n), np.arange(n)] += diagonal
        self.weights = np.divide(1.0, E, out=np.zeros(E.size), where=~self.hard)
        H, q = self.P, int(np.count_nonzero(self.hard))
        if q < E.size:
            H = H + (self.B.T * self.weights) @ self.B
        self.parts = (
            n, q, np.ascontiguousarray(H).reshape(-1), self.B[self.hard].reshape(-1),
            np.empty(n * n), np.empty(n * q), np.empty(q * q), np.empty(n + q + 1),
        )  # fmt: skip
        self.is_regular = factor_saddle(*self.parts) > PIVOT
        self.spectrum: tuple[np.ndarray, np.ndarray] | None = None
        if not self.is_regular:
            values, vectors = np.linalg.eigh(np.block([[self.P, self.B.T], [self.B, -np.diag(E)]]))
            rounding = values.size * np.finfo(np.float64).eps  # of the largest eigenvalue: smaller ones count as zero
            kept = np.abs(values) > rounding * np.abs(values).max(initial=0.0)
            self.spectrum, self.is_regular = (values[kept], vectors[:, kept]), bool(kept.all())

    def multiply(self, v: np.ndarray) -> np.ndarray:
        u, w = v[: self.n], v[self.n :]
        return np.concatenate([self.P @ u + w @ self.B, self.B @ u - self.E * w])

    def approximate(self, right: np.ndarray) -> np.ndarray:
        """The solution but for rounding, and for what the factors take for zero."""
        if self.spectrum is not None:
            values, vectors = self.spectrum
            least: np.ndarray = vectors @ ((right @ vectors) / values)
            return least
        b = right[self.n :]
        u, w = right[: self.n] + (self.weights * b) @ self.B, b[self.hard]
        solve_saddle(*self.parts, u, w)
        found = np.concatenate([u, self.weights * (self.B @ u - b)])
        found[self.n :][self.hard] = w
        return found


class _Sparse:
    """The same by a sparse LDL', equilibrated and regularized."""

    def __init__(self, P: Any, B: Any, E: np.ndarray, diagonal: np.ndarray) -> None:
        n, m = diagonal.size, E.size
        self.P, self.B, self.E = sp.csc_array((n, n)) if P is None else sp.csc_array(P), sp.csr_array(B), E
        self.n, self.diagonal, self.scale = n, diagonal, np.ones(n + m)
        P, B = _with_long_indices(self.P), _with_long_indices(self.B)
        indptr, indices = np.empty(n + m + 1, np.int64), np.empty(P.nnz + n + B.nnz + m, np.int64)
        data = np.empty(indices.size)
        append_upper(P.indptr, P.indices, P.data, diagonal, 0, indptr, indices, data)
        append_upper(B.indptr, B.indices, B.data, -E, n, indptr, indices, data)
        indices, data = indices[: indptr[-1]], data[: indptr[-1]]
        scale_upper(indptr, indices, data, EQUILIBRATIONS, self.scale)
        self.ldl = _factored(indptr, indices, data, np.repeat([1.0, -1.0], [n, m]), DELTA)
        self.is_damped, self.is_regular = False, self._leaves_nothing()
        if not self.is_regular:
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
        """Whether refinement solves for a random right-hand side, which has a part in each singular direction."""
        left = np.random.default_rng(0).uniform(-1.0, 1.0, self.scale.size)
        limit = PROBED / np.sqrt(left.size)
        for _ in range(PROBES):
            left = left - self.scale * self.multiply(self.scale * _solved(self.ldl, left))
            if np.abs(left).max(initial=0.0) <= limit:
                return True
        return False

    def multiply(self, v: np.ndarray) -> np.ndarray:
        u, w = v[: self.n], v[self.n :]
        return np.concatenate([self.P @ u + self.diagonal * u + self.B.T @ w, self.B @ u - self.E * w])

    def approximate(self, right: np.ndarray) -> np.ndarray:
        """The solution but for rounding and for the regularization; of a singular system, nearly that of least norm."""
        scaled = self.scale * right
        if self.is_damped:
            return self.scale * _solved(self.ldl, np.concatenate([scaled, np.zeros(right.size)]))[right.size :]
        return self.scale * _solved(self.ldl, scaled)


def _with_long_indices(matrix: Any) -> Any:
    """The matrix with sorted indices of 64 bits."""
    matrix.sort_indices()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return matrix


def _factored(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, signs: np.ndarray, delta: float) -> LDL:
    """The LDL' of an upper triangle, the last entry of a column on the diagonal, with +-delta added to that."""
    last = indptr[1:] - 1
    data = data.copy()
    data[last] += delta * signs
    nearly_zero = np.abs(data[last]) <= 2.0 * delta
    ldl = LDL(signs.size, indptr, indices, signs, ordering="auto", zero_diagonal=nearly_zero)
    ldl.factor(data, 1e-3 * delta, delta)
    return ldl


def _solved(ldl: LDL, right: np.ndarray) -> np.ndarray:
    out = np.empty(right.size)
    ldl.solve(right, out)
    return out


def _refined(system: _Dense | _Sparse, right: np.ndarray) -> np.ndarray:
    """The solution of the system, refined as long as its residual falls."""
    found, left, size = np.zeros(right.size), right, np.inf
    limit = REFINED * np.abs(right).max(initial=0.0)
    for _ in range(STEPS if system.is_regular else DAMPED_STEPS):
        moved = found + system.approximate(left)
        now = right - system.multiply(moved)
        last, size = size, float(np.abs(now).max(initial=0.0))
        if not size < last:
            break
        found, left = moved, now
        if size <= limit:
            break
    return found


def _part(matrix: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """Rows and columns of a matrix, itself where these are all."""
    if matrix is None or (rows.size, columns.size) == matrix.shape:
        return matrix
    if not sp.issparse(matrix):
        return matrix[rows[:, None], columns]
    return sp.csc_array(sp.csr_array(matrix[:, columns])[rows])


def _entries(matrix: Any) -> int:
    return 0 if matrix is None else int(matrix.nnz) if sp.issparse(matrix) else int(matrix.size)


@kernel
def scale_upper(indptr: Ints, indices: Ints, data: Floats, passes: int, scale: Floats) -> None:
    """Equilibrate a symmetric matrix by its upper triangle, in sweeps; scale := what both sides were multiplied by."""
    n = scale.size
    largest = np.empty(n)
    for _ in range(passes):
        for j in range(n):
            largest[j] = 0.0
        for j in range(n):
            for k in range(indptr[j], indptr[j + 1]):
                i, size = indices[k], abs(data[k])
                largest[j], largest[i] = max(largest[j], size), max(largest[i], size)
        for j in range(n):
            largest[j] = 1.0 / math.sqrt(largest[j]) if largest[j] > 0.0 else 1.0
            scale[j] *= largest[j]
        for j in range(n):
            for k in range(indptr[j], indptr[j + 1]):
                data[k] *= largest[j] * largest[indices[k]]


@kernel
def factor_saddle(n: int, q: int, H: Floats, C: Floats, L: Floats, Y: Floats, S: Floats, room: Floats) -> float:
    """L, Y and the factor of S of the dense system; H and the q rows of C lie by columns and by rows.

    Returns the smallest pivot beside the diagonal entry that it came from, 0 where a factor does not exist.  `room` has
    n + q + 1 places, of which the last one keeps rho.
    """
    largest, longest, least = 0.0, 0.0, 1.0
    for j in range(n):
        largest = max(largest, H[j * n + j])
    for i in range(q):
        length, row = 0.0, C[i * n : (i + 1) * n]
        for j in range(n):
            length += row[j] * row[j]
        longest = max(longest, length)
    rho = (largest if largest > 0.0 else 1.0) / longest if longest > 0.0 else 0.0
    room[n + q] = rho
    for i in range(n * n):
        L[i] = H[i]
    if n * q > ENTRIES:
        syrk(LOWER, NO_TRANSPOSE, n, q, rho, C, 0, n, 1.0, L, 0, n)
    else:
        for k in range(q):
            row = C[k * n : (k + 1) * n]
            for j in range(n):
                factor, column = rho * row[j], L[j * n : (j + 1) * n]
                for i in range(j, n):
                    column[i] += factor * row[i]
    for j in range(n):
        room[j] = L[j * n + j]
    if cholesky(n, L) != 0:
        return 0.0
    for j in range(n):
        ratio = L[j * n + j] * L[j * n + j] / room[j]
        if not ratio >= least:
            least = ratio
    for i in range(n * q):
        Y[i] = C[i]
    if n * q > ENTRIES:
        trsm(LEFT, LOWER, NO_TRANSPOSE, NOT_UNIT, n, q, 1.0, L, 0, n, Y, 0, n)
    else:
        solve_lower(n, L, q, Y)
    gram(n, q, Y, S)
    for i in range(q):
        room[i] = S[i * q + i]
    if q > 0 and (not room[0] > 0.0 or cholesky(q, S) != 0):
        return 0.0
    for i in range(q):
        ratio = S[i * q + i] * S[i * q + i] / room[i]
        if not ratio >= least:
            least = ratio
    return least


@kernel
def solve_saddle(
    n: int, q: int, H: Floats, C: Floats, L: Floats, Y: Floats, S: Floats, room: Floats, u: Floats, w: Floats
) -> None:
    """(u, w) := the solution for the right-hand side (u, w), with the factors of `factor_saddle`."""
    multiply_tall(NO_TRANSPOSE, n, q, room[n + q], C, w, 0, 1.0, u, 0)
    solve_lower(n, L, 1, u)
    if q > 0:
        multiply_tall(TRANSPOSE, n, q, 1.0, Y, u, 0, -1.0, w, 0)
        solve_lower(q, S, 1, w)
        solve_lower_transposed(q, S, 1, w)
        multiply_tall(NO_TRANSPOSE, n, q, -1.0, Y, w, 0, 1.0, u, 0)
    solve_lower_transposed(n, L, 1, u)
