"""One round of the active set, for `method` and for kernel machines: descent if it is due, then a Newton step.

Descent, each time to smaller gains, is due at the start, after `ROUNDS_AT_ONCE` Newton steps, and after a Newton step
that was shortened or not taken.
"""

from __future__ import annotations

import numpy as np

from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats, Ints

from .boxed import Block, BoxedProgram, Face, extremes, need_rows, row_multiplier
from .coordinate_descent import TINY, add_rows, descend_in_blocks
from .face_newton import (
    NO_DESCENT,
    NOT_DEFINITE,
    SHIFTS,
    SHORTENED,
    TAKEN,
    find_free,
    largest_dual_violation,
    step_on_face,
)

FIRST_TOL, NEXT_TOL = 1e-5, 1e-2  # target of the first descent relative to the first gain; factor for later descents
FIRST_READ, MAX_READ = 3.0, 14.0  # rows of P that one descent, and all, may read, relative to the order of P
MAX_SHARE = 5.0  # largest work of all factorizations on faces, relative to one factorization of P
MAX_ROUNDS, ROUNDS_AT_ONCE = 40, 6  # rounds in total; rounds of Newton's method between two descents
STUCK = 0.1  # if Newton's method finds no descent at a gain above this share of the first gain, the method fails
EXACT = 1e-2  # share of the tolerance within which wrong multipliers count as zero and active sides must hold

ONGOING, SETTLED, DESCENT_DUE, FAILED = range(4)  # outcomes of a round; SETTLED: all multipliers have the right sign


@kernel
def meet_row(program: BoxedProgram, row: int, order: Ints) -> float:
    """Move the variables of a row, in `order`, each as far as its bounds allow, until the row holds.

    Return how much a'x is short of the row's side in the end.
    """
    a, x, missing = program.a, program.x, program.sides[row]
    for k in range(program.ends[row], program.ends[row + 1]):
        missing -= a[k] * x[k]
    for r in range(order.size):
        k = order[r]
        if missing == 0.0:
            break
        if a[k] != 0.0:
            way = missing / a[k]
            move = min(max(way, program.lb[k] - x[k]), program.ub[k] - x[k])
            end = program.ub[k] if way > 0.0 else program.lb[k]
            x[k] = x[k] + move if move == way else end
            missing = 0.0 if move == way else missing - a[k] * move
    return missing  # type: ignore[no-any-return]


@kernel
def bound_multipliers(program: BoxedProgram, z: Floats) -> None:
    """Set z_k = -v_k for the variables at the bound at which v_k holds them, and z_k = 0 for the others."""
    x, lb, ub = program.x, program.lb, program.ub
    for k in range(program.count):
        v = program.g[k] + program.a[k] * program.multipliers[int(k >= program.ends[1])]
        z[k] = 0.0 if (v > 0.0 and x[k] > lb[k]) or (v < 0.0 and x[k] < ub[k]) else -v


@inner
def add_gradient(program: BoxedProgram) -> None:
    """Compute g := P x + q from the rows of P whose variables are nonzero."""
    at, d, count = np.empty(program.count, np.int64), np.empty(program.count), 0
    for r in range(program.count):
        program.g[r] = program.q[r]
        if program.x[r] != 0.0:
            at[count], d[count] = r, program.x[r]
            count += 1
    need_rows(program, at, count)
    add_rows(program.P, at, d, count, program.g)


@kernel
def begin(program: BoxedProgram, face: Face, exact: float, max_share: float) -> None:
    """Initialize a run at x; factorizations may take `max_share` times the work of factoring all of P."""
    add_gradient(program)
    program.newton, program.exact, program.share, face.shift = 0, exact, FIRST_TOL, SHIFTS[0]
    program.outcome, program.rows_read, program.work, program.first_gain = TAKEN, 0, 0.0, 0.0
    program.max_work, program.max_read = max_share * float(program.count) ** 3 / 3.0, MAX_READ * program.count
    for row in range(2):
        i, j, low, high = extremes(program, program.ends[row], program.ends[row + 1])
        y = row_multiplier(i, j, low, high) if program.ends[1] < program.ends[2] else 0.0
        for k in range(program.ends[row], min(program.ends[row + 1], program.count)):
            if program.lb[k] < program.ub[k]:
                own = max(program.diagonal[k], TINY * program.largest)
                program.first_gain = max(program.first_gain, (program.g[k] + program.a[k] * y) ** 2 / own)
    program.gain = program.first_gain


@inner
def descend_again(program: BoxedProgram, block: Block) -> bool:
    """Descend to smaller gains than the last descent; return False if descent no longer helps."""
    first, read, before = program.first_gain, program.rows_read, program.gain
    if read > 0:
        is_stuck = program.outcome == NO_DESCENT and before > STUCK * first
        if is_stuck or read > program.max_read:
            return False
    enough = program.share * first
    descend_in_blocks(program, block, enough, min(read + FIRST_READ * program.count, program.max_read))
    program.share *= NEXT_TOL
    if program.rows_read >= program.max_read < MAX_READ * program.count:
        return False  # the caller has another method for programs that take longer
    return read == 0 or program.gain <= max(0.5 * before, enough / NEXT_TOL)


@inner
def size_of_gradient(program: BoxedProgram) -> float:
    """Return 1 + max(norm(P x, inf), norm(q, inf))."""
    scale = 0.0
    for r in range(program.count):
        scale = max(scale, abs(program.q[r]), abs(program.g[r] - program.q[r]))
    return 1.0 + scale


@kernel
def newton_round(program: BoxedProgram, face: Face, tol: float) -> int:
    """Take a Newton step on the face of the free variables; return its outcome; slopes within `tol` count as zero."""
    count = find_free(program, face, tol)
    face.between = count - int(count > 0 and face.free[count - 1] == program.P.shape[0])  # without the row's value
    program.outcome = step_on_face(program, face)
    if program.outcome == NO_DESCENT:  # At the minimum, rounding leaves no descent.
        program.dual_violation = largest_dual_violation(program)
    if (program.outcome == TAKEN or program.outcome == NO_DESCENT) and program.dual_violation <= tol:
        return SETTLED
    if program.outcome == TAKEN:
        return ONGOING
    if program.outcome == NOT_DEFINITE and face.shift == SHIFTS[0]:
        face.shift = SHIFTS[1]
        return ONGOING
    return DESCENT_DUE if program.outcome == NO_DESCENT or program.outcome == SHORTENED else FAILED


@kernel
def next_round(program: BoxedProgram, block: Block, face: Face, tol: float, tol_abs: float) -> int:
    """Run descent, if it is due, and one Newton step for a stopping test with these tolerances; return the outcome."""
    if program.newton == 0 and not descend_again(program, block):
        return FAILED
    program.scale = size_of_gradient(program)
    outcome = newton_round(program, face, program.exact * min(tol * program.scale, tol_abs))
    program.objective, program.newton = 0.0, program.newton + 1
    for r in range(program.count):
        program.objective += 0.5 * program.x[r] * (program.g[r] + program.q[r])
    if outcome == DESCENT_DUE or (outcome == ONGOING and program.newton == ROUNDS_AT_ONCE):
        program.newton = 0
    return outcome
