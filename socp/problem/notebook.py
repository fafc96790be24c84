"""The tables of `verbose`, which grow in place in a notebook: IPython is used where it runs already."""

from __future__ import annotations

import html
import re
import sys
import time
from collections.abc import Iterable
from typing import Any


class Sheet:
    """What a solve or a fit tells: text before a table, its heads and rows, text after it.

    It is printed as it comes.  In a notebook it is shown instead, in place, with all rows or the last `longest`, and
    not again within `pause` seconds.
    """

    def __init__(self, title: str = "", heads: str = "", longest: int | None = None, pause: float = 0.0) -> None:
        self.title, self.heads, self.longest, self.pause = title, heads, longest, pause
        self.rows: list[str] = []
        self.end, self.shown = "", 0.0
        show = display()
        self.handle = None if show is None else show(self, display_id=True)  # IPython's, of what is displayed
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
        """One more row."""
        self.rows.append(row)
        if self.handle is None:
            print(row)
        elif time.perf_counter() - self.shown >= self.pause:
            self.shown = time.perf_counter()
            self.handle.update(self)

    def finish(self, text: str) -> None:
        """What comes below the table."""
        self.end = text
        if self.handle is None:
            print(text)
        else:
            self.handle.update(self)


def html_row(cells: Iterable[str], align: str, sort: str = "td") -> str:
    """A row of a table, of cells of a sort."""
    return (
        "<tr>" + "".join(f"<{sort} style='text-align:{align}'>{html.escape(cell)}</{sort}>" for cell in cells) + "</tr>"
    )


def display() -> Any:
    """IPython's `display` where a notebook is running, which can update what it shows; otherwise None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython.display.display if ipython is not None and getattr(shell, "kernel", None) is not None else None
