"""The choice between the ways of solving the KKT systems."""

import numpy as np
import pytest
import scipy.sparse as sp

from socp import ConeProgram, NonNeg, Solver
from socp.kkt.dense import DenseKKT
from socp.kkt.sparse import SparseKKT


def with_dense_rows(count, diagonal):
    """A program in 200 variables with that many dense rows and a sparse P, diagonal or with the bands beside it."""
    n, rng = 200, np.random.default_rng(0)
    offsets = [0] if diagonal else [-1, 0, 1]
    P = sp.diags_array([rng.uniform(0.1, 0.4, n - abs(k)) if k == 0 else np.full(n - 1, 0.03) for k in offsets],
                       offsets=offsets, format="csc")  # fmt: skip
    G = np.vstack([rng.normal(size=(count, n)), -np.eye(n)])
    return ConeProgram(rng.normal(size=n), G, np.r_[np.full(count, 10.0), np.zeros(n)], [NonNeg(count + n)], P=P)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("count, way", [(8, SparseKKT), (600, DenseKKT)])
def test_few_dense_rows_stay_behind_a_sparse_hessian(count, way, diagonal):
    program = with_dense_rows(count, diagonal)
    solver = Solver(program)
    assert isinstance(solver.kkt, way)
    found = solver.solve()
    for other in ("ldl", "dense"):
        assert found.objective == pytest.approx(Solver(program, kkt=other).solve().objective, rel=1e-6)


def test_a_dense_hessian_takes_cholesky_with_few_rows_too():
    program = with_dense_rows(8, True)
    root = np.random.default_rng(1).normal(size=(200, 200)) / 20.0
    assert isinstance(
        Solver(ConeProgram(program.c, program.G, program.h, program.cones, P=root.T @ root)).kkt, DenseKKT
    )
