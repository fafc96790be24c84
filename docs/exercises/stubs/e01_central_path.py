"""The barrier of second-order cones, and a point of the central path (chapter: the central path).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def barrier(s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return (phi(s), gradient, Hessian) of phi(s) = -1/2 log det s,  det s = s_0^2 - ||s_1||^2.

    s is a vector of one second-order cone; of dimension 1 it is a number, phi(s) = -log s.  Outside of the interior of
    the cone, on its boundary too, the value is inf, and the derivatives may be anything.
    """
    raise NotImplementedError


def central_point(c: np.ndarray, G: np.ndarray, h: np.ndarray, mu: float, x: np.ndarray) -> np.ndarray:
    """Return the minimizer of c'x - mu sum_i log(h - Gx)_i, by Newton's method from a strictly feasible x.

    Let D = -gradient'dx be the squared Newton decrement, of the function as it stands above.  Stop where 1/2 D is at
    most 1e-12 mu.  Cut a step short before the boundary, and halve it until the function falls.  Where 1/2 D is at most
    1e-3 mu, take the whole step without this test: it stays inside, and rounding may hide that the function falls.
    """
    raise NotImplementedError
