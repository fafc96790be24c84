"""The gallery: the pictures of all chapters on one page, each linked to its chapter."""

import re
from html import escape

from docutils import nodes


def describe(app, doctree):
    """Set the alt text of every picture to the paragraph before its cell; a hook of Sphinx."""
    text = ""
    for node in doctree.findall(lambda node: isinstance(node, (nodes.paragraph, nodes.image))):
        if isinstance(node, nodes.paragraph):
            text = in_words(node)
        elif not node.get("alt"):
            node["alt"] = text


def in_words(paragraph):
    """Return the text of a paragraph for screen readers, with formulas stripped of TeX commands."""
    words = [
        re.sub(r"[{}$]", "", re.sub(r"\\(?:text|operatorname|[,;!]|)", " ", node.astext()))
        if isinstance(node.parent, nodes.math)
        else node.astext()
        for node in paragraph.findall(nodes.Text)
    ]
    return " ".join("".join(words).split())


def pictures(env):
    """Yield (page, title of the page, file in _images, alt text) of every picture, in the order of the chapters."""
    for page in env.toctree_includes["index"]:
        if page.startswith("course/"):
            for image in filter(is_shown, env.get_doctree(page).findall(nodes.image)):
                for source in {*image.get("candidates", {}).values(), image["uri"]} & set(env.images):
                    yield page, env.titles[page].astext(), env.images[source][1], image.get("alt", "")


def is_shown(image):
    """Return True if a page shows this form of a picture: PNG only if there is no SVG."""
    forms = {form.get("mime_type") for form in image.parent.parent if isinstance(form, nodes.Element)}
    return image.parent.get("mime_type") != "image/png" or "image/svg+xml" not in forms


def show(app, pagename, templatename, context, doctree):
    """Fill the page of the gallery; a hook of Sphinx's HTML builder."""
    if pagename == "gallery":
        figures = [
            f'<figure><a href="{page}.html"><img src="_images/{file}" alt="{escape(alt)}" loading="lazy"></a>'
            f'<figcaption><a href="{page}.html">{escape(title)}</a></figcaption></figure>'
            for page, title, file, alt in pictures(app.env)
        ]
        context["body"] += f'<div class="gallery">{"".join(figures)}</div>'
