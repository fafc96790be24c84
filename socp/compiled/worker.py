"""A helper process of `build`: compiles the kernels whose module and name come by standard input, a line each.

It answers with the seconds that each took; whatever goes wrong ends it, and the kernel is compiled by who asked.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import time

from . import cache


def main() -> None:
    """Compile until standard input ends."""
    gc.disable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an imported module prints is no answer
    for line in sys.stdin:
        module, name = line.split()
        kernel = getattr(importlib.import_module(module), name)
        begin = time.perf_counter()
        cache.write(kernel, kernel.compile())
        answers.write(f"{time.perf_counter() - begin}\n")
        answers.flush()


if __name__ == "__main__":
    main()
