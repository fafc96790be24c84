"""Names, defaults and forms of arguments that users of scikit-learn bring along."""

import inspect

import numpy as np
import pytest
from sklearn import naive_bayes, svm

import models
from models.base.estimator import Regressor

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y, TARGETS = (X[:, 0] + 0.3 * rng.normal(size=60) > 0.0).astype(int), X[:, 0] + 0.3 * rng.normal(size=60)
COUNTS, BITS = np.round(np.abs(X) * 3.0), (X > 0.0).astype(float)


@pytest.mark.parametrize(("ours", "peer"), [
    (models.SVC(), svm.SVC()), (models.NuSVC(), svm.NuSVC()), (models.SVR(), svm.SVR()), (models.NuSVR(), svm.NuSVR()),
    (models.OneClassSVM(), svm.OneClassSVM(gamma="scale")),
])  # fmt: skip
def test_support_is_counted(ours, peer):
    targets = TARGETS if isinstance(ours, Regressor) else Y
    found, expected = ours.fit(X, targets).n_support_, peer.set_params(tol=1e-8).fit(X, targets).n_support_
    np.testing.assert_array_equal(found, expected)
    assert found.sum() == len(ours.support_)


def test_support_of_tasks_is_counted():
    machine = models.MultiTaskSVC().fit(X, Y, tasks=np.arange(60) % 2)
    np.testing.assert_array_equal(machine.n_support_, np.bincount(Y[machine.support_]))


@pytest.mark.parametrize(("ours", "peer", "data", "names"), [
    (models.MixedNaiveBayes(), naive_bayes.GaussianNB(), X, ["theta_", "var_"]),
    (models.MixedNaiveBayes("bernoulli"), naive_bayes.BernoulliNB(), BITS, ["class_log_prior_", "feature_log_prob_"]),
    (models.MixedNaiveBayes("multinomial"), naive_bayes.MultinomialNB(), COUNTS, ["class_log_prior_",
                                                                                 "feature_log_prob_"]),
    (models.MultinomialNaiveBayes(), naive_bayes.MultinomialNB(), COUNTS, ["class_log_prior_", "feature_log_prob_"]),
])  # fmt: skip
def test_attributes_of_naive_bayes(ours, peer, data, names):
    ours.fit(data, Y)
    peer.fit(data, Y)
    for name in names:
        np.testing.assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-6)


def test_attributes_of_mixed_features():
    model = models.MixedNaiveBayes(["gaussian", "bernoulli"]).fit(np.c_[X[:, 0], BITS[:, 0]], Y)
    np.testing.assert_array_equal(np.isnan(model.theta_), [[False, True]] * 2)
    np.testing.assert_array_equal(np.isnan(model.feature_log_prob_), [[True, False]] * 2)
    model.set_params(kinds="bernoulli").fit(BITS, Y)
    assert not hasattr(model, "theta_") and model.feature_log_prob_.shape == (2, 4)


@pytest.mark.parametrize("machine", [
    models.LogisticRegression(), models.LinearSVC(), models.SVC(kernel="linear"), models.LinearSVR(),
    models.SVR(kernel="linear"),
])  # fmt: skip
def test_coefficients_by_hand(machine):
    w, is_regressor = np.array([1.0, -2.0, 0.5, 0.0]), isinstance(machine, Regressor)
    machine.coef_, machine.intercept_ = (w if isinstance(machine, models.LinearSVR) else w[None]), np.array([0.25])
    f = X @ w + 0.25
    if is_regressor:
        np.testing.assert_allclose(machine.predict(X), f)
    else:
        machine.classes_ = np.array(["no", "yes"])
        np.testing.assert_allclose(machine.decision_function(X), f)
        np.testing.assert_array_equal(machine.predict(X), machine.classes_[(f > 0.0).astype(int)])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        machine.predict(X[:, :3])


@pytest.mark.parametrize("fit", [
    lambda: models.SVC().fit(np.array([["a"], ["b"]]), [0, 1]),
    lambda: models.DiscreteHMM(2).fit(["gatc", "aag"]), lambda: models.DiscreteHMM(2).fit("gatc"),
    lambda: models.GaussianHMM(2).fit(["gatc", "aag"]),
    lambda: models.DiscreteHMM(2).fit([["g", "a"], ["a", "a"]]),
])  # fmt: skip
def test_text_is_pointed_to_its_encoder(fit):
    with pytest.raises(ValueError, match="encode_symbols makes numbers of letters"):
        fit()


TABLE = [one for _, one in inspect.getmembers(models, inspect.isclass)
         if issubclass(one, models.base.estimator.Estimator) and one._takes_sequences is False
         and one._kind in ("classifier", "regressor")]  # fmt: skip


@pytest.mark.parametrize("kind", TABLE)
def test_numbers_may_be_arrays_without_axes(kind):
    try:
        machine = kind()
    except TypeError:
        pytest.skip("has parameters without a default")
    data, targets = COUNTS if kind._takes_counts else X, TARGETS if issubclass(kind, Regressor) else Y
    numbers = {name: np.array(value) for name, value in machine.get_params().items() if type(value) in (int, float)}
    more = {"gamma": np.array(0.5), "time_limit": np.array(60.0), "random_state": np.array(0)}
    numbers |= {name: value for name, value in more.items() if name in machine.get_params()}
    plain = {name: value.item() for name, value in numbers.items()}
    found, expected = (kind(**given).fit(data, targets).predict(data) for given in (numbers, plain))
    np.testing.assert_array_equal(found, expected)
