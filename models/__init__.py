"""models: published learning problems written as cone programs."""

from .kernels import Kernel
from .svc import SVC

__all__ = ["SVC", "Kernel"]
