"""Support vector machines whose parameter is a share of samples: nu in place of C or of epsilon."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

import qp

from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import Positive, Share, fitted, parameters
from ..base.validation import warn
from ..kernels.kernel import KernelChoice
from ..margins.machines import Machines, Problem
from ..margins.margin import Margin
from ..margins.parameters import KernelParameters, MachineParameters, WorkingSetParameters
from .svc import MarginClassifier
from .svr import TubeRegressor

ZERO = 1e-7  # rho up to this, relative to the size of f, counts as zero
TOO_LARGE = "nu is too large for these classes: it can be at most twice the (weighted) share of the smaller one, {:.6g}"
TOO_SMALL = (
    "NuSVC: nu is too small: the classes overlap, no margin is left and w is zero. The machine only knows the larger "
    "class. Raise nu, or take a kernel that parts the classes"
)


@parameters
class NuSVC(MarginClassifier, MachineParameters, WeightParameters, WorkingSetParameters):
    r"""Support vector classifier with nu, a share of the samples, in place of C.

    .. math::
        \min_{w, b, \rho, \xi}\; \tfrac12 \|w\|^2 - \nu \rho \sum_i c_i + \sum_i c_i \xi_i
        \quad\text{s.t. } y_i (w^\top \phi(x_i) + b) \ge \rho - \xi_i,\; \xi \ge 0,\; \rho \ge 0

    with c_i the weights of the samples and their classes.  At most the share nu of the samples is inside
    of the margin or on the wrong side, at least the share nu are support vectors.  Divided by rho, the machine is
    `models.SVC` with C = 1 / rho; the attributes describe the divided machine, for which f(x) = +-1 on the margin.

    Parameters
    ----------
    nu
        Share of samples in (0, 1], at most twice the share of the smaller class.

    Attributes
    ----------
    rho_ : array, shape (machines,)
        Margin rho before the division; `models.SVC` with C = 1 / rho is this machine.

    Raises
    ------
    ValueError
        nu is too large for the classes' sizes.

    Warns
    -----
    UserWarning
        nu is so small that no margin is left (the reduced convex hulls of the classes meet): w = 0 and rho = 0, and the
        machine always predicts the larger class.

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

    nu: Share = 0.5
    kernel: KernelChoice = "rbf"
    _: KW_ONLY
    break_ties: bool = False
    random_state: Any = None

    rho_: np.ndarray = fitted()

    def _problem(self, rows: np.ndarray, signs: np.ndarray, C: np.ndarray) -> Problem:
        most = 2.0 * min(C[signs > 0.0].sum(), C[signs < 0.0].sum()) / C.sum()
        if self.nu > most * (1.0 + 1e-12):
            raise ValueError(f"{TOO_LARGE.format(most)}, but {self.nu!r} came")
        order = np.argsort(-signs, kind="stable")
        total = float(min(self.nu, most) * C.sum())
        return Problem(rows[order], signs[order], C[order], np.zeros(signs.size), total)

    def _divided(self, margin: Margin, program: qp.QuadraticProgram, solution: qp.Solution, rho: float) -> Machines:
        P: Any = program.P
        y, C, size = margin.signs, margin.C, np.sqrt(P.diagonal())
        if rho <= ZERO * float(size.max() * (size @ C)) and rho <= ZERO * np.abs(P @ C).max():
            warn(TOO_SMALL)
            none, larger, zero = np.zeros((1, y.size)), np.sign([C @ y]), np.zeros(1)
            answer = lambda: (program, solution)  # noqa: E731
            return Machines(none, none.astype(int), larger, zero + np.inf, zero, solution.iterations, answer)
        return super()._divided(margin, program, solution, rho)

    def _solve_machines(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines:
        machines = super()._solve_machines(X, problems, settings)
        self.rho_ = machines.rhos
        return machines


@parameters
class NuSVR(TubeRegressor, KernelParameters, WorkingSetParameters, EngineParameters):
    r"""Support vector regression with nu, a share of the samples, in place of the width epsilon of the tube.

    .. math::
        \min_{w, b, \epsilon, \xi, \xi^*}\; \tfrac12 \|w\|^2 + \nu \epsilon \sum_i C_i + \sum_i C_i (\xi_i + \xi_i^*)
        \quad\text{s.t. } -\epsilon - \xi_i^* \le y_i - w^\top \phi(x_i) - b \le \epsilon + \xi_i,\;
        \xi, \xi^*, \epsilon \ge 0

    At most the share nu of the samples is outside of the tube, at least the share nu are support vectors (on its edge
    or outside).  `models.SVR` with ``epsilon=epsilon_`` finds this function, too.

    Parameters
    ----------
    nu
        Share of samples in (0, 1].
    C
        Price of leaving the tube, times the sample's weight; finite.

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
        """Fit to samples X with targets y, by one quadratic program; weights of samples are factors of C."""
        if self.C == np.inf:
            raise ValueError("C must be finite, but inf came: nu weighs the width of the tube against it")
        super().fit(X, y, sample_weight)
        return self

    def _problem(self, rows: np.ndarray, y: np.ndarray, C: np.ndarray) -> Problem:
        problem = super()._problem(rows, y, C)
        return problem if self.nu == 1.0 else replace(problem, total=float(self.nu * C.sum()))  # nu = 1: epsilon = 0

    def _divided(self, margin: Margin, program: qp.QuadraticProgram, solution: qp.Solution, rho: float) -> Machines:
        return super()._divided(margin, program, solution, min(rho, 0.0))

    def _solve_machines(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines:
        machines = super()._solve_machines(X, problems, settings)
        self.epsilon_ = max(0.0, -float(machines.rhos[0]))
        return machines
