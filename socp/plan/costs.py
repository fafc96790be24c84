"""What a factorization costs: one table of rates, and the counts that are multiplied by them.

The rates are those of one core of a usual machine.  They decide between ways of which one takes several times as long
as the other, so that only their ratios count; the same table everywhere gives the same bits everywhere.
`python -m bench calibrate` measures them on a machine, next to the numbers here.
"""

from __future__ import annotations

from typing import NamedTuple


class Costs(NamedTuple):
    """The rates of a machine.

    Attributes
    ----------
    flops : float
        Operations a second of products and Cholesky factorizations by BLAS.
    bandwidth : float
        Bytes a second that a solve reads of a factor in main memory (one in the cache is read several times faster).
    product : float
        The share that BLAS needs of the time of the same multiplications entry by entry, where all is small.
    """

    flops: float = 4e10
    bandwidth: float = 8e9
    product: float = 0.3


COSTS = Costs()
SOLVES = 3  # of an iteration, refinement left aside
PAYING_SOLVES = (5.0, 10.0, 20.0)  # that a factorization must cost for one, two, three centrality correctors


def dense_seconds(n: int, rows: int, costs: Costs = COSTS) -> float:
    """A Cholesky factorization of order n with so many dense rows, and the solves of an iteration."""
    return (n**3 / 3 + rows * n**2) / costs.flops + SOLVES * 8 * (n + 2 * rows) * n / costs.bandwidth


def small_work(size: int, entries: int, n: int, costs: Costs = COSTS) -> float:
    """Multiplications of dense Cholesky where all is small, those in products by BLAS at their share of the time."""
    return costs.product * size**3 / 6 + entries * n / 2


def correctors(flops: float, entries: float, costs: Costs = COSTS) -> int:
    """Centrality correctors that an iteration may try: each costs a solve, and may save a factorization.

    They are for programs of seconds: without them pilot87 takes 86 iterations for 63, pds_10 62 for 51, dfl001 41 for
    36, and 1.1 to 1.3 times as long; qap12 and CVXQP1_L lose nothing.
    """
    solve = 16.0 * max(entries, 1.0) / costs.bandwidth
    return sum(flops / costs.flops > solves * solve for solves in PAYING_SOLVES)
