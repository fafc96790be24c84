"""Kernel machines compared with LIBSVM: the rows of the table describe the machines."""

import numpy as np
import pytest
from sklearn import svm

from bench.commands import main
from bench.compare import kernel_machines, pairs
from bench.compare.kernel_machines import dual_objective, measure
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
        pair = measure(name, X, y, kernel, 1e-3)
        assert not pair.is_wrong and pair.seconds > 0.0 and name in pair.line()
        ours, theirs = (SVR(), svm.SVR(tol=1e-3)) if name == "regression" else (SVC(), svm.SVC(tol=1e-3))
        kernel_of = ours.fit(X, y).kernel_
        assert pair.note == f"{ours.support_.size} support vectors" and ours.support_.size > 0
        values = [dual_objective(one, kernel_of, X, y, name == "regression") for one in (ours, theirs.fit(X, y))]
        assert values[0] < values[1] and pair.error == 0.0
        assert pair.peer_error == pytest.approx((values[1] - values[0]) / abs(values[0]), rel=1e-6)


def test_an_objective_behind_the_other_is_wrong(monkeypatch):
    X, y = kernel_machines.many_vectors(60)
    for behind, wrong in ((2e-6, True), (5e-7, False)):
        values = iter([-10.0 * (1.0 - behind), -10.0])
        monkeypatch.setattr(kernel_machines, "dual_objective", lambda *given: next(values))  # noqa: B023
        pair = measure("many", X, y, "rbf", 1e-3)
        assert pair.error == pytest.approx(behind) and pair.peer_error == 0.0 and pair.is_wrong is wrong
    pair = measure("three", X, np.arange(60) % 3, "rbf", 1e-3)
    assert np.isnan(pair.error) and np.isnan(pair.peer_error) and not pair.is_wrong


def test_a_path_is_measured_by_the_scores_of_its_folds(monkeypatch):
    monkeypatch.setattr(kernel_machines, "CS", np.array([0.1, 1.0, 10.0]))
    pair = measure("path 150", *kernel_machines.many_vectors(150), "rbf", 1e-5)
    assert pair.job == "path 150, SVCCV rbf" and 0.0 <= pair.error <= 0.02
    assert pair.is_wrong == (pair.error > kernel_machines.FLIPPED)


def test_the_command_prints_a_table(capsys, monkeypatch):
    monkeypatch.setattr(pairs, "RUNS", 1)
    assert main(["compare", "kernels", "--only", "many vectors 200"]) == 0
    assert "| many vectors 200, SVC poly | 200 x 20 | LIBSVM, 1e-08 |" in capsys.readouterr().out
