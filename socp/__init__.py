"""socp: a primal-dual interior-point engine for second-order cone and quadratic-objective programs."""

from .checks import ProgramError
from .lowrank import LowRank
from .program import ConeProgram, NonNeg, SecondOrder
from .status import Status

__all__ = ["ConeProgram", "LowRank", "NonNeg", "ProgramError", "SecondOrder", "Status"]
