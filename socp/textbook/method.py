r"""The interior-point method of the textbooks in dense NumPy, to be read together with `socp.solver`.

    minimize 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s in K      (dual variables: y of A, z in K of G)

With two more variables tau, kappa >= 0 the optimality conditions become homogeneous (Goulart and Chen, 2024):

    rx   = Px + A'y + G'z + c tau                 = 0         s, z in K,        s'z = 0
    ry   = Ax - b tau                             = 0         tau, kappa >= 0,  tau kappa = 0
    rz   = Gx + s - h tau                         = 0
    rtau = kappa + c'x + b'y + h'z + x'Px / tau   = 0

When tau > 0, (x, y, z, s) / tau is optimal; when tau = 0 and kappa > 0, (y, z) or x is a certificate of infeasibility.

Read `quadratic` first, which has the method without cones and embedding; `cone` has the algebra of K.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..method.loop import LEAST_STEP
from ..problem.checks import ProgramError
from ..problem.program import ConeProgram
from ..problem.status import Status
from ..verify.stopping import INACCURATE_TOL
from .cone import Cone
from .quadratic import REGULARIZATION, STEP, ldl_solver
from .switches import ALL_OF_THE_BOOKS, Switches, Units, dense

SIGMA = 0.1  # centering of a step without predictor
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
    error: float = np.nan  # largest of the relative residuals and the gap
    status: Status | None = None  # None: neither a solution nor a certificate
    scale: float = 1.0  # the solution or certificate is (x, y, z, s) / scale


@dataclass
class TextbookSolution:
    """A solution with the conventions of `socp.Solution`; the trace is the list of iterates."""

    status: Status
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    s: np.ndarray
    objective: float
    dual_objective: float
    iterations: int
    trace: list[Iterate]


def norm(v: np.ndarray) -> float:
    """Return the largest absolute entry of v, 0 if v is empty."""
    return float(np.abs(v).max(initial=0.0))


@dataclass
class Direction:
    """A direction in scaled variables: dz is W dz and ds is W^-1 ds."""

    dx: np.ndarray
    dy: np.ndarray
    dz: np.ndarray
    ds: np.ndarray
    dtau: float = 0.0
    dkappa: float = 0.0


class Method:
    """The data of a program as dense arrays, and the parts of the algorithm."""

    def __init__(self, program: ConeProgram, switches: Switches = ALL_OF_THE_BOOKS) -> None:
        if not np.isfinite(program.h).all():
            raise ProgramError("h must be finite here: leave out the rows that always hold")
        self.P, self.A, self.G = dense(program)
        self.b, self.h, self.c = program.b, program.h, program.c
        self.ends = [program.n, program.n + program.p]  # ends of x and of y in (x, y, z)
        smallest = np.linalg.eigvalsh(self.P).min(initial=0.0)
        if smallest < -1e-10 * norm(self.P):
            raise ProgramError(f"P must be positive semidefinite, but it has the eigenvalue {smallest:g}")
        self.cone, self.switches = Cone(program.cones), switches

    def kkt_solver(self, W_inv: np.ndarray, block: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that solves with the KKT matrix, in the scaled variable W z.

            [ P        A'   (W^-1 G)' ] [ x   ]
            [ A        0     0        ] [ y   ]        the block is I when W is the scaling
            [ W^-1 G   0    -block    ] [ W z ]

        Redundant equations and directions without curvature make the matrix singular, if consistent.  So a little is
        added to the diagonal before LDL' factors it, W z first, and iterative refinement removes the resulting error.
        """
        n, p, m = self.c.size, self.b.size, self.h.size
        G = W_inv @ self.G
        K = np.block([[self.P, self.A.T, G.T], [self.A, np.zeros((p, p + m))], [G, np.zeros((m, p)), -block]])
        little = REGULARIZATION * max(1.0, norm(self.P), norm(self.A), norm(self.G)) * self.switches.regularization
        order = np.roll(np.arange(n + p + m), m)
        factored, signs = K[np.ix_(order, order)], np.repeat([1.0, -1.0], [n, p + m])[order]
        once = (ldl_solver if self.switches.scaling else lu_solver)(factored, signs, little)

        def solve(rhs: np.ndarray) -> np.ndarray:
            u = np.zeros(rhs.size)
            for _ in range(1 + REFINEMENTS * self.switches.refinement):
                u[order] += once((rhs - K @ u)[order])
            return u

        return solve

    def start(self) -> Iterate:
        """Return the solution with 1/2 ||s||^2 in the objective in place of s in K; s = -z and z are moved into K."""
        identity = np.eye(self.cone.dim)
        u = self.kkt_solver(identity, identity)(np.concatenate([-self.c, self.b, self.h]))
        x, y, z = np.split(u if np.isfinite(u).all() else np.zeros(u.size), self.ends)
        s, z = (v if self.cone.depth(v) > 1e-8 else v + (1.0 - self.cone.depth(v)) * self.cone.e for v in (-z, z))
        return Iterate(x, y, z, s, kappa=1.0 if self.switches.embedding else 0.0)

    def mu(self, it: Iterate) -> float:
        """Return mu = (s'z + tau kappa) / degree, the mean of the products that converge to zero."""
        return (it.s @ it.z + it.tau * it.kappa) / max(self.cone.degree + self.switches.embedding, 1)

    def judge(self, it: Iterate, tol: float) -> None:
        """Set mu, objectives and residuals of an iterate, and its status if a stopping test holds at `tol`."""
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

        # A ray's residuals must be small both at slope -1 and relative to the terms that cancel in them.
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
        """Return the next iterate, by a predictor-corrector step after Mehrotra."""
        at, mu = Linearization(self, it), self.mu(it)
        sigma, second, second_kappa = self.predict(at)
        d = at.direction(
            sigma, sigma * mu * self.cone.e - at.products - second, sigma * mu - it.tau * it.kappa - second_kappa
        )
        alpha = min(1.0, STEP * at.longest_step(d), max(LEAST_STEP, at.step_to_least_mu(d)))
        return Iterate(
            it.x + alpha * d.dx, it.y + alpha * d.dy, it.z + alpha * at.W_inv @ d.dz, it.s + alpha * at.W @ d.ds,
            it.tau + alpha * d.dtau, it.kappa + alpha * d.dkappa, sigma=sigma, alpha=alpha,
        )  # fmt: skip

    def predict(self, at: Linearization) -> tuple[float, np.ndarray, float]:
        """Return sigma and the second-order terms (W^-1 ds) o (W dz) and dtau dkappa of the affine step."""
        sigma, second, second_kappa = SIGMA, 0.0 * self.cone.e, 0.0
        if self.switches.predictor:
            affine = at.direction(0.0, -at.products, -at.it.tau * at.it.kappa)
            sigma = self.centering(min(1.0, at.longest_step(affine)))
            if self.switches.corrector:
                second, second_kappa = self.cone.arrow(affine.ds) @ affine.dz, affine.dtau * affine.dkappa
        return sigma if self.switches.centrality else 0.0, second, second_kappa

    def centering(self, alpha: float) -> float:
        """Return sigma for an affine step of length `alpha`."""
        return (1.0 - alpha) ** 3

    def is_inside(self, it: Iterate) -> bool:
        """Return True if an iterate is finite and in the interior, so that a step from it is defined."""
        finite = all(np.isfinite(v).all() for v in (it.x, it.y, it.z, it.s, it.tau, it.kappa))
        if not finite or (self.switches.embedding and not it.kappa > 0.0):
            return False
        return min(self.cone.depth(it.s), self.cone.depth(it.z), it.tau) > 0.0


class Linearization:
    """The embedding linearized at an iterate.

    A direction solves it with the right-hand side -(1 - sigma) (rx, ry, rz, rtau), and

        lam o (W dz + W^-1 ds) = products_rhs,   kappa dtau + tau dkappa = kappa_rhs,   where lam = W z = W^-1 s.

    Eliminating ds and dkappa leaves two solves with the KKT matrix: u1 for the right-hand side
    -(1 - sigma) (rx, ry, W^-1 rz) - (0, 0, lam \\ products_rhs), u2 for (-c, b, W^-1 h).  The direction is
    u1 + dtau u2, with dtau from the last equation.

    (With W = I, the first equation is  z o ds + s o dz = products_rhs, and leaves the block  z \\ (s o .)  in the KKT
    matrix.)
    """

    def __init__(self, method: Method, it: Iterate) -> None:
        self.method, self.it, cone = method, it, method.cone
        self.W = self.W_inv = self.block = np.eye(cone.dim)
        self.s, self.z = it.s, it.z
        if method.switches.scaling:
            self.W, self.W_inv = cone.scaling(it.s, it.z)
            self.s = self.z = self.W @ it.z  # lam
        self.S, self.Z = cone.arrow(self.s), cone.arrow(self.z)
        if not method.switches.scaling:
            self.block = np.linalg.solve(self.Z, self.S)
        self.products = self.S @ self.z
        self.solve = method.kkt_solver(self.W_inv, self.block)

        P, A, G, b, c, h, tau = method.P, method.A, method.G, method.b, method.c, method.h, it.tau
        self.xi = it.x / tau
        rx, ry, rz = P @ it.x + A.T @ it.y + G.T @ it.z + c * tau, A @ it.x - b * tau, G @ it.x + it.s - h * tau
        self.r = np.concatenate([rx, ry, self.W_inv @ rz])
        self.rtau = it.kappa + c @ it.x + b @ it.y + h @ it.z + it.x @ P @ self.xi
        self.gradient = np.concatenate([c + 2.0 * P @ self.xi, b, self.W_inv @ h])  # of rtau in (x, y, W z)
        self.u2 = self.solve(np.concatenate([-c, b, self.W_inv @ h]))

    def direction(self, sigma: float, products_rhs: np.ndarray, kappa_rhs: float) -> Direction:
        """Return the direction for `sigma` and the right-hand sides of both complementarity equations."""
        tau, kappa, xi, method = self.it.tau, self.it.kappa, self.xi, self.method
        shift, dtau, dkappa = np.linalg.solve(self.Z, products_rhs), 0.0, 0.0
        u1 = self.solve(-(1.0 - sigma) * self.r - np.concatenate([np.zeros(method.ends[1]), shift]))
        if method.switches.embedding:
            dtau = (1.0 - sigma) * self.rtau + kappa_rhs / tau + self.gradient @ u1
            dtau /= kappa / tau + xi @ method.P @ xi - self.gradient @ self.u2
            dkappa = (kappa_rhs - kappa * dtau) / tau
        dx, dy, dz = np.split(u1 + dtau * self.u2, method.ends)
        return Direction(dx, dy, dz, shift - self.block @ dz, dtau, dkappa)

    def longest_step(self, d: Direction) -> float:
        """Return the largest step along `d` within K and tau, kappa >= 0."""
        cone, ends = self.method.cone, ((self.it.tau, d.dtau), (self.it.kappa, d.dkappa))
        lengths = [cone.longest_step(self.z, d.dz), cone.longest_step(self.s, d.ds)]
        return min(lengths + [-v / dv for v, dv in ends if dv < 0])

    def step_to_least_mu(self, d: Direction) -> float:
        """Return the step that minimizes mu: s'z + tau kappa is quadratic in it, and P adds a positive curvature."""
        slope = self.s @ d.dz + self.z @ d.ds + self.it.tau * d.dkappa + self.it.kappa * d.dtau
        curvature = d.ds @ d.dz + d.dtau * d.dkappa
        return float(-0.5 * slope / curvature) if slope < 0.0 < curvature else np.inf


def lu_solver(K: np.ndarray, signs: np.ndarray, delta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that solves with a K + delta diag(signs) that need not be symmetric."""
    with warnings.catch_warnings():  # A singular matrix warns and gives a u that is not finite.
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        factors = scipy.linalg.lu_factor(K + delta * np.diag(signs), check_finite=False)
    return lambda rhs: scipy.linalg.lu_solve(factors, rhs, check_finite=False)


def iterates(
    program: ConeProgram, tol: float = 1e-8, max_iter: int = 100, switches: Switches = ALL_OF_THE_BOOKS
) -> Iterator[Iterate]:
    """Yield the iterates until one has a status, `max_iter` steps were taken, or there is no more progress."""
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
    """Solve a cone program by the textbook method, without the parts that `switches` leaves out.

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
