"""The table of qpbenchmark's sets: the same program for all, its residuals and settings, wrong answers told."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import bench.commands as command
import qp
from bench.compare import qpbenchmark
from bench.compare.measurement import OURS
from tests.support.problem_sets import write_rows

qpsolvers = pytest.importorskip("qpsolvers")


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "free_for_all_qpbenchmark" / "data"
    folder.mkdir(parents=True)
    problem = qpsolvers.Problem(
        np.eye(2), np.array([-3.0, 1.0]), G=np.array([[1.0, 1.0]]), h=np.array([1.0]), ub=np.array([2.0, 2.0])
    )
    problem.save(str(folder / "BOX.npz"))
    nonconvex = qpsolvers.Problem(np.diag([1.0, -1.0]), np.zeros(2), lb=-np.ones(2), ub=np.ones(2))
    nonconvex.save(str(folder / "SADDLE.npz"))
    write_rows(folder / "CONT.mat")
    return tmp_path


def test_each_solver_is_measured_at_each_setting_and_a_nonconvex_program_is_a_failure_not_an_answer(data):
    rows = list(qpbenchmark.compare("free_for_all_qpbenchmark", data, None))
    assert {row.job.split(", ")[1] for row in rows} == set(qpbenchmark.ACCURACIES)
    assert all(row.error == pytest.approx(1 / 3) and not row.is_wrong and row.size == "3 programs" for row in rows)
    assert all(math.isfinite(row.seconds) and row.seconds > 0.0 for row in rows)
    boxes = list(qpbenchmark.compare("free_for_all_qpbenchmark", data, "BOX"))
    assert all(row.error == 0.0 and row.seconds < qpbenchmark.LIMIT for row in boxes)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_file_may_leave_out_what_a_program_lacks(tmp_path, is_sparse):
    P, path = np.diag([2.0, 4.0]), tmp_path / "LEAN.npz"
    parts = {f"P_{name}": getattr(sp.csc_array(P), name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(path, q=np.array([-2.0, -8.0]), lb=np.zeros(2), **(parts if is_sparse else {"P": P}))
    stated = qpbenchmark._problem(path)
    assert stated.G is stated.h is stated.A is stated.b is stated.ub is None and stated.has_sparse == is_sparse
    assert qpbenchmark.measure(stated, "clarabel", "default").is_right
    np.testing.assert_allclose(qpsolvers.solve_problem(stated, OURS).x, [1.0, 2.0], atol=1e-7)


def test_rows_of_a_mat_file_are_stated_once_with_their_sides(data):
    path = data / "free_for_all_qpbenchmark" / "data" / "CONT.mat"
    stated = qpbenchmark._problem(path)
    program = qp.files.mat.read(path)
    asked = qp.solve(program, tol=1e-10)
    found = qpbenchmark.measure(stated, OURS, "high_accuracy")
    assert found.is_right
    np.testing.assert_allclose(qpsolvers.solve_problem(stated, OURS, eps_rel=1e-10).x, asked.x, atol=1e-7)


def test_an_answer_that_is_called_found_and_is_none_is_wrong(data, monkeypatch):
    def lying(problem, solver, **settings):
        found = qpsolvers.Solution(problem)
        found.found, found.x = True, np.full(2, 7.0)
        found.y, found.z, found.z_box = np.empty(0), np.zeros(1), np.zeros(2)
        return found

    monkeypatch.setattr(qpsolvers, "solve_problem", lying)
    rows = list(qpbenchmark.compare("free_for_all_qpbenchmark", data, "BOX"))
    assert rows and all(row.is_wrong and row.peer_is_wrong and row.error == 1.0 for row in rows)
    assert all(row.seconds == pytest.approx(qpbenchmark.LIMIT) for row in rows)


def test_the_command_prints_the_table_and_is_for_these_sets_alone(data, capsys):
    arguments = ["free_for_all_qpbenchmark", "--data", str(data), "--only", "BOX", "--own-settings"]
    assert command.main(["compare", *arguments]) == 0
    assert "high_accuracy" in capsys.readouterr().out
    assert command.main(["compare", "generated", "--own-settings"]) == 2
    assert "--own-settings is for the sets mpc_qpbenchmark" in capsys.readouterr().err
