"""How good a classifier is: rates, thresholds, ROC, accuracy by coverage, paired tests, learning curves.

With positives P, negatives N and those predicted as such P*, N*, each the sum of right and wrong ones (TP + FN, ...),

    true positive rate  TP / P     sensitivity, recall, power        positive predictive value  TP / P*    precision
    false positive rate FP / N     1 - specificity, type I error     negative predictive value  TN / N*
    F1  2 TP / (2 TP + FP + FN)    the harmonic mean of precision and recall
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from models.base.validation import as_labels, check_number

LEVEL = 0.95
"""Of the intervals."""


@dataclass(frozen=True)
class Rates:
    """The table of rates of a class, the positive one, against the rest; NaN is 0 / 0.

    Attributes
    ----------
    true_positives, false_positives, false_negatives, true_negatives : float
        Numbers of samples.
    """

    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float

    @property
    def sensitivity(self) -> float:
        """TP / P."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def specificity(self) -> float:
        """1 - FP / N."""
        return 1.0 - self.false_positive_rate

    @property
    def false_positive_rate(self) -> float:
        """FP / N."""
        return _ratio(self.false_positives, self.false_positives + self.true_negatives)

    @property
    def false_negative_rate(self) -> float:
        """FN / P."""
        return _ratio(self.false_negatives, self.true_positives + self.false_negatives)

    @property
    def precision(self) -> float:
        """TP / P*."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def negative_predictive_value(self) -> float:
        """TN / N*."""
        return _ratio(self.true_negatives, self.true_negatives + self.false_negatives)

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN)."""
        wrong = self.false_positives + self.false_negatives
        return _ratio(2.0 * self.true_positives, 2.0 * self.true_positives + wrong)

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        wrong = self.false_positives + self.false_negatives
        return _ratio(wrong, wrong + self.true_positives + self.true_negatives)


@dataclass(frozen=True)
class ThresholdCurve:
    """What every threshold on the score gives: positive where the score is at least the threshold.

    Attributes
    ----------
    thresholds : array, shape (points,)
        Falling, from infinity: every score that occurs.
    true_positives, false_positives : array, shape (points,)
    positives, negatives : int
    """

    thresholds: np.ndarray
    true_positives: np.ndarray
    false_positives: np.ndarray
    positives: int
    negatives: int

    @property
    def true_positive_rate(self) -> np.ndarray:
        return self.true_positives / self.positives

    @property
    def false_positive_rate(self) -> np.ndarray:
        return self.false_positives / self.negatives

    @property
    def area(self) -> float:
        """That under the ROC curve: P(score of a positive > of a negative) + half of P(they are equal)."""
        heights, widths = self.true_positive_rate, np.diff(self.false_positive_rate)
        return float(0.5 * (heights[1:] + heights[:-1]) @ widths)

    def rates(self, threshold: float) -> Rates:
        """The rates at one threshold."""
        k = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        tp, fp = float(self.true_positives[k]), float(self.false_positives[k])
        return Rates(tp, fp, self.positives - tp, self.negatives - fp)


def roc(truth: Any, scores: Any, positive: Any = None) -> ThresholdCurve:
    """The receiver operating characteristic of scores for the label `positive`, by default the last one.

    Examples
    --------
    >>> curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.area
    0.75
    >>> curve.false_positive_rate.tolist(), curve.true_positive_rate.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    >>> curve.rates(0.4).sensitivity
    0.5
    """
    truth, scores = np.asarray(truth), _as_scores("scores", scores)
    _check_lengths(truth, scores=scores)
    labels = as_labels(truth, truth.size, "roc")[0]
    is_positive = truth == labels[_position(labels, positive) if positive is not None else -1]
    order, ends = _ranked(scores)
    right = np.cumsum(is_positive[order])[ends]
    return ThresholdCurve(
        np.r_[np.inf, scores[order][ends]],
        np.r_[0, right],
        np.r_[0, ends + 1 - right],
        int(is_positive.sum()),
        int((~is_positive).sum()),
    )


@dataclass(frozen=True)
class CoverageCurve:
    """The accuracy on the samples that a classifier is most sure of, by their share.

    Attributes
    ----------
    counts : array, shape (points,)
        Rising numbers of samples, up to all of them; samples of equal confidence come together.
    right : array, shape (points,)
        How many of them are right.
    """

    counts: np.ndarray
    right: np.ndarray

    @property
    def coverage(self) -> np.ndarray:
        return self.counts / self.counts[-1]

    @property
    def accuracy(self) -> np.ndarray:
        return self.right / self.counts

    def at(self, coverage: Any) -> np.ndarray:
        """The accuracy at given coverages in (0, 1]; what is expected when samples of equal confidence are drawn."""
        count = np.asarray(coverage, dtype=np.float64) * self.counts[-1]
        return np.interp(count, np.r_[0, self.counts], np.r_[0, self.right]) / count


def accuracy_coverage(truth: Any, predicted: Any, confidence: Any) -> CoverageCurve:
    """The accuracy/coverage curve of predictions, of which a classifier is sure as `confidence` says.

    Examples
    --------
    >>> curve = accuracy_coverage([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.99, 0.6, 0.7])
    >>> curve.coverage.tolist(), curve.accuracy.tolist()
    ([0.25, 0.5, 0.75, 1.0], [1.0, 1.0, 1.0, 0.75])
    """
    truth, predicted, confidence = np.asarray(truth), np.asarray(predicted), _as_scores("confidence", confidence)
    _check_lengths(truth, predicted=predicted, confidence=confidence)
    order, ends = _ranked(confidence)
    return CoverageCurve(ends + 1, np.cumsum((truth == predicted)[order])[ends])


@dataclass(frozen=True)
class PairedTest:
    """Whether two classifiers differ.

    Attributes
    ----------
    difference : float
        The mean of the first less that of the second.
    statistic, p_value : float
        The p-value is two-sided; 1 when nothing differs.
    """

    difference: float
    statistic: float
    p_value: float


def paired_test(first: Any, second: Any, test_to_train: float = 0.0) -> PairedTest:
    """Student's paired test of two classifiers' scores on the same repeats of an experiment.

    Parameters
    ----------
    first, second : array_like, shape (repeats,)
    test_to_train : float
        When repeats are random splits of the same samples, their scores depend on each other; the variance of the mean
        is then taken as (1 / repeats + test_to_train) times that of a difference, with the ratio of the sizes of the
        test and the training set (Nadeau and Bengio 2003).

    Examples
    --------
    >>> round(paired_test([0.8, 0.9, 0.85, 0.9], [0.7, 0.8, 0.8, 0.7]).p_value, 4)
    0.0374
    """
    a, b = _as_scores("first", first), _as_scores("second", second)
    _check_lengths(a, second=b)
    d = a - b
    mean = float(d.mean())
    check_number("test_to_train", test_to_train, 0.0)
    if not d.any():
        return PairedTest(0.0, 0.0, 1.0)
    if d.size < 2:
        return PairedTest(mean, float("nan"), float("nan"))
    error = float(np.sqrt((1.0 / d.size + test_to_train) * d.var(ddof=1)))
    t = mean / error if error > 0.0 else np.copysign(np.inf, mean)
    return PairedTest(mean, float(t), float(2.0 * stats.t.sf(abs(t), d.size - 1)))


def mean_interval(values: Any, level: float = LEVEL, axis: int = 0) -> tuple[Any, Any]:
    """The mean of repeats, and how far Student's confidence interval goes to each side of it; NaN of a single one.

    Examples
    --------
    >>> mean, half = mean_interval([1.0, 2.0, 3.0])
    >>> round(float(mean), 6), round(float(half), 6)
    (2.0, 2.484138)
    """
    check_number("level", level, 0.0, 1.0)
    array = np.asarray(values, dtype=np.float64)
    count = array.shape[axis]
    mean = array.mean(axis=axis)
    if count < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, stats.t.ppf(0.5 + 0.5 * level, count - 1) * array.std(axis=axis, ddof=1) / np.sqrt(count)


@dataclass(frozen=True)
class LearningCurve:
    """Scores by the size of the training set.

    Attributes
    ----------
    sizes : array, shape (sizes,)
    scores : array, shape (repeats, sizes)
    """

    sizes: np.ndarray
    scores: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.scores.mean(axis=0)

    def interval(self, level: float = LEVEL) -> np.ndarray:
        """How far the confidence interval goes to each side of the mean."""
        return mean_interval(self.scores, level)[1]


def training_order(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random order of samples that begins with one of each class, so that any first part can train a classifier.

    Examples
    --------
    >>> import numpy as np
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
    """The order from the highest score, and the last place of each score in it: equal ones come together."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    return order, np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _position(labels: np.ndarray, label: Any) -> int:
    values = labels.tolist()
    if label not in values:
        raise ValueError(f"positive must be one of the labels {values}, but {label!r} came")
    return int(values.index(label))


def _as_scores(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any():
        raise ValueError(f"{name} must be a sequence of numbers, one a sample, but shape {array.shape} came, or NaN")
    return array


def _check_lengths(truth: np.ndarray, **others: np.ndarray) -> None:
    for name, values in others.items():
        if truth.ndim != 1 or values.shape != truth.shape or not truth.size:
            raise ValueError(
                f"{name} must be a sequence of as many entries as the first one has, shape {truth.shape}, and at least "
                f"one, but shape {values.shape} came"
            )
