"""Default: whether credit card customers failed to pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .source import Folder, Source, check, locate, read_rows

SOURCE = Source(
    "uci/Default.csv",
    "https://raw.githubusercontent.com/intro-stat-learning/ISLP/main/ISLP/data/Default.csv",
    "Default (10,000 credit card customers)",
)
NAMES = ["default", "student", "balance", "income"]


@dataclass(frozen=True)
class Default:
    """Customers of the data set "Default"."""

    # defaulted, student: shape (customers,)
    defaulted: np.ndarray
    student: np.ndarray
    # balance, income: debt on the card after the monthly payment, and yearly income, in dollars
    balance: np.ndarray
    income: np.ndarray


def default(data: Folder = None) -> Default:
    """Return the customers of the ISLR data set "Default"."""
    path = locate(SOURCE, data)
    rows = [[part.strip('"') for part in row] for row in read_rows(path)]
    check(len(rows) > 1 and rows[0][-4:] == NAMES, path, f"a table with the columns {NAMES}", str(rows[:1])[:80])
    columns = np.array([row[-4:] for row in rows[1:]], dtype=object)
    answers = {"Yes": True, "No": False}
    good = all(value in answers for value in columns[:, :2].ravel())
    check(good, path, "Yes or No as default and student", "another answer")
    defaulted, student = (np.array([answers[value] for value in column]) for column in columns[:, :2].T)
    balance, income = columns[:, 2:].astype(np.float64).T
    return Default(defaulted, student, balance, income)
