"""Between linear discriminants and logistic regression: the hybrid of Lasserre, Bishop and Minka (2006)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from ..base.estimator import warn_unconverged
from ..base.groups import IterationParameters, WeightParameters
from ..base.parameters import NonNegative, parameters
from .generative import GenerativeClassifier, unlabelled_samples

SMOOTHING = 1e-6  # weight of imaginary samples with covariance I, relative to the samples; it bounds the density


@parameters
class CoupledDiscriminant(GenerativeClassifier, WeightParameters, IterationParameters):
    r"""Normal classes with one covariance: discriminative and generative parameters, coupled by a prior.

    theta tells the classes apart, theta~ describes the samples, labelled or not, and a normal prior couples them:

    .. math:: \max_{\theta, \tilde\theta}\; \sum_i \log p(y_i | x_i, \theta) + \sum_i \log p(x_i | \tilde\theta)
        - \frac{\|\theta - \tilde\theta\|^2}{2 \sigma^2}

    With sigma = 0 they are equal, the sum is the joint log-likelihood, and this is linear discriminant analysis; with
    sigma = infinity they are independent, and this is logistic regression without a penalty.  The coordinates of theta
    are the logarithms of the class priors, the means, and the Cholesky factor of the precision matrix with logarithms
    of its diagonal, all for features with mean 0 and standard deviation 1, so that sigma has no unit.  L-BFGS starts at
    linear discriminant analysis and finds the local maximum near it.

    Parameters
    ----------
    coupling
        Standard deviation sigma of the coupling, from 0 to infinity.
    tol
        L-BFGS ends when no entry of the gradient of the mean objective exceeds this in magnitude.

    Attributes
    ----------
    priors_ : array, shape (classes,)
        Class priors pi_k of theta.
    means_ : array, shape (classes, features)
        Class means of theta.
    covariance_ : array, shape (features, features)
        Covariance of theta, in the samples' units.
    density_priors_, density_means_, density_covariance_ : arrays
        Class priors, means and covariance of theta~.
    log_likelihoods_ : array
        Objective at the start and after each step, for features with standard deviation 1.
    n_iter_ : int
        Number of L-BFGS steps.

    See Also
    --------
    LinearDiscriminant, LogisticRegression : the limits sigma = 0 and sigma = infinity.

    Examples
    --------
    >>> from models import CoupledDiscriminant
    >>> rng, y = np.random.default_rng(0), np.arange(60) % 2
    >>> X = rng.normal(size=(60, 2)) + y[:, None]
    >>> [round(CoupledDiscriminant(sigma).fit(X, y).score(X, y), 2) for sigma in (0.0, 1.0)]
    [0.82, 0.77]
    """

    _needs_all_classes: ClassVar[bool] = True  # theta holds the logarithms of the priors

    coupling: NonNegative = 1.0
    tol: NonNegative = 1e-8

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_unlabelled: Any = None) -> CoupledDiscriminant:
        """Fit to labelled samples, and to samples without labels when there are any.

        Parameters
        ----------
        X_unlabelled : array_like, shape (others, features), optional
            Samples of unknown class; only theta~ is learned from them.
        """
        X, codes, weights = self._samples_and_weights(X, y, sample_weight)
        others = unlabelled_samples(self, X_unlabelled, X)
        centre = X[0] + np.average(X - X[0], axis=0, weights=weights)  # exact for a constant column
        scale = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weights))
        scale = np.where(scale > 1e-12 * np.abs(centre), scale, 1.0)
        target = weights[:, None] * (codes[:, None] == np.arange(self.classes_.size))
        problem = CoupledLikelihood((X - centre) / scale, target, (others - centre) / scale, self.coupling)
        history = self._history("objective")
        start = problem.start()
        history.append(-problem.value_and_gradient(start)[0] * problem.size)
        limits = {"maxiter": self.max_iter, "maxfun": 20 * self.max_iter}
        found = minimize(
            problem.value_and_gradient, start, jac=True, method="L-BFGS-B",
            callback=lambda v: history.append(-problem.last * problem.size),  # L-BFGS accepts the last point tried
            options={**limits, "gtol": self.tol, "ftol": 1e-15, "maxcor": 30},
        )  # fmt: skip
        history.end(bool(found.status == 0))
        if found.status == 1:
            warn_unconverged(
                f"CoupledDiscriminant: L-BFGS ended after {found.nit} steps; raise max_iter or tol, or lower coupling: "
                "where the classes can be separated and nothing holds theta, it grows without end."
            )
        self.n_iter_, self.log_likelihoods_ = max(1, int(found.nit)), np.array(history)
        both = [problem.unpack(part) for part in problem.split(found.x)]
        (self.priors_, self.means_, self.covariance_), density = (_in_units(part, centre, scale) for part in both)
        self.density_priors_, self.density_means_, self.density_covariance_ = density
        self._centre, self._scale, self._theta = centre, scale, both[0]
        return self

    def _log_joint(self, X: Any) -> np.ndarray:
        return log_joint((X - self._centre) / self._scale, *self._theta) - float(np.log(self._scale).sum())


class CoupledLikelihood:
    """Negative mean objective as a function of (theta, theta~), or of theta alone if sigma = 0.

    `target` (samples, classes) has the samples' weights in the column of their class; `coupling` is sigma.
    """

    def __init__(self, X: np.ndarray, target: np.ndarray, others: np.ndarray, coupling: float) -> None:
        self.X, self.target, self.coupling = X, target, coupling
        self.all = np.concatenate([X, others])
        self.weights = np.concatenate([target.sum(axis=1), np.ones(others.shape[0])])
        self.classes, self.features = target.shape[1], X.shape[1]
        self.lower = np.tril_indices(self.features)
        self.diagonal = np.flatnonzero(self.lower[0] == self.lower[1])
        self.size = float(target.sum())
        self.imaginary = SMOOTHING * self.size
        self.last = np.inf  # value at the last point tried

    def unpack(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return log pi_k (not normalized), mu_k, and L, where LL' is the precision matrix."""
        K, p = self.classes, self.features
        L = np.zeros((p, p))
        entries = v[K + K * p :].copy()
        entries[self.diagonal] = np.exp(entries[self.diagonal])
        L[self.lower] = entries
        return v[:K], v[K : K + K * p].reshape(K, p), L

    def split(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts theta and theta~ of `v`; both are `v` if sigma = 0."""
        return (v, v) if self.coupling == 0.0 else (v[: v.size // 2], v[v.size // 2 :])

    def start(self) -> np.ndarray:
        """Return theta and theta~ of linear discriminant analysis."""
        counts = self.target.sum(axis=0)
        means = (self.target.T @ self.X) / counts[:, None]
        centred = self.X - means[self.target.argmax(axis=1)]
        S = centred.T @ (self.target.sum(axis=1)[:, None] * centred) + self.imaginary * np.eye(self.features)
        L = np.linalg.cholesky(np.linalg.inv(S / (self.size + self.imaginary)))
        entries = L[self.lower]
        entries[self.diagonal] = np.log(entries[self.diagonal])
        v = np.concatenate([np.log(counts / counts.sum()), means.ravel(), entries])
        return v if self.coupling == 0.0 else np.tile(v, 2)

    def value_and_gradient(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative mean objective and its gradient; J_k(x) = log pi_k + log N(x; mu_k, (LL')^-1).

        The gradients of J_y - log p(x) and of log p(x) = log sum_k exp J_k are sum_k r_k grad J_k; see `gradient`.
        """
        theta, density = self.split(v)
        parts, of_density = self.unpack(theta), self.unpack(density)
        J = log_joint(self.X, *parts)
        logs = log_softmax(J, axis=1)
        value = float((self.target * logs).sum())
        first = self.gradient(self.X, self.target - self.target.sum(axis=1)[:, None] * np.exp(logs), parts)
        J = log_joint(self.all, *of_density)
        total = logsumexp(J, axis=1)
        value += float(self.weights @ total)
        second = self.gradient(self.all, self.weights[:, None] * np.exp(J - total[:, None]), of_density)
        L = of_density[2]
        value += self.imaginary * (float(np.log(np.diag(L)).sum()) - 0.5 * float((L**2).sum()))
        own = self._of_factor(np.diag(1.0 / np.diag(L)) - L, L)
        second[self.classes * (1 + self.features) :] += self.imaginary * own
        if 0.0 < self.coupling < np.inf:
            pull = (theta - density) / self.coupling**2
            value -= 0.5 * float(pull @ (theta - density))
            first, second = first - pull, second + pull
        whole = first + second if self.coupling == 0.0 else np.concatenate([first, second])
        self.last = -value / self.size
        return self.last, -whole / self.size

    def gradient(self, X: np.ndarray, r: np.ndarray, parts: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
        """Return the gradient of sum_ik r_ik J_k(x_i), as a flat vector."""
        eta, means, L = parts
        count = r.sum(axis=0)
        of_eta = count - count.sum() * np.exp(log_softmax(eta))
        shift = r.T @ X - count[:, None] * means  # sum_i r_ik (x_i - mu_k)
        second = np.zeros_like(L)
        for k, mean in enumerate(means):
            centred = X - mean
            second += centred.T @ (r[:, k, None] * centred)
        of_L = np.diag(count.sum() / np.diag(L)) - second @ L
        return np.concatenate([of_eta, (shift @ L @ L.T).ravel(), self._of_factor(of_L, L)])

    def _of_factor(self, of_L: np.ndarray, L: np.ndarray) -> np.ndarray:
        """Return the gradient in the coordinates of L, whose diagonal is in logarithms, from `of_L` in its entries."""
        entries = of_L[self.lower]
        entries[self.diagonal] *= np.diag(L)
        return np.asarray(entries)


def log_joint(X: np.ndarray, eta: np.ndarray, means: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return log pi_k + log N(x; mu_k, (LL')^-1), shape (samples, classes)."""
    squares = np.stack([(((X - mean) @ L) ** 2).sum(axis=1) for mean in means], axis=1)
    constant = float(np.log(np.diag(L)).sum()) - 0.5 * L.shape[0] * np.log(2.0 * np.pi)
    return np.asarray(log_softmax(eta) + constant - 0.5 * squares)


def _in_units(
    parts: tuple[np.ndarray, np.ndarray, np.ndarray], centre: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pi, mu and Sigma in the units of the features before centring and scaling."""
    eta, means, L = parts
    covariance = np.linalg.inv(L @ L.T)
    return np.exp(log_softmax(eta)), means * scale + centre, covariance * np.outer(scale, scale)
