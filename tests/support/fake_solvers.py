"""Solvers for the comparison's tests: honest, lying, slow, crashing, raising; and packages made by hand."""

import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

import qp
import socp
from bench.answers import answer


def honest(program, tol, time_limit):
    print("what a solver prints must not get among the replies")
    return replace(answer.solve(program, tol=tol), setup_seconds=0.0, solve_seconds=0.25)


def liar(program, tol, time_limit):
    result = honest(program, tol, time_limit)
    return replace(result, x=result.x + 1e-3)


def late(program, tol, time_limit):
    return replace(honest(program, tol, time_limit), solve_seconds=1e6)


def nothing(program, tol, time_limit):
    pass


def exits(program, tol, time_limit):
    sys.stderr.write("fatal: no licence in /home/somebody/licence.txt\n")
    sys.stderr.flush()
    os._exit(3)


def __getattr__(name):
    if name == "does_not_start":
        raise ImportError("no licence")
    raise AttributeError(name)


def raises(program, tol, time_limit):
    raise RuntimeError("cannot read /home/somebody/solver.cfg")


def packages(monkeypatch):
    """Moreau, diffcp and qpth made by hand, as far as they are called: the engine in place of theirs."""

    def program(c, A, b, p, cones, P=None):
        return socp.ConeProgram(c, A[p:], b[p:], cones, A[:p], b[:p], P)

    class Solver:
        def __init__(self, n, m, *given):
            (*self.patterns, self.cones, self.settings), self.n, self.m = given, n, m

        def setup(self, P, A):
            assert len(P) == len(A) == self.settings["batch_size"] and self.settings["device"] == "cpu"
            sizes = (self.n, self.n), (self.m, self.n)
            indptr, indices = self.patterns[::2], self.patterns[1::2]
            self.P, self.A = ([sp.csr_array((row, indices[k], indptr[k]), sizes[k]) for row in given]
                              for k, given in enumerate((P, A)))  # fmt: skip

        def solve(self, objectives, sides):
            p, nonneg, dims = self.cones
            cones = [socp.NonNeg(nonneg), *map(socp.SecondOrder, dims)]
            self.found = [socp.solve(program(c, A, b, p, cones, P), tol=self.settings["ipm_settings"]["tol_feas"])
                          for c, b, A, P in zip(objectives, sides, self.A, self.P, strict=True)]  # fmt: skip
            return SimpleNamespace(x=[f.x for f in self.found], z=[np.append(f.y, f.z) for f in self.found])

        def backward(self, upstream):
            assert self.settings["enable_grad"] is True
            return {"dq": [found.vjp(dx=row).c for found, row in zip(self.found, upstream, strict=True)]}

    def solve_and_derivative(A, b, c, cones, solve_method, mode):
        blocks = [socp.NonNeg(cones["l"]), *map(socp.SecondOrder, cones["q"])]
        found = socp.solve(program(c, A, b, cones["z"], blocks), tol=1e-13)  # at a cone's boundary its root counts
        none = np.zeros(len(b))
        return found.x, found.y, found.s, None, lambda dx, dy, ds: (
            None, None, found.vjp(dx=dx).c if np.array_equal([dy, ds], [none, none]) else None
        )  # fmt: skip

    class Tensor:
        """Numbers, and where gradients are added up."""

        def __init__(self, values, requires_grad=False):
            self.values, self.requires_grad, self.grad = np.asarray(values), requires_grad, None

        def numpy(self):
            return self.values

    class Solved:
        def __init__(self, *given):
            P, self.q, G, h, A, b = given
            P, G, h, A, b = (part.values for part in (P, G, h, A, b))
            rows, low, high = np.zeros((0, len(P))), np.append(b, np.full(h.size, -np.inf)), np.append(b, h)
            rows = np.vstack([rows, *(part for part in (A, G) if part.size)])
            self.found = [qp.solve(P, q, rows, low, high, tol=1e-10) for q in self.q.values]

        def backward(self, upstream, retain_graph=False):
            assert self.q.requires_grad and retain_graph
            slopes = np.array([f.vjp(dx=row).q for f, row in zip(self.found, upstream.values, strict=True)])
            self.q.grad = Tensor(slopes + (0.0 if self.q.grad is None else self.q.grad.values))

    def function(verbose, check_Q_spd):
        assert (verbose, check_Q_spd) == (-1, False)
        return Solved

    torch = {"tensor": Tensor, "empty": lambda size, dtype: Tensor(np.empty(size, dtype)), "float64": float}
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(**torch))
    monkeypatch.setitem(sys.modules, "qpth", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "qpth.qp", SimpleNamespace(QPFunction=function))
    cones = lambda num_zero_cones, num_nonneg_cones, so_cone_dims: (num_zero_cones, num_nonneg_cones, so_cone_dims)  # noqa: E731
    moreau = {"Cones": cones, "CompiledSolver": Solver, **dict.fromkeys(("Settings", "IPMSettings"), dict)}
    monkeypatch.setitem(sys.modules, "moreau", SimpleNamespace(ActiveSetSettings=dict, **moreau))
    diffcp = {"ZERO": "z", "POS": "l", "SOC": "q", "solve_and_derivative": solve_and_derivative}
    monkeypatch.setitem(sys.modules, "diffcp", SimpleNamespace(**diffcp))
