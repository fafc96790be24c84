"""Every reference solver's adapter: its answers verify in the signs of the project."""

import dataclasses
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from bench import peers
from bench.answers.verify import verify
from bench.peers.forms import _root, one_sided, two_sided, with_linear_objective
from bench.peers.peer import PEERS, peer_settings
from bench.programs import generate
from bench.programs.catalogue import multiplied_out

CONE_PEERS = ("clarabel", "ecos", "cvxopt", "scs", "qoco")
QUADRATIC_PEERS = ("clarabel", "ecos", "cvxopt", "scs", "qoco", "qtqp", "piqp", "osqp", "qpalm", "proxsuite", "highspy")

WITHOUT_TOLERANCE: tuple[str, ...] = ()  # solvers that end exactly, as dual active sets do


def needs(solver):
    if not peers.is_installed(solver):
        pytest.skip(f"{solver} is not installed")


def mixed_cone_program(P=None):
    """Return a program with cones in mixed order, some of dimension 0 or 1, a row that always holds; its solution."""
    rng = np.random.default_rng(0)
    n = 6
    cones = [socp.SecondOrder(4), socp.NonNeg(3), socp.SecondOrder(1), socp.NonNeg(0), socp.NonNeg(2)]
    cones += [socp.SecondOrder(5), socp.SecondOrder(0)]
    A, G, x, y = rng.normal(size=(2, n)), rng.normal(size=(15, n)), rng.normal(size=n), rng.normal(size=2)
    #  complementary pairs: on the boundary opposite, inside against zero
    edge = np.array([5.0, 3.0, 0.0, 4.0])
    s = np.concatenate([edge, [1.0, 0.0, 2.0], [0.0], [np.inf, 1.0], [3.0, 0.0, 1.0, 0.0, 0.0]])
    z = np.concatenate([edge * [1, -1, -1, -1], [0.0, 1.5, 0.0], [2.0], [0.0, 0.0], np.zeros(5)])
    Px = 0.0 if P is None else P @ x
    return socp.ConeProgram(c=-(Px + A.T @ y + G.T @ z), G=G, h=G @ x + s, cones=cones, A=A, b=A @ x, P=P), x, y, z


def mixed_quadratic_program(P):
    """Return a program with equality, range, one-sided and free rows, fixed, boxed and free variables; its solution."""
    rng = np.random.default_rng(1)
    n, inf = 8, np.inf
    A, x = rng.normal(size=(6, n)), rng.normal(size=n)
    y = np.array([0.7, 0.5, -0.5, 0.0, 0.0, 0.3])
    z = np.array([0.2, -0.4, 0.0, 0.0, 1.1, 0.0, 0.0, -0.6])
    below = np.array([0.0, 1.0, 0.0, inf, inf, 1.0])
    above = np.array([0.0, 0.0, inf, 1.0, inf, 0.0])
    left = np.array([1.0, 0.0, 1.0, 0.5, 0.0, inf, 2.0, 0.0])
    right = np.array([0.0, 1.0, inf, 0.5, 0.0, inf, 2.0, inf])
    q = -(P @ x + A.T @ y + z)
    return qp.QuadraticProgram(P, q, A, A @ x - below, A @ x + above, x - left, x + right, offset=3.0), x, y, z


def hessians():
    F = np.random.default_rng(2).normal(size=(8, 3))
    return {
        "dense": F @ F.T + 0.1 * np.eye(8),
        "sparse": sp.diags_array(np.arange(1.0, 9.0)),
        "low rank": qp.LowRank(F, 0.1),
        "not so low rank": qp.LowRank(np.hstack([F, 2 * F]), 0.1),
    }


def test_the_programs_of_this_file_have_the_solutions_they_were_built_around():
    for P in (None, np.diag([1.0, 0, 2, 0, 3, 0]), socp.LowRank(np.ones((6, 2)), 1.0)):
        program, x, y, z = mixed_cone_program(P)
        assert verify(program, x, y, z).worst <= 1e-14
    for P in hessians().values():
        program, x, y, z = mixed_quadratic_program(P)
        assert verify(program, x, y, z).worst <= 1e-14


def programs():
    """Return {name: (a program, its solution or Nones, the tolerance for ECOS, the peers that cannot solve it)}.

    ECOS takes an objective as a cone; at its boundary an error of 1e-8 in the objective is one of 1e-4 in x.
    """
    F = np.array([[4.0, -1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]])
    A = [[1.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, -2.0], [0.0, 1.0, 0.0, 0.0, -1.0]]
    tall, (linear, *known) = np.random.default_rng(0).normal(size=(8, 3)), mixed_quadratic_program(np.zeros((8, 8)))
    linear.P = None
    equalities = qp.QuadraticProgram(sp.csc_array(2.0 * F.T @ F), [0.0, -4.0, -4.0, -2.0, -2.0], A, 0.0, 0.0)
    found = {"cones": (*mixed_cone_program(), 1e-6, ())}
    for name, P in {"diagonal": np.diag([1.0, 0, 2, 0, 3, 0]), "low rank": socp.LowRank(np.ones((6, 2)), 1.0)}.items():
        found[f"cones, {name} P"] = (*mixed_cone_program(P), 1e-3, ())
    return found | {f"{kind} P": (*mixed_quadratic_program(P), 1e-3, ()) for kind, P in hessians().items()} | {
        "linear": (linear, *known, 1e-6, ("osqp",)),  # it does not reach this vertex in a million iterations
        "equalities, singular P": (equalities, None, None, None, 1e-6, ("qtqp",)),  # it needs an inequality
        "a box, singular P": (qp.QuadraticProgram(tall @ tall.T, -np.ones(8), lb=0.0, ub=5.0), *3 * (None,), 1e-5, ()),
    }  # fmt: skip


PROGRAMS = programs()
ASKED = [
    (name, solver)
    for name, (program, *_, without) in PROGRAMS.items()
    for solver in (CONE_PEERS if isinstance(program, socp.ConeProgram) else QUADRATIC_PEERS)
    if solver not in without and solver in peers.peers_for(program)
]


@pytest.mark.parametrize("name, solver", ASKED)
def test_answers_verify_in_the_signs_of_the_project(name, solver):
    needs(solver)
    program, x, y, z, rough, _ = PROGRAMS[name]
    answer = peers.solve(solver, program, tol=1e-8)
    assert answer.note == "" and answer.iterations >= (x is not None) and answer.seconds > 0.0
    # the tolerance is sometimes too small for ecos, which then reports it
    assert answer.status == "optimal" or (solver == "ecos" and rough > 1e-6 and answer.status == "inaccurate")
    found = verify(program, answer.x, answer.y, answer.z)
    assert found.solved(rough if solver == "ecos" else 1e-6)
    if x is not None:
        assert found.objective == pytest.approx(verify(program, x, y, z).objective, rel=1e-6)


UNSOLVABLE = {  # the kind: an infeasible program, an unbounded one, the peers with certificates
    "conic": (generate.infeasible(8, 0), generate.unbounded(8, 0), ("clarabel", "ecos", "cvxopt", "scs")),
    "linear": (
        qp.QuadraticProgram(None, [1.0, 1.0], [[1.0, 1.0], [1.0, 0.0]], [3.0, 1.0], [4.0, 1.0], 0.0, 1.2),
        qp.QuadraticProgram(None, [1.0, -1.0], [[1.0, 1.0]], [3.0], None, 0.0, None),
        ("clarabel", "qtqp", "osqp", "highspy", "cvxopt"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind, solver", [(kind, solver) for kind in UNSOLVABLE for solver in UNSOLVABLE[kind][2]])
def test_certificates(kind, solver):
    needs(solver)
    for program, status in zip(UNSOLVABLE[kind], ("primal_infeasible", "dual_infeasible")):
        answer = peers.solve(solver, program)
        assert answer.status == status
        assert getattr(verify(program, answer.x, answer.y, answer.z), status) <= 1e-6


def test_a_false_optimal_of_a_peer_is_caught():
    needs("qoco")  # it has no certificates, and reports this unbounded program as solved
    program = socp.ConeProgram(c=[-1.0, 0.0], G=-np.eye(2), h=[0.0, 0.0], cones=[socp.SecondOrder(2)])
    answer = peers.solve("qoco", program)
    assert not verify(program, answer.x, answer.y, answer.z).solved(1e-3)


def test_a_peer_that_raises_has_failed_and_says_why():
    needs("qtqp")
    answer = peers.solve("qtqp", qp.QuadraticProgram(np.eye(2), [1.0, -1.0]))
    assert answer.status == "numerical_error"
    assert "constraints" in answer.note and answer.x is None
    assert answer.iterations == 0 and answer.seconds == 0.0


def test_peers_are_chosen_by_the_kind_of_program_and_unknown_ones_are_not_installed():
    assert set(peers.peers_for(generate.enclosing_ball(2))) == set(CONE_PEERS)
    assert set(peers.peers_for(generate.portfolio(2))) == set(QUADRATIC_PEERS)
    assert not peers.is_installed("a_solver_that_does_not_exist")
    with pytest.raises(
        ValueError, match=f"no solver 'osqp' takes this program; these do: centralpath, {CONE_PEERS[0]}"
    ):
        peers.solve("osqp", generate.enclosing_ball(2))


def test_the_engine_is_asked_like_a_peer():
    program = generate.enclosing_ball(2)
    found = peers.solve("centralpath", program, 1e-7, time_limit=60.0)
    assert found.solver == "centralpath" and verify(program, found.x, found.y, found.z).solved(1e-6)


@pytest.mark.parametrize("solver", sorted({*CONE_PEERS, *QUADRATIC_PEERS}))
def test_every_peer_gets_the_same_tolerance(solver):
    settings, tight = peer_settings(solver, 1e-7, time_limit=3.0, threads=2), peer_settings(solver, 1e-13)
    peer = PEERS[solver]
    assert peer.tolerances or solver in WITHOUT_TOLERANCE
    assert {settings[name] for name in peer.tolerances} <= {1e-7}
    assert all(tight[name] == max(1e-13, least) for name, least in peer.tolerances.items())
    assert all(least <= 1e-10 for least in peer.tolerances.values())
    for found, limit, threads in ((settings, 3.0, 2), (tight, 1e6, 1)):
        assert not peer.time_limit or found[peer.time_limit] == limit
        assert not peer.threads or found[peer.threads] == threads
    named = {name for name in settings if "tol" in name or "eps" in name or "time_limit" in name or "threads" in name}
    assert named <= {*peer.tolerances, peer.time_limit, peer.threads}, "a limit is fixed that should be declared"


def test_a_solver_that_needs_a_definite_hessian_gets_no_other(monkeypatch):
    monkeypatch.setitem(PEERS, "strict", dataclasses.replace(PEERS["osqp"], name="strict", is_definite=True))
    for P, takes in ((np.eye(2), True), (np.ones((2, 2)), False), (None, False), (sp.eye_array(2), True)):
        program = qp.QuadraticProgram(P, [1.0, 1.0], lb=0.0)
        assert ("strict" in peers.peers_for(program)) == takes
    definite = qp.QuadraticProgram(qp.LowRank(np.ones((2, 1)), 1.0), [1.0, 1.0], lb=0.0)
    assert "strict" in peers.peers_for(definite) and "strict" in peers.names()
    for P in (qp.LowRank(np.eye(2), 0.0), qp.LowRank(np.ones((4, 1)), [1.0, 1.0, 1.0, 0.0])):
        assert "strict" not in peers.peers_for(qp.QuadraticProgram(P, np.ones(len(P.d)), lb=0.0))


@pytest.mark.parametrize("rank", range(5))
def test_a_low_rank_hessian_of_few_columns_has_variables_of_its_own(rank):
    F, x = np.random.default_rng(rank).normal(size=(6, rank)), np.arange(6.0)
    program = qp.QuadraticProgram(socp.LowRank(F, np.ones(6)), -np.ones(6), np.eye(2, 6), 0.0, 1.0)
    form = one_sided(program)
    lifted = np.concatenate([x, F.T @ x])[: form.c.size]
    assert form.c.size == (6 + rank if rank < 3 else 6)
    assert 0.5 * lifted @ form.P @ lifted + form.c @ lifted == pytest.approx(0.5 * x @ (program.P @ x) - x.sum())


def test_forms_keep_the_solution():
    """Check that a solution, carried into each form by hand, is a solution there and comes back unchanged."""
    program, x, y, z = mixed_cone_program(np.diag([1.0, 0, 2, 0, 3, 0]))
    form = one_sided(program)
    assert form.nonneg == 5 and form.second_order == [4, 5]
    again = form.recover(x, y, np.concatenate([z[4:7], z[7:8], z[9:10], z[:4], z[10:]]))
    for part, expected in zip(again, (x, y, z)):
        assert np.array_equal(part, expected)
    pairs = one_sided(socp.ConeProgram([1.0], np.ones((3, 1)), np.ones(3), [socp.SecondOrder(2), socp.SecondOrder(1)]))
    assert (pairs.nonneg, pairs.second_order) == (1, [2])
    assert _root(form.P).toarray().tolist() == np.sqrt(form.P.toarray()[[0, 2, 4]]).tolist()  # a diagonal P
    F = np.random.default_rng(3).normal(size=(6, 2)) * (np.arange(6) != 1)[:, None]
    for P in (F @ F.T, 1e9 * F @ F.T, 1e-9 * F @ F.T, F @ F.T + np.eye(6), np.ones((6, 6))):
        root = _root(sp.csc_matrix(P)).toarray()
        assert root.shape == (np.linalg.matrix_rank(P, hermitian=True), 6)
        np.testing.assert_allclose(root.T @ root, P, rtol=0, atol=1e-12 * P.max())
    flat = with_linear_objective(one_sided(mixed_cone_program(np.zeros((6, 6)))[0]))  # t + 1/2 and t - 1/2 alone
    assert flat.G[-2:].toarray().tolist() == 2 * [[*6 * [0.0], -1.0]] and flat.h[-2:].tolist() == [0.5, -0.5]
    assert flat.second_order[-1] == 2 and flat.G.shape == (flat.h.size, 7)
    linear = with_linear_objective(form)
    point = np.append(x, 0.5 * x @ (program.P @ x))
    slack = linear.h - linear.G @ point
    assert slack[: form.nonneg].min() >= -1e-14
    np.testing.assert_allclose(slack[-5:-3], point[-1] + np.array([0.5, -0.5]), rtol=1e-14)
    assert linear.second_order == [4, 5, 5] and linear.c.tolist() == [*form.c, 1.0] and linear.P is None
    np.testing.assert_array_equal(linear.recover(point, y, np.arange(20.0))[2], form.recover(x, y, np.arange(14.0))[2])
    assert linear.recover(None, None, None) == (None, None, None)
    assert slack[-5] ** 2 - np.sum(slack[-4:] ** 2) == pytest.approx(0.0, abs=1e-12)  # t + 1/2, t - 1/2, three of R x


@pytest.mark.parametrize("solver", QUADRATIC_PEERS)
def test_vectors_that_say_their_byte_order_are_taken(solver):  # such vectors come from .mat files
    needs(solver)
    program = mixed_quadratic_program(hessians()["dense"])[0]
    for name in ("q", "l", "u", "lb", "ub"):
        vector = np.frombuffer(getattr(program, name).tobytes(), dtype=np.dtype(float).newbyteorder(sys.byteorder))
        assert memoryview(vector).format in ("<d", ">d")
        setattr(program, name, vector)
    assert peers.solve(solver, program).note == ""


def test_two_sided_form_keeps_equalities_apart():
    program, x, y, z = mixed_quadratic_program(hessians()["sparse"])
    form = two_sided(program)
    assert form.b.size == 2  # one equality, one fixed variable
    assert form.l.size == 4  # the free row is left out
    assert np.abs(form.A @ x - form.b).max() <= 1e-14
    assert (form.lb[4], form.ub[4]) == (-np.inf, np.inf)
    again = form.recover(x, np.array([y[0], z[4]]), y[[1, 2, 3, 5]], np.where(np.arange(8) == 4, 0.0, z))
    for part, expected in zip(again, (x, y, z)):
        assert np.array_equal(part, expected)


@pytest.mark.parametrize("form", ["factored", "product"])
def test_libsvm_answers_at_a_verified_gap(form, monkeypatch):
    needs("libsvm")
    program = generate.svm_dual_linear(60)
    if form == "product":
        program = multiplied_out(program)
    answer = peers.solve("libsvm", program)
    assert answer.status == "optimal" and answer.note == "" and answer.setup_seconds == 0.0 < answer.seconds < 60.0
    found = verify(program, answer.x, answer.y, answer.z)
    assert found.solved(1e-6) and found.primal_cone == 0.0 and answer.iterations > 10
    assert found.objective == pytest.approx(qp.solve(program).objective, rel=1e-6)
    late = peers.solve("libsvm", program, time_limit=-1.0)  # one run, with the loosest tolerance
    assert late.status == "time_limit" and not verify(program, late.x, late.y, late.z).solved(1e-6)
    assert late.iterations < answer.iterations
    monkeypatch.setattr(peers.svm, "GAP", 0.0)
    assert peers.solve("libsvm", program).status == "inaccurate"


def test_libsvm_takes_no_other_program():
    dual = generate.svm_dual_rbf(10)
    given = {name: getattr(dual, name) for name in ("P", "q", "A", "l", "u", "lb", "ub")}
    assert peers.svm.is_svm_dual(qp.QuadraticProgram(**given)) and "libsvm" in peers.peers_for(dual)
    one = np.arange(10) == 3
    for name, value in (
        ("l", -1.0), ("u", 1.0), ("A", dual.A * (1.0 + one)), ("q", dual.q * (1.0 + one)), ("lb", -1.0 * one),
        ("ub", np.inf), ("ub", dual.ub + one), ("P", None), ("P", qp.LowRank(np.ones((10, 1)), 1.0)),
    ):  # fmt: skip
        program = qp.QuadraticProgram(**{**given, name: value})
        assert not peers.svm.is_svm_dual(program) and "libsvm" not in peers.peers_for(program), name
    both = {"A": np.vstack([np.ones(10), dual.A.toarray()]), "l": np.zeros(2), "u": np.zeros(2)}
    assert not peers.svm.is_svm_dual(qp.QuadraticProgram(**{**given, **both}))
    for program in (generate.portfolio(5), generate.enclosing_ball(3)):
        assert "libsvm" not in peers.peers_for(program)
    with pytest.raises(ValueError, match="only the dual"):
        peers.svm.libsvm(generate.portfolio(5), {})


@pytest.mark.parametrize("name", QUADRATIC_PEERS)
def test_a_peer_prints_nothing(name, capfd):
    """Banners of compiled code would stand between the rows of a table."""
    if not peers.is_installed(name):
        pytest.skip(f"{name} is not installed")
    peers.solve(name, qp.QuadraticProgram(np.eye(2), [-1.0, -1.0], [[1.0, 1.0]], 0.0, 1.0, lb=0.0))
    assert capfd.readouterr() == ("", "")
