"""Model predictive controllers in closed loops, written with their states among the variables, stage by stage.

    minimize 1/2 sum of x_k'Q x_k + u_{k-1}'R u_{k-1}   subject to   A x_k + B u_k - x_{k+1} = 0,  bounds on all

The variables are u_0, x_1, u_1, x_2, ...; the first state is in the sides of the first rows, and changes in the loop.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import qp

from .repeated import LOOP

SIZES = {4: 2, 8: 3, 12: 4}
"""Numbers of states, and of inputs with each."""
FORCE, ROOM = 0.15, 1.5  # bound on the inputs; on the states, relative to the first state


class Stages(NamedTuple):
    """The parts of a controller that every stage shares."""

    N: int
    A: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    x_min: np.ndarray
    x_max: np.ndarray
    u_min: np.ndarray
    u_max: np.ndarray


class Controller(qp.QuadraticProgram):
    """A quadratic program that knows its stages, for solvers that ask for them."""

    stages: Stages


def controller(size: int, seed: int = 0, nx: int = 8) -> Controller:
    """Return a controller over `size` steps: marginally stable, random dynamics, tight inputs."""
    rng, N, nu = np.random.default_rng(seed), size, SIZES[nx]
    A = rng.normal(size=(nx, nx))
    A /= np.abs(np.linalg.eigvals(A)).max()
    B, Q, R = rng.normal(size=(nx, nu)), np.diag(rng.uniform(0.5, 2.0, nx)), 0.1 * np.eye(nu)
    first = 0.3 * rng.normal(size=nx)
    most = ROOM * max(np.abs(np.linalg.matrix_power(A, k) @ first).max() for k in range(N + 1)) + N * FORCE
    stage = np.hstack([B, -np.eye(nx)])
    before = np.hstack([np.zeros((nx, nu)), A])
    rows = sp.kron(sp.eye_array(N), stage) + sp.kron(sp.eye_array(N, k=-1), before)
    sides = np.zeros(N * nx)
    sides[:nx] = -A @ first
    P = sp.kron(sp.eye_array(N), sp.block_diag([R, Q]))
    ub = np.tile(np.repeat([FORCE, most], [nu, nx]), N)
    made = Controller(P, np.zeros(N * (nx + nu)), rows, sides, sides, -ub, ub)
    of_x, of_u = np.full(nx, most), np.full(nu, FORCE)
    made.stages = Stages(N, A, B, Q, R, -of_x, of_x, -of_u, of_u)
    return made


CLASSES = {f"states_{nx}_{LOOP}": partial(controller, nx=nx) for nx in SIZES}
