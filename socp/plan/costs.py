"""Costs of each way to solve a program: one table of rates, and the counts that are multiplied by them.

The rates are typical of one core.  They decide between ways whose times differ by factors, so that only their
ratios count; one table for all machines gives equal bits on all machines.
`python -m docs.results.calibration` measures them on a machine, next to the numbers here.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..linalg.ldl.factorization import expected_times


class Costs(NamedTuple):
    """Rates of a machine, in seconds unless another unit is given.

    Attributes
    ----------
    flops : float
        Operations per second of products and Cholesky factorizations by BLAS.
    bandwidth : float
        Bytes per second that a solve reads of a factor in main memory (a factor in the cache is several times faster).
    cache : int
        Numbers that fit in the L1 cache; with more, a dual active set is slow where P is sparse and only semidefinite.
    iterations : int
        Typical number of iterations of an interior-point method.
    interior_point : float
        Time of an interior-point method outside its iterations: set-up, conversions, and verification.
    analysis, analysis_of_entry : float
        Time of the ordering and the analysis of a sparse matrix, per iteration: constant part, and per entry of L.
    active_set : float
        Time of the first guess of the active set, and of the verification of its solution.
    passes : int
        Typical number of times that the active-set method reads all of P.
    round : float
        Longest time of a round of the active-set method, which checks the clock between rounds.
    dual, dual_flops : float
        Constant time of a call of the dual active-set method, and its operations per second.
    dual_size : int
        Largest n (n + m) for the dual active-set method; a hundred times as much for a solver that is kept.
    proximal : float
        Time of proximal steps (for a P that is only semidefinite) without rows, divided by the time of the dual
        active-set method; three times as much for n or more full rows.
    sparse_dual, sparse_analysis : float
        Time of setting up the dual active set over sparse factors of equalities: constant, and per entry of L, P, A.
    sparse_solve, sparse_entry : float
        Time of a solve with these factors: constant, and per entry of L, P, A.
    entry : float
        Time per entry of P and A of testing an answer.
    lane_row, lane_flops : float
        Time of a program in the lanes of a batch, per row and variable besides its matrices, and operations per second
        on them.
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
    sparse_dual: float = 4e-4
    sparse_analysis: float = 3e-8
    sparse_solve: float = 1e-6
    sparse_entry: float = 1e-9
    entry: float = 1e-9
    lane_row: float = 3.0e-7
    lane_flops: float = 3.5e10


COSTS = Costs()
NEW_PATTERNS = 0.4  # share of the sparse programs that are analyzed: others have a known pattern
SOLVES = 3  # solves per iteration, without refinement
PAYING_SOLVES = (5.0, 10.0, 20.0)  # cost of a factorization, in solves, that allows one, two, three correctors


def dense_seconds(n: float, rows: float, costs: Costs = COSTS) -> float:
    """Return the seconds of Cholesky of order n with `rows` dense rows, and of the solves of an iteration."""
    return (n**3 / 3 + rows * n**2) / costs.flops + SOLVES * 8 * (n + 2 * rows) * n / costs.bandwidth


def low_rank_seconds(n: int, order: int, costs: Costs = COSTS) -> float:
    """Return the seconds of a Schur complement over a diagonal, its Cholesky factor, and the solves of an iteration."""
    return order**2 * (n + order / 3) / costs.flops + SOLVES * 16 * order * (n + order / 2) / costs.bandwidth


def _fills(n: int, rows: int, cliques: float, P_entries: float) -> bool:
    """Return True if eliminating the variables fills their matrix: P is full, or n rows or more have many entries."""
    return P_entries >= n**2 or (rows >= n and cliques >= n**2)


def sparse_seconds(n: int, rows: int, entries: float, costs: Costs = COSTS, *, P_entries: float) -> float:
    """Return a lower bound on the seconds of an iteration by sparse LDL', with a share of its symbolic analysis.

    L has the entries of the rows and the triangle of P.  Eliminating a row of k entries takes k^2 rank-one operations
    at half the rate of others, eliminating the variables n^3 / 3 where P is full, or where n rows or more fill it.
    """
    cliques = 2.0 * entries**2 / max(rows, 1)
    full = _fills(n, rows, 0.5 * cliques, P_entries)
    in_L = entries + (n**2 if full else P_entries) / 2
    flops = cliques + n**3 / 3 if full else entries**2 / max(rows, n)
    return costs.analysis + costs.analysis_of_entry * in_L + 1e-9 * expected_times(n + rows, in_L, flops)["strips"]


@functools.lru_cache(maxsize=64)
def method_seconds(
    n: int, m: int, entries: int, P_entries: int, rank: int | None = None, costs: Costs = COSTS, solved: int = 0
) -> dict[str, float]:
    """Return the seconds of each method, from data to solution, for m rows with `entries` entries and P of order n.

    Zeros cost active sets as much as other entries.  The dual method takes half of the variables to their bounds in ten
    rounds; proximal steps, for a semidefinite P, need data that fit in the cache or a P without zeros.

    After an interior-point method has `solved` programs with these matrices, as many more are expected.  Half of its
    time besides iterations is then saved; the dual method is set up once for all, and begins at the last solution.
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
    if n * (n + m) <= (100 if solved else 1) * costs.dual_size:
        found["dual active set"] = costs.dual + work
    if "dual active set" in found and (solved or n * (n + m) <= costs.cache or P_entries >= n**2):
        found["proximal steps"] = costs.dual + costs.proximal * (1.0 + 2.0 * min(entries / max(n, 1) ** 2, 1.0)) * work
    return found


def sparse_step_seconds(L_entries: int, entries: int, rows: int, costs: Costs = COSTS) -> float:
    """Return the seconds of a step of the dual active set over sparse factors: a solve, and products with the rows."""
    return costs.sparse_solve + costs.sparse_entry * (L_entries + entries + rows)


def sparse_dual_seconds(
    L_entries: int, entries: int, left: int, rows: int, costs: Costs = COSTS, solved: int = 0,
    active: int | None = None,
) -> float:  # fmt: skip
    """Return the seconds of the dual active set over sparse factors of the equalities, with `L_entries` at least.

    `entries` are those of P and A, `left` the variables that the equalities leave, `rows` those that may be in a
    working set.  Half of what could join does; in a loop few rows change, or `active` rows join each time, if that is
    given.  As in `method_seconds`, the set-up is for one program, or for `solved` ones.
    """
    solve, begins_anew = sparse_step_seconds(L_entries, entries, rows, costs), not solved or active is not None
    active = min(left, rows) // 2 if active is None else active
    solves = 12.0 + active if begins_anew else 12.0
    factor_of_set = solves * active**2 / costs.dual_flops * 4.0
    set_up = costs.sparse_dual + costs.sparse_analysis * (L_entries + entries)
    return costs.dual + solves * solve + factor_of_set + set_up / max(solved, 1) + 3.0 * costs.entry * entries


def lane_seconds(n: int, m: int, entries: int, P_entries: int, costs: Costs = COSTS) -> float:
    """Return the seconds of one of many programs of a batch in the lanes; a sparse P and sparse rows count as a band.

    A Cholesky factor takes twice the time of as many products.
    """
    cliques = entries**2 / max(m, 1)
    flops = 2.0 * cliques + (4.0 * n**3 / 3.0 if _fills(n, m, cliques, P_entries) else 0.0)
    return costs.lane_row * (n + m) + costs.iterations * flops / costs.lane_flops


def correctors(flops: float, entries: float, costs: Costs = COSTS) -> int:
    """Return how many centrality correctors an iteration may try: each costs a solve and may save a factorization.

    They help where a run takes seconds: pilot87 takes 86 iterations without and 63 with them, pds_10 62 and 51,
    dfl001 41 and 36, and these take 1.1 to 1.3 times as long without; qap12 and CVXQP1_L lose nothing.
    """
    solve = 16.0 * max(entries, 1.0) / costs.bandwidth
    return sum(flops / costs.flops > solves * solve for solves in PAYING_SOLVES)
