"""A quadratic program made smaller before it is solved, and its multipliers afterwards.

    empty row       l <= 0 <= u                           left out, its multiplier is 0
    parallel rows   l <= a'x <= u,  l' <= s a'x <= u'     one row with the tighter sides; y' = y / s where they are its
    singleton row   l <= a x_j <= u                       bounds of x_j; y = z_j / a where they are the tighter ones
    empty column    no entry in A nor in P                x_j at its better bound (any value between them when q_j = 0)

What equal bounds fix counts as gone: its entries move to the sides, and rows become singletons or empty by that.
(`conic` substitutes the fixed variables.)  A multiplier that moves from a bound of x_j to its row i also acts, by
a_ik y_i, on the fixed variables k of that row; they take it up in z_k, those that were fixed last first.

A contradiction (an empty row with 0 < l, bounds that cross) stays in the program as it is: the engine certifies it.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from socp.compiled.jit import kernel
from socp.form.hessian import diagonal
from socp.linalg.csc import csc, transposed
from socp.problem.lowrank import LowRank

from ..problem.program import QuadraticProgram

ROUNDING = 1e-12  # sides that miss each other by less than this, relative to their size, are equal
NONE = np.int64(-1)


class Presolve:
    """What can be left out of one program.

    Parameters
    ----------
    program : QuadraticProgram
    wanted : bool
        When False nothing is looked for.

    Attributes
    ----------
    program : QuadraticProgram
        What is left: the same variables with tighter bounds, fewer rows.  The given one where nothing was found.
    kept : array of bool, shape (m,), or None
        The rows that are left; None where nothing was found.
    """

    def __init__(self, program: QuadraticProgram, wanted: bool = True) -> None:
        self.program, self.kept = program, None
        A = program.A
        live, twin = np.zeros(program.m, dtype=np.int64), np.full(program.m, NONE)
        if not wanted or not find_candidates(
            A.indptr, A.indices, A.data, program.l, program.u, program.lb, program.ub, diagonal(program.P, program.n),
            live, twin,
        ):  # fmt: skip
            return
        kept, l, u = np.ones(program.m, dtype=np.bool_), program.l.copy(), program.u.copy()
        lb, ub = program.lb.copy(), program.ub.copy()
        self.rows, self.values = transposed(program.m, A.indptr, A.indices), A.data
        self._merge(twin, l, u, kept)
        self._tighten(program, live, l, u, lb, ub, kept)
        settled = self._settle(program, kept, lb, ub)
        if kept.all() and not settled:
            return
        self.kept = kept
        A = A if kept.all() else _rows_kept(A, kept)
        self.program = QuadraticProgram.of_checked(program.P, program.q, A, l[kept], u[kept], lb, ub, program.offset)

    def _merge(self, twin: np.ndarray, l: np.ndarray, u: np.ndarray, kept: np.ndarray) -> None:
        """One row in place of parallel ones."""
        m = kept.size
        self.ratio = np.ones(m)  # a row is ratio times the one that stands for it
        self.upper_twin, self.lower_twin = np.full(m, NONE), np.full(m, NONE)  # the rows that a side comes from
        indptr, indices, source = self.rows
        merge_rows(
            indptr, indices, source, self.values, twin, l, u, kept, self.ratio, self.upper_twin, self.lower_twin
        )  # fmt: skip

    def _tighten(
        self, program: QuadraticProgram, live: np.ndarray, l: np.ndarray, u: np.ndarray, lb: np.ndarray,
        ub: np.ndarray, kept: np.ndarray,
    ) -> None:  # fmt: skip
        """Bounds in place of singleton rows, again and again as they fix variables."""
        n, A = program.n, program.A
        self.upper_row, self.lower_row = np.full(n, NONE), np.full(n, NONE)  # the rows that a bound comes from
        fixed = np.empty(n, dtype=np.int64)
        count = tighten_bounds(
            *self.rows, A.indptr, A.indices, A.data, l, u, lb, ub, live, kept, self.upper_row, self.lower_row, fixed
        )
        tightened = np.flatnonzero((self.upper_row >= 0) | (self.lower_row >= 0))
        self.backwards = np.concatenate([np.setdiff1d(tightened, fixed[:count]), fixed[:count][::-1]])

    def _settle(self, program: QuadraticProgram, kept: np.ndarray, lb: np.ndarray, ub: np.ndarray) -> bool:
        """Variables without entries at their better bounds; whether there is one that has it."""
        A = program.A
        entries = np.zeros(program.n, dtype=np.int64)
        count_entries(A.indptr, A.indices, A.data, kept, entries)
        j = np.flatnonzero((entries == 0) & (lb < ub))
        j = j[_hessian_is_empty(program.P, j)]
        best = np.select([program.q[j] > 0.0, program.q[j] < 0.0], [lb[j], ub[j]], np.clip(0.0, lb[j], ub[j]))
        j, best = j[np.isfinite(best)], best[np.isfinite(best)]
        lb[j] = ub[j] = best
        return bool(j.size)

    def fits(self, other: Presolve) -> bool:
        """Whether the same rows are left."""
        if self.kept is None or other.kept is None:
            return self.kept is other.kept
        return np.array_equal(self.kept, other.kept)

    def dual(self, y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The multipliers (y, z_bounds) of the given program from those of what is left of it."""
        if self.kept is None:
            return y, z
        rows, bounds = np.zeros(self.kept.size), z.copy()
        rows[self.kept] = y
        give_back(
            *self.rows, self.values, self.backwards, self.upper_row, self.lower_row, self.upper_twin, self.lower_twin,
            self.ratio, rows, bounds,
        )  # fmt: skip
        return rows, bounds


def _rows_kept(A: sp.csc_array, kept: np.ndarray) -> sp.csc_array:
    place = np.cumsum(kept) - 1
    inside = kept[A.indices]
    indptr = np.concatenate([[0], np.cumsum(inside)])[A.indptr]
    return csc(A.data[inside], place[A.indices[inside]], indptr, (int(kept.sum()), A.shape[1]))


def _hessian_is_empty(P: sp.csc_array | np.ndarray | LowRank | None, j: np.ndarray) -> np.ndarray:
    """For each of the variables j whether its column of P has no entry."""
    if P is None or not j.size:
        return np.ones(j.size, dtype=np.bool_)
    empty = diagonal(P, P.shape[0])[j] == 0.0
    for k in np.flatnonzero(empty):  # the diagonal decides where P is semidefinite, which is not known yet
        unit = np.zeros(P.shape[0])
        unit[j[k]] = 1.0
        empty[k] = not (P @ unit).any()
    return empty


@kernel
def find_candidates(A_indptr, A_indices, A_data, l, u, lb, ub, diagonal, live, twin):
    """live := the entries of each row in variables that are not fixed; twin := an earlier row that may be parallel.

    Returns how many rows have at most one live entry or a twin, and how many variables no entry, nor one in the
    diagonal of P.
    """
    m, n = l.size, lb.size
    first, key = np.zeros(m), np.zeros(m, np.int64)
    mask = (1 << 62) - 1
    candidates = 0
    for j in range(n):
        entries = 0
        for k in range(A_indptr[j], A_indptr[j + 1]):
            i, a = A_indices[k], A_data[k]
            if a == 0.0 or not (math.isfinite(l[i]) or math.isfinite(u[i])):
                continue
            entries += 1
            if first[i] == 0.0:
                first[i] = a
            if lb[j] < ub[j]:
                live[i] += 1
            ratio = a / first[i]
            rounded = np.int64(math.floor(ratio * 1048576.0 + 0.5)) if abs(ratio) < 1e12 else np.int64(1)
            value = ((int(key[i]) ^ (j + 1)) * 1099511) & mask
            key[i] = ((value ^ (int(rounded) & mask)) * 1099511) & mask
        candidates += int(entries == 0 and diagonal[j] == 0.0)
    size = 4
    while size < 2 * m:
        size *= 2
    table = np.full(size, -1)
    for i in range(m):
        if not (math.isfinite(l[i]) or math.isfinite(u[i])):
            continue
        if live[i] <= 1:
            candidates += 1
            continue
        place = (int(key[i]) ^ (int(key[i]) >> 20)) & (size - 1)
        while table[place] >= 0 and key[table[place]] != key[i]:
            place = (place + 1) & (size - 1)
        if table[place] >= 0:
            twin[i] = table[place]
            candidates += 1
        else:
            table[place] = i
    return candidates


@kernel
def row_ratio(i, r, indptr, indices, source, data):
    """The s with row i = s row r to within rounding; 0 when there is none."""
    length = indptr[i + 1] - indptr[i]
    if length != indptr[r + 1] - indptr[r]:
        return 0.0
    a, b = data[source[indptr[i]]], data[source[indptr[r]]]
    if a == 0.0 or b == 0.0:
        return 0.0
    for k in range(length):
        left, right = data[source[indptr[i] + k]] * b, data[source[indptr[r] + k]] * a
        if indices[indptr[i] + k] != indices[indptr[r] + k] or abs(left - right) > 1e-15 * abs(left):
            return 0.0
    return a / b


@kernel
def close(a, b):
    """Whether two finite sides differ by rounding."""
    return abs(a - b) <= ROUNDING * max(1.0, abs(a), abs(b))


@kernel
def merge_rows(indptr, indices, source, data, twin, l, u, kept, ratio, upper_twin, lower_twin):
    """Take rows out (kept := False) that are parallel to their twins, whose sides become the tighter ones."""
    for i in range(twin.size):
        r = twin[i]
        s = 0.0 if r < 0 else row_ratio(i, r, indptr, indices, source, data)
        if s == 0.0:
            continue
        lower, upper = (l[i] / s, u[i] / s) if s > 0.0 else (u[i] / s, l[i] / s)
        if (lower > u[r] and not close(lower, u[r])) or (upper < l[r] and not close(upper, l[r])):
            continue
        kept[i], ratio[i] = False, s
        if lower > l[r]:
            l[r], lower_twin[r] = min(lower, u[r]), i
        if upper < u[r]:
            u[r], upper_twin[r] = max(upper, l[r]), i


@kernel
def tighten_bounds(
    indptr, indices, source, A_indptr, A_indices, A_data, l, u, lb, ub, live, kept, upper_row, lower_row, fixed
):
    """Take rows with at most one live entry out, as bounds; fixed := the variables that this fixes, in this order.

    upper_row, lower_row := the rows that bounds come from.  Returns the number of variables that were fixed.
    """
    stack = np.empty(l.size, np.int64)
    waiting, count = 0, 0
    for i in range(l.size - 1, -1, -1):
        if kept[i] and live[i] <= 1 and (math.isfinite(l[i]) or math.isfinite(u[i])):
            stack[waiting] = i
            waiting += 1
    while waiting > 0:
        waiting -= 1
        i = stack[waiting]
        moved, size, j, a = 0.0, 0.0, -1, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value, v = A_data[source[k]], indices[k]
            if value == 0.0:
                continue
            if lb[v] < ub[v]:
                j, a = v, value
            else:
                moved += value * lb[v]
                size = max(size, abs(value * lb[v]))
        if j < 0:
            slack = ROUNDING * max(1.0, size)
            kept[i] = not (l[i] - slack <= moved <= u[i] + slack)
            continue
        lower, upper = (l[i] - moved) / a, (u[i] - moved) / a
        if a < 0.0:
            lower, upper = upper, lower
        if (lower > ub[j] and not close(lower, ub[j])) or (upper < lb[j] and not close(upper, lb[j])):
            continue
        kept[i] = False
        if lower > lb[j]:
            lb[j], lower_row[j] = min(lower, ub[j]), i
        if upper < ub[j]:
            ub[j], upper_row[j] = max(upper, lb[j]), i
        if lb[j] < ub[j]:
            continue
        fixed[count] = j
        count += 1
        for k in range(A_indptr[j], A_indptr[j + 1]):
            i = A_indices[k]
            if kept[i] and A_data[k] != 0.0 and (math.isfinite(l[i]) or math.isfinite(u[i])):
                live[i] -= 1
                if live[i] == 1:  # the only time that a row comes here, so that the stack is long enough
                    stack[waiting] = i
                    waiting += 1
    return count


@kernel
def count_entries(A_indptr, A_indices, A_data, kept, entries):
    """entries := the entries of each column in the rows that are kept."""
    for j in range(entries.size):
        for k in range(A_indptr[j], A_indptr[j + 1]):
            entries[j] += int(kept[A_indices[k]] and A_data[k] != 0.0)


@kernel
def give_back(indptr, indices, source, data, backwards, upper_row, lower_row, upper_twin, lower_twin, ratio, y, z):
    """Move multipliers from bounds and merged rows to the rows that these come from."""
    for q in range(backwards.size):
        j = backwards[q]
        i = upper_row[j] if z[j] > 0.0 else lower_row[j]
        if i < 0 or z[j] == 0.0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] == j:
                y[i] = z[j] / data[source[k]]
        for k in range(indptr[i], indptr[i + 1]):
            z[indices[k]] -= data[source[k]] * y[i]
        z[j] = 0.0
    for r in range(y.size):
        i = upper_twin[r] if y[r] > 0.0 else lower_twin[r]
        if i >= 0 and y[r] != 0.0:
            y[i] = y[r] / ratio[i]
            y[r] = 0.0
