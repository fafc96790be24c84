"""A quadratic program as a differentiable function of PyTorch.

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

from .layer import AXES, answer_to, as_function, gradients_at


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


@as_function("tensors", "with a leading axis for a batch, as in `qp.solve_many`; q a tensor")
def solve(data: dict[str, Any], smoothing: float, settings: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return (x, y, z_bounds) of the program or the batch."""
    found: tuple[Any, Any, Any] = _Answer.apply(smoothing, settings, *data.values())
    return found


def _array(value: Any) -> np.ndarray | None:
    """Return a copy of a tensor or a number as a float64 array; None for None."""
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    return np.array(value, np.float64)
