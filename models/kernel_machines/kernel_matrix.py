"""P as the matrix of a kernel between samples, whose rows are computed when they are needed."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from socp.problem.checks import ArrayLike, ProgramError, as_dense, as_number, as_vector, check_finite
from socp.problem.hessian import Hessian, check_full

from .mercer import (
    AT_ONCE,
    Samples,
    add_expansion,
    check_name,
    check_parameter,
    check_range,
    fill_gram,
    is_mercer,
    make_rows,
    samples_of,
)


class KernelMatrix(Hessian):
    r"""The matrix P_kl = s_k s_l k(x_o(k), x_o(l)) of samples, each used once or several times, with signs s.

    Nothing of the size of P is kept.  A `KernelProgram` with such a P, finite bounds and at most one equality (or one
    for the first and one for the other variables), whose entries are a multiple of `signs`, is solved by `KernelSolver`
    from kernel rows that are computed on demand and kept in `cache_size` megabytes.  For any other program, and in
    `qp.solve`, P is formed in full: it is an array to NumPy.

    Parameters
    ----------
    samples : array, shape (samples, features), or anything with rows for a callable kernel
    kernel : {"linear", "poly", "rbf"} or callable
        x'z, (gamma x'z + coef0)^degree, exp(-gamma \|x - z\|^2); or a function of two matrices of samples that returns
        the matrix between their rows.
    gamma, coef0, degree : float, float, int
        Parameters of the kernel; gamma is at least 0, degree whole and from 0 to 1000, for every kernel.  A poly kernel
        with coef0 < 0 need not be positive semidefinite: P is formed in full and tested.
    signs : array_like of +1 and -1, optional
        One sign per variable, in all a multiple of the number N of samples; variable k belongs to sample k modulo N.
    semidefinite : bool, optional
        Whether the kernel is known to be positive semidefinite; by default decided by name and parameters.  Otherwise P
        is formed in full and tested.
    cache_size : float, default 200
        Megabytes for kernel rows.

    Raises
    ------
    ProgramError
        The kernel, its parameters or `signs` do not fit the samples, or `cache_size` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> P = KernelMatrix(np.array([[0.0], [1.0]]), "rbf", gamma=np.log(2.0), signs=[1, -1])
    >>> P.toarray()
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    >>> P @ np.array([1.0, 1.0])
    array([0.5, 0.5])
    """

    ndim, dtype = 2, np.dtype(np.float64)  # of P as an array

    def __init__(
        self,
        samples: Any,
        kernel: Literal["linear", "poly", "rbf"] | Callable[[Any, Any], np.ndarray],
        *,
        gamma: float = 1.0,
        coef0: float = 0.0,
        degree: int = 3,
        signs: ArrayLike | None = None,
        semidefinite: bool | None = None,
        cache_size: float = 200.0,
    ) -> None:
        check_name(kernel)
        self.gamma, self.coef0 = check_parameter("gamma", gamma), check_parameter("coef0", coef0)
        self.degree = check_parameter("degree", degree)
        if isinstance(kernel, str):
            samples = as_dense("samples", samples)
            check_range(samples, kernel, self.gamma, self.coef0, self.degree)
        self.samples, self.kernel, self.count = samples, kernel, int(samples.shape[0])
        self.cache_size = as_number("cache_size", cache_size)
        if not self.cache_size > 0.0:
            raise ProgramError(f"cache_size must be above 0 (megabytes), but {cache_size!r} came")
        self.signs = np.ones(self.count) if signs is None else as_vector("signs", signs)
        self.sides = self.signs.size // self.count if self.count else 1
        if self.signs.size != self.sides * self.count or self.sides == 0 or not (np.abs(self.signs) == 1.0).all():
            raise ProgramError(f"signs must be +1 and -1, one for each of {self.count} samples or a multiple of that")
        known = isinstance(kernel, str) and is_mercer(kernel, self.coef0)
        self.is_semidefinite = known if semidefinite is None else bool(semidefinite)
        self._compiled: threading.local | None = None
        self._diagonal: np.ndarray | None = None

    @property
    def source(self) -> KernelMatrix:  # type: ignore[override]
        """P as a `KernelProgram` stores it."""
        return self

    @property
    def cache_bytes(self) -> int:
        """Size of the row cache in bytes."""
        return int(self.cache_size * 2**20)

    @property
    def semidefinite(self) -> bool:
        """Argument `semidefinite`, after it was decided."""
        return self.is_semidefinite

    def portable(self) -> Any:
        """Return P as it is, or in full if its kernel is a function."""
        if isinstance(self.kernel, str):
            return self
        check_full(self.order)
        return self.toarray()

    @property
    def shape(self) -> tuple[int, int]:
        """Order of P, twice."""
        return self.signs.size, self.signs.size

    def __repr__(self) -> str:
        name = self.kernel if isinstance(self.kernel, str) else "function"
        return f"KernelMatrix({name}, {self.count} samples, {self.shape[0]} variables)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": None}

    def compiled(self) -> Samples | None:
        """Return this thread's `Samples`, with work space for compiled kernels, or None if `kernel` is a function."""
        if not isinstance(self.kernel, str):
            return None
        if self._compiled is None:
            self._compiled = threading.local()
        own = self._compiled.__dict__
        if "samples" not in own:
            own["samples"] = samples_of(self.samples, self.kernel, self.gamma, self.coef0, self.degree)
        found: Samples = own["samples"]
        return found

    def kernel_diagonal(self) -> np.ndarray:
        """Return k(x_i, x_i) of all samples, shape (count,)."""
        if self._diagonal is None:
            compiled = self.compiled()
            if compiled is None:
                parts = [
                    self.between(slice(i, i + AT_ONCE), slice(i, i + AT_ONCE)) for i in range(0, self.count, AT_ONCE)
                ]
                found = np.concatenate([part.diagonal() for part in parts]) if parts else np.zeros(0)
            elif self.kernel == "rbf":
                found = np.ones(self.count)
            else:
                found = compiled.squares.copy()
                found = (self.gamma * found + self.coef0) ** self.degree if self.kernel == "poly" else found
            self._diagonal = found
        return self._diagonal

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of P."""
        return np.tile(self.kernel_diagonal(), self.sides)

    def between(self, rows: Any, columns: Any) -> np.ndarray:
        """Return a callable kernel's matrix between samples `rows` and `columns`, checked for shape and finiteness."""
        assert callable(self.kernel)
        left, right = self.samples[rows], self.samples[columns]
        found, shape = self.kernel(left, right), (left.shape[0], right.shape[0])
        if type(found) is not np.ndarray or found.dtype != np.float64 or found.shape != shape:
            return as_dense("what kernel returns", found, shape)
        check_finite("what kernel returns", found)
        return found

    def kernel_rows(self, which: np.ndarray) -> np.ndarray:
        """Return k between the samples `which` and all samples, shape (which.size, count)."""
        compiled = self.compiled()
        if compiled is None:
            return self.between(which, slice(None))
        found = np.empty((which.size, self.count))
        which = np.ascontiguousarray(which, np.int64)
        make_rows(compiled, self.count, which, which.size, np.arange(which.size), found)
        return found

    def gram(self, which: np.ndarray | None = None) -> np.ndarray:
        """Return k among the samples `which` (default all), exactly symmetric unless the kernel is a function."""
        compiled = self.compiled()
        if compiled is None:
            which = np.arange(self.count) if which is None else which
            return self.between(which, which)
        if which is not None:
            x = compiled.x.reshape(self.count, -1)[which]
            compiled = samples_of(x, str(self.kernel), self.gamma, self.coef0, self.degree, centred=True)
        found = np.empty((compiled.count, compiled.count))
        fill_gram(compiled, found)
        return found

    def among(self, which: np.ndarray) -> np.ndarray:
        """Return the rows and columns `which` of P."""
        signs = self.signs[which]
        return signs[:, None] * self.gram(which % self.count) * signs

    def expansion(self, coefficients: np.ndarray) -> np.ndarray:
        """Return sum_j c_j k(x_j, x_i) for all samples i, from the kernel rows of nonzero c_j alone."""
        which = np.flatnonzero(coefficients)
        compiled, values = self.compiled(), np.zeros(self.count)
        if compiled is not None:
            # In pieces, as Ctrl-C waits for the end of a compiled call.
            most = max(AT_ONCE, math.ceil(2**25 / max(self.count, 1)))
            for first in range(0, which.size, most):
                part = which[first : first + most]
                add_expansion(compiled, part, coefficients[part], values)
            return values
        for first in range(0, which.size, AT_ONCE):
            part = which[first : first + AT_ONCE]
            values += coefficients[part] @ self.between(part, slice(None))
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return P in full, for NumPy and for programs of other packages."""
        check_full(self.order)
        return self.toarray() if dtype is None else self.toarray().astype(dtype, copy=False)

    def signed(self, v: np.ndarray) -> np.ndarray:
        """Return the coefficient of each sample, the sum of s_k v_k over its variables k."""
        return (self.signs * v).reshape(self.sides, self.count).sum(axis=0)  # type: ignore[no-any-return]

    def __matmul__(self, v: np.ndarray) -> np.ndarray:
        return self.signs * np.tile(self.expansion(self.signed(v)), self.sides)

    def accurate_product(self, x: np.ndarray) -> np.ndarray:
        """Return P x followed by zeros in place of its rounding errors."""
        return np.concatenate([self @ x, np.zeros(x.size)])

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Return a bound on |P| |x|, from |P_ij| <= sqrt(P_ii P_jj) for a semidefinite P."""
        root = np.sqrt(np.abs(self.diagonal()))
        return root * (root @ np.abs(x))  # type: ignore[no-any-return]

    def toarray(self) -> np.ndarray:
        """Return P as an array, exactly symmetric."""
        K = self.gram()
        K = K if self.compiled() is not None else 0.5 * (K + K.T)
        P = np.tile(K, (self.sides, self.sides)) if self.sides > 1 else K
        P *= self.signs
        P *= self.signs[:, None]
        return P
