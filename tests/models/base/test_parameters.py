"""Parameters declared as fields: `__init__`, its signature, and the docstring made of the class's and its bases'."""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY
from typing import Annotated, Literal

import pytest

from models.base.estimator import Classifier
from models.base.parameters import Positive as P
from models.base.parameters import fitted, parameters, sections
from models.base.validation import Range


@parameters
class Shared:
    """What some estimators share.

    Parameters
    ----------
    tol
        When it ends.
    a, b
        Both at once.

    Attributes
    ----------
    n_iter_ : int
        How often.
    """

    _: KW_ONLY
    tol: float = 1e-8
    verbose: int = 0


@parameters
class Example(Classifier, Shared):
    """An example.

    Parameters
    ----------
    way
        Which way.
    """

    C: float = 1.0
    way: Literal["up", "down"] = "up"
    a: float | None = None
    _: KW_ONLY
    tol: float = 1e-3

    coef_: float = fitted()

    def fit(self, X, y, sample_weight=None):
        """Fit.

        Returns
        -------
        Example
        """
        return self


def test_the_signature_has_the_own_parameters_first_and_those_by_position_as_declared():
    found = inspect.signature(Example).parameters.values()
    assert [(one.name, one.default) for one in found] == (
        [("C", 1.0), ("way", "up"), ("a", None), ("tol", 1e-3), ("verbose", 0)]
    )
    assert [one.kind is one.KEYWORD_ONLY for one in found] == [False, False, False, True, True]
    model = Example(2.0, "down", 3.0, verbose=1)
    assert model.get_params() == {"C": 2.0, "way": "down", "a": 3.0, "tol": 1e-3, "verbose": 1}
    assert not hasattr(model, "coef_")
    with pytest.raises(TypeError, match="takes 3 arguments by position, but 4 came"):
        Example(2.0, "down", 3.0, 1e-3)


def test_the_docstring_has_the_texts_of_the_bases_with_the_types_and_defaults_of_the_class():
    assert Example.__doc__ == (
        "An example.\n\nParameters\n----------\nC : float, default 1.0\n"
        'way : {"up", "down"}, default "up"\n    Which way.\n'
        "a : float, optional\n    Both at once.\n"
        "tol : float, default 0.001\n    When it ends.\nverbose : int, default 0\n\n"
        "Attributes\n----------\nclasses_ : array\n    The labels, sorted.\nn_iter_ : int\n    How often.\n\n"
        "Raises\n------\nValueError\n    By `fit`, if the samples or a parameter cannot be taken, "
        "as the message says.\n"
    )


def test_fit_has_the_texts_of_its_samples():
    lines = Example.fit.__doc__.splitlines()
    assert lines[:5] == ["Fit.", "", "Parameters", "----------", "X : array_like, shape (samples, features)"]
    assert [line.partition(" : ")[0] for line in lines if " : " in line] == ["X", "y", "sample_weight"]
    assert lines[-8:-4] == ["Returns", "-------", "Example", ""]
    assert lines[-4:-1] == ["Raises", "------", "ValueError"]


Word = Literal["up", "down"]
Angle = Annotated[float, Range(low=-90.0, high=90.0)]


@parameters
class Named(Classifier):
    """Types under other names than those of `models.base.parameters`."""

    C: P = 1.0
    way: Word = "up"
    angle: Angle | None = None
    tilt: Annotated[int, Range(low=2, whole=True)] = 2


@pytest.mark.parametrize("name, value", [("C", -1.0), ("C", 0.0), ("way", "left"), ("angle", 91.0), ("tilt", 2.5)])
def test_what_a_type_is_counts_and_not_its_name(name, value):
    Named()._check_fields()
    Named(angle=-90.0, way="down", C=1e-9, tilt=3)._check_fields()
    with pytest.raises(ValueError, match=f"{name} must be"):
        Named(**{name: value})._check_fields()
    assert "C : float, default 1.0" in Named.__doc__ and 'way : {"up", "down"}, default "up"' in Named.__doc__


def test_a_type_that_nobody_knows_is_refused_with_the_class():
    with pytest.raises(TypeError, match=r"Odd\.C has the type 'Unknown', which its module does not know"):

        @parameters
        class Odd(Classifier):
            C: Unknown = 1.0  # noqa: F821


def test_a_section_may_be_empty():
    text = "A text.\n\nReturns\n-------\n\nNotes\n-----\nOne.\n\nTwo.\n\nRaises\n------\n"
    summary, found = sections(text)
    assert summary == "A text." and {name: body.strip() for name, body in found.items()} == (
        {"Returns": "", "Notes": "One.\n\nTwo.", "Raises": ""}
    )


def test_what_fit_sets_is_declared_as_fitted():
    def undeclared():
        @parameters
        class Model(Classifier):
            C: float = 1.0
            coef_: float

    with pytest.raises(TypeError, match=r"Model\.coef_ is set by fit, .* declare it by fitted\(\)"):
        undeclared()
