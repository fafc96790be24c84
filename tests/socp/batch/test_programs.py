"""Many cone programs at once: as each by itself, in any number of threads; input that is refused."""

import pickle

import numpy as np
import pytest

import socp
from socp.batch import cone_groups, groups
from socp.batch.checks import ConePrograms
from socp.batch.solutions import Solutions


def disks(k=6, n=5, own=False, seed=0):
    """Return programs that minimize 1/2 |x|^2 + c'x over a ball, or an ellipsoid, and lower bounds."""
    rng = np.random.default_rng(seed)
    one, shape = np.eye(n), (k,) if own else ()
    F = one + 0.1 * rng.normal(size=(*shape, n, n))
    bounds = np.broadcast_to(-one, (*shape, n, n))
    G = np.concatenate([bounds, np.zeros((*shape, 1, n)), -F], axis=-2)
    h = np.concatenate([np.full(n, 0.3), [1.0], np.zeros(n)])
    return {"c": rng.normal(size=(k, n)), "P": one, "G": G, "h": h, "cones": [socp.NonNeg(n), socp.SecondOrder(n + 1)]}


def test_what_a_failing_program_leaves_in_its_lane_is_not_read():
    """The cones have two variables each; entries outside of their blocks are not reset for the next program."""
    rng, n, k = np.random.default_rng(3), 8, 64
    G = np.zeros((12, n))
    for cone in range(4):
        G[3 * cone + 1 : 3 * cone + 3, 2 * cone : 2 * cone + 2] = -np.eye(2)
    c, h = rng.normal(size=(k, n)), np.tile([1.0, 0.0, 0.0] * 4, (k, 1))
    given = {"G": G, "cones": [socp.SecondOrder(3)] * 4, "P": np.eye(n)}
    good = socp.solve_many(c=c, h=h, **given)
    c2 = c.copy()
    c2[:8] *= 1e120
    mixture = socp.solve_many(c=c2, h=h, **given)
    assert not good.alone and not set(mixture.alone) - set(range(8))
    assert np.array_equal(good.x[8:], mixture.x[8:])


def test_a_time_limit_is_that_of_programs_alone_too(monkeypatch):
    monkeypatch.setattr(groups, "LANES_UP_TO", 0)
    for limit, status in ((1e3, "optimal"), (1e-9, "time_limit")):
        assert (socp.solve_many(**disks(k=3), time_limit=limit).status == status).all()


def test_a_matrix_that_is_not_semidefinite_is_refused():
    P = np.array([np.eye(2), [[1.0, 0.0], [0.0, -1.0]]])
    with pytest.raises(socp.ProgramError, match="program 1: P"):
        socp.solve_many(c=np.ones((2, 2)), P=P)


def test_certificates_beside_a_cone_without_entries():
    given = {"G": np.eye(2)[[0, 0]] * [[1.0], [-1.0]], "cones": [socp.NonNeg(2), socp.SecondOrder(0)]}
    c, h = [[0.0, 0.0], [0.0, -1.0]], [[-2.0, 1.0], [1.0, 1.0]]
    many = socp.solve_many(c=c, h=h, **given)
    assert list(many.status) == ["primal_infeasible", "dual_infeasible"]
    assert socp.solve(c=c[0], h=h[0], **given).status == "primal_infeasible"


BAD = [
    ({"c": [[1.0, np.nan], [1.0, 1.0]]}, r"c must be finite, but c\[0, 1\] is nan"),
    ({"h": [[1.0], [np.nan]]}, r"h\[1, 0\] is nan"),
    ({"h": [-np.inf]}, r"h\[0\] is -inf"),
    ({"A": [[1.0, 1.0]], "b": [[1.0], [np.inf]]}, r"b must be finite, but b\[1, 0\] is inf"),
    ({"h": np.ones((3, 1))}, "leading axes must agree, but they are 2 of c, 3 of h"),
    ({"c": [1.0, 1.0]}, "no argument has a leading axis"),
    ({"h": [[1.0], [np.inf]], "cones": [socp.SecondOrder(1)]}, r"h\[1, 0\] \(cones\[0\]\) is inf"),
    ({"P": [np.eye(2), [[1.0, 0.5], [0.0, 1.0]]]}, r"P\[1\] must be symmetric, but P\[1\]\[0, 1\]"),
    ({"G": np.ones((2, 1, 3))}, r"G must have shape \(any, 2\) \(2 variables in c\), but \(2, 1, 3\) came"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_refused_by_name(given, message):
    good = {"c": np.ones((2, 2)), "G": np.ones((1, 2)), "h": [1.0], "cones": [socp.NonNeg(1)]}
    with pytest.raises(socp.ProgramError, match=message):
        socp.solve_many(**{**good, **given})


def test_fields_that_nothing_was_written_into_are_nan():
    many = pickle.loads(pickle.dumps(Solutions(3, x=2, y=0, z=4, s=4)))
    assert many.x.shape == (3, 2) and many.y.shape == (3, 0) and many.gap.shape == (3,)
    assert np.isnan(many.z).all() and np.isnan(many.objective).all() and many.x is many.x
    with pytest.raises(AttributeError, match="has no attribute 'lam'"):
        many.lam  # noqa: B018


@pytest.mark.parametrize(("k", "threads"), [(1, 2), (63, 1), (200, 2), (5000, 1), (5000, 2), (5000, 5)])
def test_threads_share_what_is_left(k, threads):
    given = disks(k=k)
    program = ConePrograms(**{name: given.get(name) for name in ("c", "G", "h", "cones", "A", "b", "P")})
    (group,) = cone_groups.groups_of(program, socp.Settings(threads=threads))
    sizes = [end - begin for begin, end in group.tasks()]
    assert [begin for begin, _ in group.tasks()] == list(np.cumsum([0, *sizes[:-1]])) and sum(sizes) == k
    assert sizes == sorted(sizes, reverse=True) and sizes[0] <= max(64, k / (2 * threads if threads > 1 else 1))
    assert k < 1000 or sizes[-1] <= 64 or threads == 1  # all threads end at about the same time
