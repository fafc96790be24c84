"""The monotonic clock of compiled kernels, in seconds, as Python's `time.perf_counter`.

Kernels call the operating system's clock by its address, or Python's if the system has no known one.
"""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature

from .kernels import Callee

CLOCKS = {"linux": 1, "darwin": 8}  # CLOCK_MONOTONIC, CLOCK_UPTIME_RAW: the clocks that Python uses


class Clock(Callee):
    """Monotonic clock in seconds, for kernels and Python."""

    def __init__(self) -> None:
        super().__init__("centralpath.clock")
        self.signature = signature(types.float64)
        try:
            self.number: int | None = CLOCKS[sys.platform]
            self.function: Any = ctypes.CDLL(None).clock_gettime
        except (KeyError, OSError, AttributeError, TypeError):
            self.number, self.function = None, ctypes.CFUNCTYPE(ctypes.c_double)(time.perf_counter)
        llvmlite.binding.add_symbol(self.name, ctypes.cast(self.function, ctypes.c_void_p).value)

    def __call__(self) -> float:
        """Return the seconds of the clock."""
        return time.perf_counter()

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """Generate a call of the system's clock, or of Python's, which takes no arguments, and return the seconds."""
        double, word = ir.DoubleType(), ir.IntType(64)
        if self.number is None:
            kind = ir.FunctionType(double, [])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, self.name), [])
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), word.as_pointer()])
        place = cgutils.alloca_once(builder, word, size=2)  # struct timespec: seconds, nanoseconds
        function = cgutils.get_or_insert_function(builder.module, kind, self.name)
        builder.call(function, [ir.IntType(32)(self.number), place])
        seconds, rest = (builder.load(builder.gep(place, [word(k)])) for k in range(2))
        return builder.fadd(builder.sitofp(seconds, double), builder.fmul(builder.sitofp(rest, double), double(1e-9)))


clock = Clock()
