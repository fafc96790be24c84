"""What `verbose` prints: header, one aligned line an iteration, footer, from the same records as the trace."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import qp
import socp
from socp.problem.printing import COLUMNS
from tests.support.programs import DUAL_INFEASIBLE, PRIMAL_INFEASIBLE, planted_optimum

NAMES = ["primal_objective", "dual_objective", "primal_residual", "dual_residual", "gap", "alpha", "mu", "seconds"]


def printed(capsys, program, **settings):
    solution = socp.solve(program, verbose=True, **settings)
    out = capsys.readouterr()
    assert out.err == ""
    return solution, out.out.splitlines()


@pytest.fixture
def program():
    return planted_optimum(np.random.default_rng(3), n=12)[0]


def test_one_aligned_line_an_iteration(capsys, program):
    solution, lines = printed(capsys, program)
    first = lines.index(COLUMNS) + 1
    rows = lines[first : first + solution.iterations + 1]
    assert len({len(row) for row in rows}) == 1
    for row, record in zip(rows, solution.trace):
        fields = row.split()
        assert int(fields[0]) == record["iteration"]
        for text, name in zip(fields[1:], NAMES):
            if re.fullmatch("-+", text):
                assert name == "alpha" and np.isnan(record[name])
            else:
                assert float(text) == pytest.approx(record[name], rel=0.06, abs=0.006 if name == "seconds" else 1e-12)
        assert len(fields) == 1 + len(NAMES)
    # the heads stand over the ends of their columns
    ends = [match.end() for match in re.finditer(r"\S+", rows[-1])]
    heads = [match.end() for match in re.finditer(r"primal obj|dual obj|\S+", COLUMNS)]
    assert heads[:-1] == ends[:-1]


def test_iterates_may_go_on_in_another_thread(capsys, program):
    run = socp.iterates(program, verbose=True)
    next(run)
    with ThreadPoolExecutor(1) as pool:
        count = pool.submit(lambda: sum(1 for _ in run)).result()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines[lines.index(COLUMNS) + 1 :]) >= count + 1 > 3


def test_header_says_sizes_and_method(capsys, program):
    solver = socp.Solver(program, verbose=True, kkt="ldl")
    solver.solve()
    text = capsys.readouterr().out
    header = text[: text.index(COLUMNS)]
    form = solver.form
    assert header.startswith("centralpath")
    assert f"variables {program.n}, equalities {program.p}, {form.l} nonnegative rows" in header
    assert f"of A and G {form.M_indices.size}" in header
    assert f"plan: {solver.plan}\n" in header and "sparse LDL'" in header and "entries" in header
    assert "tol 1e-08" in header
    if form.ptr.size > 1:
        sizes = np.diff(form.ptr)
        assert f"{sizes.size} second-order cones (dimensions {sizes.min()} to {sizes.max()})" in header


def test_footer_says_status_and_reason(capsys, program):
    solution, lines = printed(capsys, program)
    footer = lines[lines.index(COLUMNS) + solution.iterations + 2 :]
    assert footer[0] == f"optimal: {solution.message}"
    assert f"objective {solution.objective:.12g}, dual objective {solution.dual_objective:.12g}" in footer[1]
    assert f"{solution.iterations} iterations" in footer[2] and "relative residuals" in footer[2]
    limited, lines = printed(capsys, program, max_iter=1)
    assert lines[-3] == f"max_iterations: {limited.message}"


@pytest.mark.parametrize("programs", [PRIMAL_INFEASIBLE, DUAL_INFEASIBLE])
def test_infeasible_programs_have_no_objective(capsys, programs):
    for one in programs.values():
        solution, lines = printed(capsys, one)
        assert f"{solution.status}: {solution.message}" in lines
        assert not any(line.startswith("  objective") for line in lines)


def test_notebooks_show_solutions_and_programs_as_tables(program):
    import xml.etree.ElementTree as ET

    def cells(thing):
        return {row[0].text: row[1].text for row in ET.fromstring(thing._repr_html_()).iter("tr")}

    solution = socp.solve(program)
    shown = cells(solution)
    assert shown["status"] == f"optimal: {solution.message}"
    assert float(shown["objective"]) == pytest.approx(solution.objective, rel=1e-11)
    assert shown["iterations"] == str(solution.iterations)
    assert "objective" not in cells(socp.solve(next(iter(PRIMAL_INFEASIBLE.values()))))
    assert cells(program)["variables"] == str(program.n)
    assert cells(program)["equalities"] == f"{program.p}, {program.A.nnz} entries"
    quadratic = qp.QuadraticProgram(qp.LowRank(np.ones((3, 1))), [1.0, 1.0, 1.0], lb=[0.0, -np.inf, -np.inf])
    assert cells(quadratic) == {"variables": "3, 1 with a bound", "rows": "0, 0 entries", "P": "LowRank(n=3, rank=1)"}
    assert cells(qp.Solver(quadratic, max_iter=1).solve())["status"].startswith("max_iterations")


def test_show_config_says_what_a_report_needs(capsys):
    socp.show_config()
    shown = capsys.readouterr().out
    for name in ("numpy", "scipy", "numba", "BLAS threads", "cache", "JIT"):
        assert f"{name} " in shown
    assert np.__version__ in shown
