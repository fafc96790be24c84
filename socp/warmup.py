"""The compiled kernels of an installation: all of them loaded at once, and what they were made with."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from typing import Any

import llvmlite
import numba
import numpy as np
import scipy
import scipy.sparse as sp

from .compiled import blas, jit
from .compiled.threads import bundled_libraries
from .problem.lowrank import LowRank
from .problem.program import ConeProgram, NonNeg, SecondOrder
from .solver import Solver


def warmup() -> float:
    """Compile all kernels of the engine, or load them when this installation has compiled them before.

    Without it each kernel is compiled, once for the installation, at its first use.  `qp.warmup` adds those of `qp`.

    Returns
    -------
    float
        Seconds: up to a minute after an installation, a second or so later.

    Examples
    --------
    >>> import socp
    >>> socp.warmup() > 0.0
    True
    """
    begin = time.perf_counter()
    for program, settings in _in_every_way():
        solver = Solver(program, **settings)
        solver.solve()
        solver.update(c=1.01 * program.c, A_data=program.A.data, G_data=program.G.data)
        solver.solve(warm_start=True)
    return time.perf_counter() - begin


def _in_every_way() -> Iterator[tuple[ConeProgram, dict[str, Any]]]:
    """Programs that together take every way through the engine, small ones would all take the same."""
    rng = np.random.default_rng(0)
    for quadratic in ("none", "sparse", "dense"):
        for way in ("auto", "ldl"):
            yield _planted(rng, 6, 8, (3, 4), 2, quadratic), {"kkt": way}
    yield _planted(rng, 40, 60, (3, 4), 5, "sparse", density=0.1), {"kkt": "ldl"}
    yield _planted(rng, 90, 60, (90, 120), 10, "none"), {"kkt": "ldl"}  # large enough for supernodes
    yield _planted(rng, 60, 60, (3,) * 20 + (40,), 0, "none"), {"kkt": "ldl"}
    yield _planted(rng, 90, 60, (90, 120), 10, "dense"), {"kkt": "dense"}
    yield _boxed(rng, 400, "dense"), {"kkt": "dense"}  # large enough for variables to be split off
    yield _boxed(rng, 200, "low rank"), {"kkt": "lowrank"}
    infeasible = ConeProgram(c=[1.0], G=[[1.0], [-1.0]], h=[-1.0, -1.0], cones=[NonNeg(2)], P=[[1.0]])
    unbounded = ConeProgram(c=[1.0, -2.0])  # takes GMRES
    for way in ("auto", "ldl"):
        yield infeasible, {"kkt": way}
        yield unbounded, {"kkt": way}


def _hessian(rng: np.random.Generator, n: int, kind: str) -> Any:
    if kind == "none":
        return None
    if kind == "sparse":
        return sp.diags_array(rng.uniform(0.5, 1.5, n), format="csc")
    factor = rng.normal(size=(n, n if kind == "dense" else 5)) / np.sqrt(n)
    return factor @ factor.T if kind == "dense" else LowRank(factor)


def _planted(
    rng: np.random.Generator, n: int, l: int, sizes: tuple[int, ...], p: int, quadratic: str, density: float = 1.0
) -> ConeProgram:
    """A program with points inside on both sides, therefore with a solution."""
    m = l + sum(sizes)
    G, A = (sp.csc_array(rng.normal(size=(rows, n)) * (rng.random((rows, n)) < density)) for rows in (m, p))
    x, inside = rng.normal(size=n), np.ones(m)
    start = l
    for size in sizes:
        inside[start], inside[start + 1 : start + size] = 2.0, rng.uniform(-1.0, 1.0, size - 1) / np.sqrt(size)
        start += size
    P = _hessian(rng, n, quadratic)
    c = -G.T @ inside - A.T @ rng.normal(size=p) - (0.0 if P is None else P @ x)
    return ConeProgram(c, G, G @ x + inside, [NonNeg(l), *map(SecondOrder, sizes)], A, A @ x, P)


def _boxed(rng: np.random.Generator, n: int, quadratic: str) -> ConeProgram:
    """0 <= x <= 1 and one equality: the dual of a support vector machine."""
    signs = rng.choice([-1.0, 1.0], size=(1, n))
    unit = sp.eye_array(n, format="csc")
    G, h = sp.vstack([-unit, unit], format="csc"), np.concatenate([np.zeros(n), np.ones(n)])
    return ConeProgram(-np.ones(n), G, h, [NonNeg(2 * n)], signs, [0.0], _hessian(rng, n, quadratic))


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
    try:
        from importlib.metadata import version

        ours = version("centralpath")
    except ImportError:  # of which PackageNotFoundError is one: used from a checkout
        ours = "not installed"
    cache = next((kernel._cache.cache_path for kernel in jit.kernels() if hasattr(kernel, "_cache")), None)
    threads = ", ".join(str(get()) for get, _ in bundled_libraries()) or "not to be set"
    return {
        "centralpath": ours,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "numpy": np.__version__,
        "scipy": f"{scipy.__version__}, BLAS with {blas.integer_bits()}-bit integers",
        "BLAS threads": threads,
        "numba": f"{numba.__version__}, llvmlite {llvmlite.__version__}",
        "JIT": "on" if hasattr(jit.kernels()[0], "py_func") else "off (NUMBA_DISABLE_JIT)",
        "cache": "none, compiled in each process" if cache is None else cache,
        "processors": str(os.cpu_count()),
    }
