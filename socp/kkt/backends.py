"""The KKT solver of a plan."""

from __future__ import annotations

from ..form.standard import StandardForm
from ..plan.costs import correctors
from ..plan.plan import Plan
from .base import KKT
from .dense import DenseKKT
from .lowrank import LowRankKKT
from .sparse import SparseKKT


def build(form: StandardForm, plan: Plan) -> tuple[KKT, Plan]:
    """The KKT solver that a plan names, and the plan with what the analysis has shown.

    A sparse plan that knows the seconds of dense Cholesky gives way to it where its own are more.
    """
    kkt: KKT
    if plan.backend == "sparse":
        kkt = sparse = SparseKKT(form, plan.regularization, plan.refinement_steps)
        if plan.seconds:
            plan = plan._replace(seconds={**plan.seconds, "sparse": 1e-9 * sparse.ldl.time})
            if not plan.seconds["sparse"] < plan.seconds["dense"]:
                plan = plan._replace(backend="dense")
    if plan.backend == "low rank":
        kkt = LowRankKKT(form, plan.regularization, plan.refinement_steps, *form.P.low_rank_form())
    elif plan.backend == "dense":
        kkt = DenseKKT(form, plan.regularization, plan.refinement_steps)
    kkt.correctors = correctors(kkt.flops, kkt.factor_entries)
    return kkt, plan._replace(what=kkt.description, flops=kkt.flops, correctors=kkt.correctors)
