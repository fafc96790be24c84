"""The answer of a solve."""

from __future__ import annotations

import copy
import functools
import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ..verify.certificates import Ray, dual_certificate, primal_certificate
from ..verify.stopping import Residuals
from .checks import ArrayLike, ProgramError
from .plot import plot
from .printing import html_summary
from .report import write_report
from .settings import Settings
from .status import Status

TRACE = np.dtype(
    [
        ("iteration", np.int64),
        ("primal_objective", np.float64),
        ("dual_objective", np.float64),
        ("primal_residual", np.float64),
        ("dual_residual", np.float64),
        ("gap", np.float64),
        ("mu", np.float64),
        ("sigma", np.float64),
        ("alpha_affine", np.float64),
        ("alpha", np.float64),
        ("tau", np.float64),
        ("kappa", np.float64),
        ("refinements", np.int64),
        ("replaced_pivots", np.int64),
        ("regularization", np.float64),
        ("seconds", np.float64),
    ]
)
"""Record of one iteration.  Residuals and gap are relative, as in the stopping test.  `sigma`, `alpha_affine`, `alpha`,
`refinements` and `replaced_pivots` belong to the step that led to the iterate; they are NaN or 0 in the first record.
`seconds` is the time since the beginning of the solve; the dual active-set method of `qp` sets it in the last record
only, and to 0 in the others."""

TIMINGS = ("equilibration", "ordering", "symbolic", "factorization", "solves", "rest")


Kept = TypeVar("Kept", bound="KeepsProgram")


class KeepsProgram:
    """Base class of answers: copies share the program, which is never changed, and pickles leave it out."""

    _kept: ClassVar[str] = "_linearize"  # name of the attribute that refers to the program

    def _state(self) -> dict[str, Any]:
        """Return all attributes for a copy."""
        return self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the program, which may be large."""
        return {**self._state(), self._kept: None}

    def __copy__(self: Kept) -> Kept:
        other = object.__new__(type(self))
        other.__dict__.update(self._state())
        return other

    def __deepcopy__(self: Kept, memo: dict[int, Any]) -> Kept:
        other = copy.copy(self)
        for name, value in other.__dict__.items():
            other.__dict__[name] = value if name == self._kept else copy.deepcopy(value, memo)
        return other


NO_CERTIFICATE: tuple[Ray, float] = (), math.nan


class Answer(KeepsProgram):
    """Base class of the solutions of cone programs and of quadratic programs."""

    status: Status
    # (answer, smoothing) -> linearization, with the program as its first argument; set by solvers
    _linearize: functools.partial[Any] | None = None
    _settings: Settings | None = None  # of the solve, without the callback

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return an attribute that is computed at first use: `_rest` is a function and its arguments."""
            own = self.__dict__
            if "_rest" in own:
                self._complete()
                if name in own:
                    return own[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _complete(self) -> None:
        """Compute the attributes that are not computed yet; if several threads do, the first thread's values stay."""
        own = self.__dict__
        rest = own.get("_rest")
        if rest is not None:
            for name, value in rest[0](self, *rest[1:]).items():
                own.setdefault(name, value)
            own["_rest"] = None

    def _state(self) -> dict[str, Any]:
        """Compute the attributes that are not computed yet, and return all."""
        self._complete()
        return self.__dict__

    def take_seconds(self: Any, setup: float, solve: float) -> None:
        """Store the seconds of setup and solve; `timings["rest"]` receives the time that is in no other part."""
        self.setup_time, self.solve_time = setup, solve
        timings = self.__dict__.get("timings")
        if timings is not None:  # Otherwise `_complete` computes them from both times.
            timings["rest"] += setup + solve - sum(timings.values())

    def _linearized(self, smoothing: float) -> Any:
        """Return the linearization of the answer; raise ProgramError unless it is optimal and has its program."""
        if self.status is not Status.OPTIMAL:
            raise ProgramError(f"only an optimal answer has a derivative, but the status is {self.status.value!r}")
        return self._with_program()(self, smoothing)

    def _with_program(self) -> functools.partial[Any]:
        """Return `_linearize`; raise ProgramError if the answer has come without its program."""
        self._complete()
        if self._linearize is None:
            raise ProgramError("the answer has come without its program, as out of a pickle: solve it here")
        return self._linearize

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write program, settings, versions and the figures of this answer to a file ``.json``, for a bug report.

        ``centralpath solve FILE.json`` solves the program again with these settings and prints both answers.  A
        callback and the point of a warm start are not written.

        Raises
        ------
        ProgramError
            The name does not end in ``.json``, or the answer was unpickled, without its program.
        """
        write_report(path, self._with_program().args[0], self._settings, self)

    def plot(self) -> Any:
        """Return a matplotlib figure of the trace: residuals, gap and mu, and steps, by iteration.

        A notebook shows it; ``sol.plot().savefig("trace.svg")`` writes it to a file.
        """
        return plot(self)

    def __repr__(self: Any) -> str:
        return (
            f"Solution(status={self.status.value!r}, objective={self.objective:.10g}, iterations={self.iterations}, "
            f"residuals={self.primal_residual:.1e}/{self.dual_residual:.1e}/{self.gap:.1e}, "
            f"seconds={self.setup_time + self.solve_time:.3g})"
        )

    def _repr_html_(self) -> str:
        return html_summary(self)


class Gradient(NamedTuple):
    """Gradient of a scalar function of the answer with respect to all data of a cone program.

    Attributes
    ----------
    P, A, G : arrays or CSC, or None
        Gradients with respect to matrices, sparse on the pattern of sparse data; the gradient in P is symmetric.
    c, b, h : arrays
    differentiable : bool, or an array of a batch
        True if the answer has a derivative; else the fields are the element of least norm.
    """

    P: Any
    c: np.ndarray
    A: Any
    b: np.ndarray
    G: Any
    h: np.ndarray
    differentiable: bool | np.ndarray


class Tangent(NamedTuple):
    """Derivative of the answer to a cone program along a change of the data.

    Attributes
    ----------
    x, y, z, s : arrays
    differentiable : bool, or an array of a batch
        True if the answer has a derivative; else the fields are the element of least norm.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    differentiable: bool | np.ndarray


@dataclass(repr=False)
class Solution(Answer):
    """Answer to a cone program, with all that is needed to check it.

    Attributes
    ----------
    status : Status
        A `str` enum; see `Status` for each value.
    x, y, z, s : arrays, shapes (n,), (p,), (m,), (m,)
        The best iterate found: optimal, or as good as the status says.  For "primal_infeasible"
        (y, z) is the certificate, A'y + G'z = 0, z in K, b'y + h'z = -1, and x, s are NaN.  For
        "dual_infeasible" x is the certificate, Px = 0, Ax = 0, s = -Gx in K, c'x = -1, and y, z are NaN.
    objective, dual_objective : float
        Values of the primal and the dual objective; NaN when infeasible.
    primal_residual, dual_residual, gap : float
        Relative residuals and gap, as in the stopping test, on the caller's own data, computed in twice the working
        precision.  A certificate has one residual: `primal_residual` or `dual_residual`.
    iterations : int
        Iterations of all runs, failed ones included; `trace` covers only the run that gave the answer.
    setup_time, solve_time : float
        Seconds of the set-up and of the solve.
    message : str
        Reason for stopping, and a note if double precision allows no smaller residual.
    trace : structured array
        One record per iteration; see `TRACE`.
    timings : dict of float
        Seconds of set-up and solve by part; their sum is ``setup_time + solve_time``.

        - "equilibration": the standard form, stacked and scaled
        - "ordering", "symbolic": the fill-reducing order and the analysis of the sparse factorization
        - "factorization": the values of the KKT matrix and its numeric factorizations, in all runs
        - "solves": solves with the factors, refinement included, in all runs
        - "rest": everything else, and all of a solve that runs as one compiled piece

        A part that did not occur is 0.

    plan : Plan
        Plan by which the program was solved; it prints in words (see `socp.plan.plan`).

    Examples
    --------
    >>> import socp
    >>> sol = socp.solve(c=[1.0], G=[[-1.0]], h=[2.0], cones=[socp.NonNeg(1)])  # the least x with x + 2 >= 0
    >>> print(sol.status, sol.x.round(6), sol.z.round(6), round(sol.objective, 6), sol.gap < 1e-8)
    optimal [-2.] [1.] -2.0 True
    """

    status: Status
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    objective: float
    dual_objective: float
    primal_residual: float
    dual_residual: float
    gap: float
    iterations: int
    setup_time: float
    solve_time: float
    message: str
    trace: np.ndarray = field(repr=False)
    timings: dict[str, float] = field(default_factory=dict, repr=False)
    plan: Any = field(default=None, repr=False)

    def vjp(
        self, dx: ArrayLike | None = None, dy: ArrayLike | None = None, dz: ArrayLike | None = None,
        ds: ArrayLike | None = None, smoothing: float = 0.0,
    ) -> Gradient:  # fmt: skip
        """Return the gradient of a scalar function of this answer with respect to all data of the program.

        Parameters
        ----------
        dx, dy, dz, ds : array_like, optional
            Gradients of the function with respect to x, y, z and s; None is zero.
        smoothing : float, default 0
            If positive, the point of the central path with s o z = smoothing e is differentiated in place of the
            answer: it has a derivative everywhere, which layers need in training.

        Returns
        -------
        Gradient
            Its fields are P, c, A, b, G, h, and `differentiable`: False if the answer has no derivative, as at a
            degenerate vertex; the fields are then the element of least norm.

        Raises
        ------
        ProgramError
            The status is not "optimal", or the answer was unpickled, without its program.

        Notes
        -----
        The cost is one factorization, dense or sparse, of the system of the active rows and the variables that are not
        at a bound, and two solves; a second factorization only if a residual at the refined answer requires it.

        Examples
        --------
        >>> import socp
        >>> sol = socp.solve(P=[[2.0]], c=[-2.0], G=[[1.0]], h=[0.5], cones=[socp.NonNeg(1)])  # x = h
        >>> print(sol.vjp(dx=[1.0]).h.round(6), sol.jvp(dh=[2.0]).x.round(6))
        [1.] [2.]
        """
        return self._linearized(smoothing).gradient(dx, dy, dz, ds)

    def jvp(
        self, dP: ArrayLike | None = None, dc: ArrayLike | None = None, dA: ArrayLike | None = None,
        db: ArrayLike | None = None, dG: ArrayLike | None = None, dh: ArrayLike | None = None,
        smoothing: float = 0.0,
    ) -> Tangent:  # fmt: skip
        """Return the derivative of this answer along a change of the data: a `Tangent` (x, y, z, s, differentiable).

        Parameters
        ----------
        dP, dc, dA, db, dG, dh : array_like, optional
            Changes of P, c, A, b, G and h, each in the shape of its matrix or vector; None is zero.
        smoothing : float, default 0
            If positive, the point of the central path at this mu is differentiated in place of the answer.
        """
        return self._linearized(smoothing).tangent(dP, dc, dA, db, dG, dh)


def answer_at(
    program: Any, status: Status, x: np.ndarray, multipliers: Ray, found: Residuals | None,
    certificate: tuple[Ray, float] = NO_CERTIFICATE,
) -> tuple[np.ndarray, Ray, tuple[float, float, float, float, float]]:  # fmt: skip
    """Return (x, multipliers, (objective, dual objective, primal residual, dual residual, gap)) of an answer.

    A certificate has one residual; all numbers that are not part of it are NaN.  It is computed from the ray
    (x, multipliers) unless the normalized `certificate` is known.
    """
    primal = dual = gap = objective = dual_objective = math.nan
    if found is not None:
        primal, dual, gap = found.relative
        objective, dual_objective = found.primal_objective + program.offset, found.dual_objective + program.offset
    elif status is Status.PRIMAL_INFEASIBLE:
        multipliers, primal = certificate if certificate[0] else primal_certificate(program, *multipliers)
        x = np.full(program.n, np.nan)
    elif status is Status.DUAL_INFEASIBLE:
        (x,), dual = certificate if certificate[0] else dual_certificate(program, x)
        multipliers = tuple(np.full(block.upper.size, np.nan) for block in program.constraints)
    return x, multipliers, (objective, dual_objective, primal, dual, gap)
