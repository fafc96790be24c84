"""The derivative of the solution of a quadratic program (chapter: derivatives of a solution).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.

The program is  minimize 1/2 x'Px + q'x,  Gx + s = h,  s >= 0.  Its solution (x, z, s) is strictly complementary: of
each pair s_i, z_i one is at most 1e-6, and the other is at least 1e-2.  P is positive semidefinite, perhaps
singular, and the equations of `factor` have one solution.
"""

from collections.abc import Callable

import numpy as np


def factor(P: np.ndarray, G: np.ndarray, z: np.ndarray, s: np.ndarray) -> Callable:
    """Return a function of (r, t) that returns (u, v) with  P u + G'v = r,  z G u - s v = z t.

    The second equation is meant row by row: (Gu)_i = t_i where s_i is zero, and v_i = 0 where z_i is.  Solve it with
    all rows, or with the active ones alone and v = 0 for the others, as you like.
    """
    raise NotImplementedError


def forward(
    P: np.ndarray, G: np.ndarray, x: np.ndarray, z: np.ndarray, s: np.ndarray, dq: np.ndarray, dh: np.ndarray
) -> np.ndarray:
    """Return dx for the changes dq and dh of the data, by one call of `factor` and one of the function it returns."""
    raise NotImplementedError


def backward(
    P: np.ndarray, G: np.ndarray, x: np.ndarray, z: np.ndarray, s: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (dl/dq, dl/dh) of a number l(x) with the gradient by x, by one call of each, however many data."""
    raise NotImplementedError
