"""What every estimator that has `transform` shares: names of its features, and tables of pandas or polars."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, TypeVar

import numpy as np

from .estimator import Estimator, Kind
from .validation import check_choice

Self = TypeVar("Self", bound="Transformer")
CONTAINERS = ("default", "pandas", "polars")


class Transformer(Estimator):
    """An estimator of features: a subclass passes what its `transform` computes through `_in_container`.

    A classifier that has `transform`, too, names this class after `Classifier`.
    """

    _kind: ClassVar[Kind] = "transformer"
    _sklearn_auto_wrap_output_keys: ClassVar[set[str]] = {"transform"}  # by which scikit-learn knows `set_output`
    _sklearn_output_config: dict[str, str]  # its `clone` copies this

    @property
    def _n_features_out(self) -> int:
        """How many features `transform` gives."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """`fit`, then `transform` of the same X."""
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the features that `transform` gives: the estimator's own, in small letters, and a number.

        Parameters
        ----------
        input_features : array_like of str, optional
            Not used, but there must be one for each feature that `fit` saw.
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
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            An array, or a table with the names of `get_feature_names_out`; None changes nothing.  Where nothing was
            chosen, scikit-learn's own setting holds, if that is loaded.
        """
        if transform is not None:
            check_choice("transform", transform, CONTAINERS)
            self._sklearn_output_config = {**getattr(self, "_sklearn_output_config", {}), "transform": transform}
        return self

    def _in_container(self, table: np.ndarray, X: Any) -> Any:
        """The features of X in the container that was asked for."""
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
