"""The commands of the command line: each is a function that declares its options."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import qp
import socp
from qp.__main__ import main as qp_main
from socp.__main__ import main as socp_main
from socp.commandline import told
from socp.problem.printing import MAXIMIZED, facts, own_value

from . import counts, experiments
from .answers import answer
from .answers.verify import verify
from .commandline import PROGRAM, parser
from .compare import (
    anatomy,
    comparison,
    derivatives,
    figures,
    kernel_machines,
    linear,
    measurement,
    pairs,
    qpbenchmark,
    report,
    suite,
    warm,
)
from .experiments.frame import conduct, confirm, pages
from .fuzz import batches, campaign, crossing, through, trial
from .fuzz import catalogue as families
from .programs import catalogue, sets
from .tour import INTRODUCTION, tour

TABLES = {
    "kernels": kernel_machines.COMPARISON,
    "linear": linear.COMPARISON,
    "derivatives": derivatives.COMPARISON,
    "warm": warm.COMPARISON,
}
Command = Callable[[argparse.Namespace], int]
Option = tuple[str, dict[str, Any]]
COMMANDS: dict[str, tuple[Command, tuple[Option, ...]]] = {}
"""Function and options of each command."""


def _number(kind: Callable[[str], Any], least: float, words: str) -> Callable[[str], Any]:
    """Return a parser of numbers that are at least `least`; `words` describes them in its error."""

    def number(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not value >= least:
            raise argparse.ArgumentTypeError(f"must be {words}, but {text} came")
        return value

    return number


def _count(least: int) -> Callable[[str], int]:
    return _number(int, least, f"a whole number, at least {least}")


_positive = _number(float, math.nextafter(0.0, 1.0), "a positive number")


def _file_to_write(text: str) -> Path:
    """Return `text` as the path of a file in an existing folder, which the parser checks before the work."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file in a folder that is there, but {text} came")
    return path


def _answer_to_write(text: str) -> Path:
    """Return `text` as the path of a file for an answer, .npz or .json, checked by the parser."""
    if not text.endswith((".npz", ".json")):
        raise argparse.ArgumentTypeError(f"must be a file .npz or .json, but {text} came")
    return _file_to_write(text)


MATCHES = "a shell pattern (as svm*) or a part of the name, upper and lower case alike"


def _option(name: str, words: str, **settings: Any) -> Option:
    """Return an option of a command for the parser; its help names a default."""
    told = f"{words} (default %(default)s)" if settings.get("default") is not None else words
    return name, {"help": told, **settings}


def _only(what: str) -> Option:
    return _option("--only", f"{what}: {MATCHES}")


def _switch(name: str, words: str) -> Option:
    return _option(name, words, action="store_true")


DATA = _option("--data", f"the folder of the sets of files (default: ${sets.DATA_VARIABLE})")
TOL = _option("--tol", "relative tolerance", type=_positive, default=1e-8)
LIMIT = _option("--limit", "seconds a run of a program", type=_positive, default=60.0)
FRESH = _switch("--fresh", "do not go on with what is there")


def _command(*options: Option) -> Callable[[Command], Command]:
    """Register a function as a command, under its name without the leading underscore."""

    def register(function: Command) -> Command:
        COMMANDS[function.__name__[1:]] = (function, options)
        return function

    return register


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code, 1 for an answer that fails verification."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] in FORWARDED:
        command, first = FORWARDED[words[0]]
        return command([*first, *words[1:]], f"{PROGRAM} {words[0]}")
    options = _parser().parse_args(words)
    try:
        if options.command:
            return COMMANDS[options.command][0](options)
        print(INTRODUCTION, flush=True)
        qp.warmup()
        return 0 if tour() else 1
    except (sets.DataError, socp.ProgramError, OSError) as error:
        print(f"{PROGRAM}: {told(error)}", file=sys.stderr)
        return 2


@_command(
    _option("file", "a program: its plan, times, convergence and trace as a page", nargs="?"),
    _option("--out", "that page", type=_file_to_write, default=Path("anatomy.html")),
    _option(
        "--programs", f"CLASS_SIZE, with commas between (default: one a kind); classes: {', '.join(anatomy.CLASSES)}"
    ),
)
def _anatomy(options: argparse.Namespace) -> int:
    names = anatomy.names(options.programs)
    qp.warmup()
    if options.file:
        options.out.write_text(anatomy.page(options.file), encoding="utf-8")
        _show_page(options.out)
    else:
        print(anatomy.table(names))
    return 0


@_command(
    _option("file", "the file; its ending says what it is"),
    _switch("--verbose", "one line per iteration"),
    _option("--tol", f"relative tolerance (default {socp.Settings.tol:g}, or the report's)", type=float),
    _option("--max-iter", f"iteration limit (default {socp.Settings.max_iter}, or the report's)", type=int),
    _option("--time-limit", "seconds (default: none, or the report's)", type=float),
    _option("--out", "write status, x, y and z to this file (.npz or .json)", type=_answer_to_write),
)
def _solve(options: argparse.Namespace) -> int:
    stored = sets.read_saved(options.file)
    program, given = stored.program, {name: getattr(options, name) for name in ("tol", "max_iter", "time_limit")}
    settings = {**stored.settings, **{name: value for name, value in given.items() if value is not None}}
    qp.warmup()
    result = answer.solve(program, **settings | {"verbose": options.verbose})
    found = verify(program, result.x, result.y, result.z)
    worth = suite.verdict(result.status, found, settings.get("tol", socp.Settings.tol))
    print(f"program      {program!r}, {suite.nonzeros(program)} nonzeros{f', {MAXIMIZED}' * program.maximize}")
    print(f"status       {result.status}")
    if result.status.is_infeasible:
        print(f"certificate  error {found.certificate:.1e}")
    else:
        values = (own_value(value, program.maximize) for value in (found.objective, found.dual_objective))
        print("objective    {:.10g} (dual {:.10g})".format(*values))
        primal, dual = max(found.primal, found.primal_cone), max(found.dual, found.dual_cone)
        print(f"residuals    primal {primal:.1e}, dual {dual:.1e}, gap {found.gap:.1e}")
    print(f"iterations   {result.iterations}")
    print(f"time         set-up {result.setup_seconds:.3f} s, solve {result.solve_seconds:.3f} s")
    print(f"verdict      {worth} (relative residuals, computed from the answer alone)")
    if stored.answer is not None:
        print("in the report, of " + "; ".join(f"{name} {value}" for name, value in stored.versions.items()))
        for name, value in facts(stored.answer, program.maximize).items():
            print(f"    {name:<14} {value}")
    if options.out:
        _write_answer(options.out, result)
        print(f"written      {options.out}")
    return 1 if worth == "WRONG" else 0


def _write_answer(path: Path, result: answer.Answer) -> None:
    """Write status, iterations and the vectors x, y, z (and s of a cone program) as .npz or as JSON."""
    vectors = {name: v for name in ("x", "y", "z", "s") if (v := getattr(result, name)) is not None}
    told: dict[str, Any] = {"status": str(result.status), "iterations": result.iterations, "message": result.message}
    if path.suffix == ".npz":
        with path.open("wb") as file:
            np.savez(file, **told, **vectors)
        return
    lists = {k: [one if math.isfinite(one) else None for one in vector.tolist()] for k, vector in vectors.items()}
    path.write_text(json.dumps(told | lists, allow_nan=False) + "\n", encoding="utf-8")


@_command(
    _option("name", "the set", choices=list(sets.SETS)),
    *(DATA, TOL, LIMIT, _only("the programs whose name matches")),
)
def _suite(options: argparse.Namespace) -> int:
    paths = sets.files(options.name, options.data, options.only)
    qp.warmup()
    print(suite.HEADER)
    rows = []
    for row in suite.run(paths, options.tol, options.limit):
        print(suite.line(row), flush=True)
        rows.append(row)
    print(suite.summary(rows, options.tol))
    return 1 if any(row.verdict == "WRONG" for row in rows) else 0


@_command(
    _option("name", "the set", choices=[*catalogue.names(), *TABLES]),
    _option("--solvers", "names or module:function, with commas between (default: all installed)"),
    *(TOL, LIMIT, DATA, FRESH, _only("the programs or data whose name, as lasso_50 or of a file, matches")),
    _option("--threads", "threads of every solver", type=_count(1), default=1),
    _option("--sizes", "small, medium, large or sizes as 10,500", default="medium"),
    _option("--out", "the folder of the report (default: compare-SET)"),
    _switch("--own-settings", f"{', '.join(qpbenchmark.SETS)}: as qpbenchmark measures, through qpsolvers"),
)
def _compare(options: argparse.Namespace) -> int:
    """Measure the solvers on a set and write the report; a run after Ctrl-C continues where the last one ended."""
    if options.own_settings:
        if options.name not in qpbenchmark.SETS:
            raise sets.DataError(f"--own-settings is for the sets {', '.join(qpbenchmark.SETS)}")
        return _compare_pairs(qpbenchmark.compare(options.name, options.data, options.only))
    if options.name in TABLES:
        if options.solvers:
            raise sets.DataError(f"compare {options.name} has solvers of its own: --solvers is for sets of programs")
        return _compare_pairs(TABLES[options.name].run(options.only))
    cases = catalogue.cases(options.name, options.sizes, options.data, options.only)
    solvers, missing = comparison.choose(options.solvers.split(",") if options.solvers else None)
    comparison.check_functions(solvers)
    limits = comparison.Limits(options.tol, options.limit, options.threads)
    sizes = options.sizes if options.name in catalogue.SIZES else "all"
    settings = {"set": options.name, "sizes": sizes}
    settings |= {"tol": limits.tol, "limit": limits.seconds, "threads": limits.threads}
    new = measurement.Record(settings, measurement.versions(solvers), measurement.hardware(), missing)
    folder = Path(options.out or f"compare-{options.name}")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "measurements.json"
    record = measurement.resume(path, new, options.fresh)
    if missing:
        print(f"not installed, skipped: {', '.join(missing)}")
    qp.warmup()
    code = 0
    try:
        with comparison.progress() as show:
            comparison.run(cases, solvers, limits, record, lambda: record.save(path), show)
    except KeyboardInterrupt:
        code = _interrupted()
    record.save(path)
    print(report.terminal(record))
    written = report.write(record, folder)
    print("\nwritten:", path, *written)
    _show_page(written[-1])
    ours = (m for m in record.measurements.values() if m.solver == measurement.OURS)
    return code or int(any(m.verdict == "WRONG" for m in ours))


def _interrupted() -> int:
    print("interrupted; the same command goes on from here", file=sys.stderr)
    return 130


def _compare_pairs(rows: Iterable[pairs.Pair]) -> int:
    """Print the table of a comparison with solvers of its own, each row once it is measured; return the exit code."""
    measured: list[pairs.Pair] = []
    for pair in rows:
        print(*([] if measured else [pairs.HEADER]), pair.line(), sep="\n", flush=True)
        measured.append(pair)
    print("", pairs.summary(measured), sep="\n")
    return 1 if any(pair.is_wrong for pair in measured) else 0


@_command(
    _switch("--update", "bring the file up to date"),
    DATA,
)
def _counts(options: argparse.Namespace) -> int:
    qp.warmup()
    if options.update:
        lines = counts.update(options.data)
    else:
        before = counts.kept()
        programs = [*counts.generated(), *counts.of_sets(set(before), options.data)]
        lines = counts.moved({name: count() for name, count in programs}, before)
    print("\n".join(lines) or "no count has moved")
    return 1 if lines and not options.update else 0


@_command(
    _option("--seconds", "how long (default 60, or as --programs says)", type=_positive),
    _option("--programs", "how many programs (default: as many as there is time for)", type=_count(1)),
    _option("--seed", "of all programs", type=_count(0), default=0),
    _option("--family", f"the families whose name matches: {MATCHES} (default: all); {', '.join(families.FAMILIES)}"),
    _option("--only", "one program of each family alone, by its number from 0 on", type=_count(0)),
    _switch("--batches", "instead, batches by one and two threads in other orders"),
    _switch(
        "--doors", "instead, each program through several doors and in other units and forms, and all answers compared"
    ),
    _option("--out", "the folder for programs that failed", default="fuzz"),
)
def _fuzz(options: argparse.Namespace) -> int:
    seconds = math.inf if options.seconds is None and options.programs is not None else options.seconds or 60.0
    if options.batches:
        found, differing = batches.run(options.seed, seconds, options.programs, options.only)
        print(found.table().text())
        print(found.exact_table().text())
        print(f"{differing} batches with bits that depend on neighbours, order or threads")
        return 1 if found.failed or differing else 0
    names, folder = families.names(options.family), Path(options.out)
    if options.doors:
        return _fuzz_doors(options, names, folder, seconds)
    if options.only is not None:
        verdicts = {name: trial.trial(name, options.seed, options.only) for name in names}
        for name, verdict in verdicts.items():
            asked = name, options.seed, options.only
            print(f"{name} {options.only}: {verdict.name}" + (f", {verdict.why}" if verdict.why else ""))
            truth = [verdict.truth.text()] if verdict.truth else []
            print(*(f"    {line}" for line in (*truth, f"kept in {campaign.keep(folder, *asked)}")), sep="\n")
        return 1 if any(verdict.name in campaign.FATAL for verdict in verdicts.values()) else 0
    show = lambda failure: print(failure.text(), flush=True)  # noqa: E731
    found = campaign.run(names, options.seed, folder, seconds, options.programs, show)
    print(found.table().text())
    print(found.exact_table().text())
    if any(failure.path for failure in found.failures):
        print(f"the programs that failed are kept in {folder}; solve one: python -m bench solve {folder}/NAME.json")
    return 1 if found.failed else 0


def _fuzz_doors(options: argparse.Namespace, names: list[str], folder: Path, seconds: float) -> int:
    """Send programs through the doors; return the exit code, 1 if answers disagree."""
    names = [name for name in names if not name.endswith("_settings")]  # Settings may end a run where they like.
    if options.only is None:
        crossed = crossing.run(names, options.seed, folder, seconds, options.programs)
        print(*(table.text() for table in crossed.tables()), sep="\n")
        return 1 if crossed.failed else 0
    every = [(name, through.passages(name, options.seed, options.only)) for name in names]
    for name, found in every:
        print(f"{name} {options.only}: {len(found)} passages")
        print(*(f"    {one.outcome:9s} {one.door}, {one.change}: {one.why}" for one in found), sep="\n")
    return 1 if any(one.outcome in crossing.FATAL for _, found in every for one in found) else 0


@_command(
    _option("name", "the experiment", choices=lambda: [*experiments.MODULES, "all"]),
    _option("--data", f"the data folder (default: ${sets.DATA_VARIABLE}, then the user's cache)"),
    _option("--repeats", "how often each set-up is run (default: as the paper)", type=_count(1)),
    _option("--jobs", "processes", type=int, default=1),
    _option("--dask", "the address of a dask scheduler whose workers run it; the data folder must be theirs, too"),
    _switch("--check", "compute a sample of kept runs again where other code made them; exit 1 if they differ"),
    _option("--budget", "of --check, seconds a page", type=_positive, default=confirm.BUDGET),
    _option("--out", "the folder of the results (default: experiments)"),
    *(_switch("--quick", "a short form that takes less than a minute"), FRESH),
)
def _experiment(options: argparse.Namespace) -> int:
    """Run experiments and write their pages; a run after Ctrl-C continues where the last one ended."""
    names = list(experiments.MODULES) if options.name == "all" else [options.name]
    folder = Path(options.out or "experiments")
    if options.check:
        return _check(options, folder)
    data = options.data or os.environ.get(sets.DATA_VARIABLE)
    if data and options.dask:
        data = os.path.abspath(data)  # Dask workers have other environments and working directories.
    for experiment in map(experiments.find, names):
        own = folder / experiment.name
        if options.fresh:
            for name in (conduct.RUNS, conduct.CONFIRMED):
                (own / name).unlink(missing_ok=True)
        print(f"{experiment.title} ({experiment.source})")
        try:
            with comparison.progress() as show:
                runs = conduct.conduct(
                    experiment, own, data, options.repeats, options.jobs, options.dask, options.quick, show
                )
        except KeyboardInterrupt:
            return _interrupted()
        written = pages.write(experiment, own, options.repeats or experiment.repeats)
        runs = conduct.kept(experiment, own, options.repeats or experiment.repeats)[1]
        print("\n\n".join(table.text() for table in experiment.tables(runs)))
        print("\npaper:   {}\nverdict: {}: {}\n".format(experiment.claim, *experiment.verdict(runs)[:2]))
        print("written:", *written)
    _show_page(pages.index(folder))
    return 0


def _check(options: argparse.Namespace, folder: Path) -> int:
    """Compute a sample of kept runs again, print a line for each page, and mark newly confirmed pages."""
    holds, new = True, set()
    for path in confirm.pages(folder, options.name):
        experiment = experiments.find(json.loads(path.open(encoding="utf-8").readline())["experiment"])
        found = confirm.check(experiment, path.parent, options.data, options.budget)
        print(f"{found.name}: {found.words}", flush=True)
        holds &= found.holds
        new |= {found.name} if found.is_new else set()
    if new:
        pages.rewrite(folder, experiments.find, new)
        pages.index(folder)
    return 0 if holds else 1


@_command(_option("folder", "the --out of the experiments"))
def _report(options: argparse.Namespace) -> int:
    pages.rewrite(Path(options.folder), experiments.find)
    _show_page(pages.index(Path(options.folder)))
    return 0


@_command(
    _option("folder", "the checkout", nargs="?", default="."),
    _option(
        "--measure",
        "first measure as in the reports: all sets, or those named",
        nargs="*",
        metavar="SET",
        choices=[*figures.SETS, "anatomy"],
    ),
)
def _figures(options: argparse.Namespace) -> int:
    """Measure the sets in `options.measure` again, if any, then write the files that differ."""
    wanted = [*figures.SETS, "anatomy"] if options.measure == [] else options.measure or []
    for words in figures.commands(Path(options.folder), [name for name in wanted if name != "anatomy"]):
        print(f"{PROGRAM} {' '.join(words)}", flush=True)
        if main(words) not in (0, 1):
            return 130
    if "anatomy" in wanted:
        qp.warmup()
        table = anatomy.table(anatomy.names()) + "\n"
        (Path(options.folder) / "docs" / "results" / "anatomy" / "table.md").write_text(table, encoding="utf-8")
    for path, text in figures.written(Path(options.folder)).items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print("written:", path)
    return 0


def _show_page(page: Path) -> None:
    """Print the path of the page of results and its address for a browser."""
    print(f"the page of the results: {page}; in a browser: {page.resolve().as_uri()}")


FORWARDED: dict[str, tuple[Callable[[Sequence[str], str], int], Sequence[str]]] = {
    "qp": (qp_main, ()),
    "socp": (socp_main, ()),
    "warmup": (socp_main, ("warmup",)),
    "config": (socp_main, ("config",)),
    "models": (lambda words, _: main(["compare", "kernels", *words]), ()),
}  # commands with their own parsers


def _parser() -> argparse.ArgumentParser:
    made, commands = parser()
    for name, (_, options) in COMMANDS.items():
        for option, settings in options:
            known = {"choices": settings["choices"]()} if callable(settings.get("choices")) else {}
            commands[name].add_argument(option, **settings | known)
    return made
