import numpy as np
import pytest

from docs.teaching import figures
from socp import ConeProgram, NonNeg, ProgramError, SecondOrder, textbook


def polygon(count, c=(-1.0, -0.7), curvature=0.0):
    angle = 2.0 * np.pi * (np.arange(count) + 0.3) / count
    G = np.column_stack([np.cos(angle), np.sin(angle)])
    return ConeProgram(c=np.array(c), G=G, h=np.full(count, 1.5), cones=[NonNeg(count)], P=curvature * np.eye(2))


def lines(axes):
    return {line.get_label(): np.array(line.get_data()).T for line in axes.lines}


def test_the_pairs_of_the_path_lie_on_either_side_of_the_root_of_mu():
    picture = figures.central_path(polygon(5), 0.01)
    drawn = lines(picture.axes[1])
    np.testing.assert_allclose(drawn["slack $s$"][:, 0] * drawn["multiplier $z$"][:, 0], 0.01)
    assert "0.05" in picture.axes[1].get_title()


def test_the_bowl_is_lowest_where_the_path_is():
    (surface,) = [c for c in figures.bowl(polygon(5), 0.1).axes[0].collections if c.get_array() is not None]
    assert np.min(surface.get_array()) >= -1e-9


def test_the_parts_of_a_step_add_up_to_the_textbooks_direction():
    program = polygon(3)
    start = figures.start_at(program, np.array([-0.5, 0.3]))
    trace = list(figures.follow(program, start))
    assert len(trace) > 4
    for k in range(3):
        axes = figures.step_parts(program, start, k).axes[0]
        texts = [text for text in axes.texts if text.get_text() == ""]
        assert len(texts) == 3
        tail, tip = texts[0].xyann, texts[2].xy
        moved, taken = trace[k + 1].x - trace[k].x, np.subtract(tip, tail)
        np.testing.assert_allclose(np.asarray(tail), trace[k].x, atol=1e-9)
        np.testing.assert_allclose(moved, trace[k + 1].alpha * taken, atol=1e-6)
    with pytest.raises(ProgramError, match="strictly feasible"):
        figures.start_at(program, np.array([9.0, 0.0]))


def test_the_triangle_of_products_has_the_path_in_its_centre():
    program = polygon(3)
    near, far = np.array([0.0, 0.0]), np.array([-1.2, 0.8])
    drawn = [lines(figures.neighbourhoods(program, figures.start_at(program, x)).axes[0]) for x in (near, far)]
    first = [np.linalg.norm(found["iterates"][0]) for found in drawn]
    assert first[0] < first[1] <= np.sqrt(6.0)
    start = figures.start_at(program, far)
    w = start.s * start.z
    assert first[1] == pytest.approx(np.linalg.norm(w / w.mean() - 1.0))  # as in the neighbourhood
    with pytest.raises(ProgramError, match="three products, but 4 came"):
        figures.neighbourhoods(polygon(4), start)


def test_a_part_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"part must be one of predictor, .*, got 'luck'"):
        figures.without(polygon(4), "luck")


def test_the_dual_point_is_feasible_and_its_gap_is_drawn():
    program, mu = polygon(4), 1e-3
    z0, N = figures.dual_plane(program)
    np.testing.assert_allclose(program.G.toarray().T @ (z0 + N @ [0.3, -2.0]), -program.c, atol=1e-12)
    axes = figures.dual(program, mu).axes
    u = [line for line in axes[1].lines if len(line.get_xdata()) == 1][-1].get_data()
    z = z0 + N @ np.ravel(u)
    x = lines(axes[0])["gap 0.004"][-1]
    assert (z > 0.0).all()
    np.testing.assert_allclose(z * (program.h - program.G @ x), mu, rtol=1e-4)
    with pytest.raises(ProgramError, match="four inequalities, but 5 came"):
        figures.dual(polygon(5), mu)


@pytest.mark.parametrize(
    ("cone", "s", "z"), [(NonNeg(2), [2.6, 0.5], [0.6, 1.7]), (SecondOrder(2), [2.4, 1.5], [1.6, -0.9])]
)
def test_the_scaling_brings_s_and_z_to_one_point_and_keeps_the_ball_inside(cone, s, z):
    axes = figures.scaling(cone, np.array(s), np.array(z)).axes
    ends = [lines(a) for a in axes]
    np.testing.assert_allclose(ends[0]["$W^{-t} s$"][0], s)
    np.testing.assert_allclose(ends[2]["$W^{-t} s$"], ends[2]["$W^t z$"], rtol=1e-9)
    K = textbook.Cone([cone])
    for panel in axes:
        curves = [np.array(line.get_data()).T for line in panel.lines if len(line.get_xdata()) > 100]
        depth = [K.depth(point) for curve in curves for point in curve]
        assert len(curves) == 2 and min(depth) == pytest.approx(0.0, abs=1e-3)
    with pytest.raises(ValueError, match="inside the cone"):
        figures.scaling(cone, np.array([1.0, 2.0]), np.array([-1.0, 0.0]))


@pytest.mark.parametrize(("count", "curvature"), [(6, 0.0), (24, 0.0), (24, 0.4)])
def test_the_walks_end_at_the_minimum(count, curvature):
    program = polygon(count, curvature=curvature)
    axes = figures.walks(program).axes
    least = textbook.solve(program).objective
    ways = {name: x for name, x in lines(axes[0]).items() if name in ("simplex", "active set", "interior point")}
    assert len(ways) == (2 if curvature else 3)
    for x in ways.values():
        assert 0.5 * curvature * x[-1] @ x[-1] + program.c @ x[-1] == pytest.approx(least, abs=1e-6)
        assert (program.h - program.G @ x[-1]).min() > -1e-6
    assert len(figures.corners(program)) == count


def test_tau_or_kappa_falls():
    def program(apart):
        G = [[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]
        return ConeProgram(c=[0.0, 1.0], G=G, h=[1.0, 0.0, 0.0, -1.0 - apart], cones=[SecondOrder(3), NonNeg(1)])

    for apart, title, kind in ((-0.5, "optimal", 1), (0.5, "primal infeasible", 0)):
        axes = figures.embedding(program(apart)).axes[1]
        end = np.array(axes.lines[0].get_data())[:, -1]
        assert axes.get_title() == title and end[kind] < 1e-6 < end[1 - kind]
