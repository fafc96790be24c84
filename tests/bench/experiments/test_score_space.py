"""The experiment score-space: its runs, tables and sentences on made-up sequences; quick on the promoters."""

import json

import numpy as np
import pytest

from bench.experiments import find
from bench.experiments.conduct import conduct
from bench.experiments.score_space import BESIDES, PRINTED, ScoreSpaces, accuracies, symbols_of
from models import DiscreteHMM
from tests.support.data import data_folder

pytestmark = pytest.mark.full  # whole experiments, some on real data


def made_up():
    rng = np.random.default_rng(0)
    X = []
    for k in range(2):
        chain = rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2)
        X += DiscreteHMM(2).set_model(*chain, rng.dirichlet(np.ones(4), 2)).sample([20] * 20, k)[0]
    return X, np.repeat(["+", "-"], 20)


def made_up_runs(experiment, seeds=2):
    prepared = {"promoters": made_up()}
    return [
        {"data": "promoters", "seed": s, **experiment.run(prepared, {"data": "promoters", "seed": s})}
        for s in range(seeds)
    ]


def test_a_run_has_every_method_and_comes_out_the_same_again():
    experiment = find("score-space")
    runs = made_up_runs(experiment)
    assert json.loads(json.dumps(runs)) == runs
    assert set(runs[0]["accuracy"]) == set(PRINTED) | set(BESIDES)
    assert all(0.0 <= value <= 100.0 for value in runs[0]["accuracy"].values())
    assert made_up_runs(experiment, 1) == runs[:1] and runs[0]["accuracy"] != runs[1]["accuracy"]
    accuracy, gains = experiment.tables(runs)
    assert [len(row) for row in accuracy.rows] == [len(accuracy.heads)] * len((*PRINTED, *BESIDES))
    row = next(row for row in accuracy.rows if row[0] == "MSS")
    assert row[1] == "74.23" and row[2].startswith(f"{np.mean([run['accuracy']['MSS'] for run in runs]):.2f}")
    assert gains.rows[0][1] == "+8.88"
    taught = np.mean([run["accuracy"]["MSS"] - run["accuracy"]["SS one"] for run in runs])
    assert gains.rows[0][4].startswith(f"{taught:+.2f}")
    assert len(experiment.figure(runs).axes) == 1


@pytest.mark.parametrize("mss, words", [(80.0, "MSS is 10.0 points above SS"), (60.0, "MSS is 10.0 points below SS")])
def test_the_finding_says_what_the_runs_say(mss, words):
    values = {**dict.fromkeys((*PRINTED, *BESIDES), 70.0), "MSS": mss, "FKL": 75.0}
    runs = [{"data": name, "seed": 0, "accuracy": values} for name in ("promoters", "vowels")]
    finding = ScoreSpaces().finding(runs)
    assert words in finding and f"{'MSS' if mss > 75 else 'FKL'} is the best" in finding
    assert finding.startswith(f"MSS is above SS on {2 if mss > 70 else 0} of 2 data sets")
    assert accuracies(runs)["FKL"]["vowels"].tolist() == [75.0]


def test_every_data_set_has_its_twenty_halves():
    experiment = ScoreSpaces()
    runs = experiment.runs(20, quick=False)
    assert len(runs) == 80 and len({(run["data"], run["seed"]) for run in runs}) == 80
    assert {run["data"] for run in experiment.runs(20, quick=True)} == {"promoters"}


def test_points_become_the_nearest_of_thirty_centres_of_the_training_part():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(5, 9), 2)) * [1.0, 100.0] for _ in range(30)]
    train = np.arange(20)
    found = symbols_of(X, train, np.random.default_rng(1))
    assert [len(x) for x in found] == [len(x) for x in X]
    assert set(np.concatenate(found)) <= set(range(30)) and len(set(np.concatenate(found[:20]))) > 20
    X[25] = X[25] * 0.0  # what is not trained on moves no centre
    again = symbols_of(X, train, np.random.default_rng(1))
    assert all((a == b).all() for k, (a, b) in enumerate(zip(found, again)) if k != 25)


def test_quick_on_the_promoters(tmp_path):
    data = data_folder("uci").parent
    experiment = find("score-space")
    runs = conduct(experiment, tmp_path, str(data), quick=True)
    assert [run["data"] for run in runs] == ["promoters"] * 2
    means = accuracies(runs)
    assert all(row["promoters"].mean() > 50.0 for row in means.values())
    assert "Promoter Gene" in experiment.finding(runs)
