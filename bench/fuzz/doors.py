"""The doors of the project: every way in which a program may be given to it, each with its answer in one form.

A door takes the data of a program as arguments, in whatever containers, and the program that they state.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import qp
import socp
import socp.files.cbf
from qp.files import qps
from socp import LowRank, NonNeg, Status

from ..answers.answer import Answer, from_solution
from ..answers.program import VECTORS, arguments_of, changed, engine_of, linear_name
from ..peers.forms import csc32, one_sided, two_sided
from ..programs import saved
from . import batches
from .case import Case, Planted
from .judge import WRONG, judge
from .points import Generator

Arguments = dict[str, Any]
Door = Callable[[Generator, Any, Arguments], Answer | None]
"""From a generator, a program and its data as arguments to the answer, or None if the door is not for it."""


def solve(rng: Generator, program: Any, data: Arguments) -> Answer:
    """Call the function."""
    return from_solution(engine_of(program).solve(**data), 0.0)


def program_of(rng: Generator, program: Any, data: Arguments) -> Answer:
    """Call the function with a program."""
    return from_solution(engine_of(program).solve(type(program)(**data)), 0.0)


def interior_point(rng: Generator, program: Any, data: Arguments) -> Answer:
    """Call the function without the active sets, or with another way to factorize."""
    other: dict[str, Any] = {"active_set": False} if isinstance(program, qp.QuadraticProgram) else {}
    if not other or rng.random() < 0.3:
        other["kkt"] = str(rng.choice(["dense", "ldl"]))
    if isinstance(program, qp.QuadraticProgram) and rng.random() < 0.3:
        other["presolve"] = False
    return from_solution(engine_of(program).solve(**data, **other), 0.0)


def solver(rng: Generator, program: Any, data: Arguments) -> Answer:
    """Set up a solver and solve, once or twice, perhaps from the last answer."""
    made = engine_of(program).Solver(**data)
    found = made.solve()
    if rng.random() < 0.3:
        found = made.solve(warm_start=bool(rng.random() < 0.5))
    return from_solution(found, 0.0)


def pickled(rng: Generator, program: Any, data: Arguments) -> Answer:
    """Copy a solver by pickle, before or after its first solve."""
    made = engine_of(program).Solver(**data)
    if rng.random() < 0.5:
        made.solve()
    return from_solution(pickle.loads(pickle.dumps(made)).solve(), 0.0)


def updated(rng: Generator, program: Any, data: Arguments) -> Answer:
    """Set a solver up on other data of the pattern, solve, and update everything, at once or one by one."""
    before = like(rng, program)
    made = engine_of(program).Solver(before)
    if rng.random() < 0.7:
        made.solve()
    change = {name: data[name] for name in VECTORS[type(program).__name__]}
    for name in ("A", "G") if isinstance(program, socp.ConeProgram) else ("A",):
        change[f"{name}_data"] = getattr(program, name).data
    if program.P is not None and not isinstance(program.P, LowRank):
        as_matrix = isinstance(program.P, np.ndarray) or rng.random() < 0.3
        change["P_data"] = program.P if as_matrix else program.P.data
    change = {name: value for name, value in change.items() if np.size(value)}
    if rng.random() < 0.3 and isinstance(program, socp.ConeProgram):  # sides of a quadratic program would cross
        for name in rng.permutation(list(change)):
            made.update(**{name: change[name]})
    else:
        made.update(**change)
    return from_solution(made.solve(warm_start=bool(rng.random() < 0.5)), 0.0)


def batch_alone(rng: Generator, program: Any, data: Arguments) -> Answer | None:
    """Solve a batch of one program."""
    return _in_batch(rng, program, [], 0)


def batch_among_others(rng: Generator, program: Any, data: Arguments) -> Answer | None:
    """Solve a batch of programs of the same shape, of which this is the first, the last, or in the middle."""
    k = int(rng.integers(1, 12))
    place = int(rng.choice([0, k // 2, k]))
    return _in_batch(rng, program, [like(rng, program) for _ in range(k)], place)


def _in_batch(rng: Generator, program: Any, others: list[Any], place: int) -> Answer | None:
    if program.n > 400:
        return None
    programs = [*others[:place], program, *others[place:]]
    cases = [Case(one, Planted()) for one in programs]
    same = [
        name
        for name in ("P", "A", "G")
        if all(_same(getattr(one, name, None), getattr(program, name, None)) for one in programs)
    ]
    shared = tuple(same) if rng.random() < 0.7 else ()
    many = batches.solve(cases, shared, int(rng.integers(1, 3)))
    found = from_solution(many[place], 0.0)
    # A batch has no offsets, and the objective of a low-rank P is that of its product.
    return replace(found, objectives=None) if program.offset or isinstance(program.P, LowRank) else found


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return sp.issparse(one) and sp.issparse(other) and one.shape == other.shape and (one != other).nnz == 0


def like(rng: Generator, program: Any) -> Any:
    """Draw a program of the same pattern: other vectors, and perhaps other values of the matrices and other sides."""
    parts: dict[str, Any] = {}
    noise = lambda v: v + rng.normal(size=v.size) * (1.0 + np.abs(np.where(np.isfinite(v), v, 0.0)))  # noqa: E731
    name = linear_name(program)
    parts[name] = noise(getattr(program, name))
    if rng.random() < 0.5:
        for matrix in ("A", "G") if isinstance(program, socp.ConeProgram) else ("A",):
            other = getattr(program, matrix).copy()
            other.data = rng.normal(size=other.data.size)
            parts[matrix] = other
        if program.P is not None and not isinstance(program.P, LowRank):
            parts["P"] = float(rng.uniform(0.1, 3.0)) * program.P
    if isinstance(program, socp.ConeProgram):
        parts |= {"b": noise(program.b), "h": noise(program.h)}
    else:
        for lower, upper in (("l", "u"), ("lb", "ub")):
            ends = np.sort([noise(getattr(program, lower)), noise(getattr(program, upper))], axis=0)
            infinite = rng.random(ends.shape) < (0.2 if rng.random() < 0.3 else 0.0)
            parts |= {lower: np.where(infinite[0], -np.inf, ends[0]), upper: np.where(infinite[1], np.inf, ends[1])}
    return changed(program, **parts)


def cone_form(rng: Generator, program: Any, data: Arguments) -> Answer | None:
    """Solve a quadratic program as a cone program, or one with orthants only as a quadratic program, at any door."""
    if isinstance(program, socp.ConeProgram):
        if any(not isinstance(cone, NonNeg) for cone in program.cones) or not np.isfinite(program.h).all():
            return None
        p, l = program.p, np.append(program.b, np.full(program.m, -np.inf))
        rows = sp.vstack([program.A, program.G], format="csc")
        other: Any = qp.QuadraticProgram(program.P, program.c, rows, l, np.append(program.b, program.h))
        back = lambda x, y, z: (x, *((None, None) if y is None else (y[:p], y[p:])))  # noqa: E731
    else:
        form = one_sided(program)  # with variables for the factors of a low rank
        other = socp.ConeProgram(form.c, form.G, form.h, [NonNeg(form.nonneg)], form.A, form.b, form.P)
        back = form.recover
    door = ENGINE[int(rng.integers(len(ENGINE)))]
    answer = door(rng, other, arguments_of(other))
    if answer is None:
        return None
    verdict = judge(Case(other, Planted(), True), answer)
    if verdict.name == WRONG:
        raise AssertionError(f"wrong in the other form: {verdict.why}")
    x, y, z = back(answer.x, answer.y, answer.z)
    return replace(answer, x=x, y=y, z=z, s=None, told=None, objectives=None if program.offset else answer.objectives)


ENGINE: tuple[Door, ...] = (solve, solver, updated, batch_alone, interior_point)


def qpsolvers(rng: Generator, program: Any, data: Arguments) -> Answer | None:
    """Solve a ``qpsolvers.Problem``, dense or sparse."""
    if isinstance(program, socp.ConeProgram):
        return None
    import qpsolvers as package

    qp.register_with_qpsolvers()
    form = two_sided(program)
    above, below = np.flatnonzero(np.isfinite(form.u)), np.flatnonzero(np.isfinite(form.l))
    G, h = sp.vstack([form.C.tocsr()[above], -form.C.tocsr()[below]]), np.append(form.u[above], -form.l[below])
    dense = rng.random() < 0.5 and program.n < 150
    matrices = [M.toarray() if dense else csc32(M) for M in (form.P, G, form.A)]
    bounds = [None if np.isinf(b).all() and rng.random() < 0.5 else b for b in (form.lb, form.ub)]
    given = [(M, v) if v.size else (None, None) for M, v in ((matrices[1], h), (matrices[2], form.b))]
    problem = package.Problem(matrices[0], form.q, *given[0], *given[1], *bounds)
    answer = package.solve_problem(problem, "centralpath")
    z, rows = np.zeros(form.l.size), np.asarray(answer.z if h.size else np.zeros(0)).ravel()
    z[above] += rows[: above.size]
    z[below] -= rows[above.size :]
    z_box = np.zeros(form.q.size) if answer.z_box is None or not np.size(answer.z_box) else answer.z_box
    y = np.asarray(answer.y).ravel() if form.b.size else np.zeros(0)
    point = form.recover(answer.x, y, z, z_box)
    status = answer.extras["solution"].status
    if answer.found is not (status is Status.OPTIMAL):
        raise AssertionError(f"found is {answer.found} with status {status.value}")
    return _plain("qpsolvers", answer.extras["solution"], *point, None if program.offset else answer.obj)


def _plain(name: str, solution: Any, x: Any, y: Any, z: Any, objective: Any = None) -> Answer:
    """Return an answer of an interface, whose objective is compared with that of x."""
    answer = Answer(name, solution.status, x, y, z, solution.iterations, 0.0, 0.0, message=solution.message)
    return answer if objective is None else replace(answer, objectives=(float(objective), np.nan))


def cvxpy(rng: Generator, program: Any, data: Arguments) -> Answer | None:
    """Solve a problem stated in cvxpy, by its interface of quadratic or of cone programs."""
    if program.n > 100:
        return None
    import cvxpy as cp

    import qp.interop.cvxpy  # noqa: F401
    from socp.interop.cvxpy import CentralPath

    x, constraints, read = cp.Variable(program.n), [], []
    P = program.P.toarray() if sp.issparse(program.P) or isinstance(program.P, LowRank) else program.P
    objective = getattr(program, linear_name(program)) @ x
    if P is not None:
        objective += 0.5 * cp.quad_form(x, cp.psd_wrap(P))

    def state(constraint: Any, put: Callable[[Any], None]) -> None:
        constraints.append(constraint)
        read.append(put)

    rows = program.A.shape[0]
    y, z = np.zeros(rows), np.zeros(program.m if isinstance(program, socp.ConeProgram) else program.n)
    whole = lambda out, where: lambda v: np.add.at(out, where, np.concatenate([np.ravel(part) for part in v]))  # noqa: E731
    put = lambda out, where, sign: lambda v: np.add.at(out, where, sign * np.asarray(v).ravel())  # noqa: E731
    if isinstance(program, socp.ConeProgram):
        if rows:
            state(program.A @ x == program.b, put(y, np.arange(rows), 1.0))
        start = 0
        for cone in program.cones:
            where = np.arange(start, start + cone.dim)
            start += cone.dim
            G, h = program.G.tocsr()[where], program.h[where]
            if isinstance(cone, NonNeg):
                finite = np.isfinite(h)
                if finite.any():
                    state(G[finite] @ x <= h[finite], put(z, where[finite], 1.0))
            elif cone.dim == 1:
                state(G @ x <= h, put(z, where, 1.0))
            elif cone.dim:
                s = h - G @ x
                state(cp.SOC(s[0], s[1:]), whole(z, where))
    else:
        A = program.A.tocsr()
        for matrix, l, u, out in ((A, program.l, program.u, y), (None, program.lb, program.ub, z)):
            value = lambda w, matrix=matrix: x[w] if matrix is None else matrix[w] @ x  # noqa: E731
            equal = np.flatnonzero(l == u)
            over, under = np.flatnonzero(np.isfinite(u) & (l < u)), np.flatnonzero(np.isfinite(l) & (l < u))
            if equal.size:
                state(value(equal) == u[equal], put(out, equal, 1.0))
            if over.size:
                state(value(over) <= u[over], put(out, over, 1.0))
            if under.size:
                state(value(under) >= l[under], put(out, under, -1.0))
    problem = cp.Problem(cp.Minimize(objective), constraints)
    chosen: Any = CentralPath() if rng.random() < 0.4 else "CENTRALPATH"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=chosen)
        except cp.SolverError:
            return Answer("cvxpy", Status.NUMERICAL_ERROR, None, None, None, 0, 0.0, 0.0)
    solution = problem.solver_stats.extra_stats
    if solution.status is Status.DUAL_INFEASIBLE or any(c.dual_value is None for c in constraints):
        return _plain("cvxpy", solution, None, None, None)
    for constraint, store in zip(constraints, read):
        store(constraint.dual_value)
    if not solution.status.has_solution:
        return _plain("cvxpy", solution, None, y, z)
    return _plain("cvxpy", solution, x.value, y, z, problem.value + program.offset)


def file(rng: Generator, program: Any, data: Arguments) -> Answer | None:
    """Write a file and read it again, with every number as it was, and solve."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(program, socp.ConeProgram):
            program = changed(program, P=None) if program.P is not None and not np.any(_entries(program.P)) else program
            ending = ".cbf" if program.P is None else ".json"
            path = Path(folder) / f"program{ending}{'.gz' if ending == '.cbf' and rng.random() < 0.3 else ''}"
            if ending == ".json":
                read = _reported(program, path)
            else:
                socp.files.cbf.write(program, path)
                read = socp.files.cbf.read(path)
        else:
            ending = str(rng.choice([".mps", ".qps", ".mps.gz", ".json"]))
            path = Path(folder) / f"program{ending}"
            if ending == ".json":
                read = _reported(program, path)
            else:
                qps.write_qps(program, path)
                read = qps.read_qps(path)
            _check_numbers(program, read, ending)
        if type(read) is type(program) and read.n == program.n and read.A.shape == program.A.shape:
            same_rows = not isinstance(program, socp.ConeProgram) or read.m == program.m
            if same_rows:
                found = from_solution(engine_of(read).solve(read), 0.0)
                same = all(_same(getattr(read, name, None), getattr(program, name, None)) for name in ("A", "G"))
                return found if same else replace(found, y=None, z=None, s=None, told=None)
    return None  # rows that always hold are left out of a file


def _reported(program: Any, path: Path) -> Any:
    engine_of(program).solve(program).report(path)
    return saved.read(path).program


def _entries(P: Any) -> Any:
    return P.toarray() if isinstance(P, LowRank) else P.data if sp.issparse(P) else P


def _check_numbers(program: Any, read: Any, ending: str) -> None:
    """Raise AssertionError if numbers changed; `write_qps` may change the last digit of a side of a range."""
    if read.n != program.n or read.A.shape != program.A.shape:
        return  # rows without sides
    last = 4 * np.finfo(float).eps if ending[:4] in (".mps", ".qps") else 0.0
    for name in ("q", "l", "u", "lb", "ub"):
        one, other = getattr(program, name), getattr(read, name)
        with np.errstate(invalid="ignore"):  # infinite sides are equal
            fine = (one == other) | (np.abs(one - other) <= (last if name in "lu" else 0.0) * np.abs(one))
        if not np.all(fine):
            raise AssertionError(f"{name} changed in {ending}: {one[~fine][:2]} became {other[~fine][:2]}")
    if (abs(program.A - read.A)).max() != 0.0 if program.A.nnz or read.A.nnz else False:
        raise AssertionError(f"A changed in {ending}")


DOORS: dict[str, Door] = {
    "solve": solve,
    "solve(program)": program_of,
    "interior point": interior_point,
    "Solver": solver,
    "Solver, pickled": pickled,
    "Solver, updated": updated,
    "solve_many, alone": batch_alone,
    "solve_many, among others": batch_among_others,
    "other form": cone_form,
    "qpsolvers": qpsolvers,
    "cvxpy": cvxpy,
    "file": file,
}
"""Every door by its name; the first one is that against which the others are held."""
