"""Adapters of the solvers that take equalities and cones; they take quadratic programs in the one-sided form."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp import Status

from ..answers.answer import Answer
from .forms import one_sided, with_linear_objective
from .peer import CONE, FIRST_ORDER_ITERATIONS, INTERIOR_POINT_ITERATIONS, QUADRATIC, peer


@peer(
    CONE,
    QUADRATIC,
    settings=lambda tol, limit, threads: {
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
)
def clarabel(program: Any, settings: dict[str, Any]) -> Answer:
    """Clarabel: A x + s = b with the zero cone first, z of all rows."""
    import clarabel as package

    form = one_sided(program)
    p, n = form.b.size, form.c.size
    P = sp.csc_matrix((n, n)) if form.P is None else sp.triu(form.P, format="csc")
    cones = [package.ZeroConeT(p), package.NonnegativeConeT(form.nonneg)]
    cones += [package.SecondOrderConeT(dim) for dim in form.second_order]
    options = package.DefaultSettings()
    for name, value in settings.items():
        setattr(options, name, value)
    rows, sides = sp.vstack([form.A, form.G], format="csc"), np.concatenate([form.b, form.h])

    start = time.perf_counter()
    solver = package.DefaultSolver(P, form.c, rows, sides, cones, options)
    ready = time.perf_counter()
    result = solver.solve()
    end = time.perf_counter()

    status = {
        "Solved": Status.OPTIMAL,
        "AlmostSolved": Status.INACCURATE,
        "PrimalInfeasible": Status.PRIMAL_INFEASIBLE,
        "AlmostPrimalInfeasible": Status.PRIMAL_INFEASIBLE,
        "DualInfeasible": Status.DUAL_INFEASIBLE,
        "AlmostDualInfeasible": Status.DUAL_INFEASIBLE,
        "MaxIterations": Status.MAX_ITERATIONS,
        "MaxTime": Status.TIME_LIMIT,
    }.get(str(result.status), Status.NUMERICAL_ERROR)
    duals = np.array(result.z)
    x, y, z = form.recover(result.x, duals[:p], duals[p:])
    return Answer("clarabel", status, x, y, z, result.iterations, ready - start, end - ready)


@peer(
    CONE,
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "abstol": tol,
        "reltol": tol,
        "feastol": tol,
        "max_iters": INTERIOR_POINT_ITERATIONS,
        "verbose": False,
    },
)
def ecos(program: Any, settings: dict[str, Any]) -> Answer:
    """ECOS: the project's own cone form, without P.

    A quadratic objective goes in as a cone, whose multipliers give Px only to the square root of the tolerance.
    So that most such answers pass the common verification, ECOS is then asked for tol^(5/4), which costs it
    one to three iterations.
    """
    import ecos as package

    form = one_sided(program)
    if form.P is not None:
        form = with_linear_objective(form)
        tightened = {name: settings[name] ** 1.25 for name in ("abstol", "reltol", "feastol")}
        settings = {**settings, **tightened}
    dims = {"l": form.nonneg, "q": form.second_order}
    rows = (form.G, form.h) if form.h.size else (None, None)
    equalities = {"A": form.A, "b": form.b} if form.b.size else {}

    start = time.perf_counter()
    result = package.solve(form.c, *rows, dims, **equalities, **settings)
    end = time.perf_counter()

    info = result["info"]
    status = {
        0: Status.OPTIMAL,
        10: Status.INACCURATE,
        1: Status.PRIMAL_INFEASIBLE,
        11: Status.PRIMAL_INFEASIBLE,
        2: Status.DUAL_INFEASIBLE,
        12: Status.DUAL_INFEASIBLE,
        -1: Status.MAX_ITERATIONS,
    }.get(info["exitFlag"], Status.NUMERICAL_ERROR)
    setup = min(float(info["timing"]["tsetup"]), end - start)
    y = result["y"] if form.b.size else np.zeros(0)
    x, y, z = form.recover(result["x"], y, result["z"])
    return Answer("ecos", status, x, y, z, int(info["iter"]), setup, end - start - setup)


@peer(
    CONE,
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "abstol": tol,
        "reltol": tol,
        "feastol": tol,
        "maxiters": INTERIOR_POINT_ITERATIONS,
        "show_progress": False,
    },
)
def cvxopt(program: Any, settings: dict[str, Any]) -> Answer:
    """CVXOPT: conelp without P, which knows certificates; coneqp with P, which does not.

    Without inequalities and with a singular P version 1.3 calls points optimal that do not hold the equalities; it
    solves the same with 0'x <= 1, which is given to it then.
    """
    from cvxopt import matrix, solvers, spmatrix

    def sparse(M: Any) -> Any:
        M = M.tocoo()
        return spmatrix(M.data.tolist(), M.row.tolist(), M.col.tolist(), M.shape)

    form = one_sided(program)
    G, h, nonneg = form.G, form.h, form.nonneg
    if not h.size:
        G, h, nonneg = sp.csc_matrix((1, form.c.size)), np.ones(1), 1
    dims = {"l": nonneg, "q": form.second_order, "s": []}
    data = (sparse(G), matrix(h), dims, sparse(form.A), matrix(form.b))
    P = None if form.P is None else sparse(form.P)

    start = time.perf_counter()
    if P is None:
        result = solvers.conelp(matrix(form.c), *data, options=settings)
    else:
        result = solvers.coneqp(P, matrix(form.c), *data, options=settings)
    end = time.perf_counter()

    iterations = int(result["iterations"])
    status = {
        "optimal": Status.OPTIMAL,
        "primal infeasible": Status.PRIMAL_INFEASIBLE,
        "dual infeasible": Status.DUAL_INFEASIBLE,
    }.get(result["status"])
    if status is None:
        status = Status.MAX_ITERATIONS if iterations >= settings["maxiters"] else Status.NUMERICAL_ERROR
    x, y, z = (None if result[name] is None else np.array(result[name]) for name in "xyz")
    x, y, z = form.recover(x, y, None if z is None else z[: form.h.size])
    return Answer("cvxopt", status, x, y, z, iterations, 0.0, end - start)


@peer(
    CONE,
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "eps_abs": tol,
        "eps_rel": tol,
        "eps_infeas": tol,
        "max_iters": FIRST_ORDER_ITERATIONS,
        "time_limit_secs": limit,
        "verbose": False,
    },
)
def scs(program: Any, settings: dict[str, Any]) -> Answer:
    """SCS: A x + s = b, zero cone first; y of all rows."""
    import scs as package

    form = one_sided(program)
    p = form.b.size
    data = {
        "A": sp.vstack([form.A, form.G], format="csc"),
        "b": np.concatenate([form.b, form.h]),
        "c": form.c,
    }
    if form.P is not None:
        data["P"] = sp.triu(form.P, format="csc")

    start = time.perf_counter()
    solver = package.SCS(data, {"z": p, "l": form.nonneg, "q": form.second_order}, **settings)
    ready = time.perf_counter()
    result = solver.solve()
    end = time.perf_counter()

    info = result["info"]
    status = {
        1: Status.OPTIMAL,
        2: Status.INACCURATE,
        -2: Status.PRIMAL_INFEASIBLE,
        -7: Status.PRIMAL_INFEASIBLE,
        -1: Status.DUAL_INFEASIBLE,
        -6: Status.DUAL_INFEASIBLE,
    }.get(info["status_val"], Status.NUMERICAL_ERROR)
    if status is Status.INACCURATE:  # SCS says so when a limit ends the run
        limit = info["iter"] >= settings["max_iters"]
        status = Status.MAX_ITERATIONS if limit else Status.TIME_LIMIT
    x, y, z = form.recover(result["x"], result["y"][:p], result["y"][p:])
    return Answer("scs", status, x, y, z, int(info["iter"]), ready - start, end - ready)


@peer(
    CONE,
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "abstol": tol,
        "reltol": tol,
        "max_iters": INTERIOR_POINT_ITERATIONS,
        "verbose": 0,
    },
)
def qoco(program: Any, settings: dict[str, Any]) -> Answer:
    """QOCO: the project's own cone form with P; it has no certificates."""
    import qoco as package

    form = one_sided(program)
    n, m, p = form.c.size, form.h.size, form.b.size
    rows = (form.G, form.h) if m else (None, None)
    equalities = (form.A, form.b) if p else (None, None)
    dims = np.array(form.second_order, dtype=np.int32)

    start = time.perf_counter()
    solver = package.QOCO()
    solver.setup(n, m, p, form.P, form.c, *equalities, *rows, form.nonneg, dims.size, dims, **settings)
    ready = time.perf_counter()
    result = solver.solve()
    end = time.perf_counter()

    status = {
        "QOCO_SOLVED": Status.OPTIMAL,
        "QOCO_SOLVED_INACCURATE": Status.INACCURATE,
        "QOCO_MAX_ITER": Status.MAX_ITERATIONS,
    }.get(result.status, Status.NUMERICAL_ERROR)
    x, y, z = form.recover(result.x, result.y if p else np.zeros(0), result.z if m else np.zeros(0))
    return Answer("qoco", status, x, y, z, int(result.iters), ready - start, end - ready)


@peer(
    QUADRATIC,
    settings=lambda tol, limit, threads: {
        "tol_feas": tol,
        "tol_gap_abs": tol,
        "tol_gap_rel": tol,
        "tol_infeas_abs": tol,
        "tol_infeas_rel": tol,
        "max_iter": INTERIOR_POINT_ITERATIONS,
        "verbose": False,
    },
)
def qtqp(program: Any, settings: dict[str, Any]) -> Answer:
    """QTQP: a x + s = b, equalities first, no second-order cones; y of all rows."""
    import qtqp as package

    form = one_sided(program)
    p = form.b.size
    rows, sides = sp.vstack([form.A, form.G], format="csc"), np.concatenate([form.b, form.h])

    start = time.perf_counter()
    solver = package.QTQP(a=rows, b=sides, c=form.c, z=p, p=form.P)
    ready = time.perf_counter()
    result = solver.solve(**settings)
    end = time.perf_counter()

    status = {
        "solved": Status.OPTIMAL,
        "almost_solved": Status.INACCURATE,
        "infeasible": Status.PRIMAL_INFEASIBLE,
        "unbounded": Status.DUAL_INFEASIBLE,
        "hit_max_iter": Status.MAX_ITERATIONS,
    }.get(result.status.value, Status.NUMERICAL_ERROR)
    x, y, z = form.recover(result.x, result.y[:p], result.y[p:])
    return Answer("qtqp", status, x, y, z, result.iterations, ready - start, end - ready)
