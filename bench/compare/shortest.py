"""The shortest time of a fit, for the tables of kernel and of linear machines."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

RUNS = 10
LONG_ENOUGH = 1.0  # seconds after which a time is not measured again


def shortest(fit: Callable[[], Any], least: int = 1) -> tuple[float, Any]:
    """Return the shortest processor time of at least `least` fits, as many as fit into a second or so, and a model."""
    times: list[float] = []
    while len(times) < min(least, RUNS) or (len(times) < RUNS and sum(times) <= LONG_ENOUGH):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit()
        times.append(time.process_time() - begin)
    return min(times), model
