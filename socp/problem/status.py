"""The status of an answer."""

from __future__ import annotations

from enum import Enum


class Status(str, Enum):
    """The outcome of a solve; a `str`, so ``sol.status == "optimal"`` works.

    An answer of any status has a point: the best iterate, or the certificate.
    """

    OPTIMAL = "optimal"
    """The stopping test holds at the asked tolerance, on the caller's own data."""
    INACCURATE = "inaccurate"
    """No further progress was possible, but the stopping test holds at 1e-5."""
    PRIMAL_INFEASIBLE = "primal_infeasible"
    """No feasible point exists; (y, z) is the certificate and passed its test."""
    DUAL_INFEASIBLE = "dual_infeasible"
    """The objective is unbounded below along x (if a feasible point exists); x is the certificate."""
    MAX_ITERATIONS = "max_iterations"
    """The iteration limit was reached first."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached first."""
    INTERRUPTED = "interrupted"
    """Ctrl-C, or the callback asked to stop."""
    NUMERICAL_ERROR = "numerical_error"
    """No further progress was possible, and the iterate does not even meet 1e-5."""

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
