"""A comparison as pictures and as one page that needs no other file."""

from __future__ import annotations

import base64
import html
import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..programs.catalogue import REPEATED
from .measurement import OURS, Record
from .summary import SHIFT, TINY_SHIFT, Results, comparisons, profile
from .tables import Table, all_times, tables

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 78em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 0.5em 0 0.3em; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 9px; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
th { background: #f4f4f4; position: sticky; top: 0; }
th.left, td.left { text-align: left; }
.wide { overflow-x: auto; } .note { color: #666; font-size: 13px; white-space: pre-line; }
img { max-width: 100%; }
"""


def results_of(record: Record) -> Results:
    """Return the results of a record, with the limit for failures and the shift of its set."""
    shift = TINY_SHIFT if record.settings["set"] in REPEATED else SHIFT
    return Results(record.measurements.values(), float(record.settings["limit"]), shift)


def terminal(record: Record) -> str:
    """Return all tables as text."""
    parts = [_about(record), *(table.text() for table in tables(record, results_of(record)))]
    return "\n\n".join(parts)


def write(record: Record, folder: Path) -> list[Path]:
    """Write profile.png and scatter.png (if matplotlib is installed), tables.txt, report.html; return their paths."""
    results = results_of(record)
    pictures = _pictures(results) if find_spec("matplotlib") is not None else {}
    files = {f"{name}.png": picture for name, picture in pictures.items()}
    files |= {"tables.txt": f"{terminal(record)}\n".encode(), "report.html": page(record, pictures).encode()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in files]


def page(record: Record, pictures: dict[str, bytes]) -> str:
    """Return the whole report as HTML with its pictures inside."""
    results = results_of(record)
    title = f"centralpath compared: {record.settings['set']}"
    images = [html_image(name, picture) for name, picture in pictures.items()]
    first, *others = tables(record, results)
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="note">{html.escape(_about(record))}</p>',
        html_table(first),
        *(images or ["<p>No pictures: matplotlib is not installed.</p>"]),
        *map(html_table, (*others, all_times(results))),
    ]
    return document(title, body)


def document(title: str, body: list[str]) -> str:
    """Return a page of HTML with this title and body."""
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def html_image(name: str, picture: bytes) -> str:
    """Return an image element that holds the picture itself."""
    return f'<p><img alt="{name}" src="data:image/png;base64,{base64.b64encode(picture).decode()}"></p>'


def _about(record: Record) -> str:
    settings, machine = record.settings, record.machine
    lines = [
        f"set {settings['set']}, sizes {settings['sizes']}, tol {settings['tol']:g}, limit {settings['limit']:g} s, "
        f"{settings['threads']} thread(s); every answer verified at a relative 1e-6 on the caller's data",
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gigabytes']} GB, {machine['system']}, "
        f"Python {machine['python']}, "
        + ", ".join(f"{name} {record.versions.get(name)}" for name in ("numpy", "scipy", "numba")),
        f"measured in {record.sessions} session(s)"
        + (f"; not installed, skipped: {', '.join(record.missing)}" if record.missing else ""),
    ]
    lines += [f"{solver} did not start and is left out: {reason}" for solver, reason in record.broken.items()]
    return "\n".join(lines)


def html_table(table: Table) -> str:
    """Return a table as HTML with its title and note."""
    if not table.rows:
        return f"<h2>{html.escape(table.title)}</h2><p>None.</p>"

    def cells(row: Any, tag: str) -> str:
        left = [k == 0 or head in table.left for k, head in enumerate(table.heads)]
        return "".join(
            f"<{tag}{' class=left' if at_left else ''}>{html.escape(cell.strip())}</{tag}>"
            for cell, at_left in zip(row, left)
        )

    rows = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in table.rows)
    note = f'<p class="note">{html.escape(table.note)}</p>' if table.note else ""
    heads = cells(table.heads, "th")
    return f'<h2>{html.escape(table.title)}</h2><div class="wide"><table><tr>{heads}</tr>\n{rows}</table></div>{note}'


def _pictures(results: Results) -> dict[str, bytes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    pictures = {}
    for name, draw, size in (("profile", _draw_profile, (8.0, 4.8)), ("scatter", _draw_scatter, (5.6, 5.4))):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.subplots(), results)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=120, metadata={"Software": None})
        pictures[name] = stream.getvalue()
    return pictures


def _draw_profile(axes: Any, results: Results) -> None:
    """Draw performance profiles as steps from factor 1 on, ours thick."""
    steps = profile(results)
    last = max([10.0, *(float(factors[-1]) for factors, _ in steps.values() if factors.size)]) * 1.5
    for solver, (factors, shares) in steps.items():
        x = np.concatenate([[1.0], factors, [last]])
        y = np.concatenate([[0.0], shares, shares[-1:] if shares.size else [0]])
        style = {"color": "black", "linewidth": 2.6, "zorder": 3} if solver == OURS else {"linewidth": 1.3}
        axes.step(x, y, where="post", label=solver, **style)
    axes.set(xscale="log", xlim=(1.0, last), ylim=(0.0, 1.02))
    axes.set_xlabel("time within this factor of the fastest")
    axes.set_ylabel("share of the programs solved")
    axes.grid(alpha=0.3)
    if steps:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)


def _draw_scatter(axes: Any, results: Results) -> None:
    """Draw our times against the fastest peer's: below the diagonal we are faster, a failure is at the limit."""
    points = [
        (line.best.seconds if line.best else results.limit, results.seconds(line.program, OURS), line.ours.group)
        for line in comparisons(results)
    ]
    for group in dict.fromkeys(group for _, _, group in points):
        xy = np.array([(x, y) for x, y, of in points if of == group])
        axes.scatter(xy[:, 0], xy[:, 1], s=22, alpha=0.8, label=group or None)
    ends = [t for x, y, _ in points for t in (x, y) if t > 0.0] or [1e-3, 1.0]
    low, high = min(ends) / 2.0, max(ends) * 2.0
    axes.plot([low, high], [low, high], color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.set_xlabel("fastest peer, seconds")
    axes.set_ylabel("centralpath, seconds")
    axes.grid(alpha=0.3)
    if any(group for _, _, group in points):
        axes.legend(fontsize=7, frameon=False)
