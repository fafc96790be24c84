"""Distances of vectors from the product of the cones, and from bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compiled.kernels import inner, kernel, leaf
from ..compiled.signatures import Bools, Floats, Ints
from ..linalg.accurate import add_product, rounded
from ..linalg.vectors import NO_VALUES, norm_tail

NEAR = math.sqrt(np.finfo(np.float64).eps)  # d / ||v_1|| up to which one Newton step is exact to rounding
SQUARES_FROM = math.sqrt(np.finfo(np.float64).tiny) / np.finfo(np.float64).eps  # least norm with accurate squares
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # (row, column, value) of entries of a matrix
NO_CONES = np.zeros(1, np.int64)  # boundaries of an empty product of cones


@leaf
def beyond(value: float, lost: Floats, i: int) -> float:
    """Return |value|, or 0 if |value| <= lost[i]; an empty `lost` stands for zeros."""
    return 0.0 if lost.size > 0 and abs(value) <= lost[i] else abs(value)


def cone_violation(layout: tuple[np.ndarray, np.ndarray], v: np.ndarray, low: np.ndarray = NO_VALUES) -> float:
    """Return the distance of v from the cones of `layout` in the infinity norm; `low` is the errors of v, or empty."""
    found = np.zeros(2)
    distance_from_cones(*layout, v, low, NO_VALUES, NO_VALUES, found)
    return float(found[0])


@kernel
def distance_from_cones(
    start: Ints, second_order: Bools, v: Floats, low: Floats, lost: Floats, scale: Floats, found: Floats
) -> None:  # fmt: skip
    """Raise found[0] and found[1] to the distance of v from the product of the cones, absolute and relative to `scale`.

    Cone k has the entries v[start[k]:start[k + 1]]; distances are infinity norms.  A distance counts only if it exceeds
    `lost`, of an entry of the orthant or the largest of a cone; an empty `lost` is 0.  `low` is the errors of v, or
    empty; an empty scale is 1.
    """
    for k in range(second_order.size):
        if second_order[k]:
            if start[k + 1] > start[k]:
                distance, allowed = cone_distance(v, low, start[k], start[k + 1]), 0.0
                for i in range(start[k], min(start[k + 1], lost.size)):
                    allowed = max(allowed, lost[i])
                if distance > allowed:
                    raise_to(distance, start[k], scale, found)
        else:
            for i in range(start[k], start[k + 1]):
                if v[i] < 0.0 and beyond(v[i], lost, i) > 0.0:
                    raise_to(-v[i], i, scale, found)


@leaf
def raise_to(residual: float, i: int, scale: Floats, found: Floats) -> None:
    """found[0] = max(found[0], residual); found[1] = max(found[1], residual / scale[i])."""
    found[0] = max(found[0], residual)
    found[1] = max(found[1], residual / scale[i] if scale.size > 0 else residual)


@inner
def cone_distance(v: Floats, low: Floats, start: int, stop: int) -> float:
    """Return the smallest d >= 0 for which (v_0 + d, max(|v_1| - d, 0)) is in the cone; 0 inside.

    d is the root of  f(d) = ||max(|v_1| - d, 0)|| - v_0 - d,  which is convex and decreasing: Newton's method from 0
    approaches it from the left.  Where d is small, the first step is enough, with f(0) in twice the working precision;
    `low` is the errors of v, or empty.
    """
    tail, d = norm_tail(v, start, stop), 0.0
    excess = tail - v[start]
    if v[start] > 0.0 and SQUARES_FROM < tail + v[start] < 1.0 / SQUARES_FROM:
        # ||v_1|| - v_0 = (||v_1||^2 - v_0^2) / (||v_1|| + v_0), where squares are summed in twice the precision.
        total, error = 0.0, 0.0
        for i in range(start, stop):
            other = -v[i] if i == start else v[i]
            total, error = add_product(other, v[i], total, error)
            if low.size > 0:
                error += 2.0 * other * low[i]
        excess = rounded(total, error) / (tail + v[start])
    if excess <= 0.0:
        return 0.0
    if not excess < np.inf:
        return np.inf
    while True:
        total, slope = 0.0, 0.0
        for i in range(start + 1, stop):
            left = max(abs(v[i]) - d, 0.0)
            total += left * left
            slope += left
        size = math.sqrt(total)
        step = (excess if d == 0.0 else size - v[start] - d) / (1.0 + (slope / size if size > 0.0 else 0.0))
        if not d + step > d:
            return d
        d += step
        if d <= NEAR * tail:
            return d


def hold_to_bounds(program: Any, x: np.ndarray, s: np.ndarray) -> float:
    """Move x to the bounds a x_j <= h_i that it violates, set their slacks in s, and return the largest violation."""
    i, j, a = program.bounds()
    return hold(i, j, a, program.h, x, s)


@kernel
def hold(row: Ints, variable: Ints, a: Floats, h: Floats, x: Floats, s: Floats) -> float:
    """Run `hold_to_bounds` on arrays: the upper bounds first, then the lower ones, which prevail."""
    missed = 0.0
    for sign in (1.0, -1.0):
        for k in range(row.size):
            over = a[k] * x[variable[k]] - h[row[k]]
            if sign * a[k] > 0.0 and over > missed:
                missed = over
        for k in range(row.size):
            j = variable[k]
            if sign * a[k] > 0.0 and a[k] * x[j] > h[row[k]]:
                x[j] = h[row[k]] / a[k]
    for k in range(row.size):
        s[row[k]] = max(h[row[k]] - a[k] * x[variable[k]], 0.0)
    return missed


def single_entries(matrix: sp.csc_array, layout: tuple[np.ndarray, np.ndarray]) -> Entries:
    """Return (rows, columns, values) of the nonzero entries that are alone in a row of the orthant."""
    is_bound = bounds_among(matrix, layout) == 1.0
    where = np.flatnonzero(is_bound[matrix.indices] & (matrix.data != 0.0)) if is_bound.any() else NO_CONES[:0]
    return matrix.indices[where], np.searchsorted(matrix.indptr, where, side="right") - 1, matrix.data[where]


def bounds_among(
    matrix: sp.csc_array, layout: tuple[np.ndarray, np.ndarray] = (NO_CONES, NO_CONES[:0] > 0)
) -> np.ndarray:
    """Return the number of nonzero entries of each row, 1 for a bound; 0 in a second-order cone of `layout`."""
    found = np.zeros(matrix.shape[0])
    find_bounds(matrix.indices, matrix.data, *layout, found)
    return found


@kernel
def find_bounds(indices: Ints, data: Floats, start: Ints, second_order: Bools, is_bound: Floats) -> None:
    """is_bound[i] := is_bound[i] + the number of nonzero entries of row i, or 0 in rows of second-order cones."""
    for k in range(indices.size):
        is_bound[indices[k]] += 1.0 if data[k] != 0.0 else 0.0
    for k in range(second_order.size):
        if second_order[k]:
            is_bound[start[k] : start[k + 1]] = 0.0


def norm(v: np.ndarray) -> Any:
    """Return the infinity norm of a vector, or of each vector of an array: 0 if empty, NaN if an entry is NaN."""
    return np.abs(v).max(axis=-1, initial=0.0)
