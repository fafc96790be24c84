"""Compiled kernels in a wheel: for one Python, numba and llvmlite, and for a baseline that many processors have.

    CENTRALPATH_WHEEL=x86-64-v3 pip wheel .

makes `setup.py` write them into the folder `kernels` of the package, with a file that names their target.  They are
trusted as much as the source code next to them.  With another numba, another processor or a damaged file, kernels are
compiled as if the package had none.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "kernels"
MADE_FOR = "made_for.json"
X86_64_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
X86_64_V3 = (*X86_64_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
X86_64_V4 = (*X86_64_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
BASELINES: dict[str, tuple[str, ...]] = {  # LLVM's name of each baseline, and of the features that it requires
    "generic": (), "apple-m1": (), "x86-64": (), "x86-64-v2": X86_64_V2, "x86-64-v3": X86_64_V3, "x86-64-v4": X86_64_V4,
}  # fmt: skip


@functools.cache
def made_for() -> dict[str, str]:
    """Return the target of the packaged kernels, by name; {} if there are none."""
    try:
        found = json.loads((FOLDER / MADE_FOR).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("processor"), str) else {}


def has_baseline(features: str) -> bool:
    """Return True if a processor with these features, as LLVM lists them, runs the packaged kernels."""
    wanted = BASELINES.get(made_for().get("processor", ""))
    return wanted is not None and {f"+{name}" for name in wanted} <= set(features.split(","))
