"""qp: convex quadratic programs with two-sided rows and bounds, solved through `socp`."""

from socp.lowrank import LowRank
from socp.status import Status

from .program import QuadraticProgram
from .solution import Solution
from .solver import Solver, solve

__all__ = ["LowRank", "QuadraticProgram", "Solution", "Solver", "Status", "solve"]
