"""Adapter of LIBSVM, through scikit-learn: the dual of a support vector machine, at a verified duality gap.

LIBSVM stops by the largest violation of a multiplier, not by the gap.  Its tolerance is tightened tenfold until all
relative residuals of its answer and the duality gap are at most 1e-6, and only the time of the last run counts.  A
dense P is given as a precomputed kernel, which is not timed; a low-rank P as its points with the linear kernel.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import qp
import socp
from socp import Status

from ..answers.answer import Answer
from ..answers.verify import verify
from .peer import SVM_DUAL, peer

GAP = 1e-6
TOLERANCES = tuple(10.0**-k for k in range(3, 13))
CACHE_MEGABYTES = 1000.0


def is_svm_dual(program: Any) -> bool:
    """Return True if the program is min 1/2 a'Qa - 1'a with y'a = 0, 0 <= a <= C, where y holds -1 and 1."""
    if not isinstance(program, qp.QuadraticProgram) or program.m != 1 or program.P is None:
        return False
    labels = program.A.toarray().ravel()
    return bool(
        program.l[0] == program.u[0] == 0.0
        and (np.abs(labels) == 1.0).all()
        and (program.q == -1.0).all()
        and (program.lb == 0.0).all()
        and np.isfinite(program.ub[0])
        and (program.ub == program.ub[0]).all()
        and (not isinstance(program.P, socp.LowRank) or not program.P.d.any())
    )


@peer(SVM_DUAL, time_limit="time_limit", package="sklearn", distribution="scikit-learn")
def libsvm(program: qp.QuadraticProgram, settings: dict[str, Any]) -> Answer:
    """Solve by LIBSVM's sequential minimal optimization (`sklearn.svm.SVC`)."""
    from sklearn.svm import SVC

    if not is_svm_dual(program):
        raise ValueError("LIBSVM takes only the dual of a support vector machine")
    labels = program.A.toarray().ravel()
    P: Any = program.P
    if isinstance(P, socp.LowRank):
        kernel, points = "linear", np.ascontiguousarray(P.F * labels[:, None])
    else:
        P = P if isinstance(P, np.ndarray) else P.toarray()
        kernel, points = "precomputed", np.ascontiguousarray(P * np.outer(labels, labels))

    deadline = time.perf_counter() + settings["time_limit"]
    for tolerance in TOLERANCES:
        machine = SVC(C=float(program.ub[0]), kernel=kernel, tol=tolerance, cache_size=CACHE_MEGABYTES)
        start = time.perf_counter()
        machine.fit(points, labels)
        end = time.perf_counter()
        # x = a from the signed coefficients, y = the offset b, and z_bounds = 1 - Qa - b y
        x, y = np.zeros(program.n), np.atleast_1d(machine.intercept_).astype(float)
        x[machine.support_] = np.abs(machine.dual_coef_.ravel())
        z = -(program.P @ x + program.q + program.A.T @ y)
        reached = verify(program, x, y, z).solved(GAP)
        if reached or end >= deadline:
            break
    iterations = int(np.max(machine.n_iter_))
    status = Status.OPTIMAL if reached else Status.TIME_LIMIT if end >= deadline else Status.INACCURATE
    return Answer("libsvm", status, x, y, z, iterations, 0.0, end - start)
