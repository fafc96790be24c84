"""exp and the larger or smaller of two numbers in forms that LLVM vectorizes.

LLVM vectorizes neither numba's `max` in a reduction, which allows for NaN, nor numba's `exp`, a call.  This `exp` is
2^k exp(r) with k the integer next to x / log 2, and |r| <= log(2) / 2 found with log 2 in two parts (Cody and Waite),
so that no digit of r is lost; exp(r) is its Taylor polynomial.  k is read from the last bits of x / log 2 + 1.5 * 2^52,
and goes into the exponent of the result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .kernels import INTERPRETED

# by type: bits, bits of the fraction, `least` x, log 2 as a sum of two numbers, degree of the polynomial
DIGITS = {
    types.float64: (64, 52, -708.0, 0.693147180369123816490, 1.90821492927058770002e-10, 13),
    types.float32: (32, 23, -87.0, 0.693359375, -2.12194440e-4, 7),
}


def _chosen(builder: Any, comparison: str, a: Any, b: Any) -> Any:
    first = builder.fcmp_ordered(comparison, a, b, flags=("nnan", "nsz"))
    return builder.select(first, a, b, flags=("nnan", "nsz"))


def _choice(comparison: str) -> Any:
    @intrinsic
    def choice(typing_context, a, b):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _chosen(builder, comparison, *arguments)

        return a(a, a), generate

    return choice


@intrinsic
def _exponential(typing_context, x):  # type: ignore[no-untyped-def]
    """Return exp(max(x, least)) for x <= 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        (bits, places, least, high, low, degree), (v,) = DIGITS[x], arguments
        kind, word = v.type, ir.IntType(bits)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fmuladd.f{bits}"
        )  # a b + c, rounded once if the processor has a fused instruction
        v = _chosen(builder, ">", v, kind(least))
        shift = kind(1.5 * 2.0**places)
        shifted = builder.call(fused, [v, kind(math.log2(math.e)), shift])
        k = builder.fsub(shifted, shift)
        r = builder.fsub(builder.fsub(v, builder.fmul(k, kind(high))), builder.fmul(k, kind(low)))
        value = kind(1.0 / math.factorial(degree))
        for power in range(degree - 1, -1, -1):
            value = builder.call(fused, [value, r, kind(1.0 / math.factorial(power))])
        power_of_two = builder.shl(builder.bitcast(shifted, word), word(places))
        return builder.bitcast(builder.add(builder.bitcast(value, word), power_of_two), kind)

    return x(x), generate


larger: Any = max if INTERPRETED else _choice(">")
"""Return the larger of two numbers that are not NaN."""
smaller: Any = min if INTERPRETED else _choice("<")  # the smaller of two numbers that are not NaN
exponential: Any = np.exp if INTERPRETED else _exponential
"""Return exp(max(x, least)) for x <= 0, accurate to 2 units in the last place; `DIGITS` has `least`."""
