"""`python -m socp` and `python -m qp`, and the kernels that a program needs."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import scipy.sparse as sp

import qp
import socp
from qp import __main__ as quadratic_command
from qp.files.mat import write
from socp import Settings, commandline, kernel_groups
from socp import __main__ as command
from socp.compiled.kernels import kernels
from socp.files import cbf
from socp.problem.settings import QP_ONLY
from tests.support.problem_sets import CBF

ROOT = Path(__file__).resolve().parents[2]


def test_warmup_prints_seconds_and_leaves_no_kernel_to_load(capsys):
    assert command.main(["warmup"]) == 0
    assert re.fullmatch(r"the kernels are ready after \d+\.\d s\n", capsys.readouterr().out)
    ours = [kernel for kernel in kernels() if kernel.name.startswith(("socp.", "qp.", "models."))]
    assert all(kernel.address_or_zero for kernel in ours if kernel.kind in ("kernel", "inner"))
    for package in ("socp", "qp", "models"):  # no kernels without compilation
        assert not ours or any(kernel.name.startswith(f"{package}.") for kernel in ours)


@pytest.mark.parametrize("package", ["socp", pytest.param("qp", marks=pytest.mark.full)])
def test_config_prints_the_configuration_and_a_missing_file_is_refused(package, capsys):
    nothing = subprocess.run([sys.executable, "-m", package], cwd=ROOT, capture_output=True, text=True)
    assert nothing.returncode == 2 and not nothing.stdout and "FILE" in nothing.stderr
    result = subprocess.run([sys.executable, "-m", package, "config"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert {"socp": command, "qp": quadratic_command}[package].main(["config"]) == 0
    assert capsys.readouterr().out == result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()][:4] == ["centralpath", "Python", "numpy", "scipy"]
    assert result.stdout.split()[1] == socp.__version__


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compile"], "path must end in .cbf or .cbf.gz, but 'compile' came"),
        (["missing.cbf"], "missing.cbf"),
        (["disk.cbf", "--tol", "-1"], "tol must be a positive number, but -1.0 came"),
    ],
)
def test_what_cannot_be_solved_is_refused(arguments, words, capsys):
    assert command.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("python -m socp: ") and words in shown.err and not shown.out


def test_an_option_that_is_not_there_is_refused(capsys):
    with pytest.raises(SystemExit) as refusal:
        command.main(["disk.cbf", "--presolve"])  # an option of quadratic programs
    assert refusal.value.code == 2
    assert "usage: python -m socp" in capsys.readouterr().err


def printed(capsys):
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line)


def test_a_cone_program_is_solved(tmp_path, capsys):
    path = tmp_path / "disk.cbf"
    path.write_text(CBF)
    assert command.main([str(path)]) == 0
    lines = printed(capsys)
    assert lines["program"].startswith("ConeProgram(") and lines["status"].startswith("optimal: ")
    expected = socp.solve(cbf.read(path)).objective
    assert float(lines["objective"].split()[0]) == pytest.approx(expected, rel=1e-9)
    residuals = [float(word.rstrip(",")) for word in lines["residuals"].split()[1::2]]
    assert len(residuals) == 3 and max(residuals) <= 1e-8
    assert command.main([str(path), "--max-iter", "1", "--verbose"]) == 1
    assert "mu" in capsys.readouterr().out


def test_a_quadratic_program_is_solved_and_an_infeasible_one_has_no_objective(tmp_path, capsys):
    path = tmp_path / "tiny.qps"
    write(qp.QuadraticProgram([[2.0]], [-4.0], lb=0.0, ub=1.0), path)
    assert quadratic_command.main([str(path), "--no-presolve", "--kkt", "ldl"]) == 0
    assert float(printed(capsys)["objective"].split()[0]) == pytest.approx(-3.0, rel=1e-7)
    write(qp.QuadraticProgram([[2.0]], [0.0], A=[[1.0]], l=2.0, ub=1.0), path)
    assert quadratic_command.main([str(path)]) == 0
    lines = printed(capsys)
    assert lines["status"].startswith("primal_infeasible: ") and "objective" not in lines


def test_a_maximization_tells_its_own_value(tmp_path, capsys):
    (tmp_path / "max.mps").write_text("OBJSENSE MAX\nROWS\n N c\n L r\nCOLUMNS\n x c 1 r 1\nRHS\n B r 4 c 3\nENDATA\n")
    (tmp_path / "max.cbf").write_text(CBF.replace("MIN", "MAX"))
    least = socp.solve(cbf.read(tmp_path / "max.cbf")).objective
    for main, name, value in ((quadratic_command.main, "max.mps", 1.0), (command.main, "max.cbf", -least)):
        assert main([str(tmp_path / name), "--verbose"]) == 0
        shown = capsys.readouterr().out
        assert shown.splitlines()[0].endswith(", maximization, solved as the minimization of the negative objective")
        lines = dict(line.split(maxsplit=1) for line in shown.splitlines() if line)
        assert float(lines["objective"]) == pytest.approx(value, rel=1e-7) != 0.0
        assert float(lines["dual"].removeprefix("objective")) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(("made", "left_out"), [(command, QP_ONLY), (quadratic_command, ())])
def test_every_setting_is_an_option_with_its_default_and_its_words(made, left_out, capsys):
    with pytest.raises(SystemExit):
        made.main(["--help"])
    shown = " ".join(capsys.readouterr().out.replace("-\n", "-").split())
    for name in Settings.__dataclass_fields__:
        assert (f"--{name.replace('_', '-')} " in shown) == (name not in (*left_out, "callback")), name
    assert "Ruiz equilibration of the data. (default True)" in shown


def test_kernels_of_large_programs_are_loaded_where_one_comes(monkeypatch):
    loaded = []
    monkeypatch.setattr(commandline, "INTERPRETED", False)
    monkeypatch.setattr(commandline, "prepare", lambda kernels: loaded.append("small"))
    monkeypatch.setattr(commandline, "ready_for_large", loaded.append)
    cones = [socp.NonNeg(2), socp.SecondOrder(3)]
    small = commandline.GLANCE
    for n, given, expected in ((0, cones, []), (1, cones, [True]), (1, cones[:1], [False])):
        loaded.clear()
        commandline._load_kernels(SimpleNamespace(n=small + n, cones=given))
        assert loaded == ["small", *expected]
    loaded.clear()
    commandline._load_kernels(SimpleNamespace(n=commandline.GLANCE + 1))  # a quadratic program
    assert loaded == ["small", False]
    monkeypatch.setattr(commandline, "INTERPRETED", True)
    commandline._load_kernels(SimpleNamespace(n=commandline.GLANCE + 1))
    assert len(loaded) == 2


def test_kernels_of_large_programs_are_loaded_as_the_data_come(monkeypatch):
    loaded = []
    monkeypatch.setattr(kernel_groups, "ready_for_large", loaded.append)
    small, large = (sp.csc_array((3, kernel_groups.GLANCE + more)) for more in (0, 1))
    kernel_groups.ready_for(None, small, large.toarray(), cones=[socp.SecondOrder(3)])
    assert loaded == []
    kernel_groups.ready_for(small, large, cones=[socp.NonNeg(3)])
    kernel_groups.ready_for(large, cones=[socp.NonNeg(3), socp.SecondOrder(3)])
    assert loaded == [False, True]


def test_a_package_prepares_its_own_kernels(monkeypatch):
    asked = []
    monkeypatch.setattr(kernel_groups, "INTERPRETED", False)
    monkeypatch.setattr(kernel_groups, "prepare", lambda kernels: asked.append({one.name[:3] for one in kernels}))
    for prefixes in (["socp."], ["socp.", "qp."], []):
        assert kernel_groups.prepare_packages(*prefixes) >= 0.0
    assert asked == [{"soc"}, {"soc", "qp."}, asked[2]] and asked[2] >= {"soc", "qp.", "mod"}


def test_groups_of_kernels():
    """A module's group has its kernels that Python calls and that are not deferred; others are named explicitly."""
    groups = "every", "sparse"
    found = kernel_groups.members(*groups)
    named = {place for group in groups for place in kernel_groups.GROUPS[group]}
    by_module = [kernel for kernel in found if kernel.name not in named]
    assert all(kernel.kind == "kernel" and kernel.deferred is None for kernel in by_module)
    assert {"socp.method.newton.measure", "socp.kkt.base.restart"} <= {kernel.name for kernel in by_module}
    assert "socp.kkt.sparse.apply_sparse" in {kernel.name for kernel in found} - {kernel.name for kernel in by_module}
    rest = {kernel.name for kernel in kernel_groups.members("cones")}
    assert rest == set(kernel_groups.GROUPS["cones"]) and kernel_groups.members("dual") != []
