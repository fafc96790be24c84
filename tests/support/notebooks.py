"""A stand-in for IPython in a notebook, which keeps what it was told to show."""

import sys
from types import ModuleType, SimpleNamespace

import pytest


class Handle:
    """Keeps the text of everything that it was told to show."""

    def __init__(self, thing):
        self.shown = [repr(thing)]
        self.thing = thing

    def update(self, thing):
        assert thing is self.thing
        self.shown.append(repr(thing))


@pytest.fixture
def handles(monkeypatch):
    """The handles of what is displayed in a notebook."""
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
