"""The doctests of the packages pass, and public objects have examples."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

PACKAGES = ("socp", "qp", "models", "bench", "docs.teaching")
EXTRAS = {"qp.interop.torch": "torch", "qp.interop.jax": "jax"}
"""Modules for packages that `.ci/run` does not install."""


def modules():
    for package in map(importlib.import_module, PACKAGES):
        yield package.__name__
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of(name):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{EXTRAS[name]} is not installed")
    module = importlib.import_module(name)
    with np.printoptions(precision=6, suppress=True):
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE, report=True)
    assert result.failed == 0


@pytest.mark.parametrize("package", ["socp", "qp", "models"])
def test_every_public_function_and_class_has_an_example(package):
    public = importlib.import_module(package)
    finder = doctest.DocTestFinder()
    named = [getattr(public, name) for name in public.__all__]
    explained = [thing for thing in named if callable(thing) and not _is_plain(thing)]
    without = [thing.__name__ for thing in explained if not any(t.examples for t in finder.find(thing))]
    assert not without


def _is_plain(thing):
    """Return True for an error or an enumeration, which needs no example."""
    return isinstance(thing, type) and (issubclass(thing, Exception) or hasattr(thing, "__members__"))
