r"""How the answer to a cone program moves with its data.

With v = s - z, the projection Pi onto the cone gives s = Pi(v) and z = Pi(v) - v, and D, the derivative of Pi at v,
gives ds = D dv and dz = (D - I) dv.  In the eigenvectors of D, with the eigenvalues d_i, that is ds_i = -E_i dz_i with
E_i = d_i / (1 - d_i), from 0 (an active row) to infinity (dz_i = 0, an inactive one).  So the answer moves by

    [ P   A'  G' ] [ dx ]       [ dP x + dc + dA'y + dG'z ]
    [ A   0   0  ] [ dy ]  =  - [ dA x - db               ]        ds = dh - dG x - G dx
    [ G   0  -E  ] [ dz ]       [ dG x - dh               ]

and the gradient of a number of the answer by all data is one solve with the same, symmetric matrix (see `Saddle`).
Where it is singular, or v on the boundary of a cone of the projection, there is no derivative: the element of least
norm is taken.

In a second-order cone with v = (t, r w), |w| = 1, |t| < r, the row (1, -w) / 2^(1/2) is active, (1, w) / 2^(1/2) is
not, and E_i = (r + t) / (r - t) on all that is orthogonal to both: these are the rows 1, 2, ... of the cone with that
weight, and a variable with the column w in them, which takes away what dz has along w.

On the central path s o z = mu e, and Pi becomes the smooth v -> (v + (v^2 + 4 mu e)^(1/2)) / 2, in the Jordan algebra
of the cone: the derivative of the point at mu exists whenever the path does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import deferred_kernel
from ..compiled.signatures import Floats, Ints
from ..linalg.csc import csc
from ..linalg.saddle import Saddle
from .checks import ProgramError, as_csc, as_number, as_vector, check_finite
from .conditions import (
    AT_BOUNDARY,
    NEWTON_STEPS,
    OFF_PATH,
    ON_PATH,
    SAME,
    WEAK,
    Conditions,
    expand,
    find_point,
    solve_conditions,
)
from .program import ConeProgram

SMALL, FULL = 100_000, 0.25  # entries up to which, and share of nonzeros from which on a system or matrix is dense
NO_PATH = (
    "the point of the central path at smoothing={:g} was not found: the program may have no strictly feasible point"
)

Point = tuple[np.ndarray, ...]


class Gradient(NamedTuple):
    """The gradient of a number of the answer by all data of a cone program.

    Attributes
    ----------
    P, A, G : arrays or CSC, or None
        Sparse where the data are, on their pattern; that by P is symmetric.
    c, b, h : arrays
    differentiable : bool, or an array of a batch
        Whether the answer has a derivative; else this is the element of least norm.
    """

    P: Any
    c: np.ndarray
    A: Any
    b: np.ndarray
    G: Any
    h: np.ndarray
    differentiable: bool | np.ndarray


class Tangent(NamedTuple):
    """The derivative of the answer to a cone program along a change of the data.

    Attributes
    ----------
    x, y, z, s : arrays
    differentiable : bool, or an array of a batch
        Whether the answer has a derivative; else this is the element of least norm.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    differentiable: bool | np.ndarray


class Linearization:
    """The optimality conditions of a cone program, linearized at its answer.

    Parameters
    ----------
    program : ConeProgram
    x, y, z, s : arrays
        An optimal answer.
    smoothing : float, default 0
        The mu of the point on the central path that is differentiated in its place; it is found by Newton's method.

    Attributes
    ----------
    x, y, z, s : arrays
        That point; or the answer, to more digits by one step with the factors that give the derivatives.
    differentiable : bool
    """

    def __init__(
        self, program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, smoothing: float = 0.0
    ) -> None:
        self.program, self.mu, self.G = program, as_smoothing(smoothing), cast(Any, program.G)
        self.point = np.concatenate([x, y, z, s])
        self._conditions = conditions_of(program, self.point, self.mu)
        if self._conditions is None:
            self._begin()
        else:
            self.differentiable = bool(self._conditions.quality[0, 1])

    @property
    def x(self) -> np.ndarray:
        return self.point[: self.program.n]

    @property
    def y(self) -> np.ndarray:
        return self.point[self.program.n : self.program.n + self.program.p]

    @property
    def z(self) -> np.ndarray:
        return self.point[self.program.n + self.program.p : self.point.size - self.program.m]

    @property
    def s(self) -> np.ndarray:
        return self.point[self.point.size - self.program.m :]

    def _begin(self) -> None:
        """Follow the path, or polish the answer, where `Conditions` does not serve."""
        program = self.program
        self._conditions, self._holds = None, program.h == np.inf  # rows that always hold, far from their side
        self.h, self.A, self.P = np.where(self._holds, 0.0, program.h), cast(Any, program.A), cast(Any, program.P)
        z, s = np.where(self._holds, 0.0, self.z), np.where(self._holds, 1.0, self.s)
        if self._holds.any():
            self.G = sp.csc_array(sp.diags_array(np.where(self._holds, 0.0, 1.0)) @ self.G)
        self._stacked = sp.vstack([self.A, self.G], format="csc") if program.p else self.G
        self._balls = _Balls(program)
        is_strict = self.mu > 0.0 or _is_strict(self._balls, s, z)
        self._follow(self.x, self.y, s - z)
        self.differentiable = is_strict and self.saddle.is_regular

    def _linearize(self, v: np.ndarray) -> None:
        """Factor the system at v."""
        self._factored_at = v
        p, m = self.program.p, self.program.m
        E, balls, (t, r) = weight(v, self.mu), self._balls, self._balls.split(v)
        low, high = weight(t - r, self.mu), weight(t + r, self.mu)
        E[balls.first], E[balls.tail] = low, low[balls.of]
        B, P, self._frames = self._stacked, self.P, None
        turned = np.flatnonzero((low != high) & (r > 0.0))
        if turned.size:
            between = np.full(low.size, -1.0)
            between[turned] = np.sqrt(low * high)[turned] if self.mu > 0.0 else ((r + t) / (r - t))[turned]
            E[balls.first[turned]] = np.inf
            mine = between[balls.of] >= 0.0
            E[balls.tail[mine]] = between[balls.of[mine]]
            w = v[balls.tail] / np.where(r > 0.0, r, 1.0)[balls.of]
            self._frames = _Frames(balls, turned, w, low[turned], high[turned], m)
            B, P = self._frames.extended(B, p), _padded(P, turned.size)
        E[self._holds] = np.inf
        E = np.concatenate([np.zeros(p), E, *([] if self._frames is None else [self._frames.E])])
        self._single, self._column, self._entry = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        bounds = np.full(B.shape[1], np.inf)
        if B.shape[0] * B.shape[1] > SMALL:
            self._find_bounds(B, E, bounds)
        self.saddle = Saddle(P, B, E, bounds)

    def _find_bounds(self, B: sp.csc_array, E: np.ndarray, bounds: np.ndarray) -> None:
        """Active rows with one entry, one a variable, become bounds."""
        columns = np.repeat(np.arange(B.shape[1]), np.diff(B.indptr))
        alone = (np.bincount(B.indices, minlength=E.size)[B.indices] == 1) & (E[B.indices] == 0.0) & (B.data != 0.0)
        places = np.flatnonzero(alone)
        self._column, first = np.unique(columns[places], return_index=True)
        self._single, self._entry = B.indices[places[first]], B.data[places[first]]
        bounds[self._column], E[self._single] = 0.0, np.inf

    def solve(self, a: np.ndarray, b: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(u, w, dz) with Pu + A'w + G'dz = a, Au = b, Gu - E dz = r where dz is free."""
        n, p, m = self.program.n, self.program.p, self.program.m
        if self._conditions is not None:
            found = self._conditions.right[0]
            found[:n], found[n : n + p], found[n + p :] = a, b, r
            solve_conditions(self._conditions, 0)
            if self._conditions.quality[0, 0] > 0.0:
                return found[:n].copy(), found[n : n + p].copy(), found[n + p :].copy()
            self._begin()
        frames = self._frames
        rows, size = np.concatenate([b, r]), self.saddle.F.size
        if frames is not None:
            a, rows = np.concatenate([a, np.zeros(size - n)]), np.concatenate([rows, frames.Q @ r])
        f = np.zeros(size)
        f[self._column] = rows[self._single] / self._entry
        u, w, t = self.saddle.solve(a, rows, f)
        w[self._single] = t[self._column] / self._entry
        dz = w[p : p + m]
        if frames is not None:
            dz = dz + frames.Q.T @ w[p + m :]
        return u[:n], w[:p], dz

    def _residual(self, x: np.ndarray, y: np.ndarray, v: np.ndarray) -> Point:
        program, s = self.program, project(self._balls, v, self.mu)
        dual = program.c + self.A.T @ y + self.G.T @ (s - v)
        if self.P is not None:
            dual += self.P @ x
        return dual, self.A @ x - program.b, np.where(self._holds, 0.0, self.G @ x + s - self.h)

    def _step(self, left: Point) -> Point:
        """The Newton step (dx, dy, dv) at a residual."""
        x, y, z = self.solve(-left[0], -left[1], -left[2])
        return x, y, -left[2] - self.G @ x - z

    def _follow(self, x: np.ndarray, y: np.ndarray, v: np.ndarray) -> None:
        """The point of the central path at mu, from the answer, or the answer to more digits."""
        scale = 1.0 + largest_of((self.program.c, self.program.b, self.h))
        self._linearize(v)

        def step(point: Point, left: Point) -> Point:
            if self._is_elsewhere(point[2]):
                self._linearize(point[2])
            return self._step(left)

        (x, y, v), left = damped_newton((x, y, v), self._residual, step, ON_PATH * scale)
        if self.mu > 0.0 and not left <= OFF_PATH * scale:
            raise ProgramError(NO_PATH.format(self.mu))
        if self._is_elsewhere(v):
            self._linearize(v)
        s = project(self._balls, v, self.mu)
        self.point = np.concatenate([x, y, s - v, s])

    def _is_elsewhere(self, v: np.ndarray) -> bool:
        """Whether the factors do not serve at v."""
        factored = self._factored_at
        if self.mu == 0.0 and self._frames is None:
            return bool(((v > 0.0) != (factored > 0.0)).any())
        return bool(np.abs(v - factored).max(initial=0.0) > SAME * np.abs(v).max(initial=0.0))

    def gradient(self, dx: Any = None, dy: Any = None, dz: Any = None, ds: Any = None) -> Gradient:
        """The gradient by all data of a number of which dx, dy, dz, ds are the gradients by the answer."""
        program = self.program
        gx, gy = as_change("dx", dx, program.n), as_change("dy", dy, program.p)
        gz, gs = as_change("dz", dz, program.m), as_change("ds", ds, program.m)
        if ds is not None:
            gs[program.h == np.inf] = 0.0
            gx -= self.G.T @ gs
        u, w, r = self.solve(gx, gy, gz)
        r += gs
        return Gradient(
            on_pattern(program.P, -0.5 * u, self.x, -0.5 * self.x, u), -u,
            on_pattern(program.A, -self.y, u, -w, self.x), w,
            on_pattern(program.G, -self.z, u, -r, self.x), r, self.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dc: Any = None, dA: Any = None, db: Any = None, dG: Any = None, dh: Any = None
    ) -> Tangent:
        """The derivative of the answer along a change of the data."""
        program = self.program
        n, p, m = program.n, program.p, program.m
        first, second, third = as_change("dc", dc, n), -as_change("db", db, p), -as_change("dh", dh, m)
        if dP is not None:
            first += symmetric_change("dP", dP, n) @ self.x
        if dA is not None:
            A = as_csc("dA", dA, (p, n))
            first, second = first + A.T @ self.y, second + A @ self.x
        if dG is not None:
            G = as_csc("dG", dG, (m, n))
            first, third = first + G.T @ self.z, third + G @ self.x
        third[program.h == np.inf] = 0.0
        x, y, z = self.solve(-first, -second, -third)
        ds = np.where(program.h == np.inf, 0.0, -third - self.G @ x)
        return Tangent(x, y, z, ds, self.differentiable)


class _Balls:
    """The second-order cones of at least two rows, where they lie.

    Attributes
    ----------
    first, size : arrays of int64
        The first row and the number of rows of each.
    tail, of : arrays of int64
        All rows but the first ones, cone by cone, and the cone that each is of.
    """

    def __init__(self, program: ConeProgram) -> None:
        start, second_order = program.cone_layout
        chosen = np.flatnonzero(second_order & (np.diff(start) > 1))
        self.first, self.size = start[chosen], np.diff(start)[chosen]
        self.of = np.repeat(np.arange(chosen.size), self.size - 1)
        self.begin = np.cumsum(self.size - 1) - (self.size - 1)  # of the tails, in `tail`
        self.tail = np.arange(self.of.size) - self.begin[self.of] + self.first[self.of] + 1

    def split(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """t and r = |v_1| of each v = (t, v_1)."""
        if not self.first.size:
            return np.zeros(0), np.zeros(0)
        largest = np.maximum.reduceat(np.abs(v[self.tail]), self.begin)
        unit = np.where(largest > 0.0, largest, 1.0)
        return v[self.first], unit * np.sqrt(np.add.reduceat((v[self.tail] / unit[self.of]) ** 2, self.begin))


class _Frames:
    """The rows (1, -w) / 2^(1/2), and (1, w) / 2^(1/2) on the central path, and the columns w of second-order cones.

    Parameters
    ----------
    balls : _Balls
    chosen : array of int64
        The cones that have them.
    w : array
        Their rows of w, one after the other, among those of all cones.
    low, high : arrays
        E_i of such rows; none for an infinite one.
    m : int

    Attributes
    ----------
    Q : CSR, shape (rows, m)
    W : CSR, shape (m, cones)
    E : array
    """

    def __init__(
        self, balls: _Balls, chosen: np.ndarray, w: np.ndarray, low: np.ndarray, high: np.ndarray, m: int
    ) -> None:
        place = np.full(balls.first.size, -1)
        place[chosen] = np.arange(chosen.size)
        mine = place[balls.of] >= 0
        of, tail, w, first = place[balls.of[mine]], balls.tail[mine], w[mine], balls.first[chosen]
        self.W = sp.csr_array((w, (tail, of)), shape=(m, chosen.size))
        parts = []
        for sign, weights in ((-1.0, low), (1.0, high)):
            row = np.cumsum(weights < np.inf) - 1  # of each cone that has one
            has = weights[of] < np.inf
            values = np.concatenate([np.ones(row.size)[weights < np.inf], sign * w[has]]) / np.sqrt(2.0)
            rows = np.concatenate([row[weights < np.inf], row[of[has]]])
            columns = np.concatenate([first[weights < np.inf], tail[has]])
            parts.append(sp.csr_array((values, (rows, columns)), shape=(int(row[-1]) + 1, m)))
        self.Q = sp.vstack(parts, format="csr")
        self.E = np.concatenate([low[low < np.inf], high[high < np.inf]])

    def extended(self, B: Any, p: int) -> Any:
        """[A 0; G W; QG 0] of B = [A; G]."""
        count = self.W.shape[1]
        left = sp.vstack([B, self.Q @ sp.csr_array(B)[p:]], format="csc")
        top, bottom = sp.csc_array((p, count)), sp.csc_array((self.E.size, count))
        return sp.hstack([left, sp.vstack([top, self.W, bottom], format="csc")], format="csc")


def _padded(P: Any, count: int) -> Any:
    """P with so many further variables, which it leaves alone."""
    if P is None:
        return None
    if isinstance(P, np.ndarray):
        return np.pad(P, (0, count))
    if sp.issparse(P):
        return sp.block_diag([P, sp.csc_array((count, count))], format="csc")
    return type(P)(np.pad(P.F, ((0, count), (0, 0))), np.pad(P.d, (0, count)))


def conditions_of(program: ConeProgram, point: np.ndarray, mu: float) -> Conditions | None:
    """The conditions of a small program at a point, which becomes exact; None where that fails."""
    n, p, m = program.n, program.p, program.m
    P: Any = program.P
    if (n + p) * (n + p + m) > SMALL or hasattr(P, "d"):
        return None
    B, H = np.zeros((1, (p + m) * n)), np.zeros((1, n * n))
    if p:
        expand(program.A.indptr, program.A.indices, program.A.data, B[0], 0)
    expand(program.G.indptr, program.G.indices, program.G.data, B[0], p)
    if isinstance(P, np.ndarray):
        H = P.reshape(1, -1)
    elif P is not None:
        expand(P.indptr, P.indices, P.data, H[0], 0)
    conditions = Conditions(
        n=n, p=p, m=m, P=H, B=B, c=program.c[None], sides=np.concatenate([program.b, program.h])[None],
        point=point[None], right=np.empty((1, n + p + m)), quality=np.empty((1, 2)),
    )  # fmt: skip
    conditions.mu = mu
    find_point(conditions, *program.cone_layout, 0)
    return conditions if conditions.quality[0, 0] > 0.0 else None


def weight(v: np.ndarray, mu: float) -> np.ndarray:
    """E = d / (1 - d) of eigenvalues v, d the slope of `raised`."""
    if mu == 0.0:
        return np.where(v > 0.0, np.inf, 0.0)
    s = raised(v, mu)
    return s * s / mu


def raised(values: np.ndarray, mu: float) -> np.ndarray:
    """f(t) = (t + (t^2 + 4 mu)^(1/2)) / 2; max(t, 0) for mu = 0."""
    if mu == 0.0:
        return np.maximum(values, 0.0)
    larger = 0.5 * (np.abs(values) + np.sqrt(values * values + 4.0 * mu))  # without cancellation
    return np.where(values > 0.0, larger, mu / larger)


def project(balls: _Balls, v: np.ndarray, mu: float) -> np.ndarray:
    """The (smoothed) projection of v onto the cone: f of the eigenvalues t - r and t + r, in the same frame."""
    s, (t, r) = raised(v, mu), balls.split(v)
    low, high = raised(t - r, mu), raised(t + r, mu)
    s[balls.first] = 0.5 * (high + low)
    s[balls.tail] = (0.5 * (high - low) / np.where(r > 0.0, r, np.inf))[balls.of] * v[balls.tail]
    return s


def _is_strict(balls: _Balls, s: np.ndarray, z: np.ndarray) -> bool:
    """Whether s and z are strictly complementary, as far as their digits tell."""
    weak, (t, r) = weak_entries(s, z), balls.split(s - z)
    if balls.first.size:
        size = np.maximum.reduceat(np.abs(s[balls.tail]), balls.begin)
        largest = np.maximum(np.abs(t) + r, np.maximum(size, np.abs(s[balls.first])))
        at_boundary = np.minimum(np.abs(t - r), np.abs(t + r)) <= AT_BOUNDARY * largest
        weak[balls.first], weak[balls.tail] = at_boundary, at_boundary[balls.of]
    return not weak.any()


def weak_entries(s: np.ndarray, z: np.ndarray) -> np.ndarray:
    """`is_weak` of each entry."""
    found: np.ndarray = (np.minimum(s, z) > WEAK * np.maximum(s, z)) | (s == z)
    return found


def damped_newton(
    point: Point, residual: Callable[..., Point], step: Callable[[Point, Point], Point], tol: float
) -> tuple[Point, float]:
    """A zero of the residual by Newton steps, each shortened until the residual falls, and the largest entry left."""
    left = residual(*point)
    for _ in range(NEWTON_STEPS):
        if largest_of(left) <= tol:
            break
        change, size, share = step(point, left), norm_of(left), 1.0
        while True:
            moved = tuple(part + share * each for part, each in zip(point, change))
            now = residual(*moved)
            if norm_of(now) <= (1.0 - 1e-4 * share) * size or share < 1e-6:
                break
            share *= 0.5
        if not norm_of(now) < size:
            break
        point, left = moved, now
    return point, largest_of(left)


def largest_of(parts: Point) -> float:
    return max(float(np.abs(part).max(initial=0.0)) for part in parts)


def norm_of(parts: Point) -> float:
    return float(np.sqrt(sum(np.vdot(part, part) for part in parts)))


def dense_if_full(matrix: Any) -> Any:
    """A matrix as an array where it is small or mostly full."""
    entries = matrix.shape[0] * matrix.shape[1]
    return matrix.toarray() if entries <= SMALL or matrix.nnz > FULL * entries else matrix


def as_smoothing(value: Any) -> float:
    """`value` as a mu."""
    mu = as_number("smoothing", value)
    if mu < 0.0:
        raise ProgramError(f"smoothing must be at least 0, but {mu!r} came")
    return mu


def as_change(name: str, value: Any, size: int) -> np.ndarray:
    """`value` as a finite vector, None and a number as one of equal entries."""
    vector = as_vector(name, value, size, spread=True, absent=0.0)
    check_finite(name, vector)
    return vector


def symmetric_change(name: str, value: Any, n: int) -> sp.csc_array:
    """The symmetric part of a change of P."""
    change = as_csc(name, value, (n, n))
    return sp.csc_array(0.5 * (change + change.T))


def on_pattern(matrix: Any, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> Any:
    """a b' + c d' at the stored entries of a sparse matrix, or everywhere; None for None."""
    if matrix is None:
        return None
    if sp.issparse(matrix):
        data = np.empty(matrix.data.size)
        add_products(matrix.indptr, matrix.indices, a, b, c, d, data)
        return csc(data, matrix.indices.copy(), matrix.indptr.copy(), matrix.shape)
    return a[:, None] * b + c[:, None] * d


@deferred_kernel
def add_products(indptr: Ints, indices: Ints, a: Floats, b: Floats, c: Floats, d: Floats, data: Floats) -> None:
    """data := the entries of a b' + c d' that a CSC matrix stores."""
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            data[k] = a[indices[k]] * b[j] + c[indices[k]] * d[j]
