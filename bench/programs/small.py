"""Sparse programs of ten to some hundred variables: the classes of OSQP's suite, by the number of their variables.

Random, equality-constrained, optimal control, lasso, Huber, support vectors and portfolio, as in Stellato et al.,
"OSQP: an operator splitting solver for quadratic programs" (Math. Prog. Comp. 12, 2020), appendix A, with fewer rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import qp

from . import generate
from .repeated import LOOP, in_both_ways

DENSITY = 0.15


def random(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Px + q'x with l <= Ax <= u: P = M M' + I / 100, A has 2 size rows, 15 % nonzeros in M and A."""
    rng = np.random.default_rng(seed)
    A, middle = _entries(rng, 2 * size, size), rng.normal(size=size)
    half = rng.uniform(0.0, 1.0, 2 * size)
    return qp.QuadraticProgram(_hessian(rng, size), rng.normal(size=size), A, A @ middle - half, A @ middle + half)


def equalities(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Px + q'x with Ax = b: size / 2 rows."""
    rng = np.random.default_rng(seed)
    A = _entries(rng, max(1, size // 2), size)
    b = A @ rng.normal(size=size)
    return qp.QuadraticProgram(_hessian(rng, size), rng.normal(size=size), A, b, b)


def control(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 sum of x_t'Q x_t + u_t'R u_t as in `generate.mpc`: eight states and three inputs a step."""
    return generate.mpc(max(1, round(size / 11)), seed)


def lasso(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 ||D w - t||^2 + lambda ||w||_1 as in `generate.lasso`: a quarter of the variables are features."""
    return generate.lasso(max(2, size // 4), seed)


def huber(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min sum of huber(d_i'w - t_i) as in `generate.huber`: a thirteenth of the variables are features."""
    return generate.huber(max(1, size // 13), seed)


def svm(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 ||w||^2 + C 1'xi as in `generate.svm_primal`: ten elevenths of the variables are points."""
    return generate.svm_primal(max(2, 10 * size // 11), seed)


def portfolio(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Dx + 1/2 y'y - mu'x with y = F'x, 1'x = 1, x >= 0: `size` assets and factors, ten to one."""
    rng = np.random.default_rng(seed)
    factors = max(1, size // 11)
    assets = max(1, size - factors)
    F = sp.csc_array(rng.normal(size=(factors, assets)) * (rng.random((factors, assets)) < 0.5))
    p = qp.Blocks(x=assets, y=factors)
    p.minimize(quadratic={"x": rng.uniform(0.0, np.sqrt(factors), assets), "y": 1.0}, x=-rng.normal(size=assets))
    p.equal(1.0, x=np.ones((1, assets)))
    p.equal(0.0, x=F, y=-1.0)
    p.bounds(x=(0.0, None))
    return p.program()


def _entries(rng: np.random.Generator, rows: int, columns: int) -> sp.csc_array:
    """Draw normal entries at 15 % of the places, and at least one in each row."""
    filled = rng.random((rows, columns)) < DENSITY
    filled[np.arange(rows), rng.integers(columns, size=rows)] = True
    return sp.csc_array(rng.normal(size=(rows, columns)) * filled)


def _hessian(rng: np.random.Generator, size: int) -> sp.csc_array:
    M = _entries(rng, size, size)
    return sp.csc_array(M @ M.T + 0.01 * sp.eye_array(size))


FUNCTIONS = generate.by_name(random, equalities, control, lasso, huber, svm, portfolio)
CLASSES = in_both_ways(FUNCTIONS) | {f"control_{LOOP}": control}
