"""The results of experiments as files: tables (CSV, Markdown), the figure (PNG), all runs (JSON), pages (HTML)."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..compare.report import STYLE, html_table
from ..compare.tables import Table
from ..programs.sets import DataError
from .experiment import Experiment, Result

SUMMARY = "summary.json"


def write(experiment: Experiment, runs: list[Result], folder: Path, machine: dict[str, Any]) -> list[Path]:
    """Everything about one experiment into its folder; what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = experiment.tables(runs)
    written = [folder / "runs.json", folder / "tables.md", folder / "page.html", folder / SUMMARY]
    written[0].write_text(json.dumps(runs, indent=0) + "\n", encoding="utf-8")
    written[1].write_text("\n\n".join(map(markdown, tables)) + "\n", encoding="utf-8")
    for number, table in enumerate(tables, 1):
        written.append(folder / f"table-{number}.csv")
        written[-1].write_text(comma_separated(table), encoding="utf-8")
    picture = _picture(experiment, runs)
    if picture is not None:
        written.append(folder / "figure.png")
        written[-1].write_bytes(picture)
    seconds = sum(run["seconds"] for run in runs)
    summary = {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "claim": experiment.claim,
        "finding": experiment.finding(runs),
        "runs": len(runs),
        "seconds": round(seconds, 1),
        "machine": machine,
    }
    (folder / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    (folder / "page.html").write_text(page(summary, tables, picture), encoding="utf-8")
    return written


def page(summary: dict[str, Any], tables: list[Table], picture: bytes | None) -> str:
    """The claim and what was measured side by side, the figure and the tables, in a page that needs no other file."""
    body = [
        f"<h1>{html.escape(summary['title'])}</h1>",
        f"<p class='note'>{html.escape(summary['source'])}; {summary['runs']} runs, {summary['seconds']:g} s of one "
        f"thread in all</p>",
        _beside([summary]),
        "" if picture is None else f'<p><img alt="figure" src="data:image/png;base64,{_text(picture)}"></p>',
        *map(html_table, tables),
    ]
    return document(summary["title"], body)


def index(folder: Path) -> Path:
    """One page over all experiments in a folder, with links to theirs.

    Raises
    ------
    DataError
        There are none.
    """
    summaries = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"*/{SUMMARY}"))]
    if not summaries:
        raise DataError(f"{folder} has no results of experiments: no file */{SUMMARY}")
    body = [
        "<h1>The papers' experiments</h1>",
        _beside(summaries, links=True),
    ]
    path = folder / "index.html"
    path.write_text(document("The papers' experiments", body), encoding="utf-8")
    return path


def document(title: str, body: list[str]) -> str:
    """A page of HTML."""
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def markdown(table: Table) -> str:
    """A table as Markdown."""

    def line(cells: Any) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|").strip() for cell in cells) + " |"

    left = [k == 0 or head in table.left for k, head in enumerate(table.heads)]
    rows = [line(table.heads), line("---" if at_left else "---:" for at_left in left), *map(line, table.rows)]
    return "\n".join([f"**{table.title}**", "", *rows, *(["", table.note] if table.note else [])])


def comma_separated(table: Table) -> str:
    """A table as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([table.heads, *table.rows])
    return out.getvalue()


def _beside(summaries: list[dict[str, Any]], links: bool = False) -> str:
    """A row an experiment: what the paper says, what was measured."""
    rows = []
    for summary in summaries:
        title = html.escape(summary["title"])
        if links:
            title = f'<a href="{html.escape(summary["name"])}/page.html">{title}</a>'
        cells = [title, html.escape(summary["claim"]), html.escape(summary["finding"])]
        rows.append("<tr>" + "".join(f'<td class="words">{cell}</td>' for cell in cells) + "</tr>")
    heads = "<tr><th class=left>experiment</th><th class=left>the paper</th><th class=left>measured here</th></tr>"
    style = "<style>td.words { text-align: left; white-space: normal; vertical-align: top; }</style>"
    return f"{style}<table>{heads}\n" + "\n".join(rows) + "</table>"


def _picture(experiment: Experiment, runs: list[Result]) -> bytes | None:
    if find_spec("matplotlib") is None:
        return None
    out = io.BytesIO()
    experiment.figure(runs).savefig(out, format="png", dpi=110, bbox_inches="tight")
    return out.getvalue()


def _text(picture: bytes) -> str:
    return base64.b64encode(picture).decode()
