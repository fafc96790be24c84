"""Wrong solutions of the exercises: {exercise: {name: (what stands in the solution, what is wrong)}}.

The grader must refuse each.
"""

MISTAKES = {
    "e01": {
        "log_det_twice": ("return -0.5 * np.log(det)", "return -np.log(det)"),
        "gradient_sign": ("-reflected / det, hessian", "reflected / det, hessian"),
        "hessian_without_det_j": ("2.0 * np.outer(reflected, reflected) - det * J",
            "2.0 * np.outer(reflected, reflected)"),
        "outside_by_det_alone": ("if s[0] <= tail:", "if s[0] ** 2 <= tail**2:"),
        "inside_by_first_entry": ("if s[0] <= tail:", "if s[0] <= 0.0:"),
        "gradient_without_mu": ("c + mu * G.T @ (1.0 / s)", "c + G.T @ (1.0 / s)"),
        "stops_early": ("<= 1e-12 * mu", "<= 1e-6 * mu"),
        "full_steps": ("while not value(x + step * dx)", "while False and value(x + step * dx)"),
        "ten_steps": ("range(100)", "range(10)"),
    },
    "e02": {
        "square_of_the_number": ("np.sqrt(root_s / root_z)", "root_s / root_z"),
        "no_reflection_of_z": ("+ J @ z / root_z", "+ z / root_z"),
        "not_normalized": ("w /= np.sqrt(w @ J @ w)", "pass"),
        "plus_j": ("(1.0 + w[0]) - J)", "(1.0 + w[0]) + J)"),
        "square_of_w": ("(np.outer(w + e, w + e) / (1.0 + w[0]) - J)", "(2.0 * np.outer(w, w) - J)"),
        "inverse": ("w = s / root_s + J @ z / root_z", "w = z / root_z + J @ s / root_s"),
        "negative": ("return np.sqrt(", "return -np.sqrt("),
        "not_symmetric": ("return np.sqrt(root_s / root_z) * (",
            "return np.sqrt(root_s / root_z) * np.roll(np.eye(s.size), 1, 0) @ ("),
        "not_of_the_cone": ("    J = np.diag(",
            "    H = np.outer(s, s) / (s @ z) + np.eye(s.size) - np.outer(z, z) / (z @ z)\n"
            "    values, vectors = np.linalg.eigh(H)\n"
            "    return vectors @ np.diag(np.sqrt(values)) @ vectors.T\n"
            "    J = np.diag("),
    },
    "e03": {
        "target_without_mu": ("sigma * (s @ z) / m - s * z", "sigma - s * z"),
        "feasible_start_assumed": ("A @ x - b, G @ x + s - h", "0.0 * b, 0.0 * h"),
        "dual_residual_without_y": ("P @ x + c + A.T @ y + G.T @ z", "P @ x + c + G.T @ z"),
        "sign_of_rz": ("W_inv * (-rz - rc / z)", "W_inv * (rz - rc / z)"),
        "s_and_z_swapped": ("W_inv = np.sqrt(z / s)", "W_inv = np.sqrt(s / z)"),
        "regularized": ("-np.eye(m)]", "-(1.0 + 1e-5) * np.eye(m)]"),
        "scaled_dz": ("W_inv * u[n + p :]", "u[n + p :]"),
        "ds_of_the_old_slack": ("(rc - s * dz) / z", "(rc - s * dz) / s"),
        "target_without_sz": ("sigma * (s @ z) / m - s * z", "sigma * (s @ z) / m + 0.0 * s"),
    },
    "e04": {
        "map_without_one": ("(1.0 + unit[0])", "unit[0]"),
        "capped_at_one": ("return -1.0 / smallest", "return min(1.0, -1.0 / smallest)"),
        "safety_factor": ("return -1.0 / smallest", "return -0.99 / smallest"),
        "larger_eigenvalue": ("d0 - np.linalg.norm(d1)", "d0 + np.linalg.norm(d1)"),
        "tail_alone": ("d0 - np.linalg.norm(d1)", "-np.linalg.norm(d1)"),
        "not_seen_from_u": ("unit, d = u / root, du / root", "unit, d = np.eye(u.size)[0], du / root"),
        "zero_where_there_is_no_end": ("else np.inf", "else 0.0"),
        "larger_root": ("    J = np.diag(",
            "    J = np.diag(np.r_[1.0, -np.ones(u.size - 1)])\n"
            "    roots = np.roots([du @ J @ du, 2.0 * (u @ J @ du), u @ J @ u])\n"
            "    roots = roots[np.isreal(roots)].real\n"
            "    return roots[roots > 0.0].max(initial=0.0) or np.inf\n"
            "    J = np.diag("),
        "formula_of_the_roots": ("    J = np.diag(",
            "    J = np.diag(np.r_[1.0, -np.ones(u.size - 1)])\n"
            "    a, b, c = du @ J @ du, u @ J @ du, u @ J @ u\n"
            "    with np.errstate(all='ignore'):\n"
            "        roots = (-b + np.array([-1.0, 1.0]) * np.sqrt(b * b - a * c)) / a\n"
            "    return roots[roots > 0.0].min(initial=np.inf)\n"
            "    J = np.diag("),
    },
    "e05": {
        "no_corrector": ("- s * z - ds * dz)", "- s * z)"),
        "corrector_of_the_wrong_sign": ("- s * z - ds * dz)", "- s * z + ds * dz)"),
        "sigma_zero": ("sigma = (1.0 - min(1.0, longest(dz, ds))) ** 3", "sigma = 0.0"),
        "sigma_a_tenth": ("sigma = (1.0 - min(1.0, longest(dz, ds))) ** 3", "sigma = 0.1"),
        "says_one_iteration": ("return x, y, z, iteration", "return x, y, z, 1"),
        "calls_the_engine": ("    for iteration in range(100):",
            "    import qp\n"
            "    P, A, G = (data[name] for name in ('P', 'A', 'G'))\n"
            "    l, u = np.append(b, np.full(h.size, -np.inf)), np.append(b, h)\n"
            "    found = qp.solve(P, c, A=np.vstack([A, G]), l=l, u=u)\n"
            "    return found.x, found.y[: b.size], found.y[b.size :], found.iterations\n"
            "    for iteration in range(100):"),
        "calls_the_textbook": ("    for iteration in range(100):",
            "    from socp import ConeProgram, NonNeg, textbook\n"
            "    P, A, G = (data[name] for name in ('P', 'A', 'G'))\n"
            "    found = textbook.solve(ConeProgram(c, G, h, [NonNeg(h.size)], A, b, P))\n"
            "    return found.x, found.y, found.z, found.iterations\n"
            "    for iteration in range(100):"),
        "exponent_two": ("** 3", "** 2"),
        "two_factorizations": ("    dx, dy, dz, ds = direction(",
            "    direction = factor(data, z, s)\n    dx, dy, dz, ds = direction("),
        "two_lengths": ("z + alpha * dz, s + alpha * ds", "z + 0.9 * alpha * dz, s + alpha * ds"),
        "step_to_a_half": ("0.99 * longest", "0.5 * longest"),
        "feasible_start_assumed": ("    direction = factor(",
            "    ry, rz = 0.0 * ry, 0.0 * rz\n    direction = factor("),
        "gap_alone_is_tested": ("max(np.abs(np.concatenate(residuals(data, x, y, z, s))).max(), s @ z) <= tol",
            "s @ z <= tol"),
        "gap_is_not_tested": ("max(np.abs(np.concatenate(residuals(data, x, y, z, s))).max(), s @ z) <= tol",
            "np.abs(np.concatenate(residuals(data, x, y, z, s))).max() <= tol"),
        "tolerance_of_its_own": ("s @ z) <= tol", "s @ z) <= 1e-6"),
        "mu_without_m": ("(s @ z) / z.size - s", "(s @ z) - s"),
        "negative_z": ("return x, y, z, iteration", "return x, y, -z, iteration"),
    },
    "e06": {
        "slope_of_any_sign": ("if slope > 0.0 and norm(A.T", "if norm(A.T"),
        "primal_ray_not_scaled": ("norm(A.T @ y + G.T @ z) <= tol * slope", "norm(A.T @ y + G.T @ z) <= tol"),
        "dual_ray_not_scaled": ("norm(A @ x) <= tol * slope", "norm(A @ x) <= tol"),
        "dual_ray_without_ax": ("if slope > 0.0 and norm(A @ x) <= tol * slope and", "if slope > 0.0 and"),
        "dual_ray_without_gx": (" and (G @ x).max(initial=0.0) <= tol * slope:", ":"),
        "gx_not_scaled": ("(G @ x).max(initial=0.0) <= tol * slope", "(G @ x).max(initial=0.0) <= tol"),
        "primal_ray_without_sign": (" and z.min(initial=0.0) >= -tol * slope:", ":"),
        "sign_not_scaled": ("z.min(initial=0.0) >= -tol * slope", "z.min(initial=0.0) >= -tol"),
        "primal_ray_without_y": ("norm(A.T @ y + G.T @ z) <= tol", "norm(G.T @ z) <= tol"),
        "optimal_without_ax": ("max(norm(A @ X - b), norm(", "max(norm("),
        "optimal_without_gx": ("max((G @ X - h).max(initial=0.0), (-Z).max(initial=0.0))", "(-Z).max(initial=0.0)"),
        "optimal_without_sign": ("max((G @ X - h).max(initial=0.0), (-Z).max(initial=0.0))",
            "(G @ X - h).max(initial=0.0)"),
        "optimal_without_dual": ("norm(c + A.T @ Y + G.T @ Z), outside", "outside"),
        "optimal_without_gap": ("outside, gap) <= tol", "outside) <= tol"),
        "not_divided_by_tau": ("X, Y, Z = x / tau, y / tau, z / tau", "X, Y, Z = x, y, z"),
        "residual_times_tau": ("outside, gap) <= tol", "outside, gap) * tau <= tol"),
        "rays_first": ("    if tau > 0.0:", "    if tau > 0.0 and b @ y + h @ z >= 0.0:"),
    },
    "e07": {
        "replaced_without_sign": ("d[j] = signs[j] * delta", "d[j] = delta"),
        "no_delta": ("K[j, j] + delta * signs[j]", "K[j, j]"),
        "delta_without_sign": ("K[j, j] + delta * signs[j]", "K[j, j] + delta"),
        "replaced_below_delta": ("< 0.1 * delta", "< delta"),
        "never_replaced": ("< 0.1 * delta", "< -np.inf"),
        "pivots_of_wrong_sign_kept": ("if signs[j] * d[j] < 0.1 * delta", "if abs(d[j]) < 0.1 * delta"),
        "l_not_squared": ("L[j, :j] ** 2 @ d[:j]", "L[j, :j] @ d[:j]"),
        "no_refinement": ("range(1 + steps)", "range(1)"),
        "one_refinement_more": ("range(1 + steps)", "range(2 + steps)"),
        "factored_each_time": ("        v = rhs - K", "        L, d = factor(K, signs, delta)\n        v = rhs - K"),
        "residual_of_the_regularized_system": ("rhs - K @ u", "rhs - (K + delta * np.diag(signs)) @ u"),
    },
    "e08": {
        "no_fill_in_the_graph": ("neighbours[i] |= neighbours[k]", "pass"),
        "degrees_of_the_start": ("    left, found =",
            "    return np.argsort([len(near) for near in neighbours])\n    left, found ="),
        "largest_degree": ("k = min(left", "k = max(left"),
        "natural_order": ("k = min(left, key=lambda i: (len(neighbours[i]), i))", "k = min(left)"),
        "eliminated_nodes_counted": ("neighbours[i] -= {i, k}", "neighbours[i] -= {i}"),
        "reversed": ("return np.array(found)", "return np.array(found)[::-1]"),
        "diagonal_counted": ("count += below.size", "count += below.size + 1"),
        "new_entries_alone": ("    return count\n", "    return count - int(np.triu(pattern, 1).sum())\n"),
        "entries_of_k_alone": ("remaining[np.ix_(below, below)] = True", "pass"),
        "natural_order_counted": ("[np.ix_(permutation, permutation)]", ""),
        "changes_the_pattern": ("    count = 0\n", "    count = 0\n    pattern[:] = True\n"),
    },
    "e09": {
        "sides_not_moved": ("l, u = l - A[:, j] * lb[j], u", "l, u = l, u"),
        "one_side_moved": ("u - A[:, j] * lb[j]", "u"),
        "endless_loop": ("        changed = False\n", "        changed = True\n"),
        "one_pass": ("    while changed:\n", "    for _ in range(1):\n"),
        "negative_entries": ("[:: 1 if A[i, j] > 0.0 else -1]", ""),
        "bounds_overwritten": ("max(lb[j], sides[0]), min(ub[j], sides[1])", "sides[0], sides[1]"),
        "empty_rows_not_tested": ('raise ValueError(f"row {i}', 'print(f"row {i}'),
        "bounds_not_tested": ('raise ValueError(f"variable', 'print(f"variable'),
        "no_tolerance": ("lb[j] > ub[j] + 1e-9", "lb[j] > ub[j]"),
        "empty_rows_from_above_alone": ("(l[i] > 1e-9 or u[i] < -1e-9)", "l[i] > 1e-9"),
        "changes_the_bounds": ('lp["lb"].copy(), lp["ub"].copy()', 'lp["lb"], lp["ub"]'),
        "objective_not_cut": ('"q": lp["q"][kept]', '"q": lp["q"]'),
    },
    "e10": {
        "labels_left_out": ("signed = y[:, None] * X", "signed = X"),
        "objective_sign": ('"q": -np.ones(n)', '"q": np.ones(n)'),
        "no_upper_bound": ("np.full(n, float(C))", "np.full(n, np.inf)"),
        "bound_one": ("np.full(n, float(C))", "np.ones(n)"),
        "no_offset": ('"A": y[None, :].astype(float)', '"A": np.zeros((1, n))'),
        "double_p": ('"P": signed @ signed.T', '"P": 2.0 * signed @ signed.T'),
        "w_without_labels": ("X.T @ (a * y)", "X.T @ a"),
        "beta_of_a_bound": ("inner = np.minimum(a, C - a)", "inner = a - C"),
        "beta_sign": ("float(y[i] - X[i] @ w)", "float(X[i] @ w - y[i])"),
        "beta_of_label_one": ("float(y[i] - X[i] @ w)", "float(1.0 - X[i] @ w)"),
    },
    "e11": {
        "mu_without_four": ("+ 4.0 * mu", "+ mu"),
        "cancellation": ("0.5 * (eigenvalue + root) if eigenvalue > 0.0 else 2.0 * mu / (root - eigenvalue)",
            "0.5 * (eigenvalue + root)"),
        "smaller_root": ("return 0.5 * (eigenvalue + root) if", "return 0.5 * (eigenvalue - root) if"),
        "same_eigenvalues_of_z": ("larger(-eigenvalue)", "larger(eigenvalue)"),
        "axis_not_normalized": ("v[1:] / length if", "v[1:] if"),
        "axis_of_the_multiple_of_e": (
            "axis = v[1:] / length if length > 0.0 else np.eye(max(v.size - 1, 1))[0][: v.size - 1]",
            "axis = v[1:] / length"),
        "eigenvalues_without_half": ("0.5 * (upper - lower) * axis", "(upper - lower) * axis"),
        "z_by_entries": ("return of(larger), of(lambda eigenvalue: larger(-eigenvalue))",
            "return of(larger), mu / of(larger)"),
        "does_not_move": ("return of(larger), of(lambda eigenvalue: larger(-eigenvalue))", "return s, z"),
        "sum_for_the_difference": ("    v = s - z\n", "    v = s + z\n"),
    },
    "e12": {
        "sign_of_dh": ("return u, -v", "return u, v"),
        "sign_of_dq": ("return u, -v", "return -u, -v"),
        "all_rows_active": ("z > s", "z > -1.0"),
        "no_active_rows": ("z > s", "z > np.inf"),
        "active_where_z_is_not_zero": ("z > s", "z > 1e-9"),
        "forward_sign_of_dq": ("(-dq, dh)", "(dq, dh)"),
        "forward_without_dh": ("(-dq, dh)", "(-dq, 0.0 * dh)"),
        "backward_without_dh": ("return u, -v", "return u, 0.0 * v"),
        "a_matrix_for_each_datum": ("    u, v = factor(P, G, z, s)(-gradient, np.zeros(z.size))\n",
            "    u, v = factor(P, G, z, s)(-gradient, np.zeros(z.size))\n"
            "    v = -np.array([gradient @ forward(P, G, x, z, s, 0.0 * x, e) for e in np.eye(z.size)])\n"),
    },
}  # fmt: skip
