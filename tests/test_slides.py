"""The slides of the twelve chapters of a semester, in one file that keys turn."""

import re
from types import SimpleNamespace

import pytest

from tests.support import browser
from tests.test_docs import DOCS, module_of_the_docs
from tests.test_interactive_page import in_browser

BUILD = module_of_the_docs("slides/deck")


def test_the_chapters_are_those_of_a_semester_in_their_order():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    semester = index[index.index("Learn: a semester") : index.index("Learn: appendices")]
    assert [*BUILD.written()] == re.findall(r"^course/(\w+)$", semester, re.MULTILINE)


@pytest.mark.parametrize("name", BUILD.written())
def test_a_chapter_has_a_statement_a_picture_and_a_question(name):
    text = BUILD.written()[name]
    first, *slides = BUILD.chapter_slides(name, with_pictures=False)
    assert first.parts[0][0] == "title" and first.parts[0][1].endswith((".", "?"))
    headings = [slide.heading for slide in slides]
    assert len(set(headings)) == len(headings) >= 3 and headings[-1] == "A question"
    assert re.findall(r"^\{picture (\d)\}$", text, re.MULTILINE) and slides[-1].parts[0][1].strip().endswith("?")
    shown = [content for slide in slides for kind, content in slide.parts if kind == "formula"]
    assert shown == [formula.strip() for formula in re.findall(r"^\$\$\n(.*?)^\$\$$", text, re.M | re.S)]
    assert all(slide.note and len(slide.parts) <= 4 for slide in slides)
    assert not any("{picture" in content or "Note." in content for slide in slides for _, content in slide.parts)


def test_a_sentence_becomes_html():
    assert BUILD.inline("**Lemma** with `a*b*c`, $x < y$ and *s* in [a page](b.md).") == (
        '<b>Lemma</b> with <code>a*b*c</code>, <span class="math">\\(x &lt; y\\)</span> and <i>s</i> in a page.'
    )


def test_an_unknown_chapter_is_refused_with_those_that_there_are(capsys):
    with pytest.raises(SystemExit) as refused:
        BUILD.main(["cone"])
    assert refused.value.code == 2 and "no chapter is called cone; there are cones, " in capsys.readouterr().err


def test_the_deck_goes_where_the_book_goes_if_that_was_built(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(BUILD, "main", called.append)
    for kind, exception in (("html", None), ("html", RuntimeError()), ("latex", None)):
        app = SimpleNamespace(builder=SimpleNamespace(format=kind), outdir=tmp_path)
        BUILD.after_the_book(app, exception)
    assert called == [["--out", str(tmp_path / "slides.html")]]


def test_formulas_are_mathml_and_nothing_is_asked_from_a_network():
    pytest.importorskip("latex2mathml", reason="needs the docs extra")
    page = BUILD.deck([*BUILD.written()], with_pictures=False)
    body = page[page.index("<main") : page.index("</main>")]
    assert not re.search(r"\\\[|\\\(|\*\*|\$", body) and body.count("<math") > 80
    assert not re.search(r"\bsrc=(?!\"data:)|@import|url\(|https?://(?!www\.w3\.org/1998/Math)", page)
    assert len(set(re.findall(r'id="(s\d+)"', page))) == page.count("<section ")


@in_browser
def test_keys_turn_the_slides_and_nothing_leaves_the_screen(tmp_path):
    pytest.importorskip("latex2mathml", reason="needs the docs extra")
    out = tmp_path / "slides.html"
    assert BUILD.main(["--out", str(out)]) == 0
    assert out.read_text(encoding="utf-8").count("<img ") == sum(
        text.count("{picture ") for text in BUILD.written().values()
    )
    profile = tmp_path / "chromium"
    profile.mkdir()
    with browser.Browser(browser.find(), profile, 1024, 700) as page:
        page.open(out.as_uri())
        number, shown = "location.hash", 'document.querySelectorAll(".slide.shown").length'
        count = page.evaluate('document.querySelectorAll(".slide").length')
        assert page.evaluate(number) == "#1" and page.evaluate(shown) == 1
        for key, at in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", count), ("Home", 1)):
            page.press(key)
            assert page.evaluate(number) == f"#{at}" and page.evaluate(shown) == 1
        page.press("ArrowRight")
        page.press("ArrowRight")
        note = 'getComputedStyle(document.querySelector(".slide.shown .note")).display'
        assert page.evaluate(note) == "none"
        page.press("n")
        assert page.evaluate(note) == "block"
        page.press("n")
        page.press("Home")
        page.press("ArrowDown")
        page.press("ArrowDown")  # the second chapter
        assert page.evaluate('document.querySelector(".slide.shown h1").textContent') == "The central path"
        for k in range(count):
            page.evaluate(f'location.hash = "#{k + 1}"')
            page.evaluate("new Promise((done) => setTimeout(done, 30))")
            assert page.evaluate(number) == f"#{k + 1}"
            boxes = page.evaluate("""(() => { const slide = document.querySelector(".slide.shown");
              const body = slide.querySelector(".body"), formulas = [...slide.querySelectorAll("div.math")];
              return [body, ...formulas].map((box) => [box.scrollWidth - box.clientWidth, box === body ?
                box.scrollHeight - box.clientHeight : 0]); })()""")
            assert all(max(over) <= 1 for over in boxes), (k + 1, boxes)
        errors = [e for e in page.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        assert errors == []
