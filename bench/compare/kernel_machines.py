"""Kernel machines compared with LIBSVM, which is scikit-learn's SVC and SVR, at its own tolerance and at a tight one.

Ours has one tolerance, its own.  Both dual objectives are evaluated in float64, from the coefficients alone; an answer
is wrong if it is more than `WORSE` behind the better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from models import SVC, SVCCV, SVR
from models.base.multiclass import stratified_folds

from .linear import scaled
from .pairs import Comparison, Pair, shortest

Data = tuple[np.ndarray, np.ndarray]
LOOSE, TIGHT = 1e-3, 1e-8  # tolerances of LIBSVM
WORSE = 1e-6  # largest accepted excess of our dual objective over the least, relative
FLIPPED = 2e-3  # largest accepted deficit of our mean score: LIBSVM's tolerance may flip such a share of samples
CS = np.logspace(-2.0, 3.0, 20)  # values of C on a path
AT_ONCE = 256  # rows of the kernel matrix in a block


def data_sets() -> dict[str, tuple[Callable[[], Data], Sequence[tuple[str, float]]]]:
    """Return by name a function that loads samples, and the kernels with LIBSVM's tolerances."""
    both = [(kernel, tol) for kernel in ("rbf", "poly") for tol in (LOOSE, TIGHT)]
    sets: dict[str, tuple[Callable[[], Data], Sequence[tuple[str, float]]]] = {}
    for size in (200, 500, 1000, 2000, 5000, 10000):
        sets[f"many vectors {size}"] = (partial(many_vectors, size), both)
        sets[f"few vectors {size}"] = (partial(few_vectors, size), both)
        sets[f"regression {size}"] = (partial(curve, size), [("rbf", LOOSE)])
    for size in (1000, 5000):
        sets[f"rings {size}"] = (partial(rings, size), [("rbf", LOOSE), ("rbf", TIGHT)])
        sets[f"linear {size}"] = (partial(many_vectors, size), [("linear", LOOSE)])
    sets["digits"] = (partial(scaled, "load_digits"), [("rbf", LOOSE), ("poly", LOOSE)])
    for size in (300, 1000, 3000):
        sets[f"path {size}"] = (partial(many_vectors, size), [("rbf", LOOSE)])
    sets["few vectors 50000"] = (partial(few_vectors, 50000), [("rbf", LOOSE)])
    return sets


def measure(name: str, X: np.ndarray, y: np.ndarray, kernel: Any, tol: float) -> Pair:
    """Return the pair of one machine, fitted by us and by LIBSVM; objectives are compared for two classes alone."""
    from sklearn import svm

    if name.startswith("path"):
        return measure_path(name, X, y, kernel, tol)
    regression = name.startswith("regression")
    ours, theirs = (SVR, svm.SVR) if regression else (SVC, svm.SVC)
    seconds, found = shortest(lambda: ours(kernel=kernel).fit(X, y))
    libsvm_seconds, other = shortest(lambda: theirs(kernel=kernel, tol=tol).fit(X, y))
    errors = np.nan, np.nan
    if found.dual_coef_.shape[0] == 1:
        objectives = [dual_objective(machine, found.kernel_, X, y, regression) for machine in (found, other)]
        least = min(objectives)
        errors = (objectives[0] - least) / abs(least), (objectives[1] - least) / abs(least)
    machine = "SVR" if regression else "SVC"
    return _pair(f"{name}, {machine} {kernel}", X, tol, seconds, libsvm_seconds, errors, WORSE, found)


def measure_path(name: str, X: np.ndarray, y: np.ndarray, kernel: Any, tol: float) -> Pair:
    """Return the pair of choosing C among `CS` by 5 folds, compared with LIBSVM fitted to each fold for each C.

    The errors are the largest deficits of the mean accuracy on held-out samples at any C.
    """
    from sklearn.model_selection import GridSearchCV, PredefinedSplit
    from sklearn.svm import SVC as LIBSVM

    seconds, found = shortest(lambda: SVCCV(CS, kernel).fit(X, y))
    places = np.empty(y.size, dtype=int)
    for f, held_out in enumerate(stratified_folds(np.unique(y, return_inverse=True)[1])):
        places[held_out] = f
    machine = LIBSVM(kernel=kernel, gamma=found.kernel_.gamma, tol=tol)
    search = GridSearchCV(machine, {"C": CS}, cv=PredefinedSplit(places))
    libsvm_seconds, other = shortest(lambda: search.fit(X, y))
    ahead = other.cv_results_["mean_test_score"] - found.scores_.mean(axis=1)
    errors = max(float(ahead.max()), 0.0), max(float(-ahead.min()), 0.0)
    return _pair(f"{name}, SVCCV {kernel}", X, tol, seconds, libsvm_seconds, errors, FLIPPED, found)


def _pair(
    job: str,
    X: np.ndarray,
    tol: float,
    seconds: float,
    other: float,
    errors: tuple[float, float],
    limit: float,
    found: Any,
) -> Pair:
    size, note = " x ".join(map(str, X.shape)), f"{found.support_.size} support vectors"
    return Pair(job, size, f"LIBSVM, {tol:g}", seconds, other, *errors, is_wrong=errors[0] > limit, note=note)


def dual_objective(machine: Any, kernel: Any, X: np.ndarray, y: np.ndarray, regression: bool) -> float:
    """Return 1/2 b'Kb - |b|_1 of a classifier, 1/2 b'Kb + epsilon |b|_1 - y'b of a regression, in float64."""
    b, at = machine.dual_coef_[0], machine.support_
    blocks = [slice(i, i + AT_ONCE) for i in range(0, at.size, AT_ONCE)]
    quadratic = 0.5 * sum(float(b[part] @ (kernel(X[at[part]], X[at]) @ b)) for part in blocks)
    size = float(np.abs(b).sum())
    return quadratic + machine.epsilon * size - float(y[at] @ b) if regression else quadratic - size


def many_vectors(size: int) -> Data:
    """Return two noisy classes in 20 features, about half of the samples support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(size, 20))
    f = X[:, :5].sum(axis=1) + 0.5 * (X[:, 5:8] ** 2).sum(axis=1) - 1.5
    return X, np.where(f + rng.normal(size=size) > 0.0, 1, -1)


def few_vectors(size: int) -> Data:
    """Return two classes in 20 features that are mostly separated."""
    rng = np.random.default_rng(2)
    y = np.where(rng.random(size) < 0.5, 1, -1)
    X = rng.normal(size=(size, 20))
    X[:, 0] += 2.2 * y
    return X, y


def rings(size: int) -> Data:
    """Return two noisy rings in the plane."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(size) < 0.5, 1, -1)
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, size), np.where(y > 0, 1.0, 2.0) + 0.3 * rng.normal(size=size)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def curve(size: int) -> Data:
    """Return samples of a noisy function of ten features."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(size, 10))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=size)


def _measured(name: str) -> Iterator[Pair]:
    load, cases = data_sets()[name]
    X, y = load()
    for kernel, tol in cases:
        yield measure(name, X, y, kernel, tol)


COMPARISON = Comparison({name: partial(_measured, name) for name in data_sets()}, needs="libsvm")
