"""The picture of a trace."""

import sys

import numpy as np
import pytest

import qp
import socp
from socp.problem import plot


def test_the_lines_are_the_columns_of_the_trace(hard, tmp_path):
    pytest.importorskip("matplotlib")
    solution = socp.solve(hard)
    figure = solution.plot()
    above, below = figure.axes
    for axes, names in ((above, plot.SIZES), (below, plot.STEPS)):
        assert [line.get_label() for line in axes.lines] == list(names.values())
        for line, name in zip(axes.lines, names):
            assert np.array_equal(line.get_xdata(), solution.trace["iteration"])
            assert np.array_equal(line.get_ydata(), solution.trace[name], equal_nan=True)
    assert above.get_yscale() == "log" and above.get_title() == f"optimal, {solution.iterations} iterations"
    figure.savefig(tmp_path / "trace.svg")
    assert (tmp_path / "trace.svg").stat().st_size > 1000


def test_an_answer_of_a_quadratic_program_has_one_too():
    pytest.importorskip("matplotlib")
    figure = qp.solve(None, [1.0, 1.0], A=[[1.0, 1.0]], l=2.0, lb=0.0).plot()
    assert len(figure.axes) == 2


def test_without_iterations_there_is_nothing_to_draw():
    with pytest.raises(socp.ProgramError, match="trace of two iterations or more, but 1 came"):
        qp.solve([[1.0]], [1.0]).plot()


def test_without_matplotlib_the_message_says_what_to_install(hard, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        socp.solve(hard).plot()
