"""models: published learning problems written as cone programs."""

from .bilevel import BilevelClassifier, Round
from .easvm import ExplanationAugmentedSVC
from .explanations import explained_examples
from .kernels import Kernel
from .multitask import MultiTaskSVC
from .perceptron import Perceptron
from .prior import GenerativePrior
from .strings import MismatchKernel
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "BilevelClassifier",
    "ExplanationAugmentedSVC",
    "GenerativePrior",
    "Kernel",
    "MismatchKernel",
    "MultiTaskSVC",
    "Perceptron",
    "Round",
    "SubgradientSVC",
    "explained_examples",
]
