"""Fixtures of several test files of `bench`."""

import gzip
from dataclasses import replace

import pytest

from bench.answers import answer
from bench.programs import sets
from tests.support.problem_sets import CBF, write_rows, write_struct


@pytest.fixture
def folder(tmp_path):
    """Create a folder with the three sets, which have one to three files each."""
    for name in sets.SETS:
        (tmp_path / name).mkdir()
    for name in ("HS21", "CVXQP1_S", "CVXQP2_S"):
        write_rows(tmp_path / "maros_meszaros" / f"{name}.mat")
    write_struct(tmp_path / "netlib_infeasible" / "lpi_tiny.mat")
    (tmp_path / "cblib" / "disk.cbf.gz").write_bytes(gzip.compress(CBF.encode()))
    (tmp_path / "maros_meszaros" / "README").write_text("not a program")
    return tmp_path


@pytest.fixture
def answers_beside_the_point(monkeypatch):
    """Replace `answer.solve` by a function that adds 1e-3 to x."""
    honest = answer.solve

    def wrong(program, **settings):
        result = honest(program, **settings)
        return replace(result, x=result.x + 1e-3)

    monkeypatch.setattr(answer, "solve", wrong)
