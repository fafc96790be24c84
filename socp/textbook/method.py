r"""The interior-point method as the books have it: dense NumPy, nothing clever, to be read beside `socp.solver`.

    minimize 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s in K      (dual variables: y of A, z in K of G)

With two more variables tau, kappa >= 0 the optimality conditions become homogeneous (Goulart and Chen, 2024):

    rx   = Px + A'y + G'z + c tau                 = 0         s, z in K,        s'z = 0
    ry   = Ax - b tau                             = 0         tau, kappa >= 0,  tau kappa = 0
    rz   = Gx + s - h tau                         = 0
    rtau = kappa + c'x + b'y + h'z + x'Px / tau   = 0

When tau > 0, (x, y, z, s) / tau is optimal; when tau = 0 and kappa > 0, (y, z) or x is a certificate of infeasibility.

K is a product of second-order cones {(u0, u1): ||u1|| <= u0}; an entry of an orthant is one of dimension 1.  Its Jordan
algebra (Alizadeh and Goldfarb, "Second-order cone programming", 2003) has in each factor the product
u o v = (u'v, u0 v1 + v0 u1), the unit e = (1, 0), the eigenvalues u0 +- ||u1||, and their product det(u).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..problem.checks import ProgramError
from ..problem.program import ConeProgram, NonNeg, SecondOrder
from ..problem.status import Status
from ..verify.stopping import INACCURATE_TOL
from .switches import ALL_OF_THE_BOOKS, Switches, Units, dense

LEAST_STEP = 0.1  # is not made shorter so that mu falls
STEP = 0.99  # the share of the way to the boundary of K
SIGMA = 0.1  # the centering of a step that is not predicted
REGULARIZATION = 1e-9  # relative to the largest entry of the data
REFINEMENTS = 3


@dataclass
class Iterate:
    """An iterate of the embedding, the step that led to it, and the relative residuals of (x, y, z, s) / tau."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    tau: float = 1.0
    kappa: float = 1.0
    sigma: float = np.nan
    alpha: float = np.nan
    mu: float = np.nan
    objective: float = np.nan
    dual_objective: float = np.nan
    primal_residual: float = np.nan
    dual_residual: float = np.nan
    gap: float = np.nan
    error: float = np.nan  # the largest of these three
    status: Status | None = None  # None: neither a solution nor a certificate
    scale: float = 1.0  # the solution or certificate is (x, y, z, s) / scale


@dataclass
class TextbookSolution:
    """The answer, with the conventions of `socp.Solution`; the trace is the list of iterates."""

    status: Status
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    objective: float
    dual_objective: float
    iterations: int
    trace: list[Iterate]


class Cone:
    """K as the slices of a vector that its factors take."""

    def __init__(self, cones: Sequence[NonNeg | SecondOrder]) -> None:
        sizes = [size for k in cones for size in ([1] * k.dim if isinstance(k, NonNeg) else [k.dim]) if size]
        ends = np.cumsum(sizes, dtype=int)
        self.blocks = [slice(end - size, end) for size, end in zip(sizes, ends)]
        self.dim, self.degree = sum(sizes), len(sizes)
        self.e = np.zeros(self.dim)
        self.e[[k.start for k in self.blocks]] = 1.0

    def depth(self, u: np.ndarray) -> float:
        """The smallest eigenvalue: positive in the interior of K, negative outside."""
        return min((u[k][0] - np.linalg.norm(u[k][1:]) for k in self.blocks), default=np.inf)

    def arrow(self, u: np.ndarray) -> np.ndarray:
        """The matrix of v -> u o v."""
        matrix = np.zeros((self.dim, self.dim))
        for k in self.blocks:
            matrix[k, k] = u[k][0] * np.eye(u[k].size)
            matrix[k.start, k] = matrix[k, k.start] = u[k]
        return matrix

    def longest_step(self, u: np.ndarray, du: np.ndarray) -> float:
        """The largest alpha with u + alpha du in K, for u inside: -1 / the smallest eigenvalue of du relative to u."""
        smallest = 0.0
        for k in self.blocks:
            root = np.sqrt(det(u[k]))
            unit, d = u[k] / root, du[k] / root
            d0 = unit[0] * d[0] - unit[1:] @ d[1:]
            d1 = d[1:] - (d0 + d[0]) / (1.0 + unit[0]) * unit[1:]
            smallest = min(smallest, d0 - np.linalg.norm(d1))
        return -1.0 / smallest if smallest < 0.0 else np.inf

    def scaling(self, s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Nesterov-Todd scaling, the W = W' of K onto itself with W z = W^-1 s, and its inverse."""
        W, W_inv = np.zeros((self.dim, self.dim)), np.zeros((self.dim, self.dim))
        for k in self.blocks:
            e = self.e[k]
            J = 2.0 * np.outer(e, e) - np.eye(e.size)
            root_s, root_z = np.sqrt(det(s[k])), np.sqrt(det(z[k]))
            w = s[k] / root_s + J @ z[k] / root_z
            w /= np.sqrt(det(w))
            V = np.outer(w + e, w + e) / (1.0 + w[0]) - J
            W[k, k] = np.sqrt(root_s / root_z) * V
            W_inv[k, k] = np.sqrt(root_z / root_s) * (J @ V @ J)
        return W, W_inv


def det(u: np.ndarray) -> float:
    """The product of the eigenvalues."""
    tail = np.linalg.norm(u[1:])
    return (u[0] - tail) * (u[0] + tail)


def norm(v: np.ndarray) -> float:
    """The largest absolute entry."""
    return float(np.abs(v).max(initial=0.0))


class Method:
    """The data of a program as dense arrays, and the parts of the algorithm."""

    def __init__(self, program: ConeProgram, switches: Switches = ALL_OF_THE_BOOKS) -> None:
        if not np.isfinite(program.h).all():
            raise ProgramError("h must be finite here: leave out the rows that always hold")
        self.P, self.A, self.G = dense(program)
        self.b, self.h, self.c = program.b, program.h, program.c
        self.ends = [program.n, program.n + program.p]  # of x and of y in (x, y, z)
        smallest = np.linalg.eigvalsh(self.P).min(initial=0.0)
        if smallest < -1e-10 * norm(self.P):
            raise ProgramError(f"P must be positive semidefinite, but it has the eigenvalue {smallest:g}")
        self.cone, self.switches = Cone(program.cones), switches

    def kkt_solver(self, W_inv: np.ndarray, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Solve with the KKT matrix, in the scaled variable W z; the block is I when W is the scaling.

            [ P        A'   (W^-1 G)' ] [ x   ]
            [ A        0     0        ] [ y   ]
            [ W^-1 G   0    -block    ] [ W z ]

        Redundant equations and directions without curvature make it singular, if consistent.  So a matrix with
        a little more on its diagonal is factored, and its error removed by iterative refinement.
        """
        n, p, m = self.c.size, self.b.size, self.h.size
        G = W_inv @ self.G
        K = np.block([[self.P, self.A.T, G.T], [self.A, np.zeros((p, p + m))], [G, np.zeros((m, p)), -block]])
        little = REGULARIZATION * max(1.0, norm(self.P), norm(self.A), norm(self.G)) * self.switches.regularization
        with warnings.catch_warnings():  # of a singular matrix: then u is not finite, which `iterates` notices
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            factors = scipy.linalg.lu_factor(
                K + little * np.diag(np.repeat([1.0, -1.0], [n, p + m])), check_finite=False
            )

        def solve(rhs: np.ndarray) -> np.ndarray:
            u = np.zeros(rhs.size)
            for _ in range(1 + REFINEMENTS * self.switches.refinement):
                u += scipy.linalg.lu_solve(factors, rhs - K @ u, check_finite=False)
            return u

        return solve

    def start(self) -> Iterate:
        """The solution when 1/2 ||s||^2 in the objective stands for the cone; then s = -z and z, moved inside."""
        identity = np.eye(self.cone.dim)
        u = self.kkt_solver(identity, identity)(np.concatenate([-self.c, self.b, self.h]))
        x, y, z = np.split(u if np.isfinite(u).all() else np.zeros(u.size), self.ends)
        s, z = (v if self.cone.depth(v) > 1e-8 else v + (1.0 - self.cone.depth(v)) * self.cone.e for v in (-z, z))
        return Iterate(x, y, z, s, kappa=1.0 if self.switches.embedding else 0.0)

    def mu(self, it: Iterate) -> float:
        """The mean of the products that are to become zero."""
        return (it.s @ it.z + it.tau * it.kappa) / max(self.cone.degree + self.switches.embedding, 1)

    def judge(self, it: Iterate, tol: float) -> None:
        """Fill in mu, objectives and residuals, and what the stopping tests say."""
        P, A, G, b, c, h = self.P, self.A, self.G, self.b, self.c, self.h
        it.mu = self.mu(it)
        x, y, z, s = (v / it.tau for v in (it.x, it.y, it.z, it.s))
        it.objective = float(0.5 * x @ P @ x + c @ x)
        it.dual_objective = float(-0.5 * x @ P @ x - b @ y - h @ z)
        rows, cone = norm(A @ x - b) / (1.0 + max(norm(b), norm(A @ x))), norm(G @ x + s - h)
        it.primal_residual = max(rows, cone / (1.0 + max(norm(h), norm(G @ x))))
        it.dual_residual = norm(P @ x + c + A.T @ y + G.T @ z) / (1.0 + max(norm(P @ x), norm(c)))
        it.gap = abs(it.objective - it.dual_objective) / (1.0 + max(abs(it.objective), abs(it.dual_objective)))
        it.error, it.scale = max(it.primal_residual, it.dual_residual, it.gap), it.tau

        # a ray must be near zero both as it is, scaled to slope -1, and beside the terms that cancel in it
        y_slope, x_slope = -(b @ it.y + h @ it.z), -(c @ it.x)
        y_ray, y_size = norm(A.T @ it.y + G.T @ it.z), norm(A) * norm(it.y) + norm(G) * norm(it.z)
        x_rays = [norm(P @ it.x), norm(A @ it.x), -self.cone.depth(-G @ it.x)]
        x_sizes = [norm(data) * norm(it.x) for data in (P, A, G)]
        if it.error <= tol:
            it.status = Status.OPTIMAL
        elif y_slope > 0 and y_ray <= tol * min(y_slope, y_size):
            it.status, it.scale = Status.PRIMAL_INFEASIBLE, y_slope
        elif x_slope > 0 and all(ray <= tol * min(x_slope, size) for ray, size in zip(x_rays, x_sizes)):
            it.status, it.scale = Status.DUAL_INFEASIBLE, x_slope

    def step(self, it: Iterate) -> Iterate:
        """Mehrotra's predictor-corrector step.

        A direction solves the linearized embedding with right-hand side -(1 - sigma) (rx, ry, rz, rtau), and

            lam o (W dz + W^-1 ds) = ds_rhs,   kappa dtau + tau dkappa = dk_rhs,   where lam = W z = W^-1 s.

        Without ds and dkappa, these are two solves with the KKT matrix: u1 for the right-hand side
        -(1 - sigma) (rx, ry, W^-1 rz) - (0, 0, lam \\ ds_rhs), u2 for (-c, b, W^-1 h).  The direction is
        u1 + dtau u2, with dtau from the last equation.

        (With another W than the scaling, the first equation is  z o (W^-1 ds) + s o (W dz) = ds_rhs  for the scaled
        points W^-1 s and W z, and leaves the block  z \\ (s o .)  in the KKT matrix.)
        """
        P, cone, on, tau, kappa, mu = self.P, self.cone, self.switches, it.tau, it.kappa, self.mu(it)
        W, W_inv, s, z = np.eye(cone.dim), np.eye(cone.dim), it.s, it.z
        if on.scaling:
            W, W_inv = cone.scaling(it.s, it.z)
            s = z = W @ it.z  # lam
        S, Z = cone.arrow(s), cone.arrow(z)
        block = np.eye(cone.dim) if on.scaling else np.linalg.solve(Z, S)
        solve = self.kkt_solver(W_inv, block)

        rx = P @ it.x + self.A.T @ it.y + self.G.T @ it.z + self.c * tau
        ry = self.A @ it.x - self.b * tau
        rz = self.G @ it.x + it.s - self.h * tau
        rtau = kappa + self.c @ it.x + self.b @ it.y + self.h @ it.z + it.x @ P @ it.x / tau
        r = np.concatenate([rx, ry, W_inv @ rz])
        xi = it.x / tau
        gradient = np.concatenate([self.c + 2.0 * P @ xi, self.b, W_inv @ self.h])  # of rtau
        u2 = solve(np.concatenate([-self.c, self.b, W_inv @ self.h]))

        def direction(sigma: float, ds_rhs: np.ndarray, dk_rhs: float) -> tuple:
            shift = np.linalg.solve(Z, ds_rhs)
            u1 = solve(-(1.0 - sigma) * r - np.concatenate([0.0 * rx, 0.0 * ry, shift]))
            dtau = dkappa = 0.0
            if on.embedding:
                dtau = (1.0 - sigma) * rtau + dk_rhs / tau + gradient @ u1
                dtau /= kappa / tau + xi @ P @ xi - gradient @ u2
                dkappa = (dk_rhs - kappa * dtau) / tau
            dx, dy, W_dz = np.split(u1 + dtau * u2, self.ends)
            W_inv_ds = shift - block @ W_dz
            alpha = min(cone.longest_step(z, W_dz), cone.longest_step(s, W_inv_ds))
            alpha = min([alpha] + [-v / dv for v, dv in ((tau, dtau), (kappa, dkappa)) if dv < 0])
            return dx, dy, W_dz, W_inv_ds, dtau, dkappa, alpha

        sigma, ds_second, dk_second = SIGMA, 0.0 * s, 0.0
        if on.predictor:
            _, _, W_dz, W_inv_ds, dtau, dkappa, alpha = direction(0.0, -S @ z, -tau * kappa)
            sigma = (1.0 - min(1.0, alpha)) ** 3
            if on.corrector:
                ds_second, dk_second = cone.arrow(W_inv_ds) @ W_dz, dtau * dkappa
        sigma = sigma if on.centrality else 0.0
        ds_rhs, dk_rhs = sigma * mu * cone.e - S @ z - ds_second, sigma * mu - tau * kappa - dk_second
        dx, dy, W_dz, W_inv_ds, dtau, dkappa, alpha = direction(sigma, ds_rhs, dk_rhs)
        alpha = min(1.0, STEP * alpha, max(LEAST_STEP, self.descent_limit(s, z, W_dz, W_inv_ds, it, dtau, dkappa)))
        return Iterate(
            it.x + alpha * dx, it.y + alpha * dy, it.z + alpha * W_inv @ W_dz, it.s + alpha * W @ W_inv_ds,
            tau + alpha * dtau, kappa + alpha * dkappa, sigma=sigma, alpha=alpha,
        )  # fmt: skip

    def descent_limit(
        self, s: np.ndarray, z: np.ndarray, dz: np.ndarray, ds: np.ndarray, it: Iterate, dtau: float, dkappa: float
    ) -> float:
        """The step at which mu is smallest: s'z + tau kappa is quadratic in it, where P adds a positive curvature."""
        slope = s @ dz + z @ ds + it.tau * dkappa + it.kappa * dtau
        curvature = ds @ dz + dtau * dkappa
        return float(-0.5 * slope / curvature) if slope < 0.0 < curvature else np.inf

    def is_inside(self, it: Iterate) -> bool:
        """Whether an iterate can be stepped from."""
        finite = all(np.isfinite(v).all() for v in (it.x, it.y, it.z, it.s, it.tau, it.kappa))
        depth = min(self.cone.depth(it.s), self.cone.depth(it.z), it.tau) if finite else 0.0
        return depth > 0.0 and (it.kappa > 0.0 or not self.switches.embedding)


def iterates(
    program: ConeProgram, tol: float = 1e-8, max_iter: int = 100, switches: Switches = ALL_OF_THE_BOOKS
) -> Iterator[Iterate]:
    """The iterates up to the first that has a status, at most `max_iter` steps, as long as there is progress."""
    judge = method = Method(program, switches)
    units = Units(program) if switches.equilibration else None
    if units is not None:
        method = Method(units.program, switches)
    with np.errstate(all="ignore"):
        it = method.start()
    for _ in range(max_iter + 1):
        seen = it if units is None else units.of_the_caller(it)
        judge.judge(seen, tol)
        yield seen
        if seen.status is not None:
            return
        try:
            with np.errstate(all="ignore"):
                it = method.step(it)
        except np.linalg.LinAlgError:
            return
        if not (method.is_inside(it) and it.alpha > 1e-8):
            return


def solve(
    program: ConeProgram, tol: float = 1e-8, max_iter: int = 100, switches: Switches = ALL_OF_THE_BOOKS
) -> TextbookSolution:
    """Solve a cone program, by the method or with parts of it left out; the answer is as `socp.Solution`.

    Examples
    --------
    >>> from socp import ConeProgram, SecondOrder, textbook
    >>> program = ConeProgram(c=[1.0, 0.0], G=[[0, 0], [-1, 0], [0, -1]], h=[1, 0, 0], cones=[SecondOrder(3)])
    >>> solution = textbook.solve(program)
    >>> print(solution.status, f"{solution.objective:.6f}")
    optimal -1.000000

    A fixed sigma without a predictor takes more iterations:

    >>> slower = textbook.solve(program, switches=textbook.Switches(predictor=False))
    >>> slower.status is solution.status and slower.iterations > solution.iterations
    True
    """
    trace = list(iterates(program, tol, max_iter, switches))
    it, status = trace[-1], trace[-1].status
    if status is None:
        it = min(trace, key=lambda it: it.error)
        status = Status.INACCURATE if it.error <= INACCURATE_TOL else Status.NUMERICAL_ERROR
        status = Status.MAX_ITERATIONS if len(trace) > max_iter else status
    x, y, z, s = (v / it.scale for v in (it.x, it.y, it.z, it.s))
    objective, dual_objective = it.objective + program.offset, it.dual_objective + program.offset
    if status.is_infeasible:
        objective = dual_objective = np.nan
    if status is Status.PRIMAL_INFEASIBLE:
        x, s = np.full_like(x, np.nan), np.full_like(s, np.nan)
    if status is Status.DUAL_INFEASIBLE:
        y, z, s = np.full_like(y, np.nan), np.full_like(z, np.nan), -(program.G @ x)
    return TextbookSolution(status, x, y, z, s, objective, dual_objective, len(trace) - 1, trace)
