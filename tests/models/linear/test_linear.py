"""Linear machines: the certified gap, the optimality conditions, other programs, hard cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import qp
from models import SVC, LinearSVC, LinearSVR
from models.linear import primal_newton
from models.linear.coordinate_descent import _to_the_first, coordinates_of, descend, take_newton_steps
from models.linear.dual import Dual, respond
from tests.support.sparse_matrices import random_sparse
from tests.support.svm_data import breast_cancer, two_classes, wine

CLASSIFIER_LOSSES = ("hinge", "squared_hinge")
REGRESSOR_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")


def objective(model, X, y, C):
    """Return the objective that the docstrings of `LinearSVC` and `LinearSVR` state, at the fitted `model`."""
    b = model.intercept_ / model.intercept_scaling if model.fit_intercept else 0.0
    if isinstance(model, LinearSVC):
        loss = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X))
    else:
        loss = np.maximum(0.0, np.abs(y - model.predict(X)) - model.epsilon)
    if model.loss.startswith("squared"):
        loss = loss**2
    return 0.5 * (model.coef_**2).sum() + 0.5 * float(np.sum(np.square(b))) + float(np.sum(C * loss))


def never(steps):
    return False


def texts(documents=200, words=600, seed=0):
    """Return sparse samples with more features than samples, and labels."""
    rng = np.random.default_rng(seed)
    X = abs(random_sparse((documents, words), density=0.03, rng=rng, format="csr"))
    return X, np.where(X @ rng.normal(size=words) + 0.1 * rng.normal(size=documents) > 0.0, 1, -1)


def tube(samples=80, features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, features))
    return X, X @ rng.normal(size=features) + 0.3 * rng.normal(size=samples) + 2.0


@pytest.mark.parametrize("loss", CLASSIFIER_LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_certifies_the_objective(loss, C, fit_intercept):
    for X, y in (two_classes(100, 5), breast_cancer(), texts(), two_classes(30, 40)):
        model = LinearSVC(C, loss, fit_intercept=fit_intercept).fit(X, y)
        assert objective(model, X, y, C) == pytest.approx(model.objective_, rel=1e-9)
        assert -1e-12 * model.objective_ <= model.objective_ - model.dual_objective_
        assert model.objective_ - model.dual_objective_ <= 1e-8 * (1.0 + model.objective_)


@pytest.mark.parametrize("loss", REGRESSOR_LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_the_gap_certifies_the_objective_of_a_regression(loss, C, epsilon):
    words, _ = texts()
    for X, y in (tube(), tube(20, 30), (words, words @ np.arange(600.0) / 300.0)):
        model = LinearSVR(epsilon, C, loss=loss).fit(X, y)
        assert objective(model, X, y, C) == pytest.approx(model.objective_, rel=1e-9)
        assert model.objective_ - model.dual_objective_ <= 1e-8 * (1.0 + model.objective_)


def test_a_large_scaling_frees_the_intercept():
    X, y = two_classes(100, 5)
    free = SVC(1.0, "linear").fit(X, y)
    near = LinearSVC(1.0, "hinge", intercept_scaling=1e3, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(near.coef_, free.coef_, atol=1e-4)
    np.testing.assert_allclose(near.intercept_, free.intercept_, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-4, 1e3])
def test_slow_descent_is_taken_to_the_end(scale):
    """With few, badly scaled features, coordinate descent alone needs millions of passes."""
    X, y = two_classes(300, 4, noise=1.0)
    X = X * np.array([1.0, scale, 1.0, 1.0])
    for loss in CLASSIFIER_LOSSES:
        model = LinearSVC(10.0, loss).fit(X, y)
        assert model.objective_ - model.dual_objective_ <= 1e-8 * (1.0 + model.objective_)


def test_samples_of_zeros_and_of_one_value():
    X, y = two_classes(40, 3)
    X[:5] = 0.0
    for loss in CLASSIFIER_LOSSES:
        model = LinearSVC(1.0, loss, fit_intercept=False).fit(X, y)
        assert objective(model, X, y, 1.0) == pytest.approx(model.dual_objective_, rel=1e-7)
        nothing = LinearSVC(1.0, loss, fit_intercept=False).fit(np.zeros((4, 2)), [0, 1, 0, 1])
        assert not nothing.coef_.any() and nothing.objective_ == 4.0


def test_an_early_end_warns_and_tells_the_gap():
    X, y = texts()
    with pytest.warns(ConvergenceWarning, match="LinearSVC: descent ended after 2 passes"):
        model = LinearSVC(100.0, max_iter=2, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 2 and model.solution_.status == "max_iterations"
    assert objective(model, X, y, 100.0) == pytest.approx(model.objective_, rel=1e-9)


def test_distances_are_signed_and_do_not_depend_on_the_length_of_w():
    X, y = two_classes()
    model = LinearSVC().fit(X, y)
    distances = model.signed_distance(X)
    foot = X - distances[:, None] * model.coef_ / np.linalg.norm(model.coef_)
    np.testing.assert_allclose(model.decision_function(foot), 0.0, atol=1e-12)
    assert ((distances > 0.0) == (model.predict(X) == 1)).all()
    X, y = wine(3)
    model = LinearSVC().fit(X, y)
    np.testing.assert_allclose(
        model.signed_distance(X) * np.linalg.norm(model.coef_, axis=1), model.decision_function(X)
    )


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("formed", [False, True])
def test_newton_in_the_primal_is_exact(C, formed, monkeypatch):
    """The duality gap |w - sum_i beta_i x_i|^2 / 2 is small, with the Hessian formed or only multiplied by."""
    monkeypatch.setattr(primal_newton, "is_formed", lambda X: formed)
    rng = np.random.default_rng(0)
    X, y = two_classes(200, 6, noise=1.0)
    classes = np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)
    for matrix in (X, sp.csr_array(X * (rng.random(X.shape) < 0.4))):
        for epsilon, sides in ((0.0, classes), (0.3, (np.full(200, -np.inf), np.full(200, np.inf)))):
            damping = 0.5 / (C * rng.uniform(0.1, 3.0, 200))
            dual = Dual(matrix, 1.5, y + 0.1 * (epsilon > 0.0), epsilon, damping, *sides)
            answer = primal_newton.minimize_losses(dual, 1e-9, never, [])
            assert answer.converged and answer.passes < 30
            gap, apart = answer.objective - answer.dual_objective, answer.w - dual.weights(answer.beta)
            assert gap == pytest.approx(0.5 * float(apart @ apart), abs=1e-12 * (1.0 + answer.objective))
            assert answer.objective == pytest.approx(-qp.solve(dual.program(), tol=1e-10).objective, rel=1e-7)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_rounds_of_squares_find_the_minimum_of_hinges(C, epsilon):
    """The proximal point method ends at the interior-point solution, with multipliers between their bounds."""
    X, y = two_classes(300, 6, noise=1.0)
    size = C * np.random.default_rng(0).uniform(0.1, 3.0, 300)
    low, high = (-size, size) if epsilon else (np.minimum(y * size, 0.0), np.maximum(y * size, 0.0))
    dual = Dual(X, 1.5, y + 0.1 * (epsilon > 0.0), epsilon, np.zeros(300), low, high)
    answer = primal_newton.minimize_losses(dual, 1e-11, never, [])
    assert answer.converged and (answer.beta >= low).all() and (answer.beta <= high).all()
    assert answer.objective == pytest.approx(-qp.solve(dual.program(), tol=1e-10).objective, rel=1e-8)


def test_the_multipliers_of_a_near_program_are_best():
    """Each multiplier maximizes beta (r + d beta_k) - epsilon |beta| - d beta^2 / 2 between its bounds."""
    rng = np.random.default_rng(0)
    high, r = rng.uniform(0.1, 3.0, 50), 3.0 * rng.normal(size=50)
    dual = Dual(np.zeros((50, 1)), 0.0, np.zeros(50), 0.3, np.zeros(50), -high, high)
    near, beta, along = dual.near(high * rng.uniform(-1.0, 1.0, 50), 0.7), np.empty(50), np.empty(2)
    best = respond(near.losses, near.q + r, np.zeros(50), 1.0, beta, along)
    at = np.linspace(-1.0, 1.0, 100001)[:, None] * high
    values = at * (near.q + r) - 0.3 * np.abs(at) - 0.5 * near.damping * at**2
    assert best == pytest.approx(values.max(axis=0).sum(), rel=1e-8)
    np.testing.assert_allclose(beta, at[values.argmax(axis=0), np.arange(50)], atol=1e-4)


@pytest.mark.parametrize("damping, bound", [(0.05, np.inf), (1e-3, 1.0), (1e-6, 9.0)])  # of the squares and of hinges
@pytest.mark.parametrize("length", [1.0, 1e-3, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_line_search_finds_the_kinked_minimum(damping, bound, length, seed):
    X, y = two_classes(50, 3, seed=seed, noise=1.0)
    dual = Dual(X, 1.0, y, 0.0, np.full(50, damping), np.where(y < 0, -bound, 0.0), np.where(y > 0, bound, 0.0))
    w = np.arange(4.0) / 4.0
    z, direction = dual.scores(w), length * (dual.weights(y) - w)
    moved = dual.scores(direction)
    t = primal_newton.line_minimum(dual, w, dual.q - z, direction, moved)

    def value(t):
        return 0.5 * ((w + t * direction) ** 2).sum() + dual.loss(dual.q - z - t * moved)

    assert t > 0.0 and all(value(t) <= value((1.0 + change) * t) for change in (-1e-3, 1e-3, -0.9, 1.0))


def squares_of(X, y, C):
    low, high = np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)
    return Dual(X, 1.0, y, 0.0, np.full(y.size, 0.5 / C), low, high)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_the_hessian_follows_the_active_samples(form, C):
    """The direction follows samples that enter and leave: it is that of a newly formed Hessian of the active ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * np.array([1e-3, 1.0, 1.0, 1.0, 1e3])
    dual = squares_of(form(X), np.sign(X[:, 1] + rng.normal(size=400)), C)
    hessian = primal_newton.ActiveHessian(dual)
    hessian.H = np.empty((6, 6), order="F")
    for share in (1.0, 0.9, 0.95, 0.6, 0.02, 0.005, 0.8):
        active = rng.random(400) < share
        Z = np.c_[X, np.ones(400)][active]
        expected, rhs = np.eye(6) + 2.0 * C * Z.T @ Z, rng.normal(size=6)
        np.testing.assert_allclose(expected @ hessian.solve(active, rhs), rhs, atol=1e-6)
        np.testing.assert_allclose(np.tril(hessian.H), np.tril(expected), rtol=1e-10, atol=1e-9 * (1.0 + C))


@pytest.mark.parametrize("order", ["mixed", "sorted", "one class first"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_some_samples_tell_where_to_start(order, C):
    """From the minimizer of every eighth sample few Newton steps remain, whatever the order of the samples."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8000, 5))
    y = np.sign(X @ rng.normal(size=5) + rng.normal(size=8000))
    at = {"mixed": np.arange(8000), "sorted": np.argsort(X[:, 0]), "one class first": np.argsort(y, kind="stable")}
    X, y = X[at[order]], y[at[order]]
    dual = squares_of(X, y, C)
    assert primal_newton.start(dual).any()
    answer = primal_newton.minimize_losses(dual, 1e-9, never, [])
    assert answer.converged and answer.passes <= 8
    model = LinearSVC(C).fit(X, y)
    assert objective(model, X, y, C) == pytest.approx(model.objective_, rel=1e-9)
    assert model.objective_ - model.dual_objective_ <= 1e-8 * (1.0 + model.objective_)


def test_the_hessian_is_formed_where_that_is_less_work():
    assert primal_newton.is_formed(np.empty((5000, 50))) and not primal_newton.is_formed(np.empty((5000, 3000)))
    sparse = random_sparse((3000, 2000), density=0.005, rng=np.random.default_rng(0), format="csr")
    assert primal_newton.is_formed(sparse[:, :20].tocsr()) and not primal_newton.is_formed(sparse)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_a_descent_ends_where_the_conditions_hold_and_newton_steps_from_there(epsilon):
    X, y = tube()
    dual = Dual(X, 1.0, y - y.mean(), epsilon, np.ones(80), np.full(80, -0.4), np.full(80, 0.4))
    state, goal = coordinates_of(dual, 0), 1e-4
    assert 1 < descend(state, goal, 500) < 500
    rough = dual.measured(state.beta.copy(), 0)
    beta, slope = rough.beta, dual.q - dual.scores(rough.w) - rough.beta
    low = np.where(beta == -0.4, -np.inf, np.where(beta > 0.0, epsilon, -epsilon))
    high = np.where(beta == 0.4, np.inf, np.where(beta < 0.0, -epsilon, epsilon))
    assert (slope >= low - 2.0 * goal).all() and (slope <= high + 2.0 * goal).all()
    free = Dual(X, 1.0, y - y.mean(), 0.0, np.full(80, 5.0), np.full(80, -np.inf), np.full(80, np.inf))
    assert 1 < descend(coordinates_of(free, 0), goal, 500) < 500  # no sample is dropped during descent
    found = take_newton_steps(dual, rough, 1e-13)
    assert found.gap < 1e-3 * rough.gap and found.objective == pytest.approx(found.dual_objective, rel=1e-12)


@pytest.mark.parametrize("step, expected", [
    ([1.0, -2.0, 0.0], [0.5, 0.0, 0.0]), ([4.0, 1.0, 0.0], [1.0, 1.25, 0.0]), ([0.1, 0.1, 0.0], [0.1, 1.1, 0.0]),
    ([-1.0, 1.0, 0.0], [0.0, 1.0, 0.0]), ([8.0, 8.0, 1.0], [0.0, 1.0, 0.0]),
])  # fmt: skip
def test_a_step_ends_exactly_at_the_first_bound(step, expected):
    low, high = np.zeros(3), np.array([1.0, 3.0, 0.0])
    found = _to_the_first(np.array([0.0, 1.0, 0.0]), np.array(step), low, high)
    np.testing.assert_array_equal(found, expected)
