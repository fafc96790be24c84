"""The interactive page without a browser: its method, matrices and addresses by node, against `socp.textbook`."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from urllib.parse import quote

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, SecondOrder, textbook
from tests.support.interactive_page import COLUMNS, PARTS, TEXT, number, tolerance
from tests.test_docs import module_of_the_docs

EXAMPLES = re.findall(r"^    (\w+): \{\n      title: ", TEXT, re.MULTILINE)

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node, which runs the page's method, is not installed"
)


def in_node(test):
    """Mark a long test."""
    return pytest.mark.full(needs_node(test))


def test_the_page_is_assembled_from_its_sources_and_needs_no_other_file():
    assert TEXT == module_of_the_docs("interactive/assemble").assembled(), "run: python docs/interactive/assemble.py"
    assert not re.search(r"\bsrc=|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", TEXT)
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", TEXT)


NODE = """
const [codes, tasks] = JSON.parse(require("fs").readFileSync(0, "utf-8")), parts = {};
for (const [name, code] of Object.entries(codes)) {
  const module = {}, known = name === "address" ? parts : {};
  new Function("module", ...Object.keys(known), code)(module, ...Object.values(known));
  parts[name] = module.exports;
}
const { method, scenes, kkt, address, polygon } = parts;
const text = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
"""
SCRIPTS = {"method": "method", "scenes": "scene", "kkt": "kkt-code", "address": "address", "polygon": "polygon"}
SOLVE = """({ example, program, switches, settings, path }) => {
  program = program ?? scenes.program(scenes.EXAMPLES[example].scene);
  const { status, trace } = method.solve(program, { ...settings, switches: { ...method.SWITCHES, ...switches } });
  const central = path ? method.centralPath(program) : null;
  const { without, whole } = scenes.EXAMPLES[example] ?? {};
  return { program, status, trace, central, without, whole };
}"""


def script(name):
    (code,) = re.findall(rf'<script id="{name}">\n(.*?)\n</script>', TEXT, re.DOTALL)
    return code


def by_node(tasks, body=SOLVE, parts=("method", "scenes")):
    """Run a function of the page's own scripts by node on each of `tasks`; return the results."""
    data = json.dumps([{name: script(SCRIPTS[name]) for name in parts}, tasks])
    command = ["node", "-e", f"{NODE}console.log(JSON.stringify(tasks.map({body}), text));"]
    result = subprocess.run(command, input=data, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(result.stdout)


def cone_program(data):
    cones = [NonNeg(1) if size == 1 else SecondOrder(size) for size in data["cones"]]
    shape = (-1, len(data["c"]))
    A, G = (np.array(data[name], dtype=float).reshape(shape) for name in "AG")
    return ConeProgram(data["c"], G, data["h"], cones, A, data["b"], np.array(data["P"], dtype=float))


NAMES = {"dual_objective": "dualObjective", "primal_residual": "primalResidual", "dual_residual": "dualResidual"}


def compare(answer, solution, stable=lambda it: True):
    """Check that two runs have equal iterates; of iterates that are not `stable`, only the objective is compared."""
    assert answer["status"] == solution.status.value
    # where one of the two passes the test by rounding alone, the other takes a further step
    assert abs(len(answer["trace"]) - len(solution.trace)) <= 1
    for here, there in zip(answer["trace"], solution.trace):
        if not stable(there):
            assert number(here["objective"]) == pytest.approx(there.objective, rel=1e-7, abs=1e-7)
            continue
        for name in ("x", "y", "z", "s", *COLUMNS):
            mine, theirs = number(here[NAMES.get(name, name)]), getattr(there, name)
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=tolerance(name, there), err_msg=name)


def random_program(seed):
    """Return a program with cones of several dimensions, some with an equation, some with P, of any outcome."""
    rng = np.random.default_rng(seed)
    cones = [int(k) for k in rng.choice([1, 1, 2, 3, 5], size=rng.integers(2, 6))]
    m, n = sum(cones), int(rng.integers(2, 6))
    p, F = int(rng.integers(0, 2)), rng.normal(size=(n, n))
    A, G, P = rng.normal(size=(p, n)), rng.normal(size=(m, n)), F @ F.T * (rng.random() < 0.4)
    names = {"P": P, "c": rng.normal(size=n), "A": A, "b": rng.normal(size=p), "G": G, "h": rng.normal(size=m)}
    return {**{name: value.tolist() for name, value in names.items()}, "cones": cones}


@in_node
def test_every_example_runs_as_the_textbook_does():
    answers = by_node([{"example": name} for name in EXAMPLES])
    statuses = {}
    for name, answer in zip(EXAMPLES, answers):
        if name == "touching":
            continue  # rounding decides where it ends
        solution = textbook.solve(cone_program(answer["program"]))
        compare(answer, solution)
        statuses[name] = solution.status.value
    assert {"optimal", "primal_infeasible", "dual_infeasible"} <= set(statuses.values())
    assert statuses["infeasible"] == "primal_infeasible" and statuses["unbounded"] == "dual_infeasible"


@in_node
def test_random_programs_of_every_outcome_run_as_the_textbook_does():
    programs = [random_program(seed) for seed in range(30)]
    answers = by_node([{"program": program} for program in programs])
    for program, answer in zip(programs, answers):
        compare(answer, textbook.solve(cone_program(program)))
    assert {answer["status"] for answer in answers} >= {"optimal", "primal_infeasible", "dual_infeasible"}


@in_node
@pytest.mark.parametrize("part", PARTS)
def test_a_switch_means_what_it_means_in_the_textbook(part):
    off = not getattr(textbook.Switches(), part)
    programs = [random_program(seed) for seed in range(100, 104)]
    tasks = [{"example": name, "switches": {part: off}} for name in ("disc", "sections", "nearest", "infeasible")]
    tasks += [{"program": program, "switches": {part: off}} for program in programs]
    for answer in by_node(tasks):
        solution = textbook.solve(cone_program(answer["program"]), switches=replace(textbook.Switches(), **{part: off}))
        if solution.status.value in ("inaccurate", "numerical_error", "max_iterations"):
            assert answer["status"] not in ("optimal", "primal_infeasible", "dual_infeasible")
        elif part == "scaling":
            # the KKT matrix tends to a singular one as mu does to zero, and rounding errors grow by what mu falls: the
            # last iterates are solutions, and of these alone it depends on rounding which
            assert len([it for it in solution.trace if it.error > 1e-8]) >= 6
            compare(answer, solution, stable=lambda it: it.error > 1e-8)
        elif part == "refinement":  # without refinement rounding errors remain, and grow relative to the residuals
            compare(answer, solution, stable=lambda it: it.error > 1e-5)
        else:
            compare(answer, solution)


DIES = ("max_iterations", "numerical_error", "inaccurate")
FACTORS = {"predictor": 2.0, "corrector": 4.0, "centrality": 1.2, "refinement": 1.2}  # of the steps without the part


@needs_node
def test_each_part_has_an_example_that_shows_what_it_is_for():
    named = [
        (name, answer)
        for name, answer in zip(EXAMPLES, by_node([{"example": n} for n in EXAMPLES]))
        if "without" in answer
    ]
    assert sorted(answer["without"] for _, answer in named) == sorted(PARTS)
    switches = {name: answer.get("whole", {}) for name, answer in named}
    tasks = [{"example": name, "switches": switches[name]} for name, _ in named]
    tasks += [{"example": name, "switches": {**switches[name], answer["without"]: False}} for name, answer in named]
    answers = by_node(tasks)
    for (name, answer), whole, less in zip(named, answers, answers[len(named) :]):
        part, program = answer["without"], cone_program(answer["program"])
        on = replace(textbook.Switches(), **switches[name])
        found, other = (textbook.solve(program, switches=one) for one in (on, replace(on, **{part: False})))
        assert whole["status"] == found.status.value and whole["status"] in ("optimal", "primal_infeasible"), name
        if part not in FACTORS:
            assert less["status"] in DIES and other.status.value in DIES, name
            continue
        assert on.equilibration and less["status"] == other.status.value == "optimal"
        assert (
            other.iterations >= FACTORS[part] * found.iterations and abs(len(less["trace"]) - 1 - other.iterations) <= 1
        )
        for it in [*found.trace[1:], *other.trace[1:]]:  # in the picture
            assert np.abs(it.x / it.tau).max() < 2.6, name


@in_node
def test_the_central_path_ends_at_the_solution_and_is_central():
    (answer,) = by_node([{"example": "disc", "path": True}])
    program, path = cone_program(answer["program"]), np.array([point["x"] for point in answer["central"]])
    solution = textbook.solve(program)
    assert len(path) > 40
    np.testing.assert_allclose(path[-1], solution.x, atol=1e-4)
    # on the path x minimizes c'x - mu (log det(s) / 2 for a cone, log s for a row): a zero gradient for some mu
    for x in path[::10]:
        s = program.h - program.G @ x
        barrier = np.concatenate([s[:3] * [1, -1, -1] / (s[0] ** 2 - s[1:3] @ s[1:3]), 1.0 / s[3:]])
        gradient = program.G.toarray().T @ barrier
        mu = -(program.c @ gradient) / (gradient @ gradient)
        assert mu > 0
        np.testing.assert_allclose(program.c + mu * gradient, 0.0, atol=1e-5)


@in_node
@pytest.mark.parametrize(("tol", "share"), [(1e-4, 0.99), (1e-8, 0.9), (1e-6, 0.5)])
def test_the_settings_mean_what_they_mean_in_the_textbook(tol, share, monkeypatch):
    monkeypatch.setattr(textbook.method, "STEP", share)
    names = ["disc", "sections", "nearest", "infeasible"]
    for answer in by_node([{"example": name, "settings": {"tol": tol, "share": share}} for name in names]):
        compare(answer, textbook.solve(cone_program(answer["program"]), tol=tol))


# ---- the KKT matrix that is drawn

DRAW = """({ example, part, order, at }) => {
  const scene = scenes.EXAMPLES[example].scene, program = scenes.program(scene);
  const switches = { ...method.SWITCHES, ...(part ? { [part]: !method.SWITCHES[part] } : {}) };
  const it = method.iterates(program, { switches })[at], system = method.kktMatrix(program, it, switches);
  const labels = kkt.labels(scene.constraints, scenes.LETTERS), found = kkt.analyse(system, order);
  return { program, system, found, labels, note: kkt.describe(found) };
}"""


drawn_matrices = partial(by_node, body=DRAW, parts=("method", "scenes", "kkt"))


@in_node
@pytest.mark.parametrize("part", [None, "equilibration"])
def test_the_matrix_that_is_drawn_is_the_textbooks_and_its_factor_a_factor(part):
    tasks = [
        {"example": name, "part": part, "order": order, "at": 3}
        for name in ("disc", "nearest", "polygon", "units")
        for order in ("natural", "degree")
    ]
    for task, answer in zip(tasks, drawn_matrices(tasks)):
        program, found = cone_program(answer["program"]), answer["found"]
        switches = textbook.Switches(equilibration=part is not None)
        it = list(textbook.iterates(program, switches=switches))[3]
        if part:
            units = textbook.Units(program)
            s, z = it.s * units.F, it.z * units.factor / units.F
            program = units.program
        else:
            s, z = it.s, it.z
        P, A, G = textbook.dense(program)
        _, W_inv = textbook.Cone(program.cones).scaling(s, z)
        n, p, m = program.n, program.p, program.m
        expected = np.block([
            [P, A.T, (W_inv @ G).T],
            [A, np.zeros((p, p + m))],
            [W_inv @ G, np.zeros((m, p)), -np.eye(m)],
        ])  # fmt: skip
        K, added = np.array(answer["system"]["K"]), np.array(answer["system"]["added"])
        np.testing.assert_allclose(K, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())
        assert np.sign(added).tolist() == [1.0] * n + [-1.0] * (p + m)
        order, L, d = found["order"], np.array(found["L"]), np.array(found["d"])
        permuted = (K + np.diag(added))[np.ix_(order, order)]
        scale = (np.abs(L) * np.abs(d)) @ np.abs(L).T  # rounding errors are a share of this
        assert (np.abs(L @ np.diag(d) @ L.T - permuted) <= 1e-12 * scale).all()
        assert (d > 0).sum() == n and found["turned"] == 0 and len(answer["labels"]) == len(K)
        entries = {(cell["row"], cell["column"]) for cell in found["cells"]["L"]}
        assert entries >= set(zip(*np.nonzero(np.abs(L) > 1e-12 * np.abs(L).max())))
        assert len(found["cells"]["K"]) == np.count_nonzero(K) and f"{found['fill']} of them fill" in answer["note"]
        assert order == list(range(len(K))) or task["order"] == "degree"


@in_node
def test_minimum_degree_has_no_more_fill_and_without_scaling_there_is_no_factor():
    tasks = [
        {"example": name, "order": order, "at": 2} for name in ("disc", "sections") for order in ("natural", "degree")
    ]
    fill = [answer["found"]["fill"] for answer in drawn_matrices(tasks)]
    assert fill[1] < fill[0] and fill[3] < fill[2]
    (answer,) = drawn_matrices([{"example": "sections", "part": "scaling", "order": "natural", "at": 2}])
    assert not answer["found"]["symmetric"] and "not symmetric" in answer["note"]
    (answer,) = drawn_matrices([{"example": "disc", "part": "regularization", "order": "natural", "at": 2}])
    assert "A pivot is zero" in answer["note"]


# ---- the address

READ = """(hash) => {
  const read = address.decode(hash);
  return { read, written: address.encode({ ...read, iterate: Number.isFinite(read.iterate) ? read.iterate : 0 }) };
}"""


addresses = partial(by_node, body=READ, parts=("method", "scenes", "address"))


DRAWN = {
    "objective": {"kind": "linear", "angle": 12, "target": [2, 2]},
    "units": 0,
    "constraints": [{"kind": "cone", "at": [0.5, -0.25], "angle": 0, "size": 2, "eccentricity": 0.5, "units": -1}],
}


@needs_node
def test_an_address_holds_the_program_that_is_drawn_and_comes_back_as_it_was():
    scene = quote(json.dumps(DRAWN, separators=(",", ":")), safe="")
    hashes = [
        f"#scene={scene}&off=predictor&on=equilibration&tol=1e-10&share=0.9&order=degree&iterate=2",
        "#example=sections",
    ]
    drawn, example = addresses(hashes)
    assert drawn["read"]["scene"] == DRAWN and drawn["read"]["iterate"] == 2
    assert (drawn["read"]["tol"], drawn["read"]["share"], drawn["read"]["order"]) == (1e-10, 0.9, "degree")
    assert not drawn["read"]["switches"]["predictor"] and drawn["read"]["switches"]["equilibration"]
    assert example["written"] == "example=sections&iterate=0"
    again = addresses([f"#{drawn['written']}"])[0]
    assert again == drawn


@needs_node
def test_an_address_that_makes_no_sense_is_the_first_example():
    def broken(**change):
        return "#scene=" + quote(json.dumps({**DRAWN, **change}))

    cone = DRAWN["constraints"][0]
    hashes = ["", "#", "#example=constructor", "#scene={", "#scene=null", "#tol=1e-30&share=7&iterate=-1"]
    hashes += [broken(constraints=7), broken(units=99), broken(objective={"kind": "linear"})]
    hashes += [broken(constraints=[{**cone, **change}]) for change in ({"size": -1}, {"at": [1, "<b>"]}, {"kind": "b"})]
    hashes += [broken(constraints=[cone] * 9)]
    first = addresses(["#example=disc"])[0]
    assert all(answer == first for answer in addresses(hashes))
