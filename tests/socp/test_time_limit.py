"""The time limit: it counts the set-up, and is asked before and inside factorizations."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.compiled.clock import clock
from socp.linalg import cholesky as dense
from socp.linalg.ldl.factorization import LDL
from tests.support.sparse_matrices import random_sparse

RNG = np.random.default_rng(0)
F = RNG.normal(size=(90, 90))
DATA = {"P": F @ F.T / 90, "q": RNG.normal(size=90), "A": RNG.normal(size=(40, 90)), "l": -0.1, "u": 0.1}
SPARSE = {**DATA, "P": sp.eye_array(90), "A": random_sparse((40, 90), density=0.1, rng=RNG)}
WAYS = {"dense": DATA, "sparse": SPARSE, "fixed": {**DATA, "lb": [0.5, *89 * [-np.inf]], "ub": [0.5, *89 * [np.inf]]}}


@pytest.mark.parametrize("data", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("settings", [{}, {"active_set": False}, {"presolve": False}])
def test_nothing_is_factored_without_time(data, settings, monkeypatch):
    def fail(*of):
        raise AssertionError("a factorization")

    for name in ("socp.engine.build", "socp.method.run.begin", "socp.form.standard.StandardForm.check_convexity"):
        monkeypatch.setattr(name, fail)
    for solve in (
        lambda: qp.solve(**data, **settings, time_limit=0),
        qp.Solver(**data, **settings, time_limit=0).solve,
    ):
        solution = solve()
        assert solution.status == "time_limit" and solution.iterations == 0 and not solution.x.any()
        assert solution.message.startswith("the limit of 0 seconds is reached in the set-up, before the test of convex")
        assert sum(solution.timings.values()) == pytest.approx(solution.setup_time + solution.solve_time)


def test_a_set_up_without_time_is_made_up_for_by_an_update(monkeypatch):
    for solver in (qp.Solver(**DATA, active_set=False, time_limit=0.0), socp.Solver(c=[1.0], G=[[-1.0]], h=[0.0],
                   cones=[socp.NonNeg(1)], time_limit=0.0)):  # fmt: skip
        assert solver.solve().status == solver.solve().status == "time_limit"
        solver.settings = type(solver.settings)(active_set=False)
        solver.update()
        assert solver.solve().status == "optimal"


def test_the_time_of_the_set_up_counts():
    solver = qp.Solver(**DATA, active_set=False, time_limit=1e3)
    assert solver.solve().status == "optimal"
    solver.setup_time = 1e3
    solution = solver.solve()
    assert solution.status == "time_limit" and solution.iterations == 0
    assert solution.message == "the limit of 1000 seconds is reached, before the first iterate"


@pytest.mark.parametrize("kkt", ["ldl", "dense"])
def test_a_factorization_ends_at_the_limit(kkt, monkeypatch):
    solver = qp.Solver(**DATA, active_set=False, kkt=kkt)
    run = solver.cone_solver.run(False, None)
    assert run.status == "optimal"
    state = solver.cone_solver._state
    state.kkt.until = clock() - 1.0
    assert socp.method.loop.begin(state) == socp.method.loop.NOT_FACTORED
    state.kkt.until = 0.0
    assert socp.method.loop.begin(state) == socp.method.loop.GO_ON


@pytest.mark.parametrize("method", ["scalar", "four-wide", "supernodal"])
def test_sparse_factors_look_at_the_clock(method):
    K = sp.csc_array(sp.triu(DATA["P"] + np.eye(90)))
    ldl = LDL(K.indptr.astype(np.int64), K.indices.astype(np.int64), np.ones(90), method=method)
    assert ldl.factor(K.data, 0.0, 1.0) == 0
    L = ldl.factors.d.copy()
    ldl.factors.until = clock() - 1.0
    assert ldl.factor(K.data, 0.0, 1.0) == -1
    ldl.factors.until = clock() + 1e3
    assert ldl.factor(K.data, 0.0, 1.0) == 0
    np.testing.assert_array_equal(ldl.factors.d, L)


def test_dense_factors_look_at_the_clock():
    A = (DATA["P"] + np.eye(90)).reshape(-1)
    one, other = A.copy(), A.copy()
    assert dense.cholesky(90, one) == 0 and dense.cholesky_until(90, other, clock() + 1e3) == 0
    np.testing.assert_array_equal(one, other)
    assert dense.cholesky_until(90, A, clock() - 1.0) == -1


@pytest.mark.full
def test_a_long_solve_ends_near_its_limit():
    n = 4000
    A = random_sparse((2000, n), density=2e-3, rng=np.random.default_rng(0))
    data = {"P": sp.eye_array(n), "q": np.ones(n), "A": A, "l": -0.1, "u": 0.1}
    for limit in (0.02, 0.05, 0.1):
        started = time.perf_counter()
        assert qp.solve(**data, time_limit=limit).status == "time_limit"
        assert time.perf_counter() - started <= limit + 0.2
