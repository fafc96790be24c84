"""The settings of every reference solver, in one place: the same tolerance, one thread, no output."""

from __future__ import annotations

from typing import Any

INTERIOR_POINT_ITERATIONS = 200
FIRST_ORDER_ITERATIONS = 1_000_000
PROXIMAL_ITERATIONS = 10_000


def peer_settings(solver: str, tol: float, time_limit: float | None = None, threads: int = 1) -> dict[str, Any]:
    """The keyword settings of one solver, under the names that it has for them.

    Solvers without a time limit of their own (ecos, cvxopt, qoco, piqp, qtqp, proxsuite) get none; libsvm is held to
    a duality gap of its own (`bench.peers.svm`).
    """
    limit = 1e6 if time_limit is None else float(time_limit)
    table: dict[str, dict[str, Any]] = {
        "clarabel": {
            "tol_gap_abs": tol,
            "tol_gap_rel": tol,
            "tol_feas": tol,
            "tol_infeas_abs": tol,
            "tol_infeas_rel": tol,
            "max_iter": INTERIOR_POINT_ITERATIONS,
            "time_limit": limit,
            "max_threads": threads,
            "verbose": False,
        },
        "ecos": {
            "abstol": tol,
            "reltol": tol,
            "feastol": tol,
            "max_iters": INTERIOR_POINT_ITERATIONS,
            "verbose": False,
        },
        "cvxopt": {
            "abstol": tol,
            "reltol": tol,
            "feastol": tol,
            "maxiters": INTERIOR_POINT_ITERATIONS,
            "show_progress": False,
        },
        "scs": {
            "eps_abs": tol,
            "eps_rel": tol,
            "eps_infeas": tol,
            "max_iters": FIRST_ORDER_ITERATIONS,
            "time_limit_secs": limit,
            "verbose": False,
        },
        "qoco": {"abstol": tol, "reltol": tol, "max_iters": INTERIOR_POINT_ITERATIONS, "verbose": 0},
        "piqp": {
            "eps_abs": tol,
            "eps_rel": tol,
            "eps_duality_gap_abs": tol,
            "eps_duality_gap_rel": tol,
            "check_duality_gap": True,
            "max_iter": INTERIOR_POINT_ITERATIONS,
            "verbose": False,
        },
        "qtqp": {
            "tol_feas": tol,
            "tol_gap_abs": tol,
            "tol_gap_rel": tol,
            "tol_infeas_abs": tol,
            "tol_infeas_rel": tol,
            "max_iter": INTERIOR_POINT_ITERATIONS,
            "verbose": False,
        },
        "osqp": {
            "eps_abs": tol,
            "eps_rel": tol,
            "eps_prim_inf": tol,
            "eps_dual_inf": tol,
            "max_iter": FIRST_ORDER_ITERATIONS,
            "time_limit": limit,
            "verbose": False,
        },
        "highspy": {
            "primal_feasibility_tolerance": max(tol, 1e-10),
            "dual_feasibility_tolerance": max(tol, 1e-10),
            "ipm_optimality_tolerance": max(tol, 1e-12),
            "qp_regularization_value": 1e-10,  # the default, 1e-7, bounds the accuracy of its answers
            "time_limit": limit,
            "threads": threads,
            "output_flag": False,
        },
        "proxsuite": {
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
        "libsvm": {"time_limit": limit},
    }
    return table[solver]
