"""Strokes as explanations of digits."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from bench import experiments
from bench.experiments.conduct import conduct
from bench.experiments.easvm_digits import (
    GROUPS,
    MACHINES,
    SIZES,
    DigitExplanations,
    agreement,
    is_difficult,
    largest_best,
    split,
)
from bench.experiments.strokes import PROTOTYPES, STROKES, essential, mask

pytestmark = pytest.mark.full  # whole experiments, some on real data


def test_every_pair_of_digits_has_strokes_that_tell_it_apart():
    assert len(set(PROTOTYPES)) == 10 and set().union(*PROTOTYPES) == set(STROKES)
    for one, other in combinations(range(10), 2):
        kept = mask(essential(one, other))
        assert 0.1 < kept.mean() < 0.8
        assert np.array_equal(kept, mask(essential(other, one)))


def test_a_mask_is_the_union_of_its_strokes():
    names = frozenset({"top", "slant"})
    assert np.array_equal(mask(names), mask(frozenset({"top"})) | mask(frozenset({"slant"})))
    upright = mask(frozenset({"upright"})).reshape(8, 8)
    assert upright[:, 3:5].all() and not upright[:, [0, 1, 2, 5, 6, 7]].any()


def test_the_groups_make_33_easy_and_12_difficult_pairs():
    assert sorted(digit for group in GROUPS for digit in group) == list(range(10))
    difficult = [is_difficult({"pair": list(pair)}) for pair in combinations(range(10), 2)]
    assert difficult.count(True) == 12 and difficult.count(False) == 33


def test_a_split_is_balanced_and_leaves_nothing_out():
    digit = np.random.default_rng(0).integers(0, 10, 500)
    train, test = split(digit, (3, 7), 20, np.random.default_rng(1))
    assert np.bincount(digit[train], minlength=10)[[3, 7]].tolist() == [10, 10] and train.size == 20
    assert sorted([*train, *test]) == np.flatnonzero(np.isin(digit, (3, 7))).tolist()


def test_of_equal_scores_the_largest_q_can_be_taken():
    machine = SimpleNamespace(
        Q_scores_=np.array([[0.5, 0.7], [0.8, 0.6], [0.7, 0.7], [0.6, 0.7]]),
        Q_candidates_=np.array([1.0, 2.0, 4.0, 8.0]),
    )
    assert largest_best(machine) == 4.0


def made_up(gain, noise, seeds=40, pairs=45, seed=0):
    """Runs in which a share of the error of the SVM is taken away, and the errors of the runs scatter."""
    rng = np.random.default_rng(seed)
    runs = []
    for pair, level in zip(combinations(range(10), 2), np.linspace(0.02, 0.2, pairs)):
        for k in range(seeds):
            errors = {name: level + noise * rng.normal() for name in MACHINES}
            errors["easvm"] = level * (1.0 - gain) + noise * rng.normal()
            runs.append({"pair": list(pair), "size": 20, "seed": k, **errors})
    return runs


def test_separate_repeats_do_not_take_noise_for_agreement():
    tau, apart = agreement(made_up(gain=0.5, noise=0.01))
    assert tau > 0.8 and apart > 0.8
    runs = made_up(gain=0.0, noise=0.5)
    for run in runs:
        run["easvm"] = 0.1  # whatever the SVM's luck
    tau, apart = agreement(runs)
    assert tau == pytest.approx(1.0) and abs(apart) < 0.3


def test_the_finding_says_who_is_better(tmp_path):
    runs = made_up(gain=0.5, noise=0.0)
    finding = DigitExplanations().finding(runs)
    assert "EA-SVM is better than the SVM on 45 pairs and worse on 0" in finding
    assert "gain more than the easy ones at" in finding and "Kendall's tau is 1.00, and 1.00" in finding


def test_the_real_digits_in_short(tmp_path):
    experiment = experiments.find("easvm-digits")
    runs = conduct(experiment, tmp_path, quick=True)
    assert len(runs) == 2 * 6 * 2
    assert 0.0 < np.mean([run["svm"] for run in runs]) < 0.2
    assert {name for run in runs for name in run} >= set(MACHINES)
    errors, pairs, tau = experiment.tables(runs)
    assert len(errors.rows) == 6 and len(pairs.rows) == 2 * (len(MACHINES) - 1) and len(tau.rows) == 2
    left, middle, right = experiment.figure(runs).axes
    assert left.get_xlabel().startswith("error rate of the SVM") and len(middle.containers) == 4
    assert right.get_ylabel() == "error rate, %"


def test_a_full_conduct_has_all_pairs_and_sizes():
    runs = DigitExplanations().runs(10, quick=False)
    assert len({str(run) for run in runs}) == len(runs) == 45 * len(SIZES) * 10
