"""The exercises that are programs: the grader passes the solutions, and neither the stubs nor wrong programs."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.exercise_mistakes import MISTAKES

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "exercises"
SOLUTIONS = sorted((FOLDER / "solutions").glob("*.py"))


def graded(folder):
    """{program: its failures, each with its message} of the grader, in a process of its own; all programs of FOLDER."""
    command = [sys.executable, "-m", "pytest", str(FOLDER), "--of", str(folder), "-n", "0", "-rA", "--tb=line"]
    environment = os.environ | {"COLUMNS": "1000"}  # whole messages in the summary
    result = subprocess.run(
        command, cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=600, env=environment
    )
    failures = {}
    pattern = r"^(PASSED|FAILED|ERROR) \S+::test_e\d\d\w+\[(?:[\d.e-]+-)?(e\d\d_\w+)(?:-[\d.e-]+)?\](.*)$"
    for outcome, program, message in re.findall(pattern, result.stdout, re.MULTILINE):
        failures.setdefault(program, []).extend([] if outcome == "PASSED" else [message])
    assert len(failures) >= 12, result.stdout + result.stderr
    return failures


def test_there_are_twelve_and_a_stub_says_what_its_solution_does():
    assert [path.name[:3] for path in SOLUTIONS] == [f"e{k:02d}" for k in range(1, 13)]
    for path in SOLUTIONS:
        solution, stub = (
            ast.parse((FOLDER / kind / path.name).read_text(encoding="utf-8")) for kind in ("solutions", "stubs")
        )
        assert ast.get_docstring(stub) == ast.get_docstring(solution)
        functions = [
            [(f.name, ast.unparse(f.args), ast.get_docstring(f)) for f in tree.body if isinstance(f, ast.FunctionDef)]
            for tree in (solution, stub)
        ]
        assert functions[0] == functions[1] and all(doc for _, _, doc in functions[0])
        for function in stub.body:
            if isinstance(function, ast.FunctionDef):
                assert len(function.body) == 2 and ast.unparse(function.body[1]) == "raise NotImplementedError"


@pytest.mark.full
def test_the_solutions_pass():
    assert graded("solutions") == {path.stem: [] for path in SOLUTIONS}


@pytest.mark.full
def test_the_stubs_fail_every_test():
    failures = graded("stubs")
    assert failures.keys() == {path.stem for path in SOLUTIONS}
    for program, tests in Counter(re.findall(r"def test_(e\d\d)", (FOLDER / "test_exercises.py").read_text())).items():
        (found,) = (said for name, said in failures.items() if name.startswith(program))
        assert len(found) >= tests and all("NotImplementedError" in message for message in found)


@pytest.mark.full
def test_every_wrong_program_is_refused_with_a_sentence(tmp_path):
    expected = set()
    for path in SOLUTIONS:
        number, text = path.stem[:3], path.read_text(encoding="utf-8")
        assert len(MISTAKES[number]) >= 9
        for name, edits in MISTAKES[number].items():
            wrong = text
            for right, mistaken in edits:
                assert wrong.count(right) == 1, f"{number}_{name}: {right}"
                wrong = wrong.replace(right, mistaken)
            (tmp_path / f"{number}_{name}.py").write_text(wrong, encoding="utf-8")
            expected.add(f"{number}_{name}")
    failures = graded(tmp_path)
    assert failures.keys() == expected
    assert [name for name in expected if not failures[name]] == []
    # what the grader finds is said in a sentence; what the program raises by itself is shown as it is
    dumps = [name for name in expected if any("AssertionError" in message for message in failures[name])]
    assert dumps == []
