"""models: published learning problems written as cone programs."""

from typing import TYPE_CHECKING

from socp.origin import late, require
from socp.version import __version__ as __version__

require("qp")

if TYPE_CHECKING:
    from .bilevel.bilevel import BilevelClassifier, Round
    from .bilevel.prior import GenerativePrior
    from .explanations.estimator import ExplanationAugmentedSVC
    from .explanations.given import explained_examples
    from .generative.coupled import CoupledDiscriminant
    from .generative.gaussian import LinearDiscriminant, Prototypes, QuadraticDiscriminant
    from .generative.joint_gaussian import JointGaussianRegressor
    from .generative.naive_bayes import BernoulliNaiveBayes, GaussianNaiveBayes, MixedNaiveBayes, MultinomialNaiveBayes
    from .logistic.hybrid import HybridNaiveBayes
    from .logistic.logistic import LogisticRegression
    from .score_spaces.fisher_kernel_learning import FisherKernelLearning
    from .score_spaces.free_energy import FreeEnergyClassifier
    from .score_spaces.large_margin_hmm import LargeMarginHMM
    from .score_spaces.med import MEDClassifier
    from .score_spaces.mss import MaxMarginScoreSpace
    from .score_spaces.scores import FisherScore, FreeEnergyScore, LogLikelihoodScore, SufficientStatistics
    from .sequences.discrete_hmm import DiscreteHMM
    from .sequences.gaussian_hmm import GaussianHMM
    from .sequences.sequences import encode_symbols
    from .svm.kernels import Kernel
    from .svm.knowledge import KnowledgeSVC
    from .svm.linear import LinearSVC, LinearSVR
    from .svm.minimax import MinimaxProbabilityClassifier
    from .svm.multitask import MultiTaskSVC
    from .svm.nu import NuSVC, NuSVR
    from .svm.one_class import OneClassSVM
    from .svm.path import SVCCV
    from .svm.perceptron import Perceptron
    from .svm.string_kernels import MismatchKernel
    from .svm.subgradient import SubgradientSVC
    from .svm.svc import SVC
    from .svm.svr import SVR
    from .topics.medlda import MedLDA
    from .topics.topics import LatentDirichletAllocation
    from .transfer.ontology import UNREACHABLE, Graph, semantic_distances
    from .transfer.transfer import (
        DiscriminativeTransfer,
        GenerativeTransfer,
        SemanticCompression,
        class_means,
        discriminant,
    )
    from .transfer.wordnet import WordNet

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "UNREACHABLE",
    "BernoulliNaiveBayes",
    "BilevelClassifier",
    "CoupledDiscriminant",
    "DiscreteHMM",
    "DiscriminativeTransfer",
    "ExplanationAugmentedSVC",
    "FisherKernelLearning",
    "FisherScore",
    "FreeEnergyClassifier",
    "FreeEnergyScore",
    "GaussianHMM",
    "GaussianNaiveBayes",
    "GenerativePrior",
    "GenerativeTransfer",
    "Graph",
    "HybridNaiveBayes",
    "JointGaussianRegressor",
    "Kernel",
    "KnowledgeSVC",
    "LargeMarginHMM",
    "LatentDirichletAllocation",
    "LinearDiscriminant",
    "LinearSVC",
    "LinearSVR",
    "LogLikelihoodScore",
    "LogisticRegression",
    "MEDClassifier",
    "MaxMarginScoreSpace",
    "MedLDA",
    "MinimaxProbabilityClassifier",
    "MismatchKernel",
    "MixedNaiveBayes",
    "MultiTaskSVC",
    "MultinomialNaiveBayes",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
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

if not TYPE_CHECKING:  # for which a module's __getattr__ would be a name for everything
    __getattr__ = late(
        __name__,
        {
            ".bilevel.bilevel": "BilevelClassifier Round",
            ".bilevel.prior": "GenerativePrior",
            ".explanations.estimator": "ExplanationAugmentedSVC",
            ".explanations.given": "explained_examples",
            ".generative.coupled": "CoupledDiscriminant",
            ".generative.gaussian": "LinearDiscriminant Prototypes QuadraticDiscriminant",
            ".generative.joint_gaussian": "JointGaussianRegressor",
            ".generative.naive_bayes": "BernoulliNaiveBayes GaussianNaiveBayes MixedNaiveBayes MultinomialNaiveBayes",
            ".logistic.hybrid": "HybridNaiveBayes",
            ".logistic.logistic": "LogisticRegression",
            ".score_spaces.fisher_kernel_learning": "FisherKernelLearning",
            ".score_spaces.free_energy": "FreeEnergyClassifier",
            ".score_spaces.large_margin_hmm": "LargeMarginHMM",
            ".score_spaces.med": "MEDClassifier",
            ".score_spaces.mss": "MaxMarginScoreSpace",
            ".score_spaces.scores": "FisherScore FreeEnergyScore LogLikelihoodScore SufficientStatistics",
            ".sequences.discrete_hmm": "DiscreteHMM",
            ".sequences.gaussian_hmm": "GaussianHMM",
            ".sequences.sequences": "encode_symbols",
            ".svm.kernels": "Kernel",
            ".svm.knowledge": "KnowledgeSVC",
            ".svm.linear": "LinearSVC LinearSVR",
            ".svm.minimax": "MinimaxProbabilityClassifier",
            ".svm.multitask": "MultiTaskSVC",
            ".svm.nu": "NuSVC NuSVR",
            ".svm.one_class": "OneClassSVM",
            ".svm.path": "SVCCV",
            ".svm.perceptron": "Perceptron",
            ".svm.string_kernels": "MismatchKernel",
            ".svm.subgradient": "SubgradientSVC",
            ".svm.svc": "SVC",
            ".svm.svr": "SVR",
            ".topics.medlda": "MedLDA",
            ".topics.topics": "LatentDirichletAllocation",
            ".transfer.ontology": "UNREACHABLE Graph semantic_distances",
            ".transfer.transfer": "DiscriminativeTransfer GenerativeTransfer SemanticCompression "
            "class_means discriminant",
            ".transfer.wordnet": "WordNet",
        },
    )


def __dir__() -> list[str]:
    return [*globals(), *__all__]
