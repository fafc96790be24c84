"""The constants beta and phi of the bilevel classifier from probabilities (Epshteyn and DeJong 2006, section 3).

In all functions `g` is the name of a family or the family itself, see `family`.  Sigma and Omega are the scales of
E(mu, Sigma, g); for covariances, alpha_g (`variance_factor`) times the scales, beta and phi are smaller by the factor
sqrt(alpha_g).  If the classes need different phi, the smaller one serves.  Omega is ``prior.Omega[i]``, a diagonal or
a matrix; with zero variances, densities are on its support, whose dimension is its rank.
"""

from __future__ import annotations

import math
from typing import Any

from scipy import optimize

from socp import ProgramError

from ..base.validation import check_number
from .covariance import Covariance
from .mixtures import Cauchy, Elliptical, Gaussian, Laplace, Logistic, StudentT

FAMILIES = {kind.__name__.lower(): kind for kind in (Gaussian, Cauchy, Laplace, Logistic)}
"""The families that have no parameter of their own."""


def family(g: str | Elliptical) -> Elliptical:
    """Return the family named "gaussian", "cauchy", "laplace" or "logistic", or `g` itself, such as ``StudentT(5)``.

    Examples
    --------
    >>> family("laplace"), family(StudentT(5))
    (Laplace(), StudentT(nu=5))
    """
    if isinstance(g, Elliptical):
        if isinstance(g, StudentT):
            check_number("nu", g.nu, low=0.0, open_low=True)
        return g
    if not isinstance(g, str) or g not in FAMILIES:
        raise ProgramError(f"g must be an Elliptical, such as StudentT(5), or one of {tuple(FAMILIES)}, but {g!r} came")
    return FAMILIES[g]()


def beta(g: str | Elliptical, eta: float) -> float:
    r"""Return the beta for which Prob(w'x + b >= 0) <= eta means -(w'mu + b) >= beta ||Sigma^(1/2) w|| (Prop. 3.1).

    For x ~ E(mu, Sigma, g) the standardized (w'x - w'mu) / ||Sigma^(1/2) w|| is U ~ E(0, 1, g), so that

    .. math:: \beta = \bar F_U^{-1}(\eta) = \sqrt{\alpha_g}\; \bar F_{U / \sqrt{\alpha_g}}^{-1}(\eta).

    The second form is the paper's, sqrt(alpha_g) times a quantile of the member of *variance* one; the paper calls that
    member E(0, 1, g), whose variance is alpha_g, and with it the factor would count twice.  The first form needs no
    variance and holds for the Cauchy distribution too.  `eta` is above 0 and at most 1/2.

    Examples
    --------
    >>> print(round(beta("gaussian", 0.42), 4), round(beta("cauchy", 0.25), 4))
    0.2019 1.0
    """
    check_number("eta", eta, low=0.0, open_low=True)
    if eta > 0.5:
        raise ProgramError(f"eta must be at most 1/2, for beyond it (4.8) is no cone constraint, but {eta!r} came")
    return max(0.0, family(g).upper_quantile(float(eta)))


def phi(g: str | Elliptical, delta: float, Omega: Any, log: bool = False) -> float:
    r"""Return the phi for which density(mu) >= delta means ||Omega^(-1/2) (mu - t)|| <= phi (Prop. 3.2).

    For mu ~ E(t, Omega, g) in n dimensions, with the density c |Omega|^(-1/2) g(||Omega^(-1/2) (mu - t)||^2),

    .. math:: \varphi = \sqrt{g^{-1}\bigl(\delta\, |\Omega|^{1/2} / c\bigr)}.

    The paper prints g^(-1)(delta |Omega| / c): its density has det(Sigma)^(-1) where a density has the root of it, and
    g takes the square of the length.  With `log`, `delta` is the logarithm of the least density: in many dimensions a
    density is no number near one, and `radius` is the easier choice.

    Examples
    --------
    >>> import math
    >>> print(round(phi("gaussian", 0.1, [1.0, 1.0]), 6), round(math.sqrt(-2.0 * math.log(0.2 * math.pi)), 6))
    0.964062 0.964062
    """
    kind, covariance = family(g), _covariance(Omega)
    if not log:
        check_number("delta", delta, low=0.0, open_low=True)
    rank, log_determinant = covariance.support()
    if rank == 0:
        return 0.0
    wanted = (delta if log else math.log(delta)) + 0.5 * log_determinant
    greatest = kind.log_density(0.0, rank)
    if wanted >= greatest:
        raise ProgramError(
            f"delta is greater than any density of {kind!r} with this Omega: its logarithm can be at most "
            f"{greatest - wanted + (delta if log else math.log(delta)):.6g}"
        )
    low, high = -1.0, 1.0  # bracket of log ||Omega^(-1/2) (mu - t)||
    while kind.log_density(math.exp(2.0 * low), rank) < wanted:
        low -= 1.0 - low
    while kind.log_density(math.exp(2.0 * high), rank) > wanted:
        high += 1.0 + high
    root = optimize.brentq(lambda u: kind.log_density(math.exp(2.0 * u), rank) - wanted, low, high, xtol=1e-13)
    return math.exp(root)


def radius(g: str | Elliptical, probability: float, Omega: Any) -> float:
    r"""Return the phi with Prob(||Omega^(-1/2) (mu - t)|| <= phi) = probability.

    This is Proposition 3.2 with a probability in place of a density.  It depends on Omega only through its rank.

    Examples
    --------
    >>> print(round(radius("gaussian", 0.95, [1.0]), 4), round(radius("cauchy", 0.5, [4.0]), 4))
    1.96 1.0
    """
    check_number("probability", probability, low=0.0)
    if probability >= 1.0:
        raise ProgramError(f"probability must be below 1, but {probability!r} came")
    kind = family(g)
    rank, _ = _covariance(Omega).support()
    if rank == 0 or probability == 0.0:
        return 0.0
    return kind.radius(float(probability), rank)


def _covariance(Omega: Any) -> Covariance:
    if isinstance(Omega, Covariance):
        return Omega
    try:
        n = len(Omega)
    except TypeError:
        raise ProgramError(
            f"Omega must be prior.Omega[i], a diagonal or a matrix, for its order counts, but {Omega!r} came"
        ) from None
    return Covariance(Omega, n, "Omega")
