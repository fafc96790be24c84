"""qp.interop: the engine with the interfaces of other packages for quadratic programs.

`solve_qp` has the arguments and results of qpsolvers' function, `register_with_qpsolvers` registers the engine there.
`qp.interop.cvxpy` has the interface for cvxpy; ``import socp.interop.cvxpy`` loads it and the one for cone programs.
"""

from .qpsolvers import register_with_qpsolvers, solve_qp

__all__ = ["register_with_qpsolvers", "solve_qp"]
