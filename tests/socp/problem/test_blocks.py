"""Programs stated by their blocks: the same matrices as written by hand, and places for updates."""

import numpy as np
import pytest
import scipy.sparse as sp

import socp


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_cone_program_is_the_one_stacked_by_hand(rng):
    m, k = 5, 3
    X, y, S = rng.normal(size=(m, k)), np.array([1.0, -1.0, 1.0, 1.0, -1.0]), rng.normal(size=(k, k))
    p = socp.Blocks(w=k, b=1, rho=1, xi=m)
    p.minimize(rho=1.0, xi=2.0)
    fixed = p.equal(0.5, w=np.ones(k))
    margins = p.at_least(1.0, w=y[:, None] * X, b=y, xi=1.0)
    most = p.at_most([4.0], b=1.0)
    ball = p.cone("rho", w=S)
    p.bounds(xi=(0.0, None), b=(-7.0, 9.0))
    program = p.program()

    n, one = k + 2 + m, np.eye(k + 2 + m)
    signed = np.hstack([-y[:, None] * X, -y[:, None], np.zeros((m, 1)), -np.eye(m)])
    tail = np.hstack([-S, np.zeros((k, n - k))])
    bounds = [-one[[k]], one[[k]], -one[k + 2 :]]
    np.testing.assert_array_equal(program.G.toarray(), np.vstack([signed, one[[k]], *bounds, -one[[k + 1]], tail]))
    np.testing.assert_array_equal(program.h, np.r_[-np.ones(m), 4.0, 7.0, 9.0, np.zeros(m), np.zeros(1 + k)])
    np.testing.assert_array_equal(program.A.toarray(), np.r_[np.ones(k), np.zeros(n - k)][None, :])
    assert program.b.tolist() == [0.5]
    assert program.c.tolist() == [0.0] * (k + 1) + [1.0] + [2.0] * m
    assert program.cones == (socp.NonNeg(m + 1 + 2 + m), socp.SecondOrder(1 + k))
    assert (fixed.rows, margins.rows, most.rows) == (slice(0, 1), slice(0, m), slice(m, m + 1))
    assert ball.rows == slice(2 * m + 3, 2 * m + 4 + k)
    assert (p.w, p.b, p.rho, p.xi) == (slice(0, k), slice(k, k + 1), slice(k + 1, k + 2), slice(k + 2, n))


def test_one_term_of_all_variables_is_the_hessian_as_it_came(rng):
    root = rng.normal(size=(3, 3))
    low, diagonal = socp.LowRank(root[:, :1], np.ones(3)), np.array([1.0, 2.0, 3.0])
    for term, matrix in ((root @ root.T, root @ root.T), (low, low @ np.eye(3)), (diagonal, np.diag(diagonal))):
        p = socp.Blocks(v=3)
        p.minimize(quadratic={"v": term})
        found = p.program().P
        assert type(found) is (sp.csc_array if term is diagonal else type(term))
        np.testing.assert_array_equal(found @ np.eye(3), matrix)


def test_what_a_value_means_beside_a_block():
    p = socp.Blocks(v=3, t=1)
    p.equal([1.0, 2.0, 3.0], v=[4.0, 5.0, 6.0])  # as many rows as variables: a diagonal
    p.equal(7.0, v=[4.0, 5.0, 6.0])  # one row
    p.equal(0.0, v=2.0, t=[1.0, 2.0, 3.0])  # a multiple of the identity, and a column
    p.equal([1.0, 2.0], t=8.0)  # a column of equal numbers
    p.equal(0.0, v=sp.coo_array(([9.0], ([1], [2])), shape=(2, 3)))
    expected = [
        [4, 0, 0, 0], [0, 5, 0, 0], [0, 0, 6, 0], [4, 5, 6, 0], [2, 0, 0, 1], [0, 2, 0, 2], [0, 0, 2, 3],
        [0, 0, 0, 8], [0, 0, 0, 8], [0, 0, 0, 0], [0, 0, 9, 0],
    ]  # fmt: skip
    np.testing.assert_array_equal(p.program().A.toarray(), expected)


def test_a_change_is_the_program_with_the_new_values(rng):
    k = 3
    R, means = rng.normal(size=(k, k)), rng.normal(size=(2, 2, k))
    means[0, 0, 1] = 0.0  # a dense term stores every entry, zero or not

    def state(mean, slope, right):
        p = socp.Blocks(w=k, b=1, rho=1)
        p.minimize(rho=1.0, b=0.1)
        prior = p.at_least(right, w=mean, b=[1.0, -1.0])
        ball = p.cone({"rho": 1.0, "w": slope}, 0.25, w=R, shift=1.0)
        p.bounds(b=(-5.0, 5.0), w=(-4.0, 4.0))
        return p, prior, ball

    slopes = 0.1 * rng.normal(size=(2, k))
    p, prior, ball = state(means[0], slopes[0], 0.0)
    solver = socp.Solver(p.program())
    solver.solve()
    solver.update(**p.change(prior, [0.3, -0.2], w=means[1]))
    solver.update(**p.change(ball, head={"w": slopes[1]}))
    fresh = socp.solve(state(means[1], slopes[1], [0.3, -0.2])[0].program())
    again = solver.solve()
    assert again.status == fresh.status == "optimal"
    np.testing.assert_allclose(again.objective, fresh.objective, rtol=1e-6)
    np.testing.assert_allclose(again.x, fresh.x, atol=1e-5)
    h = p.change(ball, np.r_[-0.5, -np.full(k, 2.0)])["h"]
    np.testing.assert_array_equal(h[ball.rows], [0.5, 2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    "state, said",
    [
        (lambda p: p.minimize(u=1.0), "no block is called u; there are w, t"),
        (lambda p: p.minimize(w=[1.0, 2.0]), "w must"),
        (lambda p: p.minimize({"w": np.eye(3)}), "w has 4 variables, but its quadratic term has the shape"),
        (lambda p: p.equal(0.0, w=np.ones((2, 3))), "the term of w must have the shape .2, 4."),
        (lambda p: p.equal(0.0, w=sp.eye_array(3)), "w must have"),
        (lambda p: p.equal([1.0, 2.0], w=np.ones((3, 4))), "3 of w, 2 of right"),
        (lambda p: p.equal(0.0, w=[1.0, np.nan, 0.0, 0.0]), "the term of w must be finite"),
        (lambda p: p.equal(0.0, w=np.ones((1, 2, 2))), "has 3 axes"),
        (lambda p: p.bounds(w=1.0), "the bounds of w must be a pair"),
        (lambda p: p.cone({"w": 1.0}, w=1.0), "the head of a cone must be one row, but 4 came"),
        (lambda p: p.change(p.equal(0.0, w=1.0), w=2.0), "`program` must have been called"),
        (lambda p: socp.Blocks(w=-1), "the size of the block w must be"),
        (lambda p: socp.Blocks(cone=1), "a block cannot be called cone"),
        (lambda p: socp.Blocks(), "no block has one"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(state, said):
    p = socp.Blocks(w=4, t=1)
    with pytest.raises(socp.ProgramError, match=said):
        state(p)


def test_a_change_keeps_its_places():
    p = socp.Blocks(w=4, t=1)
    rows = p.equal(0.0, w=sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0])))
    p.program()
    with pytest.raises(socp.ProgramError, match="in the places of the old one"):
        p.change(rows, w=np.ones((4, 4)))
    with pytest.raises(socp.ProgramError, match="no term of t; there are w"):
        p.change(rows, t=1.0)
    with pytest.raises(AttributeError, match="no block is called v; there are w, t"):
        _ = p.v


def test_rows_that_come_later_are_of_the_next_program_and_change_there():
    p = socp.Blocks(w=2)
    rows = p.equal(1.0, w=np.eye(2))
    assert p.program().p == 2
    p.equal(3.0, w=np.ones((1, 2)))
    with pytest.raises(socp.ProgramError, match="`program` must have been called before"):
        p.change(rows, w=2.0 * np.eye(2))
    assert p.program().p == 3 and p.change(rows, w=2.0 * np.eye(2))["A_data"].sum() == 6.0
