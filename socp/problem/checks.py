"""The checks at the door: bad input is refused before any work, by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import kernel
from ..compiled.signatures import Floats, Ints, Matrix
from ..linalg.csc import csc, csc_of_dense

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
CSC = (sp.csc_array, sp.csc_matrix)


class ProgramError(ValueError):
    """A program or a setting that cannot be accepted; the message names it."""


def as_vector(
    name: str, value: Any, size: int | None = None, why: str = "", spread: bool = False, absent: float | None = None
) -> np.ndarray:
    """`value` as a new contiguous float64 vector, of length `size` when that is given.

    With `spread` a number stands for a vector of equal entries, and None for the number `absent` if there is one.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.ndim == 1 and (size is None or value.size == size):
        return value.copy()
    if value is None and absent is not None:
        value = absent
    if spread and type(value) is float and size is not None:
        return filled(size, value)
    vector = _as_float(name, _full(name, value) if sp.issparse(value) else value)
    if vector.ndim == 0 and spread and size is not None:
        vector = filled(size, float(vector))
    if (vector.ndim == 2 and 1 in vector.shape) or (vector.ndim == 0 and size == 1):
        vector = vector.ravel()
    if vector.ndim != 1:
        raise ProgramError(f"{name} must be a vector, but an array of shape {vector.shape} came")
    if size is not None and vector.size != size:
        raise ProgramError(f"{name} must have {size} entries{why}, but {vector.size} came")
    return vector


def filled(size: int, value: float) -> np.ndarray:
    """A vector of equal entries; `np.full` takes five times as long for a short one."""
    vector = np.empty(size)
    vector.fill(value)
    return vector


def as_dense(name: str, value: Any, shape: tuple[int | None, int | None] = (None, None), why: str = "") -> np.ndarray:
    """`value` as a new C-contiguous float64 matrix of finite entries."""
    matrix = _as_float(name, _full(name, value) if sp.issparse(value) else value)
    if matrix.ndim != 2:
        raise ProgramError(f"{name} must be a matrix, but an array of shape {matrix.shape} came")
    _check_shape(name, matrix.shape, shape, why)
    check_finite(name, matrix)
    return matrix


def as_csc(name: str, value: Any, shape: tuple[int | None, int | None] = (None, None), why: str = "") -> sp.csc_array:
    """`value` as a new canonical CSC array of finite float64 entries, duplicates summed, int64 indices."""
    if isinstance(value, CSC) and value.data.dtype == FLOAT:
        came, data = value.shape, value.data.astype(FLOAT, subok=False)
        indices, indptr = value.indices.astype(INT), value.indptr.astype(INT)
        if is_canonical(came[0], indptr, indices, data):
            _check_shape(name, came, shape, why)
            return csc(data, indices, indptr, came)
    if sp.issparse(value):
        check_places(name, value)
        if value.dtype.kind not in "fiub":
            raise ProgramError(f"{name} must be real, but its entries are of type {value.dtype}")
        if value.ndim == 1:
            value = value.reshape((1, -1))
        # a copy always: what the caller does to his matrix later must not reach us; in float64 before duplicates
        # are summed, for bool and small integers would overflow
        matrix = sp.csc_array(value.astype(np.float64, copy=True))
        matrix.sum_duplicates()
    else:
        dense = _as_float(name, value)
        if dense.ndim == 1:
            dense = dense.reshape(1, -1)
        if dense.ndim != 2:
            raise ProgramError(f"{name} must be a matrix, but an array of shape {dense.shape} came")
        matrix = csc_of_dense(dense)
    _check_shape(name, matrix.shape, shape, why)
    if matrix.data.size and not np.isfinite(matrix.data).all():
        k = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
        j = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        raise ProgramError(f"{name} must be finite, but {name}[{matrix.indices[k]}, {j}] is {matrix.data[k]}")
    matrix.indices = matrix.indices.astype(np.int64, copy=False)
    matrix.indptr = matrix.indptr.astype(np.int64, copy=False)
    return matrix


def check_places(name: str, matrix: Any) -> None:
    """Refuse a sparse matrix with entries outside of it: scipy's constructors take it, its C++ does not survive it."""
    shape = matrix.shape if matrix.ndim == 2 else (1, *matrix.shape)
    if matrix.format == "coo":
        for places, length in zip(matrix.coords, matrix.shape):
            _check_indices(name, places, length)
    elif matrix.format in ("csc", "csr", "bsr"):
        rows, columns = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        lines, length = (shape[1], shape[0]) if matrix.format == "csc" else (shape[0] // rows, shape[1] // columns)
        indptr, size = np.asarray(matrix.indptr), min(len(matrix.indices), len(matrix.data))
        if indptr.shape != (lines + 1,) or indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] > size:
            raise ProgramError(
                f"{name} must be a valid {matrix.format} matrix: its indptr must rise from 0 to at most {size}, "
                f"the number of its entries, in {lines} steps"
            )
        _check_indices(name, np.asarray(matrix.indices)[: indptr[-1]], length)


def _check_indices(name: str, indices: np.ndarray, length: int) -> None:
    bad = np.flatnonzero((indices < 0) | (indices >= length))
    if bad.size:
        raise ProgramError(
            f"{name} must be a valid sparse matrix: its indices must lie in 0 to {length - 1}, "
            f"but {indices[bad[0]]} came"
        )


def _full(name: str, matrix: Any) -> np.ndarray:
    check_places(name, matrix)
    return np.asarray(matrix.toarray())


def as_number(name: str, value: Any) -> float:
    """`value` as a finite float."""
    if type(value) is float and math.isfinite(value):
        return value
    number = _as_float(name, value)
    if number.ndim != 0 or not np.isfinite(number):
        raise ProgramError(f"{name} must be a finite number, but {value!r} came")
    return float(number)


def check_finite(name: str, array: np.ndarray) -> None:
    """Refuse NaN and infinity, naming the first entry."""
    plain = array.ndim == 1 and array.dtype is FLOAT and array.flags.c_contiguous
    if not all_finite(array if plain else np.ascontiguousarray(array, np.float64).ravel()):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        index = ", ".join(map(str, where))
        raise ProgramError(f"{name} must be finite, but {name}[{index}] is {array[where]}")


def check_no_nan(name: str, array: np.ndarray) -> None:
    """Refuse NaN, naming the first entry."""
    if all_finite(array):
        return
    bad = np.isnan(array)
    if bad.any():
        raise ProgramError(f"{name} must not be NaN, but {name}[{int(np.flatnonzero(bad)[0])}] is")


@kernel
def all_finite(values: Floats) -> bool:
    """Whether no entry is NaN or infinite."""
    trap = 0.0  # 0 times a number that is not finite is NaN
    for i in range(np.uint64(values.size)):
        trap += 0.0 * values[i]
    return trap == 0.0


@kernel
def is_plain_dense(P: Matrix) -> bool:
    """Whether most entries of a square array are nonzero, all finite, and it is symmetric to the bit."""
    n, count, trap = P.shape[0], 0, 0.0
    for i in range(n):
        for j in range(n):
            count += int(P[i, j] != 0.0)
            trap += 0.0 * P[i, j]
        for j in range(i):
            if P[i, j] != P[j, i]:
                return False
    return trap == 0.0 and 2 * count > n * n


@kernel
def asymmetry(P: Matrix, found: Floats) -> None:
    """found := (i, j, largest |P_ij - P_ji| (there), largest |P_ij|), in square blocks that fit the cache."""
    n = P.shape[0]
    block = 64
    for first in range(0, n, block):
        for second in range(first, n, block):
            for i in range(first, min(first + block, n)):
                for j in range(second, min(second + block, n)):
                    difference = abs(P[i, j] - P[j, i])
                    if difference > found[2]:
                        found[0], found[1], found[2] = i, j, difference
                    found[3] = max(found[3], abs(P[i, j]), abs(P[j, i]))


def check_symmetric(name: str, P: Any, tol: float = 1e-10) -> None:
    """Refuse a matrix whose asymmetry is above `tol` relative to its largest entry."""
    if P.shape[0] == 0:
        return
    if sp.issparse(P):
        if P.nnz == 0:
            return
        difference = abs(P - P.T)
        worst = float(difference.max()) if difference.nnz else 0.0
        size = float(abs(P.data).max())
        where = np.unravel_index(int(difference.tocoo().data.argmax()), (1, max(difference.nnz, 1)))[1] if worst else 0
        coo = difference.tocoo()
        i, j = (int(coo.row[where]), int(coo.col[where])) if worst else (0, 0)
    else:
        found = np.zeros(4)
        asymmetry(np.ascontiguousarray(P, np.float64), found)
        (i, j), (worst, size) = found[:2].astype(int), found[2:]
    if worst > tol * size:
        hint = ""
        if _is_triangular(P):
            hint = "; it is triangular: give the full matrix, for instance T + T.T - diag(T)"
        raise ProgramError(
            f"{name} must be symmetric, but {name}[{i}, {j}] and {name}[{j}, {i}] differ by {worst:g} "
            f"(largest entry {size:g}){hint}"
        )


def symmetric_part(P: Any) -> Any:
    """1/2 (P + P'), which has the same x'Px, with no stored entry lost; P itself when it is symmetric to the bit."""
    if not sp.issparse(P):
        found = np.zeros(4)
        asymmetry(np.ascontiguousarray(P, np.float64), found)
        return P if found[2] == 0.0 else 0.5 * (P + P.T)
    if (P != P.T).nnz == 0:
        return P
    coo = P.tocoo()
    rows, columns = np.concatenate([coo.row, coo.col]), np.concatenate([coo.col, coo.row])
    both = sp.coo_array((np.concatenate([0.5 * coo.data, 0.5 * coo.data]), (rows, columns)), shape=P.shape)
    return as_csc("P", both)


@kernel
def is_canonical(rows: int, indptr: Ints, indices: Ints, data: Floats) -> bool:
    """Whether a CSC matrix has ascending indices in each column, all in range, and finite entries."""
    size = min(indices.size, data.size)
    if indptr[0] != 0 or indptr[-1] > size or indices.size != data.size:
        return False
    for j in range(indptr.size - 1):
        if not indptr[j] <= indptr[j + 1] <= size:
            return False
        last = -1
        for k in range(indptr[j], indptr[j + 1]):
            if not (last < indices[k] < rows and math.isfinite(data[k])):
                return False
            last = indices[k]
    return indptr[-1] == size


@kernel
def is_symmetric(indptr: Ints, indices: Ints, data: Floats, next_entry: Ints) -> bool:
    """Whether a canonical CSC matrix is symmetric to the bit, pattern and values; False may also mean another order.

    `next_entry` has room for an entry a column.
    """
    n = indptr.size - 1
    for j in range(n):
        next_entry[j] = indptr[j]
    for j in range(n):  # the entries of row j come in the order of the columns
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            mirrored = next_entry[i]
            if mirrored == indptr[i + 1] or indices[mirrored] != j or data[mirrored] != data[k]:
                return False
            next_entry[i] += 1
    return True


def _is_plain(value: Any) -> bool:
    """Whether it is an array of float64 of a NumPy that is nobody's subclass."""
    return type(value) is np.ndarray and value.dtype == np.float64


def _is_triangular(P: Any) -> bool:
    if sp.issparse(P):
        coo = P.tocoo()
        return bool((coo.row <= coo.col).all() or (coo.row >= coo.col).all())
    return bool((np.triu(P, 1) == 0).all() or (np.tril(P, -1) == 0).all())


def _as_float(name: str, value: Any) -> np.ndarray:
    if _is_plain(value):
        return value.astype(FLOAT, order="C")  # that very object: dtypes from files only equal it
    if np.ma.is_masked(value):
        raise ProgramError(f"{name} must be an array of numbers, but some of its entries are masked")
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise ProgramError(f"{name} must be real, but its entries are complex")
        if array.dtype.kind not in "fiubO":
            raise TypeError
        return np.array(array, dtype=np.float64, order="C", copy=True)
    except ProgramError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise ProgramError(f"{name} must be an array of numbers, but {_describe(value)} came") from None


def _describe(value: Any) -> str:
    return repr(value) if isinstance(value, (str, bytes)) else f"a {type(value).__name__} of something else"


def _check_shape(name: str, came: tuple[int, ...], expected: tuple[int | None, int | None], why: str) -> None:
    rows, columns = expected
    if (rows is not None and rows != came[0]) or (columns is not None and columns != came[1]):
        shape = ", ".join("any" if e is None else str(e) for e in expected)
        raise ProgramError(f"{name} must have shape ({shape}){why}, but {came} came")
