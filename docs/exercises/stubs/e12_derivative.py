"""The derivative of the solution of a quadratic program (chapter: derivatives of a solution)."""

import numpy as np


def forward(
    P: np.ndarray, G: np.ndarray, x: np.ndarray, z: np.ndarray, s: np.ndarray, dq: np.ndarray, dh: np.ndarray
) -> np.ndarray:
    """dx for the changes dq and dh of  minimize 1/2 x'Px + q'x,  Gx + s = h,  s >= 0,  at its solution (x, z, s).

    The solution is strictly complementary: of each pair one is zero, up to 1e-6, and the other is not.
    """
    raise NotImplementedError


def backward(
    P: np.ndarray, G: np.ndarray, x: np.ndarray, z: np.ndarray, s: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(dl/dq, dl/dh) of a number l(x) with the gradient by x: one solve, however many data there are."""
    raise NotImplementedError
