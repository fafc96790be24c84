"""Adapters of the solvers that take equalities and cones; they take quadratic programs in the one-sided form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .forms import one_sided, with_linear_objective
from .peer import CONE, FIRST_ORDER_ITERATIONS, INTERIOR_POINT_ITERATIONS, QUADRATIC, Asked, peer


@peer(
    CONE, QUADRATIC, tolerances="tol_gap_abs tol_gap_rel tol_feas tol_infeas_abs tol_infeas_rel",
    time_limit="time_limit", threads="max_threads", max_iter=INTERIOR_POINT_ITERATIONS, verbose=False,
)  # fmt: skip
def clarabel(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a program for Clarabel: A x + s = b with the zero cone first, z of all rows."""
    import clarabel as package

    form = one_sided(program)
    p, n = form.b.size, form.c.size
    P = sp.csc_matrix((n, n)) if form.P is None else sp.triu(form.P, format="csc")
    cones = [package.ZeroConeT(p), package.NonnegativeConeT(form.nonneg)]
    cones += [package.SecondOrderConeT(dim) for dim in form.second_order]
    options = package.DefaultSettings()
    for name, value in settings.items():
        setattr(options, name, value)
    rows, sides = form.stacked()

    def read(solver: Any, found: Any) -> Any:
        z = np.array(found.z)
        return str(found.status), found.iterations, form.recover(found.x, z[:p], z[p:])

    return Asked(
        setup=lambda: package.DefaultSolver(P, form.c, rows, sides, cones, options),
        solve=lambda solver: solver.solve(),
        read=read,
        update=lambda solver, c: solver.update(q=c),
    )


@peer(CONE, QUADRATIC, tolerances="abstol reltol feastol", max_iters=INTERIOR_POINT_ITERATIONS, verbose=False)
def ecos(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a program for ECOS: the project's own cone form without P; one call sets up and solves.

    A quadratic objective becomes a cone, whose multipliers give Px only to the square root of the tolerance.
    So that most such answers pass the common verification, the tolerance is then tol^(5/4), which costs ECOS
    one to three iterations.
    """
    import ecos as package

    form = one_sided(program)
    if form.P is not None:
        form = with_linear_objective(form)
        settings = settings | {name: settings[name] ** 1.25 for name in ("abstol", "reltol", "feastol")}
    dims = {"l": form.nonneg, "q": form.second_order}
    rows = (form.G, form.h) if form.h.size else (None, None)
    equalities = {"A": form.A, "b": form.b} if form.b.size else {}

    def read(solver: Any, found: Any) -> Any:
        y = found["y"] if form.b.size else np.zeros(0)
        return f"ecos:{found['info']['exitFlag']}", found["info"]["iter"], form.recover(found["x"], y, found["z"])

    return Asked(lambda: None, lambda _: package.solve(form.c, *rows, dims, **equalities, **settings), read)


@peer(CONE, QUADRATIC, tolerances="abstol reltol feastol", maxiters=INTERIOR_POINT_ITERATIONS, show_progress=False)
def cvxopt(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a program for CVXOPT: conelp without P, which returns certificates; coneqp with P, which does not.

    Without inequalities and with a singular P, version 1.3 reports points as optimal that violate the equalities, but
    solves the program with a row 0'x <= 1.  A program without inequalities therefore gets this row.
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
    data = (matrix(form.c), sparse(G), matrix(h), dims, sparse(form.A), matrix(form.b))
    P = None if form.P is None else sparse(form.P)

    def solve(_: Any) -> Any:
        if P is None:
            return solvers.conelp(*data, options=settings)
        return solvers.coneqp(P, *data, options=settings)

    def read(solver: Any, found: Any) -> Any:
        word, iterations = found["status"].replace(" ", ":"), int(found["iterations"])
        if word == "unknown" and iterations >= settings["maxiters"]:
            word = "max_iters"
        x, y, z = (None if found[name] is None else np.array(found[name]) for name in "xyz")
        return word, iterations, form.recover(x, y, None if z is None else z[: form.h.size])

    return Asked(lambda: None, solve, read)


@peer(
    CONE, QUADRATIC, tolerances="eps_abs eps_rel eps_infeas", time_limit="time_limit_secs",
    max_iters=FIRST_ORDER_ITERATIONS, verbose=False,
)  # fmt: skip
def scs(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a program for SCS: A x + s = b, zero cone first; y of all rows; "inaccurate" at a limit."""
    import scs as package

    form = one_sided(program)
    p = form.b.size
    A, b = form.stacked()
    data = {"A": A, "b": b, "c": form.c}
    if form.P is not None:
        data["P"] = sp.triu(form.P, format="csc")

    def read(solver: Any, found: Any) -> Any:
        info = found["info"]
        word = f"scs:{info['status_val']}"
        if word == "scs:2" and info["iter"] >= settings["max_iters"]:
            word = "max_iters"
        return word, info["iter"], form.recover(found["x"], found["y"][:p], found["y"][p:])

    return Asked(
        setup=lambda: package.SCS(data, {"z": p, "l": form.nonneg, "q": form.second_order}, **settings),
        solve=lambda solver: solver.solve(warm_start=False),
        read=read,
        update=lambda solver, c: solver.update(c=c),
    )


@peer(CONE, QUADRATIC, tolerances="abstol reltol", max_iters=INTERIOR_POINT_ITERATIONS, verbose=0)
def qoco(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a program for QOCO: the project's own cone form with P; it has no certificates."""
    import qoco as package

    form = one_sided(program)
    n, m, p = form.c.size, form.h.size, form.b.size
    rows = (form.G, form.h) if m else (None, None)
    equalities = (form.A, form.b) if p else (None, None)
    dims = np.array(form.second_order, dtype=np.int32)

    def setup() -> Any:
        solver = package.QOCO()
        solver.setup(n, m, p, form.P, form.c, *equalities, *rows, form.nonneg, dims.size, dims, **settings)
        return solver

    def read(solver: Any, found: Any) -> Any:
        y, z = found.y if p else np.zeros(0), found.z if m else np.zeros(0)
        return found.status, found.iters, form.recover(found.x, y, z)

    return Asked(setup, lambda solver: solver.solve(), read, lambda solver, c: solver.update_vector_data(c=c))


@peer(
    QUADRATIC, tolerances="tol_feas tol_gap_abs tol_gap_rel tol_infeas_abs tol_infeas_rel",
    max_iter=INTERIOR_POINT_ITERATIONS, verbose=False,
)  # fmt: skip
def qtqp(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a program for QTQP: a x + s = b, equalities first, no second-order cones; y of all rows."""
    import qtqp as package

    form = one_sided(program)
    p = form.b.size
    rows, sides = form.stacked()

    def read(solver: Any, found: Any) -> Any:
        return found.status.value, found.iterations, form.recover(found.x, found.y[:p], found.y[p:])

    setup = {"a": rows, "b": sides, "c": form.c, "z": p, "p": form.P}
    return Asked(lambda: package.QTQP(**setup), lambda solver: solver.solve(**settings), read)
