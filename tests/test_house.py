"""The rooms of the engine: the order of their imports and their sizes, as stated in docs/architecture.md."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("socp", "qp", "models", "bench")
GROWTH = 1.1  # allowed growth of a room beyond its line in the table

FILES = {path.relative_to(ROOT): path.read_text("utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py")}
MODULES = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}


def room_of(path):
    """Return the room of a file: its folder or file in the engine, or the package models or bench."""
    return "/".join(path.parts[:2]) if path.parts[0] in ("socp", "qp") else path.parts[0]


def is_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


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


def targets(path, text):
    """Return the files of the project that a file imports or names, except imports for types only."""
    waiting, found = [ast.parse(text)], set()
    while waiting:
        node = waiting.pop()
        if not is_for_types(node):
            found |= {MODULES[name] for name in named(path, node) if name in MODULES}
            waiting.extend(ast.iter_child_nodes(node))
    return found - {path}


def table():
    """Return [(room, lines)] of the table of rooms, in its order."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    return [
        (room, int(lines.replace(",", ""))) for room, lines in re.findall(r"^\| `([\w/.]+)` \| ([\d,]+) \|", text, re.M)
    ]


def back(files, rooms):
    """Return [(file, imported file)] of the imports of a later room or of a higher package."""
    place = {room: k for k, room in enumerate([*rooms, "models", "bench"])}
    gathered = {Path(name) / "__init__.py" for name in PACKAGES}  # a package re-exports from all its rooms
    return sorted(
        (str(path), str(target)) for path, text in files.items() if path not in gathered
        for target in targets(path, text) - gathered if place[room_of(target)] > place[room_of(path)]
    )  # fmt: skip


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


def test_no_room_grows_unseen():
    lines = lines_of_rooms()
    assert [(room, lines[room]) for room, most in table() if lines[room] > GROWTH * most] == []


@pytest.mark.parametrize("text", [
    "from ..solver import Solver", "from socp import solver", "import socp.solver", "from .. import solver",
    "def late():\n    from ..solver import Solver", "importlib.import_module('socp.solver')",
    "KERNELS = ('qp.reduce.removal.remove_rows',)", "import models.svm",
])  # fmt: skip
def test_an_import_that_runs_back_is_seen(text):
    path, rooms = Path("socp/kkt/base.py"), [room for room, _ in table()]
    assert [source for source, _ in back({path: text}, rooms)] == [str(path)]
    assert back({path: f"if TYPE_CHECKING:\n    {text.splitlines()[-1].strip()}"}, rooms) == []
    assert back({path: "from ..linalg.csc import csc\nimport numpy\n'socp.cones.product'"}, rooms) == []
