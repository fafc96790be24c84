"""Programs whose equalities define variables, as users write them: one function a kind of structure."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import qp


def program(P, q, rows, sides, lb=-np.inf, ub=np.inf, extra=None):
    """Return the program with equalities `rows` x = `sides`, and `extra` = (A, l, u) if it is given."""
    A, l, u = rows, sides, sides
    if extra is not None:
        A, l, u = sp.vstack([rows, extra[0]]), np.append(sides, extra[1]), np.append(sides, extra[2])
    A = sp.csc_array(A)
    A.eliminate_zeros()
    return qp.QuadraticProgram(P, q, A, l, u, lb, ub)


def dynamics(rng, N=6, nx=3, nu=2, E=None, x_max=3.0, given="sides"):
    """Return states E x_{k+1} = A x_k + B u_k from x_0 in the sides, in rows of its own, or in its bounds."""
    A = rng.normal(size=(nx, nx))
    A, B = A / np.abs(np.linalg.eigvals(A)).max(), rng.normal(size=(nx, nu))
    E = np.eye(nx) if E is None else E
    x_0, n, first = rng.normal(size=nx), N * (nx + nu), 0 if given == "sides" else nx
    rows = sp.hstack([
        sp.kron(sp.eye_array(N, k=-1), A) - sp.kron(sp.eye_array(N), E), sp.kron(sp.eye_array(N), B)
    ]).tolil()  # fmt: skip
    sides, lb = np.zeros(N * nx), np.append(np.full(N * nx, -x_max), np.full(N * nu, -0.4))
    ub = -lb
    if given == "sides":
        sides[:nx] = -A @ x_0
    else:
        head = sp.coo_array((A.ravel(), (np.repeat(np.arange(nx), nx), np.tile(np.arange(nx), nx))), (N * nx, nx))
        rows = sp.hstack([head, rows])
        lb, ub = np.append(np.full(nx, -9.0), lb), np.append(np.full(nx, 9.0), ub)
        if given == "rows":
            rows = sp.vstack([sp.eye_array(nx, nx + n), rows])
            sides = np.append(x_0, sides)
        else:
            lb[:nx] = ub[:nx] = x_0
    P = sp.diags_array(np.append(rng.uniform(0.5, 2.0, first + N * nx), np.full(N * nu, 0.1)))
    return program(P, np.zeros(n + first), rows, sides, lb, ub)


def mixed_up(rng, N=6, **kind):
    """Return dynamics with rows and variables in any order."""
    given = dynamics(rng, N, **kind)
    i, j = rng.permutation(given.m), rng.permutation(given.n)
    P, A = sp.csc_array(given.P)[j][:, j], given.A[i][:, j]
    return qp.QuadraticProgram(P, given.q[j], A, given.l[i], given.u[i], given.lb[j], given.ub[j])


def implicit(rng):
    """Return dynamics in descriptor form, E x_{k+1} = A x_k + B u_k with a full E."""
    return dynamics(rng, E=np.eye(3) + 0.3 * rng.normal(size=(3, 3)))


def descriptor(rng, N=6, nx=3, nw=2, nu=1):
    """Return x_{k+1} = A x_k + B w_k with 0 = C x_k + D w_k + F u_k for algebraic variables w, and a full D."""
    A, B, C, F = (rng.normal(size=size) for size in ((nx, nx), (nx, nw), (nw, nx), (nw, nu)))
    A, D, here = (
        0.8 * A / np.abs(np.linalg.eigvals(A)).max(),
        np.eye(nw) + 0.3 * rng.normal(size=(nw, nw)),
        sp.eye_array(N),
    )
    before, none = sp.eye_array(N, k=-1), sp.csc_array((N * nx, N * nu))
    states = sp.hstack([sp.kron(before, A) - sp.kron(here, np.eye(nx)), sp.kron(here, B), none])
    algebraic = sp.hstack([sp.kron(before, C), sp.kron(here, D), sp.kron(here, F)])
    x_0 = 0.2 * rng.normal(size=nx)
    sides = np.zeros(N * (nx + nw))
    sides[:nx], sides[N * nx : N * nx + nw] = -A @ x_0, -C @ x_0
    P = sp.diags_array(np.repeat([1.0, 0.0, 0.1], [N * nx, N * nw, N * nu]))
    ub = np.repeat([9.0, np.inf, 0.4], [N * nx, N * nw, N * nu])
    return program(P, np.zeros(ub.size), sp.vstack([states, algebraic]), sides, -ub, ub)


def mixed_implicit(rng):
    """Return dynamics in descriptor form with rows and variables in any order."""
    return mixed_up(rng, E=np.eye(3) + 0.3 * rng.normal(size=(3, 3)))


def unstable(rng, N=30):
    """Return dynamics that grow by 3 a step: a product of all matrices has no digits."""
    given = dynamics(rng, N, nx=2, nu=2, E=np.eye(2) / 3.0, x_max=np.inf)
    return given.with_data(lb=20.0 * given.lb, ub=20.0 * given.ub)


def soft(rng, N=8, weight=1.0):
    """Return dynamics with slack variables in the limits of the states."""
    given = dynamics(rng, N, x_max=np.inf)
    N, n = 3 * N, given.n
    limits = sp.hstack([sp.eye_array(N, n), -sp.eye_array(N)])
    other = sp.hstack([sp.eye_array(N, n), sp.eye_array(N)])
    A = sp.vstack([sp.hstack([given.A, sp.csc_array((given.m, N))]), limits, other])
    l, u = np.r_[given.l, np.full(N, -np.inf), np.full(N, -0.3)], np.r_[given.u, np.full(N, 0.3), np.full(N, np.inf)]
    P = sp.block_diag([given.P, weight * sp.eye_array(N)])
    lb, ub = np.append(given.lb, np.zeros(N)), np.append(given.ub, np.full(N, np.inf))
    return qp.QuadraticProgram(P, np.append(given.q, np.full(N, 2.0)), A, l, u, lb, ub)


def residual(rng, m=30, n=4):
    """Return least squares with the residual r = F x - g as variables, as cvxpy writes it."""
    F, g = rng.normal(size=(m, n)), rng.normal(size=m)
    rows = sp.hstack([F, -sp.eye_array(m)])
    ub = np.append(np.full(n, 0.1), np.full(m, np.inf))
    return program(sp.diags_array(np.append(np.zeros(n), np.ones(m))), np.zeros(n + m), rows, g, -ub, ub)


def factors(rng, n=12, k=3):
    """Return a portfolio with its exposures y = F'x to factors as variables."""
    F = rng.normal(size=(n, k))
    rows = sp.vstack([sp.hstack([F.T, -sp.eye_array(k)]), sp.coo_array(np.append(np.ones(n), np.zeros(k))[None])])
    P = sp.diags_array(np.append(rng.uniform(0.1, 1.0, n), np.ones(k)))
    lb, ub = np.append(np.zeros(n), np.full(k, -np.inf)), np.append(np.full(n, 0.4), np.full(k, np.inf))
    return program(P, np.append(-rng.random(n), np.zeros(k)), rows, np.append(np.zeros(k), 1.0), lb, ub)


def flow(rng, nodes=7):
    """Return a flow of least cost in a network; the balances of all nodes together are dependent."""
    arcs = [(i, j) for i in range(nodes) for j in range(nodes) if i < j and (j == i + 1 or rng.random() < 0.5)]
    rows = sp.lil_array((nodes, len(arcs)))
    for k, (i, j) in enumerate(arcs):
        rows[i, k], rows[j, k] = 1.0, -1.0
    sides = np.zeros(nodes)
    sides[0], sides[-1] = 1.0, -1.0
    P = sp.diags_array(rng.uniform(0.5, 2.0, len(arcs)))
    return program(P, rng.random(len(arcs)), rows, sides, 0.0, 0.9)


def inventory(rng, T=15):
    """Return a plan of stock s_t = s_{t-1} + p_t - d_t with production p_t."""
    rows = sp.hstack([sp.eye_array(T) - sp.eye_array(T, k=-1), -sp.eye_array(T)])
    P = sp.diags_array(np.append(np.full(T, 0.02), rng.uniform(0.5, 1.0, T)))
    return program(
        P, np.append(np.full(T, 0.1), np.zeros(T)), rows, -rng.uniform(0.5, 1.5, T), 0.0, np.repeat([9.0, 1.6], T)
    )


def differences(rng, T=20):
    """Return smoothing with second differences d = D x as variables, and a limit on them."""
    D = sp.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(T - 2, T))
    rows = sp.hstack([D, -sp.eye_array(T - 2)])
    P = sp.diags_array(np.append(np.ones(T), np.full(T - 2, 5.0)))
    lb = np.append(np.full(T, -np.inf), np.full(T - 2, -0.2))
    return program(P, np.append(-rng.normal(size=T).cumsum(), np.zeros(T - 2)), rows, np.zeros(T - 2), lb, -lb)


def tree(rng, depth=4):
    """Return wealth along a tree of scenarios: each node's from its parent's, and the trade there."""
    count = 2**depth - 1
    rows, sides = sp.lil_array((count, 2 * count)), np.zeros(count)
    for i in range(count):
        rows[i, i], rows[i, count + i] = 1.0, -rng.uniform(0.8, 1.2)
        if i:
            rows[i, (i - 1) // 2] = -rng.uniform(0.9, 1.1)
        else:
            sides[0] = 1.0
    P = sp.diags_array(np.append(np.zeros(count), np.ones(count)))
    return program(P, np.append(-np.ones(count) / count, np.zeros(count)), rows, sides, -2.0, 2.0)


def terminal(rng):
    """Return dynamics that must end at the origin: more equalities than the states can define."""
    given = dynamics(rng, N=8, nx=2, nu=1)
    at = np.arange(2 * 7, 2 * 8)
    last = sp.coo_array((np.ones(2), (np.arange(2), at)), (2, given.n))
    return qp.QuadraticProgram(
        given.P, given.q, sp.vstack([given.A, last]), np.append(0.1 * given.l, np.zeros(2)),
        np.append(0.1 * given.u, np.zeros(2)), given.lb, given.ub,
    )  # fmt: skip


KINDS = {
    "dynamics": dynamics,
    "x_0 in rows": lambda rng: dynamics(rng, given="rows"),
    "x_0 fixed": lambda rng: dynamics(rng, given="bounds"),
    "linear soft": lambda rng: soft(rng, weight=0.0),
    **{
        each.__name__: each
        for each in (
            mixed_up, implicit, mixed_implicit, descriptor, unstable, soft, residual, factors, flow, inventory,
            differences, tree, terminal,
        )
    },
}  # fmt: skip
