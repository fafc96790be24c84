"""Settings by the names that other solvers have for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..problem.checks import ProgramError
from ..problem.settings import CHECKS

TOLERANCES = ("tol", "eps", "eps_rel", "abstol", "reltol", "feastol")
LIMITS = ("max_iter", "max_iters", "maxiters")


def in_our_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the names of `Settings`; what is no familiar name is left as it is.

    The smallest of ``eps``, ``eps_rel``, ``abstol``, ``reltol`` and ``feastol`` is `tol`, for the stopping test here is
    one, and relative; ``eps_abs`` is `tol_abs`, ``max_iters`` and ``maxiters`` are `max_iter`.  An ``eps_rel`` or
    ``eps_abs`` of 0 asks for nothing.

    Examples
    --------
    >>> in_our_names({"max_iters": 50, "abstol": 1e-7, "reltol": 1e-6, "verbose": True})
    {'verbose': True, 'max_iter': 50, 'tol': 1e-07}
    """
    settings = dict(options)
    for name in ("eps_rel", "eps_abs"):
        if _is_zero(settings.get(name)):
            del settings[name]
    limits = {name: settings.pop(name) for name in LIMITS if name in settings}
    if len(limits) > 1:
        raise ProgramError(f"{' and '.join(limits)} are one setting: give one of them")
    for name, value in limits.items():
        settings["max_iter"] = CHECKS["max_iter"](name, value)
    tolerances = [CHECKS["tol"](name, settings.pop(name)) for name in TOLERANCES if name in settings]
    if tolerances:
        settings["tol"] = min(tolerances)
    if "eps_abs" in settings:
        if "tol_abs" in settings:
            raise ProgramError("eps_abs and tol_abs are one setting: give one of them")
        settings["tol_abs"] = CHECKS["tol_abs"]("eps_abs", settings.pop("eps_abs"))
    return settings


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0
