"""qp: convex quadratic programs with two-sided rows and bounds, solved through `socp`."""

from socp.problem.checks import ProgramError
from socp.problem.lowrank import LowRank
from socp.problem.status import Status
from socp.version import __version__ as __version__

from .active_set.series import SeriesSolutions, solve_series
from .batch import Solutions, solve_many
from .interop import register_with_qpsolvers, solve_qp
from .problem.blocks import Blocks
from .problem.kernel_matrix import KernelMatrix
from .problem.program import QuadraticProgram
from .problem.solution import Solution
from .solver import Solver, solve
from .warmup import warmup

__all__ = [
    "Blocks",
    "KernelMatrix",
    "LowRank",
    "ProgramError",
    "QuadraticProgram",
    "SeriesSolutions",
    "Solution",
    "Solutions",
    "Solver",
    "Status",
    "register_with_qpsolvers",
    "solve",
    "solve_many",
    "solve_qp",
    "solve_series",
    "warmup",
]
