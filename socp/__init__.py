"""socp: a primal-dual interior-point engine for second-order cone and quadratic-objective programs."""

from .batch.programs import solve_many
from .batch.solutions import Solutions
from .method.run import Iterate
from .problem.blocks import Blocks
from .problem.checks import ProgramError
from .problem.lowrank import LowRank
from .problem.program import ConeProgram, NonNeg, SecondOrder
from .problem.settings import Settings
from .problem.solution import Solution
from .problem.status import Status
from .solver import Solver, iterates, solve
from .version import __version__ as __version__
from .warmup import show_config, warmup

__all__ = [
    "Blocks",
    "ConeProgram",
    "Iterate",
    "LowRank",
    "NonNeg",
    "ProgramError",
    "SecondOrder",
    "Settings",
    "Solution",
    "Solutions",
    "Solver",
    "Status",
    "iterates",
    "show_config",
    "solve",
    "solve_many",
    "warmup",
]
