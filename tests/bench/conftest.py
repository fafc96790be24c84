"""What several files of tests of `bench` are given."""

import gzip

import pytest

from bench.programs import sets
from tests.support.problem_sets import CBF, write_rows, write_struct


@pytest.fixture
def folder(tmp_path):
    """A folder with the three sets, of a file or a few each."""
    for name in sets.SETS:
        (tmp_path / name).mkdir()
    for name in ("HS21", "CVXQP1_S", "CVXQP2_S"):
        write_rows(tmp_path / "maros_meszaros" / f"{name}.mat")
    write_struct(tmp_path / "netlib_infeasible" / "lpi_tiny.mat")
    (tmp_path / "cblib" / "disk.cbf.gz").write_bytes(gzip.compress(CBF.encode()))
    (tmp_path / "maros_meszaros" / "README").write_text("not a program")
    return tmp_path
