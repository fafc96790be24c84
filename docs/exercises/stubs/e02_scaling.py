"""The Nesterov-Todd scaling of a second-order cone (chapter: scaling).

May import numpy, scipy.linalg, math, itertools, functools, collections, copy, dataclasses, typing and warnings.
The section "Rules" of exercises.md lists what else the grader refuses.
"""

import numpy as np


def scaling(s: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the symmetric positive definite W that maps the cone onto itself and has W z = W^-1 s.

    s and z are in the interior of the second-order cone of their dimension, {u_0 >= ||u_1||}; dimension 1 is a
    positive number.  They may be as near to the boundary as 1e-4 of their size.
    """
    raise NotImplementedError
