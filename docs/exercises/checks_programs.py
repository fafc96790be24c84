"""Checks of the programs about programs, exercises 5, 6, 10, 12.  A check that fails raises Refused with a sentence."""

import itertools

import numpy as np
from checks_cones import newton_residuals, quadratic_program
from student import holds, parts, require, shaped

import qp

SIZES = (5, 1, 10), (10, 3, 25), (20, 0, 60), (6, 2, 8), (1, 0, 2)  # n, p, m


def answers(student, name, arguments, inner, uses, at):
    """Return the answer of a call that calls `inner` once, and `uses` times the function that `inner` returns.

    It must depend on all these answers: with another in the place of one of them it has to be another.
    """
    clean = student.call(name, *arguments, record=[inner])
    for called, count in ((inner, 1), (f"{inner}()", uses)):
        found = len(student.calls.get(called, ()))
        require(found == count, f"{name} calls {called} {found} times at {at}, expected {count}")
    for k in range(uses):
        reply = student.ask(name, *arguments, record=[inner], spoiled=(f"{inner}()", k))
        flat = [np.concatenate([np.ravel(v) for v in one], axis=None) if isinstance(one, tuple) else np.ravel(one)
                for one in (clean, reply.get("answer", np.nan))]  # fmt: skip
        changed = flat[0].shape != flat[1].shape or not np.allclose(*flat, rtol=1e-7, atol=1e-12)
        require(changed, f"{name} makes no use of the answer of call {k + 1} of {inner}() at {at}")
    return clean


# ---- 5. the whole method


def factor_solves_its_system(student, rng):
    """The system of factor."""
    for n, p, m in SIZES:
        data, _ = quadratic_program(rng, n, p, m)
        at = f"n = {n}, p = {p}, m = {m}"
        s, z = rng.uniform(0.1, 3.0, (2, m))
        zero = [np.zeros(k) for k in (n, p, m, m)]
        rights = [tuple(rng.normal(size=k) for k in (n, p, m, m)) for _ in range(3)]
        homogeneous = data | {name: 0.0 * data[name] for name in ("c", "b", "h")}
        for right, found in zip(rights, parts("factor", student.call("factor", data, z, s, then=rights), 3)):
            d = [shaped(name, v, o.shape) for name, v, o in zip(("dx", "dy", "dz", "ds"), parts("it", found, 4), zero)]
            size = max(1.0, *(np.abs(v).max(initial=0.0) for v in d))
            left = list(newton_residuals(homogeneous, (*zero[:2], z, s), d, 0.0).values())
            left[0], left[2] = left[0] - data["G"].T @ z, left[2] - s
            for k, (one, other) in enumerate(zip(left, right)):
                holds(f"equation {k + 1} of factor", (one - other) / size, at, 1e-8)


def reference_step(data, x, y, z, s):
    """Return (right-hand side of z ds + s dz, combined direction, step length) by the matrix of order n + p + 2m."""
    P, A, G = (data[name] for name in ("P", "A", "G"))
    n, p, m = x.size, y.size, z.size
    Z, S, I = np.diag(z), np.diag(s), np.eye(m)
    K = np.block([
        [P, A.T, G.T, np.zeros((n, m))], [A, np.zeros((p, p + 2 * m))],
        [G, np.zeros((m, p + m)), I], [np.zeros((m, n + p)), S, Z],
    ])  # fmt: skip

    def direction(rc):
        return np.split(np.linalg.solve(K, np.concatenate([-linear_residuals(data, (x, y, z, s)), rc])),
                        [n, n + p, n + p + m])  # fmt: skip

    def longest(dz, ds):
        return np.concatenate([-v[d < 0] / d[d < 0] for v, d in ((z, dz), (s, ds))]).min(initial=np.inf)

    _, _, dz, ds = direction(-s * z)
    sigma = (1.0 - min(1.0, longest(dz, ds))) ** 3
    rc = sigma * (s @ z) / m - s * z - ds * dz
    combined = direction(rc)
    return rc, combined, min(1.0, 0.99 * longest(*combined[2:]))


def linear_residuals(data, point):
    """Return Px + c + A'y + G'z, Ax - b and Gx + s - h, one after the other."""
    return np.concatenate(list(newton_residuals(data, point, [np.zeros(v.size) for v in point], 0.0).values())[:3])


def step_programs(rng):
    """Yield (data, point, number of steps, what) of quadratic and linear programs, and of the ends of the rules."""
    for n, p, m in SIZES:
        for definite in (True, False):
            data, _ = quadratic_program(rng, n, p, m, definite=definite)
            point = [rng.normal(size=n), rng.normal(size=p), *rng.uniform(0.1, 3.0, (2, m))]
            yield data, point, 4 if definite else 2, f"a {'quadratic' if definite else 'linear'} program"
    for far in (3.0, 30.0, 1000.0):  # alpha of the predictor about 1 / far: sigma is near 1
        data, _ = quadratic_program(rng, 5, 1, 10)
        x, y, z, s = point = [rng.normal(size=5), rng.normal(size=1), *rng.uniform(0.1, 3.0, (2, 10))]
        data["h"] = data["G"] @ x + s - far * s * (np.arange(10) == 3)
        yield data, point, 1, "a point with a short predictor"
    n, p, m = SIZES[0]
    data, _ = quadratic_program(rng, n, p, m)
    x, y, z, s = point = [rng.normal(size=n), rng.normal(size=p), *rng.uniform(0.1, 3.0, (2, m))]
    point[2:] = z, s = 1e-3 * z, 1.0 + s
    c = -(data["P"] @ x + data["A"].T @ y + 0.5 * data["G"].T @ z)
    data |= {"c": c, "b": data["A"] @ x, "h": data["G"] @ x + 0.5 * s}
    yield data, point, 1, "a point whose predictor halves s and z"
    found = 0
    for _ in range(5000):
        data, point = (
            quadratic_program(rng, 1, 0, 1)[0],
            [rng.normal(size=1), np.zeros(0), *rng.uniform(0.1, 3, (2, 1))],
        )
        d = reference_step(data, *point)[1]
        if min(d[2][0], d[3][0]) > 0.0:
            found += 1
            yield data, point, 1, "a point where no entry of z and s falls"
        if found == 3:
            return


def step_is_the_combined_direction(student, rng):
    """The direction and the length of a step."""
    for data, point, steps, what in step_programs(rng):
        n, p, m = (len(data[name]) for name in "cbh")
        for k in range(steps):
            at = f"{what} with n = {n}, p = {p}, m = {m}, {k} steps after an infeasible start"
            rc, expected, length = reference_step(data, *point)
            new = parts("step", answers(student, "step", (data, *point), "factor", 2, at), 4)
            new = [shaped(name, v, old.shape) for name, v, old in zip("xyzs", new, point)]
            moved, whole = np.concatenate(new) - np.concatenate(point), np.concatenate(expected)
            # A step alpha multiplies the linear residuals by 1 - alpha; if they are zero, alpha is found by projection.
            before, after = (linear_residuals(data, v) for v in (point, new))
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
    for n, p, m in SIZES[:4]:
        yield f"the quadratic program with n = {n}, p = {p}, m = {m}", quadratic_program(rng, n, p, m)[0]
    box = np.vstack([np.eye(3), -np.eye(3)])
    data = {"P": np.zeros((3, 3)), "c": rng.normal(size=3), "A": np.ones((1, 3)), "b": rng.uniform(0.5, 2.5, 1)}
    yield "the linear program", data | {"G": box, "h": np.repeat([1.0, 0.0], 3)}
    yield "the quadratic program with n = m = 1", quadratic_program(rng, 1, 0, 1)[0]


def method_iterates_its_step(student, rng):
    """The method as a sequence of its steps."""
    for at, data in programs(rng):
        for tol in (1e-8, 1e-3):
            x, y, z, count = parts("solve", student.call("solve", data, tol, record=["step"]), 4)
            calls = [(taken[1:], parts("step", after, 4)) for taken, after in student.calls.get("step", ())]
            require(calls, f"solve does not call step at {at}: it returns {count} iterations")
            require(count == len(calls), f"solve says {count} iterations at {at}, and called step {len(calls)} times")
            start = calls[0][0]
            require(min(start[2].min(), start[3].min()) > 0.0, f"s, z > 0 does not hold at the start of {at}")
            for (before, _), (_, after) in zip(calls[1:], calls):
                holds("start of a step = end of the last one", np.concatenate(before) - np.concatenate(after), at, 0.0)
            for name, found, last in zip("xyz", (x, y, z), calls[-1][1]):
                holds(f"{name} = that of the last step", shaped(name, found, last.shape) - last, at, 0.0)
            end, early = (max(np.abs(linear_residuals(data, v)).max(), v[2] @ v[3]) for v in calls[-1][::-1])
            holds("residuals and gap <= tol", end, at, tol)
            require(early > tol, f"one step too many at {at}: the largest residual was {early:.1e} before the last")


def method_has_its_tolerance(student, rng):
    """The tolerance of the method where the call names none."""
    for at, data in programs(rng):
        parts("solve", student.call("solve", data, record=["step"]), 4)
        last = parts("step", student.calls["step"][-1][1] if student.calls.get("step") else (), 4)
        end = max(np.abs(linear_residuals(data, last)).max(), last[2] @ last[3])
        holds("residuals and gap <= tol, whose default is 1e-8,", end, at, 1e-8)


def method_stops_where_every_equation_holds(student, rng):
    """The stopping test, equation by equation, from both sides of tol."""
    data, (x, y, z, s) = quadratic_program(rng, 8, 2, 14)
    G, A = data["G"], data["A"]
    active = z > 0.0
    G[-1] -= G.sum(axis=0)  # (1, ..., 1) G = 0: one number may be added to all multipliers
    s, z = np.maximum(s, 1e-10), np.maximum(z, 1e-10)
    rows = G[active]
    d = np.linalg.svd(rows)[2][-1]  # no active row changes along d; remove the curvature of P along d
    data["P"] = (np.eye(8) - np.outer(d, d)) @ data["P"] @ (np.eye(8) - np.outer(d, d))
    data |= {"c": -(data["P"] @ x + A.T @ y + G.T @ z), "b": A @ x, "h": G @ x + s}
    tol = 10.0 ** rng.uniform(-6.0, -5.0)
    ones, Ad, Ay = np.ones(14), np.abs(A @ d).max(), np.abs(A[0]).max()
    k = int(np.flatnonzero(~active)[0])

    def at(size):
        t = size * tol
        return {
            "Px + c + A'y + G'z": (x, y + t / Ay * np.eye(2)[0], z, s),
            "Ax - b": (x + t / Ad * d, y, z, s - t / Ad * (G @ d)),
            "Gx + s - h": (x, y, z, s + t * np.eye(14)[k]),
            "s'z": (x, y, z + (t - s @ z) / s.sum() * ones, s),
        }

    for name in at(1.0):
        script = [at(1.03)[name], at(0.97)[name], at(1.03)[name]]
        *_, count = parts("solve", student.call("solve", data, tol, record=["step"], script={"step": script}), 4)
        require(count != 1, f"solve stops where |{name}| = 1.03 tol, all others far below it")
        require(count == 2, f"solve goes on where |{name}| = 0.97 tol, all others far below it")


# ---- 6. certificates


def linear(c, A, b, G, h):
    data = {name: np.asarray(v, float) for name, v in (("c", c), ("b", b), ("h", h))}
    return data | {"A": np.reshape(A, (-1, len(c))).astype(float), "G": np.reshape(G, (-1, len(c))).astype(float)}


def verdict_is(student, what, data, point, tau, tol, expected):
    found = student.call("verdict", data, *(np.asarray(v, float) for v in point), tau, tol)
    require(found == expected, f"{what}, tau = {tau:.3g}, tol = {tol:.1e}: the verdict is {found!r}, not {expected!r}")


def optimal_program(rng, n=4, p=2, m=7):
    """Return (data, X, Y, Z): row 0 active with Z_0 = 0, row 1 with slack 1, Y_0 = X_0 = 0, rows 2 to 4 with Z > 0."""
    A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n))
    X, Y, Z = rng.normal(size=n), rng.normal(size=p), np.zeros(m)
    X[0] = 0.0
    Y[:1] = 0.0
    slack = np.r_[0.0, 1.0, np.zeros(3), rng.uniform(0.5, 1.5, m - 5)]
    Z[2:5] = rng.uniform(0.5, 1.5, 3)
    return linear(-(A.T @ Y + G.T @ Z), A, A @ X, G, G @ X + slack), X, Y, Z


def optimal_points(student, rng):
    """Optimal points, and what is not quite optimal: 0.97 and 1.03 tol in each equation."""
    for scale, p in ((1.0, 2), (1e-20, 2), (10.0 ** rng.uniform(-3, 3), 2), (1.0, 0)):
        tol = 10.0 ** rng.uniform(-8.0, -5.0)
        for share in (0.0, 0.97, -0.97, 1.03, -1.03, 1e3):
            data, X, Y, Z = optimal_program(rng, p=p)
            t, e = share * tol, np.eye(7)
            two = np.r_[1.0, 1.0, 0.0, 0.0]  # both entries are below tol, the 2-norm is above tol
            expected = "optimal" if abs(share) < 1.0 else "unknown"
            lower = "optimal" if share < 1.0 else "unknown"
            for what, change, z, said in (
                ("AX - b", {"b": data["b"] + t * np.eye(max(p, 1))[0][:p]}, Z, expected if p else "optimal"),
                ("GX - h", {"h": data["h"] - t * e[0]}, Z, lower),
                ("-Z", {"c": data["c"] + t * data["G"][0]}, Z - t * e[0], lower),
                ("c + A'Y + G'Z", {"c": data["c"] + t * (two if X[1] == 0.0 else np.eye(4)[0])}, Z, expected),
                ("gap", {"c": data["c"] - abs(t) * data["G"][1]}, Z + abs(t) * e[1], expected),
            ):  # fmt: skip
                point = X * scale, Y * scale, z * scale
                verdict_is(student, f"{what} = {share} tol", data | change, point, scale, tol, said)
        data, X, Y, Z = optimal_program(rng, p=p)
        point = X * scale, Y * scale, Z * scale
        wrong = data | {"h": data["h"] - 0.5 * tol * np.eye(7)[2]}  # feasible to tol, but the dual objective is above
        far = 20.0 / Z[2]
        more = wrong | {"c": data["c"] - far * Z[2] * data["G"][2]}
        above = X * scale, Y * scale, (Z + far * Z[2] * np.eye(7)[2]) * scale
        verdict_is(student, "the dual objective above the primal one by 10 tol", more, above, scale, tol, "unknown")
        verdict_is(student, "tau = 0 at an optimal point", data, point, 0.0, tol, "unknown")


def rays_of_infeasible_programs(student, rng):
    """Rays of primal infeasible programs, and what is none."""
    for size in (1.0, 1e-20, 1e6, 10.0 ** rng.uniform(-5, 5)):
        for tau, p in ((0.0, 2), (1e-3 * size, 2), (size, 0), (0.0, 0)):
            tol = 10.0 ** rng.uniform(-8.0, -5.0)
            A, G, y, z = rng.normal(size=(p, 3)), rng.normal(size=(5, 3)), rng.normal(size=p), rng.uniform(0.5, 1.5, 5)
            z[0], G[0] = 0.0, 0.0
            G[4] = -(A.T @ y + G[:4].T @ z[:4]) / z[4]
            b, h = rng.normal(size=p), rng.normal(size=5)
            h[0] = 0.0
            h[4] -= (b @ y + h @ z + 1.0) / z[4]
            x = rng.normal(size=3)
            for share, said in ((0.0, 1), (0.97, 1), (-0.97, 1), (1.03, 0), (-1.03, 0), (1e4, 0)):
                said = "primal_infeasible" if said else "unknown"
                t, lower = share * tol, "primal_infeasible" if share < 1.0 else "unknown"
                tilted = G + np.outer(np.eye(5)[1], t / z[1] * np.ones(3))
                for what, matrix, ray, verdict in (
                    ("A'y + G'z", tilted, z, said),
                    ("-z", G, z - t * np.eye(5)[0], lower),
                ):
                    data = linear(np.zeros(3), A, b, matrix, h)
                    verdict_is(student, f"{what} = {share} tol", data, (x, size * y, size * ray), tau, tol, verdict)
            data = linear(rng.normal(size=3), A, -b, G, -h)
            verdict_is(student, "b'y + h'z > 0", data, (0.0 * x, size * y, size * z), tau, tol, "unknown")
            data = linear(rng.normal(size=3), A, 0.0 * b, G, 0.0 * h)
            verdict_is(student, "b'y + h'z = 0", data, (0.0 * x, size * y, size * z), tau, tol, "unknown")


def rays_of_unbounded_programs(student, rng):
    """Rays of unbounded programs, programs without equations, and the order of the tests."""
    for size in (1.0, 1e-20, 1e6, 10.0 ** rng.uniform(-5, 5)):
        for p in (2, 0):
            tol = 10.0 ** rng.uniform(-8.0, -5.0)
            x = rng.uniform(0.5, 1.5, 4) * rng.choice([-1.0, 1.0], 4)
            A, G = rng.normal(size=(p, 4)), rng.normal(size=(5, 4))
            A -= np.outer(A @ x, x) / (x @ x)
            G -= np.outer(G @ x + np.r_[0.0, 0.0, rng.uniform(0.5, 1.5, 3)], x) / (x @ x)
            c = rng.normal(size=4)
            c -= (c @ x + 1.0) * x / (x @ x)
            zero = np.zeros(p), np.zeros(5)
            for share in (0.0, 0.97, -0.97, 1.03, -1.03, 1e4):
                t = share * tol
                both, lower = ("dual_infeasible" if ok else "unknown" for ok in (abs(share) < 1.0, share < 1.0))
                tilt = t * x / (x @ x)
                for what, rows, cone, said in (("Ax", A + np.outer(np.ones(p), tilt), G, both if p else lower),
                                               ("Gx", A, G + np.outer(np.eye(5)[1], tilt), lower)):  # fmt: skip
                    if what == "Ax" and not p:
                        continue
                    data = linear(c, rows, rng.normal(size=p), cone, rng.normal(size=5))
                    for tau in (0.0, 1e-3 * size, size):
                        verdict_is(student, f"{what} = {share} tol", data, (size * x, *zero), tau, tol, said)
            data = linear(-c, A, np.zeros(p), G, np.zeros(5))
            verdict_is(student, "c'x > 0", data, (size * x, *zero), 0.0, tol, "unknown")
            verdict_is(student, "all zero", data, (0.0 * x, *zero), 0.0, tol, "unknown")
    one = linear([1.0], [], [], [[-1.0]], [-1.0])
    for tau, (X, Z, said) in itertools.product((1e-9, 1.0, 7.0), (
        (1.0, 1.0, "optimal"), (1.0, 0.5, "unknown"), (2.0, 1.0, "unknown"), (0.5, 1.0, "unknown"),
        (-1.0, 0.0, "unknown"),
    )):  # fmt: skip
        verdict_is(
            student, f"minimize x, x >= 1, at x = {X}, z = {Z}", one, ([X * tau], [], [Z * tau]), tau, 1e-6, said
        )
    one = linear([-1.0], [], [], [[-1.0]], [-1.0])
    verdict_is(student, "minimize -x, x >= 1, x = 3", one, ([3.0], [], [0.0]), 1.0, 1e-6, "dual_infeasible")
    near = linear([0.0], [], [], [[-1.0], [1.0]], [-0.1, -0.1]), ([0.0], [], [0.5, 0.5])
    verdict_is(student, "an optimal point that is a ray as well", *near, 1.0, 0.2, "optimal")
    rays = linear([-1.0], [[0.0]], [1.0], [[-1.0]], [0.0]), ([1.0], [-1.0], [0.0])
    verdict_is(student, "rays of both kinds", *rays, 0.0, 1e-8, "primal_infeasible")


# ---- 10. the dual of the support vector machine


def two_classes(rng, features):
    count = int(rng.integers(25, 45)) if features > 2 else int(rng.integers(4, 7))
    y = np.where(rng.permutation(count) < count // 3, 1.0, -1.0)
    return rng.normal(size=(count, features)) + 0.8 * y[:, None], y, 10.0 ** rng.uniform(-1.5, 1.0)


def dual_has_the_value_of_the_primal(student, rng):
    """The dual's objective and constraints."""
    for features in (1, 2, 3, 4, 5, 9):
        X, y, C = two_classes(rng, features)
        n, at = len(X), f"{len(X)} samples, C = {C:.3g}"
        d = student.call("dual", X, y, C)
        shapes = {"P": (n, n), "q": (n,), "A": (1, n), "b": (1,), "lb": (n,), "ub": (n,)}
        P, q, A, b, lb, ub = (shaped(name, d.get(name), shape) for name, shape in shapes.items())
        a = rng.uniform(0.0, C, n)
        w = X.T @ (a * y)
        holds("P = P'", P - P.T, at, 1e-12 * (1.0 + np.abs(P).max()))
        holds("1/2 a'Pa + q'a = 1/2 |sum a_i y_i x_i|^2 - sum a_i", 0.5 * a @ P @ a + q @ a - 0.5 * w @ w + a.sum(), at,
              1e-9 * (1.0 + w @ w + a.sum()))  # fmt: skip
        holds("lb = 0 and ub = C", np.r_[lb, ub - C], at, 1e-12 * C)
        holds("Aa = b is y'a = 0", np.r_[A[0] * y - A[0, 0] * y[0], b], at, 1e-12)
        require(abs(A[0, 0]) > 1e-6, f"Aa = b says nothing at {at}")
        holds("gradient of the dual", P @ a + q - (y * (X @ w) - 1.0), at, 1e-9 * (1.0 + np.abs(P @ a).max()))


def hyperplane_has_the_margins(student, rng):
    """The hyperplane of a dual solution: margins of the samples, errors of 1e-9 C."""
    for features in (1, 3, 4, 5):
        X, y, C = two_classes(rng, features)
        S = y[:, None] * X
        n = len(X)
        a = qp.solve(S @ S.T, -np.ones(n), A=y[None], l=np.zeros(1), u=np.zeros(1), lb=np.zeros(n),
                     ub=np.full(n, C), tol=1e-11).x  # fmt: skip
        between = (a > 1e-3 * C) & (a < C - 1e-3 * C)
        if not between.any():
            continue
        a = np.clip(a + 1e-9 * C * rng.uniform(-1.0, 1.0, n), 0.0, C)
        w, beta = parts("hyperplane", student.call("hyperplane", X, y, C, a), 2)
        w, beta, at = shaped("w", w, X.shape[1:]), shaped("beta", beta, ()), f"{n} samples, C = {C:.3g}"
        size = 1.0 + np.abs(S.T @ a).max()
        holds("w = sum a_i y_i x_i", (w - S.T @ a) / size, at, 1e-9)
        holds("y_i (w'x_i + beta) = 1 where 0 < a_i < C", ((S @ w + beta * y) - 1.0)[between] / size, at, 1e-5)


def hyperplane_of_one_sample_between(student, rng):
    """beta where one a_i alone is between the bounds, and small."""
    for label in (1.0, -1.0):
        for share in (1.2e-3, 1.0 - 1.2e-3, 0.5):
            C = 10.0 ** rng.uniform(-6.0, 3.0)
            y = np.r_[label, np.where(rng.random(12) < 0.5, 1.0, -1.0)]
            a = np.r_[
                share * C, np.where(rng.random(12) < 0.5, C - 1e-9 * C * rng.random(12), 1e-9 * C * rng.random(12))
            ]
            X = rng.normal(size=(13, 3))
            w, beta = parts("hyperplane", student.call("hyperplane", X, y, C, a), 2)
            margin = y[0] * (X[0] @ shaped("w", w, (3,)) + shaped("beta", beta, ()))
            holds("y_i (w'x_i + beta) = 1 of the one a_i between the bounds", margin - 1.0,
                  f"a_i = {share:.4g} C, y_i = {label:g}", 1e-7 * (1.0 + C))  # fmt: skip


# ---- 12. the derivative of a solution


def solved(rng):
    """Yield (P, G, x, z, s, noise, where) of solved programs, with no active row or many."""
    for n, m, count in ((6, 12, 3), (6, 12, 0), (5, 7, 4), (2, 3, 1), (8, 20, 7), (1, 1, 0), (1, 1, 1), (4, 9, 4)):
        for noise in (0.0, 1e-6):
            F, d = rng.normal(size=(n, n)), rng.normal(size=n)
            Q = np.eye(n) - np.outer(d, d) / (d @ d) * (count > 2)  # P is singular along d
            active = rng.permutation(m) < count
            large, small = rng.uniform(0.02, 1.5, m), noise * rng.random(m)
            z, s = np.where(active, large, small), np.where(active, small, large)
            where = f"n = {n}, m = {m}, {count} active rows, zeros up to {noise:g}"
            P = Q @ (F @ F.T / n + 0.3 * np.eye(n)) @ Q * (n > 1 or count < 1) * (n != 4)  # zero: a linear program
            yield P, rng.normal(size=(m, n)), rng.normal(size=n), z, s, noise, where


def derivative(P, G, z, s, r, t):
    """Return (u, v) of P u + G'v = r, Gu = t in the active rows, v = 0 in the others."""
    active = z > s
    B = G[active]
    v, K = np.zeros(z.size), np.block([[P, B.T], [B, np.zeros((len(B), len(B)))]])
    u, v[active] = np.split(np.linalg.solve(K, np.r_[r, t[active]]), [len(P)])
    return u, v


def close(name, found, expected, noise, at):
    size = 1.0 + np.abs(expected).max(initial=0.0)
    holds(name, (shaped(name, found, expected.shape) - expected) / size, at, 1e-8 if noise == 0.0 else 3e-2)


def factor_of_the_derivative(student, rng):
    """The system of factor."""
    for P, G, _, z, s, noise, at in solved(rng):
        rights = [(rng.normal(size=len(P)), rng.normal(size=z.size)) for _ in range(2)]
        for right, found in zip(rights, parts("factor", student.call("factor", P, G, z, s, then=rights), 2)):
            for name, one, other in zip("uv", parts("it", found, 2), derivative(P, G, z, s, *right)):
                close(name, one, other, noise, at)


def forward_derivative(student, rng):
    """The derivative of x along a change of the data."""
    for P, G, x, z, s, noise, at in solved(rng):
        for dq, dh in ((rng.normal(size=x.size), 0.0 * z), (0.0 * x, rng.normal(size=z.size)),
                       (rng.normal(size=x.size), rng.normal(size=z.size))):  # fmt: skip
            uses = 1 if np.abs(derivative(P, G, z, s, -dq, dh)[0]).max() > 1e-9 else 0
            arguments = P, G, x, z, s, dq, dh
            found = (
                answers(student, "forward", arguments, "factor", 1, at) if uses else student.call("forward", *arguments)
            )
            close("dx", found, derivative(P, G, z, s, -dq, dh)[0], noise, at)


def backward_derivative(student, rng):
    """The gradients by all data."""
    for P, G, x, z, s, noise, at in solved(rng):
        gradient = rng.normal(size=x.size)
        found = parts("backward", answers(student, "backward", (P, G, x, z, s, gradient), "factor", 1, at), 2)
        u, v = derivative(P, G, z, s, -gradient, 0.0 * z)
        close("dl/dq", found[0], u, noise, at)
        close("dl/dh", found[1], -v, noise, at)


CHECKS = {
    "e05": [(2, factor_solves_its_system), (4, step_is_the_combined_direction), (1, method_iterates_its_step),
            (1, method_has_its_tolerance), (2, method_stops_where_every_equation_holds)],
    "e06": [(4, optimal_points), (3, rays_of_infeasible_programs), (3, rays_of_unbounded_programs)],
    "e10": [(4, dual_has_the_value_of_the_primal), (3, hyperplane_has_the_margins),
            (3, hyperplane_of_one_sample_between)],
    "e12": [(4, factor_of_the_derivative), (3, forward_derivative), (3, backward_derivative)],
}  # fmt: skip
