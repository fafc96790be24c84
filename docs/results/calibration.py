"""Measured rates of factorizations next to the table of rates by which the engine chooses methods.

Each rate is measured on matrices of several orders or kinds; the median and the range are printed.  The table
(`socp.plan.costs`, and the models of time in `socp.linalg.ldl`) does not depend on the machine, nor do the decisions:
a rate that is several times off on many machines is a reason to edit the table.

`python -m docs.results.calibration` prints the rates, and writes them and the machine to
docs/results/calibration.json.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

import qp
from bench.compare.measurement import hardware
from bench.compare.pairs import shortest
from socp.linalg.cholesky import cholesky, solve_lower, solve_lower_transposed
from socp.linalg.ldl.factorization import LDL
from socp.plan.costs import COSTS, SOLVES, method_seconds

ORDERS, SMALL = (300, 600, 1000), (10, 20, 30)
KEPT = Path(__file__).with_suffix(".json")


class Rate(NamedTuple):
    """Measured rate: name, unit, value in the table, and one measured number per order or kind of matrix."""

    name: str
    unit: str
    table: float
    measured: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.measured)

    def line(self) -> str:
        """Return the rate as a line of a table."""
        low, high = min(self.measured), max(self.measured)
        return f"{self.name:28s} {self.table:9.2g} {self.median:9.2g} {low:9.2g} to {high:<9.2g} {self.unit}"


def rates(orders: tuple[int, ...] = ORDERS) -> Iterator[Rate]:
    """Measure and yield one rate after another."""
    dense = [_dense(order) for order in orders]
    yield Rate("Cholesky factorization", "flops a second", COSTS.flops, tuple(flops for flops, _ in dense))
    yield Rate("solve with the factor", "bytes a second", COSTS.bandwidth, tuple(bandwidth for _, bandwidth in dense))
    shares = tuple(_share(matrix) for matrix in _patterns(orders[0]))
    yield Rate("sparse LDL' and its solves", "of the time expected", 1.0, tuple(share for share, _ in shares))
    yield Rate("its analysis", "seconds an entry", COSTS.iterations * COSTS.analysis_of_entry,
               tuple(analysis for _, analysis in shares))  # fmt: skip
    for name, sizes in (("dual active set", SMALL), ("active set", orders), ("interior point", (*SMALL, *orders))):
        yield Rate(name, "of the time expected", 1.0, tuple(_program(name, n) for n in sizes))


def _dense(order: int) -> tuple[float, float]:
    """Return (flops per second of a Cholesky factorization, bytes per second of a solve) for an order."""
    P = np.random.default_rng(0).normal(size=(order, order)) / order + 2.0 * np.eye(order)
    P = P @ P.T
    L, x = P.reshape(-1).copy(), np.ones(order)

    def factor() -> None:
        L[:] = P.reshape(-1)
        cholesky(order, L)

    def solve() -> None:
        solve_lower(order, L, 1, x)
        solve_lower_transposed(order, L, 1, x)

    return order**3 / 3 / shortest(factor, 5)[0], 8.0 * order**2 / shortest(solve, 5)[0]


def _patterns(order: int) -> Iterator[sp.csc_array]:
    """Yield upper triangles: a chain, a grid, a random pattern, and a dense block behind a diagonal."""
    rng = np.random.default_rng(0)
    yield _upper(sp.diags_array([np.ones(10 * order - 1)], offsets=[1]))
    side = sp.diags_array([np.ones(order // 5 - 1)], offsets=[1])
    eye = sp.eye_array(order // 5)
    yield _upper(sp.kron(eye, side) + sp.kron(side, eye))
    yield _upper(sp.random_array((2 * order, 2 * order), density=2.0 / order, random_state=rng))
    yield _upper(sp.block_array([[None, sp.random_array((4 * order, order), density=0.05, random_state=rng)],
                                 [sp.csc_array((order, 4 * order)), None]]))  # fmt: skip


def _upper(above: Any) -> sp.csc_array:
    """Return the upper triangle of a diagonally dominant matrix with the pattern of `above` above its diagonal."""
    pattern = abs(above)
    whole = sp.csc_array(sp.triu(pattern + pattern.T, 1))
    upper = sp.csc_array(sp.diags_array((whole + whole.T).sum(axis=1) + 1.0) - whole)
    upper.sort_indices()
    return upper


def _share(upper: sp.csc_array) -> tuple[float, float]:
    """Return the time of a factorization and its solves relative to its model, and seconds of analysis per entry."""
    n = upper.shape[0]
    LDL(upper.indptr, upper.indices, np.ones(n, np.int64))  # the first call is slow
    ldl = LDL(upper.indptr, upper.indices, np.ones(n, np.int64))
    data, x = upper.data.astype(float), np.ones(n)
    ldl.factor(data, 0.0, 1.0)

    def work() -> None:
        ldl.factor(data, 0.0, 1.0)
        for _ in range(SOLVES):
            ldl.solve(x, x)

    return shortest(work, 5)[0] / (1e-9 * ldl.time), (ldl.ordering_time + ldl.symbolic_time) / ldl.nnz


def _program(method: str, n: int) -> float:
    """Return the time of a method on a program with dense P and bounds, relative to the table's estimate."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(n, n))
    program = qp.QuadraticProgram(root @ root.T / n + 0.1 * np.eye(n), rng.normal(size=n), lb=-1.0, ub=1.0)
    backend: Literal["auto", "dense"] = "dense" if method == "interior point" else "auto"
    return shortest(lambda: qp.solve(program, kkt=backend), 5)[0] / method_seconds(n, 0, 0, n**2)[method]


def write(path: Path, found: list[Rate]) -> None:
    """Write the rates and the machine that they were measured on as JSON."""
    rows = [
        {"rate": rate.name, "unit": rate.unit, "table": rate.table, "median": rate.median, "measured": rate.measured}
        for rate in found
    ]
    path.write_text(json.dumps({"machine": hardware(), "rates": rows}, indent=1) + "\n")


def main(path: Path = KEPT) -> None:
    """Print each rate once it is measured, and write all of them."""
    print(f"{'rate':28s} {'table':>9s} {'here':>9s} spread")
    found = []
    for rate in rates():
        found.append(rate)
        print(rate.line(), flush=True)
    write(path, found)
    print(f"written: {path} (the rates and the machine, as JSON)")


if __name__ == "__main__":
    main()
