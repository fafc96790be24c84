r"""How the answer to a cone program moves with its data.

With v = s - z, the projection Pi onto the cone gives s = Pi(v) and z = Pi(v) - v, and (x, y, v) is the zero of

    F = ( Px + c + A'y + G'(Pi(v) - v),   Ax - b,   Gx + Pi(v) - h )

With D the derivative of Pi at v, the answer moves by

    [ P   A'  G'(D - I) ] [ dx ]       [ dP x + dc + dA'y + dG'z ]
    [ A   0   0         ] [ dy ]  =  - [ dA x - db               ]        ds = D dv,  dz = (D - I) dv
    [ G   0   D         ] [ dv ]       [ dG x - dh               ]

and the gradient of a number of the answer by all data is one solve with the transposed matrix.  Where the matrix is
singular, or v on the boundary of a cone of the projection, there is no derivative: the element of least norm is taken.

On the central path s o z = mu e, and Pi becomes the smooth v -> (v + (v^2 + 4 mu e)^(1/2)) / 2, in the Jordan algebra
of the cone: the derivative of the point at mu exists whenever the path does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from .checks import ProgramError, as_number, as_vector, check_finite
from .program import ConeProgram, SecondOrder

SINGULAR = 1e-13  # reciprocal condition from which on the matrix counts as singular
WEAK = 1e-3  # of s_i and z_i, the smaller over the larger: neither is then known to be zero
AT_BOUNDARY = 1e-6  # an eigenvalue of v in a second-order cone, relative to the largest
NEWTON_STEPS = 100
ON_PATH = 1e-12  # residual of a point of the path, relative to the data


class Gradient(NamedTuple):
    """The gradient of a number of the answer by all data of a cone program.

    Attributes
    ----------
    P, A, G : arrays or CSC, or None
        Sparse where the data are, on their pattern; that by P is symmetric.
    c, b, h : arrays
    differentiable : bool
        Whether the answer has a derivative; else this is the element of least norm.
    """

    P: Any
    c: np.ndarray
    A: Any
    b: np.ndarray
    G: Any
    h: np.ndarray
    differentiable: bool


class Tangent(NamedTuple):
    """The derivative of the answer to a cone program along a change of the data.

    Attributes
    ----------
    x, y, z, s : arrays
    differentiable : bool
        Whether the answer has a derivative; else this is the element of least norm.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    differentiable: bool


class Linearization:
    """The optimality conditions of a cone program, linearized at its answer.

    Parameters
    ----------
    program : ConeProgram
    x, y, z, s : arrays
        An optimal answer.
    smoothing : float, default 0
        The mu of the point on the central path that is differentiated in its place; it is found by Newton's method.
    """

    def __init__(
        self, program: ConeProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, smoothing: float = 0.0
    ) -> None:
        smoothing = as_number("smoothing", smoothing)
        if smoothing < 0.0:
            raise ProgramError(f"smoothing must be at least 0, but {smoothing!r} came")
        self.program, self.mu = program, smoothing
        finite = np.isfinite(program.h)
        s, z = np.where(finite, s, 1.0), np.where(finite, z, 0.0)  # a row that always holds is far from its side
        self.h = np.where(finite, program.h, 0.0)
        self.P, self.A = _dense(program.P, program.n), _dense(program.A, program.n)
        self.G = _dense(program.G, program.n) * finite[:, None]
        self.strict = self.mu > 0.0 or _is_strict(program, s, z)
        self.x, self.y, self.v = x, y, s - z
        self._follow()
        self.s, self.D = project(program, self.v, self.mu)
        self.z = self.s - self.v
        self._factor()

    def _matrix(self, D: np.ndarray) -> np.ndarray:
        n, p, m = self.program.n, self.program.p, self.program.m
        K = np.zeros((n + p + m, n + p + m))
        K[:n, :n], K[:n, n : n + p], K[n : n + p, :n] = self.P, self.A.T, self.A
        K[:n, n + p :] = self.G.T @ (D - np.eye(m))
        K[n + p :, :n], K[n + p :, n + p :] = self.G, D
        return K

    def _factor(self) -> None:
        self.K = self._matrix(self.D)
        self.differentiable, self._lu = self.strict, None
        if self.K.size:
            lu, pivots, info = lapack.dgetrf(self.K)
            rcond = lapack.dgecon(lu, np.abs(self.K).sum(axis=0).max())[0] if info == 0 else 0.0
            if rcond > SINGULAR:
                self._lu = lu, pivots
            else:
                self.differentiable = False

    def _solve(self, right: np.ndarray, transposed: bool) -> np.ndarray:
        if self._lu is None:
            K = self.K.T if transposed else self.K
            return np.linalg.lstsq(K, right, rcond=SINGULAR)[0] if right.size else right
        found: np.ndarray = lapack.dgetrs(*self._lu, right, trans=int(transposed))[0]
        return found

    def _follow(self) -> None:
        """(x, y, v) := the point of the central path at mu, or the answer to more digits, by damped Newton steps."""
        program, n, p = self.program, self.program.n, self.program.p

        def residual(x: np.ndarray, y: np.ndarray, v: np.ndarray) -> np.ndarray:
            s = project(program, v, self.mu)[0]
            dual = self.P @ x + program.c + self.A.T @ y + self.G.T @ (s - v)
            return np.concatenate([dual, self.A @ x - program.b, self.G @ x + s - self.h])

        scale = 1.0 + max(np.abs(part).max(initial=0.0) for part in (program.c, program.b, self.h))
        point, left = (self.x, self.y, self.v), residual(self.x, self.y, self.v)
        for _ in range(NEWTON_STEPS):
            if np.abs(left).max(initial=0.0) <= ON_PATH * scale:
                break
            K = self._matrix(project(program, point[2], self.mu)[1])
            step = np.linalg.lstsq(K, -left, rcond=SINGULAR)[0]
            size, share = np.linalg.norm(left), 1.0
            while True:
                parts = np.split(share * step, [n, n + p])
                moved = point[0] + parts[0], point[1] + parts[1], point[2] + parts[2]
                now = residual(*moved)
                if np.linalg.norm(now) <= (1.0 - 1e-4 * share) * size or share < 1e-6:
                    break
                share *= 0.5
            if not np.linalg.norm(now) < size:
                break
            point, left = moved, now
        if self.mu > 0.0 and not np.abs(left).max(initial=0.0) <= 1e-6 * scale:
            raise ProgramError(
                f"the point of the central path at smoothing={self.mu:g} was not found: the program may have no "
                "strictly feasible point"
            )
        self.x, self.y, self.v = point

    def gradient(self, dx: Any = None, dy: Any = None, dz: Any = None, ds: Any = None) -> Gradient:
        """The gradient by all data of a number of which dx, dy, dz, ds are the gradients by the answer."""
        program = self.program
        n, p, m = program.n, program.p, program.m
        gx, gy, gz, gs = (
            np.zeros(size) if value is None else _finite(name, value, size)
            for name, value, size in (("dx", dx, n), ("dy", dy, p), ("dz", dz, m), ("ds", ds, m))
        )
        right = np.concatenate([gx, gy, self.D @ gs + self.D @ gz - gz])
        u, w, r = np.split(self._solve(right, True), [n, n + p])
        r = np.where(np.isfinite(program.h), r, 0.0)
        return Gradient(
            _on_pattern(program.P, [(-0.5 * u, self.x), (-0.5 * self.x, u)]), -u,
            _on_pattern(program.A, [(-self.y, u), (-w, self.x)]), w,
            _on_pattern(program.G, [(-self.z, u), (-r, self.x)]), r, self.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dc: Any = None, dA: Any = None, db: Any = None, dG: Any = None, dh: Any = None
    ) -> Tangent:
        """The derivative of the answer along a change of the data."""
        program = self.program
        n, p, m = program.n, program.p, program.m
        P, A, G = (_change(name, v, (r, n)) for name, v, r in (("dP", dP, n), ("dA", dA, p), ("dG", dG, m)))
        P = None if P is None else 0.5 * (P + P.T)
        c, b, h = (
            np.zeros(size) if value is None else _finite(name, value, size)
            for name, value, size in (("dc", dc, n), ("db", db, p), ("dh", dh, m))
        )
        first, second, third = c.copy(), -b, -np.where(np.isfinite(program.h), h, 0.0)
        if P is not None:
            first += P @ self.x
        if A is not None:
            first, second = first + A.T @ self.y, second + A @ self.x
        if G is not None:
            first, third = first + G.T @ self.z, third + np.where(np.isfinite(program.h), G @ self.x, 0.0)
        moved = self._solve(-np.concatenate([first, second, third]), False)
        x, y, v = np.split(moved, [n, n + p])
        s = self.D @ v
        return Tangent(x, y, s - v, s, self.differentiable)


def project(program: ConeProgram, v: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """The (smoothed) projection of v onto the cone, and its derivative, a matrix of blocks."""
    s, D, start = np.empty(v.size), np.zeros((v.size, v.size)), 0
    for cone in program.cones:
        at = slice(start, start + cone.dim)
        start += cone.dim
        if isinstance(cone, SecondOrder) and cone.dim > 0:
            s[at], D[at, at] = _second_order(v[at], mu)
        else:
            value, slope = _raised(v[at], mu)
            s[at], D[at, at] = value, np.diag(slope)
    return s, D


def _raised(values: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """f(t) = (t + (t^2 + 4 mu)^(1/2)) / 2 and its slope; max(t, 0) and a step for mu = 0."""
    if mu == 0.0:
        return np.maximum(values, 0.0), (values > 0.0).astype(np.float64)
    root = np.sqrt(values * values + 4.0 * mu)
    larger = 0.5 * (np.abs(values) + root)  # without cancellation
    value = np.where(values > 0.0, larger, mu / larger)
    return value, value / root


def _second_order(v: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """With v = (t, r w), |w| = 1: f of the eigenvalues t - r and t + r in the same frame."""
    t, r = float(v[0]), float(np.linalg.norm(v[1:]))
    w = v[1:] / r if r > 0.0 else np.zeros(v.size - 1)
    (low, high), (low_slope, high_slope) = _raised(np.array([t - r, t + r]), mu)
    across = (high - low) / (2.0 * r) if r > 0.0 else 0.5 * (low_slope + high_slope)
    along, mixed = 0.5 * (high_slope + low_slope), 0.5 * (high_slope - low_slope)
    D = np.empty((v.size, v.size))
    D[0, 0], D[0, 1:], D[1:, 0] = along, mixed * w, mixed * w
    D[1:, 1:] = across * np.eye(v.size - 1) + (along - across) * np.outer(w, w)
    return np.concatenate([[0.5 * (high + low)], 0.5 * (high - low) * w]), D


def _is_strict(program: ConeProgram, s: np.ndarray, z: np.ndarray) -> bool:
    """Whether s and z are strictly complementary, as far as their digits tell."""
    start = 0
    for cone in program.cones:
        at = slice(start, start + cone.dim)
        start += cone.dim
        if not isinstance(cone, SecondOrder):
            if (np.minimum(s[at], z[at]) > WEAK * np.maximum(s[at], z[at])).any() or not (s[at] != z[at]).all():
                return False
        elif cone.dim > 0:
            v = s[at] - z[at]
            r = np.linalg.norm(v[1:])
            if min(abs(v[0] - r), abs(v[0] + r)) <= AT_BOUNDARY * max(abs(v[0]) + r, np.abs(s[at]).max()):
                return False
    return True


def _finite(name: str, value: Any, size: int) -> np.ndarray:
    vector = as_vector(name, value, size)
    check_finite(name, vector)
    return vector


def _dense(matrix: Any, columns: int) -> np.ndarray:
    if matrix is None:
        return np.zeros((columns, columns))
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _change(name: str, value: Any, shape: tuple[int, int]) -> np.ndarray | None:
    if value is None:
        return None
    matrix = np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=np.float64)
    if matrix.shape != shape:
        raise ProgramError(f"{name} must have the shape {shape} of what it changes, but {matrix.shape} came")
    check_finite(name, matrix)
    return matrix


def _on_pattern(matrix: Any, products: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """The sum of outer products, at the stored entries of a sparse matrix or everywhere; None for none."""
    if matrix is None:
        return None
    if sp.issparse(matrix):
        columns = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        data = sum(left[matrix.indices] * right[columns] for left, right in products)
        return sp.csc_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    return sum(np.outer(left, right) for left, right in products)
