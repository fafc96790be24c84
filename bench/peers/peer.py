"""What a reference solver is: its adapter, the programs that it takes, and its settings.

All get the same tolerance and number of threads, and print nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..answers.answer import Answer

Adapter = Callable[[Any, dict[str, Any]], Answer]
Settings = Callable[[float, float, int], dict[str, Any]]

CONE, QUADRATIC, SVM_DUAL = "cone", "quadratic", "dual of a support vector machine"
NO_LIMIT = 1e6  # seconds

INTERIOR_POINT_ITERATIONS = 200
FIRST_ORDER_ITERATIONS = 1_000_000
PROXIMAL_ITERATIONS = 10_000


@dataclass(frozen=True)
class Peer:
    """A reference solver.

    Attributes
    ----------
    solve : callable
        The adapter, of a program and the settings.
    settings : callable
        Of the tolerance, the time limit in seconds and the number of threads: the solver's keyword settings.  Those
        that know no time limit (ecos, cvxopt, qoco, piqp, qtqp, proxsuite) get none.
    takes : tuple of str
        Some of `CONE`, `QUADRATIC` and `SVM_DUAL`.
    package, distribution : str
        What is imported, and what is installed.
    """

    solve: Adapter
    settings: Settings
    takes: tuple[str, ...]
    package: str
    distribution: str


PEERS: dict[str, Peer] = {}
"""Every reference solver by the name of its adapter."""


def peer(
    *takes: str, settings: Settings, package: str | None = None, distribution: str | None = None
) -> Callable[[Adapter], Adapter]:
    """Make an adapter one of `PEERS`, under its own name, which is that of its package unless another one is given."""

    def register(adapter: Adapter) -> Adapter:
        name = adapter.__name__
        PEERS[name] = Peer(adapter, settings, takes, package or name, distribution or name)
        return adapter

    return register


def peer_settings(solver: str, tol: float, time_limit: float | None = None, threads: int = 1) -> dict[str, Any]:
    """The keyword settings of one solver, under the names that it has for them."""
    return PEERS[solver].settings(tol, NO_LIMIT if time_limit is None else float(time_limit), threads)
