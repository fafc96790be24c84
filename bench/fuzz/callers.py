"""Families of programs that are solved with settings at their limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import qp

from . import cone_families, quadratic_families
from .case import Case
from .points import Generator


def settings_of_cone_programs(rng: Generator) -> Case:
    """Draw a cone program and one to three settings at their limits."""
    return _with_settings(rng, cone_families.any_planted(rng))


def settings_of_quadratic_programs(rng: Generator) -> Case:
    """Draw a quadratic program and one to three settings at their limits, also of presolve and of the active set."""
    case = quadratic_families.boxed(rng) if rng.random() < 0.1 else quadratic_families.any_planted(rng)
    return _with_settings(rng, case)


def _with_settings(rng: Generator, case: Case) -> Case:
    drawn: dict[str, Any] = {
        "tol": _log_uniform(rng, -13, -2),
        "tol_abs": _log_uniform(rng, -12, 0),
        "tol_infeasible": _log_uniform(rng, -12, -7),
        "kkt": str(rng.choice(["ldl", "dense"])),
        "equilibrate": False,
        "step_fraction": float(rng.choice([0.05, 0.5, 0.9, 0.9999, 1.0 - 1e-12])),
        "regularization": _log_uniform(rng, -15, -2),
        "refinement_steps": int(rng.integers(0, 3)),
        "max_iter": int(rng.integers(0, 6)),
        "time_limit": float(rng.choice([0.0, 1e-9, 1e-4])),
        "threads": 2,
        "callback": _stop_at(int(rng.integers(0, 8))),
    }
    if isinstance(case.program, qp.QuadraticProgram):
        drawn |= {"presolve": False, "active_set": False, "check_convexity": False}
    chosen = rng.choice(list(drawn), int(rng.integers(1, 4)), replace=False)
    return replace(case, hard=True, settings={name: drawn[name] for name in map(str, chosen)})


def _log_uniform(rng: Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def _stop_at(number: int) -> Callable[[Any], bool]:
    """Return a callback that stops the solve at its call `number`, counted from 0."""
    calls = count()
    return lambda iterate: next(calls) >= number
