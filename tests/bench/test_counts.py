"""Counts as results: the report names the programs whose counts a change of the engine alters."""

import os

import pytest

import qp
from bench import counts
from bench.commands import main
from bench.programs.sets import DATA_VARIABLE

BEFORE = counts.kept()


@pytest.mark.parametrize("group", ["generated", "learning", "small", "tiny", "many", "fuzz"])
def test_no_count_of_generated_programs_has_moved(group):
    found = {name: count() for name, count in counts.generated() if name.startswith(group + "/")}
    assert found and counts.moved(found, BEFORE) == []


@pytest.mark.full
@pytest.mark.skipif(not os.environ.get(DATA_VARIABLE), reason=f"needs the sets in ${DATA_VARIABLE}")
def test_no_count_of_the_sets_has_moved():
    found = {name: count() for name, count in counts.of_sets(set(BEFORE))}
    assert len(found) > 50 and counts.moved(found, BEFORE) == []


@pytest.mark.parametrize(
    "change", [{"status": "inaccurate"}, {"plan": "other"}, {"iterations": 20}, {"refinements": 30}, {"fallbacks": 1},
               {"alone": 2}]
)  # fmt: skip
def test_what_moved_is_told(change):
    one = counts.Counts("optimal", 12, 10, 0, 0, "dual active set")
    assert counts.moved({"a": one}, {"a": one._replace(iterations=13, refinements=14)}) == []
    (line,) = counts.moved({"a": one._replace(**change)}, {"a": one})
    assert line.startswith("a: ") and str(next(iter(change.values()))) in line
    assert counts.moved({"b": one}, {"a": one})
    long = one._replace(iterations=100, refinements=100)  # moved by shares of large counts and a few more
    for iterations, refinements, tells in ((112, 146, 0), (113, 100, 1), (100, 147, 1)):
        now = long._replace(iterations=iterations, refinements=refinements)
        assert len(counts.moved({"a": now}, {"a": long})) == tells


def test_programs_of_sets_are_counted_where_they_are_there_and_kept_where_they_are_quick(folder, tmp_path, monkeypatch):
    (folder / "netlib_infeasible" / "lpi_tiny.mat").unlink()
    found = dict(counts.of_sets(None, str(folder)))
    assert [*found] == ["maros_meszaros/CVXQP1_S", "maros_meszaros/CVXQP2_S", "maros_meszaros/HS21", "cblib/disk"]
    assert [*dict(counts.of_sets({"cblib/disk", "tiny/box"}, str(folder)))] == ["cblib/disk"]
    assert found["cblib/disk"]().status == "optimal"
    refused = counts.solve(qp.QuadraticProgram([[-1.0]], [0.0]))
    assert refused == counts.Counts("refused", 0, 0, 0, 0, "")
    now, one = [50.0], counts.Counts("optimal", 12, 10, 0, 0, "")
    monkeypatch.setattr(counts.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(counts, "KEPT", tmp_path / "counts.tsv")
    counts.keep({"cblib/old": one})

    def taking(seconds):
        return lambda: now.__setitem__(0, now[0] + seconds) or one

    monkeypatch.setattr(counts, "generated", lambda: [("tiny/a", taking(3.0))])
    names = {"cblib/old": 3.0, "cblib/slow": 0.25, "cblib/quick": 0.125}
    monkeypatch.setattr(counts, "of_sets", lambda *_: [(name, taking(seconds)) for name, seconds in names.items()])
    assert [line.split(":")[0] for line in counts.update()] == ["tiny/a", "cblib/quick"]
    assert [*counts.kept()] == ["tiny/a", "cblib/old", "cblib/quick"] and counts.kept()["tiny/a"] == one


def test_the_command_compares_and_updates(tmp_path, monkeypatch, capsys):
    programs = [("tiny/one", lambda: counts.solve(counts.tiny.box(10, 0)))]
    monkeypatch.setattr(counts, "KEPT", tmp_path / "counts.tsv")
    monkeypatch.setattr(counts, "generated", lambda: iter(programs))
    monkeypatch.setattr(counts, "of_sets", lambda *_: iter(()))
    assert main(["counts", "--update"]) == 0 and main(["counts"]) == 0
    assert "no count has moved" in capsys.readouterr().out
    monkeypatch.setattr(counts, "kept", lambda: {"tiny/one": counts.Counts("optimal", 99, 0, 0, 0, "")})
    assert main(["counts"]) == 1 and "tiny/one" in capsys.readouterr().out
