"""What `verbose` prints: a header, one line an iteration, a footer; through `print`, so it shows in notebooks."""

from __future__ import annotations

import numpy as np

from .form import StandardForm
from .solution import Solution

COLUMNS = " iter      primal obj        dual obj    pres    dres     gap    step      mu    sec"


def header(form: StandardForm, kkt_description: str, tol: float) -> None:
    """The sizes, the method of the KKT system, and the heads of the columns."""
    sizes = np.diff(form.ptr)
    cones = f"{form.l} nonnegative rows"
    if sizes.size:
        cones += f", {sizes.size} second-order cones (dimensions {sizes.min()} to {sizes.max()})"
    print("centralpath: homogeneous primal-dual interior point")
    print(f"  variables {form.n}, equalities {form.p}, {cones}")
    print(
        f"  entries of P {form.P.entries}, of A and G {form.M_indices.size}; KKT system: {kkt_description}; tol {tol:g}"
    )
    print(COLUMNS)


def line(record: np.void) -> None:
    """One iteration."""
    step = f"{record['alpha']:7.1e}" if np.isfinite(record["alpha"]) else " ------"
    print(
        f"{record['iteration']:5d} {record['primal_objective']:15.8e} {record['dual_objective']:15.8e} "
        f"{record['primal_residual']:7.1e} {record['dual_residual']:7.1e} {record['gap']:7.1e} {step} "
        f"{record['mu']:7.1e} {record['seconds']:6.2f}"
    )


def footer(solution: Solution) -> None:
    """The status and the reason for it."""
    print(f"{solution.status.value}: {solution.message}")
    if not solution.status.is_infeasible:
        print(f"  objective {solution.objective:.12g}, dual objective {solution.dual_objective:.12g}")
    print(
        f"  {solution.iterations} iterations, {solution.solve_time:.3f} s after {solution.setup_time:.3f} s of set-up; "
        f"relative residuals: primal {solution.primal_residual:.1e}, dual {solution.dual_residual:.1e}, "
        f"gap {solution.gap:.1e}"
    )
