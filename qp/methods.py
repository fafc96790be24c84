"""The methods for quadratic programs, in the order in which `Engine` offers a program to them.

A method is a subclass of `Method`; `choose_method` compares their costs.  The last method answers every program.
"""

from __future__ import annotations

from .active_set.method import ActiveSet
from .active_set.small import DualActiveSet
from .active_set.sparse import SparseActiveSet
from .interior_point import InteriorPoint
from .method import Method

METHODS: list[type[Method]] = [
    DualActiveSet,  # small programs, and loops of warm starts: from vertex to vertex of the dual
    ActiveSet,  # a dense P with many bounds and at most one row: from face to face of the box
    SparseActiveSet,  # sparse programs whose equalities leave few variables: over the factors of the equalities
    InteriorPoint,  # every program
]
TRIED_IN_LOOPS: list[type[DualActiveSet]] = [SparseActiveSet, DualActiveSet]  # the first one also without warm starts
