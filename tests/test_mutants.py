"""The bugs to be put in by hand are bugs of the code as it is; whether tests catch them is for `support.mutants`."""

import pytest

from tests.support.mutants import MUTANTS, ROOT


@pytest.mark.parametrize("file, tests", MUTANTS)
def test_every_mutant_applies(file, tests):
    code = (ROOT / file).read_text(encoding="utf-8")
    assert all((ROOT / path).exists() for path in tests.split())
    assert [text for text, other in MUTANTS[file, tests] if code.count(text) != 1 or text == other] == []
