"""``python -m socp FILE``: a cone program solved; ``warmup``: all kernels compiled ahead of their first use;
``config``, or nothing: what a report of a bug should hold."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from .commandline import answer, parser
from .files.cbf import read
from .problem.settings import QP_ONLY, Settings
from .problem.solution import Solution
from .solver import Solver
from .warmup import prepare_packages

ABOVE = ("qp", "models")  # packages with kernels of their own, where they are installed
FILES = "a file (.cbf, .cbf.gz) to solve; or config, to print what is installed; or warmup, to compile all kernels"


def main(arguments: Sequence[str] | None = None, prog: str = "python -m socp") -> int:
    """Run the command line, which is called `prog` in messages; returns the exit code."""
    made = parser(prog, "Solve a cone program from a file.", FILES, QP_ONLY)
    return answer(made, arguments, warmup, read, solve)


def solve(program: Any, settings: Settings) -> Solution:
    """The answer to a program with checked settings."""
    return Solver.of_checked(program, settings).solve()


def warmup() -> int:
    """Compile what this version has not compiled before, load the rest, and say how long that took."""
    found = ["socp", *(name for name in ABOVE if _is_importable(name))]
    seconds = prepare_packages(*(f"{name}." for name in found))
    print(f"the kernels of {', '.join(found)} are ready after {seconds:.1f} s")
    return 0


def _is_importable(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
