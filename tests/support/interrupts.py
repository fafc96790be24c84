"""Ctrl-C before any line of the project."""

import opcode
import sys
from pathlib import Path

import models
import qp
import socp

# of the call of __exit__(None, None, None) at the end of a `with` block: no signal is looked at before it
EXITS = ["LOAD_CONST"] * 3, ["LOAD_CONST", "DUP_TOP", "DUP_TOP"]  # the second before Python 3.11
ROOTS = tuple(str(Path(package.__file__).parent) for package in (socp, qp, models))


class Interrupted:
    """Action in which KeyboardInterrupt is raised before the executed line number `at` of the project; None: never.

    `lines` counts the executed lines; `raised` and `came` say whether the interrupt was raised, and arrived here.
    """

    def __init__(self, action, at=None):
        self.lines, self.at, self.raised, self.came = 0, at, False, False
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            action()
        except KeyboardInterrupt:
            self.came = True
        finally:
            sys.settrace(before)

    def _enter(self, frame, event, argument):
        return self._step if frame.f_code.co_filename.startswith(ROOTS) else None

    def _step(self, frame, event, argument):
        code = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 6 : 2]
        if event == "line" and [opcode.opname[each] for each in code] not in EXITS:
            self.lines += 1
            if self.lines == self.at:
                self.raised = True
                raise KeyboardInterrupt
        return self._step
