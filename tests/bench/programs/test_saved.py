"""Reports of solves: program and settings are read back bit by bit, and other files are refused."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp

import models
import qp
import socp
from bench.programs import saved, sets
from socp.problem.report import write_report
from tests.qp.files.test_damaged import mutated

F = np.array([[1.0, 0.1], [0.0, 1 / 3], [2.0, 0.0]])
HESSIANS = [None, F @ F.T, sp.csc_array(np.diag([1.0, 0.0, 1e-300])), socp.LowRank(F, [0.0, 0.0, 1e8])]
SETTINGS = socp.Settings(tol=1e-7, time_limit=np.inf, kkt="ldl", presolve=False)


def same_matrix(one, two):
    if one is None or two is None:
        return one is two
    if isinstance(one, socp.LowRank):
        return np.array_equal(one.F, two.F) and np.array_equal(one.d, two.d)
    return type(one) is type(two) and not (one != two).sum()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("P", HESSIANS)
def test_both_kinds_come_back(P, maximize, tmp_path):
    path = tmp_path / "program.json"
    cones = [socp.SecondOrder(2), socp.NonNeg(2), socp.NonNeg(0), socp.SecondOrder(1)]
    G = np.arange(15.0).reshape(5, 3) / 7
    program = socp.ConeProgram([0.1, 0.2, -0.0], G, [1, 2, np.inf, 4, 5], cones, [[0.0, 1.0, 0.0]], [1 / 3], P, 0.7)
    program.maximize = maximize
    write_report(path, program, SETTINGS)
    again = sets.read(path)
    assert again.cones == program.cones and again.offset == 0.7 and again.maximize is maximize
    assert all(getattr(again, name).tobytes() == getattr(program, name).tobytes() for name in "cbh")
    assert all(same_matrix(getattr(program, name), getattr(again, name)) for name in "PAG")
    assert socp.Settings(**saved.read(path).settings, presolve=False) == SETTINGS

    quadratic = qp.QuadraticProgram(P, [0.1, 0.2, 0.3], [[1.0, 0.0, 1 / 3]], None, 1 / 3, 0.1, [1.0, np.inf, 0.1], -1.5)
    write_report(path, quadratic, SETTINGS)
    again = sets.read(path)
    assert again.offset == -1.5
    assert all(np.array_equal(getattr(again, name), getattr(quadratic, name)) for name in ("q", "l", "u", "lb", "ub"))
    assert all(same_matrix(getattr(quadratic, name), getattr(again, name)) for name in "PA")
    assert socp.Settings(**saved.read(path).settings) == SETTINGS and saved.read(path).answer is None


def test_a_kernel_matrix_comes_back_and_one_of_a_function_is_written_in_full(tmp_path):
    samples, path = np.random.default_rng(0).normal(size=(6, 2)), tmp_path / "machine.json"
    named = models.KernelMatrix(samples, "poly", gamma=1 / 3, coef0=0.1, degree=2, signs=[1, -1] * 6, cache_size=7.0)
    write_report(path, models.KernelProgram(named, -np.ones(12), lb=0.0, ub=1.0))
    again = sets.read(path).P
    for name in ("samples", "signs", "kernel", "gamma", "coef0", "degree", "semidefinite", "cache_size"):
        np.testing.assert_array_equal(getattr(again, name), getattr(named, name))
    free = models.KernelMatrix(samples, lambda x, z: x @ z.T)
    write_report(path, models.KernelProgram(free, -np.ones(6), lb=0.0, ub=1.0))
    np.testing.assert_array_equal(sets.read(path).P, free.toarray())


def test_a_program_without_rows_comes_back(tmp_path):
    path = tmp_path / "program.JSON"
    write_report(path, socp.ConeProgram(c=[1.0]))
    assert repr(sets.read(path)) == "ConeProgram(n=1, p=0, m=0, cones: none)"
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert repr(sets.read(path)) == "ConeProgram(n=1, p=0, m=0, cones: none)"


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "program.json"
    write_report(path, socp.ConeProgram(c=[1.0]))
    good = json.loads(path.read_text())
    one, two = ({"kind": kind, "dim": 2} for kind in ("NonNeg", "Recipe"))
    for found in (1, {}, good | {"program": one | {"maximize": False}}, good | {"program": two | {"maximize": False}},
                  good | {"settings": {"tol": -1.0}}, good | {"settings": {"speed": 1}}):  # fmt: skip
        path.write_text(json.dumps(found))
        with pytest.raises(socp.ProgramError, match="is no report of a solve"):
            sets.read(path)


def test_mutations_are_read_or_refused(tmp_path):
    path, outcomes = tmp_path / "program.json", set()
    write_report(path, socp.ConeProgram([1.0, 2.0], np.eye(2), [1.0, 2.0], [socp.SecondOrder(2)], P=sp.eye_array(2)))
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(300):
        path.write_bytes(mutated(content, rng))
        try:
            outcomes.add(type(sets.read(path)))
        except socp.ProgramError as error:
            outcomes.add(type(error))
    assert outcomes == {socp.ConeProgram, socp.ProgramError}


def test_a_report_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "MAX_BYTES", 10**6)
    (tmp_path / "program.json").write_bytes(gzip.compress(b" " * 2 * 10**6))
    with pytest.raises(socp.ProgramError, match="decompresses to more than 1000000 bytes"):
        sets.read(tmp_path / "program.json")
