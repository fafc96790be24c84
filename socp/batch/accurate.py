"""Sums in twice the working precision, a sum and its error, and the products of `dense` in it."""

from __future__ import annotations

from typing import Any

from ..compiled.kernels import leaf
from ..compiled.signatures import Floats, Ints, Matrix
from ..compiled.vec import Vec, load, plain_product, plain_sum, product_error, splat, store, sum_error
from .dense import specialized


@leaf
def add_product(a: Vec, b: Vec, total: Vec, error: Vec) -> tuple[Vec, Vec]:
    """The sum with a b added, and its error."""
    term = plain_product(a, b)
    raised = plain_sum(total, term)
    return raised, error + (product_error(a, b, term) + sum_error(total, term, raised))


def _multiply_accurately(m: int, n: int, A: Any, first: Ints, end: Ints, x: Matrix, out: Matrix, low: Matrix) -> None:
    """(out, low)[:m] := A x."""
    for i in range(m):
        total, error = splat(0.0), splat(0.0)
        for j in range(first[i], end[i]):
            total, error = add_product(splat(0.0) + load(A, i * n + j), load(x, j), total, error)
        store(out, i, total)
        store(low, i, error)


def _add_transposed_accurately(
    m: int, n: int, A: Any, first: Ints, end: Ints, y: Matrix, out: Matrix, low: Matrix
) -> None:
    """(out, low) += A'y[:m]."""
    for j in range(n):
        total, error = load(out, j), load(low, j)
        for i in range(first[j], end[j]):
            total, error = add_product(splat(0.0) + load(A, i * n + j), load(y, i), total, error)
        store(out, j, total)
        store(low, j, error)


multiply_accurately_shared = specialized(_multiply_accurately, Floats, "A")
multiply_accurately_own = specialized(_multiply_accurately, Matrix, "A")
add_transposed_accurately_shared = specialized(_add_transposed_accurately, Floats, "A")
add_transposed_accurately_own = specialized(_add_transposed_accurately, Matrix, "A")
