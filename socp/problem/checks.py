"""Checks of input: bad data are refused before any work, with a message that names them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import deferred_kernel, kernel, leaf
from ..compiled.memory import check_memory
from ..compiled.signatures import Floats, Ints, Matrix
from ..linalg.csc import csc, csc_of_dense
from ..linalg.vectors import norm_within

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
NO_PLACES = np.zeros(0, INT)
PRECISIONS = {float(np.finfo(kind).eps): kind for kind in ("float64", "float32", "float16")}
"""Names of the types in which a matrix may have been given, by their machine epsilon."""
EPS, *_ = PRECISIONS
ASYMMETRY = 1e-10  # difference of P_ij and P_ji, relative to the largest entry, up to which P is symmetrized
CSC, CSR = (sp.csc_array, sp.csc_matrix), (sp.csr_array, sp.csr_matrix)


class _DenseArray(Protocol):
    def __array__(self) -> np.ndarray: ...


class _SparseArray(Protocol):
    def tocsc(self) -> Any: ...


class _Nested(Protocol):
    """Type of nested sequences of numbers and arrays; the argument of `__contains__` excludes `str`."""

    def __len__(self) -> int: ...

    def __contains__(self, value: object, /) -> bool: ...

    def __iter__(self) -> Iterator[Number | _DenseArray | _Nested]: ...


Number = float | np.number[Any]
ArrayLike = _DenseArray | _SparseArray | _Nested
"""Type of vector and matrix arguments: a dense array, a sparse array, or nested sequences of numbers."""


class ProgramError(ValueError):
    """A program or a setting that cannot be accepted; the message names it."""


def as_scalar(value: Any) -> Any:
    """Return the number in an array without axes, such as the value of a variable of cvxpy; other values unchanged."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def as_vector(
    name: str, value: Any, size: int | None = None, why: str = "", spread: bool = False, absent: float | None = None,
    leading: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return `value` as a new contiguous float64 vector, of length `size` when that is given.

    With `spread` a number stands for a vector of equal entries, and None for the number `absent` if there is one.  With
    `leading` an array of two axes is a vector for each program of a batch, and is returned as such.
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
    if (vector.ndim == 2 and 1 in vector.shape and not leading) or (vector.ndim == 0 and size == 1):
        vector = vector.ravel()
    if vector.ndim != 1 and not (leading and vector.ndim == 2):
        wanted = "a vector, or one for each program" if leading else "a vector"
        raise ProgramError(f"{name} must be {wanted}, but an array of shape {vector.shape} came")
    if size is not None and vector.shape[-1] != size:
        raise ProgramError(f"{name} must have {size} entries{why}, but {vector.shape[-1]} came")
    return vector


def filled(size: int, value: float) -> np.ndarray:
    """Return a vector of equal entries; `np.full` takes five times as long for a short one."""
    vector = np.empty(size)
    vector.fill(value)
    return vector


def as_dense(
    name: str, value: Any, shape: tuple[int | None, int | None] = (None, None), why: str = "", leading: bool = False
) -> np.ndarray:
    """Return `value` as a new C-contiguous float64 matrix of finite entries.

    With `leading` an array of three axes, or a list of sparse matrices, is a matrix for each program of a batch.
    """
    if leading and isinstance(value, (list, tuple)) and any(map(sp.issparse, value)):
        parts: list[np.ndarray] = []
        for i, part in enumerate(value):
            parts.append(as_dense(f"{name}[{i}]", part, parts[0].shape if parts else shape, why))  # type: ignore[arg-type]
        return np.stack(parts)
    matrix = _as_float(name, _full(name, value) if sp.issparse(value) else value)
    if matrix.ndim == 1 and leading and shape[0] is None:
        matrix = matrix.reshape(1, -1)  # `as_csc` also reads a vector as one row.
    if matrix.ndim != 2 and not (leading and matrix.ndim == 3):
        wanted = "a matrix, or one for each program" if leading else "a matrix"
        raise ProgramError(f"{name} must be {wanted}, but an array of shape {matrix.shape} came")
    _check_shape(name, matrix.shape, shape, why)
    check_finite(name, matrix)
    return matrix


def as_csc(name: str, value: Any, shape: tuple[int | None, int | None] = (None, None), why: str = "") -> sp.csc_array:
    """Return `value` as a new canonical CSC array: finite float64 entries, duplicates summed, int64 indices."""
    if isinstance(value, CSC):
        came = value.shape
        parts = _canonical_parts(value, came[1], came[0])
        if parts is not None:
            _check_shape(name, came, shape, why)
            return csc(*parts, came)
    if sp.issparse(value):
        matrix = read_again(name, value).tocsc()
        matrix.sum_duplicates()
        matrix.indices, matrix.indptr = np.asarray(matrix.indices, INT), np.asarray(matrix.indptr, INT)
    else:
        dense = _as_float(name, value)
        if dense.ndim == 1:
            dense = dense.reshape(1, -1)
        if dense.ndim != 2:
            raise ProgramError(f"{name} must be a matrix, but an array of shape {dense.shape} came")
        matrix = csc_of_dense(dense)
    _check_shape(name, matrix.shape, shape, why)
    if not all_finite(matrix.data):
        k = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
        j = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        raise ProgramError(f"{name} must be finite, but {name}[{matrix.indices[k]}, {j}] is {matrix.data[k]}")
    return matrix


def read_again(name: str, matrix: Any) -> Any:
    """Copy a sparse matrix into a two-dimensional float64 CSC, CSR or COO array of scipy.

    Raises ProgramError if its parts do not fit together: scipy's constructors accept such, its C++ code crashes on it.
    """
    if matrix.format not in READERS or len(matrix.shape) > 2:
        raise ProgramError(f"{name} must be a matrix, but a {matrix.format} array of shape {matrix.shape} came")
    return READERS[matrix.format](name, matrix)


def as_csr(name: str, value: Any) -> sp.csr_array:
    """Return a sparse matrix as canonical float64 CSR, NaN and infinity allowed; share arrays that are canonical."""
    if isinstance(value, CSR) and value.ndim == 2:
        parts = compressed_parts(value, value.shape[0])
        if parts is not None and is_canonical(value.shape[1], parts[1], parts[2], parts[0]):
            return sp.csr_array((value.data, value.indices, value.indptr), shape=value.shape)
    matrix = read_again(name, value).tocsr()
    matrix.sum_duplicates()
    return matrix


def compressed_parts(matrix: Any, lines: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (data, indptr, indices) of a CSC or CSR matrix for kernels, or None if their types do not fit."""
    data, indptr, indices = matrix.data, matrix.indptr, matrix.indices
    if not type(data) is type(indptr) is type(indices) is np.ndarray or data.dtype != FLOAT:
        return None
    if not (data.strides == indptr.strides == indices.strides == (8,) and indptr.dtype is indices.dtype is INT):
        if not data.ndim == indptr.ndim == indices.ndim == 1 or not {indptr.dtype.kind, indices.dtype.kind} <= {*"iu"}:
            return None
        data, indptr, indices = np.ascontiguousarray(data), indptr.astype(INT), indices.astype(INT)
    return (data, indptr, indices) if indptr.size == lines + 1 else None


def _canonical_parts(matrix: Any, lines: int, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Copy (data, indices, indptr) of a CSC or CSR matrix; return None unless it is canonical, float64 and finite."""
    parts = compressed_parts(matrix, lines)
    if parts is None:
        return None
    data, indptr, indices = parts[0].astype(FLOAT), parts[1].copy(), parts[2].copy()
    return (data, indices, indptr) if is_canonical(length, indptr, indices, data) else None


def _rows_and_columns(matrix: Any) -> tuple[int, int]:
    """Return the shape of a sparse matrix; a sparse vector counts as one row."""
    return matrix.shape if len(matrix.shape) == 2 else (1, *matrix.shape)


def _refuse_sparse(name: str, why: str) -> None:
    raise ProgramError(f"{name} must be a valid sparse matrix: {why}")


def _read_compressed(name: str, matrix: Any) -> Any:
    """Read a CSC, CSR or BSR matrix; entries beyond indptr[-1] are ignored."""
    n_rows, n_columns = shape = _rows_and_columns(matrix)
    data = _numbers(name, matrix.data, 3 if matrix.format == "bsr" else 1)
    height, width = data.shape[1:] if matrix.format == "bsr" else (1, 1)
    if height < 1 or width < 1 or n_rows % height or n_columns % width:
        _refuse_sparse(name, f"its blocks of shape ({height}, {width}) must divide its shape {shape}")
    lines, length = (n_columns, n_rows) if matrix.format == "csc" else (n_rows // height, n_columns // width)
    indices, indptr = _array(name, "indices", matrix.indices), _array(name, "indptr", matrix.indptr)
    size = min(indices.size, len(data))
    indptr = _indices(name, "indptr", indptr, size + 1)
    if indptr.shape != (lines + 1,) or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        _refuse_sparse(
            name, f"its indptr must rise from 0 to at most {size}, the number of its entries, in {lines} steps"
        )
    data, indices = data[: indptr[-1]], _indices(name, "indices", indices[: indptr[-1]], length)
    if matrix.format == "bsr":
        return sp.bsr_array((data, indices, indptr), shape=shape).tocoo()
    return (sp.csc_array if matrix.format == "csc" else sp.csr_array)((data, indices, indptr), shape=shape)


def _read_coordinates(name: str, matrix: Any) -> Any:
    """Read a COO matrix or vector, in versions of scipy with and without the attribute `coords`."""
    places = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    return _placed(name, matrix, matrix.data, tuple(places))


def _read_diagonals(name: str, matrix: Any) -> Any:
    """Read a DIA matrix; diagonals may reach beyond the matrix, and zeros are not stored."""
    offsets, data = _array(name, "offsets", matrix.offsets), _numbers(name, matrix.data, 2)
    _check_integers(name, "offsets", offsets)
    if len(data) != offsets.size or np.unique(offsets).size != offsets.size:
        _refuse_sparse(name, f"its offsets must be {len(data)} different ones, one for each diagonal in its data")
    n_rows, n_columns = matrix.shape
    columns = np.arange(min(n_columns, data.shape[1]))
    below = [min(offset, n_columns) for offset in offsets.tolist()]  # unsigned offsets may not fit into int64
    rows = columns - np.array(below, INT)[:, None]
    diagonals, places = np.nonzero((rows >= 0) & (rows < n_rows) & (data[:, : columns.size] != 0))
    return sp.coo_array((data[diagonals, places], (rows[diagonals, places], places)), shape=matrix.shape)


def _read_lists(name: str, matrix: Any) -> Any:
    """Read a LIL matrix."""
    sizes = []
    for part in (matrix.rows, matrix.data):
        lists = isinstance(part, np.ndarray) and part.shape == matrix.shape[:1] and part.dtype == object
        if not lists or not all(isinstance(row, list) for row in part):
            _refuse_sparse(name, f"its rows and its data must each hold {matrix.shape[0]} lists, one for each row")
        sizes.append([len(row) for row in part])
    if sizes[0] != sizes[1]:
        _refuse_sparse(name, "the lists of its rows and those of its data must have the same lengths")
    columns, values = (list(itertools.chain.from_iterable(part)) for part in (matrix.rows, matrix.data))
    return _placed(name, matrix, values, (np.repeat(np.arange(matrix.shape[0]), sizes[0]), columns))


def _read_keys(name: str, matrix: Any) -> Any:
    """Read a DOK matrix or vector; the key of a vector's entry is a number, or a tuple of one."""
    keys, dimensions = list(matrix.keys()), len(matrix.shape)
    if dimensions == 1:
        keys = [key if isinstance(key, tuple) else (key,) for key in keys]
    if not all(isinstance(key, tuple) and len(key) == dimensions for key in keys):
        _refuse_sparse(name, f"its keys must be tuples of {dimensions} integers")
    return _placed(name, matrix, list(matrix.values()), tuple(zip(*keys)) if keys else ((),) * dimensions)


READERS: dict[str, Callable[[str, Any], Any]] = {
    "csc": _read_compressed, "csr": _read_compressed, "bsr": _read_compressed, "coo": _read_coordinates,
    "dia": _read_diagonals, "lil": _read_lists, "dok": _read_keys,
}  # fmt: skip
"""Function that reads each sparse format of scipy, by the name of the format."""


def _placed(name: str, matrix: Any, values: Any, places: tuple[Any, ...]) -> sp.coo_array:
    """Return the COO matrix of values and their indices along each axis; a vector becomes a row."""
    data, arrays = _numbers(name, values), [_array(name, "indices", along) for along in places]
    if len(arrays) != len(matrix.shape) or any(along.size != data.size for along in arrays):
        _refuse_sparse(name, f"each of its {data.size} entries must have {len(matrix.shape)} indices")
    checked = [_indices(name, "indices", along, length) for along, length in zip(arrays, matrix.shape)]
    rows = checked[0] if len(checked) == 2 else np.zeros(data.size, INT)
    return sp.coo_array((data, (rows, checked[-1])), shape=_rows_and_columns(matrix))


def _numbers(name: str, part: Any, dimensions: int = 1) -> np.ndarray:
    data = _array(name, "data", part, dimensions)
    if data.dtype.kind not in "fiub":
        raise ProgramError(f"{name} must be real, but its entries are of type {data.dtype}")
    return data.astype(np.float64)  # a copy, as the caller may change the original later


def _array(name: str, what: str, part: Any, dimensions: int = 1) -> np.ndarray:
    """Return a part of a sparse matrix as an array of `dimensions` axes; an empty list becomes integers."""
    _refuse_masked(name, part)
    try:
        array = np.asarray(part, dtype=INT if isinstance(part, (list, tuple)) and not part else None)
    except ValueError:  # The lists have different lengths.
        array = np.empty(0, dtype=object)
    if array.ndim != dimensions or (array.dtype == object and array.size == 0):
        _refuse_sparse(name, f"its {what} must be an array of {dimensions} dimensions")
    return array


def _check_integers(name: str, what: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "iu":
        _refuse_sparse(name, f"its {what} must be integers, but entries of type {array.dtype} came")


def _indices(name: str, what: str, indices: np.ndarray, length: int) -> np.ndarray:
    """Return indices as int64; raise ProgramError unless all lie in 0 <= i < `length`."""
    _check_integers(name, what, indices)
    bad = np.flatnonzero((indices < 0) | (indices >= length))
    if bad.size:
        _refuse_sparse(name, f"its {what} must lie in 0 to {length - 1}, but {indices[bad[0]]} came")
    return indices.astype(np.int64)


def _full(name: str, matrix: Any) -> np.ndarray:
    check_memory(8.0 * math.prod(matrix.shape), f"{name} in full, of shape {matrix.shape},")
    return np.asarray(read_again(name, matrix).toarray()).reshape(matrix.shape)


def as_number(name: str, value: Any) -> float:
    """Return `value` as a finite float."""
    if type(value) is float and math.isfinite(value):
        return value
    number = _as_float(name, value)
    if number.ndim != 0 or not np.isfinite(number):
        raise ProgramError(f"{name} must be a finite number, but {value!r} came")
    return float(number)


def check_finite(name: str, array: np.ndarray) -> None:
    """Raise ProgramError if an entry is NaN or infinite; the message names the first one."""
    plain = array.ndim == 1 and array.dtype is FLOAT and array.flags.c_contiguous
    if not all_finite(array if plain else np.ascontiguousarray(array, np.float64).ravel()):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        index = ", ".join(map(str, where))
        raise ProgramError(f"{name} must be finite, but {name}[{index}] is {array[where]}")


def check_no_nan(name: str, array: np.ndarray) -> None:
    """Raise ProgramError if an entry is NaN; the message names the first one."""
    bad = np.isnan(array)
    if bad.any():
        index = ", ".join(map(str, np.argwhere(bad)[0].tolist()))
        raise ProgramError(f"{name} must not be NaN, but {name}[{index}] is nan")


@kernel
def all_finite(values: Floats) -> bool:
    """Return True if no entry is NaN or infinite."""
    return norm_within(values, 0, values.size) < np.inf


@kernel
def next_asymmetric(P: Matrix, n: int, first: int) -> int:
    """Return the first i >= `first` for which matrix i of order n, row i of P, is not equal to its transpose, or -1.

    The matrices are read in square blocks that fit the cache.
    """
    block = 32
    for p in range(first, P.shape[0]):
        M, is_same = P[p], True
        for row in range(0, n, block):
            for column in range(row, n, block):
                for i in range(row, min(row + block, n)):
                    for j in range(max(column, i + 1), min(column + block, n)):
                        is_same = is_same and M[i * n + j] == M[j * n + i]
        if not is_same:
            return p
    return -1


@deferred_kernel
def asymmetry(P: Matrix, found: Floats) -> float:
    """Return d = max |P_ij - P_ji| and set found = (i, j, d, max |P_ij|), where d is attained at (i, j).

    `found` must be zeros at first.  P is read in square blocks that fit the cache.
    """
    n, block = P.shape[0], 64
    for first in range(0, n, block):
        for second in range(first, n, block):
            for i in range(first, min(first + block, n)):
                for j in range(second, min(second + block, n)):
                    difference = abs(P[i, j] - P[j, i])
                    if difference > found[2]:
                        found[0], found[1], found[2] = i, j, difference
                    found[3] = max(found[3], abs(P[i, j]), abs(P[j, i]))
    return found[2]


def eps_of(matrix: Any) -> float:
    """Return the machine epsilon of the type of a matrix: float32 and float16 have their own, others that of float64.

    Examples
    --------
    >>> eps_of(np.eye(2, dtype=np.float32)) / EPS, eps_of([[1, 0], [0, 1]]) / EPS
    (536870912.0, 1.0)
    """
    kind = getattr(matrix, "dtype", None)
    if kind is FLOAT:
        return EPS
    if not isinstance(kind, np.dtype):
        kind = np.asarray(matrix).dtype
    return float(np.finfo(kind).eps) if kind.kind == "f" and kind.itemsize < FLOAT.itemsize else EPS


@leaf
def rounding(n: int, eps: float) -> float:
    """Return the share of its size that rounding may change an eigenvalue of a matrix of order `n`, given with `eps`.

    Covariances and matrices of kernels, products F D F' and projections, of up to 10^6 terms, need at most half of it.
    """
    return min((64.0 + 8.0 * n) * eps, 2.0 * math.sqrt(eps))


def as_symmetric(name: str, P: Any, eps: float = EPS) -> Any:
    """Return P if it is symmetric to the bit, else 1/2 (P + P') with no stored entry lost.

    Raises ProgramError if the largest |P_ij - P_ji| is above 1e-10 and the `rounding` of the type in which P came, as a
    share of the largest |P_ij|.
    """
    if sp.issparse(P):
        difference, size, worst = (P - P.T).tocoo(), np.abs(P.data).max(initial=0.0), 0.0
        if difference.nnz:
            k = np.abs(difference.data).argmax()
            i, j, worst = difference.row[k], difference.col[k], abs(difference.data[k])
    else:
        full, found = np.ascontiguousarray(P, FLOAT), np.zeros(4)
        if next_asymmetric(full.reshape(1, -1), len(full), 0) < 0:
            return P
        asymmetry(full, found)
        (i, j), (worst, size) = found[:2].astype(int), found[2:]
    if worst == 0.0:
        return P
    coo = sp.coo_array(P)
    if worst > max(ASYMMETRY, rounding(P.shape[0], eps)) * size:
        is_triangle = (coo.row <= coo.col).all() or (coo.row >= coo.col).all()
        hint = "it is triangular: give the full matrix, for instance T + T.T - diag(T)"
        raise ProgramError(
            f"{name} must be symmetric, but {name}[{i}, {j}] and {name}[{j}, {i}] differ by {worst:g} "
            f"(largest entry {size:g}); {hint if is_triangle else 'give (P + P.T) / 2'}"
        )
    if not sp.issparse(P):
        return 0.5 * (P + P.T)
    places = np.concatenate([coo.row, coo.col]), np.concatenate([coo.col, coo.row])
    return as_csc("P", sp.coo_array((np.tile(0.5 * coo.data, 2), places), shape=P.shape))


@deferred_kernel
def is_canonical(rows: int, indptr: Ints, indices: Ints, data: Floats) -> bool:
    """Return True if a CSC matrix has finite entries and ascending indices in range in each column."""
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


@deferred_kernel
def is_symmetric(indptr: Ints, indices: Ints, data: Floats, next_entry: Ints) -> bool:
    """Return True if a canonical CSC matrix is symmetric to the bit; False may also mean unsorted indices.

    `next_entry` is a work array with one entry per column.
    """
    n = indptr.size - 1
    for j in range(n):
        next_entry[j] = indptr[j]
    for j in range(n):  # Entries (i, j) of row i occur in ascending j, as do entries (j, i) of column i.
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            mirrored = next_entry[i]
            if mirrored == indptr[i + 1] or indices[mirrored] != j or data[mirrored] != data[k]:
                return False
            next_entry[i] += 1
    return True


def _as_float(name: str, value: Any) -> np.ndarray:
    if type(value) is np.ndarray and value.dtype == FLOAT:
        return value.astype(FLOAT, order="C")  # sets dtype to the object FLOAT: dtypes from files only equal it
    _refuse_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise ProgramError(f"{name} must be real, but its entries are complex")
        if array.dtype.kind not in "fiubO" or (array.dtype == object and any(map(_is_text, array.flat))):
            raise TypeError
        return np.array(array, dtype=np.float64, order="C")
    except ProgramError:
        raise
    except (TypeError, ValueError, OverflowError):
        what = repr(value) if _is_text(value) else f"a {type(value).__name__} of something else"
        raise ProgramError(f"{name} must be an array of numbers, but {what} came") from None


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, bytes))


def _refuse_masked(name: str, value: Any) -> None:
    """Raise ProgramError if entries are masked, also in nested lists, where NumPy ignores the mask."""
    if isinstance(value, (list, tuple)):
        for part in value:
            if isinstance(part, (list, tuple, np.ma.MaskedArray)):
                _refuse_masked(name, part)
    elif np.ma.is_masked(value):
        raise ProgramError(f"{name} must be an array of numbers, but some of its entries are masked")


def _check_shape(name: str, came: tuple[int, ...], expected: tuple[int | None, int | None], why: str) -> None:
    rows, columns = expected
    if (rows is not None and rows != came[-2]) or (columns is not None and columns != came[-1]):
        shape = ", ".join("any" if e is None else str(e) for e in expected)
        raise ProgramError(f"{name} must have shape ({shape}){why}, but {came} came")
