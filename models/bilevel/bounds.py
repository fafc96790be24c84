"""Bounds of dimension and error for the bilevel classifier (Epshteyn and DeJong 2006, section 6 and appendix B)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.bounds import Bound, large_margin_dimension, margin_error
from ..base.validation import check_number
from ..kernels.samples import squares
from .prior import GenerativePrior, digests

if TYPE_CHECKING:
    from ..programs.bilevel import Constants, Samples
    from .steps import Point

HALF = 1.0 / math.sqrt(2.0)
NO_BIAS = 1e-9  # |b| / |w| and zeta up to this count as zero
SAME = 1e-9  # largest relative distance of t from the samples' means if t were computed from them


def prior_dimension(prior: Any, beta: float, phi: float, gamma: float, radius: float, means: Any = None) -> Bound:
    r"""Return the fat-shattering dimension under a generative prior, Theorem 6.2 of Epshteyn and DeJong.

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
      needed only for the class whose bound is used.

    `gamma` is the margin for ||w|| = 1, `radius` is R, and `means`, shape (2, n), fixes mu_i, for example to
    ``means_``.  The details hold alpha_i and tau_i.  Without the prior the bound is (R / gamma)^2.

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
            near = f"the mean of class {i + 1} must be nearer to t than t to zero"
            failing.append(f"{near}, but {tau:.4g} >= {length:.4g}")
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
        failing.clear()  # the class that attains alpha satisfies the assumptions of the proof
    dimension = plain * 4.0 * alpha**2 * (1.0 - alpha**2) if not failing else plain
    return Bound(math.inf if failing else dimension, dimension, tuple(failing), details)


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
    """Return the bound of Corollary 6.3 (Epshteyn and DeJong): `margin_error` with `prior_dimension` at gamma / 16.

    The printed 265 R^2 / gamma^2 is 16^2 = 256.  If the prior binds too little for Theorem 6.2, `failing` says so, and
    `dimension` is the dimension without the prior.

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


def fitted_error(
    samples: Samples, prior: GenerativePrior, constants: Constants, point: Point, delta: float, X: Any
) -> Bound:
    """Return `prior_error` for the margin of a fitted classifier and its samples' radius; X holds the given samples."""
    w, b = point.w, point.b
    length = float(np.linalg.norm(w))
    if length == 0.0:
        return Bound(math.inf, math.inf, ("w must not be zero",))
    gamma = float((samples.y * (samples.X @ w + b)).min()) / length
    if gamma <= 0.0:
        words = f"all samples must be on their side, but one has y f(x) / |w| = {gamma:.3g}"
        return Bound(math.inf, math.inf, (words,))
    radius = math.sqrt(float(squares(samples.X).max()))
    reach = constants.phi + float(point.nu.max())
    found = prior_error(prior, min(constants.betas), reach, gamma, radius, samples.y.size, delta, point.mu)
    failing = [*_made_of(prior, samples, X), *found.failing]
    if abs(b) > NO_BIAS * length:
        failing.append(f"the theorem is for functions without b, but the hyperplane is {abs(b) / length:.3g} from zero")
    if point.zeta.max() > NO_BIAS:
        failing.append(f"(4.20) and (4.21) must hold without slack, but zeta is {point.zeta.max():.3g}")
    details = {**found.details, "gamma": gamma, "R": radius}
    return Bound(math.inf if failing else found.value, found.dimension, tuple(failing), details)


def _made_of(prior: GenerativePrior, samples: Samples, X: Any) -> list[str]:
    """Return one sentence that says how the prior was made of the samples, or [] if it was not."""
    before = "the prior must be fixed before the samples are seen, but"
    shared = sum(digest in prior.samples for digest in digests(X)) if prior.samples else 0
    if shared:
        return [f"{before} {shared} of the {samples.y.size} are among those that it was made of"]
    means = np.array([np.asarray(samples.X[samples.y == side].mean(axis=0)).ravel() for side in (-1.0, 1.0)])
    if np.linalg.norm(means - prior.t) <= SAME * np.linalg.norm(means):
        return [f"{before} t are their means"]
    return []
