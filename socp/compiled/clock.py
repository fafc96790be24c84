"""The time for compiled kernels: seconds of a clock that never goes back, as `time.perf_counter` of Python.

The operating system's own clock is called by its address; where there is none that is known, Python's.
"""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .kernels import INTERPRETED, kernel

CLOCK_MONOTONIC = {"linux": 1, "darwin": 8}  # darwin: CLOCK_UPTIME_RAW, which Python takes, too
SYMBOL = "centralpath.clock_gettime"


def _monotonic() -> int | None:
    """The number of the clock, its function registered as `SYMBOL`; None where another way must do."""
    number = CLOCK_MONOTONIC.get(sys.platform)
    try:
        function = ctypes.CDLL(None).clock_gettime if number is not None else None
    except (OSError, AttributeError, TypeError):
        function = None
    if function is None:
        return None
    llvmlite.binding.add_symbol(SYMBOL, ctypes.cast(function, ctypes.c_void_p).value)
    return number


_clock = _monotonic()
_callback: Any = None
if _clock is None:
    _callback = ctypes.CFUNCTYPE(ctypes.c_double)(time.perf_counter)
    llvmlite.binding.add_symbol(SYMBOL, ctypes.cast(_callback, ctypes.c_void_p).value)


@intrinsic
def _read(typing_context):  # type: ignore[no-untyped-def]
    """Seconds, from the function behind `SYMBOL`."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        double, word = ir.DoubleType(), ir.IntType(64)
        if _clock is None:
            return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(double, []), SYMBOL), [])
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), word.as_pointer()])
        place = cgutils.alloca_once(builder, word, size=2)  # struct timespec: seconds, nanoseconds
        function = cgutils.get_or_insert_function(builder.module, kind, SYMBOL)
        builder.call(function, [ir.IntType(32)(_clock), place])
        seconds, rest = (builder.load(builder.gep(place, [word(k)])) for k in range(2))
        return builder.fadd(builder.sitofp(seconds, double), builder.fmul(builder.sitofp(rest, double), double(1e-9)))

    return types.float64(), generate


@kernel
def clock() -> float:
    """Seconds since some moment."""
    return _read()  # type: ignore[call-arg, no-any-return]


if INTERPRETED:
    clock = time.perf_counter
