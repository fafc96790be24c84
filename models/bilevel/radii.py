r"""The radii of the means for a finite C_3: step 1 of the bilevel classifier chooses them by a convex cone.

In step 2 the means go to mu_i = t_i + s_i (phi + nu_i) g_i, with g_i = Omega_i w / ||Omega_i^(1/2) w||.  With these
directions held, (4.20) and (4.21) gain nu_i u_i, u_i = g_i'w, a product of two variables, which is a difference of
convex functions.  The convex-concave procedure linearizes the first one at the current k_i = a_i nu_i + u_i / a_i:

    nu_i u_i = ((a_i nu_i + u_i / a_i)^2 - (a_i nu_i - u_i / a_i)^2) / 4
            >= (2 k_i (a_i nu_i + u_i / a_i) - k_i^2 - (a_i nu_i - u_i / a_i)^2) / 4 >= gain_i

So the objective (4.17) never increases, and where it does not fall the point is stationary in nu, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..programs.bilevel import gain_cone
from .prior import GenerativePrior


@dataclass(frozen=True)
class Directions:
    """Directions g_i in which step 2 moves the means, with g_i'w and nu_i of the last round."""

    g: np.ndarray
    reach: np.ndarray
    nu: np.ndarray
    usual: np.ndarray
    """Value of g_i'w for the hyperplane with unit margin between the means t."""

    @classmethod
    def of(cls, prior: GenerativePrior, w: np.ndarray, nu: np.ndarray) -> Directions:
        """Return the directions for the hyperplane `w`; g_i is zero if Omega_i w is zero."""
        reach = np.array([Omega.length(w) for Omega in prior.Omega])
        g = [Omega.times(w) / r if r > 0.0 else np.zeros_like(w) for Omega, r in zip(prior.Omega, reach)]
        apart = prior.t[1] - prior.t[0]
        usual = [2.0 * Omega.length(apart) / ((apart @ apart) or 1.0) or 1.0 for Omega in prior.Omega]
        return cls(np.array(g), reach, nu, np.array(usual))

    def cone(self, i: int, g: np.ndarray, place: int, classes: int) -> dict[str, Any]:
        """Return `gain_cone` of class i as arguments of `Blocks.cone`; `g` holds the coordinates of g_i."""
        # The bound is tight where a nu = u / a; `usual` and 1 / size keep u and nu away from zero.
        size = max(self.reach[i], self.usual[i])
        a = math.sqrt(size / max(self.nu[i], 1.0 / size))
        return gain_cone(g, a, a * self.nu[i] + self.reach[i] / a, place, classes)
