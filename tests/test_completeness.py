"""The page of completeness names what is there: every file, every name in it, every test; and leaves no row empty."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "completeness.md").read_text(encoding="utf-8")
SECTIONS = ("Epshteyn and DeJong", "Sun and DeJong", "Raina", "Li, Wang", "Lecture")


def rows():
    """The cells of all rows."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [row for row in cells if row[0] not in ("item", "---")]


def names_of(path):
    """What a file defines: functions, classes, methods, constants."""
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
    for item, implemented, *test in rows():
        assert item and implemented and len(test) == 1, item
        tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", test[0])
        assert tests or "::" not in implemented, f"{item}: no test holds it"
        assert test[0] == "-" or tests, item


def test_the_five_sources_are_there():
    heads = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert [any(head.startswith(name) for head in heads) for name in SECTIONS] == [True] * 5
    assert len(rows()) > 110
