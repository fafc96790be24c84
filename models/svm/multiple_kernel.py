"""Support vector machines that choose their kernel, a convex combination of given ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

import socp

from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import Positive, fitted, parameters
from ..programs.successors import kernel_choice_program
from .groups import KernelParameters
from .kernel_expansion import KernelClassifier
from .kernels import Kernel, make_kernel
from .margin import NOT_SEPARABLE, features_of
from .svc import SVC

USED = 1e-6  # weights below this share are zero


@dataclass(frozen=True)
class Combination:
    """The kernel sum_k d_k k_k."""

    kernels: Sequence[Kernel]
    weights: np.ndarray

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        total = np.zeros((A.shape[0], B.shape[0]))
        for kernel, weight in zip(self.kernels, self.weights):
            if weight > 0.0:
                total += weight * kernel(A, B)
        return total


@parameters
class MultipleKernelSVC(KernelClassifier, KernelParameters, WeightParameters, EngineParameters):
    r"""Support vector classifier with the best convex combination of kernels.

    .. math::
        \min_{d \ge 0,\, 1^\top d = 1}\; \max_\alpha\; 1^\top\alpha
        - \tfrac12 \alpha^\top Y \Bigl(\sum_k d_k K_k\Bigr) Y \alpha
        \quad\text{s.t. } y^\top\alpha = 0,\; 0 \le \alpha_i \le C_i

    Each kernel may first be divided by its mean value k(x, x) over the samples, so that the weights are comparable.
    The kernels that are used have the same alpha'Y K_k Y alpha, the others a smaller one.

    Parameters
    ----------
    kernels : sequence of {"linear", "poly", "rbf"}, Kernel or callable
        Words have the parameters below; ``Kernel("rbf", gamma=0.1)`` its own.
    C
        The price of a violated margin, times the class's and the sample's weight; ``inf`` forbids it.
    degree, gamma, coef0
        Of the kernels that are words, as in `models.SVC`.
    normalize
        Whether every kernel is divided by its mean over the pairs (x_i, x_i).

    Attributes
    ----------
    weights_ : array, shape (kernels,)
        d, which sums to one.
    scales_ : array, shape (kernels,)
        What every kernel was divided by.
    machine_ : SVC
        The machine of the kernel that was found; its program's value is that of this one.
    program_, solution_ : socp.ConeProgram, socp.Solution
        The program above, and the engine's answer.

    Raises
    ------
    ValueError
        C is infinite and no kernel parts the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from models import Kernel, MultipleKernelSVC
    >>> X = np.array([[-2.0], [-1.8], [-0.2], [0.2], [1.8], [2.0]])
    >>> y = [1, 1, 0, 0, 1, 1]  # inside or outside: the line says nothing
    >>> machine = MultipleKernelSVC(["linear", Kernel("poly", degree=2)], C=10.0).fit(X, y)
    >>> machine.weights_.round(4), machine.score(X, y)
    (array([0., 1.]), 1.0)
    """

    _multiclass = False
    multi_class = "ovo"
    decision_function_shape = "ovr"
    fit_intercept = True

    kernels: Any = ("linear", "poly", "rbf")
    C: Positive = 1.0
    _: KW_ONLY
    normalize: bool = True

    weights_: np.ndarray = fitted()
    scales_: np.ndarray = fitted()
    machine_: SVC = fitted()
    n_support_: np.ndarray = fitted()
    margin_: np.ndarray = fitted()
    program_: socp.ConeProgram = fitted()
    solution_: socp.Solution = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultipleKernelSVC:
        """Find the weights of the kernels, and the machine of their sum."""
        settings = self._engine_settings()
        X, codes, weights, C = self._samples_to_fit(X, y, sample_weight)
        used = np.flatnonzero(weights > 0.0)
        kernels = self._checked_kernels(X, weights)
        grams = [kernel.gram(X[used]) for kernel in kernels]
        share = weights[used] / weights.sum()
        means = np.array([share @ K.diagonal() for K in grams])
        self.scales_ = np.where(means > 0.0, means, 1.0) if self.normalize else np.ones(means.size)
        factors = [features_of(K / scale) for K, scale in zip(grams, self.scales_)]
        self._choose(factors, np.where(codes[used] == 1, 1.0, -1.0), C[used], settings)
        self.kernel_ = Kernel(Combination(kernels, self.weights_ / self.scales_))
        self._keep(X, codes, weights)
        return self

    def _checked_kernels(self, X: Any, weights: np.ndarray) -> list[Kernel]:
        given = self.kernels
        if isinstance(given, str) or callable(given) or not hasattr(given, "__len__") or not len(given):
            raise ValueError(f"kernels must be a sequence of kernels, at least one, but {given!r} came")
        kernels = [
            one if isinstance(one, Kernel) else make_kernel(one, X, weights, self.gamma, self.degree, self.coef0)
            for one in given
        ]
        if any(kernel.is_precomputed for kernel in kernels):
            raise ValueError("kernels must be ones that can be evaluated, but 'precomputed' came")
        return kernels

    def _choose(self, factors: list[np.ndarray], y: np.ndarray, C: np.ndarray, settings: dict[str, Any]) -> None:
        """The weights of the kernels with these factors."""
        p, cones = kernel_choice_program(factors, y, C, np.sqrt(y.size))
        solution = self._solved(p.program(), NOT_SEPARABLE, settings)
        # z = d_k / 2 of t >= |F_k'Y alpha|^2 comes as a z_0 + z_last of the cone
        found = np.array([solution.z[cone.rows][0] + solution.z[cone.rows][-1] for cone in cones])
        found = np.where(found > USED * found.max(), found, 0.0)
        self.weights_ = found / found.sum()

    def _keep(self, X: Any, codes: np.ndarray, weights: np.ndarray) -> None:
        """The machine of the combined kernel, and its attributes."""
        machine = SVC(
            self.C, self.kernel_.kernel, class_weight=self.class_weight, tol=self.tol, max_iter=self.max_iter,
            verbose=self._inner_verbosity(), **self._limits(),
        )  # fmt: skip
        self.machine_ = machine.fit(X, self.classes_[codes], sample_weight=weights)
        for name in ("support_", "support_vectors_", "n_support_", "dual_coef_", "_kinds", "intercept_"):
            setattr(self, name, getattr(machine, name))
        self.margin_ = machine.margin_
