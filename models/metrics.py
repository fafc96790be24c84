"""Moved to `bench.metrics`; its names are still found here."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bench import metrics

    found = getattr(metrics, name)
    warnings.warn(f"models.metrics has moved: import {name} from bench.metrics", DeprecationWarning, stacklevel=2)
    return found
