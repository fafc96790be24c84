"""Generated programs: published classes at any size, reproducible to the bit from size and seed.

Every function takes a size and a seed and returns a program that is feasible and bounded by construction, but for
`infeasible` and `unbounded`.  `CLASSES` contains all functions by name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

import qp
import socp
from models.kernels.kernel import Kernel
from models.programs.margins import dual_program, primal_program

from ..answers.verify import Program


def lasso(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min 1/2 ||D w - t||^2 + lambda ||w||_1, D of shape (2 size, size); residuals and |w| are variables."""
    rng = np.random.default_rng(seed)
    D, targets = _regression(rng, 2 * size, size)
    samples, features = D.shape
    weight = 0.1 * float(np.abs(D.T @ targets).max())
    p = qp.Blocks(w=features, r=samples, a=features)  # -a <= w <= a
    p.minimize(quadratic={"r": 1.0}, a=weight)
    p.equal(targets, w=D, r=-1.0)
    for sign in (1.0, -1.0):
        p.at_most(0.0, w=sign, a=-1.0)
    return p.program()


def huber(size: int, seed: int = 0) -> qp.QuadraticProgram:
    """min sum_i huber_M(d_i'w - t_i), huber_M(r) = min_{a + p - n = r} 1/2 a^2 + M (p + n), p, n >= 0; 5 % outliers."""
    rng = np.random.default_rng(seed)
    D, targets = _regression(rng, 4 * size, size)
    samples, features = D.shape
    outliers = rng.random(samples) < 0.05
    targets = targets + np.where(outliers, rng.uniform(-10, 10, samples), 0.0)
    p = qp.Blocks(w=features, a=samples, above=samples, below=samples)
    p.minimize(quadratic={"a": 1.0}, above=1.0, below=1.0)
    p.equal(targets, w=D, a=-1.0, above=-1.0, below=1.0)
    p.bounds(above=(0.0, None), below=(0.0, None))
    return p.program()


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
    p = socp.Blocks(w=features, r=samples, a=groups)  # ||w_g|| <= a_g
    p.minimize(quadratic={"r": 1.0}, a=weight)
    p.equal(targets, w=D, r=-1.0)
    for g in range(groups):
        p.cone({"a": sp.eye_array(1, groups, k=g)}, w=sp.eye_array(5, features, k=5 * g))
    return p.program()


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

    #  v_t = a_t + e_t, huber = 1/2 ||a||^2 + M n, ||e|| <= n
    now, following = sp.eye_array(size, size + 1), sp.eye_array(size, size + 1, k=1)
    p = socp.Blocks(s=4 * (size + 1), w=2 * size, a=2 * size, e=2 * size, n_=size)
    p.minimize(quadratic={"w": 1.0, "a": 1.0}, n_=2.0)
    p.equal(0.0, s=sp.kron(now, F) - sp.kron(following, np.eye(4)), w=sp.kron(sp.eye_array(size), B))
    p.equal(measured.ravel(), s=sp.kron(now, H), a=1.0, e=1.0)
    for t in range(size):
        p.cone({"n_": sp.eye_array(1, size, k=t)}, e=sp.eye_array(2, 2 * size, k=2 * t))
    return p.program()


def robust_least_squares(size: int, seed: int = 0) -> socp.ConeProgram:
    """min_w max_{||U||_F <= 1} ||(D + U)w - t|| = min_w ||D w - t|| + ||w||, D of shape (2 size, size): two cones."""
    rng = np.random.default_rng(seed)
    samples, features = 2 * size, size
    D = rng.normal(size=(samples, features))
    targets = D @ rng.normal(size=features) + rng.normal(size=samples)
    p = socp.Blocks(w=features, a=1, b=1)
    p.minimize(a=1.0, b=1.0)
    p.cone("a", shift=-targets, w=D)
    p.cone("b", w=sp.eye_array(features))
    return p.program()


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
    for _ in range(size):  # The bounds on x admit u = 0, so that the program is feasible.
        uncontrolled = F @ uncontrolled
        reach = max(reach, float(np.abs(uncontrolled).max()))
    here, before = sp.eye_array(size), sp.eye_array(size, k=-1)
    p = qp.Blocks(x=size * states, u=size * inputs)  # x_1 ... x_T, u_0 ... u_{T-1}
    p.minimize(quadratic={"x": np.tile(rng.uniform(0.5, 2.0, states), size), "u": 0.1})
    sides = np.concatenate([-F @ start, np.zeros((size - 1) * states)])
    p.equal(sides, x=sp.kron(before, F) - sp.kron(here, np.eye(states)), u=sp.kron(here, B))
    p.bounds(x=(-1.1 * reach, 1.1 * reach), u=(-0.1, 0.1))
    return p.program()


def infeasible(size: int, seed: int = 0) -> socp.ConeProgram:
    """min c'x with A x = b, h - G x in K, where some (y, z), z inside K, has A'y + G'z = 0 and b'y + h'z = -1."""
    rng = np.random.default_rng(seed)
    cones = _mixed_cones(size)
    m, p = sum(cone.dim for cone in cones), max(1, size // 4)
    A, G = rng.normal(size=(p, size)), rng.normal(size=(m, size))
    y, z, b, h = rng.normal(size=p), _interior_point(rng, cones), rng.normal(size=p), rng.normal(size=m)
    # The corrections A += y a' and h += z t make (y, z) a certificate.
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
    """Return the functions of size and seed in a dictionary by their names."""
    return {function.__name__: function for function in functions}


CLASSES = by_name(
    lasso, huber, portfolio, svm_primal, svm_dual_rbf, svm_dual_linear, group_lasso, robust_kalman,
    robust_least_squares, enclosing_ball, mpc, infeasible, unbounded,
)  # fmt: skip


def _regression(rng: np.random.Generator, samples: int, features: int) -> tuple[sp.csc_array, np.ndarray]:
    """Draw a sparse design matrix with 15 % nonzeros, and noisy targets of a half-empty weight vector."""
    entries = np.where(rng.random((samples, features)) < 0.15, rng.normal(size=(samples, features)), 0.0)
    weights = np.where(rng.random(features) < 0.5, rng.normal(size=features), 0.0)
    return sp.csc_array(entries), entries @ weights + 0.1 * rng.normal(size=samples)


def two_classes(rng: np.random.Generator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two overlapping normal classes in samples / 10 (2 to 50) dimensions, and their labels -1 and 1."""
    features = min(50, max(2, samples // 10))
    labels = np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(samples, features)) + labels[:, None] / np.sqrt(features), labels


def _vehicle(step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return F, B, H of a vehicle in the plane with friction, pushed by two forces; its position is observed."""
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
    """Draw a point well inside a product of cones."""
    parts = []
    for cone in cones:
        if isinstance(cone, socp.NonNeg):
            parts.append(rng.uniform(0.5, 1.5, cone.dim))
        else:
            u = rng.normal(size=cone.dim - 1)
            parts.append(np.append(np.linalg.norm(u) + rng.uniform(0.5, 1.5), u))
    return np.concatenate(parts)
