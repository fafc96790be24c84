"""The interactive page: its method against `socp.textbook` by node, and the page itself in a headless browser."""

import contextlib
import importlib.util
import io
import json
import re
import shutil
import subprocess
from dataclasses import fields, replace
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from socp import ConeProgram, NonNeg, SecondOrder, textbook
from tests.support import browser

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "interactive.html"
TEXT = PAGE.read_text(encoding="utf-8")
PARTS = [field.name for field in fields(textbook.Switches)]
EXAMPLES = re.findall(r"^    (\w+): \{\n      title: ", TEXT, re.MULTILINE)
COLUMNS = (
    "objective",
    "dual_objective",
    "primal_residual",
    "dual_residual",
    "gap",
    "alpha",
    "mu",
    "sigma",
    "tau",
    "kappa",
)

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="node, which runs the page's method, is not installed"
)
needs_browser = pytest.mark.skipif(
    browser.find() is None, reason="no Chromium on the PATH or in the environment variable CHROMIUM"
)


def assembled():
    spec = importlib.util.spec_from_file_location("assemble", DOCS / "interactive" / "assemble.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.assembled()


def test_the_page_is_assembled_from_its_sources_and_needs_no_other_file():
    assert TEXT == assembled(), "run: python docs/interactive/assemble.py"
    assert not re.search(r"\bsrc=|@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", TEXT)
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", TEXT)


# ---- the method, without a browser

NODE = """
const run = (code) => { const module = {}; new Function("module", code)(module); return module.exports; };
const [methodCode, sceneCode, tasks] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const method = run(methodCode), scenes = run(sceneCode);
const text = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
const answers = tasks.map(({ example, program, switches, settings, path }) => {
  program = program ?? scenes.program(scenes.EXAMPLES[example].scene);
  const { status, trace } = method.solve(program, { ...settings, switches: { ...method.SWITCHES, ...switches } });
  const central = path ? method.centralPath(program) : null;
  return { program, status, trace, central, without: scenes.EXAMPLES[example]?.without };
});
console.log(JSON.stringify(answers, text));
"""


def script(name):
    (code,) = re.findall(rf'<script id="{name}">\n(.*?)\n</script>', TEXT, re.DOTALL)
    return code


def by_node(tasks):
    """What the page's method does, as it stands in the page."""
    data = json.dumps([script("method"), script("scene"), tasks])
    result = subprocess.run(["node", "-e", NODE], input=data, capture_output=True, text=True, timeout=300, check=True)
    return json.loads(result.stdout)


def cone_program(data):
    cones = [NonNeg(1) if size == 1 else SecondOrder(size) for size in data["cones"]]
    shape = (-1, len(data["c"]))
    A, G = (np.array(data[name], dtype=float).reshape(shape) for name in "AG")
    return ConeProgram(data["c"], G, data["h"], cones, A, data["b"], np.array(data["P"], dtype=float))


def number(value):
    return np.array(value, dtype=float)  # of "NaN" and "Infinity" too


NAMES = {"dual_objective": "dualObjective", "primal_residual": "primalResidual", "dual_residual": "dualResidual"}


def tolerance(name, it):
    """1e-6; of what is divided by tau, near a certificate, also the rounding errors that this makes larger."""
    return 1e-6 + (1e-13 / it.tau if name in COLUMNS[:5] else 0.0)


def compare(answer, solution, stable=lambda it: True):
    """The same run, iterate by iterate; of those that are not `stable` the objective alone is the same."""
    assert answer["status"] == solution.status.value
    assert len(answer["trace"]) == len(solution.trace)
    for here, there in zip(answer["trace"], solution.trace):
        if not stable(there):
            assert there.error <= 1e-8  # both are solutions
            assert number(here["objective"]) == pytest.approx(there.objective, rel=1e-7, abs=1e-7)
            continue
        for name in ("x", "y", "z", "s", *COLUMNS):
            mine, theirs = number(here[NAMES.get(name, name)]), getattr(there, name)
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=tolerance(name, there), err_msg=name)


def random_program(seed):
    """A program with cones of several dimensions, some with an equation, some with P, of any outcome."""
    rng = np.random.default_rng(seed)
    cones = [int(k) for k in rng.choice([1, 1, 2, 3, 5], size=rng.integers(2, 6))]
    m, n = sum(cones), int(rng.integers(2, 6))
    p, F = int(rng.integers(0, 2)), rng.normal(size=(n, n))
    A, G, P = rng.normal(size=(p, n)), rng.normal(size=(m, n)), F @ F.T * (rng.random() < 0.4)
    names = {"P": P, "c": rng.normal(size=n), "A": A, "b": rng.normal(size=p), "G": G, "h": rng.normal(size=m)}
    return {**{name: value.tolist() for name, value in names.items()}, "cones": cones}


@pytest.mark.full
@needs_node
def test_every_example_runs_as_the_textbook_does():
    answers = by_node([{"example": name} for name in EXAMPLES])
    statuses = {}
    for name, answer in zip(EXAMPLES, answers):
        if name == "touching":
            continue  # it ends where rounding decides
        solution = textbook.solve(cone_program(answer["program"]))
        compare(answer, solution)
        statuses[name] = solution.status.value
    assert {"optimal", "primal_infeasible", "dual_infeasible"} == set(statuses.values())
    assert statuses["infeasible"] == "primal_infeasible" and statuses["unbounded"] == "dual_infeasible"


@pytest.mark.full
@needs_node
def test_random_programs_of_every_outcome_run_as_the_textbook_does():
    programs = [random_program(seed) for seed in range(30)]
    answers = by_node([{"program": program} for program in programs])
    for program, answer in zip(programs, answers):
        compare(answer, textbook.solve(cone_program(program)))
    assert {answer["status"] for answer in answers} >= {"optimal", "primal_infeasible", "dual_infeasible"}


@pytest.mark.full
@needs_node
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
        else:
            compare(answer, solution)


@pytest.mark.full
@needs_node
def test_an_example_shows_the_worth_of_the_part_it_names():
    found = [
        (name, answer)
        for name, answer in zip(EXAMPLES, by_node([{"example": n} for n in EXAMPLES]))
        if "without" in answer
    ]
    assert {answer["without"] for _, answer in found} >= {
        "corrector",
        "scaling",
        "equilibration",
        "regularization",
        "embedding",
    }
    for name, answer in found:
        part = answer["without"]
        switches = replace(textbook.Switches(equilibration=True), **{part: False})
        program = cone_program(answer["program"])
        whole = textbook.solve(program, switches=replace(switches, **{part: True}))
        less = textbook.solve(program, switches=switches)
        assert less.status is not whole.status or less.iterations > whole.iterations, (name, part)


@pytest.mark.full
@needs_node
def test_the_central_path_ends_at_the_solution_and_is_central():
    (answer,) = by_node([{"example": "disc", "path": True}])
    program, path = cone_program(answer["program"]), np.array(answer["central"])
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


@pytest.mark.full
@needs_node
@pytest.mark.parametrize(("tol", "share"), [(1e-4, 0.99), (1e-8, 0.9), (1e-6, 0.5)])
def test_the_settings_mean_what_they_mean_in_the_textbook(tol, share, monkeypatch):
    monkeypatch.setattr(textbook.method, "STEP", share)
    names = ["disc", "sections", "nearest", "infeasible"]
    for answer in by_node([{"example": name, "settings": {"tol": tol, "share": share}} for name in names]):
        compare(answer, textbook.solve(cone_program(answer["program"]), tol=tol))


# ---- the KKT matrix that is drawn

NODE_KKT = """
const [methodCode, sceneCode, kktCode, tasks] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const run = (code) => { const module = {}; new Function("module", code)(module); return module.exports; };
const method = run(methodCode), scenes = run(sceneCode), kkt = run(kktCode);
console.log(JSON.stringify(tasks.map(({ example, part, order, at }) => {
  const scene = scenes.EXAMPLES[example].scene, program = scenes.program(scene);
  const switches = { ...method.SWITCHES, ...(part ? { [part]: !method.SWITCHES[part] } : {}) };
  const it = method.iterates(program, { switches })[at], system = method.kktMatrix(program, it, switches);
  const labels = kkt.labels(scene.constraints, scenes.LETTERS), found = kkt.analyse(system, order);
  return { program, system, found, labels, note: kkt.describe(found) };
})));
"""


def drawn_matrices(tasks):
    data = json.dumps([script("method"), script("scene"), script("kkt-code"), tasks])
    result = subprocess.run(
        ["node", "-e", NODE_KKT], input=data, capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(result.stdout)


@pytest.mark.full
@needs_node
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


@pytest.mark.full
@needs_node
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

NODE_ADDRESS = """
const [methodCode, sceneCode, addressCode, hashes] = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const run = (code, ...names) => { const module = {};
  new Function("module", ...names, code)(module, method, scenes); return module.exports; };
let method, scenes;
method = run(methodCode);
scenes = run(sceneCode);
const address = run(addressCode, "method", "scenes");
console.log(JSON.stringify(hashes.map((hash) => {
  const read = address.decode(hash);
  return { read, written: address.encode({ ...read, iterate: Number.isFinite(read.iterate) ? read.iterate : 0 }) };
})));
"""


def addresses(hashes):
    data = json.dumps([script("method"), script("scene"), script("address"), hashes])
    run = subprocess.run(
        ["node", "-e", NODE_ADDRESS], input=data, capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(run.stdout)


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


# ---- the page


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.Browser(browser.find(), tmp_path_factory.mktemp("chromium")) as page:
        yield page


TABLE = """[...document.querySelectorAll("#trace tbody tr")].map((row) =>
  [...row.cells].slice(1).map((cell) => [cell.textContent, cell.dataset.value]))"""
SCREEN = """(() => { const box = document.getElementById("picture").getBoundingClientRect();
  return [box.left, box.top, box.width]; })()"""


def handle(page, label):
    """Where the middle of a handle is on the screen."""
    return page.evaluate(f"""(() => {{ const box = document.querySelector('.handle[aria-label="{label}"] .knob')
      .getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; }})()""")


def run_python(page):
    """The Python code that the page shows, run: the program, and what the textbook makes of it."""
    code = page.evaluate('document.getElementById("python").textContent')
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return names["program"], names["solution"], printed.getvalue()


def shown_table(page, solution):
    table = page.evaluate(TABLE)
    assert len(table) == len(solution.trace)
    for row, it in zip(table, solution.trace):
        for name, (_, value) in zip(COLUMNS, row):
            np.testing.assert_allclose(number(value), getattr(it, name), rtol=1e-6, atol=tolerance(name, it))
    return table


@pytest.mark.full
@needs_browser
@pytest.mark.parametrize(
    "address",
    ["example=disc", "example=polygon", "example=infeasible", "example=unbounded", "example=nearest&off=corrector",
     "example=units&on=equilibration", "example=infeasible&off=embedding", "example=twice&off=scaling+predictor"],
)  # fmt: skip
def test_the_table_is_the_textbooks_run_of_the_python_code_beside_it(chromium, address):
    chromium.open(f"{PAGE.as_uri()}#{address}")
    _, solution, printed = run_python(chromium)
    table = shown_table(chromium, solution)
    status = chromium.evaluate('document.getElementById("status").textContent')
    assert status.startswith(f"{solution.iterations} iterations, {solution.status.value.replace('_', ' ')}")
    # the columns of `verbose`, in its order and its formats; the seconds are left out
    lines = printed.splitlines()
    head = next(k for k, line in enumerate(lines) if line.split()[:1] == ["iter"])
    heads = chromium.evaluate('[...document.querySelectorAll("#trace thead th")].map((cell) => cell.textContent)')
    assert lines[head].split() == [*" ".join(heads[:8]).split(), "sec"]
    for k in range(7):
        form = r"-?\d\.\d{8}e[+-]\d\d" if k < 2 else r"\d\.\de[+-]\d\d"
        assert re.fullmatch(form, table[1][k][0]) and re.fullmatch(form, lines[head + 2].split()[k + 1])
    assert table[0][5][0] == lines[head + 1].split()[6] == "------"


@pytest.mark.full
@needs_browser
def test_the_iterates_are_drawn_on_the_drawn_region(chromium):
    chromium.open(f"{PAGE.as_uri()}#example=disc")
    program, solution, _ = run_python(chromium)
    image, (left, top, width) = chromium.screenshot(), chromium.evaluate(SCREEN)
    colour = chromium.evaluate("""["--path", "--feasible"].map((name) =>
      getComputedStyle(document.documentElement).getPropertyValue(name).trim())""")
    path, region = (np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) / 255 for c in colour)

    def pixel(x):
        column, row = left + width * (0.5 + x[0] / 7.2), top + width * (0.5 - x[1] / 7.2)
        return image[round(row), round(column)]

    for it in solution.trace:
        np.testing.assert_allclose(pixel(it.x / it.tau), path, atol=0.02)
    cone, inside, outside = textbook.Cone(program.cones), [], []
    for x in np.random.default_rng(0).uniform(-3.5, 3.5, size=(400, 2)):
        depth = cone.depth(program.h - program.G @ x)
        (inside if depth > 0.1 else outside if depth < -0.1 else []).append(pixel(x))
    is_region = [np.abs(np.array(pixels) - region).max(axis=1) < 0.02 for pixels in (inside, outside)]
    assert len(inside) > 80 and is_region[0].mean() > 0.85  # the rest is lines, handles and the path
    assert len(outside) > 150 and not is_region[1].any()


@pytest.mark.full
@needs_browser
def test_handles_keys_and_switches_change_what_is_solved(chromium):
    chromium.open(f"{PAGE.as_uri()}#example=disc")
    before, solution, _ = run_python(chromium)
    start = handle(chromium, "b, half-plane: position")
    chromium.drag(start, [start[0] - 60, start[1]])
    after, moved, _ = run_python(chromium)
    assert after.h[3] < before.h[3] - 0.3 and moved.objective > solution.objective + 0.05
    shown_table(chromium, moved)

    chromium.drag(handle(chromium, "direction in which the objective falls"), [0, 0])
    turned, _, _ = run_python(chromium)
    assert np.sign(turned.c).tolist() == [1.0, -1.0] and not np.allclose(turned.c, after.c)

    chromium.evaluate("""document.querySelector('.handle[aria-label="a, disc: position"]').focus()""")
    chromium.press("ArrowUp")
    lifted, _, _ = run_python(chromium)
    assert lifted.h[2] < turned.h[2] and lifted.h[1] == turned.h[1]

    chromium.evaluate("document.activeElement.blur()")
    iterate = 'document.querySelector("#trace [aria-current]").rowIndex - 1'
    last = chromium.evaluate(iterate)
    chromium.press("ArrowLeft")
    assert chromium.evaluate(iterate) == last - 1
    chromium.press("Home")
    assert chromium.evaluate(iterate) == 0

    for part in PARTS:
        chromium.evaluate(f'document.getElementById("part-{part}").click()')
        code = chromium.evaluate('document.getElementById("python").textContent')
        on = getattr(textbook.Switches(), part)
        assert f"Switches({part}={not on})" in code
        chromium.evaluate(f'document.getElementById("part-{part}").click()')


@pytest.mark.full
@needs_browser
def test_a_link_brings_the_same_picture_back(chromium):
    chromium.open(f"{PAGE.as_uri()}#example=sections")
    chromium.evaluate("""document.querySelector('[data-add="line"]').click()""")
    chromium.evaluate('document.getElementById("part-predictor").click()')
    code = 'document.getElementById("python").textContent'
    written, link = chromium.evaluate(code), chromium.evaluate('document.getElementById("link").href')
    assert "A=" in written and "predictor=False" in written
    chromium.open(link)
    assert chromium.evaluate(code) == written


@pytest.mark.full
@needs_browser
def test_settings_matrix_and_address_follow_each_other(chromium, monkeypatch):
    monkeypatch.setattr(textbook.method, "STEP", textbook.STEP)  # the code that is shown sets it
    chromium.open(f"{PAGE.as_uri()}#example=sections&share=0.8&tol=1e-6")
    _, solution, _ = run_python(chromium)
    shown_table(chromium, solution)
    assert textbook.method.STEP == 0.8 and solution.trace[-2].error > 1e-6 >= solution.trace[-1].error
    change = """((id, value) => { const field = document.getElementById(id); field.value = value;
      field.dispatchEvent(new Event("input")); field.dispatchEvent(new Event("change")); })"""
    chromium.evaluate(f"{change}('tol', '1e-8')")
    chromium.evaluate(f"{change}('share', '0.95')")
    _, finer, _ = run_python(chromium)
    shown_table(chromium, finer)
    assert textbook.method.STEP == 0.95 and finer.trace[-1].error <= 1e-8 < solution.trace[-1].error
    chromium.evaluate(f"{change}('share', '7')")  # is refused
    assert "STEP = 0.95" in chromium.evaluate('document.getElementById("python").textContent')
    cells = 'document.querySelectorAll("#kkt rect.cell").length'
    before = chromium.evaluate(cells)
    chromium.evaluate(f"{change}('order', 'degree')")
    assert 0 < chromium.evaluate(cells) < before  # less fill
    # the address is written a little later, and opening it brings all of this back
    chromium.evaluate("new Promise((done) => setTimeout(done, 600))")
    hash = chromium.evaluate("location.hash")
    assert (
        "share=0.95" in hash
        and "order=degree" in hash
        and hash == "#" + chromium.evaluate('document.getElementById("link").href.split("#")[1]')
    )
    chromium.evaluate('location.hash = "#example=infeasible"')
    chromium.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert "primal infeasible" in chromium.evaluate('document.getElementById("status").textContent')
    assert chromium.evaluate('document.getElementById("example").value') == "infeasible"


@pytest.mark.full
@needs_browser
def test_one_click_copies_the_python(chromium):
    chromium.open(f"{PAGE.as_uri()}#example=disc")
    chromium.evaluate("""(() => { window.taken = null;
      const value = { writeText: async (text) => { taken = text; } };
      Object.defineProperty(navigator, "clipboard", { configurable: true, value }); })()""")
    chromium.evaluate('document.getElementById("copy").click()')
    code = chromium.evaluate('document.getElementById("python").textContent')
    assert chromium.evaluate("taken") == code and "textbook.solve(program" in code
    assert chromium.evaluate('document.getElementById("copied").textContent') == "copied"
    chromium.evaluate("""Object.defineProperty(navigator, "clipboard", { configurable: true, value: undefined })""")
    chromium.evaluate('document.getElementById("copy").click()')
    assert chromium.evaluate("getSelection().toString()").strip() == code
    assert chromium.evaluate('document.getElementById("copied").textContent').startswith("marked")


@pytest.mark.full
@needs_browser
def test_the_page_asks_for_nothing_reports_no_error_and_fits_a_phone(chromium):
    chromium.events.clear()
    chromium.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
    try:
        chromium.open(PAGE.as_uri())
        assert chromium.evaluate("document.documentElement.scrollWidth") <= 360
    finally:
        chromium.call("Emulation.clearDeviceMetricsOverride")
    asked = {e["params"]["request"]["url"] for e in chromium.events if e.get("method") == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith(("data:", "about:"))} <= {PAGE.as_uri()}
    errors = [e for e in chromium.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
    assert errors == []
    unnamed = chromium.evaluate("""[...document.querySelectorAll("button, input, select, .handle")].filter((e) =>
      !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).length""")
    assert unnamed == 0
