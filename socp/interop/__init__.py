"""socp.interop: the engine behind the interfaces that other solvers have.

`ecos_solve`, `conelp` and `coneqp` take and return what ECOS and CVXOPT do.  `socp.interop.cvxpy` has the solver class
for cvxpy; it is imported by its own name, for it needs cvxpy.
"""

from .cvxopt import conelp, coneqp
from .ecos import ecos_solve

__all__ = ["conelp", "coneqp", "ecos_solve"]
