"""Writes docs/interactive.html, one file that needs no other, from the files of this folder.

Run as `python docs/interactive/assemble.py`.
"""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "interactive.html"


def assembled() -> str:
    """Return the page with its style and scripts inlined."""
    template = (HERE / "page.html").read_text(encoding="utf-8")
    return re.sub(
        r"^(?:/\*|//)\{([\w.]+)\}(?:\*/)?$",
        lambda found: (HERE / found[1]).read_text(encoding="utf-8").strip(),
        template,
        flags=re.MULTILINE,
    )


if __name__ == "__main__":
    PAGE.write_text(assembled(), encoding="utf-8")
    print("written:", PAGE)
