"""Switches that leave out parts of the textbook method, to see the effect of each, and its equilibration."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..form.standard import PASSES
from ..problem.program import ConeProgram, NonNeg


@dataclass(frozen=True)
class Switches:
    """Switches of the parts of the method.

    All are on except equilibration, which the books do without.  A method with a part left out is another method, not a
    broken one: it either finds the solution, as a rule in more iterations, or ends as "numerical_error",
    "inaccurate" or "max_iterations".

    Attributes
    ----------
    predictor : bool
        The affine step is tried first, and its length says how much to center, sigma = (1 - alpha)^3.  Off: sigma is
        0.1 in every step, and there is no second-order term.
    corrector : bool
        The complementarity equation has the predictor's second-order term (W^-1 ds) o (W dz).  Off: it has none.
    centrality : bool
        Steps aim at the central path, s o z = sigma mu e.  Off: sigma = 0, every step aims at the boundary.
    scaling : bool
        The complementarity equation is linearized at the point lam = W z = W^-1 s of the Nesterov-Todd scaling.  Off:
        W = I, z o ds + s o dz = ..., the direction of Alizadeh, Haeberly and Overton.  On the orthant both directions
        are equal; on second-order cones the KKT matrix is no longer symmetric and can be singular.
    equilibration : bool
        Rows and columns of the data are scaled beforehand, see `Units`.  Off: the data are not scaled.
    refinement : bool
        The error that the regularization makes is removed by iterative refinement.  Off: each system is solved once.
    regularization : bool
        A little is added to the diagonal of the KKT matrix.  Off: redundant equations make it singular.
    embedding : bool
        The method follows the homogeneous embedding.  Off: tau = 1 and kappa = 0, the infeasible-start method on the
        optimality conditions themselves; where there is no solution the iterates grow without bound, and may or may
        not pass the test of a certificate on their way.

    Examples
    --------
    >>> Switches(predictor=False).off
    ['predictor']
    """

    predictor: bool = True
    corrector: bool = True
    centrality: bool = True
    scaling: bool = True
    equilibration: bool = False
    refinement: bool = True
    regularization: bool = True
    embedding: bool = True

    @property
    def off(self) -> list[str]:
        """Names of the parts that are off, without the equilibration."""
        return [f.name for f in fields(self) if not getattr(self, f.name) and f.name != "equilibration"]


ALL_OF_THE_BOOKS = Switches()


class Units:
    """The program in other units, in which the rows and columns of its data have entries near one (Ruiz 2001).

        P := f D P D,   c := f D c,   A := E A D,   b := E b,   G := E G D,   h := E h        (E of A's and of G's rows)

    The caller's point is x = D x, s = s / E, (y, z) = E (y, z) / f, tau, kappa / f.  E is constant on each second-order
    cone, so that E s stays in the cone.
    """

    def __init__(self, program: ConeProgram) -> None:
        P, A, G = dense(program)
        n, p, m = program.n, program.p, program.m
        M = np.vstack([A, G])
        K = np.abs(np.block([[P, M.T], [M, np.zeros((p + m, p + m))]]))
        scale = np.ones(n + p + m)
        for _ in range(PASSES):
            size = K.max(axis=1, initial=0.0)
            start = n + p
            for cone in program.cones:
                rows = slice(start, start + cone.dim)
                if not isinstance(cone, NonNeg):
                    size[rows] = size[rows].max(initial=0.0)
                start += cone.dim
            step = 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))
            K *= np.outer(step, step)
            scale *= step
        self.D, self.E, self.F = np.split(scale, [n, n + p])  # scales of x, of A's rows and of G's rows
        cost = max(K[:n, :n].max(initial=0.0), np.abs(self.D * program.c).max(initial=0.0))
        self.factor = 1.0 / cost if cost > 0.0 else 1.0
        D, E, F, f = self.D, self.E, self.F, self.factor
        self.program = ConeProgram(
            f * D * program.c, F[:, None] * G * D, F * program.h, program.cones, E[:, None] * A * D, E * program.b,
            f * D[:, None] * P * D,
        )  # fmt: skip

    def of_the_caller(self, it: Any) -> Any:
        """Return an iterate in the caller's units."""
        f = self.factor
        return replace(
            it, x=self.D * it.x, y=self.E * it.y / f, z=self.F * it.z / f, s=it.s / self.F, kappa=it.kappa / f
        )


def dense(program: ConeProgram) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P, A and G as dense arrays."""
    P = np.zeros((program.n, program.n)) if program.P is None else program.P
    return P if isinstance(P, np.ndarray) else P.toarray(), program.A.toarray(), program.G.toarray()
