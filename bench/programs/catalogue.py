"""The programs of a comparison by name: enough for a process to load or generate one, without its data."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qp
import socp

from .. import peers
from ..answers.program import changed
from ..answers.verify import Program
from . import control, generate, large, learning, many, repeated, sets, small, tiny

SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    "generated": {
        "lasso": (20, 50, 200, 500, 1000),
        "huber": (20, 50, 100, 300, 500),
        "portfolio": (20, 100, 500, 2000, 5000),
        "svm_primal": (20, 100, 500, 2000, 5000),
        "svm_dual_rbf": (20, 50, 100, 500, 2000),
        "svm_dual_linear": (20, 50, 100, 500, 2000),
        "group_lasso": (20, 50, 200, 500, 1000),
        "robust_kalman": (20, 50, 200, 1000, 5000),
        "robust_least_squares": (20, 50, 200, 500, 1000),
        "enclosing_ball": (20, 100, 1000, 5000, 20000),
        "mpc": (10, 30, 100, 300, 1000),
        "infeasible": (20, 50, 100, 200, 400),
        "unbounded": (20, 50, 100, 200, 400),
    },
    "learning": {
        "svm_dual_rbf": (10, 50, 200, 1000, 2000, 5000, 10000),
        "svm_dual_linear": (10, 50, 200, 1000, 2000, 5000, 10000),
        "ea_svm_cubic": (10, 50, 200, 400, 800, 2000),
        "ea_svm_linear": (10, 50, 200, 800, 2000, 5000),
        "med_dual": (10, 50, 200, 1000, 2000, 5000, 10000),
        "svm_primal": (10, 50, 200, 1000, 2000, 5000, 10000),
        "svm_primal_documents": (10, 30, 100, 300, 1000, 3000),
        "bilevel": (10, 30, 100, 300, 1000, 3000),
    },
    "tiny": {name: (10,) for name in tiny.CLASSES},
    "small": {name: (10, 30, 100, 300) for name in small.CLASSES},
    "control": {name: (10, 20, 40, 80, 160) for name in control.CLASSES},
    "many": {name: (10, 30, 100) for name in many.CLASSES},
    "large": {
        **{name: (5_000, 20_000, 50_000, 200_000) for name in large.CLASSES},
        "random_rows": (1_000, 2_000, 5_000, 10_000),
        "random_cones": (2_000, 5_000, 20_000, 50_000),
        "cones_of_three": (5_000, 20_000, 50_000),
    },
}
"""Sizes of every class; "small" and "medium" are the first ones, as many as `STEPS` says, "large" is all."""
STEPS = {
    "small": {"generated": 2, "learning": 3, "tiny": 1, "small": 2, "control": 1, "many": 1, "large": 1},
    "medium": {"generated": 4, "learning": 5, "tiny": 1, "small": 4, "control": 3, "many": 2, "large": 3},
}
REPEATED = ("tiny", "small", "control")
"""Sets whose programs are solved repeatedly, after a new set-up or after an update."""
MANY = "many"
"""Name of the set of batches."""

FACTORED, PRODUCT = "factored", "product"


@dataclass(frozen=True)
class Case:
    """One program of a comparison."""

    name: str  # unique in its set: stem of the file, or class and size
    source: str  # "file", or the name of a set of generated programs
    group: str = ""  # class of a generated program; empty for a file
    # size and seed of a generated program
    size: int = 0
    seed: int = 0
    path: str = ""  # path of a file
    peers: tuple[str, ...] = ()  # solvers that accept such a program, installed or not
    # forms in which a peer gets the program: (`FACTORED`, `PRODUCT`) for a low-rank P, of which the better result
    # counts; else ("",)
    forms: tuple[str, ...] = ("",)


def names() -> list[str]:
    """Return the names of all sets."""
    return [*sets.SETS, *SIZES]


def cases(name: str, sizes: str = "medium", data: sets.Folder = None, only: str | None = None) -> list[Case]:
    """Return the programs of a set, grouped by class and sorted by size.

    `sizes` is "small", "medium" or "large", or sizes as "10,500"; files ignore it.  See `sets.files` for `data` and
    `only`.
    """
    if name in sets.SETS:
        return [_file_case(path) for path in sets.files(name, data, only)]
    if name not in SIZES:
        raise sets.DataError(f"there is no set {name!r}; the sets are {', '.join(names())}")
    found = []
    for group, all_sizes in SIZES[name].items():
        sample = _classes(name)[group](2, 0)
        forms = (FACTORED, PRODUCT) if isinstance(sample.P, socp.LowRank) else ("",)
        takers = many.peers_for(sample) if name == MANY else tuple(peers.peers_for(sample))
        takers = repeated.peers_for(group, sample) if name in REPEATED else takers
        for size in _chosen_sizes(name, all_sizes, sizes):
            found.append(Case(f"{group}_{size}", name, group, size, peers=takers, forms=forms))
    wanted = set(sets.chosen([case.name for case in found], only, f"name of the set {name}"))
    return [case for case in found if case.name in wanted]


def load(case: Case, form: str = "") -> Program:
    """Read or generate the program; in the form "product" a low-rank P is multiplied out."""
    program = sets.read(case.path) if case.source == "file" else _classes(case.source)[case.group](case.size, case.seed)
    return multiplied_out(program) if form == PRODUCT and isinstance(program, qp.QuadraticProgram) else program


def multiplied_out(p: Any) -> Any:
    """Return the program with a low-rank P formed as an array; return any other program unchanged."""
    return changed(p, P=p.P.toarray()) if isinstance(p.P, socp.LowRank) else p


def _classes(source: str) -> dict[str, Callable[[int, int], Program]]:
    modules = {
        "generated": generate, "learning": learning, "tiny": tiny, "small": small, "control": control, "many": many,
        "large": large,
    }  # fmt: skip
    classes: dict[str, Callable[[int, int], Program]] = modules[source].CLASSES
    return classes


def _file_case(path: os.PathLike[str]) -> Case:
    cone = str(path).lower().endswith(sets.CONE_ENDINGS)
    sample = generate.enclosing_ball(2) if cone else generate.mpc(2)
    return Case(sets.stem(Path(path)), "file", path=str(path), peers=tuple(peers.peers_for(sample)))


def _chosen_sizes(name: str, all_sizes: tuple[int, ...], wanted: str) -> tuple[int, ...]:
    if wanted == "large":
        return all_sizes
    if wanted in STEPS:
        return all_sizes[: STEPS[wanted][name]]
    try:
        sizes = tuple(sorted({int(size) for size in wanted.split(",")}))
    except ValueError:
        sizes = ()
    if not sizes or sizes[0] < 2:
        raise sets.DataError(f"--sizes must be small, medium, large or sizes from 2 on (10,500), but {wanted!r} came")
    return all_sizes if name == "tiny" else sizes
