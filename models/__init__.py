"""models: published learning problems written as cone programs."""

from .easvm import ExplanationAugmentedSVC
from .explanations import explained_examples
from .kernels import Kernel
from .multitask import MultiTaskSVC
from .perceptron import Perceptron
from .strings import MismatchKernel
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "ExplanationAugmentedSVC",
    "Kernel",
    "MismatchKernel",
    "MultiTaskSVC",
    "Perceptron",
    "SubgradientSVC",
    "explained_examples",
]
