"""The experiment score-space: its runs, tables and sentences on made-up sequences; quick on the promoters."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from bench.experiments import find, score_space_topics
from bench.experiments.conduct import conduct
from bench.experiments.score_space import (
    BESIDES,
    PRINTED,
    ScoreSpaces,
    accuracies,
    accuracy_by_svm,
    by_setup,
    halves_of,
    symbols_of,
)
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
    of_points = {"LM-HMM v", "FKL v"}
    assert set(runs[0]["accuracy"]) == (set(PRINTED) | set(BESIDES)) - of_points
    assert all(0.0 <= value <= 100.0 for value in runs[0]["accuracy"].values())
    assert made_up_runs(experiment, 1) == runs[:1] and runs[0]["accuracy"] != runs[1]["accuracy"]
    accuracy, gains = experiment.tables(runs)
    assert [len(row) for row in accuracy.rows] == [len(accuracy.heads)] * (len((*PRINTED, *BESIDES)) - len(of_points))
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
    assert accuracies(runs)["vowels"]["FKL"].tolist() == [75.0]


def test_the_verdict_needs_more_than_two_standard_errors():
    for gains, verdict in (([4.0, 5.0, 6.0], "confirmed"), ([-9.0, 5.0, 8.0], "in part"), ([-9.0, -5.0, 8.0], "not")):
        values = dict.fromkeys((*PRINTED, *BESIDES), 70.0)
        runs = [
            {"data": "promoters", "seed": s, "accuracy": {**values, "MSS": 70.0 + gain}} for s, gain in enumerate(gains)
        ]
        found = ScoreSpaces().verdict(runs)
        assert found.kind == verdict and found.parts[0].holds == (verdict == "confirmed")
        assert found.parts[1].value == pytest.approx(np.mean(gains))


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
    assert all(values.mean() > 50.0 for values in means["promoters"].values())
    assert "Promoter Gene" in experiment.finding(runs)


def test_series_stay_points_where_asked_and_no_class_is_left_out():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(6, 2)) for _ in range(40)], np.repeat(np.arange(8), 5)
    (train, labels, test, truth), K = halves_of((X, y), (1, 2), share=0.1, symbols=False)
    assert K == 0 and train[0].shape == (6, 2) and len(train) + len(test) == 40
    assert set(labels) == set(range(8)) and labels.size + truth.size == 40


def test_the_machine_of_wide_scores_is_that_of_their_products():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 10)
    scores = rng.normal(size=(30, 80)) + 0.3 * y[:, None]
    new = rng.normal(size=(30, 80)) + 0.3 * y[:, None]
    found = accuracy_by_svm(scores, y, new, y)
    again = accuracy_by_svm(scores[:, :20], y, new[:, :20], y)  # fewer than samples: the other way
    assert 33.0 < found <= 100.0 and 33.0 < again <= 100.0


@pytest.mark.parametrize("name, of", [("score-space-tilt", "steps"), ("score-space-states", "percent")])
def test_experiments_on_made_up_sequences(name, of):
    experiment = find(name)
    prepared = {"promoters": made_up()}
    if name == "score-space-tilt":
        setups = [("near_uniform", 10, 3), ("near_uniform", 10, 10), ("spread", 100, 10)]
        all_runs = [{"init": i, "steps": t, "states": S} for i, t, S in setups]
    else:
        all_runs = [{"states": S, "percent": p} for S in (3, 10) for p in (50, 90)]
    runs = []
    for parameters in all_runs:
        for seed in range(2):
            whole = {"data": "promoters", "seed": seed, **parameters}
            runs.append({**whole, **experiment.run(prepared, whole)})
    assert json.loads(json.dumps(runs)) == runs and all(
        run in experiment.runs(20, False) for run in map(parts_of, runs)
    )
    for table in experiment.tables(runs):
        assert all(len(row) == len(table.heads) for row in table.rows)
    assert len(experiment.figure(runs).axes) > 1 and "%" in experiment.finding(runs)
    assert experiment.verdict(runs)[0] in ("confirmed", "in part", "not")
    assert len(by_setup(runs, of)) == len({run[of] for run in runs})
    if name == "score-space-tilt":
        leak = experiment.tables(runs)[-1]
        assert "label" in leak.title and len(leak.rows) == 2


def parts_of(run):
    return {key: value for key, value in run.items() if key != "accuracy"}


def test_every_setup_of_promoters_and_five_halves_of_the_others():
    runs = find("score-space-tilt").runs(20, quick=False)
    promoters = [run for run in runs if run["data"] == "promoters"]
    assert len(promoters) == 20 * 2 * 3 * 4 and len(runs) - len(promoters) == 3 * 5 * 2 * 2
    assert {run["data"] for run in find("score-space-tilt").runs(20, quick=True)} == {"promoters"}


def test_topics_of_made_up_posts():
    rng = np.random.default_rng(0)
    groups = np.repeat(score_space_topics.GROUPS, 160)
    words = rng.dirichlet(np.full(400, 0.05), 4)
    counts = sp.csr_array(np.array([rng.multinomial(30, words[k]) for k in np.repeat(np.arange(4), 160)]).astype(float))
    experiment = find("score-space-topics")
    runs = []
    for topics, size in ((5, 10), (50, 10)):
        run = {"seed": 0, "topics": topics, "size": size}
        runs.append({**run, **experiment.run((counts, groups), run)})
    assert "MSS pair" in runs[0]["accuracy"] and "MSS" not in runs[1]["accuracy"]
    assert min(runs[0]["accuracy"].values()) > 40.0
    (table,) = experiment.tables(runs)
    assert all(len(row) == len(table.heads) for row in table.rows) and len(experiment.figure(runs).axes) == 2
    assert "short form" in experiment.finding(runs)
    X, y, new, truth = score_space_topics.drawn((counts, groups), 0, 10)
    assert X.shape[0] == 40 and new.shape == (400, X.shape[1]) and 50 < X.shape[1] <= 300
    assert all((y == group).sum() == 10 for group in score_space_topics.GROUPS)
    assert ((X > 0).sum(axis=0) <= 10).all() and truth.size == 400
    assert len(experiment.runs(5, quick=False)) == 5 * 7
