"""Trial of one program: solve it and judge the answer; an exception is a verdict, too."""

from __future__ import annotations

import faulthandler
import sys
import time
from dataclasses import asdict, replace

import qp

from ..answers import answer
from ..answers.answer import Answer
from ..answers.program import engine_of
from ..compare.process import serve
from . import catalogue
from .case import Case
from .judge import EXCEPTION, FAILURES, Verdict, judge


def trial(family: str, seed: int, number: int) -> Verdict:
    """Solve and judge program `number` of a family; return the verdict.

    Examples
    --------
    >>> verdict = trial("qp_tiny", 0, 1)
    >>> verdict.name, verdict.why, verdict.expected
    ('optimal', '', True)
    """
    try:
        case = catalogue.case(family, seed, number)
        verdict = judge(case, solve(case))
        if verdict.name in FAILURES and case.before is not None:
            fresh = judge(replace(case, before=None), answer.solve(case.program, **case.settings))
            verdict = replace(verdict, why=f"{verdict.why}; solved afresh: {fresh.name}")
        return verdict
    except Exception as error:  # any exception is a failure to report
        return Verdict(EXCEPTION, f"{type(error).__name__}: {error}")


def solve(case: Case) -> Answer:
    """Return the answer to a case, from a solver that was updated to it if the case has a predecessor."""
    if case.before is None:
        return answer.solve(case.program, **case.settings)
    first, *steps = case.chain
    solver = engine_of(first.program).Solver(first.program, **case.settings)
    solver.solve()
    started = time.perf_counter()
    for step in steps:
        solver.update(**step.change)
        solution = solver.solve(warm_start=step.warm_start)
    return answer.from_solution(solution, time.perf_counter() - started)


if __name__ == "__main__":  # `campaign.Worker` runs trials in a process of their own, which may crash
    faulthandler.enable()  # A crash prints the stack to stderr.
    serve(
        lambda: {"seconds": qp.warmup()},
        lambda asked, _: asdict(trial(asked["family"], int(sys.argv[1]), asked["number"])),
    )
