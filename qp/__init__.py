"""qp: convex quadratic programs with two-sided rows and bounds, solved through `socp`."""

from typing import TYPE_CHECKING

from socp.origin import late
from socp.version import __version__ as __version__

if TYPE_CHECKING:
    from socp.problem.checks import ProgramError
    from socp.problem.lowrank import LowRank
    from socp.problem.status import Status

    from .batch import Solutions, solve_many
    from .interop import register_with_qpsolvers, solve_qp
    from .kernel_groups import warmup
    from .problem.blocks import Blocks
    from .problem.program import QuadraticProgram
    from .problem.solution import Solution
    from .relaxation import Relaxation, relax
    from .solver import Solver, solve

__all__ = [
    "Blocks",
    "LowRank",
    "ProgramError",
    "QuadraticProgram",
    "Relaxation",
    "Solution",
    "Solutions",
    "Solver",
    "Status",
    "register_with_qpsolvers",
    "relax",
    "solve",
    "solve_many",
    "solve_qp",
    "warmup",
]

if not TYPE_CHECKING:  # A type checker would take any name as defined by __getattr__.
    __getattr__ = late(
        __name__,
        {
            "socp.problem.checks": "ProgramError",
            "socp.problem.lowrank": "LowRank",
            "socp.problem.status": "Status",
            ".batch": "Solutions solve_many",
            ".interop": "register_with_qpsolvers solve_qp",
            ".problem.blocks": "Blocks",
            ".problem.program": "QuadraticProgram",
            ".problem.solution": "Solution",
            ".relaxation": "Relaxation relax",
            ".solver": "Solver solve",
            ".kernel_groups": "warmup",
        },
    )


def __dir__() -> list[str]:
    return [*globals(), *__all__]
