"""Quadratic programs as functions of PyTorch and JAX: gradients compared with differences, alone and in batches."""

import numpy as np
import pytest

import qp


def drawn(seed, count=None):
    """Return P, q, A, l, u, lb, ub with an equality; q has a leading axis if `count` is given."""
    rng = np.random.default_rng((47, seed))
    n, m = 4, 2
    F, A, x = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=n)
    width = np.array([0.0, 0.3])
    q = 2.0 * rng.normal(size=n if count is None else (count, n))
    return [F @ F.T + 0.5 * np.eye(n), q, A, A @ x - width, A @ x + width, x - 0.5, x + 0.5]


@pytest.mark.parametrize("count", [None, 3])
def test_gradcheck_of_torch(count):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from qp.interop.torch import solve

    values = [torch.tensor(value, requires_grad=True) for value in drawn(0, count)]

    def answer(*values):
        P, q, A, sides, width, lb, ub = values
        return solve(P, q, A, sides, sides + width, lb, ub, tol=1e-12)

    values[4] = torch.tensor([0.0, 0.6], dtype=torch.float64)  # an equality stays an equality
    assert torch.autograd.gradcheck(answer, values, eps=1e-4, atol=1e-5, rtol=1e-4)


def test_types_and_constants_of_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from qp.interop.torch import solve

    q = torch.tensor([-3.0, 0.5], requires_grad=True)  # single precision
    x, y, z_bounds = solve(torch.eye(2), q, lb=0.0, ub=1.0, smoothing=1e-3)
    assert x.dtype == torch.float32 and y.shape == (0,)
    (x.sum() + z_bounds.sum()).backward()
    assert q.grad.dtype == torch.float32 and torch.isfinite(q.grad).all()
    with pytest.raises(qp.ProgramError, match="a layer needs optimal answers, but the status of the program is"):
        solve(torch.zeros((1, 1)), torch.tensor([1.0]))


@pytest.mark.parametrize("batch", [False, True])
def test_gradients_of_jax(batch):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from jax.test_util import check_grads

    from qp.interop.jax import solve

    jax.config.update("jax_enable_x64", True)
    P, q, A, l, u, lb, ub = drawn(1, 3 if batch else None)

    def answer(P, q, A, sides, lb, ub):
        return solve(P, q, A, sides, sides + (u - l), lb, ub, tol=1e-12)

    function = jax.vmap(answer, in_axes=(None, 0, None, None, None, None)) if batch else jax.jit(answer)
    check_grads(function, (P, q, A, l, lb, ub), order=1, modes=["rev"], eps=1e-4, atol=1e-5, rtol=1e-4)


def test_a_batch_of_jax_is_solved_at_once():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from qp.interop.jax import solve

    jax.config.update("jax_enable_x64", True)
    P, q, A, l, u, lb, ub = drawn(2, 5)
    x, _, z_bounds = jax.jit(jax.vmap(lambda q: solve(P, q, A, l, u, lb, ub)))(q)
    many = qp.solve_many(P, q, A, l, u, lb, ub)
    np.testing.assert_allclose(x, many.x, atol=1e-7)
    np.testing.assert_allclose(z_bounds, many.z_bounds, atol=1e-6)
