"""The table of where the time goes."""

import numpy as np
import pytest

import qp
from bench.commands import main
from bench.compare import anatomy
from qp.files import mat
from socp.problem.solution import TIMINGS


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
        if row[1].endswith("active set"):  # its factorizations have no fixed size
            assert row[-2:] == ["-", "-"]
        else:
            assert float(row[2]) > float(row[-2]) > 0.0  # the floor is below the time


@pytest.mark.parametrize("commit, told", [("", "no commit"), ("1234abcd", "1234abcd")])
def test_the_table_tells_machine_and_commit(monkeypatch, commit, told):
    monkeypatch.setattr(anatomy, "dgemm_rate", lambda: 2e9)
    monkeypatch.setattr(anatomy.measurement, "versions", lambda solvers: {"commit": commit, "date": "2000-01-02"})
    monkeypatch.setattr(anatomy.measurement, "hardware", lambda: {"processor": "one", "python": "3.12"})
    assert anatomy.table([]).splitlines()[0] == f"one, Python 3.12, 2000-01-02, {told}; dgemm: 2 Gflop/s on one thread"


def test_every_program_of_the_table_is_there():
    assert anatomy.names() == anatomy.names(",".join(anatomy.PROGRAMS)) == anatomy.PROGRAMS


def test_the_page_of_a_file_has_plan_times_and_trace(tmp_path):
    program, page = tmp_path / "two <rows>.qps", tmp_path / "page.html"
    mat.write(qp.QuadraticProgram(np.eye(2), [1.0, -1.0], A=[[1.0, 1.0], [1.0, -1.0]], l=[-1.0, -1.0], u=1.0), program)
    assert main(["anatomy", str(program), "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "two &lt;rows&gt;.qps" in text and "QuadraticProgram(n=2, m=2)" in text and "optimal" in text
    assert all(part in text for part in TIMINGS) and "primal_residual" in text
    assert "nan" not in text.split("<h2>Trace")[0]


def test_a_page_of_no_program_is_an_error(tmp_path, capsys):
    assert main(["anatomy", str(tmp_path / "none.qps"), "--out", str(tmp_path / "page.html")]) == 2
    assert "none.qps" in capsys.readouterr().err and not (tmp_path / "page.html").exists()
