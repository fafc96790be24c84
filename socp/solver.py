"""The primal-dual interior-point method: set-up once, solve, update, solve again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import printing, start, stopping
from .backends import choose
from .checks import ProgramError, as_dense, as_vector, check_finite, check_no_nan, check_symmetric
from .form import StandardForm
from .hessian import check_semidefinite
from .lowrank import LowRank
from .newton import CX, DUAL, GV, NORM_MTV, NORM_MX, NORM_MXS, NORM_PX, PRIMAL, XPX, Newton, Point
from .program import ConeProgram
from .settings import Settings
from .solution import TRACE, Solution
from .status import Status

PATIENCE = 25  # iterations without a better iterate before a solve gives up
SMALL_STEP = 1e-8  # a step below this is none
SHORT_WARM_STEP = 0.1  # a warm start that meets a step below this is given up for a cold one


class Iterate:
    """One iterate of a solve, in the caller's units; valid until the next one is computed.

    Attributes
    ----------
    record : numpy.void
        The trace's record of this iterate (see `socp.solution.TRACE`); its fields are also attributes.
    point, newton, form : Point, Newton, StandardForm
        The engine's own state, in equilibrated units, open to a student: residuals, scaling point,
        directions, the KKT matrix.
    """

    def __init__(self, solver: Solver, point: Point, record: np.void) -> None:
        self._solver, self.point, self.record = solver, point, record
        self.newton, self.form = solver.newton, solver.form

    def __getattr__(self, name: str) -> Any:
        if name != "record" and name in (TRACE.names or ()):
            return self.record[name]
        raise AttributeError(name)

    @property
    def x(self) -> np.ndarray:
        return self._solver._unscale(self.point)[0]

    @property
    def y(self) -> np.ndarray:
        return self._solver._unscale(self.point)[1]

    @property
    def z(self) -> np.ndarray:
        return self._solver._unscale(self.point)[2]

    @property
    def s(self) -> np.ndarray:
        return self._solver._unscale(self.point)[3]


class Solver:
    """A cone program set up once: equilibration, ordering and symbolic analysis are done here.

    Parameters
    ----------
    program : ConeProgram
    **settings
        See `Settings`.

    Raises
    ------
    ProgramError
        P is not positive semidefinite, or a setting is wrong or unknown.

    Examples
    --------
    >>> from socp import ConeProgram, NonNeg, Solver
    >>> solver = Solver(ConeProgram(c=[1.0, 2.0], G=[[-1, 0], [0, -1]], h=[-3, -4], cones=[NonNeg(2)]))
    >>> print(f"{solver.solve().objective:.6f}")
    11.000000
    >>> solver.update(h=[-1, -1])
    >>> print(f"{solver.solve(warm_start=True).objective:.6f}")
    3.000000
    """

    def __init__(self, program: ConeProgram, **settings: Any) -> None:
        started = time.perf_counter()
        self.settings = Settings.checked(settings)
        self.program = program
        self._set_up()
        self.setup_time = time.perf_counter() - started

    def _set_up(self) -> None:
        self.form = StandardForm(self.program, self.settings.equilibrate)
        check_semidefinite(self.form.P)
        self.kkt = choose(self.form, self.settings)
        self.newton = Newton(self.form, self.kkt)
        self._last: Point | None = None

    def update(
        self,
        c: Any = None,
        b: Any = None,
        h: Any = None,
        P_data: Any = None,
        G_data: Any = None,
        A_data: Any = None,
    ) -> None:
        """Replace data of the program, keeping its pattern and with it all that set-up computed.

        `P_data`, `G_data` and `A_data` are the new values of ``program.P.data`` and so on, in that order
        (CSC; for a dense P the full array).  The program that the solver was built from is not changed.
        """
        old = self.program
        program = object.__new__(ConeProgram)
        program.__dict__.update(old.__dict__)
        for name, value, size in (("c", c, old.n), ("b", b, old.p)):
            if value is not None:
                vector = as_vector(name, value, size)
                check_finite(name, vector)
                setattr(program, name, vector)
        if h is not None:
            program.h = as_vector("h", h, old.m)
            check_no_nan("h", program.h)
            if not np.array_equal(np.isposinf(program.h), np.isposinf(old.h)) or np.isneginf(program.h).any():
                raise ProgramError("h must be infinite in the same rows as before; build a new Solver instead")
        for name, data in (("P", P_data), ("A", A_data), ("G", G_data)):
            if data is not None:
                setattr(program, name, with_data(name, getattr(old, name), data))
        started = time.perf_counter()
        if P_data is None and G_data is None and A_data is None:
            self.program = program
            self.form.refresh_vectors(program)
        else:
            self.replace(program)
        self.setup_time = time.perf_counter() - started

    def replace(self, program: ConeProgram) -> None:
        """Take another program of the same pattern: same cones, same places of entries in P, A and G."""
        old, self.program = self.program, program
        self.form.refresh(program)
        if program.P is not old.P:
            check_semidefinite(self.form.P)
        if not self.kkt.still_fits():
            return self._set_up()
        self.kkt.refresh()

    def solve(self, warm_start: bool = False) -> Solution:
        """Solve the program; with `warm_start` from the last answer, where that is the better start.

        Returns
        -------
        Solution
        """
        run = _Run(self, warm_start)
        try:
            for iterate in run.iterates():
                if self.settings.callback is not None and self.settings.callback(iterate) is True:
                    run.finish(Status.INTERRUPTED, "the callback asked to stop")
                    break
        except KeyboardInterrupt:
            run.finish(Status.INTERRUPTED, "interrupted from the keyboard")
        return run.solution()

    def iterates(self) -> Iterator[Iterate]:
        """The run of `solve`, one `Iterate` at a time."""
        return _Run(self, False).iterates()

    def _unscale(self, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(x, y, z, s) of a point in the caller's units and row order, divided by tau."""
        form, program = self.form, self.program
        x = form.D * point.u[: form.n] / point.tau
        v = form.E * point.u[form.n :] / (form.factor * point.tau)
        z, s = np.zeros(program.m), np.full(program.m, np.inf)
        z[form.rows] = v[form.p :]
        s[form.rows] = point.s / (form.E[form.p :] * point.tau)
        return x, v[: form.p], z, s


class _Run:
    """One solve: the loop, the best iterate so far, the trace, and why it ended."""

    def __init__(self, solver: Solver, warm_start: bool) -> None:
        self.solver, self.settings = solver, solver.settings
        self.form, self.newton = solver.form, solver.newton
        self.warm_start = warm_start
        self.point, self.best = Point(self.form), Point(self.form)
        self.best_measure, self.best_iteration = np.inf, 0
        self.records: list[tuple[Any, ...]] = []
        self.status: Status | None = None
        self.message = ""
        self.started = time.perf_counter()
        program = solver.program
        self.norm_g = max(stopping.norm(program.b), stopping.norm(program.h[solver.form.rows]))
        self.norm_c = stopping.norm(program.c)

    def iterates(self) -> Iterator[Iterate]:
        """The interior-point method, one iterate at a time."""
        newton, point, settings = self.newton, self.point, self.settings
        if settings.verbose:
            printing.header(self.form, self.solver.kkt.description, settings.tol)
        if not self._start():
            return self.finish(Status.NUMERICAL_ERROR, "the KKT matrix at the starting point cannot be factored")
        step = (np.nan, np.nan, np.nan)
        while True:
            newton.residuals(point)
            iterate = self._record(step)
            if self._decide():
                return
            yield iterate

            if not newton.linearize(point):
                return self._give_up("the Newton system can no longer be factored")
            alpha_affine = min(1.0, newton.predictor(point))
            sigma = (1.0 - alpha_affine) ** 3
            alpha = min(1.0, settings.step_fraction * newton.corrector(point, sigma))
            if self.warm and alpha < SHORT_WARM_STEP:
                self.warm = False
                start.cold(self.form, self.solver.kkt, point)
                continue
            if not alpha > SMALL_STEP:
                return self._give_up("steps became too short")
            newton.step(point, alpha)
            step = (sigma, alpha_affine, alpha)

    def _start(self) -> bool:
        last = self.solver._last
        self.warm = self.warm_start and last is not None and start.warm(self.newton, self.point, last)
        return self.warm or start.cold(self.form, self.solver.kkt, self.point)

    def _record(self, step: tuple[float, float, float]) -> Iterate:
        """Append this iterate's record to the trace and keep the iterate when it is the best so far."""
        point, q, f = self.point, self.newton.scalars, self.form.factor
        tau = point.tau
        xPx, cx, gv = q[XPX] / tau**2 / f, q[CX] / tau / f, q[GV] / tau / f
        primal_objective, dual_objective = 0.5 * xPx + cx, -0.5 * xPx - gv
        self.absolute = (q[PRIMAL] / tau, q[DUAL] / tau, abs(primal_objective - dual_objective))
        primal = self.absolute[0] / (1.0 + max(self.norm_g, q[NORM_MX] / tau))
        dual = self.absolute[1] / (1.0 + max(self.norm_c, q[NORM_PX] / tau))
        gap = self.absolute[2] / (1.0 + max(abs(primal_objective), abs(dual_objective)))
        self.worst = max(primal, dual, gap) if primal == primal and dual == dual and gap == gap else np.inf
        # slopes of the two rays, as in `stopping`
        self.primal_ray = q[NORM_MTV] / (-q[GV] / f) if q[GV] < 0.0 else np.inf
        self.dual_ray = max(q[NORM_PX], q[NORM_MXS]) / (-q[CX] / f) if q[CX] < 0.0 else np.inf
        measure = min(self.worst, self.primal_ray, self.dual_ray)
        if measure < self.best_measure:
            self.best_measure, self.best_iteration = measure, len(self.records)
            self.best.copy_from(point)

        kkt, offset = self.solver.kkt, self.solver.program.offset
        sigma, alpha_affine, alpha = step
        self.records.append(
            (
                len(self.records), primal_objective + offset, dual_objective + offset, primal, dual, gap,
                self.newton.mu, sigma, alpha_affine, alpha, tau, point.kappa, kkt.take_refinements(),
                self.newton.replaced_pivots, kkt.static, time.perf_counter() - self.started,
            )
        )  # fmt: skip
        record = _structured(self.records[-1:])[0] if self.settings.verbose or self.settings.callback else None
        if self.settings.verbose:
            printing.line(record)
        return Iterate(self.solver, point, record)

    def _decide(self) -> bool:
        """Whether to stop here: solved, certified, or at a limit.  Claims are tested on the caller's own data."""
        settings, solver = self.settings, self.solver
        tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        if self.worst <= settings.tol and max(self.absolute) <= tol_abs:
            x, y, z, s = solver._unscale(self.point)
            if stopping.residuals(solver.program, x, y, z, s).meets(settings.tol, settings.tol_abs):
                return self.finish(Status.OPTIMAL, f"the stopping test holds at {settings.tol:g}")
        tol = settings.tol_infeasible or settings.tol
        if self.primal_ray <= tol:
            _, y, z, _ = solver._unscale(self.point)
            if stopping.primal_infeasibility(solver.program, y, z) <= tol:
                return self.finish(Status.PRIMAL_INFEASIBLE, "(y, z) certifies that no feasible point exists")
        if self.dual_ray <= tol:
            x = solver._unscale(self.point)[0]
            if stopping.dual_infeasibility(solver.program, x) <= tol:
                return self.finish(Status.DUAL_INFEASIBLE, "x certifies that the objective is unbounded below")
        iteration = len(self.records) - 1
        if iteration >= settings.max_iter:
            return self.finish(Status.MAX_ITERATIONS, f"the limit of {settings.max_iter} iterations is reached")
        if settings.time_limit is not None and time.perf_counter() - self.started >= settings.time_limit:
            return self.finish(Status.TIME_LIMIT, f"the limit of {settings.time_limit:g} seconds is reached")
        if not np.isfinite(self.newton.mu) or iteration - self.best_iteration > PATIENCE:
            return self._give_up("no further progress")
        return False

    def _give_up(self, reason: str) -> bool:
        """End without the asked accuracy: "inaccurate" when the best iterate meets the weaker test."""
        tol = max(self.settings.tol, stopping.INACCURATE_TOL)
        found = stopping.residuals(self.solver.program, *self.solver._unscale(self.best))
        if found.meets(tol):
            return self.finish(Status.INACCURATE, f"{reason}; the stopping test holds at {max(found.worst, 1e-16):.1e}")
        return self.finish(Status.NUMERICAL_ERROR, f"{reason}; the best iterate misses {tol:g}")

    def finish(self, status: Status, message: str) -> bool:
        """Note how the run ends (the first reason counts)."""
        if self.status is None:
            self.status, self.message = status, message
        return True

    def solution(self) -> Solution:
        """The answer, from the last iterate when a claim was tested on it, else from the best one."""
        solver, program = self.solver, self.solver.program
        status = self.status if self.status is not None else Status.NUMERICAL_ERROR
        claimed = status is Status.OPTIMAL or status.is_infeasible
        point = self.point if claimed else self.best
        x, y, z, s = solver._unscale(point)
        objective = dual_objective = np.nan
        primal = dual = gap = np.nan
        if status is Status.PRIMAL_INFEASIBLE:
            finite = np.isfinite(program.h)
            slope = -(program.b @ y + program.h[finite] @ z[finite])
            x, y, z, s = np.full_like(x, np.nan), y / slope, z / slope, np.full_like(s, np.nan)
            primal = stopping.primal_infeasibility(program, y, z)
        elif status is Status.DUAL_INFEASIBLE:
            x = x / -(program.c @ x)
            y, z, s = np.full_like(y, np.nan), np.full_like(z, np.nan), -(program.G @ x)
            dual = stopping.dual_infeasibility(program, x)
        else:
            found = stopping.residuals(program, x, y, z, s)
            primal, dual = found.primal / found.primal_scale, found.dual / found.dual_scale
            gap = found.gap / found.gap_scale
            half = 0.5 * float(x @ stopping.hessian_product(program, x))
            finite = np.isfinite(program.h)
            objective = half + float(program.c @ x) + program.offset
            dual_objective = -half - float(program.b @ y + program.h[finite] @ z[finite]) + program.offset
        if status is Status.OPTIMAL:
            solver._last = self.point
        result = Solution(
            status=status, x=x, y=y, z=z, s=s, objective=objective, dual_objective=dual_objective,
            primal_residual=primal, dual_residual=dual, gap=gap, iterations=max(len(self.records) - 1, 0),
            setup_time=solver.setup_time, solve_time=time.perf_counter() - self.started, message=self.message,
            trace=_structured(self.records), timings={},
        )  # fmt: skip
        if self.settings.verbose:
            printing.footer(result)
        return result


def solve(program: ConeProgram | None = None, **arguments: Any) -> Solution:
    """Solve a cone program: ``solve(program, **settings)`` or ``solve(c=c, G=G, h=h, cones=..., **settings)``.

    Parameters
    ----------
    program : ConeProgram, optional
        The program; without it, the arguments of `ConeProgram` by name.
    **arguments
        The data of a program, and `Settings`.

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
    program, settings = _program_and_settings(program, arguments)
    return Solver(program, **settings).solve()


def iterates(program: ConeProgram | None = None, **arguments: Any) -> Iterator[Iterate]:
    """The run of `solve`, one iterate at a time, everything in it open to a student.

    Yields
    ------
    Iterate
        Valid until the next one is asked for.

    Examples
    --------
    >>> from socp import ConeProgram, NonNeg, iterates
    >>> program = ConeProgram(c=[1.0, 1.0], G=[[-1, 0], [0, -1]], h=[0, 0], cones=[NonNeg(2)], A=[[1, 1]], b=[1])
    >>> all(0 < iterate.mu < 10 for iterate in iterates(program))
    True
    """
    program, settings = _program_and_settings(program, arguments)
    return Solver(program, **settings).iterates()


DATA = ("c", "G", "h", "cones", "A", "b", "P", "offset")


def _program_and_settings(program: Any, arguments: dict[str, Any]) -> tuple[ConeProgram, dict[str, Any]]:
    data = {name: arguments[name] for name in DATA if name in arguments}
    settings = {name: value for name, value in arguments.items() if name not in DATA}
    Settings.checked(settings)
    if program is not None:
        if not isinstance(program, ConeProgram):
            raise ProgramError(f"program must be a ConeProgram, but {type(program).__name__} came")
        if data:
            raise ProgramError(f"a program came, and {', '.join(data)} beside it: give one or the other")
        return program, settings
    if "c" not in data:
        raise ProgramError("c, the linear objective, is missing")
    return ConeProgram(**data), settings


def with_data(name: str, matrix: Any, data: Any) -> Any:
    """The matrix with new values in its old pattern."""
    if matrix is None:
        raise ProgramError(f"{name}_data came, but the program has no {name}")
    if isinstance(matrix, LowRank):
        raise ProgramError("P_data does not go with a LowRank P; build a new Solver instead")
    if isinstance(matrix, np.ndarray):
        dense = as_dense("P_data", data, matrix.shape)
        check_symmetric("P_data", dense)
        return dense
    values = as_vector(f"{name}_data", data, matrix.data.size, f" (the entries of {name})")
    check_finite(f"{name}_data", values)
    new = matrix.copy()
    new.data = values
    if name == "P":
        check_symmetric("P", new)
    return new


def _structured(records: list[tuple[Any, ...]]) -> np.ndarray:
    return np.array(records, dtype=TRACE)
