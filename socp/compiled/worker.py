"""A helper process of `build`: compiles the kernels whose module and name come by standard input, one per line.

It answers with the length and the content of each one's file, which the process that asked checks and writes.
Whatever goes wrong ends the helper, and its kernel is compiled by who asked.
"""

from __future__ import annotations

import gc
import importlib
import os
import struct
import sys

from . import cache

HEAD = struct.Struct("<q")  # the length of the file


def main() -> None:
    """Compile until standard input ends."""
    gc.disable()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an imported module prints is no answer
    for line in sys.stdin:
        module, name = line.split()
        kernel = getattr(importlib.import_module(module), name)
        file = cache.encode(kernel, kernel.compile())
        answers.write(HEAD.pack(len(file)) + file)
        answers.flush()
