"""Kernels k(x, x'): linear, polynomial, Gaussian, a callable, or a precomputed matrix.

    linear       x'x'
    poly         (gamma x'x' + coef0)^degree
    rbf          exp(-gamma |x - x'|^2)
    precomputed  X itself is the matrix of k between the samples

The names and the meaning of gamma are scikit-learn's: "scale" is 1 / (features * variance of X), "auto" 1 / features.
Sparse samples stay sparse; only the kernel matrix is dense.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from ..base.validation import Shown, as_dense, check_choice
from ..kernel_machines.kernel_matrix import KernelMatrix
from ..kernel_machines.mercer import PARAMETERS, check_name, check_parameter, is_mercer
from .samples import from_reference, inner_products, squares, variance

Name = Literal["linear", "poly", "rbf", "precomputed"]
KernelChoice = Annotated[
    Name | Callable[[Any, Any], Any], Shown('{"linear", "poly", "rbf", "precomputed"}, Kernel or callable')
]
Gamma = Literal["scale", "auto"] | float
NAMES = get_args(Name)
MOST_MONOMIALS = 20  # most monomials of a polynomial kernel that are used as explicit features
SYMMETRY_TOL = 1e-8  # largest asymmetry of a kernel matrix, relative to its largest entry


@dataclass(frozen=True)
class Kernel:
    """A kernel with all its parameters: ``kernel(A, B)[i, j] = k(A[i], B[j])``.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
        A callable takes two matrices of samples and returns the matrix of the kernel between their rows.
    gamma, coef0 : float
    degree : int

    Examples
    --------
    >>> Kernel("poly", gamma=1.0, degree=2, coef0=1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [0.0, 1.0]]))
    array([[16.,  9.]])
    """

    kernel: KernelChoice = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_name(self.kernel, NAMES)
        for name in PARAMETERS:
            object.__setattr__(self, name, check_parameter(name, getattr(self, name)))

    @property
    def is_linear(self) -> bool:
        """Whether k(x, z) is x'z."""
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def is_precomputed(self) -> bool:
        """Whether X itself is the matrix of the kernel."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def is_semidefinite(self) -> bool:
        """Whether all kernel matrices are known to be positive semidefinite, so that solvers need not test them."""
        if self.is_precomputed:
            return False
        if not isinstance(self.kernel, str):
            return bool(getattr(self.kernel, "is_semidefinite", False))
        return is_mercer(self.kernel, self.coef0)

    @property
    def absent(self) -> float:
        """Value of a feature that is left out of a sample: zero, or the attribute `absent` of a callable."""
        return float(getattr(self.kernel, "absent", 0.0))

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        if callable(self.kernel):
            return _checked(self.kernel(A, B), (A.shape[0], B.shape[0]))
        if self.is_precomputed:
            raise ValueError('kernel="precomputed" knows only the samples of X: give a kernel that can be evaluated')
        if self.kernel == "rbf":
            A, B = from_reference(A, B)
        products = inner_products(A, B)
        if self.kernel == "poly":
            return (self.gamma * products + self.coef0) ** self.degree
        if self.kernel == "rbf":
            exponents = 2.0 * products  # in place from here on, as the matrix may take most of the memory
            exponents -= squares(A)[:, None]
            exponents -= squares(B)[None, :]
            np.minimum(exponents, 0.0, out=exponents)
            exponents *= self.gamma
            return np.exp(exponents, out=exponents)
        return products

    def rank(self, X: Any) -> int | None:
        """Return the number of columns of ``explicit(X)``, or None if `explicit` returns None."""
        if self.is_linear:
            return int(X.shape[1])
        if not isinstance(self.kernel, str) or self.kernel != "poly" or sp.issparse(X) or not self.is_semidefinite:
            return None
        count = math.comb(X.shape[1] + int(self.degree) - (self.coef0 == 0.0), int(self.degree))
        return count if count <= MOST_MONOMIALS else None

    def explicit(self, X: Any) -> Any:
        """Return features F with K = F F': X for a linear kernel, monomials for a small poly kernel; else None.

        (gamma x'z + c)^d is the sum over exponents a, |a| = k <= d, of d! / ((d - k)! a!) c^(d-k) gamma^k x^a z^a.
        """
        if self.is_linear or self.rank(X) is None:
            return X if self.is_linear else None
        degree, features, columns = int(self.degree), X.shape[1], []
        for k in range(degree + 1) if self.coef0 > 0.0 else (degree,):
            for which in itertools.combinations_with_replacement(range(features), k):
                powers = math.prod(math.factorial(which.count(f)) for f in set(which))
                share = math.factorial(degree) / (math.factorial(degree - k) * powers)
                share *= self.coef0 ** (degree - k) * self.gamma**k
                columns.append(np.sqrt(share) * X[:, list(which)].prod(axis=1))
        return np.column_stack(columns)

    def matrix(self, X: Any, signs: np.ndarray, cache_size: float) -> KernelMatrix | None:
        """Return the kernel matrix times signs, with rows on demand; None if it must be formed to be tested."""
        if not self.is_semidefinite:
            return None
        kernel: Any = self.kernel if isinstance(self.kernel, str) and not sp.issparse(X) else self
        return KernelMatrix(
            X, kernel, gamma=self.gamma, coef0=self.coef0, degree=self.degree, signs=signs,
            semidefinite=True, cache_size=cache_size,
        )  # fmt: skip

    def check_samples(self, X: Any) -> None:
        """Raise ValueError if the kernel is precomputed and its matrix X is not square."""
        if self.is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square matrix of the kernel between the samples when kernel='precomputed', but its "
                f"shape is {X.shape}"
            )

    def gram(self, X: Any) -> np.ndarray:
        """Return the symmetric kernel matrix of X; raise ValueError if a callable or given one is not symmetric."""
        self.check_samples(X)
        K = as_dense(X) if self.is_precomputed else self(X, X)
        if self.is_precomputed or callable(self.kernel):
            difference = np.abs(K - K.T).max(initial=0.0)
            if difference > SYMMETRY_TOL * np.abs(K).max(initial=0.0):
                raise ValueError(f"the matrix of the kernel must be symmetric, but entries differ by {difference:.2g}")
        K = K + K.T
        K *= 0.5
        if self.kernel == "rbf":
            np.fill_diagonal(K, 1.0)
        return K


def make_kernel(
    kernel: Any, X: Any, weights: np.ndarray, gamma: Any = "scale", degree: Any = 3, coef0: Any = 0.0,
    evaluated: bool = False,
) -> Kernel:  # fmt: skip
    """Return the kernel with checked parameters; "scale" and "auto" become numbers, from the weighted samples X.

    Raises ValueError for a precomputed kernel that is to be `evaluated` at other samples.

    Examples
    --------
    >>> make_kernel("rbf", np.array([[0.0, 2.0], [2.0, 4.0]]), np.ones(2)).gamma
    0.25
    """
    if isinstance(gamma, str):
        word, gamma = check_choice("gamma", gamma, ("scale", "auto")), 1.0
        if isinstance(kernel, str) and kernel in ("poly", "rbf"):
            spread = variance(X, weights) if word == "scale" else 1.0
            gamma = 1.0 / (X.shape[1] * spread) if spread > 0.0 else 1.0
    found = Kernel(kernel, gamma, degree, coef0)
    if evaluated and found.is_precomputed:
        raise ValueError("kernel must be one that can be evaluated, but 'precomputed' came")
    return found


def _checked(K: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return K, from a callable, as a dense array; raise ValueError unless it is finite and has `shape`."""
    K = np.asarray(as_dense(K), dtype=np.float64)
    if K.shape != shape:
        raise ValueError(f"kernel must return a matrix of shape {shape}, but what it returned has shape {K.shape}")
    if not np.isfinite(K).all():
        raise ValueError("kernel returned NaN or infinity")
    return K
