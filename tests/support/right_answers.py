"""Programs of whole numbers with answers that are exact to the last bit, and the formulas of all residuals in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

import qp
import socp
from bench.answers.answer import Answer
from socp import Status

INF, NAN = np.inf, np.nan
F, D = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, -1.0], [2.0, 0.0]]), np.array([1.0, 0.0, 2.0, 0.0, 1.0])
HESSIANS: dict[str, Callable[[int], Any]] = {
    "none": lambda n: None,
    "low rank": lambda n: qp.LowRank(F[:n], D[:n]),
    "dense": lambda n: F[:n] @ F[:n].T + np.diag(D[:n]),
    "sparse": lambda n: sp.csc_array(F[:n] @ F[:n].T + np.diag(D[:n])),
}


@dataclass(frozen=True)
class Right:
    """Program with its answer; s is None for a quadratic program, vectors outside of a certificate are NaN."""

    program: Any
    status: Status
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray | None = None

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """Vectors that are given."""
        found = {name: getattr(self, name) for name in "xyzs"}
        return {name: part for name, part in found.items() if part is not None and not np.isnan(part).any()}

    def spoiled(self, name: str, i: int, change: float) -> Right:
        """Return the answer with `change` added to entry i of the vector `name`."""
        part = getattr(self, name).copy()
        part[i] += change
        return replace(self, **{name: part})

    def entries(self) -> Iterator[tuple[str, int, float]]:
        """Yield (vector, index, sign) of every entry that can be spoiled, with either sign."""
        for name, part in self.parts.items():
            for i in np.flatnonzero(np.isfinite(part)):
                yield from ((name, int(i), 1.0), (name, int(i), -1.0))

    def answer(self, **told: Any) -> Answer:
        """Return the answer in bench's form, with true figures except those given in `told`."""
        if self.status.is_infeasible:
            error, ray = certificate(self)[1], self.status is Status.DUAL_INFEASIBLE
            honest = {"told": (NAN, error, NAN) if ray else (error, NAN, NAN), "objectives": (NAN, NAN)}
        else:
            found = figures(self)
            honest = {"told": found.told, "objectives": found.objectives}
        return Answer("ours", self.status, self.x, self.y, self.z, 9, 0.0, 0.0, s=self.s, **honest | told)


def quadratic(P: str) -> Right:
    """Return a quadratic program with rows and variables of all kinds.

    Rows: two-sided and active above, an equality, one-sided, of one entry at either side, inactive, without sides (of
    small entries, and of the largest value).  Variables: at a lower bound, fixed, free, at an upper bound, between.
    """
    x, y, z = np.array([1.0, -2, 0, 3, 2]), np.array([2.0, -3, -1, -2, 0, 0, 1, 0]), np.array([-2.0, 1, 0, 4, 0])
    A = np.array(
        [[1.0, 1, 0, 0, 2], [0, 1, -1, 1, 0], [2, 0, 1, 0, -1], [0, 0, 0, -2, 0], [1, 0, 0, 1, 1],
         [0, 0.5, 0, 0, 0.25], [0, 0, 3, 0, 0], [30, 0, 0, 20, 0]]
    )  # fmt: skip
    l, u = [-9.0, 1, 0, -6, 0, -INF, -INF, -INF], [3.0, 1, INF, INF, 9, INF, 0, INF]
    lb, ub = [1.0, -2, -INF, -INF, -5], [INF, -2, INF, 3, 7]
    H = HESSIANS[P](5)
    q = -((0.0 if H is None else H @ x) + A.T @ y + z)
    return Right(qp.QuadraticProgram(H, q, A, l, u, lb, ub, offset=7.0), Status.OPTIMAL, x, y, z)


def conic(P: str) -> Right:
    """Return a cone program with rows and cones of all kinds.

    Rows of orthants: of one entry and active, inactive, with h = inf, active, of one entry and inactive.  Second-order
    cones: with s and z on the boundary, with s inside, of one row, with z inside.  There are equalities, too.
    """
    x, y = np.array([1.0, -1, 2, 0]), np.array([2.0, -1])
    A = np.array([[1.0, 0, 1, 0], [0, 2, 0, -1]])
    s = np.array([0.0, 2, INF, 0, 3, 5, 3, 4, 2, 1, 0, 0, 0, 0])
    z = np.array([3.0, 0, 0, 1, 0, 10, -6, -8, 0, 0, 2, 3, 1, 2])
    G = np.array(
        [[-1.0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 1], [1, 0, 2, 0], [0, 1, 0, 1],
         [1, 1, -1, 0], [0, 0, 1, 0], [2, 0, 0, 1], [0, 1, -1, 0], [1, 0, 0, 0], [0, 1, 0, 2], [0, 0, 1, 1]]
    )  # fmt: skip
    cones = [socp.NonNeg(5), socp.SecondOrder(3), socp.SecondOrder(2), socp.SecondOrder(1), socp.SecondOrder(3)]
    H = HESSIANS[P](4)
    c = -((0.0 if H is None else H @ x) + A.T @ y + G.T @ z)
    program = socp.ConeProgram(c, G, G @ x + s, cones, A, A @ x, H, offset=-3.0)
    return Right(program, Status.OPTIMAL, x, y, z, s)


def infeasible_quadratic() -> Right:
    """Return a program with u'y+ - l'y- + ub'z+ - lb'z- = -1, A'y + z = 0, and also idle and infinite sides."""
    A, y, z = np.array([[1.0, 2, 0], [0, 1, 1], [1, 0, 1]]), np.array([1.0, -2, 0]), np.array([-1.0, 0, 2])
    program = qp.QuadraticProgram(
        np.eye(3), [1.0, 0, 2], A, [-INF, 1, -4], [2.0, 9, INF], [3.0, -INF, -8], [INF, INF, 1]
    )
    return Right(program, Status.PRIMAL_INFEASIBLE, np.full(3, NAN), y, z)


def unbounded_quadratic() -> Right:
    """Return a program with q'x = -1 and Px = 0.

    It has rows of one entry, equal and open sides, and bounds below, above and on both sides, alone or with rows.
    """
    x, factor = np.array([1.0, -1, 2, 0, 0, 0]), np.array([[1.0], [1], [0], [1], [0], [0]])
    A = np.array([[1.0, 0, 0, 0, 0, 0], [1, 1, 0, 2, 0, 0], [0, 1, 0, 0, 0, 0], [0, 2, 1, 1, 0, 0]])
    program = qp.QuadraticProgram(
        qp.LowRank(factor, [0.0, 0, 0, 3, 0, 0]), [1.0, 0, -1, 2, 0, 0], A, [0.0, 0, -INF, -1], [INF, 0, 4, 1],
        [0.0, -INF, -3, -1, 0, -2], [INF, 5, INF, 1, 1, 2],
    )  # fmt: skip
    return Right(program, Status.DUAL_INFEASIBLE, x, np.full(4, NAN), np.full(6, NAN))


def infeasible_conic() -> Right:
    """Return a program with b'y + h'z = -1, A'y + G'z = 0, z on the boundary, and a row with h = inf."""
    G = np.array([[1.0, 0, 0], [0, 1, 0], [2, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    y, z = np.array([1.0]), np.array([2.0, 0, 0, 5, 3, 4])
    cones = [socp.NonNeg(3), socp.SecondOrder(3)]
    program = socp.ConeProgram([1.0, 2, 3], G, [1.0, 2, INF, -2, 1, 1], cones, -(G.T @ z)[None], [0.0], np.eye(3))
    return Right(program, Status.PRIMAL_INFEASIBLE, np.full(3, NAN), y, z, np.full(6, NAN))


def unbounded_conic() -> Right:
    """Return a program with c'x = -1, Px = 0, Ax = 0, -Gx on the boundary; the ray leaves a row with h = inf."""
    x, G = np.array([1.0, 2, -1]), np.array([[-1.0, 0, 0], [1, 1, 3], [1, 1, 1], [-1, -2, 0], [-1, -1, 0], [-4, 0, 0]])
    program = socp.ConeProgram(
        [1.0, -1, 0], G, [1.0, 2, INF, 9, 1, 1], [socp.NonNeg(3), socp.SecondOrder(3)], [[1.0, 0, 1]], [2.0],
        np.diag([0.0, 0, 0]) + np.outer([1.0, 0, 1], [1.0, 0, 1]),
    )  # fmt: skip
    return Right(program, Status.DUAL_INFEASIBLE, x, np.full(1, NAN), np.full(6, NAN), -G @ x)


SOLVED = {f"{made.__name__}, P {P}": made(P) for made in (quadratic, conic) for P in HESSIANS}
CERTIFIED = {
    made.__name__: made() for made in (infeasible_quadratic, unbounded_quadratic, infeasible_conic, unbounded_conic)
}


@dataclass(frozen=True)
class Figures:
    """Residuals of a point by the formulas of the stopping test: relative, and the largest absolute ones."""

    rows: float
    cone: float
    dual: float
    gap: float
    bounds: float
    absolute: tuple[float, ...]
    objectives: tuple[float, float]

    @property
    def told(self) -> tuple[float, float, float]:
        """Residuals as a solution reports them."""
        return max(self.rows, self.cone), self.dual, self.gap

    @property
    def worst(self) -> float:
        """Largest of the reported residuals."""
        return max(self.told)


def figures(right: Right) -> Figures:
    """Return the residuals of the answer."""
    program, x, y, z = right.program, right.x, right.y, right.z
    is_cone = isinstance(program, socp.ConeProgram)
    P = np.zeros((x.size, x.size)) if program.P is None else dense(program.P)
    A, c = program.A.toarray(), program.c if is_cone else program.q
    if is_cone:
        left, rows, cone, bounds, support, stray = _of_slacks(right, program.G.toarray())
        gradient = program.G.toarray().T @ z
    else:
        row_left, rows, row_bounds, row_support, row_stray = _of_sides(A @ x, y, program.l, program.u, alone(A))
        left, cone, _, support, stray = _of_sides(x, z, program.lb, program.ub, np.ones(x.size, bool))
        support, stray, left = support + row_support, max(stray, row_stray), (row_left, left)
        gradient, bounds = z, max(cone, row_bounds)
    left_over = P @ x + c + A.T @ y + gradient
    dual = max(largest(left_over), stray)
    half, linear = 0.5 * x @ P @ x, c @ x
    value, below = half + linear, -half - support
    gap = max(float(abs(2.0 * half + linear + support)), 0.01 * largest(x * left_over))
    unit = min(1.0, 100.0 * max(largest(c), largest(np.diag(P)))) or 1.0
    return Figures(
        rows, cone, dual / (unit + max(largest(P @ x), largest(c))), gap / float(unit + max(abs(value), abs(below))),
        bounds, (*left, dual, gap), (float(value) + program.offset, float(below) + program.offset),
    )  # fmt: skip


def _of_sides(v: np.ndarray, y: np.ndarray, l: np.ndarray, u: np.ndarray, is_bound: np.ndarray) -> tuple[float, ...]:
    """Return relative violations of rows and of bounds, u'y+ - l'y-, and the largest multiplier of an infinite side."""
    miss, side = np.maximum(np.maximum(l - v, v - u), 0.0), np.where(l - v > v - u, l, u)
    sided = np.isfinite(l) | np.isfinite(u)
    size = max(largest(v[sided]), largest(side[miss > 0.0]))
    own = np.where(miss > 0.0, miss / (1.0 + np.where(miss > 0.0, np.abs(side), 0.0)), 0.0)
    held = np.where(y > 0.0, u, l)
    support = float(np.where(np.isfinite(held), held, 0.0) @ y)
    relative = np.where(is_bound, own, miss / (1.0 + size))
    return largest(miss), largest(relative), largest(own[is_bound]), support, largest(y[~np.isfinite(held)])


def _of_slacks(right: Right, G: np.ndarray) -> tuple[Any, ...]:
    """Return absolute residuals, relative ones of rows, cone and bounds, b'y + h'z, the distance of z to the cone."""
    program, x, s = right.program, right.x, right.s
    A, finite = program.A.toarray(), np.isfinite(program.h)
    h, Gx = np.where(finite, program.h, 0.0), np.where(finite, G @ x, 0.0)
    in_orthant = np.repeat([isinstance(cone, socp.NonNeg) for cone in program.cones], [k.dim for k in program.cones])
    single, size = alone(G) & in_orthant, 1.0 + max(largest(h), largest(Gx))
    own = np.where(single, 1.0 + np.maximum(np.abs(h), np.abs(Gx)), size)
    misses = [(distances(h - Gx, program.cones), own)]
    if s is not None:
        slack = np.where(finite, s, 0.0)
        misses += [(np.abs(Gx + slack - h), own), (distances(slack, program.cones), own)]
    relative = np.max([miss / scale for miss, scale in misses], axis=0)
    row = largest(A @ x - program.b)
    support = float(program.b @ right.y + h @ right.z)
    stray = max(largest(distances(right.z, program.cones)), largest(right.z[~finite]))
    left = row, max(largest(miss) for miss, _ in misses)
    rows = row / (1.0 + max(largest(program.b), largest(A @ x)))
    return left, rows, largest(relative), largest(relative[single]), support, stray


def spoiled_to(
    right: Right, entry: tuple[str, int, float], level: float, of: Callable[[Right], float] = lambda r: figures(r).worst
) -> Right:
    """Return the answer with an entry changed so that the residual `of`, nearly linear in the change, is `level`."""
    change = level
    for _ in range(3):
        change *= level / of(right.spoiled(entry[0], entry[1], entry[2] * change))
    return right.spoiled(entry[0], entry[1], entry[2] * change)


def certificate(right: Right) -> tuple[float, float]:
    """Return slope and error of a certificate; the error is relative to the size of the data and the certificate."""
    program, is_cone = right.program, isinstance(right.program, socp.ConeProgram)
    A, G = program.A.toarray(), program.G.toarray() if is_cone else np.eye(program.n)
    P, x, y, z = np.zeros_like(G) if program.P is None else dense(program.P), right.x, right.y, right.z
    if right.status is Status.DUAL_INFEASIBLE:
        slope = float((program.c if is_cone else program.q) @ x)
        out = [(P @ x, P, x)]
        if is_cone:
            out += [(A @ x, A, x), (distances(np.where(np.isfinite(program.h), -G @ x, INF), program.cones), G, x)]
        else:
            out += [(leaving(A @ x, program.l, program.u), A, x), (leaving(x, program.lb, program.ub), G, x)]
        zeros = [(largest(left), largest(M) * largest(v)) for left, M, v in out]
    else:
        data = largest(A) * largest(y) + largest(G) * largest(z)
        if is_cone:
            finite = np.isfinite(program.h)
            slope = float(program.b @ y + np.where(finite, program.h, 0.0) @ z)
            stray = max(largest(distances(z, program.cones)), largest(z[~finite]))
        else:
            rows, bounds = (_of_sides(v, v, *sides, v > INF) for v, sides in (
                (y, (program.l, program.u)), (z, (program.lb, program.ub))
            ))  # fmt: skip
            slope, stray = rows[3] + bounds[3], max(rows[4], bounds[4])
        zeros = [(largest(A.T @ y + G.T @ z), data), (stray, max(largest(y), largest(z)))]
    return slope, max(left / size if left else 0.0 for left, size in zeros)


def leaving(v: np.ndarray, l: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return how far each entry of a direction leads out at its finite sides."""
    return np.maximum(np.where(np.isfinite(u), v, 0.0), np.where(np.isfinite(l), -v, 0.0)).clip(0.0)


def distances(v: np.ndarray, cones: Any) -> np.ndarray:
    """Return the distances from each orthant's entries, and from each second-order cone at its first entry."""
    found, start = np.zeros(v.size), 0
    for cone in cones:
        part = v[start : start + cone.dim]
        if isinstance(cone, socp.NonNeg):
            found[start : start + cone.dim] = np.maximum(-part, 0.0)
        else:
            outside = float(np.linalg.norm(part[1:]) - part[0])
            if outside > 0.0:
                found[start] = brentq(beyond, 0.0, outside, (part,), xtol=1e-300, rtol=1e-14)
        start += cone.dim
    return found


def beyond(d: float, v: np.ndarray) -> float:
    """Return how far v is outside of a second-order cone if each entry may move by d."""
    return float(np.linalg.norm(np.maximum(np.abs(v[1:]) - d, 0.0)) - v[0] - d)


def alone(A: np.ndarray) -> np.ndarray:
    """Return the mask of the rows of A with one entry."""
    return np.asarray(np.count_nonzero(A, axis=1) == 1)


def dense(P: Any) -> np.ndarray:
    """Return P as a dense array."""
    return np.asarray(P.toarray() if hasattr(P, "toarray") else P)


def largest(v: Any) -> float:
    """Return the infinity norm."""
    return float(np.abs(v).max(initial=0.0))
