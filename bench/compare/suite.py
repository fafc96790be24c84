"""Solve a set of files, verify every answer, and print one line a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import models
import socp
from socp import Status

from ..answers import answer
from ..answers.answer import Answer
from ..answers.verify import Program, Verification, verify
from ..programs import sets
from .measurement import OURS, Measurement, without_paths

VERIFIED_TOL = 1e-6
"""Tolerance for certificates and for answers that do not claim full accuracy."""
ROUNDING = 1.01
"""An "optimal" answer must verify to ROUNDING * tol, as another order of summation rounds differently."""


def verdict(status: Status, verification: Verification, promised: float = VERIFIED_TOL) -> str:
    """Return the worth of an answer: "solved", "certified", "failed", or "WRONG" if its claim does not verify.

    An "optimal" must pass the stopping test at `promised` (our own promise is tol itself; other solvers
    have other tests), an infeasibility must have a certificate that verifies to 1e-6; every other answer
    is "solved" if it verifies to 1e-6, for any other status.
    """
    if status is Status.OPTIMAL:
        return "solved" if verification.solved(ROUNDING * promised) else "WRONG"
    if status is Status.PRIMAL_INFEASIBLE:
        return "certified" if verification.primal_infeasible <= VERIFIED_TOL else "WRONG"
    if status is Status.DUAL_INFEASIBLE:
        return "certified" if verification.dual_infeasible <= VERIFIED_TOL else "WRONG"
    return "solved" if verification.solved(VERIFIED_TOL) else "failed"


def nonzeros(program: Program) -> int:
    """Return the nonzeros of all matrices; a low-rank P counts by its factor and diagonal, a kernel matrix as dense."""
    P, count = program.P, int(program.A.nnz) + (int(program.G.nnz) if isinstance(program, socp.ConeProgram) else 0)
    if isinstance(P, models.KernelMatrix):
        return count + P.shape[0] ** 2
    parts = [P.F, P.d] if isinstance(P, socp.LowRank) else [P] if isinstance(P, np.ndarray) else []
    return count + (int(sum(map(np.count_nonzero, parts))) if parts else 0 if P is None else int(P.nnz))


def measured(about: dict[str, Any], program: Program, result: Answer, promised: float, runs: int = 1) -> Measurement:
    """Verify an answer to a program and return it as a measurement; `about` names program, solver and form."""
    found = verify(program, result.x, result.y, result.z, bounds_alone=False)
    return Measurement(
        **about,
        status=str(result.status),
        verdict=verdict(result.status, found, promised),
        seconds=float(result.seconds),
        setup_seconds=float(result.setup_seconds),
        solve_seconds=float(result.solve_seconds),
        runs=runs,
        iterations=int(result.iterations),
        n=program.n,
        m=rows(program),
        nnz=nonzeros(program),
        objective=found.objective,
        primal=max(found.primal, found.primal_cone),
        dual=max(found.dual, found.dual_cone),
        gap=found.gap,
        certificate=found.certificate,
        note=without_paths(result.note),
    )


def run(paths: Iterable[Path], tol: float, limit: float) -> Iterator[Measurement]:
    """Yield the verified measurement of each file; a program that is refused gives a row, too."""
    for path in paths:
        about = {"program": sets.stem(path), "group": "", "size": 0, "solver": OURS, "form": ""}
        try:
            program = sets.read(path)
            yield measured(about, program, answer.solve(program, tol=tol, time_limit=limit), tol)
        except socp.ProgramError as error:
            yield Measurement(**about, status="refused", verdict="failed", seconds=0.0, note=str(error))  # type: ignore[arg-type]


def rows(program: Program) -> int:
    """Return the number of rows of all constraint matrices."""
    return program.p + program.m if isinstance(program, socp.ConeProgram) else program.m


HEADER = (
    f"{'program':24s} {'n':>7s} {'m':>7s} {'nnz':>8s}  {'status':17s} {'primal':>8s} {'dual':>8s} {'gap':>8s} "
    f"{'iter':>5s} {'set-up':>8s} {'solve':>8s}  verdict"
)


def line(row: Measurement) -> str:
    """Return one aligned line; the error of a certificate is in the column of its vector, x or (y, z)."""
    primal, dual, gap = f"{row.primal:8.1e}", f"{row.dual:8.1e}", f"{row.gap:8.1e}"
    if row.status == Status.PRIMAL_INFEASIBLE:
        primal, dual, gap = f"{'-':>8s}", f"{row.certificate:8.1e}", f"{'-':>8s}"
    elif row.status == Status.DUAL_INFEASIBLE:
        primal, dual, gap = f"{row.certificate:8.1e}", f"{'-':>8s}", f"{'-':>8s}"
    return (
        f"{row.program:24s} {row.n:7d} {row.m:7d} {row.nnz:8d}  {row.status:17s} {primal} {dual} {gap} "
        f"{row.iterations:5d} {row.setup_seconds:8.3f} {row.solve_seconds:8.3f}  {row.verdict}"
        + (f" ({row.note})" if row.note else "")
    )


def summary(table: list[Measurement], tol: float) -> str:
    """Return the counts of all verdicts and the total time, as text."""
    counts = Counter(row.verdict for row in table)
    full = sum(row.verdict == "solved" and row.status == Status.OPTIMAL for row in table)
    solved = f"{counts['solved']} solved ({full} to {tol:g}, {counts['solved'] - full} to {VERIFIED_TOL:g})"
    others = f"{counts['certified']} certified, {counts['WRONG']} WRONG, {counts['failed']} failed"
    return f"{len(table)} programs: {solved}, {others}; {sum(row.seconds for row in table):.1f} s"
