"""Formulas as MathML, which browsers show without a network.

Sphinx writes TeX in the page for MathJax, which is loaded from the network.  Here the TeX is replaced by MathML when a
page is written, and the page asks for no script, as its renderer has another name than MathJax's.

Without a font for mathematics a browser sets the brace of an underbrace as wide as a letter.  The style of the book
draws it instead, along the group that has the class ``underbraced``.
"""

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(r'(<(span|div) class="math[^"]*"[^>]*>)\s*\\([(\[])(.*?)\\[)\]]\s*(</\2>)', re.DOTALL)
LONG = 24  # most symbols of an inline formula that fits the screen of a telephone
BRACE = "<mo>&#x23DF;</mo></munder>"  # end of latex2mathml's output for an underbrace
TIGHT = re.compile(r'<mo( stretchy="false")?>(&#x0007C;|&#x0002F;|&#x0221E;)</mo>')
PRIMED = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>(&#x0203[234];)</mi></msup>")
NAMED = re.compile(
    r"(</\w+>)?((?:<m(?:sub|sup|under)>)*)<m([io])>([A-Za-z]{2,})</m\3>(<mo[^>]*>(?:[(\[]|&#x0005B;|&#x00028;))?"
)
PLAIN = (  # TeX that the converter does not know, and replacements that it knows
    (r"\\[bB]ig+[lrm]?(?![a-zA-Z])", ""),
    (r"\\\|", r"\\Vert "),
    (r"\\arg(?![a-zA-Z])", r"\\operatorname{arg}"),
    (r"\\mathrm(?=\{)", r"\\text"),
    (r"\\math(cal|bf) +(\w)", r"\\math\1{\2}"),  # with braces they become Unicode letters, which all browsers show
)


def to_mathml(match):
    """Return the matched formula as MathML, or unchanged if it cannot be converted."""
    before, _, bracket, tex, after = match.groups()
    tex = html.unescape(tex)
    for pattern, replacement in PLAIN:
        tex = re.sub(pattern, replacement, tex)
    if bracket == "[":
        tex = re.sub(r"\\(max|min)_", r"\\\1\\limits_", tex)  # limits below, as in TeX
    # Sphinx puts formulas of several lines into `split` or `align`, in which the converter knows no `aligned`.
    inner = "" if re.search(r"\\begin\{(split|align)\}", tex) else r"\\\1{split}"
    tex = re.sub(r"\\(begin|end)\{aligned\}", inner, tex)
    try:
        found = space(draw_braces(convert(tex, display="block" if bracket == "[" else "inline")))
    except Exception:
        return match.group()
    found = re.sub(r"(<mo[^>]*>)(?:&#x0005E;|\^)(?=</mo></mover>)", r"\1&#x02C6;", found)  # a hat, not a power
    if re.search(r">\\[A-Za-z|]|<mi>&(amp;)?<", found):
        return match.group()
    if bracket == "(" and len(html.unescape(re.sub(r"<[^>]+>|\s", "", found))) > LONG:
        before = before.replace('class="math', 'class="math long', 1)
    return before + found + after


def draw_braces(mathml):
    """Replace each underbrace by a group of the class "underbraced"."""
    while BRACE in mathml:
        end = mathml.index(BRACE)
        depth, start = 0, end
        for tag in reversed(list(re.finditer(r"<(/?)munder>", mathml[:end]))):
            if not tag[1] and depth == 0:
                start = tag.start()
                break
            depth += 1 if tag[1] else -1
        group = mathml[start + len("<munder>") : end]
        mathml = f'{mathml[:start]}<mrow class="underbraced">{group}</mrow>{mathml[end + len(BRACE) :]}'
    return mathml


def space(mathml):
    """Set the spaces around operators, bars and primes as TeX does."""

    def name(match):
        before, scripts, _, letters, bracket = match.groups()
        left, right = ("0.167em" if side else "0em" for side in (before not in (None, "</mo>"), not bracket))
        return f'{before or ""}{scripts}<mo lspace="{left}" rspace="{right}">{letters}</mo>{bracket or ""}'

    mathml = TIGHT.sub(r'<mo\1 lspace="0em" rspace="0em">\2</mo>', mathml)
    mathml = PRIMED.sub(r'<mrow>\1<mo lspace="0em" rspace="0em">\2</mo></mrow>', mathml)
    return NAMED.sub(name, mathml)


def replace(app, pagename, templatename, context, doctree):
    """Replace the formulas of a page by MathML; a hook of Sphinx's HTML builder."""
    if "body" in context:
        context["body"] = FORMULA.sub(to_mathml, context["body"])
