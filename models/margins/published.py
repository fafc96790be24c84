"""Linear machines as they are published: w and b, with their primal objective measured against a bound.

w = sum_k u_k x_k loses the digits that cancel in the sum.  On columns far larger than the others so few may be left
that the multipliers are right and w is not.  The primal in columns of size one has no such sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

from ..base.estimator import is_good, warn_unconverged
from ..base.multiclass import spread
from ..base.validation import as_dense
from ..programs.margins import primal_program
from .dual import checked
from .machines import Machines, Problem, divided
from .multipliers import tell_apart
from .units import solved, units_of_primal

PROVEN = 1e-6  # largest distance of a published objective from its bound, relative to `unit_of` plus its size
KEPT = 1e-6  # largest violation of a hard margin


def violations(X: Any, problem: Problem, w: np.ndarray, b: float) -> np.ndarray:
    """Return -q_k - s_k (w'x_k + b) for the samples X of the problem."""
    return -problem.q - problem.signs * np.tile(X @ w + b, problem.sides)  # type: ignore[no-any-return]


def primal_objective(X: Any, problem: Problem, w: np.ndarray, b: float) -> float:
    """Return 1/2 |w|^2 + sum_k C_k xi_k, infinite if a hard margin is violated."""
    xi, soft = np.maximum(violations(X, problem, w, b), 0.0), np.isfinite(problem.C)
    if xi[~soft].max(initial=0.0) > KEPT:
        return np.inf
    return float(0.5 * w @ w + problem.C[soft] @ xi[soft])


def dual_objective(problem: Problem, w: np.ndarray, u: np.ndarray) -> float:
    """Return -1/2 |w|^2 - q'v with v >= 0 the multipliers of u = sum_k s_k v_k."""
    v = np.maximum(problem.signs * np.tile(u, problem.sides), 0.0)
    return float(-0.5 * w @ w - problem.q @ v)


def shortfall(objective: float, bound: float, unit: float) -> float:
    """Return the distance of an objective from its bound, relative to `unit` plus its size."""
    return (objective - bound) / (unit + abs(objective)) if np.isfinite(objective) else np.inf


def unit_of(problem: Problem) -> float:
    """Return the objective of w = 0 and b = 0, at most 1."""
    xi = np.maximum(-problem.q, 0.0)
    return min(float(problem.C[xi > 0.0] @ xi[xi > 0.0]), 1.0) or 1.0


def solve_in_scaled_columns(
    X: Any, problem: Problem, bias: bool, settings: dict[str, Any], infeasible: str
) -> tuple[np.ndarray, float, np.ndarray, qp.QuadraticProgram, qp.Solution]:
    """Return w, b and v of the primal in w_j r_j, with r_j the root mean square of column j.

    An r_j below 1 counts as 1, or as the largest r_j if that is less.  The program and its solution come last; its w is
    w_j r_j.
    """
    squares = X.multiply(X) if sp.issparse(X) else X * X
    r = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
    r = np.maximum(r, min(r.max(), 1.0) or 1.0)
    F = X @ sp.diags_array(1.0 / r) if sp.issparse(X) else X / r
    stacked = F if problem.sides == 1 else sp.vstack([sp.csr_array(F)] * problem.sides)
    program = primal_program(stacked, problem.signs, problem.C, bias, -problem.q, r**-2.0)
    units = units_of_primal(program, F, problem.C[np.isfinite(problem.C)])
    solution = checked(lambda: solved(program, units, settings), infeasible)
    b = float(solution.x[r.size]) if bias else 0.0
    return solution.x[: r.size] / r, b, np.clip(-solution.y, 0.0, problem.C), program, solution


def published(
    who: str, X: Any, problems: list[Problem], machines: Machines, bias: bool, settings: dict[str, Any], infeasible: str
) -> tuple[np.ndarray, Machines]:
    """Return w of every machine, and the machines; where w misses its bound, both come from the scaled primal."""
    W = np.asarray(as_dense(machines.coefficients @ X))
    coefficients, kinds = machines.coefficients.copy(), machines.kinds.copy()
    intercepts, margins, answer = machines.intercepts.copy(), machines.margins.copy(), machines.answer
    limit = max(float(settings["tol"]), PROVEN)
    for k, problem in enumerate(problems):
        rows = problem.rows
        if problem.total is not None:
            if not coefficients[k].any():
                continue  # no margin is left, of which the user is told
            rho = float(machines.rhos[k])
            problem = divided(problem, min(rho, 0.0) if problem.sides == 2 else rho)  # a tube has no negative width
        samples = X if np.array_equal(rows, np.arange(X.shape[0])) else X[rows]
        objective = primal_objective(samples, problem, W[k], float(intercepts[k]))
        bound = dual_objective(problem, W[k], coefficients[k, rows])
        unit = unit_of(problem)
        if shortfall(objective, bound, unit) <= limit:
            continue
        w, b, v, program, solution = solve_in_scaled_columns(samples, problem, bias, settings, infeasible)
        better = primal_objective(samples, problem, w, b)
        bound = solution.dual_objective if is_good(solution) else bound
        if better < objective:
            W[k], intercepts[k], objective = w, b, better
            found, v = tell_apart(v, problem.C, violations(samples, problem, w, b))
            u = (problem.signs * v).reshape(problem.sides, -1).sum(axis=0)
            coefficients[k] = spread(u, rows, X.shape[0])
            kinds[k] = spread(found.reshape(problem.sides, -1).max(axis=0), rows, X.shape[0])
            margins[k] = 1.0 / np.linalg.norm(w) if w.any() else np.inf
            if k == len(problems) - 1 and problem.total is None:
                answer = lambda: (program, solution)  # noqa: B023, E731
        if shortfall(objective, bound, unit) > limit:
            warn_unconverged(
                f"{who}: the objective of coef_ and intercept_ is {objective:.6g}, and only {bound:.6g} is proven: "
                "digits are lost. Scale the features, or raise max_iter."
            )
    return W, replace(
        machines, coefficients=coefficients, kinds=kinds, intercepts=intercepts, margins=margins, answer=answer
    )
