"""Sphinx: the course, executed while it is built, and the reference from the docstrings."""

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "docs" / "slides")]
import deck  # noqa: E402  (the slides; needs the path)
import gallery  # noqa: E402
import listing  # noqa: E402
import mathml  # noqa: E402
from docstrings import plain_signature, plain_text, skip_internal, write_attributes  # noqa: E402
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math  # noqa: E402

# Jupyter's kernels, which run the chapters, inherit this environment: the sources here, and one thread.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

project = "centralpath"
author = copyright = "the centralpath developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "results", "jupyter_execute", ".jupyter_cache"]
html_math_renderer = "mathml"  # no page asks a network for MathJax
html_theme = "furo"  # light and dark, previous and next, search
html_title = "centralpath"
html_static_path = ["style"]
html_css_files = ["math.css", "book.css"]
html_extra_path = ["interactive.html"]  # linked in the index

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 600  # seconds per cell; the first one may compile
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"  # progress lines of the compilation

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
suppress_warnings = ["ref.python"]  # `n` in a shape is no link


def copy_results(app, error):
    """Copy docs/results, to whose reports pages link, next to the pages; a hook of Sphinx."""
    if error is None and app.builder.format == "html":
        shutil.copytree(ROOT / "docs" / "results", Path(app.outdir) / "results", dirs_exist_ok=True)


def setup(app):
    app.add_html_math_renderer("mathml", (html_visit_math, None), (html_visit_displaymath, None))
    app.connect("source-read", listing.insert)
    app.connect("autodoc-process-docstring", plain_text, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("autodoc-skip-member", skip_internal)
    app.connect("doctree-read", write_attributes)
    app.connect("doctree-read", gallery.describe)
    app.connect("html-page-context", mathml.replace)
    app.connect("html-page-context", gallery.show)
    app.connect("build-finished", copy_results)
    app.connect("build-finished", deck.after_the_book)
