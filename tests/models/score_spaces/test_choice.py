"""What a generative model is used for: the candidates, their scores, and the one that is taken."""

import numpy as np
import pytest

from models import (
    DiscreteHMM,
    FreeEnergyClassifier,
    LatentDirichletAllocation,
    MaxMarginScoreSpace,
    ScoreSpaceClassifier,
)
from models.base.multiclass import best_of, folds_of

ORDER = ("Bayes' rule", "plain statistics", "one model", "a model for each class")


def chain(change, share):
    """Return a chain of two states that changes its state with the probability `change`."""
    stay = 1.0 - change
    return DiscreteHMM(2).set_model([0.5, 0.5], [[stay, change], [change, stay]], [[share, 1.0 - share], [0.1, 0.9]])


def two_kinds(seed, first, second, count=30, length=20):
    X = [chain(*how).sample([length] * count, random_state=seed + k)[0] for k, how in enumerate((first, second))]
    return X[0] + X[1], np.repeat(["a", "b"], count)


def test_the_scores_are_those_of_single_fits_and_the_first_of_the_best_is_taken():
    X, y = two_kinds(0, (0.8, 0.9), (0.2, 0.9))
    template = DiscreteHMM(2, random_state=0)
    model = ScoreSpaceClassifier(template).fit(X, y)
    assert tuple(model.choices_) == ORDER and model.scores_.shape == (4, 5)
    single = DiscreteHMM(1, 2, random_state=0)
    alone = [
        FreeEnergyClassifier(template), MaxMarginScoreSpace(single, n_init=1), MaxMarginScoreSpace(template, n_init=1),
        MaxMarginScoreSpace(template, per_class=True, n_init=1),
    ]  # fmt: skip
    for f, (train, test) in enumerate(folds_of(5, (y == "b").astype(int), np.ones(y.size))):
        for c, one in enumerate(alone):
            score = one.fit([X[i] for i in train], y[train]).score([X[i] for i in test], y[test])
            assert model.scores_[c, f] == pytest.approx(score)
    assert model.choice_ == ORDER[model.scores_.mean(axis=1).round(12).argmax()]
    np.testing.assert_array_equal(model.predict(X), model.best_.predict(X))
    assert template.n_symbols is None  # the template is the user's


@pytest.mark.parametrize(("what", "first", "second", "seeds"), [
    ("order", (0.8, 0.9), (0.2, 0.9), range(1)),
    pytest.param("order", (0.8, 0.9), (0.2, 0.9), range(5), marks=pytest.mark.full),
    pytest.param("counts", (0.5, 0.9), (0.5, 0.6), range(5), marks=pytest.mark.full),
])  # fmt: skip
def test_it_takes_what_serves_and_loses_little_to_any_candidate(what, first, second, seeds):
    found, taken = [], []
    for seed in seeds:
        (X, y), (T, z) = two_kinds(10 * seed, first, second), two_kinds(1000 + 10 * seed, first, second, 300)
        model = ScoreSpaceClassifier(DiscreteHMM(2, random_state=0)).fit(X, y)
        plain = MaxMarginScoreSpace(DiscreteHMM(1, random_state=0)).fit(X, y)
        bayes = FreeEnergyClassifier(DiscreteHMM(2, random_state=0)).fit(X, y)
        found.append([one.score(T, z) for one in (model, plain, bayes)])
        taken.append(model.choice_)
    ours, plain, bayes = np.mean(found, axis=0)
    assert ours > max(plain, bayes) - 0.04, (ours, plain, bayes)
    assert what == "counts" or (ours > plain + 0.2 and "plain statistics" not in taken)


def test_topics_more_classes_and_classes_of_one_sample():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = rng.poisson(1.0 + 3.0 * (np.arange(9) // 3 == y[:, None]))
    model = ScoreSpaceClassifier(LatentDirichletAllocation(2, max_iter=5, random_state=0), cv=3).fit(X, y)
    assert model.scores_.shape == (4, 3) and model.decision_function(X).shape == (45, 3)
    assert model.score(X, y) > 0.9
    few = ScoreSpaceClassifier(LatentDirichletAllocation(2, max_iter=5, random_state=0)).fit(X[:3], y[:3])
    assert few.choice_ == "Bayes' rule" and few.scores_.shape == (4, 0)


def test_of_equal_scores_the_first_is_the_best():
    assert best_of(np.array([[0.1, 0.2], [0.2, 0.1 + 1e-15], [0.0, 0.3]])) == 0
    assert best_of(np.array([[0.1, 0.2], [0.2, 0.2], [0.2, 0.2]])) == 1
    assert best_of(np.zeros((3, 0))) == 0
