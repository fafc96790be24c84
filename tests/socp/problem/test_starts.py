"""Points of the caller's own for cone programs."""

import numpy as np
import pytest

import qp
import socp
from socp import ProgramError, Solver
from tests.support.programs import planted_optimum


@pytest.mark.parametrize("seed", range(10))
def test_a_point_near_the_answer_saves_iterations(seed):
    program = planted_optimum(np.random.default_rng(seed), n=20)[0]
    cold = socp.solve(program)
    for start in (cold, (cold.x, cold.y, cold.z)):
        warm = socp.solve(program, warm_start=start)
        assert warm.status == cold.status == "optimal" and warm.iterations <= max(0.75 * cold.iterations, 4)
        assert warm.objective == pytest.approx(cold.objective, abs=1e-6 * (1 + abs(cold.objective)))
    rng = np.random.default_rng(seed)
    for start in (cold.x, tuple(1e3 * rng.normal(size=part.size) for part in (cold.x, cold.y, cold.z))):
        assert socp.solve(program, warm_start=start).iterations <= 1.1 * cold.iterations + 1


def test_rows_without_a_side_have_no_multiplier():
    data = dict(c=[1.0, 1.0], G=[[-1.0, 0], [0, -1.0], [1, 0]], h=[0.0, 0.0, np.inf], cones=[socp.NonNeg(3)])
    cold = socp.solve(**data)
    assert socp.solve(**data, warm_start=(cold.x, cold.y, cold.z)).iterations < cold.iterations


def test_other_values_are_refused_by_name():
    data = dict(c=[1.0], G=[[-1.0]], h=[2.0], cones=[socp.NonNeg(1)])
    solver = Solver(**data)
    for start in ("no", {"x": 1}, 0.5, 1, ([1.0],), qp.solve([[1.0]], [1.0])):
        with pytest.raises(
            ProgramError, match=r"^warm_start must be True, False, a socp.Solution, a tuple \(x, y, z\)"
        ):
            solver.solve(warm_start=start)
    with pytest.raises(ProgramError, match="warm_start: z must have 1 entries, but 2 came"):
        socp.solve(**data, warm_start=([1.0], None, [1.0, 1.0]))
    assert solver.solve(warm_start=np.True_).status == "optimal"
