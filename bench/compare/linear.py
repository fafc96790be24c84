"""Linear machines compared with LIBLINEAR and the solvers of scikit-learn's logistic regression, as a Markdown table.

The objectives are computed here, in float64, from the weights that each returns.  The other runs at its default
tolerance or at several; our target gap is at most the relative distance of the other's objective from the best one
known, so that ours never has the easier task.  Logistic regressions are compared at equal gradient: ours with the
fastest run of any of scikit-learn's solvers whose gradient is at most ours, or else with their smallest gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from models import LinearSVC, LinearSVR, LogisticRegression

from ..programs import generate, learning
from .pairs import Comparison, Pair, shortest
from .tables import seconds as with_unit

Data = tuple[Any, np.ndarray]
PRECISE = 1e-11  # `tol` of the reference solution, a relative duality gap
LEAST = 1e-10  # lower limit of the other's relative error
TOLS = (1e-4, 1e-6, 1e-8)  # tolerances of scikit-learn's logistic regression
LOGISTIC_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
MOST_FACTORED = 2000  # largest number of features for newton-cholesky


def data_sets() -> dict[str, Callable[[], Data]]:
    """Return by name a function that loads samples of two or more classes."""
    return {
        "texts 1000": lambda: _texts(1000),
        "texts 4000": lambda: _texts(4000),
        "points 1000": lambda: generate.two_classes(np.random.default_rng(0), 1000),
        "points 5000": lambda: generate.two_classes(np.random.default_rng(0), 5000),
        "dense tall": lambda: _plane(50_000, 50),
        "dense, 300 features": lambda: _plane(20_000, 300),
        "dense wide": lambda: _plane(300, 2000),
        "sparse": lambda: _plane(20_000, 5000, 0.01),
        "breast cancer": lambda: scaled("load_breast_cancer"),
        "digits": lambda: scaled("load_digits"),
    }


def measure(name: str, X: Any, y: np.ndarray) -> Iterator[Pair]:
    """Yield the pairs of all machines on one set of data; support vector machines only if it has two classes."""
    if np.unique(y).size == 2:
        signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
        for loss in ("hinge", "squared_hinge"):
            yield _support_vectors(name, X, signs, loss)
        for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            yield _support_vectors(name, X, signs + 0.1 * np.cos(np.arange(y.size)), loss)
    yield _logistic(name, X, y)


def objective(X: Any, y: np.ndarray, loss: str, w: np.ndarray, b: float, epsilon: float) -> float:
    """Return 1/2 |w|^2 + b^2 / 2 + the sum of the losses."""
    scores = np.asarray(X @ w) + b
    losses = np.maximum(1.0 - y * scores if "hinge" in loss else np.abs(y - scores) - epsilon, 0.0)
    return float(0.5 * (w @ w + b * b) + (losses**2 if "squared" in loss else losses).sum())


def _support_vectors(name: str, X: Any, y: np.ndarray, loss: str) -> Pair:
    from sklearn import svm

    kind: Any
    kind, other_kind, epsilon = (LinearSVC, svm.LinearSVC, 0.0) if "hinge" in loss else (LinearSVR, svm.LinearSVR, 0.1)
    more: dict[str, Any] = {} if "hinge" in loss else {"epsilon": epsilon}

    def value(model: Any) -> float:
        return objective(X, y, loss, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), epsilon)

    exact = kind(loss=loss, tol=PRECISE, max_iter=10000, **more).fit(X, y)
    other_seconds, other = shortest(lambda: other_kind(loss=loss, dual=True, random_state=0, **more).fit(X, y), 2)
    least = min(value(exact), value(other))
    other_error = max((value(other) - least) / (1.0 + least), LEAST)
    seconds, ours = shortest(lambda: kind(loss=loss, tol=other_error, **more).fit(X, y), 2)
    default_seconds, default = shortest(lambda: kind(loss=loss, **more).fit(X, y), 2)
    errors = (value(ours) - least) / (1.0 + least), other_error
    note = _default(default_seconds, default.solution_.gap)
    return Pair(f"{name}, {kind.__name__} {loss}", _size(X), "LIBLINEAR", seconds, other_seconds, *errors, note=note)


def _logistic(name: str, X: Any, y: np.ndarray) -> Pair:
    from sklearn.linear_model import LogisticRegression as Other

    found = []
    for solver in LOGISTIC_SOLVERS[: 3 if X.shape[1] <= MOST_FACTORED else 2]:
        for tol in TOLS:
            seconds, other = shortest(lambda: Other(solver=solver, tol=tol, max_iter=10000).fit(X, y), 2)  # noqa: B023
            found.append((seconds, _gradient(other, X, y), f"{solver}, {tol:g}"))
    rows = []
    for tol in (1e-4, 1e-6, 1e-9, LogisticRegression().tol):
        seconds, ours = shortest(lambda: LogisticRegression(tol=tol).fit(X, y), 2)  # noqa: B023
        rows.append((seconds, _gradient(ours, X, y), ours))
    default_seconds, _, default = rows[-1]
    target = min(gradient for _, gradient, _ in found)
    seconds, error, _ = min((row for row in rows if row[1] <= max(target, rows[-1][1])), key=lambda row: row[0])
    other_seconds, other_error, which = min(row for row in found if row[1] <= max(error, target))
    gap = (default.objective_ - default.dual_objective_) / (1.0 + default.objective_)
    times = (seconds, other_seconds, error, other_error)
    note = _default(default_seconds, gap)
    return Pair(f"{name}, LogisticRegression", _size(X), f"scikit-learn, {which}", *times, note=note)


def _size(X: Any) -> str:
    return f"{X.shape[0]} x {X.shape[1]}"


def _default(seconds: float, gap: float) -> str:
    """Return what is said of our default tolerance: the time, and the certified relative gap."""
    return f"by default {with_unit(seconds)}, gap {max(gap, 0.0):.0e}"


def _gradient(model: Any, X: Any, y: np.ndarray) -> float:
    """Return the largest entry of the gradient at C = 1, in magnitude."""
    R = model.predict_proba(X) - (y[:, None] == model.classes_)
    R = R[:, 1:] if R.shape[1] == 2 else R
    return float(max(np.abs(np.asarray(X.T @ R).T + model.coef_).max(), np.abs(R.sum(axis=0)).max()))


def _texts(size: int) -> Data:
    documents, labels, _ = learning.documents(np.random.default_rng(0), size)
    return sp.csr_matrix(documents), labels


def _plane(samples: int, features: int, density: float = 1.0) -> Data:
    """Return normal features, dense or sparse, with labels by the noisy sides of a plane."""
    rng = np.random.default_rng(1)
    X: Any = rng.standard_normal((samples, features))
    if density < 1.0:
        X = sp.csr_matrix(np.where(rng.random(X.shape) < density, X, 0.0))
    return X, np.where(X @ rng.standard_normal(features) + 2.0 * rng.standard_normal(samples) > 0.0, 1, -1)


def scaled(loader: str) -> Data:
    """Return samples of scikit-learn, digits divided by 16 and others standardized."""
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, loader)(return_X_y=True)
    return (X / 16.0 if loader == "load_digits" else (X - X.mean(axis=0)) / X.std(axis=0)), y


def _measured(name: str) -> Iterator[Pair]:
    X, y = data_sets()[name]()
    yield from measure(name, X, y)


COMPARISON = Comparison({name: partial(_measured, name) for name in data_sets()}, needs="libsvm")
