"""Bounds that an answer misses: how much of it is excused, x moved onto them, another iterate and a last step."""

import numpy as np
import pytest

import socp
from socp import ConeProgram, NonNeg, Solver, Status
from socp.method.answer import BOUNDS_MISSED, EXCUSED, FAILS, OUTSIDE_BOUNDS, PASSES, ROUNDED, Judged
from socp.method.run import Run
from socp.problem.settings import Settings
from socp.verify.stopping import ConeTest, residuals
from tests.support.programs import OPTIMAL


@pytest.mark.parametrize("kind", ["socp", "rows"])
def test_a_small_bound_is_met_beside_a_large_variable(kind):
    # x1 >= 0 is a row of the cone of x2 = 1e6; large rows do not excuse violated bounds
    rng = np.random.default_rng(0)
    n = 20
    A = rng.normal(size=(6, n)) * 10.0 ** rng.uniform(-1, 1, size=(6, n))
    x = np.where(rng.random(n) < 0.5, 0.0, rng.random(n))
    x[0] = 1e6
    G = -np.eye(n) if kind == "socp" else np.vstack([-np.eye(n), np.ones(n)])
    h = np.zeros(n) if kind == "socp" else np.append(np.zeros(n), x.sum())
    program = ConeProgram(rng.normal(size=n) ** 2 + A.T @ rng.normal(size=6), G, h, [NonNeg(h.size)], A, A @ x)
    solution = socp.solve(program)
    assert solution.status is Status.OPTIMAL and solution.x.min() >= -1e-8
    assert residuals(program, solution.x, solution.y, solution.z, solution.s).meets(1e-8)


class Missing(ConeTest):
    """Stopping test that counts calls and rejects every x outside its bounds, even by rounding."""

    asked = 0

    def residuals(self, x, *rest, rounding=False):
        self.asked += 1
        found = super().residuals(x, *rest, rounding=rounding)
        return found._replace(cone=found.cone_scale) if x.min() < 0.0 else found


def test_x_is_moved_to_the_bounds_that_it_misses():
    # min x1 + x2 over x >= 0; some iterates violate a bound
    program = ConeProgram([1.0, 1.0, 0.5], -np.eye(3), np.zeros(3), [NonNeg(3)], [[1.0, 1, 1]], [1.0])
    run = Run(program, Solver(program)._state, Solver(program).settings, False, Missing(program))
    answer = np.array([-1e-3, 1e-3, 1.0]), np.array([-0.5]), np.array([0.5, 0.5, 0.0]), np.zeros(3)
    judged = run._judge(answer)
    found = judged.found
    np.testing.assert_array_equal(answer[0], [0, 1e-3, 1])
    np.testing.assert_array_equal(answer[3], [0, 1e-3, 1])
    assert not judged.is_optimal and found.cone < found.cone_scale and run.test.asked == 2


def test_x_stays_where_it_is_no_better_at_its_bounds():
    class Worse(ConeTest):
        def residuals(self, x, *rest, rounding=False):
            found = super().residuals(x, *rest, rounding=rounding)
            return found._replace(cone=(0.1 if x.min() < 0.0 else 0.2) * found.cone_scale)

    program = ConeProgram([1.0, 1.0], -np.eye(2), np.zeros(2), [NonNeg(2)])
    run = Run(program, Solver(program)._state, Solver(program).settings, False, Worse(program))
    answer = np.array([-1e-3, 1.0]), np.zeros(0), np.ones(2), np.zeros(2)
    assert not run._judge(answer).is_optimal and answer[0].tolist() == [-1e-3, 1.0]


@pytest.mark.parametrize("verdict, was_near, steps, is_over", [
    (BOUNDS_MISSED, False, 0, False), (BOUNDS_MISSED, True, 1, True), (FAILS, False, 0, False),
    (PASSES, False, 0, True), (OUTSIDE_BOUNDS, False, 1, True), (EXCUSED, False, 1, True), (ROUNDED, False, 1, True),
])  # fmt: skip
def test_an_answer_beside_bounds_has_another_iterate_and_then_a_step(verdict, was_near, steps, is_over):
    run, asked = Run(OPTIMAL["disk"][0], Solver(OPTIMAL["disk"][0])._state, Settings(callback=None), False, None), []
    run._judge, run._near = lambda answer: Judged(answer, "found", verdict), was_near
    run._last_step = lambda judged: asked.append(judged) or judged._replace(found="better", verdict=PASSES)
    run.finish = lambda status, message, answer, found: (
        (status, found) == (Status.OPTIMAL, "better" if asked else "found")
    )
    assert run._is_solved() is is_over and len(asked) == steps
    assert run._near == (was_near or verdict is BOUNDS_MISSED)
