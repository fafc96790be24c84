"""Bounds of the error of the explanation-augmented support vector machine (Sun and DeJong 2005, section 3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.bounds import Bound, large_margin_dimension, margin_error
from ..base.validation import check_number
from .estimator import ExplanationAugmentedSVC
from .given import explained_examples


def parallel_error(m: int, gamma: float, explained_radius: float, delta: float) -> Bound:
    r"""Return the bound of Theorem 3 of Sun and DeJong: the error of a hyperplane that obeys its explanations.

    h = floor(64.5 R_V^2 / gamma^2) in `margin_error`, with R_V the radius of a ball around zero that holds all
    explained examples; ||u|| = 1.  The parallel constraints f(x) = f(v) must hold; see `large_margin_dimension`.

    Examples
    --------
    >>> parallel_error(10**7, gamma=1.0, explained_radius=2.0, delta=0.05).dimension
    258
    """
    return margin_error(m, math.floor(64.5 * large_margin_dimension(gamma, explained_radius)), delta)


def best_embedding(explained_radius: float, deviation: float) -> float:
    """Return sqrt(R_V D), the Delta that minimizes (R_V^2 + Delta^2) (1 + D^2 / Delta^2), to (R_V + D)^2.

    Section 3.4 of Sun and DeJong prints R for R_V.  The corresponding confidence is Q = 1 / (2 Delta^2), printed once
    as C.

    Examples
    --------
    >>> best_embedding(2.0, 0.5)
    1.0
    """
    check_number("explained_radius", explained_radius, low=0.0, open_low=True)
    return math.sqrt(explained_radius * check_number("deviation", deviation, low=0.0))


def explained_error(
    m: int, gamma: float, explained_radius: float, deviation: float, delta: float, Delta: Any = None
) -> Bound:
    r"""Return the bound of Theorem 4 of Sun and DeJong: the error of a hyperplane that nearly obeys its explanations.

    .. math:: h = \Bigl\lfloor \frac{64.5\, (R_V^2 + \Delta^2) (1 + D^2 / \Delta^2)}{\gamma^2} \Bigr\rfloor,
              \qquad D = \sqrt{\sum_i (u^\top (x_i - v_i))^2}

    Parameters
    ----------
    m, gamma, explained_radius, delta
        As in `parallel_error`.
    deviation : float
        D, for ||u|| = 1.
    Delta : float or array_like, optional
        The theorem fixes Delta before the sample is drawn.  Several values, fixed before, share delta equally, and the
        best is taken.  The default is `best_embedding`, which depends on D and so on the sample: the number of
        section 3.4, but not a bound that the theorem proves; `details` says which.

    Examples
    --------
    >>> explained_error(10**7, 1.0, 2.0, 0.5, 0.05).dimension, math.floor(64.5 * (2.0 + 0.5) ** 2)
    (403, 403)
    >>> explained_error(10**7, 1.0, 2.0, 0.5, 0.05, Delta=[0.5, 1.0, 2.0]).details
    {'Delta': 1.0, 'fixed before': True}
    """
    check_number("gamma", gamma, low=0.0, open_low=True)
    best = best_embedding(explained_radius, deviation)
    values = np.array([best]) if Delta is None else np.atleast_1d(np.asarray(Delta, dtype=np.float64))
    if Delta is not None:
        for value in values:
            check_number("Delta", value, low=0.0, open_low=True)
    found = []
    for value in values:
        stretched = (1.0 + (deviation / value) ** 2) if deviation > 0.0 else 1.0
        dimension = math.floor(64.5 * (explained_radius**2 + value**2) * stretched / gamma**2)
        bound = margin_error(m, dimension, delta / values.size)
        details = {"Delta": float(value), "fixed before": Delta is not None}
        found.append(Bound(bound.value, bound.dimension, bound.failing, details))
    return min(found, key=lambda bound: (bound.value, bound.dimension))


def error_bound(
    machine: ExplanationAugmentedSVC, X: Any, y: Any, explanations: Any = None, delta: float = 0.05, Delta: Any = None
) -> Bound:
    """Return Theorem 4 for a fitted machine of two classes: `explained_error` with quantities of its samples.

    With u = w / |w|: gamma is the smallest y_i (u'phi(x_i) + b / |w|), R_V the largest |phi(v)| over all explained
    examples and all samples without explanation, D the root of the sum of all (u'(phi(x_i) - phi(v_j)))^2.

    X, y and `explanations` are the arguments of `fit`, with unit weights; `delta` and `Delta` as in `explained_error`.
    The details hold gamma, R_V, D and R, the largest |phi(x)|; the bound is infinite if a sample is on the wrong side.

    Examples
    --------
    >>> from models import ExplanationAugmentedSVC
    >>> X, y = np.array([[1.0, 9.0], [2.0, -9.0], [-1.0, 9.0], [-2.0, -9.0]]), [1, 1, 0, 0]
    >>> mask = np.array([True, False])
    >>> machine = ExplanationAugmentedSVC(C=np.inf, Q=np.inf).fit(X, y, explanations=mask)
    >>> details = error_bound(machine, X, y, mask).details
    >>> [round(details[name], 6) for name in ("gamma", "R_V", "D", "R")]
    [1.0, 2.0, 0.0, 9.219544]
    """
    if machine.classes_.size != 2:
        raise ValueError(f"machine must have two classes, but it has {machine.classes_.size}")
    samples = machine._matrix_to_predict(X)
    labels = np.asarray(y)
    if labels.shape != (samples.shape[0],) or not np.isin(labels, machine.classes_).all():
        raise ValueError(f"y must hold a label of {machine.classes_.tolist()} for each of {samples.shape[0]} samples")
    given = machine.explain if explanations is None else explanations
    V, owner = explained_examples(given, samples, y, machine.kernel_.absent)
    if not np.array_equal(owner, machine.owner_):
        raise ValueError("explanations must be those of fit, but other samples are explained")
    length = 1.0 / float(machine.margin_[0])
    if length == 0.0:
        return Bound(math.inf, math.inf, ("w must not be zero",))
    signs = np.where(labels == machine.classes_[1], 1.0, -1.0)
    gamma = float((signs * machine.decision_function(X)).min()) / length
    others = samples[np.setdiff1d(np.arange(samples.shape[0]), owner)]
    both = sp.vstack([V, others], format="csr") if sp.issparse(samples) else np.vstack([V, others])
    lengths = [math.sqrt(max(machine.kernel_(rows[[i]], rows[[i]])[0, 0] for i in range(rows.shape[0])))
               for rows in (both, samples)]  # fmt: skip
    deviation = float(np.linalg.norm(machine.deviation_[0])) / length
    details = {"gamma": gamma, "R_V": lengths[0], "D": deviation, "R": lengths[1]}
    if gamma <= 0.0:
        sentence = f"all samples must be on their side, but one has y f(x) / |w| = {gamma:.3g}"
        return Bound(math.inf, math.inf, (sentence,), details)
    found = explained_error(samples.shape[0], gamma, lengths[0], deviation, delta, Delta)
    return Bound(found.value, found.dimension, found.failing, {**found.details, **details})
