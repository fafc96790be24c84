"""socp: a primal-dual interior-point engine for second-order cone and quadratic-objective programs."""

from .checks import ProgramError
from .compilation import show_config, warmup
from .lowrank import LowRank
from .program import ConeProgram, NonNeg, SecondOrder
from .run import Iterate
from .settings import Settings
from .solution import Solution
from .solver import Solver, iterates, solve
from .status import Status

__all__ = [
    "ConeProgram",
    "Iterate",
    "LowRank",
    "NonNeg",
    "ProgramError",
    "SecondOrder",
    "Settings",
    "Solution",
    "Solver",
    "Status",
    "iterates",
    "show_config",
    "solve",
    "warmup",
]
