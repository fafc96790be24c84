"""The pictures show what the numbers are."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from bench.experiments import drawings
from models.metrics import LearningCurve, accuracy_coverage, confusion, roc


@pytest.fixture
def axes():
    return Figure().subplots()


def test_roc(axes):
    curve = roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    drawings.draw_roc(axes, {"ours": curve})
    line = axes.lines[0]
    assert np.array_equal(line.get_xdata(), curve.false_positive_rate)
    assert np.array_equal(line.get_ydata(), curve.true_positive_rate)
    assert line.get_label() == "ours (area 0.750)" and axes.get_xlabel() == "false positive rate"


def test_thresholds(axes):
    drawings.draw_thresholds(axes, roc([0, 0, 0, 1, 1], [0.05, 0.1, 0.4, 0.3, 0.8]))
    overall, missed, alarms = (line.get_ydata() for line in axes.lines)
    at = np.searchsorted(axes.lines[0].get_xdata(), 0.35)
    assert (overall[at], missed[at], alarms[at]) == (2 / 5, 1 / 2, 1 / 3)


def test_coverage(axes):
    curve = accuracy_coverage([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.99, 0.6, 0.7])
    drawings.draw_coverage(axes, {"a": curve, "b": curve}, {"a": {"color": "r"}, "b": {"color": "k"}})
    assert [line.get_color() for line in axes.lines] == ["r", "k"]
    assert axes.lines[0].get_ydata().tolist() == [1.0, 1.0, 1.0, 0.75]


def test_learning(axes):
    curve = LearningCurve(np.array([10, 20]), np.array([[0.5, 0.8], [0.7, 0.9]]))
    drawings.draw_learning(axes, {"a": curve}, ylabel="score")
    (container,) = axes.containers
    assert np.allclose(container.lines[0].get_ydata(), [0.6, 0.85]) and axes.get_ylabel() == "score"
    low, high = container.lines[1]
    assert np.allclose(high.get_ydata() - low.get_ydata(), 2.0 * curve.interval())


def test_confusion(axes):
    drawings.draw_confusion(axes, confusion(["a", "a", "b"], ["a", "b", "b"]))
    assert [text.get_text() for text in axes.texts] == ["1", "0", "1", "1"]
    assert axes.get_ylabel() == "predicted"
