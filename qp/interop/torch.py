"""A quadratic program as a function of PyTorch, through which gradients flow.

>>> import torch
>>> from qp.interop.torch import solve
>>> q = torch.tensor([-0.5, -2.0], dtype=torch.float64, requires_grad=True)
>>> x, y, z_bounds = solve(torch.eye(2, dtype=torch.float64), q, lb=0.0, ub=1.0)  # the nearest point of the box
>>> x.sum().backward()
>>> print(x.detach().numpy().round(6), q.grad.numpy().round(6) + 0.0)
[0.5 1. ] [-1.  0.]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .layer import AXES, answer_to, gradients_at


class _Answer(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, smoothing: float, settings: dict[str, Any], *values: Any) -> Any:
        data = dict(zip(AXES, map(_array, values)))
        point, like = answer_to(data, settings), values[1]
        ctx.data, ctx.point, ctx.smoothing = data, point, smoothing
        return tuple(torch.as_tensor(part, dtype=like.dtype, device=like.device) for part in point)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        like = cotangents[0]
        given = tuple(np.asarray(_array(part)) for part in cotangents)
        found = gradients_at(ctx.data, ctx.point, given, ctx.smoothing)
        wanted = ctx.needs_input_grad[2:]
        return None, None, *(
            torch.as_tensor(part, dtype=like.dtype, device=like.device) if part is not None and needed else None
            for part, needed in zip(found, wanted)
        )  # fmt: skip


def solve(
    P: Any, q: Any, A: Any = None, l: Any = None, u: Any = None, lb: Any = None, ub: Any = None, *,
    smoothing: float = 0.0, **settings: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Solve one quadratic program, or a batch of them, as a function of its data.

    Parameters
    ----------
    P, q, A, l, u, lb, ub : tensors, or numbers that are constant, or None
        As in `qp.solve`; with a leading axis for a batch, as in `qp.solve_many`.  Dense; q a tensor.
    smoothing : float, default 0
        When above 0, gradients are those of the point on the central path at that mu: see `qp.Solution.vjp`.
    tol, max_iter, ...
        The settings of `qp.solve`, or of `qp.solve_many`.

    Returns
    -------
    x, y, z_bounds : tensors
        Of the type of q, and where it is.

    Raises
    ------
    ProgramError
        The data cannot be accepted, or a program has no optimal answer; the message names it.
    """
    found: tuple[Any, Any, Any] = _Answer.apply(smoothing, settings, P, q, A, l, u, lb, ub)
    return found


def _array(value: Any) -> np.ndarray | None:
    """A tensor or a number as an array of its own."""
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    return np.array(value, np.float64)
