"""Many programs over samples of one kernel, one after another, without a Python object for each.

    minimize 1/2 u'K_w u + q'u   subject to   Au = b,   lower <= u <= upper,    K_w = k(x_w, x_w)

where Au is the sum of all u, or the two sums of the leading and of the other variables, or empty.  Such programs are
support vector machines of pairs of classes, of folds, of a sequence of C, and with nu in place of C.  Consecutive
programs with equal samples w share the computed rows of K_w.  One compiled call solves many programs by the rounds of
`qp.active_set.rounds`, and each answer passes the stopping test on the data of its program.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from qp.active_set.boxed import PACE, Block, BoxedProgram, Face
from qp.active_set.face_newton import ROUNDING
from qp.active_set.method import trace_of
from qp.active_set.rounds import (
    EXACT,
    FAILED,
    MAX_ROUNDS,
    MAX_SHARE,
    SETTLED,
    add_gradient,
    begin,
    bound_multipliers,
    meet_row,
    next_round,
)
from qp.problem.solution import Solution, solution_at
from socp.compiled.kernels import address_of, inner, kernel
from socp.compiled.memory import keep_freed_memory, scattered
from socp.compiled.signatures import Ints
from socp.compiled.structures import Structure, floats, integers, matrix, number, structure
from socp.compiled.vec import LANES
from socp.linalg.accurate import add_both
from socp.plan.plan import Plan
from socp.problem import printing
from socp.problem.settings import Settings
from socp.problem.solution import TIMINGS, TRACE
from socp.problem.status import Status
from socp.verify.constraints import measure_sides
from socp.verify.stopping import RESIDUALS, measure_gradient, meets, prepare, residuals

from .kernel_matrix import KernelMatrix
from .mercer import LINEAR, POLY, Samples, make_rows, samples_of
from .program import KernelProgram

ROWS_MADE = "rows of P are made as they are read"
UNSOLVED = -1  # value of `rounds` for a program without an answer


class Series(Structure):
    """Data and results: program k has the samples which[begins[p] : begins[p + 1]] of its part p; see `solve_series`.

    Its vectors begin at places[k].  If ratios[k] is not zero, it starts at ratios[k] times the previous answer, and
    variables at a bound start at that bound.  x is the answer, g = K_w x + q, y[k] the multipliers of the rows,
    found[k] the residuals.  sides[k] is b; the first of two rows has the first splits[p] variables.  If `log` has rows,
    each program has `MAX_ROUNDS`: objective, relative slope and number of variables between their bounds.
    """

    samples = structure(Samples)
    which, begins = integers(), integers()
    parts, places, ratios = integers(), integers(), floats()
    q, lower, upper, x, g = floats(), floats(), floats(), floats(), floats()
    splits, sides = integers(), matrix()
    y, found, rounds, log = matrix(), matrix(), integers(), matrix()
    tol, most_read = number(), number()


class SampledProgram(BoxedProgram):
    """Program whose P is the kernel matrix of `samples`; `made` marks its computed rows."""

    samples = structure(Samples)
    made, wanted, order = integers("size"), integers("size"), integers("size")

    def __init__(self, size: int, samples: Samples) -> None:
        super().__init__(size=size, samples=samples)
        self.order[:] = np.arange(size)


@kernel
def make_missing_rows(program: SampledProgram, which: Ints, count: int) -> None:
    """Compute rows `which[:count]` of P unless they are marked as computed."""
    made, wanted, missing = program.made, program.wanted, 0
    for r in range(count):
        if made[which[r]] == 0:
            made[which[r]] = 1
            wanted[missing] = which[r]
            missing += 1
    if missing > 0:
        make_rows(program.samples, program.count, wanted, missing, wanted, program.P)


@inner
def load_part(series: Series, p: int, program: SampledProgram) -> None:
    """Load the samples of part `p`; no row of its kernel has been computed."""
    first, samples, part, d = series.begins[p], series.samples, program.samples, series.samples.features
    program.count, program.largest, rows = series.begins[p + 1] - first, 0.0, series.sides.shape[1]
    program.ends[1] = series.splits[p] if rows == 2 else program.x.size
    for r in range(0, program.count, LANES):
        for lane in range(LANES):  # Lanes beyond the last sample repeat it.
            k = series.which[first + min(r + lane, program.count - 1)]
            for f in range(d):
                part.lanes[r // LANES * d + f, lane] = samples.x[k * d + f]
    for r in range(program.x.size):
        program.made[r], program.a[r], program.diagonal[r] = 0, 0.0, 0.0
    for r in range(program.count):
        k = series.which[first + r]
        own = part.squares[r] = samples.squares[k]
        if samples.name == POLY:
            own = (samples.gamma * own + samples.coef0) ** samples.degree
        elif samples.name != LINEAR:
            own = 1.0
        program.a[r], program.diagonal[r] = 1.0 if rows > 0 else 0.0, own
        program.largest = max(program.largest, own)


@inner
def load_program(series: Series, k: int, program: SampledProgram) -> None:
    """Load program k and its starting point, moved until the rows hold if ratios[k] is zero; zero other variables."""
    place, ratio, size = series.places[k], series.ratios[k], program.count
    for r in range(program.x.size):
        if r >= size:
            program.lb[r], program.ub[r], program.x[r], program.g[r], program.q[r] = 0.0, 0.0, 0.0, 0.0, 0.0
            continue
        lower, upper, before = series.lower[place + r], series.upper[place + r], program.x[r]
        x = min(max(ratio * before if ratio != 0.0 else 0.0, lower), upper)  # The first program has no previous x.
        if ratio != 0.0 and (before == program.lb[r] or before == program.ub[r]):
            x = lower if before == program.lb[r] else upper
        program.lb[r], program.ub[r], program.x[r], program.q[r] = lower, upper, x, series.q[place + r]
    for row in range(2):
        has_row, first, last = row < series.sides.shape[1], program.ends[row], program.ends[row + 1]
        program.sides[row], program.multipliers[row] = series.sides[k, row] if has_row else 0.0, 0.0
        if has_row and ratio == 0.0:
            meet_row(program, row, program.order[first:last])


@inner
def meets_test(series: Series, k: int, program: BoxedProgram) -> bool:
    """Compute the residuals found[k] at x, g and the multipliers; return True if the stopping test holds."""
    size, m, found = program.count, series.sides.shape[1], program.measured
    q, lb, ub, x = program.q[:size], program.lb[:size], program.ub[:size], program.x[:size]
    y, sides, lost = program.multipliers[:m], program.sides[:m], np.zeros(0)
    is_bound, rows = np.zeros(m), np.zeros(size, np.int64)
    indptr, Px, Ax, dual = np.empty(size + 1, np.int64), np.zeros(2 * size), np.zeros(2 * m), np.zeros(2 * size)
    for i in range(m):
        is_bound[i] = 1.0 if min(program.ends[i + 1], size) - program.ends[i] == 1 else 0.0
    for r in range(size):
        rows[r] = int(r >= program.ends[1])
        indptr[r], Px[r] = min(m, 1) * r, program.g[r] - q[r]
    indptr[size] = min(m, 1) * size
    bound_multipliers(program, dual)
    prepare(found, 1.0)
    measure_sides(lb, ub, x, dual[:size], lost, lost, True, found)
    add_both(indptr, rows, np.ones(size), x, y, Ax, dual)
    measure_sides(sides, sides, Ax, y, is_bound, lost, False, found)
    measure_gradient(Px, q, x, lost, 0.0, dual, found)
    out = series.found[k]
    out[0], out[1], out[2], out[3] = found.rows, found.cone, found.dual, found.gap
    out[4], out[5], out[6], out[7] = found.rows_scale, found.cone_scale, found.dual_scale, found.gap_scale
    out[8], out[9] = found.primal_objective, found.dual_objective
    return meets(found, series.tol, np.inf)


@inner
def solve_program(series: Series, k: int, program: BoxedProgram, block: Block, face: Face) -> int:
    """Run rounds on program k until the stopping test holds; return their number, or `UNSOLVED`."""
    begin(program, face, EXACT, MAX_SHARE)
    program.max_read = min(program.max_read, series.most_read)
    y = program.multipliers
    for rounds in range(1, MAX_ROUNDS + 1):
        outcome = next_round(program, block, face, series.tol, np.inf)
        if outcome == FAILED:
            return UNSOLVED
        if series.log.shape[0] > 0:
            log = series.log[k * MAX_ROUNDS + rounds - 1]
            log[0], log[1], log[2] = program.objective, program.dual_violation / program.scale, face.between
        if outcome == SETTLED:
            add_gradient(program)
            if meets_test(series, k, program):
                return rounds
            program.exact *= EXACT
        elif series.sides.shape[1] == 2 and abs(y[0] - y[1]) <= ROUNDING * program.scale:
            return UNSOLVED  # Both rows can move without curvature: P is singular on the face.
    return UNSOLVED


@kernel
def solve_in_turn(series: Series, program: SampledProgram, block: Block, face: Face, first: int, most: float) -> int:
    """Solve the programs from `first` on within about `most` multiplications; return the index of the next program."""
    work = 0.0
    for k in range(first, series.rounds.size):
        if work > most:
            return k
        p = series.parts[k]
        if k == 0 or series.parts[k - 1] != p:
            load_part(series, p, program)
        load_program(series, k, program)
        series.rounds[k] = solve_program(series, k, program, block, face)
        place, size = series.places[k], program.count
        for row in range(series.y.shape[1]):
            series.y[k, row] = program.multipliers[row]
        for r in range(size):
            series.x[place + r], series.g[place + r] = program.x[r], program.g[r]
        work += program.work + float(size) * float(size + program.rows_read)
    return series.rounds.size


@dataclass(frozen=True)
class SeriesSolutions:
    """Answers of `solve_series`.

    Attributes
    ----------
    x, gradient : arrays
        u and K_w u + q of all programs, concatenated.
    multipliers : array, shape (programs, rows)
        y of each row, with K_w u + q + A'y = 0 where u is between its bounds.
    residuals : array, shape (programs, fields of `Residuals`)
        One row for each program, on its own data.
    rounds : array of int, shape (programs,)
        Number of rounds; `UNSOLVED` if the stopping test does not hold and another method must solve the program.
    seconds : float
        Time of all programs together.
    tol : float
        Tolerance of the stopping test.

    Examples
    --------
    >>> import numpy as np
    >>> kernel, which, q = KernelMatrix(np.eye(2), "linear"), np.arange(2), np.array([-1.0, 1.0])
    >>> lower, upper = -9.0 * (q > 0), 9.0 * (q < 0)
    >>> found = solve_series(kernel, which, np.array([0, 2]), q, lower, upper, sides=[[0.0]], tol=1e-10)
    >>> program = KernelProgram(KernelMatrix(np.eye(2), "linear", signs=-q), [-1.0, -1.0], [-q], 0.0, 0.0, 0.0, 9.0)
    >>> found.solution(0, slice(0, 2), program).x
    array([1., 1.])
    """

    x: np.ndarray
    gradient: np.ndarray
    multipliers: np.ndarray
    residuals: np.ndarray
    rounds: np.ndarray
    seconds: float
    tol: float

    def solution(self, k: int, at: slice, program: KernelProgram) -> Solution:
        """Return s * x[at], the answer of program `k`, as a `Solution` of `program`; s are the signs of its P."""
        signs, y = program.P.signs, self.multipliers[k]
        x, slopes = signs * self.x[at], self.gradient[at] + signs * (y @ program.A)
        x, z = np.where(x == 0.0, 0.0, x), -signs * slopes
        z[((x > program.lb) & (z < 0.0)) | ((x < program.ub) & (z > 0.0))] = 0.0
        found = residuals(program, x, y, z, Px=signs * self.gradient[at] - program.q)
        between = np.count_nonzero((x > program.lb) & (x < program.ub))
        rounds = int(self.rounds[k])
        trace = np.zeros(1, TRACE)
        trace["iteration"], trace["seconds"], trace["dual_residual"] = rounds - 1, self.seconds, found.relative[1]
        message = f"the stopping test holds; active set, {rounds} rounds, {between} of {x.size} between their bounds"
        solution = solution_at(
            program, Status.OPTIMAL, (x, y, z), found, iterations=rounds, setup_time=0.0, solve_time=self.seconds,
            message=message, trace=trace, timings={**dict.fromkeys(TIMINGS, 0.0), "rest": self.seconds},
            plan=Plan("dense", ROWS_MADE, method="active set", what=message),
        )  # fmt: skip
        solution._settings = Settings(tol=self.tol)
        return solution


def solve_series(
    kernel: KernelMatrix, which: np.ndarray, begins: np.ndarray, q: np.ndarray, lower: np.ndarray, upper: np.ndarray,
    *, tol: float, sides: np.ndarray | None = None, splits: np.ndarray | None = None, parts: np.ndarray | None = None,
    ratios: np.ndarray | None = None, most_read: float = np.inf, verbose: bool = False,
) -> SeriesSolutions:  # fmt: skip
    """Solve all programs, one after another.

    Parameters
    ----------
    kernel : KernelMatrix
        A named kernel, known to be positive semidefinite; its signs are ignored.
    which, begins : arrays of int
        The samples of part p are which[begins[p] : begins[p + 1]].
    q, lower, upper : arrays
        Vectors of all programs, concatenated; the bounds are finite.
    tol : float
        Tolerance of the stopping test.
    sides : array, shape (programs, 1) or (programs, 2), optional
        Required sum of u of each program; with `splits`, the sums over its first and over its last samples.
    splits : array of int, optional
        For two sides: the number of first samples of each part.
    parts : array of int, optional
        The part of each program; one program for every part by default.
    ratios : array, optional
        Where nonzero, a program starts at this multiple of the answer to the previous program, which has an equal part.
    most_read : float, optional
        Number of reads of rows of the kernel after which a program is left unsolved.
    verbose : bool, default False
        Print one line per round, after all programs are solved.

    Returns
    -------
    SeriesSolutions
        Answers of all programs, concatenated as `q`.

    Raises
    ------
    ProgramError
        An array has another length or an entry that is not finite; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = KernelMatrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), "linear")
    >>> which, begins = np.array([0, 1, 0, 2]), np.array([0, 2, 4])
    >>> q, upper = np.array([-1.0, 1.0, -1.0, 1.0]), np.array([9.0, 0.0, 0.25, 0.0])
    >>> solve_series(kernel, which, begins, q, upper - 9.0, upper, sides=np.zeros((2, 1)), tol=1e-10).x
    array([ 1.  , -1.  ,  0.25, -0.25])
    """
    samples = kernel.compiled()
    assert samples is not None
    started = time.perf_counter()
    keep_freed_memory()
    sizes = np.diff(begins)
    parts = np.arange(sizes.size) if parts is None else parts
    count, size, most = parts.size, int(sizes.max(initial=0)), int(sizes[parts].sum())
    sides = np.empty((count, 0)) if sides is None else np.asarray(sides, dtype=np.float64)
    series = Series(
        samples=samples, which=which, begins=begins, parts=parts, ratios=np.zeros(count) if ratios is None else ratios,
        places=np.cumsum(sizes[parts]) - sizes[parts], q=q, lower=lower, upper=upper, x=np.empty(most),
        g=np.empty(most), y=np.zeros(sides.shape), found=np.full((count, RESIDUALS), np.nan),
        rounds=np.zeros(count, int), log=np.full((count * MAX_ROUNDS if verbose else 0, 3), np.nan), sides=sides,
        splits=sizes if splits is None else splits,
    )  # fmt: skip
    series.tol, series.most_read = tol, most_read
    part = samples_of(
        np.zeros((size, samples.features)),
        str(kernel.kernel),
        samples.gamma,
        samples.coef0,
        samples.degree,
        centred=True,
    )
    program, block, face = SampledProgram(size=size, samples=part), Block(), Face(size=size)
    few = most_read < size  # All rows together, large pages are the faster ones.
    room = scattered if few else np.empty
    program.P, program.rows_address = room(size * size).reshape(size, size), address_of(make_missing_rows)
    face.factor = room(size * size)
    done = 0
    while done < count:
        done = solve_in_turn(series, program, block, face, done, float(PACE))
    seconds = time.perf_counter() - started
    if verbose:
        _show(series, seconds)
    return SeriesSolutions(series.x, series.g, series.y, series.found, series.rounds, seconds, tol)


def _show(series: Series, seconds: float) -> None:
    """Print the recorded rounds of all programs."""
    (count, rows), size, solved = series.y.shape, series.x.size, np.count_nonzero(series.rounds > 0)
    plan = Plan("dense", ROWS_MADE, method="working set", what=f"active set, {count} programs over samples of a kernel")
    printing.header(plan, series.tol, size, count * rows, 2 * size, (), (0, size * min(rows, 1)))
    for log in series.log.reshape(count, MAX_ROUNDS, 3):
        rounds = log[~np.isnan(log[:, 0])]
        for record in trace_of(np.column_stack([rounds, np.full(len(rounds), np.nan)]), 0.0):
            printing.line(record)
    printing.end(f"optimal are {solved} of {count} programs after {seconds:.3f} s")
