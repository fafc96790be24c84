"""Strokes as explanations of digits."""

from itertools import combinations

import numpy as np
import pytest

from bench.experiments.easvm.digits import (
    KERNEL,
    MACHINES,
    Characters,
    _harms,
    _steps,
    agreement,
    by_path,
    characters,
    is_difficult,
    split,
)
from bench.experiments.easvm.strokes import ALPHABETS, drawn_characters
from models import ExplanationAugmentedSVC

pytestmark = pytest.mark.full  # whole experiments, some on real data


@pytest.mark.parametrize("name", ALPHABETS)
def test_every_pair_of_characters_has_strokes_that_tell_it_apart(name):
    alphabet = ALPHABETS[name]
    assert len(set(alphabet.prototypes)) == 10 and set().union(*alphabet.prototypes) == set(alphabet.strokes)
    for one, other in combinations(range(10), 2):
        kept = alphabet.mask(alphabet.essential(one, other))
        assert 0.05 < kept.mean() < 0.8
        assert np.array_equal(kept, alphabet.mask(alphabet.essential(other, one)))


def test_a_mask_is_the_union_of_its_strokes():
    mask = ALPHABETS["digits"].mask
    assert np.array_equal(mask(["top", "slant"]), mask(["top"]) | mask(["slant"]))
    upright = mask(["upright"]).reshape(8, 8)
    assert upright[:, 3:5].all() and not upright[:, [0, 1, 2, 5, 6, 7]].any()


@pytest.mark.parametrize("name", ALPHABETS)
def test_the_groups_make_33_easy_and_12_difficult_pairs(name):
    assert sorted(k for group in ALPHABETS[name].groups for k in group) == list(range(10))
    difficult = [is_difficult({"data": name, "pair": list(pair)}) for pair in combinations(range(10), 2)]
    assert difficult.count(True) == 12 and difficult.count(False) == 33


def test_strokes_of_drawn_characters_are_found_where_they_were_drawn():
    X, label = drawn_characters(20, np.random.default_rng(0))
    images, alphabet = characters("drawn", X, label), ALPHABETS["drawn"]
    for name, found in images.found.items():
        has = np.array([name in alphabet.prototypes[k] for k in label])
        assert not found[~has].any()
        assert found[has].any(axis=1).mean() > 0.9  # strokes are found in over 90% of the images
        near = alphabet.mask([name])
        assert (found[has] & near).sum() > 0.5 * found[has].sum()  # characters are moved, strokes are wide
    rows = np.flatnonzero(np.isin(label, (0, 1)))
    kept = images.explanations(rows, alphabet.essential(0, 1))
    assert kept[label[rows] == 0].all() and kept[label[rows] == 1].mean() < 0.2  # the stem is in the second alone


def test_a_split_is_balanced_and_leaves_nothing_out():
    digit = np.random.default_rng(0).integers(0, 10, 500)
    train, test = split(digit, (3, 7), 20, np.random.default_rng(1))
    assert np.bincount(digit[train], minlength=10)[[3, 7]].tolist() == [10, 10] and train.size == 20
    assert sorted([*train, *test]) == np.flatnonzero(np.isin(digit, (3, 7))).tolist()


def made_up(gain, noise, seeds=40, pairs=45, seed=0):
    """Return runs in which EASVM removes the share `gain` of the SVM's error, plus normal errors of size `noise`."""
    rng = np.random.default_rng(seed)
    runs = []
    for pair, level in zip(combinations(range(10), 2), np.linspace(0.02, 0.2, pairs)):
        for k in range(seeds):
            errors = {name: level + noise * rng.normal() for name in MACHINES}
            errors["easvm"] = level * (1.0 - gain) + noise * rng.normal()
            runs.append({"data": "digits", "pair": list(pair), "size": 20, "seed": k, "unexplained": 0.0, **errors})
    return runs


def test_separate_repeats_do_not_take_noise_for_agreement():
    same, apart, strokes = agreement(made_up(gain=0.5, noise=0.01))
    assert same[0] > 0.8 and apart[0] > 0.8 and same[1] < 1e-4 and apart[1] < 1e-4 and abs(strokes[0]) < 0.5
    runs = made_up(gain=0.0, noise=0.5)
    for run in runs:
        run["easvm"] = 0.1  # independent of the SVM's error
    same, apart, _ = agreement(runs)
    assert same[0] == pytest.approx(1.0) and same[1] < 1e-4 and abs(apart[0]) < 0.3 and apart[1] > 0.01


def test_harm_is_judged_pair_by_pair_and_size_by_size():
    runs = made_up(gain=0.0, noise=0.01, seeds=10)
    for run in runs:
        run["opposite"] += 0.1 * (run["pair"] == [0, 1])
    p_values = np.array(_harms(runs, "opposite"))
    assert p_values.size == 45 and p_values[0] < 1e-6 and (p_values[1:] < 0.05).sum() <= 6
    for run in runs:
        run["random"] = run["svm"]
    assert _harms(runs, "random") == [0.5] * 45


def test_the_chosen_q_is_the_first_the_middle_or_the_last_of_equals():
    tied = {"easvm": [3, 4, 5, 6, 8], "random": [0, 1, 2], "opposite": [0]}
    runs = [{"pair": [0, 1], "seed": k, "Q": tied} for k in range(2)]
    assert [float(_steps(runs, "random", place)[0]) for place in (0.0, 0.5, 1.0)] == [3.0, 4.0, 6.0]
    assert _steps(runs, "opposite", 0.5).tolist() == [5.0]


def test_q_among_all_is_the_estimators():
    rng = np.random.default_rng(3)
    label = np.repeat([0, 1], 60)
    X = np.clip(0.5 + 0.1 * rng.normal(size=(120, 6)), 0.0, 1.0)
    X[:, 0] += 0.15 * label
    train = np.concatenate([np.arange(20), np.arange(60, 80)])
    test = np.setdiff1d(np.arange(120), train)
    good = np.tile(np.arange(6) == 0, (40, 1))
    found = by_path(Characters(X, label, {}), train, test, {"easvm": good, "random": ~good, "opposite": good & False})
    for name, kept in (("easvm", good), ("random", ~good)):
        machine = ExplanationAugmentedSVC(**KERNEL).fit(X[train], label[train], explanations=kept)
        unit = ExplanationAugmentedSVC(Q=0.0, **KERNEL).fit(X[train], label[train], explanations=kept).alpha_.mean()
        share = 1.0 if np.isinf(machine.Q_) else machine.Q_ / (machine.Q_ + unit)
        assert found["measure"][name] == pytest.approx(share, abs=1e-6)
        assert found[name] == np.mean(machine.predict(X[test]) != label[test])
    assert found["measure"]["easvm"] > found["measure"]["random"]
