"""Interface of ECOS."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem.checks import ArrayLike, Number, ProgramError
from ..problem.program import ConeProgram, NonNeg, SecondOrder
from ..problem.settings import Settings
from ..problem.solution import Solution
from ..problem.status import Status
from ..solver import Solver
from .names import in_our_names

EXIT_FLAGS = {
    Status.OPTIMAL: (0, "Optimal solution found"),
    Status.PRIMAL_INFEASIBLE: (1, "Primal infeasible"),
    Status.DUAL_INFEASIBLE: (2, "Dual infeasible"),
    Status.INACCURATE: (10, "Close to optimal solution found"),
    Status.MAX_ITERATIONS: (-1, "Maximum number of iterations reached"),
    Status.NUMERICAL_ERROR: (-2, "Numerical problems"),
    Status.INTERRUPTED: (-4, "Interrupted"),
    Status.TIME_LIMIT: (-1, "Time limit reached"),
}
IGNORED = (
    "feastol_inacc", "abstol_inacc", "reltol_inacc", "nitref", "mi_verbose", "mi_max_iters", "mi_abs_eps", "mi_rel_eps",
    "mi_int_tol",
)  # fmt: skip
INTEGERS = ("bool_vars_idx", "int_vars_idx")


def cones_of(dims: dict[str, Any], refused: str) -> list[NonNeg | SecondOrder]:
    """Return the cones of ``{"l": size, "q": sizes}``; raise ProgramError if the kind `refused` is not empty."""
    other = dims.get(refused)
    if other is not None and np.any(other):
        raise ProgramError(f"dims[{refused!r}] must be empty, for there are no such cones here, but {other!r} came")
    unknown = set(dims) - {"l", "q", refused}
    if unknown:
        raise ProgramError(f"dims must have the keys 'l' and 'q', but {sorted(unknown)} came")
    return [NonNeg(int(dims.get("l", 0) or 0)), *(SecondOrder(int(size)) for size in dims.get("q", ()) or ())]


def ecos_solve(
    c: ArrayLike,
    G: ArrayLike | None = None,
    h: ArrayLike | Number | None = None,
    dims: dict[str, Any] | None = None,
    A: ArrayLike | None = None,
    b: ArrayLike | Number | None = None,
    verbose: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """Solve a cone program as ``ecos.solve`` does: min c'x s.t. Ax = b, h - Gx in K.

    Parameters
    ----------
    c, G, h, A, b
        The data; G and A may be sparse or dense.
    dims : dict
        ``{"l": rows of the orthant, "q": sizes of the second-order cones}``; an ``"e"`` other than 0 is refused.
    verbose : bool
    **options
        ``feastol``, ``abstol``, ``reltol`` (the smallest counts, as `tol`), ``max_iters``, or any of `socp.Settings`;
        other options of ECOS are ignored, except for ``bool_vars_idx`` and ``int_vars_idx``, which must be
        empty.

    Returns
    -------
    dict
        ``"x"``, ``"y"``, ``"z"``, ``"s"`` and ``"info"`` with ECOS's names and exit flags.

    Raises
    ------
    ProgramError
        The data or an option cannot be accepted.

    Examples
    --------
    >>> sol = ecos_solve([1.0], [[-1.0]], [2.0], {"l": 1, "q": []}, verbose=False)  # the least x with x + 2 >= 0
    >>> sol["x"].round(6), sol["info"]["exitFlag"], sol["info"]["infostring"]
    (array([-2.]), 0, 'Optimal solution found')
    """
    for name in INTEGERS:
        if options.get(name) is not None and np.size(options[name]):
            raise ProgramError(f"{name} must be empty, for there are no integers here, but {options[name]!r} came")
    known = {name: value for name, value in options.items() if name not in (*IGNORED, *INTEGERS)}
    settings = Settings(**in_our_names({"verbose": verbose, **known}))
    cones = None if G is None else cones_of(dims or {}, "e")
    solution = Solver.of_checked(ConeProgram(c=c, G=G, h=h, cones=cones, A=A, b=b), settings).solve()
    info = _info(solution, settings.tol)
    return {"x": solution.x, "y": solution.y, "z": solution.z, "s": solution.s, "info": info}


def _info(solution: Solution, tol: float) -> dict[str, Any]:
    flag, words = EXIT_FLAGS[solution.status]
    primal, dual = solution.objective, solution.dual_objective
    return {
        "exitFlag": flag,
        "infostring": words,
        "pcost": primal,
        "dcost": dual,
        "pres": solution.primal_residual,
        "dres": solution.dual_residual,
        "pinf": float(solution.status is Status.PRIMAL_INFEASIBLE),
        "dinf": float(solution.status is Status.DUAL_INFEASIBLE),
        "pinfres": solution.primal_residual if solution.status is Status.PRIMAL_INFEASIBLE else np.nan,
        "dinfres": solution.dual_residual if solution.status is Status.DUAL_INFEASIBLE else np.nan,
        "gap": abs(primal - dual),
        "relgap": solution.gap,
        "r0": tol,  # ECOS's name for its feasibility tolerance
        "iter": solution.iterations,
        "mi_iter": -1,
        "numerr": int(solution.status is Status.NUMERICAL_ERROR),
        "timing": {
            "runtime": solution.setup_time + solution.solve_time,
            "tsetup": solution.setup_time,
            "tsolve": solution.solve_time,
        },
    }


solve = ecos_solve  # for `import socp.interop.ecos as ecos` in place of `import ecos`
