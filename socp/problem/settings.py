"""The settings of a solve, each with its default, checked in one place."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import operator
import re
import sys
import textwrap
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from .checks import ProgramError

Way = Literal["auto", "ldl", "dense", "lowrank"]
WAYS = get_args(Way)


@dataclass(frozen=True)
class Settings:
    """Settings of `socp.solve`, `socp.Solver`, `socp.iterates`, `qp.solve` and `qp.Solver`, each by its name.

    Parameters
    ----------
    tol : float, default 1e-8
        Relative tolerance of the stopping test, in the caller's own units.
    tol_abs : float, optional
        When given, residuals and gap must also be at most this.
    tol_infeasible : float, optional
        Tolerance of infeasibility certificates; `tol` when None.
    max_iter : int, default 200
        Iteration limit of a run; a run that fails may be followed by others.
    time_limit : float, optional
        Seconds for one solve; None is no limit.
    verbose : bool, default False
        Print one line an iteration.
    callback : callable, optional
        Called with each `Iterate`; when it returns True or raises StopIteration the solve stops as "interrupted".
    kkt : {"auto", "ldl", "dense", "lowrank"}, default "auto"
        How the Newton systems are solved; "auto" decides by the count of the work.  "lowrank" takes a full P or a
        `LowRank` one, of whatever rank, where every variable has a bound or a positive entry in the diagonal d of that.
    equilibrate : bool, default True
        Ruiz equilibration of the data.
    step_fraction : float, default 0.99
        The share of the way to the boundary of the cone that a step may go.
    regularization : float, optional
        Static regularization of the KKT matrix, whose entries are near one; chosen by its effect when None.
    refinement_steps : int, default 10
        At most so many steps of iterative refinement a solve.
    threads : int, default 1
        Threads for large factors: those of BLAS for dense ones, and the engine's own for sparse ones, where Linux and
        macOS have them; the bits of an answer belong to this number.
    sifting : bool, default True
        Follow an active set where P is dense, most variables have bounds and at most one row has sides (`qp` only).
    check_convexity : bool, default True
        Refuse a P that is not semidefinite.  When False, P is taken to be where an active set solves the program,
        which then takes less than the check would; of another P the answer may be a local minimum (`qp` only).
    presolve : bool, default True
        Leave out what a quadratic program has too much (`qp` only).

    Raises
    ------
    ProgramError
        A value is not one of the setting's; the message names it.

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
    tol_abs: float | None = None
    tol_infeasible: float | None = None
    max_iter: int = 200
    time_limit: float | None = None
    verbose: bool = False
    callback: Callable[[Any], Any] | None = None
    kkt: Way = "auto"
    equilibrate: bool = True
    step_fraction: float = 0.99
    regularization: float | None = None
    refinement_steps: int = 10
    threads: int = 1
    sifting: bool = True
    check_convexity: bool = True
    presolve: bool = True

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    @classmethod
    def checked(cls, settings: dict[str, Any]) -> Settings:
        """Settings from keyword arguments; an unknown name is refused."""
        if not settings:
            return DEFAULTS
        values = dict(DEFAULTS.__dict__)
        for name, value in settings.items():
            if name not in CHECKS:
                known = f"the settings are {', '.join(CHECKS)}"
                raise ProgramError(f"unknown setting {name!r}{did_you_mean(name, CHECKS)}; {known}")
            values[name] = CHECKS[name](name, value)
        checked = object.__new__(cls)
        checked.__dict__.update(values)
        return checked

    @classmethod
    def among(cls, arguments: dict[str, Any]) -> Settings:
        """Settings from the arguments of a call, all of `socp.solve` or all of `qp.solve`, among others.

        Those that came before cost next to nothing.
        """
        values: Any = _all_values(arguments) if QP_ONLY[0] in arguments else _values(arguments) + _rest
        if arguments.get("callback") is None:  # what it refers to is not to be kept
            try:
                return _kept(*values)
            except TypeError:  # a value that is no key is no setting, either
                pass
        return cls(*values)


def _positive(name: str, value: Any) -> float:
    try:
        if not isinstance(value, bool) and math.isfinite(value) and value > 0:
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ProgramError(f"{name} must be a positive number, but {value!r} came")


def _positive_or_none(name: str, value: Any) -> float | None:
    return None if value is None else _positive(name, value)


def _seconds(name: str, value: Any) -> float | None:
    """Zero and infinity are limits, too."""
    try:
        if value is not None and not isinstance(value, bool) and (value == 0 or value == math.inf):
            return float(value)
    except (TypeError, ValueError):
        pass
    return _positive_or_none(name, value)


def _share(name: str, value: Any) -> float:
    if _positive(name, value) >= 1.0:
        raise ProgramError(f"{name} must be below 1, but {value!r} came")
    return float(value)


def _count(name: str, value: Any, least: int = 0, kind: str = "nonnegative") -> int:
    """An integer, or a float that is one."""
    whole = hasattr(value, "__index__") or (isinstance(value, (float, np.floating)) and float(value).is_integer())
    if isinstance(value, (bool, np.bool_)) or not whole or value < least:
        raise ProgramError(f"{name} must be a {kind} integer, but {value!r} came")
    if value > sys.maxsize:
        raise ProgramError(f"{name} must be at most {sys.maxsize}, but {value!r} came")
    return int(value)


def _positive_count(name: str, value: Any) -> int:
    return _count(name, value, 1, "positive")


def _flag(name: str, value: Any) -> bool:
    """True or False, or 1 or 0, as other solvers take them."""
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value not in (0, 1):
        raise ProgramError(f"{name} must be True or False, but {value!r} came")
    return bool(value)


def _callback(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise ProgramError(f"{name} must be callable, but {value!r} came")
    return value


def _way(name: str, value: Any) -> str:
    if not isinstance(value, str) or value not in WAYS:
        raise ProgramError(f'{name} must be "auto", "ldl", "dense" or "lowrank", but {value!r} came')
    return value


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "tol": _positive, "tol_abs": _positive_or_none, "tol_infeasible": _positive_or_none, "max_iter": _count,
    "time_limit": _seconds, "verbose": _flag, "callback": _callback, "kkt": _way, "equilibrate": _flag,
    "step_fraction": _share, "regularization": _positive_or_none, "refinement_steps": _count,
    "threads": _positive_count, "sifting": _flag, "check_convexity": _flag, "presolve": _flag,
}  # fmt: skip
"""What makes each setting a value of Python's own type, or refuses it."""

DEFAULTS = Settings()

QP_ONLY = ("sifting", "check_convexity", "presolve")
"""Settings of quadratic programs, the last of all: `socp.solve` does not take them."""

_kept = functools.lru_cache(maxsize=64, typed=True)(Settings)  # typed: True is no number of threads
_all_values = operator.itemgetter(*DEFAULTS.__dict__)
_values = operator.itemgetter(*(name for name in DEFAULTS.__dict__ if name not in QP_ONLY))
_rest = tuple(getattr(DEFAULTS, name) for name in QP_ONLY)

ELSEWHERE = {
    "tol": (
        "eps",
        "eps_rel",
        "eps_abs",
        "epsilon",
        "tolerance",
        "reltol",
        "feastol",
        "rtol",
        "tol_gap_rel",
        "tol_feas",
    ),
    "tol_abs": ("abstol", "atol", "tol_gap_abs"),
    "tol_infeasible": ("eps_infeas", "eps_prim_inf", "eps_dual_inf", "tol_infeas_rel", "tol_infeas_abs"),
    "max_iter": ("maxiter", "max_iters", "maxit", "maxiters", "iterations", "n_iter", "iter_limit", "max_iterations"),
    "time_limit": ("timeout", "time", "max_time", "time_limit_secs", "timelimit"),
    "verbose": ("verbosity", "show_progress", "disp", "quiet"),
    "threads": ("num_threads", "n_threads", "max_threads", "n_jobs", "nthreads"),
    "kkt": ("kktsolver", "linear_solver", "direct_solve_method", "linsys_solver"),
    "regularization": ("reg", "delta", "static_regularization_constant"),
    "equilibrate": ("scaling", "scale", "equilibrate_enable"),
}
"""What other solvers call the settings."""
OURS = {other: name for name, others in ELSEWHERE.items() for other in others}


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The end of a message on an unknown name: the one that was meant, if it can be guessed.

    Examples
    --------
    >>> did_you_mean("eps", ["tol", "max_iter"]), did_you_mean("max_itre", ["tol", "max_iter"])
    ("; did you mean 'tol'?", "; did you mean 'max_iter'?")
    """
    near = difflib.get_close_matches(name, [*known, *OURS], 1, 0.75)
    for meant in (f"{name}_data", *(OURS.get(one, one) for one in (name.lower(), *near))):
        if meant in known:
            return f"; did you mean {meant!r}?"
    return ""


ITEM_OF_ALL = re.compile(r"^( *)tol, max_iter, \.\.\.\n +.*\n", re.MULTILINE)
Told = TypeVar("Told", bound=Callable[..., Any])


def explained() -> dict[str, str]:
    """What the docstring of `Settings` says of each, by name: the line of its type, and the lines below it."""
    _, _, text = inspect.cleandoc(Settings.__doc__ or "").partition("Parameters\n----------\n")
    return {item[1]: item[0] for item in re.finditer(r"^(\w+) : .*\n(?: +.*\n)+", text, re.MULTILINE)}


def telling_settings(thing: Told) -> Told:
    """Decorate a function or class of which the docstring has one item for all settings, ``tol, max_iter, ...``:
    `help` shows what `Settings` says of each that it takes, and a name that it does not take is met by the right one.
    """
    taken = inspect.signature(thing).parameters
    if thing.__doc__:
        text = "".join(item for name, item in explained().items() if name in taken)
        thing.__doc__ = ITEM_OF_ALL.sub(lambda line: textwrap.indent(text, line[1]), thing.__doc__, count=1)
    if isinstance(thing, type):
        for name in ("__init__", "update"):
            setattr(thing, name, telling_names(vars(thing)[name], f"{thing.__name__}.{name}".removesuffix(".__init__")))
        return thing
    return telling_names(thing, thing.__name__)


def telling_names(function: Any, told: str) -> Any:
    """The function, which says of an unknown keyword argument what may have been meant."""
    known, guess = inspect.signature(function).parameters, did_you_mean  # for `call`, which has other globals

    def call(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except TypeError:
            for name in named:
                if name not in known:
                    hint = guess(name, known)
                    raise TypeError(f"{told}() got an unexpected keyword argument {name!r}{hint}") from None
            raise

    # doctest finds a module's functions by their globals
    copied = types.FunctionType(call.__code__, function.__globals__, function.__name__, None, call.__closure__)
    return functools.wraps(function)(copied)
