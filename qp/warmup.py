"""The compiled kernels of `qp` and of the engine below it, loaded at once."""

from __future__ import annotations

import time

import socp
from socp.compiled.build import prepare
from socp.compiled.kernels import kernels

from .active_set import boxed, coordinate_descent, face_newton
from .problem import program, stopping
from .reduce import cone_form, presolve, removal

MODULES = (program, stopping, presolve, removal, cone_form, boxed, coordinate_descent, face_newton)


def warmup() -> float:
    """Compile all kernels of `qp` and `socp`, or load them when this installation has compiled them before.

    Returns
    -------
    float
        Seconds: up to a minute after an installation, a second or so later.

    Examples
    --------
    >>> import qp
    >>> qp.warmup() > 0.0
    True
    """
    begin = time.perf_counter()
    socp.warmup()
    names = {module.__name__ for module in MODULES}
    prepare([kernel for kernel in kernels() if kernel.py_func.__module__ in names])
    return time.perf_counter() - begin
