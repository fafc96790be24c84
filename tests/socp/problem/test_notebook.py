"""`verbose` and solutions in a notebook, with a stand-in for IPython and for real."""

import dataclasses
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import qp
import socp
from socp.problem.notebook import Sheet
from socp.problem.plot import image
from tests.support.notebooks import handles as handles


def disk(**settings):
    G, h = [[0, 0], [-1, 0], [0, -1]], [1, 0, 0]
    return socp.solve(c=[1, 1], G=G, h=h, cones=[socp.SecondOrder(3)], **settings)


def test_verbose_is_one_table_that_grows_in_place(handles, capsys):
    solution = disk(verbose=True)
    (handle,) = handles
    assert capsys.readouterr().out == ""
    assert len(handle.thing.rows) == len(solution.trace)
    assert all(after.startswith(before) for before, after in zip(handle.shown, handle.shown[1:]))
    assert len(handle.shown) == len(solution.trace) + 2  # the heads before, the status after
    shown = handle.thing._repr_html_()
    assert shown.count("<tr>") == len(solution.trace) + 1
    assert shown.count("<th ") == 9 and shown.count("<td ") == 9 * len(solution.trace)
    assert "optimal" in handle.shown[-1]


def test_every_solve_has_a_table_of_its_own(handles):
    disk(verbose=True)
    qp.solve(np.eye(2), [-1.0, -1.0], A=[[1.0, 1.0]], l=[1.0], u=[1.0], verbose=True)
    assert len(handles) == 2 and all("optimal" in handle.shown[-1] for handle in handles)


def test_it_is_what_is_printed_elsewhere(handles, capsys, monkeypatch):
    disk(verbose=True)
    monkeypatch.delitem(sys.modules, "IPython")
    disk(verbose=True)
    heads = [line for line in capsys.readouterr().out.splitlines()]
    here = handles[0].shown[-1].splitlines()
    assert len(handles) == 1 and len(here) == len(heads) and here[:4] == heads[:4]


def test_of_a_long_table_the_last_rows_are_shown(handles):
    sheet = Sheet("title", "a  b", longest=2)
    for k, shown in enumerate((["0 0"], ["0 0", "1 1"], ["...", "1 1", "2 2"], ["...", "2 2", "3 3"])):
        sheet.add(f"{k} {k}")
        assert repr(sheet).splitlines() == ["title", "a  b", *shown]


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["no shell", "a terminal"])
def test_outside_of_a_notebook_nothing_changes(handles, capsys, monkeypatch, shell):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    solution = disk(verbose=True)
    assert handles == []
    assert len(capsys.readouterr().out.splitlines()) == 5 + len(solution.trace) + 3


def test_a_solution_shows_its_convergence_where_matplotlib_is(monkeypatch):
    pytest.importorskip("matplotlib")
    program = socp.ConeProgram(c=[1, 1], G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0], cones=[socp.SecondOrder(3)])
    solution = socp.solve(program)
    assert "<img alt='convergence' src='data:image/png;base64," in solution._repr_html_()
    assert image(dataclasses.replace(solution, trace=solution.trace[:1])) == ""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "<img" not in solution._repr_html_() and "optimal" in solution._repr_html_()


CELLS = (
    "import numpy as np, socp\nfrom models import DiscreteHMM",
    "sol = socp.solve(c=[1, 1], G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0], cones=[socp.SecondOrder(3)], verbose=True)\n"
    "sol",
    "x = [np.random.default_rng(0).integers(0, 3, size=90)]\n"
    "model = DiscreteHMM(2, tol=0.0, random_state=0, max_iter=60, verbose=1).fit(x)",
)


@pytest.mark.full
def test_a_notebook_for_real(tmp_path, monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    sent = []

    class Client(nbclient.NotebookClient):
        def process_message(self, message, cell, cell_index):
            sent.append((cell_index, message["msg_type"]))
            return super().process_message(message, cell, cell_index)

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    Client(book, timeout=600, kernel_name="python3").execute()
    _, solve, fit = ([out for out in cell.outputs if out.output_type != "stream"] for cell in book.cells)
    assert [out.output_type for out in solve] == ["display_data", "execute_result"]
    table, answer = (out.data["text/html"] for out in solve)
    assert table.count("<table>") == 1 and "optimal" in table
    assert sent.count((1, "update_display_data")) == table.count("<tr>")  # the heads before; each row, then the end
    assert "<img alt='convergence' src='data:image/png;base64," in answer
    assert [out.output_type for out in fit] == ["display_data"]
    assert "after 60 iterations" in fit[0].data["text/html"] and fit[0].data["text/html"].count("<tr>") == 22
