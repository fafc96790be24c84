"""Random problems of the bilevel classifier, in every form of its covariances and constants."""

from __future__ import annotations

import math

import numpy as np

from models import BilevelClassifier
from models.bilevel.prior import GenerativePrior
from models.programs.bilevel import Constants, Samples

SIGMAS = ("identity", "scalars", "diagonal", "groups", "full", "one full", "zero")
OMEGAS = ("scalar", "diagonal", "zeros", "full")


def covariance(rng, n, kind):
    factor = rng.normal(size=(n, n)) / np.sqrt(n)
    return {
        "identity": 1.0, "scalars": rng.uniform(0.3, 2.0), "scalar": 0.5, "zero": 0.0,
        "diagonal": rng.uniform(0.2, 2.0, n), "zeros": rng.uniform(0.2, 2.0, n) * (np.arange(n) % 2),
        "groups": np.where(np.arange(n) % 3 == 0, 0.5, 1.5), "full": factor @ factor.T + 0.1 * np.eye(n),
    }[kind]  # fmt: skip


def random_problem(seed, samples=8, n=6, sigma=None, omega=None, constants=None, apart=1.5):
    """Return (samples, prior, constants); `apart` scales the distance of the classes and of the prior's means."""
    rng = np.random.default_rng(seed)
    sigma = sigma or SIGMAS[seed % len(SIGMAS)]
    omega = omega or OMEGAS[(seed // len(SIGMAS)) % len(OMEGAS)]
    y = np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)
    direction = rng.normal(size=n) / np.sqrt(n)
    X = rng.normal(size=(samples, n)) + apart * y[:, None] * direction
    t = [side * direction + 0.5 * rng.normal(size=n) for side in (-1.0, 1.0)]
    if sigma == "one full":
        shared = covariance(rng, n, "full")
        Sigma = (shared, shared)
    else:
        Sigma = (covariance(rng, n, sigma), covariance(rng, n, sigma))
    prior = GenerativePrior(t, (covariance(rng, n, omega), covariance(rng, n, omega)), Sigma)
    if constants is None:
        constants = Constants(
            beta=rng.uniform(0.1, 1.5), phi=rng.uniform(0.0, 1.0), C1=rng.choice([0.1, 1.0, 10.0]),
            C2=rng.choice([0.1, 1.0, 10.0, math.inf]), C3=rng.choice([0.05, 0.5, math.inf]),
        )  # fmt: skip
    return Samples(X, y, rng.uniform(0.5, 2.0, samples)), prior, constants


def bilevel(prior, beta, phi, C1=1.0, C2=1.0, C3=np.inf, **more):
    """Return a `BilevelClassifier` with its constants in the order of (4.17)."""
    return BilevelClassifier(prior, beta, phi=phi, C1=C1, C2=C2, C3=C3, **more)
