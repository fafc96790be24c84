"""The README: it is short, its example prints what it says, its links and commands are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_it_is_read_in_five_minutes():
    assert len(README.splitlines()) <= 150


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


def test_links_lead_to_files_and_one_to_the_architecture():
    links = re.findall(r"\]\(([^)#]+)", README)
    pages = ("architecture", "command_line", "compilation", "forms", "performance")
    assert {f"docs/{page}.md" for page in pages} <= set(links)
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
    assert 'eval "$test_command -m' in script  # all tests, the long ones too
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
