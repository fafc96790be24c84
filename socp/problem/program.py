"""Cone programs in the caller's form, checked on construction."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..linalg.csc import csc
from ..linalg.vectors import NO_VALUES
from ..verify.constraints import SlackRows, TwoSidedRows
from ..verify.distances import Entries, single_entries
from .checks import (
    INT,
    NO_PLACES,
    ArrayLike,
    Number,
    ProgramError,
    all_finite,
    as_csc,
    as_number,
    as_vector,
    check_finite,
    check_no_nan,
)
from .hessian import WithHessian
from .lowrank import LowRank
from .printing import html_table

FEW = 8  # largest number of cones for which a layout is cached


@dataclass(frozen=True)
class NonNeg:
    """Nonnegative orthant s >= 0 of dimension `dim` (0 allowed).

    Raises
    ------
    ProgramError
        `dim` is not a nonnegative integer.

    Examples
    --------
    >>> NonNeg(3)
    NonNeg(dim=3)
    """

    dim: int

    def __post_init__(self) -> None:
        _check_dim(self)


@dataclass(frozen=True)
class SecondOrder:
    """Second-order cone {(t, u) : ||u|| <= t} of dimension `dim`, t first (0 allowed, 1 is t >= 0).

    Raises
    ------
    ProgramError
        `dim` is not a nonnegative integer.

    Examples
    --------
    >>> SecondOrder(3)
    SecondOrder(dim=3)
    """

    dim: int

    def __post_init__(self) -> None:
        _check_dim(self)


Cone = NonNeg | SecondOrder
Layout = tuple[np.ndarray, np.ndarray]


def _check_dim(cone: Any) -> None:
    if isinstance(cone.dim, bool) or not isinstance(cone.dim, (int, np.integer)) or cone.dim < 0:
        raise ProgramError(
            f"the dimension of {type(cone).__name__} must be a nonnegative integer, but {cone.dim!r} came"
        )
    object.__setattr__(cone, "dim", int(cone.dim))


class ConeProgram(WithHessian):
    r"""A quadratic-objective program over nonnegative orthants and second-order cones.

    .. math::
        \min_x \tfrac12 x^\top P x + c^\top x + \mathrm{offset} \quad
        \text{subject to } A x = b,\; G x + s = h,\; s \in K

    Parameters
    ----------
    c : array_like, shape (n,)
        Linear objective.
    G : sparse or dense matrix, shape (m, n), optional
        Matrix of the cone rows; required if h is given.
    h : array_like, shape (m,), optional
        Right-hand side of the cone rows.  A row of a nonnegative orthant may have ``h = +inf``: it always holds.
    cones : sequence of `NonNeg` and `SecondOrder`, optional
        Cones of s, in the order of the rows of G; their dimensions add up to m.
    A : sparse or dense matrix, shape (p, n), optional
        Matrix of the equalities; required if b is given.
    b : array_like, shape (p,), optional
        Right-hand side of the equalities.
    P : sparse or dense matrix, shape (n, n), or `LowRank`, optional
        Quadratic objective, symmetric positive semidefinite; None is zero.  Symmetry is checked here, definiteness by
        the `Solver`: a Cholesky factor must exist after each P_ii is raised by (64 + 8 n) eps P_ii, at most by
        2 sqrt(eps) P_ii, where eps is that of the type in which P came: float64, float32 or float16; integers are
        exact.  Smaller negative curvature counts as rounding.
        A matrix with mostly nonzero entries is kept as a dense array, in whichever format it was given.
    offset : float, default 0
        Constant that is added to the reported objective values; it does not influence the solution.

    Raises
    ------
    ProgramError
        A shape, a value or a cone does not fit; the message names it.

    Notes
    -----
    Matrices are scipy sparse in any format or numpy arrays.  All data are copied.

    Examples
    --------
    >>> program = ConeProgram(c=[1.0, 0.0], G=[[-1, 0], [0, -1]], h=[0, -3], cones=[SecondOrder(2)])
    >>> program
    ConeProgram(n=2, p=0, m=2, cones: 1 SecondOrder)
    """

    _cone_layout: Layout | None = None  # value of `cone_layout` after its first use

    def __init__(
        self,
        c: ArrayLike,
        G: ArrayLike | None = None,
        h: ArrayLike | Number | None = None,
        cones: Sequence[Cone] | Cone | None = None,
        A: ArrayLike | None = None,
        b: ArrayLike | Number | None = None,
        P: ArrayLike | LowRank | None = None,
        offset: float = 0.0,
    ) -> None:
        self.c = as_vector("c", c)
        check_finite("c", self.c)
        n = self.c.size
        check_pair("G", G, "h", h)
        check_pair("A", A, "b", b)

        self.G = no_rows(n) if G is None else as_csc("G", G, (None, n), f" ({n} variables in c)")
        self.h = as_vector("h", np.zeros(0) if h is None else h, self.G.shape[0], " (the rows of G)")
        self.cones = check_cones(cones, self.G.shape[0])
        check_h(self.h, self.cones)

        self.A = no_rows(n) if A is None else as_csc("A", A, (None, n), f" ({n} variables in c)")
        self.b = as_vector("b", np.zeros(0) if b is None else b, self.A.shape[0], " (the rows of A)")
        check_finite("b", self.b)

        self.take_hessian("P", P, n, "c")
        self.offset = as_number("offset", offset)

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.c.size

    @property
    def p(self) -> int:
        """Number of equalities."""
        return self.b.size

    @property
    def m(self) -> int:
        """Number of cone rows."""
        return self.h.size

    @property
    def cone_layout(self) -> Layout:
        """Arrays (start, second_order): rows start[k]:start[k + 1] of cone k, and a mask of the `SecondOrder` cones."""
        if self._cone_layout is None:
            self._cone_layout = layout_of(self.cones)
        return self._cone_layout

    def bounds(self) -> Entries:
        """Return (i, j, entry) of the bounds: rows of orthants with a single entry in G."""
        return single_entries(self.G, self.cone_layout)

    @property
    def cost(self) -> np.ndarray:
        """Linear objective c, under a name that quadratic programs have, too."""
        return self.c

    @property
    def constraints(self) -> tuple[TwoSidedRows, SlackRows]:
        """Blocks of rows A x = b and G x + s = h, with multipliers y and z."""
        return TwoSidedRows(self.A, self.b, self.b, self.b), SlackRows(self.G, self.h, self.cone_layout)

    def __repr__(self) -> str:
        kinds = [type(cone).__name__ for cone in self.cones]
        parts = [f"{kinds.count(kind)} {kind}" for kind in ("NonNeg", "SecondOrder") if kind in kinds]
        return f"ConeProgram(n={self.n}, p={self.p}, m={self.m}, cones: {', '.join(parts) or 'none'})"

    def _repr_html_(self) -> str:
        sizes = [cone.dim for cone in self.cones if isinstance(cone, SecondOrder)]
        rows = {
            "variables": self.n,
            "equalities": f"{self.p}, {self.A.nnz} entries",
            "cone rows": f"{self.m}, {self.G.nnz} entries",
            "nonnegative": sum(cone.dim for cone in self.cones if isinstance(cone, NonNeg)),
            "second-order cones": f"{len(sizes)}, dimensions {min(sizes)} to {max(sizes)}" if sizes else "none",
            "P": repr(self.hessian),
        }
        return html_table("ConeProgram", rows)


def layout_of(cones: tuple[Cone, ...]) -> Layout:
    """Return the `ConeProgram.cone_layout` of `cones`; the arrays may be shared and must not be changed."""
    return _kept_layout(cones) if len(cones) <= FEW else _layout(cones)


def _layout(cones: tuple[Cone, ...]) -> Layout:
    start = np.array([0, *accumulate([cone.dim for cone in cones])], INT)
    return start, np.array([isinstance(cone, SecondOrder) for cone in cones], np.bool_)


_kept_layout = functools.lru_cache(maxsize=64)(_layout)  # Programs with few cones have few different layouts.


@functools.lru_cache(maxsize=64)
def no_rows(n: int) -> sp.csc_array:
    """Return the matrix with `n` columns and no rows; programs share it, so it must not be changed."""
    return csc(NO_VALUES, NO_PLACES, np.zeros(n + 1, INT), (0, n))


def check_pair(matrix_name: str, matrix: Any, vector_name: str, vector: Any) -> None:
    if (matrix is None) != (vector is None):
        given, missing = (vector_name, matrix_name) if matrix is None else (matrix_name, vector_name)
        raise ProgramError(f"{matrix_name} and {vector_name} go together, but only {given} came: {missing} is missing")


def check_cones(cones: Sequence[Cone] | Cone | None, m: int) -> tuple[Cone, ...]:
    if cones is None:
        cones = []
    if isinstance(cones, (NonNeg, SecondOrder)):
        cones = [cones]
    if not isinstance(cones, Iterable):
        raise ProgramError(f"cones must be a sequence of NonNeg and SecondOrder, but {cones!r} came")
    cones = tuple(cones)
    for k, cone in enumerate(cones):
        if not isinstance(cone, (NonNeg, SecondOrder)):
            raise ProgramError(f"cones[{k}] must be NonNeg or SecondOrder, but {cone!r} came")
    total = sum([cone.dim for cone in cones])
    if total != m:
        raise ProgramError(f"cones must add up to the {m} rows of G, but their dimensions sum to {total}")
    return cones


def check_h(h: np.ndarray, cones: tuple[Cone, ...]) -> None:
    """Raise ProgramError if `h` has NaN, -inf, or infinity in a second-order cone; `h` may have a batch axis first."""
    if all_finite(h.ravel()):
        return
    check_no_nan("h", h)
    start = 0
    for k, cone in enumerate(cones):
        part = h[..., start : start + cone.dim]
        bad = part == -np.inf if isinstance(cone, NonNeg) else np.isinf(part)
        for first in np.argwhere(bad)[:1].tolist():
            first[-1] += start
            index, value = ", ".join(map(str, first)), h[tuple(first)]
            if isinstance(cone, NonNeg):
                raise ProgramError(f"h[{index}] is -inf: that row of the nonnegative orthant can never hold")
            raise ProgramError(f"h must be finite in a second-order cone, but h[{index}] (cones[{k}]) is {value}")
        start += cone.dim
