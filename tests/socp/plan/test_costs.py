"""Seconds by a table of costs, computed by hand, and the plans that follow a failed run, one by one."""

import itertools
from types import SimpleNamespace

import pytest

from socp.form.standard import LIMIT, WIDE
from socp.linalg.ldl.factorization import expected_times
from socp.linalg.ldl.symbolic.assembly_tree import ENTRY, FLOP, FRONT
from socp.plan.costs import Costs, correctors, dense_seconds, low_rank_seconds, method_seconds, sparse_seconds
from socp.plan.fallbacks import LARGE, fallbacks
from socp.plan.plan import Plan

TABLE = Costs(1e10, 4e9, 100, 7, 1e-5, 2e-5, 3e-9, 4e-5, 5, 1.0, 6e-6, 2e9, 200, 4.0)


def strips(n, nnz, flops):
    return 1e-9 * expected_times(n, nnz, flops)["strips"]


def test_the_seconds_of_an_iteration():
    assert dense_seconds(10, 3, TABLE) == pytest.approx((1000 / 3 + 300) / 1e10 + 3 * 8 * 16 * 10 / 4e9)
    assert low_rank_seconds(40, 80, TABLE) == pytest.approx(6400 * (40 + 80 / 3) / 1e10 + 48 * 80 * 80 / 4e9)
    for n, rows, entries, P_entries, in_L, flops in (
        (100, 50, 200, 300, 350, 400), (20, 10, 300, 0, 300, 4500), (30, 0, 0, 30, 15, 0),
        (10, 20, 45, 0, 95, 202.5 + 1000 / 3), (10, 20, 30, 0, 30, 45), (10, 20, 30, 100, 80, 90 + 1000 / 3),
        (10, 9, 90, 0, 90, 810), (3, 1, 2, 9, 6.5, 8 + 9),
    ):  # fmt: skip
        expected = 2e-5 + 3e-9 * in_L + strips(n + rows, in_L, flops)
        assert sparse_seconds(n, rows, entries, TABLE, P_entries=P_entries) == pytest.approx(expected), (n, rows)


def test_the_nanoseconds_of_panels_and_strips():
    assert expected_times(8, 100, 1e3)["panels"] == pytest.approx(FRONT * 2 + ENTRY * 100 + FLOP * 1e3)
    parts = [expected_times(*sizes)["strips"] for sizes in ((8, 0, 0), (0, 100, 0), (0, 0, 1e3), (8, 100, 1e3))]
    assert min(parts) > 0.0 and sum(parts[:3]) == pytest.approx(parts[3])


@pytest.mark.parametrize("n, m, P_entries, has_dual, has_proximal", [
    (10, 0, 99, True, True), (10, 1, 99, True, False), (10, 1, 100, True, True), (10, 10, 100, True, True),
    (10, 11, 100, False, False), (5, 12, 0, True, True), (4, 12, 0, True, True),
])  # fmt: skip
def test_the_seconds_of_methods(n, m, P_entries, has_dual, has_proximal):
    found = method_seconds(n, m, 20, P_entries, costs=TABLE)
    seen = TABLE._replace(analysis=0.4 * TABLE.analysis)
    one = min(dense_seconds(n, m, TABLE), sparse_seconds(n, m, 20, seen, P_entries=P_entries))
    steps = (1.5 * n**3 + m * n**2 + 20 * n * (n + m)) / 2e9
    assert found["active set"] == pytest.approx(4e-5 + 5 * 8 * n**2 / 4e9)
    assert found["interior point"] == pytest.approx(1e-5 + 7 * one)
    of_rank = method_seconds(n, m, 20, P_entries, 1, TABLE)["interior point"]
    assert of_rank == pytest.approx(1e-5 + 7 * min(one, low_rank_seconds(n, 1 + m, TABLE)))
    assert found.get("dual active set") == (pytest.approx(6e-6 + steps) if has_dual else None)
    proximal = 6e-6 + 4.0 * (1.0 + 2.0 * min(20 / n**2, 1.0)) * steps
    assert found.get("proximal steps") == (pytest.approx(proximal) if has_proximal else None)


@pytest.mark.parametrize("solved", [1, 2, 8])
def test_the_seconds_of_methods_that_go_on(solved):
    """The interior-point method's set-up is done; the dual active set's is divided by the number of solves."""
    n, m, P_entries = 20, 1, 30
    found = method_seconds(n, m, 20, P_entries, None, TABLE, solved)
    seen = TABLE._replace(analysis=0.0)
    one = min(dense_seconds(n, m, TABLE), sparse_seconds(n, m, 20, seen, P_entries=P_entries))
    steps = ((1.5 * n**3 + m * n**2) / solved + 20 * n * (n + m)) / 2e9
    assert found["interior point"] == pytest.approx(0.5e-5 + 7 * one)
    assert found["dual active set"] == pytest.approx(6e-6 + steps)
    assert found["proximal steps"] == pytest.approx(6e-6 + 4.0 * (1.0 + 2.0 * 20 / n**2) * steps)
    size = TABLE.dual_size
    for rows, has_dual in ((100 * size // 10 - 10, True), (100 * size // 10 - 9, False)):
        assert ("dual active set" in method_seconds(10, rows, 0, 10, None, TABLE, solved)) == has_dual


def test_correctors_pay_from_so_many_solves_on():
    for entries, solve in ((1000.0, 4e-6), (0.0, 4e-9)):
        flops = [1e10 * solve * (solves + edge) for solves in (5.0, 10.0, 20.0) for edge in (-0.1, 0.1)]
        assert [correctors(each, entries, TABLE) for each in flops] == [0, 1, 1, 2, 2, 3]


CASES = [
    ("dense", "sparse"), *2 * [(True, False)], (0, 3), (0, 2), (0, 5), (10, LARGE - 4, LARGE, LARGE + 1), (0, 1),
]  # fmt: skip


@pytest.mark.parametrize("step, refinements", [(0.99, 10), (0.8, 0)])
def test_the_plans_that_follow(step, refinements):
    for backend, is_free, equilibrate, p, cones, iterations, n, cut in itertools.product(*CASES):
        given = {"refinement_steps": refinements, "equilibrate": equilibrate, "step_fraction": step}
        plan = Plan(backend, "so", is_free, limit=WIDE if cut else LIMIT, **given)
        form = SimpleNamespace(n=n, p=p, m=1, cones=cones)
        proximal = {"regularization": 1e-6, "refinement_steps": min(refinements, 1)}
        sparse = {"backend": "sparse", "reason": "dense Cholesky broke down", "seconds": {}}
        robust = sparse if is_free and backend == "dense" and n <= LARGE else {}
        short, precise, plain = {"step_fraction": min(step, 0.9)}, {"precise": True}, robust | {"equilibrate": False}
        expected = [proximal] * (p > 0 and iterations > 0) + [precise] * (cones > 0 and iterations > 0)
        expected += [robust | precise, robust] if robust else []
        if iterations and n + p + 1 <= LARGE:
            expected += [short, robust | short | precise, *[proximal] * (p == 0)]
            if equilibrate:
                expected += [robust | {"limit": LIMIT}] * cut + [plain | short, plain]
                last = {"equilibrate": False, "backend": robust.get("backend", backend), "seconds": {}}
                expected += [proximal | last] * (p > 0)
        assert list(fallbacks(plan, form, iterations)) == [plan._replace(**each) for each in expected]
