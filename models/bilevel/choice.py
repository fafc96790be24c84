"""Cross-validation of how much the bilevel classifier believes its prior and its explanations.

The samples alone (C_2 = 0, a support vector machine), the prior alone (C_1 = 0, its own hyperplane), perfect
explanations and none of them are candidates, so that the choice loses little to the best of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from socp import ProgramError

from ..programs.bilevel import Constants, Samples
from .prior import GenerativePrior

SHARES = (0.9, 0.6, 0.3)  # candidates of beta, relative to the prior's largest beta; of equally good ones the first
PRICES = (3.0, 30.0, 0.5)  # candidates of C2
UNBOUND = 0.2  # beta without a prior, or if the prior's largest beta is zero or infinite


class Choice(NamedTuple):
    """A candidate: constants, and the price of explanations; C1 = 0 is the prior alone, C2 = 0 the samples alone."""

    constants: Constants
    Q: float


def candidates(
    given: Constants, is_open: tuple[bool, bool, bool], prior: GenerativePrior, has_prior: bool, is_told: bool
) -> list[Choice]:
    """Return the candidates, the usual one first; `is_open` says which of beta, C2 and Q are to be chosen.

    Without a prior of the user's beta and C2 have one candidate, without explanations Q has one.
    """
    beta_open, C2_open, Q_open = is_open
    largest = prior.largest_beta() if has_prior and beta_open else 0.0
    bounded = 0.0 < largest < math.inf
    betas: Sequence[Any] = [share * largest for share in SHARES] if bounded else [UNBOUND]
    beta_tried = betas if beta_open else [given.beta]
    C2_tried: Sequence[float] = (PRICES if has_prior else PRICES[:1]) if C2_open else [given.C2]
    unit = given.C1 if math.isfinite(given.C1) else 1.0
    Q_tried = [unit, math.inf, 0.0] if Q_open else [math.nan]
    Q_tried = Q_tried if is_told else [0.0]
    found = [Choice(replace(given, beta=beta, C2=C2), Q) for Q, C2, beta in product(Q_tried, C2_tried, beta_tried)]
    if has_prior and (beta_open or C2_open):
        if prior.t[0].tolist() != prior.t[1].tolist():
            found.append(Choice(replace(found[0].constants, C1=0.0), 0.0))
        found += [Choice(replace(found[0].constants, C2=0.0), Q) for Q in Q_tried]
    return found


def held_out_scores(
    decide: Callable[[Samples, Choice, Any], np.ndarray], samples: Samples, owner: np.ndarray,
    choices: list[Choice], folds: list[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:  # fmt: skip
    """Return the weighted share of right answers on held-out samples, shape (choices, folds).

    `decide` returns decision values of held-out rows; `owner` holds the sample of every explanation.
    """
    found = np.zeros((len(choices), len(folds)))
    for f, (train, test) in enumerate(folds):
        part = of_rows(samples, owner, train)
        for c, choice in enumerate(choices):
            try:
                values = decide(part, choice, samples.X[test])
            except ProgramError:
                continue  # hard constraints that cannot hold have no right answers
            right = (values > 0.0) == (samples.y[test] > 0.0)
            found[c, f] = np.average(right, weights=samples.weights[test])
    return found


def of_rows(samples: Samples, owner: np.ndarray, rows: np.ndarray) -> Samples:
    """Return some of the samples with their explanations."""
    X, y, weights = samples.X[rows], samples.y[rows], samples.weights[rows]
    if samples.D is None:
        return Samples(X, y, weights)
    own = np.flatnonzero(np.isin(owner, rows))
    return Samples(X, y, weights, samples.D[own], samples.Q[own]) if own.size else Samples(X, y, weights)


def priced(samples: Samples, Q: float) -> Samples:
    """Return the samples with the prices Q times the weights of their explanations; none if Q is 0."""
    if samples.D is None or Q == 0.0:
        return replace(samples, D=None, Q=None)
    return replace(samples, Q=Q * samples.Q)
