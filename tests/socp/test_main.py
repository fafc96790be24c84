"""`python -m socp`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from socp import __main__ as command
from socp.compiled.kernels import kernels

ROOT = Path(__file__).resolve().parents[2]


def test_warmup_prints_seconds_and_leaves_no_kernel_of_the_packages_to_load(capsys):
    assert command.main(["warmup"]) == 0
    printed = capsys.readouterr().out
    assert re.fullmatch(r"the kernels of socp, qp, models are ready after \d+\.\d s\n", printed)
    ours = [kernel for kernel in kernels() if kernel.name.startswith(("socp.", "qp.", "models."))]
    assert all(kernel.address_or_zero for kernel in ours if kernel.kind in ("kernel", "inner"))
    for package in ("socp", "qp", "models"):  # none where nothing is compiled
        assert not ours or any(kernel.name.startswith(f"{package}.") for kernel in ours)


def test_warmup_passes_over_what_cannot_be_imported(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "models", None)
    assert command.main(["warmup"]) == 0
    assert capsys.readouterr().out.startswith("the kernels of socp, qp are ready")


def test_config_prints_the_configuration():
    result = subprocess.run([sys.executable, "-m", "socp", "config"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()][:4] == ["centralpath", "Python", "numpy", "scipy"]


@pytest.mark.parametrize("arguments", [[], ["compile"]])
def test_other_commands_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as refusal:
        command.main(arguments)
    assert refusal.value.code == 2
    assert "usage: python -m socp" in capsys.readouterr().err
