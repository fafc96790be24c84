"""models: published learning problems written as cone programs."""

from .kernels import Kernel
from .multitask import MultiTaskSVC
from .perceptron import Perceptron
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR

__all__ = ["SVC", "SVR", "Kernel", "MultiTaskSVC", "Perceptron", "SubgradientSVC"]
