"""Which method solves a quadratic program (`qp.plan.choice.choose_method`)."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from bench.programs import tiny
from qp import QuadraticProgram, Solver
from qp.plan import choice
from qp.plan.choice import choose_method
from socp import LowRank, Settings
from socp.plan.costs import COSTS, method_seconds

N = 160
P = np.full((N, N), 0.5) + np.eye(N)
BOX = {"lb": -1.0, "ub": 1.0}
HALF = np.where(np.arange(N) < N // 2, 0.0, -np.inf)

PROGRAMS = {
    "a box": (QuadraticProgram(P, np.ones(N), **BOX), "active set"),
    "a row": (QuadraticProgram(P, np.ones(N), np.ones((1, N)), 0, 1, **BOX), "active set"),
    "rows of which one has sides": (
        QuadraticProgram(P, np.ones(N), np.ones((3, N)), [-np.inf, 0, -np.inf], **BOX), "active set"),
    "two rows": (QuadraticProgram(P, np.ones(N), np.ones((2, N)), 0, **BOX), "dual active set"),
    "more than half with a bound": (QuadraticProgram(P, np.ones(N), lb=HALF, ub=np.roll(-HALF, -1)), "active set"),
    "half of them with a bound": (QuadraticProgram(P, np.ones(N), lb=HALF), "dual active set"),
    "no bounds": (QuadraticProgram(P, np.ones(N)), "dual active set"),
    "fewer variables": (QuadraticProgram(P[:70, :70], np.ones(70), np.ones((50, 70)), 0, **BOX), "dual active set"),
    "a sparse P": (QuadraticProgram(np.eye(100), np.ones(100), **BOX), "dual active set"),
    "a large sparse P": (QuadraticProgram(sp.eye_array(N), np.ones(N), **BOX), "interior point"),
    "a low rank": (QuadraticProgram(LowRank(P[:, :10]), np.ones(N), **BOX), "interior point"),
    "as many factors as variables": (QuadraticProgram(LowRank(P), np.ones(N), **BOX), "dual active set"),
    "no P": (QuadraticProgram(None, np.ones(N), **BOX), "interior point"),
    "a negative P": (QuadraticProgram(-P, np.ones(N), **BOX), "dual active set"),
    "a variable without curvature": (
        QuadraticProgram(np.pad(P[:-1, :-1], (0, 1)), np.ones(N), **BOX), "active set"),
    "no curvature": (QuadraticProgram(P - np.diag(np.diag(P)), np.ones(N), **BOX), "dual active set"),
    "no variables": (QuadraticProgram(None, []), "interior point"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_by_the_data(name):
    program, method = PROGRAMS[name]
    assert choose_method(program, Settings()) == method


@pytest.mark.parametrize("seconds", [*itertools.product((1.0, 2.0, 3.0, None), repeat=3)], ids=str)
def test_the_quickest_of_those_that_can(seconds, monkeypatch):
    """On ties an active set is chosen, the dual one first; with a P that is not definite, by proximal steps."""
    active, dual, proximal = seconds
    told = {"active set": active or 9.0, "dual active set": dual, "proximal steps": proximal, "interior point": 2.0}
    asked, told = [], {name: value for name, value in told.items() if value}
    monkeypatch.setattr(choice, "method_seconds", lambda *counts, solved: (asked.append((*counts, solved)), told)[1])
    A = sp.csc_array([[1.0, 1.0, 0.0]])
    full, thin = (
        QuadraticProgram(M, np.ones(3), A, 0, **BOX) for M in (0.5 * P[:3, :3], sp.csc_array(np.diag([1.0, 1, 0])))
    )
    for program, may_be, is_dense, key in (
        (full, True, True, dual), (full, False, True, proximal), (thin, True, False, proximal),
    ):  # fmt: skip
        expected = "active set" if is_dense and active and active <= 2.0 else "interior point"
        if key and key <= (active if expected == "active set" else 2.0):
            expected = "dual active set"
        assert choose_method(program, Settings(), may_be, solved=len(asked)) == expected
    assert asked == [(3, 1, 2, 9, None, 0), (3, 1, 2, 9, None, 1), (3, 1, 2, 2, None, 2)]
    for share, method in ((0.999, "interior point"), (1.0, expected)):
        assert choose_method(thin, Settings(time_limit=share * COSTS.round)) == method


def test_a_known_low_rank_counts_with_the_iterations_that_use_it():
    F = np.random.default_rng(0).normal(size=(90, 80))
    for n, m, rank, method in (
        (80, 0, 4, "dual active set"), (90, 0, 4, "interior point"), (90, 0, 80, "dual active set"),
        (87, 0, 4, "interior point"), (87, 5, 4, "dual active set"), (87, 40, 4, "dual active set"),
    ):  # fmt: skip
        program = QuadraticProgram(F[:n, :rank] @ F[:n, :rank].T, np.ones(n), np.ones((m, n)), -1 if m else [])
        seconds = method_seconds(n, m, n * m, n**2, rank)
        assert (seconds["dual active set"] <= seconds["interior point"]) == (method == "dual active set")
        assert choose_method(program, Settings()) == "dual active set"  # definiteness is not checked yet
        program.hessian.find_rank()
        assert choose_method(program, Settings()) == (method if program.hessian.rank == rank else "dual active set")


@pytest.mark.parametrize("asked", [
    {"active_set": False}, {"kkt": "dense"}, {"callback": print}, {"time_limit": 0.1},
    {"regularization": 1e-9},
])  # fmt: skip
def test_settings_of_the_interior_point_method_choose_it(asked):
    assert choose_method(PROGRAMS["a box"][0], Settings(**asked)) == "interior point"


@pytest.mark.parametrize("make", [tiny.box, tiny.rows])
def test_small_programs(make):
    """Zeros on the diagonal of P need dearer proximal steps; if P may be definite, the method decides."""
    program = make(30)
    assert choose_method(program, Settings()) == "dual active set"
    assert choose_method(make(45), Settings()) == "dual active set"
    assert choose_method(make(75), Settings(), may_be_definite=False) == "interior point"
    assert choose_method(program, Settings(active_set=False)) == "interior point"
    assert (
        choose_method(program, Settings(max_iter=9)) == choose_method(program, Settings(kkt="ldl")) == "interior point"
    )
    for n, method in ((30, "dual active set"), (64, "interior point")):
        linear = QuadraticProgram(None, make(n).q, make(n).A, make(n).l, make(n).u, -1.0, 1.0)
        assert choose_method(linear, Settings()) == method


def test_of_one_variable():
    assert choose_method(QuadraticProgram([[1.0]], [1.0], **BOX), Settings()) == "dual active set"


def test_a_singular_P_that_may_have_been_definite_goes_to_the_active_set():
    F, u = np.random.default_rng(0).normal(size=(70, 30)), np.where(np.arange(10) == 0, 1.0, np.inf)
    program = QuadraticProgram(F @ F.T, np.ones(70), np.ones((10, 70)), u=u, **BOX)
    assert choose_method(program, Settings()) == "dual active set"
    solver = Solver(program)
    assert solver.dual_active_set is None and solver.active_set is not None
    assert choose_method(PROGRAMS["no curvature"][0], Settings(), may_be_definite=False) == "interior point"


def test_settings_that_leave_it_open():
    open_settings = Settings(time_limit=5.0, tol=1e-4, threads=2, presolve=False, check_convexity=False, verbose=True)
    assert choose_method(PROGRAMS["a box"][0], open_settings) == "active set"


def test_rows_with_sides():
    program = QuadraticProgram(None, [1.0], np.ones((4, 1)), [-np.inf, 0, -np.inf, 1], [np.inf, 0, 5, np.inf])
    np.testing.assert_array_equal(program.sided_rows, [1, 2, 3])


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_cost_of_a_step_in_a_loop_never_jumps(rows):
    """Controllers whose states are eliminated: 30 inputs more may cost twice as much, and no limit of size ends it."""
    chosen = []
    for n in range(60, 1200, 30):
        seconds = method_seconds(n, rows * n, rows * n * n, n * n, solved=100_000)
        chosen.append(min(seconds[name] for name in ("dual active set", "interior point") if name in seconds))
        assert seconds["dual active set"] <= seconds["interior point"]
    assert all(one < other <= 2.0 * one for one, other in itertools.pairwise(chosen))
