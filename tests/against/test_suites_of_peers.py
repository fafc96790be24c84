"""The own tests of scikit-learn and hmmlearn, run with the estimators of `models` in the places of theirs.

`support/substitutes.py` and `support/substitutes_of_sequences.py` put them there.
`DIFFERS` says which of them fail, and why.  A test that fails and has no line fails here, and so does a line of which
a test passes.  Tests that ask for what `models` does not have (`Lacks`) need no line.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import sklearn

from tests.support import substitutes_table

ROOT = Path(__file__).resolve().parents[2]
SUITES = [
    "sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse", "sklearn.svm.tests.test_bounds",
    "sklearn.linear_model.tests.test_logistic", "sklearn.tests.test_discriminant_analysis",
    "sklearn.tests.test_naive_bayes", "sklearn.tests.test_multiclass", "sklearn.tests.test_calibration",
    "sklearn.tests.test_pipeline",
]  # fmt: skip
CHAINS = [
    "hmmlearn.tests.test_gaussian_hmm::TestGaussianHMMWithDiagonalCovars", "hmmlearn.tests.test_categorical_hmm",
    "hmmlearn.tests.test_base",
]  # fmt: skip
KNOWN = "1.9"  # the version of scikit-learn whose tests the table is about
KNOWN_CHAINS = "0.3"  # of hmmlearn
LACKS = "tests.support.substitutes.Lacks: "


def outcomes(suite, folder):
    """Run a suite in a process of its own; return {test: None if it passed, else its error}."""
    report = folder / "report.xml"
    plugin = "tests.support.substitutes" + "_of_sequences" * suite.startswith("hmmlearn")
    options = ["-c", os.devnull, "-p", plugin, "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    command = [sys.executable, "-W", "ignore", "-m", "pytest", *options, "--pyargs", suite, f"--junitxml={report}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "HMMLEARN_SEED": "0"}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=1000, check=False)
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        wrong = [child.get("message", "") for child in case if child.tag in ("failure", "error")]
        if not any(child.tag == "skipped" for child in case):
            place = case.get("classname").rpartition(".")[2]
            name = f"{place}.{case.get('name')}" if place.startswith("Test") else case.get("name")
            found[name] = wrong[0] if wrong else None
    return found


def is_meant(test, line):
    """Return True if the line is the test, or without brackets the function whose cases are all meant."""
    return line in (test, test.partition("[")[0])


def judged(found, differs):
    """Return the tests that fail without a line, and the lines without a test that fails or with one that passes."""
    lines = [pattern for patterns in differs.values() for pattern in patterns]
    new = [
        f"{test}: {error[:200]}" for test, error in found.items()
        if error is not None and not error.startswith(LACKS) and not any(is_meant(test, line) for line in lines)
    ]  # fmt: skip
    stale = [
        line for line in lines
        if not (errors := [error for test, error in found.items() if is_meant(test, line)]) or None in errors
    ]  # fmt: skip
    return new, stale


@pytest.mark.full
@pytest.mark.skipif(not sklearn.__version__.startswith(KNOWN), reason=f"the table is about scikit-learn {KNOWN}")
@pytest.mark.parametrize("suite", SUITES)
def test_the_suite_passes_but_for_the_table(suite, tmp_path):
    passes_but_for_the_table(suite, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("suite", CHAINS)
def test_the_suite_of_chains_passes_but_for_the_table(suite, tmp_path):
    version = pytest.importorskip("hmmlearn").__version__
    if not version.startswith(KNOWN_CHAINS):
        pytest.skip(f"the table is about hmmlearn {KNOWN_CHAINS}")
    passes_but_for_the_table(suite, tmp_path)


def passes_but_for_the_table(suite, tmp_path):
    found = outcomes(suite, tmp_path)
    assert sum(error is None for error in found.values()) >= 10, "the suite did not run"
    assert judged(found, substitutes_table.DIFFERS.get(suite, {})) == ([], [])


def test_a_new_failure_and_a_line_that_is_no_longer_needed_are_told():
    found = {"test_a[1-x]": "wrong", "test_a[2-x]": None, "test_b": None, "test_c": LACKS + "penalty='l1'"}
    assert judged(found, {}) == (["test_a[1-x]: wrong"], [])
    assert judged(found, {"why": ["test_a[1-x]"]}) == ([], [])
    assert judged(found, {"why": ["test_a"]}) == ([], ["test_a"])
    assert judged(found, {"why": ["test_a[1-x]", "test_b", "test_z"]}) == ([], ["test_b", "test_z"])
