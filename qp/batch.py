"""Many quadratic programs of one shape solved at once, in the lanes of vector registers where they are small."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.batch import driver
from socp.batch.checks import axes_of, matrices, number_of_programs, rows_of
from socp.batch.driver import Batch, lanes_for, run, scale_shared
from socp.batch.programs import settings_of_batch
from socp.batch.solutions import MESSAGES, Answers
from socp.batch.watch import Watch
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats, Matrix
from socp.compiled.vec import LANES
from socp.form.convexity import EPS, SEMIDEFINITE_TOL, check_semidefinite
from socp.linalg.cholesky import cholesky
from socp.problem.checks import ArrayLike, Number, ProgramError, as_csc, check_finite
from socp.problem.hessian import as_hessian, hessian_of
from socp.problem.settings import Settings
from socp.problem.status import Status
from socp.problem.stopping import RESIDUALS

from .problem.certificates import dual_infeasibilities, primal_infeasibilities
from .problem.program import NO_LOWER, NO_UPPER, QuadraticProgram, no_side_beyond
from .problem.side_by_side import Points, measure_side_by_side, points_for
from .problem.solution import Solution
from .solver import Solver

LANES_UP_TO = 128  # variables; larger programs are solved one by one
ROWS_UP_TO = 512
WORK = 5e8  # multiplications in one compiled call, which is deaf to Ctrl-C
ITERATIONS = 10  # of a program, roughly
TAKEN = ("tol", "tol_abs", "tol_infeasible", "max_iter", "time_limit", "threads", "check_convexity")

CERTIFIED = {
    Status.PRIMAL_INFEASIBLE: "(y, z_bounds) certifies that no feasible point exists",
    Status.DUAL_INFEASIBLE: "x certifies that the objective falls for ever",
}


class Solutions(Answers[Solution]):
    """The answers to a batch of quadratic programs: a row for each, ``many[i]`` the `Solution` of one.

    Attributes
    ----------
    status : array of Status, shape (k,)
        ``many.status == "optimal"`` is an array of truth values.
    x, y, z_bounds : arrays, shapes (k, n), (k, m), (k, n)
        As in `Solution`, NaN where there is none.
    objective, dual_objective : arrays, shape (k,)
    primal_residual, dual_residual, gap : arrays, shape (k,)
        Relative, measured on the caller's own data.
    iterations : array of int, shape (k,)
    setup_time, solve_time : float
        Seconds for all.

    Examples
    --------
    >>> import qp
    >>> many = qp.solve_many([[1.0]], [[-3.0], [1.0]], lb=0.0, ub=2.0)
    >>> print(len(many), many.status[0], many.x.round(6).ravel() + 0.0, [sol.iterations < 20 for sol in many])
    2 optimal [2. 0.] [True, True]
    """

    vectors, single, messages = ("x", "y", "z_bounds"), Solution, {**MESSAGES, **CERTIFIED}
    z_bounds: np.ndarray


class Programs:
    """The checked data of a batch: a row for each program, or one row that all share.

    Attributes
    ----------
    P, A : arrays, shapes (1 or k, n, n), (1 or k, m, n)
    q, l, u, lb, ub : arrays, shapes (1 or k, n) and (1 or k, m)
    bounds : array of bool, shape (1 or k, m)
        The rows with one entry.
    is_full : bool
        Whether each row and each column of A has an entry.
    """

    def __init__(self, P: Any, q: Any, A: Any, l: Any, u: Any, lb: Any, ub: Any) -> None:
        self.q = rows_of("q", q, None, "")
        n = self.q.shape[1]
        check_finite("q", self.q if axes_of(q) == 2 else self.q[0])
        variables = f" ({n} variables in q)"
        self.P, self.A = matrices("P", P, (n, n), variables), matrices("A", A, (None, n), variables)
        if A is None and (l is not None or u is not None):
            raise ProgramError("l and u are the sides of the rows of A, but A is missing")
        m = self.A.shape[1]
        self.n, self.m = n, m
        rows = " (the rows of A)"
        self.l, self.u = _side("l", l, m, rows, NO_LOWER), _side("u", u, m, rows, NO_UPPER)
        self.lb, self.ub = _side("lb", lb, n, variables, NO_LOWER), _side("ub", ub, n, variables, NO_UPPER)
        came = {"P": P, "q": q, "A": A, "l": l, "u": u, "lb": lb, "ub": ub}
        self.k = number_of_programs({name: (came[name], array) for name, array in self._arrays().items()})
        _check_order("l", self.l, "u", self.u)
        _check_order("lb", self.lb, "ub", self.ub)
        entries = self.A != 0.0
        # certificates are plain where each row and each variable has an entry: others are found alone
        self.is_full = bool(entries.all()) or bool(entries.any(axis=2).all() and entries.any(axis=1).all())
        self.bounds = np.full((1, m), n == 1) if entries.all() else entries.sum(axis=2) == 1
        self._checked_A: sp.csc_array | None = None
        self._checked_P: Any = None

    def check_convexity(self) -> None:
        """Refuse a P that is not semidefinite, by its number."""
        n, i, room = self.n, -1, np.empty(self.n * self.n)
        flat = self.P.reshape(-1, n * n)
        while (i := next_doubtful(n, flat, i + 1, room)) >= 0:
            try:
                check_semidefinite(hessian_of(as_hessian("P", self.P[i], n, "q"), n), np.ones(n), 1.0)
            except ProgramError as error:
                raise ProgramError(f"program {i}: {error}" if self.P.shape[0] > 1 else str(error)) from None

    def program(self, i: int) -> QuadraticProgram:
        """Program i by itself."""
        own = {name: array[min(i, array.shape[0] - 1)] for name, array in self._arrays().items()}
        if self.P.shape[0] > 1 or self._checked_P is None:
            self._checked_P = as_hessian("P", own["P"], self.n, "q")
        if self.A.shape[0] > 1 or self._checked_A is None:
            self._checked_A = as_csc("A", own["A"])
        return QuadraticProgram.of_checked(
            self._checked_P, own["q"], self._checked_A, own["l"], own["u"], own["lb"], own["ub"], 0.0
        )

    def _arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ("P", "q", "A", "l", "u", "lb", "ub")}

    def subset(self, chosen: np.ndarray) -> Programs:
        """Some of the programs."""
        part = object.__new__(Programs)
        part.__dict__.update(self.__dict__)
        part.k = chosen.size
        for name, array in self._arrays().items():
            if array.shape[0] > 1:
                setattr(part, name, array[chosen])
        return part


def _side(name: str, value: Any, size: int, why: str, absent: float) -> np.ndarray:
    """Sides as rows, what lies far out as absent."""
    if value is None:
        return np.full((1, size), absent)
    side = no_side_beyond(rows_of(name, value, size, why))
    bad = np.isnan(side) | (side == -absent)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])[0 if axes_of(value) == 2 else 1 :]
        index = ", ".join(map(str, at))
        raise ProgramError(
            f"{name}[{index}] is {side[bad][0]}: that side can never hold"
            if not np.isnan(side[bad][0])
            else f"{name} must not be NaN, but {name}[{index}] is"
        )
    return side


def _check_order(lower_name: str, lower: np.ndarray, upper_name: str, upper: np.ndarray) -> None:
    bad = lower > upper
    if bad.any():
        p, i = (int(at) for at in np.argwhere(bad)[0])
        at, low, up = (
            (f"[{p}, {i}]" if bad.shape[0] > 1 else f"[{i}]"),
            lower[min(p, len(lower) - 1), i],
            upper[min(p, len(upper) - 1), i],
        )
        raise ProgramError(
            f"{lower_name} must be at most {upper_name}, but {lower_name}{at} = {low:g} > {upper_name}{at} = {up:g}"
        )


def solve_many(
    P: ArrayLike | None,
    q: ArrayLike,
    A: ArrayLike | None = None,
    l: ArrayLike | Number | None = None,
    u: ArrayLike | Number | None = None,
    lb: ArrayLike | Number | None = None,
    ub: ArrayLike | Number | None = None,
    *,
    threads: int = 1,
    tol: float = 1e-8,
    tol_abs: float | None = None,
    tol_infeasible: float | None = None,
    max_iter: int = 200,
    time_limit: float | None = None,
    check_convexity: bool = True,
    warm_start: Solutions | None = None,
) -> Solutions:
    """Solve many quadratic programs of one shape: any argument may have a leading axis, an entry for each program.

    Parameters
    ----------
    P, q, A, l, u, lb, ub
        As in `QuadraticProgram`, shared by all programs; or with a leading axis of length k, as q of shape (k, n) and
        P of shape (k, n, n).
    tol, max_iter, ...
        The settings, each as in `socp.Settings`; `threads` solve programs side by side.
    warm_start : Solutions, optional
        Answers to k programs of the same shape, near which each program starts.

    Returns
    -------
    Solutions

    Raises
    ------
    ProgramError
        The data or a setting cannot be accepted; the message names it and the program.

    Notes
    -----
    Every answer passes the stopping test of `qp.solve` on the caller's own data.  A program that fails beside others is
    solved again by itself.

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
    arguments = locals()
    settings = Settings(**{name: arguments[name] for name in TAKEN})
    started = time.perf_counter()
    programs = Programs(P, q, A, l, u, lb, ub)
    if settings.check_convexity:
        programs.check_convexity()
    return solve_programs(programs, settings, started, checked_start(warm_start, programs))


def checked_start(start: Any, programs: Programs) -> Solutions | None:
    """Refuse a warm start that does not fit."""
    if start is not None and not isinstance(start, Solutions):
        raise ProgramError(f"warm_start must be the Solutions of a batch, but {type(start).__name__} came")
    if start is not None and (start.x.shape, start.y.shape) != ((programs.k, programs.n), (programs.k, programs.m)):
        raise ProgramError(
            f"warm_start must have answers to {programs.k} programs with {programs.n} variables and {programs.m} rows, "
            f"but x of shape {start.x.shape} and y of shape {start.y.shape} came"
        )
    return start


def solve_like(
    solver: Solver, vectors: dict[str, Any], threads: int | None, warm_start: Solutions | None
) -> Solutions:  # fmt: skip
    """`qp.Solver.solve_many`; P was tested when the solver was set up."""
    started, program, settings = time.perf_counter(), solver.program, settings_of_batch(solver.settings, threads)
    data = {name: getattr(program, name) for name in ("q", "l", "u", "lb", "ub")}
    data.update({name: value for name, value in vectors.items() if value is not None})
    programs = Programs(program.P, A=program.A, **data)
    return solve_programs(programs, settings, started, checked_start(warm_start, programs))


def solve_programs(programs: Programs, settings: Settings, started: float, start: Solutions | None) -> Solutions:
    """The answers to checked programs."""
    many, watch = Solutions(programs.k, x=programs.n, y=programs.m, z_bounds=programs.n), Watch(settings.time_limit)
    left = np.arange(programs.k)
    if programs.n <= LANES_UP_TO and programs.m <= ROWS_UP_TO:
        lots = lots_of(programs, settings, start)
        many.setup_time = time.perf_counter() - started
        for lot in lots:
            watch.work(lot.tasks(), lot.workers())
        left = np.concatenate([lot.collect(many) for lot in lots])

    def solve_alone(i: int) -> None:
        own = dataclasses.replace(settings, threads=1, time_limit=watch.seconds_left())
        solution = Solver.of_checked(programs.program(i), own).solve()
        many.take(i, solution)
        watch.note(solution.status)

    watch.work(left.tolist(), [solve_alone] * max(1, min(settings.threads, left.size)))
    if watch.reason is not None:
        many.status[many.status == Status.NUMERICAL_ERROR] = watch.reason
    many.solve_time = time.perf_counter() - started - many.setup_time
    return many


class Lot:
    """Programs of a batch whose sides are finite, infinite and equal in the same places.

    Attributes
    ----------
    chosen : array of int
        Their numbers.
    batch : Batch
    found : array, shape (programs, fields of `Residuals`)
    """

    def __init__(self, programs: Programs, chosen: np.ndarray, settings: Settings, start: Solutions | None) -> None:
        self.chosen, part = chosen, programs if chosen.size == programs.k else programs.subset(chosen)
        self.programs, self.settings = part, settings
        m, n, k = part.m, part.n, part.k
        l, u = _side_by_side(part.l, part.lb), _side_by_side(part.u, part.ub)
        A = part.A.reshape(-1, m * n) if m else np.zeros((1, 0))
        self.batch = Batch(m=m, n=n, count=k, P=part.P.reshape(-1, n * n), A=A, q=part.q, l=l, u=u)
        self.batch.x_start, self.batch.y_start = np.zeros((0, n)), np.zeros((0, m + n))
        if start is not None:
            self.batch.x_start = start.x[chosen]
            self.batch.y_start = np.concatenate([start.y[chosen], start.z_bounds[chosen]], axis=1)
        self.found = np.full((k, RESIDUALS), np.nan)
        bound = np.append(programs.bounds[chosen[0] if len(programs.bounds) > 1 else 0], np.ones(n, bool))
        self._kinds = l[0] == u[0], np.isfinite(l[0]), np.isfinite(u[0]), bound

    def tasks(self) -> list[tuple[int, int]]:
        """Ranges of programs for one compiled call each."""
        m, n, k = self.batch.m, self.batch.n, self.batch.count
        each = ITERATIONS * (n * n * (m + n / 3.0) + 8.0 * n * (m + n) + 100.0 * (m + n))
        size = max(64, min(int(WORK / each), -(-k // (4 * self.settings.threads)) if self.settings.threads > 1 else k))
        return [(begin, min(begin + size, k)) for begin in range(0, k, size)]

    def workers(self) -> list[Callable[[tuple[int, int]], None]]:
        """What solves a range, one for each thread."""
        return [self._worker() for _ in range(min(self.settings.threads, len(self.tasks())))]

    def _worker(self) -> Callable[[tuple[int, int]], None]:
        settings, batch = self.settings, self.batch
        tolerances = {
            "tol": settings.tol, "tol_abs": np.inf if settings.tol_abs is None else settings.tol_abs,
            "tol_infeasible": settings.tol_infeasible or settings.tol, "max_iter": settings.max_iter,
        }  # fmt: skip
        lanes = lanes_for(batch, *self._kinds, tolerances)
        if lanes.shared:
            scale_shared(batch, lanes)
        points = points_for(batch, self._kinds[3])

        def solve(task: tuple[int, int]) -> None:
            run(batch, lanes, *task)
            verify(batch, points, self.found, *task)

        return solve

    def collect(self, many: Solutions) -> np.ndarray:
        """Write the answers that pass; returns the numbers of the programs that are to be solved by themselves."""
        batch, chosen, settings = self.batch, self.chosen, self.settings
        rows, cone, dual, gap, rows_scale, cone_scale, dual_scale, gap_scale, primal, below = self.found.T
        tol, tol_abs = settings.tol, np.inf if settings.tol_abs is None else settings.tol_abs
        good = batch.code == driver.OPTIMAL
        for residual, scale in ((rows, rows_scale), (cone, cone_scale), (dual, dual_scale), (gap, gap_scale)):
            good &= (residual <= tol * scale) & (residual <= tol_abs)
        at = slice(None) if good.all() and chosen.size == len(many) else chosen[good]
        many.status[at] = Status.OPTIMAL
        many.x[at], many.y[at], many.z_bounds[at] = batch.x[good], batch.y[good, : batch.m], batch.y[good, batch.m :]
        many.objective[at], many.dual_objective[at] = primal[good], below[good]
        many.primal_residual[at] = np.maximum(rows / rows_scale, cone / cone_scale)[good]
        many.dual_residual[at], many.gap[at] = (dual / dual_scale)[good], (gap / gap_scale)[good]
        many.iterations[chosen] = batch.iterations
        certified = self._certify(many, driver.PRIMAL_INFEASIBLE) | self._certify(many, driver.DUAL_INFEASIBLE)
        return chosen[~(good | certified | (batch.code == driver.NOT_STARTED))]

    def _certify(self, many: Solutions, code: int) -> np.ndarray:
        """Write the certificates of one kind that hold; returns whether program i has one."""
        batch, m, n = self.batch, self.batch.m, self.batch.n
        which = np.flatnonzero(batch.code == code)
        holds = np.zeros(batch.count, bool)
        if not which.size or not self.programs.is_full:
            return holds
        P, A, q, l, u = (
            array[which] if array.shape[0] > 1 else array
            for array in (batch.P.reshape(-1, n, n), self.programs.A, batch.q, batch.l, batch.u)
        )
        if code == driver.PRIMAL_INFEASIBLE:
            tol, rays = primal_infeasibilities(A, l, u, batch.y[which])
        else:
            tol, rays = dual_infeasibilities(P, q, A, l, u, batch.x[which])
        passed = tol <= (self.settings.tol_infeasible or self.settings.tol)
        holds[which[passed]] = True
        at, tol, rays = self.chosen[which[passed]], tol[passed], rays[passed]
        if code == driver.PRIMAL_INFEASIBLE:
            many.status[at], many.primal_residual[at] = Status.PRIMAL_INFEASIBLE, tol
            many.y[at], many.z_bounds[at] = rays[:, :m], rays[:, m:]
        else:
            many.status[at], many.dual_residual[at], many.x[at] = Status.DUAL_INFEASIBLE, tol, rays
        return holds


def lots_of(programs: Programs, settings: Settings, start: Solutions | None = None) -> list[Lot]:
    """The programs, together where the same sides are finite and equal."""
    l, u = _side_by_side(programs.l, programs.lb), _side_by_side(programs.u, programs.ub)
    kinds = np.where(l == u, 4, np.isfinite(l) + 2 * np.isfinite(u))
    if len(programs.bounds) > 1:
        kinds = np.concatenate([np.broadcast_to(kinds, (programs.k, kinds.shape[1])), programs.bounds], axis=1)
    if (kinds == kinds[0]).all():
        return [Lot(programs, np.arange(programs.k), settings, start)]
    _, which = np.unique(kinds, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [Lot(programs, np.flatnonzero(which == kind), settings, start) for kind in range(which.max() + 1)]


def _side_by_side(rows: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The sides of rows and variables in one array."""
    count = max(rows.shape[0], bounds.shape[0])
    return np.concatenate([np.broadcast_to(part, (count, part.shape[1])) for part in (rows, bounds)], axis=1)


@kernel
def next_doubtful(n: int, P: Matrix, first: int, room: Floats) -> int:
    """The first matrix from there on of which a Cholesky factor does not show that it is semidefinite, or -1."""
    for p in range(first, P.shape[0]):
        largest = 0.0
        for i in range(n * n):
            room[i] = P[p, i]
            largest = max(largest, abs(P[p, i]))
        for j in range(n):
            room[j * n + j] += SEMIDEFINITE_TOL * room[j * n + j] + 64.0 * EPS * largest
        if cholesky(n, room) != 0 or not room[n * n - 1] >= 0.0:
            return p
    return -1


@kernel
def verify(batch: Batch, w: Points, found: Matrix, begin: int, end: int) -> None:
    """found[p] := the fields of `Residuals` at the answers from `begin` to `end`, on the caller's data."""
    m, n = batch.m, batch.n
    for first in range(begin, end, LANES):
        for lane in range(LANES):
            p = min(first + lane, end - 1)
            if not w.shared:
                P, A = batch.P[min(p, batch.P.shape[0] - 1)], batch.A[min(p, batch.A.shape[0] - 1)]
                for i in range(P.size):
                    w.P_own[i, lane] = P[i]
                for i in range(A.size):
                    w.A_own[i, lane] = A[i]
            q, x, y = batch.q[min(p, batch.q.shape[0] - 1)], batch.x[p], batch.y[p]
            l, u = batch.l[min(p, batch.l.shape[0] - 1)], batch.u[min(p, batch.u.shape[0] - 1)]
            for j in range(n):
                w.q[j, lane], w.x[j, lane] = q[j], x[j]
            for i in range(m + n):
                w.l[i, lane], w.u[i, lane], w.y[i, lane] = l[i], u[i], y[i]
        measure_side_by_side(w)
        for lane in range(min(LANES, end - first)):
            for i in range(RESIDUALS):
                found[first + lane, i] = w.found[i, lane]
