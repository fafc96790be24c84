"""A dual active set for small dense programs (Goldfarb and Idnani 1983), as in DAQP.

With P = R'R, u = R x + v and v = R'^-1 q the program asks for the shortest u within sides of the rows [A; I] R^-1:

    minimize 1/2 u'u   subject to   lower <= M u <= upper,     each row of M of length one

The method starts at u = 0, the minimum without constraints, and adds the row with the largest violation to the
working set W, with all rows that are violated half as much.  The multipliers move from their current values towards the
multipliers of the shortest u with the sides of W,

    u = -M_W'y,     M_W M_W' y = -sides of W,     M_W M_W' = L D L'

and a row whose multiplier reaches zero on the way leaves.  If a row depends on the rows of W, its multiplier rises at
their cost until one of their multipliers is zero; if none ever is, the multipliers prove that no point is feasible.
Each new row increases the dual objective, so that no working set is repeated (a limit of steps guards against
rounding).  Equalities come first and never leave.

If P is only semidefinite, rho/2 |x - x_k|^2 is added to the objective, and the program is solved again with each answer
x_k until x no longer changes (Rockafellar 1976): only v and the sides change, so that each of these proximal steps
starts with the last working set.
"""

from __future__ import annotations

import numpy as np

from socp.batch.checks import next_doubtful
from socp.batch.driver import DUAL_INFEASIBLE, FAILED, OPTIMAL, PRIMAL_INFEASIBLE, Batch
from socp.batch.verify import verify
from socp.compiled.clock import clock
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Bools, Floats, Ints
from socp.linalg.vectors import dot_within, norm_within
from socp.problem.checks import EPS

from ..problem.packed import SIZES, Matrices, Places, Vectors, fill, put_matrix
from .distinct_rows import find_distinct, put_multiplier, unit_of_sides
from .dual_set import (
    EQUAL,
    LOWER,
    MISSED,
    UPPER,
    DualSet,
    append,
    begin,
    begin_at,
    drop,
    factored,
    find_point,
    invert_factor,
    make_rows,
    multiply,
    refine,
    solve_transposed,
    take_sides,
)
from .equality_kkt import find_z, rows_times

SIDE_BY_SIDE = True  # adjacent equal operations become vector instructions (see `compiled.machine`)
ROUNDING = 64.0 * EPS  # relative error of a row's product with a vector
REFINEMENTS, REFINED, ROUGH = 3, 1e-2, 0.1  # refinements per step; target residual / margin at the last step and before
PROXIMAL, MOST_PROXIMAL = 1e-4, 30  # rho relative to the largest entry of P; limit of proximal steps
BESIDE = 0.5  # rows violated by more than this share of the largest violation join the working set together
UNKNOWN = -2  # counts of entries of arrays that are not checked
Layout = tuple[Ints, Bools]


@kernel
def load_dual(dual: DualSet, block: Floats) -> int:
    """Load a block of `problem.packed` as the only program of a batch; rows with one entry are bounds.

    Return 1 if P is clearly definite, 2 if proximal steps are allowed and use the factor of P + rho I, with rho
    relative to P (to q if P is zero), and 0 if there is no such factor.
    """
    batch = dual.batch
    m, n, P, A, words = batch.m, batch.n, batch.P[0], batch.A[0], block.view(np.int64)
    entries, count = words[2], words[3]
    at = SIZES + entries + count
    places = at + 3 * n + 2 * m
    put_matrix(block, SIZES, places, entries, n, words[4] != 0, P)
    q, l, u = batch.q[0], batch.l[0], batch.u[0]
    for values, first, end in ((q, 0, n), (l, 0, m), (u, 0, m), (l, m, m + n), (u, m, m + n)):
        for k in range(first, end):
            values[k] = block[at]
            at += 1
    places += n + 1 + entries if words[4] != 0 else 0
    put_matrix(block, SIZES + entries, places, count, n, words[5] != 0, A)
    return take_matrices(dual)


@inner
def take_matrices(dual: DualSet) -> int:
    """Factor the P of the batch and scale the rows; the result is that of `load_dual`."""
    P, q, n, factor = dual.batch.P[0], dual.batch.q[0], dual.n, 1
    dual.rho = 0.0
    if not factored(P, n, 0.0, dual.R):
        if not dual.may_be_proximal:
            return 0
        largest = norm_within(P, 0, P.size)
        if largest == 0.0:
            largest = norm_within(q, 0, n)
        dual.rho, factor = PROXIMAL * (largest if largest > 0.0 else 1.0), 2
        if not factored(P, n, dual.rho, dual.R):
            return 0
    return factor if take_rows(dual) else 0


@inner
def take_rows(dual: DualSet) -> bool:
    """Scale the distinct rows of [A; I] R^-1, with the batch's A; return False if a length is not finite."""
    A, test = dual.batch.A[0], dual.test
    dual.is_factored, dual.has_v, test.held = False, False, -1
    dual.distinct = find_distinct(A, dual.m, dual.n, dual.row_of, dual.factor, dual.work, dual.table)
    for i in range(dual.m):
        test.bound[i] = 1.0 if dual.row_of[i] < 0 else 0.0
    invert_factor(dual)
    return make_rows(A, dual)


@inner
def take_vectors(q: Floats, x: Floats, dual: DualSet) -> None:
    """Compute v, the sides of M u, and the margins by which they may be violated; a proximal step begins at x."""
    l, u, m, n, v, scale = dual.low, dual.high, dual.distinct, dual.n, dual.v, dual.scale
    if dual.dense == 0:
        for j in range(q.size):
            dual.kkt.base[j] = dual.rho * x[j] - q[j]
        find_z(dual.kkt, dual.rows, dual.multipliers, 0)
        rows_times(dual.kkt, dual.kkt.z, dual.Mv)
        for i in range(m + n):
            dual.Mv[i] = -dual.Mv[i]
    elif not dual.has_v:
        for j in range(n):
            v[j] = 0.0
        for i in range(n):
            factor = (q[i] - dual.rho * x[i]) / scale[m + i]
            for j in range(i, n):
                v[j] += factor * dual.M[m + i, j]
        multiply(dual, v, dual.Mv)
        dual.has_v = dual.rho == 0.0
    for i in range(m + n):
        shift, size = dual.Mv[i], min(abs(l[i]), abs(u[i]))
        dual.lower[i], dual.upper[i] = scale[i] * l[i] + shift, scale[i] * u[i] + shift
        unit = unit_of_sides(i, dual.factor, dual.giver)
        dual.margin[i] = max(dual.tol * scale[i] * (unit + size), ROUNDING * (abs(shift) + scale[i] * size))


@inner
def most_violated(dual: DualSet) -> int:
    """Return the row outside the working set with the largest violation above its margin, or -1 if there is none."""
    found, worst = -1, 0.0
    for i in range(dual.distinct + dual.n):
        excess = max(dual.Mu[i] - dual.upper[i], dual.lower[i] - dual.Mu[i])
        if excess > worst and excess > dual.margin[i] and dual.side[i] == 0:
            found, worst = i, excess
    return found


@inner
def add(dual: DualSet, i: int, is_equal: bool) -> bool:
    """Add the violated row i to the working set; return False, with `ray`, if this proves infeasibility.

    A row that depends on the working set is M_W'r: its multiplier rises while the multipliers of W change by -r.  If
    its own sides cross, as several rows of A give them, they alone prove it.
    """
    rows, multipliers, r, L, rise = dual.rows, dual.multipliers, dual.ray, dual.L, 0.0
    sign = 1.0 if dual.Mu[i] > dual.upper[i] else -1.0
    if dual.low[i] > dual.high[i]:
        r[: dual.count] = 0.0
        r[dual.count], rows[dual.count] = sign, i
        return False
    while not append(dual, i):
        count = dual.count
        for k in range(count):
            r[k] = L[count, k]
        solve_transposed(dual, r)
        at, step = -1, np.inf
        for k in range(count):
            kind = dual.side[rows[k]]
            if kind != EQUAL and kind * sign * r[k] > ROUNDING and abs(multipliers[k]) < step * abs(r[k]):
                at, step = k, abs(multipliers[k] / r[k])
        if at < 0:
            for k in range(count):
                r[k] *= -sign
            r[count], rows[count] = sign, i
            return False
        for k in range(count):
            multipliers[k] -= sign * step * r[k]
        rise += sign * step
        drop(dual, at)
    multipliers[dual.count - 1] = rise
    dual.side[i] = EQUAL if is_equal else int(sign)
    return True


@inner
def add_beside(dual: DualSet, worst: int) -> None:
    """Add other independent rows violated by more than `dual.beside` times the violation of `worst` to the working set.

    The dual objective rises along their multipliers, too: some may get the wrong sign and leave in `settle`, not all.
    """
    least = dual.beside * max(dual.Mu[worst] - dual.upper[worst], dual.lower[worst] - dual.Mu[worst])
    for i in range(dual.distinct + dual.n):
        if dual.count == dual.n:
            break
        above, below = dual.Mu[i] - dual.upper[i], dual.lower[i] - dual.Mu[i]
        is_violated = max(above, below) > max(least, dual.margin[i]) and dual.low[i] <= dual.high[i]
        if dual.side[i] == 0 and is_violated and append(dual, i):
            dual.multipliers[dual.count - 1] = 0.0
            dual.steps += 1
            dual.side[i] = EQUAL if dual.low[i] == dual.high[i] else UPPER if above > below else LOWER


@inner
def settle(dual: DualSet, is_old: bool) -> bool:
    """Minimize norm(u) with the rows of the working set as equalities; drop rows whose multiplier reaches zero.

    Return False, with nothing changed, if the set `is_old` and most of its multipliers get the wrong sign: it takes
    longer to drop these rows one by one than to begin without any.

    Invariant: the multipliers move on a segment along which the dual objective rises, and stop at the first zero.
    """
    rows, side, multipliers, target, z, L = dual.rows, dual.side, dual.multipliers, dual.target, dual.work, dual.L
    while True:
        count, at, share, wrong, balance = dual.count, -1, 1.0, 0.0, 0
        for k in range(count):
            i = rows[k]
            z[k] = -(dual.lower[i] if side[i] == LOWER else dual.upper[i]) - dot_within(L[k], 0, z, 0, k)
        for k in range(count):
            target[k] = z[k] / dual.D[k]
        solve_transposed(dual, target)
        for k in range(count):
            kind = side[rows[k]]
            if kind != EQUAL:
                balance += 1 if kind * target[k] < 0.0 else -1
            if kind != EQUAL and kind * target[k] < 0.0:
                own = multipliers[k] / (multipliers[k] - target[k])
                if own < share or (own == share and -kind * target[k] > wrong):
                    at, share, wrong = k, own, -kind * target[k]
        if is_old and balance > 0:
            return False
        is_old = False
        for k in range(count):
            multipliers[k] = target[k] if at < 0 else multipliers[k] + share * (target[k] - multipliers[k])
        if at < 0:
            break
        drop(dual, at)
    find_point(dual)
    return True


@kernel
def solve_dual(dual: DualSet, layout: Layout, q: Floats, is_warm: bool) -> int:
    """Solve the only program of a batch with the objective q and verify an optimal answer; a ray is not verified.

    Return the result of `load_dual` if it is optimal, else 0.
    """
    started, batch = clock(), dual.batch
    find_dual(dual, q, is_warm)
    if batch.code[0] == OPTIMAL:
        verify(batch, dual.test, layout[0], layout[1], 0, 1)
    close_trace(batch, batch.code[0] == OPTIMAL, clock() - started)
    return 0 if batch.code[0] != OPTIMAL else 2 if dual.rho > 0.0 else 1


@inner
def close_trace(batch: Batch, is_measured: bool, seconds: float) -> None:
    """Write the time, and the objectives and residuals of a measured answer, to the last record."""
    last = batch.trace[min(batch.iterations[0], batch.trace.size - 1)]
    if is_measured:
        last["primal_objective"], last["dual_objective"] = batch.numbers[0, 0], batch.numbers[1, 0]
        last["primal_residual"], last["dual_residual"] = batch.numbers[2, 0], batch.numbers[3, 0]
        last["gap"] = batch.numbers[4, 0]
    last["seconds"] = seconds


@kernel
def find_dual(dual: DualSet, q: Floats, is_warm: bool) -> None:
    """Solve the only program of a batch with the objective q; the answer is not verified."""
    batch, made, proximal = dual.batch, 0, 0
    x = batch.x[0]
    for j in range(x.size):
        dual.has_v = dual.has_v and batch.q[0, j] == q[j]
        batch.q[0, j] = q[j]
    if not is_warm:
        x[:] = 0.0
    dual.last_count = dual.count
    for k in range(dual.count):
        dual.last_rows[k], dual.last_side[k] = dual.rows[k], dual.side[dual.rows[k]]
    take_sides(dual)
    take_vectors(q, x, dual)
    begin(dual, is_warm)
    dual.steps, batch.code[0] = 0, FAILED
    if not settle(dual, is_warm):
        begin(dual, False)
        settle(dual, False)
    while dual.steps <= dual.max_steps:
        i = most_violated(dual)
        for _ in range(REFINEMENTS):
            if not refine(dual, REFINED if i < 0 and dual.rho == 0.0 else ROUGH):
                break
            i = most_violated(dual)
        violation = relative_violation(dual, i)
        record(batch, dual, min(made, batch.trace.size - 1), violation)
        if i < 0:
            proximal += 1
            if write_answer(batch, dual, False) <= dual.tol:
                if dual.rho > 0.0 and refine(dual, REFINED):
                    write_answer(batch, dual, False)
                batch.code[0] = OPTIMAL
                break
            if proximal == MOST_PROXIMAL:  # On an unbounded program, steps converge to a ray.
                batch.code[0] = DUAL_INFEASIBLE
                for j in range(dual.step.size * dual.dense):
                    x[j] = dual.step[j]
                break
            take_vectors(q, x, dual)
        elif not add(dual, i, dual.low[i] == dual.high[i]):
            if violation > dual.missed_tol:
                batch.code[0] = PRIMAL_INFEASIBLE
                write_answer(batch, dual, True)
                put_back(dual)
                break
            dual.side[i] = MISSED
            continue
        else:
            add_beside(dual, i)
        made += 1
        dual.steps += 1
        settle(dual, False)
    batch.iterations[0] = dual.result[0] = made
    dual.result[1] = dual.count


@inner
def put_back(dual: DualSet) -> None:
    """Make the working set the one that `find_dual` has begun with; its factor is computed later."""
    dual.side[:] = 0
    for k in range(dual.last_count):
        dual.rows[k], dual.side[dual.last_rows[k]] = dual.last_rows[k], dual.last_side[k]
    dual.count, dual.is_factored = dual.last_count, False


@kernel
def solve_block(
    dual: DualSet, layout: Layout, matrices: Matrices, vectors: Vectors, places: Places, block: Floats, counts: int
) -> int:  # fmt: skip
    """Fill `block` with arrays, solve its program, and return the result of `solve_dual`.

    `counts` are the entries of P and A as `fill` returns them if the arrays are checked, else `UNKNOWN`.  Return 0
    without solving if they are not those of `dual`, if P has no factor, or if P is not definite and `proximal` is 0,
    or 2 and a quick test does not show that P is semidefinite.
    """
    found = fill(matrices, vectors, places, block, counts != UNKNOWN)
    if (found if counts == UNKNOWN else counts) != dual.counts:
        return 0
    factor, q = load_dual(dual, block), dual.batch.q[0]
    if factor == 0 or (factor == 2 and dual.proximal == 0):
        return 0
    if factor == 2 and dual.proximal == 2 and not is_convex(dual):
        return 0
    return solve_dual(dual, layout, q, False)


@inner
def is_convex(dual: DualSet) -> bool:
    """Return True if a quick test shows that P, given in double precision, is semidefinite."""
    return next_doubtful(dual.n, dual.batch.P, np.full(1, EPS), 0) < 0


@kernel
def solve_each(dual: DualSet, layout: Layout, batch: Batch, first: int, end: int) -> None:
    """Solve programs first:end of a batch, each from its starting point if it has one.

    The method has loaded the matrices that the programs share; each P is definite.
    """
    own, N, has_own = dual.batch, dual.m + dual.n, batch.P.shape[0] > 1 or batch.A.shape[0] > 1
    x, at = batch.x_start, np.empty(N)
    for i in range(first, end):
        if has_own:
            P, A = batch.P[min(i, batch.P.shape[0] - 1)], batch.A[min(i, batch.A.shape[0] - 1)]
            for k in range(P.size):
                own.P[0, k] = P[k]
            for k in range(A.size):
                own.A[0, k] = A[k]
            dual.rho, is_definite = 0.0, True
            if batch.P.shape[0] > 1:
                is_definite = factored(own.P[0], dual.n, 0.0, dual.R)
            if not is_definite or not take_rows(dual):
                batch.code[i] = FAILED
                continue
        of_l, of_u = min(i, batch.l.shape[0] - 1), min(i, batch.u.shape[0] - 1)
        for k in range(N):
            own.l[0, k], own.u[0, k] = batch.l[of_l, k], batch.u[of_u, k]
        is_warm = batch.x_start.shape[0] > 0 and batch.x_start[i, 0] == batch.x_start[i, 0]
        if is_warm:
            for k in range(N):
                at[k] = dot_within(own.A[0], k * dual.n, x[i], 0, dual.n) if k < dual.m else x[i, k - dual.m]
            dual.is_factored = False  # The factor that the program before leaves would decide about the last bits.
            begin_at(dual, at, batch.y_start[i])
        solve_dual(dual, layout, batch.q[min(i, batch.q.shape[0] - 1)], is_warm)
        batch.code[i], batch.iterations[i] = own.code[0], own.iterations[0]
        for j in range(dual.n):
            batch.x[i, j] = own.x[0, j]
        for k in range(N):
            batch.y[i, k] = own.y[0, k]
        for k in range(batch.numbers.shape[0]):
            batch.numbers[k, i] = own.numbers[k, 0]


@inner
def relative_violation(dual: DualSet, i: int) -> float:
    """Return the violation of the sides of row i, relative to 1 + the size of the side; 0 if i is -1."""
    if i < 0:
        return 0.0
    is_above = dual.Mu[i] > dual.upper[i]
    excess = dual.Mu[i] - dual.upper[i] if is_above else dual.lower[i] - dual.Mu[i]
    return excess / (dual.scale[i] * (1.0 + abs(dual.high[i] if is_above else dual.low[i])))


@inner
def record(batch: Batch, dual: DualSet, at: int, violation: float) -> None:
    """Write the point to the trace; both objectives belong to the program with only the sides of the working set."""
    row, n, objective = batch.trace[at], dual.n, 0.0
    if dual.dense == 0:
        objective = objective_on_set(dual)
    elif dual.rho > 0.0:
        for j in range(n):
            i = dual.distinct + j
            x = (dual.Mu[i] - dual.Mv[i]) / dual.scale[i]
            objective -= dual.rho * x * (0.5 * x - batch.x[0, j])
    if dual.dense == 1:
        objective += 0.5 * (dot_within(dual.u, 0, dual.u, 0, n) - dot_within(dual.v, 0, dual.v, 0, n))
    row["iteration"], row["primal_objective"], row["dual_objective"] = at, objective, objective
    row["primal_residual"], row["dual_residual"], row["gap"] = violation, np.nan, np.nan
    row["mu"], row["sigma"], row["alpha_affine"], row["alpha"] = np.nan, np.nan, np.nan, np.nan
    row["tau"], row["kappa"], row["regularization"], row["seconds"] = np.nan, np.nan, np.nan, 0.0


@inner
def objective_on_set(dual: DualSet) -> float:
    """Return the objective of a sparse program at z: half of -base'z - y'A_W x, as z is stationary."""
    kkt, total = dual.kkt, 0.0
    for j in range(kkt.n + kkt.p):
        total -= kkt.base[j] * kkt.z[j]
    for k in range(dual.count):
        i = dual.rows[k]
        total -= dual.multipliers[k] * (dual.Mu[i] - dual.Mv[i])
    return 0.5 * total


@inner
def write_answer(batch: Batch, dual: DualSet, is_ray: bool) -> float:
    """Write x and y, or the dual ray, in the caller's units; a variable with an active bound is exactly on it.

    Unless `is_ray`, `step` becomes the step from the previous x.  Return the gradient that the proximal term leaves,
    relative to 1 + max |q|.
    """
    x, y, q, left, size = batch.x[0], batch.y[0], batch.q[0], 0.0, 1.0
    y[:] = 0.0
    for k in range(dual.count + int(is_ray)):
        i = dual.rows[k]
        value = (dual.ray[k] if is_ray else dual.multipliers[k]) * dual.scale[i]
        if value != 0.0:
            put_multiplier(y, i, value, dual.factor, dual.distinct, dual.giver)
        if is_ray and k == dual.count and dual.low[i] > dual.high[i]:
            put_multiplier(y, i, -value, dual.factor, dual.distinct, dual.giver)
    first = dual.distinct + dual.n - x.size  # The bounds come last; sparse programs have none for some variables.
    for j in range(x.size):
        i, before = first + j, x[j]
        if dual.dense == 0:
            x[j] = dual.kkt.z[j]
        else:
            x[j] = (dual.Mu[i] - dual.Mv[i]) / dual.scale[i]
            if dual.side[i] != 0:
                x[j] = dual.low[i] if dual.side[i] == LOWER else dual.high[i]
        step = x[j] - before
        left, size = max(left, dual.rho * abs(step)), max(size, 1.0 + abs(q[j]))
        if not is_ray and dual.dense == 1:
            dual.step[j] = step
    return left / size
