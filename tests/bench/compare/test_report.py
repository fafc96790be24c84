"""The report of an artificial record: tables, page, pictures, and the file that stores it."""

import json
import os
import platform
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bench.compare import measurement, report, tables
from bench.programs.sets import DataError
from tests.bench.compare.test_by_hand import by_hand as record


def test_the_page_without_pictures_says_why():
    page = report.page(record(), {})
    assert "matplotlib is not installed" in page and "<img" not in page


def test_write(tmp_path):
    pytest.importorskip("matplotlib")
    written = report.write(record(), tmp_path)
    assert [path.name for path in written] == ["profile.png", "scatter.png", "tables.txt", "report.html"]
    for path in written[:2]:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_record_without_measurements_makes_a_report_too(tmp_path):
    empty = record()
    empty.measurements.clear()
    assert "All programs: none" in report.terminal(empty)
    report.write(empty, tmp_path)
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("value, text", [
    (24e-6, "24 us"), (0.00312, "3.12 ms"), (0.9999, "1 s"), (12.34, "12.3 s"), (1234.5, "1234 s"),
    (float("nan"), "-"),
])  # fmt: skip
def test_seconds(value, text):
    assert tables.seconds(value) == text
    assert [tables._count(iterations) for iterations in (-1, 0, 7)] == ["-", "0", "7"]


def test_troubles_are_those_of_ours_and_what_a_peer_raised():
    kept = record()
    kept.measurements.clear()
    for k, (solver, status, note) in enumerate((
        ("clarabel", "numerical_error", "ValueError"), ("clarabel", "numerical_error", ""),
        ("clarabel", "max_iterations", "slow"), ("clarabel", "refused", ""), ("centralpath", "max_iterations", ""),
    )):  # fmt: skip
        kept.add(measurement.Measurement(f"p{k}", "", 1, solver, "", status, "failed", 1.0, note=note))
    assert [row[0] for row in tables._troubles(report.results_of(kept)).rows] == ["p0", "p3", "p4"]


def test_a_record_is_read_as_it_was_saved(tmp_path):
    path = tmp_path / "measurements.json"
    kept = record()
    kept.save(path)
    again = measurement.read(path)
    assert again.settings == kept.settings and again.sessions == 2
    assert repr(list(again.measurements.values())) == repr(list(kept.measurements.values()))  # repr, because NaN != NaN
    assert json.loads(path.read_text())["measurements"][0]["certificate"] is None
    assert [found.name for found in tmp_path.iterdir()] == ["measurements.json"]


def test_resume_keeps_what_is_measured_except_of_changed_solvers(tmp_path):
    path = tmp_path / "measurements.json"
    record().save(path)
    new = record()
    new.measurements.clear()
    new.versions["clarabel"] = "1.3"
    again = measurement.resume(path, new)
    assert {m.solver for m in again.measurements.values()} == {"centralpath", "ecos", "a:solver"}
    assert again.sessions == 3
    assert measurement.resume(path, new, fresh=True) is new
    assert measurement.resume(tmp_path / "none.json", new) is new


def test_resume_refuses_other_settings_and_what_is_no_record(tmp_path):
    path = tmp_path / "measurements.json"
    record().save(path)
    with pytest.raises(DataError, match=r"other settings \(tol\).*--fresh"):
        measurement.resume(path, replace(record(), settings=record().settings | {"tol": 1e-6}))
    path.write_text("{}")
    with pytest.raises(DataError, match="not the record"):
        measurement.resume(path, record())


def test_the_machine_is_described_without_its_name():
    found = measurement.hardware()
    assert found["cores"] >= 1 and found["processor"]
    assert platform.node() not in found.values()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    assert found["memory_gigabytes"] == round(memory) and found["system"].split() == [
        os.uname().sysname,
        os.uname().machine,
    ]


@pytest.mark.parametrize("changed, there, expected", [
    ("", True, "1a2b"), (" M qp/solver.py\n", True, "1a2b+"), ("", False, None), (None, True, None),
])  # fmt: skip
def test_the_commit_is_that_of_a_checkout(changed, there, expected, monkeypatch):
    def run(words, cwd, capture_output, text, check):
        assert capture_output and text and check and (cwd / "bench").is_dir()
        if changed is None:
            raise subprocess.CalledProcessError(128, words)
        return SimpleNamespace(stdout=changed if words[1] == "status" else "1a2b\n")

    monkeypatch.setattr(measurement.subprocess, "run", run)
    monkeypatch.setattr(measurement.Path, "exists", lambda path: there)
    assert measurement._commit() == expected


@pytest.mark.parametrize("note, text", [
    ("cannot read /home/somebody/solver.cfg", "cannot read solver.cfg"),
    ("a/b is 3,\n  1/2 x'Px", "a/b is 3, 1/2 x'Px"),
    (r"File 'C:\Users\me\x.dll' missing", "File 'x.dll' missing"),
])  # fmt: skip
def test_notes_without_paths(note, text):
    assert measurement.without_paths(note) == text
