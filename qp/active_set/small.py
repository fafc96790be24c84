"""The dual active set as a method for one small program, whose answer passes the stopping test of all methods.

Where it finds neither an answer nor a certificate, the interior-point method of `socp` solves the program.
"""

from __future__ import annotations

import functools
import time
from typing import Any, Literal

import numpy as np

from socp.batch.checks import next_doubtful
from socp.batch.driver import DUAL_INFEASIBLE, PRIMAL_INFEASIBLE, Batch
from socp.batch.verify import NO_LAYOUT, verifier_for
from socp.compiled.memory import Pool
from socp.compiled.structures import WORD
from socp.derivatives.cones import linearize
from socp.engine import NO_TIMINGS
from socp.linalg.vectors import NO_VALUES
from socp.method.answer import test_holds
from socp.method.ray_search import NOT_FEASIBLE
from socp.method.rays import repaired_certificate
from socp.method.run import OPTIMAL
from socp.plan.costs import COSTS, method_seconds
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.checks import CSC, FLOAT, ProgramError, as_vector, filled
from socp.problem.lowrank import LowRank
from socp.problem.settings import Settings
from socp.problem.solution import TRACE, answer_at
from socp.problem.solution import Solution as ConeSolution
from socp.problem.starts import Start
from socp.problem.status import Status
from socp.verify.certificates import CERTAIN, Ray, certified, slope_between
from socp.verify.stopping import residuals as cone_residuals

from ..method import Method, Offer
from ..plan.choice import choose_method
from ..problem.derivatives import linearize as linearize_program
from ..problem.packed import Parts, empty_block, fill, parts_of, unpack
from ..problem.program import NO_LOWER, NO_UPPER, QuadraticProgram
from ..problem.solution import Point, Solution, words_of_ray
from ..reduce.cone_form import ConeForm
from ..reduce.presolve import CROSSING, MOST_CROSSING
from .dual import BESIDE, MOST_PROXIMAL, UNKNOWN, load_dual, solve_block, solve_dual, solve_each
from .dual_set import DualSet, begin_near
from .rounds import EXACT

Data = tuple[Any, Any, Any, Any, Any, Any, Any, Any]
MATRICES, RECORD = {np.ndarray, *CSC}, TRACE.itemsize // WORD
SAVED = 10  # most programs for which a method on trial may have saved time to take for another one
STEPS = 6  # limit of steps per row and variable; typical programs take one or two


class DualActiveSet(Method):
    """Dual active-set method for one small program, with proximal steps if P is only semidefinite.

    Parameters
    ----------
    program : QuadraticProgram
        A program that `qp.plan.choice` assigns to this method.
    settings : Settings
    before : DualActiveSet or None
        The method of the solver's last program; its memory is reused if the sizes fit.
    solved : int
        Number of programs with these matrices that the interior-point method has solved.  If it is positive, the method
        starts from the last answer, and gives up after the time that the interior-point method takes.

    Attributes
    ----------
    plan : Plan
    is_definite, is_proximal : bool
        Whether P, or only P + rho I, has a Cholesky factor whose pivots are more than rounding.
    """

    _credit = 0.0  # seconds that a method on trial may take for the next program
    _ray: Ray | None = None  # the last certificate (y, z) that no point is feasible, for programs with these matrices
    pool = Pool()  # workspaces for reuse; in the class, as `Engine.__del__` may run after the module's globals are gone

    def __init__(
        self, program: QuadraticProgram, settings: Settings, before: DualActiveSet | None = None, solved: int = 0
    ) -> None:
        self.program, self.settings, self.is_on_trial = program, settings, solved > 0
        self._kind = program.n, program.m, settings.tol, settings.tol_abs, self.is_on_trial
        self._workspace: Workspace | None = (
            before._workspace if before is not None and before._kind == self._kind else None
        )
        workspace = self._enter()
        self.is_definite, self.is_proximal = workspace.factor == 1, workspace.factor == 2
        workspace.is_at_work = False
        entries = program.A.data.size, program.hessian.entries
        self.plan = plan_of(self.is_proximal, program.n, program.m, *entries, solved)

    @classmethod
    def take(cls, offer: Offer, before: DualActiveSet | None) -> DualActiveSet | None:
        """Return the method if `choose_method` chooses it, for the whole program.

        Presolve would cost more than the rows that it removes.
        """
        return cls._chosen(offer.program, offer.settings, before)

    @classmethod
    def on_trial(
        cls, program: QuadraticProgram, settings: Settings, solved: int, plan: Plan | None = None,
        active: int | None = None,
    ) -> DualActiveSet | None:  # fmt: skip
        """Return the method for a loop of `solved` programs if it is expected to be faster.

        `plan` is that of the method that has solved them, or None for the interior point.  Without warm starts,
        `active` sides are active at the last answer.
        """
        return cls._chosen(program, settings, solved=solved)

    @classmethod
    def _chosen(
        cls, program: QuadraticProgram, settings: Settings, before: DualActiveSet | None = None, solved: int = 0
    ) -> DualActiveSet | None:
        P = program.hessian
        if choose_method(program, settings, P.is_definite is not False, solved) != "dual active set":
            return None
        dual = cls(program, settings, before, solved)
        P.is_definite = dual.is_definite
        if dual.is_definite or (
            dual.is_proximal and choose_method(program, settings, False, solved) == dual.plan.method
        ):
            if dual._workspace is not None and not settings.verbose and not solved:
                dual._workspace.serve(program, settings)
            return dual
        dual.release(before)
        return None

    def is_clearly_definite(self) -> bool:
        """Return True if a Cholesky factor or the structure of P shows that P is semidefinite."""
        P = self.program.hessian
        if self.is_definite or P.is_zero or isinstance(P, LowRank):
            return True
        return (
            self.is_proximal and next_doubtful(P.order, P.dense().reshape(1, -1), np.array([self.program.P_eps]), 0) < 0
        )

    def solve(self, start: bool | Start, offer: Offer) -> Solution | None:
        """Return the answer or a certificate, or None if neither is found; a warm start keeps the last working set."""
        program, settings = offer.program, self.settings
        self.program, warm_start = program, start is True
        if isinstance(start, tuple):
            warm_start = self.start_at(*start)
        if not settings.verbose:
            return self.find(warm_start)
        offer.show(self.plan, program, ConeForm(program))
        solution = self.find(warm_start)
        for record in () if solution is None else solution.trace:
            printing.line(record)
        return solution

    def update(self, offer: Offer, new_P: bool, new_A: bool) -> bool:
        """Take another program with these matrices."""
        return not (new_P or new_A or offer.program.are_crossed)

    def find(self, warm_start: bool) -> Solution | None:
        """Return the answer or a certificate, or None; `warm_start` begins with the last working set.

        A warm start, and each solve on trial, first tries the last certificate, which often holds again: only sides
        have changed.
        """
        if (warm_start or self.is_on_trial) and self._ray is not None:
            program, (y, z) = self.program, self._ray
            if slope_between(program.lb, program.ub, z, slope_between(program.l, program.u, y, 0.0)) < 0.0:
                ray, error = certified(program, self._ray, self.settings.tol)
                if error <= min(self.settings.tol_of_rays, CERTAIN):
                    return self._infeasible(ray, error, np.zeros(program.n), np.zeros(RECORD))
        workspace = self._enter()
        kept, workspace.has_answer = workspace.has_answer, False
        own = 0.0
        if self.is_on_trial:  # It may take as long as the other method on the average.
            own = self.plan.seconds["interior point"]
            self._credit = min(self._credit + own, SAVED * own)
            workspace.allow(self._credit)
        pays = not self.is_on_trial or workspace.seconds_to_begin() <= SAVED * own
        found = self._attempt(workspace, warm_start and kept) if workspace.factor and pays else None
        # Sides added together may be dependent up to rounding: retry with one side at a time.
        if found is None and workspace.factor and workspace.code.item() != DUAL_INFEASIBLE and not self.is_on_trial:
            workspace.work.beside, kept = np.inf, False
            found = self._attempt(workspace, False)
            workspace.work.beside = BESIDE
        if found is not None and found.status is not OPTIMAL and kept:
            workspace.has_answer = True  # The kernel has put back the working set of the last answer.
        if self.is_on_trial and pays:
            self._credit -= workspace.work.steps * workspace.step
        workspace.is_at_work = False
        return found

    def _attempt(self, workspace: Workspace, is_warm: bool) -> Solution | None:
        program, settings = self.program, self.settings
        found = solve_dual(workspace.work, NO_LAYOUT, program.q, is_warm)
        if found:
            return workspace.answer(program, program.offset, self.plan, settings)
        if workspace.code.item() != PRIMAL_INFEASIBLE:
            return None
        n, of_y, of_z, _, of_trace = workspace.places
        answers = workspace.answers[: of_trace + RECORD * (workspace.iterations.item() + 1)].copy()
        return self._certificate(answers[:n], answers[of_y:of_z], answers[of_z : of_z + n], answers[of_trace:])

    def _certificate(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, steps: np.ndarray) -> Solution | None:
        """Return the certificate (y, z) of infeasibility after the recorded steps, or None if it is not certain."""
        found = repaired_certificate(self.program, self.settings, y, z)
        if found is None:
            return None
        self._ray, error = found
        return self._infeasible(self._ray, error, x, steps)

    def _infeasible(self, ray: Ray, error: float, x: np.ndarray, steps: np.ndarray) -> Solution:
        """Return the answer to an infeasible program with a certificate and its error."""
        program, (y, z) = self.program, ray
        solution: Solution = object.__new__(Solution)
        solution.__dict__ = {
            "status": Status.PRIMAL_INFEASIBLE, "x": np.full(program.n, np.nan), "y": y, "z_bounds": z,
            "objective": np.nan, "dual_objective": np.nan, "primal_residual": error, "dual_residual": np.nan,
            "gap": np.nan, "iterations": steps.size // RECORD - 1, "setup_time": 0.0, "solve_time": 0.0,
            "plan": self.plan, "_rest": (rest_of_ray, program, x, steps, self.settings),
        }  # fmt: skip
        return solution

    def solve_each(self, batch: Batch, first: int, end: int) -> None:
        """Write the answers to programs first:end of a batch into it; the method has the P and A that all share.

        Where they have their own P, each is definite.
        """
        workspace = self._enter()
        solve_each(workspace.work, NO_LAYOUT, batch, first, end)
        if max(len(batch.P), len(batch.A)) > 1:
            workspace.factor = 0
        workspace.program, workspace.is_at_work, workspace.has_answer = None, False, False

    def start_at(self, x: np.ndarray, y: np.ndarray | None, z: np.ndarray | None) -> bool:
        """Begin at x with the sides whose multipliers exceed their slacks; return False if the point is far off.

        Multipliers that are None are computed.
        """
        workspace, known = self._enter(), (y is not None) + 2 * (z is not None)
        y, z = (np.zeros(size) if v is None else v for v, size in ((y, self.program.m), (z, self.program.n)))
        is_near = bool(self._begin(workspace, x, y, z, known))
        workspace.batch.x[0] = x  # The first proximal step leaves from here.
        workspace.has_answer |= is_near
        workspace.is_at_work = False
        return is_near

    def _begin(self, workspace: Workspace, x: np.ndarray, y: np.ndarray, z: np.ndarray, known: int) -> int:
        return begin_near(workspace.work, self.program.q, x, y, z, known)

    def _enter(self) -> Workspace:
        """Return a workspace with the program, marked as at work: the method's own, one from the pool, or a new one."""
        workspace = self._workspace
        if workspace is None or workspace.is_at_work:  # Ctrl-C may have left the workspace half written.
            workspace = self.pool.take(self._kind)
            if workspace is None or workspace.is_at_work:
                workspace = Workspace(self._kind, self.settings)
            self._workspace = workspace
        workspace.is_at_work = True
        workspace.take(self.program)
        return workspace

    def release(self, next_user: Any = None) -> None:
        """Leave the workspace to the next program of its kind, unless it is at work or `next_user` holds it."""
        workspace, self._workspace = self._workspace, None
        if (
            workspace is None
            or workspace.is_at_work
            or (isinstance(next_user, DualActiveSet) and next_user._workspace is workspace)
        ):
            return
        workspace.program, workspace.has_answer = None, False
        self.pool.leave(workspace.kind, workspace, workspace.words)


def solve_again(
    data: Data, settings: Settings, program: QuadraticProgram | None = None
) -> Solution | Literal[False] | None:
    """Solve a program of a kind that a `Solver` had in this thread, straight from the caller's arrays.

    `data` are P, q, A, l, u, lb, ub and the offset; they are the data of `program` if it is given, whose values are not
    checked again.  Types and shapes are looked at here; the kernels that check values for `QuadraticProgram` check the
    copy.  Return False if no optimal answer is found, and None for other kinds of programs and for data that must be
    converted or rejected, which `QuadraticProgram` does.
    """
    started = time.perf_counter()
    P, q, A, l, u, lb, ub, offset = data
    if type(q) is not np.ndarray or q.ndim != 1 or type(offset) is not float or offset - offset != 0.0:
        return None
    if type(P) not in MATRICES and P is not None:
        return None
    n, m = q.size, 0 if A is None else A.shape[0] if type(A) in MATRICES and A.ndim == 2 else -1
    kept = DualActiveSet.pool.kept.get((n, m, settings.tol, settings.tol_abs, False))
    own: Workspace | None = kept[-1][1] if kept else None
    if own is None or own.settings is not settings or own.is_at_work or (l is u is None) != (A is None):
        return None
    if m == 0 and (A is None or (A.shape == (0, n) and np.size(l) == 0 == np.size(u))):
        A, l, u = None, NO_VALUES, NO_VALUES  # Empty arrays may have any strides.
    if not type(l) is type(u) is type(lb) is type(ub) is np.ndarray:
        try:
            l, u = side_of(l, m, NO_LOWER), side_of(u, m, NO_UPPER)
            lb, ub = side_of(lb, n, NO_LOWER), side_of(ub, n, NO_UPPER)
        except ProgramError:
            return None
    of_P, of_A = parts_of(P, n, n), parts_of(A, m, n)
    if of_P is None or of_A is None or not (
        q.dtype is l.dtype is u.dtype is lb.dtype is ub.dtype is FLOAT
        and l.shape == u.shape == (m,) and lb.shape == ub.shape == (n,)
        and q.strides == lb.strides == ub.strides == (8,) and (m == 0 or l.strides == u.strides == (8,))
    ):  # fmt: skip
        return None
    counts = UNKNOWN if program is None or program.are_crossed else counts_of(program)
    block, own.is_at_work = empty_block(of_P, of_A, n, m), True
    matrices, places = (of_P[0], of_A[0]), (*of_P[1:], *of_A[1:])
    ready = time.perf_counter()
    found = solve_block(own.work, NO_LAYOUT, matrices, (q, l, u, lb, ub), places, block, counts)
    solution: Solution | Literal[False] = False
    if found:
        solution = own.answer(block if program is None else program, offset, own.plans[found], settings)
        solution.setup_time, solution.solve_time = ready - started, time.perf_counter() - ready
    own.is_at_work = own.has_answer = False
    own.factor = 0  # The block's matrices have replaced those of the last `load`.
    return solution


def side_of(side: Any, size: int, absent: float) -> np.ndarray:
    """Return a side as an array: the caller's own, which is not checked, or a number as a vector, `absent` for None."""
    if type(side) is np.ndarray:
        return side
    return absent_side(size, absent) if side is None else as_vector("", side, size, "", True)


@functools.lru_cache(maxsize=64)
def absent_side(size: int, value: float) -> np.ndarray:
    """Return a vector of equal entries, which nobody writes to."""
    return filled(size, value)


def counts_of(program: QuadraticProgram) -> int:
    """Return 2^32 (entries of P) + (entries of A), as `fill` counts them."""
    return (program.hessian.entries << 32) + program.A.data.size


class Workspace:
    """Memory of the dual active set, for programs of equal sizes and tolerances.

    Attributes
    ----------
    program : QuadraticProgram or None
        Program whose data are loaded.
    has_answer : bool
        Whether an answer to this program, or to one of equal kind, is stored.
    step : float
        Expected seconds of a step.
    factor : int
        1 if P has a Cholesky factor, 2 if only P + rho I has one, else 0.
    is_at_work : bool
        Whether data are being loaded or a program is being solved; still True after an interrupt.
    settings, plans
        Settings, and plans by `factor`, of programs that are solved straight from the caller's arrays.
    answers : array
        The answer in one array that begins with x.
    places : tuple of int
        n, and the places in `answers` of y, z_bounds, (objective, dual objective, residuals, gap) and the trace.
    """

    def __init__(self, kind: tuple[int, int, float, float | None, bool], settings: Settings) -> None:
        n, m, *_, goes_on = kind
        N, none = m + n, np.zeros((0, n))
        most_steps = STEPS * N + MOST_PROXIMAL
        self.kind, self.step = kind, 2.0 * n * N / COSTS.dual_flops
        self.program: QuadraticProgram | None = None
        self.settings: Settings | None = None
        self.plans = tuple[Plan, ...]()
        self.has_answer = self.is_at_work = False
        self.factor = 0
        data = {"P": n * n, "A": m * n, "q": n, "l": N, "u": N, "s": 0}
        self.batch = batch = Batch(
            m=m, n=n, count=1, rows=most_steps + 1, x_start=none, y_start=none,
            **{name: np.zeros((1, size)) for name, size in data.items()},
        )  # fmt: skip
        self.test = test = verifier_for(batch, np.zeros(m), settings)
        self.work = DualSet(m=m, n=n, dense=1, batch=batch, test=test)
        self.work.max_steps, self.work.beside = 2 * most_steps, BESIDE
        small, full = method_seconds(n, m, 0, 0), method_seconds(n, m, m * n, n**2)
        pays = full.get("proximal steps", np.inf) <= full["interior point"]
        self.work.may_be_proximal = goes_on or pays or "proximal steps" in small
        tol = min(settings.tol, settings.tol_abs or settings.tol)
        self.work.tol, self.work.missed_tol = EXACT * min(tol, Settings.tol), min(MOST_CROSSING, CROSSING * tol)
        self.code, self.iterations, self.result = batch.code, batch.iterations, self.work.result
        self.answers, self.places = places_of(batch)
        self.words = batch.words + self.test.words + self.work.words
        self.sides = batch.l[0, :m], batch.u[0, :m], batch.l[0, m:], batch.u[0, m:]

    def take(self, program: QuadraticProgram) -> None:
        """Load the data of the program, except q, where they differ from the stored data."""
        held = self.program
        if held is program:
            return
        self.program = None
        if held is None or held.P is not program.P or held.A is not program.A:
            P, A = program.hessian, program.A
            entries = P.values if P.is_sparse or P.is_full else P.dense().reshape(-1)
            vectors = program.q, program.l, program.u, program.lb, program.ub
            if held is None and self.factor == 1 and P.is_full and self.has_matrices(entries, A):
                for own, vector in zip((self.batch.q[0], *self.sides), vectors):
                    own[:] = vector
                self.work.has_v = self.work.is_factored = False
            else:
                self.load((entries, P.indptr, P.indices), (A.data, A.indptr, A.indices), vectors)
        elif (
            held.l is not program.l or held.u is not program.u or held.lb is not program.lb or held.ub is not program.ub
        ):
            for own, side in zip(self.sides, (program.l, program.u, program.lb, program.ub)):
                own[:] = side
        self.program = program

    def has_matrices(self, P: np.ndarray, A: Any) -> bool:
        """Return True if the matrices of an earlier program, whose factor is here, are a full P and A."""
        n, m, *_ = self.kind
        return A.data.size == m * n and bool(
            (self.batch.P[0] == P).all() and (self.batch.A[0].reshape(m, n).T == A.data.reshape(n, m)).all()
        )

    def allow(self, seconds: float) -> None:
        """Limit the number of steps to the given time; a step costs a product with all rows."""
        self.work.max_steps = int(seconds / self.step)

    def seconds_to_begin(self) -> float:
        """Return the expected seconds of factoring the working set."""
        count = 0 if self.work.is_factored else self.work.count
        return count * (self.step + 2.0 * count**2 / COSTS.dual_flops)

    def load(self, P: Parts, A: Parts, vectors: Any) -> None:
        """Load the parts of P and A (see `packed.parts_of`) and q, l, u, lb, ub, and factor P."""
        block = empty_block(P, A, *self.kind[:2])
        fill((P[0], A[0]), vectors, (*P[1:], *A[1:]), block, True)
        self.factor = load_dual(self.work, block)

    def serve(self, program: QuadraticProgram, settings: Settings) -> None:
        """Store plans for `solve_again` with programs of as many entries, unless bounds decide on the method, too."""
        n, m, of_A, of_P = program.n, program.m, program.A.data.size, program.hessian.entries
        seconds, counts = method_seconds(n, m, of_A, of_P), counts_of(program)
        has_rival = m <= 1 and program.hessian.is_full and seconds["active set"] <= seconds["interior point"]
        if not has_rival and not (settings is self.settings and counts == self.work.counts):
            self.plans = tuple(plan_of(factor == 2, n, m, of_A, of_P) for factor in range(3))
            expected = self.plans[2].seconds
            is_proximal = expected["dual active set"] <= expected["interior point"]
            self.work.proximal = 0 if not is_proximal else 2 if settings.check_convexity and of_P else 1
            self.work.counts, self.settings = counts, settings

    def answer(self, source: QuadraticProgram | np.ndarray, offset: float, plan: Plan, settings: Settings) -> Solution:
        """Return the `Solution` that `solve_dual` left here."""
        self.has_answer = True
        return answer_in(self.answers, self.places, source, offset, self.result, plan, settings)


def places_of(batch: Batch) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the answer of a batch of one program in one array that begins with x, and the places in it.

    The places are n, and those of y, z_bounds, (objective, dual objective, residuals, gap) and the trace.
    """
    parts = batch.x, batch.y, batch.numbers, batch.trace
    first, *others = ((part.ctypes.data - batch.address) // WORD for part in parts)
    of_y, of_numbers, of_trace = (place - first for place in others)
    return batch._block[first:], (batch.n, of_y, of_y + batch.m, of_numbers, of_trace)


def answer_in(
    block: np.ndarray, places: tuple[int, ...], source: QuadraticProgram | np.ndarray, offset: float,
    result: np.ndarray, plan: Plan, settings: Settings,
) -> Solution:  # fmt: skip
    """Return the `Solution` at `places` of a block, given the `result` of a `DualSet`; `rest_of` adds the words."""
    count, held = result.tolist()
    n, of_y, of_z, of_numbers, of_trace = places
    answers = block[: of_trace + RECORD * (count + 1)].copy()
    solution: Solution = object.__new__(Solution)
    solution.__dict__ = {
        "status": OPTIMAL, "x": answers[:n], "y": answers[of_y:of_z], "z_bounds": answers[of_z : of_z + n],
        "objective": answers.item(of_numbers) + offset,
        "iterations": count, "setup_time": 0.0, "solve_time": 0.0, "plan": plan,
        "_rest": (rest_of, source, offset, answers, places, settings, held),
    }  # fmt: skip
    return solution


def rest_of(
    solution: Solution, source: QuadraticProgram | np.ndarray, offset: float, answers: np.ndarray,
    places: tuple[int, ...], settings: Settings, sides: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of a `Solution` beyond its point and objective; `source` is the program or its block."""
    program = unpack(source, offset) if isinstance(source, np.ndarray) else source
    *_, at, of_trace = places
    trace, message = (
        trace_of(program, answers[of_trace:]),
        f"{test_holds(settings.tol)}; {sides} sides in the working set",
    )
    point = solution.x, solution.y, solution.z_bounds
    dual_objective, *residuals = answers[at + 1 : at + 5].tolist()
    return {
        "dual_objective": dual_objective + offset,
        **dict(zip(("primal_residual", "dual_residual", "gap"), residuals)), "message": message, "trace": trace,
        "timings": {**NO_TIMINGS, "rest": solution.setup_time + solution.solve_time},
        "_run": functools.partial(cone_answer, settings, program, point, OPTIMAL, message, trace, solution.plan),
        "_linearize": functools.partial(linearize_program, program), "_cone_solution": None, "_settings": settings,
    }  # fmt: skip


def rest_of_ray(
    solution: Solution, program: QuadraticProgram, x: np.ndarray, steps: np.ndarray, settings: Settings
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of an infeasible program's `Solution` beyond its certificate."""
    status, point, trace = solution.status, (x, solution.y, solution.z_bounds), trace_of(program, steps)
    return {
        **words_of_ray(solution, program, NOT_FEASIBLE), "trace": trace,
        "timings": {**NO_TIMINGS, "rest": solution.setup_time + solution.solve_time},
        "_run": functools.partial(cone_answer, settings, program, point, status, NOT_FEASIBLE, trace, solution.plan),
        "_linearize": functools.partial(linearize_program, program), "_cone_solution": None, "_settings": settings,
    }  # fmt: skip


def trace_of(program: QuadraticProgram, records: np.ndarray) -> np.ndarray:
    """Return the records of a run as a trace, with the offset of the program in its objectives."""
    trace = records.view(TRACE).copy()  # Another thread may add the offset, too.
    trace["primal_objective"] += program.offset
    trace["dual_objective"] += program.offset
    return trace


def cone_answer(
    settings: Settings, program: QuadraticProgram, point: Point, status: Status, message: str, trace: np.ndarray,
    plan: Plan | None,
) -> ConeSolution:  # fmt: skip
    """Return the solution of the cone program that corresponds to the answer `point` to the quadratic program."""
    form, (x, y, z_bounds) = ConeForm(program), point
    cone_program = form.program(program)
    x, y, z = form.lower(program, x, y, z_bounds)
    s, found = np.full(form.m, np.nan), None
    if status is OPTIMAL:
        s = (cone_program.h - cone_program.G @ x).clip(0.0)
        found = cone_residuals(cone_program, x, y, z, s)
    x, (y, z), figures = answer_at(cone_program, status, x, (y, z), found)
    solution = ConeSolution(
        status, x, y, z, s, *figures, iterations=trace.size - 1, setup_time=0.0, solve_time=0.0,
        message=message, trace=trace, timings=NO_TIMINGS.copy(), plan=plan,
    )  # fmt: skip
    solution._linearize, solution._settings = functools.partial(linearize, cone_program), settings
    return solution


@functools.lru_cache(maxsize=64)
def plan_of(is_proximal: bool, n: int, m: int, entries: int, P_entries: int, solved: int = 0) -> Plan:
    """Return the plan, cached because formatting its words costs as much as the set-up."""
    rows = f", {m} row{'s' * (m != 1)}" if m else ""
    of_method, method = method_seconds(n, m, entries, P_entries, solved=solved), "dual active set"
    seconds = {method: of_method.get("proximal steps" if is_proximal else method, np.inf)}
    seconds["interior point"] = of_method["interior point"]
    what = f"{method}{' by proximal steps' * is_proximal}, order {n}{rows}"
    why = "it goes on from the last answer" if solved else "the program is small"
    return Plan("dense", why, method=method, what=what, seconds=seconds)
