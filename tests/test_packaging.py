"""The distribution: built as a wheel and an sdist from a copy of the sources, inspected, installed and imported."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

import bench
import models
import qp
import socp
from socp.compiled import kernels
from tests.support.processes import python

pytestmark = pytest.mark.full  # the distribution is built and installed

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("socp", "qp", "models", "bench")
FOLDERS = (*PACKAGES, "tests", "docs", ".ci", ".github")
FILES = (
    *("centralpath.py", "setup.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"),
    ".gitignore",
)


def run(*arguments, cwd, **environment):
    result = python(*arguments, cwd=cwd, PIP_DISABLE_PIP_VERSION_CHECK="1", **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return a folder with a copy of the sources of a distribution."""
    pytest.importorskip("setuptools")
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("source")
    for name in FOLDERS:
        copytree(ROOT / name, folder / name, ignore=ignore_patterns("__pycache__", "_build", "jupyter_execute", ".j*"))
    for name in FILES:
        (folder / name).write_bytes((ROOT / name).read_bytes())
    return folder


def made(source, out, **environment):
    """Build a wheel in `out` and return its path."""
    run("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", out, source, cwd=out, **environment)
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return made(source, tmp_path_factory.mktemp("wheel"), CENTRALPATH_WHEEL="")


def test_the_wheel_is_pure_python_and_holds_every_file_of_the_packages_and_nothing_else(wheel):
    assert wheel.name == f"centralpath-{socp.__version__}-py3-none-any.whl"
    expected = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    names = set(zipfile.ZipFile(wheel).namelist())
    stubs = {f"centralpath-stubs/{name}.pyi" for name in ("__init__", *PACKAGES)}
    assert {name for name in names if ".dist-info/" not in name} == expected | stubs | {"centralpath.py"}
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert any(name.endswith("LICENSE") for name in names)


def test_the_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        metadata = Parser().parsestr(archive.read(path).decode())
    assert (metadata["Name"], metadata["Version"]) == ("centralpath", socp.__version__)
    assert socp.__version__ == qp.__version__ == models.__version__ == bench.__version__
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License"] == "MIT" or metadata["License-Expression"] == "MIT"
    assert metadata.get_payload().startswith("# centralpath")
    requirements = [line.replace('"', "'") for line in metadata.get_all("Requires-Dist")]
    names = {re.match(r"[\w-]+", name)[0] for name in requirements if "extra ==" not in name}
    assert names == {"numpy", "scipy", "numba", "nltk"}
    assert set(metadata.get_all("Provides-Extra")) == {"bench", "cvxpy", "test", "docs", "plot", "torch", "jax"}
    for extra, needed in {"bench": "clarabel", "test": "pytest", "docs": "sphinx"}.items():
        assert any(line.startswith(needed) and f"extra == '{extra}'" in line for line in requirements), extra


def long_description(source, address, out):
    """Return the long description in the metadata that setup.py makes with `address`."""
    before = (source / "setup.py").read_text(encoding="utf-8")
    assert before.count('\nADDRESS = "') == 1
    try:
        (source / "setup.py").write_text(
            re.sub(r'^ADDRESS = ".*"$', f'ADDRESS = "{address}"', before, flags=re.M), encoding="utf-8"
        )
        run("setup.py", "-q", "egg_info", "--egg-base", out, cwd=source)
    finally:
        (source / "setup.py").write_text(before, encoding="utf-8")
    return Parser().parsestr((out / "centralpath.egg-info" / "PKG-INFO").read_text(encoding="utf-8"))


def test_links_of_the_long_description_follow_the_address(source, tmp_path):
    readme = re.findall(r"\]\((?!#)([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(readme) > 5
    without = long_description(source, "", tmp_path)
    assert "](" not in without.get_payload().replace("](http", "") and without["Home-page"] is None
    address = "https://example.org/centralpath"
    metadata = long_description(source, address, tmp_path)
    found = re.findall(r"\]\(([^)]+)\)", metadata.get_payload())
    assert found and all(link.startswith(f"{address}/blob/v{socp.__version__}/") for link in found)
    assert len(found) == len(readme) and f"Changelog, {address}/" in metadata["Project-URL"]
    assert metadata["Home-page"] == address or f"Homepage, {address}" in metadata.get_all("Project-URL")


def test_the_citation_has_the_address_of_setup():
    (address,) = re.findall(r'^ADDRESS = "(.*)"$', (ROOT / "setup.py").read_text(encoding="utf-8"), re.M)
    lines = re.findall(r"^repository-code: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert lines == ([f'"{address}"'] if address else [])


def test_the_sdist_holds_a_checkout_whose_tests_pass(source, tmp_path):
    run("setup.py", "-q", "sdist", "--dist-dir", tmp_path, cwd=source)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
        archive.extractall(tmp_path)
    folders = [path for name in FOLDERS for path in (source / name).rglob("*") if path.is_file()]
    expected = {path.relative_to(source).as_posix() for path in folders if path.suffix != ".pyc"} | set(FILES)
    assert len(expected) > 800 and expected <= names
    assert {name for name in names - expected if "egg-info/" not in name} <= {"PKG-INFO", "setup.cfg"}
    root = tmp_path / f"centralpath-{socp.__version__}"
    tests = ["tests/test_docs.py", "tests/test_house.py", "tests/bench/test_main.py", "tests/qp/test_verbose.py"]
    told = run("-m", "pytest", "-n", "0", *tests, cwd=root, PYTHONPATH=str(root))
    assert re.search(r"\d\d passed", told)


TYPED = """
import centralpath
from centralpath import models, qp
from centralpath.qp import solve

answer: str = solve(None)
machine: int = models.SVC()
version: int = centralpath.__version__
fine: qp.Status = solve(None).status
"""


def test_centralpath_is_typed(wheel, tmp_path):
    pytest.importorskip("mypy")
    run("-m", "venv", "--without-pip", tmp_path / "env", cwd=tmp_path)
    (site,) = (tmp_path / "env").glob("lib/*/site-packages")
    run("-m", "pip", "install", "--no-deps", "--target", site, wheel, cwd=tmp_path)
    (tmp_path / "script.py").write_text(TYPED, encoding="utf-8")
    options = ["--ignore-missing-imports", "--cache-dir", tmp_path, "--python-executable", tmp_path / "env/bin/python"]
    arguments = map(str, [sys.executable, "-m", "mypy", *options, "script.py"])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run([*arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    found = re.findall(r"script\.py:(\d+): error: .*\[assignment\]", told.stdout)
    assert found == ["6", "7", "8"] and "Found 3 errors" in told.stdout, told.stdout


def test_the_installed_wheel_solves(wheel, tmp_path):
    site = tmp_path / "site"
    run("-m", "pip", "install", "--no-deps", "--target", site, wheel, cwd=tmp_path)
    code = "import models, qp, socp; print(socp.__file__, qp.solve(None, [1.0], lb=2.0).status)"
    printed = run("-c", code, cwd=tmp_path, PYTHONPATH=str(site), NUMBA_DISABLE_JIT="1")  # plain Python: no compilation
    assert printed.split() == [str(site / "socp" / "__init__.py"), "optimal"]
    code = "import centralpath; print(centralpath.models.SVC.__module__)"
    assert run("-c", code, cwd=tmp_path, PYTHONPATH=str(site), NUMBA_DISABLE_JIT="1").split() == ["models.svm.svc"]
    code = "import socp.interop.cvxpy, cvxpy; print(cvxpy.reductions.solvers.defines.SOLVER_MAP_QP['CENTRALPATH'])"
    assert "qp.interop.cvxpy" in run("-c", code, cwd=tmp_path, PYTHONPATH=str(site), NUMBA_DISABLE_JIT="1")
    (script,) = (site / "bin").glob("centralpath*")
    assert "usage: centralpath" in run(script, "--help", cwd=tmp_path, PYTHONPATH=str(site))
    assert "usage: centralpath" in run("-m", "bench", "--help", cwd=tmp_path, PYTHONPATH=str(site))


def test_importing_brings_in_no_package_beyond_the_four():
    code = (
        "import sys; before = set(sys.modules); import socp, qp, socp.files.cbf, qp.files.mat, models, bench.commands;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    imported = set(run("-c", code, cwd=ROOT).split())
    foreign = (
        "clarabel ecos cvxopt scs qoco piqp qtqp osqp highspy proxsuite qpalm sklearn pandas matplotlib tqdm cvxpy"
    ).split()
    assert not imported & set(foreign)


def test_importing_loads_nothing_that_no_solve_needs():
    """An import takes 0.05 s and 12 MB; numpy, scipy and numba are loaded with the first public name that is used."""
    code = "import sys; import qp, socp; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    assert not {"numpy", "scipy", "numba", "llvmlite"} & set(run("-c", code, cwd=ROOT, PYTHONPATH=str(ROOT)).split())
    code = "import sys, qp; qp.solve; print(*sys.modules)"
    loaded = set(run("-c", code, cwd=ROOT, PYTHONPATH=str(ROOT)).split())
    assert "qp.solver" in loaded
    assert not {"models", "qp.interop", "socp.interop", "socp.files", "socp.textbook"} & loaded


@pytest.mark.parametrize("package", [socp, qp], ids=["socp", "qp"])
def test_a_public_name_stands_where_types_and_imports_say(package):
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name: "." * node.level + node.module
        for block in tree.body if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body for alias in node.names
    }  # fmt: skip
    (call,) = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "late")
    places = {name: place for place, names in ast.literal_eval(call.args[1]).items() for name in names.split()}
    assert typed == places and set(places) == set(package.__all__)
    for name in package.__all__:
        assert name in dir(package) and callable(getattr(package, name))
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        package.sovle  # noqa: B018


FIRST = """
import qp
from socp.compiled import cache

print(qp.solve(None, [1.0], lb=2.0).status, len(cache._places()), cache.unsuited())
"""


@pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")
def test_a_wheel_with_kernels_solves_without_compilation(source, tmp_path):
    out, site, home = tmp_path / "out", tmp_path / "site", tmp_path / "home"
    for folder in (out, home):
        folder.mkdir()
    wheel = made(source, out, CENTRALPATH_WHEEL="generic")
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel.name.startswith(f"centralpath-{socp.__version__}-{tag}-{tag}-")
    assert not wheel.name.endswith("-any.whl")
    run("-m", "pip", "install", "--no-deps", "--target", site, wheel, cwd=tmp_path)
    kernels_of_it = sorted((site / "socp" / "kernels").glob("*.kernel"))
    assert len(kernels_of_it) > 200
    environment = {"PYTHONPATH": str(site), "HOME": str(home), "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": str(home)}
    assert run("-W", "error", "-c", FIRST, cwd=tmp_path, **environment).split() == ["optimal", "2"]
    assert not list(home.rglob("*"))  # nothing was compiled
    # one file is damaged: only its kernel is compiled
    (path,) = (path for path in kernels_of_it if path.name.startswith("socp.compiled.structures.lay_out"))
    path.write_bytes(path.read_bytes()[:-1])
    assert run("-c", FIRST, cwd=tmp_path, **environment).split() == ["optimal", "2"]
    assert [found.name for found in home.rglob("*.kernel")] == [path.name]
