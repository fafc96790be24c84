"""Normal discriminants: the relations between them, missing entries and labels, MAP, new classes, hard cases."""

import csv
import itertools

import numpy as np
import pytest
from scipy.special import logsumexp, multigammaln
from scipy.stats import invwishart, multivariate_normal, multivariate_t, norm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from models import (
    JointGaussianRegressor,
    LinearDiscriminant,
    LogisticRegression,
    Prototypes,
    QuadraticDiscriminant,
)
from models.generative.normal import groups_of, log_densities, raise_eigenvalues
from tests.support.data import data_folder

DISCRIMINANTS = [
    LinearDiscriminant(),
    LinearDiscriminant("diagonal"),
    LinearDiscriminant("identity"),
    LinearDiscriminant("spherical"),
    QuadraticDiscriminant(),
    QuadraticDiscriminant("diagonal"),
    QuadraticDiscriminant("spherical"),
    Prototypes(),
]


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


def test_lda_is_qda_with_equal_covariances():
    X, y = three_classes()
    deviations = np.random.default_rng(3).normal(size=(20, 3))
    for label, shift in zip("abc", ([0, 0, 0], [1, 0, 2], [0, 3, 1])):
        X[y == label] = deviations + shift
    linear, quadratic = LinearDiscriminant().fit(X, y), QuadraticDiscriminant().fit(X, y)
    assert np.allclose(linear.predict_log_proba(X), quadratic.predict_log_proba(X), rtol=0, atol=1e-10)


def test_lda_with_identity_and_equal_priors_is_the_prototype_rule():
    X, y = three_classes(samples=50)
    prototypes, linear = Prototypes().fit(X, y), LinearDiscriminant("identity", priors="uniform").fit(X, y)
    assert np.array_equal(prototypes.predict_proba(X), linear.predict_proba(X))
    distances = ((X[:, None] - prototypes.means_) ** 2).sum(axis=2)
    assert np.array_equal(prototypes.predict(X), prototypes.classes_[distances.argmin(axis=1)])


def test_two_classes_have_the_log_odds_as_decision_function():
    X, y = three_classes()
    X, y = X[y != "c"], y[y != "c"]
    model = QuadraticDiscriminant().fit(X, y)
    P = model.predict_proba(X)
    assert np.allclose(model.decision_function(X), np.log(P[:, 1] / P[:, 0]), rtol=1e-8)


@pytest.mark.parametrize("model", DISCRIMINANTS, ids=repr)
def test_what_is_missing_is_integrated_out(model):
    X, y = three_classes(features=3)
    model.fit(X, y)
    sample = np.array([np.nan, 4.0, np.nan])

    def density(k):
        covariance = model.covariances_[k] if hasattr(model, "covariances_") else model.covariance_
        normal = multivariate_normal(model.means_[k], covariance)
        # the trapezoid rule of a normal density is exact to rounding when its steps are finer than a deviation
        deviation = np.sqrt(np.diagonal(covariance))[[0, 2]]
        grid = [m + d * np.linspace(-12, 12, 481) for m, d in zip(model.means_[k, [0, 2]], deviation)]
        points = np.stack([*np.meshgrid(*grid, indexing="ij"), np.full((481, 481), 4.0)], axis=-1)[..., [0, 2, 1]]
        return normal.pdf(points).sum() * (0.05**2 * deviation.prod())

    joint = np.log(model.priors_ * [density(k) for k in range(3)])
    assert np.allclose(model.predict_joint_log_proba([sample])[0], joint, rtol=0, atol=1e-10)


def test_a_sample_of_which_nothing_is_known_gets_the_priors():
    X, y = three_classes()
    model = QuadraticDiscriminant(priors=[0.5, 0.3, 0.2]).fit(X, y)
    assert np.allclose(model.predict_proba([[np.nan] * 3])[0], [0.5, 0.3, 0.2], rtol=0, atol=1e-12)


PRIORS = [
    {},
    {"mean_prior": (np.zeros(3), 2.0), "dirichlet": 3.0},
    {"covariance_prior": (5.0, 1.0)},
    {"mean_prior": (1.0, 0.5), "covariance_prior": (8.0, 2.0)},
]


@pytest.mark.parametrize(("covariance", "prior"), list(itertools.product(["full", "diagonal", "spherical"], PRIORS)))
@pytest.mark.parametrize("discriminant", [LinearDiscriminant, QuadraticDiscriminant])
def test_em_never_lowers_the_likelihood(discriminant, covariance, prior):
    X, y = three_classes(samples=45)
    others = with_gaps(three_classes(seed=5)[0], 0.2)
    model = discriminant(covariance, tol=1e-12, **prior).fit(with_gaps(X), y, X_unlabelled=others)
    steps = np.diff(model.log_likelihoods_)
    assert model.n_iter_ == steps.size > 5
    assert (steps >= -1e-11 * np.abs(model.log_likelihoods_[1:])).all()


def observed_log_likelihood(model, covariances, X, y, others):
    """Of the observed entries, sample by sample, from scipy's densities."""
    total = 0.0
    for x, k in [*zip(X, np.searchsorted(model.classes_, y)), *((x, None) for x in others)]:
        seen = ~np.isnan(x)
        joint = [
            np.log(model.priors_[c])
            + (multivariate_normal(m[seen], S[np.ix_(seen, seen)]).logpdf(x[seen]) if seen.any() else 0.0)
            for c, (m, S) in enumerate(zip(model.means_, covariances))
        ]
        total += logsumexp(joint) if k is None else joint[k]
    return total


@pytest.mark.full
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("discriminant", [LinearDiscriminant, QuadraticDiscriminant])
def test_the_likelihood_of_em_is_that_of_the_observed_entries_and_stationary(discriminant, covariance):
    X, y = three_classes(samples=90)
    X, others = with_gaps(X), with_gaps(three_classes(seed=5, samples=30)[0], 0.2)
    model = discriminant(covariance, tol=1e-14, max_iter=2000).fit(X, y, X_unlabelled=others)
    shared = hasattr(model, "covariance_")
    covariances = [model.covariance_] * 3 if shared else model.covariances_
    best = observed_log_likelihood(model, covariances, X, y, others)
    assert np.isclose(best, model.log_likelihoods_[-1], rtol=1e-10)
    rng = np.random.default_rng(7)
    means = model.means_
    for _ in range(4):  # no neighbour is better
        model.means_ = means + 1e-3 * rng.normal(size=means.shape)
        assert observed_log_likelihood(model, covariances, X, y, others) < best
        model.means_ = means
        factor = np.exp(1e-2 * rng.normal(size=3))
        moved = [S * np.outer(factor, factor) for S in covariances]
        assert observed_log_likelihood(model, moved, X, y, others) < best


def test_without_gaps_em_and_the_closed_form_agree():
    X, y = three_classes()
    closed = QuadraticDiscriminant().fit(X, y)
    empty = np.full((4, 3), np.nan)  # samples that say nothing: the steps of EM run, the answer stays
    by_em = QuadraticDiscriminant(tol=0.0, max_iter=3000).fit(X, y, X_unlabelled=empty)
    assert np.allclose(by_em.means_, closed.means_, rtol=1e-8)
    assert np.allclose(by_em.covariances_, closed.covariances_, rtol=1e-6)
    assert by_em.n_iter_ > 1 and closed.n_iter_ == 1


def test_unlabelled_samples_help():
    rng = np.random.default_rng(4)
    y = np.arange(600) % 2
    X = rng.normal(size=(600, 2)) + 2.5 * y[:, None]
    few = LinearDiscriminant().fit(X[:6], y[:6])
    helped = LinearDiscriminant().fit(X[:6], y[:6], X_unlabelled=X[6:400])
    assert helped.score(X[400:], y[400:]) > few.score(X[400:], y[400:])
    assert np.abs(helped.means_ - [[0, 0], [2.5, 2.5]]).max() < 0.25


def test_map_is_the_mode_of_the_posterior():
    X, y = three_classes(samples=30)
    m, strength, degrees, Psi = np.array([4.0, 5.0, 6.0]), 3.0, 7.0, np.diag([1.0, 2.0, 3.0]) + 0.2
    model = QuadraticDiscriminant(mean_prior=(m, strength), covariance_prior=(degrees, Psi), dirichlet=2.0).fit(X, y)
    of_a = X[y == "a"]

    def posterior(mean, covariance):
        return (
            multivariate_normal(mean, covariance).logpdf(of_a).sum()
            + multivariate_normal(m, covariance / strength).logpdf(mean)
            + invwishart(degrees, Psi).logpdf(covariance)
        )

    mean, covariance = model.means_[0], model.covariances_[0]
    best, rng = posterior(mean, covariance), np.random.default_rng(0)
    for _ in range(20):
        assert posterior(mean + 1e-3 * rng.normal(size=3), covariance) < best
        change = np.eye(3) + 1e-3 * rng.normal(size=(3, 3))
        assert posterior(mean, change @ covariance @ change.T) < best
    assert np.allclose(model.priors_, 1 / 3)


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
        """log p(X | y) but for what all samples share; scatters and counts are sums, the integrals are closed."""
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


@pytest.mark.parametrize("discriminant", [LinearDiscriminant, QuadraticDiscriminant])
def test_the_predictive_density_becomes_the_plug_in(discriminant):
    X, y = three_classes()
    apart = []
    for times in (1e4, 1e6):
        plug_in, bayes = (
            discriminant(predictive=kind).fit(X, y, sample_weight=np.full(60, times)) for kind in ("plug-in", "bayes")
        )
        apart.append(np.abs(plug_in.predict_joint_log_proba(X) - bayes.predict_joint_log_proba(X)).max())
    assert apart[1] < 2e-2 * apart[0]  # as one over the number of samples
    assert np.array_equal(plug_in.means_, bayes.means_)


@pytest.mark.parametrize("model", [LinearDiscriminant, QuadraticDiscriminant])
def test_a_new_class_in_the_predictive_density(model):
    X, y = three_classes()
    together = model(predictive="bayes").fit(X, y)
    grown = model(predictive="bayes").fit(X[y != "c"], y[y != "c"]).add_class(X[y == "c"], "c")
    assert np.allclose(grown.predict_log_proba(X), together.predict_log_proba(X), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="entries or labels are missing"):
        grown.add_class(with_gaps(X), "d")


def test_the_dirichlet_prior_smooths_the_class_priors():
    X, y = three_classes(samples=10)
    assert np.allclose(LinearDiscriminant(dirichlet=[1, 2, 3]).fit(X, y).priors_, np.array([3, 5, 5]) / 13)
    assert np.allclose(LinearDiscriminant().fit(X, y).priors_, np.array([3, 4, 3]) / 10)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_divisors(divisor):
    X, y = three_classes()
    within = [np.cov(X[y == k].T, bias=True) * 20 for k in "abc"]
    less = 0 if divisor == "mle" else 1
    linear = LinearDiscriminant(divisor=divisor).fit(X, y)
    assert np.allclose(linear.covariance_, sum(within) / (60 - 3 * less), rtol=1e-12)
    quadratic = QuadraticDiscriminant(divisor=divisor).fit(X, y)
    assert np.allclose(quadratic.covariances_, np.array(within) / (20 - less), rtol=1e-12)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
def test_spherical_is_the_mean_variance(divisor):
    X, y = three_classes()
    full, sphere = (QuadraticDiscriminant(c, divisor=divisor).fit(X, y) for c in ("full", "spherical"))
    expected = [np.trace(S) / 3 * np.eye(3) for S in full.covariances_]
    assert np.allclose(sphere.covariances_, expected, rtol=1e-12, atol=0)
    full, sphere = (LinearDiscriminant(c, divisor=divisor).fit(X, y) for c in ("full", "spherical"))
    assert np.allclose(sphere.covariance_, np.trace(full.covariance_) / 3 * np.eye(3), rtol=1e-12, atol=0)


def test_spherical_with_equal_priors_is_the_prototype_rule():
    X, y = three_classes(samples=50)
    sphere, prototypes = LinearDiscriminant("spherical", priors="uniform").fit(X, y), Prototypes().fit(X, y)
    assert np.array_equal(sphere.predict(X), prototypes.predict(X))
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]  # a sphere has no axes
    again = LinearDiscriminant("spherical", priors="uniform").fit(X @ turned, y)
    assert np.allclose(again.predict_log_proba(X @ turned), sphere.predict_log_proba(X), rtol=0, atol=1e-9)


def test_spherical_map_is_the_mode_of_the_posterior():
    X, y = three_classes()
    Psi = np.array([1.0, 2.0, 6.0])
    model = QuadraticDiscriminant("spherical", covariance_prior=(4.0, Psi)).fit(X, y)
    of_a = X[y == "a"]
    # prior of diagonal covariances, prod_j s_j^-(degrees / 2 + 1) exp(-Psi_j / (2 s_j)), at s_j = s
    expected = (20 * of_a.var(axis=0).sum() + Psi.sum()) / (3 * (20 + 4.0 + 2.0))
    assert np.allclose(model.covariances_[0], expected * np.eye(3), rtol=1e-12, atol=0)


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
    for at in (X, 1e3 * X, -1e3 * X, X + 1e-3):
        P = model.predict_proba(at)
        assert np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1.0)
        assert not np.isnan(model.predict_log_proba(at)).any()
        assert not np.isnan(model.decision_function(at)).any()


def test_shrinkage_is_found_only_where_it_is_needed():
    X, y = three_classes()
    assert LinearDiscriminant().fit(X, y).shrinkage_.tolist() == [0.0]
    assert LinearDiscriminant().fit(np.c_[X, X[:, 0]], y).shrinkage_[0] > 0.0
    shares = QuadraticDiscriminant().fit(X[:21], np.array([0] * 18 + [1] * 3)).shrinkage_
    assert shares[0] == 0.0 and shares[1] > 0.0
    wide = np.random.default_rng(2).normal(size=(40, 80)) + np.r_[np.zeros(20), np.ones(20)][:, None] * 0.5
    test = np.random.default_rng(3).normal(size=(400, 80)) + np.r_[np.zeros(200), np.ones(200)][:, None] * 0.5
    assert LinearDiscriminant().fit(wide, np.repeat([0, 1], 20)).score(test, np.repeat([0, 1], 200)) > 0.9


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


def test_densities_against_scipy():
    X = with_gaps(three_classes(features=4)[0], 0.4)
    rng = np.random.default_rng(0)
    means, root = rng.normal(size=(2, 4)) + 5, rng.normal(size=(2, 4, 4))
    covariances = root @ root.transpose(0, 2, 1)
    found = log_densities(X, means, covariances, groups_of(X))
    for row, x in zip(found, X):
        seen = ~np.isnan(x)
        for k in range(2):
            covariance = covariances[k][np.ix_(seen, seen)]
            expected = multivariate_normal(means[k][seen], covariance).logpdf(x[seen]) if seen.any() else 0.0
            assert np.isclose(row[k], expected, rtol=1e-9, atol=1e-12)


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


def test_regression_takes_samples_without_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=60)
    model = JointGaussianRegressor().fit(X[:30], y[:30], X_unlabelled=X[30:])
    plain = JointGaussianRegressor().fit(X[:30], y[:30])
    assert np.allclose(model.coef_, plain.coef_, rtol=1e-4)  # y given x: unlabelled samples say nothing of it
    assert np.allclose(model.mean_[:2], X.mean(axis=0), rtol=1e-6)  # but they do of x


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: LinearDiscriminant("round").fit(X, y),
         "covariance must be one of 'full', 'diagonal', 'identity'"),
        (lambda X, y: LinearDiscriminant(predictive="t").fit(X, y), "predictive must be one of 'plug-in', 'bayes'"),
        (lambda X, y: LinearDiscriminant("identity", predictive="bayes").fit(X, y), "when covariance is 'identity'"),
        (lambda X, y: LinearDiscriminant(predictive="bayes").fit(with_gaps(X), y), "entries or labels are missing"),
        (lambda X, y: LinearDiscriminant(predictive="bayes").fit(X, y, X_unlabelled=X), "or labels are missing"),
        (lambda X, y: QuadraticDiscriminant(predictive="bayes").fit(X[:9], y[:9]), "no posterior density"),
        (lambda X, y: LinearDiscriminant(predictive="bayes").fit(np.c_[X, X[:, 0]], y), "no posterior density"),
        (lambda X, y: LinearDiscriminant(predictive="bayes").fit(X, y).log_odds_terms(), "not quadratic in x"),
        (lambda X, y: LinearDiscriminant(divisor="n").fit(X, y), "divisor must be one of"),
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
        (lambda X, y: LinearDiscriminant(covariance_prior=(5, -np.eye(3))).fit(X, y),
         "symmetric and positive definite"),
        (lambda X, y: LinearDiscriminant("diagonal", covariance_prior=(5, np.eye(3))).fit(X, y), "number or a vector"),
        (lambda X, y: LinearDiscriminant("identity", covariance_prior=(5, 1)).fit(X, y),
         "covariance_prior must be None"),
        (lambda X, y: LinearDiscriminant(max_iter=0).fit(X, y), "max_iter must be a whole number"),
        (lambda X, y: LinearDiscriminant().fit(X, y, X_unlabelled=X[:, :2]),
         "X_unlabelled has 2 features, but X has 3"),
        (lambda X, y: JointGaussianRegressor().fit(X, X[:, 0], X_unlabelled=X[:, :2]), "X_unlabelled has 2 features"),
        (lambda X, y: LinearDiscriminant().fit(X, y).add_class(X, "d", prior=0.1), "prior must be None"),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize("model", [LinearDiscriminant("diagonal"), LinearDiscriminant("identity")])
def test_lda_with_a_diagonal_covariance_is_a_naive_bayes(model):
    X, y = np.random.default_rng(1).normal(size=(60, 3)) + np.arange(60)[:, None] % 2, np.arange(60) % 2
    log_joint = model.fit(X, y).predict_joint_log_proba(X)
    variances = np.diag(model.covariance_)
    by_feature = [norm(model.means_[k], np.sqrt(variances)).logpdf(X).sum(axis=1) + np.log(0.5) for k in (0, 1)]
    assert log_joint == pytest.approx(np.array(by_feature).T)  # a product over the features, as naive Bayes has it
