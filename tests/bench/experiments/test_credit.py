"""The lecture's credit card example: on made-up customers, and its table on the real ones."""

import numpy as np

from bench import experiments
from bench.data import Default
from bench.experiments.conduct import conduct
from bench.experiments.credit import SEEN, UNSEEN, CreditDefault, classifiers
from tests.support.data import data_folder


def made_up():
    rng = np.random.default_rng(0)
    defaulted = rng.random(600) < 0.2
    balance = rng.normal(800.0 + 700.0 * defaulted, 300.0)
    return Default(defaulted, rng.random(600) < 0.3, balance, rng.normal(30000.0, 5000.0, 600))


def test_made_up_customers(tmp_path, monkeypatch):
    monkeypatch.setattr(CreditDefault, "prepare", lambda self, data, quick: made_up())
    experiment = CreditDefault()
    runs = conduct(experiment, tmp_path, repeats=3)
    assert len(runs) == 4 * len(classifiers())
    assert all(sum(run["counts"][99]) == (600 if run["judged"] == SEEN else 300) for run in runs)
    assert all(0.9 < run["area"] < 1.0 for run in runs)
    confusion, seen, unseen = experiment.tables(runs)
    assert confusion.rows[-1][-1] == "600" and len(seen.rows) == len(unseen.rows) == 16
    assert "not the lecture's table" in experiment.finding(runs)
    left, right = experiment.figure(runs).axes
    assert left.get_xlabel() == "threshold" and right.get_ylabel() == "true positive rate"


def test_halves_are_random_and_the_same_for_every_model():
    runs = CreditDefault().runs(10, quick=False)
    assert {(run["judged"], run["seed"]) for run in runs} == {(SEEN, 0), *((UNSEEN, seed) for seed in range(10))}
    prepared = made_up()
    areas = [CreditDefault().run(prepared, run)["area"] for run in runs if run["model"] == "LDA"]
    assert len(set(areas)) == 11


def test_the_lectures_table(tmp_path):
    data = str(data_folder("uci").parent)
    experiment = experiments.find("credit-default")
    runs = conduct(experiment, tmp_path, data, quick=True)
    assert [row[1:3] for row in experiment.tables(runs)[0].rows[:2]] == [["9644", "252"], ["23", "81"]]
    finding = experiment.finding(runs)
    assert "the lecture's table: error 2.75 %, sensitivity 24.32 %, specificity 99.76 %" in finding
    assert "not the lecture's" not in finding
