"""One small program in a lane: its data taken, solved and tested in two calls."""

from __future__ import annotations

from socp.batch.driver import Batch, run, take_matrices
from socp.batch.state import Lanes
from socp.batch.verify import Verifier, verify
from socp.compiled.clock import clock
from socp.compiled.kernels import deferred_kernel, inner
from socp.compiled.signatures import Bools, Floats, Ints, Matrix


@deferred_kernel
def load_program(batch: Batch, w: Lanes, test: Verifier, P: Matrix, indptr: Ints, indices: Ints, data: Floats) -> None:
    """Take P, and A by columns, as those of the only program of a batch, into its lane."""
    copy_program(batch, test, P, indptr, indices, data)
    for i in range(batch.m):
        w.bound[i] = int(test.bound[i])
    take_matrices(batch, w, 0)


@inner
def copy_program(batch: Batch, test: Verifier, P: Matrix, indptr: Ints, indices: Ints, data: Floats) -> None:
    """Copy P, and A by columns, to the only program of a batch; rows with one entry are bounds."""
    m, n, own_P, own_A = batch.m, batch.n, batch.P[0], batch.A[0]
    for i in range(n):
        for j in range(n):
            own_P[i * n + j] = P[i, j]
    for i in range(m):
        test.bound[i] = 0.0
        for j in range(n):
            own_A[i * n + j] = 0.0
    for j in range(n):
        for k in range(indptr[j], indptr[j + 1]):
            own_A[indices[k] * n + j] = data[k]
            test.bound[indices[k]] += 1.0 if data[k] != 0.0 else 0.0
    for i in range(m):
        test.bound[i] = 1.0 if test.bound[i] == 1.0 else 0.0
    test.held = -1


@deferred_kernel
def solve_one(batch: Batch, w: Lanes, test: Verifier, start: Ints, second_order: Bools) -> None:
    """Solve the only program of a batch, and test its answer."""
    started = clock()
    run(batch, w, 0, 1)
    verify(batch, test, start, second_order, 0, 1)
    batch.trace[min(batch.iterations[0], batch.trace.size - 1)]["seconds"] = clock() - started
