"""Kernels that are compiled, or loaded, when they are first called.

The caller of such a kernel reads a word with the address of its machine code.  If the word is zero, the caller requests
the kernel, which a new thread prepares: Python handles a signal that arrives meanwhile, such as Ctrl-C, when the
calling kernel has returned, and never halfway.

    symbol.address    the word: 0 at first, -1 if the kernel could not be prepared
    symbol.request    the function that starts the thread; it returns 0 if that fails
    PAUSE             the function that waits a millisecond
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import logging
import os
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils

logger = logging.getLogger("socp")

PAUSE = "centralpath.pause"
WORD = cgutils.intp_t
_request = ctypes.CFUNCTYPE(ctypes.c_int64)


class Deferred:
    """Address word and request function of one deferred kernel; `find` returns its address."""

    def __init__(self, symbol: str, find: Callable[[], int]) -> None:
        self.symbol, self.find = symbol, find
        self.word = np.zeros(1, np.int64)
        # `partial` and `start_new_thread` are C functions: Python handles no signal and loses no exception in them.
        self.request = _request(functools.partial(_thread.start_new_thread, self._fill, ()))
        llvmlite.binding.add_symbol(f"{symbol}.address", self.word.ctypes.data)
        llvmlite.binding.add_symbol(f"{symbol}.request", ctypes.cast(self.request, ctypes.c_void_p).value)

    def _fill(self) -> None:
        try:
            self.word[0] = self.find()  # the kernel may be loaded already, for another caller
        except BaseException:
            logger.exception("the kernel %s could not be compiled", self.symbol)
            self.word[0] = -1

    def function(self, context: Any, builder: Any, kind: Any) -> Any:
        """Generate the code that finds the function, or raises RuntimeError in the kernel; return the function."""
        name = f"{self.symbol}.address"
        place = builder.module.globals.get(name) or ir.GlobalVariable(builder.module, WORD, name)
        with cgutils.if_unlikely(builder, builder.icmp_signed("==", builder.load(place), WORD(0))):
            self._wait(context, builder, place)
        return builder.inttoptr(builder.load(place), kind.as_pointer())

    def _wait(self, context: Any, builder: Any, place: Any) -> None:
        module, nothing = builder.module, ir.FunctionType(WORD, [])
        request = cgutils.get_or_insert_function(module, nothing, f"{self.symbol}.request")
        pause = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), [ir.IntType(32)]), PAUSE)
        begun = builder.icmp_signed("!=", builder.call(request, []), WORD(0))
        waiting, over = builder.append_basic_block("waiting"), builder.append_basic_block("over")
        builder.cbranch(begun, waiting, over)
        builder.position_at_end(waiting)
        builder.call(pause, [ir.IntType(32)(_pause)])
        builder.cbranch(builder.icmp_signed("==", builder.load(place), WORD(0)), waiting, over)
        builder.position_at_end(over)
        with cgutils.if_unlikely(builder, builder.icmp_signed("<=", builder.load(place), WORD(0))):
            message = f"the kernel {self.symbol} could not be compiled; NUMBA_DISABLE_JIT=1 does without compilation"
            context.call_conv.return_user_exc(builder, RuntimeError, (message,))


def _register_pause() -> int:
    """Register a function of the system with which kernels wait a millisecond; return its argument."""
    if os.name == "nt":
        function, argument = ctypes.windll.kernel32.Sleep, 1  # type: ignore[attr-defined]
    else:
        function, argument = ctypes.CDLL(None).usleep, 1000
    llvmlite.binding.add_symbol(PAUSE, ctypes.cast(function, ctypes.c_void_p).value)
    return argument


_pause = _register_pause()
