"""exp of vectors, and what lets LLVM work on several entries of a vector at once.

numba's `max` in a reduction, and its `exp`, take one entry after the other: neither says that there is no NaN, or is
more than a call.  Here exp(x) = 2^k exp(r) with k the whole number next to x / log 2, and |r| <= log(2) / 2 found with
log 2 in two parts (Cody and Waite), so that no digit of r is lost; exp(r) is its Taylor polynomial.  k is read from the
last bits of x / log 2 + 1.5 * 2^52, and goes into the exponent of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .kernels import INTERPRETED, inner
from .signatures import Floats, Singles


def _choice(comparison: str) -> Any:
    @intrinsic
    def choice(typing_context, a, b):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            first = builder.fcmp_ordered(comparison, *arguments, flags=("nnan", "nsz"))
            return builder.select(first, *arguments, flags=("nnan", "nsz"))

        return a(a, a), generate

    return choice


@intrinsic
def _multiply_add(typing_context, a, b, c):  # type: ignore[no-untyped-def]
    """a b + c, rounded once where the processor has that."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = arguments[0].type
        name = "llvm.fmuladd.f64" if a == types.float64 else "llvm.fmuladd.f32"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
        return builder.call(function, arguments)

    return a(a, a, a), generate


@intrinsic
def _times_power(typing_context, value, shifted):  # type: ignore[no-untyped-def]
    """value 2^k, where k is in the last bits of `shifted`."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        width, digits = (64, 52) if value == types.float64 else (32, 23)
        kind = ir.IntType(width)
        power = builder.shl(builder.bitcast(arguments[1], kind), ir.Constant(kind, digits))
        return builder.bitcast(builder.add(builder.bitcast(arguments[0], kind), power), arguments[0].type)

    return value(value, value), generate


larger: Any = max if INTERPRETED else _choice(">")
"""The larger of two numbers that are not NaN."""
smaller: Any = min if INTERPRETED else _choice("<")
multiply_add: Any = _multiply_add
times_power: Any = _times_power

LEAST, PER_LOG, SHIFT = -708.0, 1.4426950408889634, 1.5 * 2.0**52
HIGH, LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # log 2
F3, F4, F5, F6, F7, F8, F9 = 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880
F10, F11, F12, F13 = F9 / 10, F9 / 110, F9 / 1320, F9 / 17160

_single = np.float32
LEAST32, PER_LOG32, SHIFT32 = _single(-87.0), _single(1.44269504), _single(1.5 * 2.0**23)
HIGH32, LOW32 = _single(0.693359375), _single(-2.12194440e-4)
S1, S2, S3, S4, S5, S6, S7 = (_single(v) for v in (1.0, 0.5, F3, F4, F5, F6, F7))


@inner
def exponentials(x: Floats) -> None:
    """x := exp(x) for -708 <= x <= 0 (and what is below as -708), to 2 units of the last place."""
    for i in range(x.size):
        v = larger(x[i], LEAST)
        t = multiply_add(v, PER_LOG, SHIFT)
        k = t - SHIFT
        r = (v - k * HIGH) - k * LOW
        p = multiply_add(F13, r, F12)
        p = multiply_add(p, r, F11)
        p = multiply_add(p, r, F10)
        p = multiply_add(p, r, F9)
        p = multiply_add(p, r, F8)
        p = multiply_add(p, r, F7)
        p = multiply_add(p, r, F6)
        p = multiply_add(p, r, F5)
        p = multiply_add(p, r, F4)
        p = multiply_add(p, r, F3)
        p = multiply_add(p, r, 0.5)
        p = multiply_add(p, r, 1.0)
        p = multiply_add(p, r, 1.0)
        x[i] = times_power(p, t)


@inner
def single_exponentials(x: Singles) -> None:
    """The same in float32, for -87 <= x <= 0."""
    for i in range(x.size):
        v = larger(x[i], LEAST32)
        t = multiply_add(v, PER_LOG32, SHIFT32)
        k = t - SHIFT32
        r = (v - k * HIGH32) - k * LOW32
        p = multiply_add(S7, r, S6)
        p = multiply_add(p, r, S5)
        p = multiply_add(p, r, S4)
        p = multiply_add(p, r, S3)
        p = multiply_add(p, r, S2)
        p = multiply_add(p, r, S1)
        p = multiply_add(p, r, S1)
        x[i] = times_power(p, t)


if INTERPRETED:

    def exponentials(x: Any) -> None:
        np.exp(x, out=x)

    single_exponentials = exponentials
