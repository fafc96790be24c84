"""Sequences of warm starts: every answer is verified, and no warm start costs more work than a cold one."""

import numpy as np
import pytest

import bench.commands as command
from bench import peers
from bench.answers.verify import verify
from bench.compare import warm
from bench.programs import sequences
from socp import Status

PEERS = ("daqp", "piqp", "osqp", "qpalm", "hpipm", "clarabel", "scs")


@pytest.mark.parametrize("size", [6, 40])
@pytest.mark.parametrize("kind", sequences.KINDS)
def test_a_warm_start_never_takes_more_work(kind, size):
    sequence = sequences.KINDS[kind](size, 40, 1)
    begun, cold = warm.follow(sequence, True), warm.follow(sequence, False)
    assert set(begun.verdicts) <= {"solved", "certified"} and begun.statuses == cold.statuses
    assert begun.work <= 1.1 * cold.work and begun.error < 1e-7


@pytest.mark.parametrize("kind", ["slow", "sides", "costs", "portfolio", "hessian", "controller", "robust"])
def test_near_programs_save_most_of_the_rounds(kind):
    sequence, rounds = sequences.KINDS[kind](40, 20, 2), []
    for is_warm in (True, False):
        solver = warm.engine_of(sequence.program).Solver(sequence.program)
        solver.solve()
        rounds.append(0)
        for step in sequence.steps:
            solver.update(**step.change)
            rounds[-1] += solver.solve(warm_start=is_warm).iterations
    assert rounds[0] <= 0.8 * rounds[1]


def test_disturbances_leave_no_feasible_point_now_and_then():
    found = warm.follow(sequences.disturbed(40, 60, 0), True)
    assert found.statuses.count(Status.PRIMAL_INFEASIBLE) >= 3 <= found.statuses.count(Status.OPTIMAL)
    assert set(found.verdicts) == {"solved", "certified"}


def test_the_rows_of_a_step_are_those_of_its_program():
    sequence = sequences.rows(6, 3, 0)
    solver = warm.engine_of(sequence.program).Solver(sequence.program)
    for program, step in zip(sequence.programs(), sequence.steps):
        solver.update(**step.change)
        np.testing.assert_array_equal(solver.program.A.toarray(), program.A.toarray())
        np.testing.assert_array_equal(solver.program.q, program.q)


@pytest.mark.parametrize("solver", PEERS)
def test_a_peer_answers_the_program_of_each_step(solver):
    if not peers.is_installed(solver):
        pytest.skip(f"{solver} is not installed")
    for kind in ("slow", "portfolio", "hessian", "controller", "robust"):
        sequence = sequences.KINDS[kind](20, 4, 0)
        if solver in warm.peers_of(sequence.program):
            found = warm.follow_peer(solver, sequence)
            assert set(found.verdicts) == {"solved"} and found.seconds.size == 4


def test_an_answer_to_the_program_before_is_wrong():
    sequence = sequences.far(6, 3, 0)
    programs = list(sequence.programs())
    answers = [(Status.OPTIMAL, warm.answer.point_of(warm.engine_of(p).solve(p)), 1.0) for p in programs]
    assert not warm.Followed(programs, answers).is_wrong
    late = warm.Followed(programs[1:], answers[:-1])
    assert late.is_wrong and late.error > 1e-3 and not verify(programs[1], *answers[0][1]).solved(1e-3)


def test_the_table_has_cold_starts_and_peers():
    pairs = list(warm.measure("slow", 6, count=5))
    assert pairs[0].peer == "centralpath, cold" and "work" in pairs[0].note
    assert [pair.peer for pair in pairs[1:]] == warm.peers_of(sequences.base(6))
    assert all(pair.seconds > 0.0 and not pair.is_wrong and pair.error < 1e-8 for pair in pairs)


def test_the_command_knows_the_sequences(capsys):
    assert command.main(["compare", "warm", "--only", "nonsense"]) == 2
    assert "no sequence matches 'nonsense'" in capsys.readouterr().err
