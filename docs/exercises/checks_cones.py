"""Checks of the programs about cones, exercises 1 to 4 and 11.  A check that fails raises Refused with a sentence."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from student import holds, parts, require, shaped


def inside(rng, dim, depth=None, size=1.0):
    """Return a point of the second-order cone whose smaller eigenvalue is `depth` of its size."""
    tail = rng.normal(size=dim - 1)
    tail *= size / (np.linalg.norm(tail) or 1.0)
    depth = rng.uniform(0.1, 1.0) if depth is None else depth
    return np.r_[(1.0 + depth) * size if dim > 1 else depth * size, tail]


def rotated(rng, rows):
    """Return vectors of three entries with their tails rotated by one random angle."""
    angle = rng.uniform(0.0, 2.0 * np.pi)
    Q = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return [np.r_[row[0], Q @ np.asarray(row[1:], float)] for row in rows]


def opposite(rng, dim, depth, sizes):
    """Return two points of the cone near the ends of one diameter, with the smaller eigenvalue `depth` of the size."""
    s, z = (inside(rng, dim, depth, size) for size in sizes)
    z[1:] = -s[1:] * sizes[1] / sizes[0]
    return s, z


def circ(u, v):
    return np.r_[u @ v, u[0] * v[1:] + v[0] * u[1:]]


def depth_of(u):
    return u[0] - np.linalg.norm(u[1:])


# ---- 1. the barrier and the central path


def barrier_and_derivatives(student, rng):
    """The barrier with its derivatives."""
    for dim in (1, 2, 3, 5, 8):
        points = [inside(rng, dim, depth, size) for depth, size in ((None, 1.0), (1e-3, 1.0), (1e-3, 1e-8), (2.0, 1e3))]
        for s in (*points, rng.uniform(0.5, 2.0) * np.eye(dim)[0]):
            at = f"s = {s}"
            value, gradient, hessian = parts("barrier", student.call("barrier", s), 3)
            tail = np.linalg.norm(s[1:])
            det = (s[0] - tail) * (s[0] + tail) if dim > 1 else s[0] ** 2
            J = np.diag(np.r_[1.0, -np.ones(dim - 1)])
            exact = 2.0 * np.outer(J @ s, J @ s) / det**2 - J / det
            g, H = shaped("gradient", gradient, (dim,)), shaped("Hessian", hessian, (dim, dim))
            holds("phi(s) = -1/2 log det s", shaped("phi", value, ()) + 0.5 * np.log(det), at, 1e-9)
            holds("gradient = -Js / det s", (g + J @ s / det) * det / s[0], at, 1e-9)
            holds("Hessian = derivative of the gradient", (H - exact) / np.abs(exact).max(), at, 1e-9)


def barrier_outside(student, rng):
    """The barrier on the boundary and outside."""
    points = [[-1.0], [0.0], [1.0, 1.0], [0.0, 0.0], [5.0, 3.0, -4.0], [-5.0, 3.0, 4.0], [13.0, 5.0, 0.0, 12.0]]
    points += [-inside(rng, dim) for dim in (1, 2, 4)]
    points += [inside(rng, dim, -gap) for dim in (2, 3) for gap in (1e-6, 0.1, 0.9, 1.5)]
    for s in points:
        s = 2.0 ** rng.choice([-30, -20, 0, 20]) * np.asarray(s, float)
        value = parts("barrier", student.call("barrier", s), 3)[0]
        require(np.ndim(value) == 0 and value == np.inf, f"phi(s) = inf does not hold at s = {s}: phi is {value}")


def central_point_by_hand(student, rng):
    """The central path of an interval."""
    for mu in (100.0, 1.0, 1e-2, 1e-5):
        width, slope, at = *rng.uniform(0.5, 2.0, 2), rng.uniform(0.05, 0.95)
        G, h = np.array([[-1.0], [1.0]]), np.array([0.0, width])
        start = np.array([at * width])
        x = shaped("x", student.call("central_point", np.array([slope]), G, h, mu, start), (1,))
        exact = 2 * mu * width / (slope * width + 2 * mu + np.hypot(slope * width, 2 * mu))
        where = f"0 <= x <= {width:.3g}, c = {slope:.3g}, mu = {mu}"
        holds("slope = mu / x - mu / (width - x)", x / exact - 1.0, where, 3e-6)
        x = student.call("central_point", np.array([slope]), G[:1], h[:1], mu, np.array([at * mu]))
        where = f"x >= 0, c = {slope:.3g}, mu = {mu}"
        holds("slope = mu / x", shaped("x", x, (1,)) * slope / mu - 1.0, where, 3e-6)


def decrement(c, G, h, mu, x):
    """Return (half of the squared Newton decrement, the Newton step) at an inner point x."""
    s = h - G @ x
    gradient, hessian = c + mu * G.T @ (1.0 / s), mu * G.T @ (G / s[:, None] ** 2)
    dx = np.linalg.solve(hessian, -gradient)
    return -0.5 * gradient @ dx, dx


def central_point_to_its_tolerance(student, rng):
    """Newton's method from everywhere, to its tolerance."""
    for mu, size in ((10.0, 1.0), (1.0, 1.0), (1e-3, 1.0), (1e-6, 1.0), (1e-9, 1e-9)):
        n = int(rng.integers(2, 5))
        G = np.vstack([rng.normal(size=(6, n)), np.eye(n), -np.eye(n)])
        c, h = size * rng.normal(size=n), np.ones(6 + 2 * n)
        ways = [d / (G @ d).max() for d in (c, -c, rng.normal(size=n))]
        starts = {"the middle": np.zeros(n)} | {f"way {k} to the boundary": 0.999 * d for k, d in enumerate(ways)}
        center = student.call("central_point", c, G, h, mu, starts["the middle"])
        center = shaped("x", center, (n,))
        require((h - G @ center).min() > 0.0, f"h - Gx > 0 does not hold at mu = {mu}, from the middle")
        for _ in range(3):
            center = center + decrement(c, G, h, mu, center)[1]
        d = rng.normal(size=n)
        d /= np.sqrt(d @ (mu * G.T @ (G / (h - G @ center)[:, None] ** 2)) @ d)
        for size in (2e-12, 5e-12, 1e-9, 1e-6):  # start with half squared decrement size * mu
            starts[f"1/2 D = {size} mu"] = center + np.sqrt(2.0 * size * mu) * d
        for start, x in starts.items():
            found = shaped("x", student.call("central_point", c, G, h, mu, x), (n,))
            at = f"mu = {mu}, started from {start}"
            slack = (h - G @ found).min()
            require(slack > 0.0, f"h - Gx > 0 does not hold at {at}: smallest entry {slack:.2g}")
            holds("1/2 D <= 1e-12 mu", decrement(c, G, h, mu, found)[0] / mu, at, 1.1e-12)


# ---- 2. the Nesterov-Todd scaling


def scalings(student, rng):
    """Yield ((s, z), W, description of the point) of many points."""
    for dim in (1, 2, 3, 6):
        for depths in ((None, None), (1e-4, None), (1e-4, 1e-4), (None, 1e-2)):
            s, z = (inside(rng, dim, d, 10.0 ** rng.integers(-3, 4)) for d in depths)
            yield (s, z), shaped("W", student.call("scaling", s, z), (dim, dim)), f"s = {s}, z = {z}"
        for sizes in ((1e-2, 1e2), (1e2, 1e-2)):
            s, z = opposite(rng, dim, 1e-4, sizes)
            for other in (z, np.r_[z[:1], -z[1:]]):
                W = shaped("W", student.call("scaling", s, other), (dim, dim))
                yield (s, other), W, f"s = {s}, z = {other}"


def scaling_takes_both_to_one_point(student, rng):
    """W z = W^-1 s."""
    for (s, z), W, at in scalings(student, rng):
        scaled = np.linalg.solve(W, s)
        holds("W z = W^-1 s, relative to its size", (W @ z - scaled) / np.linalg.norm(scaled), at, 1e-6)


def scaling_maps_the_cone_onto_itself(student, rng):
    """W is symmetric, positive definite, and maps the cone onto itself."""
    for (s, _), W, at in scalings(student, rng):
        J, size = np.diag(np.r_[1.0, -np.ones(s.size - 1)]), np.abs(W).max()
        holds("W = W'", (W - W.T) / size, at, 1e-12)
        product = W @ J @ W
        holds("W J W = t J for a number t", (product - product[0, 0] * J) / size**2, at, 1e-9)
        least = np.linalg.eigvalsh(W).min()
        require(least > 0.0, f"W is not positive definite at {at}: smallest eigenvalue {least:.2g}")


def scaling_of_multiples(student, rng):
    """W of s = t z and of multiples of e."""
    for dim in (1, 2, 4):
        t, z = rng.uniform(0.1, 10.0), inside(rng, dim)
        e = np.eye(dim)[0]
        for point, factor in ((z, t), (e, t), (z, 1.0)):
            W = shaped("W", student.call("scaling", factor * point, point), (dim, dim))
            holds(f"W = {factor:.4g}^(1/2) I", W - np.sqrt(factor) * np.eye(dim), f"s = {factor} z, z = {point}", 1e-9)


# ---- 3. a Newton step


def quadratic_program(rng, n=8, p=2, m=14, definite=True):
    """Return data with a strictly complementary solution, and the solution (x, y, z, s)."""
    F = rng.normal(size=(n, n))
    P = F @ F.T / n + 0.2 * np.eye(n) if definite else np.zeros((n, n))
    A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n))
    active = rng.permutation(m) < min(n // 2, m)
    x, y = rng.normal(size=n), rng.normal(size=p)
    z, s = np.where(active, rng.uniform(0.5, 1.5, m), 0.0), np.where(active, 0.0, rng.uniform(0.5, 1.5, m))
    c = -(P @ x + A.T @ y + G.T @ z)
    return {"P": P, "c": c, "A": A, "b": A @ x, "G": G, "h": G @ x + s}, (x, y, z, s)


def newton_residuals(data, point, step, rc):
    """Return {equation: residual} of the four linearized conditions, z ds + s dz = rc the last."""
    (x, y, z, s), (dx, dy, dz, ds) = point, step
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    return {
        "P dx + A'dy + G'dz = -(Px + c + A'y + G'z)": P @ (x + dx) + c + A.T @ (y + dy) + G.T @ (z + dz),
        "A dx = -(Ax - b)": A @ (x + dx) - b,
        "G dx + ds = -(Gx + s - h)": G @ (x + dx) + s + ds - h,
        "z ds + s dz = right-hand side": z * ds + s * dz - rc,
    }


def stepped(student, data, point, sigma, at):
    """Check the four equations of a Newton step and return it."""
    step = parts("newton_step", student.call("newton_step", data, *point, sigma), 4)
    step = [shaped(name, d, v.shape) for name, d, v in zip(("dx", "dy", "dz", "ds"), step, point)]
    rc = sigma * (point[3] @ point[2]) / point[2].size - point[3] * point[2]
    size = max(1.0, *(np.abs(v).max(initial=0.0) for v in (*point, *step)))
    for equation, residual in newton_residuals(data, point, step, rc).items():
        holds(equation, residual / size, at, 1e-8)
    return step


def newton_step_far_from_the_boundary(student, rng):
    """The four equations at points far inside."""
    count = 0
    for n, p, m in ((8, 2, 14), (5, 0, 9), (1, 0, 1), (1, 1, 1), (4, 3, 2), (3, 1, 12), (3, 1, 12), (1, 0, 1)):
        count += 1
        data, _ = quadratic_program(rng, n, p, m, definite=count <= 6)
        point = rng.normal(size=n), rng.normal(size=p), *rng.uniform(0.5, 1.5, (2, m))
        for sigma in (0.0, rng.uniform(0.1, 0.9), 1.0):
            stepped(student, data, point, sigma, f"n = {n}, p = {p}, m = {m}, sigma = {sigma:.3g}")


def newton_step_near_the_boundary(student, rng):
    """The four equations where s and z are small."""
    for size in (1e-2, 1e-4, 1e-6):
        for definite in (True, False):
            data, _ = quadratic_program(rng, definite=definite)
            s, z = rng.uniform(0.5, 1.5, (2, 14))
            small = rng.random(14) < 0.3
            s[small], z[~small] = s[small] * size, z[~small] * size
            at = f"s and z as small as {size:g}, P {'definite' if definite else 'zero'}"
            stepped(student, data, (rng.normal(size=8), rng.normal(size=2), z, s), 0.3, at)


def newton_step_on_the_central_path(student, rng):
    """No step at a point of the central path."""
    data, (x, y, *_) = quadratic_program(rng)
    z = rng.uniform(0.5, 1.5, 14)
    s = 0.1 / z
    data["c"], data["h"] = -(data["P"] @ x + data["A"].T @ y + data["G"].T @ z), data["G"] @ x + s
    for name, d in zip(("dx", "dy", "dz", "ds"), stepped(student, data, (x, y, z, s), 1.0, "mu = 0.1, sigma = 1")):
        holds(f"{name} = 0 for sigma = 1", d, "a point of the central path with mu = 0.1", 1e-9)


# ---- 4. the length of a step


def longest(u, du):
    """Return the longest step by the smallest eigenvalue of du as seen from u."""
    root = np.sqrt(depth_of(u) * (u[0] + np.linalg.norm(u[1:])) if u.size > 1 else u[0] ** 2)
    unit, d = u / root, du / root
    d0 = unit[0] * d[0] - unit[1:] @ d[1:]
    smallest = d0 - np.linalg.norm(d[1:] - (d0 + d[0]) / (1.0 + unit[0]) * unit[1:])
    return -1.0 / smallest if smallest < 0.0 else np.inf


def exact_longest(u, du):
    """Return the longest step from the exact quadratic det(u + alpha du), rounded once."""
    u, du = ([Fraction(float(v)) for v in one] for one in (u, du))
    a, b, c = (x[0] * y[0] - sum(p * q for p, q in zip(x[1:], y[1:])) for x, y in ((du, du), (u, du), (u, u)))
    discriminant = b * b - a * c
    if discriminant < 0 or (a >= 0 and b >= 0):
        return np.inf
    with localcontext() as context:
        context.prec = 60
        a, b, c, square = (Decimal(v.numerator) / Decimal(v.denominator) for v in (a, b, c, discriminant))
        root = square.sqrt()
        return float(c / (root - b) if b < 0 else -(b + root) / a)


def length_is(student, u, du, expected, endless=np.inf):
    """Check a step length; if the step is unbounded, any length of at least `endless` passes."""
    found = student.call("longest_step", u, du)
    at = f"u = {u}, du = {du}"
    found = shaped("alpha", found, ())
    if np.isinf(expected):
        require(found >= endless, f"alpha is {found} at {at}, expected inf")
    else:
        holds("alpha = the smallest positive root", found / expected - 1.0, f"{at}, alpha = {found:.9g}", 1e-6)


def step_to_the_boundary(student, rng):
    """The step to the boundary."""
    for dim in (1, 2, 3, 6):
        for k in range(60):
            u = inside(rng, dim, 1e-4 if k % 5 == 0 else None, 10.0 ** rng.integers(-9, 10))
            du = rng.normal(size=dim) * 10.0 ** rng.integers(-9, 10)
            expected = longest(u, du)
            length_is(student, u, du, expected)


def step_without_end(student, rng):
    """The step into the cone and along its boundary."""
    for dim in (1, 2, 4):
        u = inside(rng, dim)
        length_is(student, u, inside(rng, dim), np.inf)
        length_is(student, u, np.zeros(dim), np.inf)
        length_is(student, u, 0.5 * u, np.inf)
        for _ in range(10):
            u = inside(rng, dim)
            length_is(student, u, -2.0 * u, 0.5)
    size = 2.0 ** rng.integers(-4, 5)
    for edge in ([5.0, 3.0, 4.0], [1.0, 0.0, -1.0]):
        length_is(student, np.array([1.0, 0.0, 0.0]), size * np.array(edge), np.inf, 1e9)


def step_along_edges(student, rng):
    """The step along and near edges."""
    for du, expected in (
        ([-1.0, -1.0, 0.0], 0.5), ([-1.0, 0.0, 0.0], 1.0), ([0.0, 0.6, 0.8], 1.0), ([0.0, 1e-3, 0.0], 1e3),
        ([-1.0, -1.0 + 1e-12, 0.0], 1.0 / (2.0 - 1e-12)), ([-1.0, -1.0 - 1e-11, 0.0], 1.0 / (2.0 + 1e-11)),
        ([1.0, 1.5, 0.0], 2.0), ([1.0, 1.0 + 1e-3, 0.0], 1e3), ([-3.0, 1.0, 0.0], 0.25),
    ):  # fmt: skip
        e, d = rotated(rng, [[1.0, 0.0, 0.0], du])
        size = 10.0 ** rng.uniform(-9.0, 9.0)
        length_is(student, e, d / size, size * expected)
        length_is(student, size * e, d, size * expected)


def step_near_edges(student, rng):
    """The step in directions that are near an edge of the cone, up to 1e9 steps long and more."""
    for k in (3, 10, 20, 28, 30, 34):
        for dim in (2, 3, 5):
            tail = np.zeros(dim - 1)
            tail[rng.integers(dim - 1)] = rng.choice([-1.0, 1.0])
            size = 2.0 ** rng.integers(-12, 13)
            for sign in (1.0, -1.0):  # outside of the cone, by so little, and inside
                du = size * np.r_[1.0, (1.0 + sign * 2.0**-k) * tail]
                length_is(student, np.eye(dim)[0], du, exact_longest(np.eye(dim)[0], du))
            if k <= 20:
                u = inside(rng, dim)
                length_is(student, u, size * np.r_[1.0, (1.0 + 2.0**-k) * tail],
                          exact_longest(u, size * np.r_[1.0, (1.0 + 2.0**-k) * tail]))  # fmt: skip


# ---- 11. a warm start


def pair_of(student, s, z, mu, at):
    """Check that s' and z' are inside the cone, up to rounding, and return them."""
    new = parts("centered", student.call("centered", s, z, mu), 2)
    new = [shaped(name, v, s.shape) for name, v in zip(("s'", "z'"), new)]
    for name, v in zip(("s'", "z'"), new):
        require(depth_of(v) > 0.0, f"{name} in the interior does not hold at {at}: {depth_of(v):.2g}")
    return new


def start_is_central(student, rng):
    """s' o z' = mu e."""
    for dim, mu, (s, z, at) in starts(rng):
        new_s, new_z = pair_of(student, s, z, mu, at)
        size = max(mu, 1e-9 * max(np.abs(new_s).max() * np.abs(new_z).max(), mu))
        holds("s' o z' = mu e, relative to mu", (circ(new_s, new_z) - mu * np.eye(dim)[0]) / size, at, 1e-6)


def start_is_near(student, rng):
    """s' - z' = s - z."""
    for _, mu, (s, z, at) in starts(rng):
        new_s, new_z = pair_of(student, s, z, mu, at)
        size = max(1.0, np.abs(s).max(), np.abs(z).max())
        holds("s' - z' = s - z", (new_s - new_z - (s - z)) / size, at, 1e-12)


def starts(rng):
    """Yield (dimension, mu, (s, z, where)): inside, on the boundary, ties of the eigenvalues."""
    for dim in (1, 2, 5):
        for mu in (rng.uniform(0.5, 2.0), 1e-4, 1e-8):
            s, z, e = inside(rng, dim), inside(rng, dim), np.eye(dim)[0]
            edge = inside(rng, dim, 0.0)
            pairs = ((s, z), (s, 0.0 * s), (0.0 * s, z), (s, 2.0 * s), (s, s), (3.0 * e, e), (e, 3.0 * e), (edge, z),
                     (s, edge), (edge, 0.5 * edge), (0.0 * s, 0.0 * s),
                     opposite(rng, dim, 0.0, (1.0, 1.0)), opposite(rng, dim, 0.0, (1.0, 3.0)),
                     opposite(rng, dim, 0.5, (1.0, 1.0)))  # fmt: skip
            for s, z in pairs:
                yield dim, mu, (s, z, f"s = {s}, z = {z}, mu = {mu:.3g}")


def start_of_far_points(student, rng):
    """Neither s' nor z' is lost where one is 1e7 times the root of mu."""
    for dim, mu in ((1, 1e-10), (1, 1.0), (2, 1e-28), (5, 1.0)):
        far = 1e7 * np.sqrt(mu) * inside(rng, dim, size=0.5)
        for s, z in ((0.0 * far, far), (far, 0.0 * far), (far, 2.0 * far), (far, far)):
            at = f"s = {s}, z = {z}, mu = {mu:g}"
            new_s, new_z = pair_of(student, s, z, mu, at)
            holds("s' o z' = mu e, relative to mu", circ(new_s, new_z) / mu - np.eye(dim)[0], at, 1e-9)
            holds("s' - z' = s - z, relative to its size", (new_s - new_z - (s - z)) / far[0], at, 1e-12)


CHECKS = {
    "e01": [(3, barrier_and_derivatives), (2, barrier_outside), (2, central_point_by_hand),
            (3, central_point_to_its_tolerance)],
    "e02": [(4, scaling_takes_both_to_one_point), (4, scaling_maps_the_cone_onto_itself), (2, scaling_of_multiples)],
    "e03": [(5, newton_step_far_from_the_boundary), (3, newton_step_near_the_boundary),
            (2, newton_step_on_the_central_path)],
    "e04": [(4, step_to_the_boundary), (3, step_without_end), (1, step_along_edges),
            (2, step_near_edges)],
    "e11": [(5, start_is_central), (3, start_is_near), (2, start_of_far_points)],
}  # fmt: skip
