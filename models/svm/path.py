r"""Support vector machines along a sequence of C, each warm-started from the previous C; C by cross-validation.

In b_i = alpha_i y_i the duals of all two-class machines of a set of samples share P and the equality, as
`programs.margins.signed_dual` states:

    minimize    1/2 b'Kb - t'b
    subject to  1'b = 0,   b_i between 0 and t_i C_i

t_i is the sign y_i, or zero if sample i is of another class or held out.  One solver therefore serves all classes,
folds and C, with the rows of K that it has computed.  If t_i = 0, the multiplier of the bounds, z_i = -(Kb)_i - y with
y the multiplier of 1'b = 0, gives the decision value of sample i.  If the kernel has a name and a machine is not too
large, its programs have only the samples with t_i != 0, and all C are solved in one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

import qp

from ..base.groups import InterceptParameters, WeightParameters
from ..base.multiclass import check_classes_left, class_weights, folds_of, two_class_problems, winners
from ..base.parameters import fitted, parameters
from ..base.validation import as_weights
from ..kernel_machines.kernel_matrix import KernelMatrix
from ..kernel_machines.series import solve_series
from ..kernels.kernel import Kernel, KernelChoice
from ..kernels.samples import centered
from ..margins.dual import NOT_SEMIDEFINITE, MarginDual
from ..margins.machines import intercept_of
from ..margins.multipliers import tell_apart
from ..margins.parameters import MachineParameters, WorkingSetParameters
from ..margins.series import fits_in_series, is_settled, sort_out_series
from ..programs.margins import signed_dual
from .svc import SVC, MarginClassifier

CS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
FOLD_TOL = 1e-6  # smallest tolerance of the machines of folds, which only decide the sides of held-out samples
TIED = 12  # decimals to which mean scores are compared


@dataclass(frozen=True)
class Samples:
    """Data shared by the machines of a path; `codes` holds the class of every sample as a number."""

    X: Any
    codes: np.ndarray
    weights: np.ndarray
    classes: np.ndarray
    kernel: Kernel
    bias: bool
    class_weight: Any
    scheme: str
    cache_size: float

    def problems(self, used: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield (t, C_i per unit of C) of every two-class machine of the samples `used`."""
        check_classes_left(self.classes, self.codes[used], self.weights[used])
        per_class = class_weights(self.class_weight, self.classes, self.codes[used], self.weights[used])
        for rows, signs in two_class_problems(self.codes[used], self.classes.size, self.scheme):
            t = np.zeros(self.codes.size)
            t[used[rows]] = signs
            yield t, np.abs(t) * per_class[self.codes] * self.weights


class Path:
    """Two-class machines of shared samples along a sequence of C; ValueError if the kernel is not semidefinite."""

    def __init__(self, samples: Samples, settings: dict[str, Any]) -> None:
        n = samples.codes.size
        K = samples.kernel.matrix(samples.X, np.ones(n), samples.cache_size)
        if K is None:
            K = tested_matrix(samples.kernel.gram(samples.X), samples.cache_size)
        self.samples, self.settings, self.K = samples, settings, K
        none = np.zeros(n)  # `_one_by_one` replaces the vectors
        program = signed_dual(K, none, none, none, samples.bias)
        self.dual = MarginDual(program, settings, semidefinite=True)

    def follow(self, t: np.ndarray, shares: np.ndarray, Cs: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Return decision values at samples `asked`, shape (values of C, asked), of the machines with C_i = C shares_i.

        The next C begins at b C_next / C: active bounds remain active, and 1'b = 0 still holds.
        """
        most = int(np.count_nonzero(t))
        if fits_in_series(self.samples.kernel, self.samples.X, most, True, self.samples.cache_size):
            found = self._in_series(t, shares, Cs, asked)
            if found is not None:
                return found
        return np.array(list(self._one_by_one(t, shares, Cs, asked)))

    def _in_series(self, t: np.ndarray, shares: np.ndarray, Cs: np.ndarray, asked: np.ndarray) -> np.ndarray | None:
        """Solve for all C in one call and return as `follow`; None if an answer is not accurate enough."""
        samples, part, count = self.samples, np.flatnonzero(t), Cs.size
        begins, signs, C = np.arange(count + 1) * part.size, np.tile(t[part], count), np.outer(Cs, shares[part]).ravel()
        ratios = np.concatenate([[0.0], Cs[1:] / Cs[:-1]])
        found = solve_series(
            self.K, part, begins[:2], -signs, np.minimum(signs * C, 0.0), np.maximum(signs * C, 0.0),
            sides=np.zeros((count, int(samples.bias))), tol=self.settings["tol"], parts=np.zeros(count, int),
            ratios=ratios,
        )  # fmt: skip
        if not is_settled(found, self.settings):
            return None
        _, alpha, intercepts = sort_out_series(found, begins, signs, C, samples.bias)
        b = np.zeros((count, t.size))
        b[:, part] = (signs * alpha).reshape(count, -1)
        vectors = np.flatnonzero(b.any(axis=0))
        return b[:, vectors] @ samples.kernel(samples.X[vectors], samples.X[asked]) + intercepts[:, None]  # type: ignore[no-any-return]

    def _one_by_one(self, t: np.ndarray, shares: np.ndarray, Cs: np.ndarray, asked: np.ndarray) -> Iterator[np.ndarray]:
        start: Any = False
        part = np.flatnonzero(t)
        for C, following in zip(Cs, [*Cs[1:], 0.0]):
            bounds = t * shares * C
            self.dual.update(q=-t, lb=np.minimum(bounds, 0.0), ub=np.maximum(bounds, 0.0))
            solution, b = self.dual.solve(start), np.zeros(t.size)
            # t - Kb = z + y, and the intercept is the value of z + y on the margin.
            z, signs = solution.z_bounds, t[part]
            kinds, alpha = tell_apart(signs * solution.x[part], np.abs(bounds[part]), signs * z[part])
            intercept = multiplier = 0.0
            if self.samples.bias:
                multiplier = float(solution.y[0])
                intercept = intercept_of(z[part] + multiplier, signs, kinds)
            b[part] = signs * alpha
            yield intercept - multiplier - z[asked]
            start = np.where(b == bounds, t * shares * following, b * (following / C))


def tested_matrix(K: np.ndarray, cache_size: float) -> KernelMatrix:
    """Return K as a `KernelMatrix`; raise ValueError unless K is positive semidefinite."""
    try:
        qp.Solver(K, np.zeros(K.shape[0]), lb=0.0, ub=1.0).release()
    except qp.ProgramError as error:
        raise ValueError(NOT_SEMIDEFINITE) from error
    places = np.arange(K.shape[0])[:, None]
    return KernelMatrix(places, lambda a, b: K[np.ix_(a[:, 0], b[:, 0])], semidefinite=True, cache_size=cache_size)


def checked_Cs(Cs: Any) -> np.ndarray:
    """Return the values of C as an array; raise ValueError unless all are positive and finite."""
    values = np.asarray(Cs, dtype=np.float64).ravel()
    if values.size == 0 or not np.isfinite(values).all() or (values <= 0.0).any():
        raise ValueError(f"Cs must hold positive finite numbers, but {Cs!r} came")
    return values


def fold_scores(
    samples: Samples, Cs: np.ndarray, folds: list[tuple[np.ndarray, np.ndarray]], settings: dict[str, Any]
) -> np.ndarray:
    """Return the (weighted) share of correct predictions on held-out samples, shape (values of C, folds)."""
    path, found = Path(samples, settings), np.empty((Cs.size, len(folds)))
    for f, (train, test) in enumerate(folds):
        used = train[samples.weights[train] > 0.0]
        decisions = np.array([path.follow(*one, Cs, test) for one in samples.problems(used)])
        for c in range(Cs.size):
            found_codes = winners(decisions[:, c].T, samples.classes.size, samples.scheme)
            right = found_codes == samples.codes[test]
            found[c, f] = np.average(right, weights=samples.weights[test])
    return found


@parameters
class SVCCV(MarginClassifier, MachineParameters, WeightParameters, InterceptParameters, WorkingSetParameters):
    r"""`SVC` whose C is chosen by cross-validation, along paths of warm-started machines.

    The C with the largest mean share of correct predictions on held-out samples is taken, the smallest if several tie;
    the machine of all samples is fitted with it.

    Parameters
    ----------
    Cs : array_like
        Values of C, positive and finite.
    cv : int or iterable of (train, test)
        Number of stratified folds, assigned in the order of the samples; or index arrays of the folds.
    gamma
        Scale of the kernel as in `SVC`, computed from all samples, also for the folds.

    Attributes
    ----------
    C_ : float
        Chosen C.
    Cs_ : array, shape (values,)
        Values of C in ascending order.
    scores_ : array, shape (values, folds)
        The (weighted) share of correct predictions on each fold.

    Examples
    --------
    >>> import numpy as np
    >>> from models import SVCCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 2))
    >>> y = (X**2).sum(axis=1) > 1.5
    >>> svc = SVCCV(Cs=[0.01, 1.0, 100.0]).fit(X, y)
    >>> svc.C_, svc.scores_.shape, svc.score(X, y) > 0.95
    (100.0, (3, 5), True)
    """

    Cs: Any = CS
    kernel: KernelChoice = "rbf"
    _: KW_ONLY
    cv: Any = 5
    break_ties: bool = False
    random_state: Any = None

    C_: float = fitted()
    Cs_: np.ndarray = fitted()
    scores_: np.ndarray = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVCCV:
        """Choose C, and solve the programs of all machines with it.

        Parameters
        ----------
        sample_weight : array_like, shape (samples,), optional
            Factors of C and weights in the scores; zero leaves the sample out.
        """
        common = set(self._parameter_names()) - {"Cs", "cv"}
        machine = SVC(**{name: getattr(self, name) for name in common})
        Cs = np.unique(checked_Cs(self.Cs))
        matrix = self._matrix_to_fit(X, fewest=2)
        codes = self._labels_to_fit(y, matrix.shape[0])
        weights = as_weights(sample_weight, codes.size)
        check_classes_left(self.classes_, codes, weights)
        self._kernel_to_fit(matrix, weights)
        is_shifted = self.kernel_.is_linear and bool(self.fit_intercept)
        samples = Samples(
            centered(matrix, np.flatnonzero(weights))[0] if is_shifted else matrix, codes, weights, self.classes_,
            self.kernel_, bool(self.fit_intercept), self.class_weight, self.multi_class, float(self.cache_size),
        )  # fmt: skip
        settings = {**machine._engine_settings(), "tol": max(self.tol, FOLD_TOL), "verbose": False}
        self.Cs_, self.scores_ = Cs, fold_scores(samples, Cs, folds_of(self.cv, codes, weights), settings)
        machine.C = self.C_ = float(Cs[self.scores_.mean(axis=1).round(TIED).argmax()])
        machine.fit(X, y, sample_weight)
        found = set(vars(machine)) - set(machine._parameter_names())
        self.__dict__.update({name: getattr(machine, name) for name in found})
        return self
