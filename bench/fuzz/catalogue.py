"""All families by name, and each of their programs by its number."""

from __future__ import annotations

import zlib

import numpy as np

from ..programs.sets import chosen
from . import callers, cone_families, quadratic_families, updates
from .case import Case
from .shapes import Family, scaled_families

FAMILIES: dict[str, Family] = {
    **{f"cone_{family.__name__}": family for family in cone_families.FAMILIES},
    **{f"cone_{name}": family for name, family in scaled_families(cone_families.any_planted).items()},
    **{f"qp_{family.__name__}": family for family in quadratic_families.FAMILIES},
    **{f"qp_{name}": family for name, family in scaled_families(quadratic_families.any_planted).items()},
    "cone_updates": updates.of_cone_programs,
    "qp_updates": updates.of_quadratic_programs,
    "cone_settings": callers.settings_of_cone_programs,
    "qp_settings": callers.settings_of_quadratic_programs,
}


def names(only: str | None = None) -> list[str]:
    """Return the names of all families, or the names that match `only`; see `sets.matches`."""
    return chosen(FAMILIES, only, "family")


def case(family: str, seed: int, number: int) -> Case:
    """Make program `number` of a family under a seed, independently of its other programs.

    Examples
    --------
    >>> case("cone_tiny", 0, 3).program
    ConeProgram(n=4, p=1, m=2, cones: 1 SecondOrder)
    """
    return FAMILIES[family](np.random.default_rng([seed, zlib.crc32(family.encode()), number]))
