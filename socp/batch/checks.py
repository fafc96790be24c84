"""The checks of data with a leading axis, an entry for each program; messages name the argument and the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import kernel
from ..compiled.signatures import Floats, Matrix
from ..form.convexity import EPS, SEMIDEFINITE_TOL, check_semidefinite
from ..linalg.cholesky import cholesky
from ..problem.checks import ProgramError, as_csc, as_dense, check_finite, check_symmetric
from ..problem.hessian import as_hessian, hessian_of


def axes_of(value: Any) -> int:
    if value is None or sp.issparse(value):
        return 0
    if isinstance(value, (list, tuple)) and value and sp.issparse(value[0]):
        return 3
    return np.ndim(value)


def rows_of(name: str, value: Any, size: int | None, why: str) -> np.ndarray:
    """A vector, or one for each program, as rows."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ProgramError(f"{name} must be an array of numbers, but {type(value).__name__} came") from None
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    if array.ndim not in (1, 2):
        raise ProgramError(
            f"{name} must be a vector, or one for each program, but an array of shape {array.shape} came"
        )
    if size is not None and array.shape[-1] != size:
        raise ProgramError(f"{name} must have {size} entries{why}, but {array.shape[-1]} came")
    return np.array(array, np.float64, order="C", ndmin=2)


def matrices(name: str, value: Any, shape: tuple[int | None, int], why: str) -> np.ndarray:
    """A matrix, or one for each program, as an array of matrices; of symmetric ones the symmetric part."""
    n = shape[1]
    if value is None:
        return np.zeros((1, shape[0] or 0, n))
    axes = axes_of(value)
    if axes == 3:
        parts = (
            value
            if isinstance(value, np.ndarray)
            else [part.toarray() if sp.issparse(part) else part for part in value]
        )
        found = np.array(parts, np.float64, order="C")
        if found.ndim != 3 or found.shape[2] != n or shape[0] not in (None, found.shape[1]):
            raise ProgramError(
                f"{name} must have matrices with {n} columns{why}, but an array of shape {found.shape} came"
            )
        check_finite(name, found)
    else:
        if hasattr(value, "F") and hasattr(value, "d"):  # of low rank
            value = value.F @ value.F.T + np.diag(value.d)
        found = (
            as_csc(name, value, shape, why).toarray() if sp.issparse(value) else as_dense(name, value, shape, why)
        )[None]
    if shape[0] is not None:
        other = np.swapaxes(found, 1, 2)
        if (found != other).any():
            for i, matrix in enumerate(found):
                check_symmetric(f"{name}[{i}]" if axes == 3 else name, matrix)
            found = 0.5 * (found + other)
    return found


class BatchData:
    """The checked data of a batch by argument: a row for each program, or one row that all share.

    Attributes
    ----------
    k : int
        The number of programs.
    has_axis : dict of bool
        Whether each argument came with a leading axis.
    """

    k: int
    has_axis: dict[str, bool]

    def count(self, **came: Any) -> None:
        """Note the leading axes of the arguments, as they came."""
        self.has_axis = {name: axes_of(value) == getattr(self, name).ndim for name, value in came.items()}
        leading = {name: len(getattr(self, name)) for name, has_axis in self.has_axis.items() if has_axis}
        if len(set(leading.values())) > 1:
            sizes = ", ".join(f"{size} of {name}" for name, size in leading.items())
            raise ProgramError(f"the leading axes must agree, but they are {sizes}")
        if not leading:
            raise ProgramError(
                "no argument has a leading axis, with an entry for each program; solve takes one program"
            )
        self.k = next(iter(leading.values()))

    def own(self, name: str, i: int) -> np.ndarray:
        """An argument of program i."""
        array: np.ndarray = getattr(self, name)
        return array[min(i, len(array) - 1)]


def rows_at(array: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The rows of some programs, or the one that all share."""
    return array if len(array) == 1 else array[chosen]


def side_by_side(*parts: np.ndarray) -> np.ndarray:
    """Arrays with a row for each program, or one, side by side."""
    count = max(map(len, parts))
    return np.concatenate([np.broadcast_to(part, (count, *part.shape[1:])) for part in parts], axis=1)


def refuse_nonconvex(P: np.ndarray, objective: str) -> None:
    """Refuse matrices, of shape (1 or k, n, n), of which one is not semidefinite, by its number."""
    n, i = P.shape[1], -1
    flat, room = P.reshape(P.shape[0], n * n), np.empty(n * n)
    while (i := next_doubtful(n, flat, i + 1, room)) >= 0:
        try:
            check_semidefinite(hessian_of(as_hessian("P", P[i], n, objective), n), np.ones(n), 1.0)
        except ProgramError as error:
            raise ProgramError(f"program {i}: {error}" if P.shape[0] > 1 else str(error)) from None


@kernel
def next_doubtful(n: int, P: Matrix, first: int, room: Floats) -> int:
    """The first matrix from there on of which a Cholesky factor does not show that it is semidefinite, or -1."""
    for p in range(first, P.shape[0]):
        largest = 0.0
        for i in range(n * n):
            room[i] = P[p, i]
            largest = max(largest, abs(P[p, i]))
        for j in range(n):
            room[j * n + j] += SEMIDEFINITE_TOL * room[j * n + j] + 64.0 * EPS * largest
        if cholesky(n, room) != 0 or not room[n * n - 1] >= 0.0:
            return p
    return -1
