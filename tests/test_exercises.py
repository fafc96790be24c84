"""The exercises that are programs: the grader passes the solutions, and neither the stubs nor wrong programs."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "exercises"
SOLUTIONS = sorted((FOLDER / "solutions").glob("*.py"))

# in each solution something that a student might write: (what stands there, what is wrong)
MISTAKES = {
    "e01": ("return -0.5 * np.log(det)", "return -np.log(det)"),
    "e02": ("np.sqrt(root_s / root_z)", "root_s / root_z"),
    "e03": ("sigma * (s @ z) / m - s * z", "sigma - s * z"),
    "e04": ("(1.0 + unit[0])", "unit[0]"),
    "e05": ("return x, y, z, iteration", "return x, y, -z, iteration"),
    "e06": ("if slope > 0.0 and norm(A.T", "if norm(A.T"),
    "e07": ("d[j] = signs[j] * delta", "d[j] = delta"),
    "e08": ("neighbours[i] |= neighbours[k]", "pass"),
    "e09": ("l, u = l - A[:, j] * lb[j], u", "l, u = l, u"),
    "e10": ("signed = y[:, None] * X", "signed = X"),
    "e11": ("+ 4.0 * mu", "+ mu"),
    "e12": ("dh[active] = -u", "dh[active] = u"),
}


def graded(folder, *more):
    """{exercise: outcomes} of the grader, in a process of its own."""
    command = [sys.executable, "-m", "pytest", str(FOLDER), "--of", str(folder), "-n", "0", "-rA", "--tb=line", *more]
    result = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=600)
    outcomes = {}
    for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR) \S+::test_(e\d\d)", result.stdout, re.MULTILINE):
        outcomes.setdefault(name, set()).add(outcome)
    assert len(outcomes) == 12, result.stdout + result.stderr
    return outcomes


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
    assert set.union(*graded("solutions").values()) == {"PASSED"}


@pytest.mark.full
def test_the_stubs_fail_every_test():
    assert set.union(*graded("stubs").values()) == {"FAILED"}


@pytest.mark.full
def test_a_wrong_program_does_not_pass(tmp_path):
    for path in SOLUTIONS:
        right, wrong = MISTAKES[path.name[:3]]
        text = path.read_text(encoding="utf-8")
        assert text.count(right) == 1, path.name
        (tmp_path / path.name).write_text(text.replace(right, wrong), encoding="utf-8")
    assert [name for name, outcomes in graded(tmp_path).items() if "FAILED" not in outcomes] == []
