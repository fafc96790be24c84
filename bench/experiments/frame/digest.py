"""Digest of twelve digits of the code that makes an experiment's runs."""

from __future__ import annotations

import ast
import hashlib
import os
import tokenize
from pathlib import Path

from .experiment import Experiment

PACKAGES = Path(__file__).resolve().parents[3]
TOLD = {"tables", "figure", "verdict", "title", "source", "claim", "protocol", "apart", "rivals", "before", "trials"}
"""Members of an experiment that describe its runs; they can be computed again from the runs."""
ROOMS = "models", "bench/experiments", "bench/data"
FRAME = "bench/experiments/frame"


def code_of(experiment: Experiment) -> str:
    """Return a digest of twelve digits of the code that makes the runs: the experiment, and its imports from `ROOMS`.

    Comments, docstrings and the members in `TOLD` are left out.  So is the engine, whose answers do not change
    beyond its tolerance: its own tests ensure that.
    """
    found, waiting = set(), [PACKAGES.joinpath(*type(experiment).__module__.split(".")).with_suffix(".py")]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported(path)
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(f"{path.relative_to(PACKAGES).as_posix()}\n{_code(path)}".encode())
    return digest.hexdigest()[:12]


def _imported(path: Path) -> list[Path]:
    """Return the files of `ROOMS` that a file imports from, except for the frame of the experiments."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if node.level else PACKAGES
            place = base.joinpath(*(node.module or "").split("."))
            found += [one for alias in node.names for one in _file_with(place, alias.name)]
    rooms, frame = tuple(f"{PACKAGES / room}{os.sep}" for room in ROOMS), PACKAGES / FRAME
    return [one for one in found if str(one).startswith(rooms) and frame not in one.parents]


def _file_with(place: Path, name: str) -> list[Path]:
    """Return the file of a module, or the file of a package that defines a name imported from the package."""
    for one in (place.with_suffix(".py"), place / f"{name}.py"):
        if one.is_file():
            return [one]
    init = place / "__init__.py"
    for node in ast.walk(ast.parse(init.read_text(encoding="utf-8"))) if init.is_file() else ():
        if isinstance(node, ast.ImportFrom) and node.level and any(name in (a.name, a.asname) for a in node.names):
            return _file_with(place.joinpath(*(node.module or "").split(".")), name)
    return []


def _code(path: Path) -> str:
    """Return the lines of a file without comments and docstrings, and without class members in `TOLD`."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for node in ast.walk(ast.parse("\n".join(lines))):
        for one in getattr(node, "body", ()) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) else ():
            if _is_told(one, node):
                for k in range(one.lineno - 1, one.end_lineno or one.lineno):
                    lines[k] = ""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    return "\n".join(filter(None, map(str.strip, lines)))


def _is_told(node: ast.stmt, within: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    names = [node.name] if isinstance(node, ast.FunctionDef) else []
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    return isinstance(within, ast.ClassDef) and bool(TOLD & set(names))
