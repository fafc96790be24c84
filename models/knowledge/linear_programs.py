"""Linear classifiers whose two-class machines are one program each, stated by its blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import qp
import socp

from ..base.linear import LinearClassifier


class ProgramClassifier(LinearClassifier):
    """Linear classifier; a subclass states the program of one machine, with blocks w and b.

    Attributes
    ----------
    program_, solution_
        Program and solution of the last machine.
    """

    fit_intercept = True
    infeasible = "the program has no solution, which should not happen"

    program_: socp.ConeProgram | qp.QuadraticProgram
    solution_: socp.Solution | qp.Solution

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Solve the program of every machine; with more than two classes, one against the rest."""
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
        """Return the program of the machine with signs `y`."""
        raise NotImplementedError

    def _machine(self, X: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Solve the machine with signs `y`; return (w, b)."""
        p = self._stated(X, y, weights)
        x = self._solved(p.program(), self.infeasible).x
        return np.append(x[p.w], x[p.b])
