"""The README: it is short, its example prints what it says, its links and commands are there."""

import os
import re
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from bench.compare import figures, measurement
from tests.support.processes import python
from tests.test_docs import fenced

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_one_screen_and_a_half():
    assert len(README.splitlines()) <= 90


def test_the_program_is_a_formula_in_the_first_screen_and_features_come_before_figures():
    assert "\\text{minimize}" in "".join(README.splitlines()[:12]) and README.count("$$") == 2
    assert README.index("- **Tested answers**") < README.index("```bash") < README.index(figures.BEGIN)
    assert "](docs/interactive.html)" in README


def test_the_table_has_six_rows_without_parentheses():
    table = README.partition(figures.BEGIN)[2].partition(figures.END)[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 6 and "(" not in table
    assert not [row for row in rows if len(row) > 120]


def test_the_example_prints_what_the_readme_says():
    (code,), (expected,) = fenced(README, "python"), fenced(README, "text")
    assert 6 <= len(code.splitlines()) <= 15
    result = python("-c", code, cwd="/", PYTHONPATH=str(ROOT))
    assert result.returncode == 0, result.stderr
    assert result.stdout == expected


def test_links_lead_to_files_and_one_to_the_architecture():
    links = re.findall(r"\]\(([^)#]+)", README)
    pages = ("architecture", "command_line", "compilation", "forms", "performance")
    assert {f"docs/{page}.md" for page in pages} <= set(links)
    for link in links:
        assert (ROOT / link).is_file(), link


def test_the_tables_are_those_of_the_reports():
    """After new measurements run `centralpath figures`."""
    for path, text in figures.written(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.relative_to(ROOT)}: run `centralpath figures`"


def test_a_table_that_differs_from_its_report_is_seen(tmp_path):
    copytree(ROOT / "docs" / "results", tmp_path / "docs" / "results", ignore=ignore_patterns("*.png", "experiments"))
    readme = tmp_path / "README.md"
    readme.write_text(README, encoding="utf-8")
    assert all(path.read_text(encoding="utf-8") == text for path, text in figures.written(tmp_path).items())
    readme.write_text(README.replace("| learning | 40 of 40 |", "| learning | 39 of 40 |"), encoding="utf-8")
    assert readme.read_text(encoding="utf-8") != README == figures.written(tmp_path)[readme]
    record = tmp_path / "docs" / "results" / "tiny" / "measurements.json"
    record.write_text(record.read_text(encoding="utf-8").replace('"sessions": 1,', '"sessions": 2,'), encoding="utf-8")
    changed = [path for path, text in figures.written(tmp_path).items() if path.read_text(encoding="utf-8") != text]
    assert changed == [record.with_name("tables.txt"), readme]


PEERS = "Clarabel|PIQP|LIBSVM|QOCO|HiGHS|ECOS|Moreau|OSQP|LIBLINEAR"
TOLD = re.compile(rf"\d[\d.]* of ({PEERS})|({PEERS})[^.|]* \d[\d.]* times|\d[\d.]* times[^.|]* ({PEERS})")


@pytest.mark.parametrize("page", ["README", "docs/speed", "docs/choices", "docs/performance", "docs/coming_from",
                                  "docs/mpc", "docs/index", "docs/quickstart", "docs/results"])  # fmt: skip
def test_a_ratio_to_a_peer_stands_in_a_generated_table_alone(page):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    if page == "README":
        text = text.partition(figures.BEGIN)[0] + text.partition(figures.END)[2]
    assert not TOLD.search(" ".join(text.split()))
    assert TOLD.search("it takes 0.37 of PIQP's on 35") and TOLD.search("PIQP is 1.6 times as fast")


def test_where_a_peer_is_faster_is_told():
    assert "](docs/performance.md#where-a-peer-is-faster)" in README
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert "## Where a peer is faster" in page and "{include} results/faster.md" in page


def test_a_new_record_tells_its_date_and_commit():
    found = measurement.versions([])
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", found["date"])
    commit = found["commit"]
    assert commit is None if not (ROOT / ".git").exists() else re.fullmatch(r"[0-9a-f]{7,40}\+?", commit)
    record = measurement.Record({}, found, {})
    assert figures.measured(record) == f"{found['date']}, {commit or 'no commit'}"


def test_the_commands_stand_alone_and_name_no_package_host():
    main, tests, docs = fenced(README, "bash")
    assert main.strip() == "python -m venv .venv && . .venv/bin/activate && pip install '.[bench]' && centralpath"
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
    named = re.findall(r"\btests/[\w/.*]*", script)
    assert len(named) > 5 and all(list(ROOT.glob(path)) for path in named)
