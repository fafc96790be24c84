"""Which folder is graded: `pytest docs/exercises` the stubs, `--of FOLDER` another one beside them or anywhere."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption("--of", default="stubs", help="the folder with the programs that are graded")


@pytest.fixture
def graded(request):
    """The module of the exercise that a test is of: test_e03_... grades the file e03_*.py."""
    folder = Path(request.config.getoption("--of"))
    folder = folder if folder.is_absolute() or folder.is_dir() else HERE / folder
    number = request.function.__name__.split("_")[1]
    found = sorted(folder.glob(f"{number}_*.py"))
    assert found, f"there is no {number}_*.py in {folder}"
    path = found[0]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
