"""The problem sets of the literature, read from a folder; none of them ships with the project."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import qp.files.mat
import socp.files.cbf

from ..answers.verify import Program
from . import saved

DATA_VARIABLE = "CENTRALPATH_DATA"
Folder = str | os.PathLike[str] | None


class DataError(FileNotFoundError):
    """Missing set or file, or a file of an unknown kind; the message says what to do."""


SETS: dict[str, tuple[str | tuple[str, ...], str]] = {
    "maros_meszaros": (
        ".mat",
        "the Maros-Meszaros convex quadratic programs as the .mat files of the qpsolvers benchmark "
        "(github.com/qpsolvers/maros_meszaros_qpbenchmark, folder data)",
    ),
    "mpc_qpbenchmark": (
        ".npz",
        "the programs of model predictive control of the qpsolvers benchmark (a checkout of "
        "github.com/qpsolvers/mpc_qpbenchmark, or its folder data)",
    ),
    "free_for_all_qpbenchmark": (
        (".npz", ".mat"),
        "the programs that users gave to the qpsolvers benchmark (a checkout of "
        "github.com/qpsolvers/free_for_all_qpbenchmark, or its folder data)",
    ),
    "qpbenchmark": ((".npz", ".mat"), "programs that qpsolvers.Problem.save wrote, or of qpbenchmark's sets"),
    "cblib": (".cbf.gz", "the second-order cone programs of the Conic Benchmark Library (cblib.zib.de, files .cbf.gz)"),
    "netlib": (".mat", "the linear programs of netlib (netlib.org/lp/data) as .mat files with A, b, c, lo and hi"),
    "netlib_infeasible": (
        ".mat",
        "the infeasible linear programs of netlib (netlib.org/lp/infeas) as the .mat files of the SuiteSparse Matrix "
        "Collection (sparse.tamu.edu, group LPnetlib, names lpi_*)",
    ),
}
"""For each set, the endings of its files, in a folder with the name of the set or in its `data`, and their source."""

CONE_ENDINGS = (".cbf", ".cbf.gz")
QUADRATIC_ENDINGS = (".mat", ".npz", ".qps", ".qps.gz", ".mps", ".mps.gz")
SAVED_ENDINGS = (".json",)


def files(name: str, data: Folder = None, only: str | None = None) -> list[Path]:
    """Return the files of a set, sorted by name.

    `data` is the folder that holds the set's folder, or the set's folder itself; by default the environment variable
    ``CENTRALPATH_DATA``.  `only` is a shell pattern of names (``CVXQP*``), or a part of a name; case is ignored.
    """
    if name not in SETS:
        raise DataError(f"there is no set {name!r}; the sets are {', '.join(SETS)}")
    ending, source = SETS[name]
    place = f"DIR/{name}/ holds {source}"
    advice = f"Give it with --data DIR or with the environment variable {DATA_VARIABLE}=DIR, where {place}."
    root = os.environ.get(DATA_VARIABLE) if data is None else data
    if not root:
        raise DataError(f"the set {name} needs a folder, but none is given. {advice}")
    folder = Path(root) if Path(root).name == name else Path(root) / name
    there = [path for place in (folder, folder / "data") if place.is_dir() for path in place.iterdir()]
    found = sorted((path for path in there if path.name.endswith(ending)), key=lambda path: path.name.lower())
    if not found:
        endings = ending if isinstance(ending, str) else " or ".join(ending)
        raise DataError(f"the set {name} is not there: no file {endings} in {folder}. {advice}")
    wanted = set(chosen(map(stem, found), only, f"name of the set {name}"))
    return [path for path in found if stem(path) in wanted]


def read(path: str | os.PathLike[str]) -> Program:
    """Read a program by the ending of its file; see `read_saved`."""
    return read_saved(path).program


def read_saved(path: str | os.PathLike[str]) -> saved.Saved:
    """Read a program by the ending of its file, with the settings and the answer that a report holds.

    ``.cbf`` gives a `socp.ConeProgram`; ``.mat``, ``.npz``, ``.qps`` and ``.mps`` a `qp.QuadraticProgram`;
    all but ``.mat`` and ``.npz`` also with ``.gz``.  ``.json``, of `sol.report`, gives either.
    """
    path = Path(path)
    name = path.name.lower()
    endings = CONE_ENDINGS + QUADRATIC_ENDINGS + SAVED_ENDINGS
    if not name.endswith(endings):
        raise DataError(f"{path}: the ending must be one of {', '.join(endings)}")
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    if name.endswith(SAVED_ENDINGS):
        return saved.read(path)
    return saved.Saved(socp.files.cbf.read(path) if name.endswith(CONE_ENDINGS) else qp.files.mat.read(path))


def stem(path: Path) -> str:
    """Return the file's name without its endings."""
    return path.name.split(".")[0]


def matches(name: str, only: str) -> bool:
    """Return True if the shell pattern `only` fits a name, or is a part of it if it has no wildcard; ignore case."""
    name, only = name.lower(), only.lower()
    return fnmatchcase(name, only) if any(sign in only for sign in "*?[") else only in name


def chosen(names: Iterable[str], only: str | None, what: str) -> list[str]:
    """Return the names that match `only`, or all names if it is None.

    Examples
    --------
    >>> chosen(["lasso_20", "lasso_50", "huber_20"], "lasso*", "program")
    ['lasso_20', 'lasso_50']
    >>> chosen(["lasso_20", "huber_20"], "mpc", "program")
    Traceback (most recent call last):
    bench.programs.sets.DataError: no program matches 'mpc'; there are lasso_20; huber_20
    """
    known = list(names)
    found = [name for name in known if only is None or matches(name, only)]
    if not found:
        raise DataError(f"no {what} matches {only!r}; there are {'; '.join(known)}")
    return found
