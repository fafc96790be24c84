"""The compiled kernels of `qp` and of the engine below it, loaded at once."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp

from .problem.program import QuadraticProgram
from .solver import Solver


def warmup() -> float:
    """Compile all kernels of `qp` and `socp`, or load them when this installation has compiled them before.

    Returns
    -------
    float
        Seconds: up to a minute after an installation, a second or so later.

    Examples
    --------
    >>> import qp
    >>> qp.warmup() > 0.0
    True
    """
    begin = time.perf_counter()
    socp.warmup()
    for presolve in (True, False):
        solver = Solver(_program(), presolve=presolve)
        solver.solve()
        solver.update(ub=3.0, A_data=solver.program.A.data)
        solver.solve(warm_start=True)
    for sides in ({"lb": 0.0}, {"lb": 0.0, "A": [[1.0, 1.0]], "l": -3.0, "u": -2.0}):  # unbounded; infeasible
        Solver(QuadraticProgram(None, [-1.0, 0.0], **sides)).solve()
    rows: list[dict[str, Any]] = [{}, {"A": np.ones((1, 80)), "l": 0.1, "u": 20.0}]
    for row in rows:  # by a working set
        Solver(QuadraticProgram(*_dense(80), lb=0.0, ub=1.0, **row)).solve()
    return time.perf_counter() - begin


def _dense(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A dense definite P and a q."""
    factor = np.cos(np.outer(np.arange(1.0, n + 1.0), np.arange(n)))
    return factor @ factor.T / n + np.eye(n), factor[3]


def _program() -> QuadraticProgram:
    """A program in which presolve finds something of each kind: rows without entries, alike, of one entry; a variable
    that is fixed and one that is nowhere."""
    rows = [[0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [2, 2, 0, 0, 0], [0, 3, 0, 0, 0], [1, -1, 1, 1, 0], [1, 0, 1, 0, 0]]
    l, u = [-1.0, -1.0, -1.0, -1.0, 0.5, -np.inf], [1.0, 1.0, 1.0, 2.0, 0.5, 2.0]
    P = sp.diags_array([1.0, 1.0, 1.0, 1.0, 0.0], format="csc")
    A = sp.csc_array(np.array(rows, dtype=np.float64))
    return QuadraticProgram(P, [-1.0, 1.0, 2.0, 0.0, 1.0], A, l, u, [-1, -1, -1, 0.5, 0], [2.0, 2.0, np.inf, 0.5, 2.0])
