"""Stored zeros are places for updates, and cost nothing until one fills them."""

import numpy as np
import pytest
import scipy.sparse as sp

import qp
import socp
from socp.problem.zeros import StoredZeros

N, M = 40, 20


def with_zeros(matrix, rng, symmetric=False):
    """Return a matrix with zeros stored in half of its free places."""
    free = (matrix == 0.0) & (rng.random(matrix.shape) < 0.5)
    rows, columns = np.nonzero((matrix != 0.0) | (free & free.T if symmetric else free))
    return sp.csc_array((matrix[rows, columns], (rows, columns)), shape=matrix.shape)


def programs(kind, rng):
    """Return the class, its data with stored zeros, and the same data without them."""
    A, P = np.eye(M, N) + np.eye(M, N, 7), np.diag(rng.uniform(1.0, 2.0, N))
    P[0, 3] = P[3, 0] = 0.5
    vectors = {"q": rng.normal(size=N), "l": -0.1, "u": 0.1, "lb": -1.0, "ub": 1.0}
    if kind is socp:
        vectors = {"c": vectors["q"], "b": np.zeros(M), "h": np.ones(N), "cones": [socp.NonNeg(N)]}
    G = {"G": with_zeros(np.eye(N), rng)} if kind is socp else {}
    sparse = {"A": with_zeros(A, rng), "P": with_zeros(P, rng, True), **G}
    return vectors, sparse, {name: sp.csc_array(matrix.toarray()) for name, matrix in sparse.items()}


@pytest.mark.parametrize("settings", [{}, {"kkt": "ldl"}, {"kkt": "dense"}])
@pytest.mark.parametrize("kind", [qp, socp])
def test_stored_zeros_change_nothing_until_they_are_filled(kind, settings):
    rng = np.random.default_rng(0)
    vectors, stored, lean = programs(kind, rng)
    settings = settings | ({"active_set": False} if kind is qp else {})
    solver, expected = kind.Solver(**stored, **vectors, **settings), kind.solve(**lean, **vectors, **settings)
    own = solver.cone_solver if kind is qp else solver
    np.testing.assert_array_equal(solver.solve().x, expected.x)
    np.testing.assert_array_equal(kind.solve(**stored, **vectors, **settings).x, expected.x)
    assert solver.program.A.nnz == stored["A"].nnz and own.form.entries < own.program.n + stored["A"].nnz + N
    state = own._state
    for turn in range(3):  # values in the old places, then in some of the stored zeros, then again in the first ones
        data = {}
        for name, matrix in stored.items():
            new = matrix.data * (1.0 + turn)
            if turn == 1:
                k = int(np.flatnonzero(matrix.data == 0.0)[5])
                i, j = matrix.indices[k], int(np.searchsorted(matrix.indptr, k, side="right")) - 1
                here = np.zeros((2, 2), int) if name != "P" else np.array([[i, j], [j, i]])
                new[k] = 0.01
                if name == "P":
                    columns = np.repeat(np.arange(N), np.diff(matrix.indptr))
                    new[(matrix.indices == here[1, 0]) & (columns == here[1, 1])] = 0.01
            data[f"{name}_data"] = new
        solver.update(**data)
        own = solver.cone_solver if kind is qp else solver
        assert (own._state is state) == (turn != 1)
        state = own._state
        whole = {
            name: sp.csc_array(
                (data[f"{name}_data"], stored[name].indices, stored[name].indptr), shape=stored[name].shape
            )
            for name in stored
        }
        found, fresh = solver.solve(), kind.solve(**whole, **vectors, **settings)
        np.testing.assert_allclose(found.x, fresh.x, atol=1e-6)
        assert found.status == fresh.status == "optimal"


@pytest.mark.parametrize("kind", [qp, socp])
def test_a_refused_update_of_stored_zeros_leaves_the_solver_as_it_was(kind):
    vectors, stored, _ = programs(kind, np.random.default_rng(1))
    solver = kind.Solver(**stored, **vectors)
    before = solver.solve()
    for value in (9.0, 0.5):  # a P that is not semidefinite, and one that is not symmetric
        bad = stored["P"].data.copy()
        zero = np.flatnonzero(bad == 0.0)
        bad[zero if value == 9.0 else zero[:1]] = value
        with pytest.raises(socp.ProgramError, match="semidefinite" if value == 9.0 else "symmetric"):
            solver.update(P_data=bad)
        np.testing.assert_array_equal(solver.solve().x, before.x)


def test_gradients_have_the_places_of_the_callers_matrix():
    vectors, stored, lean = programs(qp, np.random.default_rng(2))
    ones = np.ones(N)
    gradients = [qp.solve(**data, **vectors, active_set=False).vjp(dx=ones).A for data in (stored, lean)]
    assert [gradient.nnz for gradient in gradients] == [stored["A"].nnz, lean["A"].nnz]
    at = lean["A"].nonzero()
    np.testing.assert_allclose(gradients[0].toarray()[at], gradients[1].toarray()[at], atol=1e-7)


def test_a_program_without_stored_zeros_is_itself():
    program = socp.ConeProgram(np.ones(2), A=np.eye(2), b=np.ones(2))
    assert StoredZeros(program).left_out(program) is program is StoredZeros().left_out(program)


@pytest.mark.parametrize("kind", [qp, socp])
def test_a_matrix_with_as_many_entries_in_other_places_is_a_new_pattern(kind):
    vectors, stored, _ = programs(kind, np.random.default_rng(3))
    solver = kind.Solver(**stored, **vectors)
    solver.solve()
    A = stored["A"]
    moved = A[::-1].tocsc()
    assert moved.nnz == A.nnz and (moved.indices != A.indices).any()
    solver.update(A_data=moved)
    found, fresh = solver.solve(), kind.solve(**stored | {"A": moved}, **vectors)
    assert found.status == fresh.status == "optimal"
    np.testing.assert_allclose(found.x, fresh.x, atol=1e-6)
