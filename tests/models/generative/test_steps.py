"""Every step of EM compared with sums over samples, for each covariance form, prior and pattern of gaps."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import models
from models.generative.coupled import CoupledLikelihood

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")
PRIORS = {
    "no prior": {},
    "of means": {"mean_prior": ([0.0, 1.0, 2.0], 2.0), "dirichlet": [1.0, 2.5, 4.0]},
    "of covariances": {"covariance_prior": (2.5, [1.0, 2.0, 3.0])},
    "of both": {"mean_prior": (1.0, 0.5), "covariance_prior": (8.0, 2.0), "priors": [0.5, 0.2, 0.3]},
}


def samples(seed=0, labelled=24, others=9):
    """Return three classes with gaps, a feature that one class lacks, unlabelled samples (class -1), and weights."""
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(labelled) % 3, np.full(others, -1)]
    X = rng.normal(size=(codes.size, 3)) @ rng.normal(size=(3, 3)) * [1.0, 5.0, 0.3]
    X += np.r_[codes[:labelled], rng.integers(0, 3, others)][:, None] * [1.0, 6.0, -0.3] + 2.0
    X[rng.random(X.shape) < 0.25] = np.nan
    X[codes == 2, 1] = np.nan
    X[[3, -1]] = np.nan
    return X, codes, np.r_[rng.uniform(0.2, 3.0, labelled), np.ones(others)]


def completed(x, mean, covariance):
    """Return log N(x_o), E[x | x_o] and cov[x | x_o], where x_o are the observed entries of x."""
    seen = ~np.isnan(x)
    filled, rest = np.where(seen, x, mean), np.where(seen[:, None] | seen, 0.0, covariance)
    if not seen.any():
        return 0.0, filled, rest
    own, across = covariance[np.ix_(seen, seen)], covariance[np.ix_(~seen, seen)]
    filled[~seen] += across @ np.linalg.solve(own, x[seen] - mean[seen])
    rest[np.ix_(~seen, ~seen)] -= across @ np.linalg.solve(own, across.T)
    away = x[seen] - mean[seen]
    return -0.5 * (away @ np.linalg.solve(own, away) + np.linalg.slogdet(2.0 * np.pi * own)[1]), filled, rest


def as_form(matrix, form):
    """Return the full matrix, its diagonal, or the mean of its diagonal times the identity."""
    diagonal = np.diagonal(matrix)
    return {"full": matrix, "diagonal": np.diag(diagonal), "spherical": np.eye(len(matrix)) * diagonal.mean()}[form]


def em_of_normals(X, codes, weights, form, shared, steps, mean_prior=None, covariance_prior=None, **of_classes):
    """Return the objectives before and after each step, and the priors, means and covariances after the last step."""
    (m, kappa), (degrees, Psi) = mean_prior or (0.0, 0.0), covariance_prior or (0.0, 0.0)
    p, K, m = X.shape[1], 3, np.zeros(X.shape[1]) + m
    extra = (degrees + (p + 1.0 if form == "full" else 2.0)) if covariance_prior else 0.0
    Psi = as_form(np.diag(np.zeros(p) + Psi), form)
    alpha = np.zeros(K) + of_classes.get("dirichlet", 1.0)

    def mean_of(rows):
        columns = [(x[seen], weights[rows][seen]) for x in X[rows].T if [seen := ~np.isnan(x)]]
        return np.array([np.average(x, weights=w) if w.any() else np.nan for x, w in columns])

    overall = mean_of(slice(None))
    variances = [np.average(x[s], weights=weights[s]) for x in ((X - overall) ** 2).T if (s := ~np.isnan(x)).any()]
    means = np.array([np.where(np.isnan(a := mean_of(codes == k)), overall, a) for k in range(K)])
    sigmas = [as_form(np.diag(variances), form)] * K
    known = codes[:, None] == np.arange(K)
    counts, values = weights @ known, []
    for step in range(steps + 1):
        pi = of_classes.get("priors", (counts + alpha - 1.0) / (counts + alpha - 1.0).sum())
        found = [[completed(x, mean, S) for mean, S in zip(means, sigmas)] for x in X]
        joint = np.log(pi) + [[one[0] for one in row] for row in found]
        value = weights @ np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(X)), codes])
        value += (alpha - 1.0) @ np.log(pi) if "priors" not in of_classes else 0.0
        for k, (mean, S) in enumerate(zip(means, sigmas)):
            if k == 0 or not shared:
                value -= 0.5 * (extra * np.linalg.slogdet(S)[1] + np.trace(np.linalg.solve(S, Psi)))
            if kappa:
                value -= 0.5 * (np.linalg.slogdet(S)[1] + kappa * (mean - m) @ np.linalg.solve(S, mean - m))
        values.append(value)
        if step == steps:
            return np.array(values), pi, means, np.array(sigmas)
        r = weights[:, None] * np.where(codes[:, None] < 0, np.exp(joint - logsumexp(joint, axis=1)[:, None]), known)
        counts, scatters = r.sum(axis=0), np.zeros((K, p, p))
        for k in range(K):
            filled = np.array([row[k][1] for row in found])
            means[k] = (kappa * m + r[:, k] @ filled) / (kappa + counts[k])
            scatters[k] = kappa * np.outer(means[k] - m, means[k] - m)
            for i, row in enumerate(found):
                scatters[k] += r[i, k] * (np.outer(filled[i] - means[k], filled[i] - means[k]) + row[k][2])
        divisors = counts + (kappa > 0.0)
        if shared:
            scatters, divisors = np.array([scatters.sum(axis=0)] * K), np.full(K, divisors.sum())
        sigmas = [as_form((S + Psi) / (d + extra), form) for S, d in zip(scatters, divisors)]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("form", ["full", "diagonal", "spherical"])
@pytest.mark.parametrize("kind", [models.LinearDiscriminant, models.QuadraticDiscriminant])
def test_steps_of_normal_classes(kind, form, prior):
    X, codes, weights = samples()
    known, shared = codes >= 0, kind is models.LinearDiscriminant
    values, priors, means, sigmas = em_of_normals(X, codes, weights, form, shared, 3, **PRIORS[prior])
    model = kind(form, tol=0.0, max_iter=3, shrinkage=0.0, **PRIORS[prior])
    model.fit(X[known], codes[known], weights[known], X_unlabelled=X[~known])
    np.testing.assert_allclose(model.log_likelihoods_, values, rtol=1e-11)
    np.testing.assert_allclose(model.priors_, priors, rtol=1e-11)
    np.testing.assert_allclose(model.means_, means, rtol=1e-10)
    np.testing.assert_allclose(model.covariance_ if shared else model.covariances_, sigmas[0] if shared else sigmas,
                               rtol=1e-9, atol=1e-12)  # fmt: skip
    joint = [[np.log(pi) + completed(x, m, S)[0] for pi, m, S in zip(priors, means, sigmas)] for x in X]
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-9)
    X = np.where(np.isnan(X), np.random.default_rng(1).normal(size=X.shape), X)[known]
    codes, weights = codes[known], weights[known]
    model.set_params(divisor="unbiased").fit(X, codes, weights)
    _, _, means, sigmas = em_of_normals(X, codes, weights, form, shared, 1, **PRIORS[prior])
    if prior == "no prior":
        n = weights @ (codes[:, None] == np.arange(3))
        sigmas *= n.sum() / (n.sum() - 3.0) if shared else (n / (n - 1.0))[:, None, None]
    np.testing.assert_allclose(model.means_, means, rtol=1e-12)
    np.testing.assert_allclose(model.covariance_ if shared else model.covariances_, sigmas[0] if shared else sigmas,
                               rtol=1e-9, atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("kind", [models.LinearDiscriminant, models.QuadraticDiscriminant])
def test_shrinkage_is_that_of_ledoit_and_wolf_in_units_of_the_features(kind):
    rng, codes = np.random.default_rng(2), np.arange(30) % 3
    X = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)) * [1.0, 10.0, 0.1, 3.0] + codes[:, None]
    X *= 1.0 + 8.0 * (codes[:, None] == np.arange(4))
    shared, model = kind is models.LinearDiscriminant, kind(shrinkage="auto").fit(X, codes)
    residuals = X - model.means_[codes]
    scale = residuals.std(axis=0)
    residuals /= scale
    for c, chosen in enumerate([codes >= 0] if shared else [codes == k for k in range(3)]):
        R = residuals[chosen]
        expected, share = ledoit_wolf(R, assume_centered=True)
        assert 0.0 < share < 1.0
        assert model.shrinkage_[c] == pytest.approx(share, rel=1e-10)
        found = model.covariance_ if shared else model.covariances_[c]
        np.testing.assert_allclose(found, expected * np.outer(scale, scale), rtol=1e-10, atol=1e-12)
    model = kind(shrinkage=0.3).fit(X, codes)
    plain = kind(shrinkage=0.0).fit(X, codes)
    S = (plain.covariance_[None] if shared else plain.covariances_) / np.outer(scale, scale)
    target = np.array([np.eye(4) * np.trace(one) / 4 for one in S])
    found = model.covariance_[None] if shared else model.covariances_
    np.testing.assert_allclose(found, (0.7 * S + 0.3 * target) * np.outer(scale, scale), rtol=1e-10, atol=1e-12)
    round_cloud = np.r_[np.eye(3), -np.eye(3)]  # its distance from the target consists of rounding errors
    assert kind(shrinkage="auto").fit(np.r_[round_cloud, round_cloud + 1.0], np.repeat([0, 1], 6)).shrinkage_[0] == 1.0
    wide = np.c_[X, X[:, :1]]  # a singular covariance is shrunk automatically, with the target as one more sample
    shares, counts = kind().fit(wide, codes).shrinkage_, np.full(3, 10.0) if not shared else np.array([30.0])
    assert (shares >= 1.0 / (1.0 + counts)).all()


def test_a_diagonal_is_shrunk_where_a_feature_is_constant_in_its_class():
    """The share is Ledoit and Wolf's for the vectors of squares, in units of the variances within the classes."""
    rng, codes = np.random.default_rng(0), np.repeat([0, 1], 12)
    X = rng.normal(size=(24, 5)) * [1.0, 10.0, 0.1, 3.0, 0.5]
    X[:12, 1] = 7.0
    model = models.QuadraticDiscriminant("diagonal").fit(X, codes)
    R = X - model.means_[codes]
    R = (R / R.std(axis=0))[:12]
    v = (R**2).mean(axis=0)
    share = max(0.0, (R**4).sum() / 12 - v @ v) / 12 / (5 * np.var(v))
    assert model.shrinkage_[0] == pytest.approx(max(1.0 / 13.0, min(1.0, share))) and model.shrinkage_[1] == 0.0


@pytest.mark.parametrize("samples", [30, 60, 120])
def test_few_samples_per_feature_do_not_make_a_discriminant_of_chance(samples):
    """Covariances that are barely regular know less than shrunken ones (scikit-learn's test of its QDA)."""
    rng, (train, test) = np.random.default_rng(0), (samples, 500)
    low, high = rng.uniform(0.2, 1.0, size=50), rng.uniform(2.0, 3.0, size=50)
    X, Z = (np.vstack([rng.normal(size=(n, 50)) * np.sqrt(v) for v in (low, high)]) for n in (train, test))
    y, z = np.repeat([0, 1], train), np.repeat([0, 1], test)
    assert models.QuadraticDiscriminant().fit(X, y).score(Z, z) > 0.97


def test_ledoit_wolf_is_the_old_name_of_auto():
    X, y = np.random.default_rng(0).normal(size=(40, 8)), np.arange(40) % 2
    with pytest.warns(DeprecationWarning, match="'auto' now"):
        old = models.QuadraticDiscriminant(shrinkage="ledoit_wolf").fit(X, y)
    assert np.array_equal(old.covariances_, models.QuadraticDiscriminant().fit(X, y).covariances_)


@pytest.mark.parametrize("distance", [3.0, 10.0, 1e5])
@pytest.mark.parametrize("kind", [models.LinearDiscriminant, models.QuadraticDiscriminant])
def test_a_feature_that_separates_is_not_shrunk_away(kind, distance):
    accuracies = []
    for seed in range(5):
        rng = np.random.RandomState(seed)
        X, y, Z, t = rng.randn(40, 200), rng.randint(0, 2, 40), rng.randn(500, 200), rng.randint(0, 2, 500)
        X[:, 0] += distance * y
        Z[:, 0] += distance * t
        peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
        accuracies.append((kind().fit(X, y).score(Z, t), peer.score(Z, t)))
    ours, theirs = np.mean(accuracies, axis=0)
    assert ours > theirs - (0.02 if kind is models.LinearDiscriminant else 0.1)


@pytest.mark.parametrize("kind", [models.LinearDiscriminant, models.QuadraticDiscriminant])
def test_shrinkage_does_not_see_constant_features(kind):
    X, codes, _ = samples()
    X, codes = np.nan_to_num(X)[codes >= 0], codes[codes >= 0]
    wide = np.c_[X, np.full(len(X), 7.0)]
    alone, together = (kind(shrinkage=0.3).fit(A, codes).predict_proba(A) for A in (X, wide))
    np.testing.assert_allclose(together, alone, atol=1e-13)
    none, zero = (kind(shrinkage=s).fit(X, codes).predict_proba(X) for s in (None, 0.0))
    np.testing.assert_array_equal(none, zero)


def counted(X, r, alpha, kind):
    """Return log-density terms (samples, classes) and the log prior of naive Bayes, from responsibilities `r`."""
    logs, prior, K = np.zeros((len(X), r.shape[1])), 0.0, r.shape[1]
    if kind == "multinomial":
        counts = r.T @ X + alpha
        P = counts / counts.sum(axis=1, keepdims=True)
        return X @ np.log(P).T, alpha * np.log(P).sum()
    for x in X.T:
        seen = ~np.isnan(x)
        if kind == "gaussian":
            n, weight = r[seen].sum(axis=0), r[seen].sum(axis=1)
            epsilon = alpha * np.average((x[seen] - np.average(x[seen], weights=weight)) ** 2, weights=weight)
            for k in range(K):
                mean = r[seen, k] @ x[seen] / n[k]
                s = r[seen, k] @ (x[seen] - mean) ** 2 / n[k] + epsilon
                logs[seen, k] -= 0.5 * ((x[seen] - mean) ** 2 / s + np.log(2 * np.pi * s) + epsilon / s)
            continue
        values = x > 1.0 if kind == "bernoulli" else x
        choices = [False, True] if kind == "bernoulli" else np.unique(x[seen])
        for value, k in itertools.product(choices, range(K)):
            P = (r[seen & (values == value), k].sum() + alpha) / (r[seen, k].sum() + len(choices) * alpha)
            logs[seen & (values == value), k] += np.log(P)
            prior += alpha * np.log(P)
    return logs, prior


@pytest.mark.parametrize(("model", "kind"), [
    (models.MixedNaiveBayes(var_smoothing=0.3), "gaussian"),
    (models.MixedNaiveBayes("bernoulli", 0.3, binarize=1.0), "bernoulli"),
    (models.MultinomialNaiveBayes(0.3), "multinomial"),
    (models.MixedNaiveBayes("categorical", 0.3), "categorical"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
@pytest.mark.parametrize("of_classes", [{}, {"dirichlet": [1.0, 2.5, 4.0]}, {"priors": [0.5, 0.2, 0.3]}], ids=str)
def test_steps_of_naive_bayes(model, kind, of_classes):
    rng = np.random.default_rng(4)
    codes, weights = np.r_[np.arange(24) % 3, np.full(10, -1)], np.r_[rng.uniform(0.2, 3.0, 24), np.ones(10)]
    X = rng.poisson(np.array([[1, 3, 0.5], [3, 1, 1], [1, 1, 4.0]])[codes]).astype(float)
    if kind != "multinomial":
        X[rng.random(X.shape) < 0.2] = np.nan
    known, alpha = codes >= 0, np.zeros(3) + of_classes.get("dirichlet", 1.0)
    labelled = weights[:, None] * (codes[:, None] == np.arange(3))
    r, values = labelled, []
    for _ in range(4):
        counts = r.sum(axis=0) + alpha - 1.0
        pi = np.array(of_classes.get("priors", counts / counts.sum()))
        logs, prior = counted(X, r, 0.3, kind)
        joint = np.log(pi) + logs
        total = prior if "priors" in of_classes else prior + (alpha - 1.0) @ np.log(pi)
        values.append((labelled * joint).sum() + logsumexp(joint[~known], axis=1).sum() + total)
        r = labelled + np.where(known[:, None], 0.0, np.exp(joint - logsumexp(joint, axis=1)[:, None]))
    model = type(model)(**model.get_params() | of_classes | {"tol": 0.0, "max_iter": 3})
    model.fit(X[known], codes[known], weights[known], X_unlabelled=X[~known])
    np.testing.assert_allclose(model.log_likelihoods_, values, rtol=1e-11)
    np.testing.assert_allclose(model.priors_, pi, rtol=1e-11)
    assert model.n_iter_ == 3 and model.class_count_ == pytest.approx(counts + 1.0 - alpha, rel=1e-11)
    if kind != "gaussian":  # its training term contains the blur
        np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-10)


@pytest.mark.parametrize("coupling", [0.0, 0.7, np.inf])
def test_the_objective_of_the_coupled_discriminant_by_its_definition(coupling):
    rng, codes = np.random.default_rng(3), np.arange(20) % 3
    X, others, weights = rng.normal(size=(20, 2)) + codes[:, None], rng.normal(size=(6, 2)), rng.uniform(0.5, 2.0, 20)
    problem = CoupledLikelihood(X, np.eye(3)[codes] * weights[:, None], others, coupling)
    v = problem.start()
    v = v + 0.2 * rng.normal(size=v.size)
    value, parts = 0.0, (v, v) if coupling == 0.0 else np.split(v, 2)

    def joint(rows, part):
        L = np.array([[np.exp(part[9]), 0.0], [part[10], np.exp(part[11])]])
        S, pi = np.linalg.inv(L @ L.T), np.exp(part[:3]) / np.exp(part[:3]).sum()
        logs = [multivariate_normal(part[3 + 2 * k : 5 + 2 * k], S).logpdf(rows) for k in range(3)]
        return np.log(pi) + np.transpose(logs), L

    J, _ = joint(X, parts[0])
    value += weights @ (J[np.arange(20), codes] - logsumexp(J, axis=1))
    J, L = joint(np.r_[X, others], parts[1])
    value += np.r_[weights, np.ones(6)] @ logsumexp(J, axis=1)
    value += 1e-6 * weights.sum() * (np.log(np.diag(L)).sum() - 0.5 * (L**2).sum())
    if coupling == 0.7:
        value -= 0.5 * ((parts[0] - parts[1]) ** 2).sum() / 0.49
    assert problem.value_and_gradient(v)[0] == pytest.approx(-value / weights.sum(), rel=1e-13)
    with pytest.warns(UserWarning, match="ended after 2 steps"):
        model = models.CoupledDiscriminant(coupling, max_iter=2).fit(X, codes, weights, X_unlabelled=others)
    centre = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weights))
    same = CoupledLikelihood((X - centre) / scale, problem.target, (others - centre) / scale, coupling)
    assert model.log_likelihoods_[0] == pytest.approx(-same.value_and_gradient(same.start())[0] * weights.sum())
