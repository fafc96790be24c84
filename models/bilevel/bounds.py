"""Bounds of dimension and error for the bilevel classifier and the explanation-augmented support vector machine.

Epshteyn and DeJong 2006, section 6 and appendix B; Sun and DeJong 2005, section 3.  Fat-shattering dimension: the size
of the largest set of points that a class of functions labels in every way with the margin gamma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.validation import check_number
from .prior import GenerativePrior

HALF = 1.0 / math.sqrt(2.0)


@dataclass(frozen=True)
class Bound:
    """A bound, and which of its theorem's assumptions fail.

    Attributes
    ----------
    value : float
        Infinite where an assumption fails; a bound of an error that is one or more says nothing.
    dimension : float
        The bound of the fat-shattering dimension that is in it.
    failing : tuple of str
        A sentence for every assumption that fails.
    details : dict
        The theorem's own quantities.

    Examples
    --------
    >>> bound = Bound(math.inf, 9.0, ("h = 9 must be at most e m = 5.44",))
    >>> print(bound.holds, bound)
    False inf: h = 9 must be at most e m = 5.44
    """

    value: float
    dimension: float
    failing: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether no assumption fails."""
        return not self.failing

    def __str__(self) -> str:
        return ": ".join([f"{self.value:.6g}", *(["; ".join(self.failing)] if self.failing else [])])


def large_margin_dimension(gamma: float, radius: float, norm: float = 1.0) -> float:
    """(B R / gamma)^2 for x -> w'x with ||w|| <= B and ||x|| <= R.

    Theorem 2 of Sun and DeJong is the same with R_V, the radius of the *explained* examples, for functions that give
    every x of the domain the value of its explained v.  The theorem asks this of the sample only; its proof, which
    replaces each x by v, needs it of every point that is shattered.

    Examples
    --------
    >>> large_margin_dimension(gamma=0.5, radius=2.0)
    16.0
    """
    for name, value in (("gamma", gamma), ("radius", radius), ("norm", norm)):
        check_number(name, value, low=0.0, open_low=True)
    return (norm * radius / gamma) ** 2


def margin_error(m: int, dimension: float, delta: float) -> Bound:
    r"""The error of a classifier without training errors at its margin, with probability 1 - delta.

    .. math:: \epsilon(m, h, \delta) = \frac{2}{m} \Bigl(h \log_2 \frac{8 e m}{h} \log_2 (32 m)
              + \log_2 \frac{8 m}{\delta}\Bigr), \qquad h \le e m

    Corollary 6.3 of Epshteyn and DeJong (whose logarithms, without a base, are of base 2 in the theorem that it quotes)
    and Theorems 3 and 4 of Sun and DeJong.

    Parameters
    ----------
    m : int
        Examples, drawn independently; all must be on their side by the margin.
    dimension : float
        h, the fat-shattering dimension at the margin's fraction that the theorem names.
    delta : float
        Between 0 and 1.

    Examples
    --------
    >>> print(margin_error(10**6, 20.0, 0.05))
    0.020052
    >>> margin_error(100, 1000.0, 0.05).holds
    False
    """
    m = check_number("m", m, low=1, whole=True)
    check_number("dimension", dimension, low=0.0)
    check_number("delta", delta, low=0.0, high=1.0, open_low=True)
    if dimension > math.e * m:
        return Bound(math.inf, dimension, (f"h = {dimension:.6g} must be at most e m = {math.e * m:.6g}",))
    growth = dimension * math.log2(8.0 * math.e * m / dimension) if dimension > 0.0 else 0.0
    return Bound(2.0 / m * (growth * math.log2(32.0 * m) + math.log2(8.0 * m / delta)), dimension)


def prior_dimension(
    prior: GenerativePrior, beta: float, phi: float, gamma: float, radius: float, means: Any = None
) -> Bound:
    r"""Theorem 6.2 of Epshteyn and DeJong: the fat-shattering dimension under a generative prior.

    For the functions x -> w'x with ||w|| = 1, ||x|| <= R (there is no b), and for both classes, with the sides
    s_1 = -1 and s_2 = 1, s_i w'mu_i >= beta ||Sigma_i^(1/2) w|| and ||Omega_i^(-1/2) (mu_i - t_i)|| <= phi:

    .. math::
        d \le \frac{4 R^2 \alpha^2 (1 - \alpha^2)}{\gamma^2}, \quad \alpha = \max(\alpha_1, \alpha_2), \quad
        \alpha_i = \min\Bigl(\frac{\sqrt{\lambda_{\min}(\Sigma_i)}\, \beta}{\|\mu_i\|},\;
                             1 - \frac{\tau_i}{\|t_i\|}\Bigr),
        \quad \tau_i = \varphi \sqrt{\lambda_{\max}(\Omega_i)}

    Where this departs from print, it follows the proof (appendix B):

    - sqrt(lambda_min) ||w|| <= ||Sigma^(1/2) w||, where the paper has lambda_min, the eigenvalue of Sigma itself, and
      Sigma_1 in both alpha_i; likewise for Omega.
    - Proposition B.2 gives (||t||^2 - tau^2) / (||t|| (tau + ||t||)) = 1 - tau / ||t||; the theorem prints other
      denominators, one in section 6 and one in appendix B.
    - mu_i is not given but free within phi, so ||mu_i|| is at most ||t_i|| + tau_i, which stands in its place unless
      `means` fixes it.
    - The assumption is tau_i <= ||t_i|| (appendix), not ||t_i|| >= ||mu_i|| (section 6); and alpha_i >= 1/sqrt(2) is
      needed of that class only whose bound is used.

    Parameters
    ----------
    prior : GenerativePrior
    beta, phi : float
        As in `BilevelClassifier`.
    gamma, radius : float
        The margin for ||w|| = 1, and R.
    means : array_like, shape (2, n), optional
        The means where they are fixed, such as ``means_``.

    Returns
    -------
    Bound
        With alpha_i and tau_i in its details.  Without the prior the bound is (R / gamma)^2.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-3.0, 0.0], [3.0, 0.0]), Omega=(0.01, 0.01))
    >>> print(prior_dimension(prior, beta=2.9, phi=0.1, gamma=0.5, radius=4.0))
    17.051
    >>> print(prior_dimension(prior, beta=1.0, phi=0.1, gamma=0.5, radius=4.0))
    inf: alpha = 0.332 must be at least 1/sqrt(2): the prior binds too little to beat (R / gamma)^2 = 64
    """
    check_number("beta", beta, low=0.0)
    check_number("phi", phi, low=0.0)
    plain = large_margin_dimension(gamma, radius)
    alphas, taus, failing = [], [], []
    for i in (0, 1):
        length = float(np.linalg.norm(prior.t[i]))
        tau = phi * math.sqrt(prior.Omega[i].extreme_eigenvalues()[1])
        reach = length + tau if means is None else float(np.linalg.norm(np.asarray(means, dtype=np.float64)[i]))
        taus.append(tau)
        if tau >= length:
            alphas.append(0.0)
            failing.append(
                f"the mean of class {i + 1} must be nearer to t than t to zero, but {tau:.4g} >= {length:.4g}"
            )
            continue
        aligned = math.sqrt(prior.Sigma[i].extreme_eigenvalues()[0]) * beta / reach if reach > 0.0 else math.inf
        if aligned > 1.0:
            failing.append(f"no w has s w'mu >= beta ||Sigma^(1/2) w|| for class {i + 1}: lower beta = {beta:g}")
        alphas.append(min(aligned, 1.0 - tau / length))
    alpha = max(alphas)
    details = {"alpha": alpha, "alphas": tuple(alphas), "tau": tuple(taus)}
    if alpha < HALF:
        too_little = f"the prior binds too little to beat (R / gamma)^2 = {plain:g}"
        failing.append(f"alpha = {alpha:.3g} must be at least 1/sqrt(2): {too_little}")
    elif not any("no w" in text for text in failing):
        failing.clear()  # the class whose alpha is used has what the proof needs of it
    dimension = plain * 4.0 * alpha**2 * (1.0 - alpha**2) if not failing else plain
    return Bound(math.inf if failing else dimension, dimension, tuple(failing), details)


def widest_rotation(alpha: float) -> tuple[float, float]:
    r"""Proposition B.1: the least w_1'w_2 and the greatest ||w_1 - w_2|| of unit vectors with w_i'v >= alpha, ||v|| = 1.

    They are 2 alpha^2 - 1 and 2 sqrt(1 - alpha^2), and are attained.

    Examples
    --------
    >>> widest_rotation(0.6)
    (-0.28, 1.6)
    """
    check_number("alpha", alpha, low=0.0, high=1.0)
    return 2.0 * alpha**2 - 1.0, 2.0 * math.sqrt(1.0 - alpha**2)


def least_alignment(length: float, tau: float, sharp: bool = False) -> float:
    r"""Proposition B.2: the least cosine of the angle between t and mu with ||t|| = length and ||mu - t|| <= tau.

    The paper's (length^2 - tau^2) / (length (length + tau)) = 1 - tau / length is loose; `sharp` gives what is attained
    where the line to mu touches the ball, sqrt(1 - (tau / length)^2).

    Examples
    --------
    >>> least_alignment(5.0, 3.0), least_alignment(5.0, 3.0, sharp=True)
    (0.4, 0.8)
    """
    check_number("length", length, low=0.0, open_low=True)
    check_number("tau", tau, low=0.0, high=length)
    return math.sqrt(1.0 - (tau / length) ** 2) if sharp else 1.0 - tau / length


def least_alignment_of_w(cosine: float, length: float, phi: float, sharp: bool = False) -> float:
    r"""Proposition B.3: the least cosine between w and t where that between w and mu is known, and ||mu - t|| <= phi.

    It is 2 alpha^2 - 1 with alpha the lesser of `cosine` and `least_alignment`.  With `sharp`, the two angles are added
    instead of twice the greater, and the sharp form of B.2 is taken.

    Examples
    --------
    >>> round(least_alignment_of_w(0.9, 5.0, 1.0), 4), round(least_alignment_of_w(0.9, 5.0, 1.0, sharp=True), 4)
    (0.28, 0.7946)
    """
    check_number("cosine", cosine, low=0.0, high=1.0)
    other = least_alignment(length, phi, sharp)
    if not sharp:
        return widest_rotation(min(cosine, other))[0]
    return math.cos(math.acos(cosine) + math.acos(other))


def prior_error(
    prior: GenerativePrior,
    beta: float,
    phi: float,
    gamma: float,
    radius: float,
    m: int,
    delta: float,
    means: Any = None,
) -> Bound:
    """Corollary 6.3 of Epshteyn and DeJong: `margin_error` with the dimension of `prior_dimension` at gamma / 16.

    The printed 265 R^2 / gamma^2 is 16^2 = 256.  Where the prior binds too little for Theorem 6.2, `failing` says so,
    and `dimension` is that without the prior.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-3.0, 0.0], [3.0, 0.0]), Omega=(0.01, 0.01))
    >>> bound = prior_error(prior, beta=2.9, phi=0.1, gamma=0.5, radius=4.0, m=10**8, delta=0.05)
    >>> print(round(bound.dimension, 2), bound)
    4365.06 0.0521725
    """
    found = prior_dimension(prior, beta, phi, gamma / 16.0, radius, means)
    error = margin_error(m, found.dimension, delta)
    failing = found.failing + error.failing
    return Bound(math.inf if failing else error.value, found.dimension, failing, found.details)


def parallel_error(m: int, gamma: float, explained_radius: float, delta: float) -> Bound:
    r"""Theorem 3 of Sun and DeJong: the error of a hyperplane with ||u|| = 1 that obeys its explanations.

    h = floor(64.5 R_V^2 / gamma^2) in `margin_error`, with R_V the radius of a ball around zero that holds all
    explained examples.  The parallel constraints f(x) = f(v) must hold, see `large_margin_dimension`.

    Examples
    --------
    >>> parallel_error(10**7, gamma=1.0, explained_radius=2.0, delta=0.05).dimension
    258
    """
    return margin_error(m, math.floor(64.5 * large_margin_dimension(gamma, explained_radius)), delta)


def best_embedding(explained_radius: float, deviation: float) -> float:
    """The Delta that minimizes (R_V^2 + Delta^2) (1 + D^2 / Delta^2), which is then (R_V + D)^2: sqrt(R_V D).

    Section 3.4 of Sun and DeJong prints R for R_V.  The confidence that belongs to it is Q = 1 / (2 Delta^2), printed
    once as C.

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
    r"""Theorem 4 of Sun and DeJong: the error of a hyperplane with ||u|| = 1 that obeys its explanations nearly.

    .. math:: h = \Bigl\lfloor \frac{64.5\, (R_V^2 + \Delta^2) (1 + D^2 / \Delta^2)}{\gamma^2} \Bigr\rfloor,
              \qquad D = \sqrt{\sum_i (u^\top (x_i - v_i))^2}

    Parameters
    ----------
    m, gamma, explained_radius, delta
        As in `parallel_error`.
    deviation : float
        D, for ||u|| = 1.
    Delta : float or array_like, optional
        The theorem fixes Delta before the sample is drawn.  Of several values, fixed before, the best is taken and each
        bears its share of delta.  By default the best of all, `best_embedding`, which D, and so the sample, decides:
        the number that section 3.4 reasons with, and no bound that the theorem proves; `details` says which.

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
