"""Minimax probability machine: least worst-case error of classes with known means and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.groups import EngineParameters
from ..base.parameters import NonNegative, fitted, parameters
from ..base.validation import as_dense
from ..generative.normal import total_variances
from ..programs.moments import minimax_program
from .linear_programs import ProgramClassifier

APART = 1e-9  # lengths |R_i w| and singular values up to this count as zero; |d| = 1 and the largest |R_i| is 1
STEPS = 5  # most Newton steps of `sharpened`
REGULARIZATION = 1e-11  # added to the Hessian's diagonal, which is zero along directions without variance


@parameters
class MinimaxProbabilityClassifier(ProgramClassifier, EngineParameters):
    r"""Linear classifier with the least worst-case error over all distributions with the classes' moments.

    .. math::
        \max_{\kappa, w \ne 0, b}\; \kappa \quad\text{s.t. } -(w^\top \mu_1 + b) \ge \kappa \|\Sigma_1^{1/2} w\|,\;
        w^\top \mu_2 + b \ge \kappa \|\Sigma_2^{1/2} w\|,
        \qquad \sup \text{Prob}(\text{wrong}) = \frac{1}{1 + \kappa^2}

    The moments are estimated from the samples, with features divided by their standard deviations within the classes:
    units have no influence.  If the means are uncertain by nu standard deviations and the covariances by rho in the
    Frobenius norm, the worst case has Sigma_i + rho I, and kappa - nu in place of kappa.

    Parameters
    ----------
    rho
        Error of the covariances, every feature in units of its variance within the classes (in all samples, if that is
        zero).  With rho = 0, classes separated along directions without variance have kappa = inf, and w is the
        projection of the means' difference on these directions.
    nu
        Error of the means in standard deviations; it changes the reported error, not the machine.

    Attributes
    ----------
    coef_ : array, shape (machines, features)
        Normal w of each machine, scaled to w'(mu_2 - mu_1) = 1.
    kappa_ : array, shape (machines,)
        Largest kappa minus nu, at least zero.
    worst_case_error_ : array, shape (machines,)
        1 / (1 + kappa^2): error of either class under the worst distribution with these moments.

    Raises
    ------
    ValueError
        Two classes have equal means.

    See Also
    --------
    GenerativePrior.largest_beta : kappa for the means and covariances of a prior.

    Examples
    --------
    >>> from models import MinimaxProbabilityClassifier
    >>> X, y = [[-3.0], [-1.0], [1.0], [5.0]], [0, 0, 1, 1]  # means -2 and 3, standard deviations 1 and 2
    >>> machine = MinimaxProbabilityClassifier(rho=0.0).fit(X, y)
    >>> machine.kappa_.round(6), machine.worst_case_error_.round(6)
    (array([1.666667]), array([0.264706]))
    >>> bool(abs(machine.decision_function([[-2.0 + 5.0 / 3.0]])[0]) < 1e-9)
    True
    """

    rho: NonNegative = 1e-6
    nu: NonNegative = 0.0

    kappa_: np.ndarray = fitted()
    worst_case_error_: np.ndarray = fitted()

    def _find_machines(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        self.kappa_ = np.empty(0)
        machines = super()._find_machines(X, codes, weights)
        self.kappa_ = np.maximum(self.kappa_ - self.nu, 0.0)
        self.worst_case_error_ = 1.0 / (1.0 + self.kappa_**2)
        return machines

    def _machine(self, X: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        means, roots, scale = self._moments(as_dense(X), y, weights)
        d = (means[1] - means[0]) / scale
        length = float(np.linalg.norm(d))
        if length == 0.0:
            raise ValueError("two classes must differ in their means, but they have the same: no hyperplane parts them")
        # The program is scaled so that |d| = 1 and the largest |R_i| is 1.
        unit = max(float(np.linalg.norm(R, 2)) for R in roots)
        if unit == 0.0:
            w, radii = d / length**2, np.zeros(2)
        else:
            w, radii = self._direction(d / length, [R / unit for R in roots])
            w, radii = w / length, radii * unit / length
        total = radii.sum()
        self.kappa_ = np.append(self.kappa_, 1.0 / total if total > 0.0 else np.inf)
        return np.append(w / scale, -(w / scale) @ means[0] - (radii[0] / total if total > 0.0 else 0.5))

    def _direction(self, d: np.ndarray, roots: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return w with w'd = 1, and |Sigma_i^(1/2) w| of both classes."""
        p = minimax_program(d, roots)
        w = self._solved(p.program(), self.infeasible).x[p.w]
        if self.solution_.objective <= APART:  # a direction without variance separates the means
            _, sizes, V = np.linalg.svd(np.vstack(roots))
            flat = V[np.concatenate([sizes, np.zeros(V.shape[0] - sizes.size)]) <= APART]
            w = flat.T @ (flat @ d)
            w = w if w @ d > 0.0 else d  # the time limit ended the solve before any answer
            return w / (w @ d), np.zeros(2)
        w = sharpened(w, d, roots)
        return w, np.array([np.linalg.norm(R @ w) for R in roots])

    def _moments(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Return the means, matrices R_i with R_i'R_i = D Sigma_i D + rho I, and the diagonal of D^-1."""
        classes = [(X[at], weights[at]) for at in (y < 0.0, y > 0.0)]
        means, variances = zip(*(total_variances(*own) for own in classes))
        within, (mean, overall) = np.mean(variances, axis=0), total_variances(X, weights)
        scale = np.sqrt(np.where(within > 0.0, within, np.where(overall > 0.0, overall, 1.0)))
        means = tuple(np.where(overall > 0.0, m, mean) for m in means)  # of a constant, the rounding is no difference
        roots = [
            np.sqrt(share / share.sum())[:, None] * np.where(variance > 0.0, own - m, 0.0) / scale
            for (own, share), m, variance in zip(classes, means, variances)
        ]
        if self.rho > 0.0:
            roots = [np.vstack([R, np.sqrt(self.rho) * np.eye(X.shape[1])]) for R in roots]
        return np.array(means), [np.linalg.qr(R)[1] if R.shape[0] > R.shape[1] else R for R in roots], scale


def sharpened(w: np.ndarray, d: np.ndarray, roots: list[np.ndarray]) -> np.ndarray:
    """Return w, scaled to w'd = 1, after Newton steps on |R_1 w| + |R_2 w| that are taken while the residual falls.

    A gap of eps in the objective leaves w uncertain by sqrt(eps).  At the minimum the gradient is the minimum times d.
    """
    best, least = w / (w @ d), np.inf
    for _ in range(STEPS + 1):
        w = w / (w @ d)
        lengths = [float(np.linalg.norm(R @ w)) for R in roots]
        if min(lengths) <= APART:  # |R_i w| has no gradient at 0
            break
        slopes = [R.T @ (R @ w) / length for R, length in zip(roots, lengths)]
        residual = sum(slopes) - sum(lengths) * d
        if not np.linalg.norm(residual) < least:
            break
        best, least = w, float(np.linalg.norm(residual))
        H = sum((R.T @ R - np.outer(v, v)) / length for R, v, length in zip(roots, slopes, lengths))
        system = np.block([[H + REGULARIZATION * np.eye(w.size), d[:, None]], [d, np.zeros(1)]])
        w = w - np.linalg.solve(system, np.append(residual, 0.0))[:-1]
    return best
