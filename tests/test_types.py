"""Public calls as a type checker sees them: right ones pass, wrong ones are refused."""

import re
from pathlib import Path

import pytest

from socp.method.run import Iterate
from socp.problem.solution import TRACE
from tests.support.processes import python

ROOT = Path(__file__).resolve().parents[1]
CALLS = ROOT / "tests" / "support" / "typed_calls.py"


def test_an_iterate_has_the_fields_of_the_trace_by_type():
    types = {name: "int" if kind == "int64" else "float" for name, (kind, _) in TRACE.fields.items()}
    assert Iterate.__annotations__ == dict.fromkeys("xyzs", "np.ndarray") | types


@pytest.mark.full  # a type checker reads all packages
def test_mypy_refuses_the_wrong_calls_alone(tmp_path):
    pytest.importorskip("mypy")
    options = ["--config-file", "", "--follow-imports=silent", "--ignore-missing-imports"]
    ran = python("-m", "mypy", *options, "--cache-dir", tmp_path, CALLS, cwd=ROOT)
    found = {int(line) for line in re.findall(r"typed_calls\.py:(\d+): error: ", ran.stdout)}
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    assert found == {number for number, line in enumerate(lines, 1) if line.endswith("  # wrong")}, ran.stdout
