"""KKT systems with given factors: M^-1 is a dense matrix with a known relative error for each delta."""

import numpy as np

from socp import ConeProgram
from socp.compiled.kernels import inner
from socp.compiled.signatures import Floats
from socp.compiled.structures import floats, integer, integers, matrix, number
from socp.form.standard import StandardForm
from socp.kkt.base import KKT, factor_and_solve, solve
from socp.kkt.policy import GOOD_ENOUGH
from socp.linalg.ldl.factorization import LDL

ROOM = 1000
METHODS = ("scalar", "four-wide", "supernodal")


class GivenKKT(KKT):
    """KKT system with M^-1 = (1 - error) times a given matrix, whose factorization records the deltas tried.

    Attributes
    ----------
    inverse : array
    errors, replaced : array and array of int64
        Error of the factors for each of `deltas` (infinity: no factors), and number of replaced pivots.
    tried, count : array and int
        Deltas that were tried, and their number.
    applied : int
        Number of right-hand sides to which M^-1 was applied.
    """

    inverse, errors, error = matrix("n + p + m, n + p + m"), floats(), number()
    replaced = integers("4")
    tried, count, applied = floats(f"{ROOM}"), integer(), integer()

    def __init__(self, form, refinement_steps=10, errors=(0.0,), inverse=None, replaced=(0, 0, 0, 0)):
        super().__init__(form, None if len(errors) > 1 else 1e-8, refinement_steps)
        self.errors = np.resize(errors, self.policy.deltas.size)
        self.replaced[:] = replaced
        self.inverse[:] = np.linalg.inv(form.P.dense()) if inverse is None else inverse
        self._use(factor_given, apply_given)

    @property
    def description(self):
        return "given"

    def refresh(self):
        pass

    def take_tried(self):
        """Return the deltas tried since the last call."""
        found = self.tried[: self.count].tolist()
        self.count = 0
        return found


@inner
def factor_given(kkt: GivenKKT, delta: float) -> int:
    """Record delta and set its error; return the number of replaced pivots, -1 without factors."""
    kkt.tried[kkt.count] = delta
    kkt.count += 1
    replaced = 0
    for k in range(kkt.policy.deltas.size):
        if kkt.policy.deltas[k] == delta:
            kkt.error, replaced = kkt.errors[k], kkt.replaced[k]
    return replaced if kkt.error < np.inf else -1


@inner
def apply_given(kkt: GivenKKT, count: int, rhs: Floats, out: Floats) -> None:
    """out += (1 - error) inverse rhs."""
    inverse, size = kkt.inverse, kkt.product.size
    for r in range(count):
        kkt.applied += 1
        for i in range(size):
            value = 0.0
            for j in range(size):
                value += inverse[i, j] * rhs[r * size + j]
            out[r * size + i] += (1.0 - kkt.error) * value


@inner
def factor_never(kkt: KKT, delta: float) -> int:
    """Return -1: the factorization always fails."""
    return -1


def system(K, M=None, **arguments):
    """Return the KKT system with the symmetric matrix K (as P) and the inverse of M in place of factors."""
    form = StandardForm(ConeProgram(np.ones(len(K)), P=K), False)
    inverse = None if M is None else np.linalg.inv(M)
    return GivenKKT(form, **({"inverse": inverse} | arguments))


def symmetric(rng, n, shift):
    """Return a random symmetric matrix with a shifted diagonal."""
    F = rng.normal(size=(n, n))
    return 0.5 * (F + F.T) + shift * np.eye(n)


def factored_by(method, kkt):
    """Return the sparse KKT system with factors by `method`, regardless of the model of time."""
    matrix = kkt.matrix
    kkt.ldl = LDL(matrix.indptr, matrix.indices, matrix.signs, zero_diagonal=matrix.zero_diagonal, method=method)
    kkt.factors = kkt.ldl.factors
    return kkt


def factor_precisely(kkt, w, eta, rhs, out):
    """Factor at the scaling (w, eta) and solve K out = rhs precisely; return the status of `factor_and_solve`."""
    kkt.w[:], kkt.eta[:] = w, eta
    with kkt.precisely():
        return int(factor_and_solve(kkt, 1 if rhs.ndim == 1 else len(rhs), rhs.reshape(-1), out.reshape(-1)))


def solve_precisely(kkt, rhs, out):
    """Solve precisely with the current factors, for one vector or two rows; return the largest relative residual."""
    count = 1 if rhs.ndim == 1 else len(rhs)
    with kkt.precisely():
        left = solve(kkt, count, rhs.reshape(-1), out.reshape(-1), True)
    relative = kkt.residual_norm[:count] / np.maximum(kkt.rhs_norm[:count], 1e-300)
    np.testing.assert_allclose(left, np.minimum(kkt.scaled[:count], relative / GOOD_ENOUGH).max(), rtol=1e-14)
    return float(relative.max())
