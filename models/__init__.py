"""models: published learning problems written as cone programs."""

from typing import TYPE_CHECKING

from socp.origin import late, require
from socp.version import __version__ as __version__

require("qp")

if TYPE_CHECKING:
    from .bilevel.bilevel import BilevelClassifier as BilevelClassifier
    from .bilevel.bilevel import Round as Round
    from .bilevel.prior import GenerativePrior as GenerativePrior
    from .bilevel.report import PriorReport as PriorReport
    from .bilevel.report import explain_prior as explain_prior
    from .explanations.estimator import ExplanationAugmentedSVC as ExplanationAugmentedSVC
    from .explanations.given import explained_examples as explained_examples
    from .generative.coupled import CoupledDiscriminant as CoupledDiscriminant
    from .generative.gaussian import LinearDiscriminant as LinearDiscriminant
    from .generative.gaussian import Prototypes as Prototypes
    from .generative.gaussian import QuadraticDiscriminant as QuadraticDiscriminant
    from .generative.joint_gaussian import JointGaussianRegressor as JointGaussianRegressor
    from .generative.naive_bayes import MixedNaiveBayes as MixedNaiveBayes
    from .generative.naive_bayes import MultinomialNaiveBayes as MultinomialNaiveBayes
    from .kernel_machines.kernel_matrix import KernelMatrix as KernelMatrix
    from .kernel_machines.program import KernelProgram as KernelProgram
    from .kernel_machines.series import SeriesSolutions as SeriesSolutions
    from .kernel_machines.series import solve_series as solve_series
    from .kernel_machines.solver import KernelSolver as KernelSolver
    from .kernels.kernel import Kernel as Kernel
    from .kernels.mismatch import MismatchKernel as MismatchKernel
    from .knowledge.moments import MinimaxProbabilityClassifier as MinimaxProbabilityClassifier
    from .knowledge.regions import KnowledgeSVC as KnowledgeSVC
    from .knowledge.tasks import MultiTaskSVC as MultiTaskSVC
    from .linear.linear import LinearSVC as LinearSVC
    from .linear.linear import LinearSVR as LinearSVR
    from .logistic.hybrid import HybridNaiveBayes as HybridNaiveBayes
    from .logistic.logistic import LogisticRegression as LogisticRegression
    from .score_spaces.choice import ScoreSpaceClassifier as ScoreSpaceClassifier
    from .score_spaces.fisher_kernel_learning import FisherKernelLearning as FisherKernelLearning
    from .score_spaces.free_energy import FreeEnergyClassifier as FreeEnergyClassifier
    from .score_spaces.large_margin_hmm import LargeMarginHMM as LargeMarginHMM
    from .score_spaces.med import MEDClassifier as MEDClassifier
    from .score_spaces.mss import MaxMarginScoreSpace as MaxMarginScoreSpace
    from .score_spaces.scores import FisherScore as FisherScore
    from .score_spaces.scores import FreeEnergyScore as FreeEnergyScore
    from .score_spaces.scores import LogLikelihoodScore as LogLikelihoodScore
    from .score_spaces.scores import SufficientStatistics as SufficientStatistics
    from .sequences.discrete_hmm import DiscreteHMM as DiscreteHMM
    from .sequences.gaussian_hmm import GaussianHMM as GaussianHMM
    from .sequences.sequences import encode_symbols as encode_symbols
    from .svm.nu import NuSVC as NuSVC
    from .svm.nu import NuSVR as NuSVR
    from .svm.one_class import OneClassSVM as OneClassSVM
    from .svm.path import SVCCV as SVCCV
    from .svm.svc import SVC as SVC
    from .svm.svr import SVR as SVR
    from .topics.medlda import MedLDA as MedLDA
    from .topics.topics import LatentDirichletAllocation as LatentDirichletAllocation
    from .transfer.ontology import UNREACHABLE as UNREACHABLE
    from .transfer.ontology import Graph as Graph
    from .transfer.ontology import semantic_distances as semantic_distances
    from .transfer.transfer import DiscriminativeTransfer as DiscriminativeTransfer
    from .transfer.transfer import GenerativeTransfer as GenerativeTransfer
    from .transfer.transfer import SemanticCompression as SemanticCompression
    from .transfer.transfer import class_means as class_means
    from .transfer.transfer import discriminant as discriminant
    from .transfer.wordnet import WordNet as WordNet

PLACES = {
    ".bilevel.bilevel": "BilevelClassifier Round",
    ".bilevel.prior": "GenerativePrior",
    ".bilevel.report": "PriorReport explain_prior",
    ".explanations.estimator": "ExplanationAugmentedSVC",
    ".explanations.given": "explained_examples",
    ".generative.coupled": "CoupledDiscriminant",
    ".generative.gaussian": "LinearDiscriminant Prototypes QuadraticDiscriminant",
    ".generative.joint_gaussian": "JointGaussianRegressor",
    ".generative.naive_bayes": "MixedNaiveBayes MultinomialNaiveBayes",
    ".kernel_machines.kernel_matrix": "KernelMatrix",
    ".kernel_machines.program": "KernelProgram",
    ".kernel_machines.series": "SeriesSolutions solve_series",
    ".kernel_machines.solver": "KernelSolver",
    ".logistic.hybrid": "HybridNaiveBayes",
    ".logistic.logistic": "LogisticRegression",
    ".score_spaces.fisher_kernel_learning": "FisherKernelLearning",
    ".score_spaces.choice": "ScoreSpaceClassifier",
    ".score_spaces.free_energy": "FreeEnergyClassifier",
    ".score_spaces.large_margin_hmm": "LargeMarginHMM",
    ".score_spaces.med": "MEDClassifier",
    ".score_spaces.mss": "MaxMarginScoreSpace",
    ".score_spaces.scores": "FisherScore FreeEnergyScore LogLikelihoodScore SufficientStatistics",
    ".sequences.discrete_hmm": "DiscreteHMM",
    ".sequences.gaussian_hmm": "GaussianHMM",
    ".sequences.sequences": "encode_symbols",
    ".kernels.kernel": "Kernel",
    ".knowledge.regions": "KnowledgeSVC",
    ".linear.linear": "LinearSVC LinearSVR",
    ".knowledge.moments": "MinimaxProbabilityClassifier",
    ".knowledge.tasks": "MultiTaskSVC",
    ".svm.nu": "NuSVC NuSVR",
    ".svm.one_class": "OneClassSVM",
    ".svm.path": "SVCCV",
    ".kernels.mismatch": "MismatchKernel",
    ".svm.svc": "SVC",
    ".svm.svr": "SVR",
    ".topics.medlda": "MedLDA",
    ".topics.topics": "LatentDirichletAllocation",
    ".transfer.ontology": "UNREACHABLE Graph semantic_distances",
    ".transfer.transfer": "DiscriminativeTransfer GenerativeTransfer SemanticCompression class_means discriminant",
    ".transfer.wordnet": "WordNet",
}
__all__ = sorted(name for names in PLACES.values() for name in names.split())

if not TYPE_CHECKING:  # type checkers would take __getattr__ for a definition of every name
    __getattr__ = late(__name__, PLACES)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
