"""The table of linear machines compared with LIBLINEAR and scikit-learn's logistic regression."""

import numpy as np
import pytest

import bench.commands as command
from bench import peers
from bench.compare import linear
from bench.programs import generate


def test_ours_is_never_given_the_easier_task():
    X, y = generate.two_classes(np.random.default_rng(0), 60)
    found = list(linear.measure("points", X, y))
    machines = [pair.job.removeprefix("points, ").split()[0] for pair in found]
    assert machines == 2 * ["LinearSVC"] + 2 * ["LinearSVR"] + ["LogisticRegression"]
    for pair in found[:4]:
        assert pair.error <= pair.peer_error * (1.0 + 1e-6) and float(pair.note.rsplit(" ", 1)[1]) <= 1e-8
        assert min(pair.seconds, pair.peer_seconds) > 0.0 and pair.size == f"60 x {X.shape[1]}"
    assert found[4].peer_error <= max(found[4].error, 1e-6)


def test_the_objective_is_that_of_the_definition():
    X, y = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    w, b = np.array([0.5, 0.5]), 0.25
    assert linear.objective(X, y, "hinge", w, b, 0.0) == pytest.approx(0.25 + 0.03125 + 0.25 + 2.25)
    assert linear.objective(X, y, "squared_epsilon_insensitive", w, b, 0.1) == pytest.approx(
        0.25 + 0.03125 + 0.15**2 + 2.15**2
    )


def test_the_command_needs_scikit_learn_and_a_name_that_is_there(monkeypatch, capsys):
    assert command.main(["compare", "linear", "--only", "nonsense"]) == 2
    assert "no data matches 'nonsense'" in capsys.readouterr().err
    monkeypatch.setattr(peers, "is_installed", lambda solver: False)
    assert command.main(["compare", "linear"]) == 2
    assert "scikit-learn" in capsys.readouterr().err
