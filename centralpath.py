"""The packages under one name, for a program whose own files hide them, or would be hidden: a `models.py`, say.

``import centralpath`` gives ``centralpath.socp``, ``centralpath.qp``, ``centralpath.models`` and ``centralpath.bench``,
each imported when it is first asked for.  Where `models` means ours, ``centralpath.models`` is that very module; where
it means another file, ours is imported from beside this one, under its longer name alone (`bench` needs all four plain
names, `models` needs those of `socp` and `qp`, and `qp` that of `socp`).

Examples
--------
>>> import centralpath
>>> from centralpath.qp import solve
>>> import qp
>>> centralpath.qp is qp and centralpath.qp.solve is solve
True
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import bench as bench
    import models as models
    import qp as qp
    import socp as socp

PACKAGES = ("socp", "qp", "models", "bench")
__path__: list[str] = []  # its modules are found by `Aliases`


class Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``centralpath.qp.solver`` as the module `qp.solver`, where `qp` is ours."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """None is for others to find: what is not ours, and modules of a package under its longer name."""
        head, _, name = fullname.partition(".")
        package = name.partition(".")[0]
        if head != __name__ or package not in PACKAGES:
            return None
        if _means_ours(package):
            return importlib.util.spec_from_loader(fullname, self)
        return None if name != package else importlib.util.spec_from_file_location(fullname, _file(package))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module under its own name; the machinery of imports is about to give it another specification."""
        module = importlib.import_module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been executed; its specification is given back."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _file(package: str) -> Path:
    return Path(__file__).resolve().parent / package / "__init__.py"


def _means_ours(package: str) -> bool:
    """Whether the plain name leads to the package beside this file."""
    if package in sys.modules:
        file = getattr(sys.modules[package], "__file__", None)
    else:
        spec = importlib.util.find_spec(package)
        file = None if spec is None else spec.origin
    return file is not None and Path(file).resolve() == _file(package)


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__version__":
        return __getattr__("socp").__version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *PACKAGES]


sys.meta_path.insert(0, Aliases())
