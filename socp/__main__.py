"""``python -m socp FILE`` solves a cone program; ``warmup`` compiles all kernels ahead of their first use;
``config`` prints what a bug report should contain."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .commandline import answer, parser
from .files.cbf import read
from .problem.settings import QP_ONLY
from .solver import Solver


def main(arguments: Sequence[str] | None = None, prog: str = "python -m socp") -> int:
    """Run the command line, which is called `prog` in messages; return the exit code."""
    return answer(parser(prog, "Solve a cone program from a file.", ".cbf, .cbf.gz", QP_ONLY), arguments, read, Solver)


if __name__ == "__main__":
    sys.exit(main())
