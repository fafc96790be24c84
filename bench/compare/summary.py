"""Summaries of measurements: solved counts, shifted geometric means, ratios to the best, performance profiles.

shifted geometric mean      exp(mean(log(t_i + s))) - s,  a failure counts as the limit
performance profile         rho(f) = the share of the programs that a solver solves within f times the fastest
                            (Dolan and More 2002)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .measurement import OURS, Measurement

SHIFT = 0.01
TINY_SHIFT = 1e-5
"""Shifts of the geometric mean in seconds; `TINY_SHIFT` is for programs that take microseconds."""


def shifted_geometric_mean(seconds: Iterable[float], shift: float = SHIFT) -> float:
    """Return exp(mean(log(t + shift))) - shift of the times t in `seconds`; NaN if there are none.

    Examples
    --------
    >>> round(shifted_geometric_mean([0.0, 0.03], shift=0.01), 12)
    0.01
    """
    times = np.asarray(list(seconds), dtype=float)
    return float(np.exp(np.mean(np.log(times + shift))) - shift) if times.size else float("nan")


class Results:
    """Measurements by program and solver, the better form of each; a failure counts as `limit` seconds.

    An answer that took longer than `limit` seconds is a failure too, whether or not the solver was stopped; `shift` is
    the shift of the means.
    """

    def __init__(self, measurements: Iterable[Measurement], limit: float, shift: float = SHIFT) -> None:
        forms: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
        for measurement in measurements:
            forms[measurement.program, measurement.solver].append(measurement)
        self.limit, self.shift = limit, shift
        # The fastest solved form counts; if none is solved, a wrong answer counts before a failure.
        order = lambda m: (not self.solved(m), m.verdict != "WRONG", m.seconds)  # noqa: E731
        self.best = {key: min(found, key=order) for key, found in forms.items()}
        self.programs = list(dict.fromkeys(program for program, _ in self.best))
        names = dict.fromkeys(solver for _, solver in self.best)
        self.solvers = sorted(names, key=lambda solver: solver != OURS)  # ours first, others in order of measurement

    def solved(self, measurement: Measurement | None) -> bool:
        """Return True if the answer is verified and within the limit."""
        return measurement is not None and measurement.good and measurement.seconds <= self.limit

    def seconds(self, program: str, solver: str) -> float:
        """Return the time of a solved answer, and the limit for a failure."""
        measurement = self.best[program, solver]
        return measurement.seconds if self.solved(measurement) else self.limit

    def taken(self, solver: str) -> list[str]:
        """Return the programs on which this solver was measured."""
        return [program for program in self.programs if (program, solver) in self.best]

    def mean(self, solver: str, programs: Iterable[str]) -> float:
        """Return the shifted geometric mean of `seconds` over the programs."""
        return shifted_geometric_mean((self.seconds(program, solver) for program in programs), self.shift)

    def best_peer(self, program: str) -> Measurement | None:
        """Return the fastest solved answer of another solver than ours, or None."""
        return self._fastest(program, [solver for solver in self.solvers if solver != OURS])

    def least_seconds(self, program: str) -> float:
        """Return the time of the fastest solved answer; infinite if there is none."""
        best = self._fastest(program, self.solvers)
        return best.seconds if best else np.inf

    def _fastest(self, program: str, solvers: Iterable[str]) -> Measurement | None:
        answers = (self.best.get((program, solver)) for solver in solvers)
        return min((m for m in answers if m and self.solved(m)), key=lambda m: m.seconds, default=None)


@dataclass(frozen=True)
class Summary:
    """Counts and means of one solver over the programs that it takes, and our means over these programs."""

    solver: str
    # taken, solved, wrong, failed: numbers of programs; wrong: the claim of the answer does not verify
    taken: int
    solved: int
    wrong: int
    failed: int
    # mean, our_mean: shifted geometric means over the programs taken
    mean: float
    our_mean: float
    # iterations, our_iterations: means over the programs that both solved
    iterations: float
    our_iterations: float
    peak_megabytes: float  # largest over the programs

    @property
    def ratio(self) -> float:
        """Our mean over the solver's mean."""
        return self.our_mean / self.mean if self.mean > 0.0 else float("nan")


def summaries(results: Results, programs: Iterable[str] | None = None) -> list[Summary]:
    """Return a summary of every solver that takes at least one of the programs."""
    wanted = set(results.programs if programs is None else programs)
    lines = []
    for solver in results.solvers:
        taken = [program for program in results.taken(solver) if program in wanted]
        if not taken:
            continue
        mine = [results.best[program, solver] for program in taken]
        ours = {program: results.best.get((program, OURS)) for program in taken}
        pairs = [(m, our) for m in mine if (our := ours[m.program]) is not None]
        solved_by_both = [(m, our) for m, our in pairs if results.solved(m) and results.solved(our)]
        both = [(m.iterations, our.iterations) for m, our in solved_by_both if min(m.iterations, our.iterations) >= 0]
        steps, our_steps = map(float, np.mean(both, axis=0) if both else (np.nan, np.nan))
        peaks = [m.peak_megabytes for m in mine if np.isfinite(m.peak_megabytes)]
        wrong, solved = sum(m.verdict == "WRONG" for m in mine), sum(map(results.solved, mine))
        counts = len(taken), solved, wrong, len(taken) - solved - wrong
        our_mean = results.mean(OURS, taken) if all(ours.values()) else np.nan
        peak = max(peaks, default=np.nan)
        lines.append(Summary(solver, *counts, results.mean(solver, taken), our_mean, steps, our_steps, peak))
    return lines


@dataclass(frozen=True)
class Comparison:
    """Measurements of one program: ours and the fastest peer's, None if no peer solved it."""

    program: str
    ours: Measurement
    best: Measurement | None
    ratio: float


def comparisons(results: Results) -> list[Comparison]:
    """Return our time over the fastest peer's for each of our programs; a failure of ours counts as the limit."""
    lines = []
    for program in results.taken(OURS):
        best = results.best_peer(program)
        ratio = results.seconds(program, OURS) / best.seconds if best and best.seconds > 0.0 else float("nan")
        lines.append(Comparison(program, results.best[program, OURS], best, ratio))
    return lines


def profile(results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the performance profile of each solver as the corners (factor, share) of its steps.

    The shares are of all programs that any solver takes: a solver that does not take a program
    does not solve it.
    """
    fastest = {program: results.least_seconds(program) for program in results.programs}
    steps = {}
    for solver in results.solvers:
        factors = sorted(
            results.best[program, solver].seconds / fastest[program] if fastest[program] > 0.0 else 1.0
            for program in results.taken(solver)
            if results.solved(results.best[program, solver])
        )
        shares = np.arange(1, len(factors) + 1) / max(1, len(results.programs))
        steps[solver] = (np.array(factors), shares)
    return steps
