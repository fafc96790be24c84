"""``python -m qp FILE`` solves a quadratic program; ``warmup`` and ``config`` are as in ``python -m socp``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from socp.commandline import answer, parser

from .files.mat import read
from .solver import Solver

FILES = ".mat, .npz, .qps, .mps, .qps.gz, .mps.gz"


def main(arguments: Sequence[str] | None = None, prog: str = "python -m qp") -> int:
    """Run the command line, which is called `prog` in messages; return the exit code."""
    return answer(parser(prog, "Solve a quadratic program from a file.", FILES), arguments, read, Solver)


if __name__ == "__main__":
    sys.exit(main())
