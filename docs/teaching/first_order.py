"""Linear classifiers by first-order methods: the perceptron, and sub-gradient descent on the hinge loss.

    perceptron   sum_n max(0, gamma - y_n w'x_n)
    hinge        f(w) = 1/2 |w|^2 + C sum_n max(0, 1 - y_n w'x_n)

An intercept b is the weight of a feature that is always one.
"""

from __future__ import annotations

import numpy as np

from models import SVC

PATIENCE = 30  # steps without an improvement by delta / 4 after which the target improvement delta is halved


def perceptron(
    X: np.ndarray, y: np.ndarray, margin: float = 0.0, max_passes: int = 1000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return w and the number of mistakes on each sample: w = sum_n mistakes_n y_n x_n.

    Sub-gradient steps of length 1, one sample at a time in random orders: where y_n w'x_n <= gamma, w := w + y_n x_n.
    (In the lecture a mistake is a strict inequality, under which w = 0 would never change.)  The method ends after a
    pass without a mistake, or after `max_passes` passes if the classes overlap.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    >>> perceptron(X, y)[0], round(mistake_bound(X, y), 6)
    (array([ 1., -1.]), 2.0)
    """
    rng, w, mistakes = np.random.default_rng(seed), np.zeros(X.shape[1]), np.zeros(y.size, dtype=int)
    for _ in range(max_passes):
        before = mistakes.sum()
        for n in rng.permutation(y.size):
            if y[n] * (X[n] @ w) <= margin:
                w += y[n] * X[n]
                mistakes[n] += 1
        if mistakes.sum() == before:
            break
    return w, mistakes


def mistake_bound(X: np.ndarray, y: np.ndarray, margin: float = 0.0) -> float:
    """Return (R^2 + 2 gamma) |w*|^2, the bound of Block and Novikoff on the number of mistakes; inf if classes overlap.

    R is the norm of the longest sample, w* the shortest w with all y_n w'x_n >= 1.  A mistake adds at least 1 to
    w'w*, and at most R^2 + 2 gamma to |w|^2: M mistakes have M <= w'w* <= |w| |w*| <= sqrt(M (R^2 + 2 gamma)) |w*|.
    """
    try:
        largest = SVC(C=np.inf, kernel="linear", fit_intercept=False).fit(X, y).margin_[0]
    except ValueError:  # no hyperplane separates the classes
        return float("inf")
    return float(((X**2).sum(axis=1).max() + 2.0 * margin) / largest**2)


def hinge(w: np.ndarray, X: np.ndarray, y: np.ndarray, C: float) -> tuple[float, np.ndarray]:
    """Return f(w) and a sub-gradient, w - C sum y_n x_n over the samples with y_n w'x_n < 1."""
    slack = np.maximum(1.0 - y * (X @ w), 0.0)
    return float(0.5 * w @ w + C * slack.sum()), w - C * ((slack > 0.0) * y) @ X


def descend(
    X: np.ndarray, y: np.ndarray, C: float, max_steps: int = 10_000, tol: float = 1e-6
) -> tuple[np.ndarray, list[float]]:
    """Return the best w of sub-gradient descent with all samples at each step, and f at every step.

    The steps follow Polyak: with a target delta below the best f so far, (f - target) / |d|^2 along -d.  delta is
    halved if `PATIENCE` steps have not improved f by delta / 4, until it is at most `tol` times f.  d := g + (|g| /
    |d|) d bisects the angle between sub-gradient and previous direction (Sherali and Ulular 1989).  f may increase.

    Examples
    --------
    >>> X, y = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 1.0]]), np.array([-1.0, 1.0, 1.0])
    >>> descend(X, y, C=10.0)[0].round(3)
    array([ 1., -1.])
    """
    w, d, best = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    values: list[float] = []
    least, delta, waited = np.inf, np.inf, 0
    while len(values) < max_steps:
        f, g = hinge(w, X, y, C)
        values.append(f)
        waited += 1
        if f < least:
            waited = 0 if f <= least - 0.25 * delta else waited
            best, least, delta = w, f, min(delta, 0.5 * f)
        if waited > PATIENCE:
            w, delta, waited = best, 0.5 * delta, 0
            if delta <= tol * least:
                break
        elif (length := np.linalg.norm(g)) > 0.0:
            d = g + (length / np.linalg.norm(d) if d.any() else 0.0) * d
            w = w - (f - least + delta) / (d @ d) * d if d.any() else w
        else:
            break
    return best, values


def pegasos(X: np.ndarray, y: np.ndarray, C: float, passes: int = 20, seed: int = 0) -> np.ndarray:
    """Return the mean of w over the second half of the steps, each on one sample (Shalev-Shwartz and others 2007).

    Step t has the length 1 / t; with m samples  w := (1 - 1/t) w + m / t C [y_n w'x_n < 1] y_n x_n.
    """
    rng, m = np.random.default_rng(seed), y.size
    w, total, t = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0
    for _ in range(passes):
        for n in rng.permutation(m):
            t += 1
            violated = y[n] * (X[n] @ w) < 1.0
            w = (1.0 - 1.0 / t) * w + m / t * C * violated * y[n] * X[n]
            total += w if 2 * t > passes * m else 0.0
    return total / (passes * m - passes * m // 2)
