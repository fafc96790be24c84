"""Support vector machines whose parameter is a share of samples: nu in place of C or of epsilon."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

import qp

from ..base.estimator import warn_unless_good
from ..base.groups import EngineParameters
from ..base.parameters import Positive, Share, fitted, parameters
from ..base.validation import warn
from ..programs.margins import dual_program, nu_dual
from .groups import KernelParameters, MachineParameters
from .kernels import KernelChoice
from .margin import Machine, Margin, MarginDual, machine_of
from .series import Machines, Problem
from .svc import MarginClassifier
from .svr import TubeRegressor

ZERO = 1e-7  # a margin below this share of the values of f counts as none
TOO_LARGE = "nu is too large for these classes: it can be at most twice the (weighted) share of the smaller one, {:.6g}"
TOO_SMALL = (
    "NuSVC: nu is too small: the classes overlap, no margin is left and w is zero. The machine only knows the larger "
    "class. Raise nu, or take a kernel that parts the classes"
)
NO_TUBE = "the program of NuSVR has no solution, which should not happen"


@parameters
class NuSVC(MarginClassifier, MachineParameters):
    r"""Support vector classifier with nu, a share of the samples, in place of C.

    .. math::
        \min_{w, b, \rho, \xi}\; \tfrac12 \|w\|^2 - \nu \rho \sum_i c_i + \sum_i c_i \xi_i
        \quad\text{s.t. } y_i (w^\top \phi(x_i) + b) \ge \rho - \xi_i,\; \xi \ge 0,\; \rho \ge 0

    with c_i the samples' weights.  At most the share nu of the samples is inside of the margin or on the wrong side,
    at least the share nu are support vectors.  Divided by rho, the machine is `models.SVC` with C = 1 / rho, and is
    given so: f(x) = +-1 on the margin.

    Parameters
    ----------
    nu
        In (0, 1], at most twice the share of the smaller class.

    Attributes
    ----------
    rho_ : array, shape (machines,)
        The margin's value before the division by it: C = 1 / rho gives the same machine.

    Raises
    ------
    ValueError
        nu is too large for the classes' sizes.

    Warns
    -----
    UserWarning
        nu is so small that no margin is left (the reduced convex hulls of the classes meet): w = 0 and rho = 0, and the
        machine says the larger class always.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVC, NuSVC
    >>> X, y = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [2.0, 2.0]]), ["no", "no", "yes", "yes"]
    >>> machine = NuSVC(nu=0.25, kernel="linear").fit(X, y)
    >>> machine.coef_.round(4), machine.intercept_.round(4), machine.rho_.round(4)
    (array([[1., 1.]]), array([-1.]), array([0.5]))
    >>> SVC(C=1.0 / machine.rho_[0], kernel="linear").fit(X, y).coef_.round(4)
    array([[1., 1.]])
    """

    C = 1.0

    nu: Share = 0.25
    kernel: KernelChoice = "rbf"

    rho_: np.ndarray = fitted()

    def _problem(self, rows: np.ndarray, signs: np.ndarray, C: np.ndarray) -> Problem:
        most = 2.0 * min(C[signs > 0.0].sum(), C[signs < 0.0].sum()) / C.sum()
        if self.nu > most * (1.0 + 1e-12):
            raise ValueError(f"{TOO_LARGE.format(most)}, but {self.nu!r} came")
        order = np.argsort(-signs, kind="stable")
        return Problem(rows[order], signs[order], C[order], float(min(self.nu, most) * C.sum()))

    def _fit_machine(self, X: Any, problem: Problem, settings: dict[str, Any]) -> Machine:
        """The machine divided by rho."""
        y, C = problem.signs, problem.C
        margin = self._margin(X, problem, True)
        P = margin.hessian(self.cache_size)
        assert problem.total is not None
        program = nu_dual(P, y, C, problem.total)
        solution = MarginDual(program, settings, self.kernel_.is_semidefinite).solve()
        warn_unless_good("NuSVC", solution)
        rho = 0.5 * float(solution.y[1] - solution.y[0])
        size = np.sqrt(P.diagonal())
        if rho <= ZERO * float(size.max() * (size @ C)) and rho <= ZERO * np.abs(P @ C).max():
            warn(TOO_SMALL)
            larger = float(np.sign(C @ y))
            return Machine(np.zeros(y.size), larger, np.zeros(y.size, np.int64), np.inf, program, solution, 0.0)
        return divided(margin, P, program, solution, rho)

    def _keep(self, X: Any, codes: np.ndarray, machines: Machines) -> None:
        super()._keep(X, codes, machines)
        self.rho_ = machines.rhos


@parameters
class NuSVR(TubeRegressor, KernelParameters, EngineParameters):
    r"""Support vector regression with nu, a share of the samples, in place of the width epsilon of the tube.

    .. math::
        \min_{w, b, \epsilon, \xi, \xi^*}\; \tfrac12 \|w\|^2 + \nu \epsilon \sum_i C_i + \sum_i C_i (\xi_i + \xi_i^*)
        \quad\text{s.t. } -\epsilon - \xi_i^* \le y_i - w^\top \phi(x_i) - b \le \epsilon + \xi_i,\;
        \xi, \xi^*, \epsilon \ge 0

    At most the share nu of the samples is outside of the tube, at least the share nu are support vectors (on its edge
    or outside).  `models.SVR` with ``epsilon=epsilon_`` is the same function.

    Parameters
    ----------
    nu
        In (0, 1].
    C
        The price of leaving the tube, times the sample's weight; finite.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from models import NuSVR
    >>> X, y = np.arange(5.0)[:, None], [0.0, 1.2, 1.8, 3.1, 3.9]
    >>> svr = NuSVR(nu=0.5, C=10.0, kernel="linear").fit(X, y)
    >>> svr.coef_.round(4), svr.intercept_.round(4), round(svr.epsilon_, 4)
    (array([[0.95]]), array([0.125]), 0.125)
    """

    nu: Share = 0.5
    C: Positive = 1.0
    _: KW_ONLY
    kernel: KernelChoice = "rbf"

    epsilon_: float = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVR:
        """Solve the program."""
        if self.C == np.inf:
            raise ValueError("C must be finite, but inf came: nu weighs the width of the tube against it")
        super().fit(X, y, sample_weight)
        return self

    def _fit_samples(self, X: Any, y: np.ndarray, C: np.ndarray, settings: dict[str, Any]) -> Machine:
        sides, both = np.repeat([1.0, -1.0], y.size), np.concatenate([C, C])
        margin = Margin(X, self.kernel_, sides, np.concatenate([-y, y]), both, True)
        P = margin.hessian(self.cache_size)
        if self.nu == 1.0:  # no tube is worth its price
            program = dual_program(P, sides, both, True, margin.q)
        else:
            program = nu_dual(P, sides, both, float(self.nu * C.sum()), margin.q)
        solution = MarginDual(program, settings, self.kernel_.is_semidefinite, NO_TUBE).solve()
        self.epsilon_ = max(0.5 * float(solution.y[0] - solution.y[-1]), 0.0)
        return divided(replace(margin, q=margin.q + self.epsilon_), P, program, solution)


def divided(margin: Margin, P: Any, program: qp.QuadraticProgram, solution: qp.Solution, rho: float = 1.0) -> Machine:
    """The machine of a margin with prices C / rho, from a program's answer divided by rho."""
    dual = MarginDual(dual_program(P, margin.signs, margin.C / rho, margin.bias, margin.q), {}, semidefinite=True)
    y = solution.y.mean(keepdims=True) / rho
    answer = replace(solution, x=solution.x / rho, y=y, z_bounds=solution.z_bounds / rho)
    machine = machine_of(replace(margin, C=margin.C / rho), dual, dual.program, answer, answer.x, answer.z_bounds)
    return replace(machine, program=program, solution=solution, rho=rho)
