"""The answers to a batch of programs, as arrays with a row for each program."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..derivatives.cones import linearize, linearize_many
from ..method.ray_search import RAYS
from ..problem.checks import ProgramError
from ..problem.settings import Settings
from ..problem.solution import TIMINGS, TRACE, Gradient, KeepsProgram, Solution, Tangent
from ..problem.status import Status

One = TypeVar("One")

MESSAGES = {
    Status.OPTIMAL: "the stopping test holds",
    Status.TIME_LIMIT: "the time limit was reached before this program",
    Status.INTERRUPTED: "interrupted from the keyboard before this program",
    Status.NUMERICAL_ERROR: "not solved",
    **RAYS,
}


class _Linearize:
    """Function (answer, smoothing) that linearizes program `i` of a batch, which is made at its first use."""

    def __init__(self, linearize: Any, programs: Any, i: int) -> None:
        self._linearize, self._programs, self._i = linearize, programs, i

    @functools.cached_property
    def args(self) -> tuple[Any]:
        """Tuple of the program, under the name that `functools.partial` gives its arguments."""
        return (self._programs.program(self._i),)

    def __call__(self, answer: Any, smoothing: float) -> Any:
        return self._linearize(*self.args, answer, smoothing)


class Answers(KeepsProgram, Generic[One]):
    """Answers to a batch of programs: ``many[i]`` is the solution of program i.

    Parameters
    ----------
    k : int
        Number of programs.
    **sizes : int
        Length of each vector of an answer, by name.
    """

    vectors: ClassVar[tuple[str, ...]]
    numbers: ClassVar = ("objective", "dual_objective", "primal_residual", "dual_residual", "gap")
    single: ClassVar[Any]
    messages: ClassVar[dict[Status, str]] = MESSAGES
    linearize: ClassVar[Any]  # functions that linearize the optimality conditions at one answer, at all answers
    linearize_many: ClassVar[Any]
    _kept = "_programs"
    _settings: Settings | None = None
    _programs: Any = None  # object whose method `program(i)` returns program i, for derivatives
    status: np.ndarray
    x: np.ndarray
    y: np.ndarray
    objective: np.ndarray
    dual_objective: np.ndarray
    primal_residual: np.ndarray
    dual_residual: np.ndarray
    gap: np.ndarray
    iterations: np.ndarray

    def __init__(self, k: int, **sizes: int) -> None:
        self.status, self.iterations = np.empty(k, object), np.zeros(k, np.int64)
        self.status.fill(Status.NUMERICAL_ERROR)  # np.full converts the string for every entry, which is slow.
        self._shapes = {**{name: (k, sizes[name]) for name in self.vectors}, **dict.fromkeys(self.numbers, (k,))}
        self.setup_time, self.solve_time = 0.0, 0.0
        self.alone: dict[int, One] = {}

    def __getattr__(self, name: str) -> np.ndarray:
        """Return a new array of NaN for a field that was never written."""
        if name not in self.__dict__.get("_shapes", ()):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        found = self.__dict__[name] = np.full(self._shapes[name], np.nan)
        return found

    def allocate(self) -> None:
        """Create all fields before threads write their rows; otherwise each thread would create its own."""
        for name in self._shapes:
            getattr(self, name)

    def __len__(self) -> int:
        return int(self.status.size)

    def __getitem__(self, i: int) -> One:
        i = range(len(self))[i]
        if i in self.alone:
            return self.alone[i]
        share, status = 1.0 / len(self), self.status[i]
        setup_time, solve_time = share * self.setup_time, share * self.solve_time
        found: One = self.single(
            status=status, **{name: getattr(self, name)[i] for name in self.vectors},
            **{name: float(getattr(self, name)[i]) for name in self.numbers}, iterations=int(self.iterations[i]),
            setup_time=setup_time, solve_time=solve_time, message=self.messages[status], trace=np.zeros(0, TRACE),
            timings={**dict.fromkeys(TIMINGS, 0.0), "rest": setup_time + solve_time},
        )  # fmt: skip
        if self._programs is not None:
            found._linearize = _Linearize(type(self).linearize, self._programs, i)  # type: ignore[attr-defined]
        found._settings = self._settings  # type: ignore[attr-defined]
        return found

    def __iter__(self) -> Iterator[One]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        names, counts = np.unique([status.value for status in self.status], return_counts=True)
        found = ", ".join(f"{count} {name}" for name, count in zip(names, counts))
        seconds = self.setup_time + self.solve_time
        return f"{type(self).__name__}({found}; iterations={self.iterations.sum()}, seconds={seconds:.3g})"

    def _linearized(self, smoothing: float) -> Any:
        if self._programs is None:
            raise ProgramError("the answers have come without their programs, as out of a pickle: solve them here")
        return type(self).linearize_many(self._programs, self, smoothing)

    def take(self, i: int, solution: One) -> None:
        """Store the answer of program `i`, which was solved outside the batch."""
        for name in ("status", "iterations", *self.vectors, *self.numbers):
            getattr(self, name)[i] = getattr(solution, name)
        self.alone[i] = solution


class Solutions(Answers[Solution]):
    """Answers to a batch of cone programs: arrays with a row for each; ``many[i]`` is the `Solution` of program i.

    Attributes
    ----------
    status : array of Status, shape (k,)
        Status of each program; ``many.status == "optimal"`` is an array of bool.
    x, y, z, s : arrays, shapes (k, n), (k, p), (k, m), (k, m)
        Vectors of `Solution`; NaN where the answer of a program has no such vector.
    objective, dual_objective : arrays, shape (k,)
    primal_residual, dual_residual, gap : arrays, shape (k,)
        Relative residuals and gap, on the caller's own data.
    iterations : array of int, shape (k,)
    setup_time, solve_time : float
        Seconds of the set-up and of the solve of the whole batch.

    Examples
    --------
    >>> import socp
    >>> many = socp.solve_many(c=[[1.0], [2.0]], G=[[-1.0]], h=[3.0], cones=[socp.NonNeg(1)])
    >>> print(len(many), many.status[1], many.x.round(6).ravel(), many[0].objective.__round__(6))
    2 optimal [-3. -3.] -3.0
    """

    vectors, single = ("x", "y", "z", "s"), Solution
    linearize, linearize_many = staticmethod(linearize), staticmethod(linearize_many)
    z: np.ndarray
    s: np.ndarray

    def vjp(
        self, dx: Any = None, dy: Any = None, dz: Any = None, ds: Any = None, smoothing: float = 0.0
    ) -> Gradient:  # fmt: skip
        """Return the vector-Jacobian product of every program: `Solution.vjp` with a leading batch axis.

        Parameters
        ----------
        dx, dy, dz, ds : array_like, shapes (k, n), (k, p), (k, m), (k, m), optional
            Gradients of one scalar function per program with respect to x, y, z and s; None is zero.
        smoothing : float, default 0

        Returns
        -------
        Gradient
            Its fields have a leading axis where the argument has one; for data that the programs share it is the
            gradient of the sum of the functions.  `differentiable` is an array.

        Raises
        ------
        ProgramError
            The status of a program is not "optimal", or the answers were unpickled, without their programs.

        Examples
        --------
        >>> import numpy as np, socp
        >>> many = socp.solve_many(P=[[2.0]], c=[[-2.0], [1.0]], G=[[1.0]], h=[0.5], cones=[socp.NonNeg(1)])
        >>> gradient = many.vjp(dx=np.ones((2, 1)))  # x = h, and x = -c / 2
        >>> print(gradient.c.round(6).tolist(), gradient.h.round(6), gradient.differentiable)
        [[-0.0], [-0.5]] [1.] [ True  True]
        """
        return self._linearized(smoothing).gradient(dx, dy, dz, ds)

    def jvp(
        self, dP: Any = None, dc: Any = None, dA: Any = None, db: Any = None, dG: Any = None, dh: Any = None,
        smoothing: float = 0.0,
    ) -> Tangent:  # fmt: skip
        """Return the derivatives of all answers along changes of the data, with or without a leading axis."""
        return self._linearized(smoothing).tangent(dP, dc, dA, db, dG, dh)
