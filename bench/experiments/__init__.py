"""The papers' experiments on their real data, one command each."""

from __future__ import annotations

from importlib import import_module

from ..programs.sets import DataError
from .experiment import Experiment

MODULES: dict[str, str] = {
    "bilevel-curves": "bilevel_curves:Curves",
    "bilevel-parameters": "bilevel_parameters:ParametersOfPrior",
    "bilevel-scatter": "bilevel_scatter:Scatter",
    "multitask-c2": "bilevel_curves:MultiTaskConstant",
    "easvm-digits": "easvm_digits:DigitExplanations",
    "easvm-reuters": "easvm_reuters:ReutersExplanations",
    "easvm-strings": "easvm_strings:Strings",
    "transfer": "transfer:Transfer",
    "hybrid-curves": "hybrid:HybridCurves",
    "hybrid-coverage": "hybrid:HybridCoverage",
    "score-space": "score_space:ScoreSpaces",
    "score-space-tilt": "score_space_tilt:MarginScoreSpaces",
    "score-space-states": "score_space_states:StatesAndShares",
    "score-space-topics": "score_space_topics:TopicScores",
    "credit-default": "credit:CreditDefault",
}
"""Module and class of each experiment by its name; the module is imported on demand."""


def find(name: str) -> Experiment:
    """Return the experiment of a name; raise DataError if there is none."""
    if name not in MODULES:
        raise DataError(f"there is no experiment {name!r}; there are {', '.join(MODULES)}")
    module, _, kind = MODULES[name].partition(":")
    experiment: Experiment = getattr(import_module(f"{__name__}.{module}"), kind)()
    return experiment
