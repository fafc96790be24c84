"""Pictures of how good classifiers are, drawn on the axes of a `matplotlib.figure.Figure`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.metrics import Confusion, CoverageCurve, LearningCurve, ThresholdCurve

STYLES = ["-", ":", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1))]
MARKERS = "osD^vx"


def draw_roc(axes: Any, curves: Mapping[str, ThresholdCurve]) -> None:
    """ROC curves with their areas in the legend, and the line of no information."""
    for (name, curve), style in zip(curves.items(), _cycle(STYLES)):
        label = f"{name} (area {curve.area:.3f})"
        axes.plot(curve.false_positive_rate, curve.true_positive_rate, linestyle=style, label=label)
    axes.plot([0, 1], [0, 1], color="0.6", linestyle=":", linewidth=1)
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axes.legend(loc="lower right")


def draw_thresholds(axes: Any, curve: ThresholdCurve, low: float = 0.0, high: float = 0.5) -> None:
    """The overall error, and those of the positives and the negatives, against the threshold on a probability."""
    thresholds = np.linspace(low, high, 201)[1:]
    rates = [curve.rates(threshold) for threshold in thresholds]
    axes.plot(thresholds, [r.error for r in rates], "k-", label="overall error")
    axes.plot(thresholds, [r.false_negative_rate for r in rates], "b--", label="false negative rate")
    axes.plot(thresholds, [r.false_positive_rate for r in rates], ":", color="tab:orange", label="false positive rate")
    axes.set(xlabel="threshold", ylabel="error rate", xlim=(low, high), ylim=(0.0, None))
    axes.legend()


def draw_coverage(axes: Any, curves: Mapping[str, CoverageCurve], styles: Mapping[str, Any] | None = None) -> None:
    """Accuracy against coverage."""
    for (name, curve), style in zip(curves.items(), _cycle(STYLES)):
        given = {"linestyle": style} if styles is None else styles[name]
        axes.plot(curve.coverage, curve.accuracy, label=name, **given)
    axes.set(xlabel="coverage", ylabel="accuracy", xlim=(0.0, 1.0))


def draw_learning(
    axes: Any, curves: Mapping[str, LearningCurve], styles: Mapping[str, Any] | None = None, ylabel: str = "accuracy"
) -> None:
    """Mean scores against the size of the training set, with 95 % intervals of the mean."""
    for (name, curve), marker in zip(curves.items(), _cycle(MARKERS)):
        given = {"marker": marker} if styles is None else styles[name]
        axes.errorbar(curve.sizes, curve.mean, yerr=curve.interval(), capsize=2, markersize=3, label=name, **given)
    axes.set(xlabel="size of training set", ylabel=ylabel)


def draw_confusion(axes: Any, found: Confusion) -> None:
    """The confusion matrix with its numbers, shaded by the share of each true class."""
    of_class = np.maximum(found.counts.sum(axis=0), 1)
    axes.imshow(found.counts / of_class, cmap="Blues", vmin=0.0, vmax=1.0)
    places = range(found.labels.size)
    names = [str(label) for label in found.labels.tolist()]
    axes.set(xticks=places, xticklabels=names, yticks=places, yticklabels=names, xlabel="true", ylabel="predicted")
    for p in places:
        for t in places:
            dark = found.counts[p, t] > 0.5 * of_class[t]
            axes.text(t, p, f"{found.counts[p, t]:g}", ha="center", va="center", color="w" if dark else "k")


def _cycle(styles: Any) -> Any:
    while True:
        yield from styles
