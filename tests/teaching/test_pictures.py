"""The pictures draw what they should: the data in their artists."""

import matplotlib.colors
import numpy as np
import pytest
from scipy.stats import chi2

import socp
from docs.teaching import barrier, neighbourhoods, pictures
from models import SVC, BilevelClassifier, GenerativePrior, LinearDiscriminant
from socp import ConeProgram, NonNeg, ProgramError, SecondOrder, textbook
from tests.test_docs import module_of_the_docs

PROGRAM = ConeProgram(  # the unit disk, cut off above and below
    c=[-1.0, -0.6],
    G=[[0, 0], [-1, 0], [0, -1], [1, 2], [0, -1]],
    h=[1, 0, 0, 1.2, 0.5],
    cones=[SecondOrder(3), NonNeg(2)],
)


def lines_of(axes):
    return {line.get_label(): np.array(line.get_data(), dtype=float) for line in axes.get_lines()}


def test_convergence_of_the_engine_and_of_the_textbook():
    solution, book = socp.solve(PROGRAM), textbook.solve(PROGRAM)
    for trace in (solution.trace, book.trace):
        (axes,) = pictures.convergence(trace, ["gap", "mu"]).axes
        drawn = lines_of(axes)
        assert list(drawn) == ["gap", r"$\mu$"] and axes.get_yscale() == "log"
        np.testing.assert_array_equal(drawn[r"$\mu$"][0], np.arange(len(trace)))
        np.testing.assert_array_equal(drawn[r"$\mu$"][1], pictures.column(trace, "mu"))
        np.testing.assert_array_equal(drawn["gap"][1], np.maximum(pictures.column(trace, "gap"), pictures.SMALLEST))
    (axes,) = pictures.convergence({"engine": solution.trace, "textbook": book.trace}, ["gap"]).axes
    drawn = lines_of(axes)
    assert drawn["engine"].shape == (2, solution.iterations + 1) and axes.get_ylabel() == "gap"
    np.testing.assert_array_equal(drawn["textbook"][1], pictures.column(book.trace, "gap"))


def test_a_picture_shows_itself_and_leaves_no_state_behind():
    picture = pictures.lines([1, 2], {"a": [1.0, 2.0], "b": [2.0, 4.0]}, "n", "seconds", logarithmic=True)
    assert picture._repr_png_().startswith(b"\x89PNG")
    (axes,) = picture.axes
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "n", "seconds")
    np.testing.assert_array_equal(lines_of(axes)["b"], [[1, 2], [2, 4]])


def test_the_plane_shows_region_path_iterates_and_ellipses():
    path = barrier.central_path(PROGRAM, np.geomspace(10, 1e-4, 6))
    iterates = pictures.points(textbook.iterates(PROGRAM))
    centre, M = np.array([0.1, 0.2]), np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    picture = pictures.plane(PROGRAM, (-2, 2, -2, 2), path, {"method": iterates}, [(centre, M, 0.5)])
    (axes,) = picture.axes
    drawn = lines_of(axes)
    np.testing.assert_array_equal(drawn["central path"], path.T)
    np.testing.assert_array_equal(drawn["method"], iterates.T)
    (curve,) = [line for label, line in drawn.items() if label not in ("central path", "method")]
    np.testing.assert_allclose(np.linalg.norm(M @ (curve - centre[:, None]), axis=0), 0.5)
    # the boundary of the region: on the circle, or on one of the lines
    region = axes.collections[0].get_paths()[0].vertices
    inside = region[np.abs(region).max(axis=1) < 1.9]
    distances = [np.hypot(*inside.T) - 1.0, inside @ [1.0, 2.0] - 1.2, -inside[:, 1] - 0.5]
    assert np.abs(np.min(np.abs(distances), axis=0)).max() < 0.02
    assert np.max(distances) < 0.03
    with pytest.raises(socp.ProgramError, match="two variables and no equations, but 1 and 0 came"):
        pictures.plane(ConeProgram([1.0], [[-1.0]], [0.0], [NonNeg(1)]), (-1, 1, -1, 1))


def test_the_iterates_that_start_on_the_path_are_central_and_stay_near_it():
    start = barrier.on_the_path(PROGRAM, 1.0)
    cone = textbook.Cone(PROGRAM.cones)
    np.testing.assert_allclose(cone.arrow(start.s) @ start.z, cone.e, atol=1e-6)
    np.testing.assert_allclose(PROGRAM.c + PROGRAM.G.T @ start.z, 0.0, atol=1e-5)
    path = barrier.central_path(PROGRAM, np.geomspace(10.0, 1e-6, 141))
    iterates = list(barrier.follow(PROGRAM, 1.0))
    followed, cold = pictures.points(iterates), pictures.points(textbook.iterates(PROGRAM))
    far = [max(np.linalg.norm(path - x, axis=1).min() for x in points) for points in (followed, cold)]
    assert iterates[-1].status is socp.Status.OPTIMAL and far[0] < 0.5 * far[1]
    np.testing.assert_allclose(followed[-1], cold[-1], atol=1e-5)


def test_the_readmes_picture_shows_iterates_that_start_on_the_path():
    module = module_of_the_docs("images/path")
    (axes,) = module.picture().axes
    drawn = lines_of(axes)
    away = [np.linalg.norm(drawn["central path"] - x[:, None], axis=0).min() for x in drawn["iterates"].T]
    assert away[0] < 1e-4 and max(away) < 0.08 and len(away) > 4
    assert module.PICTURE.read_bytes().startswith(b"\x89PNG")


def test_points_are_in_the_callers_units():
    exact = socp.solve(PROGRAM, kkt="ldl").x
    for points in (pictures.points(textbook.iterates(PROGRAM)), pictures.points(socp.iterates(PROGRAM))):
        np.testing.assert_allclose(points[-1], exact, atol=1e-6)


def test_a_classifier_is_drawn_at_its_zeros():
    X, y = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [2.0, 2.0]]), np.array([0, 0, 1, 1])
    svc = SVC(C=np.inf, kernel="linear").fit(X, y)  # x1 + x2 = 1
    (axes,) = pictures.classifier(svc, X, y, svc.support_).axes
    contours = axes.collections[-2] if hasattr(axes.collections[-2], "levels") else axes.collections[2]
    for level, path in zip(contours.levels, contours.get_paths()):
        np.testing.assert_allclose(path.vertices.sum(axis=1) - 1.0, level, atol=1e-3)
    rings = axes.collections[-1].get_offsets()
    np.testing.assert_array_equal(rings, X[[0, 1, 2]])


def bilevel():
    X, y = np.array([[-2.2, 0.8], [-1.5, 1.6], [-1.0, -0.2], [1.2, 1.4], [2.0, 0.2], [1.1, -0.6]]), [-1] * 3 + [1] * 3
    spread = [[0.5, 0.2], [0.2, 0.3]]
    prior = GenerativePrior(t=([-0.3, -2.2], [0.4, 2.6]), Omega=(spread, spread), Sigma=(spread, spread))
    return BilevelClassifier(prior, beta=1.2, phi=1.2, C1=np.inf, C2=np.inf).fit(X, y), X, y


def test_the_alternation_draws_prior_means_spreads_and_hyperplanes():
    model, X, y = bilevel()
    picture = pictures.alternation(model, X, y)
    trace, prior = model.trace_, model.prior_
    assert len(trace) > 1
    shown = [(prior.t, None), (prior.t, trace[0]), (trace[0].mu, trace[0]), (trace[-1].mu, trace[-1])]
    assert len(picture.axes) == 4
    for axes, (mu, found) in zip(picture.axes, shown):
        drawn = lines_of(axes)
        for i in (0, 1):
            np.testing.assert_allclose(drawn[f"mean {i + 1}"].ravel(), mu[i])
            off = drawn[f"spread {i + 1}"] - mu[i][:, None]
            np.testing.assert_allclose(np.sum(off * np.linalg.solve(prior.Sigma[i].value, off), axis=0), model.beta**2)
            region = axes.patches[i].get_xy().T - prior.t[i][:, None]
            lengths = np.sum(region * np.linalg.solve(prior.Omega[i].value, region), axis=0)
            np.testing.assert_allclose(lengths, model.phi**2)
            assert axes.patches[i].get_facecolor()[:3] == matplotlib.colors.to_rgb((pictures.BLUE, pictures.ORANGE)[i])
        assert ("hyperplane" in drawn) == (found is not None)
        if found is not None:
            np.testing.assert_allclose(found.w @ drawn["hyperplane"] + found.b, 0.0, atol=1e-8)
    with pytest.raises(socp.ProgramError, match="two features"):
        pictures.alternation(model, np.zeros((2, 3)), [0, 1])


# ---- the central path


def test_central_points_fulfil_s_o_z_equals_mu_e():
    rng = np.random.default_rng(0)
    cones = [NonNeg(3), SecondOrder(4), SecondOrder(3)]
    cone = textbook.Cone(cones)
    G, A = rng.normal(size=(10, 5)), rng.normal(size=(2, 5))
    x, z = rng.normal(size=5), 2.0 * cone.e + 0.3 * rng.normal(size=10)
    program = ConeProgram(-G.T @ z, G, G @ x + 2.0 * cone.e + 0.3 * rng.normal(size=10), cones, A, A @ x, np.eye(5))
    for mu, x in zip((1.0, 1e-2, 1e-4), barrier.central_path(program, (1.0, 1e-2, 1e-4))):
        s = program.h - G @ x
        z = -mu * barrier.barrier(cone, s)[1]
        assert min(cone.depth(s), cone.depth(z)) > 0.0
        np.testing.assert_allclose(cone.arrow(s) @ z, mu * cone.e, atol=1e-12)
        np.testing.assert_allclose(A @ x, program.b, atol=1e-9)
        slope = x + program.c + G.T @ z
        y = np.linalg.lstsq(A.T, -slope, rcond=None)[0]
        np.testing.assert_allclose(slope + A.T @ y, 0.0, atol=1e-4 * max(1.0, np.abs(slope).max()) * mu**0.5)


def test_derivatives_of_the_barrier():
    cone = textbook.Cone([NonNeg(1), SecondOrder(3)])
    s, d = np.array([0.7, 2.0, 0.5, -0.4]), np.array([0.3, -0.2, 0.5, 0.1])
    value, gradient, hessian = barrier.barrier(cone, s)
    step = 1e-6
    up, down = barrier.barrier(cone, s + step * d), barrier.barrier(cone, s - step * d)
    assert (up[0] - down[0]) / (2 * step) == pytest.approx(gradient @ d, rel=1e-8)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * step), hessian @ d, rtol=1e-7)
    assert value == pytest.approx(-np.log(0.7) - 0.5 * np.log(4.0 - 0.25 - 0.16))


def test_no_path_without_a_strictly_feasible_point():
    with pytest.raises(socp.ProgramError, match="no strictly feasible point"):
        barrier.central_path(ConeProgram([1.0], [[1.0], [-1.0]], [1.0, -1.0], [NonNeg(2)]), [1.0])


def test_the_products_of_iterates_lie_in_the_shaded_neighbourhoods():
    interval = ConeProgram([1.0], [[-1.0], [1.0]], [0.0, 1.0], [NonNeg(2)])
    iterates = list(neighbourhoods.predictor_corrector(interval, 1.0, 1e-4))
    picture = pictures.products(iterates, (0.25, 0.5))
    axes = picture.axes[0]
    assert len(axes.collections) == 2 and np.allclose(axes.lines[1].get_ydata(), [it.s[1] * it.z[1] for it in iterates])
    wide = axes.collections[0].get_paths()[0]
    assert all(wide.contains_point(it.s * it.z, radius=1e-9) for it in iterates)
    with pytest.raises(ProgramError, match="two products, but 3 came"):
        pictures.products([textbook.Iterate(np.zeros(1), np.zeros(0), np.ones(3), np.ones(3))], (0.5,))


def test_figure_4_6_has_ellipses_and_the_boundaries_of_both_rules():
    rng = np.random.default_rng(0)
    means, root = np.array([[-1.5, -1.0], [1.5, 0.5], [-1.0, 2.5]]), np.array([[1.0, 0.0], [0.4, 0.8]])

    def draw(n):
        y = np.arange(n) % 3
        return means[y] + rng.normal(size=(n, 2)) @ root.T, y

    truth, (X, y) = LinearDiscriminant(priors="uniform").fit(*draw(60_000)), draw(60)
    model = LinearDiscriminant().fit(X, y)
    left, right = pictures.discriminants(truth, model, X, y).axes
    assert len(left.lines) == 3 and len(right.lines) == 3
    inverse = np.linalg.inv(truth.covariance_)
    for line, mean in zip(left.lines, truth.means_):
        shifted = np.column_stack(line.get_data()) - mean
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", shifted, inverse, shifted), chi2(2).ppf(0.95))
    for axes, rules in ((left, [truth]), (right, [truth, model])):
        found = [path.vertices for contours in axes.collections for path in contours.get_paths() if len(path.vertices)]
        assert len(found) >= 3 * len(rules)
        for vertices in found:
            apart = [np.diff(np.sort(rule.predict_log_proba(vertices), axis=1))[:, -1].max() for rule in rules]
            assert min(apart) < 0.1  # two classes are equally likely, up to the grid


def test_the_losses_are_drawn_side_by_side():
    (axes,) = pictures.losses().axes
    values = {
        line.get_label().split(",")[0]: dict(zip(line.get_xdata().round(6), line.get_ydata())) for line in axes.lines
    }
    assert {name: [of[-1.0], of[0.0], of[2.0]] for name, of in values.items() if name != "logistic"} == {
        "0-1": [1.0, 1.0, 0.0],
        "perceptron": [1.0, 0.0, 0.0],
        "hinge": [2.0, 1.0, 0.0],
        "squared hinge": [4.0, 1.0, 0.0],
    }
    assert values["logistic"][0.0] == pytest.approx(1.0) and values["logistic"][2.0] < 0.2


def test_the_edges_of_a_cube_in_space():
    cube = ConeProgram([1.0, 1.0, 1.0], np.vstack([np.eye(3), -np.eye(3)]), [2.0, 1.0, 1.0, 0.0, 0.0, 0.0], [NonNeg(6)])
    way = np.array([[2.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    (axes,) = pictures.space(cube, {"mu falls": way}, scale=(2.0, 1.0, 1.0)).axes
    *edges, drawn = axes.get_lines()
    assert len(edges) == 12 and drawn.get_label() == r"$\mu$ falls"
    np.testing.assert_array_equal(np.array(drawn.get_data_3d())[:, 0], [1.0, 1.0, 1.0])
    with pytest.raises(socp.ProgramError, match="three variables"):
        pictures.space(PROGRAM, {})


def test_vectors_end_on_the_cone_that_is_drawn():
    (axes,) = pictures.cone({"s": np.array([1.0, 0.6, 0.8]), "lambda": np.array([1.0, 0.0, 0.0])}).axes
    *drawn, s, lam = (np.array(line.get_data_3d()) for line in axes.get_lines())
    for x, y, height in drawn:  # circles and rays of the boundary
        np.testing.assert_allclose(np.hypot(x, y), height, atol=1e-12)
    assert s[:, 1].tolist() == [0.6, 0.8, 1.0] and lam[:, 1].tolist() == [0.0, 0.0, 1.0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["s", r"$\lambda$"]


def test_shares_of_a_whole_sum_to_one():
    (axes,) = pictures.shares({"one": {"a": 1.0, "b": 3.0}, "other": {"b": 2.0}}, "share").axes
    assert [patch.get_width() for patch in axes.patches] == [0.25, 0.0, 0.75, 1.0]
