"""Estimators whose machines separate classes, or surround targets, by a margin."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

import qp

from ..base.answers import BuiltAnswer
from ..base.estimator import warn_unless_good
from ..kernels.samples import centered
from ..programs.margins import dual_program
from ..programs.nu import nu_dual
from .dual import NOT_SEPARABLE, MarginDual
from .expansion import PAIRWISE, KernelExpansion
from .machines import Machines, Problem, divided, together
from .margin import Form, Margin, largest_margin, machine_of
from .published import published
from .series import fits_in_series, reads_for_few, solve_in_series


class MarginMachines(KernelExpansion, BuiltAnswer):
    """Estimators whose machines are margins; a subclass declares the parameters and states the problems.

    `program_` is the dual of the last machine, or its primal if `solver` led to that.
    """

    _samples_told = PAIRWISE
    _infeasible = NOT_SEPARABLE

    C: float
    fit_intercept: bool = True
    solver: Form = "auto"
    cache_size: float = 200.0
    shrinking: bool = True

    intercept_: np.ndarray

    def _solve_machines(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines:
        """Solve all machines, set the attributes of the expansion, and return the machines."""
        is_linear, bias, samples = self.kernel_.is_linear, bool(self.fit_intercept), X
        if is_linear and bias:
            rows = [one.rows for one in problems]
            samples, mean = centered(X, rows[0] if len(rows) == 1 else np.unique(np.concatenate(rows)))
        machines = self._in_series(samples, problems, settings) or self._one_by_one(samples, problems, settings)
        if is_linear:
            name = type(self).__name__
            W, machines = published(name, samples, problems, machines, bias, settings, self._infeasible)
        support = np.flatnonzero((machines.coefficients != 0.0).any(axis=0))
        self._keep_vectors(X, support, machines.coefficients[:, support])
        self.intercept_, self.n_iter_ = machines.intercepts, machines.iterations
        if is_linear:
            self.coef_ = W
            self.intercept_ = self.intercept_ - W @ mean if bias else self.intercept_
        self._answer = functools.cache(machines.answer)
        return machines

    def _in_series(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines | None:
        """Solve all machines in one call; return None if they do not suit it or are not solved accurately enough."""
        soft, cache_size = all(np.isfinite(one.C).all() for one in problems), float(self.cache_size)
        if not soft or self.solver == "primal" or not self.shrinking or self.time_limit is not None:
            return None
        most, sides = max(one.signs.size for one in problems), problems[-1].sides
        most_read = np.inf
        if not fits_in_series(self.kernel_, X, most, len(problems) > 1, cache_size, sides):
            most_read = reads_for_few(self.kernel_, X, problems[0], cache_size) if len(problems) == 1 else 0.0
        if most_read == 0.0:
            return None
        return solve_in_series(self.kernel_, X, problems, bool(self.fit_intercept), settings, cache_size, most_read)

    def _one_by_one(self, X: Any, problems: list[Problem], settings: dict[str, Any]) -> Machines:
        """Solve one machine after another."""
        return together([self._fit_machine(X, one, settings).among(one.rows, X.shape[0]) for one in problems])

    def _fit_machine(self, X: Any, problem: Problem, settings: dict[str, Any]) -> Machines:
        X, bias, cache_size = self._samples_of(X, problem.rows), bool(self.fit_intercept), float(self.cache_size)
        margin = Margin(X, self.kernel_, problem.signs, problem.q, problem.C, bias)
        if problem.total is None:
            machine = largest_margin(margin, self.solver, settings, self._infeasible, cache_size)
        else:
            machine = self._share_machine(margin, problem.total, settings)
        warn_unless_good(type(self).__name__, machine.answer()[1])
        return machine

    def _share_machine(self, margin: Margin, total: float, settings: dict[str, Any]) -> Machines:
        """Solve the machine whose multipliers have the sum `total`."""
        P = margin.hessian(float(self.cache_size))
        program = nu_dual(P, margin.signs, margin.C, total, margin.q)
        solution = MarginDual(program, settings, self.kernel_.is_semidefinite, self._infeasible).solve()
        return self._divided(margin, program, solution, 0.5 * float(solution.y[1] - solution.y[0]))

    def _divided(self, margin: Margin, program: qp.QuadraticProgram, solution: qp.Solution, rho: float) -> Machines:
        """Return the machine divided by `rho`, so that margins are one; with rho <= 0, a tube of half width -rho."""
        own = rho if rho > 0.0 else 1.0
        y = solution.y.mean(keepdims=True) / own
        answer = replace(solution, x=solution.x / own, y=y, z_bounds=solution.z_bounds / own)
        margin = divided(margin, rho)
        dual = MarginDual(dual_program(program.P, margin.signs, margin.C, margin.bias, margin.q), {}, semidefinite=True)
        machine = machine_of(margin, dual, dual.program, answer, answer.x, answer.z_bounds)
        return replace(machine, rhos=np.array([rho]), answer=lambda: (program, solution))
