"""Checks of samples, labels, weights and parameters, made before any work.

The messages name the argument, and use scikit-learn's words where its users look for them.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from socp.problem.checks import as_csr, as_scalar


class Range(NamedTuple):
    """Range of a parameter, as metadata of its type: ``Annotated[float, Range(low=0.0)]``; see `check_number`."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    whole: bool = False


class Shown(NamedTuple):
    """Type of a parameter as docstrings write it, as metadata of its type."""

    text: str


ClassWeight = Annotated[Literal["balanced"] | Mapping[Any, float] | None, Shown('dict, "balanced" or None')]


def as_dense(A: Any) -> Any:
    """Return A as a dense array if it is sparse, otherwise A itself."""
    return A.toarray() if sp.issparse(A) else A


def as_matrix(X: Any, who: str, sparse: bool = False, nan: bool = False, fewest: int = 1) -> Any:
    """Return X as a C-contiguous float64 array, or as canonical CSR if it is sparse and `sparse` allows it.

    NaN (a missing value) is taken if `nan`; `fewest` is the least number of samples; messages name the estimator `who`.
    """
    if sp.issparse(X):
        if not sparse:
            raise TypeError(f"Sparse X was passed to {who}, but dense data is required: use X.toarray()")
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array as X, got {X.ndim}D sparse array. Reshape your data with X.reshape")
        matrix = as_csr("X", X)
        values = matrix.data
    else:
        matrix = _as_float(X, "X")
        if matrix.ndim != 2:
            raise ValueError(
                f"Expected 2D array as X, got {matrix.ndim}D array instead. Reshape your data: X.reshape(-1, 1) if it "
                "has a single feature, X.reshape(1, -1) if it has a single sample."
            )
        values = matrix
    samples, features = matrix.shape
    if samples < fewest:
        raise ValueError(
            f"Found array with {samples} sample(s) (shape=({samples}, {features})) while a minimum of {fewest} is "
            f"required by {who}."
        )
    if features < 1:
        shape = f"shape=({samples}, 0)"
        raise ValueError(f"Found array with 0 feature(s) ({shape}) while a minimum of 1 is required by {who}.")
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = np.isfinite(values.sum())  # one pass; the next line's tests rarely run
    if not is_finite and (np.isinf(values).any() or (not nan and np.isnan(values).any())):
        kind = "infinity" if nan else "NaN or infinity"
        raise ValueError(f"Input X contains {kind} (inf or too large for float64), which {who} does not take.")
    return matrix


def as_labels(y: Any, samples: int, who: str, fewest: int = 2, warns: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct labels, and the index of every sample's label among them.

    A y of shape (samples, 1) is flattened, with a warning if `warns`.
    """
    y = _as_column(y, who, warns)
    if y.dtype.kind == "O" and y.size and not isinstance(y.flat[0], str):
        numbers = np.asarray(y.tolist())  # object arrays of numbers or booleans, as from pandas
        y = numbers if numbers.dtype.kind in "biuf" else y
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; it must be a label for every sample.")
        if (y != np.round(y)).any():
            raise ValueError(f"Unknown label type: continuous. {who} is a classifier: y must hold classes.")
    elif y.dtype.kind not in "biuUSO":
        raise ValueError(f"Unknown label type: {y.dtype}. y must hold classes.")
    check_same_length("y", y, samples)
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"Unknown label type: the labels in y cannot be compared with each other ({error})") from None
    check_number_of_classes(classes, who, fewest)
    return classes, codes.reshape(-1).astype(np.int64)


def check_number_of_classes(classes: np.ndarray, who: str, fewest: int = 2) -> None:
    """Raise ValueError if there are fewer than `fewest` classes."""
    if classes.size < fewest:
        one = classes.tolist()[0]
        raise ValueError(f"{who} needs samples of at least {fewest} classes in y, but there is one class: {one!r}")


def as_targets(y: Any, samples: int, who: str, warns: bool = True) -> np.ndarray:
    """Return y as a float64 vector of finite real targets; a column is flattened as in `as_labels`."""
    y = _as_float(_as_column(y, who, warns), "y")
    check_same_length("y", y, samples)
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; it must be a finite number for every sample.")
    return y


def as_weights(sample_weight: Any, samples: int, needed: bool = True) -> np.ndarray:
    """Return the sample weights, ones for None; raise ValueError unless finite, >= 0 and, if `needed`, not all 0."""
    if sample_weight is None:
        return np.ones(samples)
    weights = _as_float(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(samples, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: sample_weight has shape {weights.shape}")
    if weights.size != samples:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(samples,)}!")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight must be finite and nonnegative")
    if needed and not weights.any():
        raise ValueError("sample_weight is zero for every sample: there is nothing to fit")
    return weights


def check_same_length(name: str, values: np.ndarray, samples: int) -> None:
    """Raise ValueError unless `values` has one entry for every sample."""
    if values.shape[0] != samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {samples}, {name} has {values.shape[0]}"
        )


def check_number(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, open_low: bool = False, whole: bool = False
) -> Any:
    """Return `value`; raise ValueError unless it is in [low, high] (above low if `open_low`) and whole if `whole`."""
    value = as_scalar(value)
    good = isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    if good and whole:
        good = value == math.inf or value == int(value)
    if not good or not (low < value if open_low else low <= value) or value > high:
        kind = "a whole number" if whole else "a number"
        bounds = f" {'above' if open_low else 'of at least'} {low:g}" if low > -math.inf else ""
        bounds += f"{' and' if bounds else ''} at most {high:g}" if high < math.inf else ""
        raise ValueError(f"{name} must be {kind}{bounds}, but {value!r} came")
    return int(value) if whole and value != math.inf else float(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value`; raise ValueError unless it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, but {value!r} came")
    return value


def feature_names(X: Any) -> np.ndarray | None:
    """Return the column names of a table if all of them are strings, otherwise None; raise TypeError if some are."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.asarray(columns, dtype=object)
    kinds = {isinstance(name, str) for name in names}
    if kinds == {True, False}:
        raise TypeError("Feature names are only supported if all input features have string names")
    return names if kinds == {True} else None


def of_sklearn(name: str, otherwise: Any) -> Any:
    """Return the exception or warning `name` of scikit-learn, for its users to catch, or `otherwise` if not loaded."""
    return getattr(sys.modules.get("sklearn.exceptions"), name, otherwise)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the line that called the package as the location."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("models."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, level)


def _as_column(y: Any, who: str, warns: bool) -> np.ndarray:
    """Return y as a vector; a matrix of one column is flattened, with a warning if `warns`."""
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    if sp.issparse(y):
        raise TypeError("Sparse y was passed, but dense data is required: use y.toarray()")
    y = np.asarray(y)
    _check_real(y, "y")
    if y.ndim == 2 and y.shape[1] == 1:
        if warns:
            category = of_sklearn("DataConversionWarning", UserWarning)
            warn("A column-vector y was passed when a 1d array was expected; use y.ravel()", category)
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    return y


def _as_float(values: Any, name: str) -> np.ndarray:
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: fill them, or leave their samples out")
    array = np.asarray(values)
    _check_real(array, name)
    is_text = array.dtype.kind == "O" and any(isinstance(one, (str, bytes)) for one in array.flat)
    if is_text or array.dtype.kind not in "biufO":
        kind = "text" if is_text or array.dtype.kind in "US" else f"entries of type {array.dtype}"
        convert = "encode_symbols makes numbers of letters" if kind == "text" else "convert it first"
        raise ValueError(f"{name} must hold numbers, but {kind} came: {convert}")
    try:
        if array.dtype.kind == "O" and hasattr(values, "to_numpy"):
            array = values.to_numpy(dtype=np.float64, na_value=np.nan)  # np.asarray keeps pandas.NA, which is no float
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must hold numbers: {error}") from None


def _check_real(array: Any, name: str) -> None:
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has entries of type {array.dtype}")


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a seed: None, a whole number, a Generator, or a RandomState, which draws a seed."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    try:
        return np.random.default_rng(as_scalar(random_state))
    except (TypeError, ValueError) as error:
        kinds = "None, a whole number or a generator"
        raise ValueError(f"random_state must be {kinds}, but {random_state!r} came") from error
