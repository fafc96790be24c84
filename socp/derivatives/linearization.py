r"""Derivatives of the answer to a program with respect to its data, by linearized optimality conditions.

With v = a + w for the values a = Bx of the rows and their multipliers w, the projection Pi onto the sides, and D, its
derivative at v (see `sides`), da = D dv and dw = (I - D) dv.  In the eigenvectors of D, with weights theta, that is
da_i = dw_i / theta_i.  So the answer changes by

    [ P   B'       ] [ dx ]       [ dP x + dc + dB'w    ]
    [ B  -1/theta  ] [ dw ]  =  - [ dB x - (the sides)' ]      dw = 0 where theta = 0,

and the gradient of a scalar function of the answer by all data is one solve with this symmetric matrix (see `Saddle`).
If it is singular, or v is on the boundary of a cone of the projection, there is no derivative, and the element of least
norm is returned.

In a second-order cone with s - z = (t, r q), |q| = 1, |t| < r, the row (1, -q) / 2^(1/2) is active, the row
(1, q) / 2^(1/2) is not, and theta = (r - t) / (r + t) on the space orthogonal to both: these are the rows 1, 2, ... of
the cone with that weight, and a variable with the column q in them, which removes the component of dw along q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import deferred_kernel
from ..compiled.memory import check_memory
from ..compiled.signatures import Floats, Ints
from ..linalg.csc import csc
from ..problem.checks import ProgramError, as_csc, as_number, as_vector, check_finite
from ..problem.hessian import FULL, expand
from .conditions import ON_PATH, SAME, Conditions, find_point, solve_conditions
from .saddle import STEPS, Saddle
from .sides import Sides, begin_at, note_cones, project

SMALL = 100_000  # n (n + m) up to which a system is dense, even if most entries are zero
NO_PATH = (
    "the point of the central path at smoothing={:g} was not found: the program may have no strictly feasible point"
)
Arrays = tuple[np.ndarray, ...]
Pair = tuple[np.ndarray, np.ndarray]


class RowForm(NamedTuple):
    """Program with rows between two sides, some of them of cones: 1/2 x'Px + c'x subject to lower <= Bx <= upper.

    Attributes
    ----------
    P : Hessian, or arrays in a batch
    c : array
    blocks : tuple of matrices
        Blocks whose rows, stacked, are B.
    limits : array
        Lower sides of the rows, then of the variables if any variable has sides; then all upper sides.
    layout : tuple
        Cones of the last rows; see `ConeProgram.cone_layout`.
    before : int
        Row at which the cones begin.

    In a batch the arrays have a leading axis, of length one if programs share them.
    """

    P: Any
    c: np.ndarray
    blocks: tuple[Any, ...]
    limits: np.ndarray
    layout: tuple[np.ndarray, np.ndarray]
    before: int


class Linearization:
    """Optimality conditions of a program, linearized at its answer.

    Parameters
    ----------
    form : RowForm
    parts : tuple of arrays
        Optimal answer: the variables, then the multipliers of the r rows, which are positive at upper sides.
    slacks : tuple of arrays
        Slacks of the upper sides of the last rows, as far as they are known.
    smoothing : float
        If positive, mu of the point on the central path that is differentiated in place of the answer.
    is_dense : bool, optional
        True to try `Conditions`; by default if the program is small or most of its entries are nonzero.

    Attributes
    ----------
    x, w : arrays
        Point on the central path, by Newton's method; or the answer, to more digits.
    share : array
        Share of the upper side in the weight of each row, as in `Sides`.
    differentiable : bool
    """

    def __init__(
        self, form: RowForm, parts: Arrays, slacks: Arrays, smoothing: float, is_dense: bool | None = None
    ) -> None:
        self.form, self.mu, n, r = form, as_smoothing(smoothing), form.c.size, form.limits.size // 2
        self.m = sum([block.shape[0] for block in form.blocks])
        self._answer = np.concatenate([*parts, np.empty(r), *slacks, np.zeros(2)])
        self.x, self.w, self.share = self._answer[:n], self._answer[n : n + r], self._answer[n + r : n + 2 * r]
        if is_dense is None:
            entries = form.P.entries + 2 * sum([block.nnz for block in form.blocks])
            is_dense = n * (n + self.m) <= SMALL or entries > FULL * (n + self.m) ** 2
        self._conditions = self._dense_conditions() if is_dense else None
        if self._conditions is None:
            self._begin()

    def _dense_conditions(self) -> Conditions | None:
        """Return the compiled conditions at the point, or None if they cannot be solved."""
        form, m, r, n, at = self.form, self.m, self.w.size, self.x.size, 0
        check_memory(8.0 * n * (5 * n + m), f"the dense conditions of {n} variables and {m} rows")
        B = np.zeros((m, n))
        for block in form.blocks:
            expand(block.indptr, block.indices, block.data, B[at : at + block.shape[0]])
            at += block.shape[0]
        found = Conditions(
            n=n, m=m, r=r, given=self._answer.size - n - 2 * r - 2, P=form.P.dense().reshape(1, -1),
            B=B.reshape(1, -1), c=form.c[None], limits=form.limits[None], answer=self._answer[None],
            right=np.empty((1, n + r)),
        )  # fmt: skip
        found.sides.mu = self.mu
        note_cones(found.sides, *form.layout, form.before)
        find_point(found, 0)
        check_path(self._answer[-2], self.mu)
        self.differentiable = bool(self._answer[-1])
        return found if self._answer[-2] > 0.0 else None

    def solve(self, a: np.ndarray, b: np.ndarray, below: np.ndarray | None = None) -> Pair:
        """Return (u, dw) with Pu + B'dw = a, Bu - dw / theta = b; `below`, if given, is b for the lower sides."""
        if below is not None:
            b = self.share * b + (1.0 - self.share) * below
        if self._conditions is not None:
            found, n = self._conditions.right[0], a.size
            found[:n], found[n:] = a, b
            solve_conditions(self._conditions, 0)
            if self._answer[-2] > 0.0:
                return found[:n].copy(), found[n:].copy()
            self._begin()
        return self._solve(a, b)

    def _begin(self) -> None:
        """Find the point and factor the system without `Conditions`."""
        form, n, r, self._conditions = self.form, self.x.size, self.w.size, None
        self._B = sp.vstack(form.blocks, format="csc")
        self._sides, v = Sides(r=r), np.empty(r)
        self._sides.mu = self.mu
        note_cones(self._sides, *form.layout, form.before)
        self._sides.a[:], self._sides.w[:] = self._rows_of(self.x), self.w
        is_strict = begin_at(self._sides, form.limits[:r], form.limits[r:], self._answer[n + 2 * r : -2], v)
        self._free = (self._sides.low == -np.inf) & (self._sides.up == np.inf)
        self._follow(v)
        self.differentiable = (is_strict or self.mu > 0.0) and self._saddle.is_regular

    def _rows_of(self, x: np.ndarray) -> np.ndarray:
        """Return B x for all rows, bounds included."""
        rows = self._B @ x
        return np.concatenate([rows, x]) if self.w.size > self.m else rows

    def _residual(self, x: np.ndarray, v: np.ndarray) -> Pair:
        """Project v and return the residuals of the conditions at (x, v)."""
        project(self._sides, v)
        w, m = self._sides.w, self.m
        dual = self.form.c + self._B.T @ w[:m]
        if self.w.size > m:
            dual += w[m:]
        left = self._sides.origin + self._sides.a - self._rows_of(x)
        return -dual - self.form.P.product(x), np.where(self._free, 0.0, left)

    def _follow(self, v: np.ndarray) -> None:
        """Make damped Newton steps to the point of the central path at mu, or to the answer."""
        x, rows = self.x, np.where(self._free, 0.0, self._rows_of(self.x))
        left = self._residual(x, v)
        scale = 1.0 + largest_of(self.form.c, left[0] + self.form.c, rows, self._sides.origin)
        self._linearize(v)
        for _ in range(STEPS):
            if largest_of(*left) <= ON_PATH * scale:
                break
            if self._is_elsewhere(v):
                self._linearize(v)
            u, w = self._solve(*left)
            dv, size, share = w + self._rows_of(u) - left[1], norm_of(left), 1.0
            while True:
                now = self._residual(x + share * u, v + share * dv)
                if norm_of(now) < size or share < SAME:
                    break
                share *= 0.5
            if not norm_of(now) < size:
                left = self._residual(x, v)
                break
            x, v, left = x + share * u, v + share * dv, now
        check_path(-1.0 if self.mu > 0.0 and not largest_of(*left) <= SAME * scale else 0.0, self.mu)
        if self._is_elsewhere(v):
            self._linearize(v)
        self.x, self.w, self.share = x, self._sides.w.copy(), self._sides.share.copy()

    def _is_elsewhere(self, v: np.ndarray) -> bool:
        """Return True if the factors do not fit the point v, which was projected last."""
        factored, sides = self._factored_at, self._sides
        if self.mu == 0.0 and not sides.cones:
            return bool((sides.theta != self._factored_theta).any())
        return bool(np.abs(v - factored).max(initial=0.0) > SAME * np.abs(v).max(initial=0.0))

    def _linearize(self, v: np.ndarray) -> None:
        """Factor the linearized conditions at the point v of the last projection."""
        n, m, theta, B = self.x.size, self.m, self._sides.theta, self._B
        self._factored_at, self._factored_theta = v, theta.copy()
        E, F = np.divide(1.0, theta, out=np.full(theta.size, np.inf), where=theta > 0.0), np.full(n, np.inf)
        if self.w.size > m:
            F, E = E[m:], E[:m]
        self._frames, weighted = self._frames_of(E)
        if self._frames is not None:
            Q, q = self._frames
            B = sp.block_array([[B, q], [Q @ sp.csr_array(B), None]], format="csc")
            E, F = np.concatenate([E, weighted]), np.pad(F, (0, q.shape[1]), constant_values=np.inf)
        self._single, self._column, self._entry = single_entries(B, E, F)
        self._saddle = Saddle(self.form.P.source, B, *self._with_bounds(E, F))
        if self._single.size and not self._saddle.is_regular:  # The least norm must not treat rows as bounds.
            self._single, self._column, self._entry = self._single[:0], self._column[:0], self._entry[:0]
            self._saddle = Saddle(self.form.P.source, B, E, F)

    def _frames_of(self, E: np.ndarray) -> tuple[tuple[Any, Any] | None, np.ndarray]:
        """Return ((rows, columns), 1 / theta of the rows) for the frames of cones, or (None, `E`) if there is none.

        The rows are (1, -q) / 2^(1/2) and (1, q) / 2^(1/2), the columns q.  `E` becomes 1 / theta of the other rows.
        """
        sides = self._sides
        first, last = sides.first[: sides.cones], sides.last[: sides.cones]
        low, high, between = E[first], E[first + 1], E[np.minimum(first + 2, last - 1)]
        turned = np.flatnonzero(sides.unit[first] != 0.0)
        if not turned.size:
            return None, E
        first, last, low, high = first[turned], last[turned], low[turned], high[turned]
        size = last - first - 1
        of = np.repeat(np.arange(turned.size), size)
        tail = np.arange(of.size) + np.repeat(first + 1 - np.cumsum(size) + size, size)
        E[first], E[tail] = np.inf, np.where(size > 1, between[turned], 1.0)[of]
        unit, parts = sides.unit[tail], []
        for sign, kept in ((-1.0, low < np.inf), (1.0, high < np.inf)):
            row, has = np.cumsum(kept) - 1, kept[of]
            values = np.concatenate([np.ones(np.count_nonzero(kept)), sign * unit[has]]) / np.sqrt(2.0)
            places = np.concatenate([row[kept], row[of[has]]]), np.concatenate([first[kept], tail[has]])
            parts.append(sp.csr_array((values, places), shape=(np.count_nonzero(kept), self.m)))
        q = sp.csr_array((unit, (tail, of)), shape=(self.m, turned.size))
        return (sp.vstack(parts, format="csr"), q), np.concatenate([low[low < np.inf], high[high < np.inf]])

    def _with_bounds(self, E: np.ndarray, F: np.ndarray) -> Pair:
        """Return copies of E and F in which active rows with one entry are bounds."""
        E, F = E.copy(), F.copy()
        F[self._column], E[self._single] = 0.0, np.inf
        return E, F

    def _solve(self, a: np.ndarray, b: np.ndarray) -> Pair:
        """Solve with the current factors of the system; see `solve`."""
        n, m, rows, f = a.size, self.m, b[: self.m], np.zeros(self._saddle.F.size)
        if self.w.size > m:
            f[:n] = b[m:]
        if self._frames is not None:
            a, rows = np.pad(a, (0, f.size - n)), np.concatenate([rows, self._frames[0] @ rows])
        f[self._column] = rows[self._single] / self._entry
        u, w, t = self._saddle.solve(a, rows, f)
        w[self._single] = t[self._column] / self._entry
        t[self._column] = 0.0
        dw = w[:m] if self._frames is None else w[:m] + self._frames[0].T @ w[m:]
        return u[:n], np.concatenate([dw, t[:n]]) if self.w.size > m else dw

    def find(self) -> None:
        """Do nothing, as the constructor has found the point."""

    def vector(self, name: str, value: Any, size: int) -> np.ndarray:
        """Return `value` as a finite vector; None and a number stand for vectors of equal entries."""
        vector = as_vector(name, value, size, spread=True, absent=0.0)
        check_finite(name, vector)
        return vector

    def matrix(self, name: str, value: Any, rows: int) -> Any:
        """Return `value` as a finite sparse matrix with n columns."""
        return as_csc(name, value, (rows, self.x.size))

    def total(self, name: str, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient with respect to a vector."""
        return gradient

    def symmetric(self, name: str, matrix: Any, u: np.ndarray, x: np.ndarray) -> Any:
        """Return -(u x' + x u') / 2, the gradient with respect to a symmetric matrix."""
        return self.products(name, matrix, 0.5 * u, x, 0.5 * x, u)

    def products(self, name: str, matrix: Any, w: np.ndarray, u: np.ndarray, r: np.ndarray, x: np.ndarray) -> Any:
        """Return -(w u' + r x'), the gradient with respect to a matrix, on its pattern if sparse; None for None."""
        if matrix is None:
            return None
        if sp.issparse(matrix):
            data = np.empty(matrix.data.size)
            subtract_products(matrix.indptr, matrix.indices, w, u, r, x, data)
            return csc(data, matrix.indices.copy(), matrix.indptr.copy(), matrix.shape)
        return -(w[:, None] * u) - r[:, None] * x


def single_entries(B: sp.csc_array, E: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (rows, columns, entries) of active rows with one entry; a bound or another such row excludes them."""
    columns = np.repeat(np.arange(B.shape[1]), np.diff(B.indptr))
    alone = (np.bincount(B.indices, minlength=E.size)[B.indices] == 1) & (E[B.indices] == 0.0) & (B.data != 0.0)
    places = np.flatnonzero(alone & (F[columns] == np.inf))
    column, first, count = np.unique(columns[places], return_index=True, return_counts=True)
    places = places[first[count == 1]]
    return B.indices[places], column[count == 1], B.data[places]


def largest_of(*parts: np.ndarray) -> float:
    """Return the largest absolute value in the arrays."""
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def norm_of(parts: Pair) -> float:
    """Return the Euclidean norm of two vectors, stacked."""
    return float(np.sqrt(sum(np.vdot(part, part) for part in parts)))


def check_path(quality: float, mu: float) -> None:
    """Raise ProgramError if the quality of a point is negative: it is not on the central path at mu."""
    if quality < 0.0:
        raise ProgramError(NO_PATH.format(mu))


def as_smoothing(value: Any) -> float:
    """Return `value` as the mu of a point on the central path: a float >= 0."""
    mu = as_number("smoothing", value)
    if mu < 0.0:
        raise ProgramError(f"smoothing must be at least 0, but {mu!r} came")
    return mu


@deferred_kernel
def subtract_products(indptr: Ints, indices: Ints, a: Floats, b: Floats, c: Floats, d: Floats, data: Floats) -> None:
    """Set `data` to the entries of -(a b' + c d') on the pattern of a CSC matrix."""
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            data[k] = -(a[indices[k]] * b[j] + c[indices[k]] * d[j])
