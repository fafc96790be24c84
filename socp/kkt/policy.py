"""What is decided about the factors of a KKT system and the solves with them, in one structure.

A quasi-definite matrix has an LDL' with known signs under any symmetric permutation (Vanderbei 1995); K is so only
when P is definite and A has full rank.  Two regularizations make up for that: a static one adds +-delta to the
diagonal, and a pivot that still comes out below `PIVOT_EPS`, or with the wrong sign, is replaced by +-`PIVOT_DELTA`.
With the one delta of 1e-8 nearly every program can be solved; other deltas make it quicker.  The rule is to try, to
measure, and to retry:

1. Factor with the delta in use and solve; it is taken where refinement needs few further solves, one at most where
   pivots were replaced.
2. Otherwise try the deltas of `LADDER` in turn, until one is taken.
3. Where none is, the best is: of those that leave no more than a direction may, the one with the fewest solves, else
   the one with the smallest residual.
4. After such a comparison what is good is taken, however many solves it needs.
5. What is good then is any residual up to `MUCH_WORSE` times the best of the comparison.
"""

from __future__ import annotations

from ..compiled.structures import Structure, flag, floats, integer, number

PIVOT_EPS, PIVOT_DELTA = 1e-13, 2e-7  # smaller pivots are rounding; sparse ones are replaced
GOOD_ENOUGH = 1e-8  # a relative residual that may always be left
EQUATIONS = 1e-10  # the same of the equations' residuals, as W^-1 h may be most of the right-hand side
PRECISE = 1e-12  # what is left of any residual where solves are precise
FEW_SOLVES = 3  # further solves that a residual must promise to need, and up to which a delta is not too slow,
FEWER_SOLVES = 1  # or no reason to look at the next one, where pivots were replaced
MUCH_WORSE = 10.0  # Compare all deltas again when the residual exceeds 10x the best of the last comparison.
LADDER = (1e-14, 1e-11, 1e-8, 1e-6)  # static regularizations, in the order in which they are tried


class Policy(Structure):
    """Which static regularization the factors have, and how far their solves are refined.

    The settings and the plan give the first group, `KKT.regularize` and the loop write it; `base.factor_and_solve`
    writes the second, `base.solve` the third, and whoever asks for a solve the limits of its residuals.

    Attributes
    ----------
    deltas : array
        The choices of the static regularization, the first one tried first.
    refinement_steps : int
        The most that a solve takes.
    precise : bool
        Whether solves leave next to nothing, `PRECISE`, instead of what the direction does not need.
    correctors : int
        Centrality correctors that an iteration may try; each costs a solve and may save factorizations.
    delta : float
        The static regularization of the factors.
    compared : bool
        Whether all deltas were compared in this run.
    good_excess : float
        What a solve may leave, beside its limits, for the delta in use to be good: 1, or more after a comparison in
        which no delta did better.
    trusted : bool
        Whether the first right-hand side of these factors left no more than it may without refinement: the others are
        solved by the factors alone then, and what they leave is not measured, but where solves are precise.
    block_limits, caller_limits : arrays
        What a solve may leave in the blocks of x, y and W z, in the units of the form and in the caller's; those of a
        first right-hand side, then those of a second.
    """

    deltas, refinement_steps, precise, correctors = floats("4"), integer(), flag(), integer()
    delta, compared, good_excess = number(), flag(), number()
    trusted = flag()
    block_limits, caller_limits = floats("6"), floats("6")
