"""Pictures for the chapters: each function draws one and returns it, ready for a notebook, a file or a test.

They need matplotlib (of the `bench` and `docs` extras) and use no state of pyplot.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, cycle
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import socp
from models import BilevelClassifier
from socp.textbook import Cone
from socp.textbook.switches import dense

RESIDUALS = ("primal_residual", "dual_residual", "gap", "mu")
BLUE, ORANGE, GREEN, GREY = "tab:blue", "tab:orange", "tab:green", "0.6"
# Styles of successive series: lines on top of each other all remain visible, also in grey.
STYLES: list[dict[str, Any]] = [
    {"ls": "-", "marker": "o", "ms": 3.0},
    {"ls": "--", "marker": "s", "ms": 7.0, "fillstyle": "none"},
    {"ls": "-.", "marker": "^", "ms": 4.0},
    {"ls": ":", "marker": "D", "ms": 5.0, "fillstyle": "none"},
]
SMALLEST = 1e-17  # value drawn for zero on a logarithmic axis
GRID = 241
COLOURS = (BLUE, ORANGE, GREEN)
LETTERS = re.compile(r"\b(beta|delta|epsilon|gamma|kappa|lambda|mu|omega|sigma|tau)\b")


def greek(text: str) -> str:
    """Return the text with the names of Greek letters replaced by the letters.

    Examples
    --------
    >>> print(greek("mu, s / tau"))
    $\\mu$, s / $\\tau$
    """
    return LETTERS.sub(r"$\\\g<0>$", text)


class Picture(Figure):
    """Figure that a notebook shows as SVG if it can, else as PNG."""

    def __init__(self, width: float = 6.4, height: float = 3.6) -> None:
        super().__init__(figsize=(width, height), layout="constrained")

    def _repr_png_(self) -> bytes:
        return self._written(format="png", dpi=110, metadata={"Software": None})

    def _repr_svg_(self) -> str:
        with rc_context({"svg.hashsalt": "centralpath"}):  # names of SVG elements do not vary between runs
            return self._written(format="svg", metadata={"Date": None, "Creator": None}).decode()

    def _written(self, **options: Any) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, **options)
        return stream.getvalue()


# ---- traces


def column(trace: Any, name: str) -> np.ndarray:
    """Return one quantity of every iterate, from the `trace` of `socp.Solution`, `qp.Solution` or the textbook."""
    return np.array(trace[name] if isinstance(trace, np.ndarray) else [getattr(it, name) for it in trace], np.float64)


def convergence(traces: Any, columns: Sequence[str] = RESIDUALS) -> Picture:
    """Draw quantities of a trace on a logarithmic scale against the iteration, or one quantity of several traces.

    Parameters
    ----------
    traces : a trace, or a mapping of traces by name
    columns : names of columns of the trace; only the first is drawn for several traces
    """
    picture = Picture()
    axes = picture.subplots()
    several = isinstance(traces, Mapping)
    drawn = {name: (t, columns[0]) for name, t in traces.items()} if several else {c: (traces, c) for c in columns}
    for (label, (trace, name)), style in zip(drawn.items(), cycle(STYLES)):
        values = np.maximum(np.abs(column(trace, name)), SMALLEST)
        axes.semilogy(np.arange(values.size), values, label=greek(label.replace("_", " ")), **style)
    axes.set(xlabel="iteration", ylabel=greek(columns[0].replace("_", " ")) if several else "")
    axes.grid(alpha=0.3)
    axes.legend()
    return picture


def lines(
    x: Sequence[float], series: Mapping[str, Sequence[float]], xlabel: str, ylabel: str, logarithmic: bool | str = False
) -> Picture:
    """Draw several quantities over `x`; `logarithmic` names the axes with such a scale: "x", "y" or True for both."""
    picture = Picture()
    axes = picture.subplots()
    for label, y, style in zip(series, series.values(), cycle(STYLES)):
        axes.plot(x, y, label=greek(label), **style)
    for axis in "xy" if logarithmic is True else logarithmic or "":
        axes.set(**{f"{axis}scale": "log"})
    axes.set(xlabel=greek(xlabel), ylabel=greek(ylabel))
    axes.grid(alpha=0.3)
    axes.legend()
    return picture


def shares(times: Mapping[str, Mapping[str, float]], xlabel: str) -> Picture:
    """Draw the share of each part in its whole, one bar for each whole."""
    picture = Picture()
    axes = picture.subplots()
    parts = list(dict.fromkeys(part for one in times.values() for part in one))
    left = np.zeros(len(times))
    for part, hatch, grey in zip(
        parts, cycle(("", "//", "..", "xx", "\\\\", "++")), np.linspace(0.25, 0.9, len(parts))
    ):
        width = np.array([one.get(part, 0.0) / sum(one.values()) for one in times.values()])
        axes.barh(list(times), width, left=left, label=part, hatch=hatch, color=str(grey), edgecolor="white")
        left += width
    axes.set(xlabel=xlabel, xlim=(0.0, 1.0))
    axes.legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return picture


# ---- a program in the plane


def plane(
    program: socp.ConeProgram,
    window: tuple[float, float, float, float],
    path: Any = None,
    iterates: Any = None,
    ellipses: Iterable[tuple[np.ndarray, np.ndarray, float]] = (),
) -> Picture:
    """Draw a program of two variables: its feasible region, objective, central path and the iterates of methods.

    Parameters
    ----------
    program : ConeProgram
        Program with two variables and no equations.
    window : (left, right, bottom, top)
    path : array, shape (k, 2), optional
        Points of the central path, see `docs.teaching.barrier.central_path`.
    iterates : array, shape (k, 2), or mapping of such by name, optional
        Iterates of one method or of several, see `points`.
    ellipses : triples (centre, M, radius)
        The sets ||M (x - centre)|| <= radius.
    """
    if program.n != 2 or program.p:
        raise socp.ProgramError(f"the plane has two variables and no equations, but {program.n} and {program.p} came")
    picture = Picture(5.4, 4.6)
    axes = picture.subplots()
    x1, x2 = np.meshgrid(np.linspace(*window[:2], GRID), np.linspace(*window[2:], GRID))
    P, _, G = dense(program)
    x = np.array([x1.ravel(), x2.ravel()])
    depth = _depth(Cone(program.cones), program.h[:, None] - G @ x).reshape(x1.shape)
    value = (0.5 * np.sum(x * (P @ x), axis=0) + program.c @ x).reshape(x1.shape)
    axes.contourf(x1, x2, depth, levels=[0.0, np.inf], colors=["#dde8f4"])
    axes.contour(x1, x2, depth, levels=[0.0], colors=[BLUE], linewidths=1.2)
    axes.contour(x1, x2, value, levels=12, colors=[GREY], linewidths=0.5)
    if path is not None:
        axes.plot(*np.asarray(path).T, color=GREEN, lw=1.5, label="central path")
    for centre, M, radius in ellipses:
        axes.plot(*ellipse(centre, np.linalg.inv(np.linalg.qr(M)[1]).T, radius).T, color=ORANGE, lw=0.8)
    named = iterates if isinstance(iterates, Mapping) else {} if iterates is None else {"iterates": iterates}
    for name, points in named.items():
        axes.plot(*np.asarray(points).T, marker="o", ms=3.5, lw=0.8, label=name)
    axes.set(xlim=window[:2], ylim=window[2:], xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
    return picture


def space(
    program: socp.ConeProgram, ways: Mapping[str, np.ndarray], scale: Sequence[float] = (1.0, 1.0, 1.0)
) -> Picture:
    """Draw the edges of a bounded polyhedron Gx <= h in three dimensions, and paths in it as arrays of shape (k, 3).

    `scale` divides the coordinates.
    """
    G = dense(program)[2]
    if program.n != 3 or program.p or any(isinstance(cone, socp.SecondOrder) for cone in program.cones):
        raise socp.ProgramError("three variables and inequalities alone are expected here")
    corners: dict[tuple[int, ...], np.ndarray] = {}
    for rows in combinations(range(program.m), 3):
        if abs(np.linalg.det(G[list(rows)])) > 1e-12:
            x = np.linalg.solve(G[list(rows)], program.h[list(rows)])
            if (G @ x <= program.h + 1e-9 * (1.0 + np.abs(program.h))).all():
                corners[rows] = x / np.asarray(scale)
    picture = Picture(5.4, 4.6)
    axes: Any = picture.add_subplot(projection="3d")
    for (one, x), (other, y) in combinations(corners.items(), 2):
        if len(set(one) & set(other)) == 2:  # two rows are active along an edge
            axes.plot(*np.array([x, y]).T, color=GREY, lw=1.0)
    for (label, way), style, colour in zip(ways.items(), cycle(STYLES), cycle((ORANGE, GREEN, BLUE))):
        axes.plot(*(np.asarray(way) / np.asarray(scale)).T, color=colour, label=greek(label), **style)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$")
    axes.legend(fontsize=8)
    return picture


def cone(vectors: Mapping[str, np.ndarray]) -> Picture:
    """Draw the boundary of the second-order cone of dimension three, its axis upwards, and vectors in it."""
    top = 1.1 * max(float(np.abs(v).max()) for v in vectors.values())
    picture = Picture(4.8, 4.2)
    axes: Any = picture.add_subplot(projection="3d")
    for height in np.linspace(0.25, 1.0, 4) * top:
        axes.plot(*ellipse(np.zeros(2), np.eye(2), height).T, height, color=GREY, lw=0.8)
    for x, y in ellipse(np.zeros(2), np.eye(2), top, 17):
        axes.plot([0.0, x], [0.0, y], [0.0, top], color=GREY, lw=0.4)
    for (label, v), colour in zip(vectors.items(), cycle((ORANGE, GREEN, BLUE))):
        axes.plot([0.0, v[1]], [0.0, v[2]], [0.0, v[0]], color=colour, marker="o", markevery=[1], label=greek(label))
    axes.set(xlabel="$u_1$", ylabel="$u_2$", zlabel="$u_0$")
    axes.set_box_aspect((2.0, 2.0, 1.2), zoom=0.9)
    axes.legend(fontsize=8)
    return picture


def points(iterates: Iterable[Any]) -> np.ndarray:
    """Return x / tau of every iterate of the textbook, or x of every `socp.Iterate`, which is divided already."""
    return np.array([it.x.copy() if isinstance(it, socp.Iterate) else it.x / it.tau for it in iterates])


def ellipse(centre: np.ndarray, root: Any, radius: float, count: int = 181) -> np.ndarray:
    """Return points of the curve centre + radius root'u, ||u|| = 1, an ellipse of the covariance root'root."""
    angle = np.linspace(0.0, 2.0 * np.pi, count)
    return np.asarray(centre) + radius * np.column_stack([np.cos(angle), np.sin(angle)]) @ np.asarray(root)


def _depth(cone: Cone, s: np.ndarray) -> np.ndarray:
    """Return `Cone.depth` of each column of `s`."""
    depths = [s[k.start] - np.linalg.norm(s[k.start + 1 : k.stop], axis=0) for k in cone.blocks]
    return np.min(depths, axis=0) if depths else np.full(s.shape[1], np.inf)


def products(iterates: Iterable[Any], betas: Sequence[float]) -> Picture:
    """Draw s_1 z_1 and s_2 z_2 of the iterates of a program with two inequalities, and neighbourhoods of the path.

    Shaded: ||s o z - mu e|| <= beta mu for one or two betas below sqrt(2).
    """
    w = np.array([it.s * it.z for it in iterates])
    if w.shape[1] != 2:
        raise socp.ProgramError(f"the picture is of two products, but {w.shape[1]} came")
    picture = Picture(4.8, 4.4)
    axes = picture.subplots()
    mu = np.array([0.3 * w.min(), 3.0 * w.max()])
    for alpha, beta in zip((0.15, 0.35), sorted(betas, reverse=True)):
        ratio = (1.0 + beta / np.sqrt(2.0)) / (1.0 - beta / np.sqrt(2.0))
        axes.fill_between(mu, mu / ratio, mu * ratio, color=BLUE, alpha=alpha, lw=0, label=f"$N({beta:g})$")
    axes.plot(mu, mu, color=GREEN, lw=1.5, label="central path")
    axes.plot(*w.T, color=ORANGE, marker="o", ms=3.5, lw=0.8, label="iterates")
    axes.set(xscale="log", yscale="log", xlim=mu, ylim=mu, xlabel="$s_1 z_1$", ylabel="$s_2 z_2$", aspect="equal")
    axes.legend(fontsize=8)
    return picture


# ---- classifiers in the plane


def classifier(model: Any, X: np.ndarray, y: np.ndarray, support: Any = None) -> Picture:
    """Draw the contours -1, 0 and 1 of a two-class model's `decision_function`, the samples and the support vectors."""
    picture = Picture(5.0, 4.2)
    axes = picture.subplots()
    window = _window(X)
    _samples(axes, X, y)
    x1, x2 = np.meshgrid(np.linspace(*window[:2], GRID), np.linspace(*window[2:], GRID))
    values = model.decision_function(np.column_stack([x1.ravel(), x2.ravel()])).reshape(x1.shape)
    axes.contour(x1, x2, values, levels=[-1.0, 0.0, 1.0], colors=[GREY, "black", GREY], linestyles=["--", "-", "--"])
    if support is not None:
        axes.scatter(X[support, 0], X[support, 1], s=90, facecolors="none", edgecolors="black", label="support vectors")
    axes.legend(fontsize=8)
    return picture


def discriminants(truth: Any, model: Any, X: np.ndarray, y: np.ndarray) -> Picture:
    """Draw Figure 4.6 of An Introduction to Statistical Learning: normal classes of one covariance, and samples.

    Left the ellipses with 95 % of each class's probability and the boundaries of Bayes' rule, right samples with the
    boundaries of a fitted model and, dashed, Bayes' rule once more.

    Parameters
    ----------
    truth, model : LinearDiscriminant
        Models with the true parameters of the classes (fitted to very many samples), and fitted to X and y.
    X : array, shape (samples, 2)
    y : array, shape (samples,)
        Class numbers 0, 1, ...
    """
    picture = Picture(9.0, 4.2)
    axes: tuple[Axes, Axes] = picture.subplots(1, 2, sharex=True, sharey=True)
    root = np.linalg.cholesky(truth.covariance_).T
    radius = float(np.sqrt(-2.0 * np.log(0.05)))  # 95 % quantile of the chi distribution with two degrees of freedom
    for mean, colour in zip(truth.means_, COLOURS):
        axes[0].plot(*ellipse(mean, root, radius).T, color=colour)
    for k, (colour, marker) in enumerate(zip(COLOURS, ("o", "s", "^"))):
        axes[1].plot(*X[y == k].T, marker, color=colour, ms=4.0, fillstyle="none", ls="", label=f"class {k}")
    window = _window(np.vstack([X, *(ellipse(mean, root, radius) for mean in truth.means_)]))
    x1, x2 = np.meshgrid(np.linspace(*window[:2], GRID), np.linspace(*window[2:], GRID))
    points = np.column_stack([x1.ravel(), x2.ravel()])
    for rule, panels, style in ((truth, axes, "--"), (model, axes[1:], "-")):
        logs = rule.predict_log_proba(points)
        for k, other in combinations(range(logs.shape[1]), 2):  # a boundary per pair, where no third class is likelier
            ahead = np.ma.masked_array(logs[:, k] - logs[:, other], logs[:, [k, other]].max(axis=1) < logs.max(axis=1))
            for panel in panels:
                panel.contour(x1, x2, ahead.reshape(x1.shape), levels=[0.0], colors="black", linestyles=style)
    axes[0].set_title("95 % of each class, Bayes' rule dashed")
    axes[1].set_title("samples, linear discriminant analysis")
    axes[1].legend(fontsize=8)
    return picture


def losses() -> Picture:
    """Draw the losses of classifiers as functions of y f(x): 0-1, perceptron, hinge, squared hinge, logistic."""
    picture = Picture(5.4, 4.0)
    axes = picture.subplots()
    m = np.linspace(-2.5, 2.5, 501)
    named = {
        "0-1": (m <= 0.0).astype(float),
        "perceptron, max(0, -m)": np.maximum(0.0, -m),
        "hinge, max(0, 1 - m)": np.maximum(0.0, 1.0 - m),
        "squared hinge": np.maximum(0.0, 1.0 - m) ** 2,
        "logistic, log2(1 + exp(-m))": np.logaddexp(0.0, -m) / np.log(2.0),
    }
    for (name, values), style in zip(named.items(), cycle(("-", "--", "-.", ":", (0, (5, 1))))):
        axes.plot(m, values, ls=style, label=name)
    axes.set(xlabel="m = y f(x)", ylabel="loss", ylim=(-0.1, 4.0))
    axes.legend(fontsize=8)
    return picture


def alternation(model: BilevelClassifier, X: Any, y: Any) -> Picture:
    """Draw the rounds of a fitted bilevel classifier in the plane, as in Figure 4.1 of its paper.

    Samples are diamonds and squares.  Shaded: the sets that the prior allows, ||Omega_i^(-1/2) (mu - t_i)|| <= phi.
    Ellipses: ||Sigma_i^(-1/2) (x - mu_i)|| <= beta, which must lie on its side of the hyperplane for (4.20) and (4.21)
    to hold with zeta = 0.  The panels: before the first round; after step 1 of round 1; after its step 2; after
    the last round.
    """
    X, prior, trace = np.asarray(X, np.float64), model.prior_, model.trace_
    if X.shape[1] != 2:
        raise socp.ProgramError(f"the plane has two features, but X has {X.shape[1]}")
    panels: list[tuple[str, np.ndarray, Any]] = [
        ("samples and prior", prior.t, None),
        ("round 1, step 1", prior.t, trace[0]),
        ("round 1, step 2", trace[0].mu, trace[0]),
        (f"round {len(trace)}, step 2, the last", trace[-1].mu, trace[-1]),
    ]
    picture = Picture(7.6, 6.6)
    grid = picture.subplots(2, 2, sharex=True, sharey=True)
    regions = [ellipse(prior.t[i], prior.Omega[i].root_matrix().toarray(), model.phi) for i in (0, 1)]
    spreads = [ellipse(mu[i], prior.Sigma[i].root_matrix().toarray(), model.beta)
               for _, mu, _ in panels for i in (0, 1)]  # fmt: skip
    window = _window(np.vstack([X, *regions, *spreads]))
    for axes, (title, mu, found) in zip(grid.ravel(), panels):
        _samples(axes, X, y)
        for i, colour in enumerate((BLUE, ORANGE)):
            axes.fill(*regions[i].T, color=colour, alpha=0.2, lw=0)
            spread = ellipse(mu[i], prior.Sigma[i].root_matrix().toarray(), model.beta)
            axes.plot(*spread.T, color=colour, lw=1.0, label=f"spread {i + 1}")
            axes.plot(*mu[i], marker="+", color=colour, ms=9, ls="", label=f"mean {i + 1}")
        if found is not None:
            axes.plot(*hyperplane(found.w, found.b, window), color="black", label="hyperplane")
        axes.set(xlim=window[:2], ylim=window[2:], aspect="equal")
        axes.set_title(title, fontsize=10)
    return picture


def hyperplane(w: np.ndarray, b: float, window: tuple[float, float, float, float]) -> np.ndarray:
    """Return two points of the line w'x + b = 0 that span the window, shape (2, 2), one row per coordinate."""
    squared = float(w @ w)
    middle = np.array([0.5 * (window[0] + window[1]), 0.5 * (window[2] + window[3])])
    foot = middle - (w @ middle + b) / squared * w
    reach = np.hypot(window[1] - window[0], window[3] - window[2])
    along = reach * np.array([-w[1], w[0]]) / np.sqrt(squared)
    return np.column_stack([foot - along, foot + along])


def _samples(axes: Axes, X: np.ndarray, y: Any) -> None:
    y = np.asarray(y)
    for label, colour, marker in zip(np.unique(y), (BLUE, ORANGE), ("D", "s")):
        axes.scatter(X[y == label, 0], X[y == label, 1], color=colour, marker=marker, s=16, label=f"class {label}")


def _window(X: np.ndarray) -> tuple[float, float, float, float]:
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.15 * (high - low) + 1e-9
    return float(low[0] - room[0]), float(high[0] + room[0]), float(low[1] - room[1]), float(high[1] + room[1])
