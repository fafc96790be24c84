"""Small quadratic programs: the answers of any other way, under every update, in any units."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
from qp import QuadraticProgram
from socp import ProgramError, Status


def box(n=8, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n))
    rows = rng.normal(size=(3, n))
    return QuadraticProgram(F @ F.T, rng.normal(size=n), rows, -np.ones(3), [0.5, np.inf, 0.5], -1.0, 1.0)


def test_a_hardly_indefinite_P_is_judged_by_its_own_diagonal():
    # -1 next to 1e10 exceeds rounding; with bounds of 2e6, -1e-9 next to 1e3 changes the objective by 2000
    for P, size in ((np.diag([1e10, -1.0]), 1.0), (np.diag([1e3, -1e-9]), 2e6)):
        with pytest.raises(ProgramError, match="P must be positive semidefinite"):
            qp.Solver(QuadraticProgram(P, [0.0, 0.0], lb=-size, ub=size))
    assert qp.solve(np.diag([1.0, -1e-15]), [1.0, 1.0], lb=-1.0, ub=1.0).status is Status.OPTIMAL


@pytest.mark.parametrize("presolve", [True, False])
def test_a_P_that_is_indefinite_in_fixed_variables_only_is_refused_all_the_same(presolve):
    # fixed by equal bounds, and by a row that presolve turns into bounds
    for more in ({"lb": [-1.0, 2.0], "ub": 2.0}, {"A": [[0.0, 3.0]], "l": 6.0, "u": 6.0}):
        with pytest.raises(ProgramError, match="P must be positive semidefinite"):
            qp.solve(np.diag([1.0, -1.0]), [0.0, 0.0], presolve=presolve, **more)
    fixed = qp.Solver(QuadraticProgram(sp.eye_array(2), [0.0, 0.0], lb=[-1.0, 2.0], ub=2.0), presolve=presolve)
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        fixed.update(P_data=[1.0, -1.0])
    assert fixed.solve().objective == pytest.approx(2.0)


def test_answers_do_not_share_memory():
    solver = qp.Solver(box())
    one = solver.solve()
    kept = one.x.copy()
    one.x[:] = 7.0
    one.cone_solution.x[:] = 7.0
    other = solver.solve(warm_start=True)
    np.testing.assert_allclose(other.x, kept, atol=1e-6)
