"""Every folder and file in a line: what their docstrings begin with, so that nobody keeps a second list."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("socp", "qp", "models", "bench")
PLACE = "<!-- the list -->"


def first_words(path):
    """The first paragraph of a module's docstring, in one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return " ".join((docstring or "").split("\n\n")[0].split())


def escape(text):
    """Text for the cell of a table in Markdown; names in backticks stay."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_|<])", r"\\\1", part) for part in parts)


def markdown():
    """A heading, a sentence and a table for each folder of the packages."""
    lines = []
    for package in PACKAGES:
        for init in sorted((ROOT / package).rglob("__init__.py")):
            folder = init.parent
            lines += [f"## `{folder.relative_to(ROOT).as_posix()}/`", "", escape(first_words(init)), ""]
            files = sorted(path for path in folder.glob("*.py") if path != init)
            if files:
                rows = [f"| `{path.name}` | {escape(first_words(path))} |" for path in files]
                lines += ["| file | what it holds |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def insert(app, docname, source):
    """The hook of Sphinx that reads a page."""
    source[0] = source[0].replace(PLACE, markdown())
