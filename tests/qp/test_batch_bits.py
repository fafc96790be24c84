"""Threads and batches: an answer has the same bits whatever else is in the batch."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import models
import qp
import socp
from bench.fuzz.batches import bits
from qp import batch
from socp.batch import cone_groups, groups, solutions
from socp.compiled.threads import bundled_libraries
from tests.qp.test_batch import data
from tests.socp.batch.test_programs import disks

AXES = {"P": 3, "A": 3, "G": 3, "q": 2, "l": 2, "u": 2, "lb": 2, "ub": 2, "c": 2, "h": 2, "b": 2}


def some(given, order):
    """Return the programs `order` of a batch, in this order."""
    return {name: value[order] if np.ndim(value) == AXES.get(name) else value for name, value in given.items()}


def check_bits(solve_many, given, *orders, **settings):
    """Hold the answers in other orders against those of the batch as it is, by one thread and by two."""
    first = solve_many(**given, **settings)
    for order in (np.arange(len(first)), *orders):
        for threads in (1, 2):
            many = solve_many(**some(given, order), **settings, threads=threads)
            for place, i in enumerate(order):
                assert bits(many, place) == bits(first, i), (order, threads, i)
    return first


def orders_of(k):
    rng = np.random.default_rng(0)
    return np.arange(k)[::-1], rng.permutation(k), rng.integers(0, k, 2 * k), np.arange(0, k, 3), np.array([k - 1])


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_quadratic_programs(own, one_by_one, monkeypatch):
    if one_by_one:
        monkeypatch.setattr(groups, "LANES_UP_TO", 3)
        monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    given = data(k=20, own=own)
    given["u"][[3, 8, 15], 4], given["l"][[5, 8], 3] = np.inf, -np.inf
    given["l"][11], given["u"][11] = 50.0, 60.0  # infeasible in the box
    given["lb"] = np.tile(given["lb"], (20, 1))
    given["lb"][[2, 7], 3] = -np.inf
    given["lb"][11] = -1.0
    if own:  # beyond what double precision holds
        given["P"][17], given["A"][19] = 1e200 * given["P"][17], 1e-200 * given["A"][19]
    first = check_bits(qp.solve_many, given, *orders_of(20))
    assert first.status[11] == "primal_infeasible" and (len(first.alone) == 20) == one_by_one


@pytest.mark.parametrize("P", ["none", "diagonal", "dense", "low rank"])
def test_cone_programs_that_share_their_matrices_have_the_bits_of_new_solvers(P, monkeypatch):
    monkeypatch.setattr(groups, "LANES_UP_TO", 3)
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    rng, n, k = np.random.default_rng(1), 60 if P == "low rank" else 20, 9
    F = rng.normal(size=(n, 3 if P == "low rank" else n))
    G, scale = np.concatenate([np.eye(n), -np.eye(n), rng.normal(size=(5, n))]), np.logspace(-3, 3, k)[:, None]
    given = {"c": rng.normal(size=(k, n)) * scale, "G": G, "h": rng.uniform(0.5, 1.0, (k, 2 * n + 5)) * scale[::-1],
             "cones": [socp.NonNeg(2 * n + 5)]}  # fmt: skip
    given["h"][[2, 6, 7], 0] = np.inf
    if P != "none":
        given["P"] = np.diag(F[:, 0] ** 2) if P == "diagonal" else F @ F.T
    first = check_bits(socp.solve_many, given, *orders_of(k))
    assert (first.status == "optimal").all() and len(first.alone) == k
    for i, found in enumerate(first):
        new = socp.solve(**some(given, i))
        assert found.x.tobytes() == new.x.tobytes() and found.trace.size == new.trace.size
        assert found.plan.backend == new.plan.backend


def test_a_batch_of_one_is_solved_as_one_of_many():
    near = np.abs(np.subtract.outer(np.arange(5), np.arange(7)) + 1) < 2  # as shared matrices they would be banded
    for given in (data(k=6, own=True), {**data(k=6), "P": data(k=6, own=True)["P"]}):
        given["P"], given["A"] = np.eye(7) * given["P"], near * given["A"]
        check_bits(qp.solve_many, given, *np.arange(6)[:, None])
    check_bits(socp.solve_many, disks(k=6, own=True), *np.arange(6)[:, None])


def own_boxes():
    P, A, rng = np.stack([np.diag([1.0, 2, 3, 4]), 2.0 * np.eye(4)]), np.zeros((2, 3, 4)), np.random.default_rng(0)
    A[0, range(3), range(3)], A[0, range(3), range(1, 4)], A[1] = 1.0, -0.3, rng.normal(size=(3, 4))
    return {"P": P, "q": 5.0 * rng.normal(size=(2, 4)), "A": A, "u": np.ones((2, 3)), "lb": -np.ones((2, 4))}


def infeasible():
    rng = np.random.default_rng(8)
    A, l = rng.normal(size=(5, 6, 4)), rng.normal(size=(5, 6))
    return {"P": None, "q": rng.normal(size=(5, 4)), "A": A, "l": l, "u": l + 0.01}


@pytest.mark.parametrize("given, name, place, value, alone", [
    (own_boxes(), "lb", (1, 0), -np.inf, []),  # bounds that are infinite there
    (infeasible(), "A", (3, slice(None), 1), 0.0, [3]),
])  # fmt: skip
def test_what_a_neighbour_has_decides_nothing(given, name, place, value, alone):
    other = given[name].copy()
    other[place] = value
    one, two = qp.solve_many(**given), qp.solve_many(**{**given, name: other})
    assert not one.alone and list(two.alone) == alone
    assert all(bits(one, i) == bits(two, i) for i in range(len(one)) if i != place[0])
    assert name == "lb" or (one.status == "primal_infeasible").all()


def test_rows_with_one_entry_of_a_neighbour_do_not_decide_what_is_a_bound():
    given = disks(k=5, own=True)
    G = given["G"].copy()
    for change, value in (((3, 2, 4), 0.5), ((3, 2, 2), -2.0), ((3, 2, 2), 0.5), ((3, 2, slice(None)), 0.0)):
        G[3] = given["G"][3]
        G[(*change,)] = value  # another entry, a larger one, one of opposite sign, none
        one, two = socp.solve_many(**given), socp.solve_many(**{**given, "G": G})
        assert all(bits(one, i) == bits(two, i) for i in (0, 1, 2, 4)) and bits(one, 3) != bits(two, 3)
    rows = cone_groups.ConeRows(given["cones"], G)
    assert rows.codes[3, 2] == cone_groups.SEVERAL and list(rows.codes[0, :5]) == [0, 2, 4, 6, 8]


def test_a_program_without_a_warm_start_starts_beside_others_as_in_a_cold_batch():
    given = data(k=40)
    cold = qp.solve_many(**given)
    start = qp.solve_many(**given)
    start.x[[0, 3, 4, 9, 21, 38]] = np.nan
    warm = qp.solve_many(**given, warm_start=start)
    assert warm.iterations.sum() < 0.8 * cold.iterations.sum()
    assert all(bits(warm, i) == bits(cold, i) for i in (0, 3, 4, 9, 21, 38))


def test_asymmetry_of_a_neighbour_does_not_round_a_matrix():
    P = np.stack([np.diag([1.7e308, 1.0]), np.eye(2)])
    P[1, 0, 1] = 1e-12
    assert batch.matrices("P", P, (2, 2), "")[0, 0, 0] == 1.7e308


@pytest.mark.parametrize("solve_many, given", [(qp.solve_many, data(k=300)), (socp.solve_many, disks(k=300))])
def test_answers_that_fail_the_test_are_found_again_alone(solve_many, given, monkeypatch):
    """Each answer is tested in the thread that found it; those that fail are solved again, alone."""
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    whole, run = solve_many(**given), groups.run

    def spoilt(batch, lanes, begin, end):
        run(batch, lanes, begin, end)
        batch.x[begin] += 1e-3

    monkeypatch.setattr(groups, "run", spoilt)
    many = solve_many(**given, threads=2)
    assert not whole.alone and len(many.alone) >= 2 and 0 in many.alone and (many.status == "optimal").all()
    assert np.allclose(many.objective, whole.objective, rtol=1e-6, atol=1e-7)


# ---- threads


def test_each_program_is_solved_with_its_own_matrices(monkeypatch):
    """While A is converted slowly, the other thread runs and converts its own P."""
    given, convert = data(k=30, own=True), batch.as_csc

    def slow(name, value):
        time.sleep(0.002)
        return convert(name, value)

    monkeypatch.setattr(groups, "LANES_UP_TO", 3)
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    monkeypatch.setattr(batch, "as_csc", slow)
    many = qp.solve_many(**given, threads=2)
    assert (many.status == "optimal").all() and len(many.alone) == 30
    gradient = np.einsum("kij,kj->ki", given["P"], many.x) + given["q"] + many.z_bounds
    assert np.abs(gradient + np.einsum("kij,ki->kj", given["A"], many.y)).max() < 1e-6
    programs = [found._linearize.args[0] for found in many]
    assert all(np.array_equal(program.P, P) for program, P in zip(programs, given["P"]))


@pytest.mark.parametrize("solve_many", [qp.solve_many, socp.solve_many])
def test_no_thread_writes_into_a_field_that_another_one_makes_anew(solve_many, monkeypatch):
    monkeypatch.setattr(groups, "LANES_UP_TO", 3)
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    fill = np.full

    def slow(*arguments, **named):
        array = fill(*arguments, **named)
        time.sleep(0.02)
        return array

    monkeypatch.setattr(solutions.np, "full", slow)
    many = solve_many(**(data(k=8) if solve_many is qp.solve_many else disks(k=8)), threads=2)
    for i, found in many.alone.items():
        assert np.array_equal(many.x[i], found.x) and many.gap[i] == found.gap


def test_sums_of_blas_are_those_of_one_thread(monkeypatch):
    monkeypatch.setattr(groups, "LANES_UP_TO", 3)
    monkeypatch.setattr(batch, "loop_for", lambda programs, settings: None)
    libraries, seen, solve = bundled_libraries(), [], batch.Engine.of_checked
    if not libraries:
        pytest.skip("no OpenBLAS was found whose threads can be set")
    before = [get() for get, _ in libraries]

    def watched(program, settings):
        seen.extend(get() for get, _ in libraries)
        return solve(program, settings)

    monkeypatch.setattr(batch.Engine, "of_checked", watched)
    try:
        for _, set_to in libraries:
            set_to(2)
        qp.solve_many(**data(k=6), threads=2)
        assert set(seen) == {1} and {get() for get, _ in libraries} == {2}
    finally:
        for (_, set_to), count in zip(libraries, before):
            set_to(count)


def test_threads_that_share_a_kernel_matrix_have_room_of_their_own():
    rng = np.random.default_rng(0)
    n = 300
    y, interval = rng.choice([-1.0, 1.0], n), sys.getswitchinterval()
    K = models.KernelMatrix(rng.normal(size=(n, 5)), "rbf", gamma=0.3, signs=y)
    costs = [-np.ones(n) * (1.0 + 0.1 * i) for i in range(8)]

    def solve(q):
        return models.KernelSolver(models.KernelProgram(K, q, A=y[None], l=0.0, u=0.0, lb=0.0, ub=1.0)).solve()

    alone, own = [solve(q) for q in costs], K.compiled()
    assert alone[0].plan.method == "working set" and K.compiled() is own
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            assert all(other is not own for other in pool.map(lambda _: K.compiled(), range(6)))
            together = list(pool.map(solve, 3 * costs))
    finally:
        sys.setswitchinterval(interval)
    for found, expected in zip(together, 3 * alone):
        assert found.status == "optimal" and np.array_equal(found.x, expected.x)


@pytest.mark.parametrize("m", [0, 15])
def test_warm_starts_of_a_shared_definite_p(m):
    """The factor of the working set that the program before leaves has no part in the answers."""
    rng, n, k = np.random.default_rng(2), 30, 20
    M = rng.normal(size=(n, n))
    P, q = M @ M.T / n + np.eye(n), 2.0 * rng.normal(size=(k, n))
    given = {"P": P, "A": rng.normal(size=(m, n)), "l": -np.ones(m), "u": np.ones(m), "lb": -0.5, "ub": 0.5}
    near = qp.solve_many(q=q, **given)
    q += 0.3 * rng.normal(size=q.shape)

    def solved(order):
        start = near.x[order], near.y[order], near.z_bounds[order]
        return qp.solve_many(q=q[order], **given, warm_start=start)

    first = solved(np.arange(k))
    assert (first.status == "optimal").all() and first.iterations.max() > 0
    for order in orders_of(k):
        many = solved(order)
        assert [bits(many, place) for place in range(len(order))] == [bits(first, i) for i in order]
