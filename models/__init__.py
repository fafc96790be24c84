"""models: published learning problems written as cone programs."""

from .gaussian_hmm import GaussianHMM
from .hmm import DiscreteHMM
from .sequences import encode_symbols
from .topics import LatentDirichletAllocation

__all__ = ["DiscreteHMM", "GaussianHMM", "LatentDirichletAllocation", "encode_symbols"]
