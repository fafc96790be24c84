"""The table of what each part of the method is worth."""

import numpy as np
import pytest

from docs.teaching import ablation
from socp import Status, textbook


def test_the_table_has_a_row_a_program_and_counts_iterations():
    names = [name for name in ablation.PROGRAMS if "wild" in name]
    lines = ablation.table(names).text().splitlines()
    assert lines[1].split() == ["program", "whole", *ablation.PARTS]
    rows = {line[: lines[1].index("whole")].strip(): line for line in lines[2:-1]}
    assert list(rows) == names
    name = "svm_primal, wild units"
    whole, equilibration = ablation.row(name, ["equilibration"])
    assert int(equilibration) > int(whole) > 0
    program = ablation.as_cone_program(ablation.PROGRAMS[name]())
    solution = textbook.solve(program, switches=ablation.WHOLE)
    assert solution.status is Status.OPTIMAL and solution.iterations == int(whole)


def test_what_is_no_answer_says_so():
    whole, failed = ablation.row("redundant", ["regularization"])
    assert whole.isdigit() and failed.endswith(" numerical_error")


@pytest.mark.parametrize("name", ablation.PROGRAMS)
def test_the_whole_method_answers_every_program(name):
    solution = textbook.solve(ablation.as_cone_program(ablation.PROGRAMS[name]()), switches=ablation.WHOLE)
    expected = {"infeasible": Status.PRIMAL_INFEASIBLE, "unbounded": Status.DUAL_INFEASIBLE}
    assert solution.status is expected.get(name, Status.OPTIMAL)


def test_wild_units_are_the_same_program():
    program = ablation.as_cone_program(ablation.PROGRAMS["enclosing_ball"]())
    wild = ablation.in_wild_units(program, 1.0)
    plain, scaled = textbook.solve(program), textbook.solve(wild, switches=ablation.WHOLE)
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-6)
    ratios = np.abs(wild.G.toarray()).max(axis=0) / np.abs(program.G.toarray()).max(axis=0)
    assert ratios.max() > 10 * ratios.min()
