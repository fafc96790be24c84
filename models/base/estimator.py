"""Bases of estimators: parameters, checks of features, and the tags for scikit-learn.

The protocol is scikit-learn's, which is imported only inside `__sklearn_tags__` and `get_metadata_routing`: only its
own callers need them.
"""

from __future__ import annotations

import html
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np

import qp
import socp
from socp.problem.checks import as_scalar

from .blocks import RowBlocks, row_blocks_of
from .multiclass import check_classes_left, class_weights, predicted
from .parameters import complete_method, fields_of, instead, parameter_names
from .progress import History
from .validation import (
    ClassWeight,
    as_labels,
    as_matrix,
    as_targets,
    as_weights,
    check_number,
    check_number_of_classes,
    feature_names,
    of_sklearn,
    warn,
)

Self = TypeVar("Self", bound="Estimator")
Answer = TypeVar("Answer", socp.Solution, qp.Solution)
Kind = Literal["classifier", "regressor", "transformer", "density_estimator", "outlier_detector"]
ROUTED = ("fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score", "transform")
GOOD = 1e-8  # largest relative residual and gap of an answer that needs no warning
TARGETS = {"classifier": "Labels of two {}classes.", "regressor": "Finite real targets."}
SAMPLES = """\
X : {}
y : array_like, shape (samples,)
    {}
sample_weight : array_like, shape (samples,), optional
    Weight of each sample's loss: an integer weight equals that many copies of the sample, zero leaves it out.
X_unlabelled : array_like, shape (others, features), optional
    Samples whose class or target is not known, each with weight 1; it is integrated out by expectation maximization.
"""
UNCHANGED = "$UNCHANGED$"  # scikit-learn's default for the arguments of `set_fit_request` and its like


class _NotFittedError(ValueError, AttributeError):
    """Error of an estimator that is used before `fit`."""


def not_fitted_error() -> type[Exception]:
    """Return the class of the error of an estimator that was not fitted, scikit-learn's if that is loaded."""
    return of_sklearn("NotFittedError", _NotFittedError)


class ConvergenceWarning(UserWarning):
    """Warning that a fit did not converge; the estimator holds its best iterate."""


def uninterrupted(solution: Answer) -> Answer:
    """Return `solution`; raise KeyboardInterrupt if Ctrl-C ended the solve.

    On Ctrl-C the engine returns its best iterate, from which a fit would otherwise make a model or iterate on.
    """
    if solution.status == "interrupted":
        raise KeyboardInterrupt(solution.message)
    return solution


def is_good(solution: qp.Solution | socp.Solution) -> bool:
    """Return True if the solution is optimal, or its residuals and gap are at most `GOOD`, the engine's promise."""
    errors = (solution.primal_residual, solution.dual_residual, solution.gap)
    return solution.status == "optimal" or all(error <= GOOD for error in errors)


def warn_unless_good(who: str, solution: qp.Solution | socp.Solution) -> None:
    """Warn if the solution is not `is_good`."""
    if not is_good(solution):
        warn_unless_optimal(who, solution)


def warn_unless_optimal(who: str, solution: socp.Solution | qp.Solution, remedy: str = "") -> None:
    """Warn, with a remedy, if the program of an estimator was not solved to its tolerance."""
    if solution.status == "optimal":
        return
    gap = abs(solution.objective - solution.dual_objective)
    if solution.status == "time_limit":
        remedy = "Raise time_limit."
    warn_unconverged(
        f"{who}: the program ended as {solution.status.value!r} after {solution.iterations} iterations, its objective "
        f"{solution.objective:.6g} known to {gap:.1e}. " + (remedy or "Scale the features, or raise tol or max_iter.")
    )


def warn_unconverged(message: str) -> None:
    """Warn that a fit did not converge."""
    warn(message, of_sklearn("ConvergenceWarning", ConvergenceWarning))


def _metadata_of(method: Any) -> list[str]:
    """Return the names of a method's arguments other than samples and targets."""
    if not inspect.isfunction(method):
        return []
    kinds = inspect.Parameter
    taken = list(inspect.signature(method).parameters.values())[2:]
    return [one.name for one in taken if one.name != "y" and one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]


def _requester(method: str, metadata: list[str]) -> Callable[..., Any]:
    """Return `set_fit_request`, or its like for another method."""

    def request(self: Any, **requests: Any) -> Any:
        found = self.get_metadata_routing()
        for name, alias in requests.items():
            if name not in metadata:
                raise TypeError(f"{request.__name__}() takes {', '.join(metadata)}, but {name!r} came")
            if alias != UNCHANGED:
                getattr(found, method).add_request(param=name, alias=alias)
        self._metadata_request = found
        return self

    kinds = inspect.Parameter
    named = [kinds(name, kinds.KEYWORD_ONLY, default=UNCHANGED, annotation="bool | str | None") for name in metadata]
    request.__signature__ = inspect.Signature([kinds("self", kinds.POSITIONAL_OR_KEYWORD), *named])  # type: ignore
    request.__name__ = f"set_{method}_request"
    request.__qualname__ = f"Estimator.{request.__name__}"
    request.__doc__ = f"""Say which metadata scikit-learn's pipelines and searches are to pass on to `{method}`.

        Parameters
        ----------
        {", ".join(metadata)} : bool, str or None, optional
            True: pass it on; False: do not; a name: pass on what the caller gives by this name; None: refuse it.
        """
    return request


class Estimator:
    """Base of estimators: `__init__` keeps each parameter under its name, unchanged and unchecked; `fit` checks them.

    A subclass describes itself by class attributes: its `_kind`, whether X is a list of sequences, whether X may be
    sparse, whether NaN is a missing value, whether X holds counts, and whether there may be more than two classes.
    """

    _kind: ClassVar[Kind]
    _takes_sequences: ClassVar[bool] = False
    _takes_sparse: ClassVar[bool] = False
    _takes_nan: ClassVar[bool] = False
    _takes_counts: ClassVar[bool] = False
    _multiclass: ClassVar[bool] = True
    _samples_told: ClassVar[str] = ""  # description of X in the docstring of `fit`; "" for the default one
    # Attributes as large as the samples; pickles and copies omit them.
    _left_behind: ClassVar[tuple[str, ...]] = ("program_", "solution_")

    verbose: int = 0  # values of `verbose`, `time_limit` and `threads` where they are no parameters
    time_limit: float | None = None
    threads: int = 1
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    if TYPE_CHECKING:  # parameters, and methods that `__init_subclass__` adds

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **named: Any) -> None:
        """Add `set_fit_request` and its like for methods with more than X and y; complete the docstring of `fit`."""
        super().__init_subclass__(**named)
        for method in ROUTED:
            metadata = _metadata_of(vars(cls).get(method))
            if metadata:
                setattr(cls, f"set_{method}_request", _requester(method, metadata))
        fit = vars(cls).get("fit")
        if fit is not None and fit.__doc__:
            table = f"array_like{' or sparse' * (cls._takes_sparse is True)}, shape (samples, features)"
            X = "list of array_like, a sequence each" if cls._takes_sequences is True else table
            X = cls._samples_told or X + "\n    NaN where an entry is missing." * (cls._takes_nan is True)
            targets = TARGETS.get(getattr(cls, "_kind", ""), "Not used.").format("or more " * cls._multiclass)
            complete_method(fit, SAMPLES.format(X, targets))

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return parameter_names(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also the parameters of nested estimators, as ``outer__inner``."""
        found: dict[str, Any] = {}
        for name in self._parameter_names():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update((f"{name}__{inner}", v) for inner, v in value.get_params().items())
        return found

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters by name, ``outer__inner`` in a nested estimator, and return the estimator itself."""
        nested: dict[str, dict[str, Any]] = {}
        known = self._parameter_names()
        for name, value in params.items():
            outer, reaches_in, inner = name.partition("__")
            if outer not in known:
                raise ValueError(
                    f"Invalid parameter {outer!r} for estimator {self}. Valid parameters are: {', '.join(known)}"
                    f"{instead(type(self), outer) or '.'}"
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

    def _changed(self) -> dict[str, str]:
        """Return the parameters that differ from their defaults, as printed."""
        defaults = inspect.signature(type(self)).parameters
        shown = {name: repr(getattr(self, name, None)) for name in defaults}
        return {name: value for name, value in shown.items() if value != repr(defaults[name].default)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self._changed().items())})"

    def _repr_html_(self) -> str:
        """Return a table of the parameters that differ from their defaults, for notebooks."""
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in self._changed().items()
        )
        state = "fitted" if self._is_fitted() else "not fitted"
        return f"<div><strong>{type(self).__name__}</strong> ({state})<table>{rows}</table></div>"

    def get_metadata_routing(self) -> Any:
        """Return the `MetadataRequest` that scikit-learn's routers read: the metadata that each method requests."""
        from sklearn.utils.metadata_routing import MetadataRequest

        if hasattr(self, "_metadata_request"):
            return self._metadata_request
        found = MetadataRequest(owner=type(self).__name__)
        for method in ROUTED:
            for name in _metadata_of(getattr(type(self), method, None)):
                getattr(found, method).add_request(param=name, alias=None)
        return found

    def _check_fields(self) -> None:
        """Raise ValueError unless every parameter has a value that its field allows."""
        self._verbosity()
        kind: Any = type(self)
        for name, field in fields_of(kind).items():
            if field.check is not None:
                field.check(getattr(self, name))

    def _verbosity(self) -> int:
        """Return `verbose` as a whole number, 1 for True; raise ValueError if it is negative or no number."""
        value: Any = self.verbose
        return int(value) if isinstance(value, (bool, np.bool_)) else check_number("verbose", value, 0, whole=True)

    def _engine_settings(self) -> dict[str, Any]:
        """Return the engine's settings for the estimator's programs, from checked parameters."""
        tol, max_iter = as_scalar(self.tol), as_scalar(self.max_iter)
        return {**self._limits(), "tol": tol, "max_iter": max_iter, "verbose": self._verbosity() > 0}

    def _limits(self) -> dict[str, Any]:
        """Return `time_limit` and `threads`, the engine's settings that every estimator has."""
        return {"time_limit": as_scalar(self.time_limit), "threads": int(self.threads)}

    def _solved(self, program: Any, infeasible: str, settings: dict[str, Any] | None = None) -> Any:
        """Solve `program`, keep it with its solution, and return this; `infeasible` is the message of the error.

        Raises
        ------
        ValueError
            The program is infeasible.
        """
        solve: Any = qp.solve if isinstance(program, qp.QuadraticProgram) else socp.solve
        solution = uninterrupted(solve(program, **(self._engine_settings() if settings is None else settings)))
        if solution.status.is_infeasible:
            raise ValueError(infeasible)
        return self._keep_answer(program, solution)

    def _keep_answer(self, program: Any, solution: Any) -> Any:
        """Keep a program, its solution and its iterations; warn if the solution is not good, and return it."""
        warn_unless_good(type(self).__name__, solution)
        self.program_, self.solution_, self.n_iter_ = program, solution, solution.iterations
        return solution

    def _last(self, name: str) -> Any:
        if name not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has this after fit, in the process of the fit alone")
        return self.__dict__[name]

    def _inner_verbosity(self) -> int:
        """Return the `verbose` of models and programs inside this fit's iterations, which print from verbose = 2 on."""
        return max(self._verbosity() - 1, 0)

    def _history(self, objective: str, of: str = "", first: int = 0, inner: bool = False) -> History:
        """Return an empty `History` of this fit; `of` names a part of the fit, and `inner` lowers the verbosity."""
        level = self._inner_verbosity() if inner else self._verbosity()
        return History(f"{type(self).__name__}{of}", objective, level, first)

    def _is_pairwise(self) -> bool:
        """Return True if X is a kernel matrix between samples instead of samples."""
        return False

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind, sequences = self._kind, self._takes_sequences
        # scikit-learn's checks use Gaussian blobs, on which classifiers of counts score poorly.
        classifier = ClassifierTags(poor_score=self._takes_counts, multi_class=self._multiclass)
        return Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=TargetTags(required=kind in ("classifier", "regressor")),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=classifier if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(
                one_d_array=sequences, two_d_array=not sequences, sparse=self._takes_sparse,
                allow_nan=self._takes_nan, pairwise=self._is_pairwise(), positive_only=self._takes_counts,
            ),
        )  # fmt: skip

    def _is_fitted(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise not_fitted_error()(f"This {type(self).__name__} instance is not fitted yet: call fit first.")

    def _matrix_to_fit(self, X: Any, fewest: int = 1) -> Any:
        """Check parameters and X; keep the number and the names of the features, and return X as float64."""
        self._check_fields()
        matrix = as_matrix(X, type(self).__name__, self._takes_sparse, self._takes_nan, fewest)
        self._keep_features(matrix.shape[1], feature_names(X))
        return matrix

    def _keep_features(self, features: int, names: np.ndarray | None) -> None:
        """Keep the number and the names of the features that `fit` sees."""
        self.n_features_in_ = features
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _matrix_to_predict(self, X: Any) -> Any:
        """Return X as float64, after checks against the features that `fit` saw."""
        self._check_fitted()
        self._check_feature_names(feature_names(X))
        matrix = as_matrix(X, type(self).__name__, self._takes_sparse, self._takes_nan)
        by_hand = vars(self).get("coef_")  # coefficients may be set without `fit`
        expected = vars(self).get("n_features_in_", matrix.shape[1] if by_hand is None else np.shape(by_hand)[-1])
        if matrix.shape[1] != expected:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but {type(self).__name__} is expecting {expected} features as "
                "input."
            )
        return matrix

    def _check_feature_names(self, names: np.ndarray | None) -> None:
        fitted = getattr(self, "feature_names_in_", None)
        who = type(self).__name__
        if fitted is None and names is not None:
            warn(f"X has feature names, but {who} was fitted without feature names")
        elif fitted is not None and names is None:
            warn(f"X does not have valid feature names, but {who} was fitted with feature names")
        elif fitted is not None and names is not None and not np.array_equal(fitted, names):
            raise ValueError(_names_that_differ(fitted, names))


class Classifier(Estimator):
    """Base of classifiers, with `classes_` and the share of correct predictions as `score`.

    `class_weight` is a parameter of classifiers that weigh the errors of one class against the errors of another.
    Models of each class by itself lack it: a factor common to all samples of a class cancels from its means,
    covariances and probabilities, and changes only its prior, the parameter `priors`.  It is also absent from
    `MinimaxProbabilityClassifier`, which bounds the error of both classes alike; from `HybridNaiveBayes` and `MedLDA`,
    in which a weight counts copies of a document, with its words; from `NuSVC`, whose nu is limited by the share of the
    smaller class; and from classifiers of sequences, which take no weights.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    """

    _kind: ClassVar[Kind] = "classifier"
    class_weight: ClassWeight = None
    classes_: np.ndarray
    _needs_all_classes: ClassVar[bool] = True  # whether every class must have a sample of positive weight

    def _labels_to_fit(self, y: Any, samples: int) -> np.ndarray:
        """Set `classes_`; return the class of every sample as an index into it."""
        self.classes_, codes = as_labels(y, samples, type(self).__name__)
        if self.classes_.size > 2 and not self._multiclass:
            raise ValueError(
                f"Only binary classification is supported by {type(self).__name__}: the target y has "
                f"{self.classes_.size} classes. The type of the target is multiclass."
            )
        return codes

    def _weights_to_fit(self, sample_weight: Any, codes: np.ndarray) -> np.ndarray:
        """Return the sample weights times class weights; raise ValueError if a class that is needed has no weight."""
        weights = as_weights(sample_weight, codes.size)
        if self._needs_all_classes:
            check_classes_left(self.classes_, codes, weights)
        return weights * class_weights(self.class_weight, self.classes_, codes, weights)[codes]

    def _samples_and_weights(self, X: Any, y: Any, sample_weight: Any, fewest: int = 1) -> tuple[Any, Any, np.ndarray]:
        """Return X, the class codes, and the sample weights times class weights, all checked."""
        X = self._matrix_to_fit(X, fewest)
        codes = self._labels_to_fit(y, X.shape[0])
        return X, codes, self._weights_to_fit(sample_weight, codes)

    def _blocks_to_fit(self, X: Any, y: Any, sample_weight: Any, obstacle: str = "") -> RowBlocks | None:
        """Return samples that come in blocks, or None if they are in memory or are to be brought there.

        An iterable of blocks is refused for an `obstacle`, the reason why all samples are needed at once.
        """
        who = type(self).__name__ + " without all samples at hand" * self._takes_nan
        blocks = row_blocks_of(X, y, sample_weight, who, self._takes_sparse, not obstacle)
        if blocks is not None and obstacle:
            raise ValueError(f"X must be in memory, but an iterable of blocks came: {obstacle}")
        return blocks

    def _survey(self, blocks: RowBlocks) -> np.ndarray:
        """Run the first pass and keep its shape, names and classes; return the weight of each class."""
        found = blocks.survey()
        self._keep_features(found.features, found.names)
        self.classes_ = found.classes
        check_number_of_classes(found.classes, type(self).__name__)
        if self._needs_all_classes:
            check_classes_left(found.classes, np.arange(found.classes.size), found.weights)
        return blocks.weigh(self.class_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every sample, by the values of `decision_function`."""
        codes = predicted(self.decision_function(X))
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) share of samples whose label is predicted correctly."""
        return self._share_right(self.predict(X), y, sample_weight)

    def _share_right(self, found: np.ndarray, y: Any, sample_weight: Any) -> float:
        """Return the (weighted) share of the labels `y` that equal `found`."""
        classes, codes = as_labels(y, found.size, type(self).__name__, fewest=1, warns=False)
        known, came = found.tolist()[0], classes.tolist()[0]
        if isinstance(came, str) != isinstance(known, str):
            raise ValueError(f"y must hold labels of the kind of {known!r}, but {came!r} came")
        return float(np.average(classes[codes] == found, weights=as_weights(sample_weight, found.size)))


class Regressor(Estimator):
    """Base of regressors, with the coefficient of determination as `score`."""

    _kind = "regressor"

    def predict(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2 = 1 - sum (y - prediction)^2 / sum (y - mean y)^2, weighted; for constant y 1 if exact, else 0."""
        found = self.predict(X)
        y, weights = as_targets(y, found.size, type(self).__name__, warns=False), as_weights(sample_weight, found.size)
        residual = float(weights @ (y - found) ** 2)
        spread = float(weights @ (y - np.average(y, weights=weights)) ** 2)
        return 1.0 - residual / spread if spread > 0.0 else float(residual == 0.0)


def _names_that_differ(fitted: np.ndarray, names: np.ndarray) -> str:
    """Return scikit-learn's message for a table whose columns are not the columns of `fit`."""
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
