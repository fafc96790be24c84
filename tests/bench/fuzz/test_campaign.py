"""Trials counted, failures kept, processes that end replaced; and the command."""

import os
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from bench import commands as command
from bench.answers import answer
from bench.fuzz import campaign, catalogue, trial
from bench.fuzz.campaign import Worker
from bench.fuzz.judge import Truth
from bench.programs import sets


def test_a_trial_of_every_family_ends_in_a_verdict_that_is_no_exception():
    for family in catalogue.FAMILIES:
        for number in range(2):
            assert trial.trial(family, 0, number).name != "exception"


def test_the_seconds_of_a_case_are_those_of_its_updates_and_solves():
    chains = [case for number in range(20) if (case := catalogue.case("qp_updates", 0, number)).before is not None]
    started = time.perf_counter()
    seconds = [trial.solve(case).solve_seconds for case in chains]
    assert len(seconds) > 5 and min(seconds) > 0.0 and sum(seconds) < time.perf_counter() - started


def test_a_wrong_answer_and_an_exception_are_seen(answers_beside_the_point, monkeypatch):
    assert trial.trial("qp_tiny", 0, 0).name == "wrong"

    def broken(program, **settings):
        raise IndexError("out of range")

    monkeypatch.setattr(answer, "solve", broken)
    found = trial.trial("qp_tiny", 0, 0)
    assert (found.name, found.why) == ("exception", "IndexError: out of range")


PROCESS = """
import sys, time
from bench.compare.process import serve
TRUTH = {"over_tol": 0.5, "told": 1.0, "excused": False, "residuals": [1.0, 2.0, 3.0], "faults": []}

def answer(asked, reply):
    print("what is printed goes nowhere", flush=True)
    if asked["number"] == 3:
        sys.exit(5)
    time.sleep(99.0 * (asked["number"] == 4))
    truth = None if asked["number"] else TRUTH
    found = {"name": "optimal", "why": f"{asked['family']} of {sys.argv[1]}", "expected": True, "truth": truth}
    return found

serve(dict, answer)
"""


def test_a_process_answers_and_one_that_ends_or_hangs_is_a_crash_and_is_replaced(monkeypatch, tmp_path):
    starts, module = [], tmp_path / "answers.py"
    module.write_text(PROCESS)

    class Fake(campaign.Process):
        def __init__(self, *command, environment):
            assert command == ("bench.fuzz.trial", "7")
            assert environment.keys() >= os.environ.keys() and "OPENBLAS_NUM_THREADS" in environment
            path = os.pathsep.join([str(tmp_path), *sys.path])
            super().__init__(module.stem, *command[1:], environment=environment | {"PYTHONPATH": path})
            starts.append(self)

    monkeypatch.setattr(campaign, "Process", Fake)
    monkeypatch.setattr(campaign, "PATIENCE", 20.0)
    worker = Worker(7)
    try:
        truth = Truth(0.5, 1.0, False, (1.0, 2.0, 3.0))
        assert worker.trial("qp_tiny", 0) == trial.Verdict("optimal", "qp_tiny of 7", True, truth)
        assert worker.trial("cone_tiny", 1) == trial.Verdict("optimal", "cone_tiny of 7", True)
        assert len(starts) == 1
        assert worker.trial("qp_tiny", 3) == trial.Verdict("crash", "the process ended with code 5")
        assert worker.trial("qp_tiny", 1).name == "optimal" and len(starts) == 2
        starts[-1].kill()
        starts[-1].wait()
        assert worker.trial("qp_tiny", 1) == trial.Verdict("crash", "the process ended with code -9")
        assert worker.trial("qp_tiny", 1).name == "optimal" and len(starts) == 3
        monkeypatch.setattr(campaign, "PATIENCE", 0.2)
        assert worker.trial("qp_tiny", 4) == trial.Verdict("crash", "no answer within 0.2 s")
    finally:
        worker.stop()
    assert [process.poll() is not None for process in starts] == [True] * 3


def test_families_take_turns_until_the_time_or_the_number_is_reached_or_ctrl_c(tmp_path, monkeypatch):
    now, stopped, families = [0.0], [], ["qp_tiny", "cone_tiny"]

    def tried(worker, family, number):
        now[0] += 1.0
        if number == 2:
            raise KeyboardInterrupt
        is_first = family == families[0]
        return trial.Verdict("optimal", "", is_first, Truth(0.5, 1.0, False, (1.0, 2.0, 3.0)) if is_first else None)

    monkeypatch.setattr(Worker, "trial", tried)
    monkeypatch.setattr(Worker, "stop", lambda worker: stopped.append(worker))
    monkeypatch.setattr(campaign.time, "monotonic", lambda: now[0])
    for seconds, programs, first, second in ((9.0, 3, 2, 1), (3.0, None, 2, 1), (3.5, None, 2, 2), (99.0, None, 2, 2)):
        found = campaign.run(families, 7, tmp_path, seconds, programs)
        assert [found.counts[family]["optimal"] for family in families] == [first, second]
        assert found.expected == first == len(found.truths[families[0]]) and not found.truths[families[1]]
    assert len(stopped) == 4 and not found.failures and not list(tmp_path.iterdir())


@pytest.mark.full
def test_a_failure_is_kept_as_a_file_that_solve_reads(tmp_path, capsys):
    path = campaign.keep(tmp_path / "new", "cone_curved", 3, 5)
    program, read = catalogue.case("cone_curved", 3, 5).program, sets.read(path)
    assert read.cones == program.cones and type(read.P) is type(program.P)
    assert np.array_equal(read.c, program.c) and np.array_equal(read.G.toarray(), program.G.toarray())
    assert command.main(["solve", str(path)]) == 0
    assert "ConeProgram" in capsys.readouterr().out


@pytest.mark.full
def test_the_command_prints_a_table(tmp_path, capsys):
    arguments = ["fuzz", "--programs", "6", "--family", "*_tiny", "--seed", "5", "--out", str(tmp_path / "out")]
    assert command.main(arguments) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    second = printed.index(["Answers", "in", "exact", "arithmetic"])
    rows, exact = ({row[0]: row[1:] for row in part} for part in (printed[:second], printed[second:]))
    assert rows["family"][:3] == ["programs", "optimal", "certified"]
    assert rows["cone_tiny"][:2] == rows["qp_tiny"][:2] == ["3", "3"]
    assert rows["all"] == ["6", "6", *["."] * 7]
    assert ["0", "missed", "of", "6"] in [line[:4] for line in printed]
    assert exact["cone_tiny"][0] == exact["qp_tiny"][0] == "3" and exact["all"][0] == "6"
    assert not (tmp_path / "out").exists()


def test_the_worst_of_all_exact_residuals_is_in_the_table():
    found = [Truth(0.5, 0.9, False, (0.0, 0.0, 0.0)), Truth(7.0, 0.6, True, (0.0, 0.0, 0.0))]
    rows = campaign.Campaign(
        truths={"one": found, "none": [], "rounding": [replace(found[0], told=np.inf)]}
    ).exact_table()
    assert rows.rows == [
        ["one", "2", "0.5", "0.6", "1"],
        ["rounding", "1", "0.5", "-", "."],
        ["all", "3", "0.5", "0.6", "1"],
    ]


def test_the_command_with_one_program(tmp_path, capsys):
    arguments = ["fuzz", "--only", "4", "--family", "cone_tiny", "--out", str(tmp_path)]
    assert command.main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("cone_tiny 4: optimal") and "in exact arithmetic primal residual" in printed
    assert "cone_tiny_0_4.json" in printed and (tmp_path / "cone_tiny_0_4.json").is_file()


def test_the_exit_code_says_whether_anything_was_wrong(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Worker, "trial", lambda self, family, number: trial.Verdict("wrong", "as an example", True))
    arguments = ["fuzz", "--programs", "2", "--family", "qp_tiny", "--out", str(tmp_path)]
    assert command.main(arguments) == 1
    printed = capsys.readouterr().out
    assert "WRONG  python -m bench fuzz --family qp_tiny --seed 0 --only 1" in printed
    assert printed.count("as an example") == 2 and "0 missed of 2 in which an answer is planted" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qp_tiny_0_0.json", "qp_tiny_0_1.json"]
    assert f"python -m bench solve {tmp_path}" in printed
