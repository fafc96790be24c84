"""Where the public data sets are: tests that need them are skipped, with the reason, when they are not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_folder(name: str) -> Path:
    """The folder of the set `name` in $CENTRALPATH_DATA, or in ../shared/data beside the repository."""
    given = os.environ.get("CENTRALPATH_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not (folder / name).is_dir():
        pytest.skip(f"no folder {folder / name}: set CENTRALPATH_DATA to the folder of the data sets")
    return folder / name
