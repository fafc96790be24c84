"""The comparison with correct solvers and with solvers that report wrong values, hang or crash."""

import json
import os
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import socp
from bench import commands as command
from bench import peers
from bench.answers import answer
from bench.answers.verify import verify
from bench.compare import comparison as compare
from bench.compare import report, worker
from bench.compare.comparison import Limits
from bench.compare.measurement import Measurement, Record
from bench.programs import catalogue, generate, many, repeated, small, tiny
from bench.programs.catalogue import Case
from bench.programs.sets import DataError
from socp.method import workspace
from tests.support import problem_sets
from tests.support.fake_solvers import packages

ROOT = str(Path(__file__).resolve().parents[3])
FAKE = "tests.support.fake_solvers"
CONTRIBUTING = (Path(ROOT) / "docs" / "CONTRIBUTING.md").read_text(encoding="utf-8")
LARGE_AT_ANY_SIZE = ("svm_primal_documents", "bilevel")  # thousands of words, for the textbook


@pytest.fixture(autouse=True)
def fake_solvers_can_be_imported(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ROOT)


@pytest.mark.full
def test_honest_lying_late_and_raising_solvers_are_told_apart():
    case, record = Case("b", "generated", "enclosing_ball", 3), Record({}, {}, {})
    solvers = [f"{FAKE}:{name}" for name in ("honest", "liar", "late", "raises", "exits", "does_not_start")]
    compare.run([case], solvers, Limits(1e-8, 2.0), record, lambda: None, lambda *_: None)
    honest, liar, late, raises, exits = record.measurements.values()
    assert (honest.verdict, honest.status, honest.seconds, honest.runs) == ("solved", "optimal", 0.25, 3)
    assert honest.n == 11 and honest.m == 33 and honest.iterations > 0
    assert max(honest.primal, honest.dual, honest.gap) <= 1e-6
    assert honest.peak_megabytes > 10
    assert liar.verdict == "WRONG"
    assert late.verdict == "solved" and late.runs == 1  # the statistics count it as failed
    assert (raises.status, raises.verdict, raises.note) == ("error", "failed", "RuntimeError: cannot read solver.cfg")
    assert (exits.status, exits.verdict) == ("crashed", "failed")
    assert "code 3" in exits.note and "licence.txt" in exits.note and "/home" not in exits.note
    assert "no licence" in record.broken[f"{FAKE}:does_not_start"]


@pytest.mark.full
@pytest.mark.parametrize("solver", ["centralpath", *peers.names()])
def test_every_installed_solver_starts_in_its_process(solver):
    if solver in peers.names() and not peers.is_installed(solver):
        pytest.skip(f"{solver} is not installed")
    process = compare.Worker(solver, 1)
    process.close()
    assert 0.0 < process.first_answer_seconds < compare.START_SECONDS


def test_choosing_solvers(monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda solver: solver != "scs")
    solvers, missing = compare.choose(None)
    assert solvers[0] == "centralpath" and missing == ["scs"]
    assert set(solvers) == {"centralpath", *peers.names(), *peers.BATCHES} - {"scs"}
    assert compare.choose(["scs", "clarabel", "mine:solve"]) == (["centralpath", "clarabel", "mine:solve"], ["scs"])
    with pytest.raises(DataError, match="there is no solver 'mosek'"):
        compare.choose(["mosek"])


def test_tasks_ask_only_who_takes_it_and_peers_in_both_forms():
    case = Case("p", "learning", "g", 10, peers=("clarabel",), forms=("factored", "product"))
    asked = [(solver, form) for _, solver, form in compare.tasks([case], ["centralpath", "clarabel", "scs"])]
    assert asked == [("centralpath", "factored"), ("clarabel", "factored"), ("clarabel", "product")]


def test_catalogue_sizes_kinds_and_forms():
    small, medium, large = (catalogue.cases("learning", sizes) for sizes in ("small", "medium", "large"))
    assert {case.name for case in small} < {case.name for case in medium} < {case.name for case in large}
    by_name = {case.name: case for case in large}
    assert by_name["svm_dual_rbf_10000"].forms == ("",) and "libsvm" in by_name["svm_dual_rbf_10"].peers
    assert by_name["svm_dual_linear_10"].forms == ("factored", "product")
    assert "libsvm" not in by_name["med_dual_10"].peers and "piqp" not in by_name["bilevel_10"].peers
    assert [case.size for case in catalogue.cases("generated", "7,2", only="mpc*")] == [2, 7]
    assert {case.group for case in catalogue.cases("generated")} == set(generate.CLASSES)
    assert ["osqp" in catalogue._file_case(path).peers for path in ("A.CBF.GZ", "a.qps")] == [False, True]
    for arguments, words in [
        (("generated", "1"), "--sizes"),
        (("generated", "big"), "--sizes"),
        (("generated", "small", None, "nothing"), "matches 'nothing'"),
        (("unknown",), "there is no set"),
    ]:
        with pytest.raises(DataError, match=words):
            catalogue.cases(*arguments)


def test_the_product_form_is_the_same_program():
    case = next(case for case in catalogue.cases("learning", "10") if case.group == "svm_dual_linear")
    factored, product = catalogue.load(case, "factored"), catalogue.load(case, "product")
    assert isinstance(factored.P, socp.LowRank)
    assert (product.P == factored.P.toarray()).all() and (product.ub == factored.ub).all()


@pytest.mark.parametrize("group", [*tiny.CLASSES, *small.CLASSES])
def test_repeated_programs_answer_what_was_asked_last(group, monkeypatch):
    monkeypatch.setattr(repeated, "SECONDS", 0.0)
    monkeypatch.setattr(repeated, "LEAST", 3)
    program = {**tiny.CLASSES, **small.CLASSES}[group](10, 0)
    for solver in ("centralpath", *filter(peers.is_installed, repeated.peers_for(group, program))):
        answer, asked, calls = repeated.measure(solver, group, program, 1e-8)
        assert answer.note == "" and calls == 3 and 0.0 < answer.seconds < 1.0
        # ECOS has no quadratic objective: in an epigraph its tolerance holds for the bound, not for the objective
        tol = 1e-4 if solver == "ecos" and group in small.CLASSES else 1e-6
        assert verify(asked, answer.x, answer.y, answer.z).solved(tol), solver


@pytest.mark.parametrize("group", list(many.CLASSES))
def test_the_worst_answer_of_a_batch_is_what_was_asked(group, monkeypatch):
    for name, value in {"LEAST": 3, "MOST": 3, "RUNS": 1}.items():
        monkeypatch.setattr(many, name, value)
    program = many.CLASSES[group](8, 0)
    solvers = ("centralpath", "moreau", *filter(peers.is_installed, many.peers_for(program)))
    packages(monkeypatch)
    for solver in solvers:
        answer, asked, size = many.measure(solver, program, 1e-8)
        assert answer.note == "" and size == 3 and 0.0 < answer.seconds < 1.0
        assert verify(asked, answer.x, answer.y, answer.z).solved(1e-6), solver
    batch, calls = many._BATCHES["centralpath"](program, np.ones((3, program.n)), 1e-8), []
    monkeypatch.setitem(many._BATCHES, "centralpath", lambda *_: (lambda: calls.append(batch[0]()), batch[1]))
    many.measure("centralpath", program, 1e-8)
    assert len(calls) == 2  # the first is not counted


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Write the solver of docs/CONTRIBUTING.md as a module in its own folder and yield its name."""
    (tmp_path / "mine.py").write_text(re.search(r"```python\n(import time\n.*?)```", CONTRIBUTING, re.DOTALL)[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([ROOT, str(tmp_path)]))
    monkeypatch.syspath_prepend(tmp_path)
    yield "mine:solve"
    sys.modules.pop("mine", None)


def own_cases(tmp_path, groups):
    """Yield small programs from `groups` classes of every set, then a file of each format."""
    for name, sizes in catalogue.SIZES.items():
        for group in [group for group in sizes if group not in LARGE_AT_ANY_SIZE][:groups]:
            yield Case(f"{group}_4", name, group, 4, forms=("factored", "product") if "linear" in group else ("",))
    for path, content in (("p.cbf", problem_sets.CBF), ("p.qps", problem_sets.QPS)):
        (tmp_path / path).write_text(content)
        yield catalogue._file_case(tmp_path / path)


@pytest.mark.parametrize("groups", [2, pytest.param(100, marks=pytest.mark.full)])
def test_the_solver_of_the_documentation_answers_on_every_set(groups, mine, tmp_path, monkeypatch):
    for module, name, value in ((repeated, "SECONDS", 0.0), (repeated, "LEAST", 3), (many, "LOOP", 2)):
        monkeypatch.setattr(module, name, value)
    cases = list(own_cases(tmp_path, groups))
    assert {case.source for case in cases} == {"file", *catalogue.SIZES}
    for case in cases:
        for form in case.forms:
            request = {"case": asdict(case), "form": form, "tol": 1e-8, "limit": 60.0}
            found = worker.measure(mine, 1, request, lambda: None)
            assert (found["verdict"], found["note"]) in {("solved", ""), ("certified", "")}, (case.name, found)
            assert found["seconds"] > 0.0 and found["runs"] == 3, case.name


@pytest.mark.parametrize("group", ["box_construct", "box_update"])
def test_of_an_own_solver_the_worst_of_the_last_answers_is_judged(group, monkeypatch):
    monkeypatch.setattr(repeated, "SECONDS", 0.0)
    program, calls = tiny.CLASSES[group](4, 0), []

    def own(asked):
        calls.append(asked)
        found = replace(answer.solve(asked), setup_seconds=0.5, solve_seconds=float(len(calls)))
        return replace(found, x=found.x + 1e-3) if len(calls) == 10 else found

    found, asked, runs = repeated.measure("mine:solve", group, program, 1e-8, own)
    assert runs == repeated.LEAST == 20 and found.seconds == 0.5 + 11.5  # the first of 21 calls is not counted
    assert verify(asked, found.x, found.y, found.z).solved(1e-6) is (group == "box_construct")  # of 16 the spoiled one
    assert len({id(one) for one in calls}) == (1 if group == "box_construct" else 16)


@pytest.mark.parametrize("source, group", [("tiny", "box_update"), ("many", "box_many"), ("generated", "mpc")])
def test_an_own_solver_that_returns_something_else_is_told_in_a_sentence(source, group):
    request = {"case": asdict(Case("p", source, group, 3)), "form": "", "tol": 1e-8, "limit": 5.0}
    found = worker.measure(f"{FAKE}:nothing", 1, request, lambda: None)
    assert (found["status"], found["verdict"]) == ("error", "failed")
    assert found["note"] == f"TypeError: {FAKE}:nothing must return a bench.answers.answer.Answer, but a NoneType came"


def test_comparisons_with_solvers_of_their_own_take_no_other(capsys):
    for name in ("kernels", "linear", "derivatives"):
        assert command.main(["compare", name, "--solvers", f"{FAKE}:honest"]) == 2
        assert f"compare {name} has solvers of its own" in capsys.readouterr().err


def test_a_worker_measures_ours_a_batch_and_what_is_refused(tmp_path, monkeypatch):
    (tmp_path / "broken.mat").write_text("not a MATLAB file")
    runs, analyses, solve = [], [], answer.solve

    def noted(program, **settings):
        analyses.append(len(workspace._pool.kept))
        return solve(program, **settings)

    monkeypatch.setattr(answer, "solve", noted)

    def measure(**case):
        request = {"case": case, "form": "", "tol": 1e-8, "limit": 5.0}
        return worker.measure("centralpath", 1, request, lambda: runs.append(1))

    found = measure(name="mpc_30", source="generated", group="mpc", size=30)
    assert (found["verdict"], found["runs"], len(runs)) == ("solved", 3, 3)
    assert analyses == [0, 0, 0] and workspace._pool.kept  # no run reuses the analysis of an earlier run
    monkeypatch.setattr(many, "MOST", 64)
    found = measure(name="box_many_10", source="many", group="box_many", size=10)
    assert (found["verdict"], found["runs"]) == ("solved", 64)
    found = measure(name="broken", source="file", path=str(tmp_path / "broken.mat"))
    assert (found["status"], found["verdict"]) == ("refused", "failed")
    assert "MATLAB" in found["note"] and str(tmp_path) not in found["note"]


@pytest.mark.full
def test_the_command_end_to_end_and_again(tmp_path, capsys):
    arguments = ["compare", "generated", "--sizes", "3", "--only", "mpc*", "--limit", "5", "--out", str(tmp_path)]
    arguments += ["--solvers", f"{FAKE}:liar,clarabel"]
    assert command.main(arguments) == 0
    printed = capsys.readouterr()
    document = json.loads((tmp_path / "measurements.json").read_text())
    verdicts = {m["solver"]: m["verdict"] for m in document["measurements"]}
    assert verdicts["centralpath"] == "solved" and verdicts[f"{FAKE}:liar"] == "WRONG"
    assert document["settings"] == {"set": "generated", "sizes": "3", "tol": 1e-8, "limit": 5.0, "threads": 1}
    assert document["versions"]["centralpath"] and document["machine"]["cores"]
    assert "All programs" in printed.out and "mpc_3" in printed.out
    assert (tmp_path / "report.html").exists()
    assert f"in a browser: {(tmp_path / 'report.html').as_uri()}" in printed.out
    assert ROOT not in (tmp_path / "measurements.json").read_text()

    assert command.main(arguments) == 0  # nothing is measured again
    again = json.loads((tmp_path / "measurements.json").read_text())
    assert again["measurements"] == document["measurements"] and again["sessions"] == 2
    assert command.main([*arguments, "--tol", "1e-6"]) == 2
    assert "--fresh" in capsys.readouterr().err


def test_a_wrong_answer_of_ours_makes_exit_code_one(tmp_path, monkeypatch, capsys):
    arguments = ["compare", "generated", "--sizes", "3", "--only", "mpc*", "--fresh", "--out", str(tmp_path)]
    for solver, verdict, code in (("centralpath", "WRONG", 1), ("clarabel", "WRONG", 0), ("centralpath", "solved", 0)):

        def run(cases, solvers, limits, kept, save, show, told=(solver, "", "optimal", verdict)):
            kept.add(Measurement("mpc_3", "mpc", 3, *told, 1.0, n=1))

        monkeypatch.setattr(compare, "run", run)
        monkeypatch.setattr(report, "_pictures", lambda results: {})  # test_by_hand draws them
        assert command.main(arguments) == code

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "run", interrupted)
    assert command.main(arguments) == 130
    assert "goes on from here" in capsys.readouterr().err


def test_progress_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with compare.progress() as show:
        for k in range(13):
            show(k, 12, f"task {k}")
    assert capsys.readouterr().err.split("\n") == ["0/12 task 0", "10/12 task 10", "12/12 task 12", ""]
