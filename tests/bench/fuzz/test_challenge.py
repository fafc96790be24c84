"""False certificates that pass a test by residuals are refuted by points that exist; true ones are not."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.answers import exclusion
from bench.answers.answer import Answer
from bench.fuzz import challenge, judge
from bench.fuzz.case import Case, Planted
from socp import NonNeg, SecondOrder, Status


def told(status, x=None, y=None, z=None):
    x, y, z = (None if part is None else np.asarray(part, dtype=float) for part in (x, y, z))
    return Answer("", status, x, y, z, 0, 0.0, 0.0)


def assets(n, s, seed=0):
    """Return n assets of cost s, y_i >= 10 s |w_i|, and a direction that leaves the bounds by 1e-8 of its slope."""
    a, eye = np.random.default_rng(seed).normal(size=n), sp.eye_array(n)
    A = sp.block_array([[-10 * s * eye, eye], [10 * s * eye, eye]])
    q = np.r_[-100 * s * a, np.ones(n)]
    ray = np.r_[np.sign(a), np.full(n, 10 * s)]
    bounds = {"lb": np.r_[-np.ones(n), np.zeros(n)], "ub": np.r_[np.ones(n), np.full(n, np.inf)]}
    return qp.QuadraticProgram(None, q, A, l=0.0, **bounds), ray / -(q @ ray)


COSTS = qp.QuadraticProgram(None, [-1e9, 0.5], [[-1e6, 1.0]], l=0.0, lb=0.0, ub=[1.0, np.inf])
FAR = qp.QuadraticProgram(None, [1.0], [[1e-9]], l=1.0)  # solved by x = 1e9
RAYS, PROOFS = Status.DUAL_INFEASIBLE, Status.PRIMAL_INFEASIBLE
FALSE = {
    "costs": (COSTS, told(RAYS, np.array([1.0, 1e6]) / (1e9 - 5e5))),
    **{f"assets {n}": (program, told(RAYS, ray)) for n in (10, 100) for program, ray in [assets(n, 1e8)]},
    "cone": (socp.ConeProgram([-1e9, 0.0], [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 0.0, 0.0],
                              [NonNeg(2), SecondOrder(2)], A=[[1.0, -1.0]], b=[0.0]), told(RAYS, [1e-9, 1e-9])),
    "far": (FAR, told(PROOFS, y=[-1.0], z=[0.0])),
    "far cone": (socp.ConeProgram([1.0], [[-1e-9], [0.0]], [-1.0, 0.0], [SecondOrder(2)]),
                 told(PROOFS, None, [], [1, 0])),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_a_false_certificate_is_refuted(name):
    program, answer = FALSE[name]
    assert "false certificate" in challenge.refuted(program, answer)
    assert judge.judge(Case(program, Planted(), hard=True), answer).name == "wrong"


def test_a_point_refutes_what_residuals_do_not_show(monkeypatch):
    program, answer = FALSE["assets 10"]
    case = Case(program, Planted(), hard=True)
    assert "the point of highspy bounds the objective" in judge.judge(case, answer).why
    monkeypatch.setattr(challenge, "refuted", lambda *_: "")
    assert judge.judge(case, answer).name == "certified"


@pytest.mark.parametrize("program, answer", [
    (qp.QuadraticProgram(None, [-1e9, 0.5], [[-1e6, 1.0]], l=0.0, lb=0.0), told(RAYS, [1e-9 / 0.9995, 1e-3 / 0.9995])),
    (qp.QuadraticProgram(None, [1.0], [[1e-9]], l=1.0, ub=0.0), told(PROOFS, y=[-1.0], z=[1e-9])),
    (socp.ConeProgram([-1.0], [[-1.0], [0.5]], [0.0, 1.0], [SecondOrder(2)]), told(RAYS, [1.0])),
    (socp.ConeProgram([1.0], [[0.0], [1.0]], [-1.0, 0.0], [SecondOrder(2)]), told(PROOFS, y=[], z=[1.0, 0.0])),
])  # fmt: skip
def test_a_true_certificate_stands(program, answer):
    assert challenge.refuted(program, answer) == ""
    assert judge.judge(Case(program, Planted(), hard=True), answer).name == "certified"


def test_the_claim_is_divided_between_point_and_certificate():
    for name, (program, answer) in FALSE.items():
        search = challenge.dual_points if answer.status is RAYS else challenge.feasible_points
        found = [challenge.weigh(program, answer, point) for point in search(program)]
        assert found and all(sum(part) >= 1.0 - 1e-6 for part in found), name
    assert challenge.weigh(FAR, told(PROOFS, y=[-1.0], z=[0.0]), challenge.Point("", np.array([np.nan]))) is None


def test_a_certificate_without_a_slope_is_refuted_by_any_point():
    assert exclusion.of_infeasibility(FAR, [1.0], [0.0], [5.0]).refutes
    assert exclusion.of_unboundedness(COSTS, [0.0, 1.0], [0.0, 0.0], [0.0], [0.0, 0.0]).refutes
    assert not exclusion.of_infeasibility(FAR, [-1.0], [0.0], [5.0]).refutes  # x = 5 misses the row by 1


def test_planted_points_are_challengers():
    program, answer = FALSE["far"]
    planted = Planted("optimal", np.array([1e9]), np.array([-1e9]), np.array([0.0]))
    point = judge._planted_points(Case(program, planted))
    assert "the point of the plan is feasible" in challenge.refuted(program, answer, point)


def test_a_solver_that_finds_no_point_is_passed_over(monkeypatch):
    program, answer = FALSE["assets 10"]
    monkeypatch.setattr(challenge.peers, "solve", lambda *_: told(PROOFS, x=[]))
    assert challenge.refuted(program, answer) == ""
