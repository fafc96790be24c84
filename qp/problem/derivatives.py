"""Derivatives of answers to quadratic programs, one or a batch, whose rows and bounds are rows between two sides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from socp.derivatives.batch import Linearizations, refuse_failed, side_by_side
from socp.derivatives.cones import add_matrices
from socp.derivatives.linearization import Linearization, RowForm
from socp.problem.program import layout_of

from .program import QuadraticProgram


class Gradient(NamedTuple):
    """Gradient of a scalar function of the answer with respect to all data of a quadratic program.

    Attributes
    ----------
    P, A : arrays or CSC, or None
        Sparse on the pattern of sparse data; the gradient with respect to P is symmetric.
    q, l, u, lb, ub : arrays
        Zero for infinite sides; each side of an equality has half of the gradient with respect to their common value.
    differentiable : bool, or an array of a batch
        Whether the answer has a derivative; else this is the element of least norm.
    """

    P: Any
    q: np.ndarray
    A: Any
    l: np.ndarray
    u: np.ndarray
    lb: np.ndarray
    ub: np.ndarray
    differentiable: bool | np.ndarray


class Tangent(NamedTuple):
    """Derivative of the answer to a quadratic program along a change of the data.

    Attributes
    ----------
    x, y, z_bounds : arrays
    differentiable : bool, or an array of a batch
        Whether the answer has a derivative; else this is the element of least norm.
    """

    x: np.ndarray
    y: np.ndarray
    z_bounds: np.ndarray
    differentiable: bool | np.ndarray


class QuadraticDerivatives:
    """Derivatives of the answer to a quadratic program, or of the answers of a batch.

    Parameters
    ----------
    at : Linearization or Linearizations
        Linearized optimality conditions: first the rows of A, then one row for each variable.
    program : QuadraticProgram, or `qp.batch.Programs`
    """

    def __init__(self, at: Linearization | Linearizations, program: Any) -> None:
        self.at, self.program, self.m = at, program, program.A.shape[-2]

    def gradient(self, dx: Any = None, dy: Any = None, dz_bounds: Any = None) -> Gradient:
        """Return the gradient with respect to all data of a scalar with gradients dx, dy, dz_bounds at the answer."""
        at, program, m, n = self.at, self.program, self.m, self.at.x.shape[-1]
        right = np.concatenate([at.vector("dy", dy, m), at.vector("dz_bounds", dz_bounds, n)], axis=-1)
        u, w = at.solve(at.vector("dx", dx, n), right)
        upper, x = at.share * w, at.x
        lower = w - upper
        return Gradient(
            at.symmetric("P", program.P, u, x), at.total("q", -u),
            at.products("A", program.A, at.w[..., :m], u, w[..., :m], x), at.total("l", lower[..., :m]),
            at.total("u", upper[..., :m]), at.total("lb", lower[..., m:]), at.total("ub", upper[..., m:]),
            at.differentiable,
        )  # fmt: skip

    def tangent(
        self, dP: Any = None, dq: Any = None, dA: Any = None, dl: Any = None, du: Any = None, dlb: Any = None,
        dub: Any = None,
    ) -> Tangent:  # fmt: skip
        """Return the derivative of the answer along a change of the data; arrays without a batch axis are shared."""
        at, m, n = self.at, self.m, self.at.x.shape[-1]
        first = -at.vector("dq", dq, n)
        upper = np.concatenate([at.vector("du", du, m), at.vector("dub", dub, n)], axis=-1)
        lower = np.concatenate([at.vector("dl", dl, m), at.vector("dlb", dlb, n)], axis=-1)
        rows = np.zeros_like(upper)
        add_matrices(at, dP, (("dA", dA, slice(0, m)),), first, rows)
        u, w = at.solve(first, upper + rows, lower + rows)
        return Tangent(u, w[..., :m], w[..., m:], at.differentiable)


def linearize(program: QuadraticProgram, answer: Any, smoothing: float) -> QuadraticDerivatives:
    """Linearize the optimality conditions of a quadratic program at its answer."""
    program = program.plain()
    limits = np.concatenate([program.l, program.lb, program.u, program.ub])
    form = RowForm(program.hessian, program.q, (program.A,), limits, layout_of(()), 0)
    at = Linearization(form, (answer.x, answer.y, answer.z_bounds), (), smoothing)
    return QuadraticDerivatives(at, program)


def linearize_many(programs: Any, many: Any, smoothing: float) -> QuadraticDerivatives:
    """Linearize the optimality conditions of the programs of a batch at their answers."""
    refuse_failed(many)
    limits = side_by_side(programs.l, programs.lb, programs.u, programs.ub)
    form = RowForm(programs.P, programs.q, (programs.A,), limits, layout_of(()), 0)
    at = Linearizations(form, (many.x, many.y, many.z_bounds), (), smoothing, programs.has_axis)
    return QuadraticDerivatives(at, programs)
