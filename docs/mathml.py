"""Formulas as MathML, which browsers show without a network; with one, MathJax sets them better.

MyST and autodoc leave TeX in the page for MathJax, which is loaded from the network.  Here it is replaced by MathML
when a page is written.  MathJax takes that too.  What cannot be converted stays TeX.
"""

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'(<(span|div) class="math[^"]*"[^>]*>)\s*\\([(\[])(.*?)\\[)\]]\s*(</\2>)', re.DOTALL)
PLAIN = ((r"\\[bB]ig+[lrm]?(?![a-zA-Z])", ""), (r"\\\|", r"\\Vert "), (r"\\arg(?![a-zA-Z])", r"\\operatorname{arg}"))


def to_mathml(match):
    """A formula of the page as MathML."""
    before, _, bracket, tex, after = match.groups()
    tex = html.unescape(tex)
    for pattern, replacement in PLAIN:
        tex = re.sub(pattern, replacement, tex)
    # Sphinx puts formulas of several lines into `split` or `align`, and the converter knows no `aligned` within
    inner = "" if re.search(r"\\begin\{(split|align)\}", tex) else r"\\\1{split}"
    tex = re.sub(r"\\(begin|end)\{aligned\}", inner, tex)
    try:
        found = convert(tex, display="block" if bracket == "[" else "inline")
    except Exception:
        return match.group()
    return match.group() if re.search(r">\\[A-Za-z|]|<mi>&(amp;)?<", found) else before + found + after


def replace(app, pagename, templatename, context, doctree):
    """The hook of Sphinx's HTML builder."""
    if "body" in context:
        context["body"] = FORMULA.sub(to_mathml, context["body"])
