"""Support vector machines of related tasks, learned together."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

import qp

from ..base.estimator import Classifier
from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import Positive, fitted, parameters
from ..base.validation import as_dense, as_weights, check_same_length
from ..kernels.kernel import Kernel, KernelChoice, make_kernel
from ..kernels.samples import centered
from ..margins.dual import MarginDual, sort_out
from ..margins.machines import intercept_of
from ..margins.margin import low_rank_pays, product_of
from ..margins.multipliers import KINDS
from ..margins.parameters import KernelParameters
from ..programs.tasks import multi_task_dual, of_tasks


@parameters
class MultiTaskSVC(Classifier, KernelParameters, WeightParameters, EngineParameters):
    r"""Regularized multi-task learning (Evgeniou and Pontil 2004; (5.3)-(5.5) of Epshteyn and DeJong 2006).

    Task t has its own classifier w_t'x + b_t; all w_t are kept near a common w_0:

    .. math::
        \min_{w_0, w_t, b_t, \xi}\; \sum_t \sum_{i=1}^{m(t)} \xi_{it}
        + \frac{C_1}{C_2} \sum_t \|w_t - w_0\|^2 + C_1 \|w_0\|^2

        \text{s.t. } y_{it} (w_t^\top x_{it} + b_t) \ge 1 - \xi_{it},\; \xi_{it} \ge 0

    With v_t = w_t - w_0 this is one support vector machine in (w_0, v_1, ..., v_T); its dual is a single quadratic
    program with the multi-task kernel

    .. math::
        k\bigl((x, s), (x', t)\bigr) = \frac{1 + C_2 [s = t]}{2 C_1}\, k(x, x'),

        \min_\alpha\; \tfrac12 \sum \alpha_i \alpha_j y_i y_j k_{ij} - 1^\top\alpha
        \quad\text{s.t. } \sum_{i \in t} \alpha_i y_i = 0 \text{ for every task } t,\; 0 \le \alpha \le 1

        w_0 = \frac{1}{2 C_1} \sum_i \alpha_i y_i x_i, \qquad
        w_t = w_0 + \frac{C_2}{2 C_1} \sum_{i \in t} \alpha_i y_i x_i

    C_2 -> 0 makes all w_t equal; a large C_2 lets the tasks go their own ways.

    Parameters
    ----------
    C1
        Weight of the regularization: a larger C1 makes f flatter (the C of `models.SVC` is 1 / (2 C_1)).
    C2
        Freedom of the tasks to differ from w_0; the default is from the paper's experiments.
    task_column
        Column of X that holds the task, a number; for pipelines and searches, in which `tasks` cannot be passed to
        `fit` and `predict`.

    Attributes
    ----------
    tasks_ : array
        Sorted tasks; [0] if none were given.
    common_coef_ : array, shape (features,)
        w_0; only for the linear kernel.
    coef_ : array, shape (tasks, features)
        w_t of each task; only for the linear kernel.
    intercept_ : array, shape (tasks,)
        b_t of each task.  In a task with one class all alpha are zero, and b_t is the finite end of its interval.
    support_ : array of int
        Indices of the samples with alpha_i > 0.
    support_vectors_ : array or CSR
        Features of the support vectors.
    support_tasks_ : array of int
        Task of every support vector, as an index into `tasks_`.
    support_kinds_ : array of str
        Kind of every support vector, see `models.SVC`.
    dual_coef_ : array, shape (vectors,)
        alpha_i y_i of every support vector.

    Examples
    --------
    >>> from models import MultiTaskSVC
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.2], [0.0, 1.0], [0.0, -1.0]])
    >>> y, tasks = [1, 0, 1, 1, 0], ["a", "a", "a", "b", "b"]
    >>> machine = MultiTaskSVC(C1=0.1, C2=1.0).fit(X, y, tasks=tasks)
    >>> machine.coef_.round(3), machine.common_coef_.round(3)
    (array([[1. , 0.5],
           [0.5, 1. ]]), array([0.5, 0.5]))
    >>> machine.predict([[0.5, -0.5], [0.5, -0.5]], tasks=["a", "b"])
    array([1, 0])
    """

    _takes_sparse = True
    _multiclass = False

    C1: Positive = 1.0
    C2: Positive = 1000.0
    _: KW_ONLY
    kernel: KernelChoice = "linear"
    task_column: int | None = None

    kernel_: Kernel = fitted()
    tasks_: np.ndarray = fitted()
    common_coef_: np.ndarray = fitted()
    coef_: np.ndarray = fitted()
    intercept_: np.ndarray = fitted()
    program_: qp.QuadraticProgram = fitted()
    solution_: qp.Solution = fitted()
    support_: np.ndarray = fitted()
    support_vectors_: Any = fitted()
    support_tasks_: np.ndarray = fitted()
    support_kinds_: np.ndarray = fitted()
    dual_coef_: np.ndarray = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, tasks: Any = None) -> MultiTaskSVC:
        """Fit to samples X of all tasks with labels y, by one quadratic program.

        Parameters
        ----------
        y : array_like, shape (samples,)
            Labels of two classes that all tasks share.
        tasks : array_like, shape (samples,), optional
            The task of every sample, any labels; one task when absent.
        """
        X = self._matrix_to_fit(X, fewest=2)
        settings = self._engine_settings()
        codes = self._labels_to_fit(y, X.shape[0])
        weights, weighed = as_weights(sample_weight, X.shape[0]), self._weights_to_fit(sample_weight, codes)
        X, tasks = self._apart(X, tasks)
        rows = np.flatnonzero(weights > 0.0)
        self.tasks_, task = np.unique(tasks[rows], return_inverse=True)
        self.kernel_ = make_kernel(self.kernel, X, weights, self.gamma, self.degree, self.coef0, True)
        self._fit_samples(X[rows], np.where(codes[rows] == 1, 1.0, -1.0), task, weighed[rows], settings)
        self.support_ = rows[self.support_]
        return self

    def _apart(self, X: Any, tasks: Any) -> tuple[Any, np.ndarray]:
        """Return the features and the tasks, which are `tasks` or the column `task_column` of X."""
        if self.task_column is None:
            tasks = np.zeros(X.shape[0], dtype=np.int64) if tasks is None else np.asarray(tasks)
            if tasks.ndim != 1:
                raise ValueError(f"tasks must be a vector, but its shape is {tasks.shape}")
            check_same_length("tasks", tasks, X.shape[0])
            return X, tasks
        if tasks is not None:
            raise ValueError("tasks and task_column were both given: the tasks stand in one place")
        features, column = X.shape[1], self.task_column
        if not hasattr(column, "__index__") or not -features <= column < features or features < 2:
            raise ValueError(
                f"task_column must be one of the {features} columns of X beside others, but {column!r} came"
            )
        found = X[:, [column]]
        others = np.delete(np.arange(features), column)
        return X[:, others], as_dense(found).ravel()

    def _fit_samples(
        self, X: Any, y: np.ndarray, task: np.ndarray, weights: np.ndarray, settings: dict[str, Any]
    ) -> None:
        C1, C2, count = float(self.C1), float(self.C2), self.tasks_.size
        given, mean = X, np.zeros(X.shape[1])
        if self.kernel_.is_linear:
            X, mean = centered(X)
        if self.kernel_.is_linear and low_rank_pays(y.size, X.shape[1] * (count + 1)):
            P = product_of(y[:, None] * joint_features(X, task, count, C1, C2))
        else:
            K = self.kernel_.gram(X) * ((1.0 + C2 * (task[:, None] == task[None, :])) / (2.0 * C1))
            P = y[:, None] * K * y
        dual = MarginDual(multi_task_dual(P, y, task, weights), settings, self.kernel_.is_semidefinite)
        self._keep_answer(dual.program, dual.solve())
        kinds, alpha, gradient = sort_out(dual, self.solution_.x, self.solution_.z_bounds, self.solution_)
        coefficients, left = alpha * y, -y * gradient
        groups = [np.flatnonzero(task == t) for t in range(count)]
        self.intercept_ = np.array([intercept_of(left[at], y[at], kinds[at]) for at in groups])
        self.support_ = np.flatnonzero(alpha)
        self.n_support_ = np.array([np.count_nonzero(y[self.support_] == sign) for sign in (-1.0, 1.0)])
        self.support_vectors_ = given[self.support_]
        self.support_tasks_ = task[self.support_]
        self.support_kinds_ = KINDS[kinds[self.support_]]
        self.dual_coef_ = coefficients[self.support_]
        if self.kernel_.is_linear:
            own = np.asarray(as_dense(of_tasks(coefficients, task) @ X))
            self.common_coef_ = own.sum(axis=0) / (2.0 * C1)
            self.coef_ = self.common_coef_ + C2 / (2.0 * C1) * own
            self.intercept_ = self.intercept_ - self.coef_ @ mean

    def decision_function(self, X: Any, *, tasks: Any = None) -> np.ndarray:
        """Return w_t'x + b_t of every sample, positive for ``classes_[1]``; raise ValueError for an unknown task."""
        X, tasks = self._apart(self._matrix_to_predict(X), tasks)
        known = {label: t for t, label in enumerate(self.tasks_.tolist())}
        unknown = sorted({str(label) for label in tasks.tolist() if label not in known})
        if unknown:
            raise ValueError(f"tasks holds {', '.join(unknown)}, which fit did not see; it saw {list(known)}")
        task = np.array([known[label] for label in tasks.tolist()], dtype=np.int64)
        values = np.empty(task.size)
        for t in np.unique(task):
            at = np.flatnonzero(task == t)
            if self.kernel_.is_linear:
                values[at] = X[at] @ self.coef_[t]
            else:
                share = self.dual_coef_ * (1.0 + self.C2 * (self.support_tasks_ == t)) / (2.0 * self.C1)
                values[at] = self.kernel_(X[at], self.support_vectors_) @ share
        return values + self.intercept_[task]

    def predict(self, X: Any, *, tasks: Any = None) -> np.ndarray:
        """Return the class of every sample, by the classifier of its task."""
        values = self.decision_function(X, tasks=tasks)
        return self.classes_[(values > 0.0).astype(np.int64)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, tasks: Any = None) -> float:
        """Return the (weighted) share of samples whose label is predicted correctly."""
        return self._share_right(self.predict(X, tasks=tasks), y, sample_weight)


def joint_features(X: Any, task: np.ndarray, count: int, C1: float, C2: float) -> np.ndarray:
    """Return rows kron((1, sqrt(C_2) e_t), x) / sqrt(2 C_1) of task t; their products are the multi-task kernel."""
    X = as_dense(X)
    m, d = X.shape
    features = np.zeros((m, count + 1, d))
    features[:, 0] = X / np.sqrt(2.0 * C1)
    features[np.arange(m), 1 + task] = np.sqrt(C2 / (2.0 * C1)) * X
    return features.reshape(m, (count + 1) * d)
