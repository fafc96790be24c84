"""Compilation in several processes: announced, done here where helpers cannot, and nothing left after a warmup."""

import dis
import io
import json
import os
import re
import subprocess
import sys
import types

import pytest

from socp.compiled import build, kernels
from socp.linalg.vectors import dot_within, norm_tail
from tests.socp.compiled.test_kernels import files, run

pytestmark = pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")

MANY = """
from socp.compiled.kernels import inner, kernel
from socp.compiled.signatures import Floats

@inner
def part_0(x: Floats) -> float:
    return x[0]
"""
PART = """
@inner
def part_{next}(x: Floats) -> float:
    return part_{k}(x) + {next}.0
"""
LAST = """
@kernel
def last(x: Floats) -> float:
    return part_{k}(x)
"""
COUNT = 12


def write_many(folder):
    parts = "".join(PART.format(k=k, next=k + 1) for k in range(COUNT))
    (folder / "many.py").write_text(MANY + parts + LAST.format(k=COUNT))


CODE = """
import numpy as np
from socp.compiled import build
build.START = 0.01  # so that there are helpers for these few
build._processors = lambda: 3
{more}
from many import last
print("answer", last(np.ones(1)))
"""


@pytest.mark.full
def test_helpers_compile_what_this_process_loads(tmp_path):
    write_many(tmp_path)
    out = run(CODE.format(more=""), tmp_path)
    assert f"answer {1.0 + COUNT * (COUNT + 1) / 2}" in out
    assert out.count(f"compiling {COUNT + 2} kernels, once for this version") == 1 and str(tmp_path / "cache") in out
    assert len(files(tmp_path)) == COUNT + 2
    assert "compiling" not in run(CODE.format(more=""), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("more, environment", [
    ("", {"PYTHONOPTIMIZE": "2"}), ("build.Helper.start = lambda self: False", {}),
    ("import sys; sys.executable = '/bin/false'", {}), ("import sys; sys.executable = ''", {}),
])  # fmt: skip
def test_without_docstrings_or_helpers_all_is_compiled(tmp_path, more, environment):
    write_many(tmp_path)
    for _ in range(2):
        assert f"answer {1.0 + COUNT * (COUNT + 1) / 2}" in run(CODE.format(more=more), tmp_path, environment)
    assert len(files(tmp_path)) == COUNT + 2


def test_a_helper_that_died_gives_its_kernel_back_and_is_stopped_quietly():
    compilation = build.Compilation([dot_within])
    helper = build.Helper(compilation)
    pipe = subprocess.PIPE
    helper.process = subprocess.Popen([sys.executable, "-c", "input(); input()"], stdin=pipe, stdout=pipe)
    helper.run()
    assert compilation.waiting == [dot_within] and compilation.done == 0
    helper.stop()
    assert helper.process.stdin.closed and helper.process.stdout.closed


def test_a_helper_takes_what_it_can_import_and_gives_back_nothing_that_is_done(monkeypatch):
    compilation, code = build.Compilation([dot_within, norm_tail]), []
    other, main = compilation.waiting = [dot_within, types.SimpleNamespace(importable=False)]
    monkeypatch.setattr(build.cache, "decode", lambda kernel, content: kernel)
    monkeypatch.setattr(build.cache, "write", lambda kernel, content: code.append(kernel))
    helper, pipe = build.Helper(compilation), subprocess.PIPE
    answer = f"input(); input(); import sys; sys.stdout.buffer.write(bytes({build.HEAD.size}))"
    helper.process = subprocess.Popen([sys.executable, "-c", answer], stdin=pipe, stdout=pipe)
    helper.run()
    helper.stop()
    assert code == [other] and compilation.waiting == [main] and compilation.done == 1
    assert compilation.take(False) is None and compilation.take(True) is main


def test_a_helper_does_not_import_from_the_current_directory(tmp_path, monkeypatch):
    for name in ("llvmlite", "json", "socp", "struct"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(7)")
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])
    path = build._search_path()
    assert all(map(os.path.isabs, path))
    result = subprocess.run(
        build._command(), input=json.dumps(path) + "\n", capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


@pytest.mark.parametrize("optimize", [0, 1, 2])
def test_a_helper_runs_as_this_process_does(monkeypatch, optimize):
    monkeypatch.setattr(sys, "flags", types.SimpleNamespace(optimize=optimize, dont_write_bytecode=1))
    assert (build._command().count("-O"), build._command().count("-B")) == (optimize, 1)


def test_no_helper_is_started_by_a_program_that_is_not_python(monkeypatch):
    for name in ("", "/usr/bin/uwsgi"):
        monkeypatch.setattr(sys, "executable", name)
        assert not build.Helper(build.Compilation([dot_within])).start()


def test_callees_come_first():
    from socp.method.loop import follow

    order = build.callees_first([follow])
    assert order[-1] is follow and len(order) == len(set(map(id, order))) > 20
    for at, kernel in enumerate(order):
        assert {id(callee) for callee in kernel.callees} <= {id(other) for other in order[:at]}


@pytest.mark.full
def test_after_a_warmup_nothing_is_compiled_or_loaded(tmp_path):
    code = """
    import numpy as np
    import qp, socp
    from tests.support.programs import DUAL_INFEASIBLE, OPTIMAL, PRIMAL_INFEASIBLE, planted_optimum, planted_quadratic
    from bench.programs import generate, learning
    from socp.compiled import kernels
    from socp.kernel_groups import prepare_packages

    qp.warmup()
    prepare_packages("models.")  # as `python -m socp warmup` does: a kernel matrix is of models
    before = {id(kernel) for kernel in kernels.kernels() if kernel.address_or_zero}
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
    late = [kernel.name for kernel in kernels.kernels() if kernel.address_or_zero and id(kernel) not in before]
    print("late:", late)
    """
    environment = {"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"]} if "NUMBA_CACHE_DIR" in os.environ else {}
    assert "late: []" in run(code, tmp_path, {**environment, "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", "")})


@pytest.mark.full
def test_the_same_answers_without_compilation(tmp_path):
    code = """
        import numpy as np, qp, socp
        from tests.support.programs import DUAL_INFEASIBLE, OPTIMAL, PRIMAL_INFEASIBLE
        from tests.support.programs import planted_optimum, planted_quadratic
        programs = [OPTIMAL[name][0] for name in ("disk", "sum of norms", "redundant equalities", "low rank")]
        programs += [PRIMAL_INFEASIBLE["two disks"], DUAL_INFEASIBLE["inside a cone"]]
        programs += [planted_optimum(np.random.default_rng(seed), n=6)[0] for seed in range(3)]
        for program in programs:
            for kkt in ("auto", "ldl"):
                solution = socp.solve(program, kkt=kkt)
                print(solution.status, f"{solution.objective:.6e}")
        solution = qp.solve(planted_quadratic(np.random.default_rng(0), n=6)[0])
        print(solution.status, f"{solution.objective:.6e}")
    """
    plain = run(code, tmp_path, {"NUMBA_DISABLE_JIT": "1"})
    cached = {"NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"]} if "NUMBA_CACHE_DIR" in os.environ else {}
    compiled = run(code, tmp_path, cached)
    assert answers(plain) == answers(compiled)
    assert len(answers(plain)) == 19


INTERPRETED = {
    "test_blas.py": "not configuration",
    "../linalg/ldl/test_factorization.py": "factor_and_solve and amd and (grid or kkt) and not large",
}


@pytest.mark.full
@pytest.mark.parametrize("name", INTERPRETED)
def test_without_compilation_the_same_functions_run(name):
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-pno:cacheprovider", name, "-k", INTERPRETED[name]]
    environment, here = {**os.environ, "NUMBA_DISABLE_JIT": "1"}, os.path.dirname(__file__)
    done = subprocess.run(command, env=environment, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def answers(text):
    """Return status and value of each line that reports an answer; skip warnings."""
    rows = [line.split() for line in text.splitlines() if line.startswith(("optimal", "primal_inf", "dual_inf"))]
    return [(status, round(float(value), 5) if value != "nan" else None) for status, value in rows]


class Screen(io.StringIO):
    def isatty(self):
        return True


def compiled_up_to(count):
    """Return a fake compilation that raises KeyboardInterrupt after `count` kernels."""
    seen = []

    def compiled(kernel):
        if len(seen) == count:
            raise KeyboardInterrupt
        seen.append(kernel)

    return compiled


def test_as_many_helpers_as_the_work_is_worth_and_there_are_processors(monkeypatch):
    asked = []
    monkeypatch.setattr(build.Helper, "start", lambda helper: asked.append(helper))
    monkeypatch.setattr(build, "_compiled", compiled_up_to(99))
    one = build.expected_seconds(dot_within)
    for processors, start, helpers in ((1, one, 0), (3, one, 2), (9, one, 4), (9, 5.0 * one, 0)):
        monkeypatch.setattr(build, "_processors", lambda processors=processors: processors)
        monkeypatch.setattr(build, "START", start * (1.0 + 1e-9))
        asked.clear()
        compilation = build.Compilation([dot_within] * 5)
        compilation.run()
        assert (len(asked), compilation.helpers, compilation.done) == (helpers, [], 5)


def test_an_interrupt_says_that_what_is_done_is_kept(monkeypatch, caplog):
    monkeypatch.setattr(build, "_processors", lambda: 1)
    monkeypatch.setattr(build, "_compiled", compiled_up_to(2))
    with pytest.raises(KeyboardInterrupt):
        build.Compilation([dot_within, norm_tail] * 2).run()
    assert caplog.messages[-1].startswith("interrupted: 2 of 4 kernels are compiled and kept")


@pytest.mark.parametrize("kind", [Screen, type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})])
def test_progress_is_told_on_a_terminal_and_in_a_notebook(monkeypatch, kind):
    monkeypatch.setattr(build, "_processors", lambda: 1)
    monkeypatch.setattr(build, "_compiled", compiled_up_to(12))
    monkeypatch.setattr(build.sys, "stderr", kind())
    build.Compilation([dot_within, norm_tail] * 6).run()
    lines = sys.stderr.getvalue().split("\r\x1b[K")
    assert lines[1].startswith("compiling kernels: 1 of 12, 0 s, about ") and len(lines) == 14 and lines[-1] == ""


@pytest.mark.parametrize(("wait", "count"), [(0.0, 12), (1e9, 0)])
def test_a_file_gets_lines_of_progress_now_and_then(monkeypatch, caplog, wait, count):
    monkeypatch.setattr(build, "_processors", lambda: 1)
    monkeypatch.setattr(build, "_compiled", compiled_up_to(12))
    monkeypatch.setattr(build, "QUIET", wait)
    monkeypatch.setattr(build.sys, "stderr", io.StringIO())
    build.Compilation([dot_within, norm_tail] * 6).run()
    lines = [line for line in caplog.messages if line.startswith("compiling kernels: ")]
    assert len(lines) == count and "\r" not in sys.stderr.getvalue()


@pytest.mark.parametrize("processors", [1, 2])
def test_the_announcement_counts_what_a_process_does_once(monkeypatch, caplog, processors):
    monkeypatch.setattr(build.Helper, "start", lambda helper: False)
    monkeypatch.setattr(build, "_processors", lambda: processors)
    monkeypatch.setattr(build, "_compiled", compiled_up_to(200))
    many, told = [dot_within, norm_tail] * 50, []
    for is_warm in (False, True):
        monkeypatch.setattr(build, "_is_warm", is_warm)
        caplog.clear()
        build.Compilation(many).run()
        told.append(int(re.search(r"about (\d+) s", caplog.messages[0])[1]))
    assert told[0] - told[1] == pytest.approx(build.COLD / processors, abs=1.0) and build._is_warm


def test_the_seconds_expected_are_by_instruction_on_every_python():
    for kernel in (dot_within, norm_tail, *kernels.kernels()[:50]):
        instructions = sum(1 for _ in dis.get_instructions(kernel.py_func))  # inline caches not counted
        assert build.expected_seconds(kernel) == pytest.approx(0.05 + 5.2e-4 * instructions)
