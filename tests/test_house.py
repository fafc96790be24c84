"""Imports run one way; the rooms of the engine have the order and the sizes that docs/architecture.md states."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("socp", "qp", "models", "bench")
GROWTH = 1.1  # allowed growth of a room beyond its line in the table

FILES = {path.relative_to(ROOT): path.read_text("utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
GATHERED = {Path(name) / "__init__.py" for name in PACKAGES}  # a package re-exports from all its rooms
MODULES = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}


def room_of(path):
    """Return the room of a file: its folder or file in the engine, or the package models or bench."""
    return "/".join(path.parts[:2]) if path.parts[0] in ("socp", "qp") else path.parts[0]


def named(path, node):
    """Return the modules that a node of a file names, by an import or in a string."""
    package = list(path.parent.parts)
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*above, *(node.module or "").split(".")]).strip(".")
        return [name if (name := f"{module}.{alias.name}") in MODULES else module for alias in node.names]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"\w+(\.\w+)+", node.value):
        return [node.value, node.value.rpartition(".")[0]]  # the module of a kernel
    return []


@cache
def targets(path, text):
    """Return the files of the project that a file imports or names, imports for types included."""
    names = [name for node in ast.walk(ast.parse(text)) for name in named(path, node)]
    return {MODULES[name] for name in names if name in MODULES} - {path}


def table():
    """Return [(room, lines)] of the table of rooms, in its order."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    return [
        (room, int(lines.replace(",", ""))) for room, lines in re.findall(r"^\| `([\w/.]+)` \| ([\d,]+) \|", text, re.M)
    ]


def back(files, rooms):
    """Return [(file, imported file)] of the imports of a later room or of a higher package."""
    place = {room: k for k, room in enumerate([*rooms, "models", "bench"])}
    return sorted(
        (str(path), str(target)) for path, text in files.items() if path not in GATHERED
        for target in targets(path, text) - GATHERED if place[room_of(target)] > place[room_of(path)]
    )  # fmt: skip


def circle(files, part_of):
    """Return the parts, as `part_of` names the part of a file, on a circle of imports, or [] if there is none."""
    graph = {}
    for path, text in files.items():
        if path not in GATHERED:
            graph.setdefault(part_of(path), set()).update(map(part_of, targets(path, text) - GATHERED))
    try:
        TopologicalSorter({part: others - {part} for part, others in graph.items()}).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def lines_of_rooms():
    found = {}
    for path, text in FILES.items():
        if room_of(path) not in ("models", "bench"):
            found[room_of(path)] = found.get(room_of(path), 0) + text.count("\n")
    return found


def test_every_room_has_a_line():
    rooms = [room for room, _ in table()]
    assert len(set(rooms)) == len(rooms) and set(rooms) == set(lines_of_rooms())


def test_no_import_runs_back():
    assert back(FILES, [room for room, _ in table()]) == []


@pytest.mark.parametrize("part_of", [str, lambda path: "/".join(path.parts[:2])], ids=["files", "folders"])
def test_no_import_runs_in_a_circle(part_of):
    assert circle(FILES, part_of) == []


@pytest.mark.parametrize("under", ["", "if TYPE_CHECKING:\n    ", "def late():\n    "])
def test_a_circle_is_seen(under):
    files = {Path("models/kernels/kernel.py"): "", Path("models/base/rows.py"): "from ..kernels import kernel"}
    assert circle(files, str) == []
    files[Path("models/kernels/kernel.py")] = under + "from ..base.rows import Rows"
    assert set(circle(files, str)) == set(map(str, files))
    files[Path("models/kernels/margin.py")] = files.pop(Path("models/kernels/kernel.py"))
    assert circle(files, str) == [] and set(circle(files, lambda path: path.parts[1])) == {"kernels", "base"}


def test_no_room_grows_unseen():
    lines = lines_of_rooms()
    assert [(room, lines[room]) for room, most in table() if lines[room] > GROWTH * most] == []


@pytest.mark.parametrize("text", [
    "from ..solver import Solver", "from socp import solver", "import socp.solver", "from .. import solver",
    "def late():\n    from ..solver import Solver", "importlib.import_module('socp.solver')",
    "KERNELS = ('qp.reduce.removal.remove_rows',)", "import models.svm",
    "if TYPE_CHECKING:\n    from ..solver import Solver",
])  # fmt: skip
def test_an_import_that_runs_back_is_seen(text):
    path, rooms = Path("socp/kkt/base.py"), [room for room, _ in table()]
    assert [source for source, _ in back({path: text}, rooms)] == [str(path)]
    assert back({path: "from ..linalg.csc import csc\nimport numpy\n'socp.cones.product'"}, rooms) == []
