"""What each way to solve a program costs: one table of rates, and the counts that are multiplied by them.

The rates are those of one core of a usual machine.  They decide between ways of which one takes several times as long
as the other, so that only their ratios count; the same table everywhere gives the same bits everywhere.
`python -m docs.results.calibration` measures them on a machine, next to the numbers here.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..linalg.ldl.factorization import expected_times


class Costs(NamedTuple):
    """The rates of a machine, in seconds where nothing else is said.

    Attributes
    ----------
    flops : float
        Operations a second of products and Cholesky factorizations by BLAS.
    bandwidth : float
        Bytes a second that a solve reads of a factor in main memory (one in the cache is read several times faster).
    cache : int
        Numbers in the first cache, beyond which a dual active set is slow where P is sparse and only semidefinite.
    iterations : int
        Of an interior-point method, as a rule.
    interior_point : float
        What it takes beside its iterations: set-up, the way there and back, and the test of its answer.
    analysis, analysis_of_entry : float
        The share of an iteration in the ordering and the analysis of a sparse matrix, and in those of one entry.
    active_set : float
        The first guess of the active set and the test of its answer.
    passes : int
        Times that the active set reads all of P, as a rule.
    round : float
        What a round of it may take, between which it looks at its time.
    dual, dual_flops : float
        The call of a dual active set, and its operations a second.
    dual_size : int
        Numbers in its rows at most, and four times that where they are kept.
    proximal : float
        Times that it takes as long where P is only semidefinite, without rows; with n full ones and more three times
        that.
    """

    flops: float = 4e10
    bandwidth: float = 8e9
    cache: int = 4000
    iterations: int = 9
    interior_point: float = 1e-4
    analysis: float = 3e-5
    analysis_of_entry: float = 2.4e-9
    active_set: float = 2.33e-4
    passes: int = 12
    round: float = 1.0
    dual: float = 1.8e-5
    dual_flops: float = 1.1e10
    dual_size: int = 100_000
    proximal: float = 5.0


COSTS = Costs()
NEW_PATTERNS = 0.4  # share of the sparse programs that are analyzed: the others have a pattern that was seen before
SOLVES = 3  # of an iteration, refinement left aside
PAYING_SOLVES = (5.0, 10.0, 20.0)  # that a factorization must cost for one, two, three centrality correctors


def dense_seconds(n: float, rows: float, costs: Costs = COSTS) -> float:
    """A Cholesky factorization of order n with so many dense rows, and the solves of an iteration."""
    return (n**3 / 3 + rows * n**2) / costs.flops + SOLVES * 8 * (n + 2 * rows) * n / costs.bandwidth


def low_rank_seconds(n: int, order: int, costs: Costs = COSTS) -> float:
    """The Schur complement of that order over a diagonal, its factorization, and the solves of an iteration."""
    return order**2 * (n + order / 3) / costs.flops + SOLVES * 16 * order * (n + order / 2) / costs.bandwidth


def sparse_seconds(n: int, rows: int, entries: float, costs: Costs = COSTS, *, P_entries: float) -> float:
    """The least that sparse LDL' takes, before its analysis, with a share of that.

    L has the entries of the rows and the triangle of P.  To eliminate a row of k entries takes k^2 operations of rank
    one, at half the rate of others, and to eliminate the variables n^3 / 3 where P is full, or n rows or more fill it.
    """
    cliques = 2.0 * entries**2 / max(rows, 1)
    full = P_entries >= n**2 or (rows >= n and cliques >= 2.0 * n**2)
    in_L = entries + (n**2 if full else P_entries) / 2
    flops = cliques + n**3 / 3 if full else entries**2 / max(rows, n)
    return costs.analysis + costs.analysis_of_entry * in_L + 1e-9 * expected_times(n + rows, in_L, flops)["strips"]


@functools.lru_cache(maxsize=64)
def method_seconds(
    n: int, m: int, entries: int, P_entries: int, rank: int | None = None, costs: Costs = COSTS, solved: int = 0
) -> dict[str, float]:
    """A program with m rows of so many entries and a P of order n, by each method, from data to answer.

    Zeros cost active sets as much as other entries.  The dual one takes half of the variables to their bounds, in ten
    rounds; proximal steps, where P is only semidefinite, are for what the cache holds, or a P without zeros.

    Where an interior-point method has `solved` programs with these matrices, as many more are expected.  Its set-up is
    done, half of what it takes beside its iterations; that of the dual active set is for all of them, and each begins
    at the last answer.
    """
    seen = costs._replace(analysis=0.0 if solved else NEW_PATTERNS * costs.analysis)
    iteration = min(dense_seconds(n, m, costs), sparse_seconds(n, m, entries, seen, P_entries=P_entries))
    if rank is not None:
        iteration = min(iteration, low_rank_seconds(n, rank + m, costs))
    found = {
        "active set": costs.active_set + costs.passes * 8 * n**2 / costs.bandwidth,
        "interior point": (0.5 if solved else 1.0) * costs.interior_point + costs.iterations * iteration,
    }
    work = ((1.5 * n**3 + m * n**2) / max(solved, 1) + 20 * n * (n + m)) / costs.dual_flops
    if n * (n + m) <= (4 if solved else 1) * costs.dual_size:
        found["dual active set"] = costs.dual + work
    if "dual active set" in found and (solved or n * (n + m) <= costs.cache or P_entries >= n**2):
        found["proximal steps"] = costs.dual + costs.proximal * (1.0 + 2.0 * min(entries / max(n, 1) ** 2, 1.0)) * work
    return found


def correctors(flops: float, entries: float, costs: Costs = COSTS) -> int:
    """Centrality correctors that an iteration may try: each costs a solve, and may save a factorization.

    They are for programs of seconds: without them pilot87 takes 86 iterations for 63, pds_10 62 for 51, dfl001 41 for
    36, and 1.1 to 1.3 times as long; qap12 and CVXQP1_L lose nothing.
    """
    solve = 16.0 * max(entries, 1.0) / costs.bandwidth
    return sum(flops / costs.flops > solves * solve for solves in PAYING_SOLVES)
