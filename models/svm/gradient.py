r"""C and gamma of a support vector machine by the gradient of its validation loss.

The machine f(x) = sum_j alpha_j y_j k(x_j, x) + b is the answer to a quadratic program with P = (y y') o K(gamma) and
the upper bounds C; b is the multiplier of its row.  So the mean logistic loss L of other samples has a derivative by
the logarithms of C and gamma, at the cost of one more solve (`qp.Solution.vjp`):

    dL/dlog C = C sum_i dL/dub_i
    dL/dlog gamma = gamma ( <dL/dP, (y y') o dK/dgamma> + g'(dK_val/dgamma) (alpha o y) ),     dK/dgamma = -d^2 o K

with g = dL/df at the other samples and d their distances.  Where a sample enters or leaves a bound L has a kink and the
derivative is that of one side.

A few fits say much when each gives three numbers.  The search takes L for a Gaussian process on
u = (log C + log gamma, log gamma), since for small gamma only C gamma counts (Keerthi and Lin), with a constant mean
and, because of the kinks, the Matern covariance of order 3/2, whose draws have one derivative.  With
d = (u - v) / scales and r = |d|,

    cov(L(u), L(v)) = (1 + sqrt(3) r) e,     e = exp(-sqrt(3) r)
    cov(L(u), L'(v)) = -cov(L'(u), L(v)) = 3 e d,     cov(L'(u), L'(v)) = 3 e (I - sqrt(3) d d' / r)

for derivatives by u / scales.  Given values and slopes L is normal at each point, with mean m and deviation s, and the
next fit is where the fall below the least loss so far, expected, is largest:

    EI = s (t Phi(t) + phi(t)),     t = (least - m) / s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.special import ndtr

import qp

from ..base.validation import check_number
from .kernels import squares

TOL = 1e-9
STARTS = ((1.0, 1.0), (100.0, 1.0), (100.0, 0.1))
"""C of the first fits, and gamma times the median squared distance."""
SCALES = np.geomspace(1.0, 16.0, 9)
"""Of these, in natural logarithms, the two that make the values and slopes most likely are the model's."""
VALUES, SLOPES = 1e-8, 1e-4
"""Variances, of those of the process, that the model need not explain."""
SHEAR = np.array([[1.0, 0.0], [1.0, 1.0]])
"""u = (log C, log gamma) SHEAR."""
LAST = 2
"""Fits at the end that go where the mean is least."""


class ValidationLoss:
    """The mean logistic loss of a machine with a Gaussian kernel on other samples, and its gradient.

    Parameters
    ----------
    X, X_validation : array_like, shapes (samples, features)
    y, y_validation : array_like
        Labels -1 and 1.

    Attributes
    ----------
    fits : int
        Machines that were fitted.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> loss = ValidationLoss(X, y, X + 0.2, y)
    >>> value, slope = loss(np.log([1.0, 0.5]))
    >>> near = [loss(np.log([1.0, 0.5]) + step)[0] for step in ([0.0, 1e-4], [0.0, -1e-4])]
    >>> print(abs((near[0] - near[1]) / 2e-4 - slope[1]) < 1e-6, loss.fits)
    True 3
    """

    def __init__(self, X: Any, y: Any, X_validation: Any, y_validation: Any) -> None:
        X, X_validation = np.asarray(X, np.float64), np.asarray(X_validation, np.float64)
        self.y, self.y_validation = np.asarray(y, np.float64), np.asarray(y_validation, np.float64)
        for name, labels in (("y", self.y), ("y_validation", self.y_validation)):
            if not np.isin(labels, (-1.0, 1.0)).all():
                raise qp.ProgramError(f"{name} must be labels -1 and 1, but {np.unique(labels)[:5].tolist()} came")
        self.distances, self.others = _distances(X, X), _distances(X_validation, X)
        self.fits = 0

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """(loss, its gradient) at (log C, log gamma)."""
        (C, gamma), y = np.exp(parameters), self.y
        K, K_validation = np.exp(-gamma * self.distances), np.exp(-gamma * self.others)
        solution = qp.solve(
            y[:, None] * K * y, np.full(y.size, -1.0), A=y[None, :], l=0.0, u=0.0, lb=0.0, ub=C, tol=TOL
        )
        self.fits += 1
        if solution.status is not qp.Status.OPTIMAL:
            raise qp.ProgramError(f"no machine at C = {C:g}, gamma = {gamma:g}: status {solution.status.value!r}")
        coefficients = solution.x * y
        margins = self.y_validation * (K_validation @ coefficients + solution.y[0])
        g = -self.y_validation / (1.0 + np.exp(np.minimum(margins, 500.0))) / margins.size
        by = solution.vjp(dx=y * (g @ K_validation), dy=[g.sum()])
        by_gamma = (
            -np.sum(by.P * (y[:, None] * (self.distances * K) * y)) - g @ (self.others * K_validation) @ coefficients
        )
        slope = np.array([C * by.ub.sum(), gamma * by_gamma])
        return float(np.mean(np.logaddexp(0.0, -margins))), slope


@dataclass(frozen=True)
class Choice:
    """C and gamma that were chosen.

    Attributes
    ----------
    C, gamma, loss : float
    trace : list of (float, float, float)
        (C, gamma, loss) of every fit.
    """

    C: float
    gamma: float
    loss: float
    trace: list[tuple[float, float, float]]


def choose_parameters(
    loss: ValidationLoss,
    C: tuple[float, float] = (1e-2, 1e3),
    gamma: tuple[float, float] = (1e-3, 1e2),
    fits: int = 15,
) -> Choice:
    """C and gamma of the least validation loss that so many fits find.

    The loss has several valleys: a model of it says where the next fit promises most.  Fits at the end go to the
    least of the model.

    Parameters
    ----------
    loss : ValidationLoss
    C, gamma : pair of float
        Least and largest, as of a grid.
    fits : int, default 15

    Returns
    -------
    Choice

    Raises
    ------
    ProgramError
        A range is not two positive numbers in order.
    ValueError
        `fits` is not a whole number of at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = np.where((X**2).sum(axis=1) + rng.normal(size=80) > 2.0, 1.0, -1.0)
    >>> found = choose_parameters(ValidationLoss(X[:40], y[:40], X[40:], y[40:]), fits=6)
    >>> print(len(found.trace), found.loss == min(loss for _, _, loss in found.trace), found.loss < np.log(2.0))
    6 True True
    """
    check_number("fits", fits, low=1, whole=True)
    low, high = np.log([_range("C", C), _range("gamma", gamma)]).T
    unit = 1.0 / max(float(np.median(loss.distances)), np.finfo(float).tiny)
    points = [np.clip(np.log([factor, share * unit]), low, high) for factor, share in STARTS[:fits]]
    found = [loss(point) for point in points]
    while len(found) < fits:
        values, slopes = np.array([value for value, _ in found]), np.array([slope for _, slope in found])
        model = LossModel(np.array(points), values, slopes)
        score = model.fall if len(found) < fits - LAST else lambda at, model=model: -model(at)[0]
        points.append(_largest(score, low, high, points[int(values.argmin())]))
        found.append(loss(points[-1]))
    trace = [(float(C), float(gamma), value) for (C, gamma), (value, _) in zip(np.exp(points), found)]
    return Choice(*min(trace, key=lambda one: one[2]), trace)


class LossModel:
    """The Gaussian process of the loss, given its values and slopes at some points.

    Parameters
    ----------
    points, slopes : array, shape (fits, 2)
    values : array, shape (fits,)

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [2.0, 1.0]])
    >>> model = LossModel(points, points[:, 0] ** 2, 2.0 * points * [1.0, 0.0])
    >>> mean, deviation = model(np.array([[0.0, 0.0], [1.0, 0.5]]))
    >>> print(abs(mean[0]) < 1e-6, deviation[0] < 1e-3 < deviation[1], 0.0 < mean[1] < 4.0)
    True True True
    """

    def __init__(self, points: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> None:
        count = values.size
        ones, self.least, likelihood = np.repeat([1.0, 0.0], [count, 2 * count]), values.min(), -np.inf
        noise = np.where(ones > 0.0, VALUES, SLOPES)
        u, slopes = points @ SHEAR, np.linalg.solve(SHEAR, slopes.T).T
        for scales in np.stack(np.meshgrid(SCALES, SCALES), axis=-1).reshape(-1, 2):
            at, data = u / scales, np.concatenate([values, (slopes * scales).T.ravel()])
            try:
                factor = cho_factor(_covariance(at, at) + np.diag(noise), lower=True)
            except LinAlgError:
                continue
            by_ones = cho_solve(factor, ones)
            mean = by_ones @ data / (by_ones @ ones)
            weights = cho_solve(factor, data - mean * ones)
            variance = max(float((data - mean * ones) @ weights) / data.size, np.finfo(float).tiny)
            # minus half the logarithm of the determinant, and of the data's change of scales
            found = count * np.log(scales).sum() - np.log(np.diag(factor[0])).sum() - 0.5 * data.size * np.log(variance)
            if found > likelihood:
                likelihood, self.scales, self.at, self.factor = found, scales, at, factor
                self.mean, self.weights, self.variance = mean, weights, variance

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(mean, standard deviation) of the loss at points, shapes (points,)."""
        across = _covariance(points @ SHEAR / self.scales, self.at)[: len(points)]
        explained = solve_triangular(self.factor[0], across.T, lower=True)
        left = np.maximum(1.0 - np.einsum("ij,ij->j", explained, explained), VALUES**2)
        return self.mean + across @ self.weights, np.sqrt(self.variance * left)

    def fall(self, points: np.ndarray) -> np.ndarray:
        """The expected fall below the least loss so far, shape (points,)."""
        mean, deviation = self(points)
        t = (self.least - mean) / deviation
        return deviation * (t * ndtr(t) + np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi))


def _covariance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Of (values, first derivatives, second) at the rows of A with those at B, shape (3 rows of A, 3 rows of B)."""
    d = np.moveaxis(A[:, None] - B, 2, 0)
    r = np.sqrt(3.0) * np.sqrt(np.einsum("kij,kij->ij", d, d))
    e, K = np.exp(-r), np.empty((3, len(A), 3, len(B)))
    K[0, :, 0] = (1.0 + r) * e
    K[0, :, 1:] = 3.0 * np.moveaxis(e * d, 0, 1)
    K[1:, :, 0] = -3.0 * e * d
    K[1:, :, 1:] = np.einsum("ij,kij,lij->kilj", -9.0 * e / np.maximum(r, 1e-9), d, d)
    K[1, :, 1] += 3.0 * e
    K[2, :, 2] += 3.0 * e
    return K.reshape(3 * len(A), 3 * len(B))


def _largest(score: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, best: np.ndarray) -> Any:
    """Where the score is largest: of a lattice on the box and a fine one around the best point, then of finer ones."""

    def lattice(center: np.ndarray, half: np.ndarray, count: int) -> np.ndarray:
        sides = np.linspace(center - half, center + half, count).T
        return np.clip(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2), low, high)

    half = 0.5 * (high - low)
    candidates = np.vstack([lattice(low + half, half, 41), lattice(best, half / 20.0, 11)])
    for zoom in range(6):
        center = candidates[int(np.argmax(score(candidates)))]
        candidates = lattice(center, half / (20.0 * 3.0**zoom), 9)
    return center


def _range(name: str, ends: Any) -> np.ndarray:
    """The two ends of a parameter's range."""
    found = np.asarray(ends)
    if found.shape != (2,) or found.dtype.kind not in "iuf" or not 0.0 < found[0] <= found[1] < np.inf:
        raise qp.ProgramError(f"{name} must be two positive numbers, the least first, but {ends!r} came")
    return found.astype(np.float64)


def _distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances between rows."""
    found: np.ndarray = np.maximum(squares(A)[:, None] + squares(B) - 2.0 * A @ B.T, 0.0)
    return found
