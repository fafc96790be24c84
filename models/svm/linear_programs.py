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
        self._fit_machines(X, y, sample_weight)
        return self

    def _find_machines(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        machines, iterations = [], []
        for signs in self._signs(codes):
            self.n_iter_ = 0
            machines.append(self._machine(X, signs, weights))
            iterations.append(self.n_iter_)
        self.n_iter_ = max(iterations)
        return machines

    def _stated(self, X: Any, y: np.ndarray, weights: np.ndarray) -> socp.Blocks | qp.Blocks:
        """The program of the machine with signs y."""
        raise NotImplementedError

    def _machine(self, X: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """(w, b) of the machine with signs y."""
        p = self._stated(X, y, weights)
        x = self._solved(p.program(), self.infeasible).x
        return np.append(x[p.w], x[p.b])
