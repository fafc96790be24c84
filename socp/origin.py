"""Location of the packages, whose names other projects use, too, and import of public names at their first use.

This module imports nothing of the project, so that `centralpath` can load it alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
MARK = "version import __version__ as __version__"  # line in the __init__.py of each package of the project


def late(package: str, places: dict[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports a public name, or a module, at its first use.

    Parameters
    ----------
    package : str
    places : dict
        Public names, separated by spaces, by module of the package.
    """
    modules = {name: place for place, names in places.items() for name in names.split()}

    def get(name: str) -> Any:
        if name in modules:
            value = getattr(importlib.import_module(modules[name], package), name)
        else:
            path = f"{package}.{name}"
            if name.startswith("_") or importlib.util.find_spec(path) is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = importlib.import_module(path)
        setattr(sys.modules[package], name, value)
        return value

    return get


def file_of(package: str) -> Path:
    """Return the path of ``__init__.py`` of this project's `package`."""
    return HERE / package / "__init__.py"


def found(package: str) -> Path | None:
    """Return the path of the file that ``import package`` loads, or None."""
    if package in sys.modules:
        file = getattr(sys.modules[package], "__file__", None)
    else:
        spec = importlib.util.find_spec(package)
        file = None if spec is None else spec.origin
    return None if file is None else Path(file).resolve()


def is_overwritten(package: str) -> bool:
    """Return True if the file of this project's `package` was replaced by another project's."""
    try:
        return MARK not in file_of(package).read_text(encoding="utf-8")
    except OSError:  # The package may be in an archive.
        return False


def is_ours(package: str) -> bool:
    """Return True if ``import package`` loads this project's package."""
    return found(package) == file_of(package) and not is_overwritten(package)


def require(*packages: str) -> None:
    """Raise ImportError, with both names and a remedy, unless each of the `packages` is this project's."""
    for package in packages:
        if not is_ours(package):
            raise ImportError(_explain(package), name=package)


def _explain(package: str) -> str:
    file, ours = found(package), file_of(package)
    other = _installer(package, file)
    of_other = f" of the distribution {other!r}" if other else ""
    if file == ours:
        return (
            f"the package {package!r} of centralpath was overwritten by the one{of_other or ' of another'}: "
            "install the two in environments of their own, and centralpath again here"
        )
    remedy = "install the two in environments of their own" if other else "rename that file or folder"
    return f"centralpath needs its package {package!r}, {ours.parent}, but the name leads to {file}{of_other}: {remedy}"


def _installer(package: str, file: Path | None) -> str:
    """Return the name of another distribution that has installed `file`, or ""."""
    from importlib import metadata  # imported here only, as its import takes as long as all others

    for other in metadata.distributions():
        name = other.metadata["Name"]
        inside = [path for path in other.files or [] if path.parts[0] == package and path.name == "__init__.py"]
        if name != "centralpath" and any(Path(str(path.locate())).resolve() == file for path in inside):
            return str(name)
    return ""
