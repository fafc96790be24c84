"""Random numbers, matrices, and points of cones, real or whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import socp
from socp import LowRank, NonNeg, SecondOrder

Generator = np.random.Generator
Cones = Sequence[NonNeg | SecondOrder]
Sides = tuple[np.ndarray, np.ndarray]
TRIPLES = ((5, 3, 4), (5, -4, 3), (13, 5, -12), (1, 0, 1), (1, -1, 0), (2, 0, -2), (17, 8, 15))


@dataclass(frozen=True)
class Style:
    """Distribution from which data are drawn."""

    whole: bool = False  # True: small whole numbers, so that planted answers are exact; False: normal numbers
    degenerate: float = 0.0  # probability that both entries of a complementary pair are zero
    density: float = 1.0  # share of nonzero entries in matrices


def any_style(rng: Generator, degenerate: float = 0.0) -> Style:
    """Draw a style: normal or whole numbers, dense or sparse matrices."""
    return Style(bool(rng.random() < 0.3), degenerate, float(rng.choice([1.0, 0.6, 0.3])))


def vector(rng: Generator, size: int, style: Style) -> np.ndarray:
    """Draw normal numbers, or whole numbers from -3 to 3."""
    return rng.integers(-3, 4, size).astype(float) if style.whole else rng.normal(size=size)


def matrix(rng: Generator, rows: int, columns: int, style: Style) -> np.ndarray:
    """Draw a matrix with entries as in `vector`, some of them zero if the density is below 1."""
    entries = vector(rng, rows * columns, style).reshape(rows, columns)
    return entries * (rng.random((rows, columns)) < style.density) if style.density < 1.0 else entries


def positive(rng: Generator, size: int, style: Style) -> np.ndarray:
    """Draw numbers well above zero."""
    return rng.integers(1, 5, size).astype(float) if style.whole else 0.1 + rng.exponential(size=size)


def some_cones(rng: Generator, rows: int) -> list[NonNeg | SecondOrder]:
    """Draw cones of both kinds in any order with `rows` rows in total."""
    cones: list[NonNeg | SecondOrder] = []
    while rows:
        dim = int(rng.integers(1, rows + 1))
        cones.append(NonNeg(dim) if rng.random() < 0.5 else SecondOrder(dim))
        rows -= dim
    return cones


def pair(rng: Generator, cones: Cones, style: Style) -> Sides:
    """Draw s and z in the product of the cones with s'z = 0, block by block."""
    blocks = [_orthant(rng, c.dim, style) if isinstance(c, NonNeg) else _second(rng, c.dim, style) for c in cones]
    return _stacked([s for s, _ in blocks]), _stacked([z for _, z in blocks])


def inside(rng: Generator, cones: Cones, style: Style) -> np.ndarray:
    """Draw a point in the interior of every cone."""
    return _stacked([positive(rng, c.dim, style) if isinstance(c, NonNeg) else _ball(rng, c.dim, style) for c in cones])


def member(rng: Generator, cones: Cones, style: Style) -> np.ndarray:
    """Draw a point of the cones, with blocks in the interior, on the boundary, or zero."""
    return pair(rng, cones, style)[0]


def _orthant(rng: Generator, dim: int, style: Style) -> Sides:
    size, active = positive(rng, dim, style), rng.random(dim) < rng.random()
    size[rng.random(dim) < style.degenerate] = 0.0
    return np.where(active, 0.0, size), np.where(active, size, 0.0)


def _second(rng: Generator, dim: int, style: Style) -> Sides:
    zero = np.zeros(dim)
    where = rng.integers(0, 3) if dim > 1 else rng.integers(0, 2)
    if where == 2:
        s = _boundary(rng, dim, style)
        z = np.concatenate([s[:1], -s[1:]]) * positive(rng, 1, style)
        kept = rng.integers(0, 3) if rng.random() < style.degenerate else 3
        return (s if kept & 1 else zero), (z if kept & 2 else zero)
    point = zero if rng.random() < style.degenerate else _ball(rng, dim, style)
    return (point, zero) if where == 0 else (zero, point)


def _ball(rng: Generator, dim: int, style: Style) -> np.ndarray:
    v = vector(rng, dim, style)
    if dim:
        norm = float(np.linalg.norm(v[1:]))
        v[0] = np.ceil(norm) + 1.0 if style.whole else norm + positive(rng, 1, style)[0]
    return v


def _boundary(rng: Generator, dim: int, style: Style) -> np.ndarray:
    """Draw a point of at least two rows with v_0 = ||v_1|| > 0; if whole, a Pythagorean triple."""
    if not style.whole:
        u = rng.normal(size=dim - 1)
        return np.concatenate([[np.linalg.norm(u)], u])
    v = np.zeros(dim)
    if dim == 2:
        v[:] = rng.integers(1, 4) * np.array([1.0, rng.choice([-1.0, 1.0])])
        return v
    v[0], *v[1 + rng.permutation(dim - 1)[:2]] = TRIPLES[rng.integers(len(TRIPLES))]
    return v


def _stacked(blocks: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *blocks])


def hessian(rng: Generator, factor: np.ndarray, diagonal: np.ndarray | None = None) -> Any:
    """Return FF' + diag(d) in a random one of the forms of P; if it is zero, often return None."""
    d = np.zeros(factor.shape[0]) if diagonal is None else diagonal
    if not factor.any() and not d.any() and rng.random() < 0.7:
        return None
    form = rng.integers(0, 3)
    if form == 0:
        return LowRank(factor, d)
    P = factor @ factor.T + np.diag(d)
    P = 0.5 * (P + P.T)
    return P if form == 1 else sp.csc_array(P)


def any_hessian(rng: Generator, n: int, style: Style) -> Any:
    """Draw a P of any rank and form, with or without a diagonal, or None."""
    if rng.random() < 0.3:
        return None
    rank = int(rng.integers(0, n + 1))
    d = positive(rng, n, style) * (rng.random(n) < rng.choice([0.0, 0.5, 1.0]))
    return hessian(rng, matrix(rng, n, rank, style), d)


def ill_conditioned(rng: Generator, n: int) -> np.ndarray:
    """Draw a positive semidefinite matrix with entries near one whose smallest eigenvalues are lost to rounding."""
    i, kind = np.arange(n), rng.integers(0, 3)
    if kind == 0:  # Hilbert matrix
        return np.asarray(1.0 / (i[:, None] + i + 1.0))
    if kind == 1:  # Gaussian kernel, much wider than the distances between its points
        return np.asarray(np.exp(-0.5 * ((i[:, None] - i) / rng.uniform(2.0, 2.0 * n)) ** 2))
    powers = np.vander(np.linspace(0.0, 1.0, 2 * n), n)  # Vandermonde matrix of points in [0, 1]
    return np.asarray(powers.T @ powers) / n


def uneven(rng: Generator, size: int, decades: float) -> np.ndarray:
    """Draw normal numbers, some of them up to `decades` decades larger than the others."""
    return vector(rng, size, Style()) * np.where(rng.random(size) < 0.3, 10.0 ** rng.uniform(0.0, decades, size), 1.0)


def single_entries(rng: Generator, rows: int, columns: int) -> np.ndarray:
    """Draw rows with one entry each, of either sign and scaled by 1e-3 to 1e3."""
    entries = np.zeros((rows, columns))
    entries[np.arange(rows), rng.integers(0, columns, rows)] = rng.normal(size=rows) * 10.0 ** rng.uniform(-3, 3, rows)
    return entries


def with_stored_zeros(rng: Generator, matrix: np.ndarray) -> sp.csc_array:
    """Return a sparse matrix that stores some or all of its zeros."""
    stored = (matrix != 0.0) | (rng.random(matrix.shape) < rng.choice([0.1, 0.5, 1.0]))
    rows, columns = np.nonzero(stored)
    return sp.csc_array((matrix[rows, columns], (rows, columns)), matrix.shape)


def times(P: Any, x: np.ndarray) -> np.ndarray:
    """Return P x, or zeros if P is None."""
    return np.zeros_like(x) if P is None else P @ x  # type: ignore[operator,no-any-return]


def scaled_hessian(P: Any, columns: np.ndarray, factor: float) -> Any:
    """Return factor * diag(columns) P diag(columns) in the form of P."""
    if P is None:
        return None
    if isinstance(P, socp.LowRank):
        return LowRank(np.sqrt(factor) * columns[:, None] * P.F, factor * columns**2 * P.d)
    if sp.issparse(P):
        D = sp.diags_array(columns)
        return sp.csc_array(factor * (D @ P @ D))
    return factor * columns[:, None] * P * columns  # type: ignore[operator]
