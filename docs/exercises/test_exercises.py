"""The grader: what each of the twelve programs must do.  `pytest docs/exercises -k e03` asks about one alone."""

import numpy as np
import pytest

import qp
import socp
from bench.programs import generate
from bench.teaching.barrier import on_the_path
from bench.teaching.derivatives import Change, Sensitivity
from bench.teaching.pictures import factor_pattern, kkt_pattern
from models import SVC
from socp import ConeProgram, NonNeg, SecondOrder, textbook


@pytest.fixture
def rng():
    return np.random.default_rng(17)


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
    value, gradient, hessian = graded.barrier(s)
    assert value == pytest.approx(-0.5 * np.log(textbook.det(s)) if dim > 1 else -np.log(s[0]))
    pairs = [(graded.barrier(s + d), graded.barrier(s - d)) for d in step * np.eye(dim)]
    np.testing.assert_allclose(gradient, [(a[0] - b[0]) / (2 * step) for a, b in pairs], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hessian, [(a[1] - b[1]) / (2 * step) for a, b in pairs], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(hessian @ s, -gradient, rtol=1e-8)


def test_e01_barrier_is_infinite_outside(graded):
    for s in ([-1.0], [0.0], [1.0, 2.0], [-3.0, 1.0, 1.0], [1.0, 1.0]):
        assert graded.barrier(np.array(s))[0] == np.inf


def test_e01_central_point_of_an_interval_is_the_one_found_by_hand(graded):
    G, h = np.array([[-1.0], [1.0]]), np.array([0.0, 1.0])
    for mu in (100.0, 1.0, 1e-2, 1e-5):
        x = graded.central_point(np.array([1.0]), G, h, mu, np.array([0.9]))
        np.testing.assert_allclose(x, 2 * mu / (1 + 2 * mu + np.sqrt(1 + 4 * mu**2)), rtol=1e-5)


def test_e01_central_point_has_multipliers_that_are_dual_feasible(graded, rng):
    G = np.vstack([rng.normal(size=(6, 3)), np.eye(3), -np.eye(3)])
    c, h = rng.normal(size=3), np.ones(12)
    for mu in (1.0, 1e-3):
        s = h - G @ graded.central_point(c, G, h, mu, np.zeros(3))
        assert s.min() > 0.0
        np.testing.assert_allclose(c + G.T @ (mu / s), 0.0, atol=1e-5)


# ---- 2. the Nesterov-Todd scaling


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_e02_scaling_takes_s_and_z_to_one_point(graded, rng, dim):
    for depth in (1.0, 1e-3):
        s, z = interior_point(rng, dim, depth), interior_point(rng, dim, depth)
        W = graded.scaling(s, z)
        np.testing.assert_allclose(W, W.T, rtol=1e-10, atol=1e-12)
        assert np.linalg.eigvalsh(W).min() > 0.0
        np.testing.assert_allclose(W @ z, np.linalg.solve(W, s), rtol=1e-6, atol=1e-6)


def test_e02_scaling_maps_the_cone_onto_itself(graded, rng):
    s, z = interior_point(rng, 4), interior_point(rng, 4)
    W = graded.scaling(s, z)
    J = np.diag([1.0, -1.0, -1.0, -1.0])
    product = W @ J @ W
    np.testing.assert_allclose(product, product[0, 0] * J, atol=1e-9)  # det is multiplied by a constant
    assert W[0, 0] > 0.0 and product[0, 0] > 0.0


# ---- 3. a Newton step


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_e03_newton_step_solves_all_four_equations(graded, rng, size):
    data, _ = quadratic_program(rng)
    x, y = rng.normal(size=8), rng.normal(size=2)
    s, z = rng.uniform(0.5, 1.5, (2, 14))
    s[::2] *= size
    z[1::2] *= size
    dx, dy, dz, ds = graded.newton_step(data, x, y, z, s, 0.3)
    P, c, A, b, G, h = (data[name] for name in ("P", "c", "A", "b", "G", "h"))
    np.testing.assert_allclose(P @ (x + dx) + c + A.T @ (y + dy) + G.T @ (z + dz), 0.0, atol=1e-6)
    np.testing.assert_allclose(A @ (x + dx), b, atol=1e-7)
    np.testing.assert_allclose(G @ (x + dx) + s + ds, h, atol=1e-7)
    np.testing.assert_allclose(z * ds + s * dz, 0.3 * (s @ z) / 14 - s * z, atol=1e-7)


def test_e03_newton_step_is_zero_on_the_central_path(graded):
    data = {"P": np.zeros((1, 1)), "c": np.array([1.0]), "A": np.zeros((0, 1)), "b": np.zeros(0)}
    data |= {"G": np.array([[-1.0], [1.0]]), "h": np.array([0.0, 1.0])}
    it = on_the_path(ConeProgram(data["c"], data["G"], data["h"], [NonNeg(2)]), 0.1)
    for d in graded.newton_step(data, it.x, it.y, it.z, it.s, 1.0):
        np.testing.assert_allclose(d, 0.0, atol=1e-5)


# ---- 4. the length of a step


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_e04_step_ends_on_the_boundary(graded, rng, dim):
    finite = 0
    for _ in range(200):
        u, du = interior_point(rng, dim), rng.normal(size=dim)
        alpha = graded.longest_step(u, du)
        depth = textbook.Cone([SecondOrder(dim) if dim > 1 else NonNeg(1)]).depth
        if np.isinf(alpha):
            assert depth(du) >= -1e-9
            continue
        finite += 1
        assert abs(depth(u + alpha * du)) <= 1e-7 * (1.0 + alpha * np.linalg.norm(du))
        assert depth(u + 0.999 * alpha * du) > 0.0
    assert 0 < finite < 200


def test_e04_step_along_edges_and_into_the_cone(graded):
    e = np.array([1.0, 0.0, 0.0])
    assert graded.longest_step(e, np.array([1.0, 1.0, 0.0])) == np.inf  # an edge: det is linear along it
    assert graded.longest_step(e, np.array([-1.0, -1.0, 0.0])) == pytest.approx(0.5)
    assert graded.longest_step(e, e) == np.inf
    assert graded.longest_step(e, -e) == pytest.approx(1.0)  # det has a double root, and grows beyond it
    assert graded.longest_step(e, np.array([0.0, 3.0, 4.0])) == pytest.approx(0.2)


# ---- 5. the whole method


def test_e05_method_finds_solutions_in_few_iterations(graded, rng):
    counts = []
    for n, p, m in ((5, 1, 10), (10, 3, 25), (20, 0, 60), (6, 2, 8)):
        data, (x, *_) = quadratic_program(rng, n, p, m)
        found, y, z, count = graded.solve(data)
        np.testing.assert_allclose(found, x, atol=1e-5)
        slope = data["P"] @ found + data["c"] + data["A"].T @ y + data["G"].T @ z
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)
        assert z.min() >= 0.0 and abs(z @ (data["h"] - data["G"] @ found)) <= 1e-6
        counts.append(count)
    assert max(counts) <= 25


def test_e05_method_solves_a_linear_program(graded):
    box = np.vstack([np.eye(3), -np.eye(3)])
    data = {"P": np.zeros((3, 3)), "c": np.array([-1.0, 2.0, -3.0]), "A": np.ones((1, 3)), "b": np.array([1.5])}
    data |= {"G": box, "h": np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])}
    x, _, _, count = graded.solve(data)
    np.testing.assert_allclose(x, [0.5, 0.0, 1.0], atol=1e-5)
    assert count <= 25


# ---- 6. certificates


def linear(c, A, b, G, h):
    arrays = {"c": c, "b": b, "h": h}
    data = {name: np.asarray(v, float) for name, v in arrays.items()}
    return data | {"A": np.reshape(A, (-1, len(c))).astype(float), "G": np.reshape(G, (-1, len(c))).astype(float)}


def test_e06_verdicts_on_points_that_are_what_they_claim(graded):
    nothing = linear([0.0], [], [], [[-1.0], [1.0]], [-1.0, -1.0])  # x >= 1 and x <= -1
    down = linear([-1.0, 0.0], [], [], [[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])
    box = linear([1.0], [], [], [[-1.0], [1.0]], [0.0, 1.0])
    for size in (1.0, 1e-3, 1e3):
        assert graded.verdict(nothing, np.zeros(1), np.zeros(0), size * np.ones(2), 0.0, 1e-8) == "primal_infeasible"
        assert graded.verdict(down, size * np.array([1.0, 0.5]), np.zeros(0), np.zeros(2), 0.0, 1e-8) == (
            "dual_infeasible"
        )
        assert graded.verdict(box, np.zeros(1), np.zeros(0), size * np.array([1.0, 0.0]), size, 1e-8) == "optimal"


def test_e06_verdicts_on_points_that_are_not(graded):
    box = linear([1.0], [], [], [[-1.0], [1.0]], [0.0, 1.0])
    for x, z, tau in ((0.5, [1.0, 0.0], 1.0), (-0.5, [1.0, 0.0], 1.0), (0.0, [0.5, 0.0], 1.0), (0.0, [2.0, 1.0], 1.0),
                      (0.0, [1.0, 1.0], 0.0), (-1.0, [0.0, 0.0], 0.0)):  # fmt: skip
        assert graded.verdict(box, np.array([x]), np.zeros(0), np.array(z), tau, 1e-8) == "unknown"
    # a negative multiplier is no proof: x <= 1 and x >= -1 are feasible
    feasible = linear([0.0], [], [], [[1.0], [-1.0]], [1.0, 1.0])
    assert graded.verdict(feasible, np.zeros(1), np.zeros(0), np.array([-1.0, -1.0]), 0.0, 1e-8) == "unknown"


def test_e06_verdicts_on_what_the_textbook_found(graded, rng):
    A, x0 = rng.normal(size=(2, 5)), rng.uniform(0.5, 1.5, 5)
    c = rng.uniform(0.5, 1.5, 5)
    for side, expected in ((99.0, "optimal"), (-9.0, "primal_infeasible")):
        G, sides = np.vstack([-np.eye(5), np.ones(5)]), np.append(np.zeros(5), side)  # x >= 0, sum x <= side
        last = list(textbook.iterates(ConeProgram(c, G, sides, [NonNeg(len(G))], A, A @ x0)))[-1]
        data = linear(c, A, A @ x0, G, sides)
        assert graded.verdict(data, last.x, last.y, last.z, last.tau, 1e-6) == expected


# ---- 7. LDL' with delta


def test_e07_factor_of_a_quasidefinite_matrix_in_any_order(graded, rng):
    F, B = rng.normal(size=(6, 6)), rng.normal(size=(4, 6))
    K = np.block([[F @ F.T + np.eye(6), B.T], [B, -np.eye(4)]])
    signs = np.repeat([1.0, -1.0], [6, 4])
    for _ in range(5):
        order = rng.permutation(10)
        L, d = graded.factor(K[np.ix_(order, order)], signs[order], 1e-8)
        np.testing.assert_allclose(np.diag(L), 1.0)
        np.testing.assert_allclose(np.triu(L, 1), 0.0)
        np.testing.assert_array_equal(np.sign(d), signs[order])
        expected = K[np.ix_(order, order)] + 1e-8 * np.diag(signs[order])
        np.testing.assert_allclose(L @ np.diag(d) @ L.T, expected, atol=1e-10)


def test_e07_pivot_that_is_too_small_is_replaced(graded):
    K = np.array([[-1.0, 0.5], [0.5, -2.0]])
    for side in (1.0, -1.0):
        L, d = graded.factor(side * K, side * np.array([1.0, -1.0]), 1e-4)
        assert d[0] == pytest.approx(side * 1e-4) and np.sign(d[1]) == -side
        difference = L @ np.diag(d) @ L.T - side * K
        assert abs(difference[0, 1]) <= 1e-6 and abs(difference[0, 0] - side * 1.0001) <= 1e-6


def test_e07_refinement_solves_a_singular_system_that_has_a_solution(graded, rng):
    A = rng.normal(size=(2, 5))
    A = np.vstack([A, A[0]])  # an equation twice
    K = np.block([[np.eye(5), A.T], [A, np.zeros((3, 3))]])
    signs, u = np.repeat([1.0, -1.0], [5, 3]), rng.normal(size=8)
    errors = [np.abs(K @ graded.solve(K, signs, K @ u, 1e-5, steps) - K @ u).max() for steps in (0, 1, 3)]
    assert errors[0] > 10.0 * errors[1] and errors[2] < 1e-9


# ---- 8. minimum degree


def eliminations(pattern, order):
    """Whether every node of the order had the least degree when it was taken."""
    graph = {i: set(np.flatnonzero(row)) - {i} for i, row in enumerate(pattern)}
    for k in order:
        if len(graph[k]) > min(len(near) for near in graph.values()):
            return False
        near = graph.pop(k)
        for i in near:
            graph[i] = (graph[i] | near) - {i, k}
    return True


def patterns(rng):
    arrow = np.eye(9, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    random = rng.random((25, 25)) < 0.12
    upper = kkt_pattern(generate.group_lasso(10))
    return arrow, random | random.T, (upper + upper.T).toarray() > 0


def test_e08_order_takes_a_node_of_least_degree_each_time(graded, rng):
    for pattern in patterns(rng):
        order = graded.order(pattern)
        np.testing.assert_array_equal(np.sort(order), np.arange(len(pattern)))
        assert eliminations(pattern, order)


def test_e08_fill_is_that_of_a_factorization(graded, rng):
    arrow, random, _ = patterns(rng)
    n = len(arrow)
    assert graded.fill(arrow, np.arange(n)) == n * (n - 1) // 2 and graded.fill(arrow, np.arange(n)[::-1]) == n - 1
    upper = kkt_pattern(generate.group_lasso(10))
    full = (upper + upper.T).toarray() > 0
    natural = np.arange(len(full))
    assert graded.fill(full, natural) == factor_pattern(upper, natural)[1].nnz - len(full)
    before = random.copy()
    graded.fill(random, np.arange(25))
    np.testing.assert_array_equal(random, before)


def test_e08_order_of_a_tree_has_no_fill(graded, rng):
    n = 30
    tree = np.zeros((n, n), dtype=bool)
    for child in range(1, n):
        tree[child, rng.integers(child)] = True
    tree |= tree.T
    assert graded.fill(tree, graded.order(tree)) == n - 1


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


def test_e09_presolve_leaves_out_rows_and_variables(graded, rng):
    lp, x = linear_program(rng)
    given = {name: value.copy() for name, value in lp.items()}
    small, values = graded.presolve(lp)
    for name, value in given.items():
        np.testing.assert_array_equal(lp[name], value)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(values)), [1, 4])
    np.testing.assert_allclose(values[[1, 4]], x[[1, 4]])
    assert small["A"].shape == (3, 5) and small["q"].shape == (5,)
    assert small["lb"][1] == pytest.approx(0.1)  # of variable 2, from row 5


def test_e09_presolve_does_not_change_the_solution(graded, rng):
    lp, _ = linear_program(rng)
    small, values = graded.presolve(lp)
    solutions = []
    for one in (lp, small):
        rest = {name: one[name] for name in ("A", "l", "u", "lb", "ub")}
        solutions.append(qp.solve(None, one["q"], **rest, tol=1e-9).x)
    values[np.isnan(values)] = solutions[1]
    assert lp["q"] @ values == pytest.approx(lp["q"] @ solutions[0], rel=1e-6, abs=1e-6)
    assert (lp["A"] @ values <= lp["u"] + 1e-6).all() and (lp["A"] @ values >= lp["l"] - 1e-6).all()


def test_e09_presolve_finds_what_cannot_be_met(graded, rng):
    for row, side in ((6, 2.0), (5, -2.0)):  # 0 = 2; x_2 >= 2
        lp, _ = linear_program(rng)
        lp["l"][row] = lp["u"][row] = side
        with pytest.raises(ValueError):
            graded.presolve(lp)


# ---- 10. the dual of the support vector machine


def two_classes(rng):
    y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(40, 3)) + 0.8 * y[:, None], y


def test_e10_dual_has_the_value_of_the_primal(graded, rng):
    X, y = two_classes(rng)
    for C in (0.1, 2.0):
        d = graded.dual(X, y, C)
        found = qp.solve(d["P"], d["q"], A=d["A"], l=d["b"], u=d["b"], lb=d["lb"], ub=d["ub"], tol=1e-10)
        w, beta = graded.hyperplane(X, y, C, found.x)
        primal = 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (X @ w + beta)).sum()
        assert primal == pytest.approx(-found.objective, rel=1e-5)


def test_e10_hyperplane_is_that_of_the_estimator(graded, rng):
    X, y = two_classes(rng)
    d = graded.dual(X, y, 0.5)
    found = qp.solve(d["P"], d["q"], A=d["A"], l=d["b"], u=d["b"], lb=d["lb"], ub=d["ub"], tol=1e-10)
    w, beta = graded.hyperplane(X, y, 0.5, found.x)
    machine = SVC(C=0.5, kernel="linear").fit(X, y)
    np.testing.assert_allclose(w, machine.coef_[0], atol=1e-4)
    np.testing.assert_allclose(X @ w + beta, machine.decision_function(X), atol=1e-3)


# ---- 11. a warm start


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_e11_start_is_central_and_near(graded, rng, dim):
    for mu in (1.0, 1e-4, 1e-8):
        s = interior_point(rng, dim, 0.5)
        z = np.zeros(dim)
        for first, second in ((s, z), (z, s), (s, 2.0 * s)):
            new_s, new_z = graded.centered(first, second, mu)
            e = np.eye(dim)[0]
            np.testing.assert_allclose(circ(new_s, new_z), mu * e, rtol=1e-6, atol=1e-6 * mu + 1e-12)
            np.testing.assert_allclose(new_s - new_z, first - second, atol=1e-9)
    np.testing.assert_allclose(np.r_[graded.centered(s, z, 1e-12)], np.r_[s, z], atol=1e-5)


def test_e11_start_stays_inside_where_s_is_tiny_beside_z(graded):
    s, z = graded.centered(np.array([0.0]), np.array([1e4]), 1e-10)
    assert s[0] > 0.0 and s[0] * z[0] == pytest.approx(1e-10, rel=1e-6)


def test_e11_start_saves_iterations(graded, rng):
    data, _ = quadratic_program(rng, 10, 2, 30)
    first = ConeProgram(data["c"], data["G"], data["h"], [NonNeg(30)], data["A"], data["b"], data["P"])
    last = textbook.solve(first)
    moved = ConeProgram(data["c"] + 1e-4 * rng.normal(size=10), data["G"], data["h"], [NonNeg(30)], data["A"],
                        data["b"], data["P"])  # fmt: skip
    s, z = (np.concatenate(parts) for parts in zip(*(
        graded.centered(last.s[i : i + 1], last.z[i : i + 1], 1e-4) for i in range(30))))  # fmt: skip
    method, count = textbook.Method(moved), 0
    it = textbook.Iterate(last.x, last.y, z, s, 1.0, 1e-4)
    method.judge(it, 1e-8)
    while it.status is None and count < 50:
        it, count = method.step(it), count + 1
        method.judge(it, 1e-8)
    assert it.status == "optimal" and count < textbook.solve(moved).iterations


# ---- 12. the derivative of a solution


def test_e12_forward_derivative_is_that_of_a_difference(graded, rng):
    data, _ = quadratic_program(rng, 6, 0, 12)

    def solved(t, dq, dh):
        program = ConeProgram(data["c"] + t * dq, data["G"], data["h"] + t * dh, [NonNeg(12)], P=data["P"])
        return socp.solve(program, tol=1e-10)

    dq, dh = rng.normal(size=6), rng.normal(size=12)
    base, step = solved(0.0, dq, dh), 1e-4
    dx = graded.forward(data["P"], data["G"], base.x, base.z, base.s, dq, dh)
    np.testing.assert_allclose(dx, (solved(step, dq, dh).x - solved(-step, dq, dh).x) / (2 * step), atol=1e-4)


def test_e12_backward_derivative_is_the_adjoint(graded, rng):
    data, _ = quadratic_program(rng, 6, 0, 12)
    program = ConeProgram(data["c"], data["G"], data["h"], [NonNeg(12)], P=data["P"])
    base, slope = socp.solve(program, tol=1e-10), rng.normal(size=6)
    dq, dh = graded.backward(data["P"], data["G"], base.x, base.z, base.s, slope)
    expected = Sensitivity(program, base.x, base.y, base.z).backward(slope)
    np.testing.assert_allclose(dq, expected.q, atol=1e-7)
    np.testing.assert_allclose(dh, expected.h, atol=1e-7)
    change = Change(q=rng.normal(size=6), h=rng.normal(size=12))
    moved = graded.forward(data["P"], data["G"], base.x, base.z, base.s, change.q, change.h)
    assert slope @ moved == pytest.approx(dq @ change.q + dh @ change.h, rel=1e-7)
