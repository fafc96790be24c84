"""The page on kernels: its code runs, its list of files is complete, its names of numba are there and are all."""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from socp.compiled import kernels, structures

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
COMPILED = sorted((ROOT / "socp" / "compiled").glob("*.py"))
SOURCES = [*COMPILED, ROOT / "socp" / "linalg" / "accurate.py"]
TREES = {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def listed():
    """Return [(module, its names, files that use them)] of the page's list of names."""
    text = PAGE[PAGE.index("## What a newer numba may break") :]
    items = [" ".join(item.split()) for item in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]
    parts = [re.fullmatch(r"`([\w.]+)`: (.*); in (.*)", item).groups() for item in items]
    return [(module, *(set(re.findall(r"`([\w.]+)`", part)) for part in rest)) for module, *rest in parts]


@pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")
def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    code = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(code) == 5
    monkeypatch.setattr(kernels, "_kernels", [])  # later tests do not see the kernels of the page
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "smoothing.py").write_text("\n".join(code), encoding="utf-8")
    page = importlib.import_module("smoothing")
    assert {kernel.py_func.__name__ for kernel in kernels.kernels()} == {
        "blend", "smooth", "update", "update_counted", "count",
    }  # fmt: skip
    assert isinstance(page.counted, structures.Structure) and page.counted.weight == 0.0
    assert page.update.symbol in PAGE.replace("smoothing.blend", "smoothing.update")


def test_the_page_has_a_line_for_every_file_of_the_folder():
    text = PAGE[PAGE.index("## Files of `socp/compiled`") : PAGE.index("## What a newer numba may break")]
    assert sorted(re.findall(r"^\| `(\w+\.py)` \| .{10,} \|$", text, re.MULTILINE)) == [path.name for path in COMPILED]


def test_the_steps_of_a_call_name_functions_that_are_there():
    steps = PAGE[PAGE.index("## One call") : PAGE.index("## Files of")].split("```python")
    named = re.findall(r"^\d\. `(\w+\.py)`: (.*(?:\n   .*)*)", steps[0], re.MULTILINE)
    assert len(named) == 5
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for file, text in named:
        assert (ROOT / "socp" / "compiled" / file).is_file()
        calls = {name.split(".")[-1] for name in re.findall(r"`([A-Za-z_][\w.]*)`", text) if not name.endswith(".py")}
        assert calls - {"update", "blend", "state", "x", "__call__"} <= defined, calls - defined


@pytest.mark.parametrize(("module", "names", "files"), listed(), ids=[f"{m}-{min(n)}" for m, n, _ in listed()])
def test_a_name_of_numba_is_there_and_is_used_where_the_page_says(module, names, files):
    found = importlib.import_module(module)
    for name in names:
        try:
            importlib.import_module(f"{module}.{name}")
        except ImportError:
            assert hasattr(found, name) or re.search(rf"\b{name}\b", inspect.getsource(found)), name
    for file in files:
        text = ast.unparse(TREES[file])
        assert any(re.search(rf"\b{name}\b", text) for name in names), file
    for name in names:
        assert any(re.search(rf"\b{name}\b", ast.unparse(TREES[file])) for file in files), name


def taken(tree):
    """Yield (module, name) of all that a file imports of numba and llvmlite, or takes from a module of theirs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and re.match(r"(numba|llvmlite)\b", node.module or ""):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("numba", "llvmlite.binding", "llvm"):
            yield {"llvm": "llvmlite.binding"}.get(ast.unparse(node.value), ast.unparse(node.value)), node.attr


@cache
def own_names():
    """Return the attributes that the folder's own classes and modules define."""
    names = set()
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
                if not isinstance(node, ast.Attribute) or ast.unparse(node.value) in ("self", "found", "cls"):
                    names.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    return names


@pytest.mark.parametrize("file", TREES)
def test_every_name_of_numba_that_a_file_uses_is_listed(file):
    here = [(module, names) for module, names, files in listed() if file in files]
    for module, name in taken(TREES[file]):
        if name != "__version__":
            assert any(module == other and name in names for other, names in here), (module, name)
    private = {
        node.attr for node in ast.walk(TREES[file])
        if isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr) and node.attr not in own_names()
    }  # fmt: skip
    assert private <= set().union(*(names for _, names in here)), private


def test_only_machine_uses_private_names():
    _, private = PAGE.split("\nPrivate: parts of numba's compiler.")
    items = re.findall(r"^- (.*(?:\n  .*)*)", private, re.MULTILINE)
    assert len(items) > 8 and all(re.search(r"; in\s+`machine\.py`$", item) for item in items)


def test_no_other_file_uses_numba():
    for package in ("socp", "qp", "models"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if path not in SOURCES and re.search("numba|llvm", text):
                assert not list(taken(ast.parse(text))), path
