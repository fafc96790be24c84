"""Support vector classification beside LIBSVM and an oracle: agreement and time, as a Markdown table.

LIBSVM is scikit-learn's SVC at tol 1e-6.  The oracle is Clarabel at 1e-10, on the primal program of a linear kernel
(so that its minimum checks our maximum) and on the dual of the others.  Times are seconds of the processor for `fit`,
the best of some runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import qp
from models import SVC
from models.programs.margins import primal_program

from .. import peers
from ..answers.verify import verify
from ..programs import generate
from ..programs.sets import DataError, chosen

Data = tuple[np.ndarray, np.ndarray]
LIBSVM_TOL = 1e-6
ORACLE_TOL = 1e-10
LONG_ENOUGH = 1.0  # seconds after which a time is not measured again
KERNELS = ("linear", "poly", "rbf")


@dataclass(frozen=True)
class Row:
    """One machine on one set of data.

    Attributes
    ----------
    data, points, features, kernel, C
        What was asked.
    form : str
        The program that we solved: "dual", "dual, low rank" or "primal".
    iterations : int
    seconds, libsvm_seconds, oracle_seconds : float
    decisions : float
        The largest difference of the decision values from LIBSVM's.
    behind : float
        How far LIBSVM's dual objective is below the oracle's, relative.
    objective : float
        The relative difference of our objective from the oracle's; NaN without an oracle.
    """

    data: str
    points: int
    features: int
    kernel: str
    C: float
    form: str
    iterations: int
    seconds: float
    libsvm_seconds: float
    oracle_seconds: float
    decisions: float
    behind: float
    objective: float


def data_sets() -> dict[str, tuple[Callable[[], Data], Sequence[tuple[str, float]]]]:
    """By name: how to get the samples, and which kernels and C are asked for."""
    every = [(kernel, 1.0) for kernel in KERNELS]
    sets: dict[str, tuple[Callable[[], Data], Sequence[tuple[str, float]]]] = {
        "breast cancer": (lambda: _scaled(_bundled("load_breast_cancer")), [*every, ("linear", 0.1), ("linear", 10.0)]),
        "breast cancer, raw": (lambda: _bundled("load_breast_cancer"), [("linear", 1.0)]),
        "wine, 2 classes": (lambda: _scaled(_bundled("load_wine", (0, 1))), every),
    }
    for pair in ((1, 7), (3, 8), (4, 9)):
        sets[f"digits {pair[0]}-{pair[1]}"] = (partial(_bundled, "load_digits", pair), every)
    sets["digits, even or odd"] = (_even_or_odd, [("linear", 1.0)])
    for size in (500, 1000, 2000, 5000):
        sets[f"generated {size}"] = (partial(_generated, size), [("linear", 1.0)])
    return sets


def run(only: str | None = None) -> Iterator[Row]:
    """The rows of the table one after the other, those whose data match `only` (see `sets.matches`).

    Raises
    ------
    DataError
        No data match; or scikit-learn, which has LIBSVM and the data, is not installed.
    """
    wanted = chosen(data_sets(), only, "data")
    if not peers.is_installed("libsvm"):
        raise DataError("the table needs scikit-learn, for LIBSVM and the data: install the extra 'bench'")
    return _rows(wanted)


def _rows(names: Sequence[str]) -> Iterator[Row]:
    known = data_sets()
    for name in names:
        load, cases = known[name]
        X, y = load()
        for kernel, C in cases:
            yield measure(name, X, y, kernel, C)


def measure(name: str, X: np.ndarray, y: np.ndarray, kernel: Any, C: float) -> Row:
    """One row."""
    from sklearn.svm import SVC as LibSVM

    seconds, ours = _best(lambda: SVC(C=C, kernel=kernel).fit(X, y))
    libsvm_seconds, theirs = _best(lambda: LibSVM(C=C, kernel=kernel, tol=LIBSVM_TOL).fit(X, y))
    oracle_seconds, reference = _oracle(ours, X, y)
    objective = abs(ours.solution_.objective)
    found = _dual_objective(theirs.dual_coef_[0], ours.kernel_.gram(X[theirs.support_]))
    best = reference if np.isfinite(reference) else objective
    apart = np.abs(ours.decision_function(X) - theirs.decision_function(X)).max()
    return Row(
        data=name, points=X.shape[0], features=X.shape[1], kernel=kernel, C=C, form=_form(ours),
        iterations=ours.n_iter_, seconds=seconds, libsvm_seconds=libsvm_seconds, oracle_seconds=oracle_seconds,
        decisions=float(apart), behind=(best - found) / best, objective=abs(objective - reference) / best,
    )  # fmt: skip


def markdown(rows: Sequence[Row]) -> str:
    """The table."""
    lines = [
        "| data | points x features | kernel | C | form | iterations | ms | LIBSVM ms | times as fast "
        "| decision values apart | LIBSVM behind | objective apart from Clarabel | Clarabel ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row.data} | {row.points} x {row.features} | {row.kernel} | {row.C:g} | {row.form} | {row.iterations} "
            f"| {1e3 * row.seconds:.1f} | {1e3 * row.libsvm_seconds:.1f} | {row.libsvm_seconds / row.seconds:.2g} "
            f"| {row.decisions:.1e} | {max(row.behind, 0.0):.0e} | {_number(row.objective, '.0e')} "
            f"| {_number(1e3 * row.oracle_seconds, '.0f')} |"
        )
    return "\n".join(lines)


def _number(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "-"


def _best(fit: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of at least two runs and at most ten, as many as fit into a second or so, and what came of it."""
    best, spent = np.inf, 0.0
    for _ in range(10):
        start = time.process_time()
        machine = fit()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > LONG_ENOUGH and best < np.inf:
            break
    return best, machine


def _oracle(ours: SVC, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Clarabel's seconds and objective; NaN when it is not installed or did not verify."""
    if not peers.is_installed("clarabel"):
        return np.nan, np.nan
    program = ours.program_
    if ours.kernel_.is_linear:
        signs = np.where(y == ours.classes_[1], 1.0, -1.0)
        program = primal_program(X, signs, np.full(y.size, float(ours.C)), True)
    if isinstance(program.P, qp.KernelMatrix):
        program = program.with_full_hessian()
    start = time.process_time()
    answer = peers.solve("clarabel", program, ORACLE_TOL)
    took = time.process_time() - start
    found = verify(program, answer.x, answer.y, answer.z)
    if answer.x is None or not found.solved(LIBSVM_TOL):
        return took, np.nan
    return took, abs(found.objective)


def _dual_objective(coefficients: np.ndarray, K: np.ndarray) -> float:
    return float(np.abs(coefficients).sum() - 0.5 * coefficients @ K @ coefficients)


def _form(machine: SVC) -> str:
    if machine.program_.m == machine.program_.n - machine.n_features_in_ - 1:
        return "primal"
    return "dual, low rank" if isinstance(machine.program_.P, qp.LowRank) else "dual"


def _bundled(loader: str, classes: tuple[int, ...] | None = None) -> Data:
    """Samples that scikit-learn carries; those of some classes only when these are given."""
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, loader)(return_X_y=True)
    rows = np.ones(y.size, dtype=bool) if classes is None else np.isin(y, classes)
    return (X[rows] / 16.0 if loader == "load_digits" else X[rows]), y[rows]


def _generated(size: int) -> Data:
    return generate.two_classes(np.random.default_rng(0), size)


def _even_or_odd() -> Data:
    X, y = _bundled("load_digits")
    return X, y % 2


def _scaled(data: Data) -> Data:
    X, y = data
    return (X - X.mean(axis=0)) / X.std(axis=0), y
