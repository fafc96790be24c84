"""Batches of quadratic programs of one shape; small programs are solved in the lanes of vector registers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from socp.batch.checks import BatchData, eps_of_each, matrices, refuse_nonconvex, rows_at
from socp.batch.groups import Group, Task, alike, fits_lanes, kinds_of, solve_batch
from socp.batch.programs import settings_of_batch
from socp.batch.solutions import MESSAGES, Answers
from socp.batch.spans import NO_CONES
from socp.batch.verify import NO_LAYOUT, verifier_for, verify
from socp.derivatives.batch import side_by_side
from socp.method.start import WARM_LIMIT
from socp.problem.checks import ArrayLike, Number, ProgramError, as_csc, as_vector, check_finite
from socp.problem.hessian import as_hessian, is_mostly_full
from socp.problem.lowrank import LowRank
from socp.problem.settings import QuadraticBatchSettings, Settings, document_settings
from socp.problem.starts import WarmStart
from socp.problem.status import Status

from . import kernel_groups  # noqa: F401  adds the kernels of `qp` before anything is compiled
from .active_set.dual_set import find_definite
from .active_set.small import DualActiveSet
from .engine import Engine
from .plan.choice import suits_loop
from .problem.derivatives import Gradient, Tangent, linearize, linearize_many
from .problem.program import NO_LOWER, NO_UPPER, QuadraticProgram, check_rows, checked_sides
from .problem.solution import Solution
from .problem.starts import bound_multipliers, residual

if TYPE_CHECKING:
    from typing_extensions import Unpack

KNOWN = ("P", "q", "A", "l", "u", "lb", "ub", "warm_start", *QuadraticBatchSettings.__annotations__)

CERTIFIED = {Status.PRIMAL_INFEASIBLE: "(y, z_bounds) certifies that no feasible point exists"}


class Solutions(Answers[Solution]):
    """Answers to a batch of quadratic programs: arrays with a row for each; ``many[i]`` is the `Solution` of program i.

    Attributes
    ----------
    status : array of Status, shape (k,)
        ``many.status == "optimal"`` is an array of truth values.
    x, y, z_bounds : arrays, shapes (k, n), (k, m), (k, n)
        As in `Solution`; NaN where a program has no such vector.
    objective, dual_objective : arrays, shape (k,)
    primal_residual, dual_residual, gap : arrays, shape (k,)
        Relative, measured on the caller's own data.
    iterations : array of int, shape (k,)
    setup_time, solve_time : float
        Seconds for the whole batch.

    Examples
    --------
    >>> import qp
    >>> many = qp.solve_many([[1.0]], [[-3.0], [1.0]], lb=0.0, ub=2.0)
    >>> print(len(many), many.status[0], many.x.round(6).ravel() + 0.0, [sol.iterations < 20 for sol in many])
    2 optimal [2. 0.] [True, True]
    """

    vectors, single, messages = ("x", "y", "z_bounds"), Solution, {**MESSAGES, **CERTIFIED}
    linearize, linearize_many = staticmethod(linearize), staticmethod(linearize_many)
    z_bounds: np.ndarray

    def vjp(self, dx: Any = None, dy: Any = None, dz_bounds: Any = None, smoothing: float = 0.0) -> Gradient:
        """Return the vector-Jacobian product of every program: `Solution.vjp` with a leading batch axis.

        Parameters
        ----------
        dx, dy, dz_bounds : array_like, shapes (k, n), (k, m), (k, n), optional
            Gradients of one scalar function per program with respect to x, y and z_bounds; None is zero.
        smoothing : float, default 0

        Returns
        -------
        Gradient
            Its fields have a leading axis where the argument has one; for data that the programs share it is the
            gradient of the sum of the functions.  `differentiable` is an array.

        Raises
        ------
        ProgramError
            The status of a program is not "optimal", or the answers were unpickled, without their programs.

        Examples
        --------
        >>> import numpy as np, qp
        >>> many = qp.solve_many(np.eye(2), -np.array([[0.5, 2.0], [0.3, 0.2]]), lb=0, ub=1)
        >>> gradient = many.vjp(dx=np.ones((2, 2)))
        >>> print(gradient.q.round(6).tolist(), gradient.ub.round(6), gradient.differentiable)
        [[-1.0, -0.0], [-1.0, -1.0]] [0. 1.] [ True  True]
        """
        return self._linearized(smoothing).gradient(dx, dy, dz_bounds)

    def jvp(
        self, dP: Any = None, dq: Any = None, dA: Any = None, dl: Any = None, du: Any = None, dlb: Any = None,
        dub: Any = None, smoothing: float = 0.0,
    ) -> Tangent:  # fmt: skip
        """Return the derivatives of all answers along changes of the data, with or without a leading axis."""
        return self._linearized(smoothing).tangent(dP, dq, dA, dl, du, dlb, dub)


class Programs(BatchData):
    """Checked data of a batch, which threads share and never write.

    Attributes
    ----------
    P, A : arrays, shapes (1 or k, n, n), (1 or k, m, n)
    q, l, u, lb, ub : arrays, shapes (1 or k, n) and (1 or k, m)
    bounds : array of bool, shape (1 or k, m)
        True for rows with one entry.
    are_crossed : array of bool, shape (1 or k,)
        True for programs with a lower side above the upper side; they are solved alone.
    ready : DualActiveSet or None
        A method with matrices that all programs share, for the first thread that takes it.
    """

    ready: DualActiveSet | None = None

    l: np.ndarray
    u: np.ndarray
    lb: np.ndarray
    ub: np.ndarray

    def __init__(self, P: Any, q: Any, A: Any, l: Any, u: Any, lb: Any, ub: Any) -> None:
        self.q = as_vector("q", q, leading=True)
        check_finite("q", self.q)
        n = self.q.shape[-1]
        variables = f" ({n} variables in q)"
        self.P = matrices("P", P, (n, n), variables, (LowRank,))
        self.P_eps = eps_of_each(P, self.P)
        self.A = matrices("A", A, (None, n), variables)
        m = self.A.shape[-2]
        check_rows(A, m, l, u)
        self.n, self.m = n, m
        rows = " (the rows of A)"
        for name, value, size, why, absent in (
            ("l", l, m, rows, NO_LOWER), ("u", u, m, rows, NO_UPPER),
            ("lb", lb, n, variables, NO_LOWER), ("ub", ub, n, variables, NO_UPPER),
        ):  # fmt: skip
            setattr(self, name, as_vector(name, value, size, why, True, absent, leading=True))
        self.hold(("q", "l", "u", "lb", "ub"), ("P", "A"))
        self.l, self.u = checked_sides(("l", "u"), self.l, self.u)
        self.lb, self.ub = checked_sides(("lb", "ub"), self.lb, self.ub)
        crossed = (self.l > self.u).any(axis=1), (self.lb > self.ub).any(axis=1)
        self.are_crossed = np.asarray(np.logical_or(*crossed))
        entries = self.A != 0.0
        self.bounds = np.full((1, m), n == 1) if entries.all() else entries.sum(axis=2) == 1

    @functools.cached_property
    def shared(self) -> dict[str, Any]:
        """The matrices among P and A that all programs share, by name, as a program holds them."""
        return {name: self._held(name, 0) for name in ("P", "A") if not self.has_axis[name]}

    def _held(self, name: str, i: int) -> Any:
        own = self.own(name, i)
        if name == "A":
            return as_csc("A", own)
        return own if is_mostly_full(own) else as_hessian("P", own, self.n, "q")

    def program(self, i: int) -> QuadraticProgram:
        """Return program `i`."""
        P, A = (self.shared[name] if name in self.shared else self._held(name, i) for name in ("P", "A"))
        q, l, u, lb, ub = (self.own(name, i) for name in ("q", "l", "u", "lb", "ub"))
        are_crossed = bool(self.are_crossed[i if self.are_crossed.size > 1 else 0])
        return QuadraticProgram.of_checked(
            P=P, P_eps=self.eps(i), q=q, A=A, l=l, u=u, lb=lb, ub=ub, offset=0.0, are_crossed=are_crossed
        )

    def near_points(self, x: np.ndarray, y: np.ndarray | None, z: np.ndarray | None) -> Start:
        """Return x and (y, z_bounds) with unknown multipliers computed, and NaN for points with large residuals."""
        with np.errstate(invalid="ignore"):
            y = np.zeros((self.k, self.m)) if y is None else y
            Px, Ax = ((matrix @ x[:, :, None])[..., 0] for matrix in (self.P, self.A))
            Aty = (np.swapaxes(self.A, 1, 2) @ y[:, :, None])[..., 0]
            z = bound_multipliers(Px + self.q + Aty, x, self.lb, self.ub) if z is None else z
            far = ~(residual(Px, self.q, Aty + z, (Ax, self.l, self.u), (x, self.lb, self.ub)) < WARM_LIMIT)
        return np.where(far[:, None], np.nan, x), np.concatenate([y, z], axis=1)

    def sides(self) -> dict[str, np.ndarray]:
        """Return l and u of the rows, followed by lb and ub of the variables."""
        return {"l": side_by_side(self.l, self.lb), "u": side_by_side(self.u, self.ub)}


@document_settings
def solve_many(
    P: ArrayLike | None,
    q: ArrayLike,
    A: ArrayLike | None = None,
    l: ArrayLike | Number | None = None,
    u: ArrayLike | Number | None = None,
    lb: ArrayLike | Number | None = None,
    ub: ArrayLike | Number | None = None,
    *,
    warm_start: WarmStart = None,
    **settings: Unpack[QuadraticBatchSettings],
) -> Solutions:
    """Solve many quadratic programs of one shape; any argument may have a leading axis, with an entry per program.

    Parameters
    ----------
    P, q, A, l, u, lb, ub
        As in `QuadraticProgram`, shared by all programs; or with a leading axis of length k, as q of shape (k, n) and
        P of shape (k, n, n).  A `LowRank` is rounded to a dense array.
    warm_start : Solutions, tuple (x, y, z_bounds), or array x, optional
        Answers to k programs of this shape, or points with or without a leading axis; each program starts at its point
        if the residuals there are well below the size of the data.
    tol, max_iter, ...
        The settings, each as in `socp.Settings`.

    Returns
    -------
    Solutions

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it and the program.

    Notes
    -----
    Threads share the programs.  Every answer passes the stopping test of `qp.solve` on the caller's own data.  A
    program that fails in its lane is solved again alone.

    Examples
    --------
    The projections of three points onto the box [0, 1]^2:

    >>> import numpy as np, qp
    >>> many = qp.solve_many(np.eye(2), -np.array([[0.5, 2.0], [-1.0, 0.2], [3.0, 3.0]]), lb=0, ub=1)
    >>> print(many.x.round(6) + 0.0)
    [[0.5 1. ]
     [0.  0.2]
     [1.  1. ]]
    """
    checked, started = Settings.of_call(settings, "solve_many", KNOWN), time.perf_counter()
    programs = Programs(P, q, A, l, u, lb, ub)
    return solve_programs(programs, checked, started, checked_start(warm_start, programs))


Start = tuple[np.ndarray, np.ndarray]  # arrays x and (y, z_bounds), with a row for each program


def checked_start(start: Any, programs: Programs) -> Start | None:
    """Return the points of a warm start, or None; raise ProgramError if they do not fit the programs.

    Points whose residuals are of the size of the data are replaced by NaN: their programs start cold.
    """
    if start is None:
        return None
    k, sizes = programs.k, {"x": programs.n, "y": programs.m, "z_bounds": programs.n}
    parts: list[np.ndarray | None]
    if isinstance(start, Solutions):
        parts = [as_vector(f"warm_start.{name}", getattr(start, name), leading=True) for name in sizes]
    elif isinstance(start, tuple) and len(start) == 3 and start[0] is not None:
        pairs = zip(sizes, start)
        parts = [None if part is None else as_vector(f"warm_start: {key}", part, leading=True) for key, part in pairs]
    elif isinstance(start, (list, np.ndarray)):
        parts = [as_vector("warm_start", start, leading=True), None, None]
    else:
        raise ProgramError(
            "warm_start must be the Solutions of a batch, a tuple (x, y, z_bounds) or an array x, but "
            f"{type(start).__name__} came"
        )
    for part, (name, size) in zip(parts, sizes.items()):
        if part is not None and part.shape not in ((k, size), (size,)):
            raise ProgramError(
                f"warm_start must have points of {k} programs with {programs.n} variables and {programs.m} rows, but "
                f"{name} of shape {part.shape} came"
            )
    x, y, z = (
        None if part is None else np.broadcast_to(part, (k, size)) for part, size in zip(parts, sizes.values())
    )  # fmt: skip
    assert x is not None
    return programs.near_points(x, y, z)


def solve_like(
    solver: Engine, vectors: dict[str, Any], threads: int | None, warm_start: WarmStart
) -> Solutions:  # fmt: skip
    """Solve programs with the matrices of `solver` and new `vectors`: the body of `qp.Solver.solve_many`."""
    started, program, settings = time.perf_counter(), solver.program, settings_of_batch(solver.settings, threads)
    data = {name: getattr(program, name) for name in ("q", "l", "u", "lb", "ub")}
    data.update({name: value for name, value in vectors.items() if value is not None})
    programs = Programs(program.P, A=program.A, **data)
    programs.P_eps = np.array([program.P_eps])
    return solve_programs(programs, settings, started, checked_start(warm_start, programs), is_tested=False)


def solve_programs(
    programs: Programs, settings: Settings, started: float, start: Start | None, is_tested: bool = True
) -> Solutions:  # fmt: skip
    """Solve the checked programs of a batch; return their answers.  P is tested for convexity if `is_tested`."""
    many = Solutions(programs.k, x=programs.n, y=programs.m, z_bounds=programs.n)
    many._programs = programs

    def new_solver() -> Callable[[int, Settings], Solution]:
        def alone(i: int, own: Settings) -> Solution:
            point: Any = False
            if start is not None and np.isfinite(start[0][i]).all():
                point = start[0][i], *np.split(start[1][i], [programs.m])
            return Engine.of_checked(programs.program(i), own).solve(point)

        return alone

    loop = loop_for(programs, settings)
    if is_tested and settings.check_convexity and (loop is None or not loop.all()):
        refuse_nonconvex(programs, "q", None if loop is None else np.flatnonzero(~loop))
    groups = groups_of(programs, settings, start, loop)
    solve_batch(many, groups, new_solver, settings, started)
    for group in groups:
        group.release()
    if programs.ready is not None:
        programs.ready.release()
        programs.ready = None
    return many


def loop_for(programs: Programs, settings: Settings) -> np.ndarray | None:
    """Return which matrices P are definite if the dual active set is expected to be faster for these than the lanes.

    The method of a program depends on sizes, common matrices and its own P, not on other programs of the batch.
    """
    n, m = programs.n, programs.m
    entries, P_entries = (
        (int(np.count_nonzero(programs.A)), int(np.count_nonzero(programs.P)))
        if programs.share_matrices
        else (m * n, n * n)
    )
    if not suits_loop(n, m, entries, P_entries, settings, programs.share_matrices):
        return None
    are_definite = np.zeros(len(programs.P), bool)
    if programs.share_matrices and not programs.are_crossed.all():
        programs.ready = dual = DualActiveSet(programs.program(0), settings)
        are_definite[0] = dual.is_definite
    else:
        find_definite(programs.P.reshape(-1, n * n), n, are_definite)
    return are_definite if are_definite.any() else None


class QuadraticGroup(Group):
    """Group of quadratic programs whose sides are finite, infinite and equal in common places."""

    def __init__(
        self, programs: Programs, sides: dict[str, np.ndarray], chosen: np.ndarray, settings: Settings,
        start: Start | None,
    ) -> None:  # fmt: skip
        some: Any = slice(None) if chosen.size == programs.k else chosen
        held, n, m = {"P": programs.P, "A": programs.A, "q": programs.q, **sides}, programs.n, programs.m
        data = {name: rows_at(array, some) for name, array in held.items()}
        data["x_start"], data["y_start"] = np.zeros((0, n)), np.zeros((0, m + n))
        if start is not None:
            data["x_start"], data["y_start"] = (points[chosen] for points in start)
        self._m, bounds = m, programs.bounds[chosen[0] if len(programs.bounds) > 1 else 0]
        self._bound = np.append(bounds, np.ones(n, bool))
        super().__init__(programs, chosen, data, self._bound, np.arange(m), NO_CONES, settings)

    def verifier(self) -> Callable[[Task], None]:
        test = verifier_for(self.batch, self._bound, self.settings)
        return lambda task: verify(self.batch, test, *NO_LAYOUT, *task)

    def release(self) -> None:
        """Leave memory to the next batch."""

    def vectors(self) -> dict[str, np.ndarray]:
        y, m = self.batch.y, self._m
        return {"x": self.batch.x, "y": y[:, :m], "z_bounds": y[:, m:]}


class LoopGroup(QuadraticGroup):
    """Group of quadratic programs with a definite P, solved one after another by the dual active set.

    `taken` holds the methods of all threads, each set up for a program whose matrices others may share.
    """

    uses_lanes = False
    taken: tuple[DualActiveSet, ...] = ()

    def worker(self) -> Callable[[Task], None]:
        dual, self.programs.ready = self.programs.ready, None
        dual = dual or DualActiveSet(self.programs.program(int(self.chosen[0])), self.settings)
        self.taken = (*self.taken, dual)
        return lambda task: dual.solve_each(self.batch, *task)

    def release(self) -> None:
        """Leave the memory of the methods to the next batch."""
        for dual in self.taken:
            dual.release()
        self.taken = ()


def groups_of(
    programs: Programs, settings: Settings, start: Start | None = None, loop: np.ndarray | None = None
) -> list[QuadraticGroup]:  # fmt: skip
    """Return programs with sides that are finite and equal in common places as groups; none if they fit no lanes.

    Programs whose P is marked in `loop`, if it is given, are in groups of their own.
    """
    in_lanes = fits_lanes(programs.n, programs.m)
    if loop is None and not in_lanes:
        return []
    loop = np.zeros(1, bool) if loop is None else loop
    sides = programs.sides()
    kinds = kinds_of(**sides)
    for apart in (programs.bounds, loop[:, None]):
        if len(apart) > 1:
            kinds = side_by_side(kinds, apart)
    loops = np.broadcast_to(loop, programs.k)
    groups = alike(kinds, programs.k)
    if programs.are_crossed.any():
        crossed = np.broadcast_to(programs.are_crossed, programs.k)
        groups = [chosen[~crossed[chosen]] for chosen in groups]
    found = list[QuadraticGroup]()
    for chosen in groups:
        if chosen.size and loops[chosen[0]]:
            found.append(LoopGroup(programs, sides, chosen, settings, start))
        elif chosen.size and in_lanes:
            found.append(QuadraticGroup(programs, sides, chosen, settings, start))
    return found
