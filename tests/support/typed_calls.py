"""Calls for the type checkers that `tests/test_types.py` runs on this file: they must refuse the marked lines only."""

import numpy as np
import scipy.sparse as sp

import models
import qp
import socp
from models import SVC, SVCCV, GaussianHMM, Kernel, LinearDiscriminant, LinearSVC, LogisticRegression
from socp.interop.ecos import solve as ecos_solve

q, A = np.array([1.0, 2.0]), sp.csc_array(np.eye(2))

# data are arrays, sparse arrays and sequences of numbers
qp.solve(None, q, A=A, l=0, u=[1, 2.5], lb=(0.0, np.float32(1.0)), ub=np.inf)
qp.solve([[2.0, 0], [0, 2]], [1, 2], lb=[0.0, 1], offset=3)
qp.solve(qp.LowRank([[1.0], [2.0]], 0.5), range(2), tol=1e-6, kkt="lowrank", callback=lambda iterate: iterate.mu < 1.0)
kernel = models.KernelMatrix(np.eye(2), "rbf", signs=[1, -1])
qp.solve(kernel, q, A=[[1, -1]], l=0.0, u=0.0, lb=0, ub=1)
models.KernelSolver(models.KernelProgram(kernel, q, A=[[1, -1]], l=0.0, u=0.0, lb=0, ub=1), tol=1e-6).solve().x.sum()
qp.solve([np.array([2.0, 0.0]), np.array([0.0, 2.0])], q)
qp.solve(qp.QuadraticProgram(A, q))
print(qp.solve(None, q).objectiv)  # wrong
qp.solve("abc", 3)  # wrong
qp.solve(None, "12")  # wrong
qp.solve(None, q, A=["ab"], u=1.0)  # wrong
qp.solve(None, q, lb=0.0, ub="1")  # wrong
qp.solve(None, q, max_iter="many")  # wrong
qp.Solver(None, q, max_iters=3)  # wrong
models.KernelMatrix(np.eye(2), "rbff")  # wrong
qp.solve_many(np.eye(2), [[1.0, 2.0], [3, 4]], lb=0).x.sum()
qp.solve_many(np.eye(2), q, l="0")  # wrong
qp.solve_qp(np.eye(2), q, lb=0.0)
qp.solve_qp(np.eye(2), {"q": q})  # wrong

solver = qp.Solver(A, q, lb=0.0, kkt="ldl")
solver.update(q=[1, 2], ub=3)
solver.update(q="12")  # wrong
solver.solve_many(q=[[1.0, 2.0]]).objective.sum()
solution = solver.solve()
solution.x.sum() + solution.gap
print(solution.vjp(dx=[1.0, 0.0]).q)
solution.vjp(dx="10")  # wrong
print(solution.objectiv)  # wrong

cone = {"h": [1.0, 0.0, 0.0]}
socp.solve(c=q, G=[[0, 0], [-1, 0], [0, -1]], h=cone["h"], cones=[socp.SecondOrder(3)], P=A)
socp.solve(c=[1.0], G=[[-1.0]], h=[0.0], cones=socp.NonNeg(1))
socp.solve(c=[1.0], G=[[-1.0]], h=[0.0], cones=[3])  # wrong
socp.solve([1.0])  # wrong
socp.solve(c="1")  # wrong
socp.solve(c=[1.0], presolve=False)  # wrong
socp.Solver(c=[1.0], kkt="qr")  # wrong
socp.iterates(c=[1.0], tol=[])  # wrong
socp.Settings(kkt="qr")  # wrong
socp.LowRank("F")  # wrong
ecos_solve(q, A, [1, 2], {"l": 2})
ecos_solve("c")  # wrong

# an iterate has the fields of the trace
for iterate in socp.iterates(c=[1.0], G=[[-1.0]], h=[0.0], cones=[socp.NonNeg(1)], tol=1e-6):
    range(iterate.iteration)
    iterate.mu.is_integer()
    print(iterate.iteraton)  # wrong
    range(iterate.gap)  # wrong

SVC(1.0, "poly", gamma="auto", class_weight="balanced", multi_class="ovr", solver="primal").fit([[0.0], [1.0]], [0, 1])
SVC(kernel=Kernel("rbf", gamma=2.0))
SVC(kernel=lambda a, b: a @ b.T, gamma=0.5, class_weight={"yes": 2.0, "no": 1}, decision_function_shape="ovo")
SVC(kernel="rbff")  # wrong
SVC(gamma="wide")  # wrong
SVC(class_weight="balance")  # wrong
SVC(multi_class="ova")  # wrong
SVC(solver="both")  # wrong
SVC(Q=1.0)  # wrong
Kernel("rbff")  # wrong
SVCCV(kernel="rbff")  # wrong
LinearSVC(loss="hing")  # wrong
LogisticRegression(solver="lbfgs")  # wrong
GaussianHMM(init="open")  # wrong
GaussianHMM(covariance_type="tied")  # wrong
LinearDiscriminant(covariance="spheric")  # wrong
