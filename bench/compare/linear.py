"""Linear machines compared with LIBLINEAR and the solvers of scikit-learn's logistic regression, as a Markdown table.

The objectives are computed here, in float64, from the weights that each returns.  The other runs at its default
tolerance or at several; our target gap is at most the relative distance of the other's objective from the best one
known, so that ours never has the easier task.  Logistic regressions are compared at equal gradient: ours with the
fastest run of any of scikit-learn's solvers whose gradient is at most ours, or else with their smallest gradient.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from models import LinearSVC, LinearSVR, LogisticRegression

from .. import peers
from ..programs import generate, learning
from ..programs.sets import DataError, chosen
from .tables import markdown_heads, markdown_row

Data = tuple[Any, np.ndarray]
PRECISE = 1e-11  # `tol` of the reference solution, a relative duality gap
LEAST = 1e-10  # lower limit of the other's relative error
TOLS = (1e-4, 1e-6, 1e-8)  # tolerances of scikit-learn's logistic regression
LOGISTIC_SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
HEADER = markdown_heads(
    "data | samples x features | machine | ms | other | its ms | share of its time | error | its error | default ms"
    " | default gap"
)
RUNS, LONG_ENOUGH = 10, 1.0  # limits of repeated timing: number of fits, seconds in total
MOST_FACTORED = 2000  # largest number of features for newton-cholesky


@dataclass(frozen=True)
class Row:
    """One machine on one set of data."""

    data: str
    machine: str
    samples: int
    features: int
    seconds: float
    other_seconds: float
    # error, other_error: relative distance of the objective from the best known one (support vector machines), or the
    # largest entry of the gradient (logistic regression)
    error: float
    other_error: float
    other: str  # name of the other solver, with its tolerance
    # default_seconds, default_gap: our time at the default tolerance, and the certified relative gap
    default_seconds: float
    default_gap: float
    is_wrong: ClassVar[bool] = False

    def line(self) -> str:
        """Return the row of the table in Markdown."""
        share, size = f"{self.seconds / self.other_seconds:.2f}", f"{self.samples} x {self.features}"
        ours, its, default = (f"{1e3 * s:.1f}" for s in (self.seconds, self.other_seconds, self.default_seconds))
        errors = (f"{error:.0e}" for error in (self.error, self.other_error))
        gap = f"{max(self.default_gap, 0.0):.0e}"
        return markdown_row(self.data, size, self.machine, ours, self.other, its, share, *errors, default, gap)


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


def run(only: str | None = None) -> Iterator[Row]:
    """Yield the rows of the data whose names match `only` (see `sets.matches`)."""
    wanted = chosen(list(data_sets()), only, "data")
    if not peers.is_installed("libsvm"):
        raise DataError("the comparison needs scikit-learn, for LIBLINEAR and the data: install the extra 'bench'")
    for name in wanted:
        X, y = data_sets()[name]()
        yield from measure(name, X, y)


def summary(rows: Sequence[Row]) -> str:
    """Return the geometric mean and the largest of the shares of the others' time, as text."""
    shares = np.array([row.seconds / row.other_seconds for row in rows])
    return f"{np.exp(np.log(shares).mean()):.2f} of the others' time in the geometric mean, {shares.max():.2f} at most"


def measure(name: str, X: Any, y: np.ndarray) -> Iterator[Row]:
    """Yield the rows of all machines on one set of data; support vector machines only if it has two classes."""
    if np.unique(y).size == 2:
        signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
        for loss in ("hinge", "squared_hinge"):
            yield _support_vectors(name, X, signs, loss)
        for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            yield _support_vectors(name, X, signs + 0.1 * np.cos(np.arange(y.size)), loss)
    yield _logistic(name, X, y)


def shortest(fit: Callable[[], Any], least: int = 1) -> tuple[float, Any]:
    """Return the shortest processor time of at least `least` fits, as many as fit into a second, and the last model."""
    times: list[float] = []
    while len(times) < min(least, RUNS) or (len(times) < RUNS and sum(times) <= LONG_ENOUGH):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit()
        times.append(time.process_time() - begin)
    return min(times), model


def objective(X: Any, y: np.ndarray, loss: str, w: np.ndarray, b: float, epsilon: float) -> float:
    """Return 1/2 |w|^2 + b^2 / 2 + the sum of the losses."""
    scores = np.asarray(X @ w) + b
    losses = np.maximum(1.0 - y * scores if "hinge" in loss else np.abs(y - scores) - epsilon, 0.0)
    return float(0.5 * (w @ w + b * b) + (losses**2 if "squared" in loss else losses).sum())


def _support_vectors(name: str, X: Any, y: np.ndarray, loss: str) -> Row:
    from sklearn import svm

    kind: Any
    kind, other_kind, epsilon = (LinearSVC, svm.LinearSVC, 0.0) if "hinge" in loss else (LinearSVR, svm.LinearSVR, 0.1)
    shape = int(X.shape[0]), int(X.shape[1])
    more: dict[str, Any] = {} if "hinge" in loss else {"epsilon": epsilon}

    def value(model: Any) -> float:
        return objective(X, y, loss, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), epsilon)

    exact = kind(loss=loss, tol=PRECISE, max_iter=10000, **more).fit(X, y)
    other_seconds, other = shortest(lambda: other_kind(loss=loss, dual=True, random_state=0, **more).fit(X, y), 2)
    least = min(value(exact), value(other))
    other_error = max((value(other) - least) / (1.0 + least), LEAST)
    seconds, ours = shortest(lambda: kind(loss=loss, tol=other_error, **more).fit(X, y), 2)
    default_seconds, default = shortest(lambda: kind(loss=loss, **more).fit(X, y), 2)
    return Row(
        name, f"{kind.__name__}, {loss}", shape[0], shape[1], seconds, other_seconds,
        (value(ours) - least) / (1.0 + least), other_error,
        "LIBLINEAR, its default", default_seconds, default.solution_.gap,
    )  # fmt: skip


def _logistic(name: str, X: Any, y: np.ndarray) -> Row:
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
    samples, features = map(int, X.shape)
    times = (seconds, other_seconds, error, other_error, which, default_seconds, gap)
    return Row(name, "LogisticRegression", samples, features, *times)


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
