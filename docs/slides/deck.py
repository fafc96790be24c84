"""Slides for the twelve chapters of a semester, as one self-contained HTML file.

    python docs/slides/deck.py [--out docs/_build/slides.html] [CHAPTER ...]

`slides.txt` is written by hand: a chapter begins with "# Title (name)", a slide with "## Heading".  A slide has
sentences, formulas between lines of $$, "{picture 2}" for the second picture that the cells of the chapter draw, and
after "**Note.**" the speaker's notes, which the key n shows.  It needs the `docs` extra.  conf.py connects
`after_the_book`, with which Sphinx builds the slides with the book.
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
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
BLOCK = re.compile(r"^\$\$\n(.*?)^\$\$$|^\{picture (\d+)\}$", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}.*?\n(?::[\w-]+:.*\n)*(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Slide:
    """Slide with a heading, parts (kind, content) and a note; a kind is title, text, formula, picture or list."""

    heading: str
    parts: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


def written() -> dict[str, str]:
    """Return {chapter: its text in slides.txt}."""
    _, *texts = re.split(r"^# ", (HERE / "slides.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {text[: text.index("\n")].rpartition(" (")[2].rstrip(")"): text for text in texts}


# ---- a chapter


def run(code: str, scope: dict) -> str | None:
    """Run a cell; return the PNG of its picture in base64, or None if it shows no picture."""
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


def pictures(name: str) -> list[str]:
    """Return the pictures that the cells of a chapter draw, as PNG in base64."""
    text, scope = (DOCS / "course" / f"{name}.md").read_text(encoding="utf-8"), {"__name__": name}
    return [png for png in (run(code, scope) for code in CELL.findall(text.partition("\n## Exercises\n")[0])) if png]


def chapter_slides(name: str, with_pictures: bool = True) -> list[Slide]:
    """Return the slides of a chapter, the first with its title."""
    opening, *texts = re.split(r"^## ", written()[name], flags=re.MULTILINE)
    title, _, goal = opening.partition("\n")
    drawn = pictures(name) if with_pictures else None
    slides = [Slide(title.rpartition(" (")[0], [("title", goal.strip())], goal.strip())]
    for text in texts:
        heading, _, body = text.partition("\n")
        body, _, note = body.partition("**Note.** ")
        slide, end = Slide(heading, note=note.strip()), 0
        for block in BLOCK.finditer(body):
            slide.parts += [("text", words) for words in body[end : block.start()].split("\n\n") if words.strip()]
            formula, picture = block.groups()
            if formula:
                slide.parts.append(("formula", formula.strip()))
            elif drawn is not None:
                slide.parts.append(("picture", drawn[int(picture) - 1]))
            end = block.end()
        slide.parts += [("text", words) for words in body[end:].split("\n\n") if words.strip()]
        slides.append(slide)
    return slides


# ---- HTML


def inline(text: str) -> str:
    """Convert a sentence from Markdown to HTML, with formulas in the form that `docs/mathml.py` expects."""
    kept: list[str] = []  # formulas and code, which are not Markdown

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
    """Return a slide as a section of the page."""
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
    """Return the page with the slides of the named chapters."""
    sys.path.insert(0, str(DOCS))
    import mathml  # imports latex2mathml

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
    """Build the deck and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"some of: {', '.join(written())}")
    parser.add_argument("--out", type=Path, default=DOCS / "_build" / "slides.html")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.chapters) - set(written()))
    if unknown:
        parser.error(f"no chapter is called {', '.join(unknown)}; there are {', '.join(written())}")
    page = deck(given.chapters or list(written()))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(page, encoding="utf-8")
    print("written:", given.out, f"with {page.count('<section ')} slides")
    return 0


def after_the_book(app, exception) -> None:
    """Write the deck next to the pages of the book; a hook of Sphinx ("build-finished")."""
    if exception is None and app.builder.format == "html":
        main(["--out", str(Path(app.outdir) / "slides.html")])


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    sys.exit(main())
