"""The figures of the documentation: tables over the reports, written from their measurements alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from . import measurement, report
from .measurement import OURS, DataError, Record
from .summary import Summary, summaries
from .tables import markdown_lines, ratio, seconds

SETS = {
    "learning": "learning", "generated": "generated classes", "maros_meszaros": "Maros-Meszaros", "cblib": "CBLIB",
    "netlib": "netlib", "netlib_infeasible": "netlib, infeasible", "large": "large", "small": "10 to 300 variables",
    "tiny": "ten variables",
}  # fmt: skip
"""Folders under ``docs/results`` and descriptions of their programs, in the order of the table."""
BRIEF = ("learning", "maros_meszaros", "cblib", "netlib", "large", "small")  # sets in the table of the README
NAMED = {"clarabel": "Clarabel", "piqp": "PIQP"}  # peers with their own column
OTHERS = {"highspy": "HiGHS", "ecos": "ECOS", "qoco": "QOCO", "libsvm": "LIBSVM", "qtqp": "QTQP", "daqp": "DAQP"}
PEERS = NAMED | OTHERS
FASTER = 1.05  # a peer counts as faster if our time is at least this multiple of its time
BEGIN, END = "<!-- written by `centralpath figures` -->\n", "<!-- end -->\n"


def peer(line: Summary) -> str:
    """Return as text our time over a peer's, and how many of its programs the peer solved."""
    wrong = f", {line.wrong} wrong" if line.wrong else ""
    return f"{ratio(line.ratio)} ({line.solved} of {line.taken}{wrong})"


def measured(record: Record) -> str:
    """Return date and commit of a record, or the digest of its sources if it has no date."""
    if record.versions.get("date"):
        return f"{record.versions['date']}, {record.versions.get('commit') or 'no commit'}"
    return re.sub(r".*\((.*)\)", r"sources \1", record.versions[OURS] or "-")


def row(name: str, record: Record) -> list[str]:
    """Return the row of one set: ours, then each peer over the programs that it takes."""
    lines = {line.solver: line for line in summaries(report.results_of(record))}
    ours = lines.pop(OURS)
    wrong = f", {ours.wrong} wrong" if ours.wrong else ""
    named = [peer(lines.pop(solver)) if solver in lines else "" for solver in NAMED]
    others = ", ".join(f"{OTHERS.get(solver, solver)} {peer(line)}" for solver, line in lines.items())
    memory = f"{ours.peak_megabytes:.0f} MB"
    solved = f"{ours.solved} of {ours.taken}{wrong}"
    return [SETS[name], solved, seconds(ours.mean), memory, *named, others, measured(record)]


def table(records: dict[str, Record]) -> str:
    """Return the table in Markdown, one row for each set."""
    head = ["set", "solved", "mean", "memory", *(f"ours / {name}'s" for name in NAMED.values()), "others", "measured"]
    return "\n".join(markdown_lines([head, *(row(name, record) for name, record in records.items())])) + "\n"


def brief(records: dict[str, Record]) -> str:
    """Return the table of the README in Markdown: ratios alone, of the sets in `BRIEF`, and when they were measured."""
    rows = [["set", "solved", "mean", *(f"ours / {name}'s" for name in NAMED.values()), "ours / another's"]]
    for name in BRIEF:
        lines = {line.solver: line for line in summaries(report.results_of(records[name]))}
        ours = lines.pop(OURS)
        named = [ratio(lines.pop(solver).ratio) if solver in lines else "" for solver in NAMED]
        others = ", ".join(f"{OTHERS.get(solver, solver)} {ratio(line.ratio)}" for solver, line in lines.items())
        rows.append([SETS[name], f"{ours.solved} of {ours.taken}", seconds(ours.mean), *named, others])
    dates = sorted({measured(records[name]) for name in BRIEF})
    return "\n".join(markdown_lines(rows)) + f"\n\nMeasured on {'; '.join(dates)}.\n"


def commands(root: Path, names: Sequence[str]) -> list[list[str]]:
    """Return the commands, as words, that measure the sets `names` again with their reports' solvers and settings."""
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise DataError(f"there is no report of {unknown[0]!r}; there are {', '.join(SETS)}")
    found = []
    for name in names:
        folder = root / "docs" / "results" / name
        record = measurement.read(folder / "measurements.json")
        solvers = dict.fromkeys(m.solver for m in record.measurements.values())
        limits = ["--tol", f"{record.settings['tol']:g}", "--limit", f"{record.settings['limit']:g}"]
        sizes = [] if record.settings["sizes"] == "all" else ["--sizes", str(record.settings["sizes"])]
        more = [*limits, *sizes, "--out", str(folder), "--fresh"]
        found.append(["compare", name, "--solvers", ",".join(solvers), *more])
    return found


def faster(records: dict[str, Record]) -> str:
    """Return a table in Markdown of the programs on which a peer was faster, the largest quotients of times first."""
    rows = [["set", "peer", "faster on", "where our time is most times the peer's"]]
    for name, record in records.items():
        results = report.results_of(record)
        for solver in results.solvers[1:]:
            both = [p for p in results.taken(solver) if results.solved(results.best.get((p, solver)))]
            times = {p: results.seconds(p, OURS) / results.seconds(p, solver) for p in both}
            slower = sorted((p for p in both if times[p] >= FASTER), key=times.__getitem__, reverse=True)
            told = ", ".join(f"{p.replace('*', chr(92) + '*')} {ratio(times[p])}" for p in slower[:5]) or "-"
            rows.append([SETS[name], PEERS.get(solver, solver), f"{len(slower)} of {len(both)}", told])
    return "\n".join(markdown_lines(rows)) + "\n"


def written(root: Path) -> dict[Path, str]:
    """Return the text that each file under `root` with figures of the reports should hold."""
    folder = root / "docs" / "results"
    records = {name: measurement.read(folder / name / "measurements.json") for name in SETS}
    found = {folder / name / "tables.txt": report.terminal(record) + "\n" for name, record in records.items()}
    machines = sorted({", ".join(map(str, record.machine.values())) for record in records.values()})
    versions = {f"{name} {of}" for record in records.values() for name, of in record.versions.items() if name not in
                (OURS, "date", "commit")}  # fmt: skip
    about = f"Machine: {'; '.join(machines)} (processor, cores, GB, system, Python).\nVersions: "
    text = table(records)
    found[folder / "figures.md"] = f"{text}\n{about}{', '.join(sorted(versions))}.\n"
    found[folder / "faster.md"] = faster(records)
    readme = root / "README.md"
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(f"README.md has no lines {BEGIN.strip()} and {END.strip()} for the table")
    found[readme] = before + BEGIN + brief(records) + END + after
    return found
