"""In a notebook: the tables of `verbose`, which grow in place, and the picture of a solution's convergence.

IPython is used where it runs already, matplotlib where a notebook asks for the picture and it is installed.
"""

from __future__ import annotations

import base64
import html
import importlib.util
import io
import re
import sys
import threading
from typing import Any

import numpy as np

CURVES = {"primal_residual": "primal residual", "dual_residual": "dual residual", "gap": "gap", "mu": "mu"}
_shown = threading.local()  # .sheet: of the solve that prints in this thread


class Sheet:
    """What was printed so far: text before the table, its heads and rows (all, or the last so many), text after it."""

    def __init__(self, title: str = "", heads: str = "", longest: int | None = None):
        self.title, self.heads, self.longest = title, heads, longest
        self.rows: list[str] = []
        self.end = ""
        self.handle: Any = None  # IPython's, of what is displayed

    def __repr__(self) -> str:
        return "\n".join(part for part in (self.title, self.heads, *self._visible(), self.end) if part)

    def _repr_html_(self) -> str:
        heads = _row("th", re.split(r"\s{2,}", self.heads.strip())) if self.heads else ""
        rows = "".join(_row("td", row.split()) for row in self._visible())
        table = f"<table>{heads}{rows}</table>" if heads else ""
        return f"{_text(self.title)}{table}{_text(self.end)}"

    def _visible(self) -> list[str]:
        if self.longest is None or len(self.rows) <= self.longest:
            return self.rows
        return ["...", *self.rows[-self.longest :]]

    def refresh(self) -> None:
        """Show what there is now, in place."""
        self.handle.update(self)


def _row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag} style='text-align:right'>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _text(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>" if text else ""


def display() -> Any:
    """IPython's `display` where a notebook is running, which can update what it shows; otherwise None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython.display.display if ipython is not None and getattr(shell, "kernel", None) is not None else None


def show(title: str, heads: str = "", longest: int | None = None) -> Sheet | None:
    """A new table, of which the last `longest` rows are seen; None where no notebook is running."""
    show_in_place = display()
    if show_in_place is None:
        return None
    sheet = Sheet(title, heads, longest)
    sheet.handle = show_in_place(sheet, display_id=True)
    return sheet


def begin(title: str, heads: str = "") -> bool:
    """The table of a solve; False where no notebook is running, and then nothing is shown."""
    _shown.sheet = show(title, heads)
    return _shown.sheet is not None


def row(text: str) -> bool:
    """One more row; False where no table was begun."""
    sheet = getattr(_shown, "sheet", None)
    if sheet is None:
        return False
    sheet.rows.append(text)
    sheet.refresh()
    return True


def end(text: str) -> bool:
    """What comes below the table, and the end of it; False where no notebook is running."""
    if getattr(_shown, "sheet", None) is None and not begin(""):  # a solve without iterations to show
        return False
    sheet, _shown.sheet = _shown.sheet, None
    sheet.end = text
    sheet.refresh()
    return True


def convergence(trace: np.ndarray) -> str:
    """Residuals, gap and mu against the iteration as an image in HTML; empty without matplotlib or a run to show."""
    curves = {name: np.where(trace[field] > 0, trace[field], np.nan) for field, name in CURVES.items()}
    curves = {name: values for name, values in curves.items() if np.count_nonzero(np.isfinite(values)) > 1}
    if not curves or importlib.util.find_spec("matplotlib") is None:
        return ""
    from matplotlib.figure import Figure  # without pyplot: the user's figures and backend stay as they are

    figure = Figure(figsize=(5.2, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for name, values in curves.items():
        axes.semilogy(trace["iteration"], values, ".-", label=name)
    axes.set_xlabel("iteration")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return f"<img alt='convergence' src='data:image/png;base64,{data}'/>"
