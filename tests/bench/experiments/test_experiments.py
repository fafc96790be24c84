"""The frame of the experiments, on one that throws a die."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from dask import distributed

from bench import commands as command_line
from bench import experiments
from bench.compare.tables import Table
from bench.experiments.frame import conduct, confirm, digest, pages
from bench.experiments.frame.experiment import Experiment, Part, Protocol, _prepared, perform, verdict_of
from bench.programs.sets import DataError
from socp.version import __version__
from tests.support.data import data_folder
from tests.support.processes import python


class Dice(Experiment):
    name, title, source = "dice", "Throwing dice", "folklore"
    claim = "the mean is 3.5"
    protocol = Protocol("by hand", "by generator", "a generator is < a hand")
    repeats = 6
    prepared = 0

    def runs(self, repeats, quick):
        return [{"sides": sides, "seed": seed} for sides in ((6,) if quick else (6, 20)) for seed in range(repeats)]

    def prepare(self, data, quick):
        type(self).prepared += 1
        return 100

    def run(self, prepared, parameters):
        if parameters == self.breaks_at:
            raise KeyboardInterrupt
        return {"mean": np.random.default_rng(parameters["seed"]).integers(1, parameters["sides"] + 1, prepared).mean()}

    breaks_at = None

    def tables(self, runs):
        rows = [[str(run["sides"]), str(run["seed"]), f"{run['mean']:.2f}"] for run in runs]
        return [Table("Means", ["sides", "seed", "a | mean"], rows, "of 100 throws")]

    def figure(self, runs):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 2))
        figure.subplots().plot([run["mean"] for run in runs])
        return figure

    def verdict(self, runs):
        far = abs(np.mean([run["mean"] for run in runs]) - 3.5)
        return verdict_of([Part("the mean is near 3.5: distance", far, "<", 0.5)], "bad dice")


@pytest.fixture
def dice(monkeypatch):
    monkeypatch.setattr(experiments, "MODULES", {"dice": "dice:Dice"})
    monkeypatch.setattr(experiments, "import_module", lambda name: sys.modules[__name__])
    return Dice()


def numbers(runs):
    return [{name: value for name, value in run.items() if name != "seconds"} for run in runs]


def test_runs_come_back_in_order_and_are_not_run_again_and_data_are_prepared_once(tmp_path, dice, monkeypatch):
    _prepared.cache_clear()
    monkeypatch.setattr(Dice, "prepared", 0)
    told = []
    first = conduct.conduct(dice, tmp_path, show=lambda done, of: told.append((done, of)))
    assert [(run["sides"], run["seed"]) for run in first] == [(s, k) for s in (6, 20) for k in range(6)]
    assert told == [(k, 12) for k in range(13)] and Dice.prepared == 1
    again = conduct.conduct(dice, tmp_path)
    assert again == first  # the kept runs are returned, with their seconds
    more = conduct.conduct(dice, tmp_path, repeats=7)
    assert len(more) == 14 and more[:6] == first[:6]


def test_an_interrupted_conduct_goes_on(tmp_path, dice):
    whole = conduct.conduct(dice, tmp_path / "whole")
    dice.breaks_at = {"sides": 6, "seed": 4}
    with pytest.raises(KeyboardInterrupt):
        conduct.conduct(dice, tmp_path)
    dice.breaks_at = None
    path = tmp_path / conduct.RUNS
    assert len(path.read_text().splitlines()) == 1 + 4
    with path.open("a") as file:
        file.write('{"parameters": {"sides"')  # cut off in the middle of a line
    assert numbers(conduct.conduct(dice, tmp_path)) == numbers(whole)
    assert len(path.read_text().splitlines()) == 1 + 12


def test_runs_of_another_form_are_not_mixed(tmp_path, dice):
    conduct.conduct(dice, tmp_path, repeats=1, quick=True)
    with pytest.raises(DataError, match="another form of the experiment"):
        conduct.conduct(dice, tmp_path, repeats=1)


@pytest.mark.full
def test_processes_give_the_same_numbers(tmp_path, dice):
    assert numbers(conduct.conduct(dice, tmp_path / "two", jobs=2)) == numbers(conduct.conduct(dice, tmp_path / "one"))


@pytest.mark.full
def test_a_dask_cluster_gives_the_same_numbers(tmp_path, dice):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = conduct.conduct(dice, tmp_path / "there", dask=cluster.scheduler_address)
    assert numbers(there) == numbers(conduct.conduct(dice, tmp_path / "here"))


def test_the_command_writes_everything(tmp_path, dice, capsys):
    assert command_line.main(["experiment", "dice", "--quick", "--repeats", "2", "--out", str(tmp_path)]) == 0
    own = tmp_path / "dice"
    written = {path.name for path in own.iterdir()}
    assert written == {"runs.jsonl", "tables.md", "table-1.csv", "figure.png", "page.html", "summary.json"}
    assert len((own / "runs.jsonl").read_text().splitlines()) == 1 + 2
    assert (own / "table-1.csv").read_text().startswith("sides,seed,a | mean\n6,0,")
    assert "| sides | seed | a \\| mean |\n| --- | ---: | ---: |\n| 6 | 0 |" in (own / "tables.md").read_text()
    page = (own / "page.html").read_text()
    summary = json.loads((own / "summary.json").read_text())
    assert summary["verdict"] == "confirmed" and summary["reason"].startswith("Holds: the mean is near 3.5: distance (")
    (part,) = summary["parts"]
    assert part["value"] < part["bound"] == 0.5 and part["relation"] == "<"
    assert summary["version"] == __version__ and len(summary["code"]) == 12 and summary["date"] >= "2026-11-22"
    assert "<b>confirmed</b>: Holds: the mean" in page and "a generator is &lt; a hand" in page
    assert f"version {__version__}, code {summary['code']}, {summary['date']}" in page
    assert "the mean is 3.5" in page and "data:image/png;base64," in page and "of 100 throws" in page
    index = (tmp_path / "index.html").read_text()
    assert '<a href="dice/page.html">Throwing dice</a>' in index
    assert (
        '<td class="words">the mean is near 3.5: distance</td>' in index and '<td class="words">&lt; 0.5</td>' in index
    )
    assert '<td class="words">any of: the mean is near 3.5: distance not &lt; 0.5</td>' in index
    out = capsys.readouterr().out
    assert "paper:   the mean is 3.5" in out and "verdict: confirmed: Holds: the mean is near" in out
    page = f"in a browser: {(tmp_path / 'index.html').as_uri()}"
    assert page in out
    assert command_line.main(["report", str(tmp_path)]) == 0
    assert page in capsys.readouterr().out


def test_after_an_interruption_the_command_says_how_to_go_on(tmp_path, dice, monkeypatch, capsys):
    monkeypatch.setattr(Dice, "breaks_at", {"sides": 6, "seed": 1})
    assert command_line.main(["experiment", "dice", "--out", str(tmp_path)]) == 130
    assert "goes on from here" in capsys.readouterr().err


def test_pages_are_made_anew_from_the_runs(tmp_path, dice, monkeypatch):
    assert command_line.main(["experiment", "dice", "--quick", "--repeats", "2", "--out", str(tmp_path)]) == 0
    before = json.loads((tmp_path / "dice" / "summary.json").read_text())
    monkeypatch.setattr(Dice, "claim", "the mean is 10")
    monkeypatch.setattr(digest, "code_of", lambda experiment: "of other code")
    assert command_line.main(["report", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "dice" / "summary.json").read_text()) == {**before, "claim": "the mean is 10"}
    assert "the mean is 10" in (tmp_path / "dice" / "page.html").read_text()
    with pytest.raises(DataError, match="has not all runs of dice: 1 are missing"):
        pages.write(dice, tmp_path / "dice", 3)
    with pytest.raises(DataError, match="has not all runs of dice: all are missing"):
        pages.write(dice, tmp_path / "elsewhere", 3)


def test_a_claim_of_parts_is_confirmed_in_part():
    good, bad = Part("a", 1.0, ">", 0.0), Part("b", -0.25, ">=", 0.0)
    assert verdict_of([good, good], "why")[:2] == ("confirmed", "Holds: a (1 > 0); a (1 > 0).")
    assert verdict_of([good, bad], "why")[:2] == ("in part", "Holds: a (1 > 0). Does not hold: b (-0.25 >= 0). why")
    assert verdict_of([bad], "why") == ("not", "Does not hold: b (-0.25 >= 0). why", (bad,))


def test_a_number_is_on_one_side_of_its_bound_and_no_number_on_none():
    sides = {"<": (True, False, False), "<=": (True, True, False), ">": (False, False, True)}
    sides |= {">=": (False, True, True), "==": (False, True, False)}
    for relation, expected in sides.items():
        assert tuple(Part("a", value, relation, 2.0).holds for value in (1.0, 2.0, 3.0)) == expected
        assert not Part("a", float("nan"), relation, 2.0).holds


KEPT = sorted((Path(__file__).parents[3] / "docs" / "results" / "experiments").glob("*/summary.json"))


@pytest.mark.full
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_every_page_follows_from_the_runs_that_are_kept(path):
    summary = json.loads(path.read_text())
    experiment = experiments.find(summary["name"])
    head, runs = conduct.kept(experiment, path.parent, summary["repeats"])
    verdict = experiment.verdict(runs)
    assert (verdict.kind, verdict.reason) == (summary["verdict"], summary["reason"])
    parts = json.loads(json.dumps([part._asdict() for part in verdict.parts]))  # as stored in a page
    assert parts == [pytest.approx(part) for part in summary["parts"]]
    assert summary["claim"] == experiment.claim and summary["code"] == head["code"]
    assert summary["runs"] == len(runs) and summary["seconds"] == round(sum(run["seconds"] for run in runs), 1)
    tables = "\n\n".join(map(pages.markdown, experiment.tables(runs)))
    assert tables + "\n" == (path.parent / "tables.md").read_text("utf-8")
    lines = [line.get_xydata() for axes in experiment.figure(runs).axes for line in axes.lines]
    points = [part.get_offsets() for axes in experiment.figure(runs).axes for part in axes.collections]
    assert all(np.isfinite(np.asarray(part, dtype=float)).any() for part in lines + points) and lines + points


@pytest.mark.full
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_the_quickest_run_of_every_page_comes_out_again(path):
    """Repeat the quickest run of a page on the real data: every number in its tables is equal to the page's."""
    data = str(data_folder("uci").parent)
    summary = json.loads(path.read_text())
    experiment = experiments.find(summary["name"])
    head, done = conduct.read(path.parent / conduct.RUNS)
    quickest = min(done, key=lambda one: done[one]["seconds"])
    found = perform(experiment, data, head["quick"], json.loads(quickest))
    found, kept = ({k: v for k, v in one.items() if k not in experiment.incidental} for one in (found, done[quickest]))
    assert list(confirm.differences(found, kept)) == []


@pytest.mark.full
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.parent.name)
def test_a_verdict_changes_with_the_runs(path):
    """When the measured numbers of the runs are exchanged or spoiled, some part of the verdict changes."""
    summary = json.loads(path.read_text())
    experiment = experiments.find(summary["name"])
    runs = conduct.kept(experiment, path.parent, summary["repeats"])[1]
    rng = np.random.default_rng(0)
    spoiled = [spoil(run, rng) for run in runs]
    with np.errstate(all="ignore"):
        other = experiment.verdict(spoiled)
    assert [part.value for part in other.parts] != [part.value for part in experiment.verdict(runs).parts]


def spoil(value, rng):
    """Return a copy of the document in which random smaller numbers replace the measured ones."""
    if isinstance(value, dict):
        fixed = {
            "seed", "size", "pair", "data", "words", "category", "states", "steps", "init", "percent", "value", "C",
        }  # fmt: skip
        return {name: one if name in fixed else spoil(one, rng) for name, one in value.items()}
    if isinstance(value, list):
        return [spoil(one, rng) for one in value]
    return value * rng.uniform() if isinstance(value, float) else value


@pytest.fixture
def checked(tmp_path, dice, monkeypatch, capsys):
    """Write a page, then return a function that runs --check on changed code and returns the exit code and output."""
    monkeypatch.setattr(digest, "code_of", lambda experiment: "of this code")
    assert command_line.main(["experiment", "dice", "--out", str(tmp_path)]) == 0

    def check(code="that", *options):
        monkeypatch.setattr(digest, "code_of", lambda experiment: code)
        capsys.readouterr()
        code = command_line.main(["experiment", "all", "--check", "--out", str(tmp_path), *options])
        return code, capsys.readouterr().out

    return check


def change_runs(monkeypatch, change):
    """Make every later run return its mean after `change`."""
    monkeypatch.setattr(Dice, "run", lambda self, *given, run=RUN: {"mean": change(run(self, *given)["mean"])})


RUN = Dice.run


def test_a_page_of_other_code_is_confirmed_by_runs_that_are_computed_again(tmp_path, checked, monkeypatch, capsys):
    assert checked("of this code") == (0, "dice: of this code\n")
    code, said = checked()
    assert code == 0 and "12 of 12 runs computed again by code that on " in said and said.endswith(": equal\n")
    assert said.strip().partition("; ")[2] in (tmp_path / "dice" / "page.html").read_text()
    monkeypatch.setattr(Dice, "breaks_at", {"sides": 6, "seed": 0})  # the same code causes no run
    assert checked() == (0, said)
    assert command_line.main(["experiment", "all", "--check", "--out", str(tmp_path / "elsewhere")]) == 2
    assert "no results of experiments" in capsys.readouterr().err


def test_a_spoiled_run_and_spoiled_code_are_found(tmp_path, checked, monkeypatch):
    path = tmp_path / "dice" / conduct.RUNS
    text = path.read_text()
    kept = json.loads(text.splitlines()[1])
    spoiled = json.dumps({**kept, "result": {**kept["result"], "mean": kept["result"]["mean"] + 0.01}})
    path.write_text(text.replace(text.splitlines()[1], spoiled))
    code, said = checked()
    assert code == 1 and "12 of 12 runs computed again by code that" in said and ": different in 1: {" in said
    assert "different in 1: {" in (tmp_path / "dice" / "page.html").read_text()
    path.write_text(text)
    for share, expected in ((1e-4, 1), (1e-9, 0)):
        change_runs(monkeypatch, lambda mean: mean * (1.0 + share))  # noqa: B023
        code, said = checked()
        assert code == expected and (": different in 12: {" in said) == (code == 1)


def test_rounding_of_another_processor_is_told_and_must_decide_every_part_as_before(tmp_path, checked, monkeypatch):
    monkeypatch.setattr(confirm, "hardware", lambda: {"processor": "another one"})
    for change, expected, words in (
        (0.01, 0, "another one, by which every part is decided as before)"),
        (-3.5, 1, "another one, by which some part is decided otherwise)"),
    ):
        change_runs(monkeypatch, lambda mean: mean + change)  # noqa: B023
        code, said = checked()
        assert code == expected and ": different in 12: {" in said and words in said
        assert words in (tmp_path / "dice" / "page.html").read_text()
    change_runs(monkeypatch, lambda mean: mean)
    code, said = checked()
    assert code == 0 and said.endswith(": equal\n")


def test_a_page_that_cannot_be_confirmed_fails(tmp_path, checked, monkeypatch):
    def without(experiment, data, quick, parameters):
        raise DataError("the dice are lost")

    with monkeypatch.context() as patch:
        patch.setattr(confirm, "perform", without)
        code, said = checked()
    assert code == 1 and "cannot be confirmed: the dice are lost" in said
    path = tmp_path / "dice" / conduct.RUNS
    head, *lines = map(json.loads, path.read_text().splitlines())
    slow = [{**line, "result": {**line["result"], "seconds": 100.0}} for line in lines]
    path.write_text("\n".join(map(json.dumps, [head, *slow])) + "\n")
    code, said = checked()
    assert code == 1 and "cannot be confirmed: each run took more than 30 s; see --budget" in said
    assert checked("that", "--budget", "250")[0] == 0  # one of each number of sides


@pytest.mark.full
def test_spoiled_models_do_not_confirm_a_page(tmp_path):
    """Change a text of EA-SVM and then its answers, in a copy of the packages, and run --check on a page."""
    root, page = Path(__file__).parents[3], Path("docs") / "results" / "experiments" / "easvm-digits"
    for name in ("bench", "models", "qp", "socp", page):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))

    def checked(line):
        with (tmp_path / "models" / "explanations" / "estimator.py").open("a") as file:
            file.write(line)
        words = "experiment", "easvm-digits", "--check", "--budget", "1.5", "--out", page.parent
        return python("-m", "bench", *words, cwd=tmp_path, PYTHONPATH=str(tmp_path))

    found = checked("\nWITHOUT_A_MEANING = 1\n")
    assert found.returncode == 0 and found.stdout.endswith(": equal\n"), found.stdout + found.stderr
    found = checked("ExplanationAugmentedSVC.predict = lambda self, X: self.classes_[:1].repeat(len(X))\n")
    assert found.returncode == 1 and "different in " in found.stdout, found.stdout + found.stderr


def test_a_page_leaves_no_run_out_that_stands_apart(tmp_path, dice, monkeypatch):
    conduct.conduct(dice, tmp_path, repeats=3)
    assert len(conduct.kept(dice, tmp_path, 2)[1]) == 4
    monkeypatch.setattr(Dice, "apart", True)
    runs = conduct.kept(dice, tmp_path, 2)[1]
    wanted = conduct.conduct(dice, tmp_path, repeats=2)
    assert len(runs) == 6 and runs[:4] == wanted
    assert {(run["sides"], run["seed"]) for run in runs[4:]} == {(6, 2), (20, 2)}


@pytest.mark.full
def test_the_code_of_an_experiment_is_what_makes_its_runs(tmp_path, monkeypatch):
    packages = tmp_path / "checkout"
    for name in ("bench", "models"):
        shutil.copytree(digest.PACKAGES / name, packages / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digest, "PACKAGES", packages)
    experiment = experiments.find("transfer")

    def changed(file, before, after):
        path = packages / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))
        found = digest.code_of(experiment)
        path.write_text(text)
        return found

    now = digest.code_of(experiment)
    own = "bench/experiments/bilevel/transfer.py"
    assert (
        changed(own, "seed: int", "seed: float")
        != now
        != changed("models/transfer/wordnet.py", "import numpy", "import sys, numpy")
    )
    assert changed("bench/experiments/bilevel/nouns.py", "import", "import os, sys\nimport") != now
    assert (
        now
        == changed(own, "Why the error bars", "That the error bars")
        == changed(own, "from __future__ import annotations", "# why\nfrom __future__ import annotations  # why")
    )
    assert (
        now
        == changed("bench/experiments/hybrid.py", "LEVEL", "LEVELS")
        == changed("bench/experiments/frame/pages.py", "html", "HTML")
        == changed("models/topics/medlda.py", "import numpy", "import sys, numpy")
    )


def test_all_experiments_say_how_they_are_done():
    for name in experiments.MODULES:
        protocol = experiments.find(name).protocol
        assert protocol.paper and protocol.ours and protocol.differences


def test_what_is_not_there_is_named(tmp_path, dice, capsys):
    with pytest.raises(DataError, match="no experiment 'cards'; there are dice"):
        experiments.find("cards")
    assert command_line.main(["report", str(tmp_path)]) == 2
    assert "no results of experiments" in capsys.readouterr().err
