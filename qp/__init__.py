"""qp: convex quadratic programs with two-sided rows and bounds, solved through `socp`."""

from socp.lowrank import LowRank
from socp.status import Status

from .compilation import warmup
from .interop import register_with_qpsolvers, solve_qp
from .program import QuadraticProgram
from .solution import Solution
from .solver import Solver, solve

__all__ = [
    "LowRank",
    "QuadraticProgram",
    "Solution",
    "Solver",
    "Status",
    "register_with_qpsolvers",
    "solve",
    "solve_qp",
    "warmup",
]
