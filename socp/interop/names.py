"""Translation of settings from the names that other solvers use."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from ..problem.checks import ProgramError
from ..problem.settings import CHECKS

TOLERANCES = ("tol", "eps", "eps_rel", "abstol", "reltol", "feastol", "tol_gap_abs", "tol_gap_rel", "tol_feas")
OTHERS = {"max_iter": ("max_iters", "maxiters"), "threads": ("max_threads",), "tol_abs": ("eps_abs",)}
FAMILIAR = (*TOLERANCES[1:], *(name for names in OTHERS.values() for name in names))


def in_our_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the names of `Settings`.

    The smallest of ``eps``, ``eps_rel``, ``abstol``, ``reltol``, ``feastol``, ``tol_gap_abs``, ``tol_gap_rel`` and
    ``tol_feas`` becomes `tol`, as there is one relative stopping test; ``eps_abs`` becomes `tol_abs`, ``max_iters`` and
    ``maxiters`` become `max_iter`, ``max_threads`` becomes `threads`.  An ``eps_rel``, ``eps_abs`` or ``max_threads``
    of 0 is ignored.

    Raises
    ------
    ProgramError
        A name is unknown, two names of one setting are given, or a value is not allowed.

    Examples
    --------
    >>> in_our_names({"max_iters": 50, "abstol": 1e-7, "reltol": 1e-6, "verbose": True})
    {'verbose': True, 'max_iter': 50, 'tol': 1e-07}
    """
    _refuse_unknown(options)
    settings = dict(options)
    for name in ("eps_rel", "eps_abs", "max_threads"):
        if _is_zero(settings.get(name)):
            del settings[name]
    for ours, names in OTHERS.items():
        given = {name: settings.pop(name) for name in (ours, *names) if name in settings}
        if len(given) > 1:
            raise ProgramError(f"{' and '.join(given)} are one setting: give one of them")
        for name, value in given.items():
            settings[ours] = CHECKS[ours](name, value)
    tolerances = [CHECKS["tol"](name, settings.pop(name)) for name in TOLERANCES if name in settings]
    if tolerances:
        settings["tol"] = min(tolerances)
    return settings


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    taken = (*CHECKS, *FAMILIAR)
    for name in options:
        if name not in taken:
            close = difflib.get_close_matches(name, taken, n=2, cutoff=0.7) or [
                part for part in taken if name.startswith(part)
            ]
            meant = f": did you mean {' or '.join(map(repr, close))}?" if close else ";"
            settings, others = ", ".join(CHECKS), ", ".join(FAMILIAR)
            raise ProgramError(f"unknown setting {name!r}{meant} the settings are {settings}; also taken are {others}")


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0
