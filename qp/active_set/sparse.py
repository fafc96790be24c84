"""The dual active set on a sparse program, over the factors of its equalities (see `equality_kkt`).

The answer is tested on the caller's own program.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from socp.batch.driver import FAILED, OPTIMAL, PRIMAL_INFEASIBLE, Batch
from socp.batch.verify import write_numbers
from socp.compiled.clock import clock
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints
from socp.compiled.structures import Structure, dimension, floats, integers, number, part, structure
from socp.form.convexity import check_semidefinite
from socp.linalg.accurate import add_both
from socp.linalg.csc import csc, csc_of_dense
from socp.linalg.ldl.factorization import LDL
from socp.linalg.vectors import norm_within
from socp.plan.costs import method_seconds, sparse_dual_seconds, sparse_step_seconds
from socp.plan.plan import Plan
from socp.problem.hessian import SMALL, objective_unit
from socp.problem.settings import Settings
from socp.problem.zeros import StoredZeros
from socp.verify.constraints import measure_sides
from socp.verify.distances import bounds_among
from socp.verify.stopping import Measured, measure_gradient, meets, prepare

from ..method import Offer
from ..plan.choice import has_time, suits_dual
from ..problem.program import QuadraticProgram
from ..problem.solution import Solution
from ..problem.starts import is_near
from ..reduce.presolve import CROSSING, MOST_CROSSING
from .dual import BESIDE, MOST_PROXIMAL, PROXIMAL, close_trace, find_dual
from .dual_set import LOWER, DualSet, begin_at
from .equality_kkt import EqualityKKT, equality_kkt, find_z, rows_of
from .rounds import EXACT
from .small import STEPS, DualActiveSet, Workspace, answer_in, places_of

MOST_ACTIVE = 4000  # rows in the largest working set, whose factor is dense
SINGLE = 20  # a single program is looked at, which costs its analysis, if equalities leave 1/SINGLE of its variables
REGULARIZED = 10.0  # a pivot of an equality up to this multiple of its regularization shows that it depends on others


class SparseProgram(Structure):
    """A program, the rows that may be in a working set, and the dual active set on them.

    Row k of the dual active set is row `sided[k]` of A, or, after these, the variable `bounded[k - sided.size]`; the
    equalities are the rows `equal` and the variables `given`.  `ranks` counts the sides of each row and variable that
    are in neither.
    """

    m, n = dimension(), dimension()
    answers, work = structure(Batch), structure(DualSet)
    sided, bounded, equal, given, free_rows, free = (
        integers(), integers(), integers(), integers(), integers(), integers()
    )  # fmt: skip
    indptr, indices, data = integers(), integers(), floats()  # A
    P_indptr, P_indices, P_data = integers(), integers(), floats()
    bound = floats("m")  # 1 for rows with one entry
    largest, tol, tol_abs = number(), number(), number()  # `largest` entry of P
    Px, PTx, dual = floats("2 * n"), floats("2 * n", scratch=True), floats("2 * n")
    rows, found = floats("2 * m"), part(Measured)


@kernel
def solve_sparse(
    s: SparseProgram, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, is_warm: bool
) -> int:  # fmt: skip
    """Solve the program and test its answer; the result is that of `solve_dual`."""
    started, dual, answers, own = clock(), s.work, s.answers, s.work.batch
    if not fits(s, l, u, lb, ub):
        own.code[0] = FAILED
        return 0
    take_sides(s, l, u, lb, ub)
    find_dual(dual, q, is_warm)
    made = own.iterations[0]
    answers.iterations[0], last = made, min(made, own.trace.size - 1)
    for k in range(last + 1):
        answers.trace[k] = own.trace[k]
    is_measured = own.code[0] == OPTIMAL
    if is_measured:
        write_point(s, lb, ub)
        test(s, q, l, u, lb, ub)
        if not meets(s.found, s.tol, s.tol_abs):
            own.code[0] = FAILED
    close_trace(answers, is_measured, clock() - started)
    return 0 if own.code[0] != OPTIMAL else 2 if dual.rho > 0.0 else 1


@inner
def fits(s: SparseProgram, l: Floats, u: Floats, lb: Floats, ub: Floats) -> bool:
    """Return True if the rows and variables with equal sides, and those without sides, are those of the set-up."""
    return (
        are_equal(s.equal, l, u) and are_equal(s.given, lb, ub) and are_apart(s.sided, l, u)
        and are_apart(s.bounded, lb, ub) and are_free(s.free_rows, l, u) and are_free(s.free, lb, ub)
    )  # fmt: skip


@inner
def are_equal(at: Ints, lower: Floats, upper: Floats) -> bool:
    for i in at:
        if lower[i] != upper[i] or not math.isfinite(lower[i]):
            return False
    return True


@inner
def are_apart(at: Ints, lower: Floats, upper: Floats) -> bool:
    for i in at:
        if lower[i] == upper[i]:
            return False
    return True


@inner
def are_free(at: Ints, lower: Floats, upper: Floats) -> bool:
    for i in at:
        if math.isfinite(lower[i]) or math.isfinite(upper[i]):
            return False
    return True


@inner
def take_sides(s: SparseProgram, l: Floats, u: Floats, lb: Floats, ub: Floats) -> None:
    """Write b, and the sides of the rows of the dual active set."""
    own, b, scale, first = s.work.batch, s.work.kkt.base[s.n :], s.work.kkt.E_scale, s.sided.size
    for k in range(s.equal.size):
        b[k] = scale[k] * l[s.equal[k]]
    for k in range(s.given.size):
        b[s.equal.size + k] = lb[s.given[k]]
    for k in range(first):
        own.l[0, k], own.u[0, k] = l[s.sided[k]], u[s.sided[k]]
    for k in range(s.bounded.size):
        own.l[0, first + k], own.u[0, first + k] = lb[s.bounded[k]], ub[s.bounded[k]]


@inner
def write_point(s: SparseProgram, lb: Floats, ub: Floats) -> None:
    """Write (x, y, z_bounds) of the answer; variables with an active bound are exactly on it."""
    own, x, side = s.work.batch, s.answers.x[0], s.work.side
    for j in range(s.n):
        x[j] = own.x[0, j]
    for k in range(s.given.size):
        x[s.given[k]] = lb[s.given[k]]
    for k in range(s.bounded.size):
        j, kind = s.bounded[k], side[s.sided.size + k]
        if kind != 0:
            x[j] = lb[j] if kind == LOWER else ub[j]
    write_multipliers(s, s.answers.y[0])


@inner
def write_multipliers(s: SparseProgram, y: Floats) -> None:
    """Write the multipliers of the rows and of the bounds: of the working set, and of the equalities from z."""
    own, z, scale, first = s.work.batch.y[0], s.work.kkt.z[s.n :], s.work.kkt.E_scale, s.sided.size
    y[:] = 0.0
    for k in range(s.equal.size):
        y[s.equal[k]] = scale[k] * z[k]
    for k in range(s.given.size):
        y[s.m + s.given[k]] = z[s.equal.size + k]
    for k in range(first):
        y[s.sided[k]] = own[k]
    for k in range(s.bounded.size):
        y[s.m + s.bounded[k]] = own[first + k]


@kernel
def write_ray(s: SparseProgram, y: Floats) -> None:
    """Write the multipliers (y, z_bounds) of the equalities and of the ray of the dual active set: they sum to zero."""
    dual, own, count = s.work, s.work.batch.y[0], 0
    for i in range(dual.distinct + dual.n):
        if own[i] != 0.0:
            dual.old_rows[count], dual.target[count] = i, own[i] / dual.scale[i]
            count += 1
    dual.kkt.base[:] = 0.0
    find_z(dual.kkt, dual.old_rows, dual.target, count)
    write_multipliers(s, y)


@kernel
def begin_sparse(
    s: SparseProgram, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, x: Floats, v: Floats, known: int
) -> bool:  # fmt: skip
    """Begin at a point of the caller's with multipliers v = (y, z_bounds); see `begin_near`."""
    m, n, first, rows = s.m, s.n, s.sided.size, s.sided.size + s.bounded.size
    at, lower, upper, gradient, Px = np.empty(m + n), np.empty(m + n), np.empty(m + n), np.empty(n), np.empty(n)
    for i in range(m):
        at[i], lower[i], upper[i] = 0.0, l[i], u[i]
    for j in range(n):
        at[m + j], lower[m + j], upper[m + j], gradient[j], Px[j] = x[j], lb[j], ub[j], q[j], 0.0
        for k in range(s.indptr[j], s.indptr[j + 1]):
            at[s.indices[k]] += s.data[k] * x[j]
            gradient[j] += s.data[k] * v[s.indices[k]]
        for k in range(s.P_indptr[j], s.P_indptr[j + 1]):
            Px[j] += s.P_data[k] * x[s.P_indices[k]]
    if not is_near(at, lower, upper, q, Px, gradient, v, known):
        return False
    take_sides(s, l, u, lb, ub)
    for k in range(rows):
        i = s.sided[k] if k < first else m + s.bounded[k - first]
        lower[k], upper[k] = at[i], v[i]
    begin_at(s.work, lower[:rows], upper[:rows])
    return True


@inner
def test(s: SparseProgram, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats) -> None:
    """Measure the residuals of the answer on the program's own data, in twice the precision."""
    found, answers, m, n, nothing = s.found, s.answers, s.m, s.n, s.bound[:0]
    x, y, z = answers.x[0], answers.y[0][:m], answers.y[0][m:]
    s.Px[:], s.rows[:], s.dual[n:] = 0.0, 0.0, 0.0
    for j in range(n):
        s.dual[j] = z[j]
    add_both(s.indptr, s.indices, s.data, x, y, s.rows, s.dual)
    add_both(s.P_indptr, s.P_indices, s.P_data, x, x, s.PTx, s.Px)
    largest = norm_within(q, 0, n)
    prepare(found, objective_unit(max(largest, s.largest) if largest < SMALL else largest))
    measure_sides(l, u, s.rows, y, s.bound, nothing, False, found)
    measure_sides(lb, ub, x, z, nothing, nothing, True, found)
    measure_gradient(s.Px, q, x, nothing, 0.0, s.dual, found)
    write_numbers(found, answers, 0)


class Split:
    """The rows and variables of a program by their sides: equal, apart, and infinite on both sides."""

    def __init__(self, program: QuadraticProgram) -> None:
        self.equal, self.sided, self.free_rows = _by_sides(program.l, program.u)
        self.given, self.bounded, self.free = _by_sides(program.lb, program.ub)

    @property
    def inner(self) -> int:
        """Number of rows that may be in a working set."""
        return self.sided.size + self.bounded.size


def _by_sides(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    is_equal, is_free = lower == upper, np.isinf(lower) & np.isinf(upper)
    return np.flatnonzero(is_equal), np.flatnonzero(~(is_equal | is_free)), np.flatnonzero(is_free & ~is_equal)


class SparseWorkspace(Workspace):
    """Memory of the dual active set for one sparse program."""

    def __init__(self, settings: Settings, kkt: EqualityKKT, ldl: LDL, step: float) -> None:
        n, p, rows = kkt.n, kkt.p, kkt.count
        pivots, below = ldl.d[np.argsort(ldl.perm)][n:], kkt.below
        most = min(max(n - p + int((np.abs(pivots) <= REGULARIZED * below).sum()), 0), rows)
        N = max(rows, most)
        most_steps, none = STEPS * N + MOST_PROXIMAL, np.zeros((0, n))
        self.kind, self.step, self.factor = (most, N - most, settings.tol, settings.tol_abs, True), step, 1
        sides = np.repeat([[np.inf]], N, axis=1)
        data = dict.fromkeys(("P", "A", "s"), np.zeros((1, 0)))
        self.batch = batch = Batch(
            m=max(N - n, 0), n=n, count=1, rows=most_steps + 1, x_start=none, y_start=none, q=np.zeros((1, n)),
            l=-sides, u=sides.copy(), **data,
        )  # fmt: skip
        self.work = work = DualSet(m=N - most, n=most, batch=batch, kkt=kkt)
        work.scale[:rows], work.scale[rows:] = kkt.scale, 1.0
        work.distinct, work.row_of[:], work.factor[:] = work.m, np.arange(work.m), 1.0
        work.rho, work.max_steps, work.beside = kkt.rho, 2 * most_steps, BESIDE
        tol = min(settings.tol, settings.tol_abs or settings.tol)
        work.tol, work.missed_tol = EXACT * min(tol, Settings.tol), min(MOST_CROSSING, CROSSING * tol)
        self.code, self.iterations, self.result = batch.code, batch.iterations, work.result
        self.has_answer = self.is_at_work = False


class SparseActiveSet(DualActiveSet):
    """Dual active-set method for a sparse program, over the sparse factors of its equalities.

    Parameters
    ----------
    program : QuadraticProgram
        A program without stored zeros.
    settings : Settings
    parts : tuple
        `Split`, `EqualityKKT` and its `LDL`.
    plan : Plan
    is_on_trial : bool
    """

    begins_cold = True  # Few limits are active in most programs of a loop, and rounds cost solves.

    def __init__(
        self, program: QuadraticProgram, settings: Settings, parts: tuple[Split, EqualityKKT, LDL], plan: Plan,
        is_on_trial: bool,
    ) -> None:  # fmt: skip
        self.program, self.settings, self.plan, self.is_on_trial = program, settings, plan, is_on_trial
        split, kkt, ldl = parts
        m, n, A, P = program.m, program.n, program.A, csc_with_entries(program.hessian)
        step = sparse_step_seconds(ldl.nnz, A.data.size + P.data.size, kkt.count)
        self._workspace = workspace = SparseWorkspace(settings, kkt, ldl, step)
        self.is_definite, self.is_proximal = kkt.rho == 0.0, kkt.rho > 0.0
        self._answers = answers_of(m, n, workspace.batch.trace.size)
        self._block, self._places = places_of(self._answers)
        self._work = work = SparseProgram(
            m=m, n=n, answers=self._answers, work=workspace.work, indptr=A.indptr, indices=A.indices, data=A.data,
            P_indptr=P.indptr, P_indices=P.indices, P_data=P.data, **vars(split),
        )  # fmt: skip
        work.bound[:], work.tol = bounds_among(A), settings.tol
        work.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
        work.largest = float(np.abs(P.data).max(initial=0.0))

    @classmethod
    def take(cls, offer: Offer, before: Any) -> SparseActiveSet | None:
        """Return the method if equalities leave so few variables that it is faster than all others."""
        return cls._expected_faster(offer.program, offer.settings)

    @classmethod
    def on_trial(
        cls, program: QuadraticProgram, settings: Settings, solved: int, plan: Plan | None = None,
        active: int | None = None,
    ) -> SparseActiveSet | None:  # fmt: skip
        """Return the method for a loop in which another one, with `plan`, has solved `solved` programs.

        In a loop without warm starts, `active` sides are active at the last answer.
        """
        return cls._expected_faster(program, settings, solved, plan, active)

    @classmethod
    def _expected_faster(
        cls, program: QuadraticProgram, settings: Settings, solved: int = 0, plan: Plan | None = None,
        active: int | None = None,
    ) -> SparseActiveSet | None:  # fmt: skip
        """Return the method if it is expected to be faster than the interior-point method and than `plan`.

        With `active` sides to find in each solve, P must be definite where the equalities hold.
        """
        n, m, P = program.n, program.m, program.hessian
        if not P.is_sparse:
            return None
        entries, seconds = (
            program.A.data.size + P.entries,
            method_seconds(n, m, program.A.data.size, P.entries, solved=solved),
        )
        best = min(seconds["interior point"], plan.expected if plan is not None else np.inf)
        if sparse_dual_seconds(n, entries, 0, 0, solved=solved) > best:  # Even without rows it is slower.
            return None
        equal = np.count_nonzero(program.l == program.u) + np.count_nonzero(program.lb == program.ub)
        left = max(n - int(equal), 0)
        if (not solved and SINGLE * left > n) or not suits_dual(program, settings):
            return None
        split = Split(program)
        if min(left, split.inner) > MOST_ACTIVE or (not solved and not split.inner):
            return None
        if active is not None and np.count_nonzero(P.diagonal()) < left:
            return None
        of_rows = partial(
            sparse_dual_seconds, entries=entries, left=left, rows=split.inner, solved=solved, active=active
        )
        expected = of_rows(n + split.equal.size)
        if expected > best or not has_time(settings, 4 * split.inner * expected):
            return None
        given = StoredZeros(program).left_out(program)
        A = sp.csr_array(given.A)
        E, E_scale = scaled_rows(rows_of(A, split.equal, split.given, n))
        rows, scale = scaled_rows(rows_of(A, split.sided, split.bounded, n))
        found = equality_kkt(csc_with_entries(given.hessian), E, rows, PROXIMAL)
        if found is None:
            return None
        kkt, ldl = found
        kkt.scale, kkt.E_scale = scale, E_scale
        expected = of_rows(ldl.nnz)
        if expected > best or (active is not None and kkt.rho > 0.0):
            return None
        if settings.check_convexity:
            check_semidefinite(P, program.P_eps)
        equalities = f"{left} variables left by {E.shape[0]} equalities"
        what = f"dual active set over sparse LDL', {equalities}, {ldl.nnz:,} entries in L"
        of = {"dual active set": expected, "interior point": seconds["interior point"]}
        reason = Plan("sparse", "equalities leave few variables", method="dual active set", what=what, seconds=of)
        return cls(given, settings, (split, kkt, ldl), reason, solved > 0)

    def is_clearly_definite(self) -> bool:
        """Return True: P has been tested in the set-up."""
        return True

    def _attempt(self, workspace: Workspace, is_warm: bool) -> Solution | None:
        program, settings = self.program, self.settings
        found = solve_sparse(self._work, program.q, program.l, program.u, program.lb, program.ub, is_warm)
        if found:
            workspace.has_answer = True
            return answer_in(self._block, self._places, program, program.offset, workspace.result, self.plan, settings)
        if workspace.code.item() != PRIMAL_INFEASIBLE:
            return None
        y = np.empty(program.m + program.n)
        write_ray(self._work, y)
        steps = self._answers.trace[: self._answers.iterations.item() + 1].copy()
        return self._certificate(np.zeros(program.n), y[: program.m], y[program.m :], steps.view(np.float64))

    def _begin(self, workspace: Workspace, x: np.ndarray, y: np.ndarray, z: np.ndarray, known: int) -> int:
        program = self.program
        return begin_sparse(
            self._work, program.q, program.l, program.u, program.lb, program.ub, x, np.concatenate([y, z]), known
        )

    def _enter(self) -> Workspace:
        workspace = self._workspace
        assert workspace is not None
        if workspace.is_at_work:  # Ctrl-C may have left the working set half written.
            workspace.work.count, workspace.work.side[:], workspace.has_answer = 0, 0, False
        workspace.is_at_work = True
        return workspace

    def release(self, next_user: Any = None) -> None:
        """Keep nothing for other programs: the factors are this program's."""


def scaled_rows(rows: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """Return the rows scaled to length one, and the factors."""
    squares = np.zeros(rows.shape[0])
    np.add.at(squares, np.repeat(np.arange(squares.size), np.diff(rows.indptr)), rows.data**2)
    scale = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
    return sp.csr_array(
        (rows.data * np.repeat(scale, np.diff(rows.indptr)), rows.indices, rows.indptr), rows.shape
    ), scale


def csc_with_entries(hessian: Any) -> sp.csc_array:
    """Return all entries of P by columns."""
    if hessian.is_zero:
        return csc(hessian.values, hessian.indices, hessian.indptr, (hessian.order, hessian.order))
    return hessian.source if hessian.is_sparse else csc_of_dense(hessian.dense())


def answers_of(m: int, n: int, rows: int) -> Batch:
    """Return memory for the answer of one program with `rows` records, without its data."""
    none = np.zeros((0, 0))
    data = dict.fromkeys(("P", "A", "q", "l", "u", "s", "x_start", "y_start"), none)
    return Batch(m=m, n=n, count=1, rows=rows, **data)
