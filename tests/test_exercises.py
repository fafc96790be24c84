"""The programming exercises: the grader accepts correct programs, and refuses the stubs and wrong programs."""

import ast
from pathlib import Path

import pytest

from tests.support.exercise_mistakes import MISTAKES
from tests.support.exercise_students import RIGHT, WRONG
from tests.support.exercise_ways import WAYS
from tests.support.processes import python

DOCS = Path(__file__).resolve().parents[1] / "docs"
SOLUTIONS = {path.stem[:3]: path for path in sorted((DOCS / "instructor").glob("*.py"))}
STUBS = {path.stem[:3]: path for path in sorted((DOCS / "exercises" / "stubs").glob("*.py"))}
SEEDS = (1, 20)


@pytest.fixture
def grade(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "exercises")
    import grade

    return grade


def patched(number, edits, text=None):
    text = text or SOLUTIONS[number].read_text("utf-8")
    for right, other in edits:
        assert text.count(right) == 1, f"{number}: {right}"
        text = text.replace(right, other)
    return text


def written(number, way):
    """Return the text of a program: `way` itself, or the instructor's program with the edits `way`."""
    return way if isinstance(way, str) else patched(number, way)


def complaints(grade, folder, number, text, seed=1, limit=20.0):
    """Yield the sentences of the checks that fail."""
    path = folder / f"{number}_program.py"
    path.write_text(text, "utf-8")
    yield from (said for _, _, said in grade.results(path, seed, limit) if said)


def functions(path):
    tree = ast.parse(path.read_text("utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_there_are_thirteen_and_a_stub_states_what_its_solution_does(grade):
    assert [*SOLUTIONS] == [*STUBS] == sorted(grade.CHECKS) == [*MISTAKES] == [f"e{k:02d}" for k in range(1, 14)]
    for number, path in STUBS.items():
        solution = {one.name: ast.unparse(one.args) for one in functions(SOLUTIONS[number])}
        for one in functions(path):
            assert solution[one.name] == ast.unparse(one.args), (number, one.name)
            assert len(one.body) == 2 and ast.unparse(one.body[1]) == "raise NotImplementedError"
            assert ast.get_docstring(one).startswith("Return ")
        assert sum(points for points, _ in grade.CHECKS[number]) == 10
        may, _ = grade.statement.rules(number)
        assert "numpy" in may and not {"scipy", "qp", "socp"} & set(may)


def test_what_the_statement_does_not_allow_is_seen_in_the_syntax(grade):
    for number, text, said in (
        ("e03", "import qp", "imports qp"),
        ("e03", "from scipy.optimize import linprog", "imports scipy.optimize.linprog"),
        ("e03", "import scipy\nscipy.optimize.linprog", "scipy.optimize"),
        ("e03", "def f(): import socp.textbook as t", "imports socp.textbook"),
        ("e03", "__import__('qp')", "own __import__"),
        ("e03", "exec('import qp')", "own exec"),
        ("e03", "import numpy as np\nnp.linalg.solve = print", "assigns to numpy.linalg.solve"),
        ("e03", "import numpy as np\nf(np.linalg)", "hands on the module numpy.linalg"),
        ("e03", "import numpy as np\nclass A: f = [np.linalg]", "hands on the module numpy.linalg"),
        ("e03", "class A:\n import numpy as np\nA.np.load('x')", "inside a class"),
        ("e03", "open = open\nopen('x')", "Python's own open"),
        ("e03", "if 0: open = 1\nopen('x')", "Python's own open"),
        ("e03", "class A:\n open = open", "Python's own open"),
        ("e03", "def f():\n global open\n open = 1\nopen('x')", "Python's own open"),
        ("e03", "open = 1\ndel open\nopen('x')", "Python's own open"),
        ("e03", "def f(): return open('x')\nf()\nopen = 1", "Python's own open"),
        ("e03", "def f():\n def g(vars): pass\n return vars()", "Python's own vars"),
        ("e03", "[0 for vars in [1]]\nvars()", "Python's own vars"),
        ("e03", "import numpy as np\nnp.testing.runstring('', {})", "calls numpy.testing.runstring"),
        ("e03", "from numpy.testing import measure\nmeasure('')", "calls numpy.testing.measure"),
        ("e03", "import numpy as np\nnp._core", "numpy._core"),
        ("e03", "import warnings\nwarnings.catch_warnings()._module", "._module"),
        ("e03", "__loader__", "__loader__"),
        ("e07", "import numpy as np\nf = np.linalg\nf.solve", "calls numpy.linalg.solve"),
        ("e07", "import numpy as np\ndef g():\n f = np.linalg\n def h(): return f.solve", "calls numpy.linalg.solve"),
        ("e03", "import numpy as np\nnp.load('x')", "calls numpy.load"),
        ("e03", "f = (lambda: 0).__globals__", "Python's own parts"),
        ("e03", "from . import grade", "folder"),
        ("e03", "def f(:", "not Python"),
        ("e07", "import numpy as np\nnp.linalg.cholesky", "calls numpy.linalg.cholesky"),
        ("e07", "from numpy.linalg import cholesky as c\nc(1)", "calls numpy.linalg.cholesky"),
        ("e07", "import numpy.linalg as la\nla.inv(1)", "calls numpy.linalg.inv"),
        ("e07", "import scipy.linalg", "imports scipy.linalg"),
        ("e07", "import numpy as np\nnp.asmatrix(1).I", "calls numpy.asmatrix"),
        ("e07", "import numpy.linalg as la\ndef f(): import math as la\nla.inv(1)", "calls numpy.linalg.inv"),
        ("e07", "import numpy.linalg as la\nimport math as la", "means both"),
        ("e03", "import dataclasses\ndataclasses.builtins.exec('')", "calls dataclasses.builtins"),
        ("e03", "from dataclasses import inspect\ninspect.currentframe()", "calls dataclasses.inspect"),
        ("e03", "import numpy as np\nnp.ma.core.inspect", "numpy.ma.core.inspect"),
        ("e03", "import typing\ntyping.get_type_hints(f)", "calls typing.get_type_hints"),
        ("e03", "next(g).gi_frame.f_back", "Python's own parts"),
        ("e03", "match f:\n case object(__globals__=g): pass", "Python's own parts"),
    ):
        assert said in (grade.statement.complaint(text, number) or ""), text
    allowed = (
        "from __future__ import annotations\nimport numpy as np\nimport scipy.linalg as la\nimport collections.abc\n"
        "from scipy.linalg.lapack import dgesv\nfrom numpy.typing import NDArray\nfrom collections import deque\n"
        "la.lu_factor, dgesv, np.linalg.inv, np.pi, np.emath.sqrt, np.exceptions.AxisError, collections.abc.Callable\n"
        "if __name__ == '__main__':\n    print(NDArray)\n"
        "import copy, math\nclass _A:\n    __slots__ = ('_lu', 'open')\n    open: int = 0\n"
        "    def __init__(self, vars): super().__init__(); self._lu, self.__x = vars, self._open(vars)\n"
        "def f(open, *vars): return [open for open in vars if (input := open) is not vars or input]\n"
        "def g():\n    copy = math.inf\n    def h():\n        nonlocal copy\n        copy = 1\n    compile = h\n"
        "    return compile(), copy\n"
        "def h():\n    try: help = 1\n    except ValueError as exit: print(exit)\n    return help\n"
        "def open(path): return open\nvars: dict = {}\nprint(open(1), vars)\n"
        "linalg = np.linalg\nlinalg.solve, np.testing.assert_equal, np.lib.stride_tricks.sliding_window_view\n"
        "a._replace, p.vars, b.f_value"
    )
    assert grade.statement.complaint(allowed, "e03") is None


def test_a_wrong_program_of_each_kind_is_refused(grade, tmp_path):
    for number, name, limit in (
        ("e02", "no_reflection_of_z", 3.0), ("e05", "calls_the_engine", 3.0), ("e09", "endless_loop", 1.0),
    ):  # fmt: skip
        assert next(complaints(grade, tmp_path, number, patched(number, [MISTAKES[number][name]]), limit=limit), None)


def test_the_command_prints_points_and_the_seed(tmp_path):
    (tmp_path / "e02_mine.py").write_text(SOLUTIONS["e02"].read_text("utf-8"), "utf-8")
    (tmp_path / "e04_mine.py").write_text(patched("e04", [MISTAKES["e04"]["capped_at_one"]]), "utf-8")
    run = python(DOCS / "exercises" / "grade.py", "--of", tmp_path, "--seed", "7", "e02", "e04", cwd=DOCS.parent)
    seed, right, wrong, *sentences = run.stdout.splitlines()
    assert run.returncode == 1 and seed == "seed 7" and right == "e02_mine: 10 of 10 points"
    assert wrong.startswith("e04_mine: ") and len(sentences) >= 1 and "expected" not in wrong
    assert all("longest_step" not in line and ": " in line for line in sentences)


@pytest.mark.full
@pytest.mark.parametrize("number", SOLUTIONS)
def test_the_stub_gets_no_point_and_the_solution_all(grade, tmp_path, number):
    said = list(complaints(grade, tmp_path, number, STUBS[number].read_text("utf-8")))
    assert len(said) == len(grade.CHECKS[number]) and all("NotImplementedError" in one for one in said)
    for seed in SEEDS:
        assert list(complaints(grade, tmp_path, number, SOLUTIONS[number].read_text("utf-8"), seed)) == []


@pytest.mark.full
@pytest.mark.parametrize("number", MISTAKES)
def test_every_wrong_program_is_refused_with_a_sentence(grade, tmp_path, number):
    assert len(MISTAKES[number]) >= 9
    accepted = []
    for k, (name, edit) in enumerate(MISTAKES[number].items()):
        said = next(complaints(grade, tmp_path, number, patched(number, [edit]), SEEDS[k % 2], limit=3.0), None)
        accepted += [] if said and len(said) > 15 else [name]
    assert accepted == []


def test_every_name_that_is_refused_is_in_the_rules(grade):
    rules = (DOCS / "exercises.md").read_text("utf-8").partition("## Rules")[2].partition("\n## ")[0]
    statement = grade.statement
    refused = {name.rpartition(".")[2] for name in statement.CLOSED + statement.INVERSES}
    for name in refused | statement.HIDDEN | statement.FRAMES:
        assert f"`{name}`" in rules or f".{name}`" in rules, name
    assert all("Rules" in ast.get_docstring(ast.parse(path.read_text("utf-8"))) for path in STUBS.values())


def test_an_error_is_told_with_its_arguments(grade, tmp_path):
    text = RIGHT["e04", "the eigenvalue by a Lorentz boost"].replace("du.size", "size")
    text = text.replace("if u.size == 1:", "if u.size == 1:\n        raise IndexError('no tail')")
    said = next(complaints(grade, tmp_path, "e04", text))
    assert said.startswith("longest_step raises IndexError: no tail at ([") and said.count(", ") == 1


def test_a_handout_has_no_solutions_and_a_key_draws_the_data(tmp_path):
    folder = tmp_path / "out"
    built = python(DOCS / "exercises" / "handout.py", "--key", "rye", "--to", folder, cwd=DOCS.parent)
    assert built.returncode == 0, built.stderr
    given = [path for path in (folder / "students").rglob("*") if path.is_file()]
    assert len([path for path in given if path.parent.name == "stubs"]) == 13
    assert not any("## Solutions" in path.read_text("utf-8") for path in given if path.suffix == ".md")
    solved = {path.read_text("utf-8") for path in SOLUTIONS.values()}
    assert not solved & {path.read_text("utf-8") for path in given}
    kept = folder / "lecturer"
    assert {path.read_text("utf-8") for path in (kept / "programs").iterdir()} == solved
    assert len([*(kept / "course").iterdir()]) == len([*(folder / "students" / "course").iterdir()]) >= 20
    mine = [DOCS / "exercises" / "grade.py", "--of", kept / "programs", "--key", "rye", "e04"]
    run = python(*mine, cwd=DOCS.parent)
    assert run.stdout.splitlines() == ["the data of the key", "e04_step_length: 10 of 10 points"]
    assert python(DOCS / "exercises" / "handout.py", "--key", "a", "--to", folder, cwd=DOCS.parent).returncode != 0


def test_students_of_each_exercise_are_many():
    assert len(RIGHT) >= 20 and sum(map(len, WRONG.values())) >= 40
    assert {number for number, _ in RIGHT} == {number for number, _ in WRONG} == set(STUBS)


@pytest.mark.full
@pytest.mark.parametrize("of", RIGHT, ids=" ".join)
def test_programs_of_students(grade, tmp_path, of):
    for seed in SEEDS:
        assert list(complaints(grade, tmp_path, of[0], RIGHT[of], seed)) == []
    for k, (name, edits) in enumerate(WRONG.get(of, {}).items()):
        text = patched(of[0], edits, RIGHT[of])
        said = next(complaints(grade, tmp_path, of[0], text, SEEDS[k % 2], limit=3.0), None)
        assert said and len(said) > 25, name


@pytest.mark.full
@pytest.mark.parametrize("number", sorted({number for number, _ in WAYS}))
def test_right_programs_by_other_ways_pass(grade, tmp_path, number):
    for (of, way), text in WAYS.items():
        for seed in SEEDS if of == number else ():
            assert list(complaints(grade, tmp_path, number, written(number, text), seed)) == [], way
