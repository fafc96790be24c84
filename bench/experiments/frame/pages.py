"""Results of experiments as files next to the runs: tables (CSV, Markdown), the figure (PNG), pages (HTML).

All files follow from the runs, so `rewrite` updates the pages if only words or drawings have changed.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Collection
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...compare.report import document, html_image, html_table
from ...compare.tables import Table, markdown_row
from ...programs.sets import DataError
from . import confirm, opponent
from .conduct import RUNS, confirmation, kept
from .experiment import Experiment, Part, Result

SUMMARY = "summary.json"


def write(experiment: Experiment, folder: Path, repeats: int) -> list[Path]:
    """Write the pages of an experiment next to its runs, which must be complete; return the files written."""
    head, runs = kept(experiment, folder, repeats)
    tables = experiment.tables(runs)
    picture, verdict = _picture(experiment, runs), experiment.verdict(runs)
    summary = {
        **{name: getattr(experiment, name) for name in ("name", "title", "source", "claim")},
        "protocol": asdict(experiment.protocol),
        "verdict": verdict.kind,
        "reason": verdict.reason,
        "before": list(experiment.before),
        "parts": [part._asdict() for part in verdict.parts],
        "trials": [trial._asdict() for trial in opponent.trials(experiment, runs)],
        "repeats": repeats,
        "runs": len(runs),
        "seconds": round(sum(run["seconds"] for run in runs), 1),
        **{name: head[name] for name in ("quick", "code", "version", "date", "machine")},
        "confirmed": confirmation(folder),
    }
    texts = {
        "tables.md": "\n\n".join(map(markdown, tables)) + "\n",
        "page.html": page(summary, tables, picture),
        SUMMARY: json.dumps(summary, indent=1) + "\n",
        **{f"table-{number}.csv": comma_separated(table) for number, table in enumerate(tables, 1)},
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    if picture:
        (folder / "figure.png").write_bytes(picture)
    return [folder / name for name in (*texts, *(["figure.png"] if picture else []))]


def rewrite(folder: Path, find: Callable[[str], Experiment], names: Collection[str] | None = None) -> None:
    """Write the pages of all experiments in a folder, or of `names`, from the runs that are kept."""
    for path in sorted(folder.glob(f"*/{SUMMARY}")):
        summary = json.loads(path.read_text(encoding="utf-8"))
        if (path.parent / RUNS).is_file() and (names is None or summary["name"] in names):
            write(find(summary["name"]), path.parent, summary["repeats"])


def page(summary: dict[str, Any], tables: list[Table], picture: bytes) -> str:
    """Return claim, protocol and verdict, the figure and the tables as a page that needs no other file."""
    form = "in the short form, " if summary["quick"] else ""
    heads = ["the paper's protocol", "ours", "differences"]
    body = [
        f"<h1>{html.escape(summary['title'])}</h1>",
        f"<p class='note'>{html.escape(summary['source'])}; {form}{summary['runs']} runs, {summary['seconds']:g} s of "
        f"one thread in all; {_made(summary)}</p>",
        _beside([summary]),
        "<h2>What would overturn this, and what was tried</h2>",
        f"<p>{html.escape(_compared(summary))}</p>",
        _words_table(["tried", "outcome"], [list(map(html.escape, one.values())) for one in summary["trials"]]),
        "<h2>Protocol, figure and tables</h2>",
        _words_table(heads, [list(map(html.escape, summary["protocol"].values()))]),
        html_image("figure", picture) if picture else "",
        *map(html_table, tables),
    ]
    return document(summary["title"], body)


def index(folder: Path) -> Path:
    """Write one page over all experiments in a folder, with links to their pages; return its path."""
    summaries = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"*/{SUMMARY}"))]
    if not summaries:
        raise DataError(f"{folder} has no results of experiments: no file */{SUMMARY}")
    body = [
        "<h1>The papers' experiments</h1>",
        _beside(summaries, links=True),
        "<h2>Verdicts before and now</h2>",
        _judged_anew(summaries),
        "<h2>What decides each verdict, and would overturn it</h2>",
        "<p class='note'>Each part of a claim is one number of the runs, over all sizes and settings of its page, "
        "beside a bound that follows from the claim's words. Runs with a number beyond the bound overturn it. Where "
        "the words leave a bound open (90 % for almost everywhere, 5 points for near, a tau of .8 and half a point for "
        "grows, two standard errors), it was set here, after first runs had been seen.</p>",
        _parts(summaries),
        "<h2>What was tried against each verdict</h2>",
        _tried(summaries),
    ]
    path = folder / "index.html"
    path.write_text(document("The papers' experiments", body), encoding="utf-8")
    return path


def markdown(table: Table) -> str:
    """Return a table as Markdown."""

    def line(cells: Any) -> str:
        return markdown_row(*(str(cell).replace("|", "\\|").strip() for cell in cells))

    left = [k == 0 or head in table.left for k, head in enumerate(table.heads)]
    rows = [line(table.heads), line("---" if at_left else "---:" for at_left in left), *map(line, table.rows)]
    return "\n".join([f"**{table.title}**", "", *rows, *(["", table.note] if table.note else [])])


def comma_separated(table: Table) -> str:
    """Return a table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([table.heads, *table.rows])
    return out.getvalue()


def _made(summary: dict[str, Any]) -> str:
    """Return version, digest of the code and date of the runs, and the result of the last check."""
    made = f"version {summary['version']}, code {summary['code']}, {summary['date']}"
    return f"{made}; {confirm.in_words(found)}" if (found := summary["confirmed"]) else made


def _beside(summaries: list[dict[str, Any]], links: bool = False) -> str:
    """Return a table with one row per experiment: the paper's claim, and whether the numbers found here confirm it."""
    rows = []
    for summary in summaries:
        title, claim, verdict, reason = (html.escape(summary[n]) for n in ("title", "claim", "verdict", "reason"))
        found = f"<b>{verdict}</b>: {reason}"
        if not links:
            rows.append([title, claim, found])
            continue
        link = f'<a href="{html.escape(summary["name"])}/page.html">{title}</a>'
        protocol = html.escape("{ours} Differences: {differences}".format(**summary["protocol"]))
        rows.append([link, claim, protocol, found, html.escape(_overturned(summary)), _made(summary)])
    protocol_head, more = (["protocol"], ["what would overturn it", "runs"]) if links else ([], [])
    return _words_table(["experiment", "the paper", *protocol_head, "found, and the verdict", *more], rows)


def _judged_anew(summaries: list[dict[str, Any]]) -> str:
    """Return a table of each page's former verdict, its present one, and what decided it."""
    rows = [[one["title"], one["before"][0], one["verdict"], one["before"][1]] for one in summaries]
    heads = ["experiment", "verdict before", "now", "what decided"]
    return _words_table(heads, [list(map(html.escape, row)) for row in rows])


def _compared(summary: dict[str, Any]) -> str:
    """Return the number of comparisons that the verdict makes, and the numbers that would overturn it."""
    parts = f"{len(summary['parts'])} parts, decided by {summary['runs']} runs"
    return f"The claim has {parts}. Its verdict would be another by {_overturned(summary)}."


def _overturned(summary: dict[str, Any]) -> str:
    """Return the numbers that runs would have to show for another verdict, by the parts of the claim."""
    parts = [Part(**fields) for fields in summary["parts"]]
    lost = [f"{part.words} not {part.relation} {part.bound:.3g}" for part in parts if part.holds]
    won = [f"{part.words} {part.relation} {part.bound:.3g}" for part in parts if not part.holds]
    quantity = "all" if lost and won else "any"
    return ", or ".join(f"{quantity} of: {'; '.join(some)}" for some in (won, lost) if some)


def _parts(summaries: list[dict[str, Any]]) -> str:
    """Return a table of the parts of each claim: its words, the number found, the bound, and whether it holds."""
    rows = []
    for summary in summaries:
        for part in (Part(**fields) for fields in summary["parts"]):
            cells = [summary["title"], part.words, f"{part.value:.3g}", f"{part.relation} {part.bound:.3g}"]
            rows.append(list(map(html.escape, [*cells, "yes" if part.holds else "no"])))
    return _words_table(["experiment", "part of the claim", "found", "asked for", "holds"], rows)


def _tried(summaries: list[dict[str, Any]]) -> str:
    """Return a table of the trials of all pages, with their outcomes."""
    rows = [[one["title"], *trial.values()] for one in summaries for trial in one["trials"]]
    return _words_table(["experiment", "tried", "outcome"], [list(map(html.escape, row)) for row in rows])


def _words_table(heads: list[str], rows: list[list[str]]) -> str:
    """Return an HTML table whose cells hold running text in HTML."""
    style = "<style>td.words { text-align: left; white-space: normal; vertical-align: top; }</style>"
    head = "".join(f"<th class=left>{head}</th>" for head in heads)
    lines = ("<tr>" + "".join(f'<td class="words">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return f"{style}<table><tr>{head}</tr>\n" + "\n".join(lines) + "</table>"


def _picture(experiment: Experiment, runs: list[Result]) -> bytes:
    if find_spec("matplotlib") is None:
        return b""
    out = io.BytesIO()
    experiment.figure(runs).savefig(out, format="png", dpi=110, bbox_inches="tight")
    return out.getvalue()
