"""Kernels: one signature, calls by symbol, contents of a stamp, no compilation."""

import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import pytest

from socp.compiled import kernels
from socp.compiled.kernels import Kernel
from socp.compiled.signatures import Floats

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")


def run(code, folder, environment=(), status=0):
    """Return the output of a new Python process that imports modules from `folder` and caches its kernels there."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "CENTRALPATH_"))}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=600, cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(folder / "cache"), **dict(environment)},
    )  # fmt: skip
    assert result.returncode == status, result.stderr
    return result.stdout + result.stderr


INNER = """
from __future__ import annotations
from socp.compiled.kernels import inner, kernel, leaf
from socp.compiled.signatures import Floats

SHIFT = {shift}

@leaf
def twice(x: float) -> float:
    return {factor} * x

@inner
def total(x: Floats) -> tuple[float, int]:
    result = SHIFT
    for i in range(x.size):
        result += {entry}
    return result, x.size
"""
OUTER = """
from __future__ import annotations
import inner_file
from inner_file import twice
from socp.compiled.kernels import kernel
from socp.compiled.signatures import Floats

@kernel
def outer(x: Floats) -> float:
    result, size = inner_file.total(x)
    return twice(result) + size

@kernel
def other(x: Floats) -> float:
    return x[0]
"""
IMPORT = "from socp.compiled.kernels import kernel\n\n\n"
CODE = """
import numpy as np
from outer_file import outer, other
print("answers", outer(np.arange(3.0)), other(np.ones(1)))
"""


def write(folder, shift="1.0", factor="2.0", entry="x[i]"):
    (folder / "inner_file.py").write_text(INNER.format(shift=shift, factor=factor, entry=entry))
    (folder / "outer_file.py").write_text(OUTER)


def files(folder):
    """Return {name: (file name, modification time)} of the kernels in the cache."""
    found = (folder / "cache").glob("centralpath/*/*.kernel")
    return {path.name.split("-")[0]: (path.name, path.stat().st_mtime_ns) for path in found}


def new_files(folder, before):
    """Return the names of the kernels that were compiled after `before` was taken."""
    old = {name for name, _ in before.values()}
    found = (folder / "cache").glob("centralpath/*/*.kernel")
    return {path.name.split("-")[0] for path in found if path.name not in old}


@pytest.mark.full
@pytest.mark.parametrize("change, answer, compiled", [
    ({}, "11.0", set()), ({"entry": "3.0 * x[i]"}, "23.0", {"inner_file.total"}),  # the body of one kernel
    ({"shift": "5.0"}, "19.0", {"inner_file.total"}),  # a compiled constant
    ({"factor": "4.0"}, "19.0", {"outer_file.outer"}),  # a function inlined in its callers
    ({"shift": "1.0  # why"}, "11.0", set()), ({"entry": "x[i]\n        # why"}, "11.0", set()),
])  # fmt: skip
def test_what_a_kernel_is_made_of_is_in_its_stamp(tmp_path, change, answer, compiled):
    write(tmp_path)
    assert "answers 11.0 1.0" in run(CODE, tmp_path)
    before = files(tmp_path)
    assert set(before) == {"inner_file.total", "outer_file.outer", "outer_file.other"}
    write(tmp_path, **change)
    out = run(CODE, tmp_path)
    assert f"answers {answer} 1.0" in out and new_files(tmp_path, before) == compiled
    assert compiled or ("compiling" not in out and files(tmp_path) == before)


REVERSE = """import numpy as np
from socp.compiled.signatures import Floats

@kernel
def called(x: Floats) -> None:
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[x.size - 1 - i]
    for i in range(x.size):
        x[i] = y[i]
"""


@pytest.mark.full
@pytest.mark.parametrize("body, code, answer", [
    ("@kernel\ndef called(x: float, y: float) -> float:\n    return x / y\n",
     "print(called(1.0, 0.0), called(0.0, 0.0))", "inf nan"),  # division by zero as in NumPy
    ("@kernel\ndef called(x: float, k: int) -> float:\n    return x / 2 + k\n",
     "print(called(1, True), called(np.float32(1), np.int8(2)))", "1.5 2.5"),  # numbers are cast to the declared types
    (REVERSE, "x = np.arange(3.0)\nfor _ in range(1001):\n    called(x)\nprint(x)", "[2. 1. 0.]"),  # it allocates
], ids=["division", "cast", "arrays"])  # fmt: skip
def test_what_a_kernel_makes_of_numbers(tmp_path, body, code, answer):
    (tmp_path / "called_file.py").write_text(IMPORT + body)
    for _ in range(2):  # compiled, then loaded
        assert answer in run(f"import numpy as np\nfrom called_file import called\n{code}", tmp_path)


@pytest.mark.full
def test_checks_refuse_arrays_of_another_kind(tmp_path):
    write(tmp_path)
    code = "import numpy as np\nfrom outer_file import other\nother(np.ones(3)[::2])"
    assert "other takes" in run(code, tmp_path, {"CENTRALPATH_CHECKS": "1"}, status=1)
    code = "import numpy as np\nfrom outer_file import other\nother(np.ones(3, np.int64))"
    assert "other takes" in run(code, tmp_path, {"CENTRALPATH_CHECKS": "1"}, status=1)


def test_a_missing_annotation_and_a_result_that_python_may_not_have_are_refused(monkeypatch):
    monkeypatch.setattr(kernels, "_kernels", [])  # later tests do not see the kernels registered here
    with pytest.raises(TypeError, match="lacks annotations of x"):
        Kernel(lambda x: x, "inner").signature  # noqa: B018

    def pair(x: float) -> tuple[float, float]:
        return x, x

    with pytest.raises(TypeError, match="must return nothing or a number"):
        Kernel(pair, "kernel").signature  # noqa: B018


def test_every_kernel_has_one_signature():
    import socp  # noqa: F401

    found = [kernel for kernel in kernels.kernels() if not kernel.py_func.__module__.startswith("tests.")]
    names = [kernel.name for kernel in found if not kernel.name.endswith("way_in")]
    assert len(names) == len(set(names)) > 150
    symbols = {kernel.symbol for kernel in found if kernel.kind != "way in"}
    assert len(symbols) == len(names)
    for kernel in found:
        assert kernel.signature is not None
        if kernel.kind == "kernel":
            assert str(kernel.signature.return_type) in ("none", "int64", "float64", "bool", "boolean")


@pytest.mark.skipif(kernels.CHECKS, reason="CENTRALPATH_CHECKS has Python look at the arguments")
def test_no_frame_of_python_lies_before_the_machine_code():
    x = np.zeros(5)
    entries_at(x, 1, x)
    assert isinstance(entries_at.__call__, types.BuiltinFunctionType)


def doubled(x: float) -> float:
    return 2.0 * x


def test_a_load_that_is_interrupted_is_done_again(monkeypatch):
    kernel, add_symbol = kernels.kernel(doubled), llvmlite.binding.add_symbol  # a kernel that no warmup has loaded

    def interrupted(name, address):
        if name == kernel.symbol:
            monkeypatch.setattr(llvmlite.binding, "add_symbol", add_symbol)
            raise KeyboardInterrupt
        add_symbol(name, address)

    monkeypatch.setattr(llvmlite.binding, "add_symbol", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kernel(1.0)
    assert kernel(1.0) == 2.0 and kernel(4.0) == 8.0
    for value in (0, 1):
        monkeypatch.setattr(numba.config, "SLP_VECTORIZE", value)
        kernel.compile()
        assert numba.config.SLP_VECTORIZE == value  # other users of numba find it as they left it


@kernels.kernel
def entries_at(x: Floats, k: int, out: Floats) -> None:
    out[0], out[1] = x[-1], x[k]
    out[k + 1] = 5.0


def test_indices_count_from_the_front_but_for_literal_ones():
    x, out = np.arange(4.0), np.zeros(4)
    entries_at(x, 2, out)
    np.testing.assert_array_equal(out, [3.0, 2.0, 0.0, 5.0])
    text = str(entries_at.typed_and_lowered().library._final_module)
    assert "icmp slt i64 %arg.k, 0" not in text and "select" not in text


@pytest.mark.full
def test_checks_refuse_an_index_out_of_bounds(tmp_path):
    write(tmp_path, entry="x[i - k]")
    source = (tmp_path / "inner_file.py").read_text().replace("result = SHIFT", "result, k = SHIFT, x.size")
    (tmp_path / "inner_file.py").write_text(source)
    assert "index is out of bounds" in run(CODE, tmp_path, {"CENTRALPATH_CHECKS": "1"}, status=1)
