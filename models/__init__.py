"""models: published learning problems written as cone programs."""

from .gaussian import LinearDiscriminant, Prototypes, QuadraticDiscriminant
from .joint_gaussian import JointGaussianRegressor

__all__ = ["JointGaussianRegressor", "LinearDiscriminant", "Prototypes", "QuadraticDiscriminant"]
