"""models: published learning problems written as cone programs."""

from .bilevel import BilevelClassifier, Round
from .easvm import ExplanationAugmentedSVC
from .explanations import explained_examples
from .kernels import Kernel
from .multitask import MultiTaskSVC
from .ontology import UNREACHABLE, Graph, semantic_distances
from .perceptron import Perceptron
from .prior import GenerativePrior
from .strings import MismatchKernel
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR
from .transfer import DiscriminativeTransfer, GenerativeTransfer, SemanticCompression, class_means, discriminant
from .wordnet import WordNet

__all__ = [
    "SVC",
    "SVR",
    "UNREACHABLE",
    "BilevelClassifier",
    "DiscriminativeTransfer",
    "ExplanationAugmentedSVC",
    "GenerativePrior",
    "GenerativeTransfer",
    "Graph",
    "Kernel",
    "MismatchKernel",
    "MultiTaskSVC",
    "Perceptron",
    "Round",
    "SemanticCompression",
    "SubgradientSVC",
    "WordNet",
    "class_means",
    "discriminant",
    "explained_examples",
    "semantic_distances",
]
