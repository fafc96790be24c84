"""`conelp` and `coneqp` return CVXOPT's results in its signs, compared with CVXOPT if it is installed."""

import inspect
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp.interop import conelp, coneqp, solvers
from tests.support.shaped_programs import INFEASIBLE, UNBOUNDED, check_conditions, cone_program, depth

SHARP = {"show_progress": False, "abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}


@pytest.fixture
def cvxopt():
    pytest.importorskip("cvxopt.solvers", reason="no wheel of CVXOPT for this Python")
    return pytest.importorskip("cvxopt")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("quadratic", [False, True])
def test_an_answer_meets_the_conditions_of_cvxopt(seed, quadratic):
    P = np.diag(np.arange(5.0)) if quadratic else None
    c, _, h, _, _, b = program = cone_program(seed, P)
    answer = coneqp(P, *program, options=SHARP) if quadratic else conelp(*program, options=SHARP)
    assert answer["status"] == "optimal"
    check_conditions(*program, answer, P)
    half = 0.5 * answer["x"] @ P @ answer["x"] if quadratic else 0.0
    assert answer["primal objective"] == pytest.approx(half + c @ answer["x"], rel=1e-9, abs=1e-9)
    dual = -half - b @ answer["y"] - h @ answer["z"]
    assert answer["dual objective"] == pytest.approx(dual, rel=1e-9, abs=1e-9)
    assert answer["gap"] == answer["s"] @ answer["z"]
    for name, part in (("primal slack", "s"), ("dual slack", "z")):
        assert answer[name] == pytest.approx(depth(answer[part]), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("name", ["lp", "qp", "socp", "conelp", "coneqp"])
def test_arguments_come_in_the_order_of_cvxopt_with_its_defaults(cvxopt, name):
    theirs = inspect.signature(getattr(cvxopt.solvers, name)).parameters.values()
    *ours, options = inspect.signature(getattr(solvers, name)).parameters.values()
    assert options.name == "options"
    pairs = list(zip(theirs, ours))
    assert [(one.name, one.default) for one, _ in pairs] == [(other.name, other.default) for _, other in pairs]


def test_a_call_with_an_argument_too_few_or_unknown_is_refused():
    with pytest.raises(TypeError, match="'G'"):
        solvers.lp([1.0])
    with pytest.raises(TypeError, match="'x0'"):
        solvers.lp([1.0], [[1.0]], [1.0], x0=[1.0])


def test_certificates_have_the_signs_of_cvxopt():
    infeasible, unbounded = (conelp([1.0], G, h, options=SHARP) for G, h in (INFEASIBLE, UNBOUNDED))
    assert infeasible["status"] == "primal infeasible" and infeasible["dual objective"] == 1.0
    assert infeasible["x"] is infeasible["s"] is infeasible["primal objective"] is None
    np.testing.assert_allclose(infeasible["z"], [0.5, 0.5], atol=1e-6)  # G'z = 0, h'z = -1
    assert unbounded["status"] == "dual infeasible" and unbounded["primal objective"] == -1.0
    assert unbounded["y"] is unbounded["z"] is unbounded["dual objective"] is None
    np.testing.assert_allclose(unbounded["x"], [-1.0], atol=1e-6)


def test_what_does_not_fit_is_refused():
    c, G, h, dims, A, b = cone_program(0)
    with pytest.raises(socp.ProgramError, match="dims\\['s'\\] must be empty"):
        conelp(c, G, h, {**dims, "s": [2]}, A, b)
    with pytest.raises(socp.ProgramError, match="'sdp'"):
        conelp(c, G, h, {**dims, "sdp": [2]}, A, b)
    for kktsolver in (lambda W: None, "bogus", 3):
        with pytest.raises(socp.ProgramError, match="kktsolver must be None or one of ldl, ldl2, qr, chol, chol2, but"):
            coneqp(np.eye(5), c, G, h, dims, A, b, kktsolver=kktsolver)
    assert conelp(c, G, h, dims, A, b, kktsolver="qr")["status"] == "optimal"
    for call in (solvers.lp, solvers.qp, solvers.socp):
        with pytest.raises(socp.ProgramError, match=r"solver must be None, .* but 'glpk' came"):
            call([1.0], [[-1.0]], [0.0], solver="glpk")
    with pytest.raises(socp.ProgramError, match="come in pairs"):
        solvers.socp([1.0], Gq=[[[1.0]]])
    with pytest.raises(socp.ProgramError, match=r"hq\[1\] must have 1 entries"):
        solvers.socp([1.0], Gq=[[[1.0]]] * 2, hq=[[1.0], [1.0, 2.0]])
    with pytest.raises(socp.ProgramError, match="P must have shape"):
        coneqp(np.ones((5, 4)), c, G, h, dims, A, b)


def test_of_options_the_unknown_are_passed_over_and_the_wrong_refused(capsys):
    program = cone_program(0)
    theirs = {"glpk": {"msg_lev": "GLP_MSG_OFF"}, "mosek": {}, "refinement": 1, "kktreg": 1e-9, "msg_lev": 0, "dsdp": 3}
    assert conelp(*program, options=theirs)["status"] == "optimal"
    assert (
        conelp(*program, options={"abstol": -1.0, "reltol": 0, "feastol": 1e-7, "tol_abs": 1e-3})["status"] == "optimal"
    )
    assert conelp(*program, options={"maxiters": 1})["status"] == "unknown"
    for name, value in (("maxiters", "many"), ("feastol", -1.0), ("abstol", "small"), ("kkt", "qr")):
        with pytest.raises(socp.ProgramError, match=f"^{name} must be "):
            conelp(*program, options={name: value})
    assert not capsys.readouterr().out


def test_options_of_the_module_hold_where_none_come(monkeypatch):
    monkeypatch.setitem(solvers.options, "maxiters", 1)
    assert conelp(*cone_program(0))["status"] == "unknown"
    assert conelp(*cone_program(0), options={})["status"] == "optimal"


@pytest.mark.parametrize("form", [np.asarray, sp.csc_array, sp.coo_matrix])
@pytest.mark.parametrize("upper", [0.0, 7.0])
def test_of_P_the_lower_triangle_counts(form, upper):
    root = np.random.default_rng(2).normal(size=(5, 5))
    P = root @ root.T
    lower = form(np.tril(P) + upper * np.triu(P, 1))
    program = cone_program(1)
    np.testing.assert_allclose(
        coneqp(lower, *program, options=SHARP)["x"], coneqp(P, *program, options=SHARP)["x"], rtol=1e-12, atol=1e-12
    )


def test_the_other_solvers_are_the_same_programs():
    c, G, h, dims, A, b = cone_program(2)
    linear, (first, *_) = dims["l"], dims["q"]
    whole = conelp(c, G, h, dims, A, b, options=SHARP)
    ends = np.cumsum([linear, *dims["q"]])
    parts = [slice(i, j) for i, j in pairwise(ends)]
    answer = solvers.socp(
        c, G[:linear], h[:linear], [G[rows] for rows in parts], [h[rows] for rows in parts], A, b, options=SHARP
    )
    assert answer["status"] == "optimal" and not {"s", "z"} & set(answer) and answer["sq"][0].size == first
    for name in "sz":
        pieces = np.concatenate([answer[f"{name}l"], *answer[f"{name}q"]])
        np.testing.assert_allclose(pieces, whole[name], rtol=1e-9, atol=1e-9)
    box, sides = np.vstack([np.eye(5), -np.eye(5)]), np.ones(10)
    dual = {"l": 10, "q": []}
    for ours, theirs in (
        (solvers.lp(c, box, sides, A, 0 * b, options=SHARP), conelp(c, box, sides, dual, A, 0 * b, options=SHARP)),
        (
            solvers.qp(np.eye(5), c, box, sides, A, 0 * b, options=SHARP),
            coneqp(np.eye(5), c, box, sides, dual, A, 0 * b, options=SHARP),
        ),
    ):
        assert ours["status"] == "optimal" and ours["primal objective"] == theirs["primal objective"]
    infeasible = solvers.socp([1.0], *INFEASIBLE, options=SHARP)
    assert infeasible["status"] == "primal infeasible" and infeasible["sl"] is infeasible["sq"] is None
    np.testing.assert_allclose(infeasible["zl"], [0.5, 0.5], atol=1e-6)


# ---- compared with CVXOPT


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("quadratic", [False, True])
def test_a_script_for_cvxopt(seed, quadratic, cvxopt):
    c, G, h, dims, A, b = cone_program(seed)
    matrix = cvxopt.matrix
    arguments = (matrix(c), matrix(G), matrix(h), {**dims, "s": []}, matrix(A), matrix(b))
    if quadratic:
        P = matrix(np.diag(np.arange(5.0)))
        theirs = cvxopt.solvers.coneqp(P, *arguments, options=SHARP)
        ours = coneqp(P, *arguments, options=SHARP)
    else:
        theirs = cvxopt.solvers.conelp(*arguments, options=SHARP)
        ours = conelp(*arguments, options=SHARP)
    assert ours["status"] == theirs["status"] == "optimal"
    assert ours["primal objective"] == pytest.approx(theirs["primal objective"], rel=1e-7)
    root = 10.0 * np.sqrt(1e-9)  # a gap of 1e-9 allows errors of sqrt(1e-9) in each of the two points
    for name in "xyzs":
        assert isinstance(ours[name], matrix)
        assert ours[name].size == theirs[name].size
        np.testing.assert_allclose(np.array(ours[name]), np.array(theirs[name]), rtol=root, atol=root)
    assert set(theirs) <= set(ours)


def test_a_support_vector_machine_written_for_cvxopt(cvxopt):
    """Run a typical script for CVXOPT's `qp`: the dual of an SVM, with `spmatrix` and `spdiag`."""
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(20, 2)) + np.repeat([[1.0], [-1.0]], 10, axis=0)
    labels = np.repeat([1.0, -1.0], 10)
    signed = labels[:, None] * samples
    P, q = cvxopt.matrix(signed @ signed.T), cvxopt.matrix(-np.ones(20))
    unit = cvxopt.spmatrix(1.0, range(20), range(20))
    G, h = cvxopt.sparse([-unit, unit]), cvxopt.matrix(np.concatenate([np.zeros(20), np.ones(20)]))
    A, b = cvxopt.matrix(labels, (1, 20)), cvxopt.matrix(0.0)
    options = {"show_progress": False}
    theirs, ours = (solve(P, q, G, h, None, A, b, options=options) for solve in (cvxopt.solvers.coneqp, coneqp))
    weights = [signed.T @ np.array(solution["x"]).ravel() for solution in (theirs, ours)]
    np.testing.assert_allclose(weights[1], weights[0], atol=1e-5)


def test_options_set_for_all_of_cvxopt_hold_here_too(cvxopt, capsys, monkeypatch):
    monkeypatch.setitem(cvxopt.solvers.options, "maxiters", 2)
    monkeypatch.setitem(cvxopt.solvers.options, "show_progress", True)
    c, G, h, dims, A, b = cone_program(0)
    assert conelp(c, G, h, dims, A, b)["status"] == "unknown"
    assert "gap" in capsys.readouterr().out
