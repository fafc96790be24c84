"""exp of vectors, and what lets LLVM work on several entries of a vector at once.

numba's `max` in a reduction, and its `exp`, take one entry after the other: neither says that there is no NaN, or is
more than a call.  Here exp(x) = 2^k exp(r) with k the whole number next to x / log 2, and |r| <= log(2) / 2 found with
log 2 in two parts (Cody and Waite), so that no digit of r is lost; exp(r) is its Taylor polynomial.  k is read from the
last bits of x / log 2 + 1.5 * 2^52, and goes into the exponent of the result.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .kernels import INTERPRETED, inner
from .signatures import Floats, Singles


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


class Digits(NamedTuple):
    """What exp takes in floats of one kind."""

    least: float  # the smallest x
    shift: float  # 1.5 * 2^(digits): the last bits of a number near it are a whole number
    high: float  # log 2 in two parts
    low: float
    places: int  # bits of the fraction
    coefficients: tuple[float, ...]  # of the polynomial, the highest power first


def _taylor(degree: int) -> tuple[float, ...]:
    return tuple(1.0 / math.factorial(k) for k in range(degree, -1, -1))


DIGITS = {
    types.float64: Digits(-708.0, 1.5 * 2.0**52, 0.693147180369123816490, 1.90821492927058770002e-10, 52, _taylor(13)),
    types.float32: Digits(-87.0, 1.5 * 2.0**23, 0.693359375, -2.12194440e-4, 23, _taylor(7)),
}


@intrinsic
def _exponential(typing_context, x):  # type: ignore[no-untyped-def]
    """exp(x) for least <= x <= 0, and what is below as that."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        digits, (v,) = DIGITS[x], arguments
        kind, word = v.type, ir.IntType(64 if x == types.float64 else 32)
        fused = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fmuladd.f{word.width}"
        )  # a b + c, rounded once where the processor has that
        v = _chosen(builder, ">", v, kind(digits.least))
        shifted = builder.call(fused, [v, kind(math.log2(math.e)), kind(digits.shift)])
        k = builder.fsub(shifted, kind(digits.shift))
        r = builder.fsub(v, builder.fmul(k, kind(digits.high)))
        r = builder.fsub(r, builder.fmul(k, kind(digits.low)))
        value = kind(digits.coefficients[0])
        for coefficient in digits.coefficients[1:]:
            value = builder.call(fused, [value, r, kind(coefficient)])
        power = builder.shl(builder.bitcast(shifted, word), word(digits.places))
        return builder.bitcast(builder.add(builder.bitcast(value, word), power), kind)

    return x(x), generate


larger: Any = max if INTERPRETED else _choice(">")
"""The larger of two numbers that are not NaN."""
smaller: Any = min if INTERPRETED else _choice("<")
exponential: Any = _exponential


@inner
def exponentials(x: Floats) -> None:
    """x := exp(x) for -708 <= x <= 0 (and what is below as -708), to 2 units of the last place."""
    for i in range(x.size):
        x[i] = exponential(x[i])


@inner
def single_exponentials(x: Singles) -> None:
    """The same in float32, for -87 <= x <= 0."""
    for i in range(x.size):
        x[i] = exponential(x[i])


if INTERPRETED:

    def exponentials(x: Any) -> None:
        np.exp(x, out=x)

    single_exponentials = exponentials
