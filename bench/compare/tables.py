"""The tables of a comparison, as rows of text: for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .measurement import OURS, Measurement, Record
from .summary import Results, Summary, comparisons, summaries


@dataclass(frozen=True)
class Table:
    """Table of text: a title, column heads, rows, and a note that says how to read it.

    The first column and the columns named in `left` are text, aligned to the left.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    left: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the table as text with aligned columns."""
        if not self.rows:
            return f"{self.title}: none"
        widths = [max(len(row[k]) for row in [self.heads, *self.rows]) for k in range(len(self.heads))]
        lines = []
        for row in [self.heads, *self.rows]:
            cells = [
                cell.ljust(width) if k == 0 or self.heads[k] in self.left else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])


def markdown_row(*cells: str) -> str:
    """Return a line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def markdown_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown; the first row has the heads."""
    return [markdown_row(*cells) for cells in (rows[0], ["---"] * len(rows[0]), *rows[1:])]


def markdown_heads(heads: str) -> str:
    """Return the first two lines of a table in Markdown, from its heads separated by bars."""
    return "\n".join(markdown_lines([heads.split(" | ")]))


def tables(record: Record, results: Results) -> list[Table]:
    """Return all tables in the order of the report."""
    return [_solvers(record, results), _classes(results), _programs(results), _slower(results), _troubles(results)]


def seconds(value: float) -> str:
    """Return a time with its unit: 24 us, 3.1 ms, 12 s."""
    if not math.isfinite(value):
        return "-"
    for unit, scale in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        if value < 999.5 * scale or unit == "s":
            return f"{value / scale:.3g} {unit}" if value < 999.5 * scale else f"{value:.0f} s"
    raise AssertionError


def _count(iterations: int) -> str:
    return str(iterations) if iterations >= 0 else "-"


def ratio(value: float) -> str:
    """Return a number with two digits, or "-" if it is not finite."""
    return f"{value:.2g}" if math.isfinite(value) else "-"


def _solvers(record: Record, results: Results) -> Table:
    heads = ["solver", "version", "programs", "solved", "wrong", "failed", "mean", "ours", "ours/its", "iterations"]
    heads += ["ours ", "memory", "cold start"]
    rows = [_solver_row(record, line) for line in summaries(results)]
    note = (
        f"mean: shifted geometric mean (shift {seconds(results.shift)}) over the programs that the solver takes, a "
        f"failure counts {seconds(results.limit)};\nours: our mean over the same programs; wrong: claimed, but the "
        "answer does not verify; iterations: means over what both solved;\n"
        "cold start: from importing the solver to its first answer."
    )
    return Table("All programs", heads, rows, note, left=("version",))


def _solver_row(record: Record, line: Summary) -> list[str]:
    memory = f"{line.peak_megabytes:.0f} MB" if math.isfinite(line.peak_megabytes) else "-"
    iterations = [f"{value:.1f}" if math.isfinite(value) else "-" for value in (line.iterations, line.our_iterations)]
    ours = [seconds(line.our_mean), ratio(line.ratio), iterations[1]] if line.solver != OURS else [""] * 3
    counts = [str(count) for count in (line.taken, line.solved, line.wrong, line.failed)]
    start = seconds(record.cold_starts.get(line.solver, math.nan))
    version = record.versions.get(line.solver) or "-"
    return [line.solver, version, *counts, seconds(line.mean), *ours[:2], iterations[0], ours[2], memory, start]


def _classes(results: Results) -> Table:
    """Return the table by class: our mean, and the lowest mean of a peer that takes the whole class."""
    groups: dict[str, dict[str, None]] = {}
    for (program, _), measurement in results.best.items():
        groups.setdefault(measurement.group, {})[program] = None
    rows = []
    for group, programs in groups.items():
        lines = summaries(results, programs)
        ours = next((line for line in lines if line.solver == OURS), None)
        others = [line for line in lines if line.solver != OURS and line.taken == len(programs)]
        best = min(others, key=lambda line: line.mean, default=None)
        if not group or ours is None:
            continue
        cells = ["-"] * 4
        if best is not None:
            cells = [best.solver, f"{best.solved}/{best.wrong}", seconds(best.mean), ratio(ours.mean / best.mean)]
        rows.append([group, str(len(programs)), f"{ours.solved}/{ours.wrong}", seconds(ours.mean), *cells])
    heads = ["class", "programs", "solved/wrong", "ours", "best peer", "solved/wrong ", "its mean", "ours/its"]
    return Table("By class", heads, rows, left=("best peer",))


def _programs(results: Results) -> Table:
    heads = ["program", "n", "m", "nonzeros", "ours", "iter", "best peer", "its time", "its iter", "ours/its"]
    rows = []
    for line in comparisons(results):
        m, best = line.ours, line.best
        shape = next((other for other in (m, best) if other is not None and other.n), m)
        sizes = [str(count) if shape.n else "-" for count in (shape.n, shape.m, shape.nnz)]
        cells = ["-"] * 3
        if best is not None:
            cells = [f"{best.solver} {best.form}".strip(), seconds(best.seconds), _count(best.iterations)]
        ours = outcome(m, results), _count(m.iterations)
        rows.append([line.program, *sizes, *ours, *cells, ratio(line.ratio)])
    return Table("Every program", heads, rows, left=("best peer",))


def _slower(results: Results) -> Table:
    lines = [line for line in comparisons(results) if line.ratio > 1.0]
    rows = [
        [line.program, ratio(line.ratio), "" if line.best is None else line.best.solver]
        for line in sorted(lines, key=lambda line: -line.ratio)
    ]
    return Table("Slower than the fastest peer", ["program", "ours/its", "peer"], rows, left=("peer",))


def _troubles(results: Results) -> Table:
    """Return the table of answers that are wrong, refused or crashed, and of programs that we do not solve."""
    rows = [
        [m.program, m.solver, m.status, m.verdict, f"{_worst(m):.1e}" if m.n else "-", m.note[:100]]
        for m in results.best.values()
        if m.verdict == "WRONG"
        or m.status in ("crashed", "refused", "error")
        or (m.status == "numerical_error" and m.note)  # an exception of the solver or its adapter
        or (m.solver == OURS and not results.solved(m))
    ]
    heads = ["program", "solver", "status", "verdict", "residual", "note"]
    left = ("solver", "status", "verdict", "note")
    return Table("Wrong, crashed, refused, and what we do not solve", heads, rows, left=left)


def all_times(results: Results) -> Table:
    """Return the table of every solver on every program."""
    rows = []
    for program in results.programs:
        found = [results.best.get((program, solver)) for solver in results.solvers]
        fastest = results.least_seconds(program)
        marks = [" *" if m is not None and m.seconds == fastest and results.solved(m) else "" for m in found]
        rows.append([program, *(outcome(m, results) + mark for m, mark in zip(found, marks))])
    return Table("All times", ["program", *results.solvers], rows, "*: the fastest")


def _worst(m: Measurement) -> float:
    if m.status in ("primal_infeasible", "dual_infeasible"):
        return m.certificate
    return max((value for value in (m.primal, m.dual, m.gap) if not math.isnan(value)), default=math.inf)


def outcome(measurement: Measurement | None, results: Results) -> str:
    """Return the time of a solved answer, else "WRONG" or the status; "" without a measurement."""
    if measurement is None:
        return ""
    if results.solved(measurement):
        return seconds(measurement.seconds)
    return "WRONG" if measurement.verdict == "WRONG" else measurement.status
