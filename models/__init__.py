"""models: published learning problems written as cone programs."""

from . import judging
from .bilevel import BilevelClassifier, Round
from .easvm import ExplanationAugmentedSVC
from .explanations import explained_examples
from .gaussian import LinearDiscriminant, Prototypes, QuadraticDiscriminant
from .hybrid import HybridNaiveBayes
from .joint_gaussian import JointGaussianRegressor
from .kernels import Kernel
from .logistic import LogisticRegression
from .multitask import MultiTaskSVC
from .naive_bayes import BernoulliNaiveBayes, GaussianNaiveBayes, MixedNaiveBayes, MultinomialNaiveBayes
from .perceptron import Perceptron
from .prior import GenerativePrior
from .strings import MismatchKernel
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "BernoulliNaiveBayes",
    "BilevelClassifier",
    "ExplanationAugmentedSVC",
    "GaussianNaiveBayes",
    "GenerativePrior",
    "HybridNaiveBayes",
    "JointGaussianRegressor",
    "Kernel",
    "LinearDiscriminant",
    "LogisticRegression",
    "MismatchKernel",
    "MixedNaiveBayes",
    "MultiTaskSVC",
    "MultinomialNaiveBayes",
    "Perceptron",
    "Prototypes",
    "QuadraticDiscriminant",
    "Round",
    "SubgradientSVC",
    "explained_examples",
    "judging",
]
