"""A KKT solver of one's own, for covariances with few factors (chapter: structure).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.

The program is  minimize 1/2 x'(diag(d) + F F')x + c'x  subject to  l <= x <= u,  with n variables and k factors.  Its
rows are  x + s_u = u  and  -x + s_l = -l.  A point has n up to 100,000, and a program with a matrix of that order
leaves the memory of 4 GB.
"""

from collections.abc import Callable

import numpy as np


def capacitance(F: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Return I + F' diag(D)^-1 F, of shape (k, k), for F of shape (n, k) and D with n positive entries; k may be 0."""
    raise NotImplementedError


def kkt_solver(d: np.ndarray, F: np.ndarray, w: np.ndarray) -> Callable:
    """Return a function of (r, t) that returns (x, z), with z = (z_u, z_l) and t = (t_u, t_l) of 2n entries and

        (diag(d) + F F') x + z_u - z_l = r
                       x - w_u^2 z_u   = t_u
                      -x - w_l^2 z_l   = t_l.

    d has entries >= 0, some of them 0, and w = (w_u, w_l) has 2n entries between 0.1 and 10.  k may be 0, and larger
    than n.  Each equation must hold to 1e-8 of the largest entry of its terms.  The scaling is factorized once, for
    any number of right-hand sides: `capacitance` is called once, by `kkt_solver` or at the first call of the function
    that it returns, and its answer is used.
    """
    raise NotImplementedError
