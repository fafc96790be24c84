"""Large sparse programs, and a tall one: feasible and bounded by construction, reproducible to the bit.

A linear program is built around a pair of optimal points: x >= 0 and z >= 0 with x_i z_i = 0, b = Ax, c = A'y + z.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import qp
import socp

from .generate import by_name

ENTRIES = 5  # entries per row
COLUMNS = 200  # columns of `tall_cone` with 200,000 rows


def tridiagonal(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Px + q'x with 0 <= x <= 1, P = tridiag(-1, 2.01, -1): an obstacle problem."""
    rng = np.random.default_rng(seed)
    ends = -np.ones(size - 1)
    P = sp.diags_array([ends, np.full(size, 2.01), ends], offsets=[-1, 0, 1])
    return qp.QuadraticProgram(P, rng.normal(size=size), lb=0.0, ub=1.0)


def banded(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min c'x with Ax = b, x >= 0: size / 2 rows, five entries in each, next to each other."""
    rng = np.random.default_rng(seed)
    rows = max(1, size // 2)
    first = np.minimum(2 * np.arange(rows), max(size - ENTRIES, 0))
    columns = np.minimum(first[:, None] + np.arange(ENTRIES), size - 1)
    return _linear(rng, _rows(rng, columns, size))


def random_rows(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min c'x with Ax = b, x >= 0: size / 2 rows, five entries in each, anywhere."""
    rng = np.random.default_rng(seed)
    return _linear(rng, _rows(rng, rng.integers(size, size=(max(1, size // 2), ENTRIES)), size))


def dense_rows(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'Dx + q'x with x >= 0, size / 4 rows with five entries next to each other, and four with all."""
    rng = np.random.default_rng(seed)
    rows = max(1, size // 4)
    columns = np.minimum(4 * np.arange(rows)[:, None] + np.arange(ENTRIES), size - 1)
    A = sp.vstack([_rows(rng, columns, size), sp.csc_array(rng.normal(size=(min(4, size), size)))], format="csc")
    sides = A @ rng.exponential(size=size)
    return qp.QuadraticProgram(sp.diags_array(rng.uniform(0.1, 1.0, size)), rng.normal(size=size), A, sides, sides, 0.0)


def cones_of_three(size: int, seed: int = 0) -> socp.ConeProgram:
    """min 1/2 x'x + c'x + sum of ||(x_i - x_j, x_j - x_k)|| over `size` triples of neighbours on a ring."""
    rng = np.random.default_rng(seed)
    i = np.arange(size)
    return _norms(rng, size, np.column_stack([i, (i + 1) % size, (i + 2) % size]))


def random_cones(size: int, seed: int = 0) -> socp.ConeProgram:
    """min 1/2 x'x + c'x + sum of ||(x_i - x_j, x_j - x_k)|| over size / 4 triples from anywhere."""
    rng = np.random.default_rng(seed)
    return _norms(rng, size, rng.integers(size, size=(max(1, size // 4), 3)))


def tall_cone(size: int, seed: int = 0) -> socp.ConeProgram:
    """min t with ||D x - d|| <= t: one cone of size + 1 rows; D is dense with a thousandth as many columns."""
    rng = np.random.default_rng(seed)
    columns = max(1, size * COLUMNS // 200_000)
    D = rng.normal(size=(size, columns))
    d = D @ rng.normal(size=columns) + rng.normal(size=size)
    p = socp.Blocks(x=columns, t=1)
    p.minimize(t=1.0)
    p.cone("t", shift=-d, x=D)
    return p.program()


def _rows(rng: np.random.Generator, columns: np.ndarray, size: int) -> sp.csc_array:
    """Return a sparse matrix with random entries in the given columns of each row; repeated columns are summed."""
    rows, each = columns.shape
    places = (np.repeat(np.arange(rows), each), columns.ravel())
    return sp.csc_array((rng.normal(size=columns.size), places), shape=(rows, size))


def _linear(rng: np.random.Generator, A: sp.csc_array) -> qp.QuadraticProgram:
    rows, size = A.shape
    basic = rng.random(size) < 0.5
    x, z = np.where(basic, rng.exponential(size=size), 0.0), np.where(basic, 0.0, rng.exponential(size=size))
    b = A @ x
    return qp.QuadraticProgram(None, A.T @ rng.normal(size=rows) + z, A, b, b, 0.0)


def _norms(rng: np.random.Generator, size: int, triples: np.ndarray) -> socp.ConeProgram:
    """min 1/2 x'x + c'x + 1't, (t_k, x_i - x_j, x_j - x_k) in Q^3 for every triple (i, j, k)."""
    count = len(triples)
    k = np.arange(count)
    rows = np.concatenate([3 * k, 3 * k + 1, 3 * k + 1, 3 * k + 2, 3 * k + 2])
    columns = np.concatenate([size + k, triples[:, 0], triples[:, 1], triples[:, 1], triples[:, 2]])
    values = np.repeat([-1.0, -1.0, 1.0, -1.0, 1.0], count)
    return socp.ConeProgram(
        c=np.concatenate([2.0 * rng.normal(size=size), np.ones(count)]),
        P=sp.diags_array(np.concatenate([np.ones(size), np.zeros(count)])),
        G=sp.csc_array((values, (rows, columns)), shape=(3 * count, size + count)),
        h=np.zeros(3 * count),
        cones=[socp.SecondOrder(3)] * count,
    )


CLASSES = by_name(tridiagonal, banded, random_rows, dense_rows, cones_of_three, random_cones, tall_cone)
