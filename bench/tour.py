"""The tour: four generated programs, solved here and by whichever reference solvers are installed."""

from __future__ import annotations

from collections.abc import Callable

from . import peers
from .answers.verify import Program, verify
from .compare.measurement import OURS
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
It takes some ten seconds, and a minute more where the installation has not compiled the kernels.
"""
HEADER = f"   {'solver':12s} {'status':17s} {'objective':>14s} {'verified':>9s} {'iter':>6s} {'seconds':>9s}  verdict"


def tour(tol: float = 1e-8, time_limit: float = 5.0) -> bool:
    """Print the tour; return False if any of our own answers fails verification.

    "verified" is the worst relative residual of a solution, or the error of a certificate, computed
    from the answer alone.  Our "optimal" is checked at `tol`, another solver's at 1e-6, since it passed
    another test.
    """
    good = True
    for number, (title, generated, size) in enumerate(STOPS, 1):
        program = generated(size, 0)
        print(f"{number}. {title}\n   {program!r}, {nonzeros(program)} nonzeros\n{HEADER}")
        takers = peers.peers_for(program)
        for solver in (OURS, *filter(peers.is_installed, takers)):
            result = peers.solve(solver, program, tol, time_limit)
            found = verify(program, result.x, result.y, result.z)
            worth = verdict(result.status, found, tol if solver == OURS else VERIFIED_TOL)
            ray = result.status.is_infeasible
            objective, error = ("-", found.certificate) if ray else (f"{found.objective:.8g}", found.worst)
            words = f"{result.solver:12s} {result.status!s:17s} {objective:>14s} {error:9.1e} {result.iterations:6d}"
            note = f" ({result.note})" if result.note else ""
            print(f"   {words} {result.seconds:9.4f}  {worth}{note}", flush=True)
            good &= solver != OURS or worth in ("solved", "certified")
        missing = ", ".join(solver for solver in takers if not peers.is_installed(solver))
        print(*([f"   not installed, skipped: {missing}"] if missing else []), "", sep="\n", flush=True)
    return good
