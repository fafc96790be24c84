"""The README: its example prints what it says, its table names the folders, its links and commands are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = ("socp", "qp", "bench", "models")


def fenced(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_example_prints_what_the_readme_says():
    (code,), (expected,) = fenced("python"), fenced("text")
    assert 8 <= len(code.splitlines()) <= 15
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == expected


def folders():
    """The folders of the packages that hold files: by what git tracks, or where there is no git in the source tree."""
    try:
        listed = subprocess.run(["git", "ls-files", "--", *PACKAGES], cwd=ROOT, capture_output=True, text=True)
        if listed.returncode == 0 and listed.stdout:
            return {f"{Path(path).parent}/" for path in listed.stdout.split()}
    except FileNotFoundError:
        pass
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*"))
    return {f"{path.relative_to(ROOT).parent}/" for path in paths if path.suffix == ".py"}


def test_the_table_names_every_folder_once_and_none_that_is_not_there():
    named = re.findall(r"^\| `([^`]+)` \| (\S.*) \|$", README, re.MULTILINE)
    paths = [path for path, _ in named]
    assert len(paths) == len(set(paths))
    assert set(paths) == folders() | {"tests/", "docs/"}


def test_links_lead_to_files_and_one_to_the_architecture():
    links = re.findall(r"\]\(([^)#]+)", README)
    assert "docs/architecture.md" in links
    for link in links:
        assert (ROOT / link).is_file(), link


def test_the_commands_stand_alone_and_name_no_package_host():
    main, tests, docs = fenced("bash")
    assert main.strip() == "python -m venv .venv && . .venv/bin/activate && pip install '.[bench]' && python -m bench"
    assert tests.strip() == ("python -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest")
    assert docs.strip() == (
        "python -m venv .venv && .venv/bin/pip install -e '.[docs]'"
        " && .venv/bin/python -m sphinx -W --keep-going docs docs/_build"
    )
    assert not re.search(r"index-url|find-links|https?://", main + tests + docs)


def test_ci_takes_its_test_command_from_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in script and "set -euo pipefail" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("command", ["suite", "compare"])
def test_the_command_line_in_the_readme_is_the_one_there_is(command):
    result = subprocess.run(
        [sys.executable, "-m", "bench", command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    options = set(re.findall(r"--[a-z-]+", re.search(rf"python -m bench {command} .*", README).group()))
    assert options == set(re.findall(r"--[a-z-]+", result.stdout)) - {"--help"}
