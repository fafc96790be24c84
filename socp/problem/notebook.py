"""The tables of `verbose`: printed line by line, or updated in place in a notebook if IPython runs already."""

from __future__ import annotations

import html
import re
import sys
import time
from collections.abc import Iterable
from typing import Any


class Sheet:
    """Log of a solve or a fit: a title, a table of heads and rows, and a closing text.

    Each part is printed at once.  In a notebook the log is displayed and updated in place instead, with all rows or
    the last `longest`; rows update it at most once in `pause` seconds.
    """

    def __init__(self, title: str = "", heads: str = "", longest: int | None = None, pause: float = 0.0) -> None:
        self.title, self.heads, self.longest, self.pause = title, heads, longest, pause
        self.rows: list[str] = []
        self.end, self.shown = "", 0.0
        show = display()
        self.handle = None if show is None else show(self, display_id=True)  # IPython's handle of the displayed log
        if self.handle is None and title:
            print(f"{title}\n{heads}")

    def __repr__(self) -> str:
        return "\n".join(part for part in (self.title, self.heads, *self._visible(), self.end) if part)

    def _repr_html_(self) -> str:
        rows = [html_row(row.split(), "right") for row in self._visible()]
        heads = html_row(re.split(r"\s{2,}", self.heads.strip()), "right", "th")
        table = f"<table>{heads}{''.join(rows)}</table>" if self.heads else ""
        before, after = (f"<pre>{html.escape(text)}</pre>" if text else "" for text in (self.title, self.end))
        return before + table + after

    def _visible(self) -> list[str]:
        if self.longest is None or len(self.rows) <= self.longest:
            return self.rows
        return ["...", *self.rows[-self.longest :]]

    def add(self, row: str) -> None:
        """Add a row to the table and show it."""
        self.rows.append(row)
        if self.handle is None:
            print(row)
        elif time.perf_counter() - self.shown >= self.pause:
            self.shown = time.perf_counter()
            self.handle.update(self)

    def finish(self, text: str) -> None:
        """Set the text below the table and show it."""
        self.end = text
        if self.handle is None:
            print(text)
        else:
            self.handle.update(self)


def html_row(cells: Iterable[str], align: str, sort: str = "td") -> str:
    """Return an HTML table row of `cells`, each in the tag `sort`: "td" or "th"."""
    return (
        "<tr>" + "".join(f"<{sort} style='text-align:{align}'>{html.escape(cell)}</{sort}>" for cell in cells) + "</tr>"
    )


def display() -> Any:
    """Return IPython's `display` if a notebook runs, which can update its output; else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython.display.display if ipython is not None and getattr(shell, "kernel", None) is not None else None
