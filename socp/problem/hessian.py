"""The quadratic term P of the objective: none, sparse, dense, or diagonal plus low rank.

A program holds P as `as_hessian` returns it.  Its property `hessian` is P behind the interface `Hessian`, which all
forms implement.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..compiled.kernels import deferred_kernel, kernel, leaf
from ..compiled.memory import check_memory
from ..compiled.signatures import Floats, Ints, Matrix
from ..linalg.accurate import add_both, add_rows
from ..linalg.csc import csc, have_entries, multiply_transposed
from ..linalg.vectors import NO_VALUES, infinity_norm
from .checks import (
    EPS,
    FLOAT,
    INT,
    NO_PLACES,
    ProgramError,
    all_finite,
    as_csc,
    as_dense,
    as_symmetric,
    eps_of,
    is_symmetric,
    next_asymmetric,
)

FULL = 0.5  # share of nonzero entries above which P is stored as a dense array
SMALL = 0.01  # an objective whose largest entry is smaller is tested by its own size
GLANCE = 150  # largest order of a small P, for which one pass over all entries beats the tests of a large P
LOW_RANK_SHARE = 0.25  # largest rank, relative to the order, at which a dense P is factored as low rank
SIGNS = 4  # number of random sign vectors that test a low-rank factor
LOW_RANK_TOL = 1e-14  # size, relative to the largest entry of P, below which a pivot counts as zero


def check_full(n: int, copies: int = 1) -> None:
    """Raise MemoryError if P of order `n` in full, or several arrays of its size, do not fit into memory."""
    check_memory(8.0 * copies * n * n, f"P in full, {n} by {n},")


class Hessian:
    """Interface of the quadratic term P, with default implementations.

    Attributes
    ----------
    source : array, sparse array, LowRank or None
        P as a program stores it.
    order, entries : int
        Order of P, and number of stored entries.
    is_zero, is_sparse, is_full : bool
        True if there is no P; if P is stored in CSC as `indptr`, `indices`, `values`; if all entries of P are in
        `values`, by rows.
    rank : int or None
        Number of columns of F in P = F F' + diag(d), if known.
    is_definite : bool or None
        True if a Cholesky factorization has shown P positive definite; None if P was not tested.
    largest : float
        Largest absolute entry of P; in a semidefinite P it is on the diagonal.
    """

    source: Any
    is_zero = is_sparse = is_full = False
    is_definite: bool | None = None
    indptr, indices, values = NO_PLACES, NO_PLACES, NO_VALUES
    entries, rank = 0, None

    @property
    def order(self) -> int:
        """Order of P."""
        return int(self.source.shape[0])

    @property
    def largest(self) -> float:
        """Largest absolute entry of P, on the diagonal of a semidefinite P."""
        return float(np.abs(self.diagonal()).max(initial=0.0))

    def __repr__(self) -> str:
        """Return the form of P in words."""
        return repr(self.source)

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return P x."""
        return self.source @ x  # type: ignore[no-any-return]

    def accurate_product(self, x: np.ndarray) -> np.ndarray:
        """Return P x in twice the precision, shape (2 n,): the values, then their errors."""
        raise NotImplementedError

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Return |P| |x|, the sizes of the terms of P x."""
        raise NotImplementedError

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of P."""
        return self.source.diagonal()  # type: ignore[no-any-return]

    def has_entries(self, j: np.ndarray) -> np.ndarray:
        """Return a mask over `j`: True where the column of P of a variable has a nonzero entry."""
        found = self.diagonal()[j] != 0.0
        for k in np.flatnonzero(~found):  # P_jj = 0 implies a zero column only if P is semidefinite
            unit = np.zeros(self.order)
            unit[j[k]] = 1.0
            found[k] = self.product(unit).any()
        return found

    def has_full_diagonal(self) -> bool:
        """Return True if a quick look shows that no diagonal entry is zero."""
        return False

    def among(self, which: np.ndarray) -> Any:
        """Return the submatrix P[which, which] as a program holds it."""
        raise NotImplementedError

    def dense(self) -> np.ndarray:
        """Return P as a read-only dense array."""
        check_full(self.order)
        return self.source.toarray()  # type: ignore[no-any-return]

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (indptr, indices, data) of P in CSC: at least its upper triangle."""
        return DenseHessian(self.dense()).upper()

    def empty_like(self) -> Hessian:
        """Return an uninitialized matrix for scaled values of P, or P itself if kernels do not scale its values."""
        return self

    def scaled(self, D: np.ndarray, factor: float) -> Hessian:
        """Return factor D P D, or P itself if kernels scale its values."""
        return self

    def low_rank_form(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (F, d) with P = F F' + diag(d)."""
        raise NotImplementedError

    def portable(self) -> Any:
        """Return P as a program stores it, in a form that a file can hold."""
        return self.source

    def forget_rank(self) -> None:
        """Discard a known factor: the entries are about to change."""

    def take_workspace(self) -> np.ndarray:
        """Return n^2 uninitialized numbers."""
        check_full(self.order)
        return np.empty(self.order**2)


class SparseHessian(Hessian):
    """P as the full symmetric CSC matrix (no entries when the objective is linear); `values` are its data."""

    is_sparse = True

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, source: Any = None) -> None:
        self.indptr, self.indices, self.values, self.source = indptr, indices, data, source
        self.entries: int = data.size
        self.is_zero = self.entries == 0

    @property
    def order(self) -> int:
        return self.indptr.size - 1

    @property
    def largest(self) -> float:
        return float(np.abs(self.values).max(initial=0.0))

    def __repr__(self) -> str:
        return "none" if self.source is None else f"sparse, {self.entries} entries"

    def product(self, x: np.ndarray) -> np.ndarray:
        out = np.empty(x.size)
        multiply_transposed(self.indptr, self.indices, self.values, x, out)
        return out

    def accurate_product(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros(2 * x.size)
        if not self.is_zero:
            add_both(self.indptr, self.indices, self.values, x, x, np.zeros(2 * x.size), out)
        return out

    def sizes(self, x: np.ndarray) -> np.ndarray:
        out = np.empty(x.size)
        multiply_transposed(self.indptr, self.indices, np.abs(self.values), np.abs(x), out)
        return out

    def has_entries(self, j: np.ndarray) -> np.ndarray:
        found = np.empty(j.size, np.bool_)
        have_entries(self.indptr, self.indices, self.values, found[:0], j, found)
        return found

    def among(self, which: np.ndarray) -> Any:
        if self.is_zero:
            return None
        place = np.full(self.order, -1)
        place[which] = np.arange(which.size)
        indptr, indices, data = np.empty(which.size + 1, INT), np.empty(self.entries, INT), np.empty(self.entries)
        entries = keep_entries(self.indptr, self.indices, self.values, place, place, indptr, indices, data)
        return csc(data[:entries], indices[:entries], indptr, (which.size, which.size))

    def empty_like(self) -> SparseHessian:
        """Return P with its pattern and uninitialized values."""
        return self if self.is_zero else SparseHessian(self.indptr, self.indices, np.empty(self.entries))

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.indptr, self.indices, self.values

    def dense(self) -> np.ndarray:
        check_full(self.order)
        full = np.zeros((self.order, self.order))
        expand(self.indptr, self.indices, self.values, full)
        return full

    def diagonal(self) -> np.ndarray:
        found = np.empty(self.order)
        read_diagonal(self.indptr, self.indices, self.values, found)
        return found

    def has_full_diagonal(self) -> bool:
        return self.entries >= self.order and np.count_nonzero(self.diagonal()) == self.order


class DenseHessian(Hessian):
    """P as a dense array; `values` are its entries by rows."""

    is_full = True
    low_rank: np.ndarray | None = None  # F in P = F F', or None if it is unknown
    low_rank_error = 0.0  # estimate of the Frobenius norm of P - F F', scaled to a unit diagonal of P
    workspace: np.ndarray | None = None  # n^2 numbers, of the convexity test

    def __init__(self, array: np.ndarray) -> None:
        self.source, self.values, self.entries = array, array.reshape(-1), array.size

    @property
    def order(self) -> int:
        return len(self.source)

    @property
    def rank(self) -> int | None:  # type: ignore[override]
        return None if self.low_rank is None else int(self.low_rank.shape[1])

    @property
    def largest(self) -> float:
        return float(np.abs(self.values).max(initial=0.0))

    def __repr__(self) -> str:
        return f"dense, {self.entries} entries"

    def product(self, x: np.ndarray) -> np.ndarray:
        return self.source.dot(x)  # type: ignore[no-any-return]

    def accurate_product(self, x: np.ndarray) -> np.ndarray:
        out = np.zeros(2 * x.size)
        add_rows(self.source, x, out[: x.size], out[x.size :])
        return out

    def sizes(self, x: np.ndarray) -> np.ndarray:
        return np.abs(self.source) @ np.abs(x)  # type: ignore[no-any-return]

    def has_full_diagonal(self) -> bool:
        return np.count_nonzero(self.source.diagonal()) == self.order

    def among(self, which: np.ndarray) -> Any:
        return self.source[which[:, None], which]

    def dense(self) -> np.ndarray:
        return self.source  # type: ignore[no-any-return]

    def low_rank_form(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (F, 0) with P = F F'."""
        return self.factor(), np.zeros(self.order)

    def empty_like(self) -> DenseHessian:
        """Allocate an array of the order of P."""
        check_full(self.order)
        return DenseHessian(np.empty(self.source.shape))

    def forget_rank(self) -> None:
        self.low_rank = None

    def take_workspace(self) -> np.ndarray:
        """Return n^2 uninitialized numbers; the workspace of the convexity test, in mapped pages, is reused once."""
        workspace, self.workspace = self.workspace, None
        return super().take_workspace() if workspace is None else workspace

    def find_rank(self) -> bool:
        """Return True if P = F F' with few columns in F, and store F in `low_rank`."""
        size = float(self.source.diagonal().max(initial=0.0))
        return size > 0.0 and self._has_low_rank(size) and self._find_factor(size)

    def _has_low_rank(self, size: float) -> bool:
        """Return True if a principal submatrix, larger than the largest low rank, is singular."""
        n = self.order
        sample = np.random.default_rng(0).permutation(n)[: int(LOW_RANK_SHARE * n) + 1]
        part = np.asfortranarray(self.source[np.ix_(sample, sample)])
        _, _, rank, info = lapack.dpstrf(part, tol=LOW_RANK_TOL * size, lower=1, overwrite_a=1)
        return info >= 0 and rank < sample.size

    def _find_factor(self, size: float) -> bool:
        """Find P = F F' of rank r by r steps of pivoted Cholesky, which read r rows of P; return True if F is kept.

        The mean square of products with vectors of random signs estimates the squared Frobenius norm of P - F F',
        scaled to a unit diagonal of P.  F is kept if the estimate is at rounding level.
        """
        n = self.order
        diagonal, rows = self.source.diagonal(), np.empty((int(LOW_RANK_SHARE * n), n))
        left, rank = diagonal.copy(), 0
        while left.max() > LOW_RANK_TOL * size:
            if rank == len(rows):
                return False
            pivot = int(left.argmax())
            rows[rank] = (self.source[pivot] - rows[:rank, pivot] @ rows[:rank]) / math.sqrt(left[pivot])
            left -= rows[rank] ** 2
            left[pivot] = 0.0
            rank += 1
        F = np.ascontiguousarray(rows[:rank].T)
        root = np.sqrt(np.where(diagonal > 0.0, diagonal, size))[:, None]
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, SIGNS)) / root
        missing = (self.source @ signs - F @ (F.T @ signs)) / root
        self.low_rank_error = float(np.linalg.norm(missing)) / math.sqrt(SIGNS)
        if not self.low_rank_error <= n * LOW_RANK_TOL:
            return False
        self.low_rank = F
        return True

    def factor(self) -> np.ndarray:
        """Return F with P = F F' for a semidefinite P; F has rank(P) columns."""
        if self.low_rank is None:
            size = float(self.source.diagonal().max(initial=0.0))
            L, pivots, rank, _ = lapack.dpstrf(self.source.T, tol=LOW_RANK_TOL * size, lower=1)
            self.low_rank = np.zeros((self.order, rank))
            self.low_rank[pivots - 1] = np.tril(L[:, :rank])
        return self.low_rank

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the upper triangle in CSC."""
        check_full(self.order, 2)  # the triangle, and the row and column of each entry
        column, row = np.tril_indices(self.order)
        return np.cumsum(np.arange(self.order + 1, dtype=INT)), row.astype(INT), self.source[column, row]


def hessian_of(P: Any, n: int) -> Hessian:
    """Return the interface of P, which a program of `n` variables holds as `as_hessian` returns it."""
    if isinstance(P, np.ndarray):
        return DenseHessian(P)
    if P is None:
        return SparseHessian(np.zeros(n + 1, INT), NO_PLACES, NO_VALUES)
    return P if isinstance(P, Hessian) else SparseHessian(P.indptr, P.indices, P.data, P)


@leaf
def objective_unit(largest: float) -> float:
    """Return 1, or less for an objective whose `largest` entry, of c or the diagonal of P, is far below 1.

    It is largest / SMALL for 0 < largest < SMALL: an objective times 1e-6 has the same answers.
    """
    return largest / SMALL if 0.0 < largest < SMALL else 1.0


Kind = TypeVar("Kind", bound="WithHessian")


class WithHessian:
    """Base class of programs with a quadratic term P."""

    P: Any
    maximize = False  # True if the program was read as the maximization of the negative of its objective
    P_eps = EPS  # machine epsilon of the type in which the caller gave P
    P_places: tuple[np.ndarray, np.ndarray] | None = None  # indptr and indices of a sparse P stored dense
    _hessian: Hessian | None = None

    @classmethod
    def of_checked(cls: type[Kind], **data: Any) -> Kind:
        """Return a program with the attributes in `data`, which were checked before and are not copied."""
        program = object.__new__(cls)
        program.__dict__.update(data)
        return program

    def take_hessian(self, name: str, P: Any, n: int, vector: str) -> None:
        """Set P, called `name` in messages, and the attributes of `hessian_data` that differ from their defaults."""
        found = hessian_data(name, P, n, vector)
        self.P = found["P"]
        if found["P_eps"] != EPS or found["P_places"] is not None:
            vars(self).update(found)

    @property
    def hessian(self) -> Hessian:
        """Quadratic term P behind the interface `Hessian`."""
        found = self._hessian
        if found is None or found.source is not self.P:
            found = self._hessian = hessian_of(self.P, self.n)
        return found

    @property
    def n(self) -> int:
        """Number of variables."""
        raise NotImplementedError

    @property
    def cost(self) -> np.ndarray:
        """Linear objective."""
        raise NotImplementedError

    @property
    def objective_unit(self) -> float:
        """Size that the stopping test adds to the sizes of the objective's terms; see `objective_unit`."""
        largest: float = infinity_norm(self.cost)
        if largest < SMALL:  # The largest entry of a semidefinite P is on its diagonal.
            P = self.hessian
            largest = max(largest, infinity_norm(P.values if P.is_sparse else np.ascontiguousarray(P.diagonal())))
        return largest / SMALL if 0.0 < largest < SMALL else 1.0  # `objective_unit`, which only kernels call


def as_hessian(name: str, P: Any, n: int, vector: str) -> sp.csc_array | np.ndarray | Hessian | None:
    """Return P as programs store it: None, `LowRank`, dense if most entries are nonzero, else CSC."""
    return hessian_data(name, P, n, vector)["P"]  # type: ignore[no-any-return]


def is_mostly_full(P: np.ndarray) -> bool:
    """Return True if programs hold the symmetric array P as it is, since most entries are nonzero."""
    return bool(np.count_nonzero(P) > FULL * P.size)


def hessian_data(name: str, P: Any, n: int, vector: str) -> dict[str, Any]:
    """Return the attributes `P`, as `as_hessian` returns it, `P_eps` and `P_places` of a program of `n` variables."""
    if P is None:
        return {"P": None, "P_eps": EPS, "P_places": None}
    if type(P) is np.ndarray and P.dtype == FLOAT and P.shape == (n, n) and n <= GLANCE:
        P = P.astype(FLOAT, order="C")
        if all_finite(P.reshape(-1)) and next_asymmetric(P.reshape(1, -1), n, 0) < 0 and is_mostly_full(P):
            return {"P": P, "P_eps": EPS, "P_places": None}
    why = f" ({n} variables in {vector})"
    if isinstance(P, Hessian) and P.rank is not None:
        if P.order != n:
            raise ProgramError(f"{name} must have shape ({n}, {n}){why}, but {(P.order, P.order)} came")
        return {"P": P, "P_eps": EPS, "P_places": None}
    eps = EPS
    if not sp.issparse(P):
        P, eps = as_dense(name, P, (n, n), why), eps_of(P)
        if is_mostly_full(P):
            return {"P": as_symmetric(name, P, eps), "P_eps": eps, "P_places": None}
    matrix = as_csc(name, P, (n, n), why)
    eps, full = max(eps, eps_of(P)), FULL * n * n  # Stored entries may be zero; only nonzero entries count.
    if n > 1 and matrix.data.size > full and np.count_nonzero(matrix.data) > full:
        check_full(n)
        dense = as_symmetric(name, np.ascontiguousarray(matrix.toarray()), eps)
        return {"P": dense, "P_eps": eps, "P_places": (matrix.indptr, matrix.indices)}
    if not is_symmetric(matrix.indptr, matrix.indices, matrix.data, np.empty(n, INT)):
        matrix = as_symmetric(name, matrix, eps)
    return {"P": matrix, "P_eps": eps, "P_places": None}


@kernel
def read_diagonal(indptr: Ints, indices: Ints, data: Floats, diagonal: Floats) -> None:
    """Write the diagonal of a CSC matrix to `diagonal`."""
    for j in range(diagonal.size):
        diagonal[j] = 0.0
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] == j:
                diagonal[j] = data[k]


@deferred_kernel
def expand(indptr: Ints, indices: Ints, data: Floats, full: Matrix) -> None:
    """Add a CSC matrix to the dense array `full`."""
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            full[indices[k], j] += data[k]


@deferred_kernel
def keep_entries(
    indptr: Ints, indices: Ints, data: Floats, row: Ints, column: Ints, new_indptr: Ints, new_indices: Ints,
    new_data: Floats,
) -> int:  # fmt: skip
    """Copy the entries whose row and column have place >= 0; return how many there are."""
    at, last = 0, 0
    for j in range(column.size):
        if column[j] < 0:
            continue
        new_indptr[column[j]] = at
        last = column[j] + 1
        for k in range(indptr[j], indptr[j + 1]):
            if row[indices[k]] >= 0:
                new_indices[at], new_data[at] = row[indices[k]], data[k]
                at += 1
    new_indptr[last] = at
    return at
