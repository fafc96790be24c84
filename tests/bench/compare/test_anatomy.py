"""The table of where the time goes."""

import pytest

from bench.__main__ import main
from bench.compare import anatomy


@pytest.mark.full
def test_rows_add_up(capsys):
    assert main(["anatomy", "--programs", "svm_dual_rbf_100,lasso_50,enclosing_ball_20"]) == 0
    lines = capsys.readouterr().out.strip().splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    head, rows = table[0], table[2:]
    assert [row[0] for row in rows] == ["svm_dual_rbf_100", "lasso_50", "enclosing_ball_20"]
    first = head.index("equilibration %")
    for row in rows:
        assert len(row) == len(head)
        assert sum(float(share) for share in row[first : first + 6]) == pytest.approx(100.0, abs=4.0)  # rounded
        if row[1] == "active set":  # no factorization of a known size
            assert row[-2:] == ["-", "-"]
        else:
            assert float(row[2]) > float(row[-2]) > 0.0  # the floor is below the time


def test_every_program_of_the_table_is_there():
    assert anatomy.names() == anatomy.names(",".join(anatomy.PROGRAMS)) == anatomy.PROGRAMS


def test_the_rate_is_that_of_this_machine():
    assert 1e8 < anatomy.dgemm_rate(200) < 1e13
