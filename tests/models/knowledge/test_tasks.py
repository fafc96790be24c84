"""The multi-task SVM: its limits in C_2, tasks in a column, kernels, weights, the protocol."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from models import SVC, MultiTaskSVC
from tests.support.svm_data import two_classes


def related_tasks(samples=90, features=3, seed=0):
    rng = np.random.default_rng(seed)
    tasks = np.array(["a", "b", "c"])[rng.integers(3, size=samples)]
    X = rng.normal(size=(samples, features))
    common = rng.normal(size=features)
    own = {task: common + 0.4 * rng.normal(size=features) for task in "abc"}
    y = np.array([np.sign(x @ own[t] + 0.3 * rng.normal()) for x, t in zip(X, tasks, strict=True)])
    return X, y, tasks


def test_one_task_is_a_support_vector_machine():
    X, y = two_classes()
    C1, C2 = 0.25, 3.0
    machine = MultiTaskSVC(C1=C1, C2=C2).fit(X, y)
    # w_0 and v share the one w: C_1 min(|v|^2 / C_2 + |w - v|^2) = C_1 |w|^2 / (1 + C_2)
    plain = SVC(C=(1.0 + C2) / (2.0 * C1), kernel="linear").fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), plain.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(machine.common_coef_ * (1.0 + C2), machine.coef_[0], rtol=1e-9)


def test_a_large_C2_frees_the_tasks_and_a_small_one_ties_them():
    X, y, tasks = related_tasks()
    tied = MultiTaskSVC(C1=0.5, C2=1e-8).fit(X, y, tasks=tasks)
    np.testing.assert_allclose(tied.coef_, np.broadcast_to(tied.common_coef_, (3, 3)), atol=1e-6)
    # with C_1 = C_2 / 2 the price of |v_t|^2 is 1/2, and w_0 does not help
    free = MultiTaskSVC(C1=0.5e7, C2=1e7).fit(X, y, tasks=tasks)
    for t, task in enumerate("abc"):
        alone = SVC(kernel="linear").fit(X[tasks == task], y[tasks == task])
        np.testing.assert_allclose(free.coef_[t], alone.coef_[0], atol=1e-4)
        np.testing.assert_allclose(free.intercept_[t], alone.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("C1, C2", [(1.0, 1000.0), (0.1, 1.0), (0.02, 0.1)])
@pytest.mark.parametrize("features", [3, 40])
def test_the_primal_objective_of_the_attributes_is_the_dual_one(C1, C2, features):
    """(5.3) with the least slacks of (5.4) equals the dual objective: by weak duality both are optimal."""
    X, y, tasks = related_tasks(features=features)
    machine = MultiTaskSVC(C1=C1, C2=C2).fit(X, y, tasks=tasks)
    xi = np.maximum(0.0, 1.0 - y * machine.decision_function(X, tasks=tasks))
    apart, common = machine.coef_ - machine.common_coef_, machine.common_coef_
    value = xi.sum() + C1 / C2 * (apart**2).sum() + C1 * common @ common
    assert value == pytest.approx(-machine.solution_.objective, rel=1e-6)


def test_low_rank_and_full_kernel_matrices_agree():
    X, y, tasks = related_tasks()
    linear, named = (
        MultiTaskSVC(C1=0.3, C2=2.0, tol=1e-11, kernel=kernel).fit(X, y, tasks=tasks)
        for kernel in ("linear", lambda A, B: A @ B.T)
    )
    values = linear.decision_function(X, tasks=tasks)
    np.testing.assert_allclose(named.decision_function(X, tasks=tasks), values, atol=1e-6)
    assert linear.support_kinds_.size == linear.support_.size == linear.support_tasks_.size


def test_tasks_in_a_column_work_in_searches():
    X, y, tasks = related_tasks()
    numbers = np.searchsorted(["a", "b", "c"], tasks)
    Z = np.column_stack([X[:, :1], numbers, X[:, 1:]])
    inside = MultiTaskSVC(C1=0.3, C2=2.0, task_column=1).fit(Z, y)
    beside = MultiTaskSVC(C1=0.3, C2=2.0).fit(X, y, tasks=numbers)
    np.testing.assert_array_equal(inside.decision_function(Z), beside.decision_function(X, tasks=numbers))
    np.testing.assert_array_equal(inside.predict(sp.csr_array(Z)), beside.predict(X, tasks=numbers))
    pipeline = make_pipeline(FunctionTransformer(), MultiTaskSVC(task_column=1))
    search = GridSearchCV(pipeline, {"multitasksvc__C2": [0.1, 10.0], "multitasksvc__C1": [0.1]}, cv=3).fit(Z, y)
    assert search.best_score_ > 0.8
    assert beside.score(X, y, tasks=numbers) == inside.score(Z, y)


def test_a_task_without_weight_is_none():
    X, y, tasks = related_tasks()
    machine = MultiTaskSVC(C1=0.3, C2=2.0).fit(X, y, tasks=tasks, sample_weight=tasks != "b")
    assert machine.tasks_.tolist() == ["a", "c"]


def test_a_task_of_one_class_leans_on_the_others():
    X, y, tasks = related_tasks()
    kept = (tasks != "c") | (y > 0)
    machine = MultiTaskSVC(C1=0.1, C2=1.0).fit(X[kept], y[kept], tasks=tasks[kept])
    np.testing.assert_allclose(machine.coef_[2], machine.common_coef_, atol=1e-9)
    in_c = X[kept][tasks[kept] == "c"]
    assert machine.decision_function(in_c, tasks=["c"] * len(in_c)).min() == pytest.approx(1.0)
