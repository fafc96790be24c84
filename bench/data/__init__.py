"""bench.data: the real data of the experiments, read from a folder or downloaded from where they are published."""

from .credit import Default, default
from .newsgroups import newsgroups
from .reuters import reuters
from .sequences import promoters, splice_junctions
from .series import japanese_vowels, libras
from .source import Source, locate
from .text import Tokens, stem_words, tokenize

__all__ = [
    "Default",
    "Source",
    "Tokens",
    "default",
    "japanese_vowels",
    "libras",
    "locate",
    "newsgroups",
    "promoters",
    "reuters",
    "splice_junctions",
    "stem_words",
    "tokenize",
]
