"""The engine as a solver of cvxpy: ``problem.solve(solver="CENTRALPATH")`` once this module is imported."""

from __future__ import annotations

import abc
from importlib.metadata import entry_points
from typing import Any

try:
    import cvxpy.settings as names
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this module needs cvxpy: pip install cvxpy", name=error.name) from error
import numpy as np
from cvxpy.constraints import SOC
from cvxpy.reductions.solution import Solution as CvxpySolution
from cvxpy.reductions.solution import failure_solution
from cvxpy.reductions.solvers import defines, utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.reductions.solvers.solver import Solver as CvxpySolver

from ..engine import SetUpOnce
from ..problem.checks import ProgramError
from ..problem.program import ConeProgram, NonNeg, SecondOrder
from ..problem.settings import Settings
from ..problem.solution import Solution
from ..problem.status import Status
from ..solver import Solver
from .names import in_our_names

NAME = "CENTRALPATH"
INTERFACES = "centralpath.cvxpy"  # group of the entry points of packages that register an interface
STATUS = {
    Status.OPTIMAL: names.OPTIMAL,
    Status.INACCURATE: names.OPTIMAL_INACCURATE,
    Status.PRIMAL_INFEASIBLE: names.INFEASIBLE,
    Status.DUAL_INFEASIBLE: names.UNBOUNDED,
    Status.MAX_ITERATIONS: names.USER_LIMIT,
    Status.TIME_LIMIT: names.USER_LIMIT,
    Status.INTERRUPTED: names.USER_LIMIT,
    Status.NUMERICAL_ERROR: names.SOLVER_ERROR,
}
CITATION = """@misc{centralpath,
  title = {centralpath: a hand-written primal-dual interior-point toolkit in Python},
  author = {the centralpath developers},
}
"""


class Interface(CvxpySolver):  # type: ignore[misc]
    """Base class of the interfaces of cone programs and of quadratic programs."""

    solver: type[SetUpOnce]
    MIP_CAPABLE = False
    BOUNDED_VARIABLES = False  # If True, cvxpy 1.9 derives bounds that are wrong for 0 times infinity.
    REQUIRES_CONSTR = False

    def __eq__(self, other: object) -> bool:
        """Return True for any interface of this class, as cvxpy compiles a problem again if its solver differs."""
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def name(self) -> str:
        """Return the name of the solver."""
        return NAME

    def import_solver(self) -> None:
        """Do nothing, as this package is imported already."""

    def supports_quad_obj(self) -> bool:
        """Return True: quadratic objectives are passed to the solver."""
        return True

    def cite(self, data: Any) -> str:
        """Return the citation of the solver as BibTeX."""
        return CITATION

    @abc.abstractmethod
    def multipliers(self, solution: Any, equalities: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers of cvxpy's equalities, and the multipliers of its other constraints."""

    def settings(self, verbose: bool, options: dict[str, Any]) -> Settings:
        """Return the settings of ``problem.solve``, whose options may have the names of other solvers."""
        ours = {name: value for name, value in options.items() if name != "use_quad_obj"}
        return Settings(**in_our_names({"verbose": bool(verbose), **ours}))

    def refuse_bounds(self, data: Any) -> None:
        """Raise ProgramError if cvxpy's data have bounds apart from the rows, though `BOUNDED_VARIABLES` is False."""
        for name in (names.LOWER_BOUNDS, names.UPPER_BOUNDS):
            if data.get(name) is not None:
                raise ProgramError(f"{name} must be None, for bounds are rows here, but {data[name]!r} came")

    @abc.abstractmethod
    def program(self, data: Any) -> Any:
        """Return the program of cvxpy's data."""

    @abc.abstractmethod
    def goes_on(self, solver: Any, program: Any) -> bool:
        """Set the former solver to the new program; return False if a new solver is needed."""

    def solve_via_data(
        self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> Any:
        """Solve cvxpy's data, with the solver of the former solve if it can take the new program."""
        settings = self.settings(verbose, solver_opts)
        self.refuse_bounds(data)
        program = self.program(data)
        solver: Any = solver_cache.get(self.name()) if warm_start and solver_cache else None
        is_kept = isinstance(solver, self.solver) and solver.settings == settings
        start: Any = warm_start
        if not is_kept or not self.goes_on(solver, program):
            solver = self.solver.of_checked(program, settings)
            start = warm_start and self.start(data, program)
        if solver_cache is not None:
            solver_cache[self.name()] = solver
        return solver.solve(warm_start=start)

    def start(self, data: Any, program: Any) -> np.ndarray | bool:
        """Return the values of cvxpy's variables, its auxiliary variables found by equalities, or False."""
        variables = data[names.PARAM_PROB].variables
        x = utilities.stack_vals(variables, np.nan) if variables else np.zeros(0)
        if np.isnan(x).all() or x.size != program.n:
            return False
        return x if solve_for_unknown(x, *self.equalities(program)) and np.isfinite(x).all() else False

    @abc.abstractmethod
    def equalities(self, program: Any) -> tuple[Any, np.ndarray]:
        """Return (A, b) of the equalities A x = b of a program."""

    def invert(self, solution: Any, inverse_data: Any) -> CvxpySolution:
        """Return the answer as cvxpy's solution."""
        status = STATUS[solution.status]
        if status == names.USER_LIMIT and not np.isfinite(solution.x).all():
            status = names.SOLVER_ERROR
        attributes = {
            names.SOLVE_TIME: solution.solve_time,
            names.SETUP_TIME: solution.setup_time,
            names.NUM_ITERS: solution.iterations,
            names.EXTRA_STATS: solution,
        }
        duals = {} if solution.status is Status.DUAL_INFEASIBLE else self._duals(solution, inverse_data)
        if status not in names.SOLUTION_PRESENT:
            failed = failure_solution(status, attributes)  # `failure_solution` takes no duals before cvxpy 1.9.
            failed.dual_vars = duals
            return failed
        value = solution.objective + inverse_data[names.OFFSET]
        return CvxpySolution(status, value, {inverse_data[self.VAR_ID]: solution.x}, duals, attributes)

    def _duals(self, solution: Any, inverse_data: Any) -> dict[Any, Any]:
        parts = self.multipliers(solution, inverse_data[self.DIMS].zero)
        if self.EQ_CONSTR not in inverse_data:  # quadratic programs in cvxpy 1.7
            return {self.DUAL_VAR_ID: np.concatenate(parts)}
        duals: dict[Any, Any] = {}
        for values, which in zip(parts, (self.EQ_CONSTR, self.NEQ_CONSTR)):
            duals |= utilities.get_dual_values(values, utilities.extract_dual_value, inverse_data[which])
        return duals


class CentralPath(Interface, ConicSolver):  # type: ignore[misc]
    """Interface of cvxpy (1.7 and later) for linear, quadratic and second-order cone programs.

    With ``solver="CENTRALPATH"`` a problem with a quadratic objective and linear constraints is solved by `qp`, which
    treats rows with one entry as bounds, and any other problem by `socp`; with ``solver=CentralPath()`` every problem
    is solved by `socp`.  (An installed package registers `qp` by an entry point of the group "centralpath.cvxpy";
    without installation ``import qp.interop.cvxpy`` does.)  A quadratic objective is not converted to a cone.

    Options of ``problem.solve`` are settings of `socp.Settings`, by their names or by names of other solvers
    (``max_iters``, ``eps``, ``eps_abs``, ``eps_rel``, ``abstol``, ``reltol``, ``feastol``, ``tol_gap_abs``,
    ``tol_gap_rel``, ``tol_feas``, ``max_threads``).  With ``warm_start`` (cvxpy's default) a problem with new parameter
    values keeps ordering and symbolic analysis, and starts from the last answer if that helps; the first solve starts
    from the values of the variables if all have one (auxiliary ones are found from the equalities).

    The complete answer is ``problem.solver_stats.extra_stats``.  From cvxpy 1.9 on, the constraints of an infeasible
    problem get the certificate as their dual values; with an earlier cvxpy only the complete answer has the
    certificate, in the rows of cvxpy's data.

    Raises
    ------
    socp.ProgramError
        From ``problem.solve``: an option is unknown or its value is not allowed, or the data are NaN, or infinite
        other than in a bound.  (cvxpy 1.8 and later refuse such data first, with a ValueError.)

    Examples
    --------
    >>> import cvxpy
    >>> import socp.interop.cvxpy
    >>> x = cvxpy.Variable(2)
    >>> problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - [3, 4])), [cvxpy.norm(x) <= 1])
    >>> round(problem.solve(solver="CENTRALPATH", eps=1e-9), 6), x.value.round(6)
    (16.0, array([0.6, 0.8]))
    """

    solver = Solver
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC]  # noqa: RUF012, as the base has it

    def program(self, data: Any) -> ConeProgram:
        """Return min 1/2 x'Px + c'x s.t. Ax + s = b; A has the rows of the zero cone, the orthant, the other cones."""
        dims = data[ConicSolver.DIMS]
        A, b, zero = data[names.A].tocsr(), data[names.B], dims.zero
        cones: list[NonNeg | SecondOrder] = [NonNeg(int(dims.nonneg)), *(SecondOrder(int(size)) for size in dims.soc)]
        return ConeProgram(
            c=data[names.C], A=A[:zero], b=b[:zero], G=A[zero:], h=b[zero:], cones=cones, P=data.get(names.P)
        )

    def equalities(self, program: ConeProgram) -> tuple[Any, np.ndarray]:
        """Return (A, b) of the equalities."""
        return program.A, program.b

    def goes_on(self, solver: Solver, program: ConeProgram) -> bool:
        """Replace the program of the solver and return True; the pattern may change."""
        solver.replace(program)
        return True

    def multipliers(self, solution: Solution, equalities: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers of cvxpy's equalities, and the multipliers of its other constraints."""
        return solution.y, solution.z


def solve_for_unknown(x: np.ndarray, A: Any, b: np.ndarray) -> bool:
    """Set entries of x that are NaN by rows of A x = b with one such entry; return True if none is left."""
    A = A.tocsr()
    row, entries = np.repeat(np.arange(b.size), np.diff(A.indptr)), A.indices
    while np.isnan(x).any():
        unknown = np.isnan(x[entries]) & (A.data != 0.0)
        single = unknown & (np.bincount(row[unknown], minlength=b.size) == 1)[row]
        if not single.any():
            return False
        rest = b - A @ np.nan_to_num(x)
        x[entries[single]] = rest[row[single]] / A.data[single]
    return True


def register(solver: CvxpySolver, solvers: dict[str, Any], *lists: list[str]) -> None:
    """Register a solver with cvxpy in this process, so that it is found by name."""
    solvers[solver.name()] = solver
    for known in (*lists, defines.INSTALLED_SOLVERS):
        if solver.name() not in known:
            known.append(solver.name())


register(CentralPath(), defines.SOLVER_MAP_CONIC, defines.CONIC_SOLVERS, defines.INSTALLED_CONIC_SOLVERS)
for interface in entry_points(group=INTERFACES):
    interface.load()
