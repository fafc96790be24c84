"""The papers' experiments on their real data, one command each."""

from __future__ import annotations

from importlib import import_module
from typing import get_origin

from ..programs.sets import DataError
from .experiment import Experiment

MODULES: dict[str, str] = {
    "bilevel-curves": "bilevel_curves",
    "bilevel-parameters": "bilevel_parameters",
    "bilevel-scatter": "bilevel_scatter",
    "multitask-c2": "bilevel_curves",
    "easvm-digits": "easvm_digits",
    "easvm-reuters": "easvm_reuters",
    "easvm-strings": "easvm_strings",
    "transfer": "transfer",
    "hybrid-curves": "hybrid",
    "hybrid-coverage": "hybrid",
    "score-space": "score_space",
    "score-space-tilt": "score_space_tilt",
    "score-space-states": "score_space_states",
    "score-space-topics": "score_space_topics",
    "credit-default": "credit",
}
"""The module of each experiment by its name; it is imported when it is asked for."""


def find(name: str) -> Experiment:
    """The experiment of a name.

    Raises
    ------
    DataError
        There is none of that name.
    """
    if name not in MODULES:
        raise DataError(f"there is no experiment {name!r}; there are {', '.join(MODULES)}")
    module = import_module(f"{__name__}.{MODULES[name]}")
    # on Python 3.10 dict[str, Any] counts as a type, and is none that issubclass takes
    classes = [kind for kind in vars(module).values() if isinstance(kind, type) and get_origin(kind) is None]
    kinds = [kind for kind in classes if issubclass(kind, Experiment)]
    experiment: Experiment = next(kind for kind in kinds if getattr(kind, "name", "") == name)()
    return experiment
