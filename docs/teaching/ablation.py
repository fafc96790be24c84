"""Ablation of the textbook method: iterations of `socp.textbook` with one part left out at a time.

The programs are the generated classes at sizes for dense matrices, and three kinds that are hard on purpose: a
duplicate equation, two nearly equal equations, and units that differ by many orders of magnitude.
``python -m docs.teaching.ablation`` prints the table for the named programs, or for all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import fields, replace

import numpy as np
import scipy.sparse as sp

import qp
import socp
from bench.answers.program import changed
from bench.compare.tables import Table
from bench.programs import generate
from qp.reduce.cone_form import ConeForm
from socp.textbook import Switches, solve
from socp.textbook.switches import dense

WHOLE = Switches(equilibration=True)
PARTS = tuple(field.name for field in fields(Switches))


def as_cone_program(program: qp.QuadraticProgram | socp.ConeProgram) -> socp.ConeProgram:
    """Return the program in cone form, which the textbook solver takes."""
    return program if isinstance(program, socp.ConeProgram) else ConeForm(program).program(program)


def redundant(size: int, seed: int = 0) -> socp.ConeProgram:
    """Return `generate.portfolio` with its equation twice: the KKT matrix is singular, LDL' meets a zero pivot."""
    program = as_cone_program(generate.portfolio(size, seed))
    return _with_equations(program, program.A.toarray(), program.b)


def nearly_redundant(size: int, seed: int = 0) -> socp.ConeProgram:
    """Return `generate.portfolio` with a copy of its equation changed by 1e-5: A A' has condition number 1e10."""
    program = as_cone_program(generate.portfolio(size, seed))
    again = program.A.toarray() + 1e-5 * np.random.default_rng(seed).normal(size=(1, program.n))
    return _with_equations(program, again, again @ np.full(program.n, 1.0 / program.n))


def in_wild_units(program: socp.ConeProgram, orders: float = 3.0, seed: int = 0) -> socp.ConeProgram:
    """Return the program in random units of 10^-orders to 10^orders per variable and row, one per second-order cone."""
    P, A, G = dense(program)
    rng = np.random.default_rng(seed)
    D, E = 10.0 ** rng.uniform(-orders, orders, program.n), 10.0 ** rng.uniform(-orders, orders, program.p)
    sizes = [cone.dim if isinstance(cone, socp.NonNeg) else 1 for cone in program.cones]
    units = np.split(10.0 ** rng.uniform(-orders, orders, sum(sizes)), np.cumsum(sizes)[:-1])
    F = np.concatenate([np.broadcast_to(u, cone.dim) for u, cone in zip(units, program.cones)])
    return changed(  # type: ignore[no-any-return]
        program, c=D * program.c, G=F[:, None] * G * D, h=F * program.h, A=E[:, None] * A * D, b=E * program.b,
        P=D[:, None] * P * D,
    )  # fmt: skip


PROGRAMS: dict[str, Callable[[], qp.QuadraticProgram | socp.ConeProgram]] = {
    "lasso": lambda: generate.lasso(4),
    "huber": lambda: generate.huber(3),
    "portfolio": lambda: generate.portfolio(20),
    "svm_primal": lambda: generate.svm_primal(20),
    "svm_dual_rbf": lambda: generate.svm_dual_rbf(20),
    "group_lasso": lambda: generate.group_lasso(10),
    "robust_kalman": lambda: generate.robust_kalman(5),
    "robust_least_squares": lambda: generate.robust_least_squares(8),
    "enclosing_ball": lambda: generate.enclosing_ball(10),
    "mpc": lambda: generate.mpc(5),
    "infeasible": lambda: generate.infeasible(10),
    "unbounded": lambda: generate.unbounded(10),
    "redundant": lambda: redundant(20),
    "nearly_redundant": lambda: nearly_redundant(20),
    "svm_primal, wild units": lambda: in_wild_units(as_cone_program(generate.svm_primal(20))),
    "enclosing_ball, wild units": lambda: in_wild_units(generate.enclosing_ball(10)),
}


def count(program: socp.ConeProgram, switches: Switches) -> str:
    """Return the number of iterations as text, followed by the status if it is not an answer."""
    solution = solve(program, switches=switches)
    answered = solution.status is socp.Status.OPTIMAL or solution.status.is_infeasible
    return str(solution.iterations) + ("" if answered else f" {solution.status.value}")


def row(name: str, parts: Iterable[str] = PARTS) -> list[str]:
    """Return the iteration counts of one program: of the whole method, then without each part."""
    program = as_cone_program(PROGRAMS[name]())
    return [count(program, switches) for switches in (WHOLE, *(replace(WHOLE, **{part: False}) for part in parts))]


def table(names: Iterable[str] = tuple(PROGRAMS), parts: Iterable[str] = PARTS) -> Table:
    """Return the table of iterations, by program and by the part that is left out.

    Examples
    --------
    >>> print(table(["redundant"], ["predictor", "regularization"]).text())
    Iterations of the textbook method, and without one of its parts
    program    whole  predictor     regularization
    redundant      8         12  0 numerical_error
    An entry with a status is no answer.
    """
    parts = tuple(parts)
    rows = [[name, *row(name, parts)] for name in names]
    heads = ["program", "whole", *parts]
    title = "Iterations of the textbook method, and without one of its parts"
    return Table(title, heads, rows, "An entry with a status is no answer.")


def _with_equations(program: socp.ConeProgram, A: np.ndarray, b: np.ndarray) -> socp.ConeProgram:
    rows = sp.vstack([program.A, A])
    return changed(program, A=rows, b=np.concatenate([program.b, b]), P=dense(program)[0])  # type: ignore[no-any-return]


if __name__ == "__main__":
    print(table(sys.argv[1:] or PROGRAMS).text())
