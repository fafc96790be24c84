"""The interactive page, and the references and tolerances for its numbers."""

from dataclasses import fields
from pathlib import Path

import numpy as np

from socp import textbook

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "interactive.html"
TEXT = PAGE.read_text(encoding="utf-8")
PARTS = [field.name for field in fields(textbook.Switches)]
COLUMNS = (
    "objective", "dual_objective", "primal_residual", "dual_residual", "gap", "alpha", "mu", "sigma", "tau",
    "kappa",
)  # fmt: skip


def number(value):
    return np.array(value, dtype=float)  # of "NaN" and "Infinity" too


def tolerance(name, it):
    """Return the tolerance of a column: 1e-6, plus the rounding error of a division by tau if the column has one."""
    return 1e-6 + (1e-13 / it.tau if name in COLUMNS[:5] else 0.0)
