"""Adapters of the solvers that take the stages of a controller: HPIPM, and PIQP's backend by stages.

Their programs have `stages` (see `bench.programs.control`).
"""

from __future__ import annotations

import ctypes
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from . import quadratic
from .peer import INTERIOR_POINT_ITERATIONS, Asked, peer

BALANCE = 1  # the mode of HPIPM between speed and robustness, its default in acados
ROOM = 1 << 14  # bytes for a structure whose size the library does not tell
TRIALS = 3  # solves by which the number of condensed stages is chosen
NO_SIDE = 1e9


class Condensed:
    """HPIPM for one program, with its stages condensed to `count` if that is less than their number."""

    def __init__(self, lib: Any, stages: Any, settings: dict[str, Any], count: int) -> None:
        self.lib, self.count, self.N = lib, count, stages.N
        self.kept: list[Any] = []
        self.first = np.zeros(stages.A.shape[0])
        self.dim, self.program, self.point = self._program(stages)
        self.solved = self.dim, self.program, self.point
        if count < stages.N:
            self._condense()
        dim = self.solved[0]
        self.arg = self._made("d_ocp_qp_ipm_arg", dim)
        lib.d_ocp_qp_ipm_arg_set_default(BALANCE, self.arg)
        for name, value in settings.items():
            kind = ctypes.c_int if isinstance(value, int) else ctypes.c_double
            getattr(lib, f"d_ocp_qp_ipm_arg_set_{name}")(ctypes.byref(kind(value)), self.arg)
        self.work = self._made("d_ocp_qp_ipm_ws", dim, self.arg)

    def _made(self, name: str, *parts: Any) -> Any:
        """Return a structure of HPIPM in memory of its own."""
        size = getattr(self.lib, f"{name}_strsize", None)
        made = ctypes.create_string_buffer(ROOM if size is None else size())
        memsize = getattr(self.lib, f"{name}_memsize")
        memsize.restype = ctypes.c_size_t
        memory = ctypes.create_string_buffer(memsize(*parts) + 64)
        getattr(self.lib, f"{name}_create")(*parts, made, memory)
        self.kept += [made, memory]
        return made

    def _program(self, stages: Any) -> tuple[Any, Any, Any]:
        lib, N, (nx, nu) = self.lib, stages.N, stages.B.shape
        dim = self._made("d_ocp_qp_dim", N)
        for k in range(N + 1):
            sizes = {"nx": nx * (k > 0), "nu": nu * (k < N), "nbx": nx * (k > 0), "nbu": nu * (k < N), "ng": 0, "ns": 0}
            for name, size in sizes.items():
                getattr(lib, f"d_ocp_qp_dim_set_{name}")(k, size, dim)
        program = self._made("d_ocp_qp", dim)
        lib.d_ocp_qp_set_all_zero(program)
        rows = [np.arange(size, dtype=np.int32) for size in (nx, nu)]
        sides = [np.clip(side, -NO_SIDE, NO_SIDE) for side in (stages.x_min, stages.x_max, stages.u_min, stages.u_max)]
        for k in range(N + 1):
            of_inputs = {
                "B": stages.B,
                "b": np.zeros(nx),
                "R": stages.R,
                "idxbu": rows[1],
                "lbu": sides[2],
                "ubu": sides[3],
            }
            of_states = {"Q": stages.Q, "idxbx": rows[0], "lbx": sides[0], "ubx": sides[1]}
            given = (of_inputs if k < N else {}) | (of_states if k else {}) | ({"A": stages.A} if 0 < k < N else {})
            for name, value in given.items():
                array = np.asfortranarray(value)
                self.kept.append(array)
                getattr(lib, f"d_ocp_qp_set_{name}")(k, array.ctypes.data_as(ctypes.c_void_p), program)
        return dim, program, self._made("d_ocp_qp_sol", dim)

    def _condense(self) -> None:
        lib, dim = self.lib, self._made("d_ocp_qp_dim", self.count)
        self.blocks = (ctypes.c_int * (self.N + 2))()
        lib.d_part_cond_qp_compute_block_size(self.N, self.count, self.blocks)
        lib.d_part_cond_qp_compute_dim(self.dim, self.blocks, dim)
        self.how = self._made("d_part_cond_qp_arg", self.count)
        lib.d_part_cond_qp_arg_set_default(self.how)
        small = self._made("d_ocp_qp", dim)
        self.solved = dim, small, self._made("d_ocp_qp_sol", dim)
        self.condensing = self._made("d_part_cond_qp_ws", self.dim, self.blocks, dim, self.how)
        lib.d_part_cond_qp_cond(self.program, small, self.how, self.condensing)

    def take(self, first: np.ndarray) -> None:
        """Replace the right-hand side of the first dynamics, A x_0."""
        self.first[:] = first
        self.lib.d_ocp_qp_set_b(0, self.first.ctypes.data_as(ctypes.c_void_p), self.program)

    def solve(self) -> int:
        """Solve and return HPIPM's status, 0 for an optimal answer."""
        lib, (_, program, point), is_condensed, status = self.lib, self.solved, self.count < self.N, ctypes.c_int()
        if is_condensed:
            lib.d_part_cond_qp_cond_rhs(self.program, program, self.how, self.condensing)
        lib.d_ocp_qp_ipm_solve(program, point, self.arg, self.work)
        if is_condensed:
            lib.d_part_cond_qp_expand_sol(self.program, program, point, self.point, self.how, self.condensing)
        lib.d_ocp_qp_ipm_get_status(self.work, ctypes.byref(status))
        return status.value

    def read(self, name: str, k: int, size: int) -> np.ndarray:
        """Return a part of the answer at stage k."""
        found = np.zeros(size)
        getattr(self.lib, f"d_ocp_qp_sol_get_{name}")(k, self.point, found.ctypes.data_as(ctypes.c_void_p))
        return found


@peer(
    package="acados", distribution="comma-deps-acados", tolerances="tol_stat tol_eq tol_ineq tol_comp",
    iter_max=INTERIOR_POINT_ITERATIONS,
)  # fmt: skip
def hpipm(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a controller for HPIPM, with the number of condensed stages by which it is fastest."""
    stages, lib = program.stages, hpipm_library()
    N, (nx, nu) = stages.N, stages.B.shape

    def setup() -> Condensed:
        best, least = None, np.inf
        for count in sorted({N, N // 2, N // 4, 5, 2}):
            if 0 < count <= N:
                solver = Condensed(lib, stages, settings, count)
                solver.take(-program.u[:nx])
                begin = time.perf_counter()
                for _ in range(TRIALS):
                    solver.solve()
                seconds = time.perf_counter() - begin
                best, least = (solver, seconds) if seconds < least else (best, least)
        assert best is not None
        return best

    def read(solver: Condensed, status: int) -> Any:
        x = np.concatenate([np.append(solver.read("u", k, nu), solver.read("x", k + 1, nx)) for k in range(N)])
        y = np.concatenate([solver.read("pi", k, nx) for k in range(N)])
        sides = [
            np.concatenate(
                [np.append(solver.read(f"{side}u", k, nu), solver.read(f"{side}x", k + 1, nx)) for k in range(N)]
            )
            for side in ("lam_ub", "lam_lb")
        ]
        return f"hpipm:{status}", 0, (x, y, sides[0] - sides[1])

    def follow(changed: Any) -> Any:
        first = -changed.l[:nx]
        return lambda solver: solver.take(first)

    return Asked(
        setup, lambda solver: solver.solve(), read, lambda solver, c=None, b=None: solver.take(-b[:nx]), follow
    )


def hpipm_library() -> Any:
    """Return the library, loaded after the one that it needs."""
    spec = find_spec("acados")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("HPIPM comes with the package comma-deps-acados")
    folder = Path(spec.submodule_search_locations[0]) / "install" / "lib"
    ctypes.CDLL(str(folder / "libblasfeo.so"))
    return ctypes.CDLL(str(folder / "libhpipm.so"))


@peer(
    package="piqp", distribution="piqp", tolerances="eps_abs eps_rel eps_duality_gap_abs eps_duality_gap_rel",
    check_duality_gap=True, max_iter=INTERIOR_POINT_ITERATIONS, verbose=False,
)  # fmt: skip
def piqp_multistage(program: Any, settings: dict[str, Any]) -> Asked:
    """Translate a controller for PIQP, whose backend by stages finds them in the order of its variables."""
    import piqp as package

    return quadratic.piqp(program, settings | {"kkt_solver": package.KKTSolver.sparse_multistage})
