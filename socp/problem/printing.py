"""What `verbose` prints: a header, one line an iteration, a footer, in a notebook as one table that grows; and how
solutions and programs look there."""

from __future__ import annotations

import html
import threading
from typing import Any

import numpy as np

from . import notebook

COLUMNS = " iter      primal obj        dual obj    pres    dres     gap    step      mu    sec"
_told = threading.local()  # .sheet: of the solve that prints in this thread


def header(form: Any, plan: str, tol: float) -> None:
    """The sizes, the plan, and the heads of the columns."""
    sizes = np.diff(form.ptr)
    cones = f"{form.l} nonnegative rows"
    if sizes.size:
        cones += f", {sizes.size} second-order cones (dimensions {sizes.min()} to {sizes.max()})"
    title = (
        "centralpath: homogeneous primal-dual interior point\n"
        f"  variables {form.n}, equalities {form.p}, {cones}\n"
        f"  entries of P {form.P.entries}, of A and G {form.M_indices.size}; tol {tol:g}\n"
        f"  plan: {plan}"
    )
    _told.sheet = notebook.Sheet(title, COLUMNS)


def line(record: np.void) -> None:
    """One iteration."""
    step = f"{record['alpha']:7.1e}" if np.isfinite(record["alpha"]) else " ------"
    _sheet().add(
        f"{record['iteration']:5d} {record['primal_objective']:15.8e} {record['dual_objective']:15.8e} "
        f"{record['primal_residual']:7.1e} {record['dual_residual']:7.1e} {record['gap']:7.1e} {step} "
        f"{record['mu']:7.1e} {record['seconds']:6.2f}"
    )


def footer(solution: Any) -> None:
    """The status and the reason for it."""
    text = f"{solution.status.value}: {solution.message}\n"
    if not solution.status.is_infeasible:
        text += f"  objective {solution.objective:.12g}, dual objective {solution.dual_objective:.12g}\n"
    text += (
        f"  {solution.iterations} iterations, {solution.solve_time:.3f} s after {solution.setup_time:.3f} s of set-up; "
        f"relative residuals: primal {solution.primal_residual:.1e}, dual {solution.dual_residual:.1e}, "
        f"gap {solution.gap:.1e}"
    )
    _sheet().finish(text)
    _told.sheet = None


def _sheet() -> notebook.Sheet:
    """That of this thread's solve; a new one where its header was shown elsewhere or not at all."""
    if getattr(_told, "sheet", None) is None:
        _told.sheet = notebook.Sheet()
    return _told.sheet  # type: ignore[no-any-return]


def html_table(caption: str, rows: dict[str, Any]) -> str:
    """A name and a value a row, for `_repr_html_`."""
    cells = "".join(notebook.html_row([name, str(value)], "left") for name, value in rows.items())
    return f"<table><caption style='text-align:left'>{html.escape(caption)}</caption>{cells}</table>"


def html_summary(solution: Any) -> str:
    """A solution of a cone program or of a quadratic program as a table, with its convergence where it can be drawn."""
    rows = {"status": f"{solution.status.value}: {solution.message}"}
    if not solution.status.is_infeasible:
        rows["objective"] = f"{solution.objective:.12g}"
        rows["dual objective"] = f"{solution.dual_objective:.12g}"
    rows["relative residuals"] = (
        f"primal {solution.primal_residual:.1e}, dual {solution.dual_residual:.1e}, gap {solution.gap:.1e}"
    )
    rows["iterations"] = str(solution.iterations)
    rows["seconds"] = f"{solution.solve_time:.3g} after {solution.setup_time:.3g} of set-up"
    return f"<div>{html_table('Solution', rows)}{notebook.convergence(solution.trace)}</div>"
