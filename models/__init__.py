"""models: published learning problems written as cone programs."""

from .bilevel import BilevelClassifier, Round
from .easvm import ExplanationAugmentedSVC
from .explanations import explained_examples
from .fisher_kernel_learning import FisherKernelLearning
from .gaussian import LinearDiscriminant, Prototypes, QuadraticDiscriminant
from .gaussian_hmm import GaussianHMM
from .hmm import DiscreteHMM
from .hybrid import HybridNaiveBayes
from .joint_gaussian import JointGaussianRegressor
from .kernels import Kernel
from .large_margin_hmm import LargeMarginHMM
from .logistic import LogisticRegression
from .med import MEDClassifier
from .medlda import MedLDA
from .mss import MaxMarginScoreSpace
from .multitask import MultiTaskSVC
from .naive_bayes import BernoulliNaiveBayes, GaussianNaiveBayes, MixedNaiveBayes, MultinomialNaiveBayes
from .ontology import UNREACHABLE, Graph, semantic_distances
from .perceptron import Perceptron
from .prior import GenerativePrior
from .scores import FisherScore, FreeEnergyScore, SufficientStatistics
from .sequences import encode_symbols
from .strings import MismatchKernel
from .subgradient import SubgradientSVC
from .svc import SVC
from .svr import SVR
from .topics import LatentDirichletAllocation
from .transfer import DiscriminativeTransfer, GenerativeTransfer, SemanticCompression, class_means, discriminant
from .wordnet import WordNet

__all__ = [
    "SVC",
    "SVR",
    "UNREACHABLE",
    "BernoulliNaiveBayes",
    "BilevelClassifier",
    "DiscreteHMM",
    "DiscriminativeTransfer",
    "ExplanationAugmentedSVC",
    "FisherKernelLearning",
    "FisherScore",
    "FreeEnergyScore",
    "GaussianHMM",
    "GaussianNaiveBayes",
    "GenerativePrior",
    "GenerativeTransfer",
    "Graph",
    "HybridNaiveBayes",
    "JointGaussianRegressor",
    "Kernel",
    "LargeMarginHMM",
    "LatentDirichletAllocation",
    "LinearDiscriminant",
    "LogisticRegression",
    "MEDClassifier",
    "MaxMarginScoreSpace",
    "MedLDA",
    "MismatchKernel",
    "MixedNaiveBayes",
    "MultiTaskSVC",
    "MultinomialNaiveBayes",
    "Perceptron",
    "Prototypes",
    "QuadraticDiscriminant",
    "Round",
    "SemanticCompression",
    "SubgradientSVC",
    "SufficientStatistics",
    "WordNet",
    "class_means",
    "discriminant",
    "encode_symbols",
    "explained_examples",
    "semantic_distances",
]
