"""socp.interop: the engine behind the interfaces that other solvers have.

`ecos_solve`, `conelp` and `coneqp` take and return what ECOS and CVXOPT do; `solvers` has all of CVXOPT's by its names
(``solvers.qp``, ``solvers.lp``, ``solvers.socp``, ``solvers.options``).  `socp.interop.cvxpy` has the solver for cvxpy;
it is imported by its own name, for it needs cvxpy.
"""

from . import cvxopt as solvers
from .cvxopt import conelp, coneqp
from .ecos import ecos_solve

__all__ = ["conelp", "coneqp", "ecos_solve", "solvers"]
