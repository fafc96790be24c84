"""The width of the integers that SciPy's BLAS takes."""

from __future__ import annotations

import ctypes
from typing import Any

import scipy
from scipy.linalg import cython_blas


def integer_bits() -> int:
    """Width of the integers that SciPy's BLAS takes: 32, or 64 when SciPy was built so (ILP64).

    Raises
    ------
    ImportError
        SciPy's configuration and the signature of its dgemm contradict each other; a call would corrupt memory.
    """
    wide = bool(scipy.__config__.CONFIG["Build Dependencies"]["blas"].get("cython blas ilp64", False))
    signature = _signature(cython_blas, "dgemm")
    if (", int *," in signature) == wide:
        raise ImportError(
            f"SciPy {scipy.__version__} says that its Cython BLAS takes {'64' if wide else '32'}-bit integers, "
            f"but dgemm is {signature!r}: reinstall SciPy"
        )
    return 64 if wide else 32


def _signature(module: Any, name: str) -> str:
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get_name(module.__pyx_capi__[name]).decode()
