"""Batches of cone programs of one shape; small programs are solved in the lanes of vector registers."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import Engine
from ..problem.checks import ArrayLike, ProgramError
from ..problem.program import Cone, ConeProgram
from ..problem.settings import BatchSettings, Settings, document_settings
from ..problem.solution import Solution
from .checks import ConePrograms, refuse_nonconvex
from .cone_groups import groups_of
from .groups import fits_lanes, solve_batch
from .solutions import Solutions

if TYPE_CHECKING:
    from typing_extensions import Unpack

KNOWN = ("c", "G", "h", "cones", "A", "b", "P", *BatchSettings.__annotations__)


@document_settings
def solve_many(
    *,
    c: ArrayLike,
    G: ArrayLike | None = None,
    h: ArrayLike | None = None,
    cones: Sequence[Cone] | Cone | None = None,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    P: ArrayLike | None = None,
    **settings: Unpack[BatchSettings],
) -> Solutions:
    """Solve many cone programs of one shape; any argument may have a leading axis, with an entry for each program.

    Parameters
    ----------
    c, G, h, cones, A, b, P
        As in `ConeProgram`, shared by all programs; or, except for the cones, with a leading axis of length k, as c of
        shape (k, n) and G of shape (k, m, n).  A `LowRank` P is rounded to a dense array.
    tol, max_iter, ...
        The settings, each as in `Settings`.

    Returns
    -------
    Solutions

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it and the program.

    Notes
    -----
    Threads share the programs.  Small programs are solved several at a time in the lanes of vector registers, larger
    ones one by one, with one set-up per thread if they share P, A and G.  Every answer passes the stopping test of
    `solve` on the caller's own data.  A program that fails in its lane is solved again alone.

    Examples
    --------
    The points of the unit disk that are farthest in three directions:

    >>> import numpy as np, socp
    >>> many = socp.solve_many(c=[[1.0, 0.0], [0.0, 2.0], [-3.0, 4.0]], G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0],
    ...                        cones=[socp.SecondOrder(3)])
    >>> print(many.x.round(6) + 0.0)
    [[-1.   0. ]
     [ 0.  -1. ]
     [ 0.6 -0.8]]
    """
    checked = Settings.of_call(settings, "solve_many", KNOWN)
    return solve_cone_programs(ConePrograms(c, G, h, cones, A, b, P), checked)


def solve_like(solver: Engine, vectors: dict[str, Any], threads: int | None) -> Solutions:
    """Solve programs with the matrices of `solver` and new `vectors`: the body of `Solver.solve_many`."""
    program, settings = solver.program, settings_of_batch(solver.settings, threads)
    data = {name: getattr(program, name) for name in ("c", "b", "h")}
    data.update({name: value for name, value in vectors.items() if value is not None})
    programs = ConePrograms(**data, G=program.G, A=program.A, P=program.P, cones=program.cones)
    programs.P_eps = np.array([program.P_eps])
    return solve_cone_programs(programs, settings)


def settings_of_batch(settings: Settings, threads: int | None) -> Settings:
    """Return the settings of a solver for a batch: without `verbose` and `callback`, and with `threads` if given."""
    checked = settings.threads if threads is None else Settings(threads=threads).threads
    return dataclasses.replace(settings, threads=checked, verbose=False, callback=None)


def solve_cone_programs(programs: ConePrograms, settings: Settings) -> Solutions:
    """Solve the checked programs of a batch; return their answers."""
    started = time.perf_counter()
    n, p, m = programs.c.shape[1], programs.A.shape[1], programs.G.shape[1]
    many, groups = Solutions(programs.k, x=n, y=p, z=m, s=m), []
    many._programs = programs
    if fits_lanes(n, p + m):
        refuse_nonconvex(programs, "c")
        groups = groups_of(programs, settings)

    def new_solver() -> Callable[[int, Settings], Solution]:
        return AloneSolver(programs).solve if programs.share_matrices else solve_anew

    def solve_anew(i: int, own: Settings) -> Solution:
        try:
            return Engine.of_checked(programs.program(i), own).solve()
        except ProgramError as error:  # P of this program was refused.
            raise ProgramError(f"program {i}: {error}") from None

    solve_batch(many, groups, new_solver, settings, started)
    return many


class AloneSolver:
    """Solver of programs that share their matrices, one after another; each thread has its own.

    It is set up for vectors of zeros, and the objective is scaled for each program alone, so that no answer depends on
    programs that were solved before, here or in another thread.
    """

    def __init__(self, programs: ConePrograms) -> None:
        self.programs, self.first = programs, programs.program(0)
        self.solver: Engine | None = None

    def solve(self, i: int, settings: Settings) -> Solution:
        """Solve program `i` and return its answer."""
        c, b, h = (self.programs.own(name, i) for name in ("c", "b", "h"))
        always = h == np.inf
        if self.solver is None or not np.array_equal(always, self.solver.program.h == np.inf):
            blank = self._with(np.zeros_like(c), np.zeros_like(b), np.where(always, np.inf, 0.0))
            self.solver = Engine.of_checked(blank, settings)
        self.solver.settings, self.solver.first = settings, None  # first = None: never choose another backend
        self.solver.equilibrate_for(self._with(c, b, h))
        return self.solver.solve()

    def _with(self, c: np.ndarray, b: np.ndarray, h: np.ndarray) -> ConeProgram:
        first = self.first
        return ConeProgram.of_checked(**{**vars(first), "c": c, "h": h, "b": b})
