"""The KKT system solved by a function of the caller, in the units and the order of the caller's program.

`kkt=f` in the settings: f(scaling) returns solve(r1, r2, r3), which returns (dx, dy, dz) of

    [ P  A'  G'  ] [dx]   [r1]
    [ A  0   0   ] [dy] = [r2]
    [ G  0  -W^2 ] [dz]   [r3]

The form has P := f D P D, M := E M D, and u = (dx, dy, W dz) of its own units.  With W^2 := f E^-1 W^2 E^-1, as E is
constant on each cone, the system of the caller has the right-hand sides

    r1 := (f D)^-1 r1,    r2 := E^-1 r2,    r3 := E^-1 W r3,        and    dx = D dx,  (dy, dz) = E (dy, dz) / f

on the right in the units of the form.  Refinement and GMRES work with K of the form, so the function may be a
preconditioner.  Compiled code calls the methods of this class by the address of a C function.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiled.kernels import INTERPRETED
from ..form.standard import StandardForm
from ..problem.checks import ProgramError
from ..problem.scaling import Scaling
from .base import KKT

ARRAY = [
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
]  # fmt: skip  (numba's array: memory, owner, entries, bytes of one, data, shape, strides)
# numba's convention: a status, 0 for no error, and the places of the result and of an exception before the arguments
FACTOR = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), *[ctypes.c_void_p] * 2, ctypes.c_double)
APPLY = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_int64, *ARRAY, *ARRAY)


class CallerKKT(KKT):
    """KKT systems that `function` of the caller solves.

    Attributes
    ----------
    function : callable
    rows : int
        Number of rows of the caller's G, those with an infinite side too.
    error : BaseException or None
        Exception of the function, which `check` raises where no compiled code is between.
    """

    error: BaseException | None = None

    def __init__(self, form: StandardForm, function: Callable[[Scaling], Any], refinement_steps: int) -> None:
        super().__init__(form, 0.0, refinement_steps)
        self.function, self.rows = function, form.caller_rows
        self._solve: Callable[..., Any] | None = None
        if INTERPRETED:
            self._use(lambda kkt, delta: self._factor(), lambda kkt, count, rhs, out: self._apply(count, rhs, out))
            return
        self._entries = FACTOR(self._factor_at), APPLY(self._apply_at)  # kept alive while compiled code may call them
        self.factor_address, self.apply_address = (ctypes.cast(one, ctypes.c_void_p).value for one in self._entries)

    @property
    def description(self) -> str:
        """The method, in words."""
        return f"{getattr(self.function, '__name__', type(self.function).__name__)}, a function of the caller"

    def refresh(self) -> None:
        """Do nothing: the function has its own data."""

    def take_form(self) -> bool:
        """Return False: another program has another function."""
        return False

    def regularize(self, regularization: float | None, refinement_steps: int) -> None:
        """Set the largest number of refinement steps; nothing is added to the caller's system."""
        super().regularize(0.0, refinement_steps)

    def check(self) -> None:
        """Raise the exception of the function, if it has raised one."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def _factor_at(self, result: Any, *_: Any) -> int:
        result[0] = self._factor()
        return 0

    def _apply_at(self, *given: Any) -> int:
        count, rhs, out = given[3], given[4:11], given[11:18]
        arrays = (np.ctypeslib.as_array((ctypes.c_double * a[2]).from_address(a[4])) for a in (rhs, out))
        self._apply(count, *arrays)
        return 0

    def _factor(self) -> int:
        """Call the function at the present scaling; return 0, or -1 if it raises."""
        form, E = self.form, self.form.E[self.form.p :]
        f, l = form.cost_scale, form.l
        root = np.sqrt(f)
        try:
            scaling = Scaling(
                form.rows, form.ptr, l, root * self.w[:l] / E[:l], self.w[l:].copy(),
                root * self.eta / E[form.ptr[:-1]], self.rows,
            )  # fmt: skip
            self._solve = self.function(scaling)
            if not callable(self._solve):
                raise ProgramError(
                    f"the function kkt must return a function (r1, r2, r3) -> (dx, dy, dz), but {self._solve!r} came"
                )
        except BaseException as error:
            self.error = error
            return -1
        return 0

    def _apply(self, count: int, rhs: np.ndarray, out: np.ndarray) -> None:
        """Add the solutions for `count` right-hand sides to `out`; after an exception, NaN."""
        size = self.product.size
        for k in range(count):
            at = slice(k * size, (k + 1) * size)
            if not np.isfinite(rhs[at]).all():  # after an answer that was not finite
                out[at] = np.nan
                continue
            try:
                out[at] += self._solved(rhs[at])
            except BaseException as error:
                self.error = self.error or error
                out[at] = np.nan

    def _solved(self, rhs: np.ndarray) -> np.ndarray:
        """Return (dx, dy, W dz) in the units of the form."""
        form, n, p, f = self.form, self.form.n, self.form.p, self.form.cost_scale
        D, E = form.D, form.E
        r3 = np.zeros(self.rows)
        r3[form.rows] = self._multiply(rhs[n + p :]) / E[p:]
        assert self._solve is not None
        found = self._solve(rhs[:n] / (f * D), rhs[n : n + p] / E[:p], r3)
        parts = []
        sizes = {"dx": n, "dy": p, "dz": r3.size}
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise ProgramError(f"the solver that kkt returned must give (dx, dy, dz), but {type(found).__name__} came")
        for (name, entries), one in zip(sizes.items(), found):
            part = np.asarray(one, dtype=float)
            if part.shape != (entries,):
                raise ProgramError(f"{name} of the solver that kkt returned must have shape ({entries},), "
                                   f"but {part.shape} came")  # fmt: skip
            parts.append(part)
        dx, dy, dz = parts
        return np.concatenate([dx / D, f * dy / E[:p], self._multiply(f * dz[form.rows] / E[p:])])

    def _multiply(self, v: np.ndarray) -> np.ndarray:
        """Return W v in the units of the form."""
        form, w, out = self.form, self.w, np.empty(v.size)
        l, ptr = form.l, form.ptr
        out[:l] = w[:l] * v[:l]
        for k in range(ptr.size - 1):
            at = slice(ptr[k], ptr[k + 1])
            wk, vk = w[at], v[at]
            tail = wk[1:] @ vk[1:]
            out[ptr[k]] = self.eta[k] * (wk[0] * vk[0] + tail)
            out[ptr[k] + 1 : ptr[k + 1]] = self.eta[k] * (vk[1:] + (vk[0] + tail / (1.0 + wk[0])) * wk[1:])
        return out
