"""Files of problem sets: the text of two programs, and two kinds of .mat file."""

import numpy as np
import scipy.io

QPS = """NAME TINY
ROWS
 N COST
 G R1
COLUMNS
 X COST 1.0 R1 1.0
RHS
 RHS R1 2.0
QUADOBJ
 X X 4.0
ENDATA
"""
CBF = """VER
1

OBJSENSE
MIN

VAR
2 1
F 2

CON
3 1
Q 3

OBJACOORD
1
0 1.0

ACOORD
2
1 0 1.0
2 1 1.0

BCOORD
1
0 1.0
"""


def write_rows(path):
    """Write a Maros-Meszaros file: min x'x with x1 + x2 = 1 and 0 <= x <= 5, the bounds as rows of the identity."""
    A = np.vstack([[1.0, 1.0], np.eye(2)])
    fields = {"P": 2 * np.eye(2), "q": np.zeros((2, 1)), "A": A, "r": 0.0}
    scipy.io.savemat(path, {**fields, "l": np.array([[1.0], [0], [0]]), "u": np.array([[1.0], [5], [5]])})


def write_struct(path):
    """Write a netlib file of an infeasible program: x1 + x2 = -1, x >= 0."""
    bounds = {"lo": np.zeros((2, 1)), "hi": np.full((2, 1), 1e20), "c": np.ones((2, 1))}
    scipy.io.savemat(path, {"Problem": {"A": np.ones((1, 2)), "b": np.array([[-1.0]]), "aux": bounds}})
