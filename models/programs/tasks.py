"""Related tasks, learned together (Evgeniou and Pontil 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import qp


def multi_task_dual(P: Any, y: np.ndarray, task: np.ndarray, weights: np.ndarray) -> qp.QuadraticProgram:
    """Return the dual of regularized multi-task learning (Evgeniou and Pontil 2004), a row for each task t.

    min  1/2 alpha'P alpha - 1'alpha   s.t.   sum_{i in t} alpha_i y_i = 0,   0 <= alpha_i <= weight_i

    P_ij = y_i y_j k((x_i, t_i), (x_j, t_j)).
    """
    p = qp.Blocks(alpha=y.size)
    p.minimize(alpha=-1.0, quadratic={"alpha": P})
    p.equal(0.0, alpha=of_tasks(y, task))
    p.bounds(alpha=(0.0, weights))
    return p.program()


def of_tasks(values: np.ndarray, task: np.ndarray) -> sp.csr_array:
    """Return the matrix with a row for each task that holds the `values` of the task's samples in their columns."""
    return sp.csr_array((values, (task, np.arange(values.size))), shape=(int(task.max()) + 1, values.size))
