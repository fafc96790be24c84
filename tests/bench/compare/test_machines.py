"""The table of support vector machines beside LIBSVM."""

import numpy as np
import pytest

import bench.__main__ as command
from bench import peers
from bench.compare import machines
from bench.programs import generate
from bench.programs.sets import DataError


def test_a_row_says_how_far_the_three_are_apart():
    X, y = generate.two_classes(np.random.default_rng(0), 100)
    row = machines.measure("points", X, y, "linear", 1.0)
    assert (row.points, row.features, row.form) == (100, 10, "dual, low rank")
    assert row.decisions < 1e-3 and row.objective < 1e-6 and abs(row.behind) < 1e-6
    assert min(row.seconds, row.libsvm_seconds, row.oracle_seconds) > 0.0
    assert machines.measure("points", X, y, "rbf", 1.0).form == "dual"


def test_what_is_behind_is_told(monkeypatch):
    """A LIBSVM that stops early has a smaller dual objective and other decision values."""
    monkeypatch.setattr(machines, "LIBSVM_TOL", 0.1)
    X, y = generate.two_classes(np.random.default_rng(0), 200)
    row = machines.measure("points", X, y, "linear", 10.0)
    assert row.behind > 1e-5 and row.decisions > 1e-3


def test_the_command_prints_the_table_and_writes_it(tmp_path, capsys):
    path = tmp_path / "table.md"
    assert command.main(["models", "--only", "wine", "--out", str(path)]) == 0
    printed, told = capsys.readouterr()
    assert printed == path.read_text()
    assert f"written: {path}" in told
    header, rule, *rows = printed.splitlines()
    assert {line.count("|") for line in (header, rule, *rows)} == {14}
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| wine, 2 classes", "130 x 13", kernel] for kernel in ("linear", "poly", "rbf")
    ]


def test_without_the_others(monkeypatch, capsys):
    X, y = generate.two_classes(np.random.default_rng(0), 40)
    monkeypatch.setattr(peers, "is_installed", lambda solver: False)
    row = machines.measure("points", X, y, "linear", 1.0)
    assert np.isnan(row.objective) and machines.markdown([row]).count(" - |") == 2
    with pytest.raises(DataError, match="scikit-learn"):
        next(machines.run())
    assert command.main(["models"]) == 2
    assert "scikit-learn" in capsys.readouterr().err


def test_every_set_has_samples_of_two_classes():
    for name, (load, cases) in machines.data_sets().items():
        X, y = load()
        assert np.unique(y).size == 2 and X.shape[0] == y.size and cases, name
