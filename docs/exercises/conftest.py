"""Which folder is graded: `pytest docs/exercises` the stubs, `--of FOLDER` another one beside them or anywhere."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

HERE = Path(__file__).resolve().parent
FACTORIZATIONS = {
    np.linalg: ("solve", "inv", "pinv", "lstsq", "cholesky", "qr", "svd", "eig", "eigh"),
    scipy.linalg: ("solve", "inv", "pinv", "lstsq", "cholesky", "cho_factor", "lu", "lu_factor", "ldl", "qr", "svd"),
}


def pytest_addoption(parser):
    parser.addoption("--of", default="stubs", help="the folder with the programs that are graded")


def pytest_generate_tests(metafunc):
    """Every e03_*.py of the folder is graded by every test_e03_..."""
    folder = Path(metafunc.config.getoption("--of"))
    folder = folder if folder.is_absolute() or folder.is_dir() else HERE / folder
    number = metafunc.function.__name__.split("_")[1]
    found = sorted(folder.glob(f"{number}_*.py")) or [folder / f"{number}_*.py"]
    metafunc.parametrize("graded", found, ids=[path.stem for path in found], indirect=True)


@pytest.fixture
def factorized(monkeypatch):
    """The different matrices that numpy.linalg and scipy.linalg were given since this list was emptied."""
    matrices = []

    def counting(function):
        def wrapper(a, *args, **kwargs):
            if not any(np.array_equal(a, one) for one in matrices):
                matrices.append(np.array(a))
            return function(a, *args, **kwargs)

        return wrapper

    for module, names in FACTORIZATIONS.items():
        for name in names:
            monkeypatch.setattr(module, name, counting(getattr(module, name)))
    return matrices


@pytest.fixture
def graded(request, factorized):
    """The module of the exercise that a test is of: test_e03_... grades the files e03_*.py."""
    path = request.param
    if not path.exists():
        pytest.fail(f"there is no {path.name} in {path.parent}", pytrace=False)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
