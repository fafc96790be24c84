"""A comparison with fake processes: requests, time limits and dropped solvers; and the loop of a worker."""

import os
import resource
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import qp
from bench import peers
from bench.answers.answer import Answer
from bench.compare import comparison as compare
from bench.compare import worker
from bench.compare.comparison import Limits
from bench.compare.measurement import Measurement, Record
from bench.compare.process import Died, Late, Process
from bench.programs import generate, many
from bench.programs.catalogue import Case
from socp import Status

ROOT = str(Path(__file__).resolve().parents[3])
LIMITS = Limits(1e-7, 10.0, 2)
P2, P3 = (Case(f"p_{size}", "generated", "", size) for size in (2, 3))
RUN = {"event": "run"}


def ready(seconds):
    return {"event": "ready", "first_answer_seconds": seconds}


def measured(case, solver, peak=10.0):
    found = Measurement(case.name, "", case.size, solver, "", "optimal", "solved", 1.0, peak_megabytes=peak)
    return {"event": "measured", "measurement": asdict(found)}


@pytest.fixture
def processes(monkeypatch):
    """Replace the solvers' processes by fakes; return the started ones, and a dict of their replies by solver."""
    started, said = [], {}

    class Fake:
        def __init__(self, *command, environment, errors):
            self.command, self.environment, self.errors = command, environment, errors
            self.requests, self.patience, self.ended, self.code = [], [], 0, None
            self.ask = self.requests.append
            started.append(self)

        def reply(self, seconds):
            self.patience.append(seconds)
            found = said[self.command[1]].pop(0)
            if isinstance(found, tuple):  # with output on stderr
                found, words = found
                self.errors.write(words)
            if isinstance(found, BaseException):
                raise found
            return found

        def poll(self):
            return self.code

        def close(self):
            self.ended += 1

    monkeypatch.setattr(compare, "Process", Fake)
    return started, said


def run(record, solvers, save=lambda: None, show=lambda *_: None):
    compare.run([P2, P3], solvers, LIMITS, record, save, show)


def test_all_are_asked_in_turn_and_what_goes_wrong_is_a_measurement(processes, monkeypatch):
    started, said = processes
    said |= {
        "m:good": [ready(0.5), RUN, measured(P2, "m:good"), measured(P3, "m:good", 1024.5)],
        "m:dies": [ready(0.25), (Died(3), b"first\nno /home/me/licence\n"), ready(9.0), RUN, RUN, Late()],
        "m:none": [(Died(-9), b"")],
        "m:slow": [Late()],
    }
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    record, saves, shown = Record({}, {}, {}, broken={"m:old": "before"}), [], []
    run(record, [*said], lambda: saves.append(len(record.measurements)), lambda *told: shown.append(told))
    assert shown == [(k, 8, f"{case.name} {s}") for k, (case, s) in enumerate((c, s) for c in (P2, P3) for s in said)]
    assert saves == [1, 2, 2, 2, 3, 4]
    assert record.broken == {"m:none": "the process ended by SIGKILL", "m:slow": "no first answer in 600 s"}
    assert record.cold_starts == {"m:good": 0.5}  # only of solvers whose process is alive
    died, late = (record.measurements[name, "m:dies", ""] for name in ("p_2", "p_3"))
    assert (died.status, died.verdict, died.note) == ("crashed", "failed", "the process ended with code 3 no licence")
    assert 0.0 <= died.seconds < 5.0
    assert (late.status, late.seconds, late.note) == ("killed", 10.0, "no answer within the limit")
    assert record.measurements["p_3", "m:good", ""].peak_megabytes == 1024.5
    names = [process.command for process in started]
    assert names == [("bench.compare.worker", s, "2") for s in ("m:good", "m:dies", "m:none", "m:slow", "m:dies")]
    good, dies, none, slow, again = started
    assert (good.patience, good.ended) == ([600.0, 300.0, 14.0, 300.0], 1)
    assert (again.patience, again.ended) == ([600.0, 300.0, 14.0, 14.0], 1)
    assert [request["case"]["name"] for request in good.requests] == ["p_2", "p_3"]
    assert {k: v for k, v in again.requests[0].items() if k != "case"} == {"form": "", "tol": 1e-7, "limit": 10.0}
    for process in (dies, none, slow):
        assert process.ended == 1
    for process in started:
        assert process.errors.closed and process.environment["PYTHONPATH"] == f"{ROOT}:/theirs"
        assert {process.environment[f"{name}_NUM_THREADS"] for name in ("OPENBLAS", "OMP", "MKL", "RAYON")} == {"2"}
    # measurements are not repeated; solvers that were left out are tried again
    said |= {"m:none": [ready(1.0), measured(P2, "m:none"), measured(P3, "m:none")]}
    run(record, ["m:good", "m:dies", "m:none"])
    assert len(started) == 6 and not record.broken and len(record.measurements) == 6 and started[-1].ended == 1


def test_a_process_that_has_ended_or_grown_is_replaced_and_none_is_left_after_ctrl_c(processes):
    started, said = processes
    said["m:s"] = [ready(1.0), measured(P2, "m:s"), ready(2.0), measured(P3, "m:s")]
    record = Record({}, {}, {})
    run(record, ["m:s"], lambda: setattr(started[-1], "code", 1))
    assert [process.ended for process in started] == [1, 1] and record.cold_starts == {"m:s": 1.0}
    said["m:s"] = [ready(1.0), measured(P2, "m:s", 1025.0), ready(2.0), measured(P3, "m:s", 1024.0)]
    run(Record({}, {}, {}), ["m:s"])
    assert [process.ended for process in started] == [1] * 4

    def interrupt():
        raise KeyboardInterrupt

    said["m:s"], record = [ready(1.0), measured(P2, "m:s"), KeyboardInterrupt()], Record({}, {}, {})
    for save in (interrupt, lambda: None):  # interrupt after a measurement, and during one
        with pytest.raises(KeyboardInterrupt):
            run(record, ["m:s"], save)
        said["m:s"] = [KeyboardInterrupt()]
    assert len(record.measurements) == 1 and [process.ended for process in started] == [1] * 6


def test_a_bar_begins_where_an_earlier_call_has_ended(monkeypatch):
    told = []

    class Bar(SimpleNamespace):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            told.append("closed")

        def reset(self, total):
            self.total, self.n = total, 0
            told.append(("from", self.initial))

        def update(self, more):
            self.n += more

        def set_description_str(self, text):
            told.append((self.n, self.total, text))

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=lambda **_: Bar(total=None, initial=0, n=0)))
    with compare.progress() as show:
        show(3, 9, "a")
        show(5, 9, "b")
        show(1, 4, "c")
    assert told == [("from", 3), (3, 9, "a"), (5, 9, "b"), ("from", 1), (1, 4, "c"), "closed"]


def test_a_worker_gets_ready_and_measures(monkeypatch):
    served, done = [], []
    monkeypatch.setattr(worker, "serve", lambda *given: served.extend(given))
    monkeypatch.setattr(worker, "_stay_within_memory", lambda: done.append("memory"))
    monkeypatch.setattr(worker, "_warm_up", lambda *given: done.append(given))
    monkeypatch.setattr(sys, "argv", ["worker", "tests.support.fake_solvers:honest", "2"])
    worker.main()
    get_ready, answer = served
    told = get_ready()
    assert told["event"] == "ready" and 0.0 <= told["first_answer_seconds"] < 60.0
    assert done == ["memory", ("tests.support.fake_solvers:honest", 2)]
    request = {"case": asdict(Case("b", "generated", "enclosing_ball", 3)), "form": "", "tol": 1e-8, "limit": 5.0}
    said = []
    found = answer(request, said.append)
    assert found["event"] == "measured" and found["measurement"]["verdict"] == "solved" and said == [RUN] * 3


SOLVERS = ("centralpath", "clarabel", "osqp", "libsvm", "moreau", "m:own")
EASY = {"P": np.eye(2), "q": [-1.0, -1.0], "A": [[1.0, -1.0]], "l": 0.0, "u": 0.0, "lb": 0.0, "ub": 0.5}


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_first_answer_and_what_is_loaded_before_the_clock_starts(solver, monkeypatch):
    asked, told = [], Answer("s", Status.OPTIMAL, None, None, None, 1, 0.0, 0.0)

    def solve(name, program, **settings):
        assert name == solver and settings.pop("threads") == 2 and settings in ({}, {"time_limit": 1.0})
        asked.append((program, bool(settings)))
        return told

    def first(P, q, **rest):
        asked.append((qp.QuadraticProgram(P, q, **rest), False))

    monkeypatch.setattr(peers, "solve", solve)
    monkeypatch.setattr(qp, "solve", first)
    monkeypatch.setattr(qp, "warmup", lambda: asked.append("warmup"))
    monkeypatch.setattr(many, "measure", lambda name, program, tol: asked.append((program, tol != 1e-8)))
    monkeypatch.setattr(worker, "solver_function", lambda *given: asked.append(given))
    assert 0.0 <= worker._first_answer(solver, 2) < 60.0
    if solver == "m:own":
        assert asked == [("m:own", 2)]
    else:
        ((program, other),) = asked
        assert not other and peers.svm.is_svm_dual(program)
        for name, value in EASY.items():
            part = getattr(program, name)
            assert np.array_equal(part.toarray() if name in "PA" else part, np.broadcast_to(value, np.shape(part)))
    asked.clear()
    if solver in peers.names():
        told = replace(told, note="no licence")
        with pytest.raises(RuntimeError, match="no licence"):
            worker._first_answer(solver, 2)
        asked.clear()
    worker._warm_up(solver, 2)
    if solver == "centralpath":
        assert asked == ["warmup"]
        return
    made = [generate.svm_dual_rbf(5), generate.lasso(5), generate.enclosing_ball(5)]
    takers = [program for program in made if solver in peers.peers_for(program)]
    assert [(p.n, p.m, limited) for p, limited in asked] == [(p.n, p.m, True) for p in takers]


def test_memory_is_that_of_the_machine_and_the_peak_is_told_without_proc_too(monkeypatch):
    limits, total = [], worker.os.sysconf("SC_PAGE_SIZE") * worker.os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(resource, "setrlimit", lambda *given: limits.append(given))
    worker._stay_within_memory()
    assert limits == [(resource.RLIMIT_AS, (total, resource.getrlimit(resource.RLIMIT_AS)[1]))]
    worker.reset_peak()
    peak = worker.peak_megabytes()
    assert 20.0 < peak < total / 2**20

    def absent(*_):
        raise OSError

    monkeypatch.setattr(worker.Path, "read_text", absent)
    assert 0.99 * peak <= worker.peak_megabytes() < total / 2**20


SERVED = """
import sys, time
from bench.compare.process import serve

def answer(request, reply):
    print("not a reply")
    if request["way"] == "die":
        sys.exit(3)
    reply({"on the way": 1})
    time.sleep(request["way"])
    return request

serve(lambda: {"ready": True}, answer)
"""


def test_a_child_replies_in_order_and_its_end_and_its_silence_are_told_apart(tmp_path):
    (tmp_path / "served.py").write_text(SERVED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), ROOT])}
    dying, silent = (Process("served", environment=environment) for _ in range(2))
    for child in (dying, silent):
        assert child.reply(20.0) == {"ready": True}
        child.ask({"way": 0.0})
        assert [child.reply(20.0), child.reply(20.0)] == [{"on the way": 1}, {"way": 0.0}]
    dying.ask({"way": "die"})
    with pytest.raises(Died) as died:
        dying.reply(20.0)
    assert died.value.code == 3
    dying.ask({"way": 0.0})  # nobody reads it, and only a reply tells
    dying.close()
    silent.ask({"way": 60.0})
    assert silent.reply(20.0) == {"on the way": 1}
    with pytest.raises(Late):
        silent.reply(0.05)
    assert silent.returncode is not None and silent.stdin.closed and silent.stdout.closed
