"""A process of its own for trials, so that one that ends it is only counted: ``python -m bench.fuzz.worker SEED``.

A request is a line of JSON, {"ask": "trial" or "opinions", "family", "number"}; the reply to it is one, too.  What
is printed on the way goes nowhere; a crash leaves the stack on stderr.  Whoever asks keeps the time and may kill this
process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from dataclasses import asdict

import qp

from .trial import second_opinions, trial


def main() -> None:
    """Serve until stdin ends."""
    faulthandler.enable()
    seed = int(sys.argv[1])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    qp.warmup()
    replies.write("{}\n")
    replies.flush()
    for line in sys.stdin:
        request = json.loads(line)
        family, number = request["family"], request["number"]
        if request["ask"] == "trial":
            reply = asdict(trial(family, seed, number))
        else:
            reply = {"opinions": second_opinions(family, seed, number)}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
