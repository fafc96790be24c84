"""Variables that equalities define: they are eliminated before a program is solved, and their multipliers come back.

    minimize 1/2 x'Px + q'x   subject to   l <= Ax <= u,  lb <= x <= ub

An equality a'x = b *defines* x_j if x_j is in no other equality that is not used yet: x_j = (b - sum_k a_k x_k) / a_j.
Taken in reverse, such definitions, as the dynamics of a controller or auxiliary variables, give the dependent variables
one after another from the independent ones v,

    x = x_0 + Z v,

with x_0 from the sides b and the fixed variables, and Z v from the matrices alone.  What is left has few variables:

    minimize 1/2 v'Z'PZv + (q + P x_0)'Z v
    subject to   l - A x_0 <= A Z v <= u - A x_0    in the other rows,
                 lb - x_0  <= Z v   <= ub - x_0     in the variables with a bound

The multipliers of the defining rows follow from stationarity in the dependent variables, (Px + q + A'y + z)_j = 0, one
after another in the opposite order.  So Z is needed only to set up: x_0, Z'(q + P x_0), x and y are sums over the
entries of A.
"""

from __future__ import annotations

import math

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Bools, Floats, Ints, Matrix
from socp.compiled.structures import Structure, dimension, floats, integer, integers
from socp.linalg.csc import csc_of_dense, transpose
from socp.problem.checks import INT

from ..problem.program import QuadraticProgram

SAFE = 1e-3  # least size of the coefficient of a variable that its row defines, relative to the row's largest
GROWTH = 1e6  # largest entry of Z, relative to 1: the digits that a definition may cost

INDEPENDENT, DEPENDENT, BOUNDED, GIVEN = range(4)  # uses of a variable; BOUNDED: dependent, with a bound; GIVEN: fixed


class Elimination(Structure):
    """Order in which a program's equalities define variables, and A by columns and by rows.

    Definition k gives the variable `variables[k]` by the row `rows[k]`, from variables that are independent, given, or
    defined earlier; there are `count` definitions.  The reduced program has the independent variables, and the cost
    `cost`; its rows are the `kept` rows and the `bounded` dependent variables.
    """

    m, n, count = dimension(), dimension(), integer()
    variables, rows, pivots = integers(), integers(), floats()
    independent, given, kept, bounded = integers(), integers(), integers(), integers()
    indptr, indices, data = integers(), integers(), floats()  # A
    t_indptr, t_indices, t_data = integers(), integers(), floats()  # A'
    P_indptr, P_indices, P_data = integers(), integers(), floats()
    use = integers("n")
    x0, gradient, y0, cost = floats("n"), floats("n"), floats("m"), floats()


@kernel
def find_definitions(e: Elimination, is_equal: Bools, is_given: Bools, has_bound: Bools) -> int:
    """Write the definitions to the ends of arrays with n entries, and return their number.

    A variable in one unused equality may be defined by it; the queue holds these variables, the first ones to become
    so first.  Where it is empty, the longest equality is set aside: it stays a row of the reduced program.
    """
    m, n, at, first = e.m, e.n, 0, e.n
    indptr, indices, t_indptr, t_indices = e.indptr, e.indices, e.t_indptr, e.t_indices
    uses, level, is_open, lengths = np.zeros(n, np.int64), np.zeros(n, np.int64), is_equal.copy(), np.empty(m, np.int64)
    queue, head, tail = np.empty(n, np.int64), 0, 0
    for i in range(m):
        lengths[i] = t_indptr[i] - t_indptr[i + 1]
        if is_open[i]:
            for k in range(t_indptr[i], t_indptr[i + 1]):
                uses[t_indices[k]] += 1
    by_length = np.argsort(lengths)
    for j in range(n):
        if uses[j] == 1 and not is_given[j]:
            queue[tail] = j
            tail += 1
    while True:
        if head < tail:
            j, i = queue[head], -1
            head += 1
            if uses[j] != 1:
                continue  # The row of j defines another variable, or is set aside.
            for k in range(indptr[j], indptr[j + 1]):
                if is_open[indices[k]]:
                    i = indices[k]
            k = best_entry(e, i, uses, level, level[j], is_given, has_bound)
            if k >= 0:  # Found in reverse: a definition may use the variables of those that are found after it.
                first -= 1
                e.variables[first], e.rows[first], e.pivots[first] = t_indices[k], i, e.t_data[k]
            next_level = level[j] + 1
        else:
            while at < m and not is_open[by_length[at]]:
                at += 1
            if at == m:
                return n - first
            i, next_level = by_length[at], 0
        is_open[i] = False
        for k in range(t_indptr[i], t_indptr[i + 1]):
            j = t_indices[k]
            uses[j] -= 1
            if uses[j] == 1 and not is_given[j]:
                queue[tail], level[j] = j, next_level
                tail += 1


@inner
def best_entry(
    e: Elimination, i: int, uses: Ints, level: Ints, own: int, is_given: Bools, has_bound: Bools
) -> int:  # fmt: skip
    """Return the entry of the variable that row `i` defines, or -1: of level `own`, without a bound, largest.

    Variables of a later level have become candidates because rows like this one are used, as inputs of a dynamical
    system whose states they define; to solve for these would invert the system.
    """
    indices, data, begin, end, largest, best = e.t_indices, e.t_data, e.t_indptr[i], e.t_indptr[i + 1], 0.0, -1
    for k in range(begin, end):
        largest = max(largest, abs(data[k]))
    for k in range(begin, end):
        j = indices[k]
        if uses[j] == 1 and level[j] == own and not is_given[j] and abs(data[k]) >= SAFE * largest:
            is_better = best < 0 or (has_bound[indices[best]] and not has_bound[j])
            if is_better or (has_bound[indices[best]] == has_bound[j] and abs(data[k]) > abs(data[best])):
                best = k
    return best


@inner
def define(e: Elimination, sides: Floats, x: Floats) -> None:
    """x_j := (b_i - sum_k a_ik x_k) / a_ij for each dependent variable j and its row i, in order."""
    for d in range(e.count):
        i, j = e.rows[d], e.variables[d]
        x[j], total = 0.0, sides[i]
        for k in range(e.t_indptr[i], e.t_indptr[i + 1]):
            total -= e.t_data[k] * x[e.t_indices[k]]
        x[j] = total / e.pivots[d]


@inner
def define_multipliers(e: Elimination, gradient: Floats, y: Floats) -> None:
    """y_i := -(gradient_j + sum_k a_kj y_k) / a_ij for each dependent variable j and its row i, the last one first."""
    for d in range(e.count):
        y[e.rows[d]] = 0.0
    for d in range(e.count - 1, -1, -1):
        i, j = e.rows[d], e.variables[d]
        total = gradient[j]
        for k in range(e.indptr[j], e.indptr[j + 1]):
            total += e.data[k] * y[e.indices[k]]
        y[i] = -total / e.pivots[d]


@kernel
def fill_basis(e: Elimination, Z: Matrix) -> float:
    """Z := dx / dv by rows; return its largest entry."""
    largest = 1.0
    Z[:] = 0.0
    for c in range(e.independent.size):
        Z[e.independent[c], c] = 1.0
    for d in range(e.count):
        i, j = e.rows[d], e.variables[d]
        row = Z[j]
        for k in range(e.t_indptr[i], e.t_indptr[i + 1]):
            other = e.t_indices[k]
            if other != j and e.use[other] != GIVEN:
                factor, source = e.t_data[k] / e.pivots[d], Z[other]
                for c in range(row.size):
                    row[c] -= factor * source[c]
        for c in range(row.size):
            largest = max(largest, abs(row[c]))
    return largest


@inner
def add_gradient(e: Elimination, x: Floats, q: Floats, gradient: Floats) -> None:
    """gradient := P x + q."""
    for j in range(e.n):
        total = q[j]
        for k in range(e.P_indptr[j], e.P_indptr[j + 1]):
            total += e.P_data[k] * x[e.P_indices[k]]
        gradient[j] = total


@kernel
def fits(e: Elimination, l: Floats, u: Floats, lb: Floats, ub: Floats) -> bool:
    """Return True if defining rows are equalities, the given variables are fixed, and bounds are where they were."""
    for d in range(e.count):
        i = e.rows[d]
        if l[i] != u[i] or not math.isfinite(l[i]):
            return False
    for j in range(e.n):
        if (e.use[j] == GIVEN) != (lb[j] == ub[j]):
            return False
        if e.use[j] == DEPENDENT and (math.isfinite(lb[j]) or math.isfinite(ub[j])):
            return False
    return True


@kernel
def reduce_vectors(
    e: Elimination, q: Floats, l: Floats, u: Floats, lb: Floats, ub: Floats, lower: Floats, upper: Floats
) -> None:
    """Write the cost (q + P x_0)'Z of the reduced program, and the sides of its rows and variables."""
    x0, y = e.x0, e.y0
    for k in range(e.independent.size):
        x0[e.independent[k]] = 0.0
    for k in range(e.given.size):
        x0[e.given[k]] = lb[e.given[k]]
    define(e, u, x0)
    add_gradient(e, x0, q, e.gradient)
    for k in range(e.kept.size):
        y[e.kept[k]] = 0.0
    define_multipliers(e, e.gradient, y)
    rows = e.kept.size + e.bounded.size
    for c in range(e.independent.size):
        j = e.independent[c]
        total = e.gradient[j]
        for k in range(e.indptr[j], e.indptr[j + 1]):
            total += e.data[k] * y[e.indices[k]]
        e.cost[c], lower[rows + c], upper[rows + c] = total, lb[j], ub[j]
    for r in range(e.kept.size):
        i = e.kept[r]
        shift = 0.0
        for k in range(e.t_indptr[i], e.t_indptr[i + 1]):
            shift += e.t_data[k] * x0[e.t_indices[k]]
        lower[r], upper[r] = l[i] - shift, u[i] - shift
    for r in range(e.bounded.size):
        j, at = e.bounded[r], e.kept.size + r
        lower[at], upper[at] = lb[j] - x0[j], ub[j] - x0[j]


@kernel
def lift(
    e: Elimination, q: Floats, u: Floats, lb: Floats, v: Floats, w: Floats, x: Floats, multipliers: Floats
) -> None:
    """Write x and (y, z_bounds) of the program for v and the multipliers w of the reduced program."""
    for c in range(e.independent.size):
        x[e.independent[c]] = v[c]
    for k in range(e.given.size):
        x[e.given[k]] = lb[e.given[k]]
    define(e, u, x)
    add_gradient(e, x, q, e.gradient)
    lift_multipliers(e, e.gradient, w, multipliers)


@kernel
def lift_multipliers(e: Elimination, gradient: Floats, w: Floats, multipliers: Floats) -> None:
    """Write (y, z_bounds), with gradient + A'y + z = 0, for the multipliers w of the reduced rows and variables.

    `gradient` becomes gradient + z.
    """
    rows, y, z = e.kept.size + e.bounded.size, multipliers[: e.m], multipliers[e.m :]
    multipliers[:] = 0.0
    for r in range(e.kept.size):
        y[e.kept[r]] = w[r]
    for r in range(e.bounded.size):
        z[e.bounded[r]] = w[e.kept.size + r]
        gradient[e.bounded[r]] += w[e.kept.size + r]
    for c in range(e.independent.size):
        z[e.independent[c]] = w[rows + c]
    define_multipliers(e, gradient, y)
    for k in range(e.given.size):
        j = e.given[k]
        total = gradient[j]
        for p in range(e.indptr[j], e.indptr[j + 1]):
            total += e.data[p] * y[e.indices[p]]
        z[j] = -total


def elimination_of(program: QuadraticProgram) -> Elimination | None:
    """Return the elimination of the variables that equalities of `program` define, or None if there are none."""
    A, m, n = program.A, program.m, program.n
    t_indptr, t_indices, source = np.empty(m + 1, INT), np.empty_like(A.indices), np.empty_like(A.indices)
    transpose(m, A.indptr, A.indices, t_indptr, t_indices, source)
    is_equal = (program.l == program.u) & np.isfinite(program.l)
    is_given = program.lb == program.ub
    has_bound = np.isfinite(program.lb) | np.isfinite(program.ub)
    e = Elimination(
        m=m, n=n, indptr=A.indptr, indices=A.indices, data=A.data, t_indptr=t_indptr, t_indices=t_indices,
        t_data=A.data[source], variables=np.empty(n, INT), rows=np.empty(n, INT), pivots=np.empty(n),
    )  # fmt: skip
    e.count = find_definitions(e, is_equal, is_given, has_bound)
    if e.count == 0:
        return None
    e.variables, e.rows, e.pivots = (array[n - e.count :] for array in (e.variables, e.rows, e.pivots))
    P = program.hessian.source if program.hessian.is_sparse else csc_of_dense(program.hessian.dense())
    e.P_indptr, e.P_indices, e.P_data = P.indptr, P.indices, P.data
    use, is_kept = e.use, np.isfinite(program.l) | np.isfinite(program.u)
    use[:], is_kept[e.rows] = np.where(is_given, GIVEN, INDEPENDENT), False
    use[e.variables] = np.where(has_bound[e.variables], BOUNDED, DEPENDENT)
    e.independent, e.given = np.flatnonzero(use == INDEPENDENT), np.flatnonzero(use == GIVEN)
    e.kept, e.bounded = np.flatnonzero(is_kept), np.flatnonzero(use == BOUNDED)
    e.cost = np.empty(e.independent.size)
    return e


def reduced_matrices(program: QuadraticProgram, e: Elimination) -> tuple[np.ndarray, np.ndarray] | None:
    """Return Z'PZ and the rows [A; I] Z of the reduced program, or None if definitions grow beyond `GROWTH`."""
    Z = np.empty((program.n, e.independent.size))
    if not fill_basis(e, Z) <= GROWTH:
        return None
    P = Z.T @ (program.hessian.source @ Z)
    rows = np.vstack([program.A[e.kept] @ Z, Z[e.bounded]])
    return 0.5 * (P + P.T), rows
