"""The command that measures the costs by which the engine decides."""

import json

import pytest

from bench.compare import calibrate


def test_every_rate_is_measured_and_written_with_the_machine(tmp_path):
    found = list(calibrate.rates((20, 30)))
    assert [len(rate.measured) for rate in found] == [2, 2, 4, 4, 3, 2, 5]
    assert all(value > 0.0 for rate in found for value in rate.measured)
    calibrate.write(tmp_path / "costs.json", found)
    written = json.loads((tmp_path / "costs.json").read_text())
    assert written["machine"]["cores"] >= 1 and len(written["rates"]) == len(found)
    assert written["rates"][0]["median"] == pytest.approx(found[0].median)


def test_a_line_says_the_table_the_median_and_the_spread():
    assert calibrate.Rate("solve", "bytes", 8e9, (1.0, 3.0, 2.0)).line().split() == [
        "solve", "8e+09", "2", "1", "to", "3", "bytes",
    ]  # fmt: skip
