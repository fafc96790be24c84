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

import math

import numpy as np

from socp.batch.checks import next_doubtful
from socp.batch.driver import DUAL_INFEASIBLE, FAILED, OPTIMAL, PRIMAL_INFEASIBLE, Batch
from socp.batch.verify import Verifier, verify
from socp.compiled.clock import clock
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Bools, Floats, Ints
from socp.compiled.structures import Structure, dimension, flag, floats, integer, integers, matrix, number, structure
from socp.linalg.cholesky import cholesky, solve_lower
from socp.linalg.vectors import dot_within, norm_within
from socp.problem.checks import EPS

from ..problem.packed import SIZES, Matrices, Places, Vectors, fill, put_matrix

SIDE_BY_SIDE = True  # adjacent equal operations become vector instructions (see `compiled.machine`)
DEFINITE = 1e-12  # smallest accepted square of a pivot of R, relative to P_ii
LINE = 8  # numbers in a line of the cache
BY_BLAS = 64  # order from which products with R^-1 are solves of many right-hand sides by BLAS
DEPENDENT = 1e-10  # largest squared distance from the span of the working set at which a row counts as dependent
ROUNDING = 64.0 * EPS  # relative error of a row's product with a vector
REFINEMENTS, REFINED, ROUGH = 3, 1e-2, 0.1  # refinements per step; target residual / margin at the last step and before
PROXIMAL, MOST_PROXIMAL = 1e-4, 30  # rho relative to the largest entry of P; limit of proximal steps
BESIDE = 0.5  # rows violated by more than this share of the largest violation join the working set together
Layout = tuple[Ints, Bools]
UPPER, LOWER, EQUAL, MISSED = 1, -1, 2, 3  # sides of rows in the working set; MISSED: a tolerated violation outside it


class DualSet(Structure):
    """Work space of the method: the factor of P by rows, the working set, and the factor L D L' of M_W M_W'.

    Row m + i of `M` belongs to the bounds of variable i and is zero before column i; `columns` is M'.
    """

    m, n = dimension(), dimension()
    batch, test = structure(Batch), structure(Verifier)  # a batch of one program; its stopping test
    R = floats("n * n")  # Cholesky factor of P + rho I = R'R, by rows
    rho, may_be_proximal = number(), flag()  # rho, 0 without proximal steps; True if they are allowed
    M, columns = matrix("m + n, n"), matrix("n, m + n")
    scale = floats("m + n")  # factors that scale the rows of M to length one
    lower, upper, margin = floats("m + n"), floats("m + n"), floats("m + n")  # sides of M u, and accepted violations
    v, u = floats("n"), floats("n")
    has_v = flag()  # True if `v` and `Mv` belong to the q in the batch, with rho = 0
    Mv, Mu = floats("m + n"), floats("m + n")
    side = integers("m + n")  # `UPPER`, `LOWER` or `EQUAL` for rows in the working set, else `MISSED` or 0
    count = integer()
    steps, max_steps = integer(), integer()  # rounds + rows of `add_beside` + rows dropped; limit of the sum
    is_factored = flag()  # True if L D L' is the factor of the working set
    rows = integers("n + 1")  # rows of the working set
    multipliers, target, work = floats("n + 1"), floats("n + 1"), floats("n + 1")
    L, D = matrix("n + 1, n + 1"), floats("n + 1")
    tol = number()  # accepted violation, relative to 1 + |side|
    beside = number()  # `BESIDE`, or inf to add one row at a time
    counts, proximal = integer(), integer()  # see `solve_block`
    missed_tol = number()  # accepted violation of a row that depends on the working set, relative to 1 + |side|


@kernel
def solve_block(
    w: DualSet, layout: Layout, matrices: Matrices, vectors: Vectors, places: Places, block: Floats
) -> int:  # fmt: skip
    """Fill `block` with the caller's arrays, solve its program, and return the result of `solve_dual`.

    Return 0 without solving if the result of `fill` is not `counts`, if P has no factor, or if P is not definite and
    `proximal` is 0, or 2 and a quick test does not show that P is semidefinite.
    """
    if fill(matrices, vectors, places, block, False) != w.counts:
        return 0
    factor, q = load_dual(w, block), w.batch.q[0]
    if factor == 0 or (factor == 2 and w.proximal == 0):
        return 0
    if factor == 2 and w.proximal == 2 and not is_convex(w):
        return 0
    return solve_dual(w, layout, q, False)


@inner
def is_convex(w: DualSet) -> bool:
    """Return True if a quick test shows that P, given in double precision, is semidefinite."""
    return next_doubtful(w.n, w.batch.P, np.full(1, EPS), 0) < 0


@kernel
def load_dual(w: DualSet, block: Floats) -> int:
    """Load a block of `problem.packed` as the only program of a batch; rows with one entry are bounds.

    Return 1 if P is clearly definite, 2 if proximal steps are allowed and use the factor of P + rho I, with rho
    relative to P (to q if P is zero), and 0 if there is no such factor.
    """
    batch, test = w.batch, w.test
    m, n, P, A, words = batch.m, batch.n, batch.P[0], batch.A[0], block.view(np.int64)
    entries, count, test.held = words[2], words[3], -1
    at = SIZES + entries + count
    places = at + 3 * n + 2 * m
    put_matrix(block, SIZES, places, entries, n, words[4] != 0, P)
    q, l, u = batch.q[0], batch.l[0], batch.u[0]
    for values, first, end in ((q, 0, n), (l, 0, m), (u, 0, m), (l, m, m + n), (u, m, m + n)):
        for k in range(first, end):
            values[k] = block[at]
            at += 1
    w.is_factored, w.has_v, w.rho, factor = False, False, 0.0, 1
    if not invert_factor(P, w):
        if not w.may_be_proximal:
            return 0
        largest = norm_within(P, 0, P.size)
        if largest == 0.0:
            largest = norm_within(q, 0, n)
        w.rho, factor = PROXIMAL * (largest if largest > 0.0 else 1.0), 2
        if not invert_factor(P, w):
            return 0
    places += n + 1 + entries if words[4] != 0 else 0
    put_matrix(block, SIZES + entries, places, count, n, words[5] != 0, A)
    for i in range(m):
        found = 0
        for j in range(n):
            found += int(A[i * n + j] != 0.0)
        test.bound[i] = 1.0 if found == 1 else 0.0
    return factor if make_rows(A, w) else 0


@inner
def invert_factor(P: Floats, w: DualSet) -> bool:
    """Factor P + rho I = R'R and set the last n rows of M to R^-1; return False if a pivot is too small."""
    m, n, R, M = w.m, w.n, w.R, w.M
    for k in range(n):
        if not P[k * (n + 1)] + w.rho > 0.0:
            return False
    for k in range(n * n):
        R[k] = P[k]
    for k in range(n):
        R[k * (n + 1)] += w.rho
    if cholesky(n, R) != 0:
        return False
    for i in range(n):
        pivot = R[i * n + i]
        if not pivot * pivot > max(DEFINITE * P[i * n + i], 0.5 * w.rho):
            return False
    if n >= BY_BLAS:
        for i in range(n):
            for j in range(n):
                M[m + i, j] = 0.0
            M[m + i, i] = 1.0
        solve_lower(n, R, n, M[m:].reshape(n * n))
        return True
    for i in range(n - 1, -1, -1):
        pivot = R[i * n + i]
        for j in range(n):
            M[m + i, j] = 0.0
        for k in range(i + 1, n):
            factor = R[i * n + k] / pivot
            if factor != 0.0:
                for j in range(k, n):
                    M[m + i, j] -= factor * M[m + k, j]
        M[m + i, i] = 1.0 / pivot
    return True


@inner
def make_rows(A: Floats, w: DualSet) -> bool:
    """Set the first m rows of M to A R^-1 and scale all rows to length one; return False if a length is not finite."""
    m, n, M, N = w.m, w.n, w.M, w.m + w.n
    if n >= BY_BLAS:
        for i in range(m):
            for j in range(n):
                M[i, j] = A[i * n + j]
        solve_lower(n, w.R, m, M[:m].reshape(m * n))
    else:
        for i in range(m):
            for j in range(n):
                M[i, j] = 0.0
            for k in range(n):
                a = A[i * n + k]
                if a != 0.0:
                    for j in range(k, n):
                        M[i, j] += a * M[m + k, j]
    for i in range(N):
        square = dot_within(M[i], 0, M[i], 0, n)
        if not square < np.inf:
            return False
        scale = 1.0 / math.sqrt(square) if square > 0.0 else 1.0
        w.scale[i] = scale
        for j in range(n):
            M[i, j] *= scale
    for first in range(0, N, LINE):
        for j in range(n):
            for i in range(first, min(first + LINE, N)):
                w.columns[j, i] = M[i, j]
    return True


@inner
def multiply(w: DualSet, x: Floats, out: Floats) -> None:
    """Compute `out` = M x, four columns in one pass, without the leading zeros of the rows of bounds."""
    columns, n, m, j = w.columns, w.n, w.m, 0
    for i in range(m + n):
        out[i] = 0.0
    while j + 3 < n:
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(m + j + 4):
            out[i] += (columns[j, i] * a + columns[j + 1, i] * b) + (columns[j + 2, i] * c + columns[j + 3, i] * d)
        j += 4
    while j < n:
        a = x[j]
        for i in range(m + j + 1):
            out[i] += columns[j, i] * a
        j += 1


@inner
def take_vectors(q: Floats, l: Floats, u: Floats, x: Floats, w: DualSet) -> None:
    """Compute v, the sides of M u, and the margins by which they may be violated; a proximal step begins at x."""
    m, n, v, scale = w.m, w.n, w.v, w.scale
    if not w.has_v:
        for j in range(n):
            v[j] = 0.0
        for i in range(n):
            factor = (q[i] - w.rho * x[i]) / scale[m + i]
            for j in range(i, n):
                v[j] += factor * w.M[m + i, j]
        multiply(w, v, w.Mv)
        w.has_v = w.rho == 0.0
    for i in range(m + n):
        shift, size = w.Mv[i], min(abs(l[i]), abs(u[i]))
        w.lower[i], w.upper[i] = scale[i] * l[i] + shift, scale[i] * u[i] + shift
        w.margin[i] = max(w.tol * scale[i] * (1.0 + size), ROUNDING * (abs(shift) + scale[i] * size))


@inner
def append(w: DualSet, i: int) -> bool:
    """Append row i to the working set; return False if it depends on the set.  Either way compute its row of L."""
    count, rows, L, D, M, n = w.count, w.rows, w.L, w.D, w.M, w.n
    pivot = dot_within(M[i], 0, M[i], 0, n)
    for k in range(count):
        first = max(rows[k] - w.m, i - w.m, 0)
        L[count, k] = dot_within(M[rows[k]], first, M[i], first, n - first)
    for k in range(count):
        L[count, k] -= dot_within(L[k], 0, L[count], 0, k)
    for k in range(count):
        product = L[count, k]
        L[count, k] = product / D[k]
        pivot -= product * L[count, k]
    if count == n or not pivot > DEPENDENT:
        return False
    rows[count], D[count] = i, pivot
    w.count = count + 1
    return True


@inner
def drop(w: DualSet, at: int) -> None:
    """Remove the row at place `at` from the working set, move up the rows after it, and update L D L' by rank one."""
    rows, multipliers, L, D, z = w.rows, w.multipliers, w.L, w.D, w.work
    w.side[rows[at]] = 0
    w.count -= 1
    w.steps += 1
    count, weight = w.count, D[at]
    for r in range(at, count):
        z[r] = L[r + 1, at]
        rows[r], multipliers[r] = rows[r + 1], multipliers[r + 1]
        for j in range(at):
            L[r, j] = L[r + 1, j]
    for j in range(at, count):  # (Gill, Golub, Murray and Saunders 1974, method C1)
        entry = z[j]
        pivot = D[j + 1] + weight * entry * entry
        factor = entry * weight / pivot
        weight *= D[j + 1] / pivot
        D[j] = pivot
        for r in range(j + 1, count):
            below = L[r + 1, j + 1]
            z[r] -= entry * below
            L[r, j] = below + factor * z[r]


@inner
def add(w: DualSet, i: int, is_equal: bool) -> bool:
    """Add the violated row i to the working set; return False, with a ray in `target`, if this proves infeasibility.

    A row that depends on the working set is M_W'r: its multiplier rises while the multipliers of W change by -r.
    """
    rows, multipliers, r, L, rise = w.rows, w.multipliers, w.target, w.L, 0.0
    sign = 1.0 if w.Mu[i] > w.upper[i] else -1.0
    while not append(w, i):
        count = w.count
        for k in range(count):
            r[k] = L[count, k]
        solve_transposed(w, r)
        at, step = -1, np.inf
        for k in range(count):
            kind = w.side[rows[k]]
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
        drop(w, at)
    multipliers[w.count - 1] = rise
    w.side[i] = EQUAL if is_equal else int(sign)
    return True


@inner
def add_beside(w: DualSet, l: Floats, u: Floats, worst: int) -> None:
    """Add other independent rows violated by more than `w.beside` times the violation of `worst` to the working set.

    The dual objective rises along their multipliers, too: some may get the wrong sign and leave in `settle`, not all.
    """
    least = w.beside * max(w.Mu[worst] - w.upper[worst], w.lower[worst] - w.Mu[worst])
    for i in range(w.m + w.n):
        if w.count == w.n:
            break
        above, below = w.Mu[i] - w.upper[i], w.lower[i] - w.Mu[i]
        if w.side[i] == 0 and max(above, below) > max(least, w.margin[i]) and append(w, i):
            w.multipliers[w.count - 1] = 0.0
            w.steps += 1
            w.side[i] = EQUAL if l[i] == u[i] else UPPER if above > below else LOWER


@inner
def solve_transposed(w: DualSet, x: Floats) -> None:
    """Compute x := L'^-1 x."""
    for k in range(w.count - 1, 0, -1):
        for j in range(k):
            x[j] -= w.L[k, j] * x[k]


@inner
def settle(w: DualSet) -> None:
    """Move to the shortest u with the sides of the working set; a row whose multiplier would change its sign leaves."""
    rows, side, multipliers, target, z, L = w.rows, w.side, w.multipliers, w.target, w.work, w.L
    while True:
        count, at, share, wrong = w.count, -1, 1.0, 0.0
        for k in range(count):
            i = rows[k]
            z[k] = -(w.lower[i] if side[i] == LOWER else w.upper[i]) - dot_within(L[k], 0, z, 0, k)
        for k in range(count):
            target[k] = z[k] / w.D[k]
        solve_transposed(w, target)
        for k in range(count):
            kind = side[rows[k]]
            if kind != EQUAL and kind * target[k] < 0.0:
                own = multipliers[k] / (multipliers[k] - target[k])
                if own < share or (own == share and -kind * target[k] > wrong):
                    at, share, wrong = k, own, -kind * target[k]
        for k in range(count):
            multipliers[k] = target[k] if at < 0 else multipliers[k] + share * (target[k] - multipliers[k])
        if at < 0:
            break
        drop(w, at)
    find_point(w)


@inner
def find_point(w: DualSet) -> None:
    """Compute u := -M_W'y and M u."""
    for j in range(w.n):
        w.u[j] = 0.0
    for k in range(w.count):
        i, factor = w.rows[k], w.multipliers[k]
        for j in range(max(i - w.m, 0), w.n):
            w.u[j] -= factor * w.M[i, j]
    multiply(w, w.u, w.Mu)


@inner
def refine(w: DualSet, share: float) -> bool:
    """Correct the multipliers by the residuals of active sides; return False if all are below `share` of margins."""
    rows, side, z, L, target, is_missed = w.rows, w.side, w.work, w.L, w.target, False
    for k in range(w.count):
        i = rows[k]
        missed = w.Mu[i] - (w.lower[i] if side[i] == LOWER else w.upper[i])
        is_missed = is_missed or abs(missed) > share * w.margin[i]
        z[k] = missed - dot_within(L[k], 0, z, 0, k)
    if not is_missed:
        return False
    for k in range(w.count):
        target[k] = z[k] / w.D[k]
    solve_transposed(w, target)
    for k in range(w.count):
        kind, corrected = side[rows[k]], w.multipliers[k] + target[k]
        w.multipliers[k] = corrected if kind == EQUAL or kind * corrected > 0.0 else 0.0
    find_point(w)
    return True


@inner
def begin(l: Floats, u: Floats, w: DualSet, is_warm: bool) -> None:
    """Initialize the working set: the current one if `is_warm`, otherwise none, and all equalities.

    The factor is kept if each row of the working set keeps its side and no equality is new; without a warm
    start its first rows, the equalities, are kept.
    """
    rows, side, was, N = w.rows, w.side, w.count, w.m + w.n
    stays, w.is_factored = w.is_factored, True
    for i in range(N):
        side[i] = 0 if side[i] == MISSED else side[i]
        stays = stays and (l[i] == u[i]) == (side[i] == EQUAL)
    if not is_warm:
        was = 0
        while was < w.count and side[rows[was]] == EQUAL:
            w.multipliers[was] = 0.0
            was += 1
        for k in range(was, w.count):
            stays = stays and side[rows[k]] != EQUAL
            side[rows[k]] = 0
        w.count = was
    for k in range(was):
        i = rows[k]
        stays = stays and abs(l[i] if side[i] == LOWER else u[i]) < np.inf
    if stays:
        return
    w.count = 0
    for k in range(was):
        w.work[k], w.target[k] = rows[k], side[rows[k]]  # copies, as `append` overwrites `rows`
    side[:] = 0
    for i in range(N):
        if l[i] == u[i] and append(w, i):
            side[i] = EQUAL
    for k in range(was):
        i, kind = int(w.work[k]), int(w.target[k])
        if side[i] == 0 and kind != EQUAL and abs(l[i] if kind == LOWER else u[i]) < np.inf and append(w, i):
            side[i] = kind
    for k in range(w.count):
        w.multipliers[k] = 0.0


@inner
def most_violated(w: DualSet) -> int:
    """Return the row outside the working set with the largest violation above its margin, or -1 if there is none."""
    found, worst = -1, 0.0
    for i in range(w.m + w.n):
        excess = max(w.Mu[i] - w.upper[i], w.lower[i] - w.Mu[i])
        if excess > worst and excess > w.margin[i] and w.side[i] == 0:
            found, worst = i, excess
    return found


@kernel
def solve_dual(w: DualSet, layout: Layout, q: Floats, is_warm: bool) -> int:
    """Solve the only program of a batch with the objective q and verify an optimal answer; a ray is not verified.

    Return 0 unless it is optimal, else (rows in the working set) 2^32 + 4 (iterations) + the result of `load_dual`.
    """
    started, batch = clock(), w.batch
    find_dual(w, q, is_warm)
    made = batch.iterations[0]
    last = batch.trace[min(made, batch.trace.size - 1)]
    if batch.code[0] == OPTIMAL:
        verify(batch, w.test, layout[0], layout[1], 0, 1)
        last["primal_objective"], last["dual_objective"] = batch.numbers[0, 0], batch.numbers[1, 0]
        last["primal_residual"], last["dual_residual"] = batch.numbers[2, 0], batch.numbers[3, 0]
        last["gap"] = batch.numbers[4, 0]
    last["seconds"] = clock() - started
    return (w.count << 32) + (made << 2) + (2 if w.rho > 0.0 else 1) if batch.code[0] == OPTIMAL else 0


@kernel
def find_dual(w: DualSet, q: Floats, is_warm: bool) -> None:
    """Solve the only program of a batch with the objective q; the answer is not verified."""
    batch, made, proximal = w.batch, 0, 0
    l, u, x = batch.l[0], batch.u[0], batch.x[0]
    for j in range(w.n):
        w.has_v = w.has_v and batch.q[0, j] == q[j]
        batch.q[0, j] = q[j]
    if not is_warm:
        x[:] = 0.0
    take_vectors(q, l, u, x, w)
    begin(l, u, w, is_warm)
    w.steps, batch.code[0] = 0, FAILED
    settle(w)
    while w.steps <= w.max_steps:
        i = most_violated(w)
        for _ in range(REFINEMENTS):
            if not refine(w, REFINED if i < 0 and w.rho == 0.0 else ROUGH):
                break
            i = most_violated(w)
        violation = relative_violation(batch, w, i)
        record(batch, w, min(made, batch.trace.size - 1), violation)
        if i < 0:
            proximal += 1
            if write_answer(batch, w, False) <= w.tol:
                if w.rho > 0.0 and refine(w, REFINED):
                    write_answer(batch, w, False)
                batch.code[0] = OPTIMAL
                break
            if proximal == MOST_PROXIMAL:  # On an unbounded program, steps converge to a ray.
                batch.code[0] = DUAL_INFEASIBLE
                for j in range(w.n):
                    x[j] = w.target[j]
                break
            take_vectors(q, l, u, x, w)
        elif not add(w, i, l[i] == u[i]):
            if violation > w.missed_tol:
                batch.code[0] = PRIMAL_INFEASIBLE
                write_answer(batch, w, True)
                break
            w.side[i] = MISSED
            continue
        else:
            add_beside(w, l, u, i)
        made += 1
        w.steps += 1
        settle(w)
    batch.iterations[0] = made


@kernel
def solve_each(w: DualSet, layout: Layout, batch: Batch, first: int, end: int) -> None:
    """Solve programs first:end of a batch whose P and A are loaded, each without a warm start."""
    own, N = w.batch, w.m + w.n
    for i in range(first, end):
        of_l, of_u = min(i, batch.l.shape[0] - 1), min(i, batch.u.shape[0] - 1)
        for k in range(N):
            own.l[0, k], own.u[0, k] = batch.l[of_l, k], batch.u[of_u, k]
        solve_dual(w, layout, batch.q[min(i, batch.q.shape[0] - 1)], False)
        batch.code[i], batch.iterations[i] = own.code[0], own.iterations[0]
        for j in range(w.n):
            batch.x[i, j] = own.x[0, j]
        for k in range(N):
            batch.y[i, k] = own.y[0, k]
        for k in range(batch.numbers.shape[0]):
            batch.numbers[k, i] = own.numbers[k, 0]


@inner
def relative_violation(batch: Batch, w: DualSet, i: int) -> float:
    """Return the violation of the sides of row i, relative to 1 + the size of the side; 0 if i is -1."""
    if i < 0:
        return 0.0
    is_above = w.Mu[i] > w.upper[i]
    excess = w.Mu[i] - w.upper[i] if is_above else w.lower[i] - w.Mu[i]
    return excess / (w.scale[i] * (1.0 + abs(batch.u[0, i] if is_above else batch.l[0, i])))


@inner
def record(batch: Batch, w: DualSet, at: int, violation: float) -> None:
    """Write the point to the trace; both objectives belong to the program with only the sides of the working set."""
    row, n, objective = batch.trace[at], w.n, 0.0
    if w.rho > 0.0:
        for j in range(n):
            x = (w.Mu[w.m + j] - w.Mv[w.m + j]) / w.scale[w.m + j]
            objective -= w.rho * x * (0.5 * x - batch.x[0, j])
    objective += 0.5 * (dot_within(w.u, 0, w.u, 0, n) - dot_within(w.v, 0, w.v, 0, n))
    row["iteration"], row["primal_objective"], row["dual_objective"] = at, objective, objective
    row["primal_residual"], row["dual_residual"], row["gap"] = violation, np.nan, np.nan
    row["mu"], row["sigma"], row["alpha_affine"], row["alpha"] = np.nan, np.nan, np.nan, np.nan
    row["tau"], row["kappa"], row["regularization"], row["seconds"] = np.nan, np.nan, np.nan, 0.0


@inner
def write_answer(batch: Batch, w: DualSet, is_ray: bool) -> float:
    """Write x and y, or the dual ray, in the caller's units; a variable with an active bound is exactly on it.

    Unless `is_ray`, `target` becomes the step from the previous x.  Return the gradient that the proximal term leaves,
    relative to 1 + max |q|.
    """
    m, x, y, q, left, size = w.m, batch.x[0], batch.y[0], batch.q[0], 0.0, 1.0
    y[:] = 0.0
    for k in range(w.count + int(is_ray)):
        i = w.rows[k]
        y[i] = (w.target[k] if is_ray else w.multipliers[k]) * w.scale[i]
    for j in range(w.n):
        i, before = m + j, x[j]
        x[j] = (w.Mu[i] - w.Mv[i]) / w.scale[i]
        if w.side[i] != 0:
            x[j] = batch.l[0, i] if w.side[i] == LOWER else batch.u[0, i]
        step = x[j] - before
        left, size = max(left, w.rho * abs(step)), max(size, 1.0 + abs(q[j]))
        if not is_ray:
            w.target[j] = step
    return left / size
