"""Generated programs: published classes at any size, the same bits for the same size and seed.

Every function takes a size and a seed and returns a program which is feasible by construction (the
last two are infeasible and unbounded by construction).  `CLASSES` names them all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

import qp
import socp
from models.programs.margins import dual_program, primal_program
from models.svm.kernels import Kernel

from ..answers.verify import Program


def lasso(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 ||D w - t||^2 + lambda ||w||_1, D of shape (2 size, size); residuals and |w| are variables."""
    rng = np.random.default_rng(seed)
    D, targets = _regression(rng, 2 * size, size)
    samples, features = D.shape
    weight = 0.1 * float(np.abs(D.T @ targets).max())
    #  x = (w, r, a):  D w - r = t,  -a <= w <= a
    one = sp.eye_array(features)
    A = sp.block_array([[D, -sp.eye_array(samples), None], [one, None, -one], [-one, None, -one]])
    squares = np.concatenate([np.zeros(features), np.ones(samples), np.zeros(features)])
    q = np.concatenate([np.zeros(features + samples), np.full(features, weight)])
    l, u = (np.append(targets, np.full(2 * features, end)) for end in (-np.inf, 0.0))
    return qp.QuadraticProgram(sp.diags_array(squares), q, A, l, u)


def huber(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min sum_i huber_M(d_i'w - t_i), huber_M(r) = min_{a + p - n = r} 1/2 a^2 + M (p + n), p, n >= 0; 5 % outliers."""
    rng = np.random.default_rng(seed)
    D, targets = _regression(rng, 4 * size, size)
    samples, features = D.shape
    outliers = rng.random(samples) < 0.05
    targets = targets + np.where(outliers, rng.uniform(-10, 10, samples), 0.0)
    #  x = (w, a, p, n):  D w - a - p + n = t
    one = sp.eye_array(samples)
    squares = np.concatenate([np.zeros(features), np.ones(samples), np.zeros(2 * samples)])
    q, lower = (np.append(np.full(features + samples, v), np.full(2 * samples, w)) for v, w in ((0, 1), (-np.inf, 0)))
    return qp.QuadraticProgram(sp.diags_array(squares), q, sp.hstack([D, -one, -one, one]), targets, targets, lower)


def portfolio(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 x'(F F' + D)x - mu'x with 1'x = 1, x >= 0: `size` assets, size / 10 factors, P low-rank."""
    rng = np.random.default_rng(seed)
    factors = max(1, size // 10)
    F = rng.normal(size=(size, factors)) * (rng.random((size, factors)) < 0.5)
    risk = rng.uniform(0.0, np.sqrt(factors), size)
    return qp.QuadraticProgram(qp.LowRank(F, risk), -rng.normal(size=size), np.ones((1, size)), 1.0, 1.0, 0.0, None)


def svm_primal(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 ||w||^2 + 1'xi with y_i (w'x_i + b) >= 1 - xi_i, xi >= 0: `size` points in size / 10 dimensions."""
    points, labels = two_classes(np.random.default_rng(seed), size)
    return primal_program(points, labels, np.ones(size), bias=True)


def svm_dual_rbf(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 a'Q a - 1'a with y'a = 0, 0 <= a <= 1, Q_ij = y_i y_j exp(-||x_i - x_j||^2 / d): P dense."""
    points, labels = two_classes(np.random.default_rng(seed), size)
    K = Kernel("rbf", gamma=1.0 / points.shape[1]).gram(points)
    return dual_program(labels[:, None] * K * labels, labels, np.ones(size), bias=True)


def svm_dual_linear(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 a'Q a - 1'a with y'a = 0, 0 <= a <= 1, Q = (diag(y) X)(diag(y) X)': P low-rank."""
    points, labels = two_classes(np.random.default_rng(seed), size)
    return dual_program(qp.LowRank(points * labels[:, None]), labels, np.ones(size), bias=True)


def group_lasso(size: int, seed: int = 0) -> socp.ConeProgram:
    """min 1/2 ||D w - t||^2 + lambda sum_g ||w_g||, D of shape (2 size, size), groups of five features."""
    rng = np.random.default_rng(seed)
    features = 5 * max(1, size // 5)
    D, targets = _regression(rng, 2 * features, features)
    samples, groups = D.shape[0], features // 5
    weight = 0.1 * float(np.linalg.norm((D.T @ targets).reshape(groups, 5), axis=1).max())
    #  x = (w, r, a):  D w - r = t,  (a_g, w_g) in Q^6
    rows = np.arange(6 * groups).reshape(groups, 6)
    heads, tails = rows[:, 0], rows[:, 1:].ravel()
    columns = np.concatenate([features + samples + np.arange(groups), np.arange(features)])
    places = np.concatenate([heads, tails]), columns
    G = sp.csc_array((np.full(groups + features, -1.0), places), (6 * groups, features + samples + groups))
    return socp.ConeProgram(
        c=np.concatenate([np.zeros(features + samples), np.full(groups, weight)]),
        G=G,
        h=np.zeros(6 * groups),
        cones=[socp.SecondOrder(6)] * groups,
        A=sp.hstack([D, -sp.eye_array(samples), sp.csc_array((samples, groups))]),
        b=targets,
        P=sp.diags_array(np.concatenate([np.zeros(features), np.ones(samples), np.zeros(groups)])),
    )


def robust_kalman(size: int, seed: int = 0) -> socp.ConeProgram:
    """min 1/2 sum ||w_t||^2 + sum huber_M(||v_t||), s_{t+1} = F s_t + B w_t, y_t = H s_t + v_t: `size` steps."""
    rng = np.random.default_rng(seed)
    F, B, H = _vehicle(0.05)
    noise, measured = rng.normal(size=(size, 2)), np.zeros((size, 2))
    state = np.zeros(4)
    for t in range(size):
        wild = rng.random() < 0.2
        measured[t] = H @ state + rng.normal(size=2) * (20.0 if wild else 1.0)
        state = F @ state + B @ noise[t]

    #  x = (s_0 ... s_T, w_0 ..., a_0 ..., e_0 ..., n_0 ...) with v_t = a_t + e_t, huber = 1/2 ||a||^2 + M n, ||e|| <= n
    each = sp.eye_array(size)
    now, following = sp.eye_array(size, size + 1), sp.eye_array(size, size + 1, k=1)
    dynamics = [sp.kron(now, F) - sp.kron(following, np.eye(4)), sp.kron(each, B), None, None, None]
    two = sp.eye_array(2 * size)
    outputs = [sp.kron(now, H), None, two, two, sp.csc_array((2 * size, size))]
    states = 4 * (size + 1)
    n = states + 7 * size
    #  the cone rows of step t: (n_t, e_t)
    head = sp.kron(each, [[-1.0], [0.0], [0.0]])
    tail = sp.kron(each, [[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    squares = np.concatenate([np.zeros(states), np.ones(4 * size), np.zeros(3 * size)])
    return socp.ConeProgram(
        c=np.concatenate([np.zeros(n - size), np.full(size, 2.0)]),
        G=sp.hstack([sp.csc_array((3 * size, n - 3 * size)), tail, head]),
        h=np.zeros(3 * size),
        cones=[socp.SecondOrder(3)] * size,
        A=sp.block_array([dynamics, outputs]),
        b=np.concatenate([np.zeros(4 * size), measured.ravel()]),
        P=sp.diags_array(squares),
    )


def robust_least_squares(size: int, seed: int = 0) -> socp.ConeProgram:
    """min_w max_{||U||_F <= 1} ||(D + U)w - t|| = min_w ||D w - t|| + ||w||, D of shape (2 size, size): two cones."""
    rng = np.random.default_rng(seed)
    samples, features = 2 * size, size
    D = rng.normal(size=(samples, features))
    targets = D @ rng.normal(size=features) + rng.normal(size=samples)
    #  x = (w, a, b):  (a, D w - t) in Q,  (b, w) in Q
    zero = np.zeros((1, features))
    first = np.block([[zero, -np.ones((1, 1)), np.zeros((1, 1))], [-D, np.zeros((samples, 2))]])
    second = np.block([[zero, np.zeros((1, 1)), -np.ones((1, 1))], [-np.eye(features), np.zeros((features, 2))]])
    return socp.ConeProgram(
        c=np.concatenate([np.zeros(features), [1.0, 1.0]]),
        G=sp.csc_array(np.vstack([first, second])),
        h=np.concatenate([[0.0], -targets, np.zeros(features + 1)]),
        cones=[socp.SecondOrder(samples + 1), socp.SecondOrder(features + 1)],
    )


def enclosing_ball(size: int, seed: int = 0) -> socp.ConeProgram:
    """min R with ||c - c_i|| + r_i <= R: the smallest ball around `size` balls in ten dimensions."""
    rng = np.random.default_rng(seed)
    dim = 10
    centres, radii = rng.normal(size=(size, dim)), rng.uniform(0.0, 0.5, size)
    #  x = (c, R):  (R - r_i, c - c_i) in Q
    block = np.zeros((dim + 1, dim + 1))
    block[0, dim] = -1.0
    block[1:, :dim] = -np.eye(dim)
    return socp.ConeProgram(
        c=np.append(np.zeros(dim), 1.0),
        G=sp.vstack([sp.csr_array(block)] * size),
        h=np.column_stack([-radii, -centres]).ravel(),
        cones=[socp.SecondOrder(dim + 1)] * size,
    )


def mpc(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 sum x_t'Q x_t + u_t'R u_t, x_{t+1} = F x_t + B u_t, x_0 given, |u_t| <= U, |x_t| <= X: `size` steps."""
    rng = np.random.default_rng(seed)
    states, inputs = 8, 3
    F = rng.normal(size=(states, states))
    F /= np.abs(np.linalg.eigvals(F)).max()
    B, start = rng.normal(size=(states, inputs)), rng.uniform(-0.5, 0.5, states)
    uncontrolled, reach = start, float(np.abs(start).max())
    for _ in range(size):  # u = 0 stays inside, so that the program is feasible
        uncontrolled = F @ uncontrolled
        reach = max(reach, float(np.abs(uncontrolled).max()))
    #  x = (x_1 ... x_T, u_0 ... u_{T-1})
    here, before = sp.eye_array(size), sp.eye_array(size, k=-1)
    A = sp.hstack([sp.kron(before, F) - sp.kron(here, np.eye(states)), sp.kron(here, B)])
    sides = np.concatenate([-F @ start, np.zeros((size - 1) * states)])
    weights = np.concatenate([np.tile(rng.uniform(0.5, 2.0, states), size), np.full(size * inputs, 0.1)])
    bound = np.concatenate([np.full(size * states, 1.1 * reach), np.full(size * inputs, 0.1)])
    return qp.QuadraticProgram(sp.diags_array(weights), np.zeros(weights.size), A, sides, sides, -bound, bound)


def infeasible(size: int, seed: int = 0) -> socp.ConeProgram:
    """min c'x with A x = b, h - G x in K, where some (y, z), z inside K, has A'y + G'z = 0 and b'y + h'z = -1."""
    rng = np.random.default_rng(seed)
    cones = _mixed_cones(size)
    m, p = sum(cone.dim for cone in cones), max(1, size // 4)
    A, G = rng.normal(size=(p, size)), rng.normal(size=(m, size))
    y, z, b, h = rng.normal(size=p), _interior_point(rng, cones), rng.normal(size=p), rng.normal(size=m)
    #  corrections along y and z, which are the only directions needed:  A += y a', h += z t
    A -= np.outer(y, A.T @ y + G.T @ z) / float(y @ y)
    h -= z * (float(b @ y + h @ z) + 1.0) / float(z @ z)
    return socp.ConeProgram(c=rng.normal(size=size), G=G, h=h, cones=cones, A=A, b=b)


def unbounded(size: int, seed: int = 0) -> socp.ConeProgram:
    """min c'x with A x = b, h - G x in K: feasible, and some d has A d = 0, -G d inside K, c'd = -1."""
    rng = np.random.default_rng(seed)
    cones = _mixed_cones(size)
    m, p = sum(cone.dim for cone in cones), max(1, size // 4)
    A, G = rng.normal(size=(p, size)), rng.normal(size=(m, size))
    d, x, c = rng.normal(size=size), rng.normal(size=size), rng.normal(size=size)
    A -= np.outer(A @ d, d) / float(d @ d)
    G -= np.outer(G @ d + _interior_point(rng, cones), d) / float(d @ d)
    c -= d * (float(c @ d) + 1.0) / float(d @ d)
    return socp.ConeProgram(c=c, G=G, h=G @ x + _interior_point(rng, cones), cones=cones, A=A, b=A @ x)


def by_name(*functions: Callable[[int, int], Program]) -> dict[str, Callable[[int, int], Program]]:
    """Functions of size and seed by their names."""
    return {function.__name__: function for function in functions}


CLASSES = by_name(
    lasso, huber, portfolio, svm_primal, svm_dual_rbf, svm_dual_linear, group_lasso, robust_kalman,
    robust_least_squares, enclosing_ball, mpc, infeasible, unbounded,
)  # fmt: skip


def _regression(rng: np.random.Generator, samples: int, features: int) -> tuple[sp.csc_array, np.ndarray]:
    """A design with 15 % nonzeros, and targets of a half-empty weight vector with noise."""
    entries = np.where(rng.random((samples, features)) < 0.15, rng.normal(size=(samples, features)), 0.0)
    weights = np.where(rng.random(features) < 0.5, rng.normal(size=features), 0.0)
    return sp.csc_array(entries), entries @ weights + 0.1 * rng.normal(size=samples)


def two_classes(rng: np.random.Generator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping normal classes in samples / 10 (2 to 50) dimensions, labels -1 and 1, both there."""
    features = min(50, max(2, samples // 10))
    labels = np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(samples, features)) + labels[:, None] / np.sqrt(features), labels


def _vehicle(step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position and velocity in the plane with friction, pushed by two forces, seen by position."""
    damping = 1.0 - 0.5 * step * 0.05
    F = np.eye(4)
    F[0, 2] = F[1, 3] = damping * step
    F[2, 2] = F[3, 3] = 1.0 - 0.05 * step
    B = np.zeros((4, 2))
    B[0, 0] = B[1, 1] = 0.5 * step**2
    B[2, 0] = B[3, 1] = step
    return F, B, np.eye(2, 4)


def _mixed_cones(size: int) -> list[socp.NonNeg | socp.SecondOrder]:
    return [socp.NonNeg(size), *(socp.SecondOrder(5) for _ in range(max(1, size // 5)))]


def _interior_point(rng: np.random.Generator, cones: list[socp.NonNeg | socp.SecondOrder]) -> np.ndarray:
    """A point well inside a product of cones."""
    parts = []
    for cone in cones:
        if isinstance(cone, socp.NonNeg):
            parts.append(rng.uniform(0.5, 1.5, cone.dim))
        else:
            u = rng.normal(size=cone.dim - 1)
            parts.append(np.append(np.linalg.norm(u) + rng.uniform(0.5, 1.5), u))
    return np.concatenate(parts)
