"""Conversion of docstrings, written for editors with bars for norms and indented formulas, to reStructuredText.

Sphinx gives the lines of a docstring to `plain_text` before napoleon reads its sections.  There bars, stars and
trailing underscores of the text are escaped, names in backticks become literals, a block that is indented below a
paragraph becomes a literal block, and a list ends with an empty line.  Mathematics, code and doctests stay as they are.

Napoleon takes ``x, y : type`` under "Parameters" for two names and under "Attributes" for one of that name, so the
attributes are written as Sphinx's own directives here: each with its type; the names of an item share a description.
"""

import re

FIELDS = {"Parameters", "Attributes", "Returns", "Raises", "Yields"}  # sections of items with indented descriptions
TOKEN = re.compile(r"(:\w+:`[^`]*`|``[^`]*(?:`[^`]+)*``|`[^`]+`)")


def plain_text(app, what, name, obj, options, lines):
    """Convert the lines of a docstring in place; a hook of autodoc."""
    out, base, section = [], 0, ""
    kept_until = -1  # lines indented deeper than this stay unchanged; -1: none
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
            pass  # a doctest or its output
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
            if section in FIELDS and indent == 0:
                line = text if section == "Attributes" else _item(text)
            else:
                line = line[:indent] + escape(text)
        out.append(line)
    lines[:] = _described(out)


# ---- members of a class in the reference


def plain_signature(app, what, name, obj, options, signature, returns):
    """Write an empty dict for a dataclass field with a factory; a hook of autodoc."""
    return signature and signature.replace("<factory>", "{}"), returns


def skip_internal(app, what, name, obj, skip, options):
    """Skip `of_checked` constructors, which are internal, and fields of named tuples; a hook of autodoc.

    The docstring describes these fields as attributes."""
    return True if name == "of_checked" or type(obj).__name__ == "_tuplegetter" else None


# ---- attributes

KIND, TOGETHER = "type: ", "described with the next"  # comments in a directive that `write_attributes` replaces


def _described(lines):
    """Return the lines with the items of the section "Attributes" as directives."""
    start = next(
        (k for k in range(len(lines) - 1) if lines[k] == "Attributes" and lines[k + 1].startswith("---")), None
    )
    if start is None:
        return lines
    rules = (k for k in range(start + 2, len(lines) - 1) if lines[k] and re.fullmatch("-{3,}", lines[k + 1]))
    end = next(rules, len(lines))
    out = [*lines[:start], "", "", ".. rubric:: Attributes", ""]  # two empty lines end the previous section
    for line in lines[start + 2 : end]:
        if not line or line.startswith(" "):
            out.append(line)
            continue
        names, _, kind = line.partition(" : ")
        names = names.split(", ")
        for name, its in zip(names, kinds(kind, len(names))):
            out += ["", f".. attribute:: {name}", ""]
            out += [f"    .. {KIND}{its}", ""] if its else []
            out += [f"    .. {TOGETHER}", ""] if name != names[-1] else []
    return [*out, "", "", *lines[end:]]


def kinds(kind, count):
    """Split the type of an item with `count` names into one type per name.

    >>> kinds("arrays, shapes (n,), (m,)", 2)
    ['array, shape (n,)', 'array, shape (m,)']
    """
    if count == 1:
        return [kind]
    outside = r"(?![^(]*\))"  # outside of parentheses
    parts = re.split(rf"(?:, and |, | and ){outside}", kind)
    shape = re.match(r"(\w+?)s?, shapes? (?=\()", kind)
    if shape:  # the first part is the noun
        parts = [parts[1].split(" ", 1)[1], *parts[2:]]
        parts = [f"{shape[1]}, shape {part}" if part.startswith("(") else part for part in parts]
    return parts if len(parts) == count else [re.sub(r"^arrays\b", "array", kind)] * count


def write_attributes(app, doctree):
    """Add the types to attributes, and merge attributes with one description; a hook of Sphinx."""
    from docutils import nodes
    from sphinx import addnodes

    for link in list(doctree.findall(addnodes.pending_xref)):
        if len(link.get("reftarget", "")) == 1:  # a single letter, as in a shape, is no link
            link.replace_self(link.children)
    for entry in list(doctree.findall(addnodes.desc)):
        signatures, content = entry[:-1], entry[-1]
        for comment in [node for node in content if isinstance(node, nodes.comment)]:
            text = comment.astext()
            if text.startswith(KIND):
                signatures[-1] += addnodes.desc_annotation("", f": {text[len(KIND) :]}")
                content.remove(comment)
            elif text == TOGETHER:
                following = entry.next_node(addnodes.desc, descend=False, siblings=True)
                following[0:0] = signatures
                entry.parent.remove(entry)


def _follows_doctest(out):
    """Return True if the last paragraph of `out` is a doctest, with no empty line after it."""
    paragraph = []
    for line in reversed(out):
        if not line.strip():
            break
        paragraph.append(line.strip())
    return bool(paragraph) and paragraph[-1].startswith(">>>")


def _item(text):
    """Escape the type in a line `names : type`; napoleon escapes the names."""
    names, colon, kind = text.partition(" : ")
    return names + colon + escape(kind)


def escape(text):
    """Escape the characters in `text` that reStructuredText would read as markup."""
    parts = TOKEN.split(text)
    for k, part in enumerate(parts):
        if part.startswith(":") and part.endswith("`"):
            continue
        if part.startswith("``"):
            continue
        if part.startswith("`"):
            parts[k] = f"`{part}`"
        else:
            part = re.sub(r"\\(?=\s)", r"\\\\", part)  # the backslash of a division from the left
            parts[k] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", part.replace("*", "\\*").replace("|", "\\|"))
    return "".join(parts)
