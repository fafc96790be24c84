"""Large-margin hidden Markov models: the objective never rises, and a program agrees with all paths written out."""

import itertools

import numpy as np
import pytest

from models import LargeMarginHMM
from models.base.progress import History
from models.score_spaces.large_margin_hmm import _objective, _Scores, _solve
from models.sequences.sequences import as_symbols
from tests.support.chains import kinds, random_gaussian

cvxpy = pytest.importorskip("cvxpy")


def statistics(x, path, c, classes, S, K):
    found = np.zeros((classes, S + S * S + S * K))
    found[c, path[0]] += 1
    for i, j in itertools.pairwise(path):
        found[c, S + i * S + j] += 1
    for i, k in zip(path, x):
        if k >= 0:
            found[c, S + S * S + i * K + k] += 1
    return found.ravel()


def scores_of(X, y, S, K):
    batch = as_symbols(X)
    return _Scores(batch, np.vstack([np.eye(K), np.zeros(K)])[batch.values], y, S)


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_a_program_of_fixed_alignments_is_that_of_all_paths(C):
    X, y = kinds(3, (3, 4, 3))
    X[1][2] = -1
    S, K = 2, 4
    scores = scores_of(X, y, S, K)
    start = np.log(np.random.default_rng(1).dirichlet(np.ones(3 * S * (1 + S + K))))
    own = scores.align(start)
    w, gap, _, solution = _solve(scores, own, start, start, C, History())
    variable, slack = cvxpy.Variable(start.size), cvxpy.Variable(len(X), nonneg=True)
    constraints = []
    for t, (x, c) in enumerate(zip(X, y)):
        first, end = scores.batch.offsets[t : t + 2]
        aligned = statistics(x, own[first:end], c, 3, S, K)
        for other in set(range(3)) - {c}:
            for path in itertools.product(range(S), repeat=len(x)):
                difference = aligned - statistics(x, path, other, 3, S, K)
                constraints.append(variable @ difference >= 1 - slack[t])
    problem = cvxpy.Problem(
        cvxpy.Minimize(0.5 * cvxpy.sum_squares(variable - start) + C * cvxpy.sum(slack)), constraints
    )
    problem.solve(solver=cvxpy.CLARABEL)
    assert gap <= 1e-3 * (1 + problem.value) and solution.status == "optimal"
    assert -solution.objective <= problem.value + 1e-6
    assert problem.value <= -solution.objective + gap + 1e-6
    np.testing.assert_allclose(w, variable.value, atol=np.sqrt(2 * gap) + 1e-4)  # strong convexity
    assert np.linalg.norm(w - start) > 0.05


def test_the_score_is_that_of_the_best_path():
    X, y = kinds(2, (5,) * 4)
    model = LargeMarginHMM(2, 4, random_state=0).fit(X, y)
    found = model.decision_function(X)
    w = np.hstack([part.reshape(2, -1) for part in (model.starts_, model.transitions_, model.emissions_)]).ravel()
    for x, value in zip(X, found):
        best = [
            max(statistics(x, path, c, 2, 2, 4) @ w for path in itertools.product(range(2), repeat=len(x)))
            for c in range(2)
        ]
        assert value == pytest.approx(best[1] - best[0], rel=1e-10)
    scores = scores_of(X, y, 2, 4)
    short = np.maximum(1 - np.where(y == 1, 1, -1) * found, 0).sum()
    assert scores.loss(w) == pytest.approx(short)
    start = np.log(np.concatenate([scores.flat(m.startprob_, m.transmat_, m.emissionprob_) for m in model.models_]))
    assert model.objectives_[-1] == pytest.approx(_objective(w, start, 1.0, short))


@pytest.mark.full
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_no_alignment_raises_the_objective_and_margins_grow(classes, seed):
    X, y = kinds(classes, seed=seed)
    model = LargeMarginHMM(3, random_state=seed, tol=0.0, max_iter=6).fit(X, y)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    assert model.objectives_[-1] < 0.8 * model.objectives_[0]
    plain = np.array([m.score_samples(X) for m in model.models_]).argmax(axis=0)
    assert model.score(X, y) >= (plain == y).mean()


def test_with_a_high_price_every_margin_is_kept(seed=1):
    X, y = kinds(seed=seed)
    model = LargeMarginHMM(3, C=100.0, random_state=seed).fit(X, y)
    plain = np.array([m.score_samples(X) for m in model.models_]).argmax(axis=0)
    assert (plain == y).mean() < 1.0 == model.score(X, y)
    assert (np.where(y == 1, 1, -1) * model.decision_function(X)).min() > 0.95
    settled = -np.diff(model.objectives_) <= model.tol * (1.0 + model.objectives_[1:])
    assert settled.tolist() == [False] * (model.n_iter_ - 1) + [True] and model.n_iter_ > 2


def test_a_small_price_leaves_the_models_of_maximum_likelihood():
    X, y = kinds()
    model = LargeMarginHMM(3, C=1e-9, random_state=0).fit(X, np.array(["a", "b"])[y])
    np.testing.assert_allclose(np.exp(model.transitions_[0]), model.models_[0].transmat_, atol=1e-5)
    assert model.classes_.tolist() == ["a", "b"] and set(model.predict(X)) <= {"a", "b"}


def vectors(seed=0, classes=2, number=12):
    rng = np.random.default_rng(seed)
    X = [x for _ in range(classes) for x in random_gaussian(rng, 2).sample([15] * number, rng)[0]]
    return [x * [1.0, 1e3] + [0.0, 5e4] for x in X], np.repeat(np.arange(classes), number)


@pytest.mark.parametrize("training", ["margin", "perceptron"])
@pytest.mark.parametrize("kind", [kinds, vectors])
def test_symbols_and_vectors_by_both_trainings(kind, training):
    X, y = kind(seed=3)
    observations = "vectors" if kind is vectors else "symbols"
    if kind is vectors:
        X[0][3, 1] = np.nan
    model = LargeMarginHMM(2, observations=observations, training=training, C=0.1, random_state=0).fit(X, y)
    batch = model._sequences_to_predict(X, 4)
    plain = np.array([m.score_samples(batch.split(batch.values)) for m in model.models_]).argmax(axis=0)
    assert model.score(X, y) >= ((plain == y).mean() if training == "margin" else 0.75)  # no guarantee by a perceptron
    assert model.emissions_.shape == (2, 2, 6 if kind is vectors else 4) and len(model.objectives_) >= 1
    assert hasattr(model, "solution_") == (training == "margin")
    if kind is vectors:  # the units have no influence
        np.testing.assert_allclose(np.nanmean(batch.values, axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(np.nanstd(batch.values, axis=0), 1.0, rtol=1e-9)
        other = LargeMarginHMM(2, observations=observations, training=training, C=0.1, random_state=0)
        rescaled = [x * [8.0, 0.5] for x in X]
        np.testing.assert_array_equal(other.fit(rescaled, y).predict(rescaled), model.predict(X))
        with pytest.raises(ValueError, match="must have 2 features each"):
            model.predict([[[0.0]]])


def test_the_perceptron_takes_its_steps_and_averages_them():
    X, y = kinds(2, (6,) * 6, seed=2)
    model = LargeMarginHMM(2, training="perceptron", C=0.5, max_iter=3, random_state=7).fit(X, y)
    S, K, classes = 2, 4, 2
    rng, w, total, mistakes = np.random.default_rng(7), None, 0.0, []
    models = [model._model(as_symbols(X), rng).fit([x for x, own in zip(X, y) if own == k]) for k in range(2)]
    w = np.concatenate([np.log(part).ravel() for m in models for part in (m.startprob_, m.transmat_, m.emissionprob_)])
    for _ in range(model.n_iter_):
        wrong = 0
        for t in rng.permutation(len(X)):
            best = []
            for c in range(classes):
                paths = itertools.product(range(S), repeat=len(X[t]))
                best.append(max((statistics(X[t], path, c, classes, S, K) for path in paths), key=lambda T: T @ w))
            values = [T @ w for T in best]
            if np.argmax(values) != y[t]:
                wrong += 1
                w = w + 0.5 * (best[y[t]] - best[1 - y[t]])
            total = total + w
        mistakes.append(wrong)
    assert model.objectives_.tolist() == mistakes and mistakes[0] > 0
    parts = (model.starts_, model.transitions_, model.emissions_)
    found = np.hstack([part.reshape(2, -1) for part in parts]).ravel()
    np.testing.assert_allclose(found, total / (len(X) * len(mistakes)), atol=1e-10)
