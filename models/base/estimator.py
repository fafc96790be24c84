"""What every estimator shares: parameters, features seen in fit, the tags that scikit-learn asks for.

The protocol is scikit-learn's; it is imported in one place, inside `__sklearn_tags__`, which only scikit-learn calls.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

import qp
import socp

from .multiclass import predicted
from .progress import History
from .validation import as_labels, as_matrix, check_number, feature_names

Self = TypeVar("Self", bound="Estimator")
Answer = TypeVar("Answer", socp.Solution, qp.Solution)
Kind = Literal["classifier", "regressor", "transformer", "density_estimator", "outlier_detector"]


class _NotFittedError(ValueError, AttributeError):
    """The estimator was asked for what only `fit` can give."""


def not_fitted_error() -> type[Exception]:
    """The error of an estimator that was not fitted: scikit-learn's own when that is loaded, for its users catch it."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return exceptions.NotFittedError if exceptions is not None else _NotFittedError


class ConvergenceWarning(UserWarning):
    """The engine ended short of "optimal"; the estimator holds its best iterate."""


def uninterrupted(solution: Answer) -> Answer:
    """An answer of the engine; raises KeyboardInterrupt where Ctrl-C has ended the solve.

    The engine answers Ctrl-C with its best iterate, of which a fit would make a model, or an iteration go on.
    """
    if solution.status == "interrupted":
        raise KeyboardInterrupt(solution.message)
    return solution


def warn_unless_optimal(who: str, solution: socp.Solution | qp.Solution, remedy: str = "") -> None:
    """Warn, with what can be done about it, when the program of an estimator was not solved to its tolerance."""
    if solution.status == "optimal":
        return
    gap = abs(solution.objective - solution.dual_objective)
    warnings.warn(
        f"{who}: the program ended as {solution.status.value!r} after {solution.iterations} iterations, its objective "
        f"{solution.objective:.6g} known to {gap:.1e}. " + (remedy or "Scale the features, or raise tol or max_iter."),
        convergence_warning(),
        stacklevel=3,
    )


def convergence_warning() -> type[Warning]:
    """The warning of a fit that did not converge: scikit-learn's own when loaded, for its users filter by it."""
    exceptions = sys.modules.get("sklearn.exceptions")
    return ConvergenceWarning if exceptions is None else exceptions.ConvergenceWarning


class Estimator:
    """Parameters by name: `__init__` stores each under its own name, unchanged and unchecked; `fit` checks them.

    A subclass says what it is by class attributes: its `_kind`, whether X is a list of sequences, whether it takes
    sparse X, whether NaN is to it a missing value, and whether it takes more than two classes.
    """

    _kind: ClassVar[Kind]
    _takes_sequences: ClassVar[bool] = False
    _takes_sparse: ClassVar[bool] = False
    _takes_nan: ClassVar[bool] = False
    _multiclass: ClassVar[bool] = True
    # as large as the samples: in the process of the fit alone, not in a pickle or a copy
    _left_behind: ClassVar[tuple[str, ...]] = ("program_", "solution_")

    verbose: int = 0  # the parameter of those that iterate or have the engine do it,
    tol: float  # and those of the ones that are one program
    max_iter: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    @classmethod
    def _parameter_names(cls) -> list[str]:
        if cls.__init__ is object.__init__:
            return []
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` those of nested estimators too, as ``outer__inner``."""
        found: dict[str, Any] = {}
        for name in self._parameter_names():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update((f"{name}__{inner}", v) for inner, v in value.get_params().items())
        return found

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters by name; ``outer__inner`` reaches into a nested estimator. Returns the estimator itself."""
        nested: dict[str, dict[str, Any]] = {}
        known = self._parameter_names()
        for name, value in params.items():
            outer, reaches_in, inner = name.partition("__")
            if outer not in known:
                raise ValueError(
                    f"Invalid parameter {outer!r} for estimator {self}. Valid parameters are: {', '.join(known)}."
                )
            if reaches_in:
                nested.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        for outer, inner_params in nested.items():
            getattr(self, outer).set_params(**inner_params)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._left_behind}

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = (
            f"{name}={value!r}"
            for name in defaults
            for value in [getattr(self, name, None)]
            if repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def _verbosity(self) -> int:
        """`verbose` as a whole number, of which True is one."""
        value: Any = self.verbose
        return int(value) if isinstance(value, (bool, np.bool_)) else check_number("verbose", value, 0, whole=True)

    def _engine_settings(self) -> dict[str, Any]:
        """`tol`, `max_iter` and `verbose`, checked, for the engine that solves the estimator's program."""
        check_number("max_iter", self.max_iter, 1, whole=True)
        check_number("tol", self.tol, 0.0, open_low=True)
        return {"tol": self.tol, "max_iter": self.max_iter, "verbose": self._verbosity() > 0}

    def _inner_verbosity(self) -> int:
        """That of the models and programs inside of this one's iterations, which are seen from verbose = 2 on."""
        return max(self._verbosity() - 1, 0)

    def _history(self, objective: str, of: str = "", first: int = 0, every: int = 1, inner: bool = False) -> History:
        """Of the objectives to come; `of` says to which part of the fit they belong, `inner` that it is inside."""
        level = self._inner_verbosity() if inner else self._verbosity()
        return History(f"{type(self).__name__}{of}", objective, level, first, every)

    def _is_pairwise(self) -> bool:
        """Whether X is a matrix of the kernel between samples instead of samples."""
        return False

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind, sequences = self._kind, self._takes_sequences
        return Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=TargetTags(required=kind in ("classifier", "regressor")),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags(multi_class=self._multiclass) if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(
                one_d_array=sequences,
                two_d_array=not sequences,
                sparse=self._takes_sparse,
                allow_nan=self._takes_nan,
                pairwise=self._is_pairwise(),
            ),
        )

    def _check_fitted(self) -> None:
        if not any(name.endswith("_") and not name.startswith("_") for name in vars(self)):
            raise not_fitted_error()(f"This {type(self).__name__} instance is not fitted yet: call fit first.")

    def _matrix_to_fit(self, X: Any, fewest: int = 1) -> Any:
        """X checked, as float64; how many features it has and their names are kept for the checks of `predict`."""
        self._verbosity()  # refused before any work
        matrix = as_matrix(X, type(self).__name__, self._takes_sparse, self._takes_nan, fewest)
        self.n_features_in_ = matrix.shape[1]
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return matrix

    def _matrix_to_predict(self, X: Any) -> Any:
        """X checked against what `fit` saw, as float64."""
        self._check_fitted()
        self._check_feature_names(feature_names(X))
        matrix = as_matrix(X, type(self).__name__, self._takes_sparse, self._takes_nan)
        if matrix.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return matrix

    def _check_feature_names(self, names: np.ndarray | None) -> None:
        fitted = getattr(self, "feature_names_in_", None)
        who = type(self).__name__
        if fitted is None and names is not None:
            warnings.warn(f"X has feature names, but {who} was fitted without feature names", stacklevel=4)
        elif fitted is not None and names is None:
            warnings.warn(f"X does not have valid feature names, but {who} was fitted with feature names", stacklevel=4)
        elif fitted is not None and names is not None and not np.array_equal(fitted, names):
            raise ValueError(_names_that_differ(fitted, names))


class Classifier(Estimator):
    """An estimator of labels: `classes_`, and the share of right answers as `score`."""

    _kind: ClassVar[Kind] = "classifier"
    classes_: np.ndarray

    def _labels_to_fit(self, y: Any, samples: int) -> np.ndarray:
        """The class of every sample as its index in `classes_`, which is set here."""
        self.classes_, codes = as_labels(y, samples, type(self).__name__)
        if self.classes_.size > 2 and not self._multiclass:
            raise ValueError(
                f"Only binary classification is supported by {type(self).__name__}: the target y has "
                f"{self.classes_.size} classes. The type of the target is multiclass."
            )
        return codes

    def _labels_of(self, values: np.ndarray) -> np.ndarray:
        """The labels that decision values speak for; see `predicted`."""
        return self.classes_[predicted(values)]

    def predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The (weighted) share of samples whose label is predicted rightly."""
        return float(np.average(np.asarray(y) == self.predict(X), weights=sample_weight))


class Regressor(Estimator):
    """An estimator of real targets, with the coefficient of determination as `score`."""

    _kind = "regressor"

    def predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 = 1 - sum (y - prediction)^2 / sum (y - mean y)^2, weighted; of a constant y, 1 if exact and 0 if not."""
        y = np.asarray(y, dtype=np.float64)
        weights = np.ones(y.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        residual = float(weights @ (y - self.predict(X)) ** 2)
        spread = float(weights @ (y - np.average(y, weights=weights)) ** 2)
        return 1.0 - residual / spread if spread > 0.0 else float(residual == 0.0)


def _names_that_differ(fitted: np.ndarray, names: np.ndarray) -> str:
    """What scikit-learn says when the columns of a table are not those of fit."""
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    lines = ["The feature names should match those that were passed during fit."]
    if unseen:
        lines += ["Feature names unseen at fit time:", *(f"- {name}" for name in unseen[:5])]
        lines += ["- ..."] if len(unseen) > 5 else []
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in missing[:5])]
        lines += ["- ..."] if len(missing) > 5 else []
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"
