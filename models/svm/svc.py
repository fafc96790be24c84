"""Support vector classification: the largest margin between classes, hard or soft, in the primal or in the dual."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

import qp

from ..base.estimator import warn_unless_good
from ..base.groups import InterceptParameters, WeightParameters
from ..base.multiclass import spread, two_class_problems
from ..base.parameters import Positive, parameters
from .groups import MachineParameters, WorkingSetParameters
from .kernel_expansion import PAIRWISE, KernelClassifier
from .kernels import KernelChoice
from .margin import Form, Machine, Margin, largest_margin, low_rank_pays
from .series import RANKS, Machines, Problem, fits_in_series, solve_in_series


class MarginClassifier(KernelClassifier):
    """Support vector classifiers of which every two-class machine is a margin; a subclass declares the parameters.

    Attributes
    ----------
    n_support_ : array of int, shape (classes,)
        How many support vectors each class has.
    margin_ : array, shape (machines,)
        1 / ||w||.
    program_, solution_ : qp.QuadraticProgram, qp.Solution
        Of the last machine.  They are as large as the samples of `fit`, and left behind by a pickle or a copy.
    """

    _samples_told = PAIRWISE
    _left_behind: ClassVar[tuple[str, ...]] = ("_answer",)

    C: float
    fit_intercept: bool = True
    break_ties: bool = False
    solver: Form = "auto"
    cache_size: float = 200.0
    shrinking: bool = True

    n_support_: np.ndarray
    margin_: np.ndarray
    _answer: Callable[[], tuple[qp.QuadraticProgram, qp.Solution]]

    @property
    def program_(self) -> qp.QuadraticProgram:
        """The dual of the last machine."""
        program: qp.QuadraticProgram = self._last("_answer")()[0]
        return program

    @property
    def solution_(self) -> qp.Solution:
        """Its answer."""
        solution: qp.Solution = self._last("_answer")()[1]
        return solution

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Solve the programs of all machines."""
        X, codes, weights, C = self._samples_to_fit(X, y, sample_weight)
        settings = {**self._engine_settings(), "active_set": bool(self.shrinking)}
        used = self._kernel_to_fit(X, weights)
        problems = [
            self._problem(used[rows], signs, C[used[rows]])
            for rows, signs in two_class_problems(codes[used], self.classes_.size, self.multi_class)
        ]
        found = self._in_series(X, problems, settings)
        self._keep(X, codes, self._one_by_one(X, problems, settings) if found is None else found)
        return self

    def _problem(self, rows: np.ndarray, signs: np.ndarray, C: np.ndarray) -> Problem:
        """The problem of one machine."""
        return Problem(rows, signs, C)

    def _in_series(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines | None:
        """All machines in one call, where that will do."""
        most, soft = max(problem.rows.size for problem in problems), all(np.isfinite(one.C).all() for one in problems)
        cache_size = float(self.cache_size)
        if not soft or self.solver == "primal" or not self.shrinking or self.time_limit is not None:
            return None
        rank = self.kernel_.rank(X)
        if rank is not None and low_rank_pays(most, rank * (RANKS if len(problems) > 1 else 1)):
            return None
        if not fits_in_series(self.kernel_, X, most, len(problems) > 1, cache_size):
            return None
        return solve_in_series(self.kernel_, X, problems, bool(self.fit_intercept), settings, cache_size)

    def _one_by_one(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines:
        """One machine after another."""
        machines = [self._fit_machine(X, problem, settings) for problem in problems]
        pairs, shape, last = list(zip(machines, problems)), X.shape[0], machines[-1]
        return Machines(
            np.array([spread(one.coefficients, problem.rows, shape) for one, problem in pairs]),
            np.array([spread(one.kinds, problem.rows, shape) for one, problem in pairs]),
            np.array([one.intercept for one in machines]), np.array([one.margin for one in machines]),
            np.array([one.rho for one in machines]), max(one.solution.iterations for one in machines),
            lambda: (last.program, last.solution),
        )  # fmt: skip

    def _fit_machine(self, X: Any, problem: Problem, settings: dict[str, Any]) -> Machine:
        machine = largest_margin(
            self._margin(X, problem, bool(self.fit_intercept)), self.solver, settings, cache_size=float(self.cache_size)
        )
        warn_unless_good(type(self).__name__, machine.solution)
        return machine

    def _margin(self, X: Any, problem: Problem, bias: bool) -> Margin:
        y = problem.signs
        return Margin(self._samples_of(X, problem.rows), self.kernel_, y, np.full(y.size, -1.0), problem.C, bias)

    def _keep(self, X: Any, codes: np.ndarray, machines: Machines) -> None:
        """The attributes."""
        support = np.flatnonzero((machines.coefficients != 0.0).any(axis=0))
        self._keep_vectors(X, support, machines.coefficients[:, support])
        self.n_support_ = np.bincount(codes[self.support_], minlength=self.classes_.size)
        self._kinds = machines.kinds[:, self.support_].astype(np.int8)
        self.intercept_, self.margin_ = machines.intercepts, machines.margins
        self.n_iter_ = machines.iterations
        self._answer = functools.cache(machines.answer)


@parameters
class SVC(MarginClassifier, MachineParameters, WeightParameters, InterceptParameters, WorkingSetParameters):
    r"""Support vector classifier.

    Between two classes, with signs y_i = +1 for ``classes_[1]`` and -1 for ``classes_[0]``, the primal and the dual are

    .. math::
        \min_{w, b, \xi}\; \tfrac12 \|w\|^2 + \sum_i C_i \xi_i
        \quad\text{s.t. } y_i (w^\top \phi(x_i) + b) \ge 1 - \xi_i,\; \xi \ge 0

        \max_\alpha\; 1^\top\alpha - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)
        \quad\text{s.t. } y^\top\alpha = 0,\; 0 \le \alpha_i \le C_i

    with C_i = C * class weight * sample weight.  With C infinite the margin is hard: no xi, no upper bound on alpha.
    Without `fit_intercept`, b and the equality are left out.

    Parameters
    ----------
    C
        The price of a violated margin; ``inf`` forbids it.
    tol
        Of the engine, see `socp.Settings`.  It bounds the objective's error, and so ||w||'s by sqrt(2 tol |objective|);
        on scaled data that is mostly far better, and the forms agree to about 1e-6 in the decision values too.
        A warning comes only above 1e-8.

    Raises
    ------
    ValueError
        Something does not fit, which the message names; or the margin is hard and the classes cannot be separated.

    Notes
    -----
    There is no `predict_proba`: calibrate with ``CalibratedClassifierCV(svc)``.  Nothing is random.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVC
    >>> X, y = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [2.0, 2.0]]), ["no", "no", "yes", "yes"]
    >>> svc = SVC(C=np.inf, kernel="linear").fit(X, y)
    >>> svc.coef_.round(4), svc.intercept_.round(4), svc.support_, svc.margin_.round(4)
    (array([[1., 1.]]), array([-1.]), array([0, 1, 2]), array([0.7071]))
    >>> svc.predict([[1.5, 0.0]])
    array(['yes'], dtype='<U3')
    """

    C: Positive = 1.0
    kernel: KernelChoice = "rbf"
    _: KW_ONLY
    break_ties: bool = False
    solver: Form = "auto"
    random_state: Any = None
