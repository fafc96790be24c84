"""models: published learning problems written as cone programs."""

from .gaussian import LinearDiscriminant, Prototypes, QuadraticDiscriminant
from .joint_gaussian import JointGaussianRegressor
from .logistic import LogisticRegression
from .naive_bayes import BernoulliNaiveBayes, GaussianNaiveBayes, MixedNaiveBayes, MultinomialNaiveBayes

__all__ = [
    "BernoulliNaiveBayes",
    "GaussianNaiveBayes",
    "JointGaussianRegressor",
    "LinearDiscriminant",
    "LogisticRegression",
    "MixedNaiveBayes",
    "MultinomialNaiveBayes",
    "Prototypes",
    "QuadraticDiscriminant",
]
