"""The working set of the dual active set, with the factors in which its rows are products and its steps solves.

    P + rho I = R'R          M = [A; I] R^-1, each row scaled to length one
    M_W M_W' = L D L'        rows W of M, in the order in which they came; u = -M_W'y

It begins with the sides that are active at a point, or with those of the last program.  A row is appended by one more
row of L, and dropped by an update of rank one.  In sparse programs the rows are those of `equality_kkt`, and products
with M are solves; they are not scaled to length one.
"""

from __future__ import annotations

import math

import numpy as np

from socp.batch.driver import Batch
from socp.batch.verify import Verifier
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Bools, Floats, Ints, Matrix
from socp.compiled.structures import Structure, dimension, flag, floats, integer, integers, matrix, number, structure
from socp.linalg.cholesky import cholesky, solve_lower
from socp.linalg.dense import transpose_dense
from socp.linalg.vectors import dot_within

from ..problem.starts import is_near
from .distinct_rows import gather, join_crossed, take_tightest
from .equality_kkt import EqualityKKT, find_z, row_times, rows_times, solve_row

SIDE_BY_SIDE = True  # adjacent equal operations become vector instructions (see `compiled.machine`)
DEFINITE = 1e-12  # smallest accepted square of a pivot of R, relative to P_ii
BY_BLAS = 64  # order from which products with R^-1 are solves of many right-hand sides by BLAS
DEPENDENT = 1e-10  # a row depends on the working set up to this squared distance from its span, relative to the row
UPPER, LOWER, EQUAL, MISSED = 1, -1, 2, 3  # sides of rows in the working set; MISSED: a tolerated violation outside it


class DualSet(Structure):
    """Work space of the method: the factor of P by rows, the working set, and the factor L D L' of M_W M_W'.

    Row `distinct` + i of `M` belongs to the bounds of variable i and is zero before column i; `columns` is M'.
    """

    m, n = dimension(), dimension()  # rows of A and variables; at most n rows are in the working set
    distinct = integer()  # rows of A that are none of the others and no bounds; they come before the n rows of bounds
    row_of, factor, table = integers("m"), floats("m"), integers("2 * m + 1")  # see `distinct_rows`
    low, high, giver = floats("m + n"), floats("m + n"), integers("2 * (m + n)")  # tightest sides, rows that give them
    dense = dimension()  # 1, or 0 if products are solves with `kkt`
    batch, test = structure(Batch), structure(Verifier)  # a batch of one program; its stopping test
    kkt = structure(EqualityKKT)
    R = floats("n * n * dense")  # Cholesky factor of P + rho I = R'R, by rows
    rho, may_be_proximal = number(), flag()  # rho, 0 without proximal steps; True if they are allowed
    M, columns = matrix("(m + n) * dense, n"), matrix("n * dense, m + n")
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
    multipliers, target = floats("n + 1"), floats("n + 1")  # y of the rows, and y of the shortest u with their sides
    ray = floats("n + 1")  # multipliers of the rows, and of one more, that prove infeasibility; r in `add`
    correction, work = floats("n + 1"), floats("n + 1")
    step = floats("n")  # x - x_k of the last proximal step
    old_rows, old_side = integers("n + 1"), integers("n + 1")  # working set of the last program, while `begin` takes it
    wanted = integers("m + n")  # sides of the rows that a point wants in the working set
    last_rows, last_side, last_count = integers("n + 1"), integers("n + 1"), integer()  # working set before the solve
    L, D = matrix("n + 1, n + 1"), floats("n + 1")
    tol = number()  # accepted violation, relative to 1 + |side|
    beside = number()  # `BESIDE`, or inf to add one row at a time
    counts, proximal = integer(), integer()  # see `solve_block`
    result = integers("2")  # rounds, and rows in the working set, of the last call of `solve_dual`
    missed_tol = number()  # accepted violation of a row that depends on the working set, relative to 1 + |side|


@inner
def factored(P: Floats, n: int, rho: float, R: Floats) -> bool:
    """Factor P + rho I = R'R; return False if a pivot is too small."""
    for k in range(n):
        if not P[k * (n + 1)] + rho > 0.0:
            return False
    for k in range(n * n):
        R[k] = P[k]
    for k in range(n):
        R[k * (n + 1)] += rho
    if cholesky(n, R) != 0:
        return False
    for i in range(n):
        pivot = R[i * n + i]
        if not pivot * pivot > max(DEFINITE * P[i * n + i], 0.5 * rho):
            return False
    return True


@kernel
def find_definite(P: Matrix, n: int, are_definite: Bools) -> None:
    """Tell which of many matrices P, one a row, have a factor R."""
    R = np.empty(n * n)
    for i in range(are_definite.size):
        are_definite[i] = factored(P[i], n, 0.0, R)


@inner
def invert_factor(dual: DualSet) -> None:
    """Set the last n rows of M to R^-1."""
    m, n, R, M = dual.distinct, dual.n, dual.R, dual.M
    if n >= BY_BLAS:
        for i in range(n):
            for j in range(n):
                M[m + i, j] = 0.0
            M[m + i, i] = 1.0
        solve_lower(n, R, n, M[m : m + n].reshape(n * n))
        return
    for i in range(n - 1, -1, -1):
        inverse, row = 1.0 / R[i * n + i], M[m + i]
        for j in range(n):
            row[j] = 0.0
        dual.correction[i] = 0.0
        for k in range(i + 1, n):
            dual.correction[k] = -inverse * R[i * n + k]
        add_rows_of(M[m:], dual.correction, dual.wanted, nonzeros_of(dual.correction, i + 1, n, dual.wanted), row)
        row[i] = inverse


@inner
def make_rows(A: Floats, dual: DualSet) -> bool:
    """Set the first rows of M to A R^-1 and scale all rows to length one; return False if a length is not finite."""
    m, n, M, N, r = dual.distinct, dual.n, dual.M, dual.distinct + dual.n, 0
    for i in range(dual.m):
        if dual.row_of[i] != r:
            continue
        row, a = M[r], A[i * n : (i + 1) * n]
        r += 1
        for j in range(n):
            row[j] = a[j] if n >= BY_BLAS else 0.0
        if n < BY_BLAS:
            add_rows_of(M[m:], a, dual.wanted, nonzeros_of(a, 0, n, dual.wanted), row)
    if n >= BY_BLAS:
        solve_lower(n, dual.R, m, M[:m].reshape(m * n))
    for i in range(N):
        square = dot_within(M[i], 0, M[i], 0, n)
        if not square < np.inf:
            return False
        scale = 1.0 / math.sqrt(square) if square > 0.0 else 1.0
        dual.scale[i] = scale
        for j in range(n):
            M[i, j] *= scale
    transpose_dense(M[:N], dual.columns)
    return True


@inner
def nonzeros_of(x: Floats, first: int, end: int, out: Ints) -> int:
    """Write the places of the entries of x[first:end] that are not zero to `out`; return how many there are."""
    count = 0
    for k in range(first, end):
        out[count] = k
        count += int(x[k] != 0.0)
    return count


@inner
def add_rows_of(T: Matrix, x: Floats, places: Ints, count: int, out: Floats) -> None:
    """Add x_k T_k to `out` for the first `count` of `places` k, four in one pass; T is upper triangular."""
    n, at = out.size, 0
    while at + 3 < count:
        k0, k1, k2, k3 = places[at], places[at + 1], places[at + 2], places[at + 3]
        a, b, c, d, r, s, t, u = x[k0], x[k1], x[k2], x[k3], T[k0], T[k1], T[k2], T[k3]
        for j in range(k0, n):
            out[j] += (a * r[j] + b * s[j]) + (c * t[j] + d * u[j])
        at += 4
    while at < count:
        k0 = places[at]
        a, r = x[k0], T[k0]
        for j in range(k0, n):
            out[j] += a * r[j]
        at += 1


@inner
def multiply(dual: DualSet, x: Floats, out: Floats) -> None:
    """Compute `out` = M x, four columns in one pass, without the leading zeros of the rows of bounds."""
    columns, n, m, j = dual.columns, dual.n, dual.distinct, 0
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
def append(dual: DualSet, i: int) -> bool:
    """Append row i to the working set; return False if it depends on the set.  Either way compute its row of L."""
    # Invariant: the first `count` rows of L and D are the factor of M_W M_W', in the order of `rows`.
    count, rows, L, D, M, n = dual.count, dual.rows, dual.L, dual.D, dual.M, dual.n
    if dual.dense == 0:
        square = solve_row(dual.kkt, i)
        for k in range(count):
            L[count, k] = row_times(dual.kkt, rows[k], dual.kkt.row)
    else:
        square = dot_within(M[i], 0, M[i], 0, n)
        for k in range(count):
            first = max(rows[k] - dual.distinct, i - dual.distinct, 0)
            L[count, k] = dot_within(M[rows[k]], first, M[i], first, n - first)
    pivot = square
    for k in range(count):
        L[count, k] -= dot_within(L[k], 0, L[count], 0, k)
    for k in range(count):
        product = L[count, k]
        L[count, k] = product / D[k]
        pivot -= product * L[count, k]
    if count == n or not pivot > DEPENDENT * square:
        return False
    rows[count], D[count] = i, pivot
    dual.count = count + 1
    return True


@inner
def drop(dual: DualSet, at: int) -> None:
    """Remove the row at place `at` from the working set, move up the rows after it, and update L D L' by rank one."""
    rows, multipliers, L, D, z = dual.rows, dual.multipliers, dual.L, dual.D, dual.work
    dual.side[rows[at]] = 0
    dual.count -= 1
    dual.steps += 1
    count, weight = dual.count, D[at]
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
def take_sides(dual: DualSet) -> None:
    """Take the sides of the distinct rows from those of the program in the batch."""
    l, u, N = dual.batch.l[0], dual.batch.u[0], dual.distinct + dual.n
    take_tightest(l, u, dual.row_of, dual.factor, dual.distinct, dual.low, dual.high, dual.giver)
    join_crossed(dual.low[:N], dual.high[:N], dual.missed_tol)


@inner
def begin(dual: DualSet, is_warm: bool) -> None:
    """Initialize the working set: the current one if `is_warm`, otherwise none, and all equalities.

    The factor is kept if each row of the working set keeps its side and no equality is new; without a warm
    start its first rows, the equalities, are kept.
    """
    l, u, rows, side, was, N = dual.low, dual.high, dual.rows, dual.side, dual.count, dual.distinct + dual.n
    stays, dual.is_factored = dual.is_factored, True
    for i in range(N):
        side[i] = 0 if side[i] == MISSED else side[i]
        stays = stays and (l[i] == u[i]) == (side[i] == EQUAL)
    if not is_warm:
        was = 0
        while was < dual.count and side[rows[was]] == EQUAL:
            dual.multipliers[was] = 0.0
            was += 1
        for k in range(was, dual.count):
            stays = stays and side[rows[k]] != EQUAL
            side[rows[k]] = 0
        dual.count = was
    for k in range(was):
        i = rows[k]
        stays = stays and l[i] <= u[i] and abs(l[i] if side[i] == LOWER else u[i]) < np.inf
    if stays:
        return
    dual.count = 0
    for k in range(was):
        dual.old_rows[k], dual.old_side[k] = rows[k], side[rows[k]]  # `append` overwrites `rows`.
    side[:] = 0
    for i in range(N):
        if l[i] == u[i] and append(dual, i):
            side[i] = EQUAL
    for k in range(was):
        i, kind = dual.old_rows[k], dual.old_side[k]
        is_there = l[i] <= u[i] and abs(l[i] if kind == LOWER else u[i]) < np.inf
        if side[i] == 0 and kind != EQUAL and is_there and append(dual, i):
            side[i] = kind
    for k in range(dual.count):
        dual.multipliers[k] = 0.0


@inner
def begin_at(dual: DualSet, at: Floats, v: Floats) -> None:
    """Make the sides whose multipliers exceed their slacks the working set, given the values `at` of [A; I] and `v`.

    The factor of the last set is kept for the rows that stay if these are more than those that leave.
    """
    rows, side, leave = dual.rows, dual.wanted, 0
    l, u, N = dual.low, dual.high, dual.distinct + dual.n
    take_sides(dual)
    gather(at, v, dual.row_of, dual.factor, dual.distinct, dual.lower, dual.upper)
    at, v = dual.lower, dual.upper  # They serve as work space until the sides of M u are computed.
    for i in range(N):
        slack = u[i] - at[i] if v[i] > 0.0 else at[i] - l[i]
        side[i] = 0 if l[i] == u[i] or abs(v[i]) <= slack else UPPER if v[i] > 0.0 else LOWER
    for k in range(dual.count):
        leave += 1 if dual.side[rows[k]] != EQUAL and side[rows[k]] == 0 else -1
    if not dual.is_factored or leave > 0:
        dual.side[:] = 0
        dual.count, dual.is_factored = 0, False
    for k in range(dual.count - 1, -1, -1):
        i = rows[k]
        if dual.side[i] != EQUAL and side[i] == 0:
            drop(dual, k)
        elif dual.side[i] != EQUAL and side[i] != dual.side[i]:
            dual.side[i], dual.multipliers[k] = side[i], 0.0
    for i in range(N):
        if side[i] != 0 and (dual.side[i] == 0 or dual.side[i] == MISSED) and dual.count < dual.n:
            if not dual.is_factored:
                dual.rows[dual.count], dual.side[i], dual.count = i, side[i], dual.count + 1
            elif append(dual, i):
                dual.multipliers[dual.count - 1], dual.side[i] = 0.0, side[i]


@kernel
def begin_near(dual: DualSet, q: Floats, x: Floats, y: Floats, z: Floats, known: int) -> bool:
    """Begin at a point of the caller's, with the multipliers that are not `known`; return False if it is far off."""
    own, m, n, v = dual.batch, dual.m, dual.n, dual.batch.y[0]
    at, Px, gradient = np.empty(m + n), np.empty(n), np.empty(n)
    for j in range(n):
        at[m + j], v[m + j], Px[j], gradient[j] = x[j], z[j], dot_within(own.P[0], j * n, x, 0, n), q[j]
    for i in range(m):
        at[i], v[i] = dot_within(own.A[0], i * n, x, 0, n), y[i]
        if y[i] != 0.0:
            for j in range(n):
                gradient[j] += y[i] * own.A[0, i * n + j]
    if not is_near(at, own.l[0], own.u[0], q, Px, gradient, v, known):
        return False
    begin_at(dual, at, v)
    return True


@inner
def solve_transposed(dual: DualSet, x: Floats) -> None:
    """Compute x := L'^-1 x."""
    for k in range(dual.count - 1, 0, -1):
        for j in range(k):
            x[j] -= dual.L[k, j] * x[k]


@inner
def find_point(dual: DualSet) -> None:
    """Compute u := -M_W'y and M u."""
    if dual.dense == 0:
        find_z(dual.kkt, dual.rows, dual.multipliers, dual.count)
        rows_times(dual.kkt, dual.kkt.z, dual.Mu)
        for i in range(dual.distinct + dual.n):
            dual.Mu[i] += dual.Mv[i]
        return
    for j in range(dual.n):
        dual.u[j] = 0.0
    if dual.count == 0:
        dual.Mu[:] = 0.0
        return
    for k in range(dual.count):
        i, factor = dual.rows[k], dual.multipliers[k]
        for j in range(max(i - dual.distinct, 0), dual.n):
            dual.u[j] -= factor * dual.M[i, j]
    multiply(dual, dual.u, dual.Mu)


@inner
def refine(dual: DualSet, share: float) -> bool:
    """Correct the multipliers by the residuals of active sides; return False if all are below `share` of margins."""
    rows, side, z, L, is_missed = dual.rows, dual.side, dual.work, dual.L, False
    for k in range(dual.count):
        i = rows[k]
        missed = dual.Mu[i] - (dual.lower[i] if side[i] == LOWER else dual.upper[i])
        is_missed = is_missed or abs(missed) > share * dual.margin[i]
        z[k] = missed - dot_within(L[k], 0, z, 0, k)
    if not is_missed:
        return False
    for k in range(dual.count):
        dual.correction[k] = z[k] / dual.D[k]
    solve_transposed(dual, dual.correction)
    for k in range(dual.count):
        kind, corrected = side[rows[k]], dual.multipliers[k] + dual.correction[k]
        dual.multipliers[k] = corrected if kind == EQUAL or kind * corrected > 0.0 else 0.0
    find_point(dual)
    return True
