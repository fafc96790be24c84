"""models: published learning problems written as cone programs."""

from .bilevel import BilevelClassifier, Round
from .easvm import ExplanationAugmentedSVC
from .explanations import explained_examples
from .fisher_kernel_learning import FisherKernelLearning
from .gaussian_hmm import GaussianHMM
from .hmm import DiscreteHMM
from .kernels import Kernel
from .large_margin_hmm import LargeMarginHMM
from .med import MEDClassifier
from .medlda import MedLDA
from .mss import MaxMarginScoreSpace
from .multitask import MultiTaskSVC
from .perceptron import Perceptron
from .prior import GenerativePrior
from .scores import FisherScore, FreeEnergyScore, SufficientStatistics
from .sequences import encode_symbols
from .strings import MismatchKernel
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR
from .topics import LatentDirichletAllocation

__all__ = [
    "SVC",
    "SVR",
    "BilevelClassifier",
    "DiscreteHMM",
    "ExplanationAugmentedSVC",
    "FisherKernelLearning",
    "FisherScore",
    "FreeEnergyScore",
    "GaussianHMM",
    "GenerativePrior",
    "Kernel",
    "LargeMarginHMM",
    "LatentDirichletAllocation",
    "MEDClassifier",
    "MaxMarginScoreSpace",
    "MedLDA",
    "MismatchKernel",
    "MultiTaskSVC",
    "Perceptron",
    "Round",
    "SubgradientSVC",
    "SufficientStatistics",
    "encode_symbols",
    "explained_examples",
]
