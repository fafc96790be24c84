"""`ecos_solve` returns ECOS's results in its signs, compared with ECOS if it is installed."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp
from socp.interop import ecos_solve
from tests.support.shaped_programs import INFEASIBLE, UNBOUNDED, check_conditions, cone_program

SHARP = {"verbose": False, "abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}


@pytest.fixture
def ecos():
    return pytest.importorskip("ecos", reason="no wheel of ECOS for this Python")


@pytest.mark.parametrize("seed", range(5))
def test_an_answer_meets_the_conditions_of_ecos(seed):
    c, G, h, dims, A, b = program = cone_program(seed)
    answer = ecos_solve(*program, **SHARP)
    check_conditions(*program, answer)
    info = answer["info"]
    assert (info["exitFlag"], info["infostring"], info["pinf"], info["dinf"]) == (0, "Optimal solution found", 0.0, 0.0)
    assert info["pcost"] == pytest.approx(c @ answer["x"], rel=1e-9, abs=1e-9)
    assert info["dcost"] == pytest.approx(-b @ answer["y"] - h @ answer["z"], rel=1e-9, abs=1e-9)
    assert info["gap"] == abs(info["pcost"] - info["dcost"])
    sparse = ecos_solve(c, sp.csc_matrix(G), h, dims, sp.csc_matrix(A), b, **SHARP)
    np.testing.assert_array_equal(sparse["x"], answer["x"])


def test_certificates_have_the_signs_of_ecos():
    for (G, h), flag in ((INFEASIBLE, 1), (UNBOUNDED, 2)):
        answer = ecos_solve([1.0], G, h, {"l": len(h), "q": []}, verbose=False)
        info = answer["info"]
        assert (info["exitFlag"], info["pinf"], info["dinf"]) == (flag, float(flag == 1), float(flag == 2))
        if flag == 1:  # G'z = 0, z >= 0, h'z < 0
            np.testing.assert_allclose(answer["z"], [0.5, 0.5], atol=1e-6)
        else:  # Gx <= 0, c'x < 0
            np.testing.assert_allclose(answer["x"], [-1.0], atol=1e-6)
    # an equality that cannot hold: A'y = 0 with b'y < 0
    answer = ecos_solve([0.0], [[-1.0]], [0.0], {"l": 1, "q": []}, [[1.0]], [-2.0], verbose=False)
    assert answer["info"]["exitFlag"] == 1
    np.testing.assert_allclose([answer["y"][0], answer["z"][0]], [0.5, 0.5], atol=1e-6)


def test_the_smallest_of_the_tolerances_counts():
    for name in ("feastol", "abstol", "reltol"):
        loose = {"feastol": 1e-2, "abstol": 1e-2, "reltol": 1e-2}
        answer = ecos_solve(*cone_program(0), verbose=False, **{**loose, name: 1e-9})
        assert max(answer["info"][key] for key in ("pres", "dres", "relgap")) <= 1e-9


def test_what_ends_too_soon_says_so():
    stopped = ecos_solve(*cone_program(0), verbose=False, max_iters=1)
    assert stopped["info"]["exitFlag"] == -1 and stopped["info"]["iter"] == 1
    assert np.isfinite(stopped["x"]).all()


def test_what_ecos_knows_and_has_no_meaning_here():
    program = cone_program(0)
    plain = ecos_solve(*program, verbose=False)
    theirs = {"mi_verbose": False, "int_vars_idx": [], "bool_vars_idx": None, "mi_max_iters": 9, "mi_int_tol": 1e-4}
    answer = ecos_solve(*program, verbose=False, nitref=9, **theirs)
    np.testing.assert_array_equal(answer["x"], plain["x"])
    assert (answer["info"]["r0"], answer["info"]["mi_iter"]) == (1e-8, -1)
    assert ecos_solve(*program, verbose=False, feastol=1e-9)["info"]["r0"] == 1e-9
    for name in ("int_vars_idx", "bool_vars_idx"):
        with pytest.raises(socp.ProgramError, match=rf"{name} must be empty, .* but \[0\] came"):
            ecos_solve(*program, verbose=False, **{name: [0]})
    with pytest.raises(socp.ProgramError, match="unknown setting 'bogus'"):
        ecos_solve(*program, verbose=False, bogus=1)
    with pytest.raises(socp.ProgramError, match="max_iters must be a nonnegative integer, but 'many' came"):
        ecos_solve(*program, verbose=False, max_iters="many")
    with pytest.raises(socp.ProgramError, match="max_iter and max_iters are one setting"):
        ecos_solve(*program, verbose=False, max_iters=3, max_iter=4)


def test_an_exponential_cone_is_refused():
    with pytest.raises(socp.ProgramError, match="dims\\['e'\\] must be empty"):
        ecos_solve([1.0], [[-1.0]] * 4, np.zeros(4), {"l": 1, "q": [], "e": 1}, verbose=False)


# ---- compared with ECOS


@pytest.mark.parametrize("seed", range(5))
def test_a_script_for_ecos(seed, ecos):
    c, G, h, dims, A, b = cone_program(seed)
    G, A = sp.csc_matrix(G), sp.csc_matrix(A)
    theirs, ours = (solve(c, G, h, dims, A, b, **SHARP, max_iters=60) for solve in (ecos.solve, ecos_solve))
    assert ours["info"]["exitFlag"] == theirs["info"]["exitFlag"] == 0
    assert ours["info"]["pcost"] == pytest.approx(theirs["info"]["pcost"], rel=1e-7)
    root = 10.0 * np.sqrt(1e-9)  # a gap of 1e-9 allows errors of sqrt(1e-9) in each of the two points
    for name in "xyzs":
        np.testing.assert_allclose(ours[name], theirs[name], rtol=root, atol=root)
    missing = set(theirs["info"]) - set(ours["info"])
    assert not missing
    assert set(ours["info"]["timing"]) == set(theirs["info"]["timing"])


def test_the_exit_flags_of_ecos(ecos):
    for G, h in (INFEASIBLE, UNBOUNDED):
        arguments = np.ones(1), sp.csc_matrix(G), np.array(h), {"l": len(h), "q": []}
        theirs, ours = ecos.solve(*arguments, verbose=False), ecos_solve(*arguments, verbose=False)
        assert ours["info"]["exitFlag"] == theirs["info"]["exitFlag"] in (1, 2)
        assert ours["info"]["infostring"] == theirs["info"]["infostring"]


def test_the_module_stands_in_for_ecos_by_the_name_of_its_function():
    import socp.interop.ecos as ecos

    answer = ecos.solve(np.ones(2), -sp.eye(2, format="csc"), np.zeros(2), {"l": 2, "q": []}, verbose=False)
    assert answer["info"]["exitFlag"] == 0 and abs(answer["info"]["pcost"]) < 1e-6
