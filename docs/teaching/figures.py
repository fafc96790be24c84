"""The figures of the interactive article as functions: each solves a program of two variables and draws it.

    minimize 1/2 x'Px + c'x   subject to   Gx + s = h,  s in K

All return a `Picture`.  If multipliers are drawn one by one, K is an orthant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import cycle, pairwise

import numpy as np
from matplotlib.axes import Axes

import socp
from socp.textbook import Cone, Iterate, Method, Switches, solve
from socp.textbook.switches import dense

from . import barrier, pictures
from .neighbourhoods import direction
from .pictures import BLUE, GREEN, GREY, ORANGE, Picture

Window = tuple[float, float, float, float]
WINDOW: Window = (-2.6, 2.6, -2.6, 2.6)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LAST_MU = 1e-7  # mu at which `follow` ends
WITHOUT_EMBEDDING = Switches(embedding=False)
TOL = 1e-9  # tolerance of `walk` and `corners`, relative to the data


def _rows(program: socp.ConeProgram) -> np.ndarray:
    """Return G of a program in the plane; raise ProgramError unless its cones are orthants."""
    if program.n != 2 or program.p or any(not isinstance(cone, socp.NonNeg) for cone in program.cones):
        raise socp.ProgramError("the figure is of two variables and linear inequalities")
    return dense(program)[2]


def _beside(picture: Picture) -> Axes:
    """Add axes to the right of the picture's first axes, and return them."""
    grid = picture.add_gridspec(1, 2)
    picture.axes[0].set_subplotspec(grid[0])
    picture.set_size_inches(9.6, 4.2)
    return picture.add_subplot(grid[1])


# ---- the path


def central_path(program: socp.ConeProgram, mu: float, window: Window = WINDOW) -> Picture:
    """Draw the central path down to mu, and to its right each constraint's slack and multiplier, s_i z_i = mu."""
    G = _rows(program)
    path = barrier.central_path(program, np.geomspace(max(100.0, mu), mu, 40))
    s = program.h - G @ path[-1]
    picture = pictures.plane(program, window, path, {rf"$\mu$ = {mu:g}": path[-1:]})
    axes, rows = _beside(picture), np.arange(s.size)
    axes.hlines(rows, np.minimum(s, mu / s), np.maximum(s, mu / s), color=GREY)
    axes.plot(s, rows, "o", color=BLUE, label="slack $s$")
    axes.plot(mu / s, rows, "s", color=ORANGE, label="multiplier $z$")
    axes.axvline(np.sqrt(mu), color=GREEN, ls="--", label=r"$\sqrt{\mu}$")
    axes.set(xscale="log", title=f"gap $s'z$ = {s.size * mu:.3g}")
    axes.set_yticks(rows, LETTERS[: s.size])
    axes.invert_yaxis()
    axes.legend(fontsize=8)
    return picture


def forces(program: socp.ConeProgram, mu: float, window: Window = WINDOW) -> Picture:
    """Draw the point of the path for mu with the forces on it: -c, and -mu g_i / s_i of each row, whose sum is zero."""
    G = _rows(program)
    path = barrier.central_path(program, np.geomspace(max(100.0, mu), mu, 40))
    x = path[-1]
    pushes = -mu * G / (program.h - G @ x)[:, None]
    picture = pictures.plane(program, window, path, {rf"$\mu$ = {mu:g}": path[-1:]})
    axes = picture.axes[0]
    size = 0.35 * min(window[1] - window[0], window[3] - window[2]) / np.linalg.norm(program.c)
    for push, color in ((-program.c, ORANGE), *((push, BLUE) for push in pushes)):
        axes.annotate("", x + size * push, x, arrowprops={"arrowstyle": "->", "color": color, "lw": 1.6})
    axes.set(title=r"$-c$ (orange) and $-\mu g_i / s_i$ (blue)")
    return picture


def bowl(program: socp.ConeProgram, mu: float, rays: int = 48, rings: int = 14) -> Picture:
    """Draw the graph of c'x - mu sum log s_i over the polygon, and its lowest point."""
    G = _rows(program)
    lowest, middle = barrier.central_path(program, [mu])[0], barrier.central_path(program, [1e3])[0]
    angle = np.linspace(0.0, 2.0 * np.pi, rays + 1)
    d = np.array([np.cos(angle), np.sin(angle)])
    room = (program.h - G @ middle)[:, None] / np.maximum(G @ d, 1e-12)  # distance to each edge along each ray
    reach = room.min(axis=0) * (1.0 - (1.0 - np.linspace(0.0, 1.0, rings)[:, None]) ** 1.8) * 0.995
    x1, x2 = middle[0] + reach * d[0], middle[1] + reach * d[1]

    def value(x: np.ndarray) -> np.ndarray:
        return program.c @ x - mu * np.log(np.maximum(program.h[:, None] - G @ x, 1e-12)).sum(axis=0)

    bottom = value(lowest[:, None])[0]
    height = value(np.array([x1.ravel(), x2.ravel()])).reshape(x1.shape) - bottom
    spread = np.ptp(program.c @ np.array([x1.ravel(), x2.ravel()]))
    picture = Picture(5.4, 4.6)
    axes = picture.add_subplot(projection="3d")
    axes.plot_surface(x1, x2, np.minimum(height, 1.25 * spread), cmap="Blues_r", alpha=0.8, lw=0.2, edgecolor="white")
    axes.scatter(*lowest, 0.0, color=ORANGE, s=40, depthshade=False)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", title=rf"$c'x - \mu \sum \log s_i$ above its minimum, $\mu$ = {mu:g}")
    return picture


# ---- steps and products


def start_at(program: socp.ConeProgram, x: np.ndarray) -> Iterate:
    """Return the iterate with the given strictly feasible x and the multipliers of the central path for mu = 1.

    Raises
    ------
    socp.ProgramError
        The point x is not strictly feasible.
    """
    s = program.h - _rows(program) @ x
    if not (s > 0.0).all():
        raise socp.ProgramError(f"x must be strictly feasible, but the smallest entry of h - Gx is {s.min():g}")
    return replace(barrier.on_the_path(program, 1.0), x=np.asarray(x, dtype=float), s=s, kappa=0.0)


def follow(program: socp.ConeProgram, it: Iterate, switches: Switches = WITHOUT_EMBEDDING) -> Iterator[Iterate]:
    """Yield the iterates of the textbook's method without the embedding, from a feasible point until mu <= 1e-7."""
    method = Method(program, replace(switches, embedding=False))
    yield it
    while method.mu(it) > LAST_MU:
        it = method.step(it)
        if not (method.is_inside(it) and it.alpha > 1e-8):
            return
        yield it


def step_parts(program: socp.ConeProgram, start: Iterate, k: int, window: Window = WINDOW) -> Picture:
    """Draw step k of Mehrotra's method: affine direction, centering and corrector, whose sum is the direction taken.

    To the right are the slacks and multipliers along the affine direction, each relative to its value: the first to
    reach zero meets the boundary, at alpha, and sigma = (1 - alpha)^3.
    """
    trace = list(follow(program, start))
    it = trace[min(k, len(trace) - 1)]
    affine = direction(program, it, 0.0)
    ratio = np.concatenate([affine.s / it.s, affine.z / it.z])
    alpha = min(1.0, -1.0 / ratio.min()) if ratio.min() < 0.0 else 1.0
    sigma, mu = (1.0 - alpha) ** 3, it.s @ it.z / it.s.size
    combined = direction(program, it, sigma - affine.s * affine.z / mu)
    tips = [it.x, *(it.x + d.x for d in (affine, direction(program, it, sigma), combined))]
    picture = pictures.plane(program, window, iterates=np.array([point.x for point in trace]))
    for (tail, tip), name, color in zip(
        pairwise(tips), ("affine", "centering", "corrector"), (ORANGE, GREEN, "tab:purple")
    ):
        picture.axes[0].annotate("", tip, tail, arrowprops={"arrowstyle": "->", "color": color, "lw": 2.0})
        picture.axes[0].plot([], [], color=color, label=name)
    picture.axes[0].legend(fontsize=8)
    axes, along = _beside(picture), np.array([0.0, 1.2])
    for i, by in enumerate(ratio):
        slack = i < it.s.size
        name = f"{'s' if slack else 'z'} of {LETTERS[i % it.s.size]}"
        axes.plot(along, 1.0 + along * by, color=BLUE if slack else ORANGE, ls="-" if slack else "--", label=name)
    axes.axhline(0.0, color="black", lw=0.8)
    axes.axvline(alpha, color=GREY, lw=0.8)
    axes.set(xlabel=r"$\alpha$", ylabel="share that is left", ylim=(-0.25, 2.0))
    axes.set_title(rf"$\alpha$ = {alpha:.3g}, $\sigma$ = {sigma:.2g}")
    axes.legend(fontsize=8)
    return picture


def neighbourhoods(
    program: socp.ConeProgram,
    start: Iterate,
    beta: float = 0.5,
    gamma: float = 0.1,
    switches: Switches = WITHOUT_EMBEDDING,
) -> Picture:
    """Draw the three products w = s o z / mu of the iterates, in the triangle w_1 + w_2 + w_3 = 3, w >= 0.

    Shaded: ||w - e|| <= beta, a disc, and w_i >= gamma, a triangle.
    """
    if program.m != 3:
        raise socp.ProgramError(f"the picture is of three products, but {program.m} came")
    angle = np.pi / 2.0 - 2.0 * np.pi * np.arange(3) / 3.0
    corners = np.sqrt(6.0) * np.column_stack([np.cos(angle), np.sin(angle)])  # |3 e_i - e| = sqrt(6)
    w = np.array([it.s * it.z for it in follow(program, start, switches)])
    points = w / w.sum(axis=1, keepdims=True) @ corners
    picture = Picture(4.8, 4.4)
    axes = picture.subplots()
    axes.fill(*corners.T, facecolor="none", edgecolor="black")
    axes.fill(*((1.0 - gamma) * corners).T, color=BLUE, alpha=0.15, lw=0, label=rf"$s_i z_i \geq$ {gamma:g} $\mu$")
    circle = pictures.ellipse(np.zeros(2), np.eye(2), beta)
    axes.fill(*circle.T, color=BLUE, alpha=0.35, lw=0, label=rf"$\|s \circ z - \mu e\| \leq$ {beta:g} $\mu$")
    axes.plot(0.0, 0.0, "x", color=GREEN, label="central path")
    axes.plot(*points.T, color=ORANGE, marker="o", ms=4.0, lw=0.8, label="iterates")
    for letter, corner in zip(LETTERS, corners):
        axes.annotate(letter, 1.06 * corner, ha="center", va="center")
    axes.set(aspect="equal")
    axes.set_axis_off()
    axes.legend(fontsize=8, loc="upper left")
    return picture


def without(program: socp.ConeProgram, part: str, switches: Switches | None = None) -> Picture:
    """Draw the largest residual of every iterate, with a part of the method and without it.

    Examples
    --------
    >>> program = socp.ConeProgram(c=[1.0], G=[[-1.0], [1.0]], h=[0.0, 1.0], cones=[socp.NonNeg(2)])
    >>> picture = without(program, "corrector")
    >>> [line.get_label().split(":")[0] for line in picture.axes[0].lines]
    ['with the corrector', 'without']
    """
    names = [field.name for field in fields(Switches)]
    if part not in names:
        raise ValueError(f"part must be one of {', '.join(names)}, got {part!r}")
    traces = {}
    for name, on in ((f"with the {part}", True), ("without", False)):
        solution = solve(program, switches=replace(switches or Switches(), **{part: on}))
        traces[f"{name}: {solution.status.value.replace('_', ' ')}"] = solution.trace
    return pictures.convergence(traces, ["error"])


# ---- the dual, the scaling


def dual_plane(program: socp.ConeProgram) -> tuple[np.ndarray, np.ndarray]:
    """Return (z0, N) with {z: G'z = -c} = {z0 + N u: u in the plane} and N'N = I, of a program with four inequalities.

    Examples
    --------
    >>> G = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    >>> program = socp.ConeProgram(c=[-1.0, -2.0], G=G, h=[1.0] * 4, cones=[socp.NonNeg(4)])
    >>> z0, N = dual_plane(program)
    >>> print(z0.round(6), abs(N.T @ G).max() < 1e-12)
    [ 0.5  1.  -0.5 -1. ] True
    """
    G = _rows(program)
    if program.m != 4:
        raise socp.ProgramError(f"the dual is in a plane for four inequalities, but {program.m} came")
    return np.linalg.lstsq(G.T, -program.c, rcond=None)[0], np.linalg.svd(G.T)[2][2:].T


def dual(program: socp.ConeProgram, mu: float, window: Window = WINDOW) -> Picture:
    """Draw the primal polygon and the dual feasible set {z >= 0: G'z = -c}, with their central paths down to mu."""
    z0, N = dual_plane(program)
    mus = np.geomspace(max(10.0, mu), mu, 40)
    path = barrier.central_path(program, mus)
    multipliers = mus[:, None] / (program.h - path @ _rows(program).T)
    points = multipliers @ N
    gap = program.m * mu
    picture = pictures.plane(program, window, path, {f"gap {gap:.3g}": path[-1:]})
    axes, last = _beside(picture), points[-1]
    reach = 1.25 * max(0.3, np.linalg.norm(points[mus <= 1.0] - last, axis=1).max(initial=0.0))
    u1, u2 = np.meshgrid(*(np.linspace(v - reach, v + reach, pictures.GRID) for v in last))
    z = z0[:, None] + N @ np.array([u1.ravel(), u2.ravel()])
    axes.contourf(u1, u2, z.min(axis=0).reshape(u1.shape), levels=[0.0, np.inf], colors=["#dde8f4"])
    for letter, row, color in zip(LETTERS, z, cycle((BLUE, ORANGE, "tab:purple", "black"))):
        axes.contour(u1, u2, row.reshape(u1.shape), levels=[0.0], colors=[color], linewidths=1.2)
        axes.plot([], [], color=color, label=f"z of {letter} = 0")
    axes.plot(*points.T, color=GREEN, lw=1.5)
    axes.plot(*last, "o", color=ORANGE)
    axes.set(xlim=last[0] + reach * np.array([-1, 1]), ylim=last[1] + reach * np.array([-1, 1]), aspect="equal")
    axes.legend(fontsize=8)
    return picture


def scaling(cone: socp.NonNeg | socp.SecondOrder, s: np.ndarray, z: np.ndarray) -> Picture:
    """Draw W^-t s and W^t z for t = 0, 1/2, 1 in a cone of dimension 2, with the images of one ball about lambda."""
    if cone.dim != 2:
        raise ValueError(f"the cone must have dimension 2, got {cone.dim}")
    K = Cone([cone])
    if min(K.depth(s), K.depth(z)) <= 0.0:
        raise ValueError("s and z must be inside the cone")
    values, Q = np.linalg.eigh(K.scaling(s, z)[0])
    radius = K.depth(Q * values @ Q.T @ z) / (1.0 if isinstance(cone, socp.NonNeg) else np.sqrt(2.0))
    edges = np.array([[4.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    if isinstance(cone, socp.SecondOrder):
        edges = np.array([[4.0, 4.0], [0.0, 0.0], [4.0, -4.0]])
    picture = Picture(9.6, 3.6)
    for axes, t in zip(picture.subplots(1, 3), (0.0, 0.5, 1.0)):
        axes.plot(*edges.T, color="black", lw=1.0)
        for point, sign, color, name in ((s, -1.0, BLUE, "$W^{-t} s$"), (z, 1.0, ORANGE, "$W^t z$")):
            centre = Q * values ** (sign * t) @ Q.T @ point
            ball = Q * values ** (sign * (t - 1.0)) @ Q.T  # maps the ball about lambda = W^-1 s = W z (t = 1)
            axes.plot(*pictures.ellipse(centre, ball, radius).T, color=color, ls="-" if sign < 0.0 else "--")
            axes.plot(*centre, "o", color=color, label=name)
        axes.set(aspect="equal", title=f"t = {t:g}")
    picture.axes[0].legend(fontsize=8)
    return picture


# ---- walks, and the embedding


def walk(program: socp.ConeProgram, x: np.ndarray, active: list[int] | None = None) -> list[np.ndarray]:
    """Return the points of a primal active-set method from a feasible `x`, for P = curvature I.

    From a corner with its two rows `active` and P = 0 this is the simplex method.

    Examples
    --------
    >>> G = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    >>> program = socp.ConeProgram(c=[-1.0, -2.0], G=G, h=[1.0] * 4, cones=[socp.NonNeg(4)])
    >>> [[float(v) for v in x] for x in walk(program, np.array([-1.0, -1.0]), [2, 3])]
    [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    G, h, c, curvature = _rows(program), program.h, program.c, dense(program)[0][0, 0]
    points, active = [x], list(active or [])
    for _ in range(20 * program.m):
        gradient = c + curvature * x
        null = np.linalg.svd(G[active])[2][len(active) :] if active else np.eye(2)
        d = -null.T @ (null @ gradient) / (curvature or 1.0)
        if np.linalg.norm(d) * (curvature or 1.0) <= TOL * (1.0 + np.linalg.norm(c)):  # the minimum on the face
            prices = np.linalg.lstsq(G[active].T, -gradient, rcond=None)[0] if active else np.zeros(0)
            if prices.min(initial=0.0) >= -TOL * (1.0 + np.linalg.norm(c)):
                break
            del active[int(prices.argmin())]
            continue
        by = G @ d
        meets = by > TOL * np.linalg.norm(d)
        meets[active] = False
        room = np.full(h.size, np.inf)
        room[meets] = np.maximum(0.0, h - G @ x)[meets] / by[meets]
        first, longest = int(room.argmin()), 1.0 if curvature else np.inf
        if min(room[first], longest) == np.inf:
            break  # unbounded
        if room[first] < longest:
            active.append(first)
        x = x + min(room[first], longest) * d
        points.append(x)
    return points


def corners(program: socp.ConeProgram) -> list[tuple[np.ndarray, list[int]]]:
    """Return the corners of the polygon {x: Gx <= h}, counterclockwise, each with two of its active rows."""
    G, h, found = _rows(program), program.h, []
    for i in range(h.size):
        for j in range(i):
            pair = [j, i]
            if abs(np.linalg.det(G[pair])) > 1e-12:
                x = np.linalg.solve(G[pair], h[pair])
                if (G @ x <= h + TOL * (1.0 + np.abs(h))).all():
                    found.append((x, pair))
    middle = np.mean([x for x, _ in found], axis=0)
    return sorted(found, key=lambda corner: float(np.arctan2(*(corner[0] - middle)[::-1])))


def walks(program: socp.ConeProgram, window: Window = WINDOW) -> Picture:
    """Draw simplex (if P = 0), active-set and interior-point iterates on a polygon, and the objective over the minimum.

    The simplex method starts in the corner with the largest c'x, the active set near a corner a quarter of the way
    round the polygon.
    """
    P, _, _ = dense(program)
    around = corners(program)
    worst = max(range(len(around)), key=lambda k: program.c @ around[k][0])
    far, rows = around[worst]
    aside, middle = around[(worst + -(-len(around) // 4)) % len(around)][0], np.mean([x for x, _ in around], axis=0)
    ways = {} if P.any() else {"simplex": np.array(walk(program, far, rows))}
    ways["active set"] = np.array(walk(program, middle + 0.97 * (aside - middle)))
    ways["interior point"] = pictures.points(solve(program).trace)
    picture = pictures.plane(program, window, iterates=ways)
    axes = _beside(picture)
    values = {name: 0.5 * np.sum(x * (x @ P), axis=1) + x @ program.c for name, x in ways.items()}
    least = values["active set"][-1]
    for (name, value), style in zip(values.items(), pictures.STYLES):
        axes.plot(np.abs(value - least), label=f"{name}: {value.size - 1} steps", **style)
    axes.set(xlabel="step", ylabel="objective above its minimum")
    axes.legend(fontsize=8)
    return picture


def embedding(program: socp.ConeProgram, window: Window = WINDOW) -> Picture:
    """Draw the iterates in the plane, and tau against kappa: kappa falls if there is a solution, else tau."""
    solution = solve(program)
    picture = pictures.plane(program, window, iterates=pictures.points(solution.trace))
    axes = _beside(picture)
    tau, kappa = np.array([[it.tau, it.kappa] for it in solution.trace]).T
    axes.loglog(tau, kappa, color=ORANGE, marker="o", ms=4.0, lw=0.8)
    axes.set(xlabel=r"$\tau$", ylabel=r"$\kappa$", xlim=(1e-10, 10.0), ylim=(1e-10, 10.0), aspect="equal")
    axes.set_title(solution.status.value.replace("_", " "))
    return picture
