"""Slides of the course, one HTML file that needs no other: the chapters' formulas and pictures.

    python docs/slides/deck.py [--out docs/_build/slides.html] [CHAPTER ...]

Nothing is written twice: each slide is a formula of a chapter with the sentences that lead to it, or a picture that a
cell of it draws when it is run here.  The speaker's note is all that the chapter says there; the key n shows it.  A
chapter begins with what one will be able to do, and ends with its summary and its exercises, whose solutions are the
note.  Needs the `docs` extra.  Sphinx builds it
with the book where conf.py connects `after_the_book`.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import html
import io
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
ROOM = 330  # characters of text above a formula
BLOCK = re.compile(r"^```\{([\w-]+)\}.*?\n(.*?)^```$|^\$\$\n(.*?)^\$\$$", re.DOTALL | re.MULTILINE)


@dataclass
class Slide:
    """A heading, and what stands below it: pairs of a kind ("text", "formula", "picture", "list") and its content."""

    heading: str
    parts: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


def chapters() -> list[str]:
    """The names of all chapters, in the order of the index and then those that it does not list."""
    listed = re.findall(r"^course/(\w+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    there = sorted(path.stem for path in (DOCS / "course").glob("*.md"))
    return [name for name in listed if name in there] + [name for name in there if name not in listed]


# ---- a chapter


def run(code: str, scope: dict) -> str | None:
    """Run a cell; the PNG of the picture that it shows, in base64, or None."""
    tree, value = ast.parse(code), None
    with contextlib.redirect_stdout(io.StringIO()):
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
            exec(compile(tree, "cell", "exec"), scope)
            value = eval(compile(last, "cell", "eval"), scope)
        else:
            exec(compile(tree, "cell", "exec"), scope)
    png = getattr(value, "_repr_png_", None)
    return base64.b64encode(png()).decode() if png else None


def lead(text: str) -> str:
    """The last paragraph of a text, or as many of its last sentences as there is room for."""
    paragraphs = [" ".join(p.split()) for p in text.split("\n\n") if p.strip()]
    if not paragraphs:
        return ""
    last = re.sub(r"^(\* |\d+\. )", "", paragraphs[-1])
    sentences = re.split(r"(?<=[.:;])\s+(?=[A-Z$*\\(])", last)
    kept = [sentences.pop()]
    while sentences and len(sentences[-1]) + sum(map(len, kept)) < ROOM:
        kept.insert(0, sentences.pop())
    return " ".join(kept)


def whole(words: str, said: str) -> str:
    """The words from their first whole sentence on; without one, what was said before.

    >>> whole("is small. So it ends.", "Before."), whole("is small.", "Before.")
    ('So it ends.', 'Before.')
    """
    while words and words[0].islower():
        _, _, words = words.partition(". ")
    return words or said


def section_slides(heading: str, text: str, scope: dict, with_pictures: bool) -> list[Slide]:
    """A slide for each formula or two, and one for each picture; each begins with a whole sentence."""
    slides, now, end, said, note = [], Slide(heading), 0, f"{heading}:", ""
    for block in BLOCK.finditer(text):
        before, end = text[end : block.start()], block.end()
        kind, code, formula = block.groups()
        words, note = lead(before), f"{note}\n\n{before}".strip()
        said = whole(words, said)
        if formula is not None:
            if len(now.parts) >= 4 or sum(part.count("\\\\") for _, part in now.parts) > 3:
                slides.append(now)
                now = Slide(heading)
            words = words if now.parts else said
            now.parts += [("text", words)] * bool(words) + [("formula", formula.strip())]
            now.note, note = f"{now.note}\n\n{note}".strip(), ""
        elif kind == "code-cell" and with_pictures:
            picture = run(re.sub(r"\A(:[\w-]+:.*\n)+", "", code), scope)
            if picture is not None:
                slides += [now] * bool(now.parts)
                slides.append(Slide(heading, [("text", said), ("picture", picture)], note))
                note = ""
                now = Slide(heading)
    return slides + [now] * bool(now.parts)


def prose(text: str) -> str:
    """A text without its cells, its listings and its formulas that stand alone."""
    return BLOCK.sub("", text).strip()


def numbered(slides: list[Slide]) -> list[Slide]:
    """The slides, with the place in their section behind a heading that several have.

    >>> [slide.heading for slide in numbered([Slide("Path"), Slide("Bound"), Slide("Bound")])]
    ['Path', 'Bound (1 of 2)', 'Bound (2 of 2)']
    """
    together, told = Counter(slide.heading for slide in slides), Counter[str]()
    for slide in slides:
        heading = slide.heading
        told[heading] += 1
        if together[heading] > 1:
            slide.heading = f"{heading} ({told[heading]} of {together[heading]})"
    return slides


def chapter_slides(name: str, with_pictures: bool = True) -> list[Slide]:
    """The slides of a chapter: its title, its sections, its summary, its exercises."""
    text = (DOCS / "course" / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    opening, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, introduction = opening.strip().partition("\n")
    title, scope = title.removeprefix("# "), {"__name__": name}
    goals = introduction.strip().partition("\n\n")[0]
    slides, solutions = (
        [Slide(title, [("title", goals)], prose(introduction))],
        prose(text.partition("\n## Solutions\n")[2]),
    )
    for section in sections:
        heading, _, body = section.partition("\n")
        if heading == "Exercises":
            tasks = re.split(r"^\*\*\d\.\*\* ", body, flags=re.MULTILINE)[1:]
            slides.append(Slide("Exercises", [("list", task) for task in tasks], solutions))
        elif heading != "Solutions":
            body, _, summary = body.partition("**In five lines.** ")
            slides += section_slides(heading, body, scope, with_pictures)
            if summary:
                summary, _, sources = summary.partition("\n\n")
                slides.append(Slide("In five lines", [("text", summary)], prose(sources) or summary))
    return numbered(slides)


# ---- HTML


def inline(text: str) -> str:
    """Markdown of a sentence as HTML, its formulas as `docs/mathml.py` takes them."""
    kept: list[str] = []  # formulas and code, which are no markdown

    def keep(found: re.Match) -> str:
        formula, code = found.groups()
        kept.append(
            rf'<span class="math">\({html.escape(formula)}\)</span>' if formula else f"<code>{html.escape(code)}</code>"
        )
        return f"\0{len(kept) - 1}\0"

    text = re.sub(r"\$([^$]+)\$|`([^`]+)`", keep, " ".join(text.split()))
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", html.escape(text, quote=False))
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"\*(.+?)\*", r"<i>\1</i>", text)
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)


def to_html(slide: Slide, chapter: str, number: int) -> str:
    """A slide as a section of the page."""
    parts = []
    for kind, content in slide.parts:
        if kind == "formula":
            parts.append(rf'<div class="math">\[{html.escape(content)}\]</div>')
        elif kind == "picture":
            shown = " ".join(content for kind, content in slide.parts if kind == "text") or slide.heading
            parts.append(f'<img alt="{html.escape(shown)}" src="data:image/png;base64,{content}">')
        elif kind == "list":
            parts.append(f"<li>{inline(content)}</li>")
        elif content:
            parts.append(f"<p>{inline(content)}</p>")
    body = "".join(parts)
    body = f"<ol>{body}</ol>" if "<li>" in body else body
    kind = "title" if slide.parts and slide.parts[0][0] == "title" else "picture" if "<img" in body else "plain"
    level = "h1" if kind == "title" else "h2"
    note = "".join(f"<p>{inline(text)}</p>" for text in slide.note.split("\n\n") if text)
    note = f'<aside class="note" aria-label="Speaker\'s note">{note}</aside>' if note else ""
    return (
        f'<section class="slide {kind}" id="s{number}"><{level}>{inline(slide.heading)}</{level}>'
        f'<div class="body">{body}</div>{note}<footer>{inline(chapter)}</footer></section>'
    )


def deck(names: list[str], with_pictures: bool = True) -> str:
    """The page."""
    sys.path.insert(0, str(DOCS))
    import mathml  # needs latex2mathml

    made = {name: chapter_slides(name, with_pictures) for name in names}
    contents = Slide("How an interior-point solver works", [("list", slides[0].heading) for slides in made.values()])
    slides, k = [to_html(contents, "centralpath", 1)], 1
    for chapter in made.values():
        for slide in chapter:
            k += 1
            slides.append(to_html(slide, chapter[0].heading, k))
    body = mathml.FORMULA.sub(mathml.to_mathml, "\n".join(slides))
    formulas = (DOCS / "style" / "math.css").read_text(encoding="utf-8")
    deck = (HERE / "deck.html").read_text(encoding="utf-8")
    return deck.replace("/*math.css*/", formulas).replace("<!--slides-->", body)


def main(arguments: list[str] | None = None) -> int:
    """Build the deck."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"some of: {', '.join(chapters())}")
    parser.add_argument("--out", type=Path, default=DOCS / "_build" / "slides.html")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.chapters) - set(chapters()))
    if unknown:
        parser.error(f"no chapter is called {', '.join(unknown)}; there are {', '.join(chapters())}")
    page = deck(given.chapters or chapters())
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(page, encoding="utf-8")
    print("written:", given.out, f"with {page.count('<section ')} slides")
    return 0


def after_the_book(app, exception) -> None:
    """The hook of Sphinx ("build-finished") that puts the deck beside the pages of the book."""
    if exception is None and app.builder.format == "html":
        main(["--out", str(Path(app.outdir) / "slides.html")])


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    sys.exit(main())
