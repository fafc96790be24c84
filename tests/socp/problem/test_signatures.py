"""The signatures, help and types of both packages agree with `Settings`."""

import dataclasses
import inspect
import sys

import pytest

import qp
import socp
from socp.problem.settings import QP_ONLY, explained

FIELDS = {field.name: field for field in dataclasses.fields(socp.Settings)}
OF_CONES = [name for name in FIELDS if name not in QP_ONLY]
TAKEN = {thing: OF_CONES for thing in (socp.solve, socp.iterates, socp.Solver)}
TAKEN |= {thing: list(FIELDS) for thing in (qp.solve, qp.Solver)}
PROGRAM = {"P": [[2.0]], "q": [-4.0], "lb": 0.0, "ub": 1.0}
CONE = {"c": [1.0], "G": [[-1.0]], "h": [-3.0], "cones": [socp.NonNeg(1)]}
OTHER = {
    "tol": 1e-5, "tol_abs": 1e-3, "tol_infeasible": 1e-3, "max_iter": 77, "time_limit": 9.0, "verbose": True,
    "callback": print, "kkt": "ldl", "equilibrate": False, "step_fraction": 0.9, "regularization": 1e-9,
    "refinement_steps": 3, "threads": 2, "active_set": False, "check_convexity": False, "presolve": False,
}  # fmt: skip

ids = pytest.mark.parametrize("thing", TAKEN, ids=lambda thing: f"{thing.__module__}.{thing.__name__}")


@ids
def test_a_signature_has_the_names_types_and_defaults_of_settings(thing):
    shown = inspect.signature(thing).parameters
    if "q" in shown:
        data = list(inspect.signature(qp.QuadraticProgram).parameters)
    else:
        data = ["program", *inspect.signature(socp.ConeProgram).parameters]
    assert ("warm_start" in shown) == (thing in (qp.solve, socp.solve))
    assert [name for name in shown if name != "warm_start"] == [*data, *TAKEN[thing]]
    for name in TAKEN[thing]:
        parameter = shown[name]
        assert (parameter.annotation, parameter.kind) == (FIELDS[name].type, parameter.KEYWORD_ONLY), name
        assert parameter.default == FIELDS[name].default and type(parameter.default) is type(FIELDS[name].default), name


@pytest.mark.skipif(sys.flags.optimize > 1, reason="without docstrings there is no help")
@ids
def test_the_help_tells_every_setting_in_words(thing):
    explanations, text = explained(), inspect.getdoc(thing)
    assert list(explanations) == list(FIELDS)
    for name in TAKEN[thing]:
        assert explanations[name] in text, name
    assert "max_iter, ..." not in text and not any(f"\n{name} : " in text for name in set(FIELDS) - set(TAKEN[thing]))


def test_the_explanations_have_the_defaults_of_the_fields():
    for name, text in explained().items():
        default = FIELDS[name].default
        head = text.partition("\n")[0]
        if default is None:
            assert head.endswith(", optional")
        else:
            assert eval(head.rpartition("default ")[2]) == default, head


def test_every_setting_arrives():
    for name, value in OTHER.items():
        solvers = [qp.Solver(**PROGRAM, **{name: value})]
        if name not in QP_ONLY:
            solvers.append(socp.Solver(**CONE, **{name: value}))
        for solver in solvers:
            assert solver.settings == socp.Settings(**{name: value}) != socp.Settings(), name
    assert list(OTHER) == list(FIELDS)
    assert qp.Solver(**PROGRAM).settings is socp.Solver(**CONE).settings  # default settings are shared


@pytest.mark.parametrize(("name", "value"), [("threads", True), ("verbose", 2), ("max_iter", True), ("kkt", "qr")])
def test_what_only_looks_like_the_default_is_refused_all_the_same(name, value):
    for call, program in ((qp.solve, PROGRAM), (socp.solve, CONE), (socp.iterates, CONE)):
        with pytest.raises(socp.ProgramError, match=f"^{name} must be "):
            call(**program, **{name: value})


def test_a_solver_takes_data_as_solve_does_and_a_program_too():
    assert qp.Solver(**PROGRAM).solve().x == pytest.approx([1.0], abs=1e-6)
    assert qp.Solver([[2.0]], [-4.0], lb=0.0, ub=1.0, offset=3.0).solve().objective == pytest.approx(0.0, abs=1e-6)
    assert qp.Solver(qp.QuadraticProgram(**PROGRAM)).solve().x == pytest.approx([1.0], abs=1e-6)
    assert socp.Solver(**CONE, offset=1.0).solve().objective == pytest.approx(4.0, rel=1e-6)
    assert socp.Solver(socp.ConeProgram(**CONE)).solve().objective == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("offset", [3.0, 0.0])
def test_an_offset_beside_a_program_is_refused(offset):
    program, cone = qp.QuadraticProgram(**PROGRAM), socp.ConeProgram(**CONE)
    for call in (qp.solve, qp.Solver):
        with pytest.raises(socp.ProgramError, match="a QuadraticProgram came, and offset beside it"):
            call(program, offset=offset)
    for call in (socp.solve, socp.Solver, socp.iterates):
        with pytest.raises(socp.ProgramError, match="a program came, and offset beside it"):
            call(cone, offset=offset)


@ids
def test_names_of_other_solvers_are_met_by_ours(thing):
    program = PROGRAM if "q" in inspect.signature(thing).parameters else CONE
    for name, meant in (
        ("eps", "tol"),
        ("maxiter", "max_iter"),
        ("n_jobs", "threads"),
        ("regularisation", "regulariz"),
    ):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'; did you mean '{meant}"):
            thing(**program, **{name: 1})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'colour'$"):
        thing(**program, colour="red")


def test_an_update_by_a_matrix_is_met_by_the_name_of_its_data():
    solver, cone_solver = qp.Solver(**PROGRAM, A=[[1.0]], u=1.0), socp.Solver(**CONE)
    for call, names in ((solver.update, "AP"), (cone_solver.update, "AGP")):
        for name in names:
            with pytest.raises(TypeError, match=f"Solver.update.. got an .* '{name}'; did you mean '{name}_data'?"):
                call(**{name: [[2.0]]})


def test_a_type_error_of_the_callers_own_arrives_as_it_is():
    def callback(iterate):
        raise TypeError("of mine")

    with pytest.raises(TypeError, match=r"^of mine$"):
        socp.solve(**CONE, callback=callback)
