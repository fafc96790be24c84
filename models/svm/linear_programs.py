"""Linear classifiers of which every two-class machine is one program, stated by its blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import qp
import socp

from ..base.linear import LinearClassifier


class ProgramClassifier(LinearClassifier):
    """A linear classifier whose subclass states the program of one machine, with blocks w and b.

    Attributes
    ----------
    program_, solution_
        Of the last machine.
    """

    fit_intercept = True
    infeasible = "the program has no solution, which should not happen"

    program_: socp.ConeProgram | qp.QuadraticProgram
    solution_: socp.Solution | qp.Solution

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Solve the programs of all machines; of more than two classes, one against the rest."""
        self._fit_programs(X, y, sample_weight)
        return self

    def _check_parameters(self) -> None:
        """Refuse what the fields of the parameters do not tell."""

    def _fit_programs(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        """Find all machines, of the samples that have a weight; returns the value of each."""
        X, codes, weights = self._samples_and_weights(X, y, sample_weight, 2)
        self._check_parameters()
        used = np.flatnonzero(weights > 0.0)
        machines, iterations = [], []
        for signs in self._signs(codes[used]):
            self.n_iter_ = 0
            machines.append(self._machine(X[used], signs, weights[used]))
            iterations.append(self.n_iter_)
        w, b, values = zip(*machines)
        self.coef_, self.intercept_, self.n_iter_ = np.array(w), np.array(b), max(iterations)
        return np.array(values)

    def _stated(self, X: Any, y: np.ndarray, weights: np.ndarray) -> socp.Blocks | qp.Blocks:
        """The program of the machine with signs y."""
        raise NotImplementedError

    def _machine(self, X: Any, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float, float]:
        """w and b of the machine with signs y, and the value of its program."""
        p = self._stated(X, y, weights)
        x = self._solved(p.program(), self.infeasible).x
        return x[p.w], float(x[p.b][0]), float(self.solution_.objective)
