"""The book as it is built: no warning, no raw markup, no broken link, nothing wider than the page."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from urllib.parse import unquote

import pytest

from tests.support import browser
from tests.test_docs import CHAPTERS, CORE, DOCS
from tests.test_interactive_page import needs_browser

NEEDED = [name for name in ("sphinx", "furo", "myst_nb", "latex2mathml") if find_spec(name) is None]
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(bool(NEEDED), reason=f"the book is not built without {', '.join(NEEDED)}: the docs extra"),
]
SILENT = {"script", "style", "pre", "code", "math"}  # not text of the page, or markup shown on purpose
EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
RAW = re.compile(r"\$\$|```|\{eval-rst\}|:(?:math|class|func|ref|doc):|``|\\\(|\\\[|\*\*\w[^*\n]*\*\*")
SCROLLS = {"table-wrapper", "cell_output"}  # as furo and style/book.css have it
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FAINT = """(() => {
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const opaque = ([,,, alpha = 1]) => alpha > 0.5;
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (opaque(colour)) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (!box.width || !box.height || style.visibility === "hidden" || element.closest(":disabled, option")) continue;
    const [low, high] = [light(numbers(style.color)), light(behind(element))].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 3) found.push(element.outerHTML.slice(0, 200));
  }
  return found;
})()"""
CUT = """[...document.querySelectorAll("pre")].filter(code => code.offsetParent && !code.closest(".cell_output")
  && code.scrollWidth > code.clientWidth + 1).map(code => code.textContent.slice(0, 80))"""
PAPER = "getComputedStyle(document.body).backgroundColor"
DARK_BEHIND = """[...document.querySelectorAll("article img:not(.toggler)")].filter(
  picture => getComputedStyle(picture).backgroundColor !== "rgb(255, 255, 255)").map(picture => picture.outerHTML)"""


class Page(HTMLParser):
    """Parser of a page: its text, links and anchors, and the places of tables outside of scrolling elements."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.links, self.names, self.wide = [], [], [], set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        classes = set((attributes.get("class") or "").split())
        self.names |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]
        if tag == "table" and not any(SCROLLS & its for _, its in self.open):
            self.wide.append(self.getpos())
        if tag not in EMPTY:
            self.open.append((tag, classes))

    def handle_endtag(self, tag):
        while tag in [name for name, _ in self.open] and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if not any(tag in SILENT or "literal" in classes for tag, classes in self.open):
            self.text.append(data)


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    """Build the book by the README's command, in a temporary folder; return the folder."""
    folder = tmp_path_factory.mktemp("book") / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", str(DOCS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, cwd=DOCS.parent)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="session")
def pages(book):
    paths = [path for path in book.rglob("*.html") if "results" not in path.relative_to(book).parts]
    return {path: Page(path.read_text(encoding="utf-8")) for path in paths}


def test_no_page_shows_markup(pages):
    for path, page in pages.items():
        if path.name != "interactive.html":
            found = RAW.search("".join(page.text))
            assert found is None, (path.name, "".join(page.text)[found.start() - 60 : found.end() + 60])


def test_links_and_pictures_lead_somewhere(book, pages):
    known = {path.resolve(): page.names for path, page in pages.items()}
    count = 0
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:|//", link) or (
                path.name in ("search.html", "genindex.html") and link.startswith("#")
            ):
                continue
            address, _, name = unquote(link).partition("#")
            target = (path.parent / address.split("?")[0]).resolve() if address else path.resolve()
            assert target.exists(), (path.name, link)
            if name and target in known and target.name != "interactive.html":
                assert name in known[target], (path.name, link)
            count += 1
    assert count > 1000


def test_tables_are_in_an_element_that_scrolls(book, pages):
    style = (book / "_static" / "book.css").read_text(encoding="utf-8")
    assert re.search(r"^pre \{ overflow-x: auto; \}$", style, re.MULTILINE)
    for path, page in pages.items():
        if path.name not in ("interactive.html", "genindex.html", "py-modindex.html"):
            assert not page.wide, (path.name, page.wide)


def test_chapters_are_numbered_and_the_interactive_page_leads_back(book, pages):
    index = (book / "index.html").read_text(encoding="utf-8")
    assert len(
        re.findall(r'<li class="toctree-l1"><a class="reference internal" href="course/\w+.html">\d+\. ', index)
    ) == 2 * len(CORE)
    assert "interactive.html" in pages[book / "index.html"].links
    assert "index.html" in pages[book / "interactive.html"].links


def test_the_gallery_has_a_picture_of_every_chapter(book, pages):
    links = set(pages[book / "gallery.html"].links)
    assert {f"course/{chapter.stem}.html" for chapter in CHAPTERS} <= links


def test_every_picture_of_a_chapter_says_what_it_shows(book):
    for chapter in CHAPTERS:
        text = (book / "course" / f"{chapter.stem}.html").read_text(encoding="utf-8")
        pictures = [tag for tag in re.findall(r"<img [^>]*>", text) if "_images/" in tag]
        alts = [re.search(r'alt="([^"]*)"', tag)[1] for tag in pictures]
        assert alts and all(len(alt.split()) > 3 and "_images" not in alt for alt in alts), (chapter.stem, alts)


def test_the_reference_shows_neither_factories_nor_internal_constructors(book):
    for page in sorted((book / "reference").glob("*.html")):
        text = page.read_text(encoding="utf-8")
        assert "&lt;factory&gt;" not in text and "of_checked" not in text, page.name


def test_attributes_stand_once_with_their_types(book):
    text = (book / "reference" / "qp.html").read_text(encoding="utf-8")
    for name in ("x", "y", "z_bounds", "objective", "trace", "timings"):
        (signature,) = re.findall(rf'<dt class="sig sig-object py" id="qp.Solution.{name}">(.*?)</dt>', text, re.DOTALL)
        assert re.sub("<.*?>", "", signature).split(":")[1].strip(), name
    assert not re.search(r"<a [^>]*>(<[^>]*>)*[a-z](<[^>]*>)*</a>", text)  # the n of a shape is no link


def test_no_page_asks_a_network(book, pages):
    for path in pages:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]*)"|<link[^>]* href="([^"]*)"', text)
        assert not [one for pair in loaded for one in pair if re.match(r"(https?:)?//", one)], path.name


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_every_page_fits_the_window_and_can_be_read(book, pages, tmp_path, width, scheme):
    with browser.Browser(browser.find(), str(tmp_path), width=width) as shown:
        shown.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        shown.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for path in sorted(pages):
            shown.open(path.as_uri())
            assert shown.evaluate(WIDER) <= 0, path.name
            assert shown.evaluate(FAINT) == [], path.name
            assert shown.evaluate(CUT) == [], path.name
            if scheme == "dark":
                red, green, blue = map(int, re.findall(r"\d+", shown.evaluate(PAPER))[:3])
                assert max(red, green, blue) < 60, path.name
                assert shown.evaluate(DARK_BEHIND) == [], path.name


@needs_browser
def test_what_cannot_be_read_is_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<body style='background: #111'><p style='color: #333'>faint</p><p style='color: #ccc'>clear</p>")
    with browser.Browser(browser.find(), str(tmp_path)) as shown:
        shown.open(page.as_uri())
        assert [text[-9:-4] for text in shown.evaluate(FAINT)] == ["faint"]
