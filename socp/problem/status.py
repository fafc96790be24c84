"""The status of an answer."""

from __future__ import annotations

from enum import Enum


class Status(str, Enum):
    """The outcome of a solve; a `str`, so ``sol.status == "optimal"`` works.

    An answer of any status contains a point: the best iterate, or a certificate.
    """

    OPTIMAL = "optimal"
    """The stopping test holds at the requested tolerance, on the caller's own data."""
    INACCURATE = "inaccurate"
    """No further progress was possible, but the stopping test holds at tolerance 1e-5."""
    PRIMAL_INFEASIBLE = "primal_infeasible"
    """No feasible point exists: (y, z) is a certificate that passed its test."""
    DUAL_INFEASIBLE = "dual_infeasible"
    """The objective is unbounded below along x if a feasible point exists: x is a certificate that passed its test."""
    MAX_ITERATIONS = "max_iterations"
    """The iteration limit was reached before the stopping test held."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached before the stopping test held."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or the callback stopped the solve."""
    NUMERICAL_ERROR = "numerical_error"
    """No further progress was possible, and the stopping test fails even at tolerance 1e-5."""

    def __str__(self) -> str:
        return self.value

    @property
    def has_solution(self) -> bool:
        """True if x is a solution that passed a stated test: "optimal" or "inaccurate"."""
        return self in (Status.OPTIMAL, Status.INACCURATE)

    @property
    def is_infeasible(self) -> bool:
        """True if the answer is a certificate instead of a solution."""
        return self in (Status.PRIMAL_INFEASIBLE, Status.DUAL_INFEASIBLE)
