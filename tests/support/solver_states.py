"""Stateful test of a solver: updated, interrupted, refused, copied and warm-started in any order, like a new one."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from socp import ProgramError
from tests.support.interrupts import Interrupted
from tests.support.programs import check

SEEDS = st.integers(0, 2**32 - 1)
COPIES = st.sampled_from([copy.copy, copy.deepcopy, lambda solver: pickle.loads(pickle.dumps(solver))])
SETTINGS = settings(
    deadline=None,
    derandomize=True,
    max_examples=25,
    stateful_step_count=20,
    phases=[Phase.generate],  # seeds tell all
    suppress_health_check=[HealthCheck.too_slow],
)


def same_data(one, other):
    """Return True if two matrices or vectors have equal shapes and entries."""
    if one is None or other is None:
        return one is other
    one, other = (np.asarray(M) if isinstance(M, np.ndarray) else M @ np.eye(M.shape[1]) for M in (one, other))
    return np.array_equal(one, other)


class SolverStates(RuleBasedStateMachine):
    """Rules for both kinds of solvers; `data` holds the data that the program of the solver must have.

    A subclass defines `Solver`; `new(rng, **options)`, which returns a solver with planted x, y, z and known optimum;
    `changes`, names of updates; and `change(kind, rng)`, which returns arguments of `update` and the new data.
    """

    @initialize(seed=SEEDS, data=st.data())
    def start(self, seed, data):
        self.rng, self.last = np.random.default_rng(seed), None
        self.solver = self.new(data)

    def value(self):
        x, P = self.planted["x"], self.data["P"]
        return 0.5 * x @ (0.0 * x if P is None else P @ x) + self.data[self.linear] @ x

    def check(self, solution, expected="optimal"):
        check(self.solver.program, solution, expected)
        if expected == "optimal":
            assert solution.objective == pytest.approx(self.value(), rel=1e-6, abs=1e-6)

    @invariant()
    def the_program_is_as_told(self):
        if hasattr(self, "solver"):
            for name, expected in self.data.items():
                assert same_data(getattr(self.solver.program, name), expected), name

    @rule(data=st.data())
    def update(self, data):
        change, self.data, self.planted = self.change(data.draw(st.sampled_from(self.changes)))
        self.solver.update(**change)

    @rule(data=st.data())
    def interrupt_an_update(self, data):
        change, after, planted = self.change(data.draw(st.sampled_from(self.changes)))
        lines = Interrupted(partial(copy.deepcopy(self.solver).update, **change)).lines
        Interrupted(partial(self.solver.update, **change), int(self.rng.integers(1, lines + 1)))
        if all(same_data(getattr(self.solver.program, name), value) for name, value in after.items()):
            self.data, self.planted = after, planted

    @rule(warm_start=st.booleans())
    def solve(self, warm_start):
        self.check(self.solver.solve(warm_start))

    @rule()
    def solve_twice(self):
        one, other = self.solver.solve(), self.solver.solve()
        assert np.array_equal(one.x, other.x) and one.iterations == other.iterations
        assert self.solver.solve(warm_start=True).iterations <= one.iterations

    @rule(warm_start=st.booleans())
    def interrupt_a_solve(self, warm_start):
        lines = Interrupted(partial(copy.deepcopy(self.solver).solve, warm_start)).lines
        Interrupted(partial(self.solver.solve, warm_start), int(self.rng.integers(1, lines + 1)))

    @rule(warm_start=st.booleans())
    def fail_and_recover(self, warm_start):
        before, bad = self.infeasible()
        self.solver.update(**bad)
        self.check(self.solver.solve(warm_start), "primal_infeasible")
        self.solver.update(**before)
        self.check(self.solver.solve(warm_start=True))

    @rule(data=st.data())
    def refuse(self, data):
        with pytest.raises(ProgramError):
            self.solver.update(**data.draw(st.sampled_from(self.refused())))

    @rule(copied=COPIES)
    def go_on_with_a_copy(self, copied):
        self.solver = copied(self.solver)
        found, fresh = self.solver.solve(), type(self.solver)(self.solver.program, **self.settings).solve()
        assert np.array_equal(found.x, fresh.x) and found.iterations == fresh.iterations

    @rule()
    def solve_many(self):
        found = self.solver.solve_many(**{self.linear: np.stack(3 * [self.data[self.linear]])})
        assert (found.status == "optimal").all()
        assert found.objective == pytest.approx(self.value(), rel=1e-6, abs=1e-6)
