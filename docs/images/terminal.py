"""Draws docs/images/terminal.svg, a terminal in which `centralpath` runs for the first time, with no kernel compiled.

Run `python docs/images/terminal.py` on an otherwise idle machine, with the extra `bench` installed."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().with_suffix(".svg")
ROOT = PICTURE.parents[2]
COLUMNS, ROWS = 110, 40
LETTER, LINE, MARGIN = 7.2, 17, 14  # in pixels, for letters of 12 pixels
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+")


def record(command, environment):
    """Run a command in a terminal; return its output as [(seconds, text)]."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    started, written = time.monotonic(), []
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=ROOT) as process:
        os.close(theirs)
        while True:
            try:
                came = os.read(ours, 65536)
            except OSError:  # Linux: the other side is closed
                break
            if not came:
                break
            written.append((time.monotonic() - started, came.decode(errors="replace")))
    os.close(ours)
    if process.returncode:
        raise SystemExit("".join(text for _, text in written))
    return written


def screen(text):
    """Return the lines that a terminal shows after `text`, which has carriage returns and erased lines."""
    lines, column = [""], 0
    for part in CONTROL.findall(text):
        if part == "\n":
            lines.append("")
        elif part == "\r":
            column = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif not part.startswith("\x1b"):
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + len(part) :]
            column += len(part)
        if part == "\n":
            column = 0
    return [line.rstrip() for line in lines]


def moments(written):
    """Return (seconds, lines) at three moments: early and late in the compilation of kernels, and at the end."""
    progress = [seconds for seconds, text in written if "\r" in text and "\x1b[K" in text]
    if not progress:
        raise SystemExit("no kernel was compiled, or no line of progress was written")
    shown = []
    for share in (0.25, 0.75):
        until = progress[0] + share * (progress[-1] - progress[0])
        shown.append((until, screen("".join(text for seconds, text in written if seconds <= until))))
    return [*shown, (written[-1][0], screen("".join(text for _, text in written)))]


def svg(prompt, shown):
    """Return the screens as one SVG picture, one below the other."""
    rows = []
    for seconds, lines in shown:
        rows += [f"# after {seconds:.0f} s", prompt, *lines[-ROWS:], ""]
    while rows and not rows[-1]:
        rows.pop()
    width = 2 * MARGIN + LETTER * max(map(len, rows))
    height = 2 * MARGIN + LINE * len(rows)
    text = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * (k + 0.75):g}" class="{"note" if row.startswith("# ") else "line"}">'
        f"{escape(row)}</text>"
        for k, row in enumerate(rows)
        if row
    )
    size = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">
<title>A terminal in which centralpath runs for the first time, and says how far it is with the kernels</title>
<style>
text {{ font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; }}
.line {{ fill: #d8dee9; }} .note {{ fill: #8fa3bf; }}
</style>
<rect width="100%" height="100%" rx="8" fill="#1d222b"/>
{text}
</svg>
"""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
        written = record([sys.executable, "-m", "bench"], environment)
    written = [(seconds, text.replace(folder, "~/.cache")) for seconds, text in written]  # the default folder
    PICTURE.write_text(svg("$ centralpath", moments(written)), encoding="utf-8")
    print("written:", PICTURE)
