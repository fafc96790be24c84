"""qp.interop: the engine behind the interfaces that others have for quadratic programs.

`solve_qp` takes and returns what qpsolvers' does, `register_with_qpsolvers` makes the engine one of its solvers.
`qp.interop.cvxpy` has the interface for cvxpy; ``import socp.interop.cvxpy`` brings it with that of cone programs.
"""

from .qpsolvers import register_with_qpsolvers, solve_qp

__all__ = ["register_with_qpsolvers", "solve_qp"]
