"""Base of estimators with `transform`: names of output features, and tables of pandas or polars."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, TypeVar

import numpy as np

from .estimator import Estimator, Kind
from .validation import check_choice

Self = TypeVar("Self", bound="Transformer")
CONTAINERS = ("default", "pandas", "polars")


class Transformer(Estimator):
    """Base of transformers: the `transform` of a subclass passes its result through `_in_container`.

    A classifier that has `transform`, too, has this class after `Classifier` among its bases.
    """

    _kind: ClassVar[Kind] = "transformer"
    _sklearn_auto_wrap_output_keys: ClassVar[set[str]] = {"transform"}  # methods to which `set_output` applies
    _sklearn_output_config: dict[str, str]  # scikit-learn's `clone` copies it

    @property
    def _n_features_out(self) -> int:
        """Number of features that `transform` returns."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X and y, and return ``transform(X)``."""
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features of `transform`: the class name in lower case and a number.

        Parameters
        ----------
        input_features : array_like of str, optional
            Not used, but there must be one name for each feature that `fit` saw.
        """
        self._check_fitted()
        features = getattr(self, "n_features_in_", None)
        if input_features is not None and features is not None and len(input_features) != features:
            raise ValueError(
                f"input_features should have length equal to number of features ({features}), got {len(input_features)}"
            )
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    def set_output(self: Self, *, transform: str | None = None) -> Self:
        """Choose the container of features that `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a table with the names of `get_feature_names_out`; None changes nothing.  Without a choice,
            scikit-learn's own setting holds, if that is loaded.
        """
        if transform is not None:
            check_choice("transform", transform, CONTAINERS)
            self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "transform": transform}
        return self

    def _in_container(self, table: np.ndarray, X: Any) -> Any:
        """Return `table`, the features of X, in the container chosen by `set_output`."""
        container = getattr(self, "_sklearn_output_config", {}).get("transform")
        if container is None:
            sklearn = sys.modules.get("sklearn")
            container = "default" if sklearn is None else sklearn.get_config()["transform_output"]
        if container == "pandas":
            import pandas

            index = X.index if isinstance(X, (pandas.DataFrame, pandas.Series)) else None
            return pandas.DataFrame(table, index=index, columns=self.get_feature_names_out())
        if container == "polars":
            import polars

            return polars.DataFrame(table, schema=self.get_feature_names_out().tolist(), orient="row")
        return table
