"""The engine and its plain NumPy twin end alike: same statuses, same optimal values, points that verify."""

import numpy as np
import pytest

import socp
from socp import ConeProgram, NonNeg, SecondOrder, textbook
from tests.support.textbook_programs import BY_HAND, INFEASIBLE, UNBOUNDED, check, random_program


def assert_alike(program, case):
    engine, book = socp.solve(program), textbook.solve(program)
    assert engine.status == book.status, case
    check(program, engine)
    if book.status == "optimal":
        assert engine.objective == pytest.approx(book.objective, rel=1e-7, abs=1e-7), case


@pytest.mark.parametrize("kind", ["optimal", "primal_infeasible", "dual_infeasible"])
def test_random_programs(kind):
    for seed in range(34):
        assert_alike(random_program(seed, kind), (kind, seed))


@pytest.mark.parametrize("name", BY_HAND)
def test_programs_solved_by_hand(name):
    assert_alike(BY_HAND[name][0], name)


@pytest.mark.parametrize("name", [*INFEASIBLE, *UNBOUNDED])
def test_certificates(name):
    assert_alike((INFEASIBLE | UNBOUNDED)[name], name)


@pytest.mark.parametrize("size", [5, 8])
def test_few_variables_under_many_bounds_and_a_cone(size):
    # more bounds than variables: the rows of the cone begin before the place that their number suggests
    rng = np.random.default_rng(size)
    G = np.concatenate([-np.ones(9), rng.normal(size=size)]).reshape(-1, 1)
    h = np.concatenate([np.arange(9.0), [10.0], rng.normal(size=size - 1)])
    assert_alike(ConeProgram([1.0], G, h, [NonNeg(9), SecondOrder(size)]), size)
