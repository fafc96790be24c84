"""One matrix, one answer: through whichever door it comes, and in whatever type and storage."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.programs.saved import read
from socp.compiled import memory
from socp.problem.checks import EPS

SINGLE = float(np.finfo(np.float32).eps)


def doors(P, active_set=True):
    """Yield the name of each way by which a program with this P is solved, and a call that solves it."""
    n = P.shape[0]
    q, sides = -np.ones(n), {"lb": np.zeros(n), "ub": np.ones(n)}
    box = {"G": np.vstack([np.eye(n), -np.eye(n)]), "h": np.r_[np.ones(n), np.zeros(n)], "cones": [socp.NonNeg(2 * n)]}
    fixed = {"lb": np.zeros(n), "ub": np.r_[0.0, np.ones(n - 1)]}

    def updated(solver):
        solver.solve()
        solver.update(P_data=P)
        return solver.solve()

    yield "solve", lambda: qp.solve(P, q, **sides)
    yield "interior point", lambda: qp.solve(P, q, **sides, active_set=False)
    yield "fixed", lambda: qp.solve(P, q, **fixed, active_set=False)
    yield "update", lambda: updated(qp.Solver(np.eye(n), q, **sides))
    yield "update of the interior point", lambda: updated(qp.Solver(np.eye(n), q, **sides, active_set=False))
    yield "many", lambda: qp.solve_many(P, np.stack([q, q]), **sides)[0]
    yield "list", lambda: qp.solve_many([P, 2 * P], q, **sides)[0]
    yield "many of a solver", lambda: qp.Solver(P, q, **sides).solve_many(q=np.stack([q, q]))[0]
    yield "cones", lambda: socp.solve(c=q, P=P, **box)
    yield "many cones", lambda: socp.solve_many(c=np.stack([q, q]), P=P, **box)[0]
    yield "many cones of a solver", lambda: socp.Solver(c=q, P=P, **box).solve_many(c=np.stack([q, q]))[0]
    yield "update of cones", lambda: updated(socp.Solver(c=q, P=np.eye(n), **box))


@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("n", [5, 60, 170])
def test_a_covariance_in_single_precision_is_taken_at_every_door(n, kind):
    X = np.random.default_rng(n).normal(size=(n, max(2, n // 12))).astype(np.float32)
    for P in (X @ X.T, (X * np.float32(0.3)) @ X.T):
        assert np.linalg.eigvalsh(P.astype(float))[0] < 0.0
        with pytest.raises(qp.ProgramError, match="P must be positive semidefinite"):
            qp.solve(kind(0.5 * (P + P.T).astype(float)), -np.ones(n), lb=0.0, ub=1.0)
        for name, solve in doors(kind(P)):
            if not (name == "list" and sp.issparse(kind(P))) or n < 100:
                assert solve().status == "optimal", name


@pytest.mark.parametrize("kind", [np.array, sp.csc_array])
@pytest.mark.parametrize("share, type_", [(1e-9, "float64"), (1e-12, "float64"), (1e-3, "float32")])
@pytest.mark.parametrize("n", [4, 60, 170])
def test_negative_curvature_beyond_rounding_is_refused_at_every_door(n, share, type_, kind):
    D = np.logspace(-3.0, 3.0 if type_ == "float64" else -1.0, n)
    P = ((np.eye(n) - (1.0 + share) / n) * D * D[:, None]).astype(type_)
    for name, solve in doors(kind(P)):
        with pytest.raises(qp.ProgramError, match=r"P must be positive semidefinite.*LowRank"):
            print(name, solve())


def test_each_program_of_a_batch_has_the_type_of_its_own_matrix():
    P = np.eye(4) - (1.0 + 1e-6) / 4.0
    for batch, refused in (([np.eye(4), P], "program 1"), ([P, np.float32(P)], "program 0"), ([P], "positive")):
        with pytest.raises(qp.ProgramError, match=refused):
            qp.solve_many(batch, np.ones((len(batch), 4)), lb=0.0, ub=1.0)
    assert (qp.solve_many([np.eye(4), np.float32(P)], np.ones(4), lb=0.0, ub=1.0).status == "optimal").all()


def test_the_type_stays_with_the_program(tmp_path):
    P = np.float32(np.eye(4) - (1.0 + 1e-6) / 4.0)
    program = qp.QuadraticProgram(
        P, -np.ones(4), [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], [-1.0, -2.0], 2.0, ub=1.0
    )
    assert program.P_eps == program.with_data(ub=2.0).P_eps == SINGLE
    path = tmp_path / "p.json"
    qp.Solver(program, active_set=False).solve().report(path)
    assert read(path).program.P_eps == SINGLE
    path.write_text(path.read_text().replace(repr(SINGLE), "0.5"))
    with pytest.raises(socp.ProgramError, match=r"P_eps is 0\.5"):
        read(path)
    for integers in (np.array([[2, 1], [1, 2]]), [[2, 1], [1, 2]], np.eye(2, dtype=bool), np.longdouble(np.eye(2))):
        assert qp.QuadraticProgram(integers, np.ones(2)).P_eps == EPS


@pytest.mark.parametrize("more", [{}, {"active_set": False}, {"kkt": "ldl"}, {"kkt": "dense"}, {"presolve": False}])
@pytest.mark.parametrize("n", [4, 60, 170])
def test_without_the_test_of_convexity_no_path_refuses(n, more):
    P, settings = np.eye(n) - (1.0 + 1e-7) / n, {"check_convexity": False, **more}
    for kind in (np.array, sp.csc_array):
        for ub in (np.ones(n), np.r_[0.0, np.ones(n - 1)]):  # one variable is fixed
            solver = qp.Solver(kind(P), np.linspace(-1.0, 1.0, n), lb=0.0, ub=ub, **settings)
            assert solver.solve().status == "optimal"
            solver.update(P_data=kind(P + 1e-7 * np.ones((n, n)) / n))
            assert solver.solve().status == "optimal"
            solver.update(P_data=kind(1.5 * P))
            assert solver.solve(warm_start=True).status == "optimal"
    if not more:
        assert qp.solve_many(P, np.ones((2, n)), lb=0.0, ub=1.0, check_convexity=False).status[1] == "optimal"


@pytest.mark.parametrize("settings", [{}, {"active_set": False}])
@pytest.mark.parametrize("fill", [0.3, 0.45, 0.55, 0.9])
@pytest.mark.parametrize("kind", [np.array, sp.csc_matrix, sp.csr_array])
def test_updates_of_any_form_answer_as_a_new_solver(kind, fill, settings):
    rng = np.random.default_rng(1)
    B = np.where(rng.random((40, 40)) < 0.5 * fill, rng.normal(size=(40, 40)), 0.0)
    P, A = B + B.T + 40.0 * np.eye(40), np.eye(40)[:3]
    given, entries = kind(P), sp.csc_array(P).data
    solver = qp.Solver(given, np.ones(40), A=kind(A), l=-1.0, u=1.0, lb=-2.0, **settings)
    grown = P + np.diag(np.full(39, 0.1), 1) + np.diag(np.full(39, 0.1), -1)
    for change, now in (
        ({"P_data": 2.0 * entries}, 2.0 * P), ({"P_data": 3.0 * given}, 3.0 * P), ({"P_data": grown}, grown),
        ({"P_data": sp.csc_array(P)}, P), ({"P_data": entries}, P),
        ({"P_data": qp.LowRank(B, 1.0)}, B @ B.T + np.eye(40)), ({"P_data": P.tolist()}, P),
    ):  # fmt: skip
        solver.update(**change)
        expected = qp.solve(now, np.ones(40), A=A, l=-1.0, u=1.0, lb=-2.0)
        np.testing.assert_allclose(solver.solve().x, expected.x, atol=1e-6)
    for change in (2.0 * A, sp.csc_array(2.0 * A), sp.csr_matrix(A), np.ones((3, 40)), np.full(120, 2.0), A.tolist()):
        solver.update(A_data=change)
        new = np.full((3, 40), 2.0) if np.ndim(change) == 1 else change
        expected = qp.solve(P, np.ones(40), A=new, l=-1.0, u=1.0, lb=-2.0)
        np.testing.assert_allclose(solver.solve().x, expected.x, atol=1e-6)
    with pytest.raises(qp.ProgramError, match=r"A_data must have shape \(3, 40\)"):
        solver.update(A_data=np.ones((4, 40)))
    np.testing.assert_allclose(solver.solve().x, expected.x, atol=1e-6)


WIDE = qp.LowRank(np.ones((60, 9)), 1.0)


@pytest.mark.parametrize("P, rows, settings, what", [
    (np.eye(60) + 1.0, 1, {"kkt": "dense"}, "P in full, 60 by 60,"),
    (sp.csc_array(np.eye(60) + 1.0), 1, {}, "P in full, 60 by 60,"),
    (sp.eye_array(60), 1, {"kkt": "dense"}, "the dense KKT matrix of order 60, with 1 rows,"),
    (WIDE, 1, {"kkt": "dense"}, "the dense KKT matrix of order 60, with 1 rows,"),
    (WIDE, 1, {"kkt": "lowrank"}, "the Schur complement of order 10 with its rows of 60 entries"),
    (np.eye(200) + 1.0, 1, {}, "P in single precision, 200 by 200,"),
    (np.eye(300) + 1.0, 2, {"active_set": False}, "P in full, 300 by 300,"),
])  # fmt: skip
def test_memory_is_asked_for_before_it_is_taken(P, rows, settings, what, monkeypatch):
    n = P.shape[0]
    call = {
        "P": P,
        "q": np.ones(n),
        "A": np.vander(np.linspace(0.5, 1.0, n), rows).T,
        "l": -1.0,
        "u": 1.0,
        "lb": -1.0,
        "ub": 1.0,
    }
    assert qp.solve(**call, **settings).status == "optimal"
    monkeypatch.setattr(memory, "LARGEST_KEPT", 4000)
    monkeypatch.setattr(memory, "free_memory", lambda: 4000.0)
    with pytest.raises(MemoryError, match=f"{what} takes .* GB, and 4e-06 GB of memory are free"):
        qp.Solver(**call, **settings).solve()
