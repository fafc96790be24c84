"""A quadratic program as a function of its data, with gradients, on arrays: the base of layers of other packages."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from socp.problem.checks import ProgramError
from socp.problem.status import Status

from ..batch import Programs, Solutions, solve_many
from ..problem.derivatives import linearize, linearize_many
from ..problem.program import QuadraticProgram
from ..solver import solve

AXES = {"P": 2, "q": 1, "A": 2, "l": 1, "u": 1, "lb": 1, "ub": 1}
"""The arguments, and how many axes each has in one program."""

Data = dict[str, np.ndarray | None]
Arrays = tuple[np.ndarray, ...]
Answer = Callable[[dict[str, Any], float, dict[str, Any]], tuple[Any, Any, Any]]


def as_function(arrays: str, batches: str) -> Callable[[Answer], Callable[..., tuple[Any, Any, Any]]]:
    """Decorate ``answer(data, smoothing, settings)`` as a function of the data; the strings are for its docstring."""

    def decorate(answer: Answer) -> Callable[..., tuple[Any, Any, Any]]:
        def solve(
            P: Any, q: Any, A: Any = None, l: Any = None, u: Any = None, lb: Any = None, ub: Any = None, *,
            smoothing: float = 0.0, **settings: Any,
        ) -> tuple[Any, Any, Any]:  # fmt: skip
            data = {"P": P, "q": q, "A": A, "l": l, "u": u, "lb": lb, "ub": ub}
            return answer(data, smoothing, settings)

        solve.__module__, solve.__qualname__ = answer.__module__, answer.__qualname__
        solve.__doc__ = f"""Solve one quadratic program, or a batch of them, as a function of its data.

        Parameters
        ----------
        P, q, A, l, u, lb, ub : {arrays}, or numbers that are constant, or None
            As in `qp.solve`, dense; {batches}.
        smoothing : float, default 0
            If positive, gradients belong to the point of the central path at mu = smoothing: see `qp.Solution.vjp`.
        tol, max_iter, ...
            The settings of `qp.solve`, or of `qp.solve_many`.

        Returns
        -------
        x, y, z_bounds : {arrays}
            Arrays of the type of q, on the device of q.

        Raises
        ------
        ProgramError
            The data cannot be accepted, or a program has no optimal answer; the message names it.
        """
        return solve

    return decorate


def is_batch(data: Data) -> bool:
    """Return True if an argument has a leading axis."""
    return any(value is not None and value.ndim > AXES[name] for name, value in data.items())


def answer_to(data: Data, settings: dict[str, Any]) -> Arrays:
    """Return (x, y, z_bounds) of a program or, with leading axes, of a batch.

    Parameters
    ----------
    data : dict of arrays
        Data by the names of `AXES`; P is replaced by its symmetric part.
    settings : dict
        Settings of `qp.solve`.

    Raises
    ------
    ProgramError
        The data cannot be accepted, or a program has no optimal answer; the message names it.
    """
    data = _symmetric(data)
    found: Any = (solve_many if is_batch(data) else solve)(**data, **settings)  # type: ignore[arg-type]
    failed = np.flatnonzero(np.atleast_1d(found.status != Status.OPTIMAL))
    if failed.size:
        which, status = ("the program", found.status) if not is_batch(data) else (
            f"program {failed[0]}", found.status[failed[0]]
        )  # fmt: skip
        raise ProgramError(f"a layer needs optimal answers, but the status of {which} is {status.value!r}")
    return found.x, found.y, found.z_bounds


def gradients_at(data: Data, point: Arrays, cotangents: Arrays, smoothing: float) -> list[np.ndarray | None]:
    """Return the gradients with respect to the arguments, in the order of `AXES`, each in its argument's shape.

    Parameters
    ----------
    data : dict of arrays
    point : tuple of arrays
        Result of `answer_to`.
    cotangents : tuple of arrays
        Gradients with respect to x, y and z_bounds.
    smoothing : float
        As in `qp.Solution.vjp`.
    """
    data = _symmetric(data)
    if is_batch(data):
        programs = Programs(**{name: data[name] for name in AXES})
        many = Solutions(programs.k, x=programs.n, y=programs.m, z_bounds=programs.n)
        many.status[:] = Status.OPTIMAL
        many.x, many.y, many.z_bounds = point
        found = linearize_many(programs, many, smoothing).gradient(*cotangents)
    else:
        answer = SimpleNamespace(**dict(zip(("x", "y", "z_bounds"), point)))
        found = linearize(QuadraticProgram(**data), answer, smoothing).gradient(*cotangents)  # type: ignore[arg-type]
    return [_like(getattr(found, name), data[name]) for name in AXES]


def _symmetric(data: Data) -> Data:
    P = data["P"]
    return data if P is None else {**data, "P": 0.5 * (P + np.swapaxes(P, -1, -2))}


def _like(gradient: Any, argument: np.ndarray | None) -> np.ndarray | None:
    """Return the gradient in the shape of its argument, summed if a number stands for many entries."""
    if argument is None:
        return None
    dense = np.asarray(gradient.toarray() if hasattr(gradient, "toarray") else gradient)
    return dense.reshape(argument.shape) if dense.size == argument.size else dense.sum().reshape(argument.shape)
