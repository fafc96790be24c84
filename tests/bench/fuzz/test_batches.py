"""Batches in several orders and with two threads; batches with exchanged answers are detected."""

import math
from collections import Counter

import numpy as np
import pytest

from bench import commands as command
from bench.fuzz import batches
from bench.fuzz.judge import EXCEPTION, MISSED, WRONG
from socp import Status
from socp.batch.groups import Group


def test_batches_of_all_kinds_pass(capsys):
    assert command.main(["fuzz", "--batches", "--programs", "200", "--seed", "1"]) == 0
    printed = capsys.readouterr().out
    assert "0 batches with bits that depend on neighbours, order or threads" in printed
    for kind in ("cone in lanes, own", "cone in lanes, shared", "qp in lanes, own", "qp in lanes, shared"):
        assert kind in printed


@pytest.mark.parametrize(("spoil", "expected"), [
    (lambda many: many.x.__setitem__(0, np.nextafter(many.x[0], 9.0)), None),  # the first answer differs
    (lambda many: many.x.__setitem__(slice(None), np.roll(many.x, 1, axis=0)), WRONG),  # all answers are swapped
])  # fmt: skip
def test_answers_that_depend_on_their_places_are_seen(spoil, expected, monkeypatch):
    collect = Group.collect

    def spoilt(self, many):
        left = collect(self, many)
        if len(many) > 1:
            spoil(many)
        return left

    monkeypatch.setattr(Group, "collect", spoilt)
    told = []
    campaign, differing = batches.run(0, math.inf, 80, tell=told.append)
    assert differing > 0 and any("other bits reversed" in line for line in told)
    assert expected is None or sum(counts[expected] for counts in campaign.counts.values()) > 10
    assert told[0].startswith("python -m bench fuzz --batches --seed 0 --only ")


def test_failures_and_exceptions_are_told(monkeypatch):
    solve = batches.solve

    def failing(cases, shared, threads, start=None):
        many = solve(cases, shared, threads, start)
        if len(cases) == 3:
            raise IndexError("out of range")
        many.alone.clear()
        many.status.fill(Status.NUMERICAL_ERROR)
        return many

    monkeypatch.setattr(batches, "solve", failing)
    told = []
    campaign, differing = batches.run(0, math.inf, 80, tell=told.append)
    counts = sum(campaign.counts.values(), Counter())
    assert (
        counts[MISSED] > 30
        and campaign.expected >= counts[MISSED]
        and any("missed, program 0: numerical_error" in line for line in told)
    )
    assert counts[EXCEPTION] > 0 and any("exception, program 0: IndexError: out of range" in line for line in told)
    assert campaign.failed and not differing


def test_one_batch_alone():
    campaign, _ = batches.run(0, math.inf, None, only=3)
    assert campaign.programs == len(batches.draw(np.random.default_rng([0, 3]))[1])
