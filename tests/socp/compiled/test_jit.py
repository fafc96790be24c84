"""The decorator of the kernels: one signature each, stamps that see through imports, no cache where none can be."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import qp
import socp
from socp.compiled import jit
from tests.support.programs import DUAL_INFEASIBLE, OPTIMAL, PRIMAL_INFEASIBLE, planted_optimum, planted_quadratic

ROOT = Path(__file__).resolve().parents[3]


def run(code, tmp_path, environment=(), cwd=None):
    """The output of a fresh Python."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "CENTRALPATH_"))}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=600, cwd=cwd or tmp_path,
        env={**clean, "PYTHONPATH": str(ROOT), **dict(environment)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_one_signature_a_kernel():
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT")
    for program in [entry[0] for entry in OPTIMAL.values()] + [*PRIMAL_INFEASIBLE.values(), *DUAL_INFEASIBLE.values()]:
        for kkt in ("ldl", "auto"):
            socp.solve(program, kkt=kkt)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        socp.solve(planted_optimum(rng, density=0.5)[0], equilibrate=seed % 2 == 0, kkt="dense")
        solver = qp.Solver(planted_quadratic(rng)[0])
        solver.solve()
        solver.update(A_data=2.0 * solver.program.A.data)
        solver.solve(warm_start=True)
    compiled = {f"{kernel.py_func.__module__}.{kernel.__name__}": kernel.signatures for kernel in jit.kernels()}
    assert sum(len(signatures) > 0 for signatures in compiled.values()) > 30
    several = {name: signatures for name, signatures in compiled.items() if len(signatures) > 1}
    assert several == {}


PACKAGE = """
from socp.compiled.jit import kernel

SHIFT = {}

@kernel
def inner(x):
    return x + SHIFT
"""
CALLER = """
from socp.compiled.jit import kernel
from inner_file import inner

@kernel
def outer(x):
    return 2.0 * inner(x)
"""
CALLERS = {
    "by name": CALLER,
    "with its module": CALLER.replace("from inner_file import inner", "import inner_file").replace(
        "inner(x)", "inner_file.inner(x)"
    ),
    "a number": CALLER.replace("import inner", "import SHIFT").replace("inner(x)", "(x + SHIFT)"),
}


@pytest.mark.parametrize("way", CALLERS)
def test_a_change_in_what_is_imported_is_seen(tmp_path, way):
    code = "from outer_file import outer; print(outer(1.0), sum(outer.stats.cache_hits.values()))"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "outer_file.py").write_text(CALLERS[way])
    (tmp_path / "inner_file.py").write_text(PACKAGE.format("1.0"))
    assert run(code, tmp_path, environment).split()[:2] == ["4.0", "0"]
    assert run(code, tmp_path, environment).split() == ["4.0", "1"]
    (tmp_path / "inner_file.py").write_text(PACKAGE.format("5.0"))
    assert run(code, tmp_path, environment).split()[:2] == ["12.0", "0"]
    assert run(code, tmp_path, environment).split() == ["12.0", "1"]


def test_compilation_is_announced_once_and_loading_is_not(tmp_path):
    (tmp_path / "outer_file.py").write_text(CALLER)
    (tmp_path / "inner_file.py").write_text(PACKAGE.format("1.0"))
    code = "from outer_file import outer; outer(1.0); from inner_file import inner; inner(2.0)"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(code, tmp_path, environment).count("compiling kernels, once for this installation") == 1
    assert run(code, tmp_path, environment) == ""
    assert "compiling kernels for this process" in run(code, tmp_path, {"CENTRALPATH_NO_CACHE": "1"})


def test_where_the_installation_cannot_be_written_the_note_names_the_users_folder(tmp_path):
    (tmp_path / "outer_file.py").write_text(CALLER)
    (tmp_path / "inner_file.py").write_text(PACKAGE.format("1.0"))
    code = """
        from numba.core import caching
        # an administrator may write anywhere, so numba's places beside the file are taken away
        locators = caching.CacheImpl._locator_classes
        locators[:] = [locator for locator in locators if "InTree" not in locator.__name__]
        from outer_file import outer
        print(outer(1.0))
    """
    environment = {"XDG_CACHE_HOME": str(tmp_path / "users")}
    out = run(code, tmp_path, environment)
    assert "4.0" in out and f"as {tmp_path} cannot be written" in out
    assert str(tmp_path / "users") in out
    assert "compiling" not in run(code, tmp_path, environment)


def test_no_cache_on_request(tmp_path):
    (tmp_path / "outer_file.py").write_text(CALLER)
    (tmp_path / "inner_file.py").write_text(PACKAGE.format("1.0"))
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "CENTRALPATH_NO_CACHE": "1"}
    assert run("from outer_file import outer; print(outer(1.0))", tmp_path, environment).split()[0] == "4.0"
    assert not list(tmp_path.glob("cache/**/*.nb[ic]"))


def test_without_a_folder_to_write_to_it_works_and_says_so(tmp_path):
    # no locator of numba finds a place: the package is where nobody may write, and so is the home folder
    code = """
        import logging
        logging.basicConfig()
        from numba.core import caching
        for locator in caching.CacheImpl._locator_classes:
            locator.from_function = classmethod(lambda cls, py_func, py_file: None)
        from outer_file import outer
        print(outer(1.0))
    """
    (tmp_path / "outer_file.py").write_text(CALLER)
    (tmp_path / "inner_file.py").write_text(PACKAGE.format("1.0"))
    out = run(code, tmp_path)
    assert "4.0" in out
    assert out.count("no folder for compiled kernels can be written") == 1


def test_division_by_zero_is_numpys(tmp_path):
    source = "from socp.compiled.jit import kernel\n\n@kernel\ndef ratio(x, y):\n    return x / y\n"
    (tmp_path / "ratio_file.py").write_text(source)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    out = run("from ratio_file import ratio; print(ratio(1.0, 0.0), ratio(0.0, 0.0))", tmp_path, environment)
    assert out.split()[:2] == ["inf", "nan"]


def test_the_same_answers_without_compilation(tmp_path):
    code = """
        import numpy as np, qp, socp
        from tests.support.programs import DUAL_INFEASIBLE, OPTIMAL, PRIMAL_INFEASIBLE
        from tests.support.programs import planted_optimum, planted_quadratic
        programs = [OPTIMAL[name][0] for name in ("disk", "sum of norms", "redundant equalities", "low rank")]
        programs += [PRIMAL_INFEASIBLE["two disks"], DUAL_INFEASIBLE["inside a cone"]]
        programs += [planted_optimum(np.random.default_rng(seed), n=6)[0] for seed in range(3)]
        for program in programs:
            solution = socp.solve(program)
            print(solution.status, f"{solution.objective:.6e}")
        solution = qp.solve(planted_quadratic(np.random.default_rng(0), n=6)[0])
        print(solution.status, f"{solution.objective:.6e}")
    """
    plain = run(code, tmp_path, {"NUMBA_DISABLE_JIT": "1"})
    cache = {name: os.environ[name] for name in ("NUMBA_CACHE_DIR",) if name in os.environ}
    assert answers(plain) == answers(run(code, tmp_path, cache))
    assert len(answers(plain)) == 10


def answers(text):
    """Status and value of each line, warnings left out; small values are zero."""
    rows = [line.split() for line in text.splitlines() if line.startswith(("optimal", "primal_inf", "dual_inf"))]
    return [(status, round(float(value), 5) if value != "nan" else None) for status, value in rows]


def test_kernels_are_listed_once():
    kernels = jit.kernels()
    assert len(kernels) == len({id(kernel) for kernel in kernels}) > 40


def test_warmup_leaves_no_kernel_to_be_loaded(tmp_path):
    code = """
    import numpy as np
    import qp, socp
    from tests.support.programs import DUAL_INFEASIBLE, OPTIMAL, PRIMAL_INFEASIBLE, planted_optimum, planted_quadratic
    from bench.programs import generate, learning
    from socp.compiled import jit

    qp.warmup()
    before = {id(kernel): len(kernel.signatures) for kernel in jit.kernels()}
    for program in [entry[0] for entry in OPTIMAL.values()] + [*PRIMAL_INFEASIBLE.values(), *DUAL_INFEASIBLE.values()]:
        for kkt in ("ldl", "auto"):
            socp.solve(program, kkt=kkt)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        socp.solve(planted_optimum(rng, density=0.5)[0], kkt="dense")
        solver = qp.Solver(planted_quadratic(rng)[0])
        solver.solve()
        solver.update(A_data=2.0 * solver.program.A.data)
        solver.solve(warm_start=True)
    for generated in generate.CLASSES.values():
        for size in (4, 60):
            program = generated(size, 0)
            (qp.Solver if isinstance(program, qp.QuadraticProgram) else socp.Solver)(program).solve()
    qp.Solver(learning.ea_svm_cubic(150, 0)).solve()
    late = [kernel.__name__ for kernel in jit.kernels() if len(kernel.signatures) > before.get(id(kernel), 0)]
    print("late:", late)
    """
    assert "late: []" in run(code, tmp_path)
