"""Support vector machines with polyhedral knowledge."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

import qp

from ..base.groups import EngineParameters, WeightParameters
from ..base.parameters import Positive, parameters
from ..base.validation import as_dense
from ..programs.regions import Region, knowledge_program
from .linear_programs import ProgramClassifier


@parameters
class KnowledgeSVC(ProgramClassifier, WeightParameters, EngineParameters):
    r"""Linear support vector classifier of labeled samples and labeled regions of two classes.

    .. math::
        \min_{w, b}\; \tfrac12 \|w\|^2 + \sum_i C_i \xi_i \quad\text{s.t. }
        y_i (w^\top x_i + b) \ge 1 - \xi_i,\;
        s_j (w^\top x + b) \ge 1 \text{ for all } x \text{ with } D_j x \le d_j

    Each region adds one vector of multipliers to the quadratic program.  A finite Q lets regions be missed, at a price.

    Parameters
    ----------
    knowledge : list of (D, d, label)
        Regions: all x with D x <= d have the label; D has shape (rows, features).  "x_1 >= 3 and x_2 <= 1 is malign"
        has the rows (-1, 0) and (0, 1), and d = (-3, 1).  An empty region has no effect.
    C
        Price of a violated margin, times the sample's weight; finite.
    Q
        Price of missing a region; ``inf`` forbids it.

    Raises
    ------
    ValueError
        Q is infinite and no hyperplane respects all regions.

    Examples
    --------
    >>> from models import KnowledgeSVC
    >>> X, y = [[-1.0, 0.0], [1.0, 0.0]], ["no", "yes"]
    >>> told = [([[-1.0, 0.0], [0.0, -1.0]], [0.0, -1.0], "yes")]  # x_1 >= 0 and x_2 >= 1
    >>> machine = KnowledgeSVC(told, C=100.0).fit(X, y)
    >>> machine.coef_.round(4), machine.intercept_.round(4) + 0.0
    (array([[1., 1.]]), array([0.]))
    >>> machine.predict([[0.0, 3.0], [0.0, -3.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    _multiclass = False
    infeasible = "no hyperplane respects all of the knowledge, as Q=inf asks for: give a finite Q"

    knowledge: Any = ()
    C: Positive = 1.0
    _: KW_ONLY
    Q: Positive = math.inf

    def _stated(self, X: Any, y: np.ndarray, weights: np.ndarray) -> qp.Blocks:
        given = self.knowledge
        if np.isinf(self.C):
            raise ValueError("C must be finite, but inf came")
        if isinstance(given, (str, dict)) or not hasattr(given, "__len__"):
            raise ValueError(f"knowledge must be a list of (D, d, label), but {given!r} came")
        labels = self.classes_.tolist()
        regions = [_region(f"knowledge[{j}]", one, X.shape[1], labels) for j, one in enumerate(given)]
        return knowledge_program(X, y, self.C * weights, regions, float(self.Q))


def _region(name: str, given: Any, features: int, labels: list[Any]) -> Region:
    """Return the region (D, d, label) as a `Region` of sign -1 or 1; raise ValueError unless it is valid."""
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise ValueError(f"{name} must be a triple (D, d, label), but {given!r} came")
    D, d = (np.asarray(as_dense(part), dtype=np.float64) for part in given[:2])
    if D.ndim != 2 or D.shape[1] != features or d.shape != D.shape[:1]:
        raise ValueError(
            f"{name} must have a D of shape (rows, {features}) and a d with an entry for each row, but shapes "
            f"{D.shape} and {d.shape} came"
        )
    if not np.isfinite(D).all() or not np.isfinite(d).all():
        raise ValueError(f"{name} must be finite, but it is not")
    if given[2] not in labels:
        raise ValueError(f"{name} is about the class {given[2]!r}, but y holds {labels}")
    return Region(D, d, 2.0 * labels.index(given[2]) - 1.0)
