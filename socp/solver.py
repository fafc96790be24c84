"""The public solver of cone programs, which is set up once, solves, is updated and solves again."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .batch.programs import solve_like
from .engine import Engine
from .kernel_groups import ready_for
from .method.run import Iterate
from .problem.checks import ArrayLike, Number, ProgramError, all_finite, as_vector, check_finite, check_no_nan
from .problem.lowrank import LowRank
from .problem.program import Cone, ConeProgram
from .problem.settings import CHECKS, ConeSettings, Settings, document_names, document_settings
from .problem.solution import Solution
from .problem.starts import WarmStart
from .problem.updates import with_hessian, with_values

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .batch.solutions import Solutions


class Call(ConeSettings, total=False):
    """Keyword arguments of `Solver`, `solve` and `iterates`: the data of a cone program, and the settings."""

    c: ArrayLike | None
    G: ArrayLike | None
    h: ArrayLike | Number | None
    cones: Sequence[Cone] | Cone | None
    A: ArrayLike | None
    b: ArrayLike | Number | None
    P: ArrayLike | LowRank | None
    offset: float | None


KNOWN = ("program", "warm_start", *Call.__annotations__)
ATTRIBUTES = "c", "G", "h", "cones", "A", "b", "P", "P_eps", "P_places", "offset", "maximize"
DATA = frozenset(Call.__annotations__) - frozenset(CHECKS)


@document_settings
class Solver(Engine):
    """Solver of a cone program; equilibration, ordering and symbolic analysis are done once, in the set-up.

    Parameters
    ----------
    program : ConeProgram, optional
        The program; without it, its data are given by name:
    c, G, h, cones, A, b, P, offset
        As in `ConeProgram`.
    tol, max_iter, ...
        The settings, each as in `Settings`.

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted, or P is not positive semidefinite; the message names it.

    Examples
    --------
    >>> from socp import NonNeg, Solver
    >>> solver = Solver(c=[1.0, 2.0], G=[[-1, 0], [0, -1]], h=[-3, -4], cones=[NonNeg(2)])
    >>> print(f"{solver.solve().objective:.6f}")
    11.000000
    >>> solver.update(h=[-1, -1])
    >>> print(f"{solver.solve(warm_start=True).objective:.6f}")
    3.000000
    """

    def __init__(self, program: ConeProgram | None = None, **named: Unpack[Call]) -> None:
        self._start(*_accepted("Solver", program, named))

    @document_names
    def update(
        self,
        c: ArrayLike | None = None,
        b: ArrayLike | Number | None = None,
        h: ArrayLike | Number | None = None,
        P_data: ArrayLike | LowRank | None = None,
        G_data: ArrayLike | None = None,
        A_data: ArrayLike | None = None,
    ) -> None:
        """Replace data of the program; results of the set-up are kept while matrices have entries in the old places.

        `P_data`, `G_data` and `A_data` are matrices, dense or sparse, or vectors of new values for the entries of the
        old matrix, column by column, as in ``program.A.data``: for the stored entries of a sparse matrix, whose
        duplicates are summed, and for the nonzero entries of an array.  This is not the order of ``A.data`` of an A in
        CSR.  Entries in other places, or in those of stored zeros, need a new set-up, which is done here.  The program
        that was given to the constructor is not changed.  An interrupted update leaves a solver with the old or the
        new program, which is set up again at its next use.
        """
        with self.at_work:
            old = self.program
            program = ConeProgram.of_checked(**{name: getattr(old, name) for name in ATTRIBUTES})
            program._cone_layout = old.cone_layout
            if c is not None:
                program.c = as_vector("c", c, old.n)
                check_finite("c", program.c)
            if b is not None:
                program.b = as_vector("b", b, old.p)
                check_finite("b", program.b)
            if h is not None:
                program.h = as_vector("h", h, old.m)
                if not (all_finite(program.h) and all_finite(old.h)):
                    check_no_nan("h", program.h)
                    if not np.array_equal(np.isposinf(program.h), np.isposinf(old.h)) or np.isneginf(program.h).any():
                        raise ProgramError("h must be infinite in the same rows as before; build a new Solver instead")
            if P_data is None and G_data is None and A_data is None:
                return self.replace_vectors(program)
            if P_data is not None:
                vars(program).update(with_hessian(old, P_data))
            if A_data is not None:
                program.A = with_values("A", old.A, A_data)
            if G_data is not None:
                program.G = with_values("G", old.G, G_data)
            return self.replace(program)

    def solve_many(
        self, c: ArrayLike | None = None, b: ArrayLike | None = None, h: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Solutions:  # fmt: skip
        """Solve the program with other vectors, each with a leading axis of length k or as in `update`.

        Returns
        -------
        Solutions
            See `socp.solve_many`; the solver itself is not changed.
        """
        return solve_like(self, {"c": c, "b": b, "h": h}, threads)

    def iterates(self) -> Iterator[Iterate]:
        """Yield the iterates of a `solve` of the present program, one `Iterate` at a time.

        The run has its own set-up and memory and holds no lock: meanwhile the solver may be updated and solve, in this
        thread or another, and several runs may proceed at once.  After an `update` the run equilibrates the new data,
        which the solver itself may not do.  The number of BLAS threads is not changed.
        """
        return copy.copy(self).own_iterates()


@document_settings
def solve(
    program: ConeProgram | None = None, *, warm_start: WarmStart = None, **named: Unpack[Call]
) -> Solution:  # fmt: skip
    """Solve a cone program: ``solve(program)`` or ``solve(c=c, G=G, h=h, cones=...)``, and settings by name.

    Parameters
    ----------
    program : ConeProgram, optional
        The program; without it, its data are given by name:
    c, G, h, cones, A, b, P, offset
        As in `ConeProgram`.
    warm_start : Solution, tuple (x, y, z), or vector x, optional
        Point near the solution, as in `Solver.solve`.
    tol, max_iter, ...
        The settings, each as in `Settings`.

    Returns
    -------
    Solution

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it.

    Examples
    --------
    The point of the unit disk with the smallest first coordinate:

    >>> from socp import SecondOrder, solve
    >>> sol = solve(c=[1.0, 0.0], G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0], cones=[SecondOrder(3)])
    >>> print(sol.status, f"{sol.objective:.6f}")
    optimal -1.000000
    """
    solver = Solver.of_checked(*_accepted("solve", program, named))
    solution = solver.solve(warm_start)
    solver.release()
    return solution


@document_settings
def iterates(program: ConeProgram | None = None, **named: Unpack[Call]) -> Iterator[Iterate]:
    """Yield the iterates of `solve`, one at a time, with access to the state of the solver.

    Parameters
    ----------
    program : ConeProgram, optional
        The program; without it, its data are given by name:
    c, G, h, cones, A, b, P, offset
        As in `ConeProgram`.
    tol, max_iter, ...
        The settings, each as in `Settings`.

    Yields
    ------
    Iterate
        An iterate, valid until the next one is requested.

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted, when the first iterate is asked for; the message names it.

    Examples
    --------
    >>> from socp import ConeProgram, NonNeg, iterates
    >>> program = ConeProgram(c=[1.0, 1.0], G=[[-1, 0], [0, -1]], h=[0, 0], cones=[NonNeg(2)], A=[[1, 1]], b=[1])
    >>> all(0 < iterate.mu < 10 for iterate in iterates(program))
    True
    """
    return Solver.of_checked(*_accepted("iterates", program, named)).own_iterates()


def _accepted(function: str, program: Any, named: Mapping[str, Any]) -> tuple[ConeProgram, Settings]:
    """Return the program and the settings of a call of `function`; data that are None count as not given."""
    data, others = {}, {}
    for name, value in named.items():
        if name not in DATA:
            others[name] = value
        elif value is not None:
            data[name] = value
    settings = Settings.of_call(others, function, KNOWN)
    if program is not None:
        if not isinstance(program, ConeProgram):
            came = reprlib.repr(program)
            raise ProgramError(f"program must be a ConeProgram, but {came} came; data are given by name: c={came}, ...")
        if data:
            raise ProgramError(f"a program came, and {', '.join(data)} beside it: give one or the other")
        return program, settings
    if "c" not in data:
        raise ProgramError("c, the linear objective, is missing")
    ready_for(data.get("P"), data.get("G"), data.get("A"), cones=data.get("cones"))
    return ConeProgram(**data), settings
