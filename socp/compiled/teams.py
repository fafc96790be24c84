"""Threads inside a kernel: a team works on numbered tasks, of which each member takes the next one that is left.

    begin_team(team)                    the other members start, by the operating system's own threads (POSIX)
    share(team, address, tasks)         the kernel at the address is called for each of the tasks 0, 1, ...
    end_team(team)                      they end, and are waited for

The caller is member 0 and works, too: where the others are late it does everything.  Nothing runs when `end_team` has
returned, and in between no kernel comes back to Python.  A structure whose kernels work so begins as a `Team`, and what
a task needs is in it.  Starting and ending a member takes some 50 us.

    silence_blas(team), restore_blas(team)

In between BLAS uses one thread: members may then call it at once, and in many small calls each would wait for threads
of its own, which takes longer than without them.  The number of threads belongs to the process, and anybody may set it
at any time, another solver in another thread among them.  So BLAS is asked each time, which takes some nanoseconds, and
told only where the number is another.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .kernels import INTERPRETED, inner, kernel_type
from .structures import Structure, integer, integers
from .threads import addresses_of_blas

ROUTINES = (
    "pthread_create", "pthread_join", "pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_unlock",
    "pthread_cond_init", "pthread_cond_wait", "pthread_cond_broadcast",
)  # fmt: skip
CREATE, JOIN, INIT_LOCK, LOCK, UNLOCK, INIT_SIGNAL, WAIT, BROADCAST, GET_BLAS, SET_BLAS = range(10)


class Team(Structure):
    """The threads that share the work of a kernel.

    Attributes
    ----------
    members : int
        How many may be at work, the caller among them.
    """

    members, started = integer(), integer()
    job, tasks, next, busy, over = integer(), integer(), integer(), integer(), integer()
    blas = integer()  # the threads that BLAS had
    routines = integers("10")  # their addresses, zero where there is none
    lock, work, done = integers("16"), integers("16"), integers("16")  # a mutex and two conditions, in enough words
    posts, handles = integers("2 * team"), integers("team")  # what each member is started with, and its thread

    def gather(self, members: int) -> None:
        """Have so many members, if threads can be had here; without it a team is its caller alone."""
        addresses = _addresses()
        self.members = members if addresses[CREATE] else 1
        self.routines[:] = addresses
        self.posts[::2], self.posts[1::2] = self.address, np.arange(self.handles.size)


def available() -> bool:
    """Whether a team can have more than one member here."""
    return bool(_addresses()[CREATE])


@functools.cache
def _addresses() -> list[int]:
    """Where the routines are that a team calls; zero where they are missing, all of them where nothing is compiled."""
    if INTERPRETED:
        return [0] * (len(ROUTINES) + 2)
    try:
        library = ctypes.CDLL(None)
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in ROUTINES]
    except (OSError, AttributeError, TypeError):  # Windows
        found = [0] * len(ROUTINES)
    return [*found, *addresses_of_blas()]


def _call_of(arguments: int) -> Any:
    """The intrinsic that calls a C function at an address with so many words, and returns an int."""

    @intrinsic
    def call(typing_context, address, *words):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            word = ir.IntType(64)
            kind = ir.FunctionType(ir.IntType(32), [word] * arguments)
            function = builder.inttoptr(values[0], kind.as_pointer())
            given = cgutils.unpack_tuple(builder, values[1], arguments) if arguments else []
            return builder.sext(builder.call(function, given), word)

        return types.int64(types.int64, types.StarArgTuple.from_types([types.int64] * arguments)), generate

    return call


_call_0, _call_1, _call_2, _call_4 = map(_call_of, (0, 1, 2, 4))


@intrinsic
def _floats_at(typing_context, address, size):  # type: ignore[no-untyped-def]
    """The vector that begins at an address: what a kernel was given and its tasks need."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = signature.return_type
        array = context.make_array(kind)(context, builder)
        item = context.get_constant(types.intp, 8)
        array.data = builder.inttoptr(arguments[0], context.get_data_type(types.float64).as_pointer())
        array.itemsize, array.nitems = item, arguments[1]
        array.shape = cgutils.pack_array(builder, [arguments[1]])
        array.strides = cgutils.pack_array(builder, [item])
        return array._getvalue()

    return types.float64[::1](types.int64, types.int64), generate


floats_at_address: Any = _floats_at


@kernel_type
def work(address: int, team: Team, task: int, member: int) -> None:
    """One task of those that are shared."""


@inner
def serve(team: Team, member: int) -> None:
    """What a member does until the team ends."""
    routines, lock, there = team.routines, team.lock.ctypes.data, team.work.ctypes.data
    _call_1(routines[LOCK], lock)
    while True:
        while team.over == 0 and team.next >= team.tasks:
            _call_2(routines[WAIT], there, lock)
        if team.over != 0:
            break
        take_tasks(team, member)
    _call_1(routines[UNLOCK], lock)


@inner
def take_tasks(team: Team, member: int) -> None:
    """Work on tasks while there are some; the lock is held before and after."""
    routines, lock = team.routines, team.lock.ctypes.data
    while team.next < team.tasks:
        task = team.next
        team.next, team.busy = task + 1, team.busy + 1
        _call_1(routines[UNLOCK], lock)
        work(team.job, team, task, member)
        _call_1(routines[LOCK], lock)
        team.busy = team.busy - 1
    if team.busy == 0:
        _call_1(routines[BROADCAST], team.done.ctypes.data)


@intrinsic
def _entry(typing_context, served):  # type: ignore[no-untyped-def]
    """The address of a C function that calls `serve` with the two words that its argument points to."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        kind = ir.FunctionType(word, [word.as_pointer()])
        function = ir.Function(builder.module, kind, "centralpath.member")
        function.linkage = "internal"
        inside = ir.IRBuilder(function.append_basic_block())
        team, member = (inside.load(inside.gep(function.args[0], [word(k)])) for k in range(2))
        pointer = inside.inttoptr(team, context.get_value_type(Team.numba_type))
        served.kernel.call(context, inside, (pointer, member))
        inside.ret(word(0))
        return builder.ptrtoint(function, word)

    return types.int64(served), generate


_address_of_member: Any = _entry


@inner
def begin_team(team: Team) -> None:
    """Start the other members; where the system has no more threads there are fewer."""
    routines, lock = team.routines, team.lock.ctypes.data
    team.started = 1
    _call_2(routines[INIT_LOCK], lock, 0)
    _call_2(routines[INIT_SIGNAL], team.work.ctypes.data, 0)
    _call_2(routines[INIT_SIGNAL], team.done.ctypes.data, 0)
    team.tasks, team.next, team.busy, team.over = 0, 0, 0, 0
    for member in range(1, team.members):
        handle, post = team.handles[member:].ctypes.data, team.posts[2 * member :].ctypes.data
        if _call_4(routines[CREATE], handle, 0, _address_of_member(serve), post) != 0:
            break
        team.started = member + 1


@inner
def share(team: Team, address: int, tasks: int) -> None:
    """Call the kernel at the address for each task, all members together; returns when all are done."""
    routines, lock = team.routines, team.lock.ctypes.data
    _call_1(routines[LOCK], lock)
    team.job, team.tasks, team.next = address, tasks, 0
    if tasks > 1:
        _call_1(routines[BROADCAST], team.work.ctypes.data)
    take_tasks(team, 0)
    while team.busy > 0:
        _call_2(routines[WAIT], team.done.ctypes.data, lock)
    _call_1(routines[UNLOCK], lock)


@inner
def end_team(team: Team) -> None:
    """Wait for the other members to end."""
    routines, lock = team.routines, team.lock.ctypes.data
    _call_1(routines[LOCK], lock)
    team.over = 1
    _call_1(routines[BROADCAST], team.work.ctypes.data)
    _call_1(routines[UNLOCK], lock)
    for member in range(1, team.started):
        _call_2(routines[JOIN], team.handles[member], 0)


@inner
def silence_blas(team: Team) -> None:
    """Let BLAS use one thread, until `restore_blas`."""
    routines = team.routines
    team.blas = 1
    if routines[GET_BLAS] != 0:
        team.blas = _call_0(routines[GET_BLAS])
        if team.blas != 1:
            _call_1(routines[SET_BLAS], 1)


@inner
def restore_blas(team: Team) -> None:
    """Let BLAS use as many threads as before."""
    if team.blas != 1:
        _call_1(team.routines[SET_BLAS], team.blas)
