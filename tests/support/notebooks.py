"""Fake of IPython in a notebook, which records what it displays."""

import sys
from types import ModuleType, SimpleNamespace

import pytest


class Handle:
    """Display handle that records the text of everything it displays."""

    def __init__(self, thing):
        self.shown = [repr(thing)]
        self.thing = thing

    def update(self, thing):
        assert thing is self.thing
        self.shown.append(repr(thing))


@pytest.fixture
def handles(monkeypatch):
    """Return the list of display handles, filled while the test runs."""
    made = []

    def display(thing, display_id):
        assert display_id is True
        made.append(Handle(thing))
        return made[-1]

    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    ipython.display = SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    return made
