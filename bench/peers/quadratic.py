"""Adapters of the solvers that take two-sided rows and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp

from .forms import TwoSided, csc32, two_sided
from .peer import (
    FIRST_ORDER_ITERATIONS,
    INTERIOR_POINT_ITERATIONS,
    PROXIMAL_ITERATIONS,
    QUADRATIC,
    Asked,
    peer,
    silent_output,
)


@peer(
    QUADRATIC, tolerances="eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel", check_duality_gap=True,
    max_iter=INTERIOR_POINT_ITERATIONS, verbose=False,
)  # fmt: skip
def piqp(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Asked:
    """Translate a program for PIQP: equalities, two-sided rows, bounds; a multiplier >= 0 for each side."""
    import piqp as package

    form = two_sided(program)
    dense = isinstance(program.P, np.ndarray)
    solver = package.DenseSolver() if dense else package.SparseSolver()
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    P, A, C = (M.toarray(order="F") if dense else M for M in (form.P, form.A, form.C))

    def setup() -> Any:
        solver.setup(P, form.q, A, form.b, C, form.l, form.u, form.lb, form.ub)
        return solver

    def read(solver: Any, said: Any) -> Any:
        found = solver.result
        point = form.recover(found.x, found.y, found.z_u - found.z_l, found.z_bu - found.z_bl)
        return said.name, found.info.iter, point

    def follow(changed: qp.QuadraticProgram) -> Any:
        new = two_sided(changed)
        data = {"c": new.q, "b": new.b, "h_l": new.l, "h_u": new.u, "x_l": new.lb, "x_u": new.ub}
        return lambda solver: solver.update(**data)

    update = lambda solver, c=None, b=None: solver.update(c=c, b=b)  # noqa: E731
    return Asked(setup, lambda solver: solver.solve(), read, update, follow)


@peer(
    QUADRATIC, tolerances="eps_abs eps_rel eps_prim_inf eps_dual_inf", time_limit="time_limit",
    max_iter=FIRST_ORDER_ITERATIONS, verbose=False,
)  # fmt: skip
def osqp(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Asked:
    """Translate a program for OSQP: l <= A x <= u with the bounds as further rows; y has the project's signs."""
    import osqp as package

    form = two_sided(program)
    rows, lower, upper, split = stacked(form)
    P = sp.triu(form.P, format="csc")

    def setup() -> Any:
        solver = package.OSQP()
        solver.setup(P, form.q, rows, lower, upper, **settings)
        return solver

    def read(solver: Any, found: Any) -> Any:
        word = package.SolverStatus(found.info.status_val).name
        x = found.dual_inf_cert if word == "OSQP_DUAL_INFEASIBLE" else found.x
        multipliers = found.prim_inf_cert if word == "OSQP_PRIMAL_INFEASIBLE" else found.y
        return word, found.info.iter, form.recover(x, *split(multipliers))

    solve = lambda solver: solver.solve(raise_error=False)  # noqa: E731

    def update(solver: Any, c: Any = None, b: Any = None) -> None:
        if b is None:
            solver.update(q=c)
        else:
            solver.update(l=np.concatenate([b, lower[b.size :]]), u=np.concatenate([b, upper[b.size :]]))

    def follow(changed: qp.QuadraticProgram) -> Any:
        new = two_sided(changed)
        _, l, u, _ = stacked(new)
        return lambda solver: solver.update(q=new.q, l=l, u=u)

    return Asked(setup, solve, read, update, follow)


@peer(QUADRATIC, tolerances="eps_abs eps_rel eps_prim_inf eps_dual_inf", time_limit="time_limit",
      max_iter=PROXIMAL_ITERATIONS, verbose=False)  # fmt: skip
def qpalm(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Asked:
    """Translate a program for QPALM: l <= A x <= u with the bounds as further rows; y has the project's signs."""
    import qpalm as package

    form, own = two_sided(program), package.Settings()
    rows, lower, upper, split = stacked(form)
    for name, value in settings.items():
        setattr(own, name, value)
    data = package.Data(form.q.size, lower.size)
    data.Q, data.q, data.A, data.bmin, data.bmax = form.P, form.q, rows, lower, upper

    def read(solver: Any, _: Any) -> Any:
        status, found = solver.info.status_val, solver.solution
        x = solver.dual_inf_certificate if status == solver.info.DUAL_INFEASIBLE else found.x
        multipliers = solver.prim_inf_certificate if status == solver.info.PRIMAL_INFEASIBLE else found.y
        return f"qpalm:{status}", solver.info.iter, form.recover(x, *split(multipliers))

    def follow(changed: qp.QuadraticProgram) -> Any:
        new = two_sided(changed)
        _, l, u, _ = stacked(new)

        def take(solver: Any) -> None:
            found = solver.solution
            x, y = found.x.copy(), found.y.copy()
            solver.update_q(new.q)
            solver.update_bounds(l, u)
            if np.isfinite(x).all() and np.isfinite(y).all():
                solver.warm_start(x, y)

        return take

    return Asked(lambda: package.Solver(data, own), lambda solver: solver.solve(), read, follow=follow)


@peer(
    QUADRATIC, tolerances="eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel eps_primal_inf eps_dual_inf",
    check_duality_gap=True, max_iter=PROXIMAL_ITERATIONS, verbose=False,
)  # fmt: skip
def proxsuite(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Asked:
    """Translate a program for ProxQP: equalities, and two-sided rows that include the bounds."""
    from proxsuite import proxqp

    form = two_sided(program)
    rows, lower, upper, split = stacked(form, equalities=False)
    dense = isinstance(program.P, np.ndarray)
    api = proxqp.dense if dense else proxqp.sparse
    P, A, C = (M.toarray() if dense else M for M in (form.P, form.A, rows))

    def setup() -> Any:
        solver = api.QP(form.q.size, form.b.size, lower.size)
        for name, value in settings.items():
            setattr(solver.settings, name, value)
        solver.init(P, form.q, A, form.b, C, lower, upper)
        return solver

    def read(solver: Any, _: Any) -> Any:
        found = solver.results
        point = form.recover(found.x, *split(np.concatenate([found.y, found.z])))
        return found.info.status.name, found.info.iter, point

    return Asked(setup, lambda solver: solver.solve(), read)


@peer(
    QUADRATIC,
    tolerances={
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
        "ipm_optimality_tolerance": 1e-12,
    },
    time_limit="time_limit",
    threads="threads",
    qp_regularization_value=1e-10,  # The default, 1e-7, limits the accuracy of answers.
    output_flag=False,
)
def highspy(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Asked:
    """Translate a program for HiGHS: two-sided rows and bounds; its row and column duals have the opposite sign.

    Version 1.15 reports x = 0 as optimal for some programs with a singular P and without rows, but solves them
    with a free row: a program without rows gets the free row 1'x.
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

    with silent_output():  # Version 1.16 prints a banner before it can be told not to.
        solver = package.Highs()
    for name, value in settings.items():
        solver.setOptionValue(name, value)

    def setup() -> Any:
        solver.passModel(model)
        return solver

    def read(solver: Any, _: Any) -> Any:
        word, info = solver.getModelStatus().name, solver.getInfo()
        counts = (info.qp_iteration_count, info.simplex_iteration_count, info.ipm_iteration_count)
        iterations = sum(max(count, 0) for count in counts)  # -1 for a method that did not run
        return word, iterations, _highs_point(solver, word, form, rows, split)

    return Asked(setup, lambda solver: solver.run(), read)


def _highs_point(solver: Any, word: str, form: TwoSided, rows: sp.csc_matrix, split: Any) -> Any:
    """Return the solution, or for an infeasible or unbounded program the ray if HiGHS has one."""
    solution = solver.getSolution()
    x: np.ndarray | None = np.array(solution.col_value)
    multipliers = -np.array(solution.row_dual)
    bounds = -np.array(solution.col_dual)
    if word == "kUnbounded":
        _, there, ray = solver.getPrimalRay()
        x = np.array(ray) if there else None
    elif word == "kInfeasible":
        _, there, ray = solver.getDualRay()
        if not there:
            return form.recover(x, None, None, None)
        multipliers = -np.array(ray)
        bounds = -(rows.T @ multipliers)
    if multipliers.size != rows.shape[0]:  # HiGHS stopped without a solution
        return form.recover(x, None, None, None)
    multipliers = multipliers[: form.b.size + form.l.size]  # without the free row
    y, z, _ = split(np.concatenate([multipliers, np.zeros(_bounded(form).size)]))
    return form.recover(x, y, z, bounds)


@peer(tolerances="primal_tol")
def daqp(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Asked:
    """Translate a program for DAQP: bounds and two-sided rows, equalities marked; for small programs and batches."""
    import daqp as package

    n, A = program.n, np.ascontiguousarray(program.A.toarray())
    P = program.P if isinstance(program.P, np.ndarray) else program.P.toarray()
    upper, lower = np.concatenate([program.ub, program.u]), np.concatenate([program.lb, program.l])
    sense = np.where(upper == lower, 5, 0).astype(np.int32)

    def setup() -> Any:
        model = package.Model()
        model.settings = {**model.settings, **settings}
        model.setup(P, program.q, A, upper, lower, sense)
        return model

    def read(model: Any, found: Any) -> Any:
        multipliers = np.array(found[3]["lam"])
        return f"daqp:{found[2]}", found[3]["iterations"], (np.array(found[0]), multipliers[n:], multipliers[:n])

    def update(model: Any, c: Any = None, b: Any = None) -> None:
        above, below = (None if b is None else np.concatenate([bounds, b]) for bounds in (program.ub, program.lb))
        model.update(f=c, bupper=above, blower=below)

    def follow(changed: qp.QuadraticProgram) -> Any:
        above, below = np.concatenate([changed.ub, changed.u]), np.concatenate([changed.lb, changed.l])
        return lambda model: model.update(f=changed.q, bupper=above, blower=below)

    return Asked(setup, lambda model: model.solve(), read, update, follow)


def _bounded(form: TwoSided) -> np.ndarray:
    return np.flatnonzero(np.isfinite(form.lb) | np.isfinite(form.ub))


def stacked(form: TwoSided, equalities: bool = True, bounds: bool = True) -> Any:
    """Return the wanted rows of [A; C; I], their sides, and a function to split multipliers into (y, z, z_bounds)."""
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
