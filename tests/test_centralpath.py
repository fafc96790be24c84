"""The packages under one name: the same modules, and ours where another file has the name of one."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bench
import centralpath
import models
import models.svm.svc
import qp
import qp.files.mat
import socp

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


@pytest.mark.parametrize("first", ["", "import models"], ids=["before theirs", "after theirs"])
def test_beside_a_models_py_of_the_users_own(tmp_path, first):
    (tmp_path / "models.py").write_text("THEIRS = 1\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(first=first), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["1", "0"]
