"""The verdict on answers that are right, wrong, contradictory, or missing."""

from dataclasses import replace

import numpy as np
import pytest

import qp
import socp
from bench.answers.answer import Answer
from bench.answers.verify import verify
from bench.fuzz.case import INFEASIBLE, OPTIMAL, UNBOUNDED, Case, Planted
from bench.fuzz.judge import _explained, judge, truth
from socp import Status

HALFLINE = socp.ConeProgram(c=[2.0], G=[[-1.0]], h=[-3.0], cones=[socp.NonNeg(1)])  # min 2x, x >= 3
OPTIMUM = Planted(OPTIMAL, np.array([3.0]), np.zeros(0), np.array([2.0]))
BOX = qp.QuadraticProgram(np.eye(1), [-3.0], [[1.0]], None, 2.0, 0.0, None)  # min x^2/2 - 3x, x <= 2
BOX_OPTIMUM = Planted(OPTIMAL, np.array([2.0]), np.array([1.0]), np.zeros(1))


def given(status, x=None, y=None, z=None):
    return Answer("someone", status, *(None if v is None else np.array(v, dtype=float) for v in (x, y, z)), 9, 0.0, 0.0)


def verdict(case, *arguments):
    return judge(case, given(*arguments)).name


@pytest.mark.parametrize(
    "program, planted, x, y, z", [(HALFLINE, OPTIMUM, [3.0], [], [2.0]), (BOX, BOX_OPTIMUM, [2.0], [1.0], [0.0])]
)
def test_an_optimal_is_held_to_its_tolerance(program, planted, x, y, z):
    case = Case(program, planted)
    assert verdict(case, Status.OPTIMAL, x, y, z) == "optimal"
    off = [x[0] + 1e-6], y, z
    assert verdict(case, Status.OPTIMAL, *off) == "wrong"
    assert verdict(Case(program, planted, settings={"tol": 1e-5}), Status.OPTIMAL, *off) == "optimal"
    assert verdict(case, Status.INACCURATE, *off) == "missed"
    assert verdict(Case(program, planted, hard=True), Status.INACCURATE, *off) == "inaccurate"
    assert verdict(case, Status.INACCURATE, [x[0] + 1e-2], y, z) == "wrong"
    assert verdict(case, Status.MAX_ITERATIONS, x, y, z) == "missed"
    assert verdict(Case(program, Planted()), Status.MAX_ITERATIONS, x, y, z) == "unsolved"


def test_exact_residuals_are_held_against_the_tolerance_and_against_what_is_told():
    # 1e9 (x1 - x2) = 0 at x1 - x2 = 2^-52: doubles cannot tell 2e-7 from rounding
    program = qp.QuadraticProgram(None, [0.0, 0.0], [[1e9, -1e9]], 0.0, 0.0)
    case, x = Case(program, Planted()), [1.0 + 2.0**-52, 1.0]
    answer, missed = given(Status.OPTIMAL, x, [0.0], [0.0, 0.0]), 1e9 * 2.0**-52
    found = truth(case, replace(answer, told=(missed, 0.0, 0.0)))
    assert found.over_tol == pytest.approx(missed * 1e8) and found.told == pytest.approx(1.0) and not found.excused
    honest = replace(answer, told=(missed, 0.0, 0.0), message="no more digits in double precision")
    assert judge(case, honest).name == "optimal" and truth(case, honest).excused
    # rounding excuses errors up to 1e-6 and up to the size of rounding errors
    far = replace(honest, x=np.array([1.0 + 2.0**-45, 1.0]), told=(1e-3, 0.0, 0.0))
    assert judge(case, far).name == "wrong" and "optimal is not so; told are 1.0e-03" in judge(case, far).why
    some = replace(case, program=qp.QuadraticProgram(None, [0.0, 0.0], [[1e3, -1e3]], 0.0, 0.0))
    beyond = replace(honest, x=np.array([1.0 + 1e-9, 1.0]), told=(1e-6, 0.0, 0.0))
    assert judge(some, beyond).name == "wrong" and "optimal to 1.0e-08 is not so" in judge(some, beyond).why
    silent = replace(honest, message="the stopping test holds")
    assert judge(case, silent).name == "wrong" and "optimal is not so; in exact arithmetic" in judge(case, silent).why
    low = replace(honest, told=(0.4 * missed, 0.0, 0.0))
    assert judge(case, low).name == "wrong" and judge(case, low).why.startswith("told are 8.9e-08")
    # residuals up to 2 tol are allowed, and a reported value of half the true one
    within = Case(program, Planted(), settings={"tol": 0.51 * missed})
    assert judge(within, silent).name == "optimal"
    assert judge(within, replace(silent, told=(0.51 * missed, 0.0, 0.0))).name == "optimal"
    # "inaccurate" promises 1e-5; other statuses promise only that reported values are true
    assert judge(case, replace(silent, status=Status.INACCURATE)).name == "inaccurate"
    assert judge(case, replace(silent, status=Status.MAX_ITERATIONS)).name == "unsolved"
    assert judge(case, replace(low, status=Status.MAX_ITERATIONS)).name == "wrong"
    assert truth(case, replace(silent, status=Status.MAX_ITERATIONS)).over_tol == 0.0 and truth(case, answer) is None


def test_residuals_that_are_rounding_need_not_be_told():
    program = qp.QuadraticProgram(None, [0.0], [[3.0]], 1.0, 1.0)
    answer = replace(given(Status.OPTIMAL, [1 / 3], [0.0], [0.0]), told=(0.0, 0.0, 0.0))
    assert truth(Case(program, Planted()), answer).told == np.inf
    assert judge(Case(program, Planted()), answer).name == "optimal"


@pytest.mark.parametrize("program, planted, answer", [
    # x >= 1 and 1e-9 x <= 0: to within 1e-8 of the data x = 1 solves it, and (1e-9, 1) proves that nothing does
    (qp.QuadraticProgram(None, [1.0], [[1e-9]], None, 0.0, 1.0, None),
     Planted(INFEASIBLE, None, np.array([1e9]), np.array([-1.0])), given(Status.OPTIMAL, [1.0], [0.0], [-1.0])),
    # x >= 0 with the cost -1e-9 x_1 + x_2: to within 1e-8 of the data x = 0 solves it, but the objective falls for ever
    (qp.QuadraticProgram(None, [-1e-9, 1.0], lb=0.0), Planted(UNBOUNDED, np.array([1e9, 0.0]), None, None),
     given(Status.OPTIMAL, [0.0, 0.0], [], [0.0, -1.0])),
])  # fmt: skip
def test_a_claim_that_verifies_may_still_contradict_what_is_planted(program, planted, answer):
    assert judge(Case(program, planted, hard=True), answer).name == "optimal"
    for claim in (answer, replace(answer, status=Status.INACCURATE)):
        found = judge(Case(program, planted), claim)
        assert found.name == "wrong" and f"planted {planted.kind}" in found.why


def test_what_residuals_explain_of_the_objective_by_hand():
    """Each kind of residual alone explains a difference of itself times the planted multipliers or values."""
    program = qp.QuadraticProgram(None, [-3.0, 5.0], [[1.0, 1.0]], None, [2.0], [-4.0, -1.0], None)
    planted = Planted(OPTIMAL, np.array([3.0, -1.0]), np.array([3.0]), np.array([0.0, -8.0]))
    assert verify(program, planted.x, planted.y, planted.z).worst == 0.0
    cone = socp.ConeProgram([-3.0], [[1.0]], [2.0], [socp.NonNeg(1)], A=[[0.0]], b=[0.0])
    quadratic = Case(program, planted)
    conic = Case(cone, Planted(OPTIMAL, np.array([2.0]), np.array([4.0]), np.array([3.0])))
    for case, x, y, z, explained in (
        (quadratic, [3.5, -1.0], [3.0], [0.0, -8.0], 3.0 * 0.5),  # a row
        (quadratic, [3.0, -1.25], [3.0], [0.0, -8.0], 8.0 * 0.25),  # a bound
        (quadratic, [3.0, -1.0], [3.0], [-0.5, -8.0], 4.0 * 0.5),  # the dual equation
        (quadratic, [3.0, -1.0], [-0.5], [3.5, -4.5], 0.5 * 2.0 + 3.5 * 3.0),  # a multiplier of a wrong sign, of a row
        (quadratic, [3.0, -1.0], [3.0], [0.0, 0.5], 4.0 * 8.5 + 0.5 * 1.0),  # and of a bound
        (conic, [2.5], [4.0], [3.0], 1.5), (conic, [2.0], [4.0], [3.5], 2.0 * 0.5), (conic, [2.0], [0.0], [-1.0], 8.0),
    ):  # fmt: skip
        answer = given(Status.OPTIMAL, x, y, z)
        found = verify(case.program, answer.x, answer.y, answer.z)
        gap = abs(found.objective - found.dual_objective)
        assert _explained(case, answer, found) == pytest.approx(gap + explained, rel=1e-8)


def test_an_objective_off_by_more_than_residuals_and_gap_explain():
    # a wrong planted "optimum" shows that answers are compared with it
    case = Case(HALFLINE, Planted(OPTIMAL, np.array([4.0]), np.zeros(0), np.array([0.0])))
    found = judge(case, given(Status.OPTIMAL, [3.0], [], [2.0]))
    assert found.name == "wrong" and "off by 2.0e+00" in found.why


def test_an_objective_off_by_what_evaluating_it_loses():
    # P = F F' with F = (1/3, 1/10): for large x along (1/10, -1/3), x'Px consists of rounding errors
    P = np.outer([1.0 / 3.0, 0.1], [1.0 / 3.0, 0.1])
    program = socp.ConeProgram([0.0, 0.0], np.zeros((1, 2)), [1.0], [socp.NonNeg(1)], P=P)
    case = Case(program, Planted(OPTIMAL, np.zeros(2), np.zeros(0), np.zeros(1)))
    for t in (1e7, 3e7, 7e7, 1.1e8):
        far = np.array([0.1 * t, -t / 3.0])
        found = verify(program, far, [], [0.0])
        assert abs(found.objective) <= found.objective_rounding and found.objective_rounding > 1e-3
        answer = given(Status.OPTIMAL, far, [], [0.0])
        assert judge(case, answer).name == "optimal"
        exact = replace(found, objective_rounding=0.0)
        assert _explained(case, answer, found) - _explained(case, answer, exact) > 1e-3
