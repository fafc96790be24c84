"""models: published learning problems written as cone programs."""

from .bilevel import BilevelClassifier, Round
from .prior import GenerativePrior

__all__ = ["BilevelClassifier", "GenerativePrior", "Round"]
