"""Parameters that machines with kernels share."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..base.groups import EngineParameters
from ..base.multiclass import Scheme
from ..base.parameters import Positive, parameters
from ..kernels.kernel import Gamma


@parameters
class KernelParameters:
    """Parameters of a kernel except its name.

    Parameters
    ----------
    kernel
        Kernel, see `models.Kernel`.  A callable gets two matrices of samples; "precomputed": X is the kernel matrix.
    degree
        Degree of the polynomial kernel.
    gamma
        Scale of the kernel, as in scikit-learn: "scale" is 1 / (features * variance of X), "auto" 1 / features.
    coef0
        Constant term of the polynomial kernel.
    """

    _: KW_ONLY
    degree: int = 3
    gamma: Gamma = "scale"
    coef0: float = 0.0


@parameters
class SchemeParameters:
    """Parameters of machines for more than two classes.

    Parameters
    ----------
    multi_class
        Scheme for more than two classes: one against one with votes, or one against the rest.
    decision_function_shape
        Columns of the decision function of one against one: "ovr" one per class, "ovo" one per pair of classes.
    break_ties
        Whether `predict` breaks ties between votes by the sums of the decision values; if not, it takes the first
        class, as scikit-learn does.
    """

    _: KW_ONLY
    multi_class: Scheme = "ovo"
    decision_function_shape: Scheme = "ovr"


@parameters
class WorkingSetParameters:
    """Parameters of the active-set method, which computes rows of the kernel matrix on demand.

    Parameters
    ----------
    cache_size
        Megabytes for rows of the kernel matrix, computed on demand; the full matrix is not stored.  It is formed, and
        tested, only if the kernel is not known to be positive semidefinite: a callable without
        ``is_semidefinite = True``, a "precomputed" or an indefinite polynomial kernel.
    shrinking
        Whether the engine may use an active set instead of all variables at once; the answer does not depend on it.
    solver
        Program to solve.  The primal of a kernel other than the linear one is solved in the features of a factor of
        the kernel matrix.  "auto" takes the primal for many sparse samples of few features or if the dual misses its
        tolerance; otherwise the dual, of low rank for a linear kernel and few features.
    random_state
        Accepted as in scikit-learn and ignored: nothing is random.
    """

    _: KW_ONLY
    cache_size: Positive = 200.0
    shrinking: bool = True


@parameters
class MachineParameters(KernelParameters, SchemeParameters, EngineParameters):
    """Parameters of support vector classifiers for any number of classes."""
