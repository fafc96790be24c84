"""The command line: called in this process, and started as users start it."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qp
import socp
from bench import __main__ as entry
from bench import commands as command
from bench import experiments, peers, tour
from bench.answers import answer
from bench.answers.verify import Verification, verify
from bench.compare import anatomy, kernel_machines, suite
from bench.fuzz import campaign
from bench.fuzz import catalogue as families
from bench.fuzz.judge import Verdict
from bench.programs import catalogue, generate, sets
from docs.results import calibration
from qp.files.mat import read_mat
from socp import Status
from tests.support.data import data_folder
from tests.support.problem_sets import CBF, QPS, write_rows, write_struct
from tests.support.processes import python

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = suite.HEADER.split()


def test_solve_prints_status_objective_residuals_iterations_and_time(tmp_path):
    path = tmp_path / "tiny.mat"
    write_rows(path)
    result = python("-m", "bench", "solve", path, cwd="/", PYTHONPATH=str(ROOT))
    assert result.returncode == 0, result.stderr
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines() if line)
    assert lines["program"].startswith("QuadraticProgram(n=2, m=1), 4 nonzeros")
    assert lines["status"] == "optimal"
    assert float(lines["objective"].split()[0]) == pytest.approx(0.5, abs=1e-7)
    residuals = [float(word.rstrip(",")) for word in lines["residuals"].split()[1::2]]
    assert len(residuals) == 3 and max(residuals) <= 1e-8
    assert int(lines["iterations"]) == qp.Solver(read_mat(path)).solve().iterations
    assert "set-up" in lines["time"] and "solve" in lines["time"]
    assert lines["verdict"].startswith("solved")


def test_solve_of_a_cone_program_with_verbose_prints_the_iterations(tmp_path, capsys, monkeypatch):
    path = tmp_path / "disk.cbf"
    path.write_text(CBF)
    assert command.main(["solve", str(path)]) == 0
    quiet = capsys.readouterr().out
    assert command.main(["solve", str(path), "--verbose", "--tol", "1e-6"]) == 0
    verbose = capsys.readouterr().out
    (objective,) = (line.split()[1] for line in verbose.splitlines() if line.startswith("objective"))
    assert float(objective) == pytest.approx(-1.0, abs=1e-5)
    assert len(verbose.splitlines()) >= len(quiet.splitlines()) + 4
    found = Verification(7.5, 2.5, 1e-3, 2e-3, 4e-3, 3e-3, 5e-3, np.inf, np.inf)
    monkeypatch.setattr(command, "verify", lambda *_: found)
    assert command.main(["solve", str(path)]) == 1  # exit code 1 for a wrong answer
    told = capsys.readouterr().out
    assert "objective    7.5 (dual 2.5)" in told and "primal 2.0e-03, dual 4.0e-03, gap 5.0e-03" in told


def test_solve_of_a_maximization_prints_its_own_value(tmp_path, capsys):
    (tmp_path / "max.cbf").write_text(CBF.replace("MIN", "MAX"))
    assert command.main(["solve", str(tmp_path / "max.cbf")]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line)
    value, dual = (float(word.strip("(dual)")) for word in lines["objective"].split(" (dual "))
    assert "maximization" in lines["program"] and value == pytest.approx(1.0, rel=1e-7) == dual


def test_a_certificate_is_printed_with_its_error_and_written_without_a_point(tmp_path, capsys):
    path, out = tmp_path / "lpi.mat", tmp_path / "x.json"
    write_struct(path)
    assert command.main(["solve", str(path), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "status       primal_infeasible" in printed
    assert "certificate  error" in printed and "objective" not in printed
    assert "verdict      certified" in printed
    found = json.loads(out.read_text())
    assert out.read_text().endswith("}\n")
    assert found["status"] == "primal_infeasible" and all(isinstance(value, float) for value in found["z"])


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_solve_writes_the_answer(ending, tmp_path, capsys):
    path, out = tmp_path / "disk.cbf", tmp_path / f"x.{ending}"
    path.write_text(CBF)
    assert command.main(["solve", str(path), "--out", str(out)]) == 0
    assert f"written      {out}" in capsys.readouterr().out
    found = json.loads(out.read_text()) if ending == "json" else np.load(out)
    expected = socp.solve(sets.read(path))
    assert str(found["status"]) == "optimal" and int(found["iterations"]) >= 1
    for name in ("x", "y", "z", "s"):
        np.testing.assert_allclose(found[name], getattr(expected, name), rtol=1e-9, atol=1e-12)


def test_files_and_configuration_are_commands_of_the_same_program(tmp_path, capsys):
    path = tmp_path / "tiny.qps"
    path.write_text(QPS)
    assert command.main(["qp", str(path), "--tol", "1e-6"]) == 0
    assert "status         optimal: " in capsys.readouterr().out
    assert command.main(["socp", str(path)]) == 2
    assert capsys.readouterr().err.startswith("centralpath socp: ")
    assert command.main(["config"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["centralpath", socp.__version__]
    for arguments, words in ((["--version"], f"centralpath {socp.__version__}"), (["qp", "--help"], "centralpath qp")):
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        assert ended.value.code == 0 and words in capsys.readouterr().out


def test_the_folder_of_the_data_is_sent_to_the_workers(tmp_path, monkeypatch):
    sent = []

    def conducted(experiment, own, data, *rest):
        sent.append(data)
        raise sets.DataError("no worker here")

    monkeypatch.setattr(command.conduct, "conduct", conducted)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CENTRALPATH_DATA", "data")
    for given in ([], ["--data", "other"]):
        assert command.main(["experiment", "transfer", "--dask", "tcp://scheduler:8786", *given]) == 2
    assert sent == [str(tmp_path / "data"), str(tmp_path / "other")]


def test_a_fresh_experiment_has_neither_runs_nor_marks_of_earlier_ones(tmp_path, monkeypatch):
    own, seen = tmp_path / "experiments" / "transfer", []

    def conducted(*given):
        seen.append(sorted(path.name for path in own.iterdir()))
        raise sets.DataError("no data here")

    monkeypatch.setattr(command.conduct, "conduct", conducted)
    monkeypatch.chdir(tmp_path)
    own.mkdir(parents=True)
    names = sorted([command.conduct.RUNS, command.conduct.CONFIRMED, "page.md"])
    for name in names:
        (own / name).write_text("")
    for given in ([], ["--fresh"], ["--fresh"]):  # the second time there is nothing to remove
        assert command.main(["experiment", "transfer", *given]) == 2
    assert seen == [names, ["page.md"], ["page.md"]]


@pytest.mark.parametrize("paths", [(), (None,), (None, Path("a.npz")), (Path("a.npz"), Path("b.npz"))])
def test_a_campaign_tells_where_programs_that_failed_are_kept_if_any_are(paths, capsys, monkeypatch):
    found = campaign.Campaign({"qp_tiny": Counter({"wrong": len(paths)})})
    found.failures += [campaign.Failure("qp_tiny", 0, k, Verdict("wrong", ""), path) for k, path in enumerate(paths)]
    monkeypatch.setattr(campaign, "run", lambda *given: found)
    assert command.main(["fuzz", "--programs", "1", "--out", "kept"]) == (1 if paths else 0)
    told = "kept in kept; solve one: python -m bench solve kept/NAME.json" in capsys.readouterr().out
    assert told == any(paths)
    for differing in (0, 2):
        monkeypatch.setattr(command.batches, "run", lambda *given, differing=differing: (found, differing))
        assert command.main(["fuzz", "--batches", "--programs", "1"]) == (1 if paths or differing else 0)
        assert f"\n{differing} batches with bits that depend on neighbours" in capsys.readouterr().out


def test_solve_passes_its_limits_on(tmp_path, capsys):
    path = tmp_path / "tiny.qps"
    path.write_text(QPS)
    assert command.main(["solve", str(path), "--max-iter", "1"]) == 0
    assert "status       max_iterations" in capsys.readouterr().out
    assert command.main(["solve", str(path), "--time-limit", "0"]) == 0
    assert "status       time_limit" in capsys.readouterr().out


def test_errors_are_one_line_and_exit_code_two(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CENTRALPATH_DATA", raising=False)
    (tmp_path / "broken.mat").write_text("not a MATLAB file")
    (tmp_path / "tiny.qps").write_text(QPS)
    for arguments, words in [
        (["solve", tmp_path / "program.lp"], "the ending must be one of .cbf, .cbf.gz, .mat"),
        (["solve", tmp_path / "broken.mat"], "MATLAB"),
        (["solve", tmp_path / "missing.mat"], "there is no such file"),
        (["solve", tmp_path / "tiny.qps", "--tol", "-1"], "tol must be a positive number"),
        (["suite", "cblib"], "CENTRALPATH_DATA"),
        (["suite", "cblib", "--data", tmp_path], "--data DIR"),
    ]:
        assert command.main([str(argument) for argument in arguments]) == 2
        printed = capsys.readouterr()
        assert words in printed.err and len(printed.err.splitlines()) == 1
        assert "Traceback" not in printed.err


@pytest.mark.parametrize("arguments, wrong, valid", [
    (["anatomy", "--programs", "lasso_50,foo_3"], "no program 'foo_3'", list(anatomy.CLASSES)),
    (["anatomy", "--programs", "lasso"], "no program 'lasso'", list(anatomy.CLASSES)),
    (["anatomy", "--programs", "lasso_1"], "no program 'lasso_1'", ["CLASS_SIZE", "from 2 on"]),
    (["models", "--only", "nonsense"], "no data matches 'nonsense'", list(kernel_machines.data_sets())),
    (["compare", "tiny", "--only", "nonsense"], "tiny matches 'nonsense'", ["box_update_10", "ball_update_10"]),
    (["compare", "tiny", "--solvers", "nonsense"], "no solver 'nonsense'", ["centralpath", *peers.names()]),
    (["fuzz", "--family", "nonsense"], "no family matches 'nonsense'", list(families.FAMILIES)),
])  # fmt: skip
def test_a_name_that_is_not_known_is_refused_with_the_list_of_those_that_are(
    arguments, wrong, valid, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(qp, "warmup", lambda: pytest.fail("refused only after work"))
    assert command.main(arguments) == 2
    printed = capsys.readouterr()
    assert wrong in printed.err and not printed.out and len(printed.err.splitlines()) == 1
    for name in valid:
        assert name in printed.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments, valid", [
    (["nonsense"], [name for name in command.COMMANDS if name]),
    (["suite", "nonsense"], list(sets.SETS)),
    (["compare", "nonsense"], catalogue.names()),
    (["experiment", "nonsense"], [*experiments.MODULES, "all"]),
])  # fmt: skip
def test_a_choice_that_is_not_there_is_refused_with_the_choices(arguments, valid, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert "nonsense" in error.splitlines()[-1]
    for name in valid:
        assert name in error.splitlines()[-1]


@pytest.mark.parametrize("arguments", [
    ["suite", "cblib", "--tol", "-1"], ["compare", "tiny", "--limit", "0"],
    ["compare", "tiny", "--threads", "0"], ["compare", "tiny", "--limit", "soon"],
    ["experiment", "transfer", "--repeats", "0"], ["experiment", "transfer", "--repeats", "2.5"],
    ["solve", "tiny.qps", "--out", "/not/there/x.npz"], ["solve", "tiny.qps", "--out", "x.csv"],
    *(["fuzz", name, value] for name in ("--programs", "--seconds", "--seed", "--only") for value in ("-1", "x")),
    ["fuzz", "--programs", "0"],
])  # fmt: skip
def test_a_bad_option_is_refused_by_name(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(arguments)
    assert ended.value.code == 2
    assert f"argument {arguments[-2]}: must be" in capsys.readouterr().err


def test_suite_prints_a_line_a_program_and_a_summary(folder, capsys):
    assert command.main(["suite", "maros_meszaros", "--data", str(folder)]) == 0
    header, *lines, last = capsys.readouterr().out.splitlines()
    assert header == suite.HEADER
    assert [line.split()[0] for line in lines] == ["CVXQP1_S", "CVXQP2_S", "HS21"]
    for line in lines:
        row = dict(zip(COLUMNS, line.split(), strict=True))
        assert (row["n"], row["m"], row["nnz"], row["status"], row["verdict"]) == ("2", "1", "4", "optimal", "solved")
        assert max(float(row[name]) for name in ("primal", "dual", "gap")) <= 1e-8
        assert len(line) == len(lines[0])  # aligned
    assert last.startswith("3 programs: 3 solved (3 to 1e-08, 0 to 1e-06), 0 certified, 0 WRONG, 0 failed")


def test_suite_certifies_and_reads_cones_and_the_environment(folder, capsys, monkeypatch):
    monkeypatch.setenv("CENTRALPATH_DATA", str(folder))
    assert command.main(["suite", "netlib_infeasible"]) == 0
    line, last = capsys.readouterr().out.splitlines()[1:]
    row = dict(zip(COLUMNS, line.split(), strict=True))
    assert (row["status"], row["verdict"]) == ("primal_infeasible", "certified")
    assert row["primal"] == row["gap"] == "-" and float(row["dual"]) <= 1e-6
    assert "1 certified" in last
    assert command.main(["suite", "cblib", "--only", "di*", "--tol", "1e-6"]) == 0
    assert "1 solved (1 to 1e-06, 0 to 1e-06)" in capsys.readouterr().out


def test_suite_goes_on_after_a_file_that_cannot_be_read(folder, capsys):
    (folder / "maros_meszaros" / "BROKEN.mat").write_text("not a MATLAB file")
    assert command.main(["suite", "maros_meszaros", "--data", str(folder), "--limit", "5"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[1].split()[:5:4] == ["BROKEN", "refused"]
    assert "4 programs: 3 solved (3 to 1e-08, 0 to 1e-06), 0 certified, 0 WRONG, 1 failed" in printed


def test_a_wrong_optimal_makes_exit_code_one(folder, capsys, answers_beside_the_point):
    assert command.main(["suite", "maros_meszaros", "--data", str(folder), "--only", "HS21"]) == 1
    printed = capsys.readouterr().out
    assert printed.splitlines()[1].split()[-1] == "WRONG" and "1 WRONG" in printed


GOOD = Verification(1.0, 1.0, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, math.inf, math.inf)


@pytest.mark.parametrize("status, changes, promised, expected", [
    (Status.OPTIMAL, {}, 1e-8, "solved"),
    (Status.OPTIMAL, {"gap": 2e-8}, 1e-8, "WRONG"),
    (Status.OPTIMAL, {"dual_cone": math.inf}, 1e-8, "WRONG"),
    (Status.OPTIMAL, {"gap": 2e-8}, 1e-6, "solved"),
    (Status.INACCURATE, {"gap": 5e-7}, 1e-8, "solved"),
    (Status.INACCURATE, {"gap": 5e-6}, 1e-8, "failed"),
    (Status.TIME_LIMIT, {"primal": 1.0}, 1e-8, "failed"),
    (Status.PRIMAL_INFEASIBLE, {"primal_infeasible": 1e-7}, 1e-8, "certified"),
    (Status.PRIMAL_INFEASIBLE, {"primal_infeasible": 1e-5}, 1e-8, "WRONG"),
    (Status.PRIMAL_INFEASIBLE, {"dual_infeasible": 1e-9}, 1e-8, "WRONG"),  # the certificate is of the other kind
    (Status.DUAL_INFEASIBLE, {"dual_infeasible": 1e-9}, 1e-8, "certified"),
    (Status.DUAL_INFEASIBLE, {"primal_infeasible": 1e-9}, 1e-8, "WRONG"),
])  # fmt: skip
def test_verdicts(status, changes, promised, expected):
    assert suite.verdict(status, replace(GOOD, **changes), promised) == expected


@pytest.mark.full
def test_the_tour_shows_four_programs_with_every_installed_solver(capsys):
    assert command.main([]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("The tour: four generated programs") and "It takes some" in printed.splitlines()[1]
    assert [line[0] for line in printed.splitlines() if line[:1].isdigit()] == ["1", "2", "3", "4"]
    ours = [line for line in printed.splitlines() if line.split()[:1] == ["centralpath"]]
    assert [line.split()[1] for line in ours] == ["optimal", "optimal", "optimal", "primal_infeasible"]
    assert [line.split()[-1] for line in ours] == ["solved", "solved", "solved", "certified"]
    for solver in peers.peers_for(generate.enclosing_ball(2)):
        assert printed.count(f"\n   {solver} ") >= (1 if peers.is_installed(solver) else 0)


def test_the_tour_names_what_is_not_installed(capsys, monkeypatch):
    monkeypatch.setattr(peers, "is_installed", lambda solver: False)
    monkeypatch.setattr(tour, "STOPS", (("No solution", generate.infeasible, 3),))
    assert tour.tour()
    printed = capsys.readouterr().out
    assert "not installed, skipped: clarabel, ecos, cvxopt, scs, qoco" in printed
    assert [line.split()[0] for line in printed.splitlines() if " primal_infeasible " in line] == ["centralpath"]


def test_the_tour_fails_when_our_answer_does_not_verify(capsys, monkeypatch):
    honest = answer.solve
    monkeypatch.setattr(answer, "solve", lambda program, **settings: replace(honest(program), y=None, z=None))
    monkeypatch.setattr(peers, "is_installed", lambda solver: False)
    assert not tour.tour()
    assert "WRONG" in capsys.readouterr().out


def test_commands_end_with_the_code_of_what_they_found(tmp_path, monkeypatch, capsys):
    warm, out = [], tmp_path / "c.json"
    monkeypatch.setattr(qp, "warmup", lambda: warm.append(1))
    for good in (True, False):
        monkeypatch.setattr(command, "tour", lambda good=good: good)
        assert command.main([]) == (0 if good else 1)
    assert capsys.readouterr().out.startswith("The tour: ") and len(warm) == 2
    monkeypatch.setattr(command.anatomy, "table", " and ".join)
    assert command.main(["anatomy", "--programs", "lasso_5,mpc_3"]) == 0 and len(warm) == 3
    assert capsys.readouterr().out == "lasso_5 and mpc_3\n"
    rates = [calibration.Rate("one", "bytes", 8e9, (1.0, 3.0, 2.0)), calibration.Rate("two", "flops", 3.0, (4.0,))]
    monkeypatch.setattr(calibration, "rates", lambda: iter(rates))
    calibration.main(out)
    written = json.loads(out.read_text())
    first = {"rate": "one", "unit": "bytes", "table": 8e9, "median": 2.0, "measured": [1.0, 3.0, 2.0]}
    assert written["rates"][0] == first and len(written["rates"]) == 2 and written["machine"]["cores"] >= 1
    head, line, *_, end = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "rate" and line.split() == "one 8e+09 2 1 to 3 bytes".split() and "written: " in end


def test_figures_are_written_where_they_differ_and_measured_where_that_is_asked(tmp_path, monkeypatch, capsys):
    same, other, new, table = (tmp_path / name for name in ("same", "other", "new", "docs/results/anatomy/table.md"))
    same.write_text("a"), other.write_text("b"), table.parent.mkdir(parents=True)
    asked, real, codes = [], command.main, {"small": 1, "netlib": 130}
    monkeypatch.setattr(command.figures, "written", lambda root: {same: "a", other: "c", new: "d"})
    monkeypatch.setattr(command.figures, "commands", lambda root, names: [["compare", name] for name in names])
    monkeypatch.setattr(command, "main", lambda words: asked.append(words[1]) or codes.get(words[1], 0))
    monkeypatch.setattr(command.anatomy, "table", lambda names: f"{len(names)} rows")
    assert real(["figures", str(tmp_path)]) == 0 and not asked and not table.exists()
    assert capsys.readouterr().out.splitlines() == [f"written: {other}", f"written: {new}"] and other.read_text() == "c"
    assert real(["figures", str(tmp_path), "--measure", "tiny", "anatomy", "small"]) == 0
    assert asked == ["tiny", "small"] and table.read_text() == f"{len(anatomy.PROGRAMS)} rows\n"
    table.unlink(), asked.clear()
    assert real(["figures", str(tmp_path), "--measure"]) == 130  # the exit code after Ctrl-C
    sets_ = list(command.figures.SETS)
    assert asked == sets_[: sets_.index("netlib") + 1] and not table.exists()
    del codes["netlib"]
    assert real(["figures", str(tmp_path), "--measure"]) == 0 and table.exists()


def test_help_names_the_commands(capsys):
    told = ("whose name", "a shell pattern (as svm*) or a part of the name")
    for arguments, words in (
        (["--help"], ("solve", "suite")), *(([name, "--help"], told) for name in ("models", "suite", "compare")),
        (["suite", "--help"], ("relative tolerance (default 1e-08)", "1e-08) --limit")),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            command.main(arguments)
        printed = " ".join("".join(capsys.readouterr()).split())
        assert ended.value.code == 0 and all(word in printed for word in words)


@pytest.mark.parametrize("name", ["HS35MOD", "CVXQP2_M", "DUALC2", "PRIMALC8", "QADLITTL", "lpi_galenet", "lpi_bgprtr",
                                  "lpi_ex72a"])  # fmt: skip
def test_answers_on_real_files_keep_their_promise(name):
    group = "netlib_infeasible" if name.startswith("lpi") else "maros_meszaros"
    (path,) = sets.files(group, data_folder(group), name)
    program = sets.read(path)
    result = answer.solve(program, tol=1e-8)
    found = verify(program, result.x if group == "maros_meszaros" else None, result.y, result.z)
    if group == "netlib_infeasible":
        assert result.status == "primal_infeasible" and found.primal_infeasible <= 1e-6
    else:
        assert result.status == "optimal" and found.solved(1.01e-8)


def test_help_and_version_import_none_of_the_packages():
    code = "import sys; from bench.__main__ import main\ntry: main(sys.argv[1:])\nfinally: print(*sys.modules)"
    for option, words in (("--version", f"centralpath {socp.__version__}"), ("--help", "compare")):
        result = python("-c", code, option, PYTHONPATH=str(ROOT))
        shown, _, loaded = result.stdout.rstrip().rpartition("\n")
        assert result.returncode == 0 and words in shown
        assert not {"numpy", "scipy", "numba", "bench.commands"} & set(loaded.split())
    assert set(entry.COMMANDS) == {*command.COMMANDS, *command.FORWARDED}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["qp"], "FILE"),
        (["qp", ""], "path must end in"),
        (["socp", "missing.cbf"], "missing.cbf: no such file or directory"),
        (["compare", "tiny", "--solvers", "nomodule:solve"], "nomodule:solve cannot be used"),
        (["compare", "tiny", "--solvers", "math:nosuch"], "math:nosuch cannot be used"),
        (["figures", "nofolder"], "measurements.json is not there"),
        (["counts"], "in a checkout"),
    ],
)
def test_a_mistake_ends_with_code_2_and_its_reason_before_any_work(words, told, capsys, monkeypatch, tmp_path):
    def never(*_):
        raise AssertionError("work began")

    monkeypatch.setattr(qp, "warmup", lambda: 0.0 if words == ["counts"] else never())
    monkeypatch.setattr(command.counts, "KEPT", tmp_path / "counts.tsv")
    monkeypatch.chdir(tmp_path)
    try:
        code = entry.main(words)
    except SystemExit as ended:
        code = ended.code
    shown = capsys.readouterr()
    assert code == 2 and told in shown.err and "Errno" not in shown.err and not list(tmp_path.iterdir())
