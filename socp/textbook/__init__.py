"""The method as the books have it, in plain NumPy, and the switches of its parts."""

from .method import (
    REFINEMENTS,
    REGULARIZATION,
    SIGMA,
    STEP,
    Cone,
    Iterate,
    Method,
    TextbookSolution,
    det,
    iterates,
    norm,
    solve,
)
from .switches import ALL_OF_THE_BOOKS, PASSES, Switches, Units, dense

__all__ = [
    "ALL_OF_THE_BOOKS",
    "PASSES",
    "REFINEMENTS",
    "REGULARIZATION",
    "SIGMA",
    "STEP",
    "Cone",
    "Iterate",
    "Method",
    "Switches",
    "TextbookSolution",
    "Units",
    "dense",
    "det",
    "iterates",
    "norm",
    "solve",
]
