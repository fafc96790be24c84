r"""Second-order cone programs of classes, samples and distributions that are known by moments or up to a distance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import socp


def minimax_program(d: np.ndarray, roots: Sequence[Any]) -> socp.Blocks:
    """Return the minimax probability machine (Lanckriet, El Ghaoui, Bhattacharyya and Jordan 2002).

    Of all distributions with means mu_i and covariances Sigma_i = R_i'R_i, d = mu_2 - mu_1,

        max  kappa   s.t.   -(w'mu_1 + b) >= kappa |R_1 w|,   w'mu_2 + b >= kappa |R_2 w|
        min  r_1 + r_2   s.t.   w'd = 1,   r_i >= |R_i w|

    keeps the share of wrong answers in either class at most 1 / (1 + kappa^2); kappa = 1 / (r_1 + r_2).
    """
    p = socp.Blocks(w=d.size, r=2)
    p.minimize(r=1.0)
    p.equal(1.0, w=d)
    for i, root in enumerate(roots):
        p.cone({"r": np.eye(2)[i]}, w=root)
    return p


def biased_minimax_program(d: np.ndarray, roots: Sequence[Any], kappa: float) -> socp.Blocks:
    """Return the program of the minimum-error minimax machine (Huang, Yang, King, Lyu and Chan 2004).

    With `kappa` given for the second class, the first class's greatest one is the optimal value, with a minus:

        max  kappa_1   s.t.   w'd >= kappa_1 |R_1 w| + kappa |R_2 w|
        min  kappa r - w'd   s.t.   r >= |R_2 w|,   1 >= |R_1 w|

    The minimum-error machine maximizes theta a(kappa_1) + (1 - theta) a(kappa), a(k) = k^2 / (1 + k^2) the least share
    of right answers in a class of prior probability theta or 1 - theta: a search over the one number `kappa`.
    """
    p = socp.Blocks(w=d.size, r=1)
    p.minimize(w=-d, r=kappa)
    p.cone(None, 1.0, w=roots[0])
    p.cone("r", w=roots[1])
    return p


class Uncertain(NamedTuple):
    """Samples by their means (m, k), the roots R_j with R_j'R_j = Sigma_j, and which one each has; -1 for none."""

    means: Any
    roots: list[Any]
    which: np.ndarray


def robust_program(samples: Uncertain, y: np.ndarray, C: np.ndarray, kappa: float) -> socp.Blocks:
    """Return the machine of uncertain samples (Bhattacharyya and others 2004; Shivaswamy and others 2006).

    With x_i of mean xbar_i and covariance Sigma_i, Prob(y_i (w'x_i + b) >= 1 - xi_i) >= 1 - epsilon is

        min  1/2 |w|^2 + sum_i C_i xi_i
        s.t. y_i (w'xbar_i + b) >= 1 - xi_i + kappa r_i,   r_i >= |Sigma_i^(1/2) w|,   xi >= 0

    with kappa = sqrt((1 - epsilon) / epsilon) for all distributions with these moments.  Samples of one Sigma share r.
    """
    (m, k), count = samples.means.shape, len(samples.roots)
    p = socp.Blocks(w=k, b=1, r=count, xi=m)
    p.minimize(quadratic={"w": 1.0}, xi=C)
    sure = np.flatnonzero(samples.which < 0)
    kept = np.delete(np.arange(m), sure)
    radii = sp.csr_array((np.full(kept.size, -kappa), (kept, samples.which[kept])), shape=(m, count))
    p.at_least(1.0, w=sp.diags_array(y) @ sp.csr_array(samples.means), b=y, r=radii, xi=1.0)
    p.bounds(xi=(0.0, None))
    for j, root in enumerate(samples.roots):
        p.cone({"r": np.eye(1, count, j)}, w=root)
    return p


def wasserstein_program(X: Any, y: np.ndarray, share: np.ndarray, epsilon: float, kappa: float) -> socp.Blocks:
    """Return the machine against all distributions near the samples (Shafieezadeh-Abadeh and others 2015, 2019).

    Of a ball of radius epsilon in Wasserstein's distance around the samples with the shares p, where moving a sample
    costs its length and turning its label the price kappa (infinite: its rows are left out),

        min  lam epsilon + sum_i p_i xi_i
        s.t. y_i (w'x_i + b) >= 1 - xi_i,   -y_i (w'x_i + b) >= 1 - xi_i - kappa lam,   xi >= 0,   lam >= |w|

    is the largest mean of the hinge loss over the ball.
    """
    m, k = X.shape
    p = socp.Blocks(w=k, b=1, lam=1, xi=m)
    p.minimize(lam=epsilon, xi=share)
    signed = sp.diags_array(y) @ X if sp.issparse(X) else y[:, None] * X
    p.at_least(1.0, w=signed, b=y, xi=1.0)
    if math.isfinite(kappa):
        p.at_least(1.0, w=-signed, b=-y, xi=1.0, lam=np.full(m, kappa))
    p.bounds(xi=(0.0, None))
    p.cone("lam", w=1.0)
    return p
