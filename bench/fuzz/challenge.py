"""Certificates are challenged by points that they exclude, which other solvers search for: see `answers.exclusion`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp
from socp import Status

from .. import peers
from ..answers import exclusion
from ..answers.answer import Answer
from ..answers.program import Program, changed, linear_name
from ..programs.catalogue import multiplied_out

TOL = 1e-12
"""Tolerance of the solvers that search; they refuse a smaller one or stop before it."""
PATIENCE = 5.0
"""Seconds of a search."""
SEARCHERS = {"cone": ("clarabel",), "quadratic": ("highspy", "clarabel")}
"""Solvers that search for points, by the kind of the program."""


@dataclass(frozen=True)
class Point:
    """A point with its multipliers, any of them None, and who found it."""

    finder: str
    x: Any = None
    y: Any = None
    z: Any = None


def refuted(program: Program, answer: Answer, known: tuple[Point, ...] = ()) -> str:
    """Return why the certificate of an answer is false, or "": which point exists that it excludes."""
    is_ray = answer.status is Status.DUAL_INFEASIBLE
    for point in (*known, *(dual_points if is_ray else feasible_points)(program)):
        found = weigh(program, answer, point)
        if found is not None and found.refutes:
            what = "bounds the objective, of which the ray says that it falls" if is_ray else "is feasible"
            share = (
                f"its faults weigh {found.of_point:.1e} of the claim, the certificate leaves {found.of_certificate:.1e}"
            )
            return f"a false certificate: the point of {point.finder} {what}: {share}"
    return ""


def weigh(program: Program, answer: Answer, point: Point) -> exclusion.Weighed | None:
    """Weigh the certificate of an answer against a point; return None if parts of one are missing or not finite."""
    is_ray = answer.status is Status.DUAL_INFEASIBLE
    own = (answer.x,) if is_ray else (answer.y, answer.z)
    other = (point.x, point.y, point.z) if is_ray else (point.x,)
    if any(part is None or not np.isfinite(part).all() for part in (*own, *other)):
        return None
    return (exclusion.of_unboundedness if is_ray else exclusion.of_infeasibility)(program, *own, *other)


def feasible_points(program: Program) -> Iterator[Point]:
    """Search for a point that is feasible: the program without its objective."""
    free = changed(program, P=None, **{linear_name(program): np.zeros(program.n)})
    yield from _found(free, lambda x: Point("", x))


def dual_points(program: Program) -> Iterator[Point]:
    """Search for (x, y, z) that are dual feasible: Px + c + A'y + G'z = 0 with multipliers of sides that exist."""
    program = multiplied_out(program)
    n, p = program.n, program.A.shape[0]
    P = sp.csc_array((n, n)) if program.P is None else sp.csc_array(program.P)
    back = lambda v: Point("", v[:n], v[n : n + p], v[n + p :])  # noqa: E731
    if isinstance(program, socp.ConeProgram):
        m, finite = program.m, np.isfinite(program.h)
        rows = sp.hstack([P, program.A.T, program.G.T @ sp.diags_array(1.0 * finite)], format="csc")
        G = sp.hstack([sp.csc_array((m, n + p)), -sp.eye_array(m)], format="csc")
        search = socp.ConeProgram(np.zeros(n + p + m), G, np.zeros(m), program.cones, rows, -program.c)
        yield from _found(search, back)
        return
    rows = sp.hstack([P, program.A.T, sp.eye_array(n)], format="csc")
    lower, upper = (
        np.concatenate([sides, bounds]) for sides, bounds in ((program.l, program.lb), (program.u, program.ub))
    )
    free = np.full(n, np.inf)
    lb = np.concatenate([-free, np.where(np.isfinite(lower), -np.inf, 0.0)])
    ub = np.concatenate([free, np.where(np.isfinite(upper), np.inf, 0.0)])
    yield from _found(qp.QuadraticProgram(None, np.zeros(lb.size), rows, -program.q, -program.q, lb, ub), back)


def _found(search: Any, point: Any) -> Iterator[Point]:
    kind = "cone" if isinstance(search, socp.ConeProgram) else "quadratic"
    for name in SEARCHERS[kind]:
        x = peers.solve(name, search, TOL, PATIENCE).x
        if x is not None and x.size == search.n and np.isfinite(x).all():
            found = point(x)
            yield Point(name, found.x, found.y, found.z)
