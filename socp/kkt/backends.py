"""The KKT solver of a plan."""

from __future__ import annotations

from ..form.standard import StandardForm
from ..linalg.ldl.factorization import LDL
from ..plan.costs import correctors
from ..plan.plan import Backend, Plan
from .base import KKT
from .caller import CallerKKT
from .dense import DenseKKT
from .lowrank import LowRankKKT
from .sparse import SparseKKT


def build(form: StandardForm, plan: Plan) -> tuple[KKT, Plan]:
    """Return the KKT solver that a plan names, and the plan updated by the symbolic analysis.

    The analysis predicts the time of sparse LDL' by strips and by panels.  A plan with predicted `seconds` changes to
    dense Cholesky where that is faster.
    """
    kkt: KKT
    if plan.backend == "sparse":
        kkt = sparse = SparseKKT(form, plan.regularization, plan.refinement_steps)
        if plan.seconds:
            plan = _with_analysis(plan, sparse.ldl)
    if plan.backend == "low rank":
        kkt = LowRankKKT(form, plan.regularization, plan.refinement_steps)
    elif plan.backend == "caller":
        assert plan.solver is not None
        kkt = CallerKKT(form, plan.solver, plan.refinement_steps)
    elif plan.backend == "dense":
        kkt = DenseKKT(form, plan.regularization, plan.refinement_steps)
    kkt.policy.correctors = correctors(kkt.flops, kkt.factor_entries)
    return kkt, plan._replace(what=kkt.description, flops=kkt.flops, correctors=kkt.policy.correctors, solver=None)


def _with_analysis(plan: Plan, ldl: LDL) -> Plan:
    """Return the plan with the seconds predicted by the analysis, and with the fastest backend."""
    seconds = {**plan.seconds, "sparse": 1e-9 * ldl.time}
    least: Backend = "dense" if seconds["dense"] <= seconds["sparse"] else "sparse"
    if least == "sparse":
        other = "strips" if ldl.method == "supernodal" else "panels"
        seconds[other] = 1e-9 * ldl.times[other]
    return plan._replace(backend=least, seconds={name: t for name, t in seconds.items() if t >= seconds[least]})
