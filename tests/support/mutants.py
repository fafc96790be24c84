"""Bugs put in by hand, one at a time: which of them do the tests catch?

    python -m tests.support.mutants [word ...]

Each mutant is a line of the code changed, in a copy of the checkout, and the files of tests that should fail by it.
With words, only mutants with one of them in their file or text are tried.  All of them take half an hour on a core, so
that this is no part of the tests; it is for whoever changes what it lists, or writes tests.

A line of the table is a mutant: "caught"; "NOT CAUGHT", an identity that no test checks; "DOES NOT APPLY", the text is
not there once, or the tests did not start.  The exit status is 1 unless all are caught.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("socp", "qp", "models", "bench", "tests", "pyproject.toml")
LONGEST = 900.0  # seconds: a mutant that loops for ever is caught

# (file, tests): [(text, what comes in its place)]
MUTANTS: dict[tuple[str, str], list[tuple[str, str]]] = {
    (
        "socp/verify/certificates.py",
        "tests/socp/verify/test_stopping.py tests/qp/problem/test_stopping.py tests/socp/verify/test_certificates.py",
    ): [
        ("np.minimum(-slope, own)", "(0.0 * own - slope)"),
        ("np.minimum(-slope, own)", "own"),
        (", data), *outside]", ", data)]"),
        ("outside.append((distance, largest))", "outside = [(distance, largest)]"),
        ("add_transposed(block.matrix, v, gradient)", "add_transposed(block.matrix, np.abs(v), gradient)"),
        ("add_transposed(block.matrix, v, gradient)", "gradient[..., : program.n] += block.matrix.T @ v"),
        ("add_transposed(sides[..., None], v, slope)", "slope[..., 0] += (sides * v).sum(axis=-1)"),
        (
            "    ray = scaled(slope_of(program, *ray), *ray)\n    return ray, ray_error(*terms_of(program, *ray))",
            "    return scaled(slope_of(program, *ray), *ray), ray_error(*terms_of(program, *ray))",
        ),
        ("[(norm(rounded_sums(program.hessian.accurate_product(x))), program.hessian.largest)]", "[]"),
        ("largest_entry(block.matrix)) for block in program.constraints]", "0.0) for block in []]"),
        ("LEAST_SLOPE = 1e-12", "LEAST_SLOPE = 0.0"),
        ("~_in_rows(program) if block.are_bounds else block.idle(v)", "block.idle(v)"),
    ],
    ("socp/verify/distances.py", "tests/socp/verify/test_stopping.py"): [
        ("            error += 2.0 * other * low[i]\n", "            error += 0.0\n"),
        ("x[j] = h[i] / data[k]", "x[j] = h[i]"),
        ("left = max(abs(v[i]) - d, 0.0)", "left = abs(v[i])"),
        ("            is_bound[start[k] : start[k + 1]] = 0.0", "            pass"),
    ],
    ("socp/verify/stopping.py", "tests/socp/verify/test_stopping.py tests/qp/problem/test_stopping.py"): [
        ("stray = max(stray, abs(z[i]))", "stray = 0.0"),
        ("second_order, inside, errors,", "second_order, s, errors,"),
        ("    distance_from_cones(start, second_order, s, nothing, nothing, scale, worst)\n", ""),
        ("add_product(h[i], z[i],", "add_product(abs(h[i]), z[i],"),
        ("[*lost, LOST * dual,", "[*lost, 100.0 * LOST * dual,"),
        ("LOST * float(gap)", "100.0 * LOST * float(gap)"),
        ("LOST * (size @ x + terms)", "100.0 * LOST * (size @ x + terms)"),
        ("0.0), norm(np.where(finite, 0.0, y))", "0.0), norm(np.where(finite, 0.0, y.clip(0.0)))"),
        ("below, above = np.where(np.isfinite(self.lower), -v, 0.0), ", "below, above = 0.0 * v, "),
        (" if norm(z[~finite]) == 0.0 else np.inf", ""),
        ("np.where(np.isfinite(self.h), -v, np.inf)", "-v"),
        ("np.where(np.isfinite(self.h), -v, np.inf)", "np.where(np.isfinite(self.h), v, np.inf)"),
        ("            empty[start[:-1][second_order & (np.diff(start) > 0)]] = False\n", ""),
        ("add_product(side, y[i], support, support_low)", "support + side * y[i], support_low"),
        ("gap_low = sum_error(xPx, cx, total) + ", "gap_low = "),
        ("add_product(x[j], Px[j], xPx, xPx_low + x[j] * Px[n + j])", "add_product(x[j], Px[j], xPx, xPx_low)"),
        ("sum_error(Px[j], c[j], part) + ", ""),
        ("max(abs(excess + h[i]), abs(h[i]))", "abs(excess + h[i]) + abs(h[i])"),
        ("own if scale[i] == 1.0 else 0.0", "own"),
        ("side = u[i] if y[i] > 0.0 else l[i]", "side = u[i] if y[i] < 0.0 else l[i]"),
        ("outside / (1.0 + side))", "outside / (1.0 + size))"),
        ("if block == CONE or (is_bound.size > 0 and is_bound[i] == 1.0):", "if block == CONE:"),
        ("below, above = below - v[m + i], above + v[m + i]", "pass"),
        ("    found[DUAL] = max(found[DUAL], stray)\n", ""),
    ],
    ("socp/engine.py", "tests/socp/test_updates.py tests/bench/fuzz/test_interrupts.py"): [
        ("point.u[:n] *= old.D / new.D", "pass"),
        ("* (new.cost_scale / old.cost_scale)", ""),
        ("point.s *= new.E[p:] / old.E[p:]", "pass"),
    ],
    ("qp/engine.py", "tests/qp/test_solver.py"): [
        ("                self._last = solution.x.copy()", "                self._last = None"),
        ("self._cone_solver: ConeSolver | None = cone_solver", "self._cone_solver, self._last = cone_solver, None"),
    ],
    ("qp/problem/program.py", "tests/qp/problem/test_stopping.py"): [
        ("0.0, True), Sides(", "0.0), Sides("),
        ("self.lb, self.ub)\n\n    @property\n    def sided", "self.lb, self.ub, 0.0)\n\n    @property\n    def sided"),
    ],
    ("socp/linalg/accurate.py", "tests/socp/linalg/test_accurate.py"): [
        ("Mx[row], Mx_low[row] = add_product(a, xj, Mx[row], Mx_low[row])", "Mx[row] += a * xj"),
        ("far_a, far_b = SPLITTER * a, SPLITTER * b", "far_a, far_b = 3.0 * a, 3.0 * b"),
        (" + row[k] * inner_low[k]", ""),
        ("return value + low if math.isfinite(low) else value", "return value + low"),
    ],
    ("socp/method/run.py", "tests/socp/method/test_run.py"): [
        ("found.meets(max(settings.tol, stopping.INACCURATE_TOL)):  #", "found.meets(1.0):  #"),
        ("            state.dual_refused = state.dual_ray\n", ""),
        ("      message = self._excuse(found)\n        elif", "      message = test_holds(1e-8)\n        elif"),
        ("answer[0][:], answer[3][:], found = held[0], held[3], within", "found = within"),
        ("        with state.kkt.precisely():\n", "        if not state.kkt.precisely().__enter__():\n"),
    ],
    ("socp/method/loop.py", "tests/socp/method/test_run.py"): [
        ("if state.best_worst <= INACCURATE_TOL < state.best_ray:", "if state.best_worst <= INACCURATE_TOL:"),
        ("state.best_ray, state.last_progress = ray, k", "state.best_ray = ray"),
        ("if not math.isfinite(newton.dtau):", "if False:"),
        ("r[n + i] = E[i] * point.tau * residual[n + i]", "r[n + i] = point.tau * residual[n + i]"),
        ("newton.rtau = point.kappa + form.cost_scale * point.tau * gap", "newton.rtau = point.kappa"),
    ],
    ("socp/method/fallbacks.py", "tests/socp/method/test_fallbacks.py"): [
        ("            self.state.follow_plan(self.plan)\n", "            pass\n"),
    ],
    ("socp/linalg/vectors.py", "tests/socp/cones/test_product.py"): [
        ("if total < 1e-280 or total > 1e280:", "if total > 1e280:"),
        ("if total < 1e-280 or total > 1e280:", "if total < 1e-280:"),
    ],
    ("socp/cones/product.py", "tests/socp/cones/test_product.py"): [
        ("return (v[start] - tail) * (v[start] + tail)", "return v[start] * v[start] - tail * tail"),
        ("smallest = min(smallest, v[ptr[k]] - norm_tail", "smallest = min(smallest, v[ptr[k]] + norm_tail"),
        ("u0 = (lam0 * d[start] - dot(lam, d", "u0 = (lam0 * d[start] + dot(lam, d"),
        ("(v[start] / r + 1.0) / r", "(v[start] / r + 1.0)"),
        ("largest = max(largest, bits(min(d[i] / v[i], 0.0)))", "largest = max(largest, bits(min(d[i], 0.0)))"),
        ("(math.sqrt(tail) - rho0) / r)", "(math.sqrt(tail) - rho0))"),
    ],
    ("socp/cones/scaling.py", "tests/socp/cones/test_scaling.py"): [
        ("w[i] = s_factor * s[i] - z_factor * z[i]", "w[i] = s_factor * s[i] + z_factor * z[i]"),
        ("eta[k] = math.sqrt(s_det / z_det)", "eta[k] = s_det / z_det"),
        ("factor = v0 + tail / (1.0 + w[start])", "factor = v0 + tail / w[start]"),
        ("(w[start] * head - tail) * inverse", "(w[start] * head + tail) * inverse"),
        ("outside |= int(not (s[i] > 0.0 and z[i] > 0.0))", "outside |= int(not s[i] > 0.0)"),
    ],
    ("socp/interop/ecos.py", "tests/socp/interop/test_ecos.py"): [
        ('"y": solution.y', '"y": -solution.y'),
        ('"z": solution.z', '"z": -solution.z'),
        ('"dcost": dual', '"dcost": -dual'),
        ("Status.PRIMAL_INFEASIBLE: (1,", "Status.PRIMAL_INFEASIBLE: (2,"),
    ],
    ("socp/interop/names.py", "tests/socp/interop/test_ecos.py"): [
        ('settings["tol"] = min(tolerances)', 'settings["tol"] = max(tolerances)'),
    ],
    ("socp/interop/cvxopt.py", "tests/socp/interop/test_cvxopt.py"): [
        ('"y": vector(solution.y', '"y": vector(-solution.y'),
        ('"dual objective": solution.dual_objective', '"dual objective": -solution.dual_objective'),
        ("part[0] - np.linalg.norm(part[1:])", "part[0] - np.linalg.norm(part)"),
    ],
    ("socp/method/newton.py", "tests/socp/method/test_newton.py"): [
        ("newton.kappa_rhs += lift(", "newton.kappa_rhs -= lift("),
        ("newton.kappa_rhs += lift(", "0.0 * lift("),
        (", target) / lam[i]", ", target)"),
        (" - newton.dtau * newton.dkappa", ""),
        ("dkappa = (kappa_rhs - point.kappa * dtau) / tau", "dkappa = (kappa_rhs - point.kappa * dtau)"),
        ("(1.0 - sigma) * newton.rtau + kappa_rhs / tau", "newton.rtau + kappa_rhs / tau"),
        ("linear + 2.0 * mixed / tau", "linear + mixed / tau"),
        ("- 2.0 * mixed / tau - linear", "- mixed / tau - linear"),
        ("newton.rtau = point.kappa + cx + gv + xPx / tau", "newton.rtau = point.kappa + cx + gv + xPx"),
        ("shift[i] = newton.shift_before[i]", "pass"),
        ("u1[i] = newton.u1_before[i]", "pass"),
        ("return max(move, -target / MIN_PRODUCT)", "return move"),
        ("cones.add_identity(l, ptr, sigma * newton.mu, rhs)", "cones.add_identity(l, ptr, newton.mu, rhs)"),
        ("alpha = min(alpha, -point.kappa / dkappa)", "alpha = min(alpha, -tau / dkappa)"),
        ("tau + max(tau * form.norm_b, norm_Ax)", "tau + tau * form.norm_b + norm_Ax"),
        ("tau + max(tau * form.norm_h, norm_Gx)", "tau + tau * form.norm_h + norm_Gx"),
        ("tau + max(tau * form.norm_c, norm_Px)", "tau + tau * form.norm_c + norm_Px"),
    ],
    ("socp/method/start.py", "tests/socp/method/test_start.py"): [
        ("point.kappa = margin", "point.kappa = 1.0"),
        ("point.kappa = margin", "point.kappa = WARM_MARGIN"),
        ("rhs[j], rhs[size + j] = -c[j], 0.0 if linear else -c[j]", "rhs[j], rhs[size + j] = -c[j], -c[j]"),
        ("rhs[n + i] = 0.0 if linear else value", "rhs[n + i] = value"),
        ("far / weight[i] - solution[size + first + i]", "far / weight[i] + solution[size + first + i]"),
        ("cones.add_identity(l, ptr, 1.0 - inside, v)", "cones.add_identity(l, ptr, 1.0 + inside, v)"),
        ("margin - min(inside, 0.0)", "margin"),
        ("size = max(1.0, -cones.margin(l, ptr, weight))", "size = 1.0"),
    ],
    ("socp/method/newton.py", "tests/socp/form/test_standard.py"): [
        ("y[i] = E[i] * u[n + i] / (form.cost_scale * tau)", "y[i] = E[i] * u[n + i] / tau"),
        ("slack[rows[i]] = s[i] / (E[p + i] * tau)", "slack[rows[i]] = s[i] * E[p + i] / tau"),
    ],
    ("socp/form/standard.py", "tests/socp/form/test_standard.py"): [
        ("rows[i] = total / (ptr[k + 1] - ptr[k])", "rows[i] = rows[i]"),
        ("elif math.isfinite(h[i]):\n                rows[row]", "else:\n                rows[row]"),
        ("is_cone = second_order[k] and start[k + 1] - start[k] >= 2", "is_cone = second_order[k]"),
        ("abs(form.diagonal[j]) * D[j] ** 2", "abs(form.diagonal[j])"),
    ],
    ("socp/linalg/parallel_rows.py", "tests/socp/linalg/test_parallel_rows.py"): [
        ("SAME = 1e-15", "SAME = 1e-9"),
        ("lead[i], ratio[i] = r, s", "lead[i], ratio[i] = r, 1.0 / s"),
    ],
    ("socp/linalg/ldl/factors.py", "tests/socp/linalg/ldl/test_factorization.py"): [
        ("if sign * pivot <= ldl.eps:", "if sign * pivot <= 0.0:"),
        ("ldl.d[k] = sign * ldl.delta", "ldl.d[k] = ldl.delta"),
    ],
    ("qp/reduce/removal.py", "tests/qp/reduce/test_presolve.py"): [
        ("ROUNDING = 1e-12", "ROUNDING = 1e-6"),
        ("ROUNDING = 1e-12", "ROUNDING = 0.0"),
        ("<= max(ROUNDING * max(1.0, size),", "<= max(ROUNDING,"),
        ("(l[i] / s, u[i] / s) if s > 0.0 else (u[i] / s, l[i] / s)", "(l[i] / s, u[i] / s)"),
        ("y[i] = y[r] / removed.ratio[i]", "y[i] = y[r] * removed.ratio[i]"),
        ("z[indices[k]] -= values[k] * y[i]", "z[indices[k]] += values[k] * y[i]"),
        ("moved += value * lb[v]", "moved -= value * lb[v]"),
        ("max(abs(lb[j]), abs(ub[j]), size / abs(a))", "max(abs(lb[j]), abs(ub[j]))"),
        ("max(abs(lb[j]), abs(ub[j]), size / abs(a))", "max(abs(lb[j]), abs(ub[j]), size)"),
        ("l[r], removed.lower_twin[r] = min(lower, u[r]), i", "l[r], removed.lower_twin[r] = lower, i"),
        ("u[r], removed.upper_twin[r] = max(upper, l[r]), i", "u[r], removed.upper_twin[r] = upper, i"),
        ("stored = int(A_data[k] != 0.0)", "stored = 1"),
        ("        if value == 0.0:\n            continue\n", ""),
        ("if kept[i] and A_data[k] != 0.0 and has_sides", "if kept[i] and has_sides"),
        (
            "if live[i] <= 1:\n                return found | ROWS",
            "if live[i] <= 0:\n                return found | ROWS",
        ),
        ("for k in range(count - 1, -1, -1):", "for k in range(count):"),
    ],
    ("qp/reduce/presolve.py", "tests/qp/reduce/test_presolve.py"): [
        ("[lb[j], ub[j]], np.clip(", "[ub[j], lb[j]], np.clip("),
        ("not program.hessian.has_full_diagonal()", "not program.hessian.is_full"),
        ("column[kept[A.indices] & (A.data != 0.0)]", "column[kept[A.indices]]"),
        ("return np.array_equal(self.kept, other.kept)", "return True"),
        ("return self.kept is other.kept", "return True"),
    ],
    ("qp/reduce/cone_form.py", "tests/qp/reduce/test_cone_form.py"): [
        ("own_y[i] -= z[lower]", "own_y[i] += z[lower]"),
        ("own_z[j] = -total", "own_z[j] = total"),
        ("offset += 0.5 * float(value @ Pv)", "offset += float(value @ Pv)"),
        ("return (q + Pv)[", "return q, l, u"),
        ("l[i] = 0.0 if abs(l[i] - shift[i]) <= LOST * size[i] else", "l[i] ="),
        ("size[A_indices[k]] += abs(A_data[k] * value[j])", "size[A_indices[k]] += A_data[k] * value[j]"),
        ("np.array_equal(self._form.kinds, other._form.kinds)", "True"),
    ],
    ("qp/active_set/face_newton.py", "tests/qp/active_set/test_face_newton.py"): [
        ("share = -slope / curvature", "share = 1.0"),
        ("share = -slope / curvature", "share = -0.5 * slope / curvature"),
        ("g[k] += share * change[k]", "g[k] += change[k]"),
        ("slope += moves[k] * (g[k] + a[k] * program.multiplier)", "slope += g[k] + a[k] * program.multiplier"),
        ("if not knows_multiplier or share < 1.0:", "if not knows_multiplier:"),
        ("program.wrong_slope = largest_wrong_slope(program)", "program.wrong_slope = 0.0"),
        ("face.missing -= program.a[k] * face.moves[k]", "face.missing += program.a[k] * face.moves[k]"),
        ("P[row, row] + MIN_CURVATURE * program.largest", "P[row, row]"),
        ("if end != way:\n            face.missing += end", "if end != way:\n            face.missing -= end"),
        ("abs(product - face.missing) > ROUNDING * (1.0 + abs(program.side))", "False"),
    ],
    ("qp/active_set/boxed.py", "tests/qp/active_set/test_face_newton.py"): [
        ("return -low if j < 0 else -0.5 * (low + high)", "return -low"),
    ],
    ("models/programs/bilevel.py", "tests/models/bilevel/test_bilevel.py"): [
        ("scale[:, 1:], zeta=beta", "scale[:, 1:], zeta=1.0"),
    ],
    ("models/bilevel/steps.py", "tests/models/bilevel/test_bilevel.py"): [
        ("reach > constants.C3 * constants.betas[i]", "reach > constants.C3"),
        ("constants.C2 * reach > constants.C3 *", "constants.C2 > constants.C3 *"),
        ("nu[i] = max(0.0, missing / reach - constants.phi)", "nu[i] = max(0.0, missing / reach)"),
        ("mu[i] += side * (constants.phi + nu[i]) / reach", "mu[i] += side * constants.phi / reach"),
        ("- SIDES[i] * (w @ mu + b) / beta)", "- SIDES[i] * (w @ mu + b))"),
        ("nu[i] = min(nu[i], before[i])", "nu[i] = nu[i]"),
        ("curvature[blocks.w] = (1.0 - BOUNDING) / length", "curvature[blocks.w] = 1.0 - BOUNDING"),
    ],
    ("models/bilevel/covariance.py", "tests/models/bilevel/test_prior.py"): [
        ("kept = values > SEMIDEFINITE * values[-1]\n        return", "kept = values > -1.0\n        return"),
    ],
    ("models/svm/margin.py", "tests/models/svm"): [
        ("return float(0.5 * (low + high))", "return float(low)"),
    ],
    ("models/svm/multipliers.py", "tests/models/svm"): [
        ("kinds[(kinds == INSIDE_MARGIN) & (violation > 1.0)] = WRONG_SIDE", "pass"),
    ],
    ("models/programs/explanations.py", "tests/models/explanations/test_estimator.py"): [
        ("np.divide(0.5, Q", "np.divide(1.0, Q"),
    ],
    ("models/explanations/dual.py", "tests/models/explanations/test_estimator.py"): [
        ("self.C, Q * self.share, self.penalty", "self.C, Q + 0.0 * self.share, self.penalty"),
    ],
    ("socp/kkt/dense.py", "tests/socp/kkt/test_dense.py"): [
        ("H[j + j * n] *= 1.0 + RAISED", "H[j + j * n] *= 1.0"),
        ("largest / max(1.0, rows.largest) ** 2", "largest / max(1.0, rows.largest)"),
        ("largest / max(1.0, rows.largest) ** 2", "largest / rows.largest**2"),
        ("kkt.rho_used = kkt.rho * size", "kkt.rho_used = kkt.rho"),
        ("H[j + j * n] += diagonal[j]", "H[j + j * n] += 0.0"),
    ],
    ("socp/kkt/lowrank.py", "tests/socp/kkt/test_base.py"): [
        ("delta if k <= i < k + p else 1.0", "delta if k <= i <= k + p else 1.0"),
        ("rest[g] -= coefficient[i] * step / w[i]", "rest[g] -= coefficient[i] * step"),
        ("out[at + i] += w[i] * rest[g] / coefficient[i]", "out[at + i] += w[i] * rest[g]"),
    ],
    ("socp/kkt/dense_rows.py", "tests/socp/kkt/test_base.py"): [
        ("factor[j] = factor[j] / (1.0 + w[0]) - head", "factor[j] = factor[j] / w[0] - head"),
    ],
    ("socp/kkt/expansion.py", "tests/socp/kkt/test_assembly.py tests/socp/kkt/test_base.py"): [
        ("1.0 / math.sqrt(1.0 + tail * rho * gone * (1.0 - lost))", "1.0"),
        ("(-tail * gone if head > 0.0 else tail * stay)", "tail * stay"),
        ("lost = delta / square", "lost = 0.0"),
        ("-1.0 - delta * scales[k, 0] ** 2", "-1.0 - delta"),
        ("if count == 0 or slots[begin + count - 1] != j:", "if True:"),
    ],
    ("socp/kkt/assembly.py", "tests/socp/kkt/test_assembly.py tests/socp/kkt/test_base.py"): [
        ("-1.0 / theta[r] - delta", "-1.0 / theta[r]"),
        ("zero_diagonal[j] = zero_diagonal[j] and P_indices[k] < j", "zero_diagonal[j] = zero_diagonal[j]"),
    ],
    ("socp/kkt/base.py", "tests/socp/kkt/test_base.py"): [
        ("policy.retry_in, policy.good_excess = RETRY_INTERVAL, max", "policy.retry_in, policy.good_excess = 0, max"),
        ("trial >= 0 or kkt.replaced_pivots == 0 else FEWER_SOLVES", "True else FEWER_SOLVES"),
        ("max(1.0, MUCH_WORSE * best)", "1.0"),
        ("min(kkt.scaled[row], relative)", "kkt.scaled[row]"),
    ],
    ("models/svm/multipliers.py", "tests/models/svm/test_multipliers.py"): [
        ("np.repeat([shift, -shift]", "np.repeat([shift, shift]"),
    ],
    ("socp/form/row_groups.py", "tests/socp/form/test_row_groups.py"): [
        ("weight > scaled[heaviest[merged]] ** 2", "weight > 0.0"),
        ("ratio[i] * E[p + i] / E[p + lead[i]]", "ratio[i]"),
    ],
    ("socp/problem/lowrank.py", "tests/socp/form/test_standard.py"): [
        ("np.sqrt(factor) * D[:, None] * self.F", "factor * D[:, None] * self.F"),
    ],
    ("socp/plan/choice.py", "tests/socp/plan/test_choice.py"): [
        ("least = min(seconds, key=seconds.__getitem__)", "least = max(seconds, key=seconds.__getitem__)"),
    ],
    ("socp/problem/hessian.py", "tests/socp/form/test_convexity.py tests/socp/form/test_standard.py"): [
        ("if not np.linalg.norm(missing) <= math.sqrt(SIGNS) * n * LOW_RANK_TOL:", "if False:"),
    ],
    ("socp/form/convexity.py", "tests/socp/form/test_convexity.py"): [
        ("if not diagonal >= others:", "if not diagonal > others:"),
    ],
    ("qp/active_set/coordinate_descent.py", "tests/qp/active_set/test_method.py"): [
        ("tol = max(tol, SHARE * gain)", "pass"),
        ("- 2.0 * K[i, k] / (a[i] * a[k])", "- 2.0 * K[i, k]"),
        ("curvature = max(diagonal[k], least)", "curvature = 1.0"),
        ("add_to_block(block, j)", "pass"),
    ],
    ("socp/linalg/refinement.py", "tests/socp/linalg/test_refinement.py"): [
        ("for _ in range(2):", "for _ in range(1):"),
        ("excess * ratio**further > 1.0", "excess * ratio > 1.0"),
    ],
    ("socp/linalg/cholesky.py", "tests/socp/linalg/test_cholesky.py"): [
        ("return int(below + 1)", "return int(below)"),
        ("return k + info", "return info"),
    ],
    ("bench/answers/verify.py", "tests/bench/answers/test_spoiled.py tests/bench/answers/test_verify.py"): [
        ("(_norm(leaving(x, lb, ub)), _norm(x)),", "(0.0, _norm(x)),"),
        ("(_beyond_rounding(leaving(Ax, l, u), Ax_terms), largest_entry(A)", "(0.0, largest_entry(A)"),
        ("np.maximum(0.0, np.maximum(up, down))", "np.maximum(0.0, up)"),
        ("cone_distance(inwards, program.cones, cone_scale)", "cone_distance(inwards, program.cones)"),
        ("np.where(alone, np.maximum(np.abs(h), np.abs(Gx)), max(_norm(h), _norm(Gx)))", "max(_norm(h), _norm(Gx))"),
        ("np.where(alone, np.abs(nearest), size)", "size"),
        ("max(cone_distance(z_finite, program.cones), _norm(z[holds]))", "cone_distance(z_finite, program.cones)"),
        ("max(on_infinite_side(y, l, u), on_infinite_side(z, lb, ub))", "on_infinite_side(y, l, u)"),
        ("((multipliers > 0) & ~np.isfinite(upper)) | (", "("),
        ("below = np.where(np.isfinite(lower), lower, 0.0) * np", "below = 0.0 * np"),
        ("terms = [np.abs(q) @ sizes[0], ", "terms = [1e6 * np.abs(q) @ sizes[0], "),
        ("ROUNDING = 128 * float", "ROUNDING = 1e6 * float"),
        ("max(_norm(value[sided]), _norm(nearest[sided]))", "_norm(value[sided])"),
        ("(left / -slope, _ratio(left, size))", "(_ratio(left, size),)"),
        ("dual=_relative(_beyond_rounding(Px + q + rows", "dual=_relative(0.1 * _beyond_rounding(Px + q + rows"),
    ],
    ("bench/answers/exact.py", "tests/bench/answers/test_spoiled.py tests/bench/answers/test_exact.py"): [
        ("np.where(alone, 1.0 + np.maximum(np.abs(sides), along), size)", "size"),
        ("misses += [(left, own), (distances", "misses += [(distances"),
        ("(distances(Exact.of(slack), program.cones), own)]", "]"),
        (" or not np.isposinf(np.asarray(s)[holds]).all()", ""),
        ("dual = max(dual, _norm(distances(z, program.cones)), ", "dual = max(dual, "),
        (", _norm(z.rounded()[holds]))\n    primal", ")\n    primal"),
        ("on_infinite_side(y.rounded(), l, u), on_infinite_side(z.rounded(), lb, ub),", "0.0,"),
        ("max(alone_rows, bounds), absolute", "bounds, absolute"),
        ("max(absolute, abs(gap))", "absolute"),
        ("half + linear + offset, half + support - offset", "half + linear + offset, half + support"),
        ("left += [(_norm(rows), largest_entry(program.A) * size), (", "left += [("),
        ("* size), (_norm(bounds), size)]", "* size)]"),
        ("(stray, max(sizes))])", "])"),
        ("Exact(-Gx.whole, Gx.power)", "Gx"),
    ],
    ("bench/answers/answer.py", "tests/bench/answers/test_answer.py"): [
        ("        seconds - solution.setup_time,", "        seconds,"),
        ("        seconds - solution.setup_time,", "        solution.solve_time + solution.setup_time,"),
        ("solution.primal_residual, solution.dual_residual,", "solution.dual_residual, solution.primal_residual,"),
        ("return self.setup_seconds + self.solve_seconds", "return self.solve_seconds"),
    ],
    ("bench/fuzz/judge.py", "tests/bench/answers/test_spoiled.py tests/bench/fuzz/test_judge.py"): [
        ("status.has_solution and kind in (INFEASIBLE, UNBOUNDED):", "status.has_solution and kind == INFEASIBLE:"),
        ("np.abs(w_) @ outside + stray @ np.abs(v_)", "np.abs(w_) @ outside"),
        ("max(VERIFIED_TOL, ROUNDING * tol_infeasible)", "VERIFIED_TOL"),
        ("_one(s_) * cone_distance(z, program.cones)", "0.0"),
        ("EXCUSED_TOL = 1e-6", "EXCUSED_TOL = 1e-5"),
        (" or not found.bounds <= 2.0 * promised", ""),
        ("not (excused or found.absolute <= 2.0 * tol_abs)", "False"),
        ("max(found.residuals) <= 2.0 * allowed", "max(found.residuals) <= 20.0 * allowed"),
        ("value <= 2.0 * exactly + LEAST", "value < np.inf"),
        ("0.5 * exactly - LEAST <= value", "0.05 * exactly - LEAST <= value"),
        ("LEAST * (1.0 + abs(true) + abs(program.offset))", "1e-9 * (1.0 + abs(true) + abs(program.offset))"),
        ("error <= 2.0 * promised", "error <= 20.0 * promised"),
        ("abs(slope + 1.0) <= SLOPE", "abs(slope) >= 0.0"),
        ('("tol_infeasible", _tol(case))', '("tol", _tol(case))'),
        ('faults.append("s is not -Gx")', "pass"),
        ('faults.append("what is no part of the certificate must be NaN")', "pass"),
        ("found.solved(ROUNDING * tol)", "found.solved(ROUNDING * 1.1 * tol)"),
    ],
}  # fmt: skip


def outcome(folder: Path, tests: str) -> str:
    """What the tests say in this folder: "passed", "failed" or "did not start"."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests.split()]
    environment = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(folder / "kernels"), **os.environ}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return "failed"
    if done.returncode in (2, 3, 4, 5):  # of pytest itself: nothing could be collected
        return "did not start"
    return "passed" if done.returncode == 0 else "failed"


def verdict(folder: Path, file: str, tests: str, text: str, other: str) -> str:
    """What becomes of one mutant, in a copy of the checkout that is afterwards as it was."""
    path = folder / file
    code = path.read_text(encoding="utf-8") if path.is_file() else ""
    if code.count(text) != 1:
        return "DOES NOT APPLY"
    path.write_text(code.replace(text, other), encoding="utf-8")
    try:
        return {"passed": "NOT CAUGHT", "failed": "caught"}.get(outcome(folder, tests), "DOES NOT APPLY")
    finally:
        path.write_text(code, encoding="utf-8")


def main(words: list[str]) -> int:
    chosen = [
        (file, tests, *mutant)
        for (file, tests), mutants in MUTANTS.items()
        for mutant in mutants
        if not words or any(word in f"{file} {mutant[0]}" for word in words)
    ]
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as work:
        folder = Path(work)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        for tests in dict.fromkeys(tests for _, tests, _, _ in chosen):
            if outcome(folder, tests) != "passed":
                print(f"{tests}: fails without any mutant")
                return 1
        for file, tests, text, other in chosen:
            found = verdict(folder, file, tests, text, other)
            counts[found] = counts.get(found, 0) + 1
            print(f"{found:<15}{file}: {text!r} -> {other!r}", flush=True)
    print(", ".join(f"{count} {found}" for found, count in counts.items()), f"of {len(chosen)}")
    return 0 if counts.get("caught", 0) == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
