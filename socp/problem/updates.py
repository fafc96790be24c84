"""New matrices of a program: a matrix, or values in the places of the old one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.csc import csc, csc_of_dense
from .checks import (
    INT,
    ProgramError,
    as_csc,
    as_dense,
    as_symmetric,
    as_vector,
    check_finite,
    eps_of,
    is_symmetric,
)
from .hessian import Hessian, WithHessian, hessian_data


def with_values(name: str, old: sp.csc_array, data: Any) -> sp.csc_array:
    """Return A or G (called `name`) with new values of the entries of `old`, or as the matrix `data`."""
    label = f"{name}_data"
    if _is_matrix(data, old.shape):
        return _in_old_places(as_csc(label, data, old.shape, f" (the shape of {name})"), old, data)
    return csc(_values(name, label, data, old.indices.size, old.shape), old.indices, old.indptr, old.shape)


def with_hessian(program: WithHessian, data: Any) -> dict[str, Any]:
    """Return the attributes of `program` (see `hessian_data`) with another P, given as `P_data`.

    An array replaces an array, of however many nonzero entries, as the set-up depends on the storage.
    """
    old, n, name = program.P, program.n, "P_data"
    if not _is_matrix(data, (n, n)):
        return _with_entries(program, data)
    if isinstance(old, np.ndarray) and not (sp.issparse(data) or isinstance(data, Hessian)):
        eps = eps_of(data)
        P = as_symmetric(name, as_dense(name, data, (n, n), f" ({n} variables in the program)"), eps)
        return {"P": P, "P_eps": eps, "P_places": None}
    found = hessian_data(name, data, n, "the program")
    if sp.issparse(found["P"]) and sp.issparse(old):
        found["P"] = _in_old_places(found["P"], old, data)
    return found


def _with_entries(program: WithHessian, data: Any) -> dict[str, Any]:
    """Return the attributes of `program` with new values of the entries of P."""
    old, eps = program.P, eps_of(data)
    if old is None:
        raise ProgramError("P_data came, but the program has no P: give a matrix")
    if isinstance(old, Hessian):
        raise ProgramError(f"P_data does not go with a {type(old).__name__} P unless it is a matrix")
    indptr, indices = program.P_places or ((old.indptr, old.indices) if sp.issparse(old) else _nonzeros(old))
    new = csc(_values("P", "P_data", data, indices.size, old.shape), indices, indptr, old.shape)
    if not sp.issparse(old):
        P = as_symmetric("P", np.ascontiguousarray(new.toarray()), eps)
        return {"P": P, "P_eps": eps, "P_places": (indptr, indices)}
    if not is_symmetric(indptr, indices, new.data, np.empty(program.n, INT)):
        new = as_symmetric("P", new, eps)
    return {"P": new, "P_eps": eps, "P_places": None}


def _is_matrix(data: Any, shape: tuple[int, int]) -> bool:
    """Return True if `data` is to be read as a matrix of this shape, and not as a vector, a row or a column."""
    if isinstance(data, Hessian):
        return True
    try:
        came = np.shape(data)
    except ValueError:  # Rows have different lengths.
        return False
    return len(came) == 2 and (came == shape or 1 not in came)


def _values(name: str, label: str, data: Any, size: int, shape: tuple[int, int]) -> np.ndarray:
    values = as_vector(label, data, size, f" (the entries of {name}; or be a matrix of shape {shape})")
    check_finite(label, values)
    return values


def _nonzeros(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = csc_of_dense(array)
    return found.indptr, found.indices


def _in_old_places(new: sp.csc_array, old: sp.csc_array, given: Any) -> sp.csc_array:
    """Return a matrix in the places of the old one if it was given as an array without entries elsewhere."""
    if sp.issparse(given):
        return new
    columns = np.repeat(np.arange(old.shape[1]), np.diff(old.indptr))
    values = np.asarray(given, np.float64).reshape(old.shape)[old.indices, columns]
    if np.count_nonzero(values) < new.data.size:
        return new
    return csc(values, old.indices, old.indptr, old.shape)
