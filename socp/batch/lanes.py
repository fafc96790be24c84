"""The homogeneous embedding of `LANES` programs at once, with linear rows and second-order cones.

    minimize 1/2 x'Px + q'x   subject to   sign_k (G x)_i + s_k = h_k, s_k >= 0,   (G x)_i = b_i,   G_K x + s_K = b_K

Row i of G = [A; I] has the sides k in first[i]:first[i + 1], one for each finite side, or is an equality, or belongs to
a cone (see `cones` for its formulas).  The embedding, with the multipliers z_k >= 0 of sides, y_i = sum sign_k z_k, and
the multipliers v of equalities among the y:

    rd = P x + G'y + q tau,   r_k = sign_k (G x)_i + s_k - h_k tau,   r_i = (G x)_i - b_i tau,
    kappa = -(q'x + h'z + b'v + x'Px / tau) + rtau,        s z = mu,  tau kappa = mu

Slacks and multipliers are eliminated; an equality is kept by a penalty with an exact multiplier:

    (P + G'WG) dx = -((1 - sigma) rd + G'v),   W_i = sum z_k / s_k  or  1 / DELTA

A direction is relative, ds / s and dz / z, so that a side costs one division per iteration.  No operation
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
def multiply(lanes: Lanes, x: Matrix, out: Matrix) -> None:
    """out := G x."""
    m, n, spans = lanes.m, lanes.n, lanes.spans
    if lanes.shared:
        multiply_shared(m, n, lanes.A, spans.row_first, spans.row_end, x, out)
    else:
        multiply_own(m, n, lanes.A_own, spans.row_first, spans.row_end, x, out)
    for j in range(n):
        store(out, m + j, load(x, j))


@inner
def multiply_hessian(lanes: Lanes, x: Matrix, out: Matrix) -> None:
    """out := P x."""
    n, spans = lanes.n, lanes.spans
    if lanes.shared:
        multiply_shared(n, n, lanes.P, spans.begin, spans.end, x, out)
    else:
        multiply_own(n, n, lanes.P_own, spans.begin, spans.end, x, out)


@inner
def multiply_transposed(lanes: Lanes, v: Matrix, out: Matrix) -> None:
    """out := G'v."""
    m, n, spans = lanes.m, lanes.n, lanes.spans
    if lanes.shared:
        multiply_transposed_shared(m, n, lanes.A, spans.column_first, spans.column_end, v, out)
    else:
        multiply_transposed_own(m, n, lanes.A_own, spans.column_first, spans.column_end, v, out)


@inner
def factor(lanes: Lanes) -> None:
    """Factor P + G'WG in every lane."""
    if lanes.shared:
        assemble_shared(lanes.m, lanes.n, lanes.P, lanes.A, lanes.spans, lanes.W, lanes.C)
    else:
        assemble_own(lanes.m, lanes.n, lanes.P_own, lanes.A_own, lanes.spans, lanes.W, lanes.C)
    n, spans, B, C = lanes.n, lanes.spans, lanes.B, lanes.C
    for k in range(lanes.cones):  # C += 2 B'B of the cones
        for i in range(spans.cone_first[k], spans.cone_end[k]):
            b = 2.0 * load(B, k * n + i)
            for j in range(spans.cone_first[k], i + 1):
                store(C, i * n + j, load(C, i * n + j) + b * load(B, k * n + j))
    eliminate(n, spans, C, lanes.T, lanes.pivots)


@inner
def measure(lanes: Lanes) -> None:
    """Compute residuals, weights and right-hand sides at the point, in every lane."""
    measure_gradient(lanes)
    measure_rows(lanes)
    lanes.overlap = overlap(lanes)
    if lanes.cones:
        measure_cones(lanes)


@inner
def measure_gradient(lanes: Lanes) -> None:
    """Compute rd = P x + G'y + q tau and its size in the caller's units."""
    q, x, Px, rd, unit = lanes.q, lanes.x, lanes.Px, lanes.rd, lanes.dual_unit
    tau = lanes.tau
    multiply_hessian(lanes, x, Px)
    multiply_transposed(lanes, lanes.y, rd)
    xPx, qx, hidden, dual = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    size, ray_dual, ray_P = splat(0.0), splat(0.0), splat(0.0)
    for j in range(lanes.n):
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
    lanes.xPx = xPx
    lanes.qx = qx
    lanes.hidden = hidden
    lanes.dual = dual
    lanes.dual_size = largest(size, ray_P)
    lanes.ray_dual = ray_dual
    lanes.ray_P = ray_P


@inner
def measure_rows(lanes: Lanes) -> None:
    """Compute the residuals r, 1 / s, 1 / s z, the weights W, and what enters G'v for the predictor and the constant.

        W_i = sum z_k / s_k,   rhs_i = sum sign_k (z_k r_k / s_k - z_k),   constant_rhs_i = sum sign_k z_k h_k / s_k

    over the sides k of row i; for an equality 1 / DELTA, r_i / DELTA and b_i / DELTA.
    """
    first, equal, bound, sign = lanes.first, lanes.equal, lanes.bound, lanes.sign
    h, b, Gx, s, z, y, unit = lanes.h, lanes.b, lanes.Gx, lanes.s, lanes.z, lanes.y, lanes.unit
    r, r_equal, inverse_sz, inverse_s, W, rhs, constant_rhs = (
        lanes.r, lanes.r_equal, lanes.inverse_sz, lanes.inverse_s, lanes.W, lanes.rhs, lanes.constant_rhs
    )  # fmt: skip
    tau = lanes.tau
    mu, hz, rows, rows_size, bounds, ray = splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    equal_rows, equal_size, tol = splat(0.0), splat(0.0), lanes.tol
    for i in range(lanes.cone_rows, lanes.m + lanes.n):
        g, weight_i, rhs_i, constant_i = load(Gx, i), splat(RHO if i >= lanes.m else 0.0), splat(0.0), splat(0.0)
        outside, along, allowed = splat(0.0), splat(0.0), splat(0.0)
        if equal[i]:
            b_i = load(b, i)
            b_tau = b_i * tau
            r_i = g - b_tau
            hz += b_i * load(y, i)
            outside, along, allowed = absolute(r_i), absolute(g), tol * absolute(b_tau)
            weight_i += 1.0 / DELTA
            rhs_i, constant_i = r_i * (1.0 / DELTA), b_i * (1.0 / DELTA)
            store(r_equal, i, r_i)
        for k in range(first[i], first[i + 1]):
            s_k, z_k, h_k, signed = load(s, k), load(z, k), load(h, k), sign[k] * g
            c = s_k * z_k
            inverse = 1.0 / c
            inverse_s_k = z_k * inverse
            h_tau = h_k * tau
            r_k = signed + s_k - h_tau
            mu += c
            hz += h_k * z_k
            outside, along = largest(signed - h_tau, outside), largest(signed, along)
            allowed = largest(tol * absolute(h_tau), allowed)
            weight = z_k * inverse_s_k
            weight_i += weight
            rhs_i += sign[k] * (weight * r_k - z_k)
            constant_i += sign[k] * (weight * h_k)
            store(inverse_sz, k, inverse)
            store(inverse_s, k, inverse_s_k)
            store(r, k, r_k)
        u = load(unit, i)
        if bound[i]:
            bounds = largest((outside - allowed) * u, bounds)
        elif equal[i] and lanes.equalities_apart:
            equal_rows = largest(outside * u, equal_rows)
            equal_size = largest(absolute(g) * u, equal_size)
        elif equal[i] or first[i + 1] > first[i]:
            rows = largest(outside * u, rows)
            rows_size = largest(absolute(g) * u, rows_size)
        ray = largest(along * u, ray)
        store(W, i, weight_i)
        store(rhs, i, rhs_i)
        store(constant_rhs, i, constant_i)
    lanes.mu = mu
    lanes.hz = hz
    lanes.rows = rows
    lanes.rows_size = rows_size
    lanes.equal_rows = equal_rows
    lanes.equal_size = equal_size
    lanes.bounds = bounds
    lanes.ray_rows = ray


@inner
def overlap(lanes: Lanes) -> Vec:
    """Return the part of h'z that rows with two sides lose, as answers have the difference of their two multipliers."""
    first, h, z, total = lanes.first, lanes.h, lanes.z, splat(0.0)
    for i in range(lanes.cone_rows, lanes.m + lanes.n):
        k = first[i]
        if first[i + 1] == k + 2:
            total += smallest(load(z, k), load(z, k + 1)) * (load(h, k) + load(h, k + 1))
    return total


@inner
def step(lanes: Lanes) -> None:
    """Make one step in every lane; a fresh lane takes the affine step from s = z = 1, which is its starting point."""
    factor(lanes)
    constant_direction(lanes)
    tau, kappa, fresh = lanes.tau, lanes.kappa, lanes.fresh > 0.5
    rate, mu = 1.0 / tau, (lanes.mu + tau * kappa) * (1.0 / lanes.degree)
    residual = kappa + lanes.qx + lanes.hz + lanes.xPx * rate
    slope = lanes.slope

    # predictor: c = -1, one_minus_sigma = 1
    for k in range(lanes.sides):
        store(lanes.dz_relative, k, -1.0)
    lanes.one_minus_sigma = splat(1.0)
    dtau = (residual - kappa + direction(lanes)) / slope
    dtau = select(fresh, 0.0, dtau)
    lanes.dtau = dtau
    dkappa = -kappa - kappa * dtau * rate
    longest = largest(measure_step(lanes), largest(-dtau * rate, 1.0 + dtau * rate))
    left = 1.0 - 1.0 / longest  # at most 0 if no side is met
    sigma = select(fresh, 0.0, largest(left * left * left, LEAST_SIGMA))
    sigma_mu = sigma * mu

    # corrector
    one_minus_sigma = 1.0 - sigma
    lanes.one_minus_sigma = one_minus_sigma
    lanes.sigma_mu = sigma_mu
    prepare_corrector(lanes)
    product = sigma_mu - tau * kappa - dtau * dkappa
    dtau = select(fresh, 0.0, (one_minus_sigma * residual + product * rate + direction(lanes)) / slope)
    dkappa = select(fresh, 0.0, (product - kappa * dtau) * rate)
    lanes.dtau = dtau
    longest = largest(measure_step(lanes), largest(-dtau * rate, -dkappa / kappa))
    alpha = select(fresh, 1.0, smallest(lanes.step_fraction / largest(longest, 1e-30), 1.0))
    lanes.alpha = alpha
    advance(lanes)
    lanes.tau = tau + alpha * dtau
    lanes.kappa = kappa + alpha * dkappa


@inner
def solve_refined(lanes: Lanes, x: Matrix, Gx: Matrix) -> None:
    """x := (P + G'WG)^-1 x and Gx := G x, with a step of refinement in the lanes where rounding spoils the gradient."""
    n, rhs, residual, product, o, W, start = (
        lanes.n, lanes.kept_rhs, lanes.residual, lanes.product, lanes.constant_rhs, lanes.W, lanes.cone_start
    )  # fmt: skip
    if lanes.any_refine:
        for j in range(n):
            store(rhs, j, load(x, j))
    solve(n, lanes.spans, lanes.T, lanes.pivots, x)
    multiply(lanes, x, Gx)
    if lanes.any_refine:
        needed = lanes.refine > 0.5
        for i in range(lanes.cone_rows, lanes.m + n):
            store(o, i, load(W, i) * load(Gx, i))
        for k in range(lanes.cones):
            weigh(lanes.nt, start[k], start[k + 1], load(lanes.eta, k), Gx, o)
        multiply_hessian(lanes, x, product)
        multiply_transposed(lanes, o, residual)
        for j in range(n):
            store(residual, j, load(rhs, j) - load(product, j) - load(residual, j))
        solve(n, lanes.spans, lanes.T, lanes.pivots, residual)
        for j in range(n):
            store(x, j, select(needed, load(x, j) + load(residual, j), load(x, j)))
        multiply(lanes, x, Gx)


@inner
def constant_direction(lanes: Lanes) -> None:
    """Compute x2 = (P + G'WG)^-1 (G'o - q), and the slope of the equation of tau.

    slope = kappa / tau + x'Px / tau^2 - (q + 2 P x / tau)'x2 - h'z2 - b'v2, or the larger
            kappa / tau + |x / tau - x2|_P^2 + |W^1/2 (G x2 - h)|^2, which cannot cancel.
    """
    n, q, x, Px, x2, Gx2 = lanes.n, lanes.q, lanes.x, lanes.Px, lanes.x2, lanes.Gx2
    first, equal, sign, h, b, z, inverse_s = (
        lanes.first, lanes.equal, lanes.sign, lanes.h, lanes.b, lanes.z, lanes.inverse_s
    )  # fmt: skip
    multiply_transposed(lanes, lanes.constant_rhs, x2)
    for j in range(n):
        store(x2, j, load(x2, j) - load(q, j))
    solve_refined(lanes, x2, Gx2)
    rate = 1.0 / lanes.tau
    forward, square = splat(0.0), splat(0.0)
    for i in range(lanes.cone_rows, lanes.m + n):
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
    if lanes.cones:
        more = constant_of_cones(lanes)
        forward, square = forward + more[0], square + more[1]
    dx, Pdx = lanes.dx, lanes.Gdx
    for j in range(n):
        forward += (load(q, j) + 2.0 * rate * load(Px, j)) * load(x2, j)
        store(dx, j, load(x, j) * rate - load(x2, j))
    multiply_hessian(lanes, dx, Pdx)
    for j in range(n):
        square += load(dx, j) * load(Pdx, j)
    own = lanes.kappa * rate
    lanes.slope = largest(own + lanes.xPx * rate * rate - forward, own + square)


@inner
def direction(lanes: Lanes) -> Vec:
    """Compute dx = -(P + G'WG)^-1 ((1 - sigma) rd + G'v), Gdx = G dx; return (q + 2 P x / tau)'dx + h'z1 + b'v1."""
    n, q, Px, rd, dx, Gdx = lanes.n, lanes.q, lanes.Px, lanes.rd, lanes.dx, lanes.Gdx
    first, equal, sign, h, b, z, inverse_s = (
        lanes.first, lanes.equal, lanes.sign, lanes.h, lanes.b, lanes.z, lanes.inverse_s
    )  # fmt: skip
    r, r_equal, dz_relative = lanes.r, lanes.r_equal, lanes.dz_relative
    one_minus_sigma, rate = lanes.one_minus_sigma, 2.0 / lanes.tau
    multiply_transposed(lanes, lanes.rhs, dx)
    for j in range(n):
        store(dx, j, -(load(dx, j) + one_minus_sigma * load(rd, j)))
    solve_refined(lanes, dx, Gdx)
    found = splat(0.0)
    for j in range(n):
        found += (load(q, j) + rate * load(Px, j)) * load(dx, j)
    for i in range(lanes.cone_rows, lanes.m + n):
        g, part = load(Gdx, i), splat(0.0)
        if equal[i]:
            part += load(b, i) * (g + one_minus_sigma * load(r_equal, i)) * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            part += (
                load(h, k)
                * load(z, k)
                * (load(dz_relative, k) + load(inverse_s, k) * (sign[k] * g + one_minus_sigma * load(r, k)))
            )
        found += part
    return found + direction_of_cones(lanes) if lanes.cones else found


@inner
def measure_step(lanes: Lanes) -> Vec:
    """Compute ds / s and dz / z, from their sum c in `dz_relative`; return the largest of -ds / s and -dz / z."""
    first, sign, h, inverse_s, r, dz_relative, ds_relative, Gdx, Gx2 = (
        lanes.first, lanes.sign, lanes.h, lanes.inverse_s, lanes.r, lanes.dz_relative, lanes.ds_relative, lanes.Gdx,
        lanes.Gx2
    )  # fmt: skip
    dtau, one_minus_sigma, longest = lanes.dtau, lanes.one_minus_sigma, splat(0.0)
    for i in range(lanes.cone_rows, lanes.m + lanes.n):
        g = load(Gdx, i) + dtau * load(Gx2, i)
        for k in range(first[i], first[i + 1]):
            t = (load(h, k) * dtau - sign[k] * g - one_minus_sigma * load(r, k)) * load(inverse_s, k)
            c = load(dz_relative, k) - t
            longest = largest(largest(-t, -c), longest)
            store(ds_relative, k, t)
            store(dz_relative, k, c)
    return largest(measure_step_of_cones(lanes), longest) if lanes.cones else longest


@inner
def prepare_corrector(lanes: Lanes) -> None:
    """Compute the corrector's v, and c in `dz_relative`, with the predictor's ds / s = -1 - dz / z.

    c = sigma mu / (s z) - 1 - (ds / s) (dz / z)
    """
    first, equal, sign, z, inverse_s, inverse_sz = (
        lanes.first, lanes.equal, lanes.sign, lanes.z, lanes.inverse_s, lanes.inverse_sz
    )  # fmt: skip
    r, r_equal, dz_relative, v = lanes.r, lanes.r_equal, lanes.dz_relative, lanes.rhs
    one_minus_sigma, sigma_mu, fresh = lanes.one_minus_sigma, lanes.sigma_mu, lanes.fresh > 0.5
    for i in range(lanes.cone_rows, lanes.m + lanes.n):
        vi = splat(0.0)
        if equal[i]:
            vi = one_minus_sigma * load(r_equal, i) * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            t = load(dz_relative, k)
            c = select(fresh, 0.0, sigma_mu * load(inverse_sz, k) + t * (1.0 + t)) - 1.0
            store(dz_relative, k, c)
            vi += sign[k] * load(z, k) * (c + load(inverse_s, k) * (one_minus_sigma * load(r, k)))
        store(v, i, vi)
    if lanes.cones:
        correct_cones(lanes)


@inner
def advance(lanes: Lanes) -> None:
    """Move along dx + dtau x2; move slacks and multipliers of fresh lanes inside their cones."""
    first, equal, sign, s, z, y, b, Gx, x = (
        lanes.first, lanes.equal, lanes.sign, lanes.s, lanes.z, lanes.y, lanes.b, lanes.Gx, lanes.x
    )  # fmt: skip
    Gdx, Gx2, dx, x2, r_equal, ds_relative, dz_relative = (
        lanes.Gdx, lanes.Gx2, lanes.dx, lanes.x2, lanes.r_equal, lanes.ds_relative, lanes.dz_relative
    )  # fmt: skip
    alpha, dtau, one_minus_sigma = lanes.alpha, lanes.dtau, lanes.one_minus_sigma
    least_s, least_z = splat(1e300), splat(1e300)
    for j in range(lanes.n):
        store(x, j, load(x, j) + alpha * (load(dx, j) + dtau * load(x2, j)))
    for k in range(lanes.sides):
        sk, zk = load(s, k), load(z, k)
        sk += sk * (alpha * load(ds_relative, k))
        zk += zk * (alpha * load(dz_relative, k))
        least_s, least_z = smallest(sk, least_s), smallest(zk, least_z)
        store(s, k, sk)
        store(z, k, zk)
    if lanes.cones:
        least_s, least_z = smallest(advance_cones(lanes), least_s), smallest(depth_in_cones(lanes, y), least_z)
    if lanes.any_fresh:
        fresh = lanes.fresh > 0.5
        up_s = select(fresh & (least_s <= WARM_MARGIN), 1.0 - least_s, 0.0)
        up_z = select(fresh & (least_z <= WARM_MARGIN), 1.0 - least_z, 0.0)
        for k in range(lanes.sides):
            store(s, k, load(s, k) + up_s)
            store(z, k, load(z, k) + up_z)
        for k in range(lanes.cones):
            at = lanes.cone_start[k]
            store(lanes.cone_s, at, load(lanes.cone_s, at) + up_s)
            store(y, at, load(y, at) + up_z)
    for i in range(lanes.cone_rows, lanes.m + lanes.n):
        g, yi = load(Gdx, i) + dtau * load(Gx2, i), splat(0.0)
        store(Gx, i, load(Gx, i) + alpha * g)
        if equal[i]:
            yi = load(y, i) + alpha * (g + one_minus_sigma * load(r_equal, i) - dtau * load(b, i)) * (1.0 / DELTA)
        for k in range(first[i], first[i + 1]):
            yi += sign[k] * load(z, k)
        store(y, i, yi)
