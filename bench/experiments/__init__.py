"""The papers' experiments on their real data, one command each."""

from __future__ import annotations

from importlib import import_module

from ..programs.sets import DataError
from .frame.experiment import Experiment

MODULES: dict[str, str] = {
    "bilevel-curves": "bilevel.curves:Curves",
    "bilevel-parameters": "bilevel.parameters:ParametersOfPrior",
    "bilevel-scatter": "bilevel.scatter:Scatter",
    "multitask-c2": "bilevel.curves:MultiTaskConstant",
    "easvm-digits": "easvm.digits:DigitExplanations",
    "easvm-reuters": "easvm.reuters:ReutersExplanations",
    "easvm-strings": "easvm.strings:Strings",
    "transfer": "bilevel.transfer:Transfer",
    "hybrid-curves": "hybrid:HybridCurves",
    "hybrid-coverage": "hybrid:HybridCoverage",
    "score-space": "score_spaces.score_space:ScoreSpaces",
    "score-space-tilt": "score_spaces.tilt:MarginScoreSpaces",
    "score-space-states": "score_spaces.states:StatesAndShares",
    "score-space-topics": "score_spaces.topics:TopicScores",
    "credit-default": "credit:CreditDefault",
    "defaults": "defaults:Defaults",
}
"""Module and class of each experiment by its name; the module is imported on demand."""


def find(name: str) -> Experiment:
    """Return the experiment of a name; raise DataError if there is none."""
    if name not in MODULES:
        raise DataError(f"there is no experiment {name!r}; there are {', '.join(MODULES)}")
    module, _, kind = MODULES[name].partition(":")
    experiment: Experiment = getattr(import_module(f"{__name__}.{module}"), kind)()
    return experiment
