"""Folder of the public data sets; tests that need a missing set are skipped, with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_folder(name: str) -> Path:
    """Return the folder of the set `name` in $CENTRALPATH_DATA, or else in ../shared/data; skip the test if missing."""
    given = os.environ.get("CENTRALPATH_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not (folder / name).is_dir():
        pytest.skip(f"no folder {folder / name}: set CENTRALPATH_DATA to the folder of the data sets")
    return folder / name
