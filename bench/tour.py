"""The tour: four generated programs, solved here and by whichever reference solvers are installed."""

from __future__ import annotations

from collections.abc import Callable

from . import peers
from .answers import answer
from .answers.answer import Answer
from .answers.verify import Program, verify
from .compare.suite import VERIFIED_TOL, nonzeros, verdict
from .programs import generate

STOPS: tuple[tuple[str, Callable[[int, int], Program], int], ...] = (
    ("A support vector machine: 400 points in 40 dimensions, a quadratic program", generate.svm_primal, 400),
    ("A portfolio of 500 assets with 50 risk factors, P low-rank", generate.portfolio, 500),
    ("Robust least squares, two second-order cones of 401 and 201 rows", generate.robust_least_squares, 200),
    ("An infeasible cone program; the answer is a certificate (y, z)", generate.infeasible, 60),
)
INTRODUCTION = """\
The tour: four generated programs, solved here and by the reference solvers that are installed, every answer verified.
It takes some ten seconds, and a minute more the first time on a machine, when kernels are compiled.
"""
HEADER = f"   {'solver':12s} {'status':17s} {'objective':>14s} {'verified':>9s} {'iter':>6s} {'seconds':>9s}  verdict"


def tour(tol: float = 1e-8, time_limit: float = 5.0) -> bool:
    """Print the tour; False when any of our own answers fails verification.

    "verified" is the worst relative residual of a solution, or the error of a certificate, computed
    from the answer alone.  Our "optimal" is held to tol, that of another solver to 1e-6: it passed
    another test.
    """
    good = True
    for number, (title, generated, size) in enumerate(STOPS, 1):
        program = generated(size, 0)
        print(f"{number}. {title}\n   {program!r}, {nonzeros(program)} nonzeros\n{HEADER}")
        ours = answer.solve(program, tol=tol, time_limit=time_limit)
        good &= _show(program, ours, promised=tol)
        for solver in filter(peers.is_installed, peers.peers_for(program)):
            _show(program, peers.solve(solver, program, tol, time_limit), promised=VERIFIED_TOL)
        missing = [solver for solver in peers.peers_for(program) if not peers.is_installed(solver)]
        if missing:
            print(f"   not installed, skipped: {', '.join(missing)}")
        print(flush=True)
    return good


def _show(program: Program, result: Answer, promised: float) -> bool:
    found = verify(program, result.x, result.y, result.z)
    worth = verdict(result.status, found, promised)
    error = found.certificate if result.status.is_infeasible else found.worst
    objective = "-" if result.status.is_infeasible else f"{found.objective:14.8g}"
    print(
        f"   {result.solver:12s} {result.status!s:17s} {objective:>14s} {error:9.1e} {result.iterations:6d} "
        f"{result.seconds:9.4f}  {worth}" + (f" ({result.note})" if result.note else ""),
        flush=True,
    )
    return worth in ("solved", "certified")
