"""The article: its figures in a headless browser, and the plane geometry of them by node."""

import json
import re

import numpy as np
import pytest
from scipy.optimize import linprog

from docs.teaching.pictures import Picture
from socp import textbook
from tests.support.interactive_page import PAGE, TEXT
from tests.test_interactive_method import by_node, cone_program, needs_node
from tests.test_interactive_page import chromium, in_browser

__all__ = ["chromium"]  # a fixture

FIGURES = re.findall(r'<section class="part" id="(\w+)">', TEXT)
ERRORS = ("Runtime.exceptionThrown", "Log.entryAdded")

WALKS = """({ c, curvature, G, h, x, four }) => {
  const { corners, activeSet, dual } = polygon, around = corners(G, h), first = around[0];
  return {
    around, simplex: curvature ? null : activeSet({ c }, G, h, first.x, first.rows),
    active: activeSet({ c, curvature }, G, h, x), dual: four ? dual({ c, G }) : null,
  };
}"""


def polygons():
    rng = np.random.default_rng(4)
    for k in range(24):
        count = 4 if k % 3 == 0 else int(rng.integers(5, 20))
        angles = 2 * np.pi * (np.arange(count) + rng.uniform(0.1, 0.9, count)) / count
        G = np.column_stack([np.cos(angles), np.sin(angles)])
        yield {
            "c": rng.normal(size=2).tolist(), "curvature": float(k % 2) * 0.7, "G": G.tolist(),
            "h": rng.uniform(1.0, 2.0, count).tolist(), "x": rng.uniform(-0.5, 0.5, 2).tolist(), "four": count == 4,
        }  # fmt: skip


@needs_node
def test_the_walks_end_at_the_minimum_and_the_dual_polygon_is_the_duals():
    tasks = list(polygons())
    for task, answer in zip(tasks, by_node(tasks, WALKS, ("polygon",))):
        c, G, h = (np.array(task[name]) for name in ("c", "G", "h"))
        for corner in answer["around"]:
            active = np.abs(G @ corner["x"] - h) <= 1e-9
            assert set(corner["rows"]) == set(np.flatnonzero(active)) and (G @ corner["x"] <= h + 1e-8).all()
        if answer["simplex"]:
            least = linprog(c, A_ub=G, b_ub=h, bounds=(None, None)).fun
            for walk in (answer["simplex"], answer["active"]):
                values = np.array(walk) @ c
                assert (np.diff(values) <= 1e-9).all() and values[-1] == pytest.approx(least, abs=1e-8)
            corners = np.array([corner["x"] for corner in answer["around"]])
            assert all(np.abs(corners - x).max(axis=1).min() < 1e-8 for x in answer["simplex"])
        else:  # x = -c / curvature minus a combination of active normals with multipliers >= 0
            x, active = np.array(answer["active"][-1]), None
            active = G[np.abs(G @ x - h) <= 1e-8]
            gradient = c + task["curvature"] * x
            prices = np.linalg.lstsq(active.T, -gradient, rcond=None)[0] if len(active) else np.zeros(0)
            np.testing.assert_allclose(active.T @ prices, -gradient, atol=1e-8)
            assert (prices >= -1e-8).all()
        if answer["dual"]:
            z0, N = np.array(answer["dual"]["z0"]), np.array(answer["dual"]["N"])
            np.testing.assert_allclose(G.T @ z0, -c, atol=1e-10)
            np.testing.assert_allclose(N @ G, 0.0, atol=1e-10)
            np.testing.assert_allclose(N @ N.T, np.eye(2), atol=1e-10)


def states(page, figure):
    """Return the caption of a figure at each of its paragraphs."""
    return page.evaluate(f"""[...document.querySelectorAll("#{figure} p[data-set]")].map((step) => {{
      step.click(); return document.querySelector("#{figure} figcaption").textContent; }})""")


def test_every_section_has_a_figure_questions_and_python():
    assert FIGURES == ["path", "step", "products", "parts", "bowl", "dual", "change", "walks", "embedding"]
    for part in TEXT.split('<section class="part"')[1:]:
        assert part.count("<figure>") >= 1 and 'class="question"' in part and part.count("data-set=") >= 3
        assert re.findall(r'<svg id="[\w-]+" class="pane[^"]*" role="(?:img|group)" aria-label="[^"]+">', part)
    for found in re.findall(r"data-set='([^']*)'", TEXT):
        json.loads(found)


@in_browser
def test_paragraphs_change_their_figure_and_nothing_fails(chromium):
    chromium.events.clear()
    chromium.open(PAGE.as_uri())
    for figure in FIGURES:
        captions = states(chromium, figure)
        assert len(set(captions)) >= 3 and not any(re.search("NaN|undefined|not a number", c) for c in captions), (
            captions
        )
    # scrolling changes the state, too
    caption = 'document.querySelector("#bowl figcaption").textContent'
    before = chromium.evaluate(caption)
    chromium.evaluate("""(() => { const step = document.querySelector("#bowl p[data-set]");
      window.scrollBy({ top: step.getBoundingClientRect().top - 0.69 * innerHeight, behavior: "instant" }); })()""")
    chromium.evaluate("new Promise((done) => setTimeout(done, 400))")
    assert chromium.evaluate(caption) != before
    assert [event for event in chromium.events if event.get("method") in ERRORS] == []


@in_browser
def test_a_question_hides_what_follows_until_it_is_answered(chromium):
    chromium.open(PAGE.as_uri())
    for figure in FIGURES:
        later = f'document.querySelectorAll("#{figure} .unanswered").length'
        assert chromium.evaluate(later) > 0
        verdict = chromium.evaluate(f"""(() => {{ const question = document.querySelector("#{figure} .question");
          const shown = () => question.querySelector(".answer").offsetHeight > 0;
          const before = shown();
          question.querySelector(`input[value="${{question.dataset.right}}"]`).click();
          return [before, shown(), question.querySelector(".verdict").textContent]; }})()""")
        assert verdict == [False, True, "Right. "]
        assert chromium.evaluate(later) == 0
    chromium.open(PAGE.as_uri())
    chromium.evaluate("document.querySelector(\"#path input[value='0']\").click()")
    assert chromium.evaluate('document.querySelector("#path .verdict").textContent') == "Not so. "


@in_browser
def test_sliders_tell_their_values_and_what_they_change(chromium):
    chromium.open(PAGE.as_uri())
    told = """[...document.querySelectorAll("input[type=range]")].map((input) => {
      const at = input.getAttribute("aria-valuetext");
      return [input.id, at, input.labels.length]; })"""
    for name, text, labels in chromium.evaluate(told):
        assert text and labels, name
    moved = chromium.evaluate("""(() => { const input = document.getElementById("path-exponent"); input.value = -2;
      input.dispatchEvent(new Event("input")); return input.getAttribute("aria-valuetext"); })()""")
    assert "μ = 0.01" in moved and "gap sᵀz = 4 μ = 0.04" in moved


@in_browser
@pytest.mark.parametrize("width", [400, 1100])
def test_texts_of_the_figures_are_legible_at_every_width(chromium, width):
    chromium.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
    )
    try:
        chromium.open(PAGE.as_uri())
        chromium.evaluate("new Promise((done) => setTimeout(done, 100))")
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        sizes = chromium.evaluate("""[...document.querySelectorAll(".pane, #picture, #curves, #kkt")].map((svg) => {
          const scale = svg.clientWidth / svg.viewBox.baseVal.width;
          const size = (text) => scale * parseFloat(getComputedStyle(text).fontSize);
          return Math.min(...[...svg.querySelectorAll("text")].map(size)); })""")
        assert len(sizes) == 20 and min(size for size in sizes if size is not None) >= 11.5
    finally:
        chromium.call("Emulation.clearDeviceMetricsOverride")


@in_browser
def test_an_edge_of_either_polygon_chooses_its_constraint(chromium):
    chromium.open(PAGE.as_uri())
    for plane, i in (("dual-primal", 2), ("dual-dual", 3)):
        chromium.evaluate(f"""document.querySelectorAll("#{plane} .hit")[{i}].dispatchEvent(new Event("click"))""")
        caption = chromium.evaluate('document.querySelector("#dual figcaption").textContent')
        assert f"Constraint {'abcd'[i]}:" in caption
        assert chromium.evaluate('document.getElementById("dual-row").value') == "abcd"[i]


@in_browser
def test_dragging_the_start_changes_the_step_and_the_products(chromium):
    chromium.open(PAGE.as_uri())
    captions = """["step", "products"].map((name) => document.querySelector(`#${name} figcaption`).textContent)"""
    before = chromium.evaluate(captions)
    chromium.evaluate("""(() => { const knob = document.querySelector('#step-plane .handle');
      const press = () => knob.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp" }));
      for (let k = 0; k < 4; k++) press(); })()""")
    after = chromium.evaluate(captions)
    assert before[0] != after[0] and before[1] != after[1]


@in_browser
def test_the_python_of_every_figure_draws_it(chromium):
    chromium.open(PAGE.as_uri())
    for figure in FIGURES:
        code = chromium.evaluate(f'document.querySelector("#{figure} .python pre").textContent')
        *lines, call = code.splitlines()
        names = {}
        exec("\n".join(lines), names)
        picture = eval(call, names)
        assert isinstance(picture, Picture) and picture.axes
        caption = chromium.evaluate(f'document.querySelector("#{figure} figcaption").textContent')
        titles = " ".join(axes.get_title() for axes in picture.axes)
        if figure == "embedding":
            assert caption.startswith(titles.strip())
        if figure == "walks":
            told = [label.get_text() for label in picture.axes[1].get_legend().get_texts()]
            assert [re.findall(r"\d+", text)[0] for text in told] == re.findall(r"\d+", caption)[1:]
        if figure == "step":
            alpha, sigma = re.findall(r"= ([\d.e-]+)", titles)
            assert f"α = {alpha}" in caption.replace("α = 1;", f"α = {alpha};") and f"σ = {sigma}" in caption  # noqa: RUF001


PUT = """((figure, changes) => { for (const [key, value] of Object.entries(changes)) {
  const input = document.getElementById(`${figure}-${key}`);
  Object.assign(input, { value });
  input.dispatchEvent(new Event("input")); }
  return document.querySelector(`#${figure} figcaption`).textContent; })"""


@in_browser
def test_what_the_text_says_of_the_figures_holds(chromium):
    chromium.open(PAGE.as_uri())

    def figures(name, **changes):
        caption = chromium.evaluate(f"{PUT}('{name}', {json.dumps(changes)})")
        return [float(v) for v in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", caption)]

    def products(k, rule, share):  # k, last, mu, distance, smallest
        return figures("products", rule=rule, share=share, k=k)

    assert 0.7 < products(4, "mehrotra", 0.99)[3] < 0.9
    assert 80 < products(3, "mehrotra", 0.99)[2] / products(4, "mehrotra", 0.99)[2] < 120
    assert products(3, "affine", 0.99)[4] < 1e-5 and products(3, "affine", 0.99)[2] > 0.5
    assert products(0, "mehrotra", 0.99)[2] / products(3, "mehrotra", 0.99)[2] > 2e4
    assert products(5, "fixed", 0.9)[3] < 0.1 and products(5, "fixed", 0.9)[2] / products(6, "fixed", 0.9)[2] > 9
    few, many = figures("walks", edges=6, curvature=0), figures("walks", edges=48, curvature=0)
    assert many[1] == 24 and many[2] > 2 * few[2] and many[3] <= few[3] + 3
    assert "z of c = 0" in chromium.evaluate(f"{PUT}('step', {{k: 0, stage: 1}})")  # the step ends at a multiplier
    sigma = [figures("step", k=k, stage=4)[-1] for k in (0, 3)]
    assert sigma[0] > 0.1 and sigma[1] < 1e-4
    assert "inaccurate" in chromium.evaluate(f"{PUT}('embedding', {{apart: 0}})")
    dual = [figures("dual", exponent=-3, row=row)[-2:] for row in "bc"]  # slack and multiplier
    assert dual[0][0] < 0.01 < dual[0][1] and dual[1][1] < 0.01 < dual[1][0]
    path = figures("path", exponent=-4)
    assert path[-1] == pytest.approx(4e-4)


@needs_node
def test_a_larger_share_of_the_way_can_take_more_steps(monkeypatch):
    (answer,) = by_node([{"example": "sections"}])
    program, plain, most = cone_program(answer["program"]), textbook.Method.start, {}
    for share in (0.95, 0.999):
        monkeypatch.setattr(textbook.method, "STEP", share)
        for seed in range(20):

            def start(method, seed=seed):
                it, rng = plain(method), np.random.default_rng(seed)
                it.s, it.z = (v + rng.uniform(0.0, 2.0) * method.cone.e for v in (it.s, it.z))
                return it

            monkeypatch.setattr(textbook.Method, "start", start)
            most[share] = max(most.get(share, 0), textbook.solve(program).iterations)
    assert most[0.95] <= 9 and most[0.999] >= 14
