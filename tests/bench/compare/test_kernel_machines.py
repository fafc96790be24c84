"""Kernel machines compared with LIBSVM: the rows of the table describe the machines."""

import numpy as np
import pytest
from sklearn import svm

from bench.commands import main
from bench.compare import kernel_machines, linear
from bench.compare.kernel_machines import Row, dual_objective, measure, summary
from models import SVC, SVR


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_objectives_are_those_of_the_programs_that_were_solved(kernel):
    X, y = kernel_machines.many_vectors(120)
    machine = SVC(kernel=kernel).fit(X, y)
    assert dual_objective(machine, machine.kernel_, X, y, False) == pytest.approx(machine.solution_.objective, rel=1e-9)
    X, y = kernel_machines.curve(80)
    regression = SVR(kernel=kernel).fit(X, y)
    found = dual_objective(regression, regression.kernel_, X, y, True)
    assert found == pytest.approx(regression.solution_.objective, rel=1e-9)


def test_ours_is_behind_in_no_row():
    for name, data, kernel in (
        ("many", kernel_machines.many_vectors, "rbf"),
        ("regression", kernel_machines.curve, "rbf"),
    ):
        X, y = data(100)
        row = measure(name, X, y, kernel, 1e-3)
        assert not row.is_wrong and row.vectors > 0 and row.seconds > 0.0 and name in row.line()
        ours, theirs = (SVR(), svm.SVR(tol=1e-3)) if name == "regression" else (SVC(), svm.SVC(tol=1e-3))
        kernel_of = ours.fit(X, y).kernel_
        values = [dual_objective(one, kernel_of, X, y, name == "regression") for one in (ours, theirs.fit(X, y))]
        assert row.behind == pytest.approx(values[0] / abs(values[1]) + 1.0, rel=1e-6) and row.behind < 0.0


def test_a_path_is_measured_by_the_scores_of_its_folds(monkeypatch):
    monkeypatch.setattr(kernel_machines, "CS", np.array([0.1, 1.0, 10.0]))
    row = measure("path 150", *kernel_machines.many_vectors(150), "rbf", 1e-5)
    assert row.machine == "SVCCV" and row.behind <= 0.02 and row.vectors > 0


def test_the_summary_counts_what_is_behind():
    rows = [Row("a", "SVC", "rbf", 1e-3, 1.0, 4.0, 0.0, 3), Row("b", "SVC", "rbf", 1e-3, 1.0, 1.0, 1e-3, 3)]
    assert summary(rows).strip() == (
        "0.50 of LIBSVM's time in the geometric mean of 2, 1.00 at most; 1 objectives more than 1e-06 behind"
    )
    assert np.isnan(Row("c", "SVC", "rbf", 1e-3, 1.0, 1.0, np.nan, 3).behind) and summary([]) == "nothing was measured"


def test_the_command_prints_a_table(capsys, monkeypatch):
    monkeypatch.setattr(linear, "RUNS", 1)
    assert main(["compare", "kernels", "--only", "many vectors 200"]) == 0
    assert "| many vectors 200 | SVC | poly | 1e-08 |" in capsys.readouterr().out
