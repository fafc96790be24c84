"""Solutions of quadratic programs."""

from __future__ import annotations

import functools
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar

import numpy as np

from socp.plan.plan import Plan
from socp.problem.checks import ArrayLike, ProgramError
from socp.problem.settings import Settings
from socp.problem.solution import NO_CERTIFICATE, Answer, answer_at
from socp.problem.solution import Solution as ConeSolution
from socp.problem.status import Status
from socp.verify.certificates import Ray
from socp.verify.stopping import Residuals

from .conflict import Side, conflict, sides_of
from .conflict import irreducible as irreducible_of
from .derivatives import Gradient, Tangent, linearize
from .program import QuadraticProgram

Point = tuple[np.ndarray, np.ndarray, np.ndarray]  # (x, y, z_bounds)


@dataclass(repr=False)
class Solution(Answer):
    """The answer to a quadratic program, with everything that is needed to check it.

    Attributes
    ----------
    status : Status
        A `str` enum; see `socp.Status`.
    x : array, shape (n,)
        The best point found.  For "dual_infeasible" a direction along which the objective decreases without bound:
        Px = 0, q'x = -1, and no finite side is approached; NaN for "primal_infeasible".
    y, z_bounds : arrays, shapes (m,), (n,)
        The multipliers: positive where the upper side is active, negative where the lower side is,
        Px + q + A'y + z_bounds = 0.  For "primal_infeasible" the certificate: A'y + z_bounds = 0 and
        u'y+ - l'y- + ub'z+ - lb'z- = -1; NaN for "dual_infeasible".  Sides that cross (l_i > u_i or lb_j > ub_j) prove
        infeasibility by themselves: their two multipliers are equal, y and z_bounds are zero, and `message` names them.
    objective, dual_objective : float
        NaN when infeasible.
    primal_residual, dual_residual, gap : float
        Relative, as in `qp.reduce.stopping`, on the caller's own data (of a certificate: its residual), measured in
        twice the working precision.
    iterations : int
        Iterations of the interior-point method, rounds of the active set (see `qp.active_set.method`), or rounds of the
        dual active set in which sides entered the working set (see `qp.active_set.dual`).
    setup_time, solve_time : float
        Seconds.
    message : str
        Reason for stopping, in words, with a note if double precision allows no smaller residual.
    trace : structured array
        One record per iteration or round; see `socp.problem.solution.TRACE`.  Numbers that a round lacks are NaN.
    timings : dict of float
        Seconds by part, as in `socp.Solution`; presolve, conversion to a cone program and active set are in "rest".
    plan : Plan
        Method that solved the program, with the reason; it prints in words (see `socp.plan.plan`).

    Examples
    --------
    >>> import qp
    >>> sol = qp.solve([[1.0]], [-3.0], ub=[2.0])  # the point of x <= 2 nearest to 3
    >>> print(sol.status, sol.x.round(6), sol.z_bounds.round(6), round(sol.objective, 6), sol.gap < 1e-8)
    optimal [2.] [1.] -4.0 True
    """

    status: Status
    x: np.ndarray
    y: np.ndarray
    z_bounds: np.ndarray
    objective: float
    dual_objective: float
    primal_residual: float
    dual_residual: float
    gap: float
    iterations: int
    setup_time: float
    solve_time: float
    message: str
    trace: np.ndarray = field(repr=False)
    timings: dict[str, float] = field(repr=False)
    plan: Plan | None = field(default=None, repr=False)
    run: InitVar[Any] = None
    engine: ClassVar[Any]  # the class that solves programs, set by `qp.engine`

    def __post_init__(self, run: Any) -> None:
        self._run = run
        self._cone_solution: ConeSolution | None = None

    @property
    def cone_solution(self) -> ConeSolution | None:
        """Solution of the underlying cone program; None for an answer of a batch or of a large active set."""
        run = self._run
        if run is not None:  # Another thread may set `_run` to None meanwhile.
            self._cone_solution, self._run = run(), None
        return self._cone_solution

    def _solve(self, program: QuadraticProgram) -> Solution:
        """Return the answer to another program with the tolerances of this one."""
        settings = self._settings or Settings()
        settings = Settings(tol=settings.tol, tol_abs=settings.tol_abs, threads=settings.threads)
        engine = self.engine.of_checked(program, settings)
        solution: Solution = engine.solve()
        engine.release()
        return solution

    def _state(self) -> dict[str, Any]:
        """Return the attributes of a copy: the cone solution is computed, and the run is left out."""
        return {**super()._state(), "_cone_solution": self.cone_solution, "_run": None}

    def conflict(self, irreducible: bool = False) -> list[Side]:
        """Return the sides that contradict each other in an infeasible program, those of the certificate.

        Parameters
        ----------
        irreducible : bool, default False
            True for an irreducible infeasible set (IIS): without any one of its sides the others have a common point.
            It is found from the certificate by leaving out one side after another, each tried by a solve.

        Returns
        -------
        list of Side
            (side, entry, name): the entry of "l", "u", "lb" or "ub", and the name of the row or variable in its file,
            or "".  An equality is named by the side that is in conflict.  The largest multipliers of the certificate
            are first; an irreducible set is in the order of rows and variables.

        Raises
        ------
        ProgramError
            The program is not infeasible, or the answer was unpickled, without its program.

        Notes
        -----
        A program may have several irreducible sets, and one is found; `qp.relax` finds the least change that resolves
        all.  "Infeasible" is meant up to the `tol` of the solve.

        Examples
        --------
        Two of the four rows contradict each other:

        >>> import qp
        >>> A = [[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 1, 0]]
        >>> sol = qp.solve(None, [1, 1, 1], A=A, l=[3, 1, 1, -9], u=[9, 9, 8, 2], lb=0.0)
        >>> [str(side) for side in sol.conflict(irreducible=True)]
        ['l[0]', 'u[3]']
        """
        if self.status is not Status.PRIMAL_INFEASIBLE:
            raise ProgramError(f"only an infeasible program has a conflict, but the status is {self.status.value!r}")
        program = self._with_program().args[0]
        sides = sides_of(program, self.y, self.z_bounds)
        return (
            irreducible_of(program, sides_of(program, self.y, self.z_bounds, 0.0), self._solve)
            if irreducible
            else sides
        )

    def vjp(
        self, dx: ArrayLike | None = None, dy: ArrayLike | None = None, dz_bounds: ArrayLike | None = None,
        smoothing: float = 0.0,
    ) -> Gradient:  # fmt: skip
        """Return the gradient of a scalar function of this answer with respect to all data of the program.

        Parameters
        ----------
        dx, dy, dz_bounds : array_like, optional
            Gradients of the scalar with respect to x, y and z_bounds; None is zero.
        smoothing : float, default 0
            When above 0, the point of the central path with products of slacks and multipliers `smoothing` is
            differentiated in place of the answer: it has a derivative everywhere, so that layers can train with it.

        Returns
        -------
        Gradient
            Its fields are P, q, A, l, u, lb, ub, and `differentiable`: False where the answer has no derivative, as at
            a degenerate vertex; it is then the element of least norm.

        Raises
        ------
        ProgramError
            The status is not "optimal", or the answer was unpickled, without its program.

        Notes
        -----
        One factorization, dense or sparse, of the system of the active rows and the variables between their bounds, and
        two solves, one of which refines the answer.

        Examples
        --------
        >>> import qp
        >>> sol = qp.solve([[2.0, 0.0], [0.0, 2.0]], [-2.0, -4.0], ub=[3.0, 1.0])  # x = (1, 1), at the second bound
        >>> gradient = sol.vjp(dx=[1.0, 1.0])
        >>> print(gradient.q.round(6) + 0.0, gradient.ub.round(6) + 0.0, gradient.differentiable)
        [-0.5  0. ] [0. 1.] True
        """
        return self._linearized(smoothing).gradient(dx, dy, dz_bounds)

    def jvp(
        self, dP: ArrayLike | None = None, dq: ArrayLike | None = None, dA: ArrayLike | None = None,
        dl: ArrayLike | None = None, du: ArrayLike | None = None, dlb: ArrayLike | None = None,
        dub: ArrayLike | None = None, smoothing: float = 0.0,
    ) -> Tangent:  # fmt: skip
        """Return the derivative of this answer, a `Tangent`, along a change of the data.

        Parameters
        ----------
        dP, dq, dA, dl, du, dlb, dub : array_like, optional
            Changes of the data, each with the shape of the data; None is zero.  An equality moves by the mean of the
            changes of its two sides.
        smoothing : float, default 0
            As in `vjp`.
        """
        return self._linearized(smoothing).tangent(dP, dq, dA, dl, du, dlb, dub)


def solution_at(
    program: QuadraticProgram, status: Status, point: Point, found: Residuals | None,
    certificate: tuple[Ray, float] = NO_CERTIFICATE, **rest: Any,
) -> Solution:  # fmt: skip
    """Return the `Solution` at a point, given its residuals.

    Parameters
    ----------
    program : QuadraticProgram
    status : Status
    point : tuple of arrays
        (x, y, z_bounds); for a certificate its ray, and any values for the other parts.
    found : Residuals or None
        None for a certificate.
    certificate : (tuple of arrays, float), optional
        The normalized certificate and its error if they are known; otherwise they are computed from the ray.
    **rest
        The other fields of `Solution`.
    """
    x, y, z = point
    x, (y, z), figures = answer_at(program, status, x, (y, z), found, certificate)
    solution = Solution(status, x, y, z, *figures, **rest)
    if status is Status.PRIMAL_INFEASIBLE:
        vars(solution)["_rest"] = words_of_ray, program, vars(solution).pop("message")
    solution._linearize = functools.partial(linearize, program)
    return solution


def words_of_ray(solution: Solution, program: QuadraticProgram, reason: str) -> dict[str, str]:
    """Return the message of an infeasible program, whose words take longer than its certificate."""
    return {"message": infeasible_message(reason, conflict(program, solution.y, solution.z_bounds))}


def infeasible_message(reason: str, sides: str) -> str:
    """Return the message of an infeasible program: the reason, the sides in conflict, and the remedy."""
    return f"{reason}; in conflict: {sides}; qp.relax finds the nearest feasible program"
