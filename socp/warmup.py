"""The compiled kernels of an installation: those that a program needs, all of them, and what they were made with."""

from __future__ import annotations

import functools
import os
import platform
import time
from typing import Any

import llvmlite
import numba
import numpy as np
import scipy
import scipy.sparse as sp

from .compiled import cache
from .compiled.blas_integers import integer_bits
from .compiled.build import prepare, together
from .compiled.kernels import INTERPRETED, Kernel, kernels
from .compiled.threads import bundled_libraries
from .kkt import dense, sparse
from .linalg.ldl.rows.factor import four_wide_factor
from .linalg.ldl.rows.solve import four_wide_solve
from .linalg.ldl.rows.uplooking import scalar_factor, scalar_solve
from .plan.choice import SMALL
from .problem.program import SecondOrder
from .version import __version__

FIRST = (  # before it is known how a program is solved
    "socp.compiled.clock", "socp.compiled.structures", "socp.linalg.cholesky.cholesky", "socp.linalg.csc.compress",
    "socp.problem.checks.all_finite", "socp.problem.checks.is_plain_dense", "qp.problem.program.are_plain_sides",
    "qp.reduce.cone_form.classify", "qp.reduce.removal.look_for_more",
)  # fmt: skip
EVERY = (
    "socp.compiled.structures", "socp.problem", "socp.form", "socp.method", "socp.linalg.csc",
    "socp.linalg.accurate", "socp.linalg.parallel_rows", "socp.kkt.base", "qp.problem", "qp.reduce",
)  # fmt: skip
LARGE = ("socp.kkt.assembly", "socp.linalg.ldl")
CONES = (  # deferred, as quadratic programs never need them
    "socp.kkt.assembly.fill_cone_pattern", "socp.kkt.expansion.fill_cones", "socp.kkt.expansion.gather_variables",
    "socp.kkt.expansion.number_columns", "socp.kkt.expansion.recover_cones", "socp.kkt.expansion.reduce_cones",
    "socp.kkt.expansion.take_entries",
)  # fmt: skip
LANES = (
    "qp.problem.side_by_side.load_program", "qp.problem.side_by_side.solve_one", "qp.problem.side_by_side.verify",
    "socp.batch.checks.next_doubtful", "socp.batch.driver.run", "socp.batch.driver.take_matrices",
)  # fmt: skip
SPARSE = (  # deferred, as the data of small programs rarely need them
    "socp.problem.hessian.keep_entries", "qp.reduce.removal.remove_rows",
    "qp.reduce.removal.postsolve", "socp.linalg.csc.append_upper", "socp.linalg.accurate.add_symmetric",
    "socp.linalg.ldl.symbolic.siblings.order_of_fours", "socp.problem.checks.is_canonical",
    "socp.problem.checks.is_symmetric", "socp.problem.hessian.add_diagonal",
)  # fmt: skip


def _of(places: tuple[str, ...]) -> list[Kernel]:
    """The kernels that Python calls of these modules, but for deferred ones; and these kernels."""
    found = (kernel for kernel in kernels() if kernel.kind == "kernel" and kernel.deferred is None)
    return [kernel for kernel in found if kernel.name.startswith(places)] + [
        kernel for kernel in kernels() if kernel.deferred is not None and kernel.name in places
    ]


def of_any_program() -> list[Kernel]:
    """The kernels that every program needs."""
    return _of(FIRST)


def of_small_programs() -> list[Kernel]:
    """The kernels that a first small program needs beside these, and the few that a second one is likely to."""
    found = [*_of((*EVERY, "socp.kkt.dense_rows", "socp.kkt.dense.read_rows")), dense.factor_dense, dense.apply_dense]
    return [kernel for kernel in found if not kernel.name.startswith(FIRST)]


def of_lanes() -> list[Kernel]:
    """The kernels that solve small dense programs in lanes."""
    return _of(LANES)


@functools.cache
def ready_for_large(has_cones: bool) -> None:
    """Compile or load, at once, what a larger program is likely to need: all but supernodes, splits and low rank."""
    if not INTERPRETED:
        by_rows = scalar_factor, scalar_solve, four_wide_factor, four_wide_solve
        places = EVERY + LARGE + SPARSE + (CONES if has_cones else ())
        prepare([*_of(places), sparse.factor_sparse, sparse.apply_sparse, *by_rows], alone=True)


def any_second_order(cones: Any) -> bool:
    """Whether a second-order cone is among the cones of a program that comes."""
    return isinstance(cones, (list, tuple)) and any(isinstance(cone, SecondOrder) for cone in cones)


def ready_for(*matrices: Any, cones: Any = ()) -> None:
    """The same where one of the matrices of a program that comes is sparse and not small: one step, not three."""
    if any(sp.issparse(matrix) and matrix.shape[-1] > SMALL for matrix in matrices):
        ready_for_large(any_second_order(cones))


if not INTERPRETED:
    for company in (of_any_program, of_lanes, of_small_programs):
        together(company)


def warmup() -> float:
    """Compile all kernels of the engine, or load them when this version has compiled them before.

    Without it, a first program compiles what programs of its kind need.  `qp.warmup` adds the kernels of `qp`.  After
    them nothing is ever compiled again.

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
    """Compile or load all kernels of the modules whose names begin so; returns the seconds."""
    begin = time.perf_counter()
    if not INTERPRETED:
        prepare([kernel for kernel in kernels() if kernel.name.startswith(prefixes)])
    return time.perf_counter() - begin


def show_config() -> None:
    """Print what a report of a bug should hold: versions, BLAS and its threads, the compiler, the cache of kernels.

    Examples
    --------
    >>> import socp
    >>> socp.show_config()  # doctest: +ELLIPSIS
    centralpath ...
    """
    for name, value in _config().items():
        print(f"{name:<12} {value}")


def _config() -> dict[str, str]:
    threads = ", ".join(str(get()) for get, _ in bundled_libraries()) or "not to be set"
    return {
        "centralpath": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "numpy": np.__version__,
        "scipy": f"{scipy.__version__}, BLAS with {integer_bits()}-bit integers",
        "BLAS threads": threads,
        "numba": f"{numba.__version__}, llvmlite {llvmlite.__version__}",
        "JIT": "off (NUMBA_DISABLE_JIT)" if INTERPRETED else "on",
        "cache": "none" if INTERPRETED else str(cache.folder() or "none"),
        "processors": str(os.cpu_count()),
    }
