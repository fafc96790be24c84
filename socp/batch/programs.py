"""Many cone programs of one shape solved at once, in the lanes of vector registers where they are small."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problem.checks import ArrayLike, ProgramError, check_finite
from ..problem.program import Cone, ConeProgram
from ..problem.settings import BatchSettings, Settings, document_settings
from ..problem.solution import Solution
from ..solver import Solver
from .checks import BatchData, axes_of, matrices, refuse_nonconvex, rows_of
from .cone_lots import lots_of
from .lots import fits_lanes, solve_batch
from .solutions import Solutions

if TYPE_CHECKING:
    from typing_extensions import Unpack

KNOWN = ("c", "G", "h", "cones", "A", "b", "P", *BatchSettings.__annotations__)


class ConePrograms(BatchData):
    """The checked data of a batch."""

    def __init__(self, c: Any, G: Any, h: Any, cones: Any, A: Any, b: Any, P: Any) -> None:
        for name, value, other, with_it in (("G", G, "h", h), ("A", A, "b", b)):
            if (value is None) != (with_it is None):
                raise ProgramError(f"{name} and {other} go together, but only one of them came")
        self.c = rows_of("c", c, None, "")
        check_finite("c", self.c if axes_of(c) == 2 else self.c[0])
        n = self.c.shape[1]
        variables = f" ({n} variables in c)"
        self.P = matrices("P", P, (n, n), variables)
        self.G, self.A = matrices("G", G, (None, n), variables), matrices("A", A, (None, n), variables)
        m, p = self.G.shape[1], self.A.shape[1]
        self.h = rows_of("h", np.zeros(m) if h is None else h, m, " (the rows of G)")
        self.b = rows_of("b", np.zeros(p) if b is None else b, p, " (the rows of A)")
        check_finite("b", self.b if axes_of(b) == 2 else self.b[0])
        bad = np.argwhere(~(self.h > -np.inf))
        if bad.size:
            at = tuple(int(i) for i in bad[0])
            index = ", ".join(map(str, at[0 if axes_of(h) == 2 else 1 :]))
            raise ProgramError(f"h must be numbers or inf, but h[{index}] is {self.h[at]}")
        self.cones, self._has_P = cones, P is not None
        self.count(c=c, G=G, h=h, A=A, b=b, P=P)
        self.share_matrices = self.P.shape[0] == self.G.shape[0] == self.A.shape[0] == 1

    def program(self, i: int) -> ConeProgram:
        """Program i by itself."""
        try:
            given: dict[str, Any] = {name: self.own(name, i) for name in ("c", "G", "h", "A", "b")}
            return ConeProgram(**given, cones=self.cones, P=self.own("P", i) if self._has_P else None)
        except ProgramError as error:
            raise ProgramError(f"program {i}: {error}") from None


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
    """Solve many cone programs of one shape: any argument may have a leading axis, an entry for each program.

    Parameters
    ----------
    c, G, h, cones, A, b, P
        As in `ConeProgram`, shared by all programs; or, but for the cones, with a leading axis of length k, as c of
        shape (k, n) and G of shape (k, m, n).
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
    Programs are shared out among the threads.  Small programs are solved side by side in the lanes of vector registers,
    larger ones one by one, where the first sets up for all that share P, A and G.  Every answer passes the stopping
    test of `solve` on the caller's own data.  A program that fails beside others is solved again by itself.

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


def solve_like(solver: Solver, vectors: dict[str, Any], threads: int | None) -> Solutions:
    """`Solver.solve_many`."""
    program, settings = solver.program, settings_of_batch(solver.settings, threads)
    data = {name: getattr(program, name) for name in ("c", "b", "h")}
    data.update({name: value for name, value in vectors.items() if value is not None})
    return solve_cone_programs(
        ConePrograms(**data, G=program.G, A=program.A, P=program.P, cones=program.cones), settings
    )


def settings_of_batch(settings: Settings, threads: int | None) -> Settings:
    """The settings of a solver for a batch, of which nobody watches single iterations."""
    checked = settings.threads if threads is None else Settings(threads=threads).threads
    return dataclasses.replace(settings, threads=checked, verbose=False, callback=None)


def solve_cone_programs(programs: ConePrograms, settings: Settings) -> Solutions:
    """The answers to checked programs."""
    started = time.perf_counter()
    n, p, m = programs.c.shape[1], programs.A.shape[1], programs.G.shape[1]
    many, first, lots = Solutions(programs.k, x=n, y=p, z=m, s=m), programs.program(0), []
    many._programs = programs
    if fits_lanes(n, p + m):
        refuse_nonconvex(programs.P, "c")
        lots = lots_of(programs, first.cones, settings)

    def new_solver() -> Callable[[int, Settings], Solution]:
        """What solves a program by itself, set up once where programs share their matrices."""
        shared: list[Solver] = []

        def alone(i: int, own: Settings) -> Solution:
            h = programs.own("h", i)
            if not programs.share_matrices or not np.array_equal(h == np.inf, first.h == np.inf):
                return Solver.of_checked(programs.program(i), own).solve()
            if not shared:
                shared.append(Solver.of_checked(first, own))
            shared[0].update(c=programs.own("c", i), b=programs.own("b", i), h=h)
            return shared[0].solve()

        return alone

    solve_batch(many, lots, new_solver, settings, started)
    return many
