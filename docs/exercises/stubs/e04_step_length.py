"""How far a step may go in a second-order cone (chapter: scaling).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def longest_step(u: np.ndarray, du: np.ndarray) -> float:
    """Return the largest alpha >= 0 with u + alpha du in the second-order cone; inf where there is no end.

    u is in the interior.  det(u + alpha du) is positive at alpha = 0 and at most quadratic in alpha: the answer is its
    smallest positive root, and inf if there is none.  Mind: along an edge of the cone the leading coefficient is zero,
    and near an edge the textbook's formula of the roots cancels; for du = -t u the root is double, and rounding may
    make the discriminant negative.  Dimension 1 is a positive number.  The answer is to have a relative error of at
    most 1e-6.
    """
    raise NotImplementedError
