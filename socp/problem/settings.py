"""The settings of a solve, each with its default, checked in one place."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .checks import ProgramError

NUMBERS = ("tol", "step_fraction", "tol_abs", "tol_infeasible", "time_limit", "regularization")
COUNTS = ("max_iter", "refinement_steps", "threads")
FLAGS = ("verbose", "equilibrate", "sifting", "check_convexity", "presolve")


@dataclass(frozen=True)
class Settings:
    """Settings of `socp.solve`, `socp.Solver`, `qp.solve` and `qp.Solver`.

    Examples
    --------
    >>> import socp
    >>> socp.Settings(tol=1e-6).max_iter
    200
    >>> socp.solve(c=[1.0], G=[[-1.0]], h=[0.0], cones=[socp.NonNeg(1)], tol=-1.0)
    Traceback (most recent call last):
    ...
    socp.problem.checks.ProgramError: tol must be a positive number, but -1.0 came
    """

    tol: float = 1e-8
    """Relative tolerance of the stopping test, in the caller's own units."""
    tol_abs: float | None = None
    """When given, residuals and gap must also be at most this."""
    tol_infeasible: float | None = None
    """Tolerance of infeasibility certificates; `tol` when None."""
    max_iter: int = 200
    """Iteration limit."""
    time_limit: float | None = None
    """Seconds for one solve; None is no limit."""
    verbose: bool = False
    """Print one line an iteration."""
    callback: Callable[[Any], Any] | None = None
    """Called with each `Iterate`; when it returns True or raises StopIteration the solve stops as "interrupted"."""
    kkt: str = "auto"
    """How the Newton systems are solved: "auto" (by the count of the work), "ldl", "dense" or "lowrank"."""
    equilibrate: bool = True
    """Ruiz equilibration of the data."""
    step_fraction: float = 0.99
    """The share of the way to the boundary of the cone that a step may go."""
    regularization: float | None = None
    """Static regularization of the KKT matrix, whose entries are near one; chosen by its effect when None."""
    refinement_steps: int = 10
    """At most so many steps of iterative refinement a solve."""
    threads: int = 1
    """Threads of BLAS for large dense fronts and factors; the bits of an answer belong to this number."""
    sifting: bool = True
    """Follow an active set where P is dense, most variables have bounds and at most one row has sides (`qp` only)."""
    check_convexity: bool = True
    """Refuse a P that is not semidefinite.  When False, P is taken to be where an active set solves the program, which
    then takes less than the check would; of another P the answer may be a local minimum (`qp` only)."""
    presolve: bool = True
    """Leave out what a quadratic program has too much (`qp` only)."""

    def __post_init__(self) -> None:
        for name in NUMBERS:
            if getattr(self, name) is not None or name in ("tol", "step_fraction"):
                _check_number(name, getattr(self, name))
        if self.step_fraction >= 1.0:
            raise ProgramError(f"step_fraction must be below 1, but {self.step_fraction!r} came")
        for name in ("max_iter", "refinement_steps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
                raise ProgramError(f"{name} must be a nonnegative integer, but {value!r} came")
        if isinstance(self.threads, bool) or not hasattr(self.threads, "__index__") or self.threads < 1:
            raise ProgramError(f"threads must be a positive integer, but {self.threads!r} came")
        for name in FLAGS:
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ProgramError(f"{name} must be True or False, but {getattr(self, name)!r} came")
        if self.callback is not None and not callable(self.callback):
            raise ProgramError(f"callback must be callable, but {self.callback!r} came")
        if not isinstance(self.kkt, str) or self.kkt not in ("auto", "ldl", "dense", "lowrank"):
            raise ProgramError(f'kkt must be "auto", "ldl", "dense" or "lowrank", but {self.kkt!r} came')
        self._normalise()

    def _normalise(self) -> None:
        """Python's own numbers in place of NumPy's."""
        for names, kind in ((NUMBERS, float), (COUNTS, operator.index), (FLAGS, bool)):
            for name in names:
                value = getattr(self, name)
                if value is not None and type(value) is not kind:
                    object.__setattr__(self, name, kind(value))

    @classmethod
    def checked(cls, settings: dict[str, Any]) -> Settings:
        """Settings from keyword arguments; an unknown name is refused."""
        if not settings:
            return DEFAULTS
        for name in settings:
            if name not in cls.__dataclass_fields__:
                known = ", ".join(field.name for field in fields(cls))
                raise ProgramError(f"unknown setting {name!r}; the settings are {known}")
        return cls(**settings)


def _check_number(name: str, value: Any) -> None:
    try:
        good = not isinstance(value, bool) and math.isfinite(value) and value > 0
    except TypeError:
        good = False
    if name == "time_limit" and not good:
        try:
            good = value == 0 or value == math.inf
        except TypeError:
            good = False
    if not good:
        raise ProgramError(f"{name} must be a positive number, but {value!r} came")


DEFAULTS = Settings()
