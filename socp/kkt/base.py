"""The KKT system of a Newton step in scaled dual variables, and the parts common to all ways of solving it.

        [ P       A'   G'W^-1 ] [dx  ]   [r1]
    K = [ A       0    0      ] [dy  ] = [r2]        W dz is the unknown, not dz: near the end a cone's W has
        [ W^-1 G  0   -I      ] [W dz]   [r3]        a large condition number, and W (dz) would lose digits.

A backend factors a matrix M near K at a scaling (w, eta) and solves with it by two kernels, which are called by their
addresses, so that this file does not depend on the backend.  Refinement and GMRES make M^-1 into K^-1.  The module
`policy` decides on the regularization of M and on how far solves are refined.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..compiled.clock import clock
from ..compiled.kernels import address_of, deferred, inner, kernel, kernel_type, leaf
from ..compiled.signatures import Floats
from ..compiled.structures import Structure, floats, integer, integers, matrix, number, part, structure
from ..cones.scaling import apply_inverse, norm
from ..form.dense_rows import multiply_M_both
from ..form.standard import StandardForm, multiply_hessian
from ..linalg.refinement import GO_ON, KRYLOV_STEPS, SLOW, TAKE_BACK, add_images, extend_basis, refinement_decision
from ..linalg.vectors import bits, dot_within, from_bits, norm_within
from .policy import EQUATIONS, FEW_SOLVES, FEWER_SOLVES, GOOD_ENOUGH, LADDER, MUCH_WORSE, PRECISE, Policy


class KKT(Structure):
    """KKT systems of one program, solved by the backend of a subclass.

    A subclass sets `factor_address` and `apply_address`, and defines `description` and `refresh`, and `still_fits`
    where new values may invalidate its set-up.

    Attributes
    ----------
    w, eta : arrays
        Nesterov-Todd scaling at which the system is solved.
    policy : Policy
        Regularization of the factors and limits of the solves.
    flops, factor_entries : float
        Operations of a factorization, and entries of the factor that a solve reads.
    refinements, replaced_pivots : int
        Refinement steps since the loop last read their count, and pivots replaced in the last factorization.
    factor_seconds, solve_seconds : float
        Seconds of factorizations and of solves in the run so far.
    until : float
        Time on the clock at which factorizations fail, 0 for none.
    residual, before : arrays
        Residuals of two right-hand sides, and the solutions before the last correction.
    rhs_norm, residual_norm, scaled, solves, active : arrays, one entry a right-hand side
        Infinity norms of right-hand side and residual, the residual divided by its limits, the refinement steps, and
        whether refinement goes on.
    krylov, hessenberg : arrays
        Basis of GMRES, followed by the images of its vectors under M^-1; least-squares problem of GMRES.
    """

    flops, factor_entries = 0.0, 0.0

    form, policy = structure(StandardForm), part(Policy)
    factor_address, apply_address = integer(), integer()
    w, eta = floats("m"), floats("cones")
    refinements, replaced_pivots = integer(), integer()
    factor_seconds, solve_seconds, until = number(), number(), number()
    Px, Mtv, v, product = matrix("2, n"), floats("n"), floats("p + m"), floats("n + p + m")
    residual, before = floats("2 * (n + p + m)"), floats("2 * (n + p + m)")
    rhs_norm, residual_norm, scaled = floats("2"), floats("2"), floats("2")
    solves, active = integers("2"), integers("2")
    krylov = floats(f"{2 * KRYLOV_STEPS + 1} * (n + p + m)", scratch=True)
    hessenberg = matrix(f"{KRYLOV_STEPS + 1}, {KRYLOV_STEPS + 3}")

    def __init__(self, form: StandardForm, regularization: float | None, refinement_steps: int, **rest: Any) -> None:
        super().__init__(n=form.n, p=form.p, m=form.m, cones=form.cones, form=form, **rest)
        self.regularize(regularization, refinement_steps)

    def _use(self, factor: Any, apply: Any) -> None:
        """Set the addresses of the backend's two kernels."""
        self.factor_address, self.apply_address = address_of(factor), address_of(apply)

    @property
    def description(self) -> str:
        """The method, its order and its entries, in words."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Copy the current values of P and M from the standard form."""
        raise NotImplementedError

    def still_fits(self) -> bool:
        """Return True if the set-up, which depends on values of the form, is valid for its current values."""
        return True

    def try_refresh(self) -> bool:
        """Refresh for another program of equal sizes in the form; return False if a new set-up is needed."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise the exception of a solver of the caller, which compiled code could not pass on."""

    def keep_pattern(self) -> None:
        """Store the pattern that `try_refresh` will compare, if the backend depends on a pattern."""

    def analysis_seconds(self) -> tuple[float, float]:
        """Return the seconds of the ordering and of the symbolic analysis."""
        return 0.0, 0.0

    def regularize(self, regularization: float | None, refinement_steps: int) -> None:
        """Set the static regularization (None: the deltas of `LADDER`) and the largest number of refinement steps."""
        self.policy.deltas[:] = LADDER if regularization is None else regularization
        self.policy.refinement_steps = refinement_steps
        restart(self)

    @contextlib.contextmanager
    def precisely(self) -> Iterator[None]:
        """Refine all solves inside the context to residuals of at most `PRECISE` times the right-hand side."""
        before, self.policy.precise = self.policy.precise, True
        try:
            yield
        finally:
            self.policy.precise = before


@kernel_type
def factor_backend(address: int, kkt: KKT, delta: float) -> int:
    """Factor at the scaling of `kkt`; return the number of replaced pivots, or -1 on failure."""
    raise NotImplementedError


@kernel_type
def apply_backend(address: int, kkt: KKT, count: int, rhs: Floats, out: Floats) -> None:
    """out += M^-1 rhs for `count` right-hand sides, stored one after the other."""


@leaf
def is_late(until: float) -> bool:
    """Return True if the clock shows `until`; 0 is never."""
    return until > 0.0 and clock() >= until


@kernel
def restart(kkt: KKT) -> None:
    """Reset the state left by the last run, so that results do not depend on it; begin with the first delta."""
    policy = kkt.policy
    policy.delta, policy.compared, policy.good_excess, policy.trusted = policy.deltas[0], False, 1.0, False
    kkt.factor_seconds, kkt.solve_seconds = 0.0, 0.0
    kkt.refinements, kkt.replaced_pivots = 0, 0
    for k in range(policy.block_limits.size):
        policy.block_limits[k] = policy.caller_limits[k] = 0.0


@inner
def multiply(kkt: KKT, u: Floats, Px: Floats, out: Floats) -> None:
    """out := K u and Px := P u[:n]."""
    form = kkt.form
    n, p, l, ptr, w, eta, v, Mtv = form.n, form.p, form.l, form.ptr, kkt.w, kkt.eta, kkt.v, kkt.Mtv
    multiply_hessian(form, u, Px)
    dy, last = u[n:], u[n + p :]
    for i in range(p):
        v[i] = dy[i]
    apply_inverse(l, ptr, w, eta, u, n + p, v, p)
    multiply_M_both(form, u, v, out[n:], Mtv)
    apply_inverse(l, ptr, w, eta, out, n + p, out, n + p)
    for j in range(n):
        out[j] = Px[j] + Mtv[j]
    end = out[n + p :]
    for i in range(last.size):
        end[i] -= last[i]


@inner
def measure_residual(kkt: KKT, row: int, rhs: Floats, out: Floats) -> float:
    """Compute residual := rhs - K out for right-hand side `row`; return its infinity norm, inf for NaN.

    Store its `scaled_residual` in scaled[row], too.
    """
    size, product, residual = kkt.product.size, kkt.product, kkt.residual
    multiply(kkt, out[row * size : (row + 1) * size], kkt.Px[row], product)
    at = row * size
    for i in range(size):
        residual[at + i] = rhs[at + i] - product[i]
    largest = norm_within(residual, row * size, (row + 1) * size)
    kkt.scaled[row] = scaled_residual(kkt, row, largest) if math.isfinite(largest) else np.inf
    return largest if math.isfinite(largest) else np.inf


@inner
def scaled_residual(kkt: KKT, row: int, largest: float) -> float:
    """Return max |r_i| / limit_i, which is at most 1 where the solve is good enough.

    limit_i is the largest of: the limit of the block, the block's limit in the caller's units, and `EQUATIONS` (in the
    cone's block `GOOD_ENOUGH`) times the right-hand side.  The first two apply to residuals before the scaling, so
    that W weighs them in the cone's block.  The limit of precise solves is `PRECISE` times the right-hand side.
    """
    form, policy, w, size = kkt.form, kkt.policy, kkt.w, kkt.product.size
    if policy.precise:
        return largest / max(PRECISE * kkt.rhs_norm[row], 1e-300)
    least, strict = max(GOOD_ENOUGH * kkt.rhs_norm[row], 1e-300), max(EQUATIONS * kkt.rhs_norm[row], 1e-300)
    if largest <= strict:
        return largest / strict
    n, first, l, ptr, r = form.n, form.n + form.p, form.l, form.ptr, kkt.residual[row * size : (row + 1) * size]
    excess, r_cone = 0, r[first:]
    block, caller, D, E = policy.block_limits[3 * row :], policy.caller_limits[3 * row :], form.D, form.E
    for j in range(n):
        excess = max(excess, bits(r[j] / max(strict, block[0], caller[0] * D[j])))
    for i in range(form.p):
        excess = max(excess, bits(r[n + i] / max(strict, block[1], caller[1] * E[i])))
    E = E[form.p :]
    for i in range(l):
        excess = max(excess, bits(r_cone[i] / max(least, max(block[2], caller[2] * E[i]) / w[i])))
    for k in range(ptr.size - 1):
        limit = max(least, max(block[2], caller[2] * E[ptr[k]]) / norm(kkt.eta[k], w[ptr[k]]))
        for i in range(ptr[k], ptr[k + 1]):
            excess = max(excess, bits(r_cone[i] / limit))
    return from_bits(excess)


@inner
def factor_and_solve(kkt: KKT, count: int, rhs: Floats, out: Floats) -> int:
    """Factor at the scaling (w, eta) and solve K out = rhs by `solve`, with the best delta by the rule of `policy`.

    Return the number of replaced pivots, or -1 if no delta gives finite factors.
    """
    policy, in_use = kkt.policy, kkt.policy.delta
    best, solves = factor_once(kkt, in_use, count, rhs, out, True)
    is_good, few = best <= policy.good_excess, FEW_SOLVES if kkt.replaced_pivots == 0 else FEWER_SOLVES
    if is_good and (solves <= few or policy.compared):
        return kkt.replaced_pivots
    best_delta, fewest = in_use, solves if is_good else np.inf  # fewest: solves with the best delta if it is good
    for k in range(policy.deltas.size):
        delta = policy.deltas[k]
        if (k > 1 and fewest <= FEW_SOLVES) or is_late(kkt.until):
            break  # A good delta with few solves is found, or time is over.
        if delta == in_use or (k > 0 and delta == policy.deltas[k - 1]):
            continue
        residual, solves = factor_once(kkt, delta, count, rhs, out, False)
        is_good = residual <= policy.good_excess
        if is_good and (solves <= min(FEW_SOLVES, fewest) or policy.compared):
            return kkt.replaced_pivots
        if solves < fewest if is_good else (fewest == np.inf and residual < best):
            best, best_delta, fewest = residual, delta, solves if is_good else np.inf
    if not math.isfinite(best):
        return -1
    # Until the next comparison, residuals up to MUCH_WORSE times the best one of this comparison are good.
    policy.compared, policy.good_excess = True, max(1.0, MUCH_WORSE * best)
    needs_gmres = best_delta != in_use and best > 1.0 and policy.refinement_steps > 0  # Comparisons omit it.
    if policy.delta != best_delta or needs_gmres:
        factor_once(kkt, best_delta, count, rhs, out, True)
    return kkt.replaced_pivots


@inner
def factor_once(
    kkt: KKT, delta: float, count: int, rhs: Floats, out: Floats, finish: bool
) -> tuple[float, float]:  # fmt: skip
    """Factor with regularization `delta` and solve; return the scaled residual and the refinement steps of `solve`.

    The residual is infinite if the factorization fails.
    """
    begin, before = clock(), kkt.refinements
    kkt.policy.delta = delta
    kkt.replaced_pivots = factor_backend(kkt.factor_address, kkt, delta)
    kkt.factor_seconds += clock() - begin
    residual = np.inf if kkt.replaced_pivots < 0 else solve(kkt, count, rhs, out, finish)
    return residual, (kkt.refinements - before) / count


@inner
def solve(kkt: KKT, count: int, rhs: Floats, out: Floats, finish: bool) -> float:
    """Solve K out = rhs with refinement, for one or two right-hand sides, stored one after the other.

        out := 0,  residual := rhs;    out += M^-1 residual,  residual := rhs - K out,  until it is small or stalls

    Where refinement stalls, GMRES continues if `finish` is True; it is False while deltas are compared.  Return the
    largest residual divided by its limit, or infinity if a residual is NaN.
    """
    begin, policy, residual = clock(), kkt.policy, kkt.residual
    size, left = kkt.product.size, count
    for row in range(count):
        largest = norm_within(rhs, row * size, (row + 1) * size)
        kkt.rhs_norm[row] = largest if math.isfinite(largest) else 0.0
        kkt.residual_norm[row], kkt.scaled[row], kkt.solves[row], kkt.active[row] = np.inf, np.inf, 0, 1
    for i in range(count * size):
        out[i], residual[i] = 0.0, rhs[i]
    while left > 0:
        correct(kkt, count, left, out)
        left = measure_active(kkt, count, rhs, out)
    worst = 0.0
    for row in range(count):
        stalled = GOOD_ENOUGH * kkt.rhs_norm[row] < kkt.residual_norm[row] < np.inf and kkt.scaled[row] > 1.0
        if stalled and finish and policy.refinement_steps > 0:
            gmres(kkt, row, rhs, out)
        kkt.refinements += kkt.solves[row]
        relative = kkt.residual_norm[row] / max(GOOD_ENOUGH * kkt.rhs_norm[row], 1e-300)
        worst = max(worst, min(kkt.scaled[row], relative))
    kkt.solve_seconds += clock() - begin
    return worst


@inner
def correct(kkt: KKT, count: int, left: int, out: Floats) -> None:
    """out += M^-1 residual for the `left` active ones of `count` right-hand sides; one call solves for all of them."""
    size, residual = kkt.product.size, kkt.residual
    if left == count:
        apply_backend(kkt.apply_address, kkt, count, residual[: count * size], out)
        return
    for row in range(count):
        if kkt.active[row] != 0:
            at, end = row * size, (row + 1) * size
            apply_backend(kkt.apply_address, kkt, 1, residual[at:end], out[at:end])


@inner
def measure_active(kkt: KKT, count: int, rhs: Floats, out: Floats) -> int:
    """Measure the residuals of active right-hand sides by `refine`; return how many are active still."""
    policy, left = kkt.policy, 0
    for row in range(count):
        is_last = row == count - 1
        skip_measurement = is_last and policy.trusted and not policy.precise  # see `Policy.trusted`
        if skip_measurement:
            kkt.residual_norm[row], kkt.scaled[row], kkt.active[row] = 0.0, 0.0, 0
        if kkt.active[row] != 0:
            kkt.active[row] = 1 if refine(kkt, row, rhs, out) else 0
            left += kkt.active[row]
            if not is_last:
                policy.trusted = kkt.solves[0] == 0 and kkt.scaled[0] <= 1.0
    return left


@inner
def refine(kkt: KKT, row: int, rhs: Floats, out: Floats) -> bool:
    """Measure the residual of right-hand side `row` after its last correction; undo a correction that did not help.

    Return True if another correction is needed.
    """
    size, previous = kkt.product.size, kkt.scaled[row]
    left = measure_residual(kkt, row, rhs, out)
    steps = kkt.policy.refinement_steps
    further = steps if kkt.policy.precise else FEW_SOLVES
    what = refinement_decision(kkt.scaled[row], previous, kkt.solves[row], steps, further)
    if what == TAKE_BACK:
        for i in range(row * size, (row + 1) * size):
            out[i] = kkt.before[i]
        left = measure_residual(kkt, row, rhs, out)
    kkt.residual_norm[row] = left
    if what != GO_ON:
        return False
    for i in range(row * size, (row + 1) * size):
        kkt.before[i] = out[i]
    kkt.solves[row] += 1
    return True


@deferred
def gmres(kkt: KKT, row: int, rhs: Floats, out: Floats) -> None:
    """Run right-preconditioned GMRES on right-hand side `row` after refinement stalled; undo it if it does not help."""
    size, small = kkt.product.size, kkt.hessenberg
    basis, images = kkt.krylov[: (KRYLOV_STEPS + 1) * size], kkt.krylov[(KRYLOV_STEPS + 1) * size :]
    solution, product = out[row * size : (row + 1) * size], kkt.product
    previous = kkt.residual_norm[row]
    solved = SLOW * min(previous, 0.01 * kkt.rhs_norm[row])
    for i in range(size):
        kkt.before[row * size + i] = solution[i]
    residual, count = kkt.residual[row * size : (row + 1) * size], 0
    beta = math.sqrt(dot_within(residual, 0, residual, 0, size))
    for i in range(size):
        basis[i] = residual[i] / beta
    small[:, :] = 0.0
    small[0, KRYLOV_STEPS + 2] = beta
    tol = SLOW * beta * min(1.0 / kkt.scaled[row], solved / previous)
    for k in range(KRYLOV_STEPS):
        image = images[k * size : (k + 1) * size]
        for i in range(size):
            image[i] = 0.0
        apply_backend(kkt.apply_address, kkt, 1, basis[k * size : (k + 1) * size], image)
        multiply(kkt, image, kkt.Px[row], product)
        left = extend_basis(k, product, basis, small)
        if left < 0.0:
            break
        count = k + 1
        if left <= tol or (2 * count == KRYLOV_STEPS and left > SLOW * beta):  # Half of the steps gained little.
            break
    add_images(count, images, small, solution)
    kkt.solves[row] += count
    after = measure_residual(kkt, row, rhs, out)
    if not after < solved:
        for i in range(size):
            solution[i] = kkt.before[row * size + i]
        after = measure_residual(kkt, row, rhs, out)
    kkt.residual_norm[row] = after
