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


SETS = {
    "learning": "learning", "generated classes": "generated", "Maros-Meszaros": "maros_meszaros", "CBLIB": "cblib",
    "netlib": "netlib", "ten variables": "tiny", "sparse QPs of 10 to 300 variables": "small",
}  # fmt: skip
NAMES = {"HiGHS": "highspy"}


def report_of(name):
    """The heading of a comparison under docs/results, and what it says of every solver."""
    text = (ROOT / "docs" / "results" / name / "tables.txt").read_text(encoding="utf-8")
    lines = text.split("All programs\n")[1].split("\nmean:")[0].splitlines()[1:]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    return text.splitlines()[0], {row[0]: row[1:] for row in rows}


def test_the_comparison_is_that_of_the_reports():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in README.splitlines() if line.startswith("|")]
    sets, count = set(), 0
    for row in rows[2:]:
        if row[0]:
            described = row[0].split(", ")
            (name,) = [folder for said, folder in SETS.items() if described[0] == said]
            heading, solvers = report_of(name)
            sets.add(name)
            ours = solvers["centralpath"]
            programs = int(ours[1])
            assert re.search(rf"\b{programs}\b", row[0].replace("10 to 300", "")) and ours[3] == "0"
            limit = re.search(r"\((\d+ s)\)", row[0])
            assert limit is None or f"limit {limit[1]}," in heading
            assert row[1:] == ["centralpath", *ours[2:4], ours[5], "", ""], row
            continue
        solver, version = re.match(r"([A-Za-z]+) ?([\d.]*)", row[1]).groups()
        theirs = solvers[NAMES.get(solver, solver.lower())]
        found, taken, solved, wrong = theirs[0], *theirs[1:4]
        assert found.startswith(version) and (taken == str(programs) or f"({taken} " in row[1])
        assert row[2:6] == [solved, wrong, *theirs[5:7]] and float(row[6]) == float(theirs[7]), row
        count += 1
    assert count >= 17 and sets == set(SETS.values())


def test_the_figures_of_the_first_lines_are_those_of_the_reports():
    _, learning = report_of("learning")
    _, cones = report_of("cblib")
    _, tiny = report_of("tiny")
    said = (
        f"it takes {learning['clarabel'][7]} of Clarabel's time on {learning['clarabel'][1]} of the former, "
        f"{learning['piqp'][7]} of PIQP's on the {learning['piqp'][1]} that are quadratic, "
        f"and {cones['clarabel'][7]} of Clarabel's on {cones['clarabel'][1]} cone programs of CBLIB. "
        f"On quadratic programs of ten variables PIQP is {tiny['piqp'][7]} times as fast"
    )
    assert said in " ".join(README.split("## Install")[0].split())


def test_the_commands_stand_alone_and_name_no_package_host():
    main, tests, docs = fenced("bash")
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
