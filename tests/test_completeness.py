"""The page of completeness: its files, names and tests exist, and no item is empty."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "completeness.md").read_text(encoding="utf-8")
SECTIONS = ("Epshteyn and DeJong", "Sun and DeJong", "Raina", "Li, Wang", "Lecture")


def items():
    """Return (name, implementation or the reason for none, tests) of each item."""
    found = []
    for block in re.split(r"^- ", PAGE, flags=re.MULTILINE)[1:]:
        text = " ".join(block.split("\n## ")[0].split())
        name, _, rest = text.removeprefix("**").partition("**: ")
        implemented, _, tests = rest.partition(" Held by ")
        found.append((name, implemented, re.findall(r"`(tests/[\w/]+\.py::test_\w+)`", tests)))
    return found


def names_of(path):
    """Return the names that a file defines: functions, classes, methods, constants."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_every_name_on_the_page_is_there():
    named = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
    assert len(named) > 150
    known = {file: names_of(ROOT / file) for file, _ in named}
    assert [f"{file}::{name}" for file, name in named if name not in known[file]] == []


def test_every_item_has_what_implements_it_or_why_nothing_does():
    for name, implemented, tests in items():
        assert name and len(implemented) > 10, name
        assert tests or "::" not in implemented, f"{name}: no test holds it"


def test_the_five_sources_are_there():
    heads = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert [any(head.startswith(name) for head in heads) for name in SECTIONS] == [True] * 5
    assert len(items()) > 110
