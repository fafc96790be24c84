"""The same statuses and values as Clarabel on random programs of all kinds."""

import numpy as np
import pytest
from programs import (
    DUAL_INFEASIBLE,
    OPTIMAL,
    PRIMAL_INFEASIBLE,
    check,
    planted_dual_certificate,
    planted_optimum,
    planted_primal_certificate,
    planted_quadratic,
)

import qp
import socp
from bench import peers
from bench.verify import verify

pytest.importorskip("clarabel")

NAMED = {name: entry[0] for name, entry in OPTIMAL.items() if entry[0].n} | DUAL_INFEASIBLE | PRIMAL_INFEASIBLE


def compare(program, solution):
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
        compare(program, socp.solve(program))


@pytest.mark.parametrize("seed", range(25))
def test_quadratic_programs_with_bounds(seed):
    program, _ = planted_quadratic(np.random.default_rng(2000 + seed))
    compare(program, qp.solve(program))


@pytest.mark.parametrize("name", [name for name in NAMED if name not in ("both", "no variables", "large cone")])
def test_named_programs(name):
    program = NAMED[name]
    if program.n and program.m + program.p:
        compare(program, socp.solve(program))
