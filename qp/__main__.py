"""``python -m qp FILE``: a quadratic program solved; ``warmup`` and ``config`` as of ``python -m socp``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from socp.__main__ import warmup
from socp.commandline import answer, parser
from socp.problem.settings import Settings

from .files.mat import read
from .problem.solution import Solution
from .solver import Solver

FILES = (
    "a file (.mat, .qps, .mps, .qps.gz, .mps.gz) to solve; or config, to print what is installed; or warmup, to "
    "compile all kernels"
)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m qp") -> int:
    """Run the command line, which is called `prog` in messages; returns the exit code."""
    made = parser(prog, "Solve a quadratic program from a file.", FILES)
    return answer(made, arguments, warmup, read, solve)


def solve(program: Any, settings: Settings) -> Solution:
    """The answer to a program with checked settings."""
    return Solver.of_checked(program, settings).solve()


if __name__ == "__main__":
    sys.exit(main())
