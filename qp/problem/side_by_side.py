"""The residuals of `qp.problem.stopping` for dense programs in lanes of vector registers, in twice the precision."""

from __future__ import annotations

from socp.batch.driver import Batch, gather, run, take_matrices
from socp.batch.points import Points, fill_points, finish, measure_block, measure_gradient
from socp.batch.state import Lanes
from socp.compiled.clock import clock
from socp.compiled.kernels import deferred_kernel
from socp.compiled.signatures import Floats, Ints, Matrix
from socp.compiled.vec import LANES, load, store


@deferred_kernel
def verify(batch: Batch, w: Points, begin: int, end: int) -> None:
    """Test the answers from `begin` to `end` on the caller's data."""
    m, n = w.m, w.n
    for first in range(begin, end, LANES):
        fill_points(batch, w, first, end)
        measure_gradient(w)
        for j in range(n):
            store(w.v, m + j, load(w.x, j))
            store(w.v_low, m + j, 0.0)
        w.rows, w.rows_scale = measure_block(w, 0, m)
        w.cone, w.cone_scale = measure_block(w, m, m + n)
        finish(batch, w, first, end)


@deferred_kernel
def load_program(batch: Batch, w: Lanes, points: Points, P: Matrix, indptr: Ints, indices: Ints, data: Floats) -> None:
    """Take P, and A by columns, as those of the only program of a batch; rows with one entry are bounds."""
    m, n, own_P, own_A = batch.m, batch.n, batch.P[0], batch.A[0]
    for i in range(n):
        for j in range(n):
            own_P[i * n + j] = P[i, j]
    for i in range(m):
        w.bound[i] = 0
        for j in range(n):
            own_A[i * n + j] = 0.0
    for j in range(n):
        for k in range(indptr[j], indptr[j + 1]):
            own_A[indices[k] * n + j] = data[k]
            w.bound[indices[k]] += int(data[k] != 0.0)
    for i in range(m):
        w.bound[i] = points.bound[i] = int(w.bound[i] == 1)
    take_matrices(batch, w, 0)
    gather(batch, points.spans, 0, points.P, points.A)


@deferred_kernel
def solve_one(batch: Batch, w: Lanes, points: Points) -> None:
    """Solve the only program of a batch, and test its answer."""
    started = clock()
    run(batch, w, 0, 1)
    verify(batch, points, 0, 1)
    batch.trace[min(batch.iterations[0], batch.trace.size - 1)]["seconds"] = clock() - started
