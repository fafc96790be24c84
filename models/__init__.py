"""models: published learning problems written as cone programs."""

from .gaussian_hmm import GaussianHMM
from .hmm import DiscreteHMM
from .sequences import encode_symbols

__all__ = ["DiscreteHMM", "GaussianHMM", "encode_symbols"]
