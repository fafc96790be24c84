"""Docstrings as reStructuredText: they are written to be read in an editor, with bars for norms and formulas indented.

Sphinx gives the lines of a docstring to `plain_text` before napoleon reads its sections.  There bars, stars and
trailing underscores of the text are escaped, names in backticks become literals, a block that is indented below a
paragraph becomes a literal block, and a list ends with an empty line.  Mathematics, code and doctests stay as they are.
"""

import re

FIELDS = {"Parameters", "Attributes", "Returns", "Raises", "Yields"}  # sections whose items are described, indented
TOKEN = re.compile(r"(:\w+:`[^`]*`|``[^`]*(?:`[^`]+)*``|`[^`]+`)")


def plain_text(app, what, name, obj, options, lines):
    """The hook of autodoc; changes the lines in place."""
    out, base, section = [], 0, ""
    kept_until = -1  # the indentation above which lines stay as they are
    in_list = False
    for k, line in enumerate(lines):
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if not text:
            out.append("")
            continue
        if k + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[k + 1].strip()):
            section, base, kept_until, in_list = text, 0, -1, False
        is_rule = re.fullmatch(r"-{3,}", text)
        if section in FIELDS:
            base = min(indent, 4)
        if kept_until >= 0 and indent > kept_until:
            out.append(line)
            continue
        kept_until = -1
        if text.startswith(".. "):
            kept_until = indent
        elif text.startswith((">>>", "...")) or (out and out[-1].strip().startswith((">>>", "..."))):
            pass  # a doctest or what it prints
        elif is_rule or text == section:
            pass
        elif indent > base and not in_list and k and not lines[k - 1].strip() and section != "Examples":
            out += [" " * base + "::", ""]
            kept_until = base
        elif section != "Examples" or not _follows_doctest(out):
            is_item = text.startswith("- ")
            if in_list and not is_item and indent <= base:
                out.append("")
            in_list = is_item or (in_list and indent > base)
            line = line[:indent] + _item(text) if section in FIELDS and indent == 0 else line[:indent] + escape(text)
        out.append(line)
    lines[:] = out


def _follows_doctest(out):
    """Whether the paragraph before is a doctest without an empty line in between."""
    paragraph = []
    for line in reversed(out):
        if not line.strip():
            break
        paragraph.append(line.strip())
    return bool(paragraph) and paragraph[-1].startswith(">>>")


def _item(text):
    """`names : type` of a section: the names are napoleon's to escape."""
    names, colon, kind = text.partition(" : ")
    return names + colon + escape(kind)


def escape(text):
    """Text without the markup that it does not mean."""
    parts = TOKEN.split(text)
    for k, part in enumerate(parts):
        if part.startswith(":") and part.endswith("`"):
            continue
        if part.startswith("``"):
            continue
        if part.startswith("`"):
            parts[k] = f"`{part}`"
        else:
            part = re.sub(r"\\(?=\s)", r"\\\\", part)  # a division from the left
            parts[k] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", part.replace("*", "\\*").replace("|", "\\|"))
    return "".join(parts)
