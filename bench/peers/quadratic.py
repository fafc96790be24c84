"""Adapters of the solvers that take two-sided rows and bounds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
from socp import Status

from ..answers.answer import Answer
from .forms import TwoSided, csc32, two_sided
from .peer import FIRST_ORDER_ITERATIONS, INTERIOR_POINT_ITERATIONS, PROXIMAL_ITERATIONS, QUADRATIC, peer


@peer(
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "eps_abs": tol,
        "eps_rel": tol,
        "eps_duality_gap_abs": tol,
        "eps_duality_gap_rel": tol,
        "check_duality_gap": True,
        "max_iter": INTERIOR_POINT_ITERATIONS,
        "verbose": False,
    },
)
def piqp(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Answer:
    """PIQP: equalities, two-sided rows, bounds; one nonnegative multiplier a side.  Dense when P is dense."""
    import piqp as package

    form = two_sided(program)
    dense = isinstance(program.P, np.ndarray)
    solver = package.DenseSolver() if dense else package.SparseSolver()
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    P, A, C = (M.toarray(order="F") if dense else M for M in (form.P, form.A, form.C))

    start = time.perf_counter()
    solver.setup(P, form.q, A, form.b, C, form.l, form.u, form.lb, form.ub)
    ready = time.perf_counter()
    said = solver.solve()
    end = time.perf_counter()

    status = {
        package.PIQP_SOLVED: Status.OPTIMAL,
        package.PIQP_PRIMAL_INFEASIBLE: Status.PRIMAL_INFEASIBLE,
        package.PIQP_DUAL_INFEASIBLE: Status.DUAL_INFEASIBLE,
        package.PIQP_MAX_ITER_REACHED: Status.MAX_ITERATIONS,
    }.get(said, Status.NUMERICAL_ERROR)
    result = solver.result
    x, y, z = form.recover(result.x, result.y, result.z_u - result.z_l, result.z_bu - result.z_bl)
    return Answer("piqp", status, x, y, z, int(result.info.iter), ready - start, end - ready)


@peer(
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "eps_abs": tol,
        "eps_rel": tol,
        "eps_prim_inf": tol,
        "eps_dual_inf": tol,
        "max_iter": FIRST_ORDER_ITERATIONS,
        "time_limit": limit,
        "verbose": False,
    },
)
def osqp(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Answer:
    """OSQP: l <= A x <= u with the bounds as further rows; y has the project's signs."""
    import osqp as package

    form = two_sided(program)
    rows, lower, upper, split = stacked(form)
    solver = package.OSQP()

    start = time.perf_counter()
    solver.setup(sp.triu(form.P, format="csc"), form.q, rows, lower, upper, **settings)
    ready = time.perf_counter()
    result = solver.solve(raise_error=False)
    end = time.perf_counter()

    said = package.SolverStatus(result.info.status_val).name
    status = {
        "OSQP_SOLVED": Status.OPTIMAL,
        "OSQP_SOLVED_INACCURATE": Status.INACCURATE,
        "OSQP_PRIMAL_INFEASIBLE": Status.PRIMAL_INFEASIBLE,
        "OSQP_DUAL_INFEASIBLE": Status.DUAL_INFEASIBLE,
        "OSQP_MAX_ITER_REACHED": Status.MAX_ITERATIONS,
        "OSQP_TIME_LIMIT_REACHED": Status.TIME_LIMIT,
    }.get(said, Status.NUMERICAL_ERROR)
    x = result.dual_inf_cert if status is Status.DUAL_INFEASIBLE else result.x
    multipliers = result.prim_inf_cert if status is Status.PRIMAL_INFEASIBLE else result.y
    x, y, z = form.recover(x, *split(multipliers))
    return Answer("osqp", status, x, y, z, int(result.info.iter), ready - start, end - ready)


@peer(
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "eps_abs": tol,
        "eps_rel": tol,
        "eps_duality_gap_abs": tol,
        "eps_duality_gap_rel": tol,
        "check_duality_gap": True,
        "eps_primal_inf": tol,
        "eps_dual_inf": tol,
        "max_iter": PROXIMAL_ITERATIONS,
        "verbose": False,
    },
)
def proxsuite(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Answer:
    """ProxQP: equalities, and two-sided rows with the bounds among them."""
    from proxsuite import proxqp

    form = two_sided(program)
    p = form.b.size
    rows, lower, upper, split = stacked(form, equalities=False)
    dense = isinstance(program.P, np.ndarray)
    api = proxqp.dense if dense else proxqp.sparse
    P, A, C = (M.toarray() if dense else M for M in (form.P, form.A, rows))

    start = time.perf_counter()
    solver = api.QP(form.q.size, p, lower.size)
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    solver.init(P, form.q, A, form.b, C, lower, upper)
    ready = time.perf_counter()
    solver.solve()
    end = time.perf_counter()

    result = solver.results
    status = {
        "PROXQP_SOLVED": Status.OPTIMAL,
        "PROXQP_PRIMAL_INFEASIBLE": Status.PRIMAL_INFEASIBLE,
        "PROXQP_DUAL_INFEASIBLE": Status.DUAL_INFEASIBLE,
        "PROXQP_MAX_ITER_REACHED": Status.MAX_ITERATIONS,
    }.get(result.info.status.name, Status.NUMERICAL_ERROR)
    x, y, z = form.recover(result.x, *split(np.concatenate([result.y, result.z])))
    return Answer("proxsuite", status, x, y, z, int(result.info.iter), ready - start, end - ready)


@peer(
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "primal_feasibility_tolerance": max(tol, 1e-10),
        "dual_feasibility_tolerance": max(tol, 1e-10),
        "ipm_optimality_tolerance": max(tol, 1e-12),
        "qp_regularization_value": 1e-10,  # the default, 1e-7, bounds the accuracy of its answers
        "time_limit": limit,
        "threads": threads,
        "output_flag": False,
    },
)
def highspy(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Answer:
    """HiGHS: two-sided rows and bounds as they are; its row and column duals have the opposite sign.

    Version 1.15 calls x = 0 optimal for some programs without rows whose P is singular, and solves the same
    with a row that holds nothing back: a program without rows gets 1'x free.
    """
    import highspy as package

    form = two_sided(program)
    rows, lower, upper, split = stacked(form, bounds=False)
    if not lower.size and form.P.nnz:
        rows, lower, upper = csc32(np.ones((1, form.q.size))), np.array([-np.inf]), np.array([np.inf])
    model = package.HighsModel()
    lp = model.lp_
    lp.num_col_, lp.num_row_ = form.q.size, lower.size
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = form.q, form.lb, form.ub
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = package.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    if form.P.nnz:
        hessian = sp.tril(form.P, format="csc")
        model.hessian_.dim_ = form.q.size
        model.hessian_.format_ = package.HessianFormat.kTriangular
        model.hessian_.start_, model.hessian_.index_ = hessian.indptr, hessian.indices
        model.hessian_.value_ = hessian.data

    solver = package.Highs()
    for name, value in settings.items():
        solver.setOptionValue(name, value)
    start = time.perf_counter()
    solver.passModel(model)
    ready = time.perf_counter()
    solver.run()
    end = time.perf_counter()

    kinds = package.HighsModelStatus
    status = {
        kinds.kOptimal: Status.OPTIMAL,
        kinds.kInfeasible: Status.PRIMAL_INFEASIBLE,
        kinds.kUnbounded: Status.DUAL_INFEASIBLE,
        kinds.kIterationLimit: Status.MAX_ITERATIONS,
        kinds.kTimeLimit: Status.TIME_LIMIT,
    }.get(solver.getModelStatus(), Status.NUMERICAL_ERROR)
    info = solver.getInfo()
    counts = (info.qp_iteration_count, info.simplex_iteration_count, info.ipm_iteration_count)
    iterations = sum(max(count, 0) for count in counts)  # -1 is what did not run
    x, y, z = _highs_point(solver, status, form, rows, split)
    return Answer("highspy", status, x, y, z, iterations, ready - start, end - ready)


def _highs_point(solver: Any, status: Status, form: TwoSided, rows: sp.csc_matrix, split: Any) -> Any:
    """The solution, or for an infeasible program the ray when HiGHS has one."""
    solution = solver.getSolution()
    x: np.ndarray | None = np.array(solution.col_value)
    multipliers = -np.array(solution.row_dual)
    bounds = -np.array(solution.col_dual)
    if status is Status.DUAL_INFEASIBLE:
        _, there, ray = solver.getPrimalRay()
        x = np.array(ray) if there else None
    elif status is Status.PRIMAL_INFEASIBLE:
        _, there, ray = solver.getDualRay()
        if not there:
            return form.recover(x, None, None, None)
        multipliers = -np.array(ray)
        bounds = -(rows.T @ multipliers)
    if multipliers.size != rows.shape[0]:  # HiGHS stopped without a solution
        return form.recover(x, None, None, None)
    multipliers = multipliers[: form.b.size + form.l.size]  # without the row that holds nothing back
    y, z, _ = split(np.concatenate([multipliers, np.zeros(_bounded(form).size)]))
    return form.recover(x, y, z, bounds)


def _bounded(form: TwoSided) -> np.ndarray:
    return np.flatnonzero(np.isfinite(form.lb) | np.isfinite(form.ub))


def stacked(form: TwoSided, equalities: bool = True, bounds: bool = True) -> Any:
    """The rows [A; C; I] with their sides, without the parts not asked for, and a function which
    splits the multipliers of all three parts into (y, z, z_bounds)."""
    n, bounded = form.q.size, _bounded(form)
    parts = [(form.C, form.l, form.u)]
    if equalities:
        parts.insert(0, (form.A, form.b, form.b))
    if bounds:
        parts.append((sp.eye_array(n, format="csr")[bounded], form.lb[bounded], form.ub[bounded]))
    matrices, lower, upper = zip(*parts)
    rows = csc32(sp.vstack(matrices))

    def split(multipliers: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y, z, on_bounds = np.split(np.asarray(multipliers, dtype=float), [form.b.size, form.b.size + form.l.size])
        z_bounds = np.zeros(n)
        z_bounds[bounded] = on_bounds
        return y, z, z_bounds

    return rows, np.concatenate(lower), np.concatenate(upper), split
