"""The reference describes each public member of `models`."""

import inspect
import re

import pytest

import models

PUBLIC = [getattr(models, name) for name in models.__all__ if callable(getattr(models, name))]
CLASSES = [thing for thing in PUBLIC if inspect.isclass(thing)]


def items(thing, section):
    """Return {names: text} of a section of a docstring; ``a, b : type`` is one item."""
    found, names = {}, None
    body = re.search(rf"^{section}\n-+\n(.*?)(?=\n\n[A-Z][\w ]+\n-+\n|\Z)", inspect.getdoc(thing) or "", re.S | re.M)
    for line in body[1].splitlines() if body else []:
        if line and not line.startswith(" "):
            names = line.partition(" : ")[0]
            found[names] = ""
        elif line:
            found[names] += line.strip()
    return found


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_attribute_has_more_than_a_type(kind):
    assert [names for names, text in items(kind, "Attributes").items() if not text] == []


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_method_and_property_has_a_docstring(kind):
    said = {name for names in items(kind, "Attributes") for name in names.split(", ")}
    missing = []
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        member = getattr(member, "__func__", getattr(member, "fget", member))
        if not name.startswith("_") and inspect.isfunction(member) and name not in said and not member.__doc__:
            missing.append(name)
    assert missing == []
