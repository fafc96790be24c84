"""The homogeneous embedding of `LANES` programs at once, with linear rows and second-order cones.

    minimize 1/2 x'Px + q'x   subject to   sign_k (G x)_i + s_k = h_k, s_k >= 0,   (G x)_i = b_i,   G_K x + s_K = b_K

Row i of G = [A; I] has the sides k in first[i]:first[i + 1], one for each finite side, or is an equality, or belongs to
a cone (see `cones` for its formulas).  The embedding, with the multipliers z_k >= 0 of sides, y_i = sum sign_k z_k, and
the multipliers v of equalities among the y:

    rd = P x + G'y + q tau,   r_k = sign_k (G x)_i + s_k - h_k tau,   r_i = (G x)_i - b_i tau,
    kappa = -(q'x + h'z + b'v + x'Px / tau) + rtau,        s z = mu,  tau kappa = mu

Slacks and multipliers are eliminated; an equality is kept by a penalty with an exact multiplier:

    (P + G'WG) dx = -(keep rd + G'v),   W_i = sum z_k / s_k  or  1 / DELTA

A direction is relative, es = ds / s and ez = dz / z, so that a side costs one division per iteration.  No operation
mixes lanes: the data of one lane change no bit of another.
"""

from __future__ import annotations

from ..compiled.kernels import inner
from ..compiled.signatures import Matrix
from ..compiled.vec import Vec, absolute, largest, load, select, smallest, splat, store
from ..method.start import WARM_MARGIN
from ..plan.fallbacks import REGULARIZATION as DELTA
from .cones import (
    advance_cones,
    constant_of_cones,
    correct_cones,
    depth_in_cones,
    direction_of_cones,
    measure_cones,
    measure_step_of_cones,
    weigh,
)
from .dense import (
    assemble_own,
    assemble_shared,
    eliminate,
    multiply_own,
    multiply_shared,
    multiply_transposed_own,
    multiply_transposed_shared,
    solve,
)
from .state import LEAST_SIGMA, RHO, Lanes


@inner
def multiply(w: Lanes, x: Matrix, out: Matrix) -> None:
    """out := G x."""
    m, n, spans = w.m, w.n, w.spans
    if w.shared:
        multiply_shared(m, n, w.A, spans.row_first, spans.row_end, x, out)
    else:
        multiply_own(m, n, w.A_own, spans.row_first, spans.row_end, x, out)
    for j in range(n):
        store(out, m + j, load(x, j))


@inner
def multiply_hessian(w: Lanes, x: Matrix, out: Matrix) -> None:
    """out := P x."""
    n, spans = w.n, w.spans
    if w.shared:
        multiply_shared(n, n, w.P, spans.begin, spans.end, x, out)
    else:
        multiply_own(n, n, w.P_own, spans.begin, spans.end, x, out)


@inner
def multiply_transposed(w: Lanes, v: Matrix, out: Matrix) -> None:
    """out := G'v."""
    m, n, spans = w.m, w.n, w.spans
    if w.shared:
        multiply_transposed_shared(m, n, w.A, spans.column_first, spans.column_end, v, out)
    else:
        multiply_transposed_own(m, n, w.A_own, spans.column_first, spans.column_end, v, out)


@inner
def factor(w: Lanes) -> None:
    """Factor P + G'WG in every lane."""
    if w.shared:
        assemble_shared(w.m, w.n, w.P, w.A, w.spans, w.W, w.C)
    else:
        assemble_own(w.m, w.n, w.P_own, w.A_own, w.spans, w.W, w.C)
    n, spans, B, C = w.n, w.spans, w.B, w.C
    for k in range(w.cones):  # C += 2 B'B of the cones
        for i in range(spans.cone_first[k], spans.cone_end[k]):
            b = 2.0 * load(B, k * n + i)
            for j in range(spans.cone_first[k], i + 1):
                store(C, i * n + j, load(C, i * n + j) + b * load(B, k * n + j))
    eliminate(n, spans, C, w.T, w.pivots)


@inner
def measure(w: Lanes) -> None:
    """Compute residuals, weights and right-hand sides at the point, in every lane."""
    measure_gradient(w)
    measure_rows(w)
    w.overlap = overlap(w)
    if w.cones:
        measure_cones(w)


@inner
def measure_gradient(w: Lanes) -> None:
    """Compute rd = P x + G'y + q tau and its size in the caller's units."""
    q, x, Px, rd, unit = w.q, w.x, w.Px, w.rd, w.dual_unit
    tau = w.tau
    multiply_hessian(w, x, Px)
    multiply_transposed(w, w.y, rd)
    xPx, qx, hidden, dual = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    size, ray_dual, ray_P = splat(0.0), splat(0.0), splat(0.0)
    for j in range(w.n):
        p, c, v, g, u = load(Px, j), load(q, j), load(x, j), load(rd, j), load(unit, j)
        xPx += p * v
        qx += c * v
        ct = c * tau
        d = g + p + ct
        hidden = largest(absolute(d * v), hidden)
        dual = largest(absolute(d) * u, dual)
        ray_P = largest(absolute(p) * u, ray_P)
        size = largest(absolute(ct) * u, size)
        ray_dual = largest(absolute(g) * u, ray_dual)
        store(rd, j, d)
    w.xPx = xPx
    w.qx = qx
    w.hidden = hidden
    w.dual = dual
    w.dual_size = largest(size, ray_P)
    w.ray_dual = ray_dual
    w.ray_P = ray_P


@inner
def measure_rows(w: Lanes) -> None:
    """Compute r, W, 1 / s z, 1 / s, and the right-hand sides v (predictor) and o (constant direction)."""
    first, equal, bound, sign = w.first, w.equal, w.bound, w.sign
    h, b, Gx, s, z, y, unit = w.h, w.b, w.Gx, w.s, w.z, w.y, w.unit
    r, r_equal, inverse_sz, inverse_s, W, v, o = w.r, w.r_equal, w.inverse_sz, w.inverse_s, w.W, w.v, w.o
    tau = w.tau
    mu, hz, rows, rows_size, bounds, ray = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    equal_rows, equal_size, tol = splat(0.0), splat(0.0), w.tol
    for i in range(w.cone_rows, w.m + w.n):
        g, wi, vi, oi = load(Gx, i), splat(RHO if i >= w.m else 0.0), splat(0.0), splat(0.0)
        outside, along, allowed = splat(0.0), splat(0.0), splat(0.0)
        if equal[i]:
            bi = load(b, i)
            bt = bi * tau
            ri = g - bt
            hz += bi * load(y, i)
            outside, along, allowed = absolute(ri), absolute(g), tol * absolute(bt)
            wi += 1.0 / DELTA
            vi, oi = ri * (1.0 / DELTA), bi * (1.0 / DELTA)
            store(r_equal, i, ri)
        for k in range(first[i], first[i + 1]):
            sk, zk, hk, sg = load(s, k), load(z, k), load(h, k), sign[k] * g
            c = sk * zk
            inverse = 1.0 / c
            one = zk * inverse
            ht = hk * tau
            rk = sg + sk - ht
            mu += c
            hz += hk * zk
            outside, along = largest(sg - ht, outside), largest(sg, along)
            allowed = largest(tol * absolute(ht), allowed)
            weight = zk * one
            wi += weight
            vi += sign[k] * (weight * rk - zk)
            oi += sign[k] * (weight * hk)
            store(inverse_sz, k, inverse)
            store(inverse_s, k, one)
            store(r, k, rk)
        u = load(unit, i)
        if bound[i]:
            bounds = largest((outside - allowed) * u, bounds)
        elif equal[i] and w.equalities_apart:
            equal_rows = largest(outside * u, equal_rows)
            equal_size = largest(absolute(g) * u, equal_size)
        elif equal[i] or first[i + 1] > first[i]:
            rows = largest(outside * u, rows)
            rows_size = largest(absolute(g) * u, rows_size)
        ray = largest(along * u, ray)
        store(W, i, wi)
        store(v, i, vi)
        store(o, i, oi)
    w.mu = mu
    w.hz = hz
    w.rows = rows
    w.rows_size = rows_size
    w.equal_rows = equal_rows
    w.equal_size = equal_size
    w.bounds = bounds
    w.ray_rows = ray


@inner
def overlap(w: Lanes) -> Vec:
    """Return the part of h'z that rows with two sides lose, as answers have the difference of their two multipliers."""
    first, h, z, total = w.first, w.h, w.z, splat(0.0)
    for i in range(w.cone_rows, w.m + w.n):
        k = first[i]
        if first[i + 1] == k + 2:
            total += smallest(load(z, k), load(z, k + 1)) * (load(h, k) + load(h, k + 1))
    return total


@inner
def step(w: Lanes) -> None:
    """Make one step in every lane; a fresh lane takes the affine step from s = z = 1, which is its starting point."""
    factor(w)
    constant_direction(w)
    tau, kappa, fresh = w.tau, w.kappa, w.fresh > 0.5
    rate, mu = 1.0 / tau, (w.mu + tau * kappa) * (1.0 / w.degree)
    residual = kappa + w.qx + w.hz + w.xPx * rate
    slope = w.slope

    # predictor: c = -1, keep = 1
    for k in range(w.sides):
        store(w.e, k, -1.0)
    w.keep = splat(1.0)
    change = (residual - kappa + direction(w)) / slope
    change = select(fresh, 0.0, change)
    w.change = change
    change_kappa = -kappa - kappa * change * rate
    longest = largest(measure_step(w), largest(-change * rate, 1.0 + change * rate))
    left = 1.0 - 1.0 / longest  # at most 0 if no side is met
    sigma = select(fresh, 0.0, largest(left * left * left, LEAST_SIGMA))
    target = sigma * mu

    # corrector
    keep = 1.0 - sigma
    w.keep = keep
    w.target = target
    prepare_corrector(w)
    product = target - tau * kappa - change * change_kappa
    change = select(fresh, 0.0, (keep * residual + product * rate + direction(w)) / slope)
    change_kappa = select(fresh, 0.0, (product - kappa * change) * rate)
    w.change = change
    longest = largest(measure_step(w), largest(-change * rate, -change_kappa / kappa))
    size = select(fresh, 1.0, smallest(w.step_fraction / largest(longest, 1e-30), 1.0))
    w.size = size
    advance(w)
    w.tau = tau + size * change
    w.kappa = kappa + size * change_kappa


@inner
def solve_refined(w: Lanes, x: Matrix, Gx: Matrix) -> None:
    """x := (P + G'WG)^-1 x and Gx := G x, with a step of refinement in the lanes where rounding spoils the gradient."""
    n, rhs, residual, product, o, W, start = w.n, w.rhs, w.residual, w.product, w.o, w.W, w.cone_start
    if w.any_refine:
        for j in range(n):
            store(rhs, j, load(x, j))
    solve(n, w.spans, w.T, w.pivots, x)
    multiply(w, x, Gx)
    if w.any_refine:
        needed = w.refine > 0.5
        for i in range(w.cone_rows, w.m + n):
            store(o, i, load(W, i) * load(Gx, i))
        for k in range(w.cones):
            weigh(w.nt, start[k], start[k + 1], load(w.eta, k), Gx, o)
        multiply_hessian(w, x, product)
        multiply_transposed(w, o, residual)
        for j in range(n):
            store(residual, j, load(rhs, j) - load(product, j) - load(residual, j))
        solve(n, w.spans, w.T, w.pivots, residual)
        for j in range(n):
            store(x, j, select(needed, load(x, j) + load(residual, j), load(x, j)))
        multiply(w, x, Gx)


@inner
def constant_direction(w: Lanes) -> None:
    """Compute x2 = (P + G'WG)^-1 (G'o - q), and the slope of the equation of tau.

    slope = kappa / tau + x'Px / tau^2 - (q + 2 P x / tau)'x2 - h'z2 - b'v2, or the larger
            kappa / tau + |x / tau - x2|_P^2 + |W^1/2 (G x2 - h)|^2, which cannot cancel.
    """
    n, q, x, Px, x2, Gx2 = w.n, w.q, w.x, w.Px, w.x2, w.Gx2
    first, equal, sign, h, b, z, inverse_s = w.first, w.equal, w.sign, w.h, w.b, w.z, w.inverse_s
    multiply_transposed(w, w.o, x2)
    for j in range(n):
        store(x2, j, load(x2, j) - load(q, j))
    solve_refined(w, x2, Gx2)
    rate = 1.0 / w.tau
    forward, square = splat(0.0), splat(0.0)
    for i in range(w.cone_rows, w.m + n):
        g = load(Gx2, i)
        if equal[i]:
            bi = load(b, i)
            d = g - bi
            forward += bi * d * (1.0 / DELTA)
            square += d * d * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            hk = load(h, k)
            d = sign[k] * g - hk
            t = load(z, k) * load(inverse_s, k) * d
            forward += hk * t
            square += d * t
    if w.cones:
        more = constant_of_cones(w)
        forward, square = forward + more[0], square + more[1]
    dx, Pdx = w.dx, w.Gdx
    for j in range(n):
        forward += (load(q, j) + 2.0 * rate * load(Px, j)) * load(x2, j)
        store(dx, j, load(x, j) * rate - load(x2, j))
    multiply_hessian(w, dx, Pdx)
    for j in range(n):
        square += load(dx, j) * load(Pdx, j)
    own = w.kappa * rate
    w.slope = largest(own + w.xPx * rate * rate - forward, own + square)


@inner
def direction(w: Lanes) -> Vec:
    """Compute dx = -(P + G'WG)^-1 (keep rd + G'v), Gdx = G dx; return (q + 2 P x / tau)'dx + h'z1 + b'v1."""
    n, q, Px, rd, dx, Gdx = w.n, w.q, w.Px, w.rd, w.dx, w.Gdx
    first, equal, sign, h, b, z, inverse_s = w.first, w.equal, w.sign, w.h, w.b, w.z, w.inverse_s
    r, r_equal, e = w.r, w.r_equal, w.e
    keep, rate = w.keep, 2.0 / w.tau
    multiply_transposed(w, w.v, dx)
    for j in range(n):
        store(dx, j, -(load(dx, j) + keep * load(rd, j)))
    solve_refined(w, dx, Gdx)
    found = splat(0.0)
    for j in range(n):
        found += (load(q, j) + rate * load(Px, j)) * load(dx, j)
    for i in range(w.cone_rows, w.m + n):
        g, part = load(Gdx, i), splat(0.0)
        if equal[i]:
            part += load(b, i) * (g + keep * load(r_equal, i)) * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            part += load(h, k) * load(z, k) * (load(e, k) + load(inverse_s, k) * (sign[k] * g + keep * load(r, k)))
        found += part
    return found + direction_of_cones(w) if w.cones else found


@inner
def measure_step(w: Lanes) -> Vec:
    """Compute es = ds / s and e := dz / z, from c = ds / s + dz / z in e; return the largest of -ds / s and -dz / z."""
    first, sign, h, inverse_s, r, e, es, Gdx, Gx2 = w.first, w.sign, w.h, w.inverse_s, w.r, w.e, w.es, w.Gdx, w.Gx2
    change, keep, longest = w.change, w.keep, splat(0.0)
    for i in range(w.cone_rows, w.m + w.n):
        g = load(Gdx, i) + change * load(Gx2, i)
        for k in range(first[i], first[i + 1]):
            t = (load(h, k) * change - sign[k] * g - keep * load(r, k)) * load(inverse_s, k)
            c = load(e, k) - t
            longest = largest(largest(-t, -c), longest)
            store(es, k, t)
            store(e, k, c)
    return largest(measure_step_of_cones(w), longest) if w.cones else longest


@inner
def prepare_corrector(w: Lanes) -> None:
    """Compute v and e := c = sigma mu / (s z) - 1 - (ds / s) (dz / z), with the predictor's ds / s = -1 - dz / z."""
    first, equal, sign, z, inverse_s, inverse_sz = w.first, w.equal, w.sign, w.z, w.inverse_s, w.inverse_sz
    r, r_equal, e, v = w.r, w.r_equal, w.e, w.v
    keep, target, fresh = w.keep, w.target, w.fresh > 0.5
    for i in range(w.cone_rows, w.m + w.n):
        vi = splat(0.0)
        if equal[i]:
            vi = keep * load(r_equal, i) * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            t = load(e, k)
            c = select(fresh, 0.0, target * load(inverse_sz, k) + t * (1.0 + t)) - 1.0
            store(e, k, c)
            vi += sign[k] * load(z, k) * (c + load(inverse_s, k) * (keep * load(r, k)))
        store(v, i, vi)
    if w.cones:
        correct_cones(w)


@inner
def advance(w: Lanes) -> None:
    """Move along dx + dtau x2; move slacks and multipliers of fresh lanes inside their cones."""
    first, equal, sign, s, z, y, b, Gx, x = w.first, w.equal, w.sign, w.s, w.z, w.y, w.b, w.Gx, w.x
    Gdx, Gx2, dx, x2, r_equal, es, e = w.Gdx, w.Gx2, w.dx, w.x2, w.r_equal, w.es, w.e
    size, change, keep = w.size, w.change, w.keep
    least_s, least_z = splat(1e300), splat(1e300)
    for j in range(w.n):
        store(x, j, load(x, j) + size * (load(dx, j) + change * load(x2, j)))
    for k in range(w.sides):
        sk, zk = load(s, k), load(z, k)
        sk += sk * (size * load(es, k))
        zk += zk * (size * load(e, k))
        least_s, least_z = smallest(sk, least_s), smallest(zk, least_z)
        store(s, k, sk)
        store(z, k, zk)
    if w.cones:
        least_s, least_z = smallest(advance_cones(w), least_s), smallest(depth_in_cones(w, y), least_z)
    if w.any_fresh:
        fresh = w.fresh > 0.5
        up_s = select(fresh & (least_s <= WARM_MARGIN), 1.0 - least_s, 0.0)
        up_z = select(fresh & (least_z <= WARM_MARGIN), 1.0 - least_z, 0.0)
        for k in range(w.sides):
            store(s, k, load(s, k) + up_s)
            store(z, k, load(z, k) + up_z)
        for k in range(w.cones):
            at = w.cone_start[k]
            store(w.cone_s, at, load(w.cone_s, at) + up_s)
            store(y, at, load(y, at) + up_z)
    for i in range(w.cone_rows, w.m + w.n):
        g, yi = load(Gdx, i) + change * load(Gx2, i), splat(0.0)
        store(Gx, i, load(Gx, i) + size * g)
        if equal[i]:
            yi = load(y, i) + size * (g + keep * load(r_equal, i) - change * load(b, i)) * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            yi += sign[k] * load(z, k)
        store(y, i, yi)
