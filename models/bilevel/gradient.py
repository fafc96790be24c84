r"""The bilevel classifier's objective as a function of its means, its gradient, and descent along it.

phi(mu) is the value of step 1 (see `programs`), the minimum of (4.17) over everything but the means.  Of the program's
data only the rows -s_i (w'mu_i + b) + beta (r_i - zeta_i) <= 0 hold the means, and the derivative of a value by its
data is that of the Lagrangian (the envelope theorem): with their multipliers z_i >= 0

    dphi/dmu_i = -z_i s_i w.

So step 2, which maximizes s_i w'mu_i over (4.19), minimizes the linear part of phi, and the alternation is the method
of Frank and Wolfe with full steps.  Projected gradients take other steps with the same numbers: in v, with
mu_i = t_i + R_i'v_i, R_i'R_i = Omega_i, the set (4.19) is |v_i| <= varphi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from socp import ProgramError, Status

from ..base.validation import as_dense, check_number
from ..programs.bilevel import SIDES, Constants, Samples
from .prior import GenerativePrior
from .span import choose_coordinates
from .steps import HyperplaneStep

ARMIJO, SHORTER, LONGER, SHORTEST = 1e-4, 0.3, 3.0, 1e-8


class MeansObjective:
    """phi and its gradient, by one program that is set up once.

    Parameters
    ----------
    samples : Samples
    prior : GenerativePrior
    constants : Constants
        With C3 infinite: the radii are phi.
    **settings
        Of the engine.

    Attributes
    ----------
    programs : int
        How many were solved.

    Examples
    --------
    >>> prior = GenerativePrior(t=([-1.0, 0.0], [1.0, 0.0]), Omega=(0.1, 0.1))
    >>> samples = Samples(np.array([[-1.0, 1.0], [2.0, 1.5]]), np.array([-1.0, 1.0]), np.ones(2))
    >>> objective = MeansObjective(samples, prior, Constants(0.2, 1.0, 1.0, 1.0, np.inf))
    >>> value, gradient = objective(prior.t)
    >>> moved = prior.t + 1e-5 * np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> print(abs((objective(moved)[0] - value) / 1e-5 - gradient[0, 1]) < 1e-3)
    True
    """

    def __init__(self, samples: Samples, prior: GenerativePrior, constants: Constants, **settings: Any) -> None:
        if np.isfinite(constants.C3):
            raise ProgramError(f"C3 must be inf, so that the means have a set of their own, but {constants.C3:g} came")
        self.step = HyperplaneStep(choose_coordinates(samples.X, prior, None), samples, constants, **settings)
        self.prior, self.constants, self.programs = prior, constants, 0

    def __call__(self, mu: np.ndarray) -> tuple[float, np.ndarray]:
        """(phi, its gradient, of the shape of mu)."""
        w, _, solution = self.step.solve(mu)
        self.programs += 1
        if solution.status is not Status.OPTIMAL:
            raise ProgramError(f"step 1 has no optimal answer at these means: its status is {solution.status.value!r}")
        z = self.step.multipliers(solution)
        return float(solution.objective), -(z * np.array(SIDES))[:, None] * w


@dataclass(frozen=True)
class Descent:
    """What projected gradients found.

    Attributes
    ----------
    mu : array, shape (2, n)
    objective : float
    trace : list of float
        phi after each step that was taken.
    programs : int
    """

    mu: np.ndarray
    objective: float
    trace: list[float]
    programs: int


def descend(objective: MeansObjective, mu: np.ndarray | None = None, programs: int = 50, tol: float = 1e-7) -> Descent:
    """Projected gradients on the means from t, or from `mu`, with steps that are shortened until phi falls.

    Parameters
    ----------
    objective : MeansObjective
    mu : array, shape (2, n), optional
    programs : int, default 50
        At most so many are solved.
    tol : float, default 1e-7
        The descent ends when a step lowers phi by less, relatively.

    Raises
    ------
    ProgramError
        `mu` is not of the means' shape or not finite.
    ValueError
        `programs` or `tol` is not such a number.
    """
    check_number("programs", programs, low=1, whole=True)
    check_number("tol", tol, low=0.0)
    prior, radius, before = objective.prior, objective.constants.phi, objective.programs
    roots = [Omega.root_matrix() for Omega in prior.Omega]
    v = [np.zeros(root.shape[0]) for root in roots]
    if mu is not None:
        mu = np.asarray(mu)
        if mu.shape != prior.t.shape or mu.dtype.kind not in "iuf" or not np.isfinite(mu).all():
            raise ProgramError(f"mu must be finite numbers of shape {prior.t.shape}, but {mu.dtype} {mu.shape} came")
        v = [np.linalg.lstsq(as_dense(R).T, mu[i] - prior.t[i], rcond=None)[0] for i, R in enumerate(roots)]

    def means(v: list[np.ndarray]) -> np.ndarray:
        return np.array([prior.t[i] + R.T @ part for i, (R, part) in enumerate(zip(roots, v))])

    value, gradient = objective(means(v))
    trace, share = [value], np.inf
    while objective.programs - before < programs:
        slopes = [R @ gradient[i] for i, R in enumerate(roots)]
        steepest = max(float(np.linalg.norm(slope)) for slope in slopes)
        if steepest == 0.0 or radius == 0.0:
            break
        share = min(LONGER * share, 10.0 * radius / steepest)
        while True:
            moved = [_projected(part - share * slope, radius) for part, slope in zip(v, slopes)]
            there, gradient_there = objective(means(moved))
            promised = sum(float(slope @ (part - new)) for slope, part, new in zip(slopes, v, moved))
            if there <= value - ARMIJO * promised or share * steepest < SHORTEST * radius:
                break
            if objective.programs - before >= programs:
                break
            share *= SHORTER
        fall = value - there
        if fall > 0.0:
            v, value, gradient = moved, there, gradient_there
            trace.append(value)
        if not fall > tol * (1.0 + abs(value)):
            break
    return Descent(means(v), value, trace, objective.programs - before)


def _projected(v: np.ndarray, radius: float) -> np.ndarray:
    length = float(np.linalg.norm(v))
    return v if length <= radius else v * (radius / length)
