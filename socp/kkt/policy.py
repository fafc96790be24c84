"""The choice of the static regularization of a KKT system, and limits of the solves with its factors.

A quasi-definite matrix has an LDL' with known signs under any symmetric permutation (Vanderbei 1995); K is so only
when P is definite and A has full rank.  Two regularizations make up for that: a static one adds +-delta to the
diagonal, and a pivot that still comes out below `PIVOT_EPS`, or with the wrong sign, is replaced by +-`PIVOT_DELTA`.
The single delta 1e-8 solves nearly every program; other deltas are faster.  The rule is to try, to
measure, and to retry:

1. Factor with the delta in use and solve; accept it if refinement needs few steps, one at most where pivots were
   replaced.
2. Otherwise try the deltas of `LADDER` in turn, until one is accepted.
3. If none is accepted, take the best: among deltas with residuals within the limits of a direction, the one with the
   fewest solves, else the one with the smallest residual.
4. After such a comparison accept every good delta, however many solves it needs.
5. A delta is then good if its residual is at most `MUCH_WORSE` times the best of the comparison.
"""

from __future__ import annotations

from ..compiled.structures import Structure, flag, floats, integer, number

PIVOT_EPS, PIVOT_DELTA = 1e-13, 2e-7  # Pivots up to PIVOT_EPS are rounding; sparse LDL' replaces them by +-PIVOT_DELTA.
GOOD_ENOUGH = 1e-8  # residual, relative to the right-hand side, that is always allowed
EQUATIONS = 1e-10  # relative residual always allowed in the equations, as W^-1 h may dominate the right-hand side
PRECISE = 1e-12  # largest relative residual of precise solves
FEW_SOLVES = 3  # Refinement goes on if at most so many further steps are predicted; an accepted delta needs no more.
FEWER_SOLVES = 1  # limit in place of FEW_SOLVES for the delta in use, if pivots were replaced
MUCH_WORSE = 10.0  # Compare all deltas again when the residual exceeds 10x the best of the last comparison.
LADDER = (1e-14, 1e-11, 1e-8, 1e-6)  # static regularizations, in the order in which they are tried


class Policy(Structure):
    """Static regularization of the factors, and limits of the refinement of solves.

    `deltas`, `refinement_steps`, `precise` and `correctors` follow settings and plan.  `base.factor_and_solve` writes
    `delta`, `compared` and `good_excess`; `base.solve` writes `trusted`; callers of a solve write the limits.

    Attributes
    ----------
    deltas : array
        Static regularizations, in the order in which they are tried.
    refinement_steps : int
        Largest number of refinement steps of a solve.
    precise : bool
        Whether residuals are refined to `PRECISE` times the right-hand side instead of to the limits of a direction.
    correctors : int
        Centrality correctors that an iteration may try; each costs a solve and may save factorizations.
    delta : float
        The static regularization of the factors.
    compared : bool
        Whether all deltas were compared in this run.
    good_excess : float
        Largest residual, divided by its limit, at which the delta in use is good: 1, or more after a comparison in
        which no delta did better.
    trusted : bool
        Whether the first right-hand side of the present factors met its limits without refinement.  Other right-hand
        sides are then solved by the factors alone, without measuring their residuals, unless solves are precise.
    block_limits, caller_limits : arrays
        Limits of the residuals in the blocks of x, y and W z, in the units of the form and in the caller's, for a
        first right-hand side, then for a second.
    """

    deltas, refinement_steps, precise, correctors = floats("4"), integer(), flag(), integer()
    delta, compared, good_excess = number(), flag(), number()
    trusted = flag()
    block_limits, caller_limits = floats("6"), floats("6")
