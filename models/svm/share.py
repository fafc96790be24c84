r"""Margins whose multipliers are to have a given sum, along rows of a kernel matrix: what nu asks of a machine.

    minimize 1/2 v'Pv + q'v   subject to   s'v = 0,   1'v = total,   0 <= v <= C

For the multiplier -rho of the second row the rest is the program of a machine with q - rho in place of q.  The sum S of
its answer rises with rho, linearly as long as the same variables are between their bounds (Hastie and others 2004), so
Newton's method, kept between the values that are known to be too small and too large, ends after a few rho at the sum.
Each machine begins at the one before, with the rows of the kernel that were made.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack

import qp
from qp.active_set.boxed import Block, BoxedProgram, Face
from qp.active_set.pairs import note_extremes
from qp.active_set.rounds import EXACT, MAX_ROUNDS, ROUNDS_AT_ONCE
from qp.active_set.series import Series, solve_in_turn
from qp.active_set.working_set import FIRST_SHARE, NEXT_SHARE, WorkingRounds, WorkingSet
from qp.problem.mercer import samples_of
from qp.problem.solution import solution_at
from socp.compiled.memory import keep_freed_memory
from socp.plan.plan import Plan
from socp.problem.settings import Settings
from socp.problem.solution import TIMINGS, TRACE
from socp.problem.status import Status
from socp.verify.stopping import RESIDUALS, residuals

from ..programs.margins import dual_program
from .margin import Margin, middle
from .series import MEGABYTE, MOST_SAMPLES

FEW = 100  # samples from which a rho is guessed
STRIDES = 27, 9, 3  # one of so many samples, of the machines whose rho tell that of all
FEWEST = 100  # samples of such a part
ROUGH, ROUGH_TRIES = 0.1, 5  # the error of their sums, and the values of rho
LOOSE, SLOPES = 3e-2, 0.1  # slopes at first in units of rho, and later as a share of the sum's error
NEAR = 1e-3  # the error of the sum from which on machines are exact
TRIES = 40  # values of rho
FARTHEST, FARTHER = 3.0, 16.0  # the most that a step of Newton's moves the logarithm of rho, and a step without it rho
TINY = 1e-300
SHIFT = 1e-12  # of the kernel's diagonal on a face


class MachinesInSeries:
    """Machines for one rho after another that `solve_in_turn` solves, of which the whole matrix has room; u = s * v."""

    def __init__(self, margin: Margin, P: qp.KernelMatrix, tol: float) -> None:
        samples, size = P.compiled(), margin.signs.size
        assert samples is not None
        keep_freed_memory()
        bounds = margin.signs * margin.C
        self.size, self.margin, self.k, self.tol, self.rounds = size, margin, -1, tol, 0
        self.series = Series(
            samples=samples, which=np.arange(size) % P.count, begins=np.array([0, size]), parts=np.zeros(TRIES, int),
            ratios=np.r_[0.0, np.ones(TRIES - 1)], places=np.arange(TRIES) * size, q=np.zeros(TRIES * size),
            lower=np.tile(np.minimum(bounds, 0.0), TRIES), upper=np.tile(np.maximum(bounds, 0.0), TRIES),
            x=np.zeros(TRIES * size), g=np.zeros(TRIES * size), y=np.zeros(TRIES),
            found=np.full((TRIES, RESIDUALS), np.nan), rounds=np.zeros(TRIES, int), log=np.empty((0, 3)),
        )  # fmt: skip
        self.series.has_row = True
        part = samples_of(
            np.zeros((size, samples.features)), str(P.kernel), samples.gamma, samples.coef0, samples.degree,
            centred=True,
        )  # fmt: skip
        self.program, self.block, self.face = BoxedProgram(size=size, samples=part), Block(), Face(size=size)
        self.program.P, self.program.on_demand = np.zeros((size, size)), 1
        self.face.factor = np.zeros(size * size)

    def solve(self, rho: float, error: float) -> bool | None:
        """Solve the machine for rho, as exactly as a sum with this error asks; whether exactly, None where it fails."""
        self.k += 1
        series, tol = self.series, self.tol if error < NEAR else max(self.tol, LOOSE * NEAR * min(error, 1.0))
        series.tol = tol
        series.q[self.k * self.size : (self.k + 1) * self.size] = self.margin.signs * (self.margin.q - rho)
        solve_in_turn(series, self.program, self.block, self.face, self.k, 0.0)
        rounds = int(series.rounds[self.k])
        self.rounds += max(rounds, 0)
        return None if rounds <= 0 else tol == self.tol

    def u(self) -> np.ndarray:
        return self.series.x[self.k * self.size : (self.k + 1) * self.size]

    def gram(self, free: np.ndarray) -> np.ndarray:
        """The kernel among variables."""
        return self.program.P[np.ix_(free, free)]

    def gradient(self) -> np.ndarray:
        """K u."""
        at = slice(self.k * self.size, (self.k + 1) * self.size)
        return self.series.g[at] - self.series.q[at]


class MachinesByRows(WorkingRounds):
    """Machines of which rows of the matrix are kept, by the method that `qp.solve` has for one."""

    def __init__(self, margin: Margin, P: qp.KernelMatrix, tol: float) -> None:
        machine = dual_program(P, margin.signs, margin.C, True, margin.q)
        machine.q = margin.q.copy()
        super().__init__(WorkingSet(machine, Settings(tol=tol)), None)
        self.margin, self.tol, self.rho = margin, tol, 0.0

    rounds = property(lambda self: len(self.records))

    def solve(self, rho: float, error: float) -> bool | None:
        np.subtract(self.margin.q, rho, out=self.method.program.q)
        if self.knows_gradient:
            self.pairs.F += self.method.signs * (rho - self.rho)
            note_extremes(self.pairs, self.store.none)
        else:
            self.find_gradient()
        self.rho = rho
        exact = EXACT * self.tol * self.size_of_gradient()
        tol = max(exact, min(LOOSE, SLOPES * error) * max(abs(rho), LOOSE * self.first_slope))
        tol = exact if error < NEAR else tol
        if not self._settle(tol):
            return None
        if tol == exact:
            self.find_gradient()
        return tol == exact

    def _settle(self, tol: float) -> bool:
        """Go on until no slope is above tol; False where that takes too long."""
        for k in range(MAX_ROUNDS):
            if self.slope() <= tol:
                return True
            if k > 0 or not self.records:
                share = NEXT_SHARE * self.slope() if self.records else FIRST_SHARE * self.first_slope
                self.descend(max(share, tol), None)
                self.find_gradient()
            for _ in range(ROUNDS_AT_ONCE):
                if self.slope() <= tol or not self.step(tol):
                    break
        return self.slope() <= tol

    def u(self) -> np.ndarray:
        return self.pairs.u

    def gram(self, free: np.ndarray) -> np.ndarray:
        return self.method.kernel.gram(free % self.method.kernel.count)

    def gradient(self) -> np.ndarray:
        return self.method.signs * self.Px()


class ShareSearch:
    """The search for the rho at which the multipliers sum to `total`; of a tube -rho is the width, at least zero.

    The margin has finite prices and an intercept.
    """

    def __init__(
        self, machines: MachinesInSeries | MachinesByRows, margin: Margin, total: float, is_tube: bool
    ) -> None:
        self.machines, self.margin, self.total, self.is_tube = machines, margin, total, is_tube
        self.low, self.high = (-np.inf, 0.0) if is_tube else (0.0, np.inf)
        self.tries, self.error = 0, 0.0

    def find(self, rho: float, tol: float) -> float | None:
        """The rho at which the sum is right within tol; None where none is found."""
        error, size = 1.0, abs(rho)  # of the sum
        for self.tries in range(1, TRIES + 1):
            exact = self.machines.solve(rho, abs(error))
            if exact is None:
                return None
            error = self.excess()
            if abs(error) <= tol or (self.is_tube and error < 0.0 and -rho <= tol * size):
                if exact:
                    self.error = error if abs(error) > tol else 0.0
                    return rho
                error = 0.0
                continue
            if exact and error < 0.0:
                self.low = rho
            elif exact:
                self.high = rho
            rho = self.next(rho, error)
        return None

    def about(self, rho: float) -> float:
        """The rho at which the sum is about right, 0 where a machine fails."""
        for _ in range(ROUGH_TRIES):
            if self.machines.solve(rho, 1.0) is None:
                return 0.0
            error = self.excess()
            rho = self.next(rho, error)
            if abs(error) <= ROUGH:
                break
        return rho

    def excess(self) -> float:
        """The error of the sum, relative to what it should be."""
        return float(self.margin.signs @ self.machines.u()) / self.total - 1.0

    def next(self, rho: float, error: float) -> float:
        """Newton's step for log S, as a function of log rho where rho is positive, or one within what is known."""
        rise, ratio = self.rise() / self.total, 1.0 + error
        step, found = np.log(max(ratio, TINY)) * ratio / max(rise, TINY), np.nan
        if rise > 0.0:
            found = rho - step if self.is_tube else rho * np.exp(np.clip(-step / rho, -FARTHEST, FARTHEST))
        if self.low < found < self.high:
            return float(found)
        if np.isfinite(self.low) and np.isfinite(self.high) and self.low * self.high != 0.0:
            return 0.5 * (self.low + self.high)
        farther = (error > 0.0) == self.is_tube
        return rho * FARTHER if farther else rho / FARTHER

    def rise(self) -> float:
        """How fast the sum rises with rho as long as the same variables are between their bounds."""
        u, bounds = self.machines.u(), self.margin.signs * self.margin.C
        free = np.flatnonzero((u != 0.0) & (u != bounds))
        if free.size < 2:
            return 0.0
        K, signs = self.machines.gram(free), self.margin.signs[free]
        K.ravel()[:: free.size + 1] *= 1.0 + SHIFT
        _, found, info = lapack.dposv(K, np.column_stack([signs, np.ones(free.size)]), lower=1, overwrite_a=1)
        if info != 0:
            return 0.0
        along, row = found.T
        return float(signs @ (along - row * (along.sum() / row.sum())))


def first_rho(margin: Margin, total: float, is_tube: bool, tol: float) -> float:
    """A rho to begin with: what those of parts of the samples tell, as a power of the number of samples."""
    n = margin.X.shape[0]
    known: list[tuple[float, float]] = []
    strides = [stride for stride in STRIDES if n >= FEWEST * stride]
    for stride in strides if len(strides) > 1 else ():  # one part costs more than it tells
        rho = rho_of_part(margin, total, is_tube, stride, tol, known)
        known += [(np.log(stride), np.log(abs(rho)))] if rho else []
    return extended(known, 0.0) * (-1.0 if is_tube else 1.0) or simple_rho(margin, total, is_tube)


def extended(known: list[tuple[float, float]], at: float) -> float:
    """The number whose logarithm the last two points (x, logarithm) have on their line; 0 where there are none."""
    if len(known) < 2:
        return float(np.exp(known[-1][1])) if known else 0.0
    (x, first), (end, last) = known[-2:]
    return float(np.exp(last + np.clip((last - first) / (end - x), -1.0, 1.0) * (at - end)))


def rho_of_part(
    margin: Margin, total: float, is_tube: bool, stride: int, tol: float, known: list[tuple[float, float]]
) -> float:
    """The rho of one of `stride` samples, about; 0 where these cannot tell it."""
    n = margin.X.shape[0]
    at = np.arange(0, n, stride)
    both = np.add.outer(np.arange(0, margin.signs.size, n), at).ravel()
    part = replace(margin, X=margin.X[at], signs=margin.signs[both], q=margin.q[both], C=margin.C[both])
    P = margin.kernel.matrix(part.X, part.signs, MEGABYTE)
    total *= part.C.sum() / margin.C.sum()
    most = 2.0 * min(part.C[part.signs > 0.0].sum(), part.C[part.signs < 0.0].sum())
    total = total if is_tube else min(total, 0.9 * most)
    if P is None or P.compiled() is None or total <= 0.0 or both.size > MOST_SAMPLES:
        return 0.0
    search = ShareSearch(MachinesInSeries(part, P, tol), part, total, is_tube)
    guess = extended(known, np.log(stride)) * (-1.0 if is_tube else 1.0) or simple_rho(part, total, is_tube)
    return search.about(guess)


def simple_rho(margin: Margin, total: float, is_tube: bool) -> float:
    """A rho from the quartiles of a tube's targets or from the means of some samples of the classes."""
    n = margin.X.shape[0]
    if is_tube:
        low, high = np.quantile(margin.q[n:], [0.25, 0.75])
        return -float(high - low) / 6.0 or -1.0
    some = np.arange(0, n, -(-n // FEW))
    signs, C = margin.signs[some], margin.C[some]
    u = signs * C / np.maximum(np.where(signs > 0.0, C[signs > 0.0].sum(), C[signs < 0.0].sum()), TINY)
    return float(u @ margin.kernel.gram(margin.X[some]) @ u) * total / 12.0 or 1.0


def side_multiplier(gradient: np.ndarray, v: np.ndarray, C: np.ndarray, side: np.ndarray) -> float:
    """The multiplier of a side's sum: the middle of what those at their bounds leave, as LIBSVM has it."""
    return middle(gradient[side & (v > 0.0)].max(initial=-np.inf), gradient[side & (v < C)].min(initial=np.inf))


def solve_share(
    margin: Margin, program: qp.QuadraticProgram, is_tube: bool, settings: dict[str, Any], cache_size: float
) -> qp.Solution | None:
    """The answer of the program with both rows, or None where this way has none."""
    P: Any = program.P
    watched = settings.get("verbose") or settings.get("time_limit") is not None
    if watched or not isinstance(P, qp.KernelMatrix) or not settings["active_set"]:
        return None
    started, size, tol = time.perf_counter(), program.n, settings["tol"]
    in_series = P.compiled() is not None and size <= MOST_SAMPLES and 8.0 * size**2 <= cache_size * MEGABYTE
    rho, total = None, float(program.u[1])
    for kind in (MachinesInSeries, MachinesByRows) if in_series else (MachinesByRows,):
        machines = kind(margin, P, tol)
        search = ShareSearch(machines, margin, total, is_tube)
        rho = search.find(first_rho(margin, total, is_tube, tol), 0.1 * tol)
        if rho is not None:
            break
    if rho is None:
        return None
    Ku, v = machines.gradient(), margin.signs * machines.u()
    v, gradient = np.where(v == 0.0, 0.0, v), margin.signs * Ku + margin.q
    above, below = (side_multiplier(gradient, v, margin.C, margin.signs == side) for side in (1.0, -1.0))
    multiplier = 0.5 * (below - above)
    if not (is_tube and search.error < 0.0):
        rho = min(0.5 * (above + below), 0.0) if is_tube else 0.5 * (above + below)
    z = rho - gradient - margin.signs * multiplier
    z[((v > program.lb) & (z < 0.0)) | ((v < program.ub) & (z > 0.0))] = 0.0
    y = np.array([multiplier, -rho])
    found, seconds = residuals(program, v, y, z, Px=margin.signs * Ku), time.perf_counter() - started
    if not found.meets(tol):
        return None
    trace = np.zeros(1, TRACE)
    trace["iteration"], trace["seconds"], trace["dual_residual"] = machines.rounds - 1, seconds, found.relative[1]
    message = f"the stopping test holds; active set for {search.tries} multipliers of a row"
    return solution_at(
        program, Status.OPTIMAL, (v, y, z), found, iterations=machines.rounds, setup_time=0.0, solve_time=seconds,
        message=message, trace=trace, timings={**dict.fromkeys(TIMINGS, 0.0), "rest": seconds},
        plan=Plan("dense", "rows of P are made as they are read", method="active set", what=message),
    )  # fmt: skip
