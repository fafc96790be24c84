"""The frame of the experiments, on one that throws a die."""

import json
import sys

import numpy as np
import pytest
from dask import distributed

from bench import __main__ as command_line
from bench import experiments
from bench.compare.tables import Table
from bench.experiments import conduct, pages
from bench.experiments.experiment import Experiment, Protocol, verdict_of
from bench.programs.sets import DataError
from socp.version import __version__

pytestmark = pytest.mark.full  # whole experiments, some on real data


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

    def finding(self, runs):
        return f"the mean is {np.mean([run['mean'] for run in runs if run['sides'] == 6]):.1f}"

    def verdict(self, runs):
        return verdict_of({"the mean is near 3.5": abs(np.mean([run["mean"] for run in runs]) - 3.5) < 0.5}, "bad dice")


@pytest.fixture
def dice(monkeypatch):
    monkeypatch.setattr(experiments, "MODULES", {"dice": "dice"})
    monkeypatch.setattr(experiments, "import_module", lambda name: sys.modules[__name__])
    return Dice()


def numbers(runs):
    return [{name: value for name, value in run.items() if name != "seconds"} for run in runs]


def test_runs_come_back_in_order_and_are_not_run_again(tmp_path, dice):
    told = []
    first = conduct.conduct(dice, tmp_path, show=lambda done, of: told.append((done, of)))
    assert [(run["sides"], run["seed"]) for run in first] == [(s, k) for s in (6, 20) for k in range(6)]
    assert told == [(k, 12) for k in range(13)]
    again = conduct.conduct(dice, tmp_path)
    assert again == first  # with the seconds of the first time
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


def test_processes_give_the_same_numbers(tmp_path, dice):
    assert numbers(conduct.conduct(dice, tmp_path / "two", jobs=2)) == numbers(conduct.conduct(dice, tmp_path / "one"))


def test_a_dask_cluster_gives_the_same_numbers(tmp_path, dice):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        there = conduct.conduct(dice, tmp_path / "there", dask=cluster.scheduler_address)
    assert numbers(there) == numbers(conduct.conduct(dice, tmp_path / "here"))


def test_data_are_prepared_once_a_process(tmp_path, dice):
    Dice.prepared = 0
    from bench.experiments.experiment import _prepared

    _prepared.cache_clear()
    conduct.conduct(dice, tmp_path)
    assert Dice.prepared == 1


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
    assert summary["verdict"] == "confirmed" and summary["reason"] == "Holds: the mean is near 3.5."
    assert summary["version"] == __version__ and len(summary["code"]) == 12 and summary["date"] >= "2026-11-22"
    assert "<b>confirmed</b>: Holds: the mean" in page and "a generator is &lt; a hand" in page
    assert f"version {__version__}, code {summary['code']}, {summary['date']}" in page
    assert "the mean is 3.5" in page and "data:image/png;base64," in page and "of 100 throws" in page
    index = (tmp_path / "index.html").read_text()
    assert '<a href="dice/page.html">Throwing dice</a>' in index
    out = capsys.readouterr().out
    assert "paper:    the mean is 3.5" in out and "measured: the mean is 3." in out
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
    monkeypatch.setattr(conduct, "source_digest", lambda packages: "of other code")
    assert command_line.main(["report", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "dice" / "summary.json").read_text()) == {**before, "claim": "the mean is 10"}
    assert "the mean is 10" in (tmp_path / "dice" / "page.html").read_text()
    with pytest.raises(DataError, match="has not all runs of dice: 1 are missing"):
        pages.write(dice, tmp_path / "dice", 3)
    with pytest.raises(DataError, match="has not all runs of dice: all are missing"):
        pages.write(dice, tmp_path / "elsewhere", 3)


def test_a_claim_of_parts_is_confirmed_in_part():
    assert verdict_of({"a": True, "b": True}, "why") == ("confirmed", "Holds: a; b.")
    assert verdict_of({"a": True, "b": False}, "why") == ("in part", "Holds: a. Does not hold: b. why")
    assert verdict_of({"b": False}, "why") == ("not", "Does not hold: b. why")


def test_all_experiments_say_how_they_are_done():
    for name in experiments.MODULES:
        protocol = experiments.find(name).protocol
        assert protocol.paper and protocol.ours and protocol.differences


def test_what_is_not_there_is_named(tmp_path, dice, capsys):
    with pytest.raises(DataError, match="no experiment 'cards'; there are dice"):
        experiments.find("cards")
    assert command_line.main(["report", str(tmp_path)]) == 2
    assert "no results of experiments" in capsys.readouterr().err
    with pytest.raises(DataError, match="no results"):
        pages.index(tmp_path)
