"""The target of machine code: numba, platform, processor, integers of SciPy's BLAS, whether indices are checked."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any, NamedTuple

import numba
import scipy
from numba.core import registry
from scipy.linalg import cython_blas

KNOWN = (0, 60), (0, 68)  # oldest and newest version of numba that `machine` was tested with
CHECKS = os.environ.get("CENTRALPATH_CHECKS", "0") not in ("", "0")  # True: check indices, and arrays from Python


class MachineCode(NamedTuple):
    """Object file and the names in it."""

    object_file: bytes
    function: str
    wrapper: str  # symbol of the entry for Python, "" if Python does not call the kernel
    environment: str  # symbol of the pointer to the environment that `wrapper` reads
    name: str


def numba_is_known() -> bool:
    """Return True if `machine`, which uses private names of numba, was tested with the installed version."""
    installed = numba.version_info.short
    return None not in installed and KNOWN[0] <= installed <= KNOWN[1]


def known_numbas() -> str:
    """Return the versions of numba that `machine` was tested with, in words."""
    return " to ".join(".".join(map(str, version)) for version in KNOWN)


def processor() -> tuple[str, str, str]:
    """Return LLVM's name of the platform, its name of the processor, and the processor's features."""
    return registry.cpu_target.target_context.codegen().magic_tuple()


def python() -> str:
    """Return the version of Python up to the minor number: releases of one minor version share machine code."""
    return ".".join(platform.python_version_tuple()[:2])


def integer_bits() -> int:
    """Return the width of the integers that SciPy's BLAS takes: 32, or 64 if SciPy was built with ILP64.

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
