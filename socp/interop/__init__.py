"""socp.interop: the engine with the interfaces of other solvers.

`ecos_solve`, `conelp` and `coneqp` have the arguments and results of ECOS and CVXOPT; `solvers` has all of CVXOPT's
names (``solvers.qp``, ``solvers.lp``, ``solvers.socp``, ``solvers.options``).  `socp.interop.cvxpy` has the solver for
cvxpy and is imported separately, as it needs cvxpy.
"""

from . import cvxopt as solvers
from .cvxopt import conelp, coneqp
from .ecos import ecos_solve

__all__ = ["conelp", "coneqp", "ecos_solve", "solvers"]
