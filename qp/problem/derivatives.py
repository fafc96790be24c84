"""How the answer to a quadratic program moves with its data: by the cone program of its sides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from socp.problem.checks import ProgramError
from socp.problem.derivatives import Linearization
from socp.problem.program import ConeProgram, NonNeg

from .program import QuadraticProgram


class Gradient(NamedTuple):
    """The gradient of a number of the answer by all data of a quadratic program.

    Attributes
    ----------
    P, A : arrays or CSC, or None
        Sparse where the data are, on their pattern; that by P is symmetric.
    q, l, u, lb, ub : arrays
        Zero by an infinite side; both sides of an equality have one half of the gradient by their common value.
    differentiable : bool
        Whether the answer has a derivative; else this is the element of least norm.
    """

    P: Any
    q: np.ndarray
    A: Any
    l: np.ndarray
    u: np.ndarray
    lb: np.ndarray
    ub: np.ndarray
    differentiable: bool


class Tangent(NamedTuple):
    """The derivative of the answer to a quadratic program along a change of the data.

    Attributes
    ----------
    x, y, z_bounds : arrays
    differentiable : bool
        Whether the answer has a derivative; else this is the element of least norm.
    """

    x: np.ndarray
    y: np.ndarray
    z_bounds: np.ndarray
    differentiable: bool


class Sides:
    """The sides of l <= v <= u: which are equalities, which upper and which lower ones are inequalities."""

    def __init__(self, l: np.ndarray, u: np.ndarray) -> None:
        self.equal = np.flatnonzero(l == u)
        self.upper = np.flatnonzero(np.isfinite(u) & (l != u))
        self.lower = np.flatnonzero(np.isfinite(l) & (l != u))

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The multipliers of the equalities, and those of the inequalities."""
        return y[self.equal], np.concatenate([np.maximum(y[self.upper], 0.0), np.maximum(-y[self.lower], 0.0)])

    def taken(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A gradient by y as gradients by these parts."""
        return g[self.equal], np.concatenate([g[self.upper], -g[self.lower]])

    def joined(self, equal: np.ndarray, above: np.ndarray, size: int) -> np.ndarray:
        """y of these parts."""
        y = np.zeros(size)
        y[self.equal] = equal
        y[self.upper] += above[: self.upper.size]
        y[self.lower] -= above[self.upper.size :]
        return y


class Sensitivity:
    """The optimality conditions of a quadratic program, linearized at its answer (see `socp.problem.derivatives`).

    Parameters
    ----------
    program : QuadraticProgram
    x, y, z : arrays
        An optimal answer (x, y, z_bounds).
    smoothing : float, default 0
    """

    def __init__(
        self, program: QuadraticProgram, x: np.ndarray, y: np.ndarray, z: np.ndarray, smoothing: float = 0.0
    ) -> None:
        if hasattr(program.P, "expansion"):
            raise ProgramError("a program whose P gives rows has no derivative by its data here: give P as a matrix")
        self.program = program
        self.rows, self.bounds = Sides(program.l, program.u), Sides(program.lb, program.ub)
        n, A, one = program.n, sp.csr_array(program.A), sp.eye_array(program.n, format="csr")
        rows, bounds = self.rows, self.bounds
        G = sp.vstack([A[rows.upper], -A[rows.lower], one[bounds.upper], -one[bounds.lower]], format="csc")
        h = np.concatenate(
            [program.u[rows.upper], -program.l[rows.lower], program.ub[bounds.upper], -program.lb[bounds.lower]]
        )
        equal = sp.vstack([A[rows.equal], one[bounds.equal]], format="csc")
        b = np.concatenate([program.l[rows.equal], program.lb[bounds.equal]])
        cone = ConeProgram(program.q, G, h, [NonNeg(h.size)] if h.size else [], equal, b, program.P)
        self.split = rows.upper.size + rows.lower.size
        (y_equal, y_above), (z_equal, z_above) = rows.split(y), bounds.split(z)
        s = np.maximum(h - G @ x, 0.0) if n else h
        self.linear = Linearization(
            cone, x, np.concatenate([y_equal, z_equal]), np.concatenate([y_above, z_above]), s, smoothing
        )

    def gradient(self, dx: Any = None, dy: Any = None, dz_bounds: Any = None) -> Gradient:
        """The gradient by all data of a number of which dx, dy, dz_bounds are the gradients by the answer."""
        program, rows, bounds = self.program, self.rows, self.bounds
        gy = np.zeros(program.m) if dy is None else _vector("dy", dy, program.m)
        gz = np.zeros(program.n) if dz_bounds is None else _vector("dz_bounds", dz_bounds, program.n)
        (y_equal, y_above), (z_equal, z_above) = rows.taken(gy), bounds.taken(gz)
        found = self.linear.gradient(dx, np.concatenate([y_equal, z_equal]), np.concatenate([y_above, z_above]))
        b, b_fixed = np.split(found.b, [rows.equal.size])
        h, h_bounds = np.split(found.h, [self.split])
        A = _gather(program, rows, found)
        l, u = _sides(rows, b, h, program.m)
        lb, ub = _sides(bounds, b_fixed, h_bounds, program.n)
        return Gradient(found.P, found.c, A, l, u, lb, ub, found.differentiable)

    def tangent(
        self, dP: Any = None, dq: Any = None, dA: Any = None, dl: Any = None, du: Any = None, dlb: Any = None,
        dub: Any = None,
    ) -> Tangent:  # fmt: skip
        """The derivative of the answer along a change of the data."""
        program, rows, bounds = self.program, self.rows, self.bounds
        l, u = (_vector(name, v, program.m) for name, v in (("dl", dl), ("du", du)))
        lb, ub = (_vector(name, v, program.n) for name, v in (("dlb", dlb), ("dub", dub)))
        dG = d_equal = None
        if dA is not None:
            if dA.shape != program.A.shape:
                raise ProgramError(f"dA must have the shape {program.A.shape} of A, but {dA.shape} came")
            A, none = sp.csr_array(dA), sp.csr_array((program.n, program.n))
            dG = sp.vstack([A[rows.upper], -A[rows.lower], none[bounds.upper], none[bounds.lower]])
            d_equal = sp.vstack([A[rows.equal], none[bounds.equal]])
        db = np.concatenate([0.5 * (l + u)[rows.equal], 0.5 * (lb + ub)[bounds.equal]])
        dh = np.concatenate([u[rows.upper], -l[rows.lower], ub[bounds.upper], -lb[bounds.lower]])
        found = self.linear.tangent(dP, dq, d_equal, db, dG, dh)
        y_equal, z_equal = np.split(found.y, [rows.equal.size])
        y_above, z_above = np.split(found.z, [self.split])
        return Tangent(
            found.x, rows.joined(y_equal, y_above, program.m), bounds.joined(z_equal, z_above, program.n),
            found.differentiable,
        )  # fmt: skip


def _vector(name: str, value: Any, size: int) -> np.ndarray:
    if value is None:
        return np.zeros(size)
    vector = np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)) if np.ndim(value) == 0 else np.asarray(value)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise ProgramError(f"{name} must be {size} finite numbers, but an array of shape {vector.shape} came")
    return vector.astype(np.float64)


def _sides(sides: Sides, equal: np.ndarray, above: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradients by the lower and the upper sides."""
    lower, upper = np.zeros(size), np.zeros(size)
    lower[sides.equal] = upper[sides.equal] = 0.5 * equal
    upper[sides.upper] = above[: sides.upper.size]
    lower[sides.lower] = -above[sides.upper.size :]
    return lower, upper


def _gather(program: QuadraticProgram, rows: Sides, found: Any) -> sp.csc_array:
    """The gradient by A, on its pattern, from those by the rows of the cone program."""
    equal, above = sp.csr_array(found.A), sp.csr_array(found.G)
    total = sp.lil_array((program.m, program.n))
    for places, part in (
        (rows.equal, equal[: rows.equal.size]), (rows.upper, above[: rows.upper.size]),
        (rows.lower, -above[rows.upper.size : rows.upper.size + rows.lower.size]),
    ):  # fmt: skip
        if places.size:
            total[places] = total[places] + part
    dense, A = total.toarray(), program.A
    columns = np.repeat(np.arange(program.n), np.diff(A.indptr))
    return sp.csc_array((dense[A.indices, columns], A.indices.copy(), A.indptr.copy()), shape=A.shape)
