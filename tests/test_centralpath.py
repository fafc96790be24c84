"""The packages as `centralpath.*`: identical modules, and ours even if another file has the name of a package."""

import doctest
import os
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

import bench
import centralpath
import models
import models.svm.svc
import qp
import qp.files.mat
import socp
from tests.support.processes import python

ROOT = Path(__file__).resolve().parents[1]


def test_the_packages_are_the_same_modules():
    assert (centralpath.socp, centralpath.qp, centralpath.models, centralpath.bench) == (socp, qp, models, bench)
    import centralpath.models.svm.svc as svc
    import centralpath.qp.files.mat as mat
    from centralpath.models import SVC

    assert svc is models.svm.svc and mat is qp.files.mat and SVC is models.SVC
    for name in ("socp", "qp", "models", "bench"):
        package = getattr(centralpath, name)
        assert package.__spec__.name == package.__name__ == name  # left as it was
        assert package.__version__ == centralpath.__version__
        assert name in dir(centralpath)
    with pytest.raises(AttributeError, match="no attribute 'lp'"):
        _ = centralpath.lp
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        __import__("centralpath.lp")


def test_its_example():
    assert doctest.testmod(centralpath).failed == 0


SCRIPT = """
import pickle
import sys
{first}
from centralpath.models import SVC
from centralpath.models.svm import svc
import centralpath, qp, models
assert models.THEIRS == 1 and not hasattr(models, "SVC") and centralpath.models is not models
assert svc.SVC is SVC and SVC.__module__ == "centralpath.models.svm.svc" and centralpath.qp is qp
machine = SVC(kernel="linear").fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
print(*pickle.loads(pickle.dumps(machine)).predict([[2.0, 1.0], [-2.0, 1.0]]))
"""


@pytest.mark.parametrize(
    "first",
    [pytest.param("", id="before theirs"), pytest.param("import models", marks=pytest.mark.full, id="after theirs")],
)
def test_beside_a_models_py_of_the_users_own(tmp_path, first):
    (tmp_path / "models.py").write_text("THEIRS = 1\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(first=first), encoding="utf-8")
    ran = python(script, PYTHONPATH=str(ROOT))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["1", "0"]


def told(code, folder, *path):
    """Run a script that must fail, with `path` as PYTHONPATH; return the last line of its error."""
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    ran = python(script, PYTHONPATH=os.pathsep.join(map(str, path)), PYTHONSAFEPATH="")
    assert ran.returncode != 0, ran.stdout
    return ran.stderr.splitlines()[-1]


def test_a_file_of_the_users_own_that_hides_a_package_is_named(tmp_path):
    (tmp_path / "qp.py").write_text("THEIRS = 1\n", encoding="utf-8")
    for code in ("import models", "from centralpath import models", "import centralpath; centralpath.main()"):
        line = told(code, tmp_path, ROOT)
        assert line == (
            f"ImportError: centralpath needs its package 'qp', {ROOT / 'qp'}, but the name leads to "
            f"{tmp_path.resolve() / 'qp.py'}: rename that file or folder"
        )
    (tmp_path / "script.py").write_text(
        "from centralpath import qp as ours\nimport qp\nassert qp.THEIRS == 1\n"
        "print(ours.solve(None, [1.0], lb=2.0).status)\n",
        encoding="utf-8",
    )
    ran = python(tmp_path / "script.py", PYTHONPATH=str(ROOT))
    assert (ran.returncode, ran.stdout) == (0, "optimal\n"), ran.stderr


def record(site, name, *files):
    """Create an installed distribution `name` with these files."""
    (site / f"{name}-1.0.dist-info").mkdir(parents=True)
    (site / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (site / f"{name}-1.0.dist-info" / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file in files:
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_text("THEIRS = 1\n", encoding="utf-8")


def test_another_distribution_is_named_that_hides_a_package(tmp_path):
    site = tmp_path / "site"
    record(site, "quickplot", "qp/__init__.py")
    line = told("import models", tmp_path, site, ROOT)
    assert line.startswith("ImportError: centralpath needs its package 'qp'")
    assert line.endswith(f"{site / 'qp' / '__init__.py'} of the distribution 'quickplot': install the two in "
                         "environments of their own")  # fmt: skip


@pytest.mark.parametrize(("package", "code"), [
    ("qp", "import models"), ("qp", "from centralpath import qp"), ("models", "import bench"),
    ("bench", "import centralpath; centralpath.main()"), ("models", "import centralpath; centralpath.models"),
])  # fmt: skip
def test_another_distribution_is_named_that_overwrites_a_package(package, code, tmp_path):
    site = tmp_path / "site"
    for name in ("socp", "qp", "models", "bench"):
        copytree(ROOT / name, site / name, ignore=ignore_patterns("__pycache__"))
    (site / "centralpath.py").write_bytes((ROOT / "centralpath.py").read_bytes())
    record(site, "centralpath")
    record(site, "quickplot", f"{package}/__init__.py")
    assert told(code, tmp_path, site) == (
        f"ImportError: the package {package!r} of centralpath was overwritten by the one of the distribution "
        "'quickplot': install the two in environments of their own, and centralpath again here"
    )
