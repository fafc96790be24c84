"""Settings: defaults, and every wrong one refused by name."""

import dataclasses
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


@pytest.mark.parametrize("name", ["tol", "tol_abs", "tol_infeasible", "regularization"])
@pytest.mark.parametrize("value", [0, -1e-8, math.nan, math.inf, "1e-8", True, [1e-8], 1j])
def test_not_a_positive_number(name, value):
    with pytest.raises(ProgramError, match=f"^{name} must be a positive number, but {re.escape(repr(value))} came"):
        Settings(**{name: value})


@pytest.mark.parametrize("value", [-1.0, math.nan, "1", None.__class__])
def test_wrong_time_limits(value):
    with pytest.raises(ProgramError, match=r"^time_limit must be a positive number, but "):
        Settings(time_limit=value)


@pytest.mark.parametrize("value", [0, 0.0, 1, 2.5, math.inf, None, np.float32(1)])
def test_time_limits(value):
    assert Settings(time_limit=value).time_limit == value


@pytest.mark.parametrize("value", [1.0, 1.5, 0.0, -0.5, None, "most"])
def test_wrong_step_fractions(value):
    with pytest.raises(ProgramError, match=r"^step_fraction must be "):
        Settings(step_fraction=value)


@pytest.mark.parametrize("name", ["max_iter", "refinement_steps"])
@pytest.mark.parametrize("value", [-1, 1.5, np.float64(2.5), math.nan, math.inf, "10", None, True])
def test_not_a_count(name, value):
    with pytest.raises(ProgramError, match=f"^{name} must be a nonnegative integer, but {re.escape(repr(value))} came"):
        Settings(**{name: value})


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


@pytest.mark.parametrize("value", [0, 7, np.int32(7), np.uint8(7), 10.0, np.float32(3)])
def test_counts(value):
    assert Settings(max_iter=value, refinement_steps=value).max_iter == value


@pytest.mark.parametrize("name", ["verbose", "equilibrate", "active_set", "check_convexity", "presolve"])
@pytest.mark.parametrize("value", [2, -1, "no", "True", None, 1.0, [True], np.ones(1, np.bool_)])
def test_neither_true_nor_false(name, value):
    with pytest.raises(ProgramError, match=f"^{name} must be True or False, but {re.escape(repr(value))} came"):
        Settings(**{name: value})


@pytest.mark.parametrize("name", ["verbose", "equilibrate", "active_set", "check_convexity", "presolve"])
@pytest.mark.parametrize("value", [True, False, np.True_, np.False_, 1, 0, np.int64(1)])
def test_flags(name, value):
    assert getattr(Settings(**{name: value}), name) is bool(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True])
def test_wrong_threads(value):
    with pytest.raises(ProgramError, match=f"^threads must be a positive integer, but {re.escape(repr(value))} came"):
        Settings(threads=value)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, int])
def test_counts_come_out_as_pythons_own(kind):
    settings = Settings(max_iter=kind(7), refinement_steps=kind(3), threads=kind(2))
    for name, value in (("max_iter", 7), ("refinement_steps", 3), ("threads", 2)):
        assert type(getattr(settings, name)) is int and getattr(settings, name) == value
    assert settings == Settings(max_iter=7, refinement_steps=3, threads=2)
    assert hash(settings) == hash(Settings(max_iter=7, refinement_steps=3, threads=2))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, int, float])
def test_numbers_come_out_as_pythons_own(kind):
    names = ("tol", "tol_abs", "tol_infeasible", "time_limit", "regularization")
    settings = Settings(**{name: kind(2) for name in names}, step_fraction=np.float32(0.5))
    for name in names:
        assert type(getattr(settings, name)) is float and getattr(settings, name) == 2.0
    assert type(settings.step_fraction) is float and settings.step_fraction == 0.5


def test_numpys_numbers_in_a_solve():
    program = {"c": [1.0], "G": [[-1.0]], "h": [-3.0], "cones": [socp.NonNeg(1)]}
    settings = {"max_iter": np.int64(50), "tol": np.float32(1e-6), "equilibrate": np.False_, "time_limit": np.int32(9)}
    assert socp.solve(**program, **settings).objective == pytest.approx(3.0, rel=1e-5)
    assert socp.solve(**program, max_iter=np.uint8(1)).iterations == 1


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
