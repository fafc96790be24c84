"""Naive Bayes: its forms against their definitions, missing entries, EM, hard cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln
from scipy.stats import gaussian_kde
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from models import MixedNaiveBayes, MultinomialNaiveBayes

MIXED = ["gaussian", "multinomial", "bernoulli", "categorical", "multinomial", "gaussian"]
MODELS = [
    MixedNaiveBayes(var_smoothing=1e-2), MixedNaiveBayes("bernoulli", binarize=1.5),
    MultinomialNaiveBayes(alpha=0.5), MultinomialNaiveBayes(alpha=0.5, predictive="bayes"),
    MixedNaiveBayes(MIXED, binarize=1.0), MixedNaiveBayes("categorical", dirichlet=2.0),
]  # fmt: skip


def samples(seed=0, count=60):
    """Return small counts, which every kind of naive Bayes accepts, and labels of three classes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(count) % 3
    rates = np.array([[1, 3, 0.5, 2, 1, 4], [3, 1, 1, 0.5, 1, 2], [1, 1, 3, 2, 3, 1.0]])
    return rng.poisson(rates[codes]).astype(float), np.array(["b", "a", "c"])[codes]


def with_gaps(X, columns, share=0.2, seed=1):
    X = X.copy()
    X[:, columns] = np.where(np.random.default_rng(seed).random((len(X), len(columns))) < share, np.nan, X[:, columns])
    return X


def test_mixed_is_the_sum_of_its_parts():
    X, y = samples()
    X = with_gaps(X, [0, 2, 3, 5])
    mixed = MixedNaiveBayes(MIXED, binarize=1.0).fit(X, y)
    parts = [
        (MixedNaiveBayes("gaussian"), [0, 5]),
        (MixedNaiveBayes("bernoulli", binarize=1.0), [2]),
        (MultinomialNaiveBayes(), [1, 4]),
        (MixedNaiveBayes("categorical"), [3]),
    ]
    total = sum(part.fit(X[:, j], y).predict_joint_log_proba(X[:, j]) for part, j in parts) - 3 * np.log(mixed.priors_)
    assert np.allclose(mixed.predict_joint_log_proba(X), total, rtol=1e-12)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_is_dense(form):
    X, y = samples()
    model = MultinomialNaiveBayes()
    dense = model.fit(X, y, X_unlabelled=X[:5]).predict_log_proba(X)
    thin = model.fit(form(X), y, X_unlabelled=form(X[:5]))
    assert np.allclose(thin.predict_log_proba(form(X)), dense, rtol=0, atol=1e-11)
    assert np.array_equal(model.log_odds_terms(form(X))[1], model.log_odds_terms(X)[1])


HARD = {
    "one sample a class": (lambda X: X[:3], {}),
    "all zero": (np.zeros_like, {}),
    "constant": (lambda X: np.full_like(X, 0.1), {}),
    "without smoothing": (lambda X: X[:6], {"alpha": 0.0, "var_smoothing": 0.0}),
    "long documents": (lambda X: X * 1e8, {}),
    "tiny units": (lambda X: X * 1e-150, {}),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_posteriors_are_never_nan(model, case):
    change, options = HARD[case]
    X, y = samples()
    X = change(X)
    parameters = model.get_params()
    model = type(model)(**{**parameters, **{name: options[name] for name in options.keys() & parameters.keys()}})
    model.fit(X, y[: len(X)])
    for at in (X, 1e3 * X, X + 1e-3):
        P = model.predict_proba(at)
        assert np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1.0)
        assert not np.isnan(model.predict_log_proba(at)).any()


@pytest.mark.parametrize(("call", "words"), [
    (lambda X, y: MultinomialNaiveBayes().fit(-X, y), "Negative values in data passed to MultinomialNaiveBayes"),
    (lambda X, y: MultinomialNaiveBayes(predictive="bayes").fit(X, y).log_odds_terms(X),
     "predictive must be 'plug-in' for log_odds_terms"),
    (lambda X, y: MultinomialNaiveBayes(predictive="bayes").fit(X, y, X_unlabelled=X),
     "predictive must be 'plug-in' when X_unlabelled is given"),
    (lambda X, y: MixedNaiveBayes("multinomial").fit(X * np.nan, y), "NaN"),
    (lambda X, y: MultinomialNaiveBayes().fit(X, y).predict(-X), "Negative values"),
    (lambda X, y: MixedNaiveBayes("bernoulli", binarize=None).fit(X, y), "binarize=None needs entries 0 and 1"),
    (lambda X, y: MixedNaiveBayes(["gaussian"]).fit(X, y), "kinds must be one word or one for each of the 6"),
    (lambda X, y: MixedNaiveBayes("normal").fit(X, y), "kinds must be one of 'gaussian', 'bernoulli'"),
    (lambda X, y: MixedNaiveBayes().fit(X, y, X_unlabelled=X[:, :2]), "X_unlabelled has 2 features"),
])  # fmt: skip
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call(*samples())


def test_a_feature_that_was_never_seen_says_nothing_of_the_classes():
    X, y = samples()
    plain = MixedNaiveBayes("gaussian").fit(X, y).predict_proba(X)
    model = MixedNaiveBayes("gaussian").fit(np.c_[X, np.full(len(X), np.nan)], y)
    for value in (np.nan, 0.0, 2.0):
        np.testing.assert_allclose(model.predict_proba(np.c_[X, np.full(len(X), value)]), plain, atol=1e-3)


@pytest.mark.parametrize("model", [model for model in MODELS if model.predictive == "plug-in"], ids=repr)
def test_the_log_odds_are_additive(model):
    X, y = samples()
    model = type(model)(**model.get_params()).fit(X, y)
    a, T = model.log_odds_terms(X)
    odds = model.predict_log_proba(X) - model.predict_log_proba(X)[:, -1:]
    assert np.allclose(a + T.sum(axis=2), odds, rtol=0, atol=1e-10)
    assert not a[-1] and not T[:, -1].any()
    moved = X.copy()
    moved[:, 2] += 1.0  # the terms of a feature do not depend on other features
    again = model.log_odds_terms(moved)[1]
    assert np.array_equal(np.delete(again, 2, axis=2), np.delete(T, 2, axis=2))
    if not isinstance(model, MultinomialNaiveBayes) and getattr(model, "kinds", None) != MIXED:
        gaps = with_gaps(X, range(6))
        T = model.log_odds_terms(gaps)[1]
        odds = model.predict_log_proba(gaps) - model.predict_log_proba(gaps)[:, -1:]
        assert np.allclose(a + T.sum(axis=2), odds, rtol=0, atol=1e-10)
        assert not T.transpose(0, 2, 1)[np.isnan(gaps)].any()


def log_dirichlet_multinomial(a, x):
    """Return log(B(a + x) / B(a)), the log of the integral of prod_j p_j^x_j under the Dirichlet density of a."""
    return (gammaln(a + x) - gammaln(a)).sum() - gammaln((a + x).sum()) + gammaln(a.sum())


def test_the_predictive_probability_is_dirichlet_multinomial():
    X, y = samples()
    model = MultinomialNaiveBayes(alpha=0.5, predictive="bayes").fit(X, y)
    found = model.predict_joint_log_proba(X) - np.log(model.priors_)
    for k, label in enumerate("abc"):
        a = X[y == label].sum(axis=0) + 0.5
        expected = [log_dirichlet_multinomial(a, x) for x in X]
        assert np.allclose(found[:, k], expected, rtol=1e-10)
    halves = sp.csr_array((np.r_[X[0], X[0]] / 2, np.r_[:6, :6], [0, 12]), shape=(1, 6))  # entries split in halves
    for form, rows in ((sp.csc_array(X), slice(None)), (halves, slice(1))):
        again = model.predict_joint_log_proba(form) - np.log(model.priors_)
        assert np.allclose(again, found[rows], rtol=1e-12)


def two_humps(m=400, seed=0):
    """Return samples of a class between the two halves of the other; normal densities cannot separate them."""
    rng = np.random.default_rng(seed)
    y = np.arange(m) % 2
    X = np.where(y == 0, rng.normal(size=m), 4.0 * np.sign(rng.normal(size=m)) + 0.5 * rng.normal(size=m))
    return np.column_stack([X, rng.normal(size=m)]), y


def test_the_kernel_density_is_that_of_scipy():
    X, y = two_humps(60)
    model = MixedNaiveBayes("kde").fit(X, y)
    T = np.linspace(-6.0, 6.0, 40)[:, None] * np.ones(2)
    expected = np.zeros((40, 2))
    for k in (0, 1):
        for j in (0, 1):
            x = X[y == k, j]
            spread = x.std() / x.std(ddof=1)  # scipy's factor multiplies the unbiased standard deviation
            expected[:, k] += gaussian_kde(x, 1.06 * x.size**-0.2 * spread).logpdf(T[:, j])
    joint = model.predict_joint_log_proba(T) - np.log(0.5)
    assert joint == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["histogram", "kde"])
def test_densities_without_parameters(kind):
    X, y = two_humps()
    model = MixedNaiveBayes(kind).fit(X, y)
    T, z = two_humps(seed=1)
    assert model.score(T, z) > 0.9 and MixedNaiveBayes("gaussian").fit(X, y).score(T, z) < model.score(T, z)
    grid = np.linspace(-12.0, 12.0, 24001)
    density = np.exp(model._parts[0][1].log_terms(np.column_stack([grid, grid])))  # (points, classes, features)
    inside = (grid >= X[:, 0].min()) & (grid <= X[:, 0].max()) if kind == "histogram" else grid > -13.0
    assert density[inside, :, 0].sum(axis=0) * (grid[1] - grid[0]) == pytest.approx(1.0, abs=0.01)
    missing = model.predict_joint_log_proba([[np.nan, np.nan]])
    assert missing == pytest.approx(np.log([[0.5, 0.5]]))
    with pytest.raises(ValueError, match="'histogram' and 'kde' when X_unlabelled is given"):
        MixedNaiveBayes(kind).fit(X, y, X_unlabelled=T)


def test_a_histogram_by_its_definition():
    x = np.array([0.0, 0.1, 0.2, 1.0, 1.9, 2.0])
    model = MixedNaiveBayes("histogram", alpha=0.5).fit(x[:, None], [0, 0, 0, 1, 1, 1])
    wanted = 3.49 * x.std() * 6 ** (-1 / 3)
    bins = int(np.ceil(2.0 / wanted))
    counts = np.array([np.histogram(x[:3], bins, (0.0, 2.0))[0], np.histogram(x[3:], bins, (0.0, 2.0))[0]])
    expected = np.log((counts + 0.5) / (3 + 0.5 * bins) / (2.0 / bins)) + np.log(0.5)
    centres = (np.arange(bins) + 0.5) * 2.0 / bins
    assert model.predict_joint_log_proba(centres[:, None]) == pytest.approx(expected.T)
    assert model.predict_joint_log_proba([[2.0]]) == pytest.approx(expected.T[-1:])  # the end is in the last bin
    empty = np.log(0.5 / (3 + 0.5 * bins) / (2.0 / bins)) + np.log(0.5)
    assert model.predict_joint_log_proba([[5.0], [-5.0]]) == pytest.approx(np.full((2, 2), empty))


@pytest.mark.parametrize("kind", ["histogram", "kde"])
def test_densities_of_a_constant_feature_are_finite(kind):
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    model = MixedNaiveBayes(kind).fit(X, [0, 0, 0, 1, 1, 1])
    assert np.isfinite(model.predict_joint_log_proba(X)).all() and model.score(X, [0, 0, 0, 1, 1, 1]) == 1.0


def test_a_feature_that_is_constant_in_a_class_is_no_certainty():
    X, y = load_digits(return_X_y=True)
    train = np.arange(len(X)) % 2 == 0
    ours, peer = MixedNaiveBayes().fit(X[train], y[train]), GaussianNB().fit(X[train], y[train])
    assert ours.score(X[~train], y[~train]) >= peer.score(X[~train], y[~train])
    loss = -ours.predict_log_proba(X[~train])[np.arange((~train).sum()), y[~train]].mean()
    assert loss < 1000.0
    units = 10.0 ** (np.arange(64) % 9 - 4)
    again = MixedNaiveBayes().fit(X[train] * units, y[train]).predict_log_proba(X[~train] * units)
    np.testing.assert_allclose(again, ours.predict_log_proba(X[~train]), rtol=1e-9, atol=1e-9)
    z, labels = np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 5.0], [3.0, 5.0], [5.0, 5.0]]), np.array([0, 0, 1, 1, 1])
    expected = [[8.0 / 5.0 / 3.0, 1.0], [8.0 / 3.0, 2.0 / 5.0 / 4.0]]
    np.testing.assert_allclose(MixedNaiveBayes(var_smoothing=0.0).fit(z, labels).var_, expected)
    apart = MixedNaiveBayes(var_smoothing=0.0).fit(labels[:, None], labels).var_
    np.testing.assert_allclose(apart.ravel(), labels.var() / np.array([3.0, 4.0]))
