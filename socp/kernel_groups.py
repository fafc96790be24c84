"""The compiled kernels of an installation: groups that a program needs, warm-up of all, and the configuration."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .compiled.build import prepare, together
from .compiled.configuration import configuration
from .compiled.kernels import INTERPRETED, Kernel, kernels
from .compiled.target import numba_is_known
from .problem.hessian import GLANCE
from .problem.program import SecondOrder

# Members of groups: kernels by name; modules and packages for their kernels that Python calls, except deferred ones.
GROUPS: dict[str, list[str]] = {
    "first": [  # needed before the method for a program is chosen
        "socp.compiled.structures", "socp.linalg.cholesky.cholesky", "socp.linalg.csc.compress",
        "socp.problem.checks.all_finite", "socp.problem.checks.next_asymmetric",
    ],
    "every": [
        "socp.compiled.structures", "socp.problem", "socp.verify", "socp.derivatives", "socp.form", "socp.method",
        "socp.linalg.csc", "socp.linalg.accurate", "socp.linalg.parallel_rows", "socp.kkt.base",
    ],
    "dense": ["socp.kkt.dense.read_rows", "socp.kkt.dense.factor_dense", "socp.kkt.dense.apply_dense"],
    "dual": [], "lanes": [],  # the dual active-set method of `qp`; batches; filled by `announce`
    "sparse": [  # without supernodes, splits and low rank
        "socp.kkt.assembly", "socp.kkt.sparse.factor_sparse", "socp.kkt.sparse.apply_sparse", "socp.linalg.ldl",
        "socp.linalg.ldl.rows.factor.four_wide_factor", "socp.linalg.ldl.rows.solve.four_wide_solve",
        "socp.linalg.ldl.symbolic.siblings.order_of_fours", "socp.linalg.csc.append_upper",
        "socp.problem.checks.is_canonical", "socp.problem.checks.is_symmetric", "socp.problem.hessian.keep_entries",
    ],
    "cones": [  # deferred, as quadratic programs never need them
        "socp.kkt.assembly.fill_cone_pattern", "socp.kkt.expansion.fill_cones",
        "socp.kkt.expansion.number_columns", "socp.kkt.expansion.recover_cones", "socp.kkt.expansion.reduce_cones",
        "socp.kkt.expansion.take_entries",
    ],
}  # fmt: skip


def announce(**groups: Sequence[str]) -> None:
    """Add modules and kernels of a package above `socp` to the groups with these names."""
    for group, places in groups.items():
        GROUPS[group] += places


def members(*groups: str) -> list[Kernel]:
    """Return the kernels in the named groups."""
    places = tuple(place for group in groups for place in GROUPS[group])
    return [
        kernel for kernel in kernels()
        if kernel.name in places
        or (kernel.kind == "kernel" and kernel.deferred is None and kernel.name.startswith(places))
    ]  # fmt: skip


@functools.cache
def ready_for_large(has_cones: bool) -> None:
    """Compile or load, in one step, the kernels that a large sparse program is likely to need."""
    if not INTERPRETED and numba_is_known():
        prepare(members("every", "sparse", *["cones"] * has_cones), alone=True)


def any_second_order(cones: Any) -> bool:
    """Return True if a second-order cone is among the `cones` that a caller has given."""
    return isinstance(cones, (list, tuple)) and any(isinstance(cone, SecondOrder) for cone in cones)


def ready_for(*matrices: Any, cones: Any = ()) -> None:
    """Call `ready_for_large` if one of the matrices that a caller has given is sparse and not small."""
    for matrix in matrices:
        if type(matrix) is not np.ndarray and sp.issparse(matrix) and matrix.shape[-1] > GLANCE:
            ready_for_large(any_second_order(cones))


if not INTERPRETED:
    for company in (["first", "dual"], ["lanes"], ["every", "dense"]):
        together(functools.partial(members, *company))


def warmup() -> float:
    """Compile all kernels of the engine, or load them if this version has compiled them before.

    Without it, the first program of a kind compiles the kernels that it needs.  `qp.warmup` adds the kernels of `qp`.
    After a warm-up nothing is compiled again.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> import socp
    >>> socp.warmup() > 0.0
    True
    """
    return prepare_packages("socp.")


def prepare_packages(*prefixes: str) -> float:
    """Compile or load the kernels with these prefixes, or all of the imported packages; return the seconds."""
    begin = time.perf_counter()
    if not INTERPRETED:
        for package in filter(None, map(sys.modules.get, (__name__.partition(".")[0], "qp", "models"))):
            for name in package.__all__:
                getattr(package, name)  # imports the module that defines the name
        prepare([kernel for kernel in kernels() if kernel.name.startswith(prefixes or "")])
    return time.perf_counter() - begin


def show_config() -> None:
    """Print the configuration for bug reports: versions, BLAS and its threads, compiler, kernel cache, machine.

    Examples
    --------
    >>> import socp
    >>> socp.show_config()  # doctest: +ELLIPSIS
    centralpath ...
    """
    for name, value in configuration().items():
        print(f"{name:<12} {value}")
