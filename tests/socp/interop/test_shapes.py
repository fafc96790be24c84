"""Scripts written for ECOS and for CVXOPT run with one changed line."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp.interop import conelp, coneqp, ecos_solve

ecos = pytest.importorskip("ecos", reason="no wheel of ECOS for this Python")
cvxopt = pytest.importorskip("cvxopt", reason="no wheel of CVXOPT for this Python")
pytest.importorskip("cvxopt.solvers")


def cone_program(seed):
    """A feasible and bounded program with an orthant and two cones."""
    rng = np.random.default_rng(seed)
    n, dims = 5, {"l": 6, "q": [3, 4]}
    G, A = rng.normal(size=(13, n)), rng.normal(size=(2, n))

    def inside():
        parts = [rng.uniform(0.5, 1.5, dims["l"])]
        for size in dims["q"]:
            tail = rng.normal(size=size - 1)
            parts.append(np.concatenate([[np.linalg.norm(tail) + 0.5], tail]))
        return np.concatenate(parts)

    x = rng.normal(size=n)
    return -G.T @ inside() - A.T @ rng.normal(size=2), G, G @ x + inside(), dims, A, A @ x


@pytest.mark.parametrize("seed", range(5))
def test_a_script_for_ecos(seed):
    c, G, h, dims, A, b = cone_program(seed)
    G, A = sp.csc_matrix(G), sp.csc_matrix(A)
    answers = [
        solve(c, G, h, dims, A, b, verbose=False, abstol=1e-9, reltol=1e-9, feastol=1e-9, max_iters=60)
        for solve in (ecos.solve, ecos_solve)
    ]
    theirs, ours = answers
    assert ours["info"]["exitFlag"] == theirs["info"]["exitFlag"] == 0
    assert ours["info"]["pcost"] == pytest.approx(theirs["info"]["pcost"], rel=1e-7)
    for name in "xyzs":
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-4)
    missing = set(theirs["info"]) - set(ours["info"]) - {"mi_iter", "infostring", "nitref1", "nitref2", "nitref3"}
    assert not missing - {"r0"}
    assert set(ours["info"]["timing"]) == set(theirs["info"]["timing"])


def test_the_exit_flags_of_ecos():
    infeasible = ([1.0], sp.csc_matrix([[1.0], [-1.0]]), np.array([-1.0, -1.0]), {"l": 2, "q": []})
    unbounded = ([1.0], sp.csc_matrix([[1.0]]), np.array([0.0]), {"l": 1, "q": []})
    for c, G, h, dims in (infeasible, unbounded):
        theirs = ecos.solve(np.array(c), G, h, dims, verbose=False)
        ours = ecos_solve(c, G, h, dims, verbose=False)
        assert ours["info"]["exitFlag"] == theirs["info"]["exitFlag"] in (1, 2)
    stopped = ecos_solve(*cone_program(0), verbose=False, max_iters=1)
    assert stopped["info"]["exitFlag"] == -1
    assert np.isfinite(stopped["x"]).all()


def test_an_exponential_cone_is_refused():
    with pytest.raises(socp.ProgramError, match="dims\\['e'\\] must be empty"):
        ecos_solve([1.0], [[-1.0]] * 4, np.zeros(4), {"l": 1, "q": [], "e": 1}, verbose=False)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("quadratic", [False, True])
def test_a_script_for_cvxopt(seed, quadratic):
    c, G, h, dims, A, b = cone_program(seed)
    matrix = cvxopt.matrix
    arguments = (matrix(c), matrix(G), matrix(h), {**dims, "s": []}, matrix(A), matrix(b))
    options = {"show_progress": False, "abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}
    if quadratic:
        P = matrix(np.diag(np.arange(5.0)))
        theirs = cvxopt.solvers.coneqp(P, *arguments, options=options)
        ours = coneqp(P, *arguments, options=options)
    else:
        theirs = cvxopt.solvers.conelp(*arguments, options=options)
        ours = conelp(*arguments, options=options)
    assert ours["status"] == theirs["status"] == "optimal"
    assert ours["primal objective"] == pytest.approx(theirs["primal objective"], rel=1e-7)
    for name in "xyzs":
        assert isinstance(ours[name], matrix)
        assert ours[name].size == theirs[name].size
        np.testing.assert_allclose(np.array(ours[name]), np.array(theirs[name]), rtol=1e-4, atol=1e-4)
    assert set(theirs) <= set(ours)


def test_a_support_vector_machine_written_for_cvxopt():
    """The script that most users of CVXOPT's `qp` have: the dual of an SVM, with `spmatrix` and `spdiag`."""
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


def test_the_statuses_of_cvxopt():
    infeasible = (cvxopt.matrix([1.0]), cvxopt.matrix([1.0, -1.0]), cvxopt.matrix([-1.0, -1.0]))
    unbounded = (cvxopt.matrix([1.0]), cvxopt.matrix([1.0]), cvxopt.matrix([0.0]))
    for arguments, status in ((infeasible, "primal infeasible"), (unbounded, "dual infeasible")):
        theirs = cvxopt.solvers.conelp(*arguments, options={"show_progress": False})
        ours = conelp(*arguments, options={"show_progress": False})
        assert ours["status"] == theirs["status"] == status
        for name in ("x", "s", "y", "z", "primal objective", "dual objective"):
            assert (ours[name] is None) == (theirs[name] is None), name


def test_options_set_for_all_of_cvxopt_hold_here_too(capsys, monkeypatch):
    monkeypatch.setitem(cvxopt.solvers.options, "maxiters", 2)
    monkeypatch.setitem(cvxopt.solvers.options, "show_progress", True)
    c, G, h, dims, A, b = cone_program(0)
    assert conelp(c, G, h, dims, A, b)["status"] == "unknown"
    assert "gap" in capsys.readouterr().out


def test_what_does_not_fit_is_refused():
    c, G, h, dims, A, b = cone_program(0)
    with pytest.raises(socp.ProgramError, match="dims\\['s'\\] must be empty"):
        conelp(c, G, h, {**dims, "s": [2]}, A, b)
    with pytest.raises(socp.ProgramError, match="'sdp'"):
        conelp(c, G, h, {**dims, "sdp": [2]}, A, b)
    with pytest.raises(socp.ProgramError, match="kktsolver"):
        coneqp(np.eye(5), c, G, h, dims, A, b, kktsolver=lambda W: None)
