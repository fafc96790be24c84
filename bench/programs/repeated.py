"""Programs asked again and again through the solvers' Python interfaces, as those of `tiny` and `small` are.

Two ways of asking, each timed as the median of many calls:

    construct    from matrices to the answer: set-up and solve
    update       a solver set up before gets another linear objective: update and solve
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp

from .. import peers
from ..answers import answer
from ..answers.answer import Answer
from ..answers.verify import Program, verify
from ..peers.forms import Point, one_sided, two_sided
from ..peers.peer import peer_settings

NOT_TOLD = -1
"""The iterations of an updated solver, which are not asked for."""
CONSTRUCT, UPDATE = "construct", "update"
SECONDS, LEAST, MOST = 0.3, 20, 2000
"""One measurement calls for so long, at least and at most so many times."""


Call = Callable[[Program], Answer]


@dataclass(frozen=True)
class Again:
    """A solver that is set up: `solve(c)` updates the linear objective and solves, `point()` reads the answer."""

    solve: Callable[[np.ndarray], Any]
    point: Callable[[], Point]


def in_both_ways(classes: dict[str, Callable[[int, int], Program]]) -> dict[str, Callable[[int, int], Program]]:
    """Every class twice, by name: to be set up, and to be updated."""
    return {f"{name}_{way}": made for name, made in classes.items() for way in (CONSTRUCT, UPDATE)}


def peers_for(group: str, sample: Program) -> tuple[str, ...]:
    """The solvers that can be asked in this way."""
    names = peers.peers_for(sample)
    return tuple(name for name in names if group.endswith(CONSTRUCT) or name in _UPDATES)


def measure(
    solver: str, group: str, program: Program, tol: float, own: Call | None = None
) -> tuple[Answer, Program, int]:
    """The answer with the median time of many calls, the program that it answers, and the number of calls.

    A function of somebody's `own` knows no update: it is called with each objective anew.
    """
    if group.endswith(CONSTRUCT):
        return by_calls(own or _call(solver, program, tol), [program])
    if own is not None:
        return by_calls(own, [with_objective(program, objective) for objective in _objectives(program)])
    return _update(solver, program, tol)


def by_calls(call: Call, programs: Sequence[Program]) -> tuple[Answer, Program, int]:
    """The worst of the last answers to each program, with the median of the times that all calls tell."""
    call(programs[0])  # not counted: the first call may load something
    answers: list[tuple[Answer, Program]] = []
    start = time.perf_counter()
    while len(answers) < LEAST or (time.perf_counter() - start < SECONDS and len(answers) < MOST):
        asked = programs[len(answers) % len(programs)]
        answers.append((call(asked), asked))
    worst, asked = max(answers[-len(programs) :], key=lambda one: verify(one[1], one[0].x, one[0].y, one[0].z).worst)
    seconds = median(answer.seconds for answer, _ in answers)
    return replace(worst, setup_seconds=0.0, solve_seconds=seconds), asked, len(answers)


def _call(solver: str, program: Program, tol: float) -> Call:
    return _our_call(program, tol) if solver == "centralpath" else lambda asked: peers.solve(solver, asked, tol)


def _our_call(program: Program, tol: float) -> Call:
    """From matrices, as users call: the checks of the program are in our time."""
    if isinstance(program, socp.ConeProgram):
        keywords = {name: getattr(program, name) for name in ("c", "G", "h", "cones", "A", "b", "P")}

        def solve() -> Any:
            return socp.solve(**keywords, tol=tol)
    else:
        keywords = {name: getattr(program, name) for name in ("A", "l", "u", "lb", "ub")}

        def solve() -> Any:
            return qp.solve(program.P, program.q, **keywords, tol=tol)

    def call(_: Program) -> Answer:
        start = time.perf_counter()
        solution = solve()
        return answer.from_solution(solution, time.perf_counter() - start)

    return call


def _objectives(program: Program) -> list[np.ndarray]:
    """Linear objectives drawn around the program's own, the same for every solver."""
    objective = program.c if isinstance(program, socp.ConeProgram) else program.q
    rng = np.random.default_rng(0)
    return [objective + 0.1 * np.abs(objective) * rng.normal(size=objective.size) for _ in range(16)]


def _update(solver: str, program: Program, tol: float) -> tuple[Answer, Program, int]:
    objectives = _objectives(program)
    again = _UPDATES[solver](program, tol)
    again.solve(objectives[0])
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < LEAST or (time.perf_counter() - start < SECONDS and len(times) < MOST):
        c = objectives[len(times) % 16]
        before = time.perf_counter()
        again.solve(c)
        times.append(time.perf_counter() - before)
    asked = with_objective(program, objectives[(len(times) - 1) % 16])
    result = Answer(solver, socp.Status.OPTIMAL, *again.point(), NOT_TOLD, 0.0, median(times))
    return result, asked, len(times)


def updates(solver: str, program: Program, tol: float) -> Again:
    """The solver, set up for the program."""
    return _UPDATES[solver](program, tol)


def with_objective(program: Program, c: np.ndarray) -> Program:
    """The program with another linear objective."""
    if isinstance(program, socp.ConeProgram):
        return socp.ConeProgram(
            c=c, G=program.G, h=program.h, cones=program.cones, A=program.A, b=program.b, P=program.P
        )
    return qp.QuadraticProgram(program.P, c, program.A, program.l, program.u, program.lb, program.ub)


def _centralpath(program: Program, tol: float) -> Again:
    cone = isinstance(program, socp.ConeProgram)
    solver: Any = socp.Solver(program, tol=tol) if cone else qp.Solver(program, tol=tol)  # type: ignore[arg-type]
    last: list[Any] = []

    def solve(c: np.ndarray) -> None:
        solver.update(**{"c" if cone else "q": c})
        last[:] = [solver.solve()]

    return Again(solve, lambda: (last[0].x, last[0].y, last[0].z if cone else last[0].z_bounds))


def _clarabel(program: Program, tol: float) -> Again:
    import clarabel as package

    form = one_sided(program)
    p, n = form.b.size, form.c.size
    options = package.DefaultSettings()
    for name, value in {**peer_settings("clarabel", tol), "presolve_enable": False}.items():
        setattr(options, name, value)
    cones = [package.ZeroConeT(p), package.NonnegativeConeT(form.nonneg)]
    cones += [package.SecondOrderConeT(dim) for dim in form.second_order]
    P = sp.csc_matrix((n, n)) if form.P is None else sp.triu(form.P, format="csc")
    data = (sp.vstack([form.A, form.G], format="csc"), np.concatenate([form.b, form.h]))
    solver = package.DefaultSolver(P, form.c, *data, cones, options)
    last: list[Any] = []

    def solve(c: np.ndarray) -> None:
        solver.update(q=c)
        last[:] = [solver.solve()]

    def point() -> Point:
        z = np.array(last[0].z)
        return form.recover(last[0].x, z[:p], z[p:])

    return Again(solve, point)


def _piqp(program: Any, tol: float) -> Again:
    import piqp as package

    form = two_sided(program)
    dense = isinstance(program.P, np.ndarray)
    solver = package.DenseSolver() if dense else package.SparseSolver()
    for name, value in peer_settings("piqp", tol).items():
        setattr(solver.settings, name, value)
    P, A, C = (M.toarray(order="F") if dense else M for M in (form.P, form.A, form.C))
    solver.setup(P, form.q, A, form.b, C, form.l, form.u, form.lb, form.ub)

    def solve(c: np.ndarray) -> None:
        solver.update(c=c)
        solver.solve()

    def point() -> Point:
        found = solver.result
        return form.recover(found.x, found.y, found.z_u - found.z_l, found.z_bu - found.z_bl)

    return Again(solve, point)


def _qoco(program: Program, tol: float) -> Again:
    import qoco as package

    form = one_sided(program)
    n, m, p = form.c.size, form.h.size, form.b.size
    equalities, inequalities = (form.A, form.b) if p else (None, None), (form.G, form.h) if m else (None, None)
    dims = np.array(form.second_order, dtype=np.int32)
    solver = package.QOCO()
    solver.setup(
        *(n, m, p, form.P, form.c, *equalities, *inequalities, form.nonneg, dims.size, dims),
        **peer_settings("qoco", tol),
    )
    last: list[Any] = []

    def solve(c: np.ndarray) -> None:
        solver.update_vector_data(c=c)
        last[:] = [solver.solve()]

    return Again(solve, lambda: form.recover(last[0].x, last[0].y if p else np.zeros(0), last[0].z))


def _scs(program: Program, tol: float) -> Again:
    import scs as package

    form = one_sided(program)
    p = form.b.size
    data = {"A": sp.vstack([form.A, form.G], format="csc"), "b": np.concatenate([form.b, form.h]), "c": form.c}
    if form.P is not None:
        data["P"] = sp.triu(form.P, format="csc")
    solver = package.SCS(data, {"z": p, "l": form.nonneg, "q": form.second_order}, **peer_settings("scs", tol))
    last: list[Any] = []

    def solve(c: np.ndarray) -> None:
        solver.update(c=c)
        last[:] = [solver.solve(warm_start=False)]

    return Again(solve, lambda: form.recover(last[0]["x"], last[0]["y"][:p], last[0]["y"][p:]))


_UPDATES: dict[str, Callable[[Any, float], Again]] = {
    "centralpath": _centralpath,
    "clarabel": _clarabel,
    "piqp": _piqp,
    "qoco": _qoco,
    "scs": _scs,
}
