"""The state of the programs in the lanes, and work arrays of the method."""

from __future__ import annotations

from ..compiled.structures import Structure, dimension, floats, integer, integers, matrix, number, structure
from ..compiled.vec import lane_numbers
from .spans import Spans

RHO = 1e-8  # added to the diagonal of P + G'WG, for variables with neither curvature nor bounds
LEAST_SIGMA = 1e-2  # least centering parameter; with smaller values one program in a hundred fails


class Lanes(Structure):
    """State of one program in each lane, and work arrays of the method.

    The rows before `cone_rows` belong to second-order cones, cone k has cone_start[k]:cone_start[k + 1]; they have
    the right-hand side `cone_h`, the residual `cone_r` and the slack `cone_s`, and their multiplier z is among the y.
    `degree` counts sides, cones, tau.

    In a step `rhs` is v of the predictor or the corrector, `constant_rhs` that of the constant direction; `ds_relative`
    and `dz_relative` are ds / s and dz / z, and `dz_relative` holds their sum c until the step is measured.

    `P` and `A` are the matrices of the last program that was loaded, scaled by `D` and `E`; if programs do not share
    them, each lane has `P_own` and `A_own`.  `unit` converts residuals of rows to the caller's units, `dual_unit`
    residuals of the gradient.  Residuals of rows that are a `bound` are relative to their own side; equalities have a
    scale of their own if `equalities_apart` is 1.
    """

    m, n, sides = dimension(), dimension(), dimension()
    shared, any_fresh, any_refine = integer(), integer(), integer()
    first, equal, bound, who, age = integers(), integers(), integers(), integers(), integers()
    sign = floats()
    P, A, D, E = floats(), floats(), floats(), floats()
    P_own, A_own = matrix(), matrix()
    q, h, b, unit, dual_unit = matrix(), matrix(), matrix(), matrix(), matrix()
    x, y, s, z, Gx, Px = matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    rd, r, r_equal, inverse_sz, inverse_s = matrix(), matrix(), matrix(), matrix(), matrix()
    W, rhs, constant_rhs, dz_relative, ds_relative = matrix(), matrix(), matrix(), matrix(), matrix()
    dx, Gdx, x2, Gx2 = matrix(), matrix(), matrix(), matrix()
    cone_rows, cones, degree, equalities_apart = integer(), integer(), number(), integer()
    cone_start = integers()
    cone_h, cone_r = matrix(), matrix()
    cone_s, lam, nt, c, u, ds, dz = matrix(), matrix(), matrix(), matrix(), matrix(), matrix(), matrix()
    eta, B = matrix(), matrix()
    kept_rhs, residual, product = matrix(), matrix(), matrix()
    C, T, pivots = matrix(), matrix(), matrix()
    tau, kappa, mu, xPx, qx, hidden, hz, overlap, slope = (lane_numbers() for _ in range(9))
    rows, rows_size, equal_rows, equal_size, bounds, dual, dual_size, last_dual = (lane_numbers() for _ in range(8))
    ray_dual, ray_P, ray_rows, fresh, refine = (lane_numbers() for _ in range(5))
    one_minus_sigma, dtau, sigma_mu, alpha, objective_unit = (lane_numbers() for _ in range(5))
    tol, tol_abs, tol_infeasible, step_fraction = number(), number(), number(), number()
    max_iter = integer()
    spans = structure(Spans)
