"""A plugin of pytest that puts the fault of the estimator `FAULT_OF` into the code that is imported, not into files."""

import os
from importlib.machinery import SourceFileLoader

from tests.support.program_records import RECORDS, ROOT

FAULT = RECORDS[os.environ["FAULT_OF"]].fault
PLACE = ROOT / "models" / FAULT.file
get_code = SourceFileLoader.get_code


def get_faulty_code(loader, name):
    if loader.path != str(PLACE):
        return get_code(loader, name)
    text = PLACE.read_text("utf-8")
    assert text.count(FAULT.before) == 1
    return compile(text.replace(FAULT.before, FAULT.after), str(PLACE), "exec", dont_inherit=True)


SourceFileLoader.get_code = get_faulty_code
