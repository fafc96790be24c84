"""Search for means at which the hard problem (4.5)-(4.9) is feasible, or name the constraint that fails."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import socp
from socp import ProgramError

from ..programs.bilevel import Constants, Samples
from .prior import GenerativePrior
from .span import Features, Span
from .steps import HyperplaneStep, evaluate, farthest_means

PENALTY = 1e4  # price C2 of zeta in the search for feasible means
REPEATED = 1e-9  # relative move of the means up to which the search for feasible means has stalled


def feasible_means(
    coordinates: Features | Span, samples: Samples, prior: GenerativePrior, constants: Constants,
    names: tuple[Any, ...], max_iter: int, **settings: Any,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return means and their nu, found by the alternation with a price on zeta in place of the hard (4.8) and (4.9).

    The hard problem is not convex in (w, mu): if no means are found, the error says at which means its claim holds.
    """
    margins = HyperplaneStep(coordinates, samples, constants, (False, False), **settings)
    if _infeasible(margins, prior.t):
        raise ProgramError(
            f"no hyperplane separates the samples of class {names[0]!r} from those of class {names[1]!r}, so the "
            "margins (4.6) cannot hold with C1 = inf: give a finite C1"
        )
    priced = replace(constants, C2=PENALTY)
    step = HyperplaneStep(coordinates, samples, priced, **settings)
    mu = prior.t
    for _ in range(max_iter):
        w, b, _ = step.solve(mu)
        moved, nu = farthest_means(prior, priced, w, b)
        point = evaluate(samples, prior, priced, w, b, moved, nu)
        if not point.zeta.any():
            return moved, nu
        still = np.linalg.norm(moved - mu) <= REPEATED * (1.0 + np.linalg.norm(mu))
        mu = moved
        if still:
            break
    raise ProgramError(_which_cannot_hold(coordinates, samples, prior, constants, names, mu, point.zeta, settings))


def _which_cannot_hold(
    coordinates: Features | Span, samples: Samples, prior: GenerativePrior, constants: Constants,
    names: tuple[Any, ...], mu: np.ndarray, zeta: np.ndarray, settings: dict[str, Any],
) -> str:  # fmt: skip
    hard = replace(constants, C2=math.inf)
    alone = [_infeasible(HyperplaneStep(coordinates, samples, hard, (i == 0, i == 1), **settings), mu) for i in (0, 1)]
    each = [f"{number} (class {name!r})" for number, name in zip(("(4.8)", "(4.9)"), names)]
    if any(alone):
        failing = " and ".join(text for text, fails in zip(each, alone) if fails)
        what = f"the prior's constraint {failing} cannot hold beside the margins (4.6)"
    else:
        what = f"beside the margins (4.6), the prior's constraints {each[0]} and {each[1]} cannot hold together"
    return (
        f"{what} with C2 = inf: this is certain at the best means found within phi = {constants.phi:g}, where zeta is "
        f"{zeta[0]:.3g} and {zeta[1]:.3g}. Lower beta = {told_beta(constants)} (at the means t, without any sample, it "
        f"can be at most {prior.largest_beta():.4g}), raise phi, or give a finite C2"
    )


def told_beta(constants: Constants) -> str:
    """Return beta as text, or both if the classes have different ones."""
    return " and ".join(f"{beta:g}" for beta in dict.fromkeys(constants.betas))


def _infeasible(step: HyperplaneStep, mu: np.ndarray) -> bool:
    return step.solve(mu)[2].status is socp.Status.PRIMAL_INFEASIBLE
