"""The same statuses and values as Clarabel on random programs of all kinds."""

import numpy as np
import pytest

import qp
import socp
from bench import peers
from bench.answers.verify import verify
from tests.support.programs import (
    DUAL_INFEASIBLE,
    OPTIMAL,
    PRIMAL_INFEASIBLE,
    check,
    planted_dual_certificate,
    planted_optimum,
    planted_primal_certificate,
    planted_quadratic,
)

pytest.importorskip("clarabel")

GROUPS = {
    "optimal": {name: entry[0] for name, entry in OPTIMAL.items()},
    "primal infeasible": PRIMAL_INFEASIBLE,
    "dual infeasible": DUAL_INFEASIBLE,
}
NAMED = {  # the programs that Clarabel takes, but one with two right answers
    f"{group}: {name}": program
    for group, programs in GROUPS.items()
    for name, program in programs.items()
    if program.n and program.m + program.p and name != "both"
}


def check_against_clarabel(program, solution):
    """The same status and objective, and an answer that is what its status promises."""
    answer = peers.solve("clarabel", program)
    assert str(answer.status) == str(solution.status), answer.note
    check(program, solution, str(answer.status))
    if answer.status == "optimal":
        value = verify(program, answer.x, answer.y, answer.z).objective
        assert solution.objective == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(25))
def test_cone_programs(seed):
    rng = np.random.default_rng(1000 + seed)
    for program in (
        planted_optimum(rng, density=rng.choice([1.0, 0.4]))[0],
        planted_primal_certificate(rng),
        planted_dual_certificate(rng),
    ):
        check_against_clarabel(program, socp.solve(program))


@pytest.mark.parametrize("seed", range(25))
def test_quadratic_programs_with_bounds(seed):
    program, _ = planted_quadratic(np.random.default_rng(2000 + seed))
    check_against_clarabel(program, qp.solve(program))


@pytest.mark.parametrize("name", NAMED)
def test_named_programs(name):
    check_against_clarabel(NAMED[name], socp.solve(NAMED[name]))
