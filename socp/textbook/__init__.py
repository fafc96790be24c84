"""The textbook method in plain NumPy, with switches for its parts."""

from .cone import Cone, det
from .method import REFINEMENTS, SIGMA, Iterate, Method, TextbookSolution, iterates, norm, solve
from .quadratic import REGULARIZATION, STEP, ldl, solve_quadratic
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
    "ldl",
    "norm",
    "solve",
    "solve_quadratic",
]
