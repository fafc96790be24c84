"""Kernels as functions of numba, for a numba whose private names may differ from those in `machine`.

`numba.njit` compiles each kernel for its declared signature; numba's own pipeline, linker and calling convention do the
rest.  Callers call its symbol, a caller by address its address, as with `machine`.  Nothing is kept on disk: numba's
own cache would not notice that a constant, or the layout of a structure, has changed in another file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import Signature

from .target import CHECKS, known_numbas

_kept: list[Any] = []  # numba frees the machine code of a compile result with it


def compiled(py_func: Callable[..., Any], signature: Signature, called_from_python: bool) -> Any:
    """Return numba's compile result, with machine code in this process.

    Raises
    ------
    RuntimeError
        The installed numba does not compile the kernel.
    """
    jit: Any = numba.njit  # its annotations lack options
    try:
        function = jit(
            signature, nogil=True, error_model="numpy", boundscheck=CHECKS, no_cfunc_wrapper=True,
            no_cpython_wrapper=not called_from_python,
        )(py_func)  # fmt: skip
        made = function.overloads[signature.args]
    except Exception as error:
        raise RuntimeError(
            f"numba {numba.__version__} does not compile {py_func.__module__}.{py_func.__qualname__}: install a numba "
            f"from {known_numbas()}, or set NUMBA_DISABLE_JIT=1, which does without compilation, slowly"
        ) from error
    _kept.append(made)
    return made


def address(made: Any) -> int:
    """Return the address of the function in a compile result."""
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)


# A fork waits until no thread compiles, so that the child inherits no locked lock.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire, after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )  # fmt: skip
