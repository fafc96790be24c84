r"""C and gamma of a support vector machine by the gradient of its validation loss, compared with a grid of 400 fits.

The machine f(x) = sum_j alpha_j y_j k(x_j, x) + b is the answer to a quadratic program with P = (y y') o K(gamma) and
the upper bounds C; b is the multiplier of its row.  So the mean logistic loss L of other samples has a derivative by
the logarithms of C and gamma, at the cost of one more solve (`qp.Solution.vjp`):

    dL/dlog C = C sum_i dL/dub_i
    dL/dlog gamma = gamma ( <dL/dP, (y y') o dK/dgamma> + g'(dK_val/dgamma) (alpha o y) ),     dK/dgamma = -d^2 o K

with g = dL/df at the other samples and d their distances.  Where a sample enters or leaves a bound L has a kink, and
the derivative is one-sided.

Each fit gives three numbers, so that a few fits suffice.  The search models L as a Gaussian process on
u = (log C + log gamma, log gamma), since for small gamma only C gamma counts (Keerthi and Lin), with a constant mean
and, because of the kinks, the Matern covariance of order 3/2, whose draws have one derivative.  With
d = (u - v) / scales and r = |d|,

    cov(L(u), L(v)) = (1 + sqrt(3) r) e,     e = exp(-sqrt(3) r)
    cov(L(u), L'(v)) = -cov(L'(u), L(v)) = 3 e d,     cov(L'(u), L'(v)) = 3 e (I - sqrt(3) d d' / r)

for derivatives by u / scales.  Given values and slopes L is normal at each point, with mean m and deviation s.  The
next fit is where the expected improvement over the least loss so far is largest:

    EI = s (t Phi(t) + phi(t)),     t = (least - m) / s.
"""

from collections import namedtuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.special import ndtr

import qp

TOL = 1e-9
STARTS = ((1.0, 1.0), (100.0, 1.0), (100.0, 0.1))
"""Pairs of the first fits: C, and gamma times the median squared distance."""
SCALES = np.geomspace(1.0, 16.0, 9)
"""Candidate length scales in log C and log gamma; the pair of largest likelihood is used."""
VALUES, SLOPES = 1e-8, 1e-4
"""Noise variances relative to the variance of the process."""
SHEAR = np.array([[1.0, 0.0], [1.0, 1.0]])
"""u = (log C, log gamma) SHEAR."""
LAST = 2
"""Number of fits at the end that minimize the mean."""
GRID = np.logspace(-2, 3, 20), np.logspace(-3, 2, 20)

Choice = namedtuple("Choice", "C gamma loss trace")
"""The chosen C and gamma, their loss, and (C, gamma, loss) of every fit."""


class ValidationLoss:
    """Mean logistic loss of a machine with a Gaussian kernel on other samples, with labels -1 and 1."""

    def __init__(self, X, y, X_validation, y_validation):
        self.y, self.y_validation = y, y_validation
        self.distances, self.others = distances(X, X), distances(X_validation, X)
        self.fits = 0

    def __call__(self, parameters):
        """Return (loss, its gradient) at (log C, log gamma)."""
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


def choose_parameters(loss, C=(1e-2, 1e3), gamma=(1e-3, 1e2), fits=15):
    """Return the C and gamma, each in a range, with the least validation loss of `fits` fits.

    The loss has several valleys: a model of it chooses the point of the next fit.  The last fits are at the minimum of
    the model's mean.
    """
    low, high = np.log([C, gamma]).T
    unit = 1.0 / max(float(np.median(loss.distances)), np.finfo(float).tiny)
    points = [np.clip(np.log([factor, share * unit]), low, high) for factor, share in STARTS[:fits]]
    found = [loss(point) for point in points]
    while len(found) < fits:
        values, slopes = np.array([value for value, _ in found]), np.array([slope for _, slope in found])
        model = LossModel(np.array(points), values, slopes)
        score = model.fall if len(found) < fits - LAST else lambda at, model=model: -model(at)[0]
        points.append(largest(score, low, high, points[int(values.argmin())]))
        found.append(loss(points[-1]))
    trace = [(float(C), float(gamma), value) for (C, gamma), (value, _) in zip(np.exp(points), found)]
    return Choice(*min(trace, key=lambda one: one[2]), trace)


class LossModel:
    """Gaussian process of the loss, given its values and slopes at some points."""

    def __init__(self, points, values, slopes):
        count = values.size
        ones, self.least, likelihood = np.repeat([1.0, 0.0], [count, 2 * count]), values.min(), -np.inf
        noise = np.where(ones > 0.0, VALUES, SLOPES)
        u, slopes = points @ SHEAR, np.linalg.solve(SHEAR, slopes.T).T
        for scales in np.stack(np.meshgrid(SCALES, SCALES), axis=-1).reshape(-1, 2):
            at, data = u / scales, np.concatenate([values, (slopes * scales).T.ravel()])
            try:
                factor = cho_factor(covariance(at, at) + np.diag(noise), lower=True)
            except LinAlgError:
                continue
            by_ones = cho_solve(factor, ones)
            mean = by_ones @ data / (by_ones @ ones)
            weights = cho_solve(factor, data - mean * ones)
            variance = max(float((data - mean * ones) @ weights) / data.size, np.finfo(float).tiny)
            # The log-likelihood without constants: -1/2 log det, and the Jacobian of the scaled slopes.
            found = count * np.log(scales).sum() - np.log(np.diag(factor[0])).sum() - 0.5 * data.size * np.log(variance)
            if found > likelihood:
                likelihood, self.scales, self.at, self.factor = found, scales, at, factor
                self.mean, self.weights, self.variance = mean, weights, variance

    def __call__(self, points):
        """Return the mean and standard deviation of the loss at `points`, shapes (points,)."""
        across = covariance(points @ SHEAR / self.scales, self.at)[: len(points)]
        explained = solve_triangular(self.factor[0], across.T, lower=True)
        left = np.maximum(1.0 - np.einsum("ij,ij->j", explained, explained), VALUES**2)
        return self.mean + across @ self.weights, np.sqrt(self.variance * left)

    def fall(self, points):
        """Return the expected improvement over the least loss so far, shape (points,)."""
        mean, deviation = self(points)
        t = (self.least - mean) / deviation
        return deviation * (t * ndtr(t) + np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi))


def covariance(A, B):
    """Return the covariance of (L, dL/du_1, dL/du_2) at the rows of A and of B, shape (3 rows of A, 3 rows of B)."""
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


def largest(score, low, high, best):
    """Return the point of the largest score on a lattice and on a fine one around `best`, refined six times."""

    def lattice(center, half, count):
        sides = np.linspace(center - half, center + half, count).T
        return np.clip(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2), low, high)

    half = 0.5 * (high - low)
    candidates = np.vstack([lattice(low + half, half, 41), lattice(best, half / 20.0, 11)])
    for zoom in range(6):
        center = candidates[int(np.argmax(score(candidates)))]
        candidates = lattice(center, half / (20.0 * 3.0**zoom), 9)
    return center


def distances(A, B):
    """Return the squared distances between the rows of A and of B."""
    return np.maximum((A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T, 0.0)


def arcs(rng, count):
    """Draw `count` noisy samples of two interleaved half circles; return them and their labels."""
    y = np.repeat([-1.0, 1.0], count // 2)
    angle = np.pi * rng.random(y.size)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * -y[:, None] + (y > 0)[:, None] * np.array([1.0, 0.5])
    return X + 0.3 * rng.normal(size=X.shape), y


def main():
    rng = np.random.default_rng(0)
    loss = ValidationLoss(*arcs(rng, 150), *arcs(rng, 150))
    found = choose_parameters(loss, C=(1e-2, 1e3), gamma=(1e-3, 1e2), fits=15)
    for C, gamma, value in found.trace:
        print(f"C = {C:9.3f}   gamma = {gamma:7.4f}   validation loss {value:.5f}")
    best = min(loss(np.log([C, gamma]))[0] for C in GRID[0] for gamma in GRID[1])
    print(f"{len(found.trace)} fits: {found.loss:.5f}; a grid of {GRID[0].size * GRID[1].size} fits: {best:.5f}")
    return found, best


if __name__ == "__main__":
    main()
