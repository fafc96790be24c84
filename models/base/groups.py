"""Groups of parameters; an estimator takes a group by naming it among its base classes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from .parameters import Count, NonNegative, Positive, parameters
from .validation import ClassWeight


@parameters
class IterationParameters:
    """Parameters of a method that iterates.

    Parameters
    ----------
    verbose
        1 prints a line for each iteration.
    """

    _: KW_ONLY
    tol: NonNegative = 1e-10
    max_iter: Count = 1000
    verbose: int = 0


@parameters
class EngineParameters:
    """Parameters of the engine that solves the programs.

    Parameters
    ----------
    tol
        Tolerance of the engine, see `socp.Settings`.
    max_iter
        Largest number of iterations of the engine for each program.
    time_limit
        Seconds for each program that is solved; the best answer found by then is kept, with a warning.
    threads
        Threads of BLAS in the engine's large factorizations.
    verbose
        1 prints the engine's iterations.

    Attributes
    ----------
    n_iter_ : int
        Largest number of iterations of the engine for any program.
    program_, solution_ : qp.QuadraticProgram or socp.ConeProgram, and its solution
        The last program that was solved, and its solution.
    """

    _: KW_ONLY
    tol: Positive = 1e-10
    max_iter: Count = 200
    time_limit: Positive | None = None
    threads: Count = 1
    verbose: int = 0


@parameters
class WeightParameters:
    """Parameter of classifiers that weigh the errors of one class against the errors of another.

    Parameters
    ----------
    class_weight
        Weight of every class, a factor of sample weights; "balanced": samples / (classes * samples of the class).
    """

    _: KW_ONLY
    class_weight: ClassWeight = None


@parameters
class InterceptParameters:
    """Parameter of machines with an intercept.

    Parameters
    ----------
    fit_intercept
        Whether the machine has an intercept b.
    """

    _: KW_ONLY
    fit_intercept: bool = True


@parameters
class SeedParameters:
    """Parameter of estimators that use random numbers.

    Parameters
    ----------
    random_state : None, int or generator
        Seed of the random numbers.
    """

    _: KW_ONLY
    random_state: Any = None
