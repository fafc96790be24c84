"""The quadratic term P of the objective, in the forms in which it comes: sparse, dense, diagonal plus low rank.

Each form answers the same few questions, those of `Hessian`, so that nobody has to ask which one it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from ..compiled.kernels import deferred, inner, kernel
from ..compiled.signatures import Floats, Ints, Matrix
from ..linalg.cholesky import cholesky
from ..linalg.csc import multiply_symmetric
from ..linalg.ldl.factorization import LDL
from ..problem.checks import ProgramError
from ..problem.lowrank import LowRank
from ..problem.stopping import LOST

GLANCE = 150  # an order up to which a Cholesky factor is quicker than the analysis of a sparse one
BANDED = 50  # multiplications an entry and row of P up to which one within its envelope is
SMALL = 64  # an order up to which a dense P is also worked on entry by entry
LOW_RANK_SHARE = 0.25  # a dense P is looked at as low rank up to this share of its order
SEMIDEFINITE_TOL = 1e-8  # a P counts as semidefinite when this share of its own diagonal makes it definite
EPS = float(np.finfo(np.float64).eps)
SIGNS = 4  # vectors of random signs that a factor is tested with
LOW_RANK_TOL = 1e-14  # pivots of P below this share of its largest entry count as zero
NO_PLACES, NO_VALUES = np.zeros(0, np.int64), np.zeros(0)


class Hessian:
    """What the engine asks of the quadratic term, with the answers that most forms share.

    Each form gives `product`, `diagonal`, `dense`, `room` and `upper` besides.

    Attributes
    ----------
    order, entries : int
        The number of variables, and of numbers that are stored.
    is_zero, is_sparse, is_full : bool
        Whether there is no P; whether it is stored by `indptr`, `indices`, `values` in CSC; or as all of its entries
        in `values`, by rows.
    rank : int or None
        Where it is known, the number of columns of F in P = F F' + diag(d).
    """

    is_zero = is_sparse = is_full = False
    indptr, indices, values = NO_PLACES, NO_PLACES, NO_VALUES
    entries = 0

    @property
    def order(self) -> int:
        raise NotImplementedError

    @property
    def rank(self) -> int | None:
        return None

    def product(self, x: np.ndarray, out: np.ndarray) -> None:
        """out := P x."""
        raise NotImplementedError

    def diagonal(self) -> np.ndarray:
        """The diagonal."""
        raise NotImplementedError

    def dense(self) -> np.ndarray:
        """P as a full array, not to be written to."""
        raise NotImplementedError

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P in CSC: its upper triangle at least."""
        raise NotImplementedError

    def empty_like(self) -> Hessian:
        """Room for a scaled copy."""
        return self

    def scaled(self, D: np.ndarray, factor: float) -> Hessian:
        """factor D P D, but for a form of which the kernels scale the values."""
        return self

    def first_negative(self, shift: np.ndarray) -> int:
        """The variable at which P + diag(shift) is seen not to be positive definite, -1 where it is."""
        return -1

    def low_rank_form(self) -> tuple[np.ndarray, np.ndarray]:
        """(F, d) with P = F F' + diag(d)."""
        raise NotImplementedError

    def forget_rank(self) -> None:
        """The entries are about to change."""

    def take_room(self) -> np.ndarray:
        """n^2 numbers to write into."""
        return np.empty(self.order**2)


class SparseHessian(Hessian):
    """P as the full symmetric CSC matrix (no entries when the objective is linear); `values` are its data."""

    is_sparse = True

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> None:
        self.indptr, self.indices, self.values = indptr, indices, data
        self.entries: int = data.size
        self.is_zero = self.entries == 0

    def product(self, x: np.ndarray, out: np.ndarray) -> None:
        """out := P x."""
        multiply_symmetric(self.indptr, self.indices, self.values, x, out)

    @property
    def order(self) -> int:
        return self.indptr.size - 1

    def empty_like(self) -> SparseHessian:
        """The same pattern with room for values."""
        return self if self.is_zero else SparseHessian(self.indptr, self.indices, np.empty(self.entries))

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P in CSC."""
        return self.indptr, self.indices, self.values

    def first_negative(self, shift: np.ndarray) -> int:
        """The variable of the first pivot that is not positive, or -1."""
        return _first_bad_pivot(self, shift)

    def dense(self) -> np.ndarray:
        """P as a full array."""
        n = self.indptr.size - 1
        full = np.zeros((n, n))
        expand(self.indptr, self.indices, self.values, full)
        return full

    def diagonal(self) -> np.ndarray:
        """The diagonal."""
        found = np.zeros(self.indptr.size - 1)
        add_diagonal(self.indptr, self.indices, self.values, found)
        return found


class DenseHessian(Hessian):
    """P as a full array; `values` are its entries by rows."""

    is_full = True

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.values = array, array.reshape(-1)
        self.low_rank: np.ndarray | None = None
        self._room: np.ndarray | None = None
        self.entries: int = array.size

    @property
    def order(self) -> int:
        return len(self.array)

    @property
    def rank(self) -> int | None:
        return None if self.low_rank is None else int(self.low_rank.shape[1])

    def product(self, x: np.ndarray, out: np.ndarray) -> None:
        """out := P x."""
        np.dot(self.array, x, out=out)

    def first_negative(self, shift: np.ndarray) -> int:
        """The variable with the smallest diagonal entry where Cholesky fails, else -1."""
        return -1 if self.is_semidefinite(shift) else int(self.array.diagonal().argmin())

    def low_rank_form(self) -> tuple[np.ndarray, np.ndarray]:
        """(F, 0) with P = F F'."""
        return self.factor(), np.zeros(self.order)

    def empty_like(self) -> DenseHessian:
        """Room for an array of the same order."""
        return DenseHessian(np.empty(self.array.shape))

    def is_semidefinite(self, shift: np.ndarray) -> bool:
        """Whether P + diag(shift) is positive definite.

        A P of low rank is found out first, and its factor kept in `low_rank`; all others are left to a plain Cholesky.
        """
        size = float(self.array.diagonal().max(initial=0.0))
        if size <= 0.0:
            return not self.array.any()
        if self._has_low_rank(size) and self._find_factor(size):
            return True
        # the lower triangle by columns is the upper one by rows of the same memory
        self._room = self.array.ravel().copy()
        self._room[:: self.order + 1] += shift
        return cholesky(self.order, self._room) == 0

    def forget_rank(self) -> None:
        """The entries are about to change."""
        self.low_rank = None

    def take_room(self) -> np.ndarray:
        """n^2 numbers to write into: those of `is_semidefinite` once, as memory is dear when it is touched first."""
        room, self._room = self._room, None
        return np.empty(self.array.size) if room is None else room

    def _has_low_rank(self, size: float) -> bool:
        """Whether a sample of the rows and columns, as many as a low rank may count at most, has not full rank."""
        n = self.order
        if n <= SMALL:
            return False
        sample = np.random.default_rng(0).permutation(n)[: int(LOW_RANK_SHARE * n) + 1]
        part = np.asfortranarray(self.array[np.ix_(sample, sample)])
        _, _, rank, info = lapack.dpstrf(part, tol=LOW_RANK_TOL * size, lower=1, overwrite_a=1)
        return info >= 0 and rank < sample.size

    def _find_factor(self, size: float) -> bool:
        """Look for P = F F' of low rank r by r steps of pivoted Cholesky, which read r rows of P; whether F is kept.

        The mean square of products with random signs is that of the Frobenius norm: it tells whether P - F F', scaled
        to a unit diagonal of P, is rounding.
        """
        n = self.order
        diagonal, rows = self.array.diagonal(), np.empty((int(LOW_RANK_SHARE * n), n))
        left, rank = diagonal.copy(), 0
        while left.max() > LOW_RANK_TOL * size:
            if rank == len(rows):
                return False
            pivot = int(left.argmax())
            rows[rank] = (self.array[pivot] - rows[:rank, pivot] @ rows[:rank]) / math.sqrt(left[pivot])
            left -= rows[rank] ** 2
            left[pivot] = 0.0
            rank += 1
        F = np.ascontiguousarray(rows[:rank].T)
        root = np.sqrt(np.where(diagonal > 0.0, diagonal, size))[:, None]
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, SIGNS)) / root
        missing = (self.array @ signs - F @ (F.T @ signs)) / root
        if not np.linalg.norm(missing) <= math.sqrt(SIGNS) * n * LOW_RANK_TOL:
            return False
        self.low_rank = F
        return True

    def factor(self) -> np.ndarray:
        """F with P = F F', of as many columns as the rank of P, which is semidefinite."""
        if self.low_rank is None:
            size = float(self.array.diagonal().max(initial=0.0))
            L, pivots, rank, _ = lapack.dpstrf(self.array.T, tol=LOW_RANK_TOL * size, lower=1)
            self.low_rank = np.zeros((self.order, rank))
            self.low_rank[pivots - 1] = np.tril(L[:, :rank])
        return self.low_rank

    def dense(self) -> np.ndarray:
        """P as a full array, not to be written to."""
        return self.array

    def diagonal(self) -> np.ndarray:
        """The diagonal."""
        return self.array.diagonal()

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The upper triangle in CSC."""
        n = self.array.shape[0]
        counts = np.arange(n + 1, dtype=np.int64)
        indices, data = np.empty(n * (n + 1) // 2, dtype=np.int64), np.empty(n * (n + 1) // 2)
        pack_upper(self.array, indices, data)
        return np.cumsum(counts), indices, data


def diagonal(P: Any, n: int) -> np.ndarray:
    """The diagonal of P as a program holds it."""
    if P is None:
        return np.zeros(n)
    if not isinstance(P, sp.csc_array):
        return P.diagonal().copy()  # for that of an array is read-only
    found = np.zeros(n)
    add_diagonal(P.indptr, P.indices, P.data, found)
    return found


@kernel
def add_diagonal(indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """out += the diagonal of a CSC matrix."""
    for j in range(out.size):
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] == j:
                out[j] += data[k]


@kernel
def raise_upper(
    indptr: Ints, indices: Ints, data: Floats, shift: Floats, upper_indptr: Ints, upper_indices: Ints,
    upper_data: Floats,
) -> None:  # fmt: skip
    """The upper triangle of P + diag(shift), with every diagonal entry, from the sorted columns of P."""
    count = 0
    for j in range(shift.size):
        upper_indptr[j], value = count, shift[j]
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] < j:
                upper_indices[count], upper_data[count] = indices[k], data[k]
                count += 1
            elif indices[k] == j:
                value += data[k]
        upper_indices[count], upper_data[count] = j, value
        count += 1
    upper_indptr[shift.size] = count


@kernel
def first_bad_entry(indptr: Ints, indices: Ints, data: Floats, shift: Floats) -> int:
    """The first column of an entry that no semidefinite matrix has where P is diagonal or its diagonal zero, or -1.

    That is, its upper triangle has at most one entry a column, or shift is zero; -2 of any other.
    """
    first, most, zero = -1, 0, True
    for j in range(shift.size):
        count, zero = 0, zero and shift[j] == 0.0
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] <= j:
                count += 1
                if first < 0 and ((indices[k] < j and data[k] != 0.0) or data[k] < -shift[j]):
                    first = j
        most = max(most, count)
    return first if most <= 1 or zero else -2


@kernel
def expand(indptr: Ints, indices: Ints, data: Floats, full: Matrix) -> None:
    """full += a CSC matrix."""
    for j in range(indptr.size - 1):
        for k in range(indptr[j], indptr[j + 1]):
            full[indices[k], j] += data[k]


@kernel
def pack_upper(array: Matrix, indices: Ints, data: Floats) -> None:
    """The upper triangle of a symmetric array, by columns."""
    at = 0
    for j in range(array.shape[0]):
        for i in range(j + 1):
            indices[at], data[at] = i, array[j, i]
            at += 1


class LowRankHessian(Hessian):
    """P = F F' + diag(d), never formed (except where a sparse KKT matrix asks for its triangle)."""

    def __init__(self, F: np.ndarray, d: np.ndarray) -> None:
        self.F, self.d = F, d
        self.entries = F.size + d.size

    @property
    def order(self) -> int:
        return self.d.size

    @property
    def rank(self) -> int | None:
        return int(self.F.shape[1])

    def low_rank_form(self) -> tuple[np.ndarray, np.ndarray]:
        """(F, d)."""
        return self.F, self.d

    def product(self, x: np.ndarray, out: np.ndarray) -> None:
        """out := F (F'x) + d x."""
        np.dot(self.F, x @ self.F, out=out)
        out += self.d * x

    def dense(self) -> np.ndarray:
        """P as a full array."""
        return self.F @ self.F.T + np.diag(self.d)

    def diagonal(self) -> np.ndarray:
        """The diagonal."""
        return np.einsum("ij,ij->i", self.F, self.F) + self.d

    def scaled(self, D: np.ndarray, factor: float) -> LowRankHessian:
        """factor D P D."""
        return LowRankHessian(np.sqrt(factor) * D[:, None] * self.F, factor * D * D * self.d)

    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The upper triangle of the product, in CSC."""
        return DenseHessian(self.dense()).upper()


def as_operator(P: sp.csc_array | np.ndarray | LowRank | None, n: int) -> Hessian:
    """The form that fits what a checked program holds."""
    if P is None:
        return SparseHessian(np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    if isinstance(P, LowRank):
        return LowRankHessian(P.F, P.d)
    if isinstance(P, np.ndarray):
        return DenseHessian(P)
    return SparseHessian(P.indptr, P.indices, P.data)


def check_semidefinite(
    P: Hessian, D: np.ndarray = NO_VALUES, factor: float = 1.0, tol: float = SEMIDEFINITE_TOL
) -> None:  # fmt: skip
    """Refuse a P that is not positive semidefinite: P with its diagonal raised has no LDL' with D > 0.

    P is raised by tol P_ii and by what rounding may take of its largest entry: no scaling of the variables hides a
    negative curvature, as it can where a share of the largest entry is added.  A P that was scaled to factor D P D is
    measured as it was.

    A `LowRankHessian` is semidefinite by construction.
    """
    if P.is_zero or not (P.is_sparse or P.is_full):
        return
    if is_clearly_semidefinite(P.order, P.is_sparse, P.indptr, P.indices, P.values, D, factor, tol):
        return
    column = P.first_negative(shift_of(P.diagonal(), D, factor, tol))
    if column >= 0:
        raise ProgramError(
            f"P must be positive semidefinite, but it is not: eliminating variable {column} meets a negative pivot"
        )


def shift_of(diagonal: np.ndarray, D: np.ndarray, factor: float, tol: float) -> np.ndarray:
    """`set_shift` with its array allocated."""
    shift = np.empty(diagonal.size)
    set_shift(np.ascontiguousarray(diagonal), D, factor, tol, shift)
    return shift


@kernel
def set_shift(diagonal: Floats, D: Floats, factor: float, tol: float, shift: Floats) -> None:
    """shift := tol P_ii, and (64 + n) units in the last place of the largest P_ii; an empty D is one."""
    n, largest = diagonal.size, 0.0
    for i in range(n):
        shift[i] = factor * D[i] ** 2 if D.size > 0 else 1.0
        largest = max(largest, diagonal[i] / shift[i])
    for i in range(n):
        shift[i] = tol * max(diagonal[i], 0.0) + (LOST + n * EPS) * largest * shift[i]


@kernel
def is_clearly_semidefinite(
    n: int, is_sparse: bool, indptr: Ints, indices: Ints, values: Floats, D: Floats, factor: float, tol: float
) -> bool:
    """Whether it is seen at a glance; False leaves it open.

    P is diagonally dominant, or P + diag(shift) without the variables that stand alone in it is small, or has its
    entries near the diagonal, and a Cholesky factor.
    """
    diagonal, shift = np.zeros(n), np.empty(n)
    if is_sparse:
        if is_dominant(indptr, indices, values):
            return True
        add_diagonal(indptr, indices, values, diagonal)
        set_shift(diagonal, D, factor, tol, shift)
        place = np.empty(n, np.int64)
        order = number_coupled(indptr, indices, values, place)
        for j in range(n):
            if place[j] < 0 and not diagonal[j] + shift[j] > 0.0:
                return False
        if order > GLANCE:
            return has_banded_factor(order, place, indptr, indices, values, shift)
        P = np.zeros(order * order)
        spread_coupled(order, place, indptr, indices, values, shift, P)
        return cholesky(order, P) == 0
    if n > GLANCE:
        return False
    for j in range(n):
        diagonal[j] = values[j * n + j]
    set_shift(diagonal, D, factor, tol, shift)
    return is_semidefinite(n, values, shift, np.empty(n * n))


@inner
def number_coupled(indptr: Ints, indices: Ints, values: Floats, place: Ints) -> int:
    """place := the numbers of the variables that P couples with others, -1 of one that it does not; how many do."""
    count = 0
    for j in range(place.size):
        place[j] = -1
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] != j and values[k] != 0.0:
                place[j] = count
                count += 1
                break
    return count


@inner
def spread_coupled(
    order: int, place: Ints, indptr: Ints, indices: Ints, values: Floats, shift: Floats, P: Floats
) -> None:
    """P += P + diag(shift) of the coupled variables, by rows."""
    for j in range(place.size):
        if place[j] < 0:
            continue
        for k in range(indptr[j], indptr[j + 1]):
            if place[indices[k]] >= 0:
                P[place[indices[k]] * order + place[j]] += values[k]
        P[place[j] * (order + 1)] += shift[j]


@deferred
def has_banded_factor(order: int, place: Ints, indptr: Ints, indices: Ints, values: Floats, shift: Floats) -> bool:
    """Whether P + diag(shift) of the coupled variables has few entries between the first one of a row and its diagonal,
    and a Cholesky factor.

    Row i of L, from its column first[i] on, is in L[begin[i]:], where L(i, j) has the place begin[i] + j.
    """
    words, work = 0, 0
    first, begin, variable = np.empty(order, np.int64), np.empty(order, np.int64), np.empty(order, np.int64)
    for v in range(place.size):
        i = place[v]
        if i < 0:
            continue
        first[i], variable[i] = i, v
        for k in range(indptr[v], indptr[v + 1]):  # column v, which is row v
            if place[indices[k]] >= 0:
                first[i] = min(first[i], place[indices[k]])
        begin[i] = words - first[i]
        words += i - first[i] + 1
        work += (i - first[i] + 1) ** 2
        if work > BANDED * (place.size + indptr[place.size]):
            return False
    L = np.zeros(words)
    for i in range(order):
        row, v = begin[i], variable[i]
        L[row + i] = shift[v]
        for k in range(indptr[v], indptr[v + 1]):
            if 0 <= place[indices[k]] <= i:
                L[row + place[indices[k]]] += values[k]
        for j in range(first[i], i):
            entry = L[row + j]
            for k in range(np.uint64(max(first[i], first[j])), np.uint64(j)):
                entry -= L[np.uint64(row) + k] * L[np.uint64(begin[j]) + k]
            L[row + j] = entry / L[begin[j] + j]
            L[row + i] -= L[row + j] ** 2
        if not L[row + i] > 0.0:
            return False
        L[row + i] = math.sqrt(L[row + i])
    return True


@kernel
def is_dominant(indptr: Ints, indices: Ints, data: Floats) -> bool:
    """Whether each diagonal entry is at least the sum of the others' sizes in its column: P is semidefinite then."""
    n = indptr.size - 1
    for j in range(n):
        diagonal, others = 0.0, 0.0
        for k in range(indptr[j], indptr[j + 1]):
            if indices[k] == j:
                diagonal += data[k]
            else:
                others += abs(data[k])
        if not diagonal >= others:
            return False
    return True


@kernel
def is_semidefinite(n: int, P: Floats, shift: Floats, work: Floats) -> bool:
    """Whether P + diag(shift) is positive definite."""
    for i in range(n * n):
        work[i] = P[i]
    for i in range(n):
        work[i * n + i] += shift[i]
    return cholesky(n, work) == 0


def _first_bad_pivot(P: SparseHessian, shift: np.ndarray) -> int:
    """The variable at which the LDL' of P + diag(shift) meets a pivot that is not positive, or -1."""
    n, most = shift.size, P.entries + shift.size
    column = first_bad_entry(P.indptr, P.indices, P.values, shift)
    if column >= -1:
        return int(column)
    indptr, indices, data = np.empty(n + 1, np.int64), np.empty(most, np.int64), np.empty(most)
    raise_upper(P.indptr, P.indices, P.values, shift, indptr, indices, data)
    ldl = LDL(n, indptr, indices[: indptr[n]], np.ones(n, np.int64))
    if ldl.factor(data[: indptr[n]], 0.0, -1.0) == 0:  # a bad pivot becomes -1
        return -1
    bad = np.flatnonzero(ldl.d < 0.0)
    return int(ldl.perm[bad[0]]) if bad.size else 0
