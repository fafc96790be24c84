"""Ctrl-C before any line of the project."""

import opcode
import sys
from pathlib import Path

import models
import qp
import socp

ROOTS = tuple(str(Path(package.__file__).parent) for package in (socp, qp, models))


class Interrupted:
    """An action in which KeyboardInterrupt is raised before the executed line `at` of the project; None: never.

    `lines` says how many were executed, `raised` and `came` whether the interrupt was raised, and arrived here.
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
        # no signal is looked at before __exit__(None, None, None) is called at the end of a `with` block
        code = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 6 : 2]
        if event == "line" and code != bytes(3 * [opcode.opmap["LOAD_CONST"]]):
            self.lines += 1
            if self.lines == self.at:
                self.raised = True
                raise KeyboardInterrupt
        return self._step
