"""Archives of programs: what is written comes back to the bit, and what is none is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.programs import saved, sets

F = np.array([[1.0, 0.1], [0.0, 1 / 3], [2.0, 0.0]])
HESSIANS = [None, F @ F.T, sp.csc_array(np.diag([1.0, 0.0, 1e-300])), socp.LowRank(F, [0.0, 0.0, 1e8])]


def same_matrix(one, two):
    if one is None or two is None:
        return one is two
    if isinstance(one, socp.LowRank):
        return np.array_equal(one.F, two.F) and np.array_equal(one.d, two.d)
    return type(one) is type(two) and not (one != two).sum()


@pytest.mark.parametrize("P", HESSIANS)
def test_both_kinds_come_back(P, tmp_path):
    path = tmp_path / "program.npz"
    cones = [socp.SecondOrder(2), socp.NonNeg(2), socp.NonNeg(0), socp.SecondOrder(1)]
    G = np.arange(15.0).reshape(5, 3) / 7
    program = socp.ConeProgram([0.1, 0.2, 0.3], G, [1, 2, np.inf, 4, 5], cones, [[0.0, 1.0, 0.0]], [1 / 3], P, 0.7)
    saved.write(program, path)
    again = sets.read(path)
    assert again.cones == program.cones and again.offset == 0.7
    assert all(np.array_equal(getattr(again, name), getattr(program, name)) for name in "cbh")
    assert all(same_matrix(getattr(program, name), getattr(again, name)) for name in "PAG")

    quadratic = qp.QuadraticProgram(P, [0.1, 0.2, 0.3], [[1.0, 0.0, 1 / 3]], None, 1 / 3, 0.1, [1.0, np.inf, 0.1], -1.5)
    saved.write(quadratic, path)
    again = sets.read(path)
    assert again.offset == -1.5
    assert all(np.array_equal(getattr(again, name), getattr(quadratic, name)) for name in ("q", "l", "u", "lb", "ub"))
    assert all(same_matrix(getattr(quadratic, name), getattr(again, name)) for name in "PA")


def test_a_program_without_rows_comes_back(tmp_path):
    path = tmp_path / "program.npz"
    saved.write(socp.ConeProgram(c=[1.0]), path)
    assert repr(saved.read(path)) == "ConeProgram(n=1, p=0, m=0, cones: none)"


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "program.npz"
    path.write_bytes(b"not an archive")
    with pytest.raises(socp.ProgramError, match="no archive of a program"):
        sets.read(path)
    np.savez(path, kind=np.array("ConeProgram"))
    with pytest.raises(socp.ProgramError, match="no archive of a program"):
        sets.read(path)
    np.savez(path, kind=np.array("Recipe"))
    with pytest.raises(socp.ProgramError, match="no archive of a program"):
        sets.read(path)
    with pytest.raises(sets.DataError, match="no such file"):
        sets.read(tmp_path / "missing.npz")
