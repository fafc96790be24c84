"""Controllers of the set `control`, and the solvers that take their stages."""

from __future__ import annotations

import numpy as np
import pytest

from bench import peers
from bench.answers.verify import verify
from bench.programs import catalogue, control, repeated


def test_the_rows_are_the_dynamics():
    program = control.controller(5, seed=3, nx=4)
    stages, rng = program.stages, np.random.default_rng(0)
    nx, nu = stages.B.shape
    x_0 = -np.linalg.solve(stages.A, program.l[:nx])
    inputs, state, point = rng.normal(size=(5, nu)), x_0, []
    for u in inputs:
        state = stages.A @ state + stages.B @ u
        point += [u, state]
    x = np.concatenate(point)
    np.testing.assert_allclose(program.A @ x, program.l, atol=1e-10)
    cost = sum(s @ stages.Q @ s for s in point[1::2]) + sum(u @ stages.R @ u for u in inputs)
    assert x @ (program.P @ x) == pytest.approx(cost)


@pytest.mark.parametrize("solver", ["centralpath", "daqp", "osqp", "piqp", *peers.STAGED])
def test_every_solver_follows_the_loop(solver):
    if solver != "centralpath" and not peers.is_installed(solver):
        pytest.skip(f"{solver} is not installed")
    name = f"states_4_{repeated.LOOP}"
    program = catalogue.load(catalogue.Case("", "control", name, 12))
    assert solver == "centralpath" or solver in repeated.peers_for(name, program)
    again = repeated.updates(solver, program, 1e-8)
    for change in repeated._first_states(program)[:4]:
        again.solve(change)
        asked = program.with_data(**change)
        assert verify(asked, *again.point()).solved(1e-6)


def test_a_controller_without_stages_is_not_asked_of_solvers_by_stages():
    program = catalogue.load(catalogue.Case("", "small", "control_loop", 30))
    assert not set(peers.STAGED) & set(repeated.peers_for("control_loop", program))
