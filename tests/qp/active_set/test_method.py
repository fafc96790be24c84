"""The active set compared with the interior-point method: answers, exact faces, and every way to fall back on it."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qp
from bench.programs import generate, learning
from qp import QuadraticProgram, Solver
from qp.active_set import method
from qp.active_set.boxed import Block, BoxedProgram
from qp.active_set.coordinate_descent import BLOCK, SHARE, descend_in_blocks
from qp.active_set.method import ActiveSet
from qp.plan.choice import choose_method
from socp import ProgramError, Settings, Status
from socp.problem.solution import TIMINGS, TRACE
from socp.verify.stopping import residuals
from tests.support.programs import check

pytestmark = pytest.mark.filterwarnings("error")
INF = np.inf
N = 160


def hessian(rng, n=N, rank=None, spread=0.0):
    """Return a dense semidefinite matrix whose rows and columns are scaled over `spread` powers of ten."""
    factor = rng.normal(size=(n, rank or 2 * n)) / np.sqrt(n)
    scale = 10.0 ** (spread * rng.uniform(-0.5, 0.5, n))
    return (factor @ factor.T) * np.outer(scale, scale)


def boxed(rng, n=N, width=1.0, **data):
    return QuadraticProgram(hessian(rng, n), rng.normal(size=n), lb=-width, ub=width, **data)


def by_active_set(solution):
    """Return True if the active set gave the answer; check that it then has no cone solution."""
    assert ("active set" in solution.message) == (solution.cone_solution is None)
    return solution.cone_solution is None


def solve_both(program, **asked):
    """Return the active set's solution, after comparing its objective with that of the interior-point method."""
    solution = qp.solve(program, **asked)
    check(program, solution)
    assert by_active_set(solution)
    other = qp.solve(program, active_set=False, **asked)
    assert not by_active_set(other)
    scale = 1.0 + abs(other.objective)
    assert abs(solution.objective - other.objective) <= 1e-7 * scale
    return solution


def left_to_the_engine(program, status=Status.OPTIMAL, **asked):
    """Return the solution, after checking that the active set did not compute it."""
    solution = qp.solve(program, **asked)
    check(program, solution, str(status))
    assert not by_active_set(solution)
    return solution


# ---- answers


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6), width=st.sampled_from([0.03, 0.3, 1.0, 3.0, 30.0]), copies=st.sampled_from([0, 20, 60]),
    row=st.sampled_from(["none", "equality", "upper", "lower", "between", "infinite"]), one_sided=st.booleans(),
    fixed=st.booleans(),
)  # fmt: skip
def test_boxed_programs_of_all_kinds(seed, width, copies, row, one_sided, fixed):
    rng = np.random.default_rng(seed)
    P, q = hessian(rng), rng.normal(size=N)
    if copies:  # duplicate columns
        again = np.r_[np.arange(N - copies), rng.integers(N - copies, size=copies)]
        P, q = P[np.ix_(again, again)], q[again]
    lb, ub = -width * rng.uniform(0.5, 1.0, N), width * rng.uniform(0.5, 1.0, N)
    if one_sided and not copies:
        ub[rng.random(N) < 0.5] = INF
        lb[:3] = -INF
    if fixed:
        lb[5:10] = ub[5:10] = 0.3 * ub[5:10] if np.isfinite(ub[5:10]).all() else 0.1 * width
    a, inside = rng.normal(size=(1, N)) * (rng.random(N) < 0.8), 0.5 * (np.fmax(lb, -width) + np.fmin(ub, width))
    value = float(a[0] @ inside)
    sides = {"equality": (value, value), "upper": (-INF, value), "lower": (value, INF),
             "between": (value - 0.1 * width, value + 0.1 * width), "infinite": (-INF, INF)}  # fmt: skip
    rows = {} if row == "none" else dict(A=a, l=sides[row][0], u=sides[row][1])
    solution = qp.solve(QuadraticProgram(P, q, lb=lb, ub=ub, **rows))
    program = QuadraticProgram(P, q, lb=lb, ub=ub, **rows)
    check(program, solution)
    other = qp.solve(program, active_set=False)
    assert abs(solution.objective - other.objective) <= 1e-7 * (1.0 + abs(other.objective))


LEARNING = {
    "rbf": generate.svm_dual_rbf(150),
    "cubic": learning.ea_svm_cubic(60),
    "hard margin": QuadraticProgram(generate.svm_dual_rbf(N).P, -np.ones(N), generate.svm_dual_rbf(N).A, 0, 0, 0),
    "no bias": QuadraticProgram(generate.svm_dual_rbf(N).P, -np.ones(N), lb=0, ub=1, offset=50.0),
    "one class": QuadraticProgram(abs(generate.svm_dual_rbf(N).P), np.zeros(N), np.ones((1, N)), 1, 1, 0, 0.02),
    "portfolio": QuadraticProgram(1e-3 * hessian(np.random.default_rng(0)), np.linspace(-2e-3, 0, N), np.ones((1, N)),
                                  1, 1, 0),
    "least variance": QuadraticProgram(1e-3 * hessian(np.random.default_rng(0)), np.zeros(N), np.ones((1, N)), 1, 1, 0),
    "nonnegative": QuadraticProgram(hessian(np.random.default_rng(1)), np.random.default_rng(1).normal(size=N), lb=0),
    "all at a bound": QuadraticProgram(hessian(np.random.default_rng(1)), np.full(N, 99.0), lb=0, ub=1),
    "none at a bound": QuadraticProgram(hessian(np.random.default_rng(1)), np.ones(N), lb=-1e3, ub=1e3),
    "q = 0": QuadraticProgram(hessian(np.random.default_rng(1)), np.zeros(N), lb=-1, ub=1),
    "scales": QuadraticProgram(hessian(np.random.default_rng(2), spread=4.0), np.ones(N), lb=-1, ub=1),
    "offset": QuadraticProgram(hessian(np.random.default_rng(3)), np.ones(N), lb=0.5, ub=1, offset=7.0),
    "a row with sides": QuadraticProgram(hessian(np.random.default_rng(4)), np.ones(N), np.ones((2, N)),
                                         [1, -np.inf], [1.5, np.inf], lb=-1, ub=1),
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNING)
def test_programs_of_learning_and_others(name):
    solution = solve_both(LEARNING[name])
    assert max(solution.primal_residual, solution.dual_residual, solution.gap) < 1e-10  # faces are exact


def test_what_the_answer_tells_of_its_rounds():
    for name in ("no bias", "a row with sides", "nonnegative", "offset"):
        program = LEARNING[name]
        solution = Solver(program).solve()
        found = residuals(program, solution.x, solution.y, solution.z_bounds)
        assert found.meets(1e-8)
        assert found.relative == (solution.primal_residual, solution.dual_residual, solution.gap)
        assert found.primal_objective + program.offset == solution.objective
        trace = solution.trace
        assert trace.dtype == TRACE and solution.iterations == len(trace) > 0
        np.testing.assert_array_equal(trace["iteration"], np.arange(len(trace)))
        assert (np.diff(trace["primal_objective"]) <= 1e-12 * abs(solution.objective)).all()
        assert trace["primal_objective"][-1] == solution.objective
        assert trace["dual_objective"][-1] == solution.dual_objective
        assert trace["primal_residual"][-1] == solution.primal_residual
        assert trace["dual_residual"][-1] == solution.dual_residual and trace["gap"][-1] == solution.gap
        assert (np.diff(np.r_[0.0, trace["seconds"], solution.solve_time]) > 0.0).all()
        for unknown in ("mu", "sigma", "alpha_affine", "alpha", "tau", "kappa"):
            assert np.isnan(trace[unknown]).all()
        assert np.isnan(trace["gap"][:-1]).all() and np.isfinite(trace["dual_residual"]).all()
        assert tuple(solution.timings) == TIMINGS
        assert sum(solution.timings.values()) == pytest.approx(
            solution.setup_time + solution.solve_time, rel=1e-9, abs=0.0
        )
        copy = pickle.loads(pickle.dumps(solution))
        assert copy.objective == solution.objective and copy.cone_solution is None


def test_what_single_precision_hides_is_not_clearly_definite():
    P = np.eye(N) + 2.0**-10
    P[:2, :2] = P[0, 0] + np.array([[0.0, 5.9e-8], [5.9e-8, 6.1e-8]])  # positive definite only after rounding
    assert np.linalg.eigvalsh(P)[0] < 0.0 < np.linalg.eigvalsh(P.astype(np.float32).astype(np.float64))[0]
    assert not ActiveSet(QuadraticProgram(P, np.ones(N), lb=-1.0, ub=1.0), Settings()).is_clearly_definite()
    P[0, 0] = 1.001
    assert ActiveSet(QuadraticProgram(P, np.ones(N), lb=-1.0, ub=1.0), Settings()).is_clearly_definite()


def test_the_rows_own_value_is_no_variable_between_its_bounds():
    rng = np.random.default_rng(3)
    program = boxed(rng, width=1e3, A=rng.normal(size=(1, N)), l=-1e5, u=1e5)
    solution = solve_both(program)
    assert f"{N} of {N} variables between their bounds" in solution.message


# ---- where the interior-point method is called


def test_infeasible_and_unbounded_programs():
    rng = np.random.default_rng(0)
    left_to_the_engine(boxed(rng, A=np.ones((1, N)), l=2.0 * N), Status.PRIMAL_INFEASIBLE)
    flat = QuadraticProgram(hessian(rng, rank=20), -np.ones(N), lb=0.0)
    left_to_the_engine(flat, Status.DUAL_INFEASIBLE)


def test_a_low_rank_is_left_to_woodbury():
    rng = np.random.default_rng(0)
    program = QuadraticProgram(hessian(rng, 300, rank=20), rng.normal(size=300), lb=-1.0, ub=1.0)
    assert choose_method(program, Settings()) == "active set" and Solver(program).active_set is None
    left_to_the_engine(program)


def test_limits():
    rng = np.random.default_rng(0)
    assert left_to_the_engine(boxed(rng), Status.MAX_ITERATIONS, max_iter=0).iterations == 0
    assert qp.solve(boxed(rng), time_limit=100.0).status is Status.OPTIMAL
    assert qp.solve(boxed(rng), tol=1e-12).status is Status.OPTIMAL
    assert qp.solve(boxed(rng), tol_abs=1e-9).status is Status.OPTIMAL


@pytest.mark.parametrize("name, value", [("MAX_SHARE", 0.0), ("MAX_ROUNDS", 0), ("EXACT", -1.0)])
def test_where_the_work_grows_the_engine_begins_anew(monkeypatch, name, value):
    monkeypatch.setattr(method, name, value)
    solution = left_to_the_engine(LEARNING["rbf"])
    assert sum(solution.timings.values()) == pytest.approx(solution.setup_time + solution.solve_time, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("place", ["meet_row", "begin", "next"])
@pytest.mark.parametrize("name", ["rbf", "a row with sides", "nonnegative"])
def test_interrupted_from_the_keyboard(monkeypatch, name, place):
    def interrupt(*_):
        raise KeyboardInterrupt

    program = LEARNING[name]
    solver = Solver(program)
    with monkeypatch.context() as patch:
        patch.setattr(method.Rounds, place, interrupt)
        solution = solver.solve()
    assert solution.status is Status.INTERRUPTED and solution.iterations == len(solution.trace) == 0
    assert solution.message == "interrupted from the keyboard" and solution.cone_solution is None
    assert (program.lb <= solution.x).all() and (solution.x <= program.ub).all()
    if place != "meet_row":
        assert solution.primal_residual < 1e-12  # from then on the row holds, too
    found = residuals(program, solution.x, solution.y, solution.z_bounds)
    assert found.relative == (solution.primal_residual, solution.dual_residual, solution.gap)
    assert sum(solution.timings.values()) == pytest.approx(solution.setup_time + solution.solve_time, rel=1e-9, abs=0.0)
    assert repr(pickle.loads(pickle.dumps(solution))) == repr(solution)
    check(program, solver.solve(warm_start=True))  # the solver still works


def test_interrupted_after_some_rounds(monkeypatch):
    program = LEARNING["scales"]
    rounds = iter([method.Rounds.next])

    def next_one(run):
        for first in rounds:
            return first(run)
        raise KeyboardInterrupt

    monkeypatch.setattr(method, "EXACT", 1e-30)  # the first round is not the last one
    monkeypatch.setattr(method.Rounds, "next", next_one)
    solution = qp.solve(program)
    assert solution.status is Status.INTERRUPTED and solution.iterations == len(solution.trace) == 1
    assert "interrupted" in solution.message and solution.objective == solution.trace["primal_objective"][-1]


def test_a_limit_of_time(monkeypatch):
    monkeypatch.setattr(method, "EXACT", 1e-30)
    monkeypatch.setattr(method.time, "perf_counter", map(float, range(0, 10**6, 50)).__next__)
    solution = qp.solve(LEARNING["scales"], time_limit=75.0)
    assert solution.status is Status.TIME_LIMIT and solution.cone_solution is None
    assert "75 seconds" in solution.message and solution.primal_residual < 1e-12


# ---- semidefinite or not


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-7, 3e-8])
def test_a_hessian_that_is_not_semidefinite_is_refused(size):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(N, N)))[0]
    eigenvalues = np.r_[-size, np.ones(N - 1)]
    P = (Q * eigenvalues) @ Q.T
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        Solver(QuadraticProgram(0.5 * (P + P.T), rng.normal(size=N), lb=-1.0, ub=1.0))
    solver = Solver(boxed(rng))
    before = solver.solve()
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        solver.update(P_data=0.5 * (P + P.T), ub=2.0)
    np.testing.assert_array_equal(solver.solve().x, before.x)


def test_the_test_in_single_precision():
    rng = np.random.default_rng(0)
    for least, clear in ((1e-2, True), (1e-12, False), (-1e-6, False)):
        Q = np.linalg.qr(rng.normal(size=(200, 200)))[0]
        P = (Q * np.r_[least, np.ones(199)]) @ Q.T
        program = QuadraticProgram(0.5 * (P + P.T), np.ones(200), lb=0.0, ub=1.0)
        assert ActiveSet(program, Settings()).is_clearly_definite() is clear
    for scale in (1e-300, 1e300):  # beyond single precision, double precision is used
        program = QuadraticProgram(scale * hessian(rng), np.ones(N), lb=0.0, ub=1.0)
        assert not ActiveSet(program, Settings()).is_clearly_definite()


def test_without_the_check_of_convexity():
    program = LEARNING["rbf"]
    solver = Solver(program, check_convexity=False)
    solution = solver.solve()
    check(program, solution)
    np.testing.assert_array_equal(solution.x, qp.solve(program).x)
    hollow = hessian(np.random.default_rng(0)) - 0.5 * np.eye(N)  # not semidefinite on the face of the free variables
    data = {"A": np.ones((1, N)), "l": 1.0, "u": 1.0, "lb": -1e3, "ub": 1e3}
    with pytest.raises(ProgramError, match="P must be positive semidefinite"):
        qp.solve(hollow, np.zeros(N), **data)
    answer = qp.solve(hollow, np.zeros(N), **data, check_convexity=False)  # what the caller vouches for is not tested
    assert answer.status != "optimal" or answer.dual_residual <= 1e-8


# ---- updates


def test_updates_and_warm_starts_on_a_path():
    program = generate.svm_dual_rbf(150)
    solver, reads = Solver(program), []
    for C in np.geomspace(0.1, 10.0, 12):
        solver.update(ub=C)
        for warm in (True, False):
            solution = solver.solve(warm_start=warm)
            check(solver.program, solution)
            assert by_active_set(solution)
            reads.append(solver.active_set.run.program.rows_read)
        fresh = qp.solve(solver.program)
        assert solution.objective == pytest.approx(fresh.objective, rel=1e-9)
    assert sum(reads[2::2]) < sum(reads[3::2])  # fewer rows of P are read from the last answer on


# ---- kernels


def block_in_numpy(K, a, lb, ub, x, g, least, tol, most):
    """Take steps of the best pair along the row, or of a variable outside it, in place; return the number of steps."""
    along = np.where(a == 0.0, 1.0, a)
    for step in range(most):
        rises = np.where(a > 0.0, x < ub, (a < 0.0) & (x > lb))
        falls = np.where(a > 0.0, x > lb, (a < 0.0) & (x < ub))
        slope = g / along
        i, pair = int(np.where(rises, slope, INF).argmin()), np.zeros(x.size)
        above = np.where(falls & rises.any(), slope - slope[i], 0.0).clip(0.0)
        curvature = K[i, i] / along[i] ** 2 + np.diag(K) / along**2 - 2.0 * K[i] / (along[i] * along)
        pair = above**2 / np.maximum(curvature, least / along[i] ** 2)
        single = np.where((a == 0.0) & np.where(g < 0.0, x < ub, x > lb), g**2 / np.maximum(np.diag(K), least), 0.0)
        gain = max(pair.max(), single.max())
        if not gain > tol:
            return step
        tol = max(tol, SHARE * gain) if step == 0 else tol
        if single.max() > pair.max():
            k = int(single.argmax())
            d = np.clip(x[k] - g[k] / max(K[k, k], least), lb[k], ub[k]) - x[k]
            x[k] += d
            g += d * K[k]
            continue
        j = int(pair.argmax())
        way_i, way_j = ((ub if a[i] > 0.0 else lb)[i] - x[i]) * a[i], (x[j] - (lb if a[j] > 0.0 else ub)[j]) * a[j]
        t = min(pair[j] / above[j], way_i, way_j)
        x[i] = (ub if a[i] > 0.0 else lb)[i] if t == way_i else x[i] + t / a[i]
        x[j] = (lb if a[j] > 0.0 else ub)[j] if t == way_j else x[j] - t / a[j]
        g += t / a[i] * K[i] - t / a[j] * K[j]
    return most


def descent_in_numpy(P, diagonal, a, lb, ub, x, g, tol, most):
    """Descend on blocks of the variables that gain most on each side of the row; return the number of rows read."""
    least, read, along = 1e-12 * np.diag(P).max(), 0, np.where(a == 0.0, 1.0, a)
    while read < most:
        rises = np.where(a > 0.0, x < ub, (a < 0.0) & (x > lb))
        falls = np.where(a > 0.0, x > lb, (a < 0.0) & (x < ub))
        low, high = np.where(rises, g / along, INF), np.where(falls, g / along, -INF)
        ends = [end for end in (low.min(), high.max()) if np.isfinite(end)]
        v = g - a * np.mean(ends or [0.0])
        gains = np.where(np.where(v < 0.0, x < ub, x > lb), v**2 / np.maximum(diagonal, least), 0.0)
        which = []
        for side in (-1.0, 1.0, 0.0):
            members = np.flatnonzero((np.sign(v * a) == side) & (gains > tol))
            which += members[np.argsort(-gains[members], kind="stable")][:BLOCK].tolist()
        if not which:
            break
        best = [int(low.argmin())] * int(rises.any()) + [int(high.argmax())] * int(falls.any())
        which += [k for k in dict.fromkeys(best) if k not in which]
        part, slopes, before = x[which], g[which], x[which]
        K = P[np.ix_(which, which)]
        if block_in_numpy(K, a[which], lb[which], ub[which], part, slopes, least, tol, 10 * len(which)) == 0:
            break
        x[which] = part
        g += (part - before) @ P[which]
        read += np.count_nonzero(part - before)
    return read


@pytest.mark.parametrize("row", ["none", "signs", "some", "value"])
@pytest.mark.parametrize("seed", range(6))
def test_descent_in_numpy(seed, row):
    """Compare points, gradients and rows read with those of NumPy, for rows of several kinds."""
    rng = np.random.default_rng(seed)
    P, q, size = hessian(rng), rng.normal(size=N), N + (row == "value")
    a = {"none": np.zeros(N), "signs": rng.choice([-1.0, 1.0], N)}.get(row, rng.choice([-1.0, 0.0, 0.5, 1.5], N))
    lb, ub, diagonal = -rng.random(size), rng.random(size), np.append(np.diag(P), 0.3)[:size]
    lb[::7] = ub[::7] = 0.0
    ub[1::9] = INF
    program, a = BoxedProgram(size=size), np.append(a, -1.0)[:size]
    program.P, program.diagonal, program.largest = P, diagonal, float(np.diag(P).max())
    program.a, program.lb, program.ub, program.g = a, lb, ub, np.append(q, 0.0)[:size].copy()
    padded, x, g = np.pad(P, (0, size - N)), np.zeros(size), program.g.copy()
    block, tol = Block(), 0.1 * (q**2 / np.diag(P)).max()
    descend_in_blocks(program, block, tol, 1e9)
    assert program.rows_read == descent_in_numpy(padded, diagonal, a, lb, ub, x, g, tol, 1e9) > 0
    np.testing.assert_allclose(program.x, x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(program.g, g, rtol=0, atol=1e-9)
    assert abs(a @ program.x) < 1e-13 and (lb <= program.x).all() and (program.x <= ub).all()
