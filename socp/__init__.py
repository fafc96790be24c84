"""socp: a primal-dual interior-point engine for second-order cone and quadratic-objective programs."""

from typing import TYPE_CHECKING

from .origin import late
from .version import __version__ as __version__

if TYPE_CHECKING:
    from .batch.programs import solve_many
    from .batch.solutions import Solutions
    from .kernel_groups import show_config, warmup
    from .method.run import Iterate
    from .problem.blocks import Blocks
    from .problem.checks import ProgramError
    from .problem.lowrank import LowRank
    from .problem.program import ConeProgram, NonNeg, SecondOrder
    from .problem.settings import Settings
    from .problem.solution import Solution
    from .problem.status import Status
    from .solver import Solver, iterates, solve

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

if not TYPE_CHECKING:  # To type checkers a module's __getattr__ would define every name.
    __getattr__ = late(
        __name__,
        {
            ".batch.programs": "solve_many",
            ".batch.solutions": "Solutions",
            ".method.run": "Iterate",
            ".problem.blocks": "Blocks",
            ".problem.checks": "ProgramError",
            ".problem.lowrank": "LowRank",
            ".problem.program": "ConeProgram NonNeg SecondOrder",
            ".problem.settings": "Settings",
            ".problem.solution": "Solution",
            ".problem.status": "Status",
            ".solver": "Solver iterates solve",
            ".kernel_groups": "show_config warmup",
        },
    )


def __dir__() -> list[str]:
    return [*globals(), *__all__]
