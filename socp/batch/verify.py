"""The stopping test of the engine (`socp.verify.stopping`) for the answers of lanes, on the caller's own data."""

from __future__ import annotations

import math

import numpy as np

from ..compiled.kernels import inner, kernel
from ..compiled.signatures import Bools, Ints
from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number, part
from ..kernel_groups import announce
from ..linalg.accurate import add_rows, rounded
from ..linalg.dense import transpose_dense
from ..problem.settings import Settings
from ..verify.constraints import measure_sides, measure_slacks
from ..verify.distances import NO_CONES
from ..verify.stopping import Measured, measure_gradient, meets, prepare
from .driver import FAILED, OPTIMAL, Batch, unit_of

NO_LAYOUT = NO_CONES, NO_CONES[:0] > 0  # cone layout of programs without cones
NO_ROWS = {"orthant": NO_CONES[:0], "singles": NO_CONES[:0], "slots": NO_CONES[:0], "values": np.empty((0, 0))}

announce(lanes=["socp.batch.driver.run", "socp.batch.driver.take_matrices", "socp.batch.verify"])


class Verifier(Structure):
    """Kinds of the rows of a batch, and work arrays for the test of one answer.

    The last rows belong to cones, to orthants where `orthant` is 1; the other rows have two sides.  The residual of a
    `bound` is relative to its own side.  The lanes treated `singles`, rows of orthants with one entry, as bounds: 2 j
    in `slots` is the lower bound of variable j, 2 j + 1 the upper one.  `values`, the entries of `singles`, have one
    row or one for each program.  `At` is A' of program `held`, which is -1 at first.
    """

    m, n = dimension(), dimension()
    bound, tol, tol_abs = floats("m"), number(), number()
    orthant, singles, slots, values = integers(), integers(), integers(), matrix()
    At, held = matrix("n, m"), integer()
    Px, dual, v, rows = floats("2 * n"), floats("2 * n"), floats("2 * m"), floats("6 * m")
    measured = part(Measured)


def verifier_for(batch: Batch, bound: np.ndarray, settings: Settings, **rows: np.ndarray) -> Verifier:
    """Return the `Verifier` of a batch; `rows` are its fields for the rows of cones."""
    verifier = Verifier(m=batch.m, n=batch.n, **(rows or NO_ROWS))
    verifier.bound[:], verifier.held, verifier.tol = bound[: batch.m], -1, settings.tol
    verifier.tol_abs = np.inf if settings.tol_abs is None else settings.tol_abs
    return verifier


@kernel
def verify(batch: Batch, verifier: Verifier, start: Ints, second_order: Bools, begin: int, end: int) -> None:
    """Convert the answers of programs begin:end to the caller's rows, test them, and mark answers that fail."""
    m, p, found, nothing = batch.m, batch.m - verifier.orthant.size, verifier.measured, verifier.bound[:0]
    for i in range(begin, end):
        l, u = batch.l[min(i, batch.l.shape[0] - 1)], batch.u[min(i, batch.u.shape[0] - 1)]
        q, x, y = batch.q[min(i, batch.q.shape[0] - 1)], batch.x[i], batch.y[i]
        for k in range(p, m):  # Multipliers of orthants are nonnegative; rows that are bounds get theirs below.
            if verifier.orthant[k - p] and y[k] < 0.0:
                y[k] = 0.0
        for k in range(verifier.singles.size):
            multiplier = y[m + verifier.slots[k] // 2] / verifier.values[min(i, verifier.values.shape[0] - 1), k]
            y[p + verifier.singles[k]] = multiplier if multiplier > 0.0 or multiplier != multiplier else 0.0
        if p < m:
            y[m:] = 0.0
        multiply(batch, verifier, i)
        prepare(found, unit_of(batch, i))
        values = verifier.v
        if p < m:
            take_rows(verifier, 0, p)
            values = verifier.rows[: 2 * p]
        measure_sides(l[:p], u[:p], values, y[:p], verifier.bound[:p], nothing, False, found)
        if p < m:
            take_rows(verifier, p, m)
            for k in range(m - p):  # The slack of an orthant is max(h - G x, 0), infinite where h is infinite.
                if verifier.orthant[k]:
                    slack = max(-rounded(verifier.rows[k] - u[p + k], verifier.rows[m - p + k]), 0.0)
                    batch.s[i, k] = slack if math.isfinite(u[p + k]) else np.inf
            measure_slacks(
                start, second_order, u[p:m], batch.s[i], y[p:m], verifier.rows[: 6 * (m - p)], nothing, found
            )
        else:
            measure_sides(l[m:], u[m:], x, y[m:], nothing, nothing, True, found)
        measure_gradient(verifier.Px, q, x, nothing, 0.0, verifier.dual, found)
        if batch.code[i] == OPTIMAL and not meets(found, verifier.tol, verifier.tol_abs):
            batch.code[i] = FAILED
        write_numbers(found, batch, i)


@inner
def write_numbers(found: Measured, batch: Batch, i: int) -> None:
    """Write the objectives and the relative residuals of answer i."""
    rows, cone = found.rows / found.rows_scale, found.cone / found.cone_scale
    batch.numbers[0, i], batch.numbers[1, i] = found.primal_objective, found.dual_objective
    batch.numbers[2, i] = max(rows, cone) if rows == rows and cone == cone else np.nan
    batch.numbers[3, i] = found.dual / found.dual_scale
    batch.numbers[4, i] = found.gap / found.gap_scale


@inner
def multiply(batch: Batch, verifier: Verifier, i: int) -> None:
    """Compute P x, A x and A'y + z of program i, z the multipliers of bounds, each followed by its rounding errors."""
    m, n, x, y = batch.m, batch.n, batch.x[i], batch.y[i]
    A = batch.A[min(i, batch.A.shape[0] - 1)].reshape((m, n))
    if verifier.held < 0 or batch.A.shape[0] > 1:
        verifier.held = i
        transpose_dense(A, verifier.At)
    verifier.Px[:], verifier.v[:], verifier.dual[n:] = 0.0, 0.0, 0.0
    for j in range(n):
        verifier.dual[j] = y[m + j]
    add_rows(batch.P[min(i, batch.P.shape[0] - 1)].reshape((n, n)), x, verifier.Px[:n], verifier.Px[n:])
    add_rows(verifier.At, x, verifier.v[:m], verifier.v[m:])
    add_rows(A, y[:m], verifier.dual[:n], verifier.dual[n:])


@inner
def take_rows(verifier: Verifier, first: int, end: int) -> None:
    """rows := (A x)[first:end], its rounding errors, and 1 for each row that is a bound."""
    count = end - first
    for k in range(count):
        verifier.rows[k], verifier.rows[count + k], verifier.rows[2 * count + k] = (
            verifier.v[first + k],
            verifier.v[verifier.m + first + k],
            verifier.bound[first + k],
        )
