"""Batches: many programs of one shape that differ in the linear objective, and the time per program.

The engine and Moreau take a batch in one call; the other solvers are set up once and solve each objective in a loop
of Python.  The time of the set-up counts for the engine, and for no other solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp

from ..answers.answer import Answer, point_of
from ..answers.program import engine_of, linear_name, parts_of, with_objective
from ..answers.verify import Program, verify
from ..peers.forms import OneSided, Point, one_sided
from . import repeated, small, tiny

WORK, LEAST, MOST = 3e6, 64, 10_000
"""A batch has WORK / n^2 programs with n variables, but at least LEAST and at most MOST."""
LOOP = 500
"""Largest number of programs in a Python loop, whose time per program does not depend on their number."""
RUNS, VERIFIED = 5, 64
"""Timed runs of a batch, of which the median counts; answers that are verified, of which the worst counts."""

Batch = tuple[Callable[[], Any], Callable[[int], Point]]
"""(function that solves all programs, function that returns the answer to program i)."""

OURS, BATCHED = "centralpath", "moreau"


def thrust(size: int, seed: int = 0) -> socp.ConeProgram:
    """Return `small.control` with thrusts of bounded norm, ||u_t|| <= 0.1, in place of bounds."""
    program = small.control(size, seed)
    states, inputs = program.m, program.n - program.m
    p = socp.Blocks(x=program.n)
    p.minimize(x=program.q, quadratic={"x": program.P})
    p.equal(program.l, x=program.A)
    for first in range(states, states + inputs, 3):
        p.cone(radius=0.1, x=sp.eye_array(3, program.n, k=first))
    return p.program()


CLASSES: dict[str, Callable[[int, int], Program]] = {
    "box_many": tiny.box, "rows_many": tiny.rows, "control_many": small.control, "ball_many": tiny.ball,
    "thrust_many": thrust,
}  # fmt: skip


def peers_for(sample: Program) -> tuple[str, ...]:
    """Return the solvers that take a batch, in one call or in a loop."""
    loops = ("osqp",) if isinstance(sample, qp.QuadraticProgram) else ()
    return (*repeated.peers_for(repeated.UPDATE, sample), BATCHED, *loops)


def measure(solver: str, program: Program, tol: float, own: repeated.Call | None = None) -> tuple[Answer, Program, int]:
    """Return the worst answer of a batch with the median time of one program, the program, and the batch size.

    If a user's function `own` is given, it is called with one program after another.
    """
    objectives, k, rng = drawn(getattr(program, linear_name(program)))
    if solver not in (OURS, BATCHED):
        objectives = objectives[:LOOP]
        k = len(objectives)
    if own is not None:
        return repeated.by_calls(own, [with_objective(program, one) for one in objectives])
    solve, point = _BATCHES.get(solver, _loop(solver))(program, objectives, tol)
    solve()  # The first call may load something and is not timed.
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        solve()
        times.append((time.perf_counter() - start) / k)
    found = []
    for i in rng.choice(k, min(k, VERIFIED), replace=False):
        asked, answer = with_objective(program, objectives[i]), point(int(i))
        found.append((verify(asked, *answer).worst, asked, answer))
    _, asked, (x, y, z) = max(found, key=lambda one: one[0])
    return Answer(solver, socp.Status.OPTIMAL, x, y, z, repeated.NOT_TOLD, 0.0, median(times)), asked, k


def drawn(objective: np.ndarray) -> tuple[np.ndarray, int, np.random.Generator]:
    """Draw linear objectives around `objective`; return them, their number, and the random generator."""
    rng, k = np.random.default_rng(0), int(np.clip(WORK / objective.size**2, LEAST, MOST))
    size = np.abs(objective).max() or 1.0
    return objective + size * rng.normal(size=(k, objective.size)), k, rng


def _centralpath(program: Any, objectives: np.ndarray, tol: float) -> Batch:
    data: dict[str, Any] = parts_of(program) | {linear_name(program): objectives, "tol": tol}
    solve, last = repeated.held(lambda: engine_of(program).solve_many(**data))

    def point(i: int) -> Point:
        x, y, z = point_of(last[0])
        return x[i], y[i], z[i]

    return solve, point


def moreau(form: OneSided, k: int, **settings: Any) -> Any:
    """Set up a Moreau batch with the matrices of a program k times; return it and the sides of all rows."""
    import moreau as package

    (A, sides), n = form.stacked(), form.c.size
    rows, P = sp.csr_array(A), sp.csr_array((n, n)) if form.P is None else sp.csr_array(form.P)
    dims = list(form.second_order)
    cones = package.Cones(num_zero_cones=form.b.size, num_nonneg_cones=form.nonneg, so_cone_dims=dims)
    solver = package.CompiledSolver(
        n, rows.shape[0], P.indptr, P.indices, rows.indptr, rows.indices, cones,
        package.Settings(device="cpu", batch_size=k, **settings),
    )  # fmt: skip
    solver.setup(np.tile(P.data, (k, 1)), np.tile(rows.data, (k, 1)))
    return solver, np.tile(sides, (k, 1))


def _moreau(program: Program, objectives: np.ndarray, tol: float) -> Batch:
    import moreau as package

    form, interior = one_sided(program), package.IPMSettings(tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    faces, p = package.ActiveSetSettings(primal_tol=tol), form.b.size
    solver, sides = moreau(form, len(objectives), ipm_settings=interior, active_set_settings=faces)
    solve, last = repeated.held(lambda: solver.solve(objectives, sides))

    def point(i: int) -> Point:
        z = np.asarray(last[0].z[i])
        return form.recover(np.asarray(last[0].x[i]), z[:p], z[p:])

    return solve, point


def _loop(solver: str) -> Callable[[Program, np.ndarray, float], Batch]:
    """Return a function that makes a batch from a Python loop over the updates of a solver."""

    def batch(program: Program, objectives: np.ndarray, tol: float) -> Batch:
        again, name = repeated.updates(solver, program, tol), linear_name(program)

        def solve() -> None:
            for objective in objectives:
                again.solve({name: objective})

        def point(i: int) -> Point:
            again.solve({name: objectives[i]})
            return again.point()

        return solve, point

    return batch


_BATCHES: dict[str, Callable[[Any, np.ndarray, float], Batch]] = {OURS: _centralpath, BATCHED: _moreau}
