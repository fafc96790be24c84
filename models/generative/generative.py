"""Base of all generative classifiers: Bayes' rule on log pi_k + log p(x | k)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from ..base.estimator import Classifier, Estimator, warn_unconverged
from ..base.groups import IterationParameters
from ..base.parameters import parameters
from ..base.validation import as_matrix, check_number


@parameters
class PriorParameters(IterationParameters):
    """Parameters of generative classifiers that may have samples without labels, `priors` and `dirichlet` among them.

    Parameters
    ----------
    priors : None, "uniform" or array_like, shape (classes,)
        Class priors in the order of the sorted labels; None estimates them.
    dirichlet : float or array_like, shape (classes,)
        Dirichlet prior of estimated class priors, pi_k = (N_k + dirichlet_k - 1) / sum (N_l + dirichlet_l - 1);
        1 is maximum likelihood.
    tol
        Expectation maximization, used where labels or entries are missing, ends when a step raises its objective by
        less, relatively.
    max_iter
        Maximum number of steps of expectation maximization.
    verbose
        1 prints a line for each step of expectation maximization.

    Attributes
    ----------
    priors_, class_count_ : arrays, shape (classes,)
        Prior probability and total weight of each class.
    log_likelihoods_ : array
        Log-likelihood plus the log priors of the parameters, before and after each step of expectation maximization;
        empty if nothing is missing.
    n_iter_ : int
        Number of steps of expectation maximization; 1 if nothing is missing.
    """


class GenerativeClassifier(Classifier):
    """Base of classifiers by the joint density of samples and labels; a subclass computes its logarithm.

    P(k | x) = exp(J_k(x) - logsumexp_l J_l(x)), J_k(x) = log pi_k + log p(x | k): nothing overflows, and a sample that
    is impossible in every class gets the class priors.
    """

    priors_: np.ndarray
    _needs_all_classes: ClassVar[bool] = False  # a class without weight has prior 0

    def _log_joint(self, X: Any) -> np.ndarray:
        """Return J_k(x) of checked samples, shape (samples, classes)."""
        raise NotImplementedError

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log pi_k + log p(x | k), shape (samples, classes)."""
        return self._log_joint(self._matrix_to_predict(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(k | x), shape (samples, classes)."""
        return log_posteriors(self._log_joint(self._matrix_to_predict(X)), self.priors_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(k | x), shape (samples, classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the class with the largest posterior, for each sample."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]


def warn_unless_converged(who: str, converged: bool, max_iter: int) -> None:
    """Warn if expectation maximization did not converge in `max_iter` steps."""
    if not converged:
        steps = f"did not converge in {max_iter} steps"
        warn_unconverged(f"{who}: expectation maximization {steps}; raise max_iter or tol.")


def unlabelled_samples(estimator: Estimator, X_unlabelled: Any, X: Any) -> Any:
    """Return `X_unlabelled` as a checked matrix with the features of X; a matrix without rows if it is None."""
    if X_unlabelled is None:
        return X[:0]
    others = as_matrix(X_unlabelled, type(estimator).__name__, estimator._takes_sparse, estimator._takes_nan)
    if others.shape[1] != X.shape[1]:
        raise ValueError(f"X_unlabelled has {others.shape[1]} features, but X has {X.shape[1]}")
    return others


def quiet_log(values: np.ndarray) -> np.ndarray:
    """Return log(`values`) without a warning; log(0) is -inf."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def log_posteriors(joint: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return the logarithms of the normalized rows of exp(joint); log(`priors`) for rows of -inf."""
    largest = joint.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = joint - largest  # before logsumexp, whose rounding error grows with its result
        return np.where(np.isfinite(largest), below - logsumexp(below, axis=1, keepdims=True), np.log(priors))


def estimated_priors(counts: np.ndarray, given: np.ndarray | None, dirichlet: np.ndarray) -> np.ndarray:
    """Return `given` if not None, else the mode of pi under the Dirichlet prior with parameters `dirichlet` >= 1.

    A class without weight has prior 0 in either case.
    """
    weight = np.where(counts > 0.0, counts + dirichlet - 1.0 if given is None else given, 0.0)
    if given is not None and (not weight.any() or (counts > 0.0).all()):
        return given
    return weight / weight.sum()


def log_dirichlet(priors: np.ndarray, given: np.ndarray | None, dirichlet: np.ndarray) -> float:
    """Return the log prior density of the class priors without constants; 0 if they were given."""
    counts = (dirichlet > 1.0) & (priors > 0.0)
    return float((dirichlet[counts] - 1.0) @ np.log(priors[counts])) if given is None else 0.0


def check_priors(priors: Any, classes: int) -> np.ndarray | None:
    """Return given class priors as an array, or None if they are to be estimated."""
    if priors is None:
        return None
    if isinstance(priors, str) and priors == "uniform":
        return np.full(classes, 1.0 / classes)
    try:
        array = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (classes,) or not (array >= 0.0).all() or abs(array.sum() - 1.0) > 1e-8:
        numbers = f"{classes} nonnegative numbers that sum to 1"
        raise ValueError(f"priors must be None, 'uniform' or {numbers}, but {priors!r} came")
    return array / array.sum()


def check_dirichlet(dirichlet: Any, classes: int) -> np.ndarray:
    """Return the parameters of the Dirichlet prior of the class priors, one for each class."""
    array = np.asarray(dirichlet, dtype=np.float64)
    if array.shape not in ((), (classes,)) or not (array >= 1.0).all() or not np.isfinite(array).all():
        raise ValueError(f"dirichlet must be a number or {classes} numbers of at least 1, but {dirichlet!r} came")
    return np.broadcast_to(array, (classes,)).copy()


def with_label(classes: np.ndarray, label: Any) -> tuple[np.ndarray, int]:
    """Return the sorted labels with `label` inserted, and its index."""
    if label in classes.tolist():
        raise ValueError(f"label must be one that classes_ does not have yet, but {label!r} came")
    if isinstance(label, str) != (classes.dtype.kind in "USO" and isinstance(classes.tolist()[0], str)):
        raise ValueError(f"label must be of the kind of the labels {classes.tolist()[:3]}, but {label!r} came")
    together = np.concatenate([classes, np.asarray([label], dtype=object if classes.dtype.kind == "O" else None)])
    order = np.argsort(together, kind="stable")
    return together[order], int(np.flatnonzero(order == classes.size)[0])


def priors_after(given: Any, priors: np.ndarray, position: int, prior: Any) -> np.ndarray | None:
    """Return the class priors after a class was inserted at `position`; None if they are estimated from counts."""
    if given is None:
        if prior is not None:
            raise ValueError("prior must be None when the class priors are estimated from the samples")
        return None
    if isinstance(given, str):
        return np.full(priors.size + 1, 1.0 / (priors.size + 1))
    if prior is None:
        raise ValueError("prior must be a number in [0, 1] when the class priors were given, but None came")
    prior = check_number("prior", prior, 0.0, 1.0)
    return np.insert((1.0 - prior) * priors, position, prior)
