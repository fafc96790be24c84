"""Checks of exercises 7, 8, 9 and 13, about matrices.  A check that fails raises Refused with a sentence."""

import numpy as np
from student import holds, parts, require, shaped

# ---- 7. LDL' with delta


def quasidefinite(rng, n):
    """Return a quasi-definite matrix of order n in a random order, and its signs."""
    k = int(rng.integers(1, n + 1))
    F, B = rng.normal(size=(k, k)), rng.normal(size=(n - k, k))
    K = np.block([[F @ F.T + np.eye(k), B.T], [B, -np.eye(n - k) * rng.uniform(0.5, 2.0)]])
    order = rng.permutation(n)
    return K[np.ix_(order, order)], np.repeat([1.0, -1.0], [k, n - k])[order]


def factors(student, K, signs, delta, at):
    """Check that L has a unit diagonal and is lower triangular; return L and d."""
    n = len(K)
    L, d = parts("factor", student.call("factor", K, signs, delta), 2)
    L, d = shaped("L", L, (n, n)), shaped("d", d, (n,))
    holds("diagonal of L = 1", np.diag(L) - 1.0, at, 1e-14)
    holds("L is lower triangular", np.triu(L, 1), at, 0.0)
    return L, d


def factor_of_a_quasidefinite_matrix(student, rng):
    """The factors of matrices in any order."""
    for delta in (1e-8, 1e-2):
        for n in (1, 2, 5, 10, 14):
            K, signs = quasidefinite(rng, n)
            at = f"delta = {delta}, n = {n}, signs {signs}"
            L, d = factors(student, K, signs, delta, at)
            holds("sign of d = signs", np.sign(d) - signs, at, 0.0)
            holds("L D L' = K + delta diag(signs)", L @ np.diag(d) @ L.T - K - delta * np.diag(signs), at, 1e-9)


def small_pivots_are_replaced(student, rng):
    """Pivots from both sides of delta / 10."""
    delta = 10.0 ** rng.uniform(-5.0, -3.0)
    for share, pivot in ((-1e4, 1.0), (-2.0, 1.0), (0.0, 1.0), (0.097, 1.0), (0.103, 0.103), (0.5, 0.5), (0.95, 0.95)):
        for sign in (1.0, -1.0):
            for place in (0, 2, 3):
                # K = L D L' - delta diag(signs), built so that one pivot is `share` * delta.
                L = np.tril(rng.normal(size=(4, 4)), -1) + np.eye(4)
                signs = rng.choice([1.0, -1.0], 4)
                signs[place] = sign
                wanted = signs * rng.uniform(1.0, 2.0, 4)
                wanted[place] = share * delta * sign
                L[place + 1 :, place] /= max(1.0, abs(share))  # keeps the other pivots away from zero
                K = L @ np.diag(wanted) @ L.T - delta * np.diag(signs)
                K = 0.5 * (K + K.T)
                at = f"a pivot {sign * share:g} delta in place {place}, sign {sign:g}, delta = {delta:.2e}"
                found, d = factors(student, K, signs, delta, at)
                holds(f"d = signs {pivot:g} delta there", (d[place] - sign * pivot * delta) / delta, at, 1e-6)
                left = found @ np.diag(d) @ found.T - K - delta * np.diag(signs)
                size = (np.abs(found) @ np.diag(np.abs(d)) @ np.abs(found).T).max()
                left[place, place] -= sign * (pivot - share) * delta
                holds("L D L' = K + delta diag(signs) elsewhere", left / size, at, 1e-9)


def refinement(student, rng):
    """Solutions after 0, 1 and more steps of refinement, by one factorization each."""
    for n in (1, 2, 3, 12):
        K, signs = quasidefinite(rng, n)
        rhs, at = rng.normal(size=n), f"a quasi-definite K of order {n}, delta = 1e-9, 2 steps"
        holds("K u = rhs", K @ shaped("u", student.call("solve", K, signs, rhs, 1e-9, 2), (n,)) - rhs, at, 1e-9)
    for trial in range(3):
        A = rng.normal(size=(2, 5))
        A = np.vstack([A, A[trial % 2]])  # a duplicate equation makes K singular
        K = np.block([[np.eye(5), A.T], [A, np.zeros((3, 3))]])
        order = rng.permutation(8)
        K, signs = K[np.ix_(order, order)], np.repeat([1.0, -1.0], [5, 3])[order]
        u, delta, at = rng.normal(size=8), 1e-3, "K with an equation twice, delta = 1e-3"
        M, rhs, expected = K + delta * np.diag(signs), K @ u, np.zeros(8)
        for steps in range(5):
            expected = expected + np.linalg.solve(M, rhs - K @ expected)
            found = student.call("solve", K, signs, rhs, delta, steps, record=["factor"])
            count = len(student.calls.get("factor", ()))
            require(count == 1, f"solve calls factor {count} times, expected once")
            said = f"K u after {steps} refinements u += (K + delta diag(signs))^-1 (rhs - K u)"
            holds(said, K @ (shaped("u", found, (8,)) - expected), at, 1e-10)
            reply = student.ask("solve", K, signs, rhs, delta, steps, record=["factor"], spoiled=("factor", 0))
            used = "answer" not in reply or not np.allclose(reply["answer"], found, rtol=1e-9)
            require(used, "solve makes no use of what factor returns")


# ---- 8. minimum degree


def graphs(rng):
    """Yield (description, pattern) of graphs: dense, sparse, disconnected, empty and complete, with any diagonal."""
    for n, density in ((1, 0.0), (2, 1.0), (6, 0.0), (7, 1.0), (25, 0.12), (30, 0.05), (18, 0.4), (80, 0.02)):
        half = np.triu(rng.random((n, n)) < density, 1)
        pattern = half | half.T | np.diag(rng.random(n) < 0.5)
        yield f"a random graph of {n} nodes", pattern
    arrow, order = np.eye(9, dtype=bool), rng.permutation(9)
    arrow[0] = arrow[:, 0] = True
    yield "an arrow", arrow[np.ix_(order, order)]
    side = 6
    nodes = np.arange(side * side)
    near = np.abs(nodes[:, None] // side - nodes // side) + np.abs(nodes[:, None] % side - nodes % side) == 1
    order = rng.permutation(side * side)
    yield "a grid", near[np.ix_(order, order)]


def order_takes_a_node_of_least_degree(student, rng):
    """The least degree in each step."""
    for what, pattern in graphs(rng):
        n = len(pattern)
        order = np.asarray(student.call("order", pattern))
        whole = order.dtype.kind in "iu" and np.array_equal(np.sort(order, axis=None), np.arange(n))
        require(order.shape == (n,) and whole, f"{what}: {order} is no permutation of whole numbers")
        graph = {i: set(np.flatnonzero(row)) - {i} for i, row in enumerate(pattern)}
        for step, k in enumerate(order.tolist()):
            least = min(len(near) for near in graph.values())
            require(
                len(graph[k]) == least,
                f"{what}: step {step} takes a node of degree {len(graph[k])}, the least is {least}",
            )
            near = graph.pop(k)
            for i in near:
                graph[i] = (graph[i] | near) - {i, k}


def order_of_a_tree(student, rng):
    """A tree has no fill in the order."""
    n = int(rng.integers(20, 40))
    tree = np.zeros((n, n), dtype=bool)
    for child in range(1, n):
        tree[child, rng.integers(child)] = True
    order = rng.permutation(n)
    tree = (tree | tree.T)[np.ix_(order, order)]
    found = student.call("fill", tree, np.asarray(student.call("order", tree)))
    require(found == n - 1, f"a tree of {n} nodes: {found} entries below the diagonal of L, expected {n - 1}")


def fill_is_that_of_a_factorization(student, rng):
    """The entries of L in any order."""
    for what, pattern in graphs(rng):
        n = len(pattern)
        for order in (np.arange(n), np.arange(n)[::-1].copy(), rng.permutation(n)):
            # The factor of a dominant matrix with random entries has no accidental zeros.
            M = np.where(pattern[np.ix_(order, order)], rng.uniform(0.5, 1.0, (n, n)), 0.0)
            M = np.tril(M, -1) + np.tril(M, -1).T + 2.0 * n * np.eye(n)
            expected = int((np.abs(np.tril(np.linalg.cholesky(M), -1)) > 1e-300).sum())
            found = student.call("fill", pattern, order)
            at = f"{what}, order {order[:8]}..."
            require(
                np.ndim(found) == 0 and found == expected, f"{at}: {found} entries below the diagonal, not {expected}"
            )


# ---- 9. presolve


def linear_program(rng, length=5, free=4):
    """Return (program, presolved program, x with NaN for the variables that stay).

    Removable are a chain of `length` variables, each fixed by a row and the previous ones, a variable that two rows
    fix, and one that its bounds fix.  Rows and columns are in random order.
    """
    n, dense = length + free + 2, 3
    x = rng.integers(-64, 65, n) / 64.0
    lb, ub = x - 1.0 - rng.random(n), x + 1.0 + rng.random(n)
    rows, sides = [], []

    def row(entries, low, high):
        rows.append(np.zeros(n))
        rows[-1][list(entries)] = list(entries.values())
        sides.append((low, high))

    power = lambda: float(rng.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]))  # noqa: E731
    for k in range(length):  # row k determines variable k from the previous ones
        size = 2.0 ** rng.choice([-40, 0, 20])
        entries = {j: size * power() for j in range(k + 1)}
        value = sum(v * x[j] for j, v in entries.items())
        row(entries, value, value)
    two = length + free  # two rows fix it: x <= value and x >= value
    for sign in (1.0, -1.0):
        size = power()
        row({two: size}, *((-np.inf, size * x[two]) if sign * size > 0 else (size * x[two], np.inf)))
    lb[two + 1] = ub[two + 1] = x[two + 1]
    row({0: 1.0, two: -2.0}, -np.inf, x[0] - 2.0 * x[two] + 0.5)  # redundant once both variables are fixed
    row({}, -1.0, np.inf)
    row({length: -2.0}, -2.0 * (x[length] + 0.25), np.inf)  # x <= x + 1/4
    row({length + 1: -0.5}, -np.inf, -0.5 * (x[length + 1] - 0.125))  # x >= x - 1/8
    row({length + 2: 2.0}, -np.inf, np.inf)
    new_lb, new_ub = lb.copy(), ub.copy()
    new_ub[length], new_lb[length + 1] = x[length] + 0.25, x[length + 1] - 0.125
    first = len(rows)
    for k in range(dense):
        entries = {j: power() for j in range(n)} if k else {length: 1.0, length + 1: 2.0, two + 1: 1.0}
        value = sum(v * x[j] for j, v in entries.items())
        row(entries, value - rng.random() if k != 1 else -np.inf, value + rng.random() if k != 2 else np.inf)
    A, (l, u) = np.array(rows), np.array(sides).T
    row_order, order = rng.permutation(len(rows)), rng.permutation(n)
    goes = np.r_[np.ones(length, bool), np.zeros(free, bool), np.ones(2, bool)]
    stays = row_order[row_order >= first]
    left = order[~goes[order]]
    moved = A[stays][:, goes] @ x[goes]
    q = rng.normal(size=n)
    small = {"q": q[left], "A": A[np.ix_(stays, left)], "l": l[stays] - moved, "u": u[stays] - moved,
             "lb": new_lb[left], "ub": new_ub[left]}  # fmt: skip
    lp = {"q": q[order], "A": A[np.ix_(row_order, order)], "l": l[row_order], "u": u[row_order], "lb": lb[order],
          "ub": ub[order]}  # fmt: skip
    return lp, small, np.where(goes, x, np.nan)[order]


def presolved(student, lp, at):
    """Return (smaller program, x) of a program that has a solution."""
    require(not student.raises("presolve", lp), f"presolve raises ValueError at {at}, which has a solution")
    return parts("presolve", student.call("presolve", lp), 2)


def presolve_leaves_out_rows_and_variables(student, rng):
    """What goes and what is left."""
    for length in (1, 3, 6):
        for _ in range(4):
            lp, expected, values = linear_program(rng, length)
            at = f"a program with a chain of {length} variables"
            small, x = presolved(student, lp, at)
            x = shaped("x", x, values.shape)
            gone, right = (np.flatnonzero(~np.isnan(v)) for v in (x, values))
            require(np.array_equal(gone, right), f"{at}: the variables {gone} went, expected {right}")
            holds("x of the variables that went = their values", (x - values)[gone], at, 1e-9)
            require(set(small) == set(expected), f"{at}: the smaller program has {sorted(small)}")
            for name, value in expected.items():
                found = shaped(name, small[name], value.shape)
                difference = np.where(found == value, 0.0, found - np.where(np.isinf(value), 0.0, value))
                holds(f"{name} of the smaller program", difference, at, 1e-9)


def small_program(rng):
    """Return a program with two rows of one entry (the second of each sign), an empty row and a row of two entries."""
    A = np.array([[2.0, 0.0, 0.0], [0.0, -4.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    return {"q": rng.normal(size=3), "A": A, "lb": -np.ones(3), "ub": np.ones(3),
            "l": np.array([-2.0, -4.0, -1.0, -1.0]), "u": np.array([2.0, 4.0, 1.0, 1.0])}  # fmt: skip


def presolve_keeps_to_its_tolerance(student, rng):
    """What cannot be met by more than 1e-9, from both sides."""
    for size, crossed in ((0.9e-9, False), (1.1e-9, True), (1e-6, True), (0.5, True)):
        for what, changes in {
            "l > 0 of a row without entries": {"l": (2, size), "u": (2, 1.0)},
            "u < 0 of a row without entries": {"u": (2, -size)},
            "l > u of a row with two entries": {"l": (3, 1.0 + size)},
            "lb > ub of a variable": {"lb": (2, 1.0 + size)},
            "a row that says x > ub": {"l": (0, 2.0 + 2.0 * size), "u": (0, np.inf)},
            "a row that says x < lb": {"l": (0, -np.inf), "u": (0, -2.0 - 2.0 * size)},
            "a row with a negative entry that says x > ub": {"l": (1, -np.inf), "u": (1, -4.0 - 4.0 * size)},
            "a row with a negative entry that says x < lb": {"l": (1, 4.0 + 4.0 * size), "u": (1, np.inf)},
            "l > u of a row with one entry": {"l": (0, 0.25 + size), "u": (0, 0.25)},
        }.items():
            lp = small_program(rng)
            for name, (k, value) in changes.items():
                lp[name][k] = value
            raised = student.raises("presolve", lp)
            require(raised == crossed, f"{what} by {size:g}: {'a' if raised else 'no'} ValueError")
    for gap, goes in ((0.9e-9, True), (0.0, True), (-0.9e-9, False)):
        lp = small_program(rng)
        lp["lb"][2] = 1.0 + gap
        x = shaped("x", presolved(student, lp, "small bounds")[1], (3,))
        require(np.isnan(x[2]) != goes, f"a variable with lb - ub = {gap:g} {'stays' if goes else 'goes'}")


def presolve_with_nothing_left(student, rng):
    """Programs of which nothing goes, or everything."""
    for l, u in (([-np.inf], [0.5]), ([-np.inf], [np.inf]), ([], [])):
        lp, at = small_program(rng), f"a program of {len(l)} rows of which nothing goes"
        lp["A"], lp["l"], lp["u"] = lp["A"][4 - len(l) :], np.array(l), np.array(u)
        lp["lb"][0], lp["ub"][1] = -np.inf, np.inf
        small, x = presolved(student, lp, at)
        require(np.isnan(shaped("x", x, (3,))).all(), f"a variable went from {at}")
        for name, value in lp.items():
            require(np.array_equal(shaped(name, small[name], value.shape), value), f"{name} changes in {at}")
    lp = small_program(rng)
    point = rng.uniform(-1.0, 1.0, 3)
    lp["A"][2:] = np.eye(3)[2] * 3.0, np.ones(3)
    lp["l"], lp["u"] = lp["A"] @ point - np.r_[0.0, 0.0, 0.0, 0.1], lp["A"] @ point + np.r_[0.0, 0.0, 0.0, 0.1]
    small, x = presolved(student, lp, "a program of which everything goes")
    holds("x = the only point", shaped("x", x, (3,)) - point, "a program of which everything goes", 1e-9)
    require(np.size(small["A"]) == 0, f"A is {small['A']} where everything goes")


# ---- 13. a KKT solver of one's own


def factors_of_assets(rng, n, k):
    """Return d, some entries zero, F and the scaling w of n assets with k factors."""
    d = rng.uniform(0.0, 2.0, n) * (rng.random(n) < 0.7)
    return d, rng.normal(size=(n, k)), 10.0 ** rng.uniform(-1.0, 1.0, 2 * n)


def solves(student, d, F, w, sides, at, **options):
    """Check the equations at the right-hand sides; return the solutions."""
    n = len(d)
    found = student.call("kkt_solver", d, F, w, then=sides, **options)
    answers = []
    for (r, t), answer in zip(sides, parts("kkt_solver", found, len(sides))):
        x, z = parts("the function", answer, 2)
        x, z = shaped("x", x, (n,)), shaped("z", z, (2 * n,))
        for words, right, *terms in (
            ("(diag(d) + F F') x + z_u - z_l = r", r, d * x, F @ (F.T @ x), z[:n], -z[n:]),
            ("x - w_u^2 z_u = t_u", t[:n], x, -(w[:n] ** 2) * z[:n]),
            ("-x - w_l^2 z_l = t_l", t[n:], -x, -(w[n:] ** 2) * z[n:]),
        ):
            largest = max(np.abs(one).max() for one in (right, *terms, [1e-300]))
            holds(words, (sum(terms) - right) / largest, at, 1e-8)
        answers.append(x)
    return answers


def capacitance_of_few_factors(student, rng):
    """The capacitance matrix."""
    for n, k in ((1, 1), (1, 3), (7, 0), (9, 4), (100_000, 3)):
        F, D = rng.normal(size=(n, k)), rng.uniform(0.1, 10.0, n)
        M = shaped("the capacitance matrix", student.call("capacitance", F, D), (k, k))
        expected = np.eye(k) + (F.T / D) @ F
        holds(
            "M = I + F' diag(D)^-1 F",
            (M - expected) / max(1.0, np.abs(expected).max(initial=0.0)),
            f"n = {n}, k = {k}",
            1e-12,
        )


def equations_of_assets(student, rng):
    """The equations, also with no factor, with one asset, and with more factors than assets."""
    for n, k in ((1, 0), (1, 1), (1, 4), (2, 5), (6, 0), (8, 2), (40, 3)):
        d, F, w = factors_of_assets(rng, n, k)
        sides = [(rng.normal(size=n), rng.normal(size=2 * n)), (np.zeros(n), rng.normal(size=2 * n)),
                 (1e3 * rng.normal(size=n), np.zeros(2 * n))]  # fmt: skip
        solves(student, d, F, w, sides, f"n = {n}, k = {k}")


def capacitance_is_factorized_once(student, rng):
    """One capacitance matrix for all right-hand sides."""
    n, k = 12, 3
    d, F, w = factors_of_assets(rng, n, k)
    sides = [(rng.normal(size=n), rng.normal(size=2 * n)) for _ in range(4)]
    right = solves(student, d, F, w, sides, f"n = {n}, k = {k}", record=["capacitance"])
    calls = student.calls.get("capacitance", ())
    require(len(calls) == 1, f"capacitance is called {len(calls)} times for four right-hand sides, expected once")
    other = (F.T * rng.uniform(0.5, 5.0, n)) @ F + 3.0 * np.eye(k)
    found = student.call("kkt_solver", d, F, w, then=sides, record=["capacitance"], script={"capacitance": [other]})
    moved = [np.abs(x - np.asarray(answer[0])).max() for x, answer in zip(right, found)]
    require(min(moved) > 1e-6, "the answer of capacitance is not used: another one gives the same x")


def many_assets(student, rng):
    """A hundred thousand assets."""
    n, k = 100_000, 5
    d, F, w = factors_of_assets(rng, n, k)
    sides = [(rng.normal(size=n), rng.normal(size=2 * n)) for _ in range(2)]
    solves(student, d, F, w, sides, f"n = {n}, k = {k}")


CHECKS = {
    "e07": [(4, factor_of_a_quasidefinite_matrix), (3, small_pivots_are_replaced), (3, refinement)],
    "e08": [(5, order_takes_a_node_of_least_degree), (1, order_of_a_tree), (4, fill_is_that_of_a_factorization)],
    "e09": [(5, presolve_leaves_out_rows_and_variables), (3, presolve_keeps_to_its_tolerance),
            (2, presolve_with_nothing_left)],
    "e13": [(2, capacitance_of_few_factors), (4, equations_of_assets), (2, capacitance_is_factorized_once),
            (2, many_assets)],
}  # fmt: skip
