"""The public solver of quadratic programs, which is set up once, solves, is updated and solves again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from socp.kernel_groups import ready_for
from socp.problem.checks import ArrayLike, Number, ProgramError
from socp.problem.lowrank import LowRank
from socp.problem.settings import ALIASES, CHECKS, QuadraticSettings, Settings, document_names, document_settings
from socp.problem.starts import WarmStart
from socp.problem.updates import with_hessian, with_values

from .active_set.small import Data, solve_again
from .batch import Solutions, solve_like
from .engine import Engine
from .problem.program import QuadraticProgram
from .problem.solution import Solution

if TYPE_CHECKING:
    from typing_extensions import Unpack


@document_settings
class Solver(Engine):
    """Solver of a quadratic program, set up once and solved again after `update`.

    Parameters
    ----------
    P, q, A, l, u, lb, ub, offset
        As in `QuadraticProgram`; or a `QuadraticProgram` in place of P, without other data.
    tol, max_iter, ...
        The settings, each as in `socp.Settings`.

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it.

    Examples
    --------
    >>> from qp import Solver
    >>> solver = Solver([[2.0, 0.0], [0.0, 2.0]], [-2.0, -4.0], lb=0.0, ub=1.0)
    >>> print(f"{solver.solve().objective:.6f}")
    -4.000000
    >>> solver.update(ub=[0.5, 1.0])
    >>> print(f"{solver.solve(warm_start=True).objective:.6f}")
    -3.750000
    """

    def __init__(
        self,
        P: ArrayLike | LowRank | QuadraticProgram | None,
        q: ArrayLike | None = None,
        A: ArrayLike | None = None,
        l: ArrayLike | Number | None = None,
        u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None,
        ub: ArrayLike | Number | None = None,
        offset: float | None = None,
        **settings: Unpack[QuadraticSettings],
    ) -> None:
        checked = Settings.of_call(settings, "Solver", KNOWN)
        self._start(program_of(P, q, A, l, u, lb, ub, offset), checked)

    @document_names
    def update(
        self,
        q: ArrayLike | None = None,
        l: ArrayLike | Number | None = None,
        u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None,
        ub: ArrayLike | Number | None = None,
        P_data: ArrayLike | LowRank | None = None,
        A_data: ArrayLike | None = None,
    ) -> None:
        """Replace data of the program; it is set up again only if the new data require it.

        They do if sides become finite, infinite or equal, if presolve removes other rows, or if a matrix has entries in
        new places.  `P_data` and `A_data` are matrices, dense or sparse, or vectors of new values for the entries of
        the old matrix, column by column, as in ``program.A.data``: for the stored entries of a sparse matrix, whose
        duplicates are summed, and for the nonzero entries of an array.  This is not the order of ``A.data`` of an A in
        CSR.  For programs after the first one the backend is chosen by the cost of an iteration,
        without the cost of its analysis.  An interrupted update leaves a solver with the old or the new program, which
        is set up again at its next use.
        """
        with self.at_work:
            started = time.perf_counter()
            old, new_sides = self.program, not (l is None and u is None and lb is None and ub is None)
            matrices = {} if P_data is None else with_hessian(old, P_data)
            if A_data is not None:
                matrices["A"] = with_values("A", old.A, A_data)
            program = old.with_data(q, l, u, lb, ub, **matrices)
            self._take(program, P_data is not None, A_data is not None, new_sides)
            self.setup_time = time.perf_counter() - started

    def solve_many(
        self, q: ArrayLike | None = None, l: ArrayLike | Number | None = None, u: ArrayLike | Number | None = None,
        lb: ArrayLike | Number | None = None, ub: ArrayLike | Number | None = None, threads: int | None = None,
        warm_start: WarmStart = None,
    ) -> Solutions:  # fmt: skip
        """Solve the program with other vectors, each with a leading axis of length k or as in `update`.

        `warm_start` is as in `qp.solve_many`.

        Returns
        -------
        Solutions
            See `qp.solve_many`; the solver itself is not changed.
        """
        return solve_like(self, {"q": q, "l": l, "u": u, "lb": lb, "ub": ub}, threads, warm_start)


@document_settings
def solve(
    P: ArrayLike | LowRank | QuadraticProgram | None,
    q: ArrayLike | None = None,
    A: ArrayLike | None = None,
    l: ArrayLike | Number | None = None,
    u: ArrayLike | Number | None = None,
    lb: ArrayLike | Number | None = None,
    ub: ArrayLike | Number | None = None,
    offset: float | None = None,
    *,
    warm_start: WarmStart = None,
    **settings: Unpack[QuadraticSettings],
) -> Solution:
    """Solve a quadratic program: ``solve(P, q, A=A, l=l, ...)`` or ``solve(program)``, and settings by name.

    Parameters
    ----------
    P, q, A, l, u, lb, ub, offset
        As in `QuadraticProgram` (sides of 1e20 and more are infinite); or a `QuadraticProgram` in place of P,
        without other data.
    warm_start : Solution, tuple (x, y, z_bounds), or vector x, optional
        Point near the solution, as in `Solver.solve`.
    tol, max_iter, ...
        The settings, each as in `socp.Settings`.

    Returns
    -------
    Solution

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it.

    Examples
    --------
    The projection of (1, 1.4) onto the box [0, 1]^2 cut by x_1 + x_2 <= 1:

    >>> import qp
    >>> sol = qp.solve([[1, 0], [0, 1]], [-1, -1.4], A=[[1, 1]], u=[1], lb=0, ub=1)
    >>> print(sol.status, sol.x.round(6), sol.y.round(6))
    optimal [0.3 0.7] [0.7]
    """
    checked, data = Settings.of_call(settings, "solve", KNOWN), (P, q, A, l, u, lb, ub)
    arrays = None if q is None else (*data, 0.0 if offset is None else offset)
    return solve_checked(arrays, lambda: program_of(*data, offset), checked, warm_start)


def solve_checked(
    arrays: Data | None, make_program: Callable[[], QuadraticProgram], settings: Settings, warm_start: WarmStart
) -> Solution:
    """Solve a program straight from the caller's `arrays`, or, where these must be checked first, as it is made."""
    solution = None
    if arrays is not None and warm_start is None:
        solution = solve_again(arrays, settings)
    if not solution:
        program = make_program()
        if solution is None and warm_start is None:
            data = program.P, program.q, program.A, program.l, program.u, program.lb, program.ub
            solution = solve_again((*data, program.offset), settings, program)
    if not solution:
        solver = Solver.of_checked(program, settings)
        solution = solver.solve(warm_start)
        solver.release()
    return solution


DATA = ("q", "A", "l", "u", "lb", "ub", "offset")
KNOWN = ("P", *DATA, "warm_start", *CHECKS, *ALIASES)  # the keyword arguments of `solve` and `Solver`


def program_of(P: Any, *data: Any) -> QuadraticProgram:
    """Return the program of a call, from P and the data in `DATA`; data that are None count as not given."""
    if isinstance(P, QuadraticProgram):
        came = [name for name, value in zip(DATA, data) if value is not None]
        if came:
            raise ProgramError(f"a QuadraticProgram came, and {', '.join(came)} beside it: give one or the other")
        return P.plain()
    q, A, l, u, lb, ub, offset = data
    if q is None:
        raise ProgramError("q, the linear objective, is missing")
    ready_for(P, A)
    return QuadraticProgram(P, q, A, l, u, lb, ub, 0.0 if offset is None else offset)
