"""Where the time of a solve goes, and how far it is from the least that its method allows.

The floor is the flops of one factorization, as the KKT solver counts them before the first one, at the rate that
dgemm reaches here on one thread, times the factorizations of the run (its iterations and the starting point).  Solves,
residuals and everything else count as free.  The factorization of a small or very sparse matrix cannot reach that
rate, and the figure shows it.
"""

from __future__ import annotations

import html
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from scipy.linalg import blas

import qp
import socp
from socp.problem.solution import TIMINGS

from ..answers.program import engine_of
from ..answers.verify import Program
from ..programs import generate, learning
from ..programs.sets import DataError, read
from . import measurement
from .pairs import shortest
from .report import document, html_table
from .tables import Table, markdown_lines, seconds

PROGRAMS = (
    "svm_dual_rbf_10", "svm_dual_rbf_200", "svm_dual_rbf_2000", "svm_dual_linear_2000", "ea_svm_cubic_800",
    "med_dual_2000", "svm_primal_2000", "svm_primal_documents_300", "bilevel_300", "lasso_500", "portfolio_2000",
    "group_lasso_500", "robust_least_squares_500", "robust_kalman_1000", "enclosing_ball_1000", "mpc_300",
)  # fmt: skip
"""One program of each kind, by class and size."""
RUNS = 3


CLASSES: dict[str, Callable[[int, int], Program]] = {**generate.CLASSES, **learning.CLASSES}


def names(wanted: str | None = None) -> tuple[str, ...]:
    """Return the names of the programs to look at: `PROGRAMS`, or the comma-separated names in `wanted`.

    Examples
    --------
    >>> names("lasso_50,mpc_20")
    ('lasso_50', 'mpc_20')
    """
    if wanted is None:
        return PROGRAMS
    found = tuple(name.strip() for name in wanted.split(","))
    for name in found:
        group, _, size = name.rpartition("_")
        if group not in CLASSES or not size.isdecimal() or int(size) < 2:
            raise DataError(
                f"there is no program {name!r}; a program is CLASS_SIZE as lasso_50, with a size from 2 on "
                f"and one of the classes {', '.join(CLASSES)}"
            )
    return found


def dgemm_rate(order: int = 1000) -> float:
    """Return the flops per second of dgemm, the best of five."""
    A = np.asfortranarray(np.random.default_rng(0).normal(size=(order, order)))
    return 2.0 * order**3 / shortest(lambda: blas.dgemm(1.0, A, A), 5)[0]


def measured(name: str) -> tuple[qp.Solution | socp.Solution, qp.Solver | socp.Solver]:
    """Return the solution with the median time of `RUNS` solves, each with its own set-up, and the last solver."""
    group, size = name.rsplit("_", 1)
    program = CLASSES[group](int(size), 0)
    solutions = []
    for _ in range(RUNS):
        solver = engine_of(program).Solver(program)
        solutions.append(solver.solve())
    seconds = [solution.setup_time + solution.solve_time for solution in solutions]
    return solutions[seconds.index(statistics.median(seconds))], solver


def row(name: str, rate: float) -> list[str]:
    """Return one program's row: total ms, iterations, each part's share, the floor, and total / floor."""
    solution, solver = measured(name)
    total = solution.setup_time + solution.solve_time
    shares = [f"{100.0 * solution.timings[part] / total:.0f}" for part in TIMINGS]
    method = "" if solution.plan is None else solution.plan.method
    if method.endswith("active set"):  # no floor, as it factors faces of many sizes
        return [name, method, f"{1e3 * total:.3g}", str(solution.iterations), *shares, "-", "-"]
    cone_solver = solver.cone_solver if isinstance(solver, qp.Solver) else solver
    floor = cone_solver.kkt.flops / rate * (solution.iterations + 1)
    distance = f"{total / floor:.1f}" if floor > 0.0 else "-"
    method = cone_solver.kkt.description.split(",")[0]
    return [name, method, f"{1e3 * total:.3g}", str(solution.iterations), *shares, f"{1e3 * floor:.3g}", distance]


def table(names: Iterable[str]) -> str:
    """Return a Markdown table of the programs, in milliseconds and percent, headed by machine and versions."""
    rate, versions, machine = dgemm_rate(), measurement.versions([]), measurement.hardware()
    commit = versions["commit"] or "no commit"
    about = f"{machine['processor']}, Python {machine['python']}, {versions['date']}, {commit}"
    head = ["program", "KKT systems", "ms", "iterations", *(f"{part} %" for part in TIMINGS), "floor ms", "ms / floor"]
    lines = markdown_lines([head, *(row(name, rate) for name in names)])
    return "\n".join([f"{about}; dgemm: {rate / 1e9:.0f} Gflop/s on one thread", "", *lines])


def page(file: str | Path) -> str:
    """Return a page in HTML on the solve of one program: plan, parts of the time, convergence, and the trace."""
    program = read(file)
    solution = engine_of(program).Solver(program).solve()
    total = solution.setup_time + solution.solve_time
    parts = [[part, seconds(spent), f"{100.0 * spent / total:.0f}"] for part, spent in solution.timings.items()]
    trace = solution.trace
    rows = [[f"{value:.3g}" for value in record] for record in trace.tolist()]
    title = f"centralpath: anatomy of {Path(file).name}"
    body = [
        f"<h1>{html.escape(title)}</h1>", f"<pre>{html.escape(repr(program))}\n{html.escape(str(solution.plan))}</pre>",
        solution._repr_html_(), html_table(Table("Time", ["part", "time", "%"], parts)),
        html_table(Table("Trace", list(trace.dtype.names or ()), rows)),
    ]  # fmt: skip
    return document(title, body)
