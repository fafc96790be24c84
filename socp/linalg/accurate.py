"""Sums of products in twice the working precision.

A number is a pair (value, low), where low is the sum of the rounding errors made on the way to value (Ogita, Rump and
Oishi 2005, `Dot2`): value + low is as accurate as a result computed with 106 bits and then rounded.  All kernels add
to a given pair.  Where an error is not finite, as beyond 1e300, `rounded` returns the value alone.
"""

from __future__ import annotations

import math

from numba.core import types
from numba.extending import intrinsic

from ..compiled.kernels import INTERPRETED, kernel, leaf
from ..compiled.signatures import Floats, Ints, Matrix


@intrinsic
def _is_fused(typing_context):  # type: ignore[no-untyped-def]
    """Return True if the target processor has a fused multiply-add; decided when the kernel is compiled.

    The source of a kernel is equal on all processors, so that the compiled kernels of a wheel are found.
    """

    def constant(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        triple, processor, features = context.codegen().magic_tuple()
        fused = "+fma" in features.split(",") or processor in ("x86-64-v3", "x86-64-v4")
        return context.get_constant(types.boolean, fused or triple.startswith(("aarch64", "arm64")))

    return types.boolean(), constant


@intrinsic
def _fma(typing_context, a, b, c):  # type: ignore[no-untyped-def]
    """Return a b + c with one rounding."""
    return types.float64(
        types.float64, types.float64, types.float64
    ), lambda context, builder, signature, arguments: builder.fma(*arguments)


if INTERPRETED:

    def _is_fused() -> bool:  # type: ignore[no-redef, misc]
        """Return False: Python multiplies and adds in two steps."""
        return False


@leaf
def product_error(a: float, b: float, product: float) -> float:
    """Return a b - product exactly, for the rounded product: by a fused multiply-add, or by halves (Dekker 1971)."""
    if _is_fused():  # type: ignore[call-arg]
        return _fma(a, b, -product)  # type: ignore[call-arg, no-any-return]
    far_a, far_b = 134217729.0 * a, 134217729.0 * b  # The factor 2^27 + 1 splits 53 bits into halves.
    high_a, high_b = far_a - (far_a - a), far_b - (far_b - b)
    low_a, low_b = a - high_a, b - high_b
    return low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


@leaf
def sum_error(a: float, b: float, total: float) -> float:
    """Return a + b - total exactly, where `total` is the rounded sum (Knuth)."""
    part = total - a
    return (a - (total - part)) + (b - part)


@leaf
def add_product(a: float, b: float, total: float, low: float) -> tuple[float, float]:
    """Return (total, low) + a b as a pair of value and error."""
    term = a * b
    raised = total + term
    return raised, low + (product_error(a, b, term) + sum_error(total, term, raised))


@leaf
def rounded(value: float, low: float) -> float:
    """Return value + low, or value alone if low is not finite."""
    return value + low if math.isfinite(low) else value


@kernel
def add_both(
    indptr: Ints, indices: Ints, data: Floats, x: Floats, v: Floats, rows: Floats, columns: Floats
) -> None:  # fmt: skip
    """Compute rows += M x and columns += M'v in one pass over M; each array holds all values, then all errors."""
    m, n = v.size, indptr.size - 1
    Mx, Mx_low, Mtv, Mtv_low = rows[:m], rows[m : 2 * m], columns[:n], columns[n:]
    for j in range(n):
        xj, total, low = x[j], Mtv[j], Mtv_low[j]
        for k in range(indptr[j], indptr[j + 1]):
            row, a = indices[k], data[k]
            total, low = add_product(a, v[row], total, low)
            Mx[row], Mx_low[row] = add_product(a, xj, Mx[row], Mx_low[row])
        Mtv[j], Mtv_low[j] = total, low


@kernel
def add_rows(M: Matrix, x: Floats, out: Floats, low: Floats) -> None:
    """Compute (out, low) += M'x for a dense, finite M stored by rows; the inner loop vectorizes."""
    count = M.shape[1]
    for j in range(M.shape[0]):
        row, xj = M[j], x[j]
        if xj != 0.0:
            for i in range(count):
                out[i], low[i] = add_product(row[i], xj, out[i], low[i])
