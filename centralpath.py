"""The packages of the project under one name, for programs with files of equal names: a `models.py`, say.

``import centralpath`` gives ``centralpath.socp``, ``centralpath.qp``, ``centralpath.models`` and ``centralpath.bench``,
each imported at its first use.  If ``import models`` loads our package, ``centralpath.models`` is that module.
If it loads another file, ``centralpath.models`` is imported from the folder of this file, under its longer name alone.
`bench` needs all four plain names, `models` needs `socp` and `qp`, `qp` needs `socp`; else an ImportError says why.

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
__path__: list[str] = []  # makes this module a package, whose modules `Aliases` finds
# `origin.py` is loaded by its path, as the name `socp` may belong to another project.
_specification = importlib.util.spec_from_file_location(
    "centralpath_origin", Path(__file__).resolve().parent / "socp" / "origin.py"
)
origin: Any = importlib.util.module_from_spec(_specification)  # type: ignore[arg-type]
_specification.loader.exec_module(origin)  # type: ignore[union-attr]


class Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader of ``centralpath.qp.solver`` as the module `qp.solver`, if `qp` is ours."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of our module; None for other modules, and below a package that is not ours."""
        head, _, name = fullname.partition(".")
        package = name.partition(".")[0]
        if head != __name__ or package not in PACKAGES:
            return None
        if origin.is_ours(package):
            return importlib.util.spec_from_loader(fullname, self)
        if name != package:
            return None
        if origin.is_overwritten(package):
            origin.require(package)
        if package != "socp":
            origin.require("socp")
        return importlib.util.spec_from_file_location(fullname, origin.file_of(package))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module under its own name, and save its specification, which the import machinery replaces."""
        module = importlib.import_module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the specification of the module, which has been executed under its own name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def main() -> int:
    """Run the command line."""
    return int(importlib.import_module(f"{__name__}.bench.__main__").main())


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__version__":
        return __getattr__("socp").__version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *PACKAGES]


sys.meta_path.insert(0, Aliases())
