"""Threads inside a kernel: every task is done once, nothing is left running, and BLAS gets its threads back."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from socp.compiled import teams
from socp.compiled.kernels import INTERPRETED, inner, kernel
from socp.compiled.signatures import Floats
from socp.compiled.structures import floats, integer, integers
from socp.compiled.teams import Team, begin_team, end_team, floats_at_address, restore_blas, share, silence_blas
from socp.compiled.threads import blas_threads, bundled_libraries

pytestmark = pytest.mark.skipif(INTERPRETED, reason="teams are of compiled kernels")


class Sums(Team):
    """Sums over equal parts of a vector that is known by its address."""

    found, times = floats("parts"), integers("parts")
    place, size, function = integer(), integer(), integer()
    inside = integer()  # threads of BLAS


@inner
def add_up(sums: Sums, task: int, member: int) -> None:
    """One part."""
    x, total, each = floats_at_address(sums.place, sums.size), 0.0, sums.size // sums.found.size
    for i in range(task * each, (task + 1) * each):
        total += x[i]
    sums.found[task] = total
    sums.times[task] += 1


@kernel
def total_of(sums: Sums, x: Floats, rounds: int) -> float:
    """The sum over x, by all members, several times one after the other."""
    sums.place, sums.size = x.ctypes.data, x.size
    silence_blas(sums)
    begin_team(sums)
    for _ in range(rounds):
        share(sums, sums.function, sums.found.size)
        share(sums, sums.function, 0)
    end_team(sums)
    sums.inside = sums.blas
    restore_blas(sums)
    total = 0.0
    for k in range(sums.found.size):
        total += sums.found[k]
    return total


def sums_of(parts, members, room=None):
    sums = Sums(parts=parts, team=members if room is None else room)
    sums.gather(members)
    sums.function = add_up.address
    return sums


@pytest.mark.parametrize("members", [1, 2, 3, 8])
@pytest.mark.parametrize("parts", [1, 2, 50])
def test_every_task_is_done_once_a_round(members, parts):
    sums, x = sums_of(parts, members), np.arange(1000.0 * parts)
    for rounds in (1, 20):
        sums.times[:] = 0
        assert total_of(sums, x, rounds) == x.sum()
        np.testing.assert_array_equal(sums.times, rounds)


def test_nothing_is_left_running():
    sums, x = sums_of(10, 4), np.ones(1000)
    for _ in range(300):
        assert total_of(sums, x, 3) == 1000.0
    assert sums.busy == 0 and sums.over == 1


def test_teams_of_several_threads_do_not_meet():
    found = []

    def work(seed):
        sums, x = sums_of(20, 3), np.arange(2000.0) + seed
        found.append(all(total_of(sums, x, 5) == x.sum() for _ in range(50)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 3


def test_without_threads_of_the_system_the_caller_does_it_all(monkeypatch):
    monkeypatch.setattr(teams, "_addresses", lambda: [0] * 10)
    assert not teams.available()
    sums = Sums(parts=1, team=2)
    sums.gather(2)
    assert sums.members == 1


def test_blas_gets_its_threads_back():
    libraries = bundled_libraries()
    if not libraries:
        assert teams._addresses()[teams.GET_BLAS] == 0
        return
    with blas_threads(2):
        sums = sums_of(2, 2)
        total_of(sums, np.ones(2), 1)
        assert sums.inside == 2 and {get() for get, _ in libraries} == {2}
