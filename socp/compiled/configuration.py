"""The configuration of an installation: versions, BLAS and its threads, the compiler, the kernel cache, the machine."""

from __future__ import annotations

import os
import platform

import llvmlite
import llvmlite.binding
import numba
import numpy as np
import scipy

from ..version import __version__
from . import cache
from .kernels import INTERPRETED
from .target import integer_bits, numba_is_known
from .threads import bundled_libraries


def configuration() -> dict[str, str]:
    """Return the configuration, which is what a bug report should contain, as text by name."""
    return {
        "centralpath": __version__,
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "numpy": np.__version__,
        "scipy": f"{scipy.__version__}, BLAS with {integer_bits()}-bit integers",
        "BLAS threads": ", ".join(str(get()) for get, _ in bundled_libraries()) or "not to be set",
        "numba": f"{numba.__version__}, llvmlite {llvmlite.__version__}",
        "JIT": "off (NUMBA_DISABLE_JIT)" if INTERPRETED else "on" if numba_is_known() else "on, by a numba not known",
        "cache": "none" if INTERPRETED or not numba_is_known() else str(cache.folder() or "none"),
        "processors": f"{os.cpu_count()}, {llvmlite.binding.get_host_cpu_name()}",
    }
