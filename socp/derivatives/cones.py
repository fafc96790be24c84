"""Derivatives of the answers to a cone program or a batch; A and G are stacked to one matrix of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem.program import ConeProgram
from ..problem.solution import Gradient, Tangent
from .batch import Linearizations, refuse_failed, side_by_side
from .linearization import Linearization, RowForm


class ConeDerivatives:
    """Derivatives of the answer to a cone program, or of the answers to a batch.

    Parameters
    ----------
    at : Linearization or Linearizations
        Linearized conditions, with the rows of A and then G.
    program : ConeProgram, or ConePrograms
    """

    def __init__(self, at: Linearization | Linearizations, program: Any) -> None:
        self.at, self.program, self.p = at, program, program.A.shape[-2]

    def gradient(self, dx: Any = None, dy: Any = None, dz: Any = None, ds: Any = None) -> Gradient:
        """Return the gradient in all data of a function whose gradients in x, y, z and s are dx, dy, dz and ds."""
        at, program, p, m = self.at, self.program, self.p, self.program.G.shape[-2]
        right = np.concatenate([at.vector("dy", dy, p), at.vector("dz", dz, m)], axis=-1)
        first, slack = at.vector("dx", dx, at.x.shape[-1]), np.zeros(())
        if ds is not None:
            slack = np.where(program.h == np.inf, 0.0, at.vector("ds", ds, m))
            first -= times(program.G, slack, transposed=True)
        u, w = at.solve(first, right)
        x, y, z, r = at.x, at.w[..., :p], at.w[..., p:], w[..., p:] + slack
        return Gradient(
            at.symmetric("P", program.P, u, x), at.total("c", -u),
            at.products("A", program.A, y, u, w[..., :p], x), at.total("b", w[..., :p]),
            at.products("G", program.G, z, u, r, x), at.total("h", r), at.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dc: Any = None, dA: Any = None, db: Any = None, dG: Any = None, dh: Any = None
    ) -> Tangent:
        """Return the derivative of the answer along a change of the data; programs may share changes in a batch."""
        at, program, p, m = self.at, self.program, self.p, self.program.G.shape[-2]
        first = -at.vector("dc", dc, at.x.shape[-1])
        rows = np.concatenate([at.vector("db", db, p), at.vector("dh", dh, m)], axis=-1)
        add_matrices(at, dP, (("dA", dA, slice(0, p)), ("dG", dG, slice(p, p + m))), first, rows)
        always = program.h == np.inf
        rows[..., p:] = np.where(always, 0.0, rows[..., p:])
        u, w = at.solve(first, rows)
        ds = np.where(always, 0.0, rows[..., p:] - times(program.G, u))
        return Tangent(u, w[..., :p], w[..., p:], ds, at.differentiable)


def add_matrices(
    at: Any, dP: Any, changes: tuple[tuple[str, Any, slice], ...], first: np.ndarray, rows: np.ndarray
) -> None:
    """Subtract dP x + dB'w from `first`, and dB x from `rows`, for changes of P and of blocks of rows."""
    if dP is not None or any(change is not None for _, change, _ in changes):
        at.find()
    if dP is not None:
        P = at.matrix("dP", dP, first.shape[-1])
        first -= 0.5 * (times(P, at.x) + times(P, at.x, transposed=True))
    for name, change, block in changes:
        if change is not None:
            B = at.matrix(name, change, block.stop - block.start)
            first -= times(B, at.w[..., block], transposed=True)
            rows[..., block] -= times(B, at.x)


def times(matrix: Any, vectors: np.ndarray, transposed: bool = False) -> np.ndarray:
    """Return a matrix times a vector; in a batch, each program's matrix, or the shared one, times its vector."""
    if matrix.ndim == 2:
        return np.asarray((matrix.T if transposed else matrix) @ vectors)
    if len(matrix) == 1:
        return np.asarray(vectors @ (matrix[0] if transposed else matrix[0].T))
    return np.asarray(((np.swapaxes(matrix, 1, 2) if transposed else matrix) @ vectors[:, :, None])[:, :, 0])


def linearize(program: ConeProgram, answer: Any, smoothing: float) -> ConeDerivatives:
    """Linearize the optimality conditions of a cone program at its answer; return the derivatives of the answer."""
    blocks = (program.A, program.G) if program.p else (program.G,)
    limits = np.concatenate([program.b, np.full(program.m, -np.inf), program.b, program.h])
    form = RowForm(program.hessian, program.c, blocks, limits, program.cone_layout, program.p)
    at = Linearization(form, (answer.x, answer.y, answer.z), (answer.s,), smoothing)
    return ConeDerivatives(at, program)


def linearize_many(programs: Any, many: Any, smoothing: float) -> ConeDerivatives:
    """Linearize the optimality conditions of a batch at its answers; return the derivatives of the answers."""
    refuse_failed(many)
    b, h = programs.b, programs.h
    limits = side_by_side(b, np.full((1, h.shape[1]), -np.inf), b, h)
    layout = programs.program(0).cone_layout
    form = RowForm(programs.P, programs.c, (programs.A, programs.G), limits, layout, b.shape[1])
    at = Linearizations(form, (many.x, many.y, many.z), (many.s,), smoothing, programs.has_axis)
    return ConeDerivatives(at, programs)
