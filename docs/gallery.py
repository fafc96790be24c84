"""The pictures of the chapters on one page, each a link to where it is explained."""

from html import escape

from docutils import nodes


def pictures(env):
    """(page, its title, file in _images) of every picture of the course, in the order of the chapters."""
    for page in env.toctree_includes["index"]:
        if page.startswith("course/"):
            for image in env.get_doctree(page).findall(nodes.image):
                for source in {*image.get("candidates", {}).values(), image["uri"]} & set(env.images):
                    yield page, env.titles[page].astext(), env.images[source][1]


def show(app, pagename, templatename, context, doctree):
    """The hook of Sphinx's HTML builder that fills the gallery's page."""
    if pagename == "gallery":
        figures = [
            f'<figure><a href="{page}.html"><img src="_images/{file}" alt="{escape(title)}" loading="lazy"></a>'
            f'<figcaption><a href="{page}.html">{escape(title)}</a></figcaption></figure>'
            for page, title, file in pictures(app.env)
        ]
        context["body"] += f'<div class="gallery">{"".join(figures)}</div>'
