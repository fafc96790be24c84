"""qp: convex quadratic programs with two-sided rows and bounds, solved through `socp`."""

from socp.lowrank import LowRank

from .program import QuadraticProgram

__all__ = ["LowRank", "QuadraticProgram"]
