"""Checks of data with a leading axis, an entry for each program; messages name the argument and the program."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.kernels import kernel
from ..compiled.signatures import Floats, Matrix
from ..form.convexity import check_semidefinite, is_clearly_semidefinite
from ..problem.checks import ProgramError, as_dense, as_symmetric, as_vector, check_finite, eps_of, next_asymmetric
from ..problem.hessian import Hessian, as_hessian, check_full, hessian_of
from ..problem.lowrank import LowRank
from ..problem.program import ConeProgram, check_cones, check_h, check_pair


def matrices(
    name: str, value: Any, shape: tuple[int | None, int], why: str, forms: tuple[type[Hessian], ...] = ()
) -> np.ndarray:
    """Return one matrix, or one for each program, as a dense array; symmetric matrices are symmetrized.

    `shape` begins with None if any number of rows is allowed; otherwise the matrices must be symmetric.  `forms` are
    the subclasses of `Hessian` that are allowed in addition to arrays and sparse matrices.
    """
    if value is None:
        return np.zeros((shape[0] or 0, shape[1]))
    if forms:
        in_list = isinstance(value, (list, tuple))
        value = [_in_full(part, forms) for part in value] if in_list else _in_full(value, forms)
    found = as_dense(name, value, shape, why, leading=True)
    if shape[0] is not None:
        stack, eps = found if found.ndim == 3 else found[None], eps_of_each(value, found)
        n, i = stack.shape[1], -1
        while (i := next_asymmetric(stack.reshape(-1, n * n), n, i + 1)) >= 0:
            own = f"{name}[{i}]" if found.ndim == 3 else name
            stack[i] = as_symmetric(own, stack[i], float(eps[0] if eps.size == 1 else eps[i]))
    return found


def eps_of_each(value: Any, found: np.ndarray) -> np.ndarray:
    """Return the machine epsilon of the types in which matrices were given as `value`: one for each, or one for all."""
    in_list = isinstance(value, (list, tuple)) and found.ndim == 3
    return np.array([eps_of(part) for part in value] if in_list else [eps_of(value)])


def _in_full(P: Any, forms: tuple[type[Hessian], ...]) -> Any:
    """Return P as a dense array if it is of one of the `forms`; return other values unchanged."""
    if not isinstance(P, forms):
        return P
    check_full(P.order)
    return P.dense()


class BatchData:
    """Checked data of a batch by argument: a row for each program, or one row that all share.

    Attributes
    ----------
    k : int
        Number of programs.
    has_axis : dict of bool
        True for arguments that were given with a leading axis.
    share_matrices : bool
        True if no matrix was given with a leading axis.
    P_eps : array, shape (1 or k,)
        Machine epsilon of the type in which each P was given.
    """

    k: int
    has_axis: dict[str, bool]
    P: np.ndarray
    P_eps: np.ndarray

    def hold(self, vectors: tuple[str, ...], matrices: tuple[str, ...]) -> None:
        """Record which checked arguments have a leading axis, add one to the others, and set the number of programs."""
        axes = {**dict.fromkeys(vectors, 2), **dict.fromkeys(matrices, 3)}
        self.has_axis = {name: getattr(self, name).ndim == count for name, count in axes.items()}
        self.share_matrices = not any(self.has_axis[name] for name in matrices)
        leading = {name: len(getattr(self, name)) for name, has_axis in self.has_axis.items() if has_axis}
        for name, size in leading.items():
            if size == 0:
                raise ProgramError(f"{name} must have an entry for each program, but its leading axis is empty")
        if len(set(leading.values())) > 1:
            sizes = ", ".join(f"{size} of {name}" for name, size in leading.items())
            raise ProgramError(f"the leading axes must agree, but they are {sizes}")
        if not leading:
            raise ProgramError(
                "no argument has a leading axis, with an entry for each program; solve takes one program"
            )
        self.k = next(iter(leading.values()))
        for name, has_axis in self.has_axis.items():
            if not has_axis:
                setattr(self, name, getattr(self, name)[None])

    def own(self, name: str, i: int) -> np.ndarray:
        """Return the argument `name` of program `i`."""
        array: np.ndarray = getattr(self, name)
        return array[min(i, len(array) - 1)]

    def eps(self, i: int) -> float:
        """Return the machine epsilon of the type in which P of program `i` was given."""
        return float(self.P_eps[min(i, self.P_eps.size - 1)])


class ConePrograms(BatchData):
    """Checked data of a batch of cone programs, which threads share and never write."""

    def __init__(self, c: Any, G: Any, h: Any, cones: Any, A: Any, b: Any, P: Any) -> None:
        check_pair("G", G, "h", h)
        check_pair("A", A, "b", b)
        self.c = as_vector("c", c, leading=True)
        check_finite("c", self.c)
        n = self.c.shape[-1]
        variables = f" ({n} variables in c)"
        self.P = matrices("P", P, (n, n), variables, (LowRank,))
        self.P_eps = eps_of_each(P, self.P)
        self.G, self.A = matrices("G", G, (None, n), variables), matrices("A", A, (None, n), variables)
        m, p = self.G.shape[-2], self.A.shape[-2]
        self.h = as_vector("h", np.zeros(m) if h is None else h, m, " (the rows of G)", leading=True)
        self.b = as_vector("b", np.zeros(p) if b is None else b, p, " (the rows of A)", leading=True)
        self.cones = check_cones(cones, m)
        check_h(self.h, self.cones)
        check_finite("b", self.b)
        self._has_P = P is not None
        self.hold(("c", "h", "b"), ("G", "A", "P"))

    def program(self, i: int) -> ConeProgram:
        """Return program `i` as a `ConeProgram`."""
        c, G, h, A, b = (self.own(name, i) for name in ("c", "G", "h", "A", "b"))
        program = ConeProgram(c, G, h, self.cones, A, b, self.own("P", i) if self._has_P else None)
        program.P_eps = self.eps(i)
        return program


def rows_at(array: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the rows of the programs `chosen`, or the one row that all share."""
    return array if len(array) == 1 else array[chosen]


def refuse_nonconvex(programs: BatchData, objective: str, chosen: np.ndarray | None = None) -> None:
    """Raise ProgramError with the number of a program, of the `chosen` ones or all, if its P is not semidefinite."""
    P, n = programs.P, programs.P.shape[1]
    some = P if chosen is None or len(P) == 1 else P[chosen]
    eps, i = programs.P_eps if some is P or programs.P_eps.size == 1 else programs.P_eps[chosen], -1
    while n > 0 and (i := next_doubtful(n, some.reshape(some.shape[0], n * n), eps, i + 1)) >= 0:
        try:
            check_semidefinite(hessian_of(as_hessian("P", some[i], n, objective), n), float(eps[min(i, eps.size - 1)]))
        except ProgramError as error:
            number = i if some is P or chosen is None else chosen[i]
            raise ProgramError(f"program {number}: {error}" if P.shape[0] > 1 else str(error)) from None


@kernel
def next_doubtful(n: int, P: Matrix, eps: Floats, first: int) -> int:
    """Return the first i >= `first` for which a quick test does not prove P[i] semidefinite, or -1."""
    nothing, no_scales = np.empty(0, np.int64), np.empty(0)
    for p in range(first, P.shape[0]):
        own = eps[min(p, eps.size - 1)]
        if not is_clearly_semidefinite(n, False, nothing, nothing, P[p], no_scales, 1.0, own):
            return p
    return -1
