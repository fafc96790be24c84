"""Programs as students write them: {(exercise, style): text} that are right, and what each wrong one changes in these.

WRONG is {(exercise, style of RIGHT): {what is wrong: [(text there, text instead), ...]}}.  They were written from the
statements alone, in styles that differ from the instructor's: classes, recursion, einsum, generators, work in place.
"""

RIGHT = {
    ("e01", "a class with private fields, eigenvalues, a rank-one update in place"): '''
from dataclasses import dataclass, field
import numpy as np
from scipy import linalg

@dataclass
class _Spectrum:
    point: np.ndarray
    _lower: float = field(init=False)
    _upper: float = field(init=False)

    def __post_init__(self):
        length = np.linalg.norm(self.point[1:])
        self._lower, self._upper = self.point[0] - length, self.point[0] + length

    @property
    def det(self):
        return self._lower * self._upper if self.point.size > 1 else self.point[0] ** 2

    def inside(self):
        return self._lower > 0.0

def barrier(s):
    spectrum = _Spectrum(s)
    if not spectrum.inside():
        nothing = np.full(s.size, np.nan)
        return float("inf"), nothing, np.diag(nothing)
    gradient = s / spectrum.det
    gradient[0] *= -1.0
    hessian = 2.0 * np.einsum("i,j->ij", gradient, gradient)
    diagonal = hessian.reshape(-1)[:: s.size + 1]
    diagonal += 1.0 / spectrum.det
    hessian[0, 0] -= 2.0 / spectrum.det
    value = -0.5 * (np.log(spectrum._lower) + np.log(spectrum._upper))
    return value, gradient, hessian

class Newton:
    __slots__ = ("_c", "_G", "_h", "_mu")

    def __init__(self, c, G, h, mu):
        self._c, self._G, self._h, self._mu = c, G, h, mu

    def __call__(self, x):
        return self._c @ x - self._mu * np.log(slack).sum() if (slack := self._h - self._G @ x).min() > 0 else np.inf

    def direction(self, x):
        rows = self._G / (self._h - self._G @ x)[:, None]
        gradient = self._c / self._mu + rows.sum(axis=0)
        step = linalg.solve(rows.T @ rows, -gradient, assume_a="pos")
        return step, -(gradient @ step)

def central_point(c, G, h, mu, x):
    method, x = Newton(c, G, h, mu), x.copy()
    while (found := method.direction(x))[1] > 2e-12:
        step, squared = found
        t = 1.0
        if squared > 2e-3:
            open = -(G @ step) / (h - G @ x)
            if open.min() < 0.0:
                t = min(1.0, -0.99 / open.min())
            while not method(x + t * step) < method(x):
                t *= 0.5
        x += t * step
    return x
''',
    ("e01", "closures, derivatives in the eigenvectors, a damped step by the decrement"): '''
import math
import numpy as np

def barrier(s):
    n, tail = s.size, s[1:]
    r = math.hypot(*tail) if n > 1 else 0.0
    if s[0] <= r:
        return math.inf, np.empty(n), np.empty((n, n))
    vars = [s[0] - r, s[0] + r]
    e0 = np.zeros(n)
    e0[0] = 1.0
    if n == 1:
        return -math.log(s[0]), -1.0 / s, 1.0 / np.outer(s, s)
    axis = np.concatenate([[0.0], tail / r]) if r > 0.0 else np.eye(n)[1]
    c = [(e0 - axis) / 2.0, (e0 + axis) / 2.0]
    value = -0.5 * sum(math.log(v) for v in vars)
    gradient = -sum(q / v for q, v in zip(c, vars))
    rest = np.eye(n) - np.outer(e0, e0) - np.outer(axis, axis)
    hessian = sum(2.0 * np.outer(q, q) / v**2 for q, v in zip(c, vars)) + rest / (vars[0] * vars[1])
    return value, gradient, hessian

def central_point(c, G, h, mu, x):
    def once(x):
        y = mu / (h - G @ x)
        g = c + G.T @ y
        L = np.linalg.cholesky(np.einsum("ki,k,kj->ij", G, y * y / mu, G))
        v = np.linalg.solve(L, -g)
        return np.linalg.solve(L.T, v), v @ v

    f = lambda x: c @ x - mu * np.log(h - G @ x).sum()
    dx, D = once(x)
    while D / 2 > 1e-12 * mu:
        damped = 1.0 if D / 2 <= 1e-3 * mu else 1.0 / (1.0 + math.sqrt(D / mu))
        while D / 2 > 1e-3 * mu and not f(x + damped * dx) < f(x):
            damped /= 2
        x = x + damped * dx
        dx, D = once(x)
    return x
''',
    ("e02", "the exchange of s and z by two square roots of the algebra"): '''
import numpy as np
import scipy.linalg as sla

def _power(u, exponent):
    r = np.linalg.norm(u[1:])
    axis = u[1:] / r if r > 0 else 0 * u[1:]
    low, high = ((u[0] - r) ** exponent, (u[0] + r) ** exponent)
    return np.concatenate([[0.5 * (low + high)], 0.5 * (high - low) * axis]) if u.size > 1 else u ** exponent

def _quadratic(u):
    J = np.diag([1.0] + [-1.0] * (u.size - 1))
    det = (u[0] - np.linalg.norm(u[1:])) * (u[0] + np.linalg.norm(u[1:])) if u.size > 1 else u[0] ** 2
    return 2.0 * np.outer(u, u) - det * J

def scaling(s, z):
    # W^2 = Q(w) with w = Q(s^1/2) (Q(s^1/2) z)^-1/2, and W = Q(w^1/2)
    root = _quadratic(_power(s, 0.5))
    w = root @ _power(root @ z, -0.5)
    W = _quadratic(_power(w, 0.5))
    return (W + W.T) / 2
''',
    ("e02", "reflections that are generated, in place"): '''
import numpy as np

def scaling(s, z):
    def det(u):
        r = np.sqrt(np.square(u[1:]).sum())
        yield (u[0] - r) * (u[0] + r)

    a, b = (float(next(det(u))) ** 0.25 for u in (s, z))
    if s.size == 1:
        return np.sqrt(s / z).reshape(1, 1)
    v = s / a**2
    v[0] += z[0] / b**2
    v[1:] -= z[1:] / b**2
    v /= np.sqrt(next(det(v)))
    v[0] += 1.0
    W = np.multiply.outer(v, v)
    W /= v[0]
    W[0, 0] -= 1.0
    W[range(1, s.size), range(1, s.size)] += 1.0
    W *= a / b
    return W
''',
    ("e03", "a class with its own LU, s eliminated, data in place on a copy"): '''
import numpy as np
import scipy.linalg

class KKT:
    def __init__(self, P, A, G, z, s):
        self._n, self._p, self._m = P.shape[0], A.shape[0], G.shape[0]
        self._G, self._z, self._s = G, z, s
        self._lu = scipy.linalg.lu_factor(self._matrix(P, A))

    def _matrix(self, P, A):
        n, p = self._n, self._p
        K = np.zeros((n + p + self._m,) * 2)
        K[:n, :n] += P
        K[n : n + p, :n] += A
        K[:n, n : n + p] += A.T
        K[n + p :, :n] += self._z[:, None] * self._G
        K[:n, n + p :] += self._G.T
        np.fill_diagonal(K[n + p :, n + p :], -self._s)
        return K

    def solve(self, rx, ry, rz, rc):
        dx, dy, dz = np.split(scipy.linalg.lu_solve(self._lu, np.hstack([rx, ry, self._z * rz - rc])),
                              [self._n, self._n + self._p])
        return dx, dy, dz, rz - self._G @ dx

def newton_step(data, x, y, z, s, sigma):
    P, c, A, b, G, h = (data[key] for key in ("P", "c", "A", "b", "G", "h"))
    mu = float(np.vdot(s, z)) / len(s)
    return KKT(P, A, G, z, s).solve(-P @ x - c - A.T @ y - G.T @ z, b - A @ x, h - s - G @ x, sigma * mu - s * z)
''',
    ("e03", "columns of the identity through the linear map"): '''
import numpy as np

def newton_step(data, x, y, z, s, sigma):
    sizes = [len(v) for v in (x, y, z, s)]
    ends = np.cumsum(sizes)[:-1]

    def apply(u):
        dx, dy, dz, ds = np.split(u, ends)
        return np.concatenate([data["P"] @ dx + data["A"].T @ dy + data["G"].T @ dz, data["A"] @ dx,
                               data["G"] @ dx + ds, z * ds + s * dz])

    J = np.stack([apply(e) for e in np.eye(sum(sizes))], axis=-1)
    zero = apply(np.concatenate([x, y, z, s]))
    zero -= np.concatenate([-data["c"], data["b"], data["h"], 0 * s])
    zero[ends[-1]:] = s * z - sigma * np.mean(s * z)
    # rows of the last block are small where s and z are
    scale = 1.0 / np.abs(J).max(axis=1)
    return np.split(np.linalg.solve(scale[:, None] * J, -scale * zero), ends)
''',
    ("e04", "the eigenvalue by a Lorentz boost"): '''
import numpy as np

def longest_step(u, du):
    if u.size == 1:
        with np.errstate(divide="ignore"):
            return float(-u[0] / du[0]) if du[0] < 0 else float("inf")
    r = np.linalg.norm(u[1:])
    root = np.sqrt(u[0] - r) * np.sqrt(u[0] + r)
    axis = u[1:] / r if r > 0 else np.eye(u.size - 1)[0]
    along, across = du[1:] @ axis, du[1:] - (du[1:] @ axis) * axis
    low, high = (du[0] - along) / (u[0] - r), (du[0] + along) / (u[0] + r)
    rest = 2.0 * np.linalg.norm(across) / root
    gap = np.hypot(high - low, rest)
    smallest = 0.5 * (low + high - gap)
    if low + high > 0:
        # the product of the eigenvalues, without cancellation
        t = np.linalg.norm(du[1:])
        smallest = 2.0 * ((du[0] - t) * (du[0] + t) / root**2) / (low + high + gap)
    return np.inf if smallest >= 0 else -1.0 / smallest
''',
    ("e04", "exact fractions, and one root"): '''
import math
from functools import reduce
import numpy as np

def _whole(u):
    """Return whole numbers and an exponent e with u = whole * 2^e."""
    parts = [float(v).as_integer_ratio() for v in u]
    bottom = max(q for _, q in parts)
    return [p * (bottom // q) for p, q in parts], bottom

def longest_step(u, du):
    (a, qa), (d, qd) = _whole(u), _whole(du)
    det = lambda v, w: reduce(lambda total, k: total - v[k] * w[k], range(1, len(v)), v[0] * w[0])
    aa, bb, cc = det(d, d), det(a, d), det(a, a)  # (cc/qa^2) + 2 t bb/(qa qd) + t^2 aa/qd^2
    if len(a) == 1:
        return math.inf if d[0] >= 0 else -a[0] / d[0] * (qd / qa)
    D = bb * bb - aa * cc
    if aa >= 0 and (bb >= 0 or D < 0):
        return math.inf
    root = math.isqrt(max(D, 0) << 200)
    return float(((cc << 100) * 10**40 // (root - (bb << 100)))) / 1e40 * (qd / qa) if bb < 0 else \\
        float((((bb << 100) + root) * 10**40 // (-aa << 100))) / 1e40 * (qd / qa)
''',
    ("e05", "a class whose fields are private"): '''
from collections.abc import Callable
import numpy as np
import scipy.linalg as la

class _Factors:
    def __init__(self, data, z, s):
        self._A, self._G, self._z, self._s = data["A"], data["G"], z, s
        n, p = len(data["P"]), len(self._A)
        self._n = n
        K = np.zeros((n + p, n + p))
        K[:n, :n] = data["P"] + np.einsum("ki,k,kj->ij", self._G, z / s, self._G)
        K[n:, :n], K[:n, n:] = self._A, self._A.T
        self._lu = la.lu_factor(K, overwrite_a=True)

    def __call__(self, r1, r2, r3, r4):
        shifted = r1 + self._G.T @ ((self._z * r3 - r4) / self._s)
        u = la.lu_solve(self._lu, np.append(shifted, r2))
        ds = r3 - self._G @ u[: self._n]
        return u[: self._n], u[self._n :], (r4 - self._z * ds) / self._s, ds

def factor(data, z, s) -> Callable:
    return _Factors(data, z, s)

def _defect(data, x, y, z, s):
    return (data["P"] @ x + data["c"] + data["A"].T @ y + data["G"].T @ z, data["A"] @ x - data["b"],
            data["G"] @ x + s - data["h"])

def _room(*pairs):
    return min((-v / d for value, change in pairs for v, d in zip(value, change) if d < 0), default=np.inf)

def step(data, x, y, z, s):
    rhs = [-r for r in _defect(data, x, y, z, s)]
    solve_ = factor(data, z, s)
    *_, dz, ds = solve_(*rhs, -s * z)
    sigma = (1 - min(1, _room((z, dz), (s, ds)))) ** 3
    direction = solve_(*rhs, sigma * np.mean(s * z) - s * z - ds * dz)
    alpha = min(1, 0.99 * _room((z, direction[2]), (s, direction[3])))
    return tuple(v + alpha * d for v, d in zip((x, y, z, s), direction))

def solve(data, tol=1e-8):
    point = [np.zeros(len(data["c"])), np.zeros(len(data["b"])), *np.ones((2, len(data["h"])))]
    count = 0
    while max(point[2] @ point[3], max(np.abs(r).max(initial=0) for r in _defect(data, *point))) > tol:
        point = step(data, *point)
        count += 1
    return (*point[:3], count)
''',
    ("e05", "recursion, the large matrix, QR"): '''
import numpy as np
from scipy.linalg import qr, solve_triangular

def factor(data, z, s):
    n, p, m = len(data["P"]), len(data["A"]), len(z)
    sizes = np.cumsum([n, p, m])
    K = np.block([
        [data["P"], data["A"].T, data["G"].T, np.zeros((n, m))],
        [data["A"], np.zeros((p, p + 2 * m))],
        [data["G"], np.zeros((m, p + m)), np.eye(m)],
        [np.zeros((m, n + p)), np.diag(s), np.diag(z)],
    ])
    Q, R = qr(K)

    def back(*r):
        return np.split(solve_triangular(R, Q.T @ np.concatenate(r)), sizes)

    return back

def step(data, x, y, z, s):
    r = (-(data["P"] @ x + data["c"] + data["A"].T @ y + data["G"].T @ z), data["b"] - data["A"] @ x,
         data["h"] - data["G"] @ x - s)
    back = factor(data, z, s)

    def longest(dz, ds):
        v, d = np.r_[z, s], np.r_[dz, ds]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(d < 0, -v / d, np.inf).min()

    affine = back(*r, -s * z)
    sigma = (1.0 - min(longest(*affine[2:]), 1.0)) ** 3
    new = back(*r, sigma * (s @ z) / len(z) - s * z - affine[2] * affine[3])
    alpha = min(1.0, 0.99 * longest(*new[2:]))
    return x + alpha * new[0], y + alpha * new[1], z + alpha * new[2], s + alpha * new[3]

def solve(data, tol=1e-8):
    def go_on(x, y, z, s, count):
        rows = [data["P"] @ x + data["c"] + data["A"].T @ y + data["G"].T @ z, data["A"] @ x - data["b"],
                data["G"] @ x + s - data["h"], [s @ z]]
        if np.linalg.norm(np.concatenate(rows), np.inf) <= tol:
            return x, y, z, count
        return go_on(*step(data, x, y, z, s), count + 1)

    h = data["h"]
    return go_on(0 * data["c"], 0 * data["b"], 10.0 + 0 * h, np.maximum(h, 10.0), 0)
''',
    ("e06", "predicates in a table, early returns"): '''
import numpy as np

TESTS = {}

def test(function):
    TESTS[function.__name__] = function
    return function

@test
def optimal(data, x, y, z, tau, tol):
    if not tau > 0:
        return False
    x, y, z = (v / tau for v in (x, y, z))
    zero = np.concatenate([data["A"] @ x - data["b"], data["c"] + data["A"].T @ y + data["G"].T @ z,
                           [data["c"] @ x + data["b"] @ y + data["h"] @ z]])
    positive = np.concatenate([data["h"] - data["G"] @ x, z])
    return bool(np.all(abs(zero) <= tol) and np.all(positive >= -tol))

@test
def primal_infeasible(data, x, y, z, tau, tol):
    if not (value := data["b"] @ y + data["h"] @ z) < 0:
        return False
    y, z = y / -value, z / -value
    return bool((abs(data["A"].T @ y + data["G"].T @ z) <= tol).all() and (z >= -tol).all())

@test
def dual_infeasible(data, x, y, z, tau, tol):
    if not (value := data["c"] @ x) < 0:
        return False
    x = x / -value
    return bool((abs(data["A"] @ x) <= tol).all() and (data["G"] @ x <= tol).all())

def verdict(data, x, y, z, tau, tol):
    return next((name for name, holds in TESTS.items() if holds(data, x, y, z, tau, tol)), "unknown")
''',
    ("e06", "one loop over the violations, as a generator"): '''
import numpy as np

def _violations(data, x, y, z, tau):
    c, A, b, G, h = (data[k] for k in "cAbGh")
    worst = lambda *parts: max((float(v) for part in parts for v in np.atleast_1d(part)), default=0.0)
    if tau > 0.0:
        u, v, w = x / tau, y / tau, z / tau
        yield "optimal", worst(abs(A @ u - b), G @ u - h, -w, abs(c + A.T @ v + G.T @ w), abs(c @ u + b @ v + h @ w))
    open = -(b @ y) - h @ z
    if open > 0.0:
        yield "primal_infeasible", worst(abs(A.T @ (y / open) + G.T @ (z / open)), -z / open)
    open = -(c @ x)
    if open > 0.0:
        yield "dual_infeasible", worst(abs(A @ (x / open)), G @ (x / open))

def verdict(data, x, y, z, tau, tol):
    for name, violation in _violations(data, x, y, z, tau):
        if violation <= tol:
            return name
    return "unknown"
''',
    ("e07", "recursion on the trailing block"): '''
import numpy as np

def factor(K, signs, delta):
    def down(S, signs, whole):
        if not S.size:
            return np.zeros((0, 0)), np.zeros(0)
        d = S[0, 0]
        if signs[0] * d < 0.1 * delta:
            d = signs[0] * delta
        l = S[1:, 0] / d
        L, rest = down(S[1:, 1:] - d * np.multiply.outer(l, l), signs[1:], whole)
        out = np.eye(len(S))
        out[1:, 0], out[1:, 1:] = l, L
        return out, np.append(d, rest)

    return down(K + delta * np.diag(signs), signs, K)

def _substitute(L, d, r):
    v = np.array(r, dtype=float)
    for i in range(v.size):
        v[i] -= sum(L[i, k] * v[k] for k in range(i))
    v = v / d
    for i in range(v.size)[::-1]:
        v[i] -= sum(L[k, i] * v[k] for k in range(i + 1, v.size))
    return v

def solve(K, signs, rhs, delta, steps):
    vars = factor(K, signs, delta)
    u = _substitute(*vars, rhs)
    for _ in range(steps):
        u = u + _substitute(*vars, rhs - K @ u)
    return u
''',
    ("e08", "a class of sets with a heap, and fill by reach"): '''
import heapq
import numpy as np

class Graph:
    def __init__(self, pattern):
        self._near = {i: {j for j in range(len(pattern)) if pattern[i, j] and i != j} for i in range(len(pattern))}
        self._heap = [(len(near), i) for i, near in self._near.items()]
        heapq.heapify(self._heap)

    def __iter__(self):
        return self

    def __next__(self):
        while self._heap:
            degree, i = heapq.heappop(self._heap)
            if i in self._near and degree == len(self._near[i]):
                self._drop(i)
                return i
        raise StopIteration

    def _drop(self, i):
        near = self._near.pop(i)
        for j in near:
            self._near[j] = (self._near[j] | near) - {i, j}
            heapq.heappush(self._heap, (len(self._near[j]), j))

def order(pattern):
    return np.fromiter(Graph(pattern), dtype=np.int64, count=len(pattern))

def fill(pattern, permutation):
    # L_ij is not zero if a path from i to j passes only nodes that are eliminated before j
    n = len(pattern)
    place = np.empty(n, int)
    place[permutation] = np.arange(n)
    total = 0
    for j in permutation:
        seen, stack = {int(j)}, [int(j)]
        while stack:
            k = stack.pop()
            for i in map(int, np.flatnonzero(pattern[k])):
                if i not in seen:
                    seen.add(i)
                    if place[i] > place[j]:
                        total += 1
                    else:
                        stack.append(i)
    return total
''',
    ("e09", "rules as methods of a class, a queue"): '''
import collections
import numpy as np

class _Presolve:
    def __init__(self, lp):
        self.__lp = {name: np.array(value, dtype=float) for name, value in lp.items()}
        self._A, self._q = self.__lp["A"], self.__lp["q"]
        self._l, self._u, self._lb, self._ub = (self.__lp[k] for k in ("l", "u", "lb", "ub"))
        self._rows, self._cols = dict.fromkeys(range(len(self._A))), dict.fromkeys(range(self._A.shape[1]))
        self._x = np.full(len(self._q), np.nan)
        self._queue = collections.deque([("row", i) for i in self._rows] + [("col", j) for j in self._cols])

    def run(self):
        while self._queue:
            kind, k = self._queue.popleft()
            if k in (self._rows if kind == "row" else self._cols):
                self._row(k) if kind == "row" else self._col(k)
        rows, cols = list(self._rows), list(self._cols)
        small = dict(q=self._q[cols], A=self._A[np.ix_(rows, cols)], l=self._l[rows], u=self._u[rows],
                     lb=self._lb[cols], ub=self._ub[cols])
        return small, self._x

    def _row(self, i):
        if self._l[i] > self._u[i] + 1e-9:
            raise ValueError(f"row {i}: {self._l[i]} > {self._u[i]}")
        there = [j for j in self._cols if self._A[i, j]]
        if len(there) > 1:
            return
        if there:
            j, a = there[0], self._A[i, there[0]]
            low, high = (self._l[i] / a, self._u[i] / a)[:: 1 if a > 0 else -1]
            self._lb[j], self._ub[j] = max(self._lb[j], low), min(self._ub[j], high)
            self._queue.append(("col", j))
        elif self._l[i] > 1e-9 or self._u[i] < -1e-9:
            raise ValueError(f"row {i} is empty")
        del self._rows[i]

    def _col(self, j):
        low, high = self._lb[j], self._ub[j]
        if low > high + 1e-9:
            raise ValueError(f"variable {j}")
        if low < high:
            return
        self._x[j] = value = 0.5 * (low + high)
        self._l -= self._A[:, j] * value
        self._u -= self._A[:, j] * value
        del self._cols[j]
        self._queue.extend(("row", int(i)) for i in np.flatnonzero(self._A[:, j]))

def presolve(lp):
    return _Presolve(lp).run()
''',
    ("e10", "einsum, the Gram matrix by broadcasting, weights for beta"): '''
import numpy as np

def dual(X, y, C):
    P = np.einsum("i,ik,jk,j->ij", y, X, X, y)
    n = y.shape[0]
    return dict(P=0.5 * (P + P.T), q=np.repeat(-1.0, n), A=y.reshape(1, -1) * 1.0, b=np.array([0.0]),
                lb=np.zeros_like(y, dtype=float), ub=np.ones(n) * C)

def hyperplane(X, y, C, a):
    w = np.einsum("i,i,ij->j", a, y, X)
    weight = np.where((a > 9e-4 * C) & (a < C - 9e-4 * C), a * (C - a), 0.0)
    return w, float(np.average(y - X @ w, weights=weight))
''',
    ("e11", "spectral decomposition as a tuple of idempotents"): '''
import numpy as np

def _decompose(v):
    if v.size == 1:
        return [(v[0], np.ones(1))]
    r = np.linalg.norm(v[1:])
    axis = v[1:] / r if r else np.full(v.size - 1, (v.size - 1) ** -0.5)
    # the smaller eigenvalue from the difference of squares would not help here: both are needed as they are
    return [(v[0] + sign * r, 0.5 * np.concatenate([[1.0], sign * axis])) for sign in (-1.0, 1.0)]

def centered(s, z, mu):
    left = right = 0.0
    for value, idempotent in _decompose(s - z):
        large = 0.5 * (abs(value) + np.hypot(value, 2.0 * mu**0.5))
        pair = (large, mu / large)
        p, q = pair if value >= 0 else pair[::-1]
        left, right = left + p * idempotent, right + q * idempotent
    return left, right
''',
    ("e12", "a class, least squares of the active rows' null space"): '''
import numpy as np
import scipy.linalg as la

class _Tangent:
    def __init__(self, P, G, z, s):
        self._P, self._on = P, np.flatnonzero(z > s)
        self._B, self._m = G[self._on], z.size
        Q, R = la.qr(self._B.T) if self._on.size else (np.eye(len(P)), np.zeros((len(P), 0)))
        k = self._on.size
        self._Y, self._Z, self._R = Q[:, :k], Q[:, k:], R[:k]
        self._H = self._Z.T @ P @ self._Z

    def __call__(self, r, t):
        along = la.solve_triangular(self._R, t[self._on], trans=1) if self._on.size else np.zeros(0)
        u = self._Y @ along
        if self._H.size:
            u = u + self._Z @ np.linalg.solve(self._H, self._Z.T @ (r - self._P @ u))
        v = np.zeros(self._m)
        if self._on.size:
            v[self._on] = la.solve_triangular(self._R, self._Y.T @ (r - self._P @ u))
        return u, v

def factor(P, G, z, s):
    return _Tangent(P, G, z, s)

def forward(P, G, x, z, s, dq, dh):
    dx, _ = factor(P, G, z, s)(-dq, dh)
    return dx

def backward(P, G, x, z, s, gradient):
    adjoint = factor(P, G, z, s)
    by_q, by_h = adjoint(-gradient, np.zeros(z.shape))
    return by_q, -by_h
''',
    ("e12", "a pseudo-inverse of the whole unsymmetric matrix, columns normalized"): '''
import numpy as np

def factor(P, G, z, s):
    n, m = P.shape[0], G.shape[0]
    scale = 1.0 / np.maximum(z, s)
    K = np.vstack([np.hstack([P, G.T]), np.hstack([(scale * z)[:, np.newaxis] * G, -np.diag(scale * s)])])
    inverse = np.linalg.inv(K)
    return lambda r, t: tuple(np.split(inverse @ np.concatenate([r, scale * z * t]), [n]))

def forward(P, G, x, z, s, dq, dh):
    return factor(P, G, z, s)(-dq, dh)[0]

def backward(P, G, x, z, s, gradient):
    u, v = factor(P, G, z, s)(gradient, 0 * z)
    return -u, v
''',
    ("e13", "an inverse of the capacitance, and the rows one after the other"): '''
import numpy as np

def capacitance(F, D):
    scaled = F / np.sqrt(D)[:, np.newaxis]
    return scaled.T.dot(scaled) + np.identity(F.shape[1])

def kkt_solver(d, F, w):
    n = d.shape[0]
    upper, lower = w[:n] ** -2.0, w[n:] ** -2.0
    D = d + (upper + lower)
    small = np.linalg.inv(capacitance(F, D))

    def apply_inverse(b):
        y = b / D
        return y - (F.dot(small.dot(F.T.dot(y)))) / D

    def solve(r, t):
        x = apply_inverse(r + upper * t[:n] - lower * t[n:])
        z = np.zeros(2 * n)
        for k, (sign, weight) in enumerate(((1.0, upper), (-1.0, lower))):
            z[k * n : (k + 1) * n] = weight * (sign * x - t[k * n : (k + 1) * n])
        return x, z

    return solve
''',
}  # fmt: skip

RIGHT["e10", "loops, and beta by bisection of the sorted margins"] = """
import numpy as np

def dual(X, y, C):
    n = len(y)
    P = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            P[i, j] = P[j, i] = y[i] * y[j] * np.dot(X[i], X[j])
    found = {"P": P, "q": np.full(n, -1.0), "A": np.zeros((1, n)), "b": np.zeros((1,))}
    found["A"][0] = y
    found.update(lb=np.zeros(n), ub=C * np.ones(n))
    return found

def hyperplane(X, y, C, a):
    w = sum((a[i] * y[i] * X[i] for i in range(len(y))), np.zeros(X.shape[1]))
    best = max(range(len(y)), key=lambda i: min(a[i], C - a[i]))
    np.testing.assert_array_less(0.0, min(a[best], C - a[best]))
    return w, y[best] - np.inner(X[best], w)
"""

WRONG = {
    ("e01", "a class with private fields, eigenvalues, a rank-one update in place"): {
        "the sign of the half-line's Hessian": [("hessian[0, 0] -= 2.0 / spectrum.det",
                                                 "hessian[0, 0] -= (2.0 if s.size > 1 else 4.0) / spectrum.det")],
        "the point is moved in place": [("method, x = Newton(c, G, h, mu), x.copy()", "method = Newton(c, G, h, mu)")],
        "the weight of the cost forgotten where mu is not 1": [("self._c / self._mu + rows", "self._c + rows")],
        "the decrement without its half, ten times too loose": [("> 2e-12", "> 2e-11")],
        "the value of a point whose second entry is positive": [
            ("self.point[0] - length, self.point[0] + length",
             "self.point[0] - self.point[1:].sum(), self.point[0] + self.point[1:].sum()")],


        "nan outside": [('return float("inf"), nothing', 'return float("nan"), nothing')],
    },
    ("e02", "the exchange of s and z by two square roots of the algebra"): {
        "no axis in dimension two": [("return np.concatenate([[0.5 * (low + high)], 0.5 * (high - low) * axis]) "
                                      "if u.size > 1 else u ** exponent",
                                      "return np.concatenate([[0.5 * (low + high)], 0.5 * (high - low) * axis]) "
                                      "if u.size > 2 else u ** exponent")],
        "the square of W": [("W = _quadratic(_power(w, 0.5))", "W = _quadratic(w)")],
        "the determinant by cancellation": [
            ("(u[0] - np.linalg.norm(u[1:])) * (u[0] + np.linalg.norm(u[1:])) if u.size > 1 else u[0] ** 2",
             "np.float32(u[0] ** 2 - u[1:] @ u[1:])")],
    },
    ("e02", "reflections that are generated, in place"): {
        "a matrix of the wrong shape in dimension one": [(".reshape(1, 1)", "")],
        "the factor of equal determinants": [("W *= a / b", "W *= 1.0")],
        "s and z exchanged where both are near the boundary": [("W *= a / b", "W *= a / b if a > 0.1 else b / a")],
        "z divided in place": [("v[0] += z[0] / b**2", "z /= b**2\n    v[0] += z[0]"),
                               ("v[1:] -= z[1:] / b**2", "v[1:] -= z[1:]")],
    },
    ("e03", "a class with its own LU, s eliminated, data in place on a copy"): {
        "mu by the number of variables": [("/ len(s)\n", "/ len(x)\n")],
        "the multipliers of equations left out where there are more": [
            ("- A.T @ y - G.T @ z", "- (A.T @ y if len(y) < 3 else 0.0) - G.T @ z")],
        "a little regularization": [("np.fill_diagonal(K[n + p :, n + p :], -self._s)",
                                     "np.fill_diagonal(K[n + p :, n + p :], -self._s - 1e-7)")],
        "P written over": [("K[:n, :n] += P", "P *= 1.0 + 1e-14\n        K[:n, :n] += P")],
        "single precision": [("(self._matrix(P, A))", "(self._matrix(P, A).astype(np.float32))")],
        "sigma's square": [("sigma * mu - s * z", "sigma**2 * mu - s * z")],
    },
    ("e04", "the eigenvalue by a Lorentz boost"): {
        "small eigenvalues are zero": [("np.inf if smallest >= 0", "np.inf if smallest >= -1e-9")],
        "the part across is forgotten": [("rest = 2.0 * np.linalg.norm(across) / root", "rest = 0.0")],
        "a number where there is no end": [("return np.inf if smallest >= 0", "return 1e6 if smallest >= 0")],
        "the direction normalized": [("    r = np.linalg.norm(u[1:])\n",
                                      "    r = np.linalg.norm(u[1:])\n    du = du / np.abs(du).max(initial=1e-30)\n")],
    },
    ("e04", "exact fractions, and one root"): {
        "a product that is nearly zero is zero": [("    if aa >= 0 and", "    if aa / qd**2 > -1e-9 and")],
        "zero for a direction of zeros": [("    if len(a) == 1:", "    if not any(d):\n        return 0.0\n"
                                           "    if len(a) == 1:")],
    },
    ("e05", "a class whose fields are private"): {
        "an end is taken for granted": [(", default=np.inf)", ")")],
        "sigma is at most 9/10": [("sigma = (1 - min(", "sigma = min(0.9, (1 - min("),
                                  ("(s, ds)))) ** 3", "(s, ds)))) ** 3)")],
        "the mean over all variables": [("sigma * np.mean(s * z)", "sigma * (s @ z) / len(x)")],
        "two lengths for linear programs": [
            ("return tuple(v + alpha * d for v, d in zip((x, y, z, s), direction))",
             "long = 0.999 * alpha if not data['P'].any() else alpha\n"
             "    return tuple(v + long * d for v, d in zip((x, y, z, s), direction))")],
        "the tolerance of the call is not asked for": [("def solve(data, tol=1e-8):", "def solve(data, tol=1e-5):")],
        "r1 is changed in place": [("        shifted = r1 + self._G.T @ ((self._z * r3 - r4) / self._s)",
                                    "        r1 += self._G.T @ ((self._z * r3 - r4) / self._s)\n        shifted = r1")],
        "the residual of the equations once": [("sigma * np.mean", "*[], sigma * np.mean"),
                                               ("direction = solve_(*rhs,", "direction = solve_(0 * x, *rhs[1:],")],
    },
    ("e05", "recursion, the large matrix, QR"): {
        "the gap divided by m": [("[s @ z]]", "[s @ z / len(z)]]")],
        "the corrector only where the predictor is long": [
            ("- affine[2] * affine[3])", "- affine[2] * affine[3] * (sigma < 0.9))")],
    },
    ("e06", "predicates in a table, early returns"): {
        "rays of unbounded programs at tau = 0 alone": [
            ("    if not (value := data[\"c\"] @ x) < 0:", "    if tau > 0 or not (value := data[\"c\"] @ x) < 0:")],
        "rays of infeasible programs at tau > 0 alone": [
            ("    if not (value := data[\"b\"] @ y + data[\"h\"] @ z) < 0:",
             "    if tau == 0 or not (value := data[\"b\"] @ y + data[\"h\"] @ z) < 0:")],
        "the rows relative to their sides": [("data[\"h\"] - data[\"G\"] @ x, z]",
                                              "(data[\"h\"] - data[\"G\"] @ x) / (1 + abs(data[\"h\"])), z]")],
        "equations are taken for granted": [
            ("(abs(data[\"A\"] @ x) <= tol).all()", "abs(data[\"A\"] @ x).max() <= tol")],
        "the first test that is no error": [("\"unknown\")", "\"optimal\")")],
    },
    ("e06", "one loop over the violations, as a generator"): {
        "the smallest violation wins": [("    for name, violation in _violations(data, x, y, z, tau):\n"
                                         "        if violation <= tol:\n            return name",
                                         "    found = sorted((v, n) for n, v in _violations(data, x, y, z, tau))\n"
                                         "    if found and found[0][0] <= tol:\n        return found[0][1]")],
        "the sum of the violations": [("worst = lambda *parts: max(", "worst = lambda *parts: sum("),
                                      ("np.atleast_1d(part)), default=0.0)", "np.atleast_1d(part) if v > 0.0))")],
        "a ray below the tolerance is none": [("    open = -(c @ x)\n    if open > 0.0:",
                                               "    open = -(c @ x)\n    if open > tol:")],
    },
    ("e07", "recursion on the trailing block"): {
        "a step of refinement too few": [("for _ in range(steps):", "for _ in range(steps - 1):")],
        "solutions of order eight": [("for i in range(v.size)[::-1]:", "for i in range(8)[::-1]:")],
        "delta added in place": [("return down(K + delta * np.diag(signs), signs, K)",
                                  "K += delta * np.diag(signs)\n    return down(K, signs, K)")],
        "the pivot after division": [("        l = S[1:, 0] / d\n", "        l = S[1:, 0] / S[0, 0]\n")],
    },
    ("e08", "a class of sets with a heap, and fill by reach"): {
        "old degrees": [("if i in self._near and degree == len(self._near[i]):", "if i in self._near:")],
        "63 nodes at most": [("return np.fromiter(Graph(pattern)", "assert len(pattern) < 64\n"
                              "    return np.fromiter(Graph(pattern)")],
        "a path that passes later nodes": [("                    else:\n", "                    if True:\n")],
        "the diagonal is a neighbour": [("if pattern[i, j] and i != j}", "if pattern[i, j]}")],
    },
    ("e09", "rules as methods of a class, a queue"): {
        "rows are looked at once": [
            ("        self._queue.extend((\"row\", int(i)) for i in np.flatnonzero(self._A[:, j]))",
                                     "        pass")],
        "the middle of infinite bounds": [("        if low < high:\n            return",
                                           "        if low < high < np.inf:\n            return")],
        "sides that cross are not seen in rows of one entry": [
            ("        if self._l[i] > self._u[i] + 1e-9:",
             "        if self._l[i] > self._u[i] + 1e-9 and np.count_nonzero(self._A[i]) != 1:")],
        "integers": [("np.array(value, dtype=float) for", "np.array(value, dtype=int if name == 'A' else float) for")],
        "x is zero where a variable stays": [("np.full(len(self._q), np.nan)", "np.zeros(len(self._q))")],
    },
    ("e10", "einsum, the Gram matrix by broadcasting, weights for beta"): {
        "a row for each sample": [("A=y.reshape(1, -1) * 1.0", "A=np.diag(y)"), ("b=np.array([0.0])", "b=0 * y")],
        "beta of all that support": [
            ("(a > 9e-4 * C) & (a < C - 9e-4 * C), a * (C - a), 0.0)", "a > 9e-4 * C, a, 0.0)")],
        "two features": [("np.einsum(\"i,ik,jk,j->ij\", y, X, X, y)",
                          "np.einsum(\"i,ik,jk,j->ij\", y, X[:, :4], X[:, :4], y)")],
    },
    ("e11", "spectral decomposition as a tuple of idempotents"): {
        "the same side for both": [("p, q = pair if value >= 0 else pair[::-1]", "p, q = pair")],
        "a division by zero where s - z is a multiple of e": [
            ("axis = v[1:] / r if r else", "axis = v[1:] / r if True else")],
        "a difference that cancels": [("pair = (large, mu / large)", "pair = (large, large - abs(value))")],
        "half of the axis": [("np.hypot(value, 2.0 * mu**0.5)", "np.hypot(value, mu**0.5)")],
    },
    ("e12", "a class, least squares of the active rows' null space"): {
        "the sign of the multipliers' gradient": [("return by_q, -by_h", "return by_q, by_h")],
        "curvature is taken for granted": [("np.linalg.solve(self._H, self._Z.T @ (r - self._P @ u))",
                                            "np.linalg.solve(P, self._P @ (self._Z @ np.linalg.solve(self._H, "
                                            "self._Z.T @ (r - self._P @ u)))) @ self._Z")],
        "active by a small number": [("np.flatnonzero(z > s)", "np.flatnonzero(z > 1e-8)")],
        "multipliers of the active rows alone": [("v = np.zeros(self._m)", "v = np.zeros(self._on.size)"),
                                                 ("v[self._on] = la", "v[:] = la")],
    },
    ("e13", "an inverse of the capacitance, and the rows one after the other"): {
        "the factors' part once too little": [("return y - (F.dot", "return y - 0.5 * (F.dot")],
        "divides by D once": [("F.dot(small.dot(F.T.dot(y)))) / D", "F.dot(small.dot(F.T.dot(y))))")],
        "capacitance inverted at each call": [("    small = np.linalg.inv(capacitance(F, D))\n", ""),
                                              ("        y = b / D", "        small = np.linalg.inv(capacitance(F, D))\n"
                                                                    "        y = b / D")],
        "x of the upper rows in both": [("weight * (sign * x -", "weight * (x -")],
        "w of the lower rows in both": [("upper, lower = w[:n] ** -2.0, w[n:] ** -2.0",
                                         "upper = lower = w[n:] ** -2.0")],
    },
}  # fmt: skip
"""Edits of the programs above that make them wrong."""
