"""A quadratic program as a differentiable function of JAX, also under `jit` and `vmap`.

>>> import jax
>>> jax.config.update("jax_enable_x64", True)
>>> import jax.numpy as jnp
>>> from qp.interop.jax import solve
>>> nearest = lambda q: solve(jnp.eye(2), q, lb=jnp.zeros(2), ub=jnp.ones(2))[0].sum()  # a point of the box
>>> print(jax.grad(nearest)(jnp.array([-0.5, -2.0])).round(6) + 0.0)
[-1.  0.]
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .layer import AXES, answer_to, as_function, gradients_at


@as_function("arrays", "of a batch by `jax.vmap`, which solves it at once; JAX may show errors as its own")
def solve(given: dict[str, Any], smoothing: float, settings: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return (x, y, z_bounds) of the program."""
    q = jnp.asarray(given["q"], dtype=float)
    m = 0 if given["A"] is None else jnp.shape(given["A"])[0]
    sizes = {"P": (q.size, q.size), "A": (m, q.size), "l": (m,), "u": (m,)}
    data = tuple(
        None if value is None else jnp.broadcast_to(jnp.asarray(value, dtype=q.dtype), sizes.get(name, (q.size,)))
        for name, value in given.items()
    )
    found: tuple[Any, Any, Any] = _answer((float(smoothing), tuple(settings.items())), data)
    return found


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _answer(options: tuple[float, Any], data: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    q, m = data[1], 0 if data[2] is None else data[2].shape[0]
    shapes = tuple(jax.ShapeDtypeStruct((size,), q.dtype) for size in (q.size, m, q.size))
    return jax.pure_callback(functools.partial(_solve, options), shapes, data, vmap_method="broadcast_all")  # type: ignore[no-any-return]


def _forward(options: tuple[float, Any], data: tuple[Any, ...]) -> Any:
    point = _answer(options, data)
    return point, (data, point)


def _backward(options: tuple[float, Any], kept: Any, cotangents: Any) -> Any:
    data, point = kept
    shapes = tuple(None if value is None else jax.ShapeDtypeStruct(value.shape, value.dtype) for value in data)
    call = functools.partial(_differentiate, options)
    return (jax.pure_callback(call, shapes, data, point, cotangents, vmap_method="broadcast_all"),)


_answer.defvjp(_forward, _backward)


def _named(values: tuple[Any, ...]) -> dict[str, np.ndarray | None]:
    """Return the arguments by name as float64 arrays; several leading axes are merged into one."""
    flat: dict[str, np.ndarray | None] = {}
    for (name, axes), value in zip(AXES.items(), values):
        array = None if value is None else np.asarray(value, np.float64)
        if array is not None and array.ndim > axes:
            array = array.reshape(-1, *array.shape[array.ndim - axes :])
        flat[name] = array
    return flat


def _vectors(values: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    arrays = [np.asarray(value, np.float64) for value in values]
    return tuple(array if array.ndim == 1 else array.reshape(-1, array.shape[-1]) for array in arrays)


def _solve(options: tuple[float, Any], data: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    q = np.asarray(data[1])
    found = answer_to(_named(data), dict(options[1]))
    return tuple(part.reshape(*q.shape[:-1], part.shape[-1]).astype(q.dtype) for part in found)


def _differentiate(
    options: tuple[float, Any], data: tuple[Any, ...], point: tuple[Any, ...], cotangents: tuple[Any, ...]
) -> tuple[Any, ...]:
    found = gradients_at(_named(data), _vectors(point), _vectors(cotangents), options[0])
    return tuple(
        None if part is None else part.reshape(np.shape(value)).astype(np.asarray(value).dtype)
        for part, value in zip(found, data)
    )
