"""A process of its own for trials, so that one that ends it is only counted: ``python -m bench.fuzz.worker SEED``.

A request is {"ask": "trial" or "opinions", "family", "number"}.  A crash leaves the stack on stderr.  Whoever asks
keeps the time and may kill this process.
"""

from __future__ import annotations

import faulthandler
import sys
from dataclasses import asdict
from typing import Any

import qp

from ..compare.process import serve
from .trial import second_opinions, trial


def _answer(request: dict[str, Any], reply: Any) -> dict[str, Any]:
    asked = request["family"], int(sys.argv[1]), request["number"]
    return asdict(trial(*asked)) if request["ask"] == "trial" else {"opinions": second_opinions(*asked)}


if __name__ == "__main__":
    faulthandler.enable()
    serve(lambda: {"seconds": qp.warmup()}, _answer)
