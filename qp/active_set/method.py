"""The working set: a quadratic program with a dense P whose variables mostly end at their bounds.

An interior-point method factors all of P in each iteration, also the rows of variables that have long come to rest at
a bound.  With at most one row a'x the way from face to face of the box is shorter, as it reads only what moves:

    descent     steps along a few coordinates, those that gain most, which sort the variables roughly
                (`coordinate_descent`)
    Newton      the minimum on the face of those that are between their bounds, exactly (`face_newton`)

and the two in turn until no multiplier of a bound has the wrong sign.  Both keep x feasible and let the objective fall.
A row with two sides l <= a'x <= u gets its value as one more variable, without curvature, between l and u.

Nothing is promised here: the answer passes the same test as any other on the caller's own data, and where the work
nears a share of what the interior-point method takes, that begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from socp.compiled.threads import blas_threads
from socp.method.loop import structured
from socp.problem.settings import Settings
from socp.problem.solution import Solution
from socp.problem.status import Status
from socp.problem.stopping import Residuals, norm

from ..problem.program import QuadraticProgram
from .coordinate_descent import GAIN, MULTIPLIER, READ, TINY, add_rows, descend_in_blocks
from .face_newton import (
    MOST_WORK,
    NO_DESCENT,
    NOT_DEFINITE,
    SHIFTS,
    SHORTENED,
    SIDE,
    SIZE,
    STATE,
    TAKEN,
    TOO_LARGE,
    WRONG,
    Y,
    find_free,
    step_on_face,
)

LEAST = 80  # variables from which on it pays
FIRST_TOL, NEXT_TOL = 1e-5, 1e-2  # the share of the largest gain to which descent goes at first, and again
FIRST_READ, MOST_READ = 3.0, 14.0  # rows of P that descent may read, as a multiple of their number
MOST_SHARE = 5.0  # factorizations on faces, in the work of one of all of P
MOST_ROUNDS = 40
ROUNDS_AT_ONCE = 6  # rounds of Newton's method without a descent between them
STUCK = 0.1  # the share of the first gain above which a descent has failed
EXACT = 1e-2  # multipliers have the right sign to this share of the tolerance
LONG_TIME = 1.0  # a limit of so many seconds is looked at between rounds only
NEGLIGIBLE, ROWS = 2.0**-16, 32  # see `is_clearly_definite`, which takes so many rows at a time
SINGLE = 4.0 * float(np.finfo(np.float32).eps)  # the share of the norm of P that a factor in float32 may miss


class Sifted(NamedTuple):
    """A point with its multipliers, and how it was found.

    Attributes
    ----------
    x, y, z : arrays, shapes (n,), (m,), (n,)
    rounds : list of (float, float, int)
        For each round the objective, the largest wrong slope, and how many variables were between their bounds.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    rounds: list[tuple[float, float, int]]


class Sifting:
    """The working set of one program.

    Parameters
    ----------
    program : QuadraticProgram
        One that `fits`.
    settings : Settings
    """

    def __init__(self, program: QuadraticProgram, settings: Settings) -> None:
        self.program, self.settings = program, settings
        P: Any = program.P
        self.P, self.diagonal = P, np.append(P.diagonal(), 0.0)
        self.size = float(self.diagonal.max())
        n, rows = program.n, _rows_with_sides(program)
        self.row = int(rows[0]) if rows.size else None
        self.a, self.lb, self.ub, self.side = np.zeros(n), program.lb, program.ub, 0.0
        if self.row is not None:
            column = np.repeat(np.arange(n), np.diff(program.A.indptr))
            here = program.A.indices == self.row
            self.a[column[here]] = program.A.data[here]
            l, u = program.l[self.row], program.u[self.row]
            if l < u:
                self.a, self.lb, self.ub = np.append(self.a, -1.0), np.append(self.lb, l), np.append(self.ub, u)
                # it moves only with others, whose curvature then counts
                inside = self.a[:n] != 0.0
                self.diagonal[n] = (self.diagonal[:n][inside] / self.a[:n][inside] ** 2).mean()
            else:
                self.side = float(l)
        self.diagonal = self.diagonal[: self.a.size].copy()

    @staticmethod
    def fits(program: QuadraticProgram, settings: Settings) -> bool:
        """Whether the program is of the kind, and the settings leave the way of solving it open."""
        limited = settings.time_limit is not None and settings.time_limit < LONG_TIME
        watched = settings.verbose or settings.callback is not None or limited
        if not settings.sifting or watched or settings.kkt != "auto" or settings.regularization is not None:
            return False
        if not isinstance(program.P, np.ndarray) or program.n < LEAST or _rows_with_sides(program).size > 1:
            return False
        bounded = np.isfinite(program.lb) | np.isfinite(program.ub)
        return bool(2 * bounded.sum() > program.n) and float(program.P.diagonal().max()) > 0.0

    def is_clearly_definite(self) -> bool:
        """Whether a Cholesky factor in single precision exists, of P less what rounding may hide there.

        It takes half the time of one in double precision.  The errors of a factor are seen to be about half a unit of
        the last place of |P|_2; eight units of the Frobenius norm are taken off.
        """
        n = self.program.n
        part = np.empty((n, n), dtype=np.float32)
        entries = part.ravel()
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            least = np.float32(NEGLIGIBLE * self.size)
            for first in range(0, n, ROWS):
                rows = part[first : first + ROWS]
                rows[:] = self.P[first : first + ROWS]
                # rounded to the last place of a larger number: numbers near the smallest are slow to work with
                rows += least
                rows -= least
            square = np.dot(entries, entries)
        if not np.isfinite(square):
            return False
        entries[:: n + 1] -= np.float32(SINGLE) * np.sqrt(square)
        with blas_threads(self.settings.threads):
            return bool(lapack.spotrf(part.T, lower=1, clean=0, overwrite_a=1)[1] == 0)

    def solve(self, last: np.ndarray | None, accepts: Callable[..., bool]) -> Sifted | None:
        """An answer that `accepts(x, y, z)`, from the point `last` on; None where the interior-point method is the
        better way."""
        deadline = time.perf_counter() + (self.settings.time_limit or np.inf)
        x = self._start(last)
        if x is None:
            return None
        with blas_threads(self.settings.threads):
            return self._follow(x, deadline, accepts)

    def present(self) -> Sifted:
        """The point at which a run was interrupted."""
        return self.run.point()

    def cone_solution(
        self, status: Status, sifted: Sifted, point: tuple[np.ndarray, ...], found: Residuals
    ) -> Solution:
        """The answer as one to the cone program, where it is `point`, (x, y, z, s); without its times."""
        offset, rounds = self.program.offset, sifted.rounds
        primal, dual, gap = found.relative
        objective, dual_objective = found.primal_objective + offset, found.dual_objective + offset
        records = [
            (k, rounds[k][0] + offset, *[np.nan] * 2, rounds[k][1] / found.dual_scale, *[np.nan] * 5, 1.0, np.nan)
            for k in range(len(rounds) - 1)
        ]
        records.append((len(rounds) - 1, objective, dual_objective, primal, dual, gap, *[np.nan] * 4, 1.0, np.nan))
        x, y, z, s = point
        message = f"the stopping test holds at {self.settings.tol:g}; sifting, {len(rounds)} rounds"
        if status is Status.INTERRUPTED:
            message = "interrupted from the keyboard"
        elif rounds:
            message += f", {rounds[-1][2]} of {self.program.n} variables between their bounds"
        return Solution(
            status=status, x=x, y=y, z=z, s=s, objective=objective, dual_objective=dual_objective,
            primal_residual=primal, dual_residual=dual, gap=gap, iterations=len(rounds), setup_time=0.0,
            solve_time=0.0, message=message, trace=structured([(*record, 0, 0, 0.0, 0.0) for record in records]),
        )  # fmt: skip

    def _start(self, last: np.ndarray | None) -> np.ndarray | None:
        """A feasible point near `last`, or at the bounds near zero; None where the row cannot be met."""
        n, lb, ub, a = self.program.n, self.lb, self.ub, self.a
        x = np.clip(np.zeros(n) if last is None else last, lb[:n], ub[:n])
        if self.row is None:
            return x
        value = float(a[:n] @ x)
        slack = np.array([]) if a.size == n else np.clip([value], lb[n:], ub[n:])
        missing = (self.side if a.size == n else float(slack[0])) - value
        if missing != 0.0:
            # those that are cheapest along the row go first, each as far as it may
            inside = np.flatnonzero(a[:n])
            along = a[inside]
            room = along * (np.where(along * missing > 0.0, ub[inside], lb[inside]) - x[inside]) / missing
            order = np.argsort(np.sign(missing) * self.program.q[inside] / along, kind="stable")
            inside, along, room = inside[order], along[order], np.minimum(room[order], 1.0)
            share = np.clip(1.0 - np.concatenate([[0.0], np.cumsum(room)[:-1]]), 0.0, room)
            if not share.sum() >= 1.0 - 1e-12:
                return None
            x[inside] = np.clip(x[inside] + share * missing / along, lb[inside], ub[inside])
        return np.concatenate([x, slack])

    def _gradient(self, x: np.ndarray) -> np.ndarray:
        n = self.program.n
        g = np.zeros(x.size)
        g[:n] = self.program.q
        which = np.flatnonzero(x[:n])
        if 2 * which.size < n:
            add_rows(self.P, which, x[which], which.size, g)
        else:
            g[:n] += self.P @ x[:n]
        return g

    def _follow(self, x: np.ndarray, deadline: float, accepts: Callable[..., bool]) -> Sifted | None:
        """Descent and Newton's method in turn, in one round each."""
        n, settings = self.program.n, self.settings
        g = self._gradient(x)
        run = self.run = Rounds(self, x, g)
        exact, newton = EXACT, 0  # rounds of Newton's method since the last descent
        for _ in range(min(MOST_ROUNDS, settings.max_iter)):
            if newton == 0 and not run.descend():
                return None
            tol = settings.tol * (1.0 + max(norm(g[:n] - self.program.q), norm(self.program.q)))
            tol = exact * min(tol, settings.tol_abs or np.inf)
            outcome = run.step(tol)
            newton += 1
            if outcome == TAKEN and run.state[WRONG] <= tol:
                found = run.point()
                if accepts(found.x, found.y, found.z):
                    return found
                exact *= EXACT
            elif outcome == TOO_LARGE or time.perf_counter() > deadline:
                return None
            elif outcome == NOT_DEFINITE:
                if run.shift == SHIFTS[1]:
                    return None
                run.shift = SHIFTS[1]
            elif outcome in (NO_DESCENT, SHORTENED) or newton == ROUNDS_AT_ONCE:
                newton = 0
        return None


class Rounds:
    """One run: the point, its gradient, and what descent and Newton's method keep of it.

    Parameters
    ----------
    sifting : Sifting
    x, g : arrays
        The point, feasible, and the gradient there, both with the value of the row behind where it is a variable.
    """

    def __init__(self, sifting: Sifting, x: np.ndarray, g: np.ndarray) -> None:
        n = sifting.program.n
        self.sifting, self.x, self.g, self.shift = sifting, x, g, SHIFTS[0]
        self.descent, self.state = np.zeros(3), np.zeros(STATE)
        self.state[MOST_WORK], self.state[SIDE] = MOST_SHARE * n**3 / 3.0, sifting.side
        self.state[SIZE] = sifting.size
        self.free, self.H = np.empty(x.size, dtype=np.int64), np.empty(0)
        self.first_gain = self.gain = self._largest_gain()
        self.share, self.outcome = FIRST_TOL, TAKEN
        self.records: list[tuple[float, float, int]] = []

    def _largest_gain(self) -> float:
        """The largest gain of a variable alone, whatever the row."""
        sifting, n = self.sifting, self.sifting.program.n
        movable = sifting.lb[:n] < sifting.ub[:n]
        v, curvature = self.g[:n][movable], sifting.diagonal[:n][movable]
        return float((v * v / np.maximum(curvature, TINY * sifting.size)).max(initial=0.0))

    def descend(self) -> bool:
        """A descent, deeper than the last one; False when descents lead nowhere."""
        sifting, n, read = self.sifting, self.sifting.program.n, self.descent[READ]
        if read > 0.0:
            stuck = self.outcome == NO_DESCENT and self.gain > STUCK * self.first_gain
            if stuck or read > MOST_READ * n:
                return False
        descend_in_blocks(
            sifting.P, sifting.diagonal, sifting.a, sifting.lb, sifting.ub, self.x, self.g, TINY * sifting.size,
            self.share * self.first_gain, read + FIRST_READ * n, self.descent,
        )  # fmt: skip
        before, self.gain = self.gain, float(self.descent[GAIN])
        self.state[Y] = self.descent[MULTIPLIER]
        self.share *= NEXT_TOL
        return read == 0.0 or self.gain <= max(0.5 * before, self.share / NEXT_TOL**2 * self.first_gain)

    def step(self, tol: float) -> int:
        """A round of Newton's method, for multipliers of the right sign up to tol."""
        sifting, x, g, state = self.sifting, self.x, self.g, self.state
        count = find_free(sifting.a, sifting.lb, sifting.ub, x, g, state[Y], tol, self.free)
        if self.H.size < count**2:
            self.H = np.empty(int(1.2 * count**2) + 1)
        self.outcome = int(
            step_on_face(
                sifting.P, sifting.a, sifting.lb, sifting.ub, x, g, self.shift, self.free, count, self.H, state
            )
        )
        n, q = sifting.program.n, sifting.program.q
        self.records.append((0.5 * float(x[:n] @ (g[:n] + q)), float(state[WRONG]), int(count)))
        return self.outcome

    def point(self) -> Sifted:
        """The present point with its multipliers."""
        sifting, program = self.sifting, self.sifting.program
        x, y, multiplier = self.x[: program.n], np.zeros(program.m), float(self.state[Y])
        if sifting.row is not None:
            y[sifting.row] = multiplier
        z = -(self.g[: program.n] + sifting.a[: program.n] * multiplier)
        z[(x > program.lb) & (z < 0.0)] = 0.0
        z[(x < program.ub) & (z > 0.0)] = 0.0
        return Sifted(x, y, z, self.records)


def _rows_with_sides(program: QuadraticProgram) -> np.ndarray:
    return np.flatnonzero(np.isfinite(program.l) | np.isfinite(program.u))
