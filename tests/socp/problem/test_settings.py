"""Settings: defaults, and every wrong one refused by name."""

import dataclasses
import itertools
import math
import pickle
import re
import sys

import numpy as np
import pytest

import socp
from socp import ProgramError, Settings


def test_defaults_are_what_the_design_says():
    settings = Settings()
    assert (settings.tol, settings.tol_abs, settings.max_iter) == (1e-8, None, 200)
    assert (settings.time_limit, settings.verbose, settings.callback, settings.kkt) == (None, False, None, "auto")
    assert Settings() == settings
    assert pickle.loads(pickle.dumps(settings)) == settings


FLAGS = "verbose equilibrate active_set check_convexity presolve"


@pytest.mark.parametrize("names, words, values", [
    ("tol tol_abs tol_infeasible regularization", "a positive number",
     [0, -1e-8, math.nan, math.inf, "1e-8", True, [1e-8], 1j]),
    ("time_limit", "a positive number", [-1.0, math.nan, "1", None.__class__]),
    ("max_iter refinement_steps", "a nonnegative integer",
     [-1, 1.5, np.float64(2.5), math.nan, math.inf, "10", None, True]),
    ("threads", "a positive integer", [0, -1, 1.5, "2", None, True]),
    ("step_fraction", "", [1, 1.5, 0, -0.5, None, "most"]),
    (FLAGS, "True or False", [2, -1, "no", "True", None, 1.0, [True], np.ones(1, np.bool_)]),
])  # fmt: skip
def test_refused(names, words, values):
    for name, value in itertools.product(names.split(), values):
        with pytest.raises(ProgramError, match=f"^{name} must be {words}.* but {re.escape(repr(value))} came"):
            Settings(**{name: value})


@pytest.mark.parametrize("names, kind, values", [
    ("tol tol_abs tol_infeasible time_limit regularization", float, [1, 2.5, np.float32(2), np.int64(2)]),
    ("time_limit", float, [0, math.inf]), ("step_fraction", float, [0.5, np.float32(0.5)]),
    ("max_iter refinement_steps", int, [0, 7, np.int32(7), np.uint8(7), 10.0, np.float32(3)]),
    ("threads", int, [2, np.int64(2), np.uint8(2)]),
    (FLAGS, bool, [True, False, np.True_, np.False_, 1, 0, np.int64(1)]),
])  # fmt: skip
def test_what_is_taken_comes_out_as_pythons_own(names, kind, values):
    for name, value in itertools.product(names.split(), values):
        found, own = Settings(**{name: value}), Settings(**{name: kind(value)})
        assert type(getattr(found, name)) is kind and getattr(found, name) == value
        assert found == own and hash(found) == hash(own)


@pytest.mark.parametrize("name", ["max_iter", "refinement_steps", "threads"])
def test_a_count_beyond_the_integers_of_the_machine(name):
    with pytest.raises(ProgramError, match=f"^{name} must be at most {sys.maxsize}, but 1{30 * '0'} came"):
        Settings(**{name: 10**30})


@pytest.mark.parametrize("value", [sys.maxsize, 2**31, 2**32])
def test_a_large_count_is_no_limit(value):
    program = {"c": np.ones(2), "G": -np.eye(2), "h": np.array([1.0, 2.0]), "cones": [socp.NonNeg(2)]}
    solution = socp.solve(**program, max_iter=value, refinement_steps=value)
    assert solution.status == "optimal"
    np.testing.assert_allclose(solution.x, [-1.0, -2.0], atol=1e-7)


def test_callback_and_kkt():
    with pytest.raises(ProgramError, match=r"^callback must be callable, but 3 came"):
        Settings(callback=3)
    with pytest.raises(ProgramError, match=r'^kkt must be "auto", .*"ldl".*, but \'qr\' came'):
        Settings(kkt="qr")
    assert Settings(kkt="ldl", callback=print).callback is print


def test_unknown_settings_are_named_and_the_known_ones_listed():
    with pytest.raises(
        ProgramError, match=r"^unknown setting 'tolerance'; did you mean 'tol'.; the settings are "
    ) as error:
        Settings(**{"tol": 1e-6, "tolerance": 1e-6})
    for field in dataclasses.fields(Settings):
        assert field.name in str(error.value)


def test_settings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().tol = 1.0
