"""Support vector classification: its programs' forms agree, the KKT conditions hold, the protocol is kept."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

import models
import qp
from models import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from models.kernels.kernel import Kernel
from models.margins import estimator as machines_module
from tests.support.svm_data import separable, two_classes, wine


def half_cosine(A, B):
    """Return the matrix of a user-defined kernel; at module level so that it pickles."""
    return 1.0 + A @ B.T / np.sqrt(np.outer((A**2).sum(axis=1) + 1.0, (B**2).sum(axis=1) + 1.0))


CASES = [
    {"kernel": "linear"},
    {"kernel": "linear", "fit_intercept": False},
    {"kernel": "linear", "C": 50.0, "class_weight": "balanced"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "rbf", "C": 5.0, "fit_intercept": False},
    {"kernel": "rbf"},
    {"kernel": half_cosine},
]
HARD = [{"kernel": "linear", "C": np.inf}, {"kernel": "rbf", "C": np.inf}]


def said(case):
    """Return a description of the case that is identical in every process."""
    return ", ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in case.items())


def primal_objective(machine, X, y, C):
    """Return 1/2 |w|^2 + C'xi, computed from the fitted attributes alone."""
    signs = np.where(y == machine.classes_[1], 1.0, -1.0)
    xi = np.maximum(0.0, 1.0 - signs * machine.decision_function(X))
    squared = machine.margin_[0] ** -2
    return 0.5 * squared + (float(C @ xi) if np.isfinite(C).all() else 0.0)


@pytest.mark.parametrize("case", CASES + HARD, ids=said)
@pytest.mark.parametrize("shape", [(60, 4), (30, 40)], ids=["tall", "wide"])
def test_all_forms_agree(case, shape):
    X, y = separable(*shape) if case.get("C") == np.inf else two_classes(*shape)
    dual, primal, auto = (SVC(solver=solver, tol=1e-11, **case).fit(X, y) for solver in ("dual", "primal", "auto"))
    objective = -dual.solution_.objective
    assert primal.solution_.objective == pytest.approx(objective, rel=1e-6)
    assert abs(auto.solution_.objective) == pytest.approx(objective, rel=1e-6)
    for machine in (primal, auto):
        np.testing.assert_allclose(machine.decision_function(X), dual.decision_function(X), atol=1e-6)
        # a sample in only one of the supports is on the margin, where multipliers may be zero
        apart = np.setxor1d(machine.support_, dual.support_)
        np.testing.assert_allclose(np.abs(dual.decision_function(X)[apart]), 1.0, atol=1e-6)
    if isinstance(case["kernel"], str):
        sparse = SVC(tol=1e-11, **case).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(sparse.decision_function(X), dual.decision_function(X), atol=1e-6)
        assert sp.issparse(sparse.support_vectors_)


@pytest.mark.parametrize("case", CASES + HARD, ids=said)
def test_the_primal_objective_is_the_dual_one_and_kkt_holds(case):
    X, y = separable() if case.get("C") == np.inf else two_classes()
    machine = SVC(**case).fit(X, y)
    C = np.full(y.size, machine.C)
    if machine.class_weight == "balanced":
        C *= (y.size / (2.0 * np.array([(y == -1).sum(), (y == 1).sum()])))[(y == 1).astype(int)]
    assert primal_objective(machine, X, y, C) == pytest.approx(-machine.solution_.objective, rel=1e-6)

    alpha, f = np.zeros(y.size), machine.decision_function(X)
    alpha[machine.support_] = machine.dual_coef_[0] * y[machine.support_]
    kinds = np.full(y.size, "none", dtype="U6")
    kinds[machine.support_] = machine.support_kinds_[0]
    slack = 1.0 - y * f
    assert (alpha >= 0.0).all() and (alpha <= C).all()
    assert (slack[kinds == "none"] <= 1e-5).all() and (alpha[kinds == "none"] == 0.0).all()
    assert np.abs(slack[kinds == "margin"]).max() <= 1e-4
    assert (slack[np.isin(kinds, ["inside", "wrong"])] >= -1e-5).all()
    assert (slack[kinds == "inside"] <= 1.0).all() and (slack[kinds == "wrong"] > 1.0).all()
    assert (alpha[np.isin(kinds, ["inside", "wrong"])] == C[np.isin(kinds, ["inside", "wrong"])]).all()
    if machine.fit_intercept:
        assert abs(alpha @ y) <= 1e-6 * np.abs(alpha).sum()
    else:
        assert machine.intercept_[0] == 0.0


def test_the_hard_margin_is_the_largest():
    X, y = separable(gap=0.5)
    machine = SVC(C=np.inf, kernel="linear").fit(X, y)
    distances = y * machine.decision_function(X) / np.linalg.norm(machine.coef_)
    assert distances.min() == pytest.approx(machine.margin_[0], rel=1e-6)
    assert machine.margin_[0] >= 0.5
    # the lecture's b = -1/2 (min over + of w'x + max over - of w'x)
    scores = X @ machine.coef_[0]
    assert machine.intercept_[0] == pytest.approx(-0.5 * (scores[y > 0].min() + scores[y < 0].max()), abs=1e-6)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_hard_margin_that_cannot_be_had_says_so(solver):
    X, y = two_classes(noise=2.0)
    with pytest.raises(ValueError, match=r"cannot be separated, as the hard margin \(C=inf\) asks for"):
        SVC(C=np.inf, kernel="linear", solver=solver).fit(X, y)


def test_precomputed_and_callable_kernels_are_the_kernel():
    X, y = two_classes()
    kernel = Kernel("rbf", gamma=0.3)
    K = kernel.gram(X)
    named = SVC(kernel="rbf", gamma=0.3).fit(X, y)
    given = SVC(kernel="precomputed").fit(K, y)
    called = SVC(kernel=kernel).fit(X, y)
    np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-9)
    assert cross_val_score(SVC(kernel="precomputed"), K, y, cv=3).mean() == pytest.approx(
        cross_val_score(SVC(kernel="rbf", gamma=0.3), X, y, cv=3).mean()
    )
    multi, codes = SVC(kernel="precomputed", multi_class="ovo"), np.arange(60) % 3
    fitted = multi.fit(sp.csr_array(K), codes, sample_weight=(np.arange(60) > 5) * 1.0)
    dense = SVC(kernel="rbf", gamma=0.3).fit(X, codes, sample_weight=(np.arange(60) > 5) * 1.0)
    np.testing.assert_allclose(fitted.decision_function(K), dense.decision_function(X), atol=1e-6)


def test_decision_function_shapes_and_predictions_go_together():
    X, y = wine(3)
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    pairs = SVC(decision_function_shape="ovo").fit(X, names)
    columns = SVC().fit(X, names)
    rest = SVC(multi_class="ovr").fit(X, names)
    assert pairs.decision_function(X).shape == columns.decision_function(X).shape == (178, 3)
    assert columns.dual_coef_.shape[0] == rest.dual_coef_.shape[0] == 3
    for machine in (columns, rest):
        chosen = machine.classes_[machine.decision_function(X).argmax(axis=1)]
        np.testing.assert_array_equal(machine.predict(X), chosen)
        assert machine.score(X, names) > 0.99
    np.testing.assert_array_equal(pairs.predict(X), columns.predict(X))
    first_pair = pairs.decision_function(X)[:, 0]
    assert ((first_pair > 0) == (names == "barbera"))[np.isin(names, ["barbera", "barolo"])].mean() > 0.98


@pytest.mark.parametrize("shape", [(6, 3), (6, 9)])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
@pytest.mark.parametrize("labels", [[0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 2]])
@pytest.mark.parametrize("last", [0.0, 1.0])
def test_a_precomputed_kernel_must_be_square(shape, kind, labels, last):
    """A kernel that is not square is refused, whichever part of it the machines would read."""
    with pytest.raises(ValueError, match=r"X must be a square matrix of the kernel .* its shape is \(6, [39]\)"):
        SVC(kernel="precomputed").fit(kind(np.eye(*shape)), labels, sample_weight=[1.0] * 5 + [last])


@pytest.mark.parametrize("ours, theirs", [
    (SVC(), svm.SVC()),
    (SVC(kernel="linear"), svm.SVC(kernel="linear")),
    (SVC(kernel="linear", solver="primal"), svm.SVC(kernel="linear")),
    (NuSVC(nu=0.1), svm.NuSVC(nu=0.1)),
    (SVR(), svm.SVR()),
    (SVR(kernel="linear"), svm.SVR(kernel="linear")),
    (NuSVR(), svm.NuSVR()),
    (OneClassSVM(nu=0.1), svm.OneClassSVM(nu=0.1)),
    (LinearSVC(), svm.LinearSVC()),
    (SVC(decision_function_shape="ovo"), svm.SVC(decision_function_shape="ovo")),  # of 45 machines
], ids=lambda machine: str(machine).replace("()", ""))  # fmt: skip
def test_a_pickle_holds_neither_a_matrix_nor_the_samples(ours, theirs):
    X, y, most = *two_classes(600, 20, noise=0.1), 1.5
    if getattr(theirs, "decision_function_shape", "") == "ovo":
        X, y, most = *(part[:600] for part in load_digits(return_X_y=True)), 2.0
    machine = ours.fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert np.array_equal(*(getattr(one, "support_kinds_", None) for one in (again, machine)))
    assert machine.program_ is not None and not hasattr(again, "program_") and not hasattr(again, "solution_")
    assert len(pickle.dumps(machine)) <= most * len(pickle.dumps(theirs.fit(X, y)))


def test_rows_are_kept_in_the_megabytes_that_are_given_and_shrinking_changes_nothing():
    X, y = two_classes(400, 5, noise=1.0)
    wanted = SVC().fit(X, y)
    for machine in (SVC(cache_size=0.05), SVC(shrinking=False), SVC(random_state=3)):
        np.testing.assert_allclose(machine.fit(X, y).decision_function(X), wanted.decision_function(X), atol=1e-6)


def test_a_callable_that_says_so_is_taken_as_semidefinite_and_by_its_rows():
    X, y = two_classes(120, 4)

    def kernel(A, B):
        return 1.0 + A @ B.T

    tested = SVC(kernel=kernel).fit(X, y)
    kernel.is_semidefinite = True
    by_rows = SVC(kernel=kernel).fit(X, y)
    assert isinstance(by_rows.program_.P, models.KernelMatrix) and isinstance(tested.program_.P, np.ndarray)
    np.testing.assert_allclose(by_rows.decision_function(X), tested.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_machines_in_one_call_are_those_that_are_solved_one_by_one(kernel, multi_class, fit_intercept, monkeypatch):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90, 30 if kernel == "linear" else 3)), rng.integers(4, size=90)
    X[:, 0] += y
    weights = rng.choice([0.0, 1.0, 2.0], size=90)
    svc = SVC(kernel=kernel, multi_class=multi_class, fit_intercept=fit_intercept)
    monkeypatch.setattr("models.kernels.kernel.MOST_MONOMIALS", 0)
    together = clone(svc).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(machines_module, "fits_in_series", lambda *_: False)
    one_by_one = clone(svc).fit(X, y, sample_weight=weights)
    assert "active set" in together.solution_.message
    np.testing.assert_array_equal(together.support_, one_by_one.support_)
    np.testing.assert_allclose(together.dual_coef_, one_by_one.dual_coef_, atol=1e-6)
    np.testing.assert_allclose(together.intercept_, one_by_one.intercept_, atol=1e-6)
    np.testing.assert_allclose(together.margin_, one_by_one.margin_, rtol=1e-6)
    assert (together.support_kinds_ == one_by_one.support_kinds_).all()
    assert together.solution_.objective == pytest.approx(one_by_one.solution_.objective, rel=1e-8)


@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_a_polynomial_of_few_features_is_solved_in_its_monomials(coef0, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y, t = np.sign((X**2).sum(axis=1) - 1.4 + 0.3 * rng.normal(size=90)), X[:, 0] ** 3 + 0.1 * rng.normal(size=90)
    machines = SVC(kernel="poly", coef0=coef0), SVR(kernel="poly", coef0=coef0)
    monkeypatch.setattr("models.margins.estimator.reads_for_few", lambda *given: 0.0)  # rows would serve, too
    fast = [machine.fit(X, target) for machine, target in zip(machines, (y, t))]
    assert all(isinstance(machine.program_.P, qp.LowRank) for machine in fast)
    monkeypatch.setattr("models.kernels.kernel.MOST_MONOMIALS", 0)
    for machine, target in zip(fast, (y, t)):
        slow = type(machine)(kernel="poly", coef0=coef0).fit(X, target)
        assert not isinstance(slow.program_.P, qp.LowRank)
        np.testing.assert_array_equal(machine.support_, slow.support_)
        np.testing.assert_allclose(machine._expansions(X), slow._expansions(X), atol=1e-5)
        np.testing.assert_allclose(machine.predict(X), slow.predict(X), atol=1e-5)


def test_coefficients_set_by_hand_are_used():
    X, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([1, 1, 2, 2])
    machine = SVC(kernel="linear").fit(X, y)
    point = [[-0.1]]
    assert machine.predict(point).tolist() == [1]
    machine.dual_coef_ = np.array([[0.0, 1.0]])
    assert machine.predict(point).tolist() == [1] and machine.decision_function([[3.0]]) == 3.0 + machine.intercept_
    again = copy.deepcopy(machine)
    again.dual_coef_ = -again.dual_coef_
    assert again.predict(point).tolist() == [2]
    machine.fit(X, y).coef_ = -machine.coef_
    assert machine.predict(point).tolist() == [2]
