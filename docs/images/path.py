"""Draws docs/images/path.png, the picture of the README: `python docs/images/path.py`."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from docs.teaching import barrier, pictures
from socp import ConeProgram, NonNeg, SecondOrder

PICTURE = Path(__file__).resolve().with_suffix(".png")

# Minimize over the unit disk, cut by two lines.
PROGRAM = ConeProgram(
    c=[0.94, -0.3],
    G=[[0, 0], [-1, 0], [0, -1], [0.3, 1], [-2.5, -1]],
    h=[1, 0, 0, 0.8, 1.88],
    cones=[SecondOrder(3), NonNeg(2)],
)


def picture() -> pictures.Picture:
    """Draw the central path and, from its point for mu = 1, the iterates that follow it."""
    path = barrier.central_path(PROGRAM, np.geomspace(100.0, 1e-6, 161))
    return pictures.plane(PROGRAM, (-1.15, 1.15, -1.15, 1.15), path, pictures.points(barrier.follow(PROGRAM, 1.0)))


if __name__ == "__main__":
    PICTURE.write_bytes(picture()._repr_png_())
    print("written:", PICTURE)
