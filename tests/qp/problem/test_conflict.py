"""Irreducible infeasible sets compared with exhaustive tests by scipy's linear programming."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import qp
from qp.problem.conflict import SIDES, Side
from socp import ProgramError


def is_feasible(program, sides):
    """Return True if a point is within the given sides alone, by scipy's linprog."""
    A, I = program.A.toarray(), np.eye(program.n)
    rows = {"l": -A, "u": A, "lb": -I, "ub": I}
    G = np.array([rows[side.side][side.entry] for side in sides]).reshape(-1, program.n)
    h = [(-1.0 if side.side[0] == "l" else 1.0) * getattr(program, side.side)[side.entry] for side in sides]
    found = linprog(np.zeros(program.n), G, h, bounds=(None, None), method="highs")
    assert found.status in (0, 2)
    return found.status == 0


def check_irreducible(program, sides):
    assert not is_feasible(program, sides)
    for side in sides:
        assert is_feasible(program, [other for other in sides if other != side]), side


def all_sides(program):
    return [
        Side(name, int(k)) for name in SIDES for k in np.flatnonzero(np.isfinite(getattr(program, name)))
    ]  # fmt: skip


def random_program(rng):
    """Return a program of a few rows of small whole numbers, which is infeasible in about half of the cases."""
    n, m = int(rng.integers(1, 7)), int(rng.integers(1, 12))
    A = rng.integers(-2, 3, (m, n)).astype(float) * (rng.random((m, n)) < 0.7)
    l = np.where(rng.random(m) < 0.6, rng.integers(-3, 6, m), -np.inf).astype(float)
    u = np.where(rng.random(m) < 0.6, rng.integers(-6, 4, m), np.inf).astype(float)
    equal = rng.random(m) < 0.2
    l[equal] = u[equal] = rng.integers(-4, 5, equal.sum())
    if rng.random() < 0.8:  # else the two sides of a row may cross
        l, u = np.minimum(l, u), np.maximum(l, u)
        l, u = np.where(l == np.inf, -np.inf, l), np.where(u == -np.inf, np.inf, u)
    lb = np.where(rng.random(n) < 0.7, rng.integers(-2, 1, n), -np.inf).astype(float)
    P = np.diag(rng.integers(0, 3, n)).astype(float) if rng.random() < 0.5 else None
    ub = np.where(np.isfinite(lb), lb + rng.integers(0, 4, n), np.inf)
    return qp.QuadraticProgram(P, rng.normal(size=n), A, l, u, lb, ub)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.full) for k in range(4, 8))])
def test_each_side_of_an_irreducible_set_is_needed(seed):
    rng, seen = np.random.default_rng(seed), 0
    while seen < 12:
        program = random_program(rng)
        found = qp.solve(program)
        assert (found.status == "primal_infeasible") != is_feasible(program, all_sides(program))
        if found.status != "primal_infeasible":
            continue
        seen += 1
        assert not is_feasible(program, found.conflict())
        check_irreducible(program, found.conflict(irreducible=True))


def flows(rng, nodes):
    """Return a network whose supply exceeds what one cut lets through, in units far apart, with idle rows."""
    arcs = [(i, j) for i in range(nodes) for j in (i + 1, i + 2, i + 5) if j < nodes]
    A = np.zeros((nodes, len(arcs)))
    for k, (i, j) in enumerate(arcs):
        A[i, k], A[j, k] = 1.0, -1.0
    supply = np.zeros(nodes)
    supply[0], supply[-1] = 9.0, -9.0
    ub = rng.uniform(4.0, 9.0, len(arcs))
    ub[[k for k, (i, j) in enumerate(arcs) if i < nodes // 2 <= j]] = 1.0
    units = 10.0 ** rng.integers(-3, 4, nodes)
    return qp.QuadraticProgram(
        None, np.ones(len(arcs)), sp.csc_array(A * units[:, None]), *2 * [supply * units], 0.0, ub
    )


@pytest.mark.parametrize("nodes", [12, 40])
def test_a_network_with_a_cut_that_is_too_small(nodes):
    program = flows(np.random.default_rng(nodes), nodes)
    found = qp.solve(program)
    assert found.status == "primal_infeasible"
    sides = found.conflict(irreducible=True)
    check_irreducible(program, sides)
    assert {side.side for side in sides} >= {"ub"} and len(sides) <= program.m + program.n


def test_sides_that_cross_are_the_set():
    for data in ({"lb": [0.0, 2.0], "ub": [1.0, 1.0]}, {"A": np.eye(2), "l": [0.0, 2.0], "u": [1.0, 1.0]}):
        found = qp.solve(np.eye(2), np.zeros(2), **data)
        names = ("lb", "ub") if "lb" in data else ("l", "u")
        assert found.conflict() == found.conflict(irreducible=True) == [Side(name, 1) for name in names]


def test_answers_of_every_door_have_a_conflict():
    data = {"A": np.ones((1, 2)), "l": [3.0], "ub": 1.0}
    expected = [("l", 0, ""), ("ub", 0, ""), ("ub", 1, "")]
    many = qp.solve_many(np.eye(2), np.zeros((3, 2)), **data)
    solver = qp.Solver(np.eye(2), np.zeros(2), **{**data, "l": [1.0]})
    solver.solve()
    solver.update(l=[3.0])
    for found in (many[1], qp.solve(None, np.zeros(2), **data), solver.solve(), qp.solve(np.eye(2), [1, 1], **data)):
        assert found.conflict(irreducible=True) == expected


def test_only_an_infeasible_program_has_a_conflict():
    with pytest.raises(ProgramError, match="the status is 'optimal'"):
        qp.solve([[1.0]], [1.0]).conflict()


MPS = """NAME
ROWS
 N COST
 G DEMAND
 L HOURS
 E BLEND
COLUMNS
 STEEL COST 2 DEMAND 1
 STEEL HOURS 3 BLEND 1
 WOOD COST 1 DEMAND 1
 WOOD HOURS 2 BLEND -1
RHS
 RHS DEMAND 10 HOURS 12
BOUNDS
 UP BND WOOD 50
ENDATA
"""


def test_rows_and_variables_of_files_keep_their_names(tmp_path):
    path = tmp_path / "plant.mps"
    path.write_text(MPS)
    from qp.files.qps import read_qps

    program = read_qps(path)
    assert program.row_names == ("DEMAND", "HOURS", "BLEND") and program.column_names == ("STEEL", "WOOD")
    found = qp.solve(program)
    sides = found.conflict(irreducible=True)
    check_irreducible(program, [Side(side, entry) for side, entry, _ in sides])
    assert [str(side) for side in sides[:2]] == ["l[0] (DEMAND)", "l[2] (BLEND)"] or sides[0].name == "DEMAND"
    assert "(DEMAND)" in found.message and "(HOURS)" in found.message
    path.write_text(MPS.replace("RHS\n RHS", " STEEL HOURS 1\nRHS\n RHS"))
    with pytest.raises(ProgramError, match="column 'STEEL' is given in two places"):
        read_qps(path)


def test_programs_of_public_reports():
    # HiGHS#2676: x + y <= 0.5 and -x - y <= -2 in the unit box; the box has no part in it
    found = qp.solve(None, [1.0, 1.0], A=[[1, 1], [-1, -1]], u=[0.5, -2.0], lb=0.0, ub=1.0)
    sides = found.conflict(irreducible=True)
    check_irreducible(qp.QuadraticProgram(None, [1.0, 1.0], [[1, 1], [-1, -1]], u=[0.5, -2.0], lb=0.0, ub=1.0), sides)
    # HiGHS, "lp-incompatible-bounds", and a row without entries that cannot hold
    found = qp.solve(None, [0.0, 0.0], A=[[0.0, 0.0], [1.0, 1.0]], l=[1.0, 0.0], u=[2.0, 1.0])
    assert [str(side) for side in found.conflict(irreducible=True)] == ["l[0]"]
    # a chain of equalities that define each other, and one that denies the last one
    n = 60
    A = sp.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, -1]).tolil()
    A = sp.vstack([A, sp.coo_array(([1.0], ([0], [n - 1])), shape=(1, n))], format="csc")
    side = np.r_[1.0, np.zeros(n - 1), 2.0]
    found = qp.solve(sp.eye_array(n), np.zeros(n), A=A, l=side, u=side)
    assert len(found.conflict(irreducible=True)) == n + 1
