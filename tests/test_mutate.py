"""The faults that `tests.mutate` finds, and its verdicts."""

import pytest

from tests import mutate

CODE = '''
"""Text."""
LIMIT = 2.0


def excess(x: float, l: float = 0.0) -> float:
    """Return x - l, at least 0."""
    if x < l and x is not None:
        raise ValueError("x - l")
    total = [0.0]
    total[0] += (x - l) * 3.0
    return max(total[0], -1.0)
'''


def test_each_fault_is_another_program(tmp_path, monkeypatch):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text(CODE)
    found = mutate.faults_of("a.py", CODE)
    assert len({fault.applied(CODE) for fault in found}) == len(found) > 15
    assert all(mutate.is_code(fault) and fault.applied(CODE) != CODE for fault in found)


@pytest.mark.parametrize("before, after", [
    ("-", "+"), ("<", "<="), ("<", ">"), ("and", "or"), ("is not", "is"), ("3.0", "30.0"), ("max", "min"), ("l", "u"),
    ("x < l and x is not None", "not (x < l and x is not None)"), ("total[0] += (x - l) * 3.0", "pass"), (" - l", ""),
    ("0", "1"), ("-", ""),
])  # fmt: skip
def test_faults_of_every_kind_are_found(before, after):
    assert (before, after) in [(fault.before, fault.after) for fault in mutate.faults_of("a.py", CODE)]


def test_texts_and_signatures_stay():
    texts = {1, 2, 3, 6, 7, 9}  # docstrings, a constant of the module, the signature and a message
    assert texts.isdisjoint({fault.line for fault in mutate.faults_of("a.py", CODE)})


def test_a_seed_draws_the_same_faults_of_each_room_again():
    drawn = mutate.draw(mutate.ROOT, ["qp/reduce", "socp/cones"], 9, seed=3)
    assert drawn == mutate.draw(mutate.ROOT, ["socp/cones", "qp/reduce"], 9, seed=3)
    assert sorted(fault.room for fault in drawn) == 4 * ["qp/reduce"] + 5 * ["socp/cones"]
    assert drawn != mutate.draw(mutate.ROOT, ["qp/reduce", "socp/cones"], 9, seed=4)


@pytest.mark.parametrize("test, verdict", [
    ("import logging; logging.error(7); assert excess(3.0) == 9.0", "FAILED tests/qp/room/test_code.py::test_it"),
    ("assert excess(0.0) == 0.0", "survived"),
    ("while excess(3.0) != 9.0: pass", "no end"),
])  # fmt: skip
def test_tests_that_fail_or_do_not_end_catch_a_fault(tmp_path, monkeypatch, test, verdict):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (tmp_path / "qp" / "room").mkdir(parents=True)
    (tmp_path / "qp" / "__init__.py").touch()
    (tmp_path / "qp" / "room" / "code.py").write_text(CODE)
    (tmp_path / "tests" / "qp" / "room").mkdir(parents=True)
    (tmp_path / "tests" / "qp" / "room" / "test_code.py").write_text(
        f"from qp.room.code import excess\n\n\ndef test_it():\n    {test}\n"
    )
    fault = next(f for f in mutate.faults_of("qp/room/code.py", CODE) if f.after == "30.0")
    ((_, found, _),) = mutate.tried([fault], [tmp_path], limit=1.5 if verdict == "no end" else 300.0, reach="room")
    assert found == verdict
    assert (tmp_path / "qp" / "room" / "code.py").read_text() == CODE


def test_what_survived_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text("\n" + CODE)
    printed = tmp_path / "printed.tsv"
    printed.write_text(
        "a.py:13\t'3.0' -> '30.0'\tsurvived\t7 s\na.py:12\t'0' -> '1'\tFAILED tests/test_a.py::test\t1 s\n"
        "a.py:1\t'gone' -> 'pass'\tsurvived\t2 s\ncaught 33% of 3 faults, seed 0\n"
    )
    (fault,) = mutate.survivors(printed)
    assert (fault.file, fault.before, fault.after) == ("a.py", "3.0", "30.0")


def test_what_is_caught_only_by_no_end_is_told_apart():
    assert mutate.told(["survived", "no end", "FAILED tests/test_a.py::test"]) == "   2 of 3, 1 by no end"
    assert mutate.told(["survived"]) == "   0 of 1"
