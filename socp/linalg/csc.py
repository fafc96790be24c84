"""Sparse kernels on the flat arrays of a CSC matrix (indptr, indices, data), int64 and float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import deferred_kernel, kernel
from ..compiled.signatures import Bools, Floats, Ints, Matrix

_EMPTY = sp.csc_array((1, 1))
_MAXPRINT = _EMPTY.maxprint


def csc(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> sp.csc_array:
    """Return a CSC array of consistent parts without the checks of scipy's constructor, which take 20 us."""
    matrix = object.__new__(sp.csc_array)
    matrix.__dict__ = {"_shape": shape, "maxprint": _MAXPRINT, "data": data, "indices": indices, "indptr": indptr}
    return matrix


def same_places(A: sp.csc_array, B: sp.csc_array) -> bool:
    """Return True if two canonical matrices of one shape have equal patterns."""
    pairs = (A.indptr, B.indptr), (A.indices, B.indices)
    return all(one is other or np.array_equal(one, other) for one, other in pairs)


def same_storage(one: Any, other: Any) -> bool:
    """Return True if two matrices are of one type and shape, with equal patterns if they are sparse."""
    if one is other:
        return True
    if type(one) is not type(other) or one.shape != other.shape:
        return False
    return not sp.issparse(one) or same_places(one, other)


def _checked_csc(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> sp.csc_array:
    return sp.csc_array((data, indices, indptr), shape=shape)


if vars(_EMPTY).keys() != {"_shape", "maxprint", "data", "indices", "indptr"}:  # an unknown version of scipy
    csc = _checked_csc


def csc_of_dense(array: np.ndarray) -> sp.csc_array:
    """Return the nonzero entries of a C-contiguous float64 array as a CSC array."""
    size = int(np.count_nonzero(array))
    data, indices, indptr = np.empty(size), np.empty(size, np.int64), np.empty(array.shape[1] + 1, np.int64)
    compress(array, indptr, indices, data)
    return csc(data, indices, indptr, array.shape)


@kernel
def compress(array: Matrix, indptr: Ints, indices: Ints, data: Floats) -> None:
    """Write the nonzero entries of a dense array to the preallocated CSC arrays (indptr, indices, data)."""
    for j in range(array.shape[1] + 1):
        indptr[j] = 0
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            if array[i, j] != 0.0:
                indptr[j + 1] += 1
    for j in range(array.shape[1]):
        indptr[j + 1] += indptr[j]
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            if array[i, j] != 0.0:
                indices[indptr[j]] = i
                data[indptr[j]] = array[i, j]
                indptr[j] += 1
    for j in range(array.shape[1], 0, -1):
        indptr[j] = indptr[j - 1]
    indptr[0] = 0


@kernel
def transpose(n_rows: int, indptr: Ints, indices: Ints, t_indptr: Ints, t_indices: Ints, source: Ints) -> None:
    """Compute the pattern of M' in CSC with sorted indices; entry k of M' is entry source[k] of M."""
    for i in range(n_rows + 1):
        t_indptr[i] = 0
    for i in indices:
        t_indptr[i + 1] += 1
    for i in range(n_rows):
        t_indptr[i + 1] += t_indptr[i]
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            row = indices[k]
            at = t_indptr[row]
            t_indices[at], source[at] = j, k
            t_indptr[row] = at + 1
    for i in range(n_rows, 0, -1):
        t_indptr[i] = t_indptr[i - 1]
    t_indptr[0] = 0


@kernel
def multiply_both(indptr: Ints, indices: Ints, data: Floats, x: Floats, v: Floats, Mx: Floats, Mtv: Floats) -> None:
    """Mx := M x and Mtv := M'v in one pass over M."""
    for i in range(Mx.size):
        Mx[i] = 0.0
    for j in range(indptr.size - 1):
        total = 0.0
        xj = x[j]
        for k in range(indptr[j], indptr[j + 1]):
            row = indices[k]
            total += data[k] * v[row]
            Mx[row] += data[k] * xj
        Mtv[j] = total


@kernel
def multiply(indptr: Ints, indices: Ints, data: Floats, x: Floats, out: Floats) -> None:
    """out := M x."""
    for i in range(out.size):
        out[i] = 0.0
    for j in range(indptr.size - 1):
        xj = x[j]
        for k in range(indptr[j], indptr[j + 1]):
            out[indices[k]] += data[k] * xj


@kernel
def multiply_transposed(indptr: Ints, indices: Ints, data: Floats, x: Floats, out: Floats) -> None:
    """out := M'x, which is M x for a symmetric M whose entries are all stored."""
    for j in range(indptr.size - 1):
        total = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            total += data[k] * x[indices[k]]
        out[j] = total


@kernel
def scaled_norms(
    indptr: Ints, indices: Ints, data: Floats, left: Floats, right: Floats, row_norms: Floats, column_norms: Floats
) -> None:  # fmt: skip
    """Raise `row_norms` and `column_norms` to the infinity norms of diag(left) M diag(right) where these are larger."""
    for j in range(indptr.size - 1):
        largest, scale = column_norms[j], right[j]
        for k in range(indptr[j], indptr[j + 1]):
            i = indices[k]
            size = abs(data[k]) * left[i] * scale
            largest = max(largest, size)
            row_norms[i] = max(row_norms[i], size)
        column_norms[j] = largest


@kernel
def scale(
    indptr: Ints, indices: Ints, data: Floats, left: Floats, right: Floats, factor: float, out: Floats
) -> None:  # fmt: skip
    """Write to `out` the entries of factor diag(left) M diag(right), in the pattern of M."""
    for j in range(indptr.size - 1):
        scale = right[j]
        for k in range(indptr[j], indptr[j + 1]):
            out[k] = factor * left[indices[k]] * data[k] * scale


@kernel
def have_entries(indptr: Ints, indices: Ints, data: Floats, rows: Bools, columns: Ints, found: Bools) -> None:
    """Set found[i] to True if column columns[i] has a nonzero entry in a marked row; an empty `rows` marks all rows."""
    for at in range(columns.size):
        j, found[at] = columns[at], False
        for k in range(indptr[j], indptr[j + 1]):
            found[at] |= data[k] != 0.0 and (rows.size == 0 or rows[indices[k]])


@deferred_kernel
def append_upper(
    indptr: Ints, indices: Ints, data: Floats, diagonal: Floats, first: int, upper_indptr: Ints, upper_indices: Ints,
    upper_data: Floats,
) -> None:  # fmt: skip
    """Append columns first, first + 1, ... to an upper triangle: the upper part of M, with `diagonal` added.

    Each appended column ends with its diagonal entry, stored even if zero.  The row indices of M ascend in each column.
    """
    end = upper_indptr[first] if first > 0 else 0
    for i in range(diagonal.size):
        j, value = first + i, diagonal[i]
        upper_indptr[j] = end
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] < j:
                upper_indices[end], upper_data[end] = indices[k], data[k]
                end += 1
            elif indices[k] == j:
                value += data[k]
        upper_indices[end], upper_data[end] = j, value
        end += 1
    upper_indptr[first + diagonal.size] = end
