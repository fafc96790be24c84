r"""The answer of a cone program to more digits than its objective needs.

A gap of eps in the objective leaves the variables uncertain by sqrt(eps) where it is flat.  Newton's method on the
optimality conditions, with s = h - G x and the projection onto the cone in place of complementarity,

    P x + c + A'y + G'z = 0,    A x - b = 0,    s - proj(s - z) = 0,

has no such limit.  The projection is differentiable where s + z is inside of the cone (strict complementarity): D is
its derivative at s - z.  A step solves

    [ P         A'  G' ] [dx]     [ P x + c + A'y + G'z ]
    [ A                ] [dy] = - [ A x - b             ]
    [ (I - D) G     -D ] [dz]     [ -(s - proj(s - z))  ]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import socp

STEPS = 5
REFINEMENTS = 5
REGULARIZATION = 1e-11  # of the system, which repeated samples make singular
MOST_ENTRIES = 2_000_000  # in the cones' blocks of D, beyond which the answer stays as it is


def sharpened(program: socp.ConeProgram, solution: socp.Solution) -> np.ndarray:
    """x of the solution after a few steps of Newton's method, as long as these lower the residual."""
    sizes = [cone.dim for cone in program.cones]
    entries = sum(size**2 for cone, size in zip(program.cones, sizes) if isinstance(cone, socp.SecondOrder))
    if not np.isfinite(solution.x).all() or entries > MOST_ENTRIES:
        return solution.x
    at = _Conditions(program)
    x, y, z = solution.x, solution.y, solution.z
    residual = at.residual(x, y, z)
    for _ in range(STEPS):
        step = at.step(x, z, residual)
        if step is None:
            break
        moved = x + step[: x.size], y + step[x.size : x.size + y.size], z + step[x.size + y.size :]
        left = at.residual(*moved)
        if not np.abs(left).max() < np.abs(residual).max():
            break
        (x, y, z), residual = moved, left
    return x


class _Conditions:
    """The optimality conditions of a program, their residual and Newton's step."""

    def __init__(self, program: socp.ConeProgram) -> None:
        self.program = program
        n = program.n
        P = sp.csc_array((n, n)) if program.P is None else program.P
        self.P = sp.csc_array(P.F @ P.F.T + np.diag(P.d)) if isinstance(P, socp.LowRank) else sp.csc_array(P)
        self.A, self.G = sp.csc_array(program.A), sp.csc_array(program.G)

    def residual(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        s = self.program.h - self.G @ x
        gradient = self.P @ x + self.program.c + self.A.T @ y + self.G.T @ z
        return np.concatenate([gradient, self.A @ x - self.program.b, self._projected(s - z) - s])

    def step(self, x: np.ndarray, z: np.ndarray, residual: np.ndarray) -> np.ndarray | None:
        D = self._derivative(self.program.h - self.G @ x - z)
        rest = sp.eye_array(z.size, format="csc") - D
        system = sp.csc_array(
            sp.block_array([[self.P, self.A.T, self.G.T], [self.A, None, None], [rest @ self.G, None, -D]])
        )
        shift = REGULARIZATION * max(float(np.abs(system.data).max(initial=0.0)), 1.0)
        signs = np.repeat([1.0, -1.0], [x.size, residual.size - x.size])
        try:
            factors = splu(sp.csc_array(system + sp.diags_array(shift * signs)))
        except RuntimeError:  # singular for all that
            return None
        step = np.zeros(residual.size)
        for _ in range(REFINEMENTS):
            step += factors.solve(-residual - system @ step)
        return step if np.isfinite(step).all() else None

    def _blocks(self) -> Iterator[tuple[slice, bool]]:
        """The place of every cone, and whether it is of second order."""
        first = 0
        for cone in self.program.cones:
            yield slice(first, first + cone.dim), isinstance(cone, socp.SecondOrder)
            first += cone.dim

    def _projected(self, u: np.ndarray) -> np.ndarray:
        """The nearest point of the cone."""
        found = np.maximum(u, 0.0)
        for at, is_cone in self._blocks():
            if is_cone and at.stop > at.start:
                t, v = u[at][0], u[at][1:]
                length = float(np.linalg.norm(v))
                if length <= t:
                    found[at] = u[at]
                elif length <= -t:
                    found[at] = 0.0
                else:
                    found[at] = 0.5 * (t + length) * np.concatenate([[1.0], v / length])
        return found

    def _derivative(self, u: np.ndarray) -> sp.csc_array:
        """D, a block for each cone."""
        parts = []
        for at, is_cone in self._blocks():
            if not is_cone or at.stop == at.start:
                parts.append(sp.diags_array((u[at] > 0.0).astype(np.float64)))
                continue
            t, v = u[at][0], u[at][1:]
            length = float(np.linalg.norm(v))
            if length <= abs(t):
                parts.append(float(t > 0.0) * sp.eye_array(u[at].size))
            else:
                q = v / length
                inner = (1.0 + t / length) * np.eye(q.size) - t / length * np.outer(q, q)
                parts.append(sp.coo_array(0.5 * np.block([[np.ones((1, 1)), q[None, :]], [q[:, None], inner]])))
        return sp.csc_array(sp.block_diag(parts, format="csc"))
