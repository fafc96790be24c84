"""Invariances of all machines: repeated weights, data formats, orders of samples, units and shifts."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

import models
from models import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tests.models.test_protocol import OF_SEQUENCES, PUBLIC
from tests.support.svm_data import two_classes

RNG = np.random.default_rng(0)
X, Y = two_classes(48, 3, noise=0.8)
THREE = np.arange(48) % 3
X3 = X + 1.2 * np.eye(3)[THREE]
T = X[:, 0] - 2.0 * X[:, 1] + np.sin(3.0 * X[:, 2]) + 0.3 * RNG.normal(size=48)
COUNTS = RNG.poisson(1.0 + 2.0 * np.eye(3)[THREE] @ RNG.random((3, 5))).astype(float)
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
BOX = np.vstack([np.eye(3), -np.eye(3)]), np.repeat([0.9, -0.4], 3)  # 0.4 <= x <= 0.9
TASKS = {"tasks": RNG.permutation(np.arange(48) % 2)}
PRIOR = models.GenerativePrior([1.5 * X[Y == side].mean(axis=0) for side in (-1, 1)], (0.1, 0.2))
TIGHT = {"tol": 1e-11}


NOTHING: dict[str, np.ndarray] = {}


class Machine(NamedTuple):
    """A machine, its data, and the changes of the data that leave it unchanged.

    `holds` has a letter for each: S the containers of the samples, O their order, M a shift of all samples (b is free
    and has no price), R a rotation, N a factor of all weights.  `C` names the parameter that is divided by a factor of
    all weights, `squared` those proportional to a power of the units of X, as (name, power).
    """

    model: Any
    X: np.ndarray = X
    y: Any = Y
    holds: str = "SO"
    C: str = ""
    squared: tuple[tuple[str, float], ...] = ()
    aside: dict[str, np.ndarray] = NOTHING
    rtol: float = 1e-5


C2, WIDTH = (("C", -2.0),), (("gamma", -2.0),)
C2B = (*C2, ("intercept_scaling", 1.0))
FREE = (("nothing", 0.0),)
MACHINES = {
    "SVC linear": Machine(SVC(0.7, "linear", **TIGHT), holds="SOMR", C="C", squared=C2),
    "SVC primal": Machine(SVC(0.7, "linear", solver="primal", **TIGHT), holds="SOMR", C="C", squared=C2),
    "SVC rbf": Machine(SVC(2.0, class_weight={-1: 2.0}, **TIGHT), holds="SOM", C="C", squared=FREE),
    "SVC poly": Machine(SVC(2.0, "poly", coef0=1.0, fit_intercept=False, **TIGHT), holds="SO", C="C"),
    "SVR primal": Machine(
        SVR(2.0, 0.3, kernel="linear", solver="primal", **TIGHT), y=T, holds="SOMR", C="C", squared=C2
    ),
    "SVC ovo": Machine(SVC(1.0, "linear", class_weight="balanced", **TIGHT), X3, THREE, "SOMR", "C", C2),
    "SVC ovr": Machine(SVC(1.0, gamma=0.4, multi_class="ovr", **TIGHT), X3, THREE, "SOMR", "C", WIDTH),
    "SVR": Machine(SVR(2.0, 0.3, gamma=0.4, **TIGHT), y=T, holds="SOMR", C="C", squared=WIDTH),
    "SVR linear": Machine(SVR(2.0, 0.3, kernel="linear", **TIGHT), y=T, holds="SOMR", C="C", squared=C2),
    "NuSVC": Machine(NuSVC(0.4, "linear", **TIGHT), holds="SOMRN", squared=FREE),
    "NuSVR": Machine(NuSVR(0.4, 1.5, **TIGHT), y=T, holds="SOM", C="C", squared=FREE),
    "OneClassSVM": Machine(OneClassSVM(0.3, gamma=0.4, **TIGHT), y=None, holds="SOMR", squared=WIDTH),
    "LinearSVC": Machine(models.LinearSVC(0.5, tol=1e-12), X3, THREE, "SOR", "C", C2B),
    "LinearSVC hinge": Machine(models.LinearSVC(0.5, "hinge", tol=1e-12), X3, THREE, "SOR", "C", C2B),
    "LinearSVR": Machine(models.LinearSVR(0.2, 0.5, tol=1e-12), y=T, holds="SOR", C="C", squared=C2B),
    "LinearSVR squares": Machine(
        models.LinearSVR(0.2, 0.5, loss="squared_epsilon_insensitive", tol=1e-12), y=T, holds="SOR", C="C", squared=C2B
    ),
    "MinimaxProbabilityClassifier": Machine(
        models.MinimaxProbabilityClassifier(rho=0.0), X3, THREE, "SOMRN", "", FREE
    ),
    "KnowledgeSVC": Machine(models.KnowledgeSVC([(*BOX, 1)], 0.7), holds="SO", C="C", rtol=1e-4),
    "KnowledgeSVC priced": Machine(models.KnowledgeSVC([(*BOX, 1)], 0.7, Q=0.5), holds="SO", C="C", rtol=1e-4),
    "MultiTaskSVC": Machine(models.MultiTaskSVC(C1=0.3, C2=2.0, **TIGHT), holds="SOMR", aside=TASKS),
    "MEDClassifier": Machine(models.MEDClassifier(tol=1e-10), X3, THREE, "SOR", rtol=1e-4),
    "MEDClassifier, without b": Machine(models.MEDClassifier(fit_intercept=False, tol=1e-10), X, Y, "SOR", rtol=1e-4),
    "LogisticRegression": Machine(models.LogisticRegression(0.5), X3, THREE, "SOMR", "C", C2),
    "LogisticRegression, free": Machine(
        models.LogisticRegression(np.inf, solver="conjugate_gradients"), X3, THREE, "SOMRN", "", FREE
    ),
    "HybridNaiveBayes": Machine(models.HybridNaiveBayes([2, 3], shared_words=False, C=2.0), COUNTS, THREE, "SO"),
    "LinearDiscriminant": Machine(models.LinearDiscriminant(), X3, THREE, "OMRN", "", FREE),
    "LinearDiscriminant, one variance": Machine(
        models.LinearDiscriminant("spherical"), X3, THREE, "OMRN", "", FREE
    ),
    "LinearDiscriminant, unbiased": Machine(
        models.LinearDiscriminant(divisor="unbiased", dirichlet=2.0), X3, THREE, "OMR", "", FREE
    ),
    "QuadraticDiscriminant": Machine(models.QuadraticDiscriminant(shrinkage=None), X3, THREE, "OMRN"),
    "QuadraticDiscriminant, prior": Machine(
        models.QuadraticDiscriminant(mean_prior=(np.zeros(3), 2.0), covariance_prior=(6.0, 1.0)), X3, THREE, "O"
    ),
    "QuadraticDiscriminant, shrunken": Machine(
        models.QuadraticDiscriminant(divisor="unbiased", shrinkage="auto"), X3, THREE, "OM"
    ),
    "LinearDiscriminant, shrunken": Machine(models.LinearDiscriminant(shrinkage=0.3), X3, THREE, "OM"),
    "QuadraticDiscriminant, bayes": Machine(models.QuadraticDiscriminant(predictive="bayes"), X3, THREE, "OMR"),
    "Prototypes": Machine(models.Prototypes(), X3, THREE, "OMRN"),
    "JointGaussianRegressor": Machine(models.JointGaussianRegressor(), y=T, holds="OMRN", squared=FREE),
    "CoupledDiscriminant": Machine(models.CoupledDiscriminant(0.5), holds="OM", rtol=1e-4),
    "MixedNaiveBayes, gaussian": Machine(models.MixedNaiveBayes(), X3, THREE, "OMN", "", FREE),
    "MultinomialNaiveBayes": Machine(models.MultinomialNaiveBayes(0.5), COUNTS, THREE),
    "MultinomialNaiveBayes, bayes": Machine(models.MultinomialNaiveBayes(0.5, predictive="bayes"), COUNTS, THREE),
    "MixedNaiveBayes": Machine(
        models.MixedNaiveBayes(["gaussian", "multinomial", "bernoulli", "categorical", "multinomial"], binarize=1.0),
        COUNTS, THREE, "O",
    ),
    "MixedNaiveBayes, histogram": Machine(models.MixedNaiveBayes("histogram"), X3, THREE, "OM"),
    "MixedNaiveBayes, kde": Machine(models.MixedNaiveBayes("kde"), X3, THREE, "OM"),
    "MedLDA": Machine(models.MedLDA(3, C=100.0, random_state=0, max_iter=4), COUNTS, THREE),
    "BilevelClassifier": Machine(
        models.BilevelClassifier(PRIOR, 0.2, phi=0.1, C1=0.5, C2=1.0, solver_tol=1e-10), C="C1", rtol=1e-4
    ),
}  # fmt: skip
COPIED_ELSEWHERE = {"SVCCV", "ExplanationAugmentedSVC", "LatentDirichletAllocation"}
EVERY = pytest.mark.parametrize("name", MACHINES)
warns = pytest.mark.filterwarnings("ignore")


def having(letter):
    return pytest.mark.parametrize("name", [name for name, machine in MACHINES.items() if letter in machine.holds])


def fit(machine, rows=slice(None), samples=None, weights=None, **changed):
    aside = {name: value[rows] for name, value in machine.aside.items()}
    y = None if machine.y is None else machine.y[rows]
    model = clone(machine.model).set_params(**changed)
    return model.fit((machine.X if samples is None else samples)[rows], y, sample_weight=weights, **aside)


def values(machine, model, samples=None):
    samples = machine.X if samples is None else samples
    tasks = machine.aside if isinstance(model, models.MultiTaskSVC) else {}
    for method in ("predict_log_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(samples, **tasks))


def agree(machine, found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=machine.rtol * (1.0 + np.abs(expected).max()))
    assert np.ptp(expected) > 0.1  # the values are not constant


def test_every_estimator_that_takes_weights_is_here():
    weighed = {k.__name__ for k in PUBLIC if k not in OF_SEQUENCES and "sample_weight" in k.fit.__code__.co_varnames}
    assert weighed - COPIED_ELSEWHERE <= {type(machine.model).__name__ for machine in MACHINES.values()}


@warns
@EVERY
def test_integer_weights_are_copies_and_zero_is_removal(name):
    machine = MACHINES[name]
    times = np.random.default_rng(1).integers(0, 4, machine.X.shape[0])
    rows = np.repeat(np.arange(times.size), times)
    weighted, copied = fit(machine, weights=times), fit(machine, rows)
    agree(machine, values(machine, weighted), values(machine, copied))
    if hasattr(weighted, "support_"):
        assert (times[weighted.support_] > 0).all()
        assert set(weighted.support_) == set(rows[copied.support_])


@warns
@pytest.mark.parametrize("name", [name for name, machine in MACHINES.items() if is_classifier(machine.model)])
def test_the_class_that_is_predicted_has_the_largest_value(name):
    machine = MACHINES[name]
    model = fit(machine)
    found, samples = values(machine, model), machine.X
    expected = (found > 0.0).astype(int) if found.ndim == 1 else found.argmax(axis=1)
    tasks = machine.aside if isinstance(model, models.MultiTaskSVC) else {}
    np.testing.assert_array_equal(model.predict(samples, **tasks), model.classes_[expected])
    share = np.mean(model.classes_[expected] == machine.y)
    assert model.score(samples, machine.y, **tasks) == pytest.approx(share)
    weights = 1.0 + np.arange(48) % 3
    share = np.average(model.classes_[expected] == machine.y, weights=weights)
    assert model.score(samples, machine.y, weights, **tasks) == pytest.approx(share)
    if found.ndim == 1:
        assert ((0.0 < found) & (found < 1.0)).any() and ((-1.0 < found) & (found < 0.0)).any()
    elif hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(samples), np.exp(found), rtol=1e-12)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-12)


@warns
@having("S")
@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_array, sp.csc_matrix])
def test_sparse_samples_are_the_dense_ones(name, form):
    machine = MACHINES[name]
    thin = machine.X * (np.abs(machine.X) > 0.4)
    weights = 0.5 + np.arange(thin.shape[0]) % 2
    sparse = clone(machine.model).fit(form(thin), machine.y, sample_weight=weights, **machine.aside)
    expected = values(machine, fit(machine, samples=thin, weights=weights), thin)
    agree(machine, values(machine, sparse, form(thin)), expected)


@warns
@having("O")
def test_the_order_of_the_samples_is_nothing_and_the_same_fit_gives_the_same_bits(name):
    machine = MACHINES[name]
    once, again = (values(machine, fit(machine)) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    agree(machine, values(machine, fit(machine, np.random.default_rng(2).permutation(48))), once)


@warns
@pytest.mark.parametrize("name", [name for name, one in MACHINES.items() if one.C or "N" in one.holds])
def test_a_number_that_multiplies_all_weights_is_divided_out_of_C_or_nothing(name):
    machine = MACHINES[name]
    C = {machine.C: 0.25 * getattr(machine.model, machine.C)} if machine.C else {}
    expected = fit(machine, weights=np.ones(48))
    agree(machine, values(machine, fit(machine, weights=np.full(48, 4.0), **C)), values(machine, expected))
    if machine.C:  # without the division, larger weights act as a larger C
        moved = values(machine, fit(machine, weights=np.full(48, 1e-3)))
        assert np.abs(moved - values(machine, expected)).max() > 1e-3


@warns
@having("M")
@pytest.mark.parametrize("shift", [3.0, 2.0**30, -(2.0**33)])
def test_a_shift_of_all_samples_is_nothing(name, shift):
    machine = MACHINES[name]
    near = machine.X if shift == 3.0 else np.round(machine.X * 2.0**12) / 2.0**12  # moved without rounding
    moved = near + shift
    agree(
        machine, values(machine, fit(machine, samples=moved), moved), values(machine, fit(machine, samples=near), near)
    )


@warns
@pytest.mark.parametrize("kernel, weight", [("linear", 0.0), ("rbf", 0.0), ("rbf", 1.0)])
@pytest.mark.parametrize("first", [False, True])
def test_a_sample_far_away_leaves_the_others_their_digits(kernel, weight, first):
    """With rbf it is alone whatever its weight; with a linear kernel it must have none to be as if left out."""
    place = 0 if first else 48
    far = np.insert(X, place, 1e9, axis=0)
    weights = np.insert(np.ones(48), place, weight)
    near = np.insert(X, place, 1e3, axis=0)
    one, other = (
        SVC(2.0, kernel, gamma=0.4, tol=1e-11).fit(data, np.insert(Y, place, 1), sample_weight=weights)
        for data in (near, far)
    )
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)


@warns
@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_blocks_have_any_unit(unit):
    weights, rows = 0.5 + np.arange(48) % 3, [slice(0, 20), slice(20, 48)]
    blocks = lambda s, w: [(s * X3[part], THREE[part], w * weights[part]) for part in rows]  # noqa: E731
    one, other = (
        models.LinearSVC(0.5 / s**2, intercept_scaling=s, tol=1e-12).fit(blocks(s, 1.0)).decision_function(s * X3)
        for s in (1.0, unit)
    )
    np.testing.assert_allclose(other, one, atol=1e-5)
    one, other = (models.LogisticRegression(0.5 / w).fit(blocks(1.0, w)).decision_function(X3) for w in (1.0, unit))
    np.testing.assert_allclose(other, one, atol=1e-5)


@warns
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
@pytest.mark.parametrize("name", ["LogisticRegression", "LogisticRegression, free", "HybridNaiveBayes"])
def test_weights_have_any_unit(name, unit):
    """C is in the unit of the weights, and one document that is held out is one of weight 1."""
    machine = MACHINES[name]
    changed = {"C": machine.model.C / unit} | ({"theta": "training"} if name == "HybridNaiveBayes" else {})
    weights = 0.5 + np.arange(48) % 3
    if name == "HybridNaiveBayes":
        changed |= {"alpha": machine.model.alpha * unit}
    same = {"theta": "training"} if name == "HybridNaiveBayes" else {}
    one, other = fit(machine, weights=weights, **same), fit(machine, weights=unit * weights, **changed)
    agree(machine, values(machine, other), values(machine, one))
    assert other.C_ == pytest.approx(one.C_ / unit)
    for name in ("objective_", "dual_objective_"):
        if np.isfinite(machine.model.C) and hasattr(one, name):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9)


@warns
@pytest.mark.parametrize("value", [0.0, 3.0, 1e9 + 0.1])
@pytest.mark.parametrize("name", [
    "SVC linear", "SVR linear", "NuSVC", "MultiTaskSVC", "MinimaxProbabilityClassifier", "LogisticRegression",
    "LinearDiscriminant", "QuadraticDiscriminant", "Prototypes", "JointGaussianRegressor", "CoupledDiscriminant",
])  # fmt: skip
def test_a_constant_column_is_nothing(name, value):
    machine = MACHINES[name]
    more = np.column_stack([machine.X, np.full(48, value)])
    agree(machine, values(machine, fit(machine, samples=more), more), values(machine, fit(machine)))


@warns
@having("R")
def test_a_rotation_of_all_samples_is_nothing(name):
    machine = MACHINES[name]
    turned = machine.X @ TURN
    agree(machine, values(machine, fit(machine, samples=turned), turned), values(machine, fit(machine)))


@warns
@pytest.mark.parametrize("name", [name for name, machine in MACHINES.items() if machine.squared])
@pytest.mark.parametrize("unit", [8.0, 2.0**30, 2.0**-30])
def test_the_unit_of_all_features_is_divided_out_of_the_parameters(name, unit):
    machine = MACHINES[name]
    changed = {key: getattr(machine.model, key) * unit**power for key, power in machine.squared if power}
    scaled = fit(machine, samples=unit * machine.X, **changed)
    found, expected = values(machine, scaled, unit * machine.X), values(machine, fit(machine))
    agree(machine, found, expected)


@pytest.mark.parametrize("name", [name for name, machine in MACHINES.items() if machine.y is Y])
@warns
def test_the_other_label_first_is_the_other_sign(name):
    machine = MACHINES[name]
    turned = fit(machine._replace(y=-Y), **_of_other_labels(machine.model))
    found = values(machine, turned)
    agree(machine, found[:, ::-1] if found.ndim == 2 else -found, values(machine, fit(machine)))


def _of_other_labels(model):
    """Return the parameters that name labels or sides, changed to the negated labels or swapped sides."""
    changed = {}
    if isinstance(getattr(model, "class_weight", None), dict):
        changed["class_weight"] = {-label: weight for label, weight in model.class_weight.items()}
    if isinstance(model, models.KnowledgeSVC):
        changed["knowledge"] = [(D, d, -label) for D, d, label in model.knowledge]
    if isinstance(model, models.BilevelClassifier):
        changed["prior"] = models.GenerativePrior(PRIOR.t[::-1], (0.2, 0.1))
    return changed


KERNEL_MACHINES = [name for name, machine in MACHINES.items() if isinstance(machine.model, (SVC, SVR, OneClassSVM))]


@pytest.mark.parametrize("name", KERNEL_MACHINES)
def test_multipliers_keep_their_bounds_and_support_vectors_are_counted(name):
    machine = MACHINES[name]
    weights = 0.5 + np.arange(48) % 3
    model = fit(machine, weights=weights)
    bound = weights * getattr(model, "C", 1.0)
    if getattr(model, "class_weight", None) == "balanced":
        by_class = np.array([weights.sum() / 3.0 / weights[THREE == k].sum() for k in range(3)])
        bound = bound * by_class[THREE]
    elif isinstance(getattr(model, "class_weight", None), dict):
        bound = bound * np.where(machine.y == -1, 2.0, 1.0)
    beta = np.atleast_2d(model.dual_coef_)
    assert (np.abs(beta) <= bound[model.support_] * (1.0 + 1e-12)).all()
    assert (np.diff(model.support_) > 0).all() and (beta != 0.0).any(axis=0).all()
    sums = beta.sum(axis=1)
    expected = 0.3 * weights.sum() if isinstance(model, OneClassSVM) else 0.0
    if getattr(model, "fit_intercept", True):
        np.testing.assert_allclose(sums, expected, atol=1e-6 * np.abs(beta).sum())
    if isinstance(machine.model, SVC):
        codes = np.searchsorted(model.classes_, machine.y)
        assert model.n_support_.tolist() == np.bincount(codes[model.support_]).tolist()
    assert isinstance(model.n_iter_, (int, np.integer)) and model.n_iter_ > 0
    samples = machine.X[model.support_]
    np.testing.assert_array_equal(model.support_vectors_, samples)
    if machine.y is not THREE:  # f is the kernel times the multipliers
        f = model.kernel_(machine.X, samples) @ beta[0] + model.intercept_
        np.testing.assert_allclose(values(machine, model), f, rtol=0, atol=1e-6 * (1.0 + np.abs(f).max()))
