"""Normal discriminants: the relations between them, missing entries and labels, MAP, new classes, hard cases."""

import csv

import numpy as np
import pytest
from scipy.special import logsumexp, multigammaln
from scipy.stats import multivariate_t
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from models import JointGaussianRegressor, LinearDiscriminant, LogisticRegression, Prototypes, QuadraticDiscriminant
from models.generative.normal import raise_eigenvalues
from tests.support.data import data_folder

DISCRIMINANTS = [
    LinearDiscriminant(), LinearDiscriminant("diagonal"), LinearDiscriminant("identity"),
    LinearDiscriminant("spherical"), QuadraticDiscriminant(shrinkage=None), QuadraticDiscriminant("diagonal"),
    QuadraticDiscriminant("spherical"), Prototypes(),
]  # fmt: skip


def three_classes(seed=0, samples=60, features=3):
    rng = np.random.default_rng(seed)
    y = np.array(["b", "a", "c"])[np.arange(samples) % 3]
    mixing = rng.normal(size=(features, features))
    X = rng.normal(size=(samples, features)) @ mixing + (np.arange(samples) % 3)[:, None] * 1.5 + 5.0
    return X, y


def with_gaps(X, share=0.3, seed=1):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    return np.where(gaps, np.nan, X)


def test_the_lectures_table():
    with open(data_folder("uci") / "Default.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    X = np.array([[float(row["balance"]), row["student"] == "Yes"] for row in rows])
    y = np.array([row["default"] for row in rows])
    model = LinearDiscriminant().fit(X, y)
    predicted = model.predict(X)
    table = [[int(((predicted == p) & (y == t)).sum()) for t in ("No", "Yes")] for p in ("No", "Yes")]
    assert table == [[9644, 252], [23, 81]]
    assert np.array_equal(predicted == "Yes", model.predict_proba(X)[:, 1] >= 0.5)


def test_the_log_odds_of_lda_are_linear():
    X, y = three_classes()
    model = LinearDiscriminant().fit(X, y)
    linear = X @ model.coef_.T + model.intercept_
    log_posteriors = linear - logsumexp(linear, axis=1, keepdims=True)
    assert np.allclose(model.predict_log_proba(X), log_posteriors, rtol=0, atol=1e-10)


def test_lda_with_identity_and_equal_priors_is_the_prototype_rule():
    X, y = three_classes(samples=50)
    prototypes, linear = Prototypes().fit(X, y), LinearDiscriminant("identity", priors="uniform").fit(X, y)
    assert np.array_equal(prototypes.predict_proba(X), linear.predict_proba(X))
    distances = ((X[:, None] - prototypes.means_) ** 2).sum(axis=2)
    assert np.array_equal(prototypes.predict(X), prototypes.classes_[distances.argmin(axis=1)])


PRIORS = [
    {},
    {"mean_prior": (np.zeros(3), 2.0), "dirichlet": 3.0},
    {"covariance_prior": (5.0, 1.0)},
    {"mean_prior": (1.0, 0.5), "covariance_prior": (8.0, 2.0)},
]


def test_the_predictive_density_is_a_t():
    X, y = three_classes(samples=30)
    m, strength, degrees, Psi = np.array([4.0, 5.0, 6.0]), 3.0, 7.0, np.diag([1.0, 2.0, 3.0]) + 0.2
    prior = {"mean_prior": (m, strength), "covariance_prior": (degrees, Psi)}
    model = QuadraticDiscriminant(predictive="bayes", **prior).fit(X, y)
    x = np.array([[1.0, 7.0, 3.0], [1.0, np.nan, 3.0], [np.nan] * 3])
    found = model.predict_joint_log_proba(x) - np.log(model.priors_)
    for k, label in enumerate("abc"):
        of_class = X[y == label]
        centre, count = of_class.mean(axis=0), len(of_class)
        shift, kappa = centre - m, strength + count
        S = Psi + (of_class - centre).T @ (of_class - centre) + strength * count / kappa * np.outer(shift, shift)
        mean, df = (strength * m + count * centre) / kappa, degrees + count - 3 + 1
        scale = S * (kappa + 1) / (kappa * df)
        assert np.isclose(found[0, k], multivariate_t(mean, scale, df).logpdf(x[0]), rtol=1e-10)
        part = multivariate_t(mean[[0, 2]], scale[np.ix_([0, 2], [0, 2])], df).logpdf([1.0, 3.0])
        assert np.isclose(found[1, k], part, rtol=1e-10) and found[2, k] == 0.0


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("discriminant", [LinearDiscriminant, QuadraticDiscriminant])
@pytest.mark.parametrize("prior", [{}, *PRIORS[2:]])
def test_the_predictive_density_is_a_ratio_of_evidences(discriminant, covariance, prior):
    X, y = three_classes(samples=30)
    x = np.array([4.0, 7.0, 3.0])

    def log_evidence(X, y):
        """Return log p(X | y) up to a constant, from the closed integrals over means and covariances."""
        classes = discriminant(covariance, **prior).fit(X, y)._model
        counts = classes.counts.sum(keepdims=True) if classes.shared else classes.counts
        flat = (3 if classes.shared else 1) * ("mean_prior" not in prior)
        nu = prior.get("covariance_prior", (0.0, 0.0))[0] + counts - flat
        S = classes.scatters + classes.prior.scale
        total = -0.5 * 3 * (np.log(classes.prior.strength + classes.counts).sum() + len(X) * np.log(np.pi))
        if covariance == "full":
            return total + (multigammaln(nu / 2, 3) - 0.5 * nu * np.linalg.slogdet(S)[1]).sum()
        return total + (3 * multigammaln(nu / 2, 1) - 0.5 * nu * np.log(S).sum(axis=1)).sum()

    model = discriminant(covariance, predictive="bayes", **prior).fit(X, y)
    found = model.predict_joint_log_proba([x])[0] - np.log(model.priors_)
    expected = [log_evidence(np.vstack([X, x]), np.r_[y, [label]]) - log_evidence(X, y) for label in "abc"]
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", [LinearDiscriminant, QuadraticDiscriminant])
def test_a_new_class_in_the_predictive_density(model):
    X, y = three_classes()
    together = model(predictive="bayes").fit(X, y)
    grown = model(predictive="bayes").fit(X[y != "c"], y[y != "c"]).add_class(X[y == "c"], "c")
    assert np.allclose(grown.predict_log_proba(X), together.predict_log_proba(X), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="entries or labels are missing"):
        grown.add_class(with_gaps(X), "d")
    if model is QuadraticDiscriminant:  # two samples are too few for a covariance of their class
        with pytest.raises(ValueError, match="no posterior density"):
            grown.add_class(X[:2], "d")
        assert np.allclose(grown.predict_log_proba(X), together.predict_log_proba(X), rtol=0, atol=1e-9)
    else:
        assert grown.add_class(X[:2], "d").classes_.tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("label", ["aa", "d", "0"])
@pytest.mark.parametrize("model", DISCRIMINANTS, ids=repr)
def test_a_new_class_is_taken_in_without_the_old_samples(model, label):
    X, y = three_classes()
    rng = np.random.default_rng(9)
    new = rng.normal(size=(15, 3)) - 2.0
    model.fit(X, y)
    old = dict(zip(model.classes_, model.means_))
    assert model.add_class(new, label) is model
    together = type(model)(**model.get_params()).fit(np.vstack([X, new]), [*y, *[label] * 15])
    assert model.classes_.tolist() == together.classes_.tolist()
    assert all(np.array_equal(model.means_[model.classes_.tolist().index(k)], m) for k, m in old.items())
    assert np.allclose(model.predict_log_proba(X), together.predict_log_proba(X), rtol=0, atol=1e-9)


def test_a_new_class_when_priors_were_given():
    X, y = three_classes()
    model = QuadraticDiscriminant(priors=[0.5, 0.25, 0.25]).fit(X, y)
    with pytest.raises(ValueError, match="prior must be a number"):
        model.add_class(X[:9], "d")
    model.add_class(with_gaps(X[:9], 0.1), "d", prior=0.2)
    assert np.allclose(model.priors_, [0.4, 0.2, 0.2, 0.2])
    with pytest.raises(ValueError, match="label must be one that classes_ does not have yet, but 'd' came"):
        model.add_class(X[:9], "d", prior=0.2)
    with pytest.raises(ValueError, match="label must be of the kind"):
        model.add_class(X[:9], 7, prior=0.2)


HARD = {
    "few samples": lambda X: X[:6],
    "one sample a class": lambda X: X[:3],
    "two samples a class": lambda X: np.hstack([X[:6], X[:6] ** 2]),
    "a feature twice": lambda X: np.c_[X, X[:, 0]],
    "a constant feature": lambda X: np.c_[X, np.full(len(X), 0.1)],
    "all constant": lambda X: np.full_like(X, 3.0),
    "a class of equal samples": lambda X: np.where((np.arange(len(X)) % 3 == 0)[:, None], 1.0, X),
    "tiny units": lambda X: X * 1e-120,
    "huge units": lambda X: X * 1e120,
    "mixed units": lambda X: X * [1e-9, 1.0, 1e9],
    "never observed": lambda X: np.c_[X, np.full(len(X), np.nan)],
    "gaps": lambda X: with_gaps(X[:12], 0.5),
    "empty samples": lambda X: np.where((np.arange(len(X)) % 4 == 0)[:, None], np.nan, X),
}


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("model", DISCRIMINANTS, ids=repr)
def test_posteriors_are_never_nan(model, case):
    X, y = three_classes()
    X = HARD[case](X)
    model = type(model)(**{**model.get_params(), "max_iter": 50})
    model.fit(X, y[: len(X)])
    assert case != "all constant" or not np.any(getattr(model, "shrinkage_", 0.0))
    for at in (X, 1e3 * X, -1e3 * X, X + 1e-3):
        P = model.predict_proba(at)
        assert np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1.0)
        assert not np.isnan(model.predict_log_proba(at)).any()
        assert not np.isnan(model.decision_function(at)).any()


def test_raised_eigenvalues_maximize_the_likelihood_under_their_bound():
    rng = np.random.default_rng(0)
    S = np.diag([2.0, 1e-14, 1.0])
    S[0, 2] = S[2, 0] = 0.5
    scale = np.array([2.0, 0.5, 1.0])
    best = raise_eigenvalues(S, scale)

    def likelihood(Sigma):
        return -np.linalg.slogdet(Sigma)[1] - np.trace(np.linalg.solve(Sigma, S))

    for _ in range(30):
        change = np.eye(3) + 1e-3 * rng.normal(size=(3, 3))
        other = raise_eigenvalues(change @ best @ change.T, scale)
        assert likelihood(other) <= likelihood(best) + 1e-9


def test_regression_is_least_squares():
    X, _ = three_classes()
    rng = np.random.default_rng(0)
    y, weights = X @ [1.0, -2.0, 0.5] + rng.normal(size=60), rng.random(60)
    model = JointGaussianRegressor().fit(X, y, sample_weight=weights)
    root = np.sqrt(weights)
    expected = np.linalg.lstsq(root[:, None] * np.c_[X, np.ones(60)], root * y, rcond=None)[0]
    assert np.allclose(np.r_[model.coef_, model.intercept_], expected, rtol=1e-8)
    mean, deviation = model.predict(X, return_std=True)
    assert np.allclose(deviation**2, weights @ (y - mean) ** 2 / weights.sum(), rtol=1e-8)


def test_regression_with_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=400)
    gaps = with_gaps(X, 0.2)
    model = JointGaussianRegressor().fit(gaps, y)
    filled = JointGaussianRegressor().fit(np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps), y)
    assert np.abs(model.coef_ - [1.0, -2.0, 0.5]).max() < 0.1 < np.abs(filled.coef_ - [1.0, -2.0, 0.5]).max()
    assert (np.diff(model.log_likelihoods_) >= -1e-9).all()
    seen = [0, 2]
    Sigma, mu = model.covariance_, model.mean_
    slope = np.linalg.solve(Sigma[np.ix_(seen, seen)], Sigma[seen, 3])
    mean, deviation = model.predict([[0.3, np.nan, -1.0]], return_std=True)
    assert np.isclose(mean[0], mu[3] + slope @ ([0.3, -1.0] - mu[seen]))
    assert np.isclose(deviation[0], np.sqrt(Sigma[3, 3] - slope @ Sigma[seen, 3]))


@pytest.mark.parametrize(("call", "words"), [
    (lambda X, y: LinearDiscriminant("identity", predictive="bayes").fit(X, y), "when covariance is 'identity'"),
    (lambda X, y: LinearDiscriminant(predictive="bayes").fit(with_gaps(X), y), "entries or labels are missing"),
    (lambda X, y: LinearDiscriminant(predictive="bayes").fit(X, y, X_unlabelled=X), "or labels are missing"),
    (lambda X, y: QuadraticDiscriminant(predictive="bayes").fit(X[:9], y[:9]), "no posterior density"),
    (lambda X, y: LinearDiscriminant(predictive="bayes").fit(np.c_[X, X[:, 0]], y), "no posterior density"),
    (lambda X, y: LinearDiscriminant(predictive="bayes").fit(X, y).log_odds_terms(), "not quadratic in x"),
    (lambda X, y: LinearDiscriminant(shrinkage=1.5).fit(X, y), "shrinkage must be a number"),
    (lambda X, y: LinearDiscriminant(shrinkage="oas").fit(X, y), "shrinkage must be 'auto'"),
    (lambda X, y: LinearDiscriminant(priors=[0.5, 0.5]).fit(X, y), "priors must be None, 'uniform' or 3"),
    (lambda X, y: LinearDiscriminant(priors=[0.5, 0.6, 0.1]).fit(X, y), "priors must be"),
    (lambda X, y: LinearDiscriminant(dirichlet=0.5).fit(X, y), "dirichlet must be"),
    (lambda X, y: LinearDiscriminant(mean_prior=3).fit(X, y),
     r"mean_prior must be None or a pair \(mean, strength\)"),
    (lambda X, y: LinearDiscriminant(mean_prior=(0, 0)).fit(X, y), "the strength in mean_prior"),
    (lambda X, y: LinearDiscriminant(mean_prior=([0, 0], 1)).fit(X, y), "the mean in mean_prior"),
    (lambda X, y: LinearDiscriminant(covariance_prior=(1, 1)).fit(X, y), "the degrees in covariance_prior"),
    (lambda X, y: LinearDiscriminant(covariance_prior=(5, -1)).fit(X, y), "the scale in covariance_prior"),
    (lambda X, y: LinearDiscriminant(covariance_prior=(5, np.diag([1.0, 2.0, -1.0]))).fit(X, y),
     "symmetric and positive definite"),
    (lambda X, y: LinearDiscriminant("diagonal", covariance_prior=(5, np.eye(3))).fit(X, y), "number or a vector"),
    (lambda X, y: LinearDiscriminant("identity", covariance_prior=(5, 1)).fit(X, y),
     "covariance_prior must be None"),
    (lambda X, y: LinearDiscriminant().fit(X, y, X_unlabelled=X[:, :2]),
     "X_unlabelled has 2 features, but X has 3"),
    (lambda X, y: JointGaussianRegressor().fit(X, X[:, 0], X_unlabelled=X[:, :2]), "X_unlabelled has 2 features"),
    (lambda X, y: LinearDiscriminant().fit(X, y).add_class(X, "d", prior=0.1), "prior must be None"),
])  # fmt: skip
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call(*three_classes())


def test_em_that_is_cut_short_warns():
    X, y = three_classes()
    with pytest.warns(UserWarning, match="did not converge in 2 steps; raise max_iter"):
        LinearDiscriminant(max_iter=2).fit(with_gaps(X), y)


@pytest.mark.parametrize("kind", [LinearDiscriminant, QuadraticDiscriminant])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "identity", "spherical"])
def test_the_log_odds_are_a_quadratic_in_x(kind, covariance):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 3)), np.arange(90) % 3
    X = X * (1.0 + y)[:, None] + y[:, None]
    model = kind(covariance).fit(X, y)
    a, b, C = model.log_odds_terms()
    odds = model.predict_log_proba(X) - model.predict_log_proba(X)[:, -1:]
    np.testing.assert_allclose(a + X @ b.T + np.einsum("ni,kij,nj->nk", X, C, X), odds, rtol=1e-9, atol=1e-9)
    assert C.any() == (kind is QuadraticDiscriminant and covariance != "identity")


def test_logistic_regression_on_squares_and_products_has_the_form_of_qda():
    rng, y = np.random.default_rng(0), np.arange(400) % 2
    X = rng.normal(size=(400, 2)) * np.where(y[:, None] == 0, [1.0, 0.6], [0.7, 1.4]) + 0.5 * y[:, None]
    make = make_pipeline(PolynomialFeatures(2, include_bias=False), LogisticRegression(C=np.inf))
    quadratic, qda = make.fit(X, y), QuadraticDiscriminant().fit(X, y)
    a, b, C = qda.log_odds_terms()  # of class 0 against the last
    features = quadratic[0].transform(X)
    w = -np.array([b[0, 0], b[0, 1], C[0, 0, 0], 2.0 * C[0, 0, 1], C[0, 1, 1]])
    odds = np.diff(qda.predict_log_proba(X), axis=1)[:, 0]
    assert features @ w - a[0] == pytest.approx(odds, abs=1e-9)  # the form holds QDA
    own = [model.predict_log_proba(X)[np.arange(400), y].sum() for model in (qda, quadratic)]
    assert own[1] > own[0] and own[1] < own[0] + 10.0


def test_regression_takes_samples_without_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=60)
    model = JointGaussianRegressor().fit(X[:30], y[:30], X_unlabelled=X[30:])
    plain = JointGaussianRegressor().fit(X[:30], y[:30])
    assert np.allclose(model.coef_, plain.coef_, rtol=1e-4)  # y given x does not depend on unlabelled samples
    assert np.allclose(model.mean_[:2], X.mean(axis=0), rtol=1e-6)  # but the distribution of x does


def test_regression_on_a_feature_twice_is_shrunk_by_the_share_of_ledoit_and_wolf_or_more():
    rng = np.random.default_rng(0)
    for samples in (8, 200):
        X = rng.normal(size=(samples, 3))
        y, signs = X @ [1.0, 2.0, 0.0] + rng.normal(size=samples), np.where(np.arange(samples) % 2, 1.0, -1.0)
        for twice in (np.c_[X, X[:, 0]], np.c_[signs, signs]):  # for the signs the share is zero
            share = ledoit_wolf_shrinkage((twice - twice.mean(axis=0)) / twice.std(axis=0), assume_centered=True)
            expected = max(share, 1.0 / (1.0 + samples))
            assert JointGaussianRegressor().fit(twice, y).shrinkage_ == pytest.approx(expected)
    assert JointGaussianRegressor().fit(X, y).shrinkage_ == 0.0
