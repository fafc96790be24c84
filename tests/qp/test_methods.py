"""The list of methods: an engine offers its program in order, and a new method is a class and a line of the list."""

import numpy as np
import pytest

import qp
from qp import engine
from qp.interior_point import InteriorPoint
from qp.method import Method
from qp.methods import METHODS
from qp.problem.solution import solution_at
from socp import Status
from socp.engine import NO_TIMINGS
from socp.method.run import NO_RECORDS
from socp.plan.plan import Plan
from socp.verify.stopping import residuals

RNG = np.random.default_rng(0)
F = RNG.normal(size=(12, 12))
P, q = F @ F.T + np.eye(12), RNG.normal(size=12)


class ClosedForm(Method):
    """The solution x = -P^-1 q of a program with a dense P and without rows and bounds."""

    plan = Plan("dense", "nothing bounds x", method="closed form", what="closed form")

    def __init__(self, program):
        self.program = program

    @classmethod
    def take(cls, offer, before):
        program = offer.program
        is_free = program.m == 0 and not (np.isfinite(program.lb).any() or np.isfinite(program.ub).any())
        return cls(program) if is_free and program.hessian.is_full else None

    def solve(self, start, offer):
        program, settings = offer.program, offer.settings
        x, y, z = np.linalg.solve(program.P, -program.q), np.zeros(0), np.zeros(program.n)
        found = residuals(program, x, y, z)
        if not found.meets(settings.tol, settings.tol_abs):
            return None
        return solution_at(
            program, Status.OPTIMAL, (x, y, z), found, iterations=0, setup_time=0.0, solve_time=0.0,
            message="closed form", trace=NO_RECORDS, timings=NO_TIMINGS.copy(), plan=self.plan,
        )  # fmt: skip

    def update(self, offer, new_P, new_A):
        return True


@pytest.fixture
def closed_form(monkeypatch):
    monkeypatch.setattr(engine, "METHODS", [ClosedForm, *METHODS])


def test_a_method_is_a_class_and_a_line(closed_form):
    solver = qp.Solver(P, q)
    assert [type(method) for method in solver.methods] == [ClosedForm, InteriorPoint]
    found = solver.solve()
    assert found.plan.method == "closed form" and found.gap < 1e-8
    np.testing.assert_allclose(found.x, -np.linalg.solve(P, q), rtol=1e-12)
    np.testing.assert_allclose(found.vjp(np.ones(12)).q, -np.linalg.solve(P, np.ones(12)), rtol=1e-8)
    solver.update(q=2.0 * q)
    np.testing.assert_allclose(solver.solve(warm_start=True).x, 2.0 * found.x, rtol=1e-12)


def test_what_it_does_not_take_or_does_not_find_is_offered_to_the_next(closed_form, monkeypatch):
    assert qp.Solver(P, q, lb=0.0).solve().plan.method == "dual active set"
    solver = qp.Solver(P, q)
    monkeypatch.setattr(ClosedForm, "solve", lambda self, start, offer: None)
    found = solver.solve()
    assert found.plan.method == "interior point"
    np.testing.assert_allclose(found.x, -np.linalg.solve(P, q), atol=1e-7)


def test_the_last_method_tests_convexity_unless_the_first_has_shown_it(closed_form):
    with pytest.raises(qp.ProgramError, match="P must be positive semidefinite"):
        qp.Solver(-P, q)
    assert qp.Solver(-P, q, check_convexity=False).methods[0].plan.method == "closed form"


def test_the_list_ends_with_the_method_that_answers_every_program():
    assert METHODS[-1] is InteriorPoint and all(issubclass(method, Method) for method in METHODS)


def test_no_method_looks_for_convexity_if_it_is_not_to_be_checked(monkeypatch):
    for method in METHODS:
        monkeypatch.setattr(method, "is_clearly_definite", None)
    boxes = {"lb": 0.0, "ub": 1.0, "check_convexity": False}
    for n, name in ((12, "dual active set"), (250, "active set")):
        solver = qp.Solver(np.full((n, n), 0.5) + np.eye(n), np.ones(n), **boxes)
        assert solver.methods[0].plan.method == name
