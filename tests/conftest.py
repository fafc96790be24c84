"""What several files of tests are given."""

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, SecondOrder
from tests.support.programs import complementary


@pytest.fixture(scope="session")
def hard():
    """A program that takes some ten iterations."""
    rng = np.random.default_rng(11)
    cones = [NonNeg(15), SecondOrder(8), SecondOrder(4)]
    G, A, F = rng.normal(size=(27, 20)), rng.normal(size=(3, 20)), rng.normal(size=(20, 20))
    s, z = complementary(cones, rng)
    x, y = rng.normal(size=(20)), rng.normal(size=3)
    c = -(F @ F.T @ x + A.T @ y + G.T @ z)
    return ConeProgram(c, G, G @ x + s, cones, A, A @ x, F @ F.T, offset=2.0)
