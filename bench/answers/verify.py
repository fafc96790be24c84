r"""Verification of answers: residuals and certificates computed from x, y, z and the program alone.

Nothing that a solver reports is used here, and the data are the caller's own: unscaled and
unregularized.  All norms are infinity norms, all solution residuals are relative, each block by its own
size, each bound by its own, and the test is

    A x = b                                        to within  tol (1 + max(|b|, |Ax|))
    distance of s = h - Gx from K                  at most    tol (1 + max(|h|, |Gx|))
    dual rows, distance of z from K                at most    tol (w + max(|Px|, |c|))
    |primal - dual objective|                      at most    tol (w + max(|primal|, |dual|))

with the objective's unit w of `objective_unit`, below 1 for small objectives, and a gap of at least `HIDDEN` |x_j|
times the dual residual of column j,

and for a quadratic program l <= Ax <= u to within tol (1 + |Ax|), where rows without sides do not count, and a
violated side does.  A bound holds to within tol (1 + |bound|), measured by itself: lb <= x <= ub, and every row with
one entry of A in a quadratic program, of G in an orthant.

A distance from a cone is in the infinity norm, too: the smallest change of any entry that leads into it.
From every entry a bound on the rounding of its evaluation is subtracted, `ROUNDING` times its terms.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import qp
import socp

from .program import Program, linear_name

HIDDEN = 0.01
"""Share of |x_j| times a dual residual that counts as a gap."""

ROUNDING = 128 * float(np.finfo(float).eps)
"""Rounding error relative to the terms of a sum: twice the engine's, as other orders of summation round differently."""


@dataclass(frozen=True)
class Verification:
    """Relative residuals of an answer, and its errors as a certificate.

    A residual that cannot be computed (a missing part, NaN) is infinite.
    """

    # objective, dual_objective: at x and at (x, y, z), including the program's offset
    objective: float
    dual_objective: float
    # primal, primal_cone: residuals of Ax = b and s in K; for a quadratic program l <= Ax <= u and lb <= x <= ub
    primal: float
    primal_cone: float
    # dual, dual_cone: residuals of Px + c + A'y + G'z = 0 and z in K; for a quadratic program of
    # Px + q + A'y + z_bounds = 0 and of zero multipliers of infinite sides
    dual: float
    dual_cone: float
    gap: float  # relative difference of the two objectives
    # primal_infeasible, dual_infeasible: error of (y, z), or of x, as a certificate; infinite unless its slope is < 0
    primal_infeasible: float
    dual_infeasible: float
    # bound on the rounding errors of the two objectives; large if x is large in directions that do not change them
    objective_rounding: float = 0.0

    @property
    def worst(self) -> float:
        """Largest of the five relative residuals of a solution."""
        return max(self.primal, self.primal_cone, self.dual, self.dual_cone, self.gap)

    @property
    def certificate(self) -> float:
        """Smaller error of the two certificates, of primal and of dual infeasibility."""
        return min(self.primal_infeasible, self.dual_infeasible)

    def solved(self, tol: float) -> bool:
        """Return True if the answer passes the stopping test at `tol`."""
        return self.worst <= tol


def verify(program: Program, x: Any, y: Any, z: Any, bounds_alone: bool = True) -> Verification:
    r"""Measure the answer (x, y, z) to a program.

    Parameters
    ----------
    program : `socp.ConeProgram` or `qp.QuadraticProgram`
        The program.
    x, y, z : array_like or None
        The answer in the signs of the project; for a quadratic program z is ``z_bounds``, one entry a
        variable.  None and NaN make infinite residuals.
    bounds_alone : bool
        Measure each bound relative to its own size, as this project promises; otherwise to the largest, as peers do.

    Examples
    --------
    The program min 2x subject to x >= 3 (written -x + s = -3), solved by x = 3 and z = 2:

    >>> import socp
    >>> program = socp.ConeProgram(c=[2.0], G=[[-1.0]], h=[-3.0], cones=[socp.NonNeg(1)])
    >>> verify(program, [3.0], [], [2.0]).worst
    0.0
    >>> verify(program, [3.0], [], [2.5]).solved(1e-6)
    False
    """
    with np.errstate(all="ignore"):
        if isinstance(program, socp.ConeProgram):
            return _verify_cone_program(program, x, y, z, bounds_alone)
        return _verify_quadratic_program(program, x, y, z, bounds_alone)


def cone_distance(v: np.ndarray, cones: Any, scale: np.ndarray | float = 1.0) -> float:
    """Return the infinity-norm distance of v from a product of cones, each entry or cone divided by its scale."""
    if not np.isfinite(v).all():
        return np.inf
    distances, start = np.zeros(v.size), 0
    for cone in cones:
        part = v[start : start + cone.dim]
        if isinstance(cone, socp.NonNeg):
            distances[start : start + cone.dim] = np.maximum(0.0, -part)
        elif cone.dim:
            distances[start] = _second_order_distance(part)
        start += cone.dim
    return _norm(distances / scale)


def bound_rows(matrix: Any) -> np.ndarray:
    """Return the mask of the rows of a sparse matrix with one nonzero entry, which are bounds."""
    found = matrix.tocsc()
    return np.asarray(np.bincount(found.indices[found.data != 0.0], minlength=matrix.shape[0]) == 1)


def second_order(cones: Any) -> np.ndarray:
    """Return the mask of the rows that belong to second-order cones."""
    kinds = [isinstance(cone, socp.SecondOrder) for cone in cones]
    return np.repeat(np.array(kinds, dtype=bool), [cone.dim for cone in cones])


def _second_order_distance(v: np.ndarray) -> float:
    """Return the smallest d for which some (t + d, u') with |u'_i - u_i| <= d is in the cone, where v = (t, u).

    The best u' shrinks every entry of u by d towards zero; phi(d) = ||u'|| - t - d is convex and
    decreasing, so that Newton's method from d = 0 rises to its root.
    """
    size = float(np.abs(v).max())
    if size == 0.0:
        return 0.0
    t, u = float(v[0]) / size, np.abs(v[1:]) / size
    distance = 0.0
    for _ in range(100):
        shrunk = np.maximum(u - distance, 0.0)
        norm = float(np.linalg.norm(shrunk))
        excess = norm - t - distance
        if excess <= 0.0:
            break
        slope = 1.0 + (float(shrunk.sum()) / norm if norm > 0.0 else 0.0)
        before, distance = distance, distance + excess / slope
        if distance == before:
            break
    return size * distance


class _Sides(NamedTuple):
    """Results of an answer for a program's rows: primal residuals, parts of the dual residual, and x as a ray."""

    primal: float
    primal_cone: float
    rows: tuple[np.ndarray, np.ndarray]  # A'y + G'z (or A'y + z), and the sums of the sizes of its terms
    rows_size: float  # sum over A and G of largest entry times largest multiplier
    support: tuple[float, float]  # b'y + h'z, or u'y+ - l'y-, and the sum of the sizes of its terms
    stray: float  # distance of multipliers from their cone, or largest multiplier of an infinite side
    leaving: list[tuple[float, float]]  # residuals of x as a ray with their sizes, see `certificate_error`


def _verify(program: Program, linear: np.ndarray, x: np.ndarray, largest: float, sides: _Sides) -> Verification:
    """Compute the `Verification` from parts that both kinds of programs share; `largest` is the largest multiplier."""
    P, (rows, row_terms), (support, support_terms) = program.P, sides.rows, sides.support
    Px, Px_terms, size = _times(P, x), _times_abs(P, x), np.abs(x)
    unit = objective_unit(program)
    scale = unit + max(_norm(Px), _norm(linear))
    half_curvature, slope, slope_terms = 0.5 * float(x @ Px), float(linear @ x), float(np.abs(linear) @ size)
    objective, dual_objective = half_curvature + slope, -half_curvature - support
    lost = ROUNDING * float(slope_terms + support_terms + size @ Px_terms)
    left = _beyond_rounding(rows, row_terms)
    residual = _less_rounding(Px + linear + rows, Px_terms + np.abs(linear) + row_terms)
    hidden = HIDDEN * _norm(size * residual)
    flat = [(_beyond_rounding(Px, Px_terms), largest_entry(P) * _norm(x))]
    return Verification(
        objective + program.offset,
        dual_objective + program.offset,
        primal=sides.primal,
        primal_cone=sides.primal_cone,
        dual=_relative(_norm(residual), scale),
        dual_cone=_relative(sides.stray, scale),
        gap=max(
            _gap(objective, dual_objective, lost, unit),
            _relative(hidden, unit + max(abs(objective), abs(dual_objective))),
        ),
        primal_infeasible=certificate_error(support, support_terms, [(left, sides.rows_size), (sides.stray, largest)]),
        dual_infeasible=certificate_error(slope, slope_terms, flat + sides.leaving),
        objective_rounding=lost,
    )


def _verify_cone_program(program: socp.ConeProgram, x: Any, y: Any, z: Any, bounds_alone: bool) -> Verification:
    x, y, z = _vector("x", x, program.n), _vector("y", y, program.p), _vector("z", z, program.m)
    A, G, b, cones = program.A, program.G, program.b, program.cones
    holds = np.isposinf(program.h)  # rows that always hold: no slack is measured, and z must be 0
    h = np.where(holds, 0.0, program.h)
    z_finite = np.where(holds, 0.0, z)

    Ax, Gx, size = A @ x, np.where(holds, 0.0, G @ x), np.abs(x)
    Ax_terms, Gx_terms = abs(A) @ size, np.where(holds, 0.0, abs(G) @ size)
    alone = bound_rows(G) & ~second_order(cones) & bounds_alone
    scale = 1.0 + np.where(alone, np.maximum(np.abs(h), np.abs(Gx)), max(_norm(h), _norm(Gx)))
    inwards = _towards_cones(h - Gx, ROUNDING * (Gx_terms + np.abs(h)), cones)
    out = cone_distance(_towards_cones(-Gx, ROUNDING * Gx_terms, cones), cones)
    support_terms = float(np.abs(b) @ np.abs(y)) + float(np.abs(h) @ np.abs(z_finite))
    sides = _Sides(
        primal=_relative(_beyond_rounding(Ax - b, Ax_terms + np.abs(b)), 1.0 + max(_norm(b), _norm(Ax))),
        primal_cone=cone_distance(inwards, cones, scale),
        rows=(A.T @ y + G.T @ z, abs(A).T @ np.abs(y) + abs(G).T @ np.abs(z)),
        rows_size=largest_entry(A) * _norm(y) + largest_entry(G) * _norm(z),
        support=(float(b @ y) + float(h @ z_finite), support_terms),
        stray=max(cone_distance(z_finite, cones), _norm(z[holds])),
        leaving=[(_beyond_rounding(Ax, Ax_terms), largest_entry(A) * _norm(x)), (out, largest_entry(G) * _norm(x))],
    )
    return _verify(program, program.c, x, max(_norm(y), _norm(z)), sides)


def _verify_quadratic_program(program: qp.QuadraticProgram, x: Any, y: Any, z: Any, bounds_alone: bool) -> Verification:
    x, y, z = _vector("x", x, program.n), _vector("y", y, program.m), _vector("z", z, program.n)
    A, l, u, lb, ub = program.A, program.l, program.u, program.lb, program.ub

    Ax, Ax_terms = A @ x, abs(A) @ np.abs(x)
    (rows, row_terms), (bounds, bound_terms) = _support(y, l, u), _support(z, lb, ub)
    sides = _Sides(
        primal=outside(Ax, l, u, _excess(Ax, l, u, Ax_terms), bound_rows(A) & bounds_alone),
        primal_cone=outside(x, lb, ub, _excess(x, lb, ub, np.zeros_like(x)), np.full(x.size, bounds_alone)),
        rows=(A.T @ y + z, abs(A).T @ np.abs(y) + np.abs(z)),
        rows_size=largest_entry(A) * _norm(y) + _norm(z),
        support=(rows + bounds, row_terms + bound_terms),
        stray=max(on_infinite_side(y, l, u), on_infinite_side(z, lb, ub)),
        leaving=[
            (_beyond_rounding(leaving(Ax, l, u), Ax_terms), largest_entry(A) * _norm(x)),
            (_norm(leaving(x, lb, ub)), _norm(x)),
        ],
    )
    found = _verify(program, program.q, x, max(_norm(y), _norm(z)), sides)
    if any((lower > upper).any() for lower, upper in ((l, u), (lb, ub))):  # Such sides need no certificate.
        found = dataclasses.replace(found, primal_infeasible=0.0)
    return found


def certificate_error(slope: float, slope_terms: float, zeros: list[tuple[float, float]]) -> float:
    """Return the error of a certificate, or infinity if its slope may be >= 0.

    `zeros` has a pair for each block: the residual that should be zero, and the size of its terms.

    The error is the residual relative to the largest entry of the certificate times the largest entry of the block's
    data: the relative change of the data that makes the certificate exact.  It does not say which points a
    certificate excludes: `exclusion` does.  A slope that is within rounding of its terms may have any sign.
    """
    if not (slope < -ROUNDING * slope_terms and np.isfinite(slope)):
        return np.inf
    return max(_relative(_ratio(left, size), 1.0) for left, size in zeros)


def _beyond_rounding(residual: np.ndarray, terms: np.ndarray) -> float:
    """Return the largest entry of a residual after subtracting the possible rounding of a sum of `terms`."""
    return _norm(_less_rounding(residual, terms))


def _less_rounding(residual: np.ndarray, terms: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(residual), np.inf, np.maximum(0.0, np.abs(residual) - ROUNDING * terms))


def _towards_cones(v: np.ndarray, change: np.ndarray, cones: Any) -> np.ndarray:
    """Return v with each entry moved by its `change` towards the inside of its cone."""
    shrunk, start = v + change, 0
    for cone in cones:
        tail = slice(start + 1, start + cone.dim)
        if isinstance(cone, socp.SecondOrder):
            shrunk[tail] = np.sign(v[tail]) * np.maximum(0.0, np.abs(v[tail]) - change[tail])
        start += cone.dim
    return shrunk


def objective_unit(program: Program) -> float:
    """Return the size below which objectives count as small: 1, or 100 times the largest entry of c and diag P.

    Examples
    --------
    >>> objective_unit(qp.QuadraticProgram(None, [2.0**-20])), objective_unit(qp.QuadraticProgram(None, [0.0]))
    (9.5367431640625e-05, 1.0)
    """
    P, linear = program.P, getattr(program, linear_name(program))
    largest = max(_norm(linear), 0.0 if P is None else _norm(P.diagonal()))
    return min(1.0, 100.0 * largest) if largest else 1.0


def _gap(objective: float, dual_objective: float, lost: float, unit: float) -> float:
    """Return the relative gap of two objectives whose evaluation may lose `lost`."""
    gap = abs(objective - dual_objective) - lost
    return _relative(max(0.0, gap) if gap == gap else np.inf, unit + max(abs(objective), abs(dual_objective)))


def _relative(part: float, scale: float) -> float:
    """Return part / scale, or infinity, never NaN, if one of them is not a number."""
    ratio = part / scale
    return np.inf if np.isnan(ratio) else ratio


def _support(multipliers: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Return u'y+ - l'y- over finite sides, and the sum of the absolute values of its terms."""
    above = np.where(np.isfinite(upper), upper, 0.0) * np.maximum(multipliers, 0.0)
    below = np.where(np.isfinite(lower), lower, 0.0) * np.maximum(-multipliers, 0.0)
    return float(above.sum() - below.sum()), float(np.abs(above).sum() + np.abs(below).sum())


def on_infinite_side(multipliers: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the largest multiplier of an infinite side."""
    wrong = ((multipliers > 0) & ~np.isfinite(upper)) | ((multipliers < 0) & ~np.isfinite(lower))
    return np.inf if np.isnan(multipliers).any() else _norm(multipliers[wrong])


def outside(value: np.ndarray, lower: np.ndarray, upper: np.ndarray, excess: np.ndarray, alone: np.ndarray) -> float:
    """Return the largest excess / (1 + size): size of the nearest side if `alone`, else of all rows with sides."""
    nearest = np.clip(value, lower, upper)
    sided = np.isfinite(lower) | np.isfinite(upper) | np.isnan(value)
    size = max(_norm(value[sided]), _norm(nearest[sided]))
    return _norm(excess / (1.0 + np.where(alone, np.abs(nearest), size)))


def _excess(value: np.ndarray, lower: np.ndarray, upper: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return by how much each value violates its side after subtracting the possible rounding of a sum of `terms`."""
    nearest = np.clip(value, lower, upper)
    return _less_rounding(value - nearest, terms + np.abs(nearest))


def leaving(direction: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return by how much a direction leads out at a finite side; zero in the recession cone of the box."""
    up, down = np.where(np.isfinite(upper), direction, 0.0), np.where(np.isfinite(lower), -direction, 0.0)
    return np.asarray(np.maximum(0.0, np.maximum(up, down)))


def _times(P: Any, x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x) if P is None else P @ x


def _times_abs(P: Any, x: np.ndarray) -> np.ndarray:
    """Return |P| |x|; for a low-rank P the sizes of the terms of its factors."""
    x = np.abs(x)
    if isinstance(P, socp.LowRank):
        F = np.abs(P.F)
        return F @ (F.T @ x) + P.d * x
    return _times(None if P is None else abs(P), x)


def largest_entry(matrix: Any) -> float:
    """Return the largest entry of a matrix in size, for a (semidefinite) low-rank P from its diagonal."""
    if matrix is None:
        return 0.0
    if isinstance(matrix, socp.LowRank):
        return _norm(matrix.diagonal())
    return _norm(matrix if isinstance(matrix, np.ndarray) else matrix.data)


def _ratio(part: float, whole: float) -> float:
    return 0.0 if part == 0.0 else part / whole if whole > 0.0 else np.inf


def _norm(v: np.ndarray) -> float:
    """Return the infinity norm: infinite if there is NaN, 0.0 for no entries."""
    norm = float(np.max(np.abs(v), initial=0.0))
    return np.inf if np.isnan(norm) else norm


def _vector(name: str, value: Any, size: int) -> np.ndarray:
    """Return `value` as a vector of `size` entries, all NaN if it is None."""
    if value is None:
        return np.full(size, np.nan)
    vector = np.asarray(value, dtype=float).ravel()
    if vector.size != size:
        raise socp.ProgramError(f"{name} must have {size} entries, but {vector.size} came")
    return vector
