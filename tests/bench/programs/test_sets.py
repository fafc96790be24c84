"""Problem sets: found in a folder, read by file ending, with clear messages if they are missing."""

import gzip

import numpy as np
import pytest

import qp
import socp
from bench.programs import sets
from tests.support.problem_sets import QPS


def names(paths):
    return [sets.stem(path) for path in paths]


def test_files_of_each_set_are_found_and_read(folder):
    assert names(sets.files("maros_meszaros", folder)) == ["CVXQP1_S", "CVXQP2_S", "HS21"]
    program = sets.read(sets.files("maros_meszaros", folder)[0])
    assert isinstance(program, qp.QuadraticProgram)
    assert (program.n, program.m) == (2, 1) and program.ub.tolist() == [5.0, 5.0]

    program = sets.read(sets.files("netlib_infeasible", folder)[0])
    assert isinstance(program, qp.QuadraticProgram)
    assert program.l.tolist() == [-1.0] and program.ub.tolist() == [np.inf, np.inf]

    program = sets.read(sets.files("cblib", folder)[0])
    assert isinstance(program, socp.ConeProgram)
    assert (program.n, program.m) == (2, 3) and program.cones == (socp.SecondOrder(3),)


def test_the_folder_of_the_set_itself_is_taken_too(folder):
    assert names(sets.files("cblib", folder / "cblib")) == ["disk"]


def test_a_checkout_with_a_folder_data_and_files_of_two_kinds_is_taken(folder):
    data = folder / "free_for_all_qpbenchmark" / "data"
    data.mkdir()
    (folder / "maros_meszaros" / "HS21.mat").rename(data / "HS21.mat")
    np.savez(data / "GNAR0.npz", P=np.eye(2), q=np.ones(2))
    assert names(sets.files("free_for_all_qpbenchmark", folder)) == ["GNAR0", "HS21"]
    assert [sets.read(path).n for path in sets.files("free_for_all_qpbenchmark", data.parent)] == [2, 2]


def test_the_folder_comes_from_the_environment_when_none_is_given(folder, monkeypatch):
    monkeypatch.setenv("CENTRALPATH_DATA", str(folder))
    assert names(sets.files("cblib")) == ["disk"]
    monkeypatch.setenv("CENTRALPATH_DATA", "/nowhere")
    assert names(sets.files("cblib", folder)) == ["disk"]  # the argument wins


@pytest.mark.parametrize("only, expected", [
    ("cvxqp*", ["CVXQP1_S", "CVXQP2_S"]), ("CVXQP[2]*", ["CVXQP2_S"]), ("hs", ["HS21"]),
    ("s", ["CVXQP1_S", "CVXQP2_S", "HS21"]), ("HS??", ["HS21"]),
])  # fmt: skip
def test_only_is_a_pattern_or_a_part_of_the_name(folder, only, expected):
    assert names(sets.files("maros_meszaros", folder, only)) == expected


def test_a_missing_set_says_both_ways_and_where_it_comes_from(tmp_path, monkeypatch):
    monkeypatch.delenv("CENTRALPATH_DATA", raising=False)
    sources = {"maros_meszaros": "qpsolvers", "cblib": "cblib.zib.de", "netlib_infeasible": "netlib"}
    for name, source in sources.items():
        for folder in (None, tmp_path):
            with pytest.raises(sets.DataError) as caught:
                sets.files(name, folder)
            for words in (name, "--data DIR", "CENTRALPATH_DATA=DIR", source):
                assert words in str(caught.value)
        assert str(tmp_path / name) in str(caught.value)


def test_unknown_names_are_refused_with_those_that_there_are(folder):
    with pytest.raises(sets.DataError, match="the sets are maros_meszaros, mpc_qpbenchmark"):
        sets.files("mittelmann", folder)
    with pytest.raises(sets.DataError, match=r"no name .* matches 'zzz'; there are CVXQP1_S; CVXQP2_S; HS21"):
        sets.files("maros_meszaros", folder, "zzz")


@pytest.mark.parametrize("name", ["tiny.qps", "tiny.mps", "TINY.QPS", "tiny.qps.gz", "tiny.mps.gz"])
def test_qps_files_are_read_by_their_ending(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(QPS.encode()) if name.endswith(".gz") else QPS.encode())
    program = sets.read(path)
    assert isinstance(program, qp.QuadraticProgram) and program.l.tolist() == [2.0]
