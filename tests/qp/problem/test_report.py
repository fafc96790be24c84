"""`sol.report`: whatever method or door gave the answer, its program, settings and figures are written."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import models
import qp
import socp
from bench import commands as command
from bench.programs import saved
from tests.support.sparse_matrices import random_sparse

rng = np.random.default_rng(0)
R = rng.normal(size=(60, 60))
BOX = {"P": R @ R.T, "q": rng.normal(size=60), "lb": -1.0, "ub": 1.0}  # for the active set
SPARSE = {"P": sp.eye_array(60).tocsc(), "q": rng.normal(size=60), "A": random_sparse((30, 60), density=0.1, rng=rng)}
SPARSE |= {"l": -1.0, "u": 1.0}  # for the interior-point method
TINY = {"P": np.eye(2), "q": np.array([-1.0, 1.0]), "A": np.ones((1, 2)), "l": np.zeros(1), "u": np.ones(1)}
CROSSED = TINY | {"A": np.ones((2, 2)), "l": np.array([2.0, 0.0]), "u": np.array([3.0, 1.0])}


def updated(**data):
    solver = qp.Solver(**{**data, "q": np.zeros_like(data["q"])}, tol=1e-7)
    solver.solve()
    solver.update(q=data["q"])
    return solver.solve(warm_start=True)


DOORS = {
    "solve": lambda **data: qp.solve(**data, tol=1e-7),
    "solve again": lambda **data: [qp.solve(**data, tol=1e-7) for _ in range(3)][-1],
    "without an active set": lambda **data: qp.solve(**data, tol=1e-7, active_set=False),
    "after an update": updated,
    "with a callback": lambda **data: qp.solve(**data, tol=1e-7, callback=lambda iterate: None),
    "of a batch": lambda **data: qp.solve_many(**data | {"q": np.array([data["q"], data["q"]])}, tol=1e-7)[1],
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("data", [BOX, SPARSE, TINY, CROSSED], ids=["box", "sparse", "tiny", "infeasible"])
def test_every_door_knows_its_program_and_its_settings(door, data, tmp_path):
    if door == "of a batch":
        data = {name: value.toarray() if sp.issparse(value) else value for name, value in data.items()}
    solution = DOORS[door](**data)
    solution.report(tmp_path / "r.json")
    found, expected = saved.read(tmp_path / "r.json"), qp.QuadraticProgram(**data)
    for name in ("q", "l", "u", "lb", "ub"):
        np.testing.assert_array_equal(getattr(found.program, name), getattr(expected, name))
    for name in ("P", "A"):
        assert not (getattr(found.program, name) != getattr(expected, name)).sum()
    assert found.settings["tol"] == 1e-7 and "callback" not in found.settings
    assert found.settings["active_set"] == (door != "without an active set")
    for name in ("status", *saved.FIGURES):
        np.testing.assert_equal(getattr(found.answer, name), getattr(solution, name))
    again = qp.solve(found.program, **found.settings)
    assert again.status is solution.status


def test_a_cone_program_and_the_cone_solution_of_a_quadratic_one(tmp_path):
    path, rows = tmp_path / "r.json", {"G": -np.eye(2), "h": np.zeros(2), "cones": socp.SecondOrder(2)}
    for solution in (socp.solve(c=[1.0, 0.5], **rows, tol=1e-6), socp.solve_many(c=[[1.0, 0.5]], **rows, tol=1e-6)[0],
                     qp.solve(**SPARSE, tol=1e-6).cone_solution):  # fmt: skip
        solution.report(path)
        found = saved.read(path)
        assert found.settings["tol"] == 1e-6 and found.answer.message == solution.message
        assert socp.solve(found.program, **found.settings).objective == pytest.approx(solution.objective, abs=1e-5)


def test_a_program_of_a_series_has_its_kernel_and_its_tolerance(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    solution = models.SVC(tol=1e-5).fit(X, X[:, 0] > 0.0).solution_
    solution.report(tmp_path / "r.json")
    found = saved.read(tmp_path / "r.json")
    assert isinstance(found.program.P, models.KernelMatrix) and found.settings["tol"] == solution._settings.tol
    again = qp.solve(found.program, **found.settings)
    assert again.objective == pytest.approx(solution.objective, rel=1e-5)


def test_the_report_names_versions_but_no_path(tmp_path):
    qp.solve(**TINY).report(str(tmp_path / "R.JSON"))
    found = json.loads((tmp_path / "R.JSON").read_text())
    assert found["versions"]["centralpath"] == socp.__version__ and {"numpy", "numba", "processors"} <= {
        *found["versions"]
    }
    assert "cache" not in found["versions"] and found["answer"]["plan"]


def test_what_cannot_be_written_is_refused(tmp_path):
    solution = qp.solve(**TINY)
    for path in ("report.txt", 3):
        with pytest.raises(socp.ProgramError, match=r"path must end in \.json, but .* came"):
            solution.report(path)
    with pytest.raises(socp.ProgramError, match="has come without its program, as out of a pickle"):
        pickle.loads(pickle.dumps(solution)).report(tmp_path / "r.json")


def test_the_command_solves_it_again_and_shows_both(tmp_path, capsys):
    path = str(tmp_path / "r.json")
    program = qp.QuadraticProgram(**TINY, offset=2.0)
    program.maximize = True
    solution = qp.solve(program, tol=1e-3, kkt="ldl", max_iter=3, active_set=False)
    solution.report(path)
    assert command.main(["solve", path]) in (0, 1)
    shown = capsys.readouterr().out
    ours, told = shown.split("in the report, of ")
    assert f"centralpath {socp.__version__}" in told and f"iterations     {solution.iterations}\n" in told
    assert f"iterations   {solution.iterations}\n" in ours and f"status         {solution.status}: " in told
    assert (
        f"objective      {-solution.objective:.12g}" in told and f"objective    {-solution.objective:.7g}"[:20] in ours
    )
    assert command.main(["solve", path, "--max-iter", "1"]) in (0, 1)
    assert "iterations   1\n" in capsys.readouterr().out
