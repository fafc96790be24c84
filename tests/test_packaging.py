"""The distribution: built as a wheel from a copy of the sources, looked into, installed and imported."""

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

import bench
import models
import qp
import socp

pytestmark = pytest.mark.full  # the distribution is built and installed

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("socp", "qp", "models", "bench")


def run(*arguments, cwd, **environment):
    result = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("setuptools")
    pytest.importorskip("pip")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "tests"):
        copytree(ROOT / name, source / name, ignore=ignore_patterns("__pycache__"))
    for name in ("centralpath.py", "setup.py", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    run("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", out, source, cwd=out)
    (path,) = out.glob("*.whl")
    return path


def test_the_wheel_is_pure_python_and_holds_every_file_of_the_packages_and_nothing_else(wheel):
    assert wheel.name == f"centralpath-{socp.__version__}-py3-none-any.whl"
    expected = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == expected | {"centralpath.py"}
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert any(name.endswith("LICENSE") for name in names)


def test_the_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        metadata = Parser().parsestr(archive.read(path).decode())
    assert (metadata["Name"], metadata["Version"]) == ("centralpath", socp.__version__)
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License"] == "MIT" or metadata["License-Expression"] == "MIT"
    assert metadata.get_payload().startswith("# centralpath")
    requirements = metadata.get_all("Requires-Dist")
    names = {name.split(">")[0] for name in requirements if "extra ==" not in name}
    assert names == {"numpy", "scipy", "numba", "nltk"}
    assert set(metadata.get_all("Provides-Extra")) == {"bench", "test", "docs"}
    for extra, needed in {"bench": "clarabel", "test": "pytest", "docs": "sphinx"}.items():
        wanted = [line for line in requirements if line.startswith(needed) and f"extra == '{extra}'" in norm(line)]
        assert wanted, (extra, needed)


def test_the_packages_have_the_version_of_the_distribution():
    assert socp.__version__ == qp.__version__ == models.__version__ == bench.__version__
    assert socp.__version__.count(".") == 2


def norm(line):
    return line.replace('"', "'")


def test_the_installed_wheel_solves(wheel, tmp_path):
    site = tmp_path / "site"
    run("-m", "pip", "install", "--no-deps", "--target", site, wheel, cwd=tmp_path)
    code = "import models, qp, socp; print(socp.__file__, qp.solve(None, [1.0], lb=2.0).status)"
    printed = run("-c", code, cwd=tmp_path, PYTHONPATH=str(site), NUMBA_DISABLE_JIT="1")  # plain Python: no compilation
    assert printed.split() == [str(site / "socp" / "__init__.py"), "optimal"]
    code = "import centralpath; print(centralpath.models.SVC.__module__)"
    assert run("-c", code, cwd=tmp_path, PYTHONPATH=str(site), NUMBA_DISABLE_JIT="1").split() == ["models.svm.svc"]
    (script,) = (site / "bin").glob("centralpath*")
    assert "usage: centralpath" in run(script, "--help", cwd=tmp_path, PYTHONPATH=str(site))
    assert "usage: centralpath" in run("-m", "bench", "--help", cwd=tmp_path, PYTHONPATH=str(site))


def test_importing_brings_in_no_package_beyond_the_four():
    code = (
        "import sys; before = set(sys.modules); import socp, qp, socp.files.cbf, qp.files.mat, models, bench.__main__;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    imported = set(run("-c", code, cwd=ROOT).split())
    foreign = (
        "clarabel ecos cvxopt scs qoco piqp qtqp osqp highspy proxsuite sklearn pandas matplotlib tqdm cvxpy"
    ).split()
    assert not imported & set(foreign)
