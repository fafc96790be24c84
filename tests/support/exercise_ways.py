"""Correct alternatives to the instructor's programs: {(exercise, way): text, or edits of the instructor's program}."""

WAYS = {
    ("e01", "loops, a product of roots, steps cut by a ratio test"): '''
import math
import numpy as np

def barrier(s):
    n = len(s)
    tail = math.sqrt(sum(float(t) ** 2 for t in s[1:]))
    if not s[0] > tail:
        return math.inf, None, None
    a, b = s[0] - tail, s[0] + tail
    g, H = np.empty(n), np.empty((n, n))
    for i in range(n):
        g[i] = (-s[0] if i == 0 else s[i]) / (a * b)
        for j in range(n):
            J = 0.0 if i != j else (1.0 if i == 0 else -1.0)
            sign = (1.0 if i == 0 else -1.0) * (1.0 if j == 0 else -1.0)
            H[i, j] = 2.0 * sign * s[i] * s[j] / (a * b) ** 2 - J / (a * b)
    return -0.5 * (math.log(a) + math.log(b)), g, H

def central_point(c, G, h, mu, x):
    x = np.array(x, float)
    while True:
        s = h - G @ x
        B = G / s[:, None]
        R = np.linalg.qr(B, mode="r")
        gradient = c / mu + B.T @ np.ones(len(s))
        half = np.linalg.solve(R.T, -gradient)
        dx = np.linalg.solve(R, half)
        if 0.5 * half @ half <= 1e-12:
            return x
        ds = -G @ dx
        t = min([1.0] + [-0.95 * s[i] / ds[i] for i in range(len(s)) if ds[i] < 0.0])
        if 0.5 * half @ half > 1e-3:
            f = lambda x: c @ x / mu - np.log(h - G @ x).sum()
            while f(x + t * dx) >= f(x):
                t /= 2.0
        else:
            t = 1.0
        x = x + t * dx
''',
    ("e02", "hyperbolic Householder, entry by entry"): '''
import math
import numpy as np

def scaling(s, z):
    n = len(s)
    def length(u):
        t = math.sqrt(sum(v * v for v in u[1:]))
        return math.sqrt((u[0] - t) * (u[0] + t))
    a, b = length(s), length(z)
    sb, zb = s / a, z / b
    gamma = math.sqrt((1.0 + sum(p * q for p, q in zip(sb, zb))) / 2.0)
    w = [(sb[0] + zb[0]) / (2 * gamma)] + [(sb[i] - zb[i]) / (2 * gamma) for i in range(1, n)]
    W = np.zeros((n, n))
    W[0, 0] = w[0]
    for i in range(1, n):
        W[0, i] = W[i, 0] = w[i]
        for j in range(1, n):
            W[i, j] = (i == j) + w[i] * w[j] / (1.0 + w[0])
    return W * math.sqrt(a / b)
''',
    ("e03", "Schur complements and Cholesky where it is definite, otherwise the whole matrix"): '''
import numpy as np
import scipy.linalg as la

def newton_step(data, x, y, z, s, sigma):
    P, c, A, b, G, h = [data[k] for k in "PcAbGh"]
    n, p, m = len(c), len(b), len(h)
    r = [-(P @ x + c + A.T @ y + G.T @ z), b - A @ x, h - G @ x - s, sigma * (s @ z) / m - s * z]
    K = np.zeros((n + p + 2 * m, n + p + 2 * m))
    K[:n, :n], K[:n, n : n + p], K[:n, n + p : n + p + m] = P, A.T, G.T
    K[n : n + p, :n] = A
    K[n + p : n + p + m, :n] = G
    K[n + p : n + p + m, n + p + m :] = np.eye(m)
    K[n + p + m :, n + p : n + p + m] = np.diag(s)
    K[n + p + m :, n + p + m :] = np.diag(z)
    u = la.lu_solve(la.lu_factor(K), np.concatenate(r))
    return tuple(np.split(u, [n, n + p, n + p + m]))
''',
    ("e04", "the roots without cancellation"): '''
import math
import numpy as np

def longest_step(u, du):
    if len(u) == 1:
        return -u[0] / du[0] if du[0] < 0 else math.inf
    t = float(np.linalg.norm(du[1:]))
    a = (du[0] - t) * (du[0] + t)
    b = float(u[0] * du[0] - u[1:] @ du[1:])
    tail = float(np.linalg.norm(u[1:]))
    c = (u[0] - tail) * (u[0] + tail)
    # discriminant b^2 - ac = |u0 d1 - d0 u1|^2 - |u1 x d1|^2
    v = u[0] * du[1:] - du[0] * u[1:]
    wedge = np.outer(u[1:], du[1:])
    wedge = wedge - wedge.T
    D = max(float(v @ v) - 0.5 * float((wedge * wedge).sum()), 0.0)
    root = math.sqrt(D)
    if b < 0.0:
        return c / (root - b)
    return -(b + root) / a if a < 0.0 else math.inf
''',
    ("e05", "the whole matrix by an LDL' of LAPACK"): [
        ("    K = np.block([[P + G.T @ (G * (z / s)[:, None]), A.T], [A, np.zeros((p, p))]])\n"
         "    factors = scipy.linalg.lu_factor(K)\n",
         "    m = z.size\n"
         "    K = np.block([[P, A.T, G.T], [A, np.zeros((p, p + m))], [G, np.zeros((m, p)), -np.diag(s / z)]])\n"
         "    L, D, order = scipy.linalg.ldl(K)\n    T = L[order]\n"),
        ("        u = scipy.linalg.lu_solve(factors, np.concatenate([r1 + G.T @ ((z * r3 - r4) / s), r2]))\n"
         "        ds = r3 - G @ u[:n]\n        return u[:n], u[n:], (r4 - z * ds) / s, ds\n",
         "        r = np.concatenate([r1, r2, r3 - r4 / z])[order]\n"
         "        v = scipy.linalg.solve_triangular(T, r, lower=True, unit_diagonal=True)\n"
         "        v = np.linalg.solve(D, v)\n"
         "        v = scipy.linalg.solve_triangular(T, v, lower=True, trans=1, unit_diagonal=True)\n"
         "        u = np.empty(r.size)\n        u[order] = v\n        dz = u[n + p :]\n"
         "        return u[:n], u[n : n + p], dz, (r4 - s * dz) / z\n"),
    ],
    ("e06", "rays scaled first"): [
        ("    if slope > 0.0 and norm(A.T @ y + G.T @ z) <= tol * slope and z.min(initial=0.0) >= -tol * slope:",
         "    y, z = (y / slope, z / slope) if slope > 0.0 else (y, z)\n"
         "    if slope > 0.0 and norm(A.T @ y + G.T @ z) <= tol and not (z < -tol).any():"),
        ("    if slope > 0.0 and norm(A @ x) <= tol * slope and (G @ x).max(initial=0.0) <= tol * slope:",
         "    x = x / slope if slope > 0.0 else x\n"
         "    if slope > 0.0 and all(abs(v) <= tol for v in A @ x) and all(v <= tol for v in G @ x):"),
    ],
    ("e07", "right-looking, and substitution by columns"): '''
import numpy as np

def factor(K, signs, delta):
    S = np.array(K, float) + delta * np.diag(signs)
    n = S.shape[0]
    L, d = np.zeros((n, n)), np.zeros(n)
    for k in range(n):
        d[k] = S[k, k] if signs[k] * S[k, k] >= delta / 10 else signs[k] * delta
        L[k, k] = 1.0
        for i in range(k + 1, n):
            L[i, k] = S[i, k] / d[k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                S[i, j] -= L[i, k] * d[k] * L[j, k]
    return L, d

def solve(K, signs, rhs, delta, steps):
    L, d = factor(K, signs, delta)
    def back(r):
        v = r.astype(float).copy()
        for j in range(v.size):
            v[j + 1 :] -= v[j] * L[j + 1 :, j]
        v /= d
        for j in range(v.size - 1, -1, -1):
            v[:j] -= v[j] * L[j, :j]
        return v
    u = back(rhs)
    while steps > 0:
        u, steps = u + back(rhs - K @ u), steps - 1
    return u
''',
    ("e08", "the last of the ties, by a matrix; the count by elimination trees"): '''
import numpy as np

def order(pattern):
    B = np.array(pattern, bool)
    np.fill_diagonal(B, False)
    left = np.ones(len(B), bool)
    found = []
    for _ in range(len(B)):
        degrees = np.where(left, (B & left).sum(axis=1), len(B) + 1)
        k = len(B) - 1 - int(np.argmin(degrees[::-1]))
        near = np.flatnonzero(B[k] & left)
        for i in near:
            for j in near:
                if i != j:
                    B[i, j] = True
        left[k] = False
        found.append(k)
    return found

def fill(pattern, permutation):
    place = {int(k): i for i, k in enumerate(permutation)}
    n = len(place)
    rows = [set() for _ in range(n)]
    for i, j in zip(*np.nonzero(pattern)):
        a, b = sorted((place[int(i)], place[int(j)]))
        if a < b:
            rows[a].add(b)
    total = 0
    for k in range(n):
        total += len(rows[k])
        if rows[k]:
            parent = min(rows[k])
            rows[parent] |= rows[k] - {parent}
    return total
''',
    ("e09", "variables before rows, one thing at a time"): '''
import numpy as np

def presolve(lp):
    q, A, l, u, lb, ub = (np.array(lp[k], float) for k in ("q", "A", "l", "u", "lb", "ub"))
    m, n = A.shape
    rows, cols, x = list(range(m)), list(range(n)), np.full(n, np.nan)

    def one():
        for j in cols:
            if lb[j] > ub[j] + 1e-9:
                raise ValueError(f"bounds of {j}")
            if lb[j] >= ub[j]:
                x[j] = ub[j]
                for i in range(m):
                    l[i] -= A[i, j] * x[j]
                    u[i] -= A[i, j] * x[j]
                cols.remove(j)
                return True
        for i in rows:
            if l[i] > u[i] + 1e-9:
                raise ValueError(f"sides of {i}")
            entries = [j for j in cols if A[i, j] != 0.0]
            if len(entries) == 0:
                if l[i] > 1e-9 or u[i] < -1e-9:
                    raise ValueError(f"row {i}")
                rows.remove(i)
                return True
            if len(entries) == 1:
                j, a = entries[0], A[i, entries[0]]
                low, high = (l[i] / a, u[i] / a) if a > 0 else (u[i] / a, l[i] / a)
                lb[j], ub[j] = max(lb[j], low), min(ub[j], high)
                rows.remove(i)
                return True
        return False

    while one():
        pass
    return {"q": q[cols], "A": A[rows][:, cols], "l": l[rows], "u": u[rows], "lb": lb[cols], "ub": ub[cols]}, x
''',
    ("e10", "the Gram matrix by loops, the row scaled, beta a mean"): [
        ('"P": signed @ signed.T',
         '"P": np.array([[y[i] * y[j] * (X[i] @ X[j]) for j in range(n)] for i in range(n)])'),
        ('"A": y[None, :].astype(float)', '"A": -2.0 * y[None, :].astype(float)'),
        ("    i = int(inner.argmax())  # the one that is farthest from its bounds\n"
         "    return w, float(y[i] - X[i] @ w)",
         "    free = inner > 0.9e-3 * C\n    return w, np.mean((y - X @ w)[free])"),
    ],
    ("e11", "the other eigenvalue from the product"): '''
import numpy as np

def centered(s, z, mu):
    v = s - z
    t = np.linalg.norm(v[1:])
    low, high = v[0] - t, v[0] + t
    out = []
    for l in (low, high):
        r = np.hypot(l, 2.0 * np.sqrt(mu))
        a = (abs(l) + r) / 2.0
        out.append((a, mu / a) if l >= 0 else (mu / a, a))
    def vector(p, q):
        if s.size == 1:
            return np.array([q])
        c = v[1:] / t if t > 0.0 else np.ones(s.size - 1) / np.sqrt(s.size - 1)
        return np.concatenate([[(p + q) / 2.0], (q - p) / 2.0 * c])
    return vector(out[0][0], out[1][0]), vector(out[0][1], out[1][1])
''',
    ("e12", "all rows, by an LU of the unsymmetric matrix"): [
        ("n, active = len(P), z > s", "n, m = len(P), z.size"),
        ("np.block([[P, G[active].T], [G[active], np.zeros((active.sum(), active.sum()))]])",
         "np.block([[P, G.T], [z[:, None] * G, -np.diag(s)]])"),
        ("u, v = np.linalg.solve(K, np.r_[r, t[active]]), np.zeros(z.size)\n"
         "        v[active] = u[n:]\n        return u[:n], v",
         "u = np.linalg.solve(K, np.r_[r, z * t])\n        return u[:n], u[n:]"),
    ],
    ("e13", "the small system with z of the factors, by an LU at the first call"): '''
import numpy as np
from scipy import linalg

def capacitance(F, D):
    k = F.shape[1]
    M = np.empty((k, k))
    for i in range(k):
        for j in range(i + 1):
            M[i, j] = M[j, i] = float(i == j) + np.sum(F[:, i] * F[:, j] / D)
    return M

class _Solver:
    def __init__(self, d, F, w):
        self.d, self.F, (self.a, self.b), self._lu = d, F, np.split(w * w, 2), None

    def __call__(self, r, t):
        upper, lower = np.split(t, 2)
        D = self.d + 1 / self.a + 1 / self.b
        if self._lu is None:
            self._lu = linalg.lu_factor(capacitance(self.F, D)) if self.F.shape[1] else ()
        g = r + upper / self.a - lower / self.b
        f = linalg.lu_solve(self._lu, self.F.T @ (g / D)) if self._lu else np.zeros(0)
        x = (g - self.F @ f) / D
        return [x, np.concatenate([(x - upper) / self.a, (-x - lower) / self.b])]

def kkt_solver(d, F, w):
    return _Solver(d, F, w)
''',
}  # fmt: skip
