"""Second-order cones of the programs in lanes, in the scaling of Nesterov and Todd.

With J = diag(1, -I) and s, z inside the cone,

    W = eta [q_0, q_1'; q_1, I + q_1 q_1' / (1 + q_0)],   q'Jq = 1,   W z = W^-1 s = lam
    W^-2 = (2 (Jq)(Jq)' - J) / eta^2

the equation s o z = mu e becomes  W dz + W^-1 ds = c  with lam o c = sigma mu e - lam o lam - (W^-1 ds) o (W dz).  To
G'WG a cone adds A'W^-2 A: its rows with the weights -J / eta^2, and 2 B'B with the row B = (Jq)'A / eta.  Steps to the
boundary are measured at lam, which is well inside.
"""

from __future__ import annotations

from ..compiled.kernels import inner, leaf
from ..compiled.signatures import Matrix
from ..compiled.vec import Vec, absolute, largest, load, root, select, smallest, splat, store
from .state import Lanes


@leaf
def tail_square(v: Matrix, a: int, e: int) -> Vec:
    """Return |v_1|^2 of the cone in rows a:e."""
    found = splat(0.0)
    for i in range(a + 1, e):
        found += load(v, i) * load(v, i)
    return found


@leaf
def determinant(v: Matrix, a: int, e: int) -> Vec:
    """Return v'Jv of the cone in rows a:e."""
    tail = root(tail_square(v, a, e))
    return (load(v, a) - tail) * (load(v, a) + tail)


@leaf
def scale(q: Matrix, a: int, e: int, sign: float, eta: Vec, v: Matrix, out: Matrix) -> None:
    """out := W v if sign = 1; out := W^-1 v if sign = -1 and `eta` is the reciprocal of eta."""
    q0, v0, along = load(q, a), load(v, a), splat(0.0)
    for i in range(a + 1, e):
        along += load(q, i) * load(v, i)
    share = sign * v0 + along / (1.0 + q0)
    store(out, a, eta * (q0 * v0 + sign * along))
    for i in range(a + 1, e):
        store(out, i, eta * (load(v, i) + share * load(q, i)))


@leaf
def weigh(q: Matrix, a: int, e: int, eta: Vec, v: Matrix, out: Matrix) -> None:
    """out := W^-2 v."""
    weight, d = 1.0 / (eta * eta), load(q, a) * load(v, a)
    for i in range(a + 1, e):
        d -= load(q, i) * load(v, i)
    store(out, a, weight * (2.0 * load(q, a) * d - load(v, a)))
    for i in range(a + 1, e):
        store(out, i, weight * (load(v, i) - 2.0 * d * load(q, i)))


@leaf
def longest_step(lam: Matrix, a: int, e: int, v: Matrix) -> Vec:
    """Return the smallest t with t lam + v in the cone; the step length along v to the boundary is 1 / t."""
    det = determinant(lam, a, e)
    norm, along = root(det), load(lam, a) * load(v, a)
    for i in range(a + 1, e):
        along -= load(lam, i) * load(v, i)
    along = along / norm
    share = (along + load(v, a)) / (load(lam, a) + norm)
    square = splat(0.0)
    for i in range(a + 1, e):
        t = load(v, i) - share * load(lam, i)
        square += t * t
    return (root(square) - along) / norm


@inner
def measure_cones(lanes: Lanes) -> None:
    """Compute the residuals r, the scaling, and the right-hand sides v (predictor) and o (constant direction)."""
    start, s, z, Gx, h, r, unit = (
        lanes.cone_start, lanes.cone_s, lanes.y, lanes.Gx, lanes.cone_h, lanes.cone_r, lanes.unit
    )  # fmt: skip
    tau, mu, hz = lanes.tau, lanes.mu, lanes.hz
    rows, size, ray = lanes.rows, lanes.rows_size, lanes.ray_rows
    for k in range(lanes.cones):
        sz = splat(0.0)
        for i in range(start[k], start[k + 1]):
            g, si, zi, hi, u = load(Gx, i), load(s, i), load(z, i), load(h, i), load(unit, i)
            ri = g + si - hi * tau
            sz += si * zi
            hz += hi * zi
            rows = largest(absolute(ri) * u, rows)
            size = largest(absolute(g) * u, size)
            ray = largest(absolute(g + si) * u, ray)
            store(r, i, ri)
        mu += sz
        scale_cone(lanes, k, sz)
    lanes.mu = mu
    lanes.hz = hz
    lanes.rows = rows
    lanes.rows_size = size
    lanes.ray_rows = ray


@inner
def scale_cone(lanes: Lanes, k: int, sz: Vec) -> None:
    """Compute the scaling q, eta, lam of cone k, its weights W, its row B and its right-hand sides.

    In the predictor c = -lam, u = W^-1 c = -z and v = u + W^-2 r; always o = W^-2 h.
    """
    a, e, s, z, q, lam, c, u, v = (
        lanes.cone_start[k], lanes.cone_start[k + 1], lanes.cone_s, lanes.y, lanes.nt, lanes.lam, lanes.c, lanes.u,
        lanes.rhs
    )  # fmt: skip
    norm_s, norm_z = root(determinant(s, a, e)), root(determinant(z, a, e))
    product, n = norm_s * norm_z, lanes.n
    both, over_s, over_z = root(product), 1.0 / norm_s, 1.0 / norm_z
    gamma = root(0.5 + 0.5 * sz / product)
    half, s0, z0 = 0.5 / gamma, load(s, a) * over_s, load(z, a) * over_z
    share, square = both / (s0 + z0 + 2.0 * gamma), splat(0.0)
    for i in range(a + 1, e):
        si, zi = load(s, i) * over_s, load(z, i) * over_z
        qi, li = half * (si - zi), share * ((gamma + z0) * si + (gamma + s0) * zi)
        square += qi * qi
        store(q, i, qi)
        store(lam, i, li)
        store(c, i, -li)
    store(q, a, root(1.0 + square))
    store(lam, a, both * gamma)
    store(c, a, -both * gamma)
    eta = root(norm_s * over_z)
    store(lanes.eta, k, eta)
    weight, over_eta = 1.0 / (eta * eta), 1.0 / eta
    weigh(q, a, e, eta, lanes.cone_r, v)
    weigh(q, a, e, eta, lanes.cone_h, lanes.constant_rhs)
    for i in range(a, e):
        store(u, i, -load(z, i))
        store(v, i, load(v, i) - load(z, i))
        store(lanes.W, i, -weight if i == a else weight)
    for j in range(lanes.spans.cone_first[k], lanes.spans.cone_end[k]):
        total = splat(0.0)
        for i in range(a, e):
            qi = load(q, i) if i == a else -load(q, i)
            total += qi * load(lanes.A, i * n + j) if lanes.shared else qi * load(lanes.A_own, i * n + j)
        store(lanes.B, k * n + j, over_eta * total)


@inner
def constant_of_cones(lanes: Lanes) -> tuple[Vec, Vec]:
    """Return h'W^-2 (G x2 - h) and |W^-1 (G x2 - h)|^2, summed over the cones."""
    start, h, Gx2, ds, dz, forward, square = (
        lanes.cone_start, lanes.cone_h, lanes.Gx2, lanes.ds, lanes.dz, splat(0.0), splat(0.0)
    )  # fmt: skip
    for i in range(lanes.cone_rows):
        store(ds, i, load(Gx2, i) - load(h, i))
    for k in range(lanes.cones):
        weigh(lanes.nt, start[k], start[k + 1], load(lanes.eta, k), ds, dz)
    for i in range(lanes.cone_rows):
        forward += load(h, i) * load(dz, i)
        square += load(ds, i) * load(dz, i)
    return forward, square


@inner
def direction_of_cones(lanes: Lanes) -> Vec:
    """Return h'(u + W^-2 (G dx + one_minus_sigma r)), summed over the cones."""
    start, h, r, ds, dz, u, Gdx, one_minus_sigma = (
        lanes.cone_start, lanes.cone_h, lanes.cone_r, lanes.ds, lanes.dz, lanes.u, lanes.Gdx, lanes.one_minus_sigma
    )  # fmt: skip
    found = splat(0.0)
    for i in range(lanes.cone_rows):
        store(ds, i, load(Gdx, i) + one_minus_sigma * load(r, i))
    for k in range(lanes.cones):
        weigh(lanes.nt, start[k], start[k + 1], load(lanes.eta, k), ds, dz)
    for i in range(lanes.cone_rows):
        found += load(h, i) * (load(u, i) + load(dz, i))
    return found


@inner
def measure_step_of_cones(lanes: Lanes) -> Vec:
    """Compute ds := W^-1 ds and dz := W dz = c - W^-1 ds; return 1 / (step length to the boundary)."""
    start, q, ds, dz, c, lam, longest = lanes.cone_start, lanes.nt, lanes.ds, lanes.dz, lanes.c, lanes.lam, splat(0.0)
    for i in range(lanes.cone_rows):
        store(ds, i, slack_step(lanes, i))
    for k in range(lanes.cones):
        a, e = start[k], start[k + 1]
        scale(q, a, e, -1.0, 1.0 / load(lanes.eta, k), ds, ds)
        for i in range(a, e):
            store(dz, i, load(c, i) - load(ds, i))
        longest = largest(largest(longest_step(lam, a, e, ds), longest_step(lam, a, e, dz)), longest)
    return longest


@leaf
def slack_step(lanes: Lanes, i: int) -> Vec:
    """Return ds in row i of a second-order cone."""
    dtau, g = lanes.dtau, load(lanes.Gdx, i)
    return dtau * (load(lanes.cone_h, i) - load(lanes.Gx2, i)) - g - lanes.one_minus_sigma * load(lanes.cone_r, i)


@inner
def correct_cones(lanes: Lanes) -> None:
    """Compute c, u and v of the corrector.

    c := -lam + lam \\ (sigma mu e - (W^-1 ds) o (W dz)), -lam in fresh lanes
    u := W^-1 c,   v := u + (1 - sigma) W^-2 r
    """
    start, q, lam, c, u, v, ds, dz = (
        lanes.cone_start, lanes.nt, lanes.lam, lanes.c, lanes.u, lanes.rhs, lanes.ds, lanes.dz
    )  # fmt: skip
    one_minus_sigma, target, fresh = lanes.one_minus_sigma, lanes.sigma_mu, lanes.fresh > 0.5
    for k in range(lanes.cones):
        a, e, eta = start[k], start[k + 1], load(lanes.eta, k)
        s0, z0, l0 = load(ds, a), load(dz, a), load(lam, a)
        first, along = target - s0 * z0, splat(0.0)
        for i in range(a + 1, e):
            si, zi = load(ds, i), load(dz, i)
            first -= si * zi
            along -= load(lam, i) * (s0 * zi + z0 * si)
        c0 = (l0 * first - along) / determinant(lam, a, e)
        store(c, a, select(fresh, 0.0, c0) - l0)
        for i in range(a + 1, e):
            li = load(lam, i)
            ci = -(s0 * load(dz, i) + z0 * load(ds, i) + c0 * li) / l0
            store(c, i, select(fresh, 0.0, ci) - li)
        scale(q, a, e, -1.0, 1.0 / eta, c, u)
        weigh(q, a, e, eta, lanes.cone_r, v)
        for i in range(a, e):
            store(v, i, load(u, i) + one_minus_sigma * load(v, i))


@inner
def advance_cones(lanes: Lanes) -> Vec:
    """Update slacks, multipliers and G x, where dz holds W dz; return the smallest s_0 - |s_1| of all cones."""
    start, alpha, dtau = lanes.cone_start, lanes.alpha, lanes.dtau
    for k in range(lanes.cones):
        scale(lanes.nt, start[k], start[k + 1], -1.0, 1.0 / load(lanes.eta, k), lanes.dz, lanes.dz)
    for i in range(lanes.cone_rows):
        store(lanes.cone_s, i, load(lanes.cone_s, i) + alpha * slack_step(lanes, i))
        store(lanes.y, i, load(lanes.y, i) + alpha * load(lanes.dz, i))
        store(lanes.Gx, i, load(lanes.Gx, i) + alpha * (load(lanes.Gdx, i) + dtau * load(lanes.Gx2, i)))
    return depth_in_cones(lanes, lanes.cone_s)


@inner
def depth_in_cones(lanes: Lanes, v: Matrix) -> Vec:
    """Return the smallest v_0 - |v_1| of all cones."""
    found = splat(1e300)
    for k in range(lanes.cones):
        a = lanes.cone_start[k]
        found = smallest(load(v, a) - root(tail_square(v, a, lanes.cone_start[k + 1])), found)
    return found


@inner
def fill_cones(lanes: Lanes, lane: int) -> None:
    """Set s = z = e in a lane, with all that `measure_cones` computes except the residual of the gradient."""
    n = lanes.n
    for k in range(lanes.cones):
        a, e = lanes.cone_start[k], lanes.cone_start[k + 1]
        lanes.eta[k, lane] = 1.0
        for i in range(a, e):
            one, h = 1.0 if i == a else 0.0, lanes.cone_h[i, lane]
            lanes.cone_s[i, lane] = lanes.y[i, lane] = lanes.lam[i, lane] = lanes.nt[i, lane] = one
            lanes.c[i, lane] = lanes.u[i, lane] = -one
            lanes.cone_r[i, lane], lanes.rhs[i, lane], lanes.constant_rhs[i, lane] = one - h, -h, h
            lanes.W[i, lane] = 1.0 - 2.0 * one
        for j in range(n):
            lanes.B[k * n + j, lane] = lanes.A[a * n + j]
