"""A helper process of `build`, which reads modules and names of kernels from standard input, one per line.

For each kernel it writes the length and the content of the kernel's file, which the parent process checks and stores.
Any error ends the helper, and the parent process compiles the kernel.
"""

from __future__ import annotations

import gc
import importlib
import os
import struct
import sys

from . import cache

HEAD = struct.Struct("<q")  # length of the kernel's file that follows


def main() -> None:
    """Compile the kernels named on standard input until it ends."""
    gc.disable()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Output of imported modules goes to stderr, not into the answers.
    for line in sys.stdin:
        module, name = line.split()
        kernel = getattr(importlib.import_module(module), name)
        file = cache.encode(kernel, kernel.compile())
        answers.write(HEAD.pack(len(file)) + file)
        answers.flush()
