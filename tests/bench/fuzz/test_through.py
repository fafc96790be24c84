"""Programs through every door and after every change; answers that differ are seen at every one of them."""

from dataclasses import replace

import numpy as np
import pytest

import qp
import socp
from bench import commands as command
from bench.answers.program import arguments_of
from bench.compare.process import Died
from bench.fuzz import catalogue, changes, crossing, doors, same, through
from bench.fuzz.campaign import Worker
from bench.fuzz.case import Case, Planted
from bench.fuzz.same import AGREE, DISAGREE, MISSED, THRESHOLD
from socp import NonNeg, Status

QUADRATIC = qp.QuadraticProgram(
    [[2.0, 0.5], [0.5, 1.0]], [-3.0, 1.0], [[1.0, 1.0], [1.0, -1.0]], [0.0, -2.0], [0.0, 2.0], [-1.0, -5.0], [1.5, 5.0]
)
CONIC = socp.ConeProgram(
    [-3.0, 1.0], [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.5, 1.0, 2.0], [NonNeg(3)], [[1.0, 1.0]], [0.0],
    [[2.0, 0.5], [0.5, 1.0]],
)  # fmt: skip
PROGRAMS = {"quadratic": QUADRATIC, "conic": CONIC}


def rng_of(number=0):
    return np.random.default_rng(number)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_door_and_every_change_agree(name):
    found = [one for k in range(3) for one in through.through(rng_of(k), Case(PROGRAMS[name], Planted()), every=True)]
    assert [one for one in found if one.outcome != AGREE] == []
    missing = {"conic": {"qpsolvers"}, "quadratic": set()}[name]
    assert set(doors.DOORS) - {one.door for one in found} == missing | {through.REFERENCE} - {one.door for one in found}
    unfit = {"conic": {"bounds as rows", "infinite as numbers"}, "quadratic": {"pieces of cones"}}[name]
    assert set(changes.CHANGES) - {one.change for one in found} == unfit


@pytest.mark.parametrize("family", ["qp_tiny", "cone_tiny", "qp_infeasible", "cone_unbounded"])
def test_families_agree(family):
    found = [one for number in range(2) for one in through.passages(family, 0, number, every=True)]
    assert len(found) > 40 and {one.outcome for one in found} <= {AGREE, THRESHOLD}


def test_a_change_maps_its_answers_back():
    for program in PROGRAMS.values():
        expected = doors.solve(rng_of(), program, arguments_of(program))
        for name, (change, _) in changes.CHANGES.items():
            changed = change(rng_of(4), program)
            if changed is not None and changed.against is None:
                answer = doors.solve(rng_of(), changed.program, changed.arguments or arguments_of(changed.program))
                back = changed.back(answer, program)
                assert back.x == pytest.approx(expected.x, abs=1e-4), name
                assert back.y.shape == expected.y.shape and back.z.shape == expected.z.shape


SPOILS = {
    "x is off": lambda one: replace(one, x=one.x + 1e-3),
    "x is exchanged": lambda one: replace(one, x=one.x[::-1].copy()),
    "infeasible": lambda one: replace(one, status=Status.PRIMAL_INFEASIBLE),
    "unbounded": lambda one: replace(one, status=Status.DUAL_INFEASIBLE),
    "a false ray": lambda one: replace(one, status=Status.DUAL_INFEASIBLE, x=np.array([0.25, -0.25])),
    "the objective is negated": lambda one: replace(one, objectives=(-one.objectives[0], np.nan)),
    "nothing is claimed": lambda one: replace(one, status=Status.NUMERICAL_ERROR, x=one.x + 1.0),
}


@pytest.mark.parametrize("spoil", SPOILS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_spoiled_answer_is_seen_at_every_door(name, spoil, monkeypatch):
    case = Case(PROGRAMS[name], Planted())
    reference = doors.solve(rng_of(), case.program, arguments_of(case.program))
    for door, enter in list(doors.DOORS.items()):
        right = enter(rng_of(1), case.program, arguments_of(case.program))
        if right is None:
            assert (door, name) == ("qpsolvers", "conic")
            continue
        monkeypatch.setitem(doors.DOORS, door, lambda *_, right=right: SPOILS[spoil](right))
        found = list(through._compared(rng_of(), door, "", case, None, reference))
        assert [one.outcome for one in found] == [DISAGREE], (door, found)


@pytest.mark.parametrize("change", changes.CHANGES)
def test_a_spoiled_answer_is_seen_after_every_change(change, monkeypatch):
    for program in PROGRAMS.values():
        changed, enter = changes.CHANGES[change][0](rng_of(2), program), doors.DOORS["solve"]
        if changed is None:
            continue
        held = changed.against or program
        reference = enter(rng_of(), held, arguments_of(held))
        right = enter(rng_of(), changed.program, changed.arguments or arguments_of(changed.program))
        wrong = replace(right, x=right.x + 1e-2 * (1.0 + abs(right.x)))
        monkeypatch.setitem(doors.DOORS, "solve", lambda *_, wrong=wrong: wrong)
        found = list(through._compared(rng_of(), "solve", change, Case(program, Planted()), changed, reference))
        monkeypatch.undo()
        assert [one.outcome for one in found] == [DISAGREE]


def test_exceptions_are_disagreements(monkeypatch):
    def broken(*_):
        raise IndexError("out of range")

    monkeypatch.setitem(doors.DOORS, "Solver", broken)
    case = Case(QUADRATIC, Planted())
    reference = doors.solve(rng_of(), QUADRATIC, arguments_of(QUADRATIC))
    (found,) = through._compared(rng_of(), "Solver", "", case, None, reference)
    assert (found.outcome, found.why) == (DISAGREE, "IndexError: out of range")


def test_thresholds_are_told_apart_by_their_distance():
    right = doors.solve(rng_of(), QUADRATIC, arguments_of(QUADRATIC))
    silent = replace(right, told=None, objectives=None)
    for off, same_units, expected in (
        (1e-9, True, AGREE),
        (2e-7, True, THRESHOLD),
        (2e-6, True, DISAGREE),
        (2e-6, False, THRESHOLD),
    ):
        found = same.compare(QUADRATIC, right, replace(silent, x=right.x + np.array([off, 0.0])), same_units, False)
        assert found.name == expected, (off, found)
        assert expected == AGREE or 0.05 < found.distance / (off / 1e-8) < 20.0
    late = replace(silent, status=Status.MAX_ITERATIONS, x=right.x + 1.0)
    assert same.compare(QUADRATIC, right, late, False, True).name == MISSED
    assert same.compare(QUADRATIC, right, replace(late, x=right.x), True, False).name == THRESHOLD


def test_small_objectives_are_compared_by_their_own_size():
    small = qp.QuadraticProgram(1e-9 * np.eye(2), [-1e-9, -2e-9])
    right = doors.solve(rng_of(), small, arguments_of(small))
    found = same.compare(small, right, replace(right, x=1.1 * right.x, objectives=None), False, True)
    assert found.name == DISAGREE and "small objectives differ" in found.why


def test_the_campaign_counts_and_keeps_failures(tmp_path, monkeypatch, capsys):
    asked = []

    def ask(worker, family, number):
        asked.append((worker.module, family, number))
        if number == 1:
            raise Died(3)
        one = {
            "door": "Solver",
            "change": "order",
            "outcome": DISAGREE if family == "qp_tiny" else THRESHOLD,
            "distance": 3.0,
        }
        return {"passages": [one]}

    monkeypatch.setattr(Worker, "ask", ask)
    arguments = ["fuzz", "--doors", "--family", "*_tiny", "--programs", "3", "--out", str(tmp_path)]
    assert command.main(arguments) == 1
    printed = capsys.readouterr().out
    assert asked == [
        ("bench.fuzz.through", "cone_tiny", 0),
        ("bench.fuzz.through", "qp_tiny", 0),
        ("bench.fuzz.through", "cone_tiny", 1),
    ]
    for line in (
        "bench fuzz --doors --family qp_tiny --seed 0 --only 0",
        "DISAGREE  Solver, order",
        "the process ended with code 3",
        "3.0e+00",
    ):
        assert line in printed
    assert (tmp_path / "qp_tiny_0_0.json").is_file()


def test_one_program_alone(capsys):
    assert command.main(["fuzz", "--doors", "--family", "qp_tiny", "--only", "1"]) == 0
    assert "qp_tiny 1:" in capsys.readouterr().out


@pytest.mark.full
def test_three_hundred_programs(tmp_path):
    names = [name for name in catalogue.FAMILIES if not name.endswith("_settings")]
    assert not crossing.run(names, 11, tmp_path, 1e9, 300).failed
