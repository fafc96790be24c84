"""The settings of a solve, each with its default, checked in one place."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, cast, get_args

import numpy as np

from .checks import ProgramError

if TYPE_CHECKING:
    from typing_extensions import Unpack

Way = Literal["auto", "ldl", "dense", "lowrank"]
WAYS = get_args(Way)
KKTSolver = Callable[[Any], Callable[..., Any]]  # see `socp.problem.scaling.Scaling`


class BatchSettings(TypedDict, total=False):
    """Keyword settings of a batch of cone programs, for type checkers."""

    tol: float
    tol_abs: float | None
    tol_infeasible: float | None
    max_iter: int
    time_limit: float | None
    threads: int


class QuadraticBatchSettings(BatchSettings, total=False):
    """Keyword settings of a batch of quadratic programs, for type checkers."""

    check_convexity: bool


class ConeSettings(BatchSettings, total=False):
    """Keyword settings of a cone program, for type checkers."""

    verbose: bool
    callback: Callable[[Any], Any] | None
    kkt: Way | KKTSolver
    equilibrate: bool
    step_fraction: float
    regularization: float | None
    refinement_steps: int


class QuadraticSettings(ConeSettings, total=False):
    """Keyword settings of a quadratic program, for type checkers."""

    active_set: bool
    check_convexity: bool
    presolve: bool


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
    """Return a time limit in seconds as a float, or None; zero and infinity are allowed."""
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
    """Return `value` as an int of at least `least`; a float without a fraction is allowed."""
    whole = hasattr(value, "__index__") or (isinstance(value, (float, np.floating)) and float(value).is_integer())
    if isinstance(value, (bool, np.bool_)) or not whole or value < least:
        raise ProgramError(f"{name} must be a {kind} integer, but {value!r} came")
    if value > sys.maxsize:
        raise ProgramError(f"{name} must be at most {sys.maxsize}, but {value!r} came")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    """Return `value` as a bool; 1 and 0 are allowed, as in other solvers."""
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value not in (0, 1):
        raise ProgramError(f"{name} must be True or False, but {value!r} came")
    return bool(value)


def _callback(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise ProgramError(f"{name} must be callable, but {value!r} came")
    return value


def _way(name: str, value: Any) -> Any:
    if not callable(value) and (not isinstance(value, str) or value not in WAYS):
        raise ProgramError(f'{name} must be "auto", "ldl", "dense", "lowrank" or a function, but {value!r} came')
    return value


@dataclass(frozen=True, init=False)
class Settings:
    """Settings of `socp.solve`, `socp.Solver`, `socp.iterates`, `qp.solve` and `qp.Solver`, each by its name.

    Parameters
    ----------
    tol : float, default 1e-8
        Relative tolerance of the stopping test, in the caller's own units.
    tol_abs : float, optional
        Absolute tolerance, in addition to `tol`, of residuals and gap; None is no test.
    tol_infeasible : float, optional
        Tolerance of infeasibility certificates; `tol` when None.
    max_iter : int, default 200
        Iteration limit.  A run that fails may be followed by others (see `socp.plan.fallbacks`): each of them has the
        default limit, or all runs together have the limit that is given.
    time_limit : float, optional
        Seconds for one solve and the set-up before it; None is no limit.
    verbose : bool, default False
        Print one line per iteration, or round of the active set; nothing else changes.
    callback : callable, optional
        Called with each `Iterate`; a callback selects the interior-point method.  If it returns True or raises
        StopIteration, the solve stops as "interrupted".
    kkt : {"auto", "ldl", "dense", "lowrank"} or callable, default "auto"
        How the Newton systems are solved; "auto" compares operation counts.  "lowrank" needs a dense P, or P =
        F F' + diag(d) as a `LowRank`, of any rank, with a bound or a positive entry of d for every variable.
        A function of the `socp.problem.scaling.Scaling` of an iteration (`socp` only) returns solve(r1, r2, r3) ->
        (dx, dy, dz) of P dx + A'dy + G'dz = r1, A dx = r2, G dx - W^2 dz = r3, exactly or nearly: solves are refined.
    equilibrate : bool, default True
        Ruiz equilibration of the data.
    step_fraction : float, default 0.99
        Largest step length, as a fraction of the step to the boundary of the cone.
    regularization : float, optional
        Static regularization of the KKT matrix, scaled to entries near one; None tries several values.
    refinement_steps : int, default 10
        Limit of the steps of iterative refinement per solve.
    threads : int, default 1
        Threads of BLAS for large factorizations, and threads that share the programs of a batch in `solve_many`;
        results are bitwise reproducible per thread count.
    active_set : bool, default True
        Use an active-set method where P is dense, most variables have bounds and at most one row has sides, and a
        dual active-set method in small programs (`qp` only; `sifting` is an alias).
    check_convexity : bool, default True
        Refuse a P that is not semidefinite.  False: assume that P is semidefinite; if it is not, the answer may be a
        local minimum or a saddle point (`qp` only).
    presolve : bool, default True
        Remove redundant rows and variables (`qp` only).

    Raises
    ------
    ProgramError
        A setting has a value that is not allowed; the message names it.

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

    tol: float = field(default=1e-8, metadata={"check": _positive})
    tol_abs: float | None = field(default=None, metadata={"check": _positive_or_none})
    tol_infeasible: float | None = field(default=None, metadata={"check": _positive_or_none})
    max_iter: int = field(default=200, metadata={"check": _count})
    time_limit: float | None = field(default=None, metadata={"check": _seconds})
    verbose: bool = field(default=False, metadata={"check": _flag})
    callback: Callable[[Any], Any] | None = field(default=None, metadata={"check": _callback})
    kkt: Way | KKTSolver = field(default="auto", metadata={"check": _way})
    equilibrate: bool = field(default=True, metadata={"check": _flag})
    step_fraction: float = field(default=0.99, metadata={"check": _share})
    regularization: float | None = field(default=None, metadata={"check": _positive_or_none})
    refinement_steps: int = field(default=10, metadata={"check": _count})
    threads: int = field(default=1, metadata={"check": functools.partial(_count, least=1, kind="positive")})
    active_set: bool = field(default=True, metadata={"check": _flag})
    check_convexity: bool = field(default=True, metadata={"check": _flag})
    presolve: bool = field(default=True, metadata={"check": _flag})

    def __init__(self, **given: Unpack[QuadraticSettings]) -> None:
        values = dict(_defaults)
        for name, value in given.items():
            ours = ALIASES.get(name, name)
            if ours not in CHECKS:
                known = f"the settings are {', '.join(CHECKS)}"
                raise ProgramError(f"unknown setting {name!r}{did_you_mean(name, CHECKS)}; {known}")
            values[ours] = CHECKS[ours](name, value)
        self.__dict__.update(values)

    @property
    def has_functions(self) -> bool:
        """True if the callback or the KKT solver is a function of the caller."""
        return self.callback is not None or callable(self.kkt)

    @property
    def without_functions(self) -> Settings:
        """The settings without functions of the caller, which would keep alive all that they refer to."""
        if not self.has_functions:
            return self
        return dataclasses.replace(self, callback=None, kkt="auto" if callable(self.kkt) else self.kkt)

    @property
    def tol_of_rays(self) -> float:
        """`tol_infeasible`, or `tol` if that is None."""
        return self.tol_infeasible or self.tol

    @property
    def sifting(self) -> bool:
        """Alias of `active_set`."""
        return self.active_set

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that are not the defaults, by name."""
        return {name: value for name, value in vars(self).items() if value != _defaults[name]}

    def spent(self, iterations: int) -> int:
        """Return how many of the iterations of earlier runs count towards `max_iter`: none if that is the default."""
        return 0 if self.max_iter == Settings.max_iter else iterations

    @classmethod
    def of_call(cls, named: Mapping[str, Any], function: str, known: Collection[str]) -> Settings:
        """Return the settings in the keyword arguments of `function`; raise TypeError for a name not in `known`.

        Repeated arguments without functions are looked up in a cache.
        """
        if not named:
            return DEFAULTS
        for name in named:
            if name not in known:
                hint = did_you_mean(name, known)
                raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
        if named.get("callback") is None and not callable(
            named.get("kkt")
        ):  # A cached function would keep alive all that it refers to.
            try:
                return _kept(**named)
            except TypeError:  # An unhashable value is not a valid setting; `cls` raises ProgramError.
                pass
        return cls(**named)


ALIASES = {"sifting": "active_set"}
CHECKS: dict[str, Callable[[str, Any], Any]] = {each.name: each.metadata["check"] for each in fields(Settings)}
_defaults = {each.name: each.default for each in fields(Settings)}
DEFAULTS = Settings()

QP_ONLY = ("active_set", "check_convexity", "presolve")
"""Settings of quadratic programs only, the last fields of `Settings`; `socp.solve` does not accept them."""

_kept = functools.lru_cache(maxsize=64, typed=True)(Settings)  # typed: threads=True must not find threads=1

ELSEWHERE = {
    "tol": (
        "eps", "eps_rel", "eps_abs", "epsilon", "tolerance", "reltol", "feastol", "rtol", "tol_gap_rel", "tol_feas",
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
}  # fmt: skip
"""Names of each setting in other solvers."""
OURS = {other: name for name, others in ELSEWHERE.items() for other in others}

FORMS = {
    "ub": (("G", "h", "b"), "rows are l <= A x <= u here, and qp.solve_qp takes G, h, A, b, lb and ub"),
    "q": (("c", "f", "g"), "the linear objective is q"),
    "cones": (("l", "u", "lb", "ub"), "rows are A x = b and G x + s = h here, and qp.solve takes A, l, u, lb and ub"),
    "c": (("q", "f"), "the linear objective is c"),
}
"""By a name that only one form of programs has: names of the other forms, and what this form has in their place."""


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return the end of a message about an unknown name, with a guess of the name that was meant, or "".

    Examples
    --------
    >>> did_you_mean("eps", ["tol", "max_iter"]), did_you_mean("max_itre", ["tol", "max_iter"])
    ("; did you mean 'tol'?", "; did you mean 'max_iter'?")
    >>> did_you_mean("G", ["q", "A", "l", "u", "lb", "ub"])
    '; rows are l <= A x <= u here, and qp.solve_qp takes G, h, A, b, lb and ub'
    """
    for form, (names, words) in FORMS.items():
        if name in names and name not in known and form in known:
            return f"; {words}"
    near = difflib.get_close_matches(name, [*known, *OURS], 1, 0.75)
    for meant in (f"{name}_data", *(OURS.get(one, one) for one in (name.lower(), *near))):
        if meant in known:
            return f"; did you mean {meant!r}?"
    return ""


ITEM_OF_ALL = re.compile(r"^( *)tol, max_iter, \.\.\.\n +.*\n", re.MULTILINE)
Told = TypeVar("Told", bound=Callable[..., Any])
Updating = TypeVar("Updating", bound=Callable[..., Any])


def explained() -> dict[str, str]:
    """Return the entries of `Settings`' docstring by name: the line with the type, and the lines below it."""
    _, _, text = inspect.cleandoc(Settings.__doc__ or "").partition("Parameters\n----------\n")
    return {item[1]: item[0] for item in re.finditer(r"^(\w+) : .*\n(?: +.*\n)+", text, re.MULTILINE)}


def document_settings(thing: Told) -> Told:
    """Decorate `thing`, whose last argument takes settings by name, so that its signature lists each of them.

    In the docstring of `thing` the entry ``tol, max_iter, ...`` is replaced by the entries of these settings.
    """
    taker: Any = vars(thing)["__init__"] if isinstance(thing, type) else thing
    shown, kinds = inspect.signature(taker), inspect.Parameter
    *own, named = shown.parameters.values()
    declared = taker.__globals__[named.annotation.removeprefix("Unpack[").removesuffix("]")].__annotations__
    data = {name: getattr(kind, "__forward_arg__", kind) for name, kind in declared.items() if name not in CHECKS}
    taken = [each for each in fields(Settings) if each.name in declared]
    own += [kinds(name, kinds.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in data.items()]
    own += [kinds(each.name, kinds.KEYWORD_ONLY, default=each.default, annotation=each.type) for each in taken]
    taker.__signature__ = shown.replace(parameters=own)
    if thing.__doc__:
        explanations = explained()
        text = "".join(explanations[each.name] for each in taken if each.name in explanations)
        thing.__doc__ = ITEM_OF_ALL.sub(lambda line: textwrap.indent(text, line[1]), thing.__doc__, count=1)
    return thing


def document_names(function: Updating) -> Updating:
    """Decorate a method with keyword data so that the TypeError about an unknown name suggests a known one."""
    known, told = dict.fromkeys(inspect.signature(function).parameters), function.__qualname__

    @functools.wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                raise TypeError(f"{told}() got an unexpected keyword argument {name!r}{did_you_mean(name, known)}")
        return function(*values, **named)

    return cast(Updating, call)
