"""Sets the version of a release: ``python -m tests.release 0.3.0`` rewrites the three files that tell it.

The changelog's section "Unreleased" gets the version and the date of today, and an empty one is opened above.
"""

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = "## Unreleased\n"


def released(root, version, date):
    """Return the new text of each file under `root` that tells the version, by path."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"the version must be three numbers, as 0.3.0, but {version!r} came")
    changes = {
        "socp/version.py": (r'__version__ = ".*"', f'__version__ = "{version}"'),
        "CITATION.cff": (r"(?m)^version: .*$(\ndate-released: .*$)?", f"version: {version}\ndate-released: {date}"),
        "CHANGELOG.md": (HEADING, f"{HEADING}\n## {version} ({date})\n"),
    }
    texts = {}
    for name, (pattern, new) in changes.items():
        text, count = re.subn(pattern, new, (root / name).read_text(encoding="utf-8"))
        if count != 1:
            raise ValueError(f"{name} has {count} places for the version, not one")
        texts[root / name] = text
    return texts


if __name__ == "__main__":
    for path, text in released(ROOT, sys.argv[1], datetime.date.today().isoformat()).items():
        path.write_text(text, encoding="utf-8")
        print("written:", path.relative_to(ROOT))
