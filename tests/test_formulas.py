"""Every formula of the book as MathML: all are converted, and each construct gives the tree that it stands for."""

import html
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.test_docs import DOCS, PAGES, module_of_the_docs

pytest.importorskip("latex2mathml", reason="needs the docs extra")
mathml = module_of_the_docs("mathml")
PREFIX = "{http://www.w3.org/1998/Math/MathML}"


def tree(tex, display=True):
    """Return the root of the formula's MathML, as the hook of the book makes it."""
    tag, (left, right) = ("div", "[]") if display else ("span", "()")
    page = rf'<{tag} class="math notranslate">\{left}{html.escape(tex)}\{right}</{tag}>'
    context = {"body": page}
    mathml.replace(None, "page", "page.html", context, None)
    assert context["body"] != page, tex
    return ElementTree.fromstring(context["body"])[0]


def shape(node):
    """Return the tree as one line of names and text, without rows."""
    name, inside = node.tag.removeprefix(PREFIX), [shape(child) for child in node]
    if node.get("class"):
        return f"{name}.{node.get('class')}({' '.join(inside)})"
    if name in ("mrow", "math"):
        return " ".join(filter(None, inside))
    return f"{name}({' '.join(inside)})" if inside else (node.text or "").strip() or name


@pytest.mark.parametrize(("tex", "expected"), [
    (r"\tfrac12", "mstyle(mfrac(1 2))"),
    (r"\frac{a + b}{c}", "mfrac(a + b c)"),
    (r"\sqrt{x}", "msqrt(x)"),
    (r"x_i^2", "msubsup(x i 2)"),
    (r"A^\top", "msup(A \u22a4)"),
    (r"\bar{x}", "mover(x ¯)"),
    (r"\sum_{i=1}^n x", "munderover(∑ i = 1 n) x"),
    (r"\prod_t p", "munder(∏ t) p"),
    (r"\max_{u} u", "munder(max u) u"),
    (r"\int_0^a f", "msubsup(∫ 0 a) f"),
    (r"\text{minimize } x", "minimize x"),
    (r"\mathrm{KL}", "KL"),
    (r"\operatorname{tr} A", "tr A"),
    (r"\mathcal K \times \mathcal Q^n \subset \mathbf R^m",
     "\U0001d4a6 \xd7 msup(\U0001d4ac n) \u2282 msup(\U0001d411 m)"),
    (r"\log x", "log x"),
    (r"a \le b \ne c \ge d \in e", "a ≤ b ≠ c ≥ d ∈ e"),
    (r"\lambda \circ \Delta s \pm \varepsilon", "λ ∘ Δ s ± ε"),
    (r"\|x\|", "‖ x ‖"),
    (r"\Bigl\| x \Bigr\|", "‖ x ‖"),
    (r"\{ x \mid y \}", "{ x \u2223 y }"),
    (r"\lceil x \rceil", "⌈ x ⌉"),
    (r"\underbrace{a + b}_{= 0} + c", "munder(mrow.underbraced(a + b) = 0) + c"),
    (r"\underbrace{a_{x}}_{b} \underbrace{c}_{d}",
     "munder(mrow.underbraced(msub(a x)) b) munder(mrow.underbraced(c) d)"),
    (r"\underbrace{\underbrace{a}_{b} + c}_{d}", "munder(mrow.underbraced(munder(mrow.underbraced(a) b) + c) d)"),
])  # fmt: skip
def test_a_construct_gives_its_tree(tex, expected):
    assert re.sub(r"\s+", " ", shape(tree(tex))) == expected


def spaces(tex):
    """Return (text, left space, right space) of the operators that set their spaces."""
    return [
        (node.text, node.get("lspace"), node.get("rspace"))
        for node in tree(tex).iter(f"{PREFIX}mo")
        if node.get("lspace")
    ]


def test_bars_solidi_and_names_have_the_space_of_tex():
    assert spaces(r"|a / b|") == [(text, "0em", "0em") for text in "|/|"]
    assert spaces(r"-\log x") == [("log", "0em", "0.167em")]
    assert spaces(r"a \log(x)") == [("log", "0.167em", "0em")]
    assert spaces(r"\operatorname{tr} A") == [("tr", "0em", "0.167em")]
    assert spaces(r"\sqrt{a} \max_{x} b") == [("max", "0.167em", "0.167em")]


def test_a_prime_is_raised_by_its_glyph_alone():
    assert shape(tree(r"F''(s)^{-1}")) == "F \u2033 ( s msup() \u2212 1)"


@pytest.mark.parametrize("names", [["bmatrix"], ["aligned"], ["split", "aligned"]])
def test_rows_and_columns_are_those_of_a_table(names):
    begin, end = (
        "".join(f"\\{word}{{{name}}}" for name in way) for word, way in zip(("begin", "end"), (names, names[::-1]))
    )
    (table,) = tree(rf"{begin} a & b \\ c & d {end}").iter(f"{PREFIX}mtable")
    assert [["".join(cell.itertext()) for cell in row] for row in table] == [["a", "b"], ["c", "d"]]


def formulas(page):
    """Yield (TeX, True if displayed) of the formulas of a page, without its code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    for display, inline in re.findall(r"\$\$(.*?)\$\$|(?<!\\)\$(?=\S)([^$]+?)(?<=\S)\$", text, re.DOTALL):
        yield (display or inline), bool(display)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_no_formula_of_a_page_keeps_tex(page):
    for tex, display in formulas(page):
        for node in tree(tex, display).iter():
            assert not re.search(r"\\[A-Za-z|]", node.text or ""), tex
            assert not re.search(r"[{}_^$]", node.text or "") or re.search(r"\\[{}]", tex), tex
