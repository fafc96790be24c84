"""The same statuses and values as ECOS on random programs with a linear objective."""

import numpy as np
import pytest

import socp
from bench import peers
from bench.answers.verify import verify
from socp import ConeProgram
from tests.support.programs import check, planted_dual_certificate, planted_optimum, planted_primal_certificate

pytest.importorskip("ecos")


def linear(program, rng):
    """The program with another objective, that has a dual solution, and no P."""
    if program.P is None:
        return program
    solution = socp.solve(program)
    c = program.c + (program.P @ solution.x)
    return ConeProgram(c, program.G, program.h, program.cones, program.A, program.b, None, program.offset)


@pytest.mark.parametrize("seed", range(20))
def test_linear_objectives(seed):
    rng = np.random.default_rng(3000 + seed)
    for program, expected in (
        (linear(planted_optimum(rng)[0], rng), "optimal"),
        (planted_primal_certificate(rng), "primal_infeasible"),
        (planted_dual_certificate(rng), "dual_infeasible"),
    ):
        if program.P is not None or not program.m:
            continue
        solution, answer = socp.solve(program), peers.solve("ecos", program)
        check(program, solution, expected)
        assert str(answer.status) == expected, answer.note
        if expected == "optimal":
            value = verify(program, answer.x, answer.y, answer.z).objective
            assert solution.objective == pytest.approx(value, rel=1e-6, abs=1e-6)
