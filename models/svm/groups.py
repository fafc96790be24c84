"""Parameters that machines with kernels share."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..base.groups import EngineParameters
from ..base.multiclass import Scheme
from ..base.parameters import Positive, parameters
from .kernels import Gamma


@parameters
class KernelParameters:
    """Parameters of a kernel, beside its name.

    Parameters
    ----------
    kernel
        See `models.Kernel`.  A callable gets two matrices of samples; with "precomputed" X is the kernel matrix.
    degree
        Of the polynomial kernel.
    gamma
        Of the kernel, as in scikit-learn: "scale" is 1 / (features * variance of X), "auto" 1 / features.
    coef0
        Of the polynomial kernel.
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
        More than two classes: one against one with votes, or one against the rest.
    decision_function_shape
        Whether one-against-one gives a column a class or a column a pair.
    break_ties
        Whether `predict` breaks ties between votes by the sums of the decision values, and else takes the first class,
        as scikit-learn.
    """

    _: KW_ONLY
    multi_class: Scheme = "ovo"
    decision_function_shape: Scheme = "ovr"


@parameters
class WorkingSetParameters:
    """Parameters of the active set, which makes rows of the kernel when they are needed.

    Parameters
    ----------
    cache_size
        Megabytes for rows of the kernel, made when they are needed: nothing of the size of its matrix is kept.
        Only a kernel that is not known to be positive semidefinite (a callable without ``is_semidefinite = True``, a
        "precomputed" or indefinite polynomial one) has its matrix made, and tested.
    shrinking
        Whether the engine may work on the variables that matter instead of all at once; the answer is the same.
    solver
        The program that is solved.  The primal of a kernel other than the linear one is solved in the features of a
        factor of the kernel matrix.  "auto" takes the dual, of low rank for a linear kernel and few features,
        and the primal for many sparse samples of few features or where the dual misses its tolerance.
    random_state
        As scikit-learn has it; nothing here is random.
    """

    _: KW_ONLY
    cache_size: Positive = 200.0
    shrinking: bool = True


@parameters
class MachineParameters(KernelParameters, SchemeParameters, EngineParameters):
    """Parameters of support vector classifiers for any number of classes."""
