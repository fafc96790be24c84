"""More than two classes by machines for two: one against the rest, or one against one with votes.

One against one has a machine for every pair (i, j), i < j, positive for class i; each machine gives one vote, and the
class with the most votes wins.  A tie goes to the first class or, if ties are broken, to the largest sum of
decision values.  One against the rest has a machine for each class; the largest decision value wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np

from socp.problem.checks import as_scalar

from .validation import check_number

Scheme = Literal["ovo", "ovr"]


def two_class_problems(codes: np.ndarray, classes: int, scheme: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows, signs) of every two-class problem; for two classes it is one, with sign +1 for the second class.

    `codes` are the class numbers of all samples, from 0.
    """
    if classes == 2:
        yield np.arange(codes.size), np.where(codes == 1, 1.0, -1.0)
    elif scheme == "ovr":
        for k in range(classes):
            yield np.arange(codes.size), np.where(codes == k, 1.0, -1.0)
    else:
        for i, j in combinations(range(classes), 2):
            rows = np.flatnonzero((codes == i) | (codes == j))
            yield rows, np.where(codes[rows] == i, 1.0, -1.0)


def spread(values: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    """Return a vector of length `size` with `values` at the indices `at` and zeros elsewhere."""
    found = np.zeros(size, dtype=values.dtype)
    found[at] = values
    return found


def stratified_folds(codes: np.ndarray, folds: int = 5) -> list[np.ndarray]:
    """Return the indices of each stratified fold, at most `folds` and at most as many as samples of any class."""
    folds = min(folds, int(np.bincount(codes).min()))
    if folds < 2:
        raise ValueError("cross-validation needs at least two samples of every class")
    dealt = np.empty(codes.size, dtype=np.int64)
    for k in np.unique(codes):
        at = np.flatnonzero(codes == k)
        dealt[at] = np.arange(at.size) % folds
    return [np.flatnonzero(dealt == f) for f in range(folds)]


def votes(decisions: np.ndarray, classes: int) -> np.ndarray:
    """Return, one column per class, its votes plus the sum of its decision values mapped into (-1/3, 1/3)."""
    sums = pair_sums(decisions, classes)
    return pair_sums(decisions >= 0.0, classes, ~(decisions >= 0.0)) + sums / (3.0 * (np.abs(sums) + 1.0))


def pair_sums(for_first: np.ndarray, classes: int, for_second: np.ndarray | None = None) -> np.ndarray:
    """Return, one column per class k, `for_first` summed over pairs (k, j) plus `for_second` over pairs (i, k)."""
    for_second = -for_first if for_second is None else for_second
    sums = np.zeros((for_first.shape[0], classes))
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        sums[:, i] += for_first[:, k]
        sums[:, j] += for_second[:, k]
    return sums


def scores(decisions: np.ndarray, classes: int, scheme: str, shape: str = "ovr") -> np.ndarray:
    """Return the decision function: a vector for two classes, else one column per class or, by `shape`, per pair."""
    if classes == 2:
        return decisions[:, 0]
    return votes(decisions, classes) if scheme == "ovo" and shape == "ovr" else decisions


def winners(decisions: np.ndarray, classes: int, scheme: str, break_ties: bool = False) -> np.ndarray:
    """Return the class code of every sample, given the decision values of all machines, one column each."""
    if classes > 2 and scheme == "ovo" and not break_ties:
        return pair_sums(decisions > 0.0, classes, ~(decisions > 0.0)).argmax(axis=1)
    return predicted(scores(decisions, classes, scheme))


def class_scores(values: np.ndarray) -> np.ndarray:
    """Return the decision function of `values`, one column per class: for two classes, the second minus the first."""
    return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values


def predicted(values: np.ndarray) -> np.ndarray:
    """Return the class code of every sample, given `scores`: by the sign, or the column of the largest value."""
    return (values > 0.0).astype(np.int64) if values.ndim == 1 else values.argmax(axis=1)


def class_weights(class_weight: Any, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weight of every class: 1 for None, as given, or if "balanced" samples / (classes * class's samples).

    A sample of weight w counts as w samples.
    """
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight must be None, 'balanced' or a dict, but {class_weight!r} came")
        sizes = np.bincount(codes, weights, classes.size)
        return weights.sum() / (classes.size * np.where(sizes > 0.0, sizes, np.inf))
    if not hasattr(class_weight, "items"):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, but {class_weight!r} came")
    found = np.ones(classes.size)
    unnamed = [label for label in classes.tolist() if label not in class_weight]
    for label, weight in class_weight.items():
        at = np.flatnonzero(classes == label)
        if at.size == 0 and unnamed:  # a typo; if all classes of y are named, y merely lacks this one
            raise ValueError(f"class_weight names {label!r}, which is not in y, and does not name {unnamed}")
        if not np.isfinite(weight) or weight <= 0.0:
            raise ValueError(f"class_weight[{label!r}] must be a positive number, but {weight!r} came")
        found[at] = weight
    return found


def check_classes_left(classes: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
    """Raise ValueError if the weights leave no sample of a class."""
    gone = np.bincount(codes, weights, classes.size) == 0.0
    if gone.any():
        raise ValueError(f"sample_weight is zero for every sample of the classes {classes[gone].tolist()}")


def best_of(scores: np.ndarray) -> int:
    """Return the candidate with the best mean score, shape (candidates, folds); of equally good ones the first."""
    return int(scores.mean(axis=1).round(12).argmax()) if scores.shape[1] else 0


def folds_of(cv: Any, codes: np.ndarray, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (train, test) of each fold as indices of samples; `test` holds samples of positive weight."""
    used, cv = np.flatnonzero(weights > 0.0), as_scalar(cv)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        held_out = stratified_folds(codes[used], check_number("cv", cv, 2, whole=True))
        return [(np.delete(used, places), used[places]) for places in held_out]
    try:
        places = np.arange(codes.size)
        folds = [(places[np.asarray(train)], places[np.asarray(test)]) for train, test in cv]
    except (TypeError, ValueError, IndexError) as error:
        what = f"a number of folds or pairs (train, test) of places among {codes.size} samples"
        raise ValueError(f"cv must be {what}, but {cv!r} came") from error
    folds = [(train, test[weights[test] > 0.0]) for train, test in folds]
    if not folds or any(test.size == 0 for _, test in folds):
        raise ValueError("cv must have folds, and each must hold out samples whose weight is not zero")
    return folds
