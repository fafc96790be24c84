"""Quality of a classifier: rates, thresholds, ROC, accuracy by coverage, paired tests.

With positives P, negatives N, and predicted ones P*, N*, each the sum of right and wrong ones (TP + FN, ...),

    true positive rate  TP / P     sensitivity, recall, power        positive predictive value  TP / P*    precision
    false positive rate FP / N     1 - specificity, type I error     negative predictive value  TN / N*
    F1  2 TP / (2 TP + FP + FN)    the harmonic mean of precision and recall
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats


class Rates(NamedTuple):
    """Numbers of right and wrong predictions of the positive class and of the rest."""

    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float

    def named(self) -> dict[str, float]:
        """Return the rates by name; 0 / 0 is NaN."""
        tp, fp, fn, tn = self
        parts = {
            "sensitivity": (tp, tp + fn),
            "specificity": (tn, fp + tn),
            "false positive rate": (fp, fp + tn),
            "false negative rate": (fn, tp + fn),
            "precision": (tp, tp + fp),
            "negative predictive value": (tn, fn + tn),
            "f1": (2.0 * tp, 2.0 * tp + fp + fn),
            "error": (fp + fn, tp + fp + fn + tn),
        }
        return {name: part / whole if whole else float("nan") for name, (part, whole) in parts.items()}


@dataclass(frozen=True)
class ThresholdCurve:
    """Predictions at every threshold: a sample is positive if its score is at least the threshold."""

    thresholds: np.ndarray  # shape (points,): infinity, then all distinct scores, descending
    # shape (points,): numbers of true and false positives at each threshold
    true_positives: np.ndarray
    false_positives: np.ndarray

    @property
    def true_positive_rate(self) -> np.ndarray:
        return self.true_positives / self.true_positives[-1]

    @property
    def false_positive_rate(self) -> np.ndarray:
        return self.false_positives / self.false_positives[-1]

    @property
    def area(self) -> float:
        """Area under the ROC curve: P(score of a positive > of a negative) + half of P(they are equal)."""
        heights, widths = self.true_positive_rate, np.diff(self.false_positive_rate)
        return float(0.5 * (heights[1:] + heights[:-1]) @ widths)

    def rates(self, threshold: float) -> Rates:
        """Return the rates at one threshold."""
        k = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        tp, fp = float(self.true_positives[k]), float(self.false_positives[k])
        return Rates(tp, fp, float(self.true_positives[-1]) - tp, float(self.false_positives[-1]) - fp)


def roc(truth: Any, scores: Any) -> ThresholdCurve:
    """Return the receiver operating characteristic of scores for the larger of two labels.

    Examples
    --------
    >>> curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.area, curve.rates(0.4).named()["sensitivity"]
    (0.75, 0.5)
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    truth, scores = np.asarray(truth), np.asarray(scores, dtype=np.float64)
    order, ends = _ranked(scores)
    right = np.cumsum((truth == truth.max())[order])[ends]
    return ThresholdCurve(np.r_[np.inf, scores[order][ends]], np.r_[0, right], np.r_[0, ends + 1 - right])


def accuracy_at(coverages: Any, right: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return the accuracy on the samples of highest confidence, for each share of the samples in `coverages`.

    Coverages are in (0, 1].  Among samples of equal confidence, it is the expectation over a random order.

    Examples
    --------
    >>> accuracy_at([0.25, 0.5, 1.0], np.array([True, True, False, True]), np.array([0.9, 0.99, 0.6, 0.7]))
    array([1.  , 1.  , 0.75])
    """
    order, ends = _ranked(confidence)
    count = np.asarray(coverages, dtype=np.float64) * right.size
    return np.interp(count, np.r_[0, ends + 1], np.r_[0, np.cumsum(right[order])[ends]]) / count


def paired_p(differences: np.ndarray, test_to_train: float = 0.0) -> float:
    """Return the two-sided p-value of Student's paired test of two classifiers; 1 if all are equal or for one repeat.

    If repeats are random splits of one set of samples, their differences are correlated, and the variance of the mean
    is (1 / repeats + test_to_train) times the variance of a difference, where `test_to_train` is the ratio of the
    sizes of the test and the training set (Nadeau and Bengio 2003).

    Examples
    --------
    >>> round(paired_p(np.array([0.1, 0.1, 0.05, 0.2])), 4)
    0.0374
    """
    if differences.size < 2 or not differences.any():
        return 1.0
    error = float(np.sqrt((1.0 / differences.size + test_to_train) * differences.var(ddof=1)))
    t = abs(float(differences.mean())) / error if error > 0.0 else np.inf
    return float(2.0 * stats.t.sf(t, differences.size - 1))


def mean_interval(values: Any) -> tuple[Any, Any]:
    """Return the mean over the first axis, and the half width of its 95 % t interval, NaN for a single repeat.

    Examples
    --------
    >>> mean, half = mean_interval([1.0, 2.0, 3.0])
    >>> round(float(mean), 6), round(float(half), 6)
    (2.0, 2.484138)
    """
    array = np.asarray(values, dtype=np.float64)
    count, mean = array.shape[0], array.mean(axis=0)
    if count < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, stats.t.ppf(0.975, count - 1) * array.std(axis=0, ddof=1) / np.sqrt(count)


def training_order(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of samples that begins with one of each class, so that any first part can train.

    Examples
    --------
    >>> y = np.array([0] * 8 + [1])
    >>> bool(8 in training_order(y, np.random.default_rng(0))[:2])
    True
    """
    order = rng.permutation(len(y))
    first = np.unique(y[order], return_index=True)[1]
    rest = np.ones(len(y), dtype=bool)
    rest[first] = False
    return np.concatenate([order[np.sort(first)], order[rest]])


def _ranked(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order by decreasing score, and the last index in it of each distinct score."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    return order, np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])
