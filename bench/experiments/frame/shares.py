"""Groups of runs, and the means of repeated measurements with their confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, product, repeat
from typing import Any

import numpy as np

from ...metrics import mean_interval
from .experiment import Parameters, Result

Points = Sequence[Sequence[float]] | np.ndarray
LEVEL = 0.05
"""p-value below which a difference is significant."""


def grid(**values: Iterable[Any]) -> list[Parameters]:
    """Return parameters with all combinations of values, the last name varying fastest.

    Examples
    --------
    >>> grid(n=(1, 2), seed=range(2))
    [{'n': 1, 'seed': 0}, {'n': 1, 'seed': 1}, {'n': 2, 'seed': 0}, {'n': 2, 'seed': 1}]
    """
    return [dict(zip(values, one)) for one in product(*values.values())]


def grouped(runs: Iterable[Result], *names: str) -> dict[Any, list[Result]]:
    """Return the runs by the value of a name, or by the values of several names, in the order of appearance.

    Examples
    --------
    >>> grouped([{"n": 1, "k": 0}, {"n": 2, "k": 0}, {"n": 1, "k": 1}], "n")
    {1: [{'n': 1, 'k': 0}, {'n': 1, 'k': 1}], 2: [{'n': 2, 'k': 0}]}
    """
    groups: dict[Any, list[Result]] = {}
    for run in runs:
        key = tuple(tuple(run[name]) if isinstance(run[name], list) else run[name] for name in names)
        groups.setdefault(key if len(names) > 1 else key[0], []).append(run)
    return groups


def rows_of(runs: Iterable[Result], *names: str, cells: Callable[[list[Result]], Iterable[str]]) -> list[list[str]]:
    """Return the rows of a table: the values of `names`, and the cells of the runs that have these values.

    Examples
    --------
    >>> rows_of([{"n": 1, "k": 0}, {"n": 2, "k": 0}], "n", cells=lambda own: [f"{len(own)} runs"])
    [['1', '1 runs'], ['2', '1 runs']]
    """
    groups = grouped(runs, *names).items()
    return [[*map(str, key if len(names) > 1 else (key,)), *cells(group)] for key, group in groups]


def panels(rows: int, columns: int, size: tuple[float, float], ylabel: str = "", **shared: Any) -> tuple[Any, Any]:
    """Return a figure of `size` in inches, and its axes in rows and columns; the first column has the label."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in places[:, 0]:
        axes.set_ylabel(ylabel)
    return figure, places


def draw_lines(
    axes: Any, lines: Mapping[str, Points], formats: Iterable[Any] = (), marker: float = 4.0, **settings: Any
) -> None:
    """Draw points (x, y), or (x, y, error), as labeled lines, one format each, and apply `settings` to the axes."""
    for (label, points), form in zip(lines.items(), chain(formats, repeat("o-"))):
        x, y, *error = np.array(points).T if len(points) else ([], [])
        style = form if isinstance(form, dict) else {"fmt": form}
        axes.errorbar(x, y, *error, **{"capsize": 2, "markersize": marker, "label": label, **style})
    axes.set(**settings)


def standard_errors(gain: Any) -> float:
    """Return the mean / its standard error, or its sign times inf if the error is 0; above 2 counts as a gain.

    Examples
    --------
    >>> round(standard_errors(np.array([1.0, 2.0, 3.0])), 3), standard_errors(np.zeros(3)), standard_errors(np.ones(1))
    (3.464, 0.0, inf)
    >>> standard_errors(np.array([0.1, 0.2, -0.3]))  # 0.1 + 0.2 - 0.3 is 5.6e-17
    0.0
    """
    mean = float(np.mean(gain))
    error = float(np.std(gain, ddof=1) / np.sqrt(np.size(gain))) if np.size(gain) > 1 else 0.0
    ratio = mean / error if error > 0.0 else float(np.sign(mean)) * np.inf if mean else 0.0
    return round(ratio, 9) + 0.0 if np.isfinite(ratio) else ratio  # Rounding errors of a mean of 0 become 0.


def significant(p_values: Sequence[float]) -> int:
    """Return how many of the p-values are significant at LEVEL by Holm's correction for their number.

    Examples
    --------
    >>> significant([0.001, 0.04, 0.03]), significant([0.001, 0.02, 0.03])
    (1, 3)
    """
    ascending = sorted(p_values)
    count = len(ascending)
    return next((k for k, p in enumerate(ascending) if p > LEVEL / (count - k)), count)


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean, and the half width of its 95 % confidence interval by Student's t (0 for a single value).

    Examples
    --------
    >>> mean, error = mean_and_error([1.0, 2.0, 3.0])
    >>> mean, round(error, 3)
    (2.0, 2.484)
    """
    mean, half = mean_interval(list(values))
    return float(mean), float(np.nan_to_num(half))


def curves(
    runs: Iterable[Result], by: str, kinds: Iterable[str], x: str | None = None, times: float = 1.0
) -> dict[str, list[tuple[float, float, float]]]:
    """Return for each kind the points (mean of `x` or else of `by`, mean, error), one for each value of `by`."""
    groups = [(float(np.mean([run[x or by] for run in group])), group) for group in grouped(runs, by).values()]
    groups.sort(key=lambda one: one[0])
    return {kind: [(at, *mean_and_error(times * run[kind] for run in group)) for at, group in groups] for kind in kinds}


def shown(values: Iterable[float], digits: int = 1) -> str:
    """Return the mean and its error as text.

    Examples
    --------
    >>> shown([1.0, 2.0, 3.0])
    '2.0 ± 2.5'
    """
    mean, error = mean_and_error(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def means_shown(runs: list[Result], names: Iterable[str], times: float = 1.0, digits: int = 1) -> list[str]:
    """Return `shown` of several numbers of the runs, each multiplied by `times`."""
    return [shown((times * run[name] for run in runs), digits) for name in names]
