"""A plugin of pytest that puts estimators of `models` in the places of scikit-learn's, for scikit-learn's own tests.

A substitute takes the arguments of the class whose place it has and tells its attributes.  An argument that does not
change the answer is left out; one for which there is nothing in `models` raises `Lacks`.
"""

import importlib
import inspect

import numpy as np
import scipy.sparse as sp

import models


class Lacks(NotImplementedError):
    """An argument asks for what `models` does not have."""


def is_one_of(value, values):
    """Return True if `value` is one of `values`, numbers and words compared."""
    return any(value is one or (isinstance(value, (str, float, int)) and value == one) for one in values)


def substitute(name, kind, names=None, ignored=(), only=None, defaults=None, attributes=None, of_sparse=()):
    """Return a subclass of `kind` that takes the arguments of scikit-learn's class `name`.

    Arguments have other `names`, are `ignored`, or have `only` the values listed.  `attributes` maps scikit-learn's
    names to functions of the estimator; those `of_sparse` are sparse if `fit` was given a sparse X.
    """
    names, only, defaults = names or {}, only or {}, defaults or {}

    def translated(given):
        found = {}
        for key, value in given.items():
            if key in only and not is_one_of(value, only[key]):
                raise Lacks(f"{key}={value!r}")
            if key not in ignored and key not in only:
                new = names.get(key, key)
                if callable(new):
                    found |= new(value)
                else:
                    found[new] = value
        return found

    def __init__(self, *places, **given):
        kind.__init__(self, *places, **{**defaults, **translated(given)})

    def set_params(self, **given):
        return kind.set_params(self, **translated(given))

    def fit(self, X, *others, **given):
        kind.fit(self, X, *others, **given)
        if sp.issparse(X):
            for attribute in of_sparse:
                if hasattr(self, attribute):
                    self.__dict__[attribute] = sp.csr_matrix(getattr(self, attribute))
            self._of_coef = getattr(self, "dual_coef_", None)
        return self

    for own in (__init__, fit):
        own.__signature__ = inspect.signature(getattr(kind, own.__name__))
    members = {"__init__": __init__, "set_params": set_params, "fit": fit, "__module__": __name__}
    return type(name, (kind,), members | {key: property(value) for key, value in (attributes or {}).items()})


MACHINE = {"only": {"probability": (False, "warn")}, "of_sparse": ("dual_coef_", "coef_")}
LOGISTIC = {
    "penalty": lambda value: {} if value in ("l2", "deprecated") else {"C": np.inf} if value is None else lacks(value)
}


def lacks(value):
    raise Lacks(f"penalty={value!r}")


def force_alpha(value):
    return {} if value else lacks(value)


def uniform(fit_prior):
    return {} if fit_prior else {"priors": "uniform"}


BAYES = {"names": {"class_prior": "priors", "fit_prior": uniform, "force_alpha": force_alpha}}
COUNTED = {"class_log_prior_": lambda self: np.log(self.priors_)}
PLACES = {
    "sklearn.svm": {
        "SVC": substitute("SVC", models.SVC, **MACHINE),
        "NuSVC": substitute("NuSVC", models.NuSVC, **MACHINE),
        "SVR": substitute("SVR", models.SVR, **MACHINE),
        "NuSVR": substitute("NuSVR", models.NuSVR, **MACHINE),
        "OneClassSVM": substitute("OneClassSVM", models.OneClassSVM, **MACHINE),
        "LinearSVC": substitute(
            "LinearSVC", models.LinearSVC, ignored=["dual"], only={"penalty": ("l2",), "multi_class": ("ovr",)}
        ),
        "LinearSVR": substitute("LinearSVR", models.LinearSVR, ignored=["dual"]),
    },
    "sklearn.linear_model": {
        "LogisticRegression": substitute(
            "LogisticRegression", models.LogisticRegression, names=LOGISTIC,
            ignored=["solver", "n_jobs", "random_state", "dual", "intercept_scaling", "tol"],
            only={"l1_ratio": (0, 0.0, None), "warm_start": (False,)},
        ),
    },
    "sklearn.discriminant_analysis": {
        "LinearDiscriminantAnalysis": substitute(
            "LinearDiscriminantAnalysis", models.LinearDiscriminant, defaults={"shrinkage": None},
            ignored=["solver", "tol", "store_covariance"], only={"n_components": (None,)},
        ),
        "QuadraticDiscriminantAnalysis": substitute(
            "QuadraticDiscriminantAnalysis", models.QuadraticDiscriminant, names={"reg_param": "shrinkage"},
            ignored=["solver", "tol", "store_covariance"],
            defaults={"shrinkage": None, "divisor": "unbiased"},
        ),
    },
    "sklearn.naive_bayes": {
        "GaussianNB": substitute(
            "GaussianNB", models.MixedNaiveBayes, attributes={"class_prior_": lambda self: self.priors_}
        ),
        "MultinomialNB": substitute("MultinomialNB", models.MultinomialNaiveBayes, attributes=COUNTED, **BAYES),
        "CategoricalNB": substitute(
            "CategoricalNB", models.MixedNaiveBayes, defaults={"kinds": "categorical"}, attributes=COUNTED,
            only={"min_categories": (None,)}, **BAYES,
        ),
        "BernoulliNB": substitute(
            "BernoulliNB", models.MixedNaiveBayes, defaults={"kinds": "bernoulli"}, attributes=COUNTED, **BAYES
        ),
    },
}  # fmt: skip

for module, classes in PLACES.items():
    for name, value in classes.items():
        setattr(importlib.import_module(module), name, value)
