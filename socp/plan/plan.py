"""A plan: how a program is solved, as data with a description in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

Backend = Literal["dense", "sparse", "low rank", "caller"]
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


class Plan(NamedTuple):
    """One way to solve a program; other plans follow a failed run (`plan.fallbacks`).

    Attributes
    ----------
    backend : {"dense", "sparse", "low rank", "caller"}
        How the Newton systems are factored.
    reason : str
        Reason for the choice, in words.
    is_free : bool
        Whether the engine was free to choose the backend.
    method : {"interior point", "active set", "working set", "dual active set"}
    regularization : float or None
        The only static regularization, or None for those of `kkt.policy.LADDER`.
    refinement_steps : int
        Largest number of refinement steps of a solve.
    equilibrate : bool
    limit : float
        Largest scale of the equilibration; the smallest is 1 / limit.
    step_fraction : float
        Step length relative to the step to the boundary.
    precise : bool
        Whether solves are refined to a fixed small residual instead of to the limits of the direction.
    seconds : dict of float
        Predicted seconds of an iteration by each backend compared, by `plan.costs` (from data to solution if methods
        were compared); empty if there was no choice.
    what : str
        Description of the factorization, once its analysis is done.
    flops : float
        Floating-point operations of a factorization.
    correctors : int
        Centrality correctors that an iteration may try.
    solver : callable or None
        Function of the caller that solves the Newton systems.

    Examples
    --------
    >>> import numpy as np, qp
    >>> print(qp.solve(np.eye(3), -np.ones(3), A=np.ones((1, 3)), u=[1.0]).plan)
    dual active set, order 3, 1 row: chosen over interior point (5.6x)
    >>> print(qp.solve(np.eye(200) + 1.0, np.ones(200), lb=-1.0, ub=1.0).plan)
    active set, 200 variables with a dense P: chosen over interior point (2.5x)
    """

    backend: Backend
    reason: str
    is_free: bool = True
    method: str = "interior point"
    regularization: float | None = None
    refinement_steps: int = 10
    equilibrate: bool = True
    limit: float = 1e4
    step_fraction: float = 0.99
    precise: bool = False
    seconds: dict[str, float] = {}  # noqa: RUF012 (never written to)
    what: str = ""
    flops: float = 0.0
    correctors: int = 0
    solver: Callable[[Any], Any] | None = None

    def is_for_form_of(self, other: Plan) -> bool:
        """Return True if both plans equilibrate alike, so that one standard form serves both."""
        return (self.equilibrate, self.limit) == (other.equilibrate, other.limit)

    @property
    def expected(self) -> float:
        """Predicted seconds of the chosen way, inf if there was no choice."""
        return self.seconds.get(self.backend if self.method == "interior point" else self.method, np.inf)

    def __str__(self) -> str:
        work = f", about {_quantity(self.flops)}flop" if self.flops else ""
        chosen = self.backend if self.method == "interior point" else self.method
        own = self.seconds.get(chosen, 0.0)
        slower = sorted((t / own, name) for name, t in self.seconds.items() if name != chosen) if own > 0.0 else []
        others = " and ".join(f"{name} ({float(f'{ratio:.2g}'):,g}x)" for ratio, name in slower)
        return f"{self.what}{work}: {'chosen over ' + others if slower else self.reason}"


def _quantity(value: float) -> str:
    """Return a number to two digits with the prefix of its unit."""
    for size, prefix in PREFIXES:
        if value >= size:
            return f"{float(f'{value / size:.2g}'):g} {prefix}"
    return f"{float(f'{value:.2g}'):g} "
