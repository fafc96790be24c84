"""The output of `verbose`: a header, one line per iteration and a footer, in a notebook one growing table; and
solutions and programs as HTML."""

from __future__ import annotations

import html
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import notebook
from .plot import image

COLUMNS = " iter      primal obj        dual obj    pres    dres     gap    step      mu    sec"
_told = threading.local()  # .sheet: log of the solve that prints in this thread


TITLES = {"active set": "active set", "working set": "active set, rows of P on demand"}


def header(
    plan: Any, tol: float, n: int, p: int, l: int, cones: Sequence[int] | np.ndarray, entries: tuple[int, int]
) -> None:
    """Print the method, the sizes of the program, the plan and the column heads.

    The sizes: `n` variables, `p` equalities, `l` nonnegative rows, the dimensions of the second-order cones, and
    `entries`, the numbers of entries of P and of A and G.
    """
    rows = f"{l} nonnegative rows"
    if len(cones):
        rows += f", {len(cones)} second-order cones (dimensions {min(cones)} to {max(cones)})"
    title = (
        f"centralpath: {TITLES.get(plan.method, 'homogeneous primal-dual interior point')}\n"
        f"  variables {n}, equalities {p}, {rows}\n"
        f"  entries of P {entries[0]}, of A and G {entries[1]}; tol {tol:g}\n"
        f"  plan: {plan}"
    )
    _told.sheet = notebook.Sheet(title, COLUMNS)


def line(record: np.void) -> None:
    """Print one iteration or one round of the active set; NaN is printed as dashes."""
    cells = [f"{record['iteration']:5d}"]
    cells += [_cell(record[name], 15, 8) for name in ("primal_objective", "dual_objective")]
    cells += [_cell(record[name], 7, 1) for name in ("primal_residual", "dual_residual", "gap", "alpha", "mu")]
    _sheet().add(" ".join([*cells, "------" if math.isnan(record["seconds"]) else f"{record['seconds']:6.2f}"]))


def _cell(value: float, width: int, digits: int) -> str:
    return "------".rjust(width) if math.isnan(value) else f"{value:{width}.{digits}e}"


def facts(solution: Any, maximize: bool = False) -> dict[str, str]:
    """Return the facts on a solution as text by name; residuals are relative, as the solver measured them.

    If `maximize`, the objectives are those of the maximization whose negative was minimized.
    """
    found = {"status": f"{solution.status.value}: {solution.message}"}
    if not solution.status.is_infeasible:
        found["objective"] = f"{own_value(solution.objective, maximize):.12g}"
        found["dual objective"] = f"{own_value(solution.dual_objective, maximize):.12g}"
    found["residuals"] = (
        f"primal {solution.primal_residual:.1e}, dual {solution.dual_residual:.1e}, gap {solution.gap:.1e}"
    )
    found["iterations"] = str(solution.iterations)
    found["seconds"] = f"{solution.solve_time:.3g} after {solution.setup_time:.3g} of set-up"
    return found


MAXIMIZED = "maximization, solved as the minimization of the negative objective"


def own_value(objective: float, maximize: bool) -> float:
    """Return the value of the caller's objective, the negative of `objective` for a maximization."""
    return 0.0 - objective if maximize else objective


def footer(solution: Any) -> None:
    """Print the status with its reason, the objectives if there are any, and the other facts in a line."""
    told = facts(solution)
    text = f"{told['status']}\n"
    if "objective" in told:
        text += f"  objective {told['objective']}, dual objective {told['dual objective']}\n"
    end(f"{text}  {told['iterations']} iterations, seconds {told['seconds']}; relative residuals: {told['residuals']}")


def end(text: str) -> None:
    """Print `text` below the table and close the log of this thread's solve."""
    _sheet().finish(text)
    _told.sheet = None


def _sheet() -> notebook.Sheet:
    """Return the log of this thread's solve, or a new one if no header was printed in this thread."""
    if getattr(_told, "sheet", None) is None:
        _told.sheet = notebook.Sheet()
    return _told.sheet  # type: ignore[no-any-return]


def html_table(caption: str, rows: dict[str, Any]) -> str:
    """Return an HTML table with one name and value per row, for `_repr_html_`."""
    cells = "".join(notebook.html_row([name, str(value)], "left") for name, value in rows.items())
    return f"<table><caption style='text-align:left'>{html.escape(caption)}</caption>{cells}</table>"


def html_summary(solution: Any) -> str:
    """Return a solution as an HTML table, followed by its convergence plot if there is one."""
    return f"<div>{html_table('Solution', facts(solution))}{image(solution)}</div>"
