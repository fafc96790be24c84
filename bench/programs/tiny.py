"""Programs of ten variables."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import qp
import socp

from . import generate
from .repeated import in_both_ways


def box(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Px + q'x with -1 <= x <= 1, P dense."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(size, size))
    return qp.QuadraticProgram(F @ F.T / size + 0.1 * np.eye(size), rng.normal(size=size), lb=-1.0, ub=1.0)


def rows(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Px + q'x with -1 <= x <= 1, 1'x = 1 and `size` rows l <= A x <= l + 1, P dense."""
    rng = np.random.default_rng(seed)
    program = box(size, seed)
    A = np.vstack([np.ones(size), rng.normal(size=(size, size))])
    middle = A @ np.full(size, 1.0 / size)
    width = np.append(0.0, np.full(size, 0.5))
    return qp.QuadraticProgram(program.P, program.q, A, middle - width, middle + width, -1.0, 1.0)


def ball(size: int, seed: int = 0) -> socp.ConeProgram:
    """min 1/2 x'Px + c'x with ||x|| <= 1 and x >= -0.3."""
    rng = np.random.default_rng(seed)
    p = socp.Blocks(x=size)
    p.minimize(x=rng.normal(size=size), quadratic={"x": rng.uniform(0.5, 2.0, size)})
    p.bounds(x=(-0.3, None))
    p.cone(radius=1.0, x=sp.eye_array(size))
    return p.program()


CLASSES = in_both_ways({"box": box, "rows": rows, "ball": ball, "svm_dual": generate.svm_dual_rbf})
