"""The active set where P is a `KernelMatrix`: descent and Newton's method, in turn.

    pairs       descent along rows of the kernel in float32, until the slopes are small (`pairs`)
    gradient    in float64, from the samples
    Newton      the subproblem of the variables between their bounds, or at a bound with a multiplier of the wrong sign,
                while all others stay: `qp.active_set.face_newton` solves it, and only its part of P is computed

With u = s * x, P loses its signs, and a row c s'x = side becomes 1'u = side / c; so does each of two rows, one with the
leading and one with the other variables.
"""

from __future__ import annotations

import time

import numpy as np

from qp.active_set.boxed import PACE, BoxedProgram, Face
from qp.active_set.face_newton import SHIFTS
from qp.active_set.method import ActiveSet, Rounds
from qp.active_set.rounds import EXACT, MAX_ROUNDS, ONGOING, ROUNDS_AT_ONCE, newton_round
from qp.problem.solution import Point, Solution
from socp.compiled.memory import LARGEST_KEPT, keep_freed_memory
from socp.plan.plan import Plan
from socp.problem.settings import Settings
from socp.problem.status import Status
from socp.verify.distances import norm
from socp.verify.stopping import LOST, Residuals, residuals

from .mercer import AT_ONCE, Samples, add_singles
from .pairs import DONE, FAR, LEAST, MEMORY_WANTED, ROWS_WANTED, TILE, Pairs, RowStore, descend_in_pairs, note_extremes
from .program import KernelProgram

FIRST_SHARE, NEXT_SHARE = 2e-3, 3e-2  # target slope of pairs: relative to the first slope, later to the last one
MOST_STEPS = 20  # largest number of steps in one descent, per variable
WRONG = 0.02  # variables at a bound join the working set if their slope exceeds this share of the largest
MOST_ENTRIES = 0.25  # largest size of the working set's part of P, relative to the row cache
FEW_FEATURES, BATCH = 64, 4  # with at most FEW_FEATURES features, BATCH rows are computed at once, else `AT_ONCE`
PATIENCE = 3  # the store grows when PATIENCE times as many rows as it holds were replaced


class PointTest:
    """Stopping test of points of a kernel program, whose product P x is known."""

    def __init__(self, program: KernelProgram) -> None:
        self.program = program
        self.last: tuple[Point, Residuals] | None = None

    def measure(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, Px: np.ndarray | None = None) -> Residuals:
        """Return the residuals of a point (x, y, z_bounds)."""
        found = residuals(self.program, x, y, z, Px=Px)
        self.last = (x, y, z), found
        return found


class WorkingSet(ActiveSet):
    """Working-set method for one program whose P is a `KernelMatrix`.

    Parameters
    ----------
    program : KernelProgram
        A program that `suits` the method.
    settings : Settings
    before : WorkingSet, optional
        Method of an earlier program; its kernel rows are kept if both programs share the object P.

    Attributes
    ----------
    store : RowStore or None
        Kernel rows of the last run.
    known : (array, array), shape (samples,)
        Coefficients c and the product K c in float64, from the end of the last run.
    """

    def __init__(self, program: KernelProgram, settings: Settings, before: WorkingSet | None = None) -> None:
        self.program, self.settings = program, settings
        self.kernel, self.signs = program.P, program.P.signs
        self.store: RowStore | None = None
        self.known = np.zeros(self.kernel.count), np.zeros(self.kernel.count)
        if before is not None and before.kernel is self.kernel:
            self.store, self.known = before.store, before.known
        self.plan = Plan(
            "dense", "rows of P are made as they are read", method="working set",
            what=f"working set, {program.n} variables with a kernel matrix P",
        )  # fmt: skip
        along = program.rows_along_signs()
        assert along is not None
        self.rows, self.slopes, self.ends = along
        self.sides = program.l[self.rows] / self.slopes
        rises = self.signs > 0.0
        self.lower = np.where(rises, program.lb, -program.ub)
        self.upper = np.where(rises, program.ub, -program.lb)

    def is_clearly_definite(self) -> bool:
        """Return True if the kernel is known to be positive semidefinite."""
        return self.kernel.is_semidefinite

    def find(self, last: np.ndarray | None) -> Solution | None:
        """Return the answer found from the point `last`, or None if another method should solve the program."""
        return self.solve_from(last, PointTest(self.program))  # type: ignore[arg-type]

    def _start(self, last: np.ndarray | None) -> WorkingRounds:
        return WorkingRounds(self, last)

    def _follow(self, run: WorkingRounds, test: PointTest) -> Status | None:  # type: ignore[override]
        settings, exact = self.settings, EXACT
        if not run.meet_row():
            return None
        run.find_gradient()
        for k in range(min(MAX_ROUNDS, settings.max_iter)):
            target = FIRST_SHARE * run.first_slope if k == 0 else NEXT_SHARE * run.slope()
            if not run.descend(target, settings.time_limit):
                return Status.TIME_LIMIT
            run.find_gradient()
            if k == 0 and self.rows.size == 2:  # The scale of slopes, |b_1 - b_2|, is unknown before.
                if not run.descend(FIRST_SHARE * run.gap(), settings.time_limit):
                    return Status.TIME_LIMIT
                run.find_gradient()
            for _ in range(ROUNDS_AT_ONCE):
                tol = exact * min(settings.tol * run.size_of_gradient(), settings.tol_abs or np.inf)
                if run.slope() <= tol:
                    if test.measure(*run.point(), Px=run.Px()).meets(settings.tol, settings.tol_abs):
                        return Status.OPTIMAL
                    exact *= EXACT
                if settings.time_limit is not None and time.perf_counter() - run.started > settings.time_limit:
                    return Status.TIME_LIMIT
                if not run.step(tol):
                    break
        return None


class WorkingRounds(Rounds):
    """State of one run.

    Parameters
    ----------
    method : WorkingSet
    last : array, shape (n,), or None
        Starting point, zero if None; it is moved into the box.

    Attributes
    ----------
    pairs : Pairs
    store : RowStore
    """

    method: WorkingSet  # type: ignore[assignment]

    def __init__(self, method: WorkingSet, last: np.ndarray | None) -> None:
        self.started = time.perf_counter()
        keep_freed_memory()
        self.method, self.n, kernel = method, method.program.n, method.kernel
        self.knows_gradient, self.first_slope = False, 0.0
        self.records: list[tuple[float, float, int, float]] = []
        count, compiled = kernel.count, kernel.compiled()
        batch = BATCH if compiled is not None and compiled.features <= FEW_FEATURES else AT_ONCE
        tiles = sorted(
            {first + at for first in range(0, self.n, count) for at in range(0, count, TILE)} | set(method.ends)
        )
        self.pairs = pairs = Pairs(size=self.n, count=count, tiles=len(tiles) - 1, most=batch)
        pairs.begins, pairs.second = np.array(tiles), tiles.index(method.ends[1])
        pairs.lower, pairs.upper, pairs.diagonal = method.lower, method.upper, kernel.kernel_diagonal()
        pairs.least = LEAST * float(pairs.diagonal.max(initial=0.0)) or 1.0
        pairs.has_row, pairs.exact = method.rows.size > 0, compiled is not None
        if compiled is not None and method.store is None:
            add_singles(compiled)
        self.samples = Samples(count=count, features=0) if compiled is None else compiled
        if method.store is not None:
            self.store = store = method.store
            pairs.made, store.patience = store.used, PATIENCE * store.capacity
        else:
            slots = min(count, max(kernel.cache_bytes // (4 * count), 2 * batch + 2))
            self.store = RowStore(slots=slots, count=count)
            self.store.none = np.zeros(count, np.float32)
            self._grow(max(LARGEST_KEPT // (4 * count), 2 * batch + 2))
        pairs.u[:] = np.clip(0.0 if last is None else method.signs * last, method.lower, method.upper)

    def _grow(self, slots: int) -> None:
        """Allocate memory for `slots` rows and discard the stored rows, as both at once would exceed the limit.

        Computing a row often takes less time than the first access to new memory: the store grows only when
        `PATIENCE` times as many rows as it holds have lost their places.
        """
        store, count = self.store, self.method.kernel.count
        store.capacity, store.used = min(slots, store.slots), 0
        store.rows = np.empty(0, np.float32)
        store.rows = np.empty(store.capacity * count, np.float32)
        store.patience = self.pairs.made + PATIENCE * store.capacity
        store.place_of[:] = -1

    def meet_row(self) -> bool:
        """Move variables between their bounds, then others, until the rows hold; return False if a row cannot hold."""
        method = self.method
        for side, first, last in zip(method.sides, method.ends, method.ends[1:]):
            u, lower, upper = (data[first:last] for data in (self.pairs.u, method.lower, method.upper))
            missing = float(side - u.sum())
            if missing == 0.0:
                continue
            room = np.abs((upper if missing > 0.0 else lower) - u)
            order = np.argsort((u == lower) | (u == upper), kind="stable")  # Variables at a bound move last.
            before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
            moves = np.zeros(u.size)
            moves[order] = np.clip(abs(missing) - before, 0.0, room[order])
            u += np.copysign(moves, missing)
            np.clip(u, lower, upper, out=u)
            if float(moves.sum()) < (1.0 - 1e-12) * abs(missing):
                return False
        return True

    def find_gradient(self) -> None:
        """Compute F := -s * q - K u in float64 from the samples, and update masks and extremes.

        If fewer coefficients changed since the last product than are nonzero, K is multiplied by the changes only.
        """
        method, pairs, kernel = self.method, self.pairs, self.method.kernel
        hair = LOST * (method.upper - method.lower)
        for bound in (method.lower, method.upper):  # Sums of steps miss a bound by rounding errors.
            np.copyto(pairs.u, bound, where=np.abs(pairs.u - bound) <= hair)
        c = pairs.u.reshape(kernel.sides, -1).sum(axis=0)
        old, Ku = method.known
        if not self.knows_gradient and (share := float(old @ c) / (float(old @ old) or 1.0)) > 0.0:
            old, Ku = share * old, share * Ku  # Warm starts along a path are multiples of `old`.
        moves = np.where(np.abs(c - old) > LOST * np.abs(c), c - old, 0.0)
        if np.count_nonzero(moves) < np.count_nonzero(c):
            Ku = Ku + kernel.expansion(moves)
        else:
            Ku = kernel.expansion(c)
        method.known = c, Ku
        F = -method.signs * method.program.q
        if not self.knows_gradient:
            movable = F[method.lower < method.upper]
            self.first_slope = float(movable.max(initial=0.0) - movable.min(initial=0.0))
        pairs.F[:] = F - np.tile(Ku, kernel.sides)
        note_extremes(pairs, self.store.none)
        self.first_slope = max(self.first_slope, 0.0 if self.knows_gradient else self.slope())
        self.knows_gradient = True

    def slope(self) -> float:
        """Return the largest gap of F between variables that may rise and fall; without a row, between F and zero."""
        top, bottom = self.pairs.top, self.pairs.bottom
        if self.pairs.has_row:
            return max(float(t - b) if t > -FAR and b < FAR else 0.0 for t, b in zip(top, bottom))
        return max(float(top[0]), -float(bottom[0]), 0.0)

    def multipliers(self) -> list[float]:
        """Return the multiplier b of each row, the middle between the extremes of F; zeros without a row."""
        if not self.pairs.has_row:
            return [0.0, 0.0]
        ends = zip(self.pairs.top.tolist(), self.pairs.bottom.tolist())
        return [0.5 * ((t if t > -FAR else b) + (b if b < FAR else t)) for t, b in ends]

    def gap(self) -> float:
        """Return the larger of |b_1 - b_2| for the multipliers of two rows and the range of -s * q."""
        b, target = self.multipliers(), -self.method.signs * self.method.program.q
        return max(abs(b[0] - b[1]), float(target.max() - target.min()))

    def slopes(self) -> np.ndarray:
        """Return F minus the multiplier of each variable's row."""
        slopes, second = self.pairs.F.copy(), self.method.ends[1]
        for part, b in zip((slopes[:second], slopes[second:]), self.multipliers()):
            part -= b
        return slopes

    def Px(self) -> np.ndarray:
        return -self.method.signs * self.pairs.F - self.method.program.q

    def size_of_gradient(self) -> float:
        """Return 1 + max(norm(P x, inf), norm(q, inf)), the scale of the dual residual."""
        return 1.0 + max(norm(self.Px()), norm(self.method.program.q))

    def descend(self, tol: float, time_limit: float | None) -> bool:  # type: ignore[override]
        """Move pairs until the slope is at most `tol` or too many steps are taken; return False if time is over."""
        kernel, pairs, store = self.method.kernel, self.pairs, self.store
        most = pairs.steps + MOST_STEPS * self.n
        self.method.store = None  # Ctrl-C may leave places whose rows are not computed.
        while True:
            outcome = descend_in_pairs(pairs, store, self.samples, tol, PACE)
            if outcome == ROWS_WANTED:
                which, places = pairs.wanted[: pairs.missing], pairs.places[: pairs.missing]
                store.rows.reshape(-1, kernel.count)[places] = kernel.kernel_rows(which)
            if outcome == MEMORY_WANTED:
                self._grow(2 * store.capacity)
            if outcome == DONE or pairs.steps > most:
                self._note(int(((pairs.u > pairs.lower) & (pairs.u < pairs.upper)).sum()))
                self.method.store = store
                return True
            if time_limit is not None and time.perf_counter() - self.started > time_limit:
                self.method.store = store
                return False

    def step(self, tol: float) -> bool:  # type: ignore[override]
        """Run Newton's method on the working set; return True if it halved the slope."""
        kernel, pairs, n = self.method.kernel, self.pairs, self.method.kernel.count
        before, slopes = self.slope(), self.slopes()
        wrong = max(0.25 * tol, WRONG * before)
        rises, falls = pairs.u < pairs.upper, pairs.u > pairs.lower
        members = np.flatnonzero((rises & falls) | (rises & (slopes > wrong)) | (falls & (slopes < -wrong)))
        if members.size == 0 or members.size**2 * 8.0 > MOST_ENTRIES * max(kernel.cache_bytes, LARGEST_KEPT):
            return False
        twice = np.zeros(0, int)
        if self.method.rows.size == 2:  # Moving both variables of a sample against each other changes only the
            # rows' sums: the two become one variable of one row, which `_share` splits so that both rows hold.
            twice = np.intersect1d(members, members - n)
            members = np.setdiff1d(members, twice + n, assume_unique=True)
        part = BoxedProgram(size=members.size)
        face = Face(size=members.size)
        part.P = kernel.gram(members % n)
        part.diagonal, part.a = part.P.diagonal().copy(), np.full(members.size, float(pairs.has_row))
        part.lb, part.ub, part.largest = pairs.lower[members], pairs.upper[members], float(part.diagonal.max())
        part.x, part.g = pairs.u[members], -pairs.F[members]
        sides, ends, multipliers = self.method.sides, self.method.ends, self.multipliers()
        if twice.size:
            at = np.searchsorted(members, twice)
            for own, both in ((part.lb, pairs.lower), (part.ub, pairs.upper), (part.x, pairs.u)):
                own[at] += both[twice + n]
            sides, ends, multipliers = [sum(sides)], [0, self.n, self.n], 2 * [0.5 * sum(multipliers)]
        part.ends[1] = np.searchsorted(members, ends[1])
        rows = list(zip(sides, ends, ends[1:], part.ends, part.ends[1:]))
        for r, (side, first, last, a, b) in enumerate(rows):  # Correct the rows' residuals from rounding.
            part.sides[r] = side - (pairs.u[first:last].sum() - part.x[a:b].sum())
        start, part.multipliers, part.max_work = part.x.copy(), np.negative(multipliers), np.inf
        face.factor, face.shift = np.empty(members.size**2), SHIFTS[0]
        for _ in range(MAX_ROUNDS):
            if newton_round(part, face, tol) != ONGOING:
                break
        moves, last = part.x - start, pairs.u.copy()
        coefficients = np.bincount(members % n, moves, n)
        pairs.u[members] = part.x
        if twice.size and not self._share(twice):
            pairs.u[:] = last
            return False
        old, Ku = self.method.known
        change = kernel.expansion(coefficients)
        self.method.known = old + coefficients, Ku + change
        pairs.F -= np.tile(change, kernel.sides)
        note_extremes(pairs, self.store.none)
        self._note(face.between)
        return self.slope() < 0.5 * before

    def _share(self, twice: np.ndarray) -> bool:
        """Split the sums that the first of two variables of a sample holds; return False if the rows cannot hold."""
        method, n, u = self.method, self.method.kernel.count, self.pairs.u
        first = np.clip(u[twice], method.lower[twice], method.upper[twice])
        u[twice], u[twice + n] = first, u[twice] - first
        missing = float(method.sides[0] - u[:n].sum())
        room = np.minimum(method.upper[twice] - first, u[twice + n] - method.lower[twice + n])
        if not 0.0 <= missing < room.sum():
            return False
        room *= missing / room.sum()
        u[twice] += room
        u[twice + n] -= room
        return True

    def _note(self, between: int) -> None:
        """Record the current point, with `between` variables between their bounds."""
        objective = 0.5 * float((self.method.signs * self.pairs.u) @ (self.Px() + 2.0 * self.method.program.q))
        self.note(objective, self.slope() / self.size_of_gradient(), between)

    def point(self) -> Point:
        program, signs, x = self.method.program, self.method.signs, self.method.signs * self.pairs.u
        y, z = np.zeros(program.m), np.zeros(self.n)
        x = np.where(x == 0.0, 0.0, x)
        if self.knows_gradient:
            y[self.method.rows] = self.multipliers()[: self.method.rows.size] / self.method.slopes
            z = signs * self.slopes()
            z[(x > program.lb) & (z < 0.0)] = 0.0
            z[(x < program.ub) & (z > 0.0)] = 0.0
        return x, y, z
