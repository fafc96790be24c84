"""The grader: what each of the twelve programs must do.  `pytest docs/exercises -k e03` asks about one alone.

A failure is a sentence: the equation that does not hold, the point, and the residual with what was allowed.
"""

import numpy as np
import pytest

import qp
import socp
from bench.programs import generate
from bench.teaching.barrier import on_the_path
from bench.teaching.derivatives import Change, Sensitivity
from bench.teaching.elimination import factor_pattern, kkt_pattern
from models import SVC
from socp import ConeProgram, NonNeg, SecondOrder, textbook


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def require(condition, sentence):
    if not condition:
        pytest.fail(sentence, pytrace=False)


def holds(equation, residual, at, allowed):
    """Every entry of the residual of the equation is at most `allowed`."""
    residual = np.abs(np.asarray(residual, float))
    largest = residual.max(initial=0.0)
    if not largest <= allowed:  # NaN fails
        entry = ", ".join(map(str, np.argwhere(residual == largest)[:1].ravel()))
        place = f" in entry {entry}" if entry else ""
        require(False, f"{equation} does not hold at {at}: residual {largest:.2g}{place}, allowed {allowed:.0e}")


def shaped(name, value, shape):
    """The value as an array of floats, if it has the shape."""
    require(value is not None, f"{name} is None, expected an array of shape {shape}")
    require(np.shape(value) == shape, f"{name} has shape {np.shape(value)}, expected {shape}")
    return np.asarray(value, float)


def equals(name, found, expected, at, allowed):
    """The entries of `found` are those expected, up to `allowed`."""
    expected = np.asarray(expected, float)
    found = shaped(name, found, expected.shape)
    if found.ndim == 0:
        require(
            found == expected or abs(found - expected) <= allowed,
            f"{name} is {found:.6g} at {at}, expected {expected:.6g}",
        )
    else:
        holds(f"{name} = what is expected", np.where(found == expected, 0.0, found - expected), at, allowed)


def interior_point(rng, dim, depth=None):
    tail = rng.normal(size=dim - 1)
    return np.r_[np.linalg.norm(tail) + (rng.uniform(0.1, 1.0) if depth is None else depth), tail]


def circ(u, v):
    return np.r_[u @ v, u[0] * v[1:] + v[0] * u[1:]]


def quadratic_program(rng, n=8, p=2, m=14):
    """Data with a strictly complementary solution (x, y, z, s), half of the variables' number of rows active."""
    F = rng.normal(size=(n, n))
    P, A, G = F @ F.T / n + 0.2 * np.eye(n), rng.normal(size=(p, n)), rng.normal(size=(m, n))
    active = np.arange(m) < n // 2
    x, y = rng.normal(size=n), rng.normal(size=p)
    z, s = np.where(active, rng.uniform(0.5, 1.5, m), 0.0), np.where(active, 0.0, rng.uniform(0.5, 1.5, m))
    c = -(P @ x + A.T @ y + G.T @ z)
    return {"P": P, "c": c, "A": A, "b": A @ x, "G": G, "h": G @ x + s}, (x, y, z, s)


# ---- 1. the barrier and the central path


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_e01_barrier_has_the_derivatives_it_says(graded, rng, dim):
    s, step = interior_point(rng, dim), 1e-5
    at = f"s = {s.round(3)}"
    value, gradient, hessian = graded.barrier(s)
    equals("phi(s)", value, -0.5 * np.log(textbook.det(s)) if dim > 1 else -np.log(s[0]), at, 1e-9)
    pairs = [(graded.barrier(s + d), graded.barrier(s - d)) for d in step * np.eye(dim)]
    slopes, curvatures = ([(a[k] - b[k]) / (2 * step) for a, b in pairs] for k in (0, 1))
    holds("gradient = difference quotient of phi", shaped("gradient", gradient, (dim,)) - slopes, at, 1e-4)
    holds(
        "Hessian = difference quotient of the gradient", shaped("Hessian", hessian, (dim, dim)) - curvatures, at, 1e-3
    )
    holds("phi''(s) s = -phi'(s)", hessian @ s + gradient, at, 1e-6)


def test_e01_barrier_is_infinite_outside(graded):
    for s in ([-1.0], [0.0], [1.0, 2.0], [-3.0, 1.0, 1.0], [1.0, 1.0]):
        value = graded.barrier(np.array(s))[0]
        require(value == np.inf, f"phi(s) = inf does not hold at s = {s}, outside of the interior: phi is {value}")


def newton_decrement(c, G, h, mu, x):
    """Half of the squared Newton decrement at x, divided by mu; NaN outside."""
    s = h - G @ x
    if not s.min() > 0.0:
        return np.nan
    gradient = c / mu + G.T @ (1.0 / s)
    return 0.5 * gradient @ np.linalg.solve(G.T @ (G / s[:, None] ** 2), gradient)


def test_e01_central_point_of_an_interval_is_the_one_found_by_hand(graded):
    G, h = np.array([[-1.0], [1.0]]), np.array([0.0, 1.0])
    for mu in (100.0, 1.0, 1e-2, 1e-5):
        x = shaped("x(mu)", graded.central_point(np.array([1.0]), G, h, mu, np.array([0.9])), (1,))
        exact = 2 * mu / (1 + 2 * mu + np.sqrt(1 + 4 * mu**2))
        holds("x(mu) = 2 mu / (1 + 2 mu + sqrt(1 + 4 mu^2))", x / exact - 1.0, f"0 <= x <= 1, mu = {mu}", 1e-5)


def test_e01_central_point_is_reached_from_beside_the_boundary(graded, rng):
    G = np.vstack([rng.normal(size=(6, 3)), np.eye(3), -np.eye(3)])
    c, h = rng.normal(size=3), np.ones(12)
    edge = 1.0 / (G @ -c).max()
    for mu in (1.0, 1e-3, 1e-6):
        for start in (np.zeros(3), -0.999 * edge * c, 0.999 / (G @ c).max() * c):
            x = shaped("x(mu)", graded.central_point(c, G, h, mu, start), (3,))
            at = f"mu = {mu}, started from x = {start.round(3)}"
            require(
                (h - G @ x).min() > 0.0, f"h - Gx > 0 does not hold at {at}: smallest entry {(h - G @ x).min():.2g}"
            )
            holds("lambda(x)^2 / 2 <= 1e-12 mu", newton_decrement(c, G, h, mu, x), at, 2e-12)


# ---- 2. the Nesterov-Todd scaling


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_e02_scaling_takes_s_and_z_to_one_point(graded, rng, dim):
    for depth in (1.0, 1e-3):
        s, z = 3.0 * interior_point(rng, dim, depth), interior_point(rng, dim, depth)
        at = f"s = {s.round(3)}, z = {z.round(3)}"
        W = shaped("W", graded.scaling(s, z), (dim, dim))
        size = np.abs(W).max()
        holds("W = W'", (W - W.T) / size, at, 1e-10)
        least = np.linalg.eigvalsh(W).min()
        require(least > 0.0, f"W is not positive definite at {at}: smallest eigenvalue {least:.2g}")
        holds("W z = W^-1 s", W @ z - np.linalg.solve(W, s), at, 1e-6)


@pytest.mark.parametrize("dim", [2, 4])
def test_e02_scaling_maps_the_cone_onto_itself(graded, rng, dim):
    s, z = interior_point(rng, dim), interior_point(rng, dim)
    W = shaped("W", graded.scaling(s, z), (dim, dim))
    J = np.diag(np.r_[1.0, -np.ones(dim - 1)])
    product = W @ J @ W
    at = f"s = {s.round(3)}, z = {z.round(3)}"
    holds("W J W = t J for a number t > 0 (W maps the cone onto itself)", product - product[0, 0] * J, at, 1e-9)
    require(W[0, 0] > 0.0 and product[0, 0] > 0.0, f"W maps the cone onto its negative at {at}: W_00 = {W[0, 0]:.2g}")


# ---- 3. a Newton step


def newton_residuals(data, point, step, rc):
    """{equation: residual} of the four linearized conditions, z ds + s dz = rc the last."""
    (x, y, z, s), (dx, dy, dz, ds) = point, step
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    return {
        "P dx + A'dy + G'dz = -(Px + c + A'y + G'z)": P @ (x + dx) + c + A.T @ (y + dy) + G.T @ (z + dz),
        "A dx = -(Ax - b)": A @ (x + dx) - b,
        "G dx + ds = -(Gx + s - h)": G @ (x + dx) + s + ds - h,
        "z ds + s dz = right-hand side": z * ds + s * dz - rc,
    }


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_e03_newton_step_solves_all_four_equations(graded, rng, size):
    data, _ = quadratic_program(rng)
    x, y = rng.normal(size=8), rng.normal(size=2)
    s, z = rng.uniform(0.5, 1.5, (2, 14))
    s[::2] *= size
    z[1::2] *= size
    for sigma in (0.3, 0.0):
        step = graded.newton_step(data, x, y, z, s, sigma)
        step = [shaped(name, d, v.shape) for name, d, v in zip(("dx", "dy", "dz", "ds"), step, (x, y, z, s))]
        at = f"an infeasible point, least s_i and z_i {min(s.min(), z.min()):.1g}, sigma = {sigma}"
        rc = sigma * (s @ z) / 14 - s * z
        for equation, residual in newton_residuals(data, (x, y, z, s), step, rc).items():
            holds(equation, residual, at, 1e-7)


def test_e03_newton_step_is_zero_on_the_central_path(graded):
    data = {"P": np.zeros((1, 1)), "c": np.array([1.0]), "A": np.zeros((0, 1)), "b": np.zeros(0)}
    data |= {"G": np.array([[-1.0], [1.0]]), "h": np.array([0.0, 1.0])}
    it = on_the_path(ConeProgram(data["c"], data["G"], data["h"], [NonNeg(2)]), 0.1)
    for name, d in zip(("dx", "dy", "dz", "ds"), graded.newton_step(data, it.x, it.y, it.z, it.s, 1.0)):
        holds(f"{name} = 0 for sigma = 1", d, "the point of the central path of 0 <= x <= 1 with mu = 0.1", 1e-5)


# ---- 4. the length of a step


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_e04_step_ends_on_the_boundary(graded, rng, dim):
    depth = textbook.Cone([SecondOrder(dim) if dim > 1 else NonNeg(1)]).depth
    for _ in range(200):
        u, du = interior_point(rng, dim), rng.normal(size=dim)
        at = f"u = {u.round(3)}, du = {du.round(3)}"
        alpha = graded.longest_step(u, du)
        require(alpha is not None and alpha > 0.0, f"alpha > 0 does not hold at {at}: alpha = {alpha}")
        if np.isinf(alpha):
            require(depth(du) >= -1e-9, f"alpha = inf at {at}, but du is outside of the cone by {-depth(du):.2g}")
            continue
        end = depth(u + alpha * du) / (1.0 + alpha * np.linalg.norm(du))
        holds("smallest eigenvalue of u + alpha du = 0", end, f"{at}, alpha = {alpha:.6g}", 1e-7)
        before = depth(u + 0.999 * alpha * du)
        require(before > 0.0, f"u + 0.999 alpha du is outside by {-before:.2g} at {at}, alpha = {alpha:.6g}")


def test_e04_step_along_edges_and_into_the_cone(graded):
    e = np.array([1.0, 0.0, 0.0])
    for u, du, expected in (
        (e, np.array([1.0, 1.0, 0.0]), np.inf),  # an edge: det is linear along it
        (e, np.array([-1.0, -1.0, 0.0]), 0.5),
        (e, e, np.inf),
        (e, -e, 1.0),  # det has a double root, and grows beyond it
        (e, np.array([0.0, 3.0, 4.0]), 0.2),
        (e, np.array([-1.0, -1.0 + 1e-12, 0.0]), 0.5),  # beside an edge: the leading coefficient is 2e-12
        (e, np.array([0.0, 1e-3, 0.0]), 1e3),
        (np.array([2.0]), np.array([-0.5]), 4.0),
        (np.array([2.0]), np.array([0.0]), np.inf),
    ):
        alpha = graded.longest_step(u, du)
        close = alpha == expected or abs(alpha - expected) <= 1e-6 * expected
        require(close, f"alpha is {alpha} at u = {u}, du = {du}, expected {expected}")


# ---- 5. the whole method

SIZES = (5, 1, 10), (10, 3, 25), (20, 0, 60), (6, 2, 8)  # n, p, m


def reference_step(data, x, y, z, s):
    """(right-hand side of z ds + s dz, combined direction, step length) from the matrix of order n + p + 2m."""
    P, A, G = (data[name] for name in ("P", "A", "G"))
    n, p, m = x.size, y.size, z.size
    Z, S, I = np.diag(z), np.diag(s), np.eye(m)
    K = np.block([
        [P, A.T, G.T, np.zeros((n, m))], [A, np.zeros((p, p + 2 * m))],
        [G, np.zeros((m, p + m)), I], [np.zeros((m, n + p)), S, Z],
    ])  # fmt: skip

    def direction(rc):
        zero = [np.zeros(v.size) for v in (x, y, z, s)]
        r = list(newton_residuals(data, (x, y, z, s), zero, 0.0).values())[:3]
        return np.split(np.linalg.solve(K, np.concatenate([-r[0], -r[1], -r[2], rc])), [n, n + p, n + p + m])

    def longest(dz, ds):
        ratios = np.concatenate([-v[d < 0] / d[d < 0] for v, d in ((z, dz), (s, ds))])
        return ratios.min(initial=np.inf)

    _, _, dz, ds = direction(-s * z)
    sigma = (1.0 - min(1.0, longest(dz, ds))) ** 3
    rc = sigma * (s @ z) / m - s * z - ds * dz
    combined = direction(rc)
    return rc, combined, min(1.0, 0.99 * longest(*combined[2:]))


def linear_residuals(data, point):
    """Px + c + A'y + G'z, Ax - b and Gx + s - h, one after the other."""
    return np.concatenate(list(newton_residuals(data, point, [np.zeros(v.size) for v in point], 0.0).values())[:3])


def test_e05_step_is_the_combined_direction(graded, rng):
    for n, p, m in SIZES:
        data, _ = quadratic_program(rng, n, p, m)
        point = (rng.normal(size=n), rng.normal(size=p), *rng.uniform(0.1, 3.0, (2, m)))
        for k in range(4):
            at = f"n = {n}, p = {p}, m = {m}, {k} steps after an infeasible start"
            rc, expected, length = reference_step(data, *point)
            new = graded.step(data, *(v.copy() for v in point))
            new = [shaped(name, v, old.shape) for name, v, old in zip("xyzs", new, point)]
            # a step of alpha leaves 1 - alpha of the residuals of the linear equations; without residuals, project
            before, after = (linear_residuals(data, v) for v in (point, new))
            moved, whole = np.concatenate(new) - np.concatenate(point), np.concatenate(expected)
            left = after @ before / (before @ before) if np.abs(before).max() > 1e-6 else 0.0
            alpha = 1.0 - left if left else moved @ whole / (whole @ whole)
            require(alpha > 1e-6, f"the residuals of the linear equations do not fall at {at}: 1 - alpha = {left:.2g}")
            direction = [(v - old) / alpha for v, old in zip(new, point)]
            for equation, residual in newton_residuals(data, point, direction, rc).items():
                equation = equation.replace("right-hand side", "sigma mu - s z - ds_aff dz_aff")
                length_is = f"alpha = {alpha:.4g}, if 1 - alpha of the linear equations' residuals are left"
                holds(equation, residual, f"{at} ({length_is})", 1e-7 * (1.0 + np.abs(whole).max()))
            rule, lengths = "alpha = min(1, 0.99 of the way to the boundary)", f"{alpha:.6g}, expected {length:.6g}"
            holds(rule, alpha / length - 1.0, f"{at} (alpha = {lengths})", 1e-6)
            point = new


def programs(rng):
    for n, p, m in SIZES:
        yield f"the quadratic program with n = {n}, p = {p}, m = {m}", quadratic_program(rng, n, p, m)[0]
    box = np.vstack([np.eye(3), -np.eye(3)])
    data = {"P": np.zeros((3, 3)), "c": np.array([-1.0, 2.0, -3.0]), "A": np.ones((1, 3)), "b": np.array([1.5])}
    yield "the linear program", data | {"G": box, "h": np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])}


def largest_residual(data, point):
    return max(np.abs(linear_residuals(data, point)).max(), point[2] @ point[3])


def test_e05_method_iterates_its_step_to_the_tolerance(graded, factorized, rng):
    one_step, calls = graded.step, []

    def recorded(data, x, y, z, s):
        before = [np.array(v, float) for v in (x, y, z, s)]
        after = one_step(data, x, y, z, s)
        calls.append((before, [np.array(v, float) for v in after]))
        return after

    graded.step = recorded  # what `solve` finds under this name
    for at, data in programs(rng):
        for tol in (1e-8, 1e-3):
            del calls[:], factorized[:]
            x, y, z, count = graded.solve(data, tol)
            matrices = len(factorized)
            require(calls, f"solve does not call step at {at}: it returns {count} iterations")
            require(count == len(calls), f"solve says {count} iterations at {at}, and called step {len(calls)} times")
            require(
                matrices == count, f"{matrices} different matrices in {count} iterations at {at}, expected one each"
            )
            require(count <= (14 if tol < 1e-6 else 10), f"{count} iterations at {at}, tol = {tol:.0e}: too many")
            require(
                min(calls[0][0][2].min(), calls[0][0][3].min()) > 0.0, f"s, z > 0 does not hold at the start of {at}"
            )
            for (before, _), (_, after) in zip(calls[1:], calls):
                holds("start of a step = end of the last one", np.concatenate(before) - np.concatenate(after), at, 0.0)
            for name, found, last in zip("xyz", (x, y, z), calls[-1][1]):
                equals(name, found, last, f"the end of {at}", 0.0)
            holds("residuals and gap <= tol", largest_residual(data, calls[-1][1]), at, tol)
            early = largest_residual(data, calls[-1][0])
            require(early > tol, f"one step too many at {at}: the largest residual was {early:.1e} before the last")


def test_e05_method_stops_where_every_equation_holds(graded, rng):
    data, (x, y, z, s) = quadratic_program(rng, 8, 2, 14)
    d = np.linalg.svd(data["G"][z > 0.0])[2][-1]  # along d no active row changes; take the curvature away
    data["P"] = (np.eye(8) - np.outer(d, d)) @ data["P"] @ (np.eye(8) - np.outer(d, d))
    data["c"] = -(data["P"] @ x + data["A"].T @ y + data["G"].T @ z)
    w = np.linalg.svd(data["G"].T)[2][-1]  # G'w = 0
    w *= np.sign(s @ w)
    script = {
        "Px + c + A'y + G'z": (x, y + 1e-3, z, s),
        "Ax - b": (x + 1e-3 * d, y, z, s - 1e-3 * data["G"] @ d),
        "Gx + s - h": (x, y, z, s + np.where(z > 0.0, 0.0, 1e-3)),
        "s'z": (x, y, z + 1e-2 * w, s),
        "nothing": (x, y, z, s),
    }
    points, calls = iter(script.values()), []

    def scripted(data, *point):
        require(len(calls) < len(script), "solve goes on where every equation holds")
        calls.append(point)
        return tuple(v.copy() for v in next(points))

    graded.step = scripted  # what `solve` finds under this name
    count = graded.solve(data, 1e-6)[3]
    wrong = list(script)[max(len(calls) - 1, 0)]
    require(count == len(script), f"solve stops at a point where {wrong} is far above tol = 1e-6, all others below it")


# ---- 6. certificates


def linear(c, A, b, G, h):
    arrays = {"c": c, "b": b, "h": h}
    data = {name: np.asarray(v, float) for name, v in arrays.items()}
    return data | {"A": np.reshape(A, (-1, len(c))).astype(float), "G": np.reshape(G, (-1, len(c))).astype(float)}


# name: program, (x, y, z, tau), tolerance, what is to be said
NOTHING = linear([0.0], [], [], [[-1.0], [1.0]], [-1.0, -1.0])  # x >= 1 and x <= -1
CROSSED = linear([0.0], [[1.0], [1.0]], [0.0, 1.0], [[-1.0]], [5.0])  # x = 0 and x = 1
DOWN = linear([-1.0, 0.0], [], [], [[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])
LINE = linear([-1.0, 0.0], [[1.0, -1.0]], [0.0], [[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])  # x_1 = x_2 >= 0
BOX = linear([1.0], [], [], [[-1.0], [1.0]], [0.0, 1.0])
SUM = linear([1.0, 1.0], [[1.0, 1.0]], [1.0], [[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])  # every feasible x is optimal
FEASIBLE = linear([0.0], [], [], [[1.0], [-1.0]], [1.0, 1.0])
VERDICTS = {
    "an optimal corner": (BOX, ([0.0], [], [1.0, 0.0], 1.0), 1e-8, "optimal"),
    "an optimal corner, tau = 1e-3": (BOX, ([0.0], [], [1e-3, 0.0], 1e-3), 1e-8, "optimal"),
    "an optimal corner, tau = 1000": (BOX, ([0.0], [], [1e3, 0.0], 1e3), 1e-8, "optimal"),
    "an optimal point of a line": (SUM, ([0.5, 0.5], [-1.0], [0.0, 0.0], 1.0), 1e-8, "optimal"),
    "Ax = b violated, all else right": (SUM, ([1.0, 1.0], [-0.5], [0.5, 0.5], 1.0), 1e-8, "unknown"),
    "Ax = b violated, objectives equal": (
        linear([0.0], [[1.0]], [1.0], [[-1.0]], [0.0]), ([0.5], [0.0], [0.0], 1.0), 1e-8, "unknown"),
    "Gx <= h violated, objectives equal": (
        linear([0.0], [], [], [[-1.0]], [0.0]), ([-0.5], [], [0.0], 1.0), 1e-8, "unknown"),
    "z < 0, all else right": (
        linear([1.0], [], [], [[1.0], [-1.0]], [0.0, 1.0]), ([0.0], [], [-1.0, 0.0], 1.0), 1e-8, "unknown"),
    "c + G'z not zero, objectives equal": (BOX, ([0.0], [], [0.5, 0.0], 1.0), 1e-8, "unknown"),
    "objectives apart, feasible": (BOX, ([0.5], [], [1.0, 0.0], 1.0), 1e-8, "unknown"),
    "objectives apart, dual slack": (BOX, ([0.0], [], [2.0, 1.0], 1.0), 1e-8, "unknown"),
    "residual 1e-6 at tau = 1e-3, tol = 1e-5": (BOX, ([0.0], [], [1e-3 + 1e-7, 0.0], 1e-3), 1e-5, "unknown"),
    "a ray of x >= 1, x <= -1": (NOTHING, ([0.0], [], [1.0, 1.0], 0.0), 1e-8, "primal_infeasible"),
    "the same, of size 1e-3": (NOTHING, ([0.0], [], [1e-3, 1e-3], 0.0), 1e-8, "primal_infeasible"),
    "the same, of size 1e3, rounded": (NOTHING, ([0.0], [], [1e3, 1e3 + 1e-6], 0.0), 1e-8, "primal_infeasible"),
    "the same, of size 1e-9, not G'z = 0": (NOTHING, ([0.0], [], [1e-9, 2e-9], 0.0), 1e-8, "unknown"),
    "a ray of x = 0, x = 1": (CROSSED, ([0.0], [1.0, -1.0], [0.0], 0.0), 1e-8, "primal_infeasible"),
    "A'y left out of A'y + G'z": (CROSSED, ([0.0], [0.0, -1.0], [0.0], 0.0), 1e-8, "unknown"),
    "b'y + h'z > 0": (FEASIBLE, ([0.0], [], [1.0, 1.0], 0.0), 1e-8, "unknown"),
    "a ray with z < 0": (FEASIBLE, ([0.0], [], [-1.0, -1.0], 0.0), 1e-8, "unknown"),
    "a ray with small z < 0": (FEASIBLE, ([0.0], [], [-1e-9, -1e-9], 0.0), 1e-8, "unknown"),
    "no ray: z = (1, 1) on the box": (BOX, ([0.0], [], [1.0, 1.0], 0.0), 1e-8, "unknown"),
    "a direction down": (DOWN, ([1.0, 0.5], [], [0.0, 0.0], 0.0), 1e-8, "dual_infeasible"),
    "a direction down, of size 1e-3": (DOWN, ([1e-3, 5e-4], [], [0.0, 0.0], 0.0), 1e-8, "dual_infeasible"),
    "a direction down, of size 1e3, rounded": (DOWN, ([1e3, -1e-6], [], [0.0, 0.0], 0.0), 1e-8, "dual_infeasible"),
    "a direction down a line": (LINE, ([1.0, 1.0], [0.0], [0.0, 0.0], 0.0), 1e-8, "dual_infeasible"),
    "a direction with Ax not zero": (LINE, ([1.0, 0.5], [0.0], [0.0, 0.0], 0.0), 1e-8, "unknown"),
    "a direction with Ax of size 1e-9": (LINE, ([2e-9, 1e-9], [0.0], [0.0, 0.0], 0.0), 1e-8, "unknown"),
    "a direction out of the cone": (DOWN, ([1.0, -0.5], [], [0.0, 0.0], 0.0), 1e-8, "unknown"),
    "the same, of size 1e-9": (DOWN, ([1e-9, -1e-9], [], [0.0, 0.0], 0.0), 1e-8, "unknown"),
    "a direction up": (DOWN, ([0.0, 1.0], [], [0.0, 0.0], 0.0), 1e-8, "unknown"),
    "all zero": (BOX, ([0.0], [], [0.0, 0.0], 0.0), 1e-8, "unknown"),
    "optimal and a ray at tol = 0.2": (
        linear([0.0], [], [], [[-1.0], [1.0]], [-0.1, -0.1]), ([0.0], [], [0.5, 0.5], 1.0), 0.2, "optimal"),
    "rays of both kinds": (
        linear([-1.0], [[0.0]], [1.0], [[-1.0]], [0.0]), ([1.0], [-1.0], [0.0], 0.0), 1e-8, "primal_infeasible"),
}  # fmt: skip


def test_e06_verdicts_on_points_that_are_and_are_not_what_they_claim(graded):
    for name, (data, (x, y, z, tau), tol, expected) in VERDICTS.items():
        found = graded.verdict(data, *(np.array(v) for v in (x, y, z)), tau, tol)
        equations = {
            "|Ax - b tau|": data["A"] @ np.array(x) - tau * data["b"],
            "|c tau + A'y + G'z|": tau * data["c"] + data["A"].T @ np.array(y) + data["G"].T @ np.array(z),
            "max(Gx - h tau)": (data["G"] @ np.array(x) - tau * data["h"]).clip(0.0),
        }
        told = ", ".join(f"{name} = {np.abs(r).max(initial=0.0):.1g}" for name, r in equations.items())
        require(found == expected, f"{name}: the verdict is {found!r}, expected {expected!r}; tau = {tau:g}, {told}")


def test_e06_verdicts_on_what_the_textbook_found(graded, rng):
    A, x0 = rng.normal(size=(2, 5)), rng.uniform(0.5, 1.5, 5)
    c = rng.uniform(0.5, 1.5, 5)
    for side, expected in ((99.0, "optimal"), (-9.0, "primal_infeasible")):
        G, sides = np.vstack([-np.eye(5), np.ones(5)]), np.append(np.zeros(5), side)  # x >= 0, sum x <= side
        last = list(textbook.iterates(ConeProgram(c, G, sides, [NonNeg(len(G))], A, A @ x0)))[-1]
        found = graded.verdict(linear(c, A, A @ x0, G, sides), last.x, last.y, last.z, last.tau, 1e-6)
        require(found == expected, f"sum x <= {side:g}, last iterate of the textbook: {found!r}, expected {expected!r}")


# ---- 7. LDL' with delta


def test_e07_factor_of_a_quasidefinite_matrix_in_any_order(graded, rng):
    F, B = rng.normal(size=(6, 6)), rng.normal(size=(4, 6))
    K = np.block([[F @ F.T + np.eye(6), B.T], [B, -np.eye(4)]])
    signs = np.repeat([1.0, -1.0], [6, 4])
    for delta in (1e-8, 1e-2):
        for _ in range(5):
            order = rng.permutation(10)
            at = f"delta = {delta}, the order {order}"
            ordered = K[np.ix_(order, order)]
            L, d = graded.factor(ordered.copy(), signs[order], delta)
            L, d = shaped("L", L, (10, 10)), shaped("d", d, (10,))
            holds("diagonal of L = 1", np.diag(L) - 1.0, at, 0.0)
            holds("L is lower triangular", np.triu(L, 1), at, 0.0)
            holds("sign of d = signs", np.sign(d) - signs[order], at, 0.0)
            holds(
                "L D L' = K + delta diag(signs)",
                L @ np.diag(d) @ L.T - ordered - delta * np.diag(signs[order]),
                at,
                1e-10,
            )


def test_e07_pivot_that_is_too_small_is_replaced(graded):
    delta = 1e-4
    # -2: the wrong sign; -0.95: 0.05 delta, too small; -0.5: half of delta, which is kept
    for first, expected in ((-1e4, 1.0), (-0.95, 1.0), (-0.5, 0.5)):
        K = np.array([[first * delta, 0.5], [0.5, -2.0]])
        for side in (1.0, -1.0):
            L, d = graded.factor(side * K, side * np.array([1.0, -1.0]), delta)
            at = f"K_00 = {side * first * delta:g}, delta = {delta}, sign {side:g}"
            holds(f"d_0 = signs_0 {expected} delta", (d[0] - side * expected * delta) / delta, at, 1e-6)
            difference = L @ np.diag(d) @ L.T - side * (K - np.diag([0.0, delta]))
            holds("L D L' = K + delta diag(signs) beside the entry (0, 0)", difference[[0, 1, 1], [1, 0, 1]], at, 1e-6)


def test_e07_refinement_solves_a_singular_system_that_has_a_solution(graded, rng):
    A = rng.normal(size=(2, 5))
    A = np.vstack([A, A[0]])  # an equation twice
    K = np.block([[np.eye(5), A.T], [A, np.zeros((3, 3))]])
    signs, u, delta = np.repeat([1.0, -1.0], [5, 3]), rng.normal(size=8), 1e-5
    factor, calls = graded.factor, []
    graded.factor = lambda *arguments: (calls.append(arguments), factor(*arguments))[1]
    solutions = [graded.solve(K, signs, K @ u, delta, steps) for steps in (0, 1, 3)]
    require(len(calls) == 3, f"factor was called {len(calls)} times in 3 calls of solve, expected once in each")
    at = "K with an equation twice, delta = 1e-5"
    plain = np.linalg.solve(K + delta * np.diag(signs), K @ u)
    holds("K u = rhs after no refinement as with K + delta diag(signs)", K @ (solutions[0] - plain), at, 1e-8)
    refined = plain + np.linalg.solve(K + delta * np.diag(signs), K @ (u - plain))
    holds(
        "K u = rhs after one refinement u += (K + delta diag(signs))^-1 (rhs - K u)",
        K @ (solutions[1] - refined),
        at,
        1e-8,
    )
    holds("K u = rhs after three refinements", K @ (solutions[2] - u), at, 1e-9)
    require(np.abs(K @ (plain - u)).max() > 1e-7, "the residual before refinement is too small to see it")


# ---- 8. minimum degree


def check_degrees(pattern, order, at):
    """Every node of the order has the least degree when it is taken."""
    graph = {i: set(np.flatnonzero(row)) - {i} for i, row in enumerate(pattern)}
    for step, k in enumerate(order):
        least = min(len(near) for near in graph.values())
        require(
            len(graph[k]) == least, f"{at}: step {step} takes node {k} of degree {len(graph[k])}, the least is {least}"
        )
        near = graph.pop(k)
        for i in near:
            graph[i] = (graph[i] | near) - {i, k}


def patterns(rng):
    arrow = np.eye(9, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    random = rng.random((25, 25)) < 0.12
    upper = kkt_pattern(generate.group_lasso(10))
    return {"an arrow": arrow, "a random matrix": random | random.T, "a KKT matrix": (upper + upper.T).toarray() > 0}


def test_e08_order_takes_a_node_of_least_degree_each_time(graded, rng):
    for at, pattern in patterns(rng).items():
        given = pattern.copy()
        order = graded.order(pattern)
        require((pattern == given).all(), f"{at}: the pattern that came was changed by order")
        require(np.array_equal(np.sort(order), np.arange(len(pattern))), f"{at}: {order} is not a permutation")
        check_degrees(pattern, order, at)


def test_e08_fill_is_that_of_a_factorization(graded, rng):
    arrow, _, full = patterns(rng).values()
    n, natural = len(arrow), np.arange(len(full))
    upper = kkt_pattern(generate.group_lasso(10))
    for at, pattern, order, expected in (
        ("an arrow, tip first", arrow, np.arange(n), n * (n - 1) // 2),
        ("an arrow, tip last", arrow, np.arange(n)[::-1], n - 1),
        ("a path of 4 nodes", np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool), np.array([1, 2, 0, 3]), 5),
        ("a KKT matrix", full, natural, factor_pattern(upper, natural)[1].nnz - len(full)),
    ):
        before = pattern.copy()
        found = graded.fill(pattern, order)
        require(found == expected, f"{at}: {found} entries below the diagonal of L, expected {expected}")
        require((pattern == before).all(), f"{at}: the pattern that came was changed by fill")


def test_e08_order_of_a_tree_has_no_fill(graded, rng):
    n = 30
    tree = np.zeros((n, n), dtype=bool)
    for child in range(1, n):
        tree[child, rng.integers(child)] = True
    tree |= tree.T
    found = graded.fill(tree, graded.order(tree))
    require(found == n - 1, f"a tree of {n} nodes: {found} entries below the diagonal of L, expected {n - 1}")


# ---- 9. presolve


def linear_program(rng):
    """Variables 1 and 4 are told by rows with one entry, the first of which has one only when the second is gone."""
    A = np.vstack([rng.normal(size=(3, 7)), np.zeros((4, 7))])
    A[3, [1, 4]], A[4, 4], A[5, 2] = [2.0, 1.0], 3.0, -1.0  # a bound of variable 2 is row 5
    x = rng.uniform(0.2, 0.8, 7)
    l, u = A @ x - 0.1, A @ x + 0.1
    l[3:5] = u[3:5] = (A @ x)[3:5]
    l[5], u[5] = -np.inf, -0.1
    l[6], u[6] = -1.0, 1.0  # the row without entries
    return {"q": rng.normal(size=7), "A": A, "l": l, "u": u, "lb": np.zeros(7), "ub": np.ones(7)}, x


def unchanged(lp, given, at):
    for name, value in given.items():
        require(np.array_equal(lp[name], value), f"{at}: the {name} that came was changed")


def presolved(graded, lp, at):
    """(smaller program, x) of a program that has a solution."""
    try:
        return graded.presolve(lp)
    except ValueError as error:
        said = str(error)
    pytest.fail(f"presolve raises ValueError ({said}) at {at}, which has a solution", pytrace=False)


def test_e09_presolve_leaves_out_rows_and_variables(graded, rng):
    lp, x = linear_program(rng)
    given = {name: value.copy() for name, value in lp.items()}
    at = "a program whose rows tell the variables 1 and 4, and a bound of 2"
    small, values = presolved(graded, lp, at)
    unchanged(lp, given, at)
    values = shaped("x", values, (7,))
    gone = np.flatnonzero(np.isfinite(values))
    require(np.array_equal(gone, [1, 4]), f"{at}: the variables {gone} went, expected [1 4]")
    holds("x of the variables that went = their values", values[[1, 4]] - x[[1, 4]], at, 1e-9)
    left = [0, 2, 3, 5, 6]
    equals("A", small["A"], lp["A"][:3][:, left], at, 0.0)
    equals("q", small["q"], lp["q"][left], at, 0.0)
    part = lp["A"][:3, [1, 4]] @ x[[1, 4]]
    for name, expected in (("l", lp["l"][:3] - part), ("u", lp["u"][:3] - part), ("ub", np.ones(5))):
        equals(name, small[name], expected, at, 1e-9)
    equals("lb (row 5 says -x_2 <= -0.1)", small["lb"], [0.0, 0.1, 0.0, 0.0, 0.0], at, 1e-9)


def test_e09_presolve_does_not_change_the_solution(graded, rng):
    lp, _ = linear_program(rng)
    at = "the solution of the smaller program, put together"
    small, values = presolved(graded, lp, at)
    solutions = []
    for one in (lp, small):
        rest = {name: one[name] for name in ("A", "l", "u", "lb", "ub")}
        solutions.append(qp.solve(None, one["q"], **rest, tol=1e-9).x)
    values[np.isnan(values)] = solutions[1]
    holds("q'x = optimal value", lp["q"] @ values - lp["q"] @ solutions[0], at, 1e-6)
    holds("Ax <= u", (lp["A"] @ values - lp["u"]).clip(0.0), at, 1e-6)
    holds("Ax >= l", (lp["l"] - lp["A"] @ values).clip(0.0), at, 1e-6)


def test_e09_presolve_finds_what_cannot_be_met(graded, rng):
    for row, side, said in (
        (6, 2.0, "0 = 2"),
        (6, -2.0, "0 = -2"),
        (5, -2.0, "x_2 = 2 <= 1"),
        (5, 0.5, "x_2 = -0.5 >= 0"),
        (5, -1.0 - 1e-6, "x_2 = 1.000001 <= 1"),
    ):
        lp, _ = linear_program(rng)
        lp["l"][row] = lp["u"][row] = side
        try:
            graded.presolve(lp)
        except ValueError:
            continue
        pytest.fail(f"no ValueError for {said}", pytrace=False)
    lp, _ = linear_program(rng)
    lp["l"][5] = lp["u"][5] = -1.0 - 1e-12  # x_2 = 1 + 1e-12, within the tolerance
    presolved(graded, lp, "a row that says x_2 = 1 + 1e-12, for x_2 <= 1")


# ---- 10. the dual of the support vector machine


def two_classes(rng):
    y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(40, 3)) + 0.8 * y[:, None], y


def solved_dual(graded, X, y, C):
    d = graded.dual(X, y, C)
    n = len(X)
    for name, shape in (("P", (n, n)), ("q", (n,)), ("A", (1, n)), ("b", (1,)), ("lb", (n,)), ("ub", (n,))):
        shaped(name, d.get(name), shape)
    return qp.solve(d["P"], d["q"], A=d["A"], l=d["b"], u=d["b"], lb=d["lb"], ub=d["ub"], tol=1e-10)


def test_e10_dual_has_the_value_of_the_primal(graded, rng):
    X, y = two_classes(rng)
    for C in (0.1, 2.0):
        at = f"C = {C}"
        found = solved_dual(graded, X, y, C)
        require(found.status == "optimal", f"the dual is {found.status.value} at {at}, expected optimal")
        w, beta = graded.hyperplane(X, y, C, found.x)
        w, beta = shaped("w", w, (3,)), shaped("beta", beta, ())
        primal = 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (X @ w + beta)).sum()
        holds("value of the primal at (w, beta) = -value of the dual", primal / found.objective + 1.0, at, 1e-5)


def test_e10_hyperplane_is_that_of_the_estimator(graded, rng):
    X, y = two_classes(rng)
    found = solved_dual(graded, X, y, 0.5)
    w, beta = graded.hyperplane(X, y, 0.5, found.x)
    machine = SVC(C=0.5, kernel="linear").fit(X, y)
    holds("w = the estimator's coef_", shaped("w", w, (3,)) - machine.coef_[0], "C = 0.5", 1e-4)
    holds(
        "w'x + beta = the estimator's decision function", X @ w + beta - machine.decision_function(X), "C = 0.5", 1e-3
    )


# ---- 11. a warm start


def pair_of(graded, s, z, mu):
    new_s, new_z = graded.centered(s, z, mu)
    return shaped("s'", new_s, s.shape), shaped("z'", new_z, s.shape)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_e11_start_is_central_and_near(graded, rng, dim):
    for mu in (1.0, 1e-4, 1e-8):
        s = interior_point(rng, dim, 0.5)
        z = np.zeros(dim)
        for first, second in ((s, z), (z, s), (s, 2.0 * s), (s, s), (s, interior_point(rng, dim, 0.5))):
            at = f"s = {first.round(3)}, z = {second.round(3)}, mu = {mu}"
            new_s, new_z = pair_of(graded, first, second, mu)
            holds("s' o z' = mu e", circ(new_s, new_z) - mu * np.eye(dim)[0], at, 1e-6 * mu + 1e-12)
            holds("s' - z' = s - z", new_s - new_z - (first - second), at, 1e-9)
            for name, v in (("s'", new_s), ("z'", new_z)):
                depth = v[0] - np.linalg.norm(v[1:])
                require(depth > 0.0, f"{name} in the interior does not hold at {at}: smallest eigenvalue {depth:.2g}")


def test_e11_start_stays_inside_where_s_is_tiny_beside_z(graded):
    for s, z in ((0.0, 1e4), (1e4, 0.0)):
        at = f"s = {s:g}, z = {z:g}, mu = 1e-10"
        new_s, new_z = (v[0] for v in pair_of(graded, np.array([s]), np.array([z]), 1e-10))
        require(min(new_s, new_z) > 0.0, f"s', z' > 0 does not hold at {at}: {new_s:.2g}, {new_z:.2g}")
        holds("s' z' = mu", new_s * new_z / 1e-10 - 1.0, at, 1e-6)


def test_e11_start_saves_iterations(graded, rng):
    data, _ = quadratic_program(rng, 10, 2, 30)
    first = ConeProgram(data["c"], data["G"], data["h"], [NonNeg(30)], data["A"], data["b"], data["P"])
    last = textbook.solve(first)
    moved = ConeProgram(data["c"] + 1e-4 * rng.normal(size=10), data["G"], data["h"], [NonNeg(30)], data["A"],
                        data["b"], data["P"])  # fmt: skip
    s, z = (np.concatenate(parts) for parts in zip(*(
        pair_of(graded, last.s[i : i + 1], last.z[i : i + 1], 1e-4) for i in range(30))))  # fmt: skip
    method, count = textbook.Method(moved), 0
    it = textbook.Iterate(last.x, last.y, z, s, 1.0, 1e-4)
    method.judge(it, 1e-8)
    while it.status is None and count < 50:
        it, count = method.step(it), count + 1
        method.judge(it, 1e-8)
    cold = textbook.solve(moved).iterations
    require(
        it.status == "optimal" and count < cold, f"{count} iterations after the warm start, {cold} after the cold one"
    )


# ---- 12. the derivative of a solution


def solved_program(rng):
    """A program and its solution, with what is zero up to 1e-6 in both s and z."""
    data, _ = quadratic_program(rng, 6, 0, 12)
    program = ConeProgram(data["c"], data["G"], data["h"], [NonNeg(12)], P=data["P"])
    base = socp.solve(program, tol=1e-10)
    s, z = (np.maximum(v, 1e-7) for v in (base.s, base.z))
    return program, data, base, s, z


def test_e12_forward_derivative_is_that_of_a_difference(graded, rng):
    _, data, base, s, z = solved_program(rng)

    def solved(t, dq, dh):
        program = ConeProgram(data["c"] + t * dq, data["G"], data["h"] + t * dh, [NonNeg(12)], P=data["P"])
        return socp.solve(program, tol=1e-10)

    zero = np.zeros(6), np.zeros(12)
    for at, dq, dh in (("dq alone", rng.normal(size=6), zero[1]), ("dh alone", zero[0], rng.normal(size=12)),
                       ("dq and dh", rng.normal(size=6), rng.normal(size=12))):  # fmt: skip
        step = 1e-4
        dx = shaped("dx", graded.forward(data["P"], data["G"], base.x, z, s, dq, dh), (6,))
        quotient = (solved(step, dq, dh).x - solved(-step, dq, dh).x) / (2 * step)
        holds("dx = difference quotient of the solution", dx - quotient, at, 1e-4)


def test_e12_backward_derivative_is_the_adjoint(graded, factorized, rng):
    program, data, base, s, z = solved_program(rng)
    slope, at = rng.normal(size=6), "n = 6, m = 12"
    del factorized[:]
    dq, dh = graded.backward(data["P"], data["G"], base.x, z, s, slope)
    require(len(factorized) == 1, f"{len(factorized)} different matrices in one call of backward, expected one")
    dq, dh = shaped("dl/dq", dq, (6,)), shaped("dl/dh", dh, (12,))
    expected = Sensitivity(program, base.x, base.y, base.z).backward(slope)
    holds("dl/dq = that of the implicit function theorem", dq - expected.q, at, 1e-6)
    holds("dl/dh = that of the implicit function theorem", dh - expected.h, at, 1e-6)
    change = Change(q=rng.normal(size=6), h=rng.normal(size=12))
    moved = graded.forward(data["P"], data["G"], base.x, z, s, change.q, change.h)
    holds("gradient'dx = (dl/dq)'dq + (dl/dh)'dh", slope @ moved - dq @ change.q - dh @ change.h, at, 1e-6)
