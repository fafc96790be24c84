"""The interactive page in a headless browser."""

import contextlib
import io
import re

import numpy as np
import pytest

from socp import textbook
from tests.support import browser
from tests.support.interactive_page import COLUMNS, PAGE, PARTS, number, tolerance

needs_browser = pytest.mark.skipif(
    browser.find() is None, reason="no Chromium on the PATH or in the environment variable CHROMIUM"
)
pytestmark = [pytest.mark.full, needs_browser]


def in_browser(test):
    """Mark a test of a file that has others, too."""
    return pytest.mark.full(needs_browser(test))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.Browser(browser.find(), tmp_path_factory.mktemp("chromium")) as page:
        yield page


TABLE = """[...document.querySelectorAll("#trace tbody tr")].map((row) =>
  [...row.cells].slice(1).map((cell) => [cell.textContent, cell.dataset.value]))"""
SCREEN = """(() => { document.getElementById("picture").scrollIntoView({ behavior: "instant" });
  const box = document.getElementById("picture").getBoundingClientRect();
  return [box.left, box.top, box.width]; })()"""


def handle(page, label):
    """Return the center of a handle on the screen."""
    return page.evaluate(f"""(() => {{ document.getElementById("picture").scrollIntoView({{ behavior: "instant" }});
      const box = document.querySelector('#picture .handle[aria-label="{label}"] .knob')
      .getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; }})()""")


def run_python(page):
    """Run the Python code that the page shows; return its program, the textbook's solution and what it prints."""
    code = page.evaluate('document.getElementById("python").textContent')
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return names["program"], names["solution"], printed.getvalue()


def shown_table(page, solution):
    table = page.evaluate(TABLE)
    assert abs(len(table) - len(solution.trace)) <= 1  # one of the two may pass the test by rounding alone
    for row, it in zip(table, solution.trace):
        for name, (_, value) in zip(COLUMNS, row):
            np.testing.assert_allclose(number(value), getattr(it, name), rtol=1e-6, atol=tolerance(name, it))
    return table


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
    assert status.startswith(f"{len(table) - 1} iterations, {solution.status.value.replace('_', ' ')}")
    # the code prints the same table
    lines = [line.split() for line in printed.splitlines()]
    heads = chromium.evaluate('[...document.querySelectorAll("#trace thead th")].map((cell) => cell.textContent)')
    assert lines[0] == " ".join(heads[1:]).split()
    rows = lines[1 : 1 + len(solution.trace)]
    assert lines[1 + len(rows)] == [solution.status.value]
    for k, (row, it) in enumerate(zip(rows, solution.trace)):
        assert int(row[0]) == k and len(row) == 1 + len(COLUMNS)
        for name, value, (shown, _) in zip(COLUMNS, row[1:], table[k] if k < len(table) else []):
            assert float(value) == pytest.approx(getattr(it, name), rel=0.05, nan_ok=True)
            form = r"-?\d\.\d{8}e[+-]\d\d" if "objective" in name else r"-?\d\.\de[+-]\d\d|nan"
            assert re.fullmatch(form, value) and re.fullmatch(f"{form}|------", shown)


def test_the_iterates_are_drawn_on_the_drawn_region(chromium):
    chromium.open(f"{PAGE.as_uri()}#example=disc")
    program, solution, _ = run_python(chromium)
    left, top, width = chromium.evaluate(SCREEN)
    image = chromium.screenshot()
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
    assert len(inside) > 80 and is_region[0].mean() > 0.85  # the rest are lines, handles and the path
    assert len(outside) > 150 and not is_region[1].any()


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

    chromium.evaluate("""document.querySelector('#picture .handle[aria-label="a, disc: position"]').focus()""")
    chromium.press("ArrowUp")
    lifted, _, _ = run_python(chromium)
    assert lifted.h[2] < turned.h[2] and lifted.h[1] == turned.h[1]

    chromium.evaluate("""document.getElementById("iterates").focus()""")
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


def test_a_link_brings_the_same_picture_back(chromium):
    chromium.open(f"{PAGE.as_uri()}#example=sections")
    chromium.evaluate("""document.querySelector('[data-add="line"]').click()""")
    chromium.evaluate('document.getElementById("part-predictor").click()')
    code = 'document.getElementById("python").textContent'
    written, link = chromium.evaluate(code), chromium.evaluate('document.getElementById("link").href')
    assert "A=" in written and "predictor=False" in written
    chromium.open(link)
    assert chromium.evaluate(code) == written


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
    chromium.evaluate(f"{change}('share', '7')")  # the value is refused
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
