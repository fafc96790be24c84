"""Archives of programs: they are read back bit by bit, and other files are refused."""

import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench.programs import saved, sets
from tests.qp.files.test_damaged import mutated

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
    for kind in ("", "ConeProgram", "Recipe"):
        if kind:
            np.savez(path, kind=np.array(kind))
        with pytest.raises(socp.ProgramError, match="no archive of a program"):
            sets.read(path)


def test_mutations_are_read_or_refused(tmp_path):
    path, outcomes = tmp_path / "program.npz", set()
    saved.write(socp.ConeProgram([1.0, 2.0], np.eye(2), [1.0, 2.0], [socp.SecondOrder(2)], P=sp.eye_array(2)), path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for k in range(300):
        if k % 2:
            path.write_bytes(mutated(content, rng))
        else:  # damage inside an otherwise intact archive
            with zipfile.ZipFile(path, "w") as archive:
                for name, member in members.items():
                    archive.writestr(name, mutated(member, rng) if rng.random() < 0.2 else member)
        try:
            outcomes.add(type(sets.read(path)))
        except socp.ProgramError as error:
            outcomes.add(type(error))
    assert outcomes == {socp.ConeProgram, socp.ProgramError}


def test_an_archive_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "MAX_BYTES", 10**6)
    np.savez_compressed(tmp_path / "program.npz", kind=np.array("QuadraticProgram"), q=np.zeros(2 * 10**5))
    with pytest.raises(socp.ProgramError, match="decompresses to more than 1000000 bytes"):
        sets.read(tmp_path / "program.npz")
