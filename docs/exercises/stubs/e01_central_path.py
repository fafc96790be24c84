"""The barrier of second-order cones, and a point of the central path (chapter: the central path)."""

import numpy as np


def barrier(s: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """phi(s) = -1/2 log det s of one second-order cone, det s = s_0^2 - ||s_1||^2, with its gradient and Hessian.

    A cone of dimension 1 is an entry of the nonnegative orthant: phi(s) = -log s.  Outside of the interior of the cone
    the value is infinite, and the derivatives may be anything.
    """
    raise NotImplementedError


def central_point(c: np.ndarray, G: np.ndarray, h: np.ndarray, mu: float, x: np.ndarray) -> np.ndarray:
    """The minimizer of c'x - mu sum_i log(h - Gx)_i, by Newton's method from a strictly feasible x.

    Stop where half of the squared Newton decrement is at most 1e-12 mu.  Cut a step short before the boundary, and
    halve it until the objective falls.
    """
    raise NotImplementedError
