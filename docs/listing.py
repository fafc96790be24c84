"""The list of folders and files on the page files.md, made from the first paragraphs of their docstrings."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("socp", "qp", "models", "bench")
PLACE = "<!-- the list -->"


def first_words(path):
    """Return the first paragraph of a module's docstring as one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return " ".join((docstring or "").split("\n\n")[0].split())


def escape(text):
    """Escape text for the cell of a table in Markdown, except names in backticks."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_|<])", r"\\\1", part) for part in parts)


def markdown():
    """Return the list in Markdown: a heading, a sentence and a table for each folder of the packages."""
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
    """Insert the list at its place in a page; a hook of Sphinx."""
    source[0] = source[0].replace(PLACE, markdown())
