"""The nearest feasible program compared with scipy's linear programs and nonnegative least squares."""

import itertools

import numpy as np
import pytest
import scipy.optimize as opt

import qp
from qp.relaxation import _moved

SIDES = ("l", "u", "lb", "ub")


def random_program(seed):
    """Return a program most of whose sides contradict each other, some equal or infinite, and weights of sides."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 8), rng.integers(1, 12)
    middle, width = 2.0 * rng.normal(size=m), rng.random(m) * (rng.random(m) < 0.6)
    l = np.where(rng.random(m) < 0.3, -np.inf, middle - width)
    u = np.where(rng.random(m) < 0.3, np.inf, middle + width)
    lb = np.where(rng.random(n) < 0.5, rng.normal(size=n), -np.inf)
    ub = np.where(rng.random(n) < 0.5, np.maximum(lb, rng.normal(size=n)), np.inf)
    B = rng.normal(size=(n, n))
    program = qp.QuadraticProgram(B @ B.T, rng.normal(size=n), rng.normal(size=(m, n)), l, u, lb, ub)
    return program, {name: rng.uniform(0.5, 2.0, size=getattr(program, name).size) for name in SIDES}


def inequalities(program, weights):
    """Return (M, right, w): the finite sides as M x <= right, and their weights."""
    A, one = program.A.toarray(), np.eye(program.n)
    M, right = np.vstack([-A, A, -one, one]), np.concatenate([-program.l, program.u, -program.lb, program.ub])
    w, finite = np.concatenate([weights[name] for name in SIDES]), np.isfinite(right)
    return M[finite], right[finite], w[finite]


def cost(program, shifts, weights, norm):
    """Return the weighted cost of the outward shifts; a side that moves inward with its equal side costs nothing."""
    total = 0.0
    for side, index, change in shifts:
        outward = (change < 0.0) == side.startswith("l")
        total += weights[side][index] * abs(change) ** norm if outward else 0.0
    return total


@pytest.mark.parametrize("seed", range(40))
def test_sum_of_changes_is_that_of_a_linear_program_of_scipy(seed):
    program, weights = random_program(seed)
    nearest, shifts = qp.relax(program, weights)
    M, right, w = inequalities(program, weights)
    free = [(None, None)] * program.n + [(0, None)] * right.size
    least = opt.linprog(np.append(np.zeros(program.n), w), np.hstack([M, -np.eye(right.size)]), right, bounds=free)
    assert least.status == 0
    assert cost(program, shifts, weights, 1) == pytest.approx(least.fun, abs=1e-6)
    assert (qp.solve(program).status == "optimal") == (nearest is program)
    assert qp.solve(nearest).status == "optimal"


@pytest.mark.parametrize("seed", range(20))
def test_squares_are_those_of_nonnegative_least_squares(seed):
    # min sum_k w_k max(0, M x - right)_k^2 has the dual  max -right'v - sum_k v_k^2 / (4 w_k),  M'v = 0,  v >= 0;
    # here its optimal value is found by minimizing the squares themselves
    program, weights = random_program(seed)
    nearest, shifts = qp.relax(program, weights, norm=2)
    M, right, w = inequalities(program, weights)

    def squares(x):
        over = np.maximum(M @ x - right, 0.0)
        return w @ over**2, 2.0 * M.T @ (w * over)

    least = opt.minimize(squares, np.zeros(program.n), jac=True, method="BFGS", options={"gtol": 1e-9}).fun
    assert cost(program, shifts, weights, 2) == pytest.approx(least, rel=1e-5, abs=1e-9)
    assert qp.solve(nearest).status == "optimal"


def test_equal_sides_move_together():
    program = qp.QuadraticProgram(None, [0.0], A=[[1.0], [1.0], [1.0]], l=[0.0, 3.0, 3.0], u=[0.0, 3.0, 3.0])
    nearest, shifts = qp.relax(program)
    assert [(s.side, s.entry) for s in shifts] == [("l", 0), ("u", 0)]
    np.testing.assert_allclose(nearest.l, 3.0, atol=1e-7)
    np.testing.assert_array_equal(nearest.l, nearest.u)


def test_infinite_sides_and_data_stay():
    program, weights = random_program(4)
    nearest, shifts = qp.relax(program, weights)
    assert shifts
    for name in SIDES:
        old, new = getattr(program, name), getattr(nearest, name)
        np.testing.assert_array_equal(np.isfinite(new), np.isfinite(old))
        moved = {s.entry: s.change for s in shifts if s.side == name}
        np.testing.assert_array_equal(np.flatnonzero(new != old), sorted(moved))
        np.testing.assert_array_equal(new[list(moved)] - old[list(moved)], list(moved.values()))
    assert nearest.P is program.P
    np.testing.assert_array_equal(nearest.q, program.q)
    assert all(abs(a.change) >= abs(b.change) for a, b in itertools.pairwise(shifts))


@pytest.mark.parametrize("norm", [1, 2])
def test_hard_sides_stay(norm):
    program = qp.QuadraticProgram(None, [1.0, 1.0], A=[[1.0, 1.0], [1.0, 0.0]], l=[4.0, 0.0], ub=[1.0, 2.0])
    hard = {"l": [np.inf, 1.0], "ub": [np.inf, 5.0]}
    nearest, shifts = qp.relax(program, hard, norm)
    assert [(s.side, s.entry, round(s.change, 6)) for s in shifts] == [("ub", 1, 1.0)]
    assert qp.solve(nearest).objective == pytest.approx(4.0, abs=1e-6)


def test_hard_sides_that_contradict_each_other_are_named():
    program = qp.QuadraticProgram(None, [0.0, 0.0], A=[[1.0, 0.0], [1.0, 1.0]], l=[4.0, 0.0], ub=[1.0, 2.0])
    with pytest.raises(qp.ProgramError, match=r"hard sides contradict each other: l\[0\], ub\[0\]; give"):
        qp.relax(program, {"l": np.inf, "ub": np.inf})


@pytest.mark.parametrize(
    "given, words",
    [
        ({"weights": {"lb": 0.0}}, r"weights\['lb'\] must be positive"),
        ({"weights": {"ub": np.nan}}, r"weights\['ub'\] must be positive"),
        ({"weights": {"q": 1.0}}, "keys l, u, lb and ub"),
        ({"weights": {"lb": [1.0, 2.0]}}, r"weights\['lb'\] must have 1 entries"),
        ({"norm": 3}, "norm must be 1 or 2"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    program = qp.QuadraticProgram(None, [1.0], lb=0.0)
    with pytest.raises(qp.ProgramError, match=words):
        qp.relax(program, **given)


@pytest.mark.parametrize("settings", [{}, {"active_set": False}, {"presolve": False, "active_set": False}])
def test_message_of_an_infeasible_answer_names_the_sides(settings):
    sol = qp.solve(
        None, [1.0, 1.0, 1.0], A=[[1.0, 1.0, 0.0]], l=[4.0], ub=[1.0, 2.0, 7.0], lb=[-9.0, -9.0, 0.0], **settings
    )
    assert sol.status == "primal_infeasible"
    _, names, tail = sol.message.split("; ")[-3:]
    assert sorted(names.removeprefix("in conflict: ").split(", ")) == ["l[0]", "ub[0]", "ub[1]"]
    assert "qp.relax" in tail


def test_message_names_a_few_sides_only():
    sol = qp.solve(None, np.ones(9), A=np.ones((1, 9)), l=[10.0], ub=np.ones(9))
    assert "and 5 others" in sol.message


def test_a_side_moves_where_more_than_its_rounding_is_asked():
    costs = {"l": np.array([1.0, 1.0, 1.0, np.inf, 1.0, 1.0]), "u": np.array([1.0, 1.0, np.inf, np.inf, 1.0, 1.0])}
    old = {"l": np.array([0.0, 1e9, 2.0, 4.0, 5.0, -1e9]), "u": np.array([0.0, 2e9, 3.0, 4.5, 5.0, -8e8])}
    rounding = np.array([9e-8, -90.0, 9.0, 0.0, 0.0, 72.0])
    for value in (old["l"] + np.minimum(rounding, 0.0), old["u"] + np.maximum(rounding, 0.0)):
        found = _moved(("l", "u"), old, costs, value)
        assert all(np.array_equal(found[name], old[name]) for name in old)
    found = _moved(("l", "u"), old, costs, np.array([2e-7, 1e9 - 110.0, 1.0, 3.0, 4.0, -8e8 + 90.0]))
    assert found["l"].tolist() == [2e-7, 1e9 - 110.0, 1.0, 4.0, 4.0, -1e9]
    assert found["u"].tolist() == [2e-7, 2e9, 3.0, 4.5, 4.0, -8e8 + 90.0]


@pytest.mark.parametrize("norm", [1, 2])
def test_sides_that_cross_meet(norm):
    program = qp.QuadraticProgram(None, [0.0, 0.0], [[1.0, 1.0]], l=3.0, u=1.0, lb=[0.0, 0.5], ub=[9.0, 0.3])
    nearest, shifts = qp.relax(program, {"l": 2.0}, norm)
    assert qp.solve(nearest).status == "optimal" and (nearest.l <= nearest.u).all() and (nearest.lb <= nearest.ub).all()
    moved = {(shift.side, shift.entry): abs(shift.change) for shift in shifts}
    assert sum(moved[pair, 0] for pair in ("l", "u") if (pair, 0) in moved) == pytest.approx(2.0, abs=1e-6)
    assert sum(moved[pair, 1] for pair in ("lb", "ub") if (pair, 1) in moved) == pytest.approx(0.2, abs=1e-6)
    if norm == 2:
        assert moved["u", 0] == pytest.approx(2 * moved["l", 0], abs=1e-5)


def test_sides_that_cross_by_less_than_tol_stay():
    program = qp.QuadraticProgram(None, [1.0], lb=1.0, ub=1.0 - 1e-9)
    assert qp.relax(program) == (program, [])


def test_hard_sides_that_cross_are_named():
    program = qp.QuadraticProgram(None, [1.0], lb=1.0, ub=0.0)
    with pytest.raises(qp.ProgramError, match=r"hard sides contradict each other: lb\[0\], ub\[0\]"):
        qp.relax(program, {"lb": np.inf, "ub": np.inf})
