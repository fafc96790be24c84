"""Compiled kernels: one declared signature each, called by the address of its symbol.

numba links a copy of every callee into its caller and optimizes it there again, which makes deep chains of kernels dear
to compile (the cost grows with the square of the depth).  Here a kernel is compiled for the types that its arguments
are annotated with, its machine code is known to LLVM under a symbol, and its callers call that symbol:

    @kernel      may be called from Python, too; it returns nothing or a number, as numba crashes when an interrupt
                 comes while it makes a Python object of a tuple or structure
    @inner       called from kernels; when Python calls it (tests do) it is compiled once more, with a way in
    @deferred    an inner kernel that most programs never call: compiled, or loaded, at its first call
    @deferred_kernel   the same, which may be called from Python, too
    @leaf        a few lines that are linked into their callers, where LLVM puts them in line

So a caller depends on the signature of a callee alone: to edit one kernel is to compile one kernel, and kernels are
compiled in any order, side by side in several processes (see `build`).  Callees are loaded before their callers: a
symbol that nobody has registered ends the process.  Of a deferred one that is the word that holds its address.

With NUMBA_DISABLE_JIT=1 the decorators return the functions as they are.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Generic, TypeVar

import llvmlite.binding
import numba
import numpy as np
from numba.core import cgutils, config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.extending import lower_builtin, models, register_model, typeof_impl
from numba.core.imputils import lower_constant
from numba.core.typing.templates import Signature
from numba.core.typing.templates import signature as call_signature

from .cache import CHECKS, MachineCode
from .deferred import Deferred
from .signatures import numba_signature
from .structure_type import StructureType

INTERPRETED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]

load: list[Callable[[list[Kernel]], None]] = []  # what compiles and loads kernels: `build.prepare`, once it is there
linked = False  # whether kernels are linked into each other, where numba knows no calls through symbols
lock = threading.RLock()  # numba's compiler works for one thread at a time
_kernels: list[Kernel] = []
T = TypeVar("T")


def _after_fork() -> None:
    """A child has no thread that would give the lock back."""
    global lock
    lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class lazy(Generic[T]):
    """`functools.cached_property` without the lock that Python 3.10 and 3.11 give it, which a fork may copy taken."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type) -> T:
        value = owner.__dict__[self.name] = self.make(owner)
        return value


class Kernel:
    """A function with one compiled signature.

    Attributes
    ----------
    py_func : function
    name : str
        Its module and name.
    symbol : str
        The name of its machine code.
    signature : numba Signature
    """

    # A call from Python goes straight to the machine code, once that is loaded: no frame of Python lies between them.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(self, py_func: Callable[..., Any], kind: str, is_deferred: bool = False) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func, self.kind = py_func, kind
        self.name = f"{py_func.__module__}.{py_func.__qualname__}"
        self.symbol = f"centralpath.{self.name}"
        self.type = KernelType(self)
        self.address_or_zero = 0  # of its machine code, once that is loaded
        self.__call__ = self._first_call
        self.deferred = Deferred(self.symbol, lambda: self.address) if is_deferred else None
        lower_builtin(self.type.key, types.VarArg(types.Any))(self._lower)
        if kind != "leaf":
            _kernels.append(self)

    @lazy
    def signature(self) -> Signature:
        result, arguments = numba_signature(self.py_func)
        if self.kind == "kernel" and result not in (types.none, types.int64, types.float64, types.boolean):
            raise TypeError(f"{self.name} is called from Python and must return nothing or a number, not {result}")
        return call_signature(result, *arguments)

    def _first_call(self, *arguments: Any) -> Any:
        if self.kind == "kernel":
            prepare([self])
        else:
            entry = _way_in(self)
            prepare([entry])
            self.__call__ = entry.__call__
        return self(*arguments)

    @property
    def address(self) -> int:
        """Where the machine code is, for a call by address."""
        if not self.address_or_zero:
            prepare([self])
        return self.address_or_zero

    @property
    def importable(self) -> bool:
        """Whether another process finds it by its module and name."""
        return self.kind != "way in" and self.py_func.__module__ != "__main__"

    @lazy
    def callees(self) -> tuple[Kernel, ...]:
        """The kernels whose symbols its machine code holds, but for deferred ones."""
        found: dict[int, Kernel] = {}
        for value in globals_of(self.py_func):
            if isinstance(value, Kernel) and value.deferred is None:
                for callee in value.callees if value.kind == "leaf" else (value,):
                    found[id(callee)] = callee
        return tuple(found.values())

    @lazy
    def stamp(self) -> str:
        """A digest of all that its machine code was made of: its own code, numbers, leaves, and what others declare."""
        digest = hashlib.sha256()
        for part in [
            _called(self),
            str(_side_by_side(self.py_func)),
            *_code_of(self.py_func.__code__),
            _declaration(self),
        ]:
            digest.update(part.encode())
        for value in globals_of(self.py_func):
            digest.update(_contribution(value).encode())
        return digest.hexdigest()

    @global_compiler_lock
    def compile(self) -> MachineCode:
        """Compile, whether or not it was before."""
        from . import machine

        return machine.emit(self._lowered())

    def _lowered(self) -> Any:
        from . import machine

        return machine.lower(
            self.py_func, self.signature, _allocates(self.py_func.__code__), self.kind in ("kernel", "way in"),
            self.kind == "leaf", _side_by_side(self.py_func),
        )  # fmt: skip

    @global_compiler_lock
    def load(self, code: MachineCode) -> None:
        """Take the machine code into this process, and let callers find it."""
        self._take(*_engine().load(code, self.py_func.__globals__))

    def _take(self, address: int, entry: Callable[..., Any] | None) -> None:
        llvmlite.binding.add_symbol(self.symbol, address)
        if entry is not None:
            self._compiled_entry = entry
            self.__call__ = self._checked_entry if CHECKS else entry
        self.address_or_zero = address  # last: a load that Ctrl-C ends before is done again
        if self.deferred is not None:
            self.deferred.word[0] = address

    def _checked_entry(self, *arguments: Any) -> Any:
        for value, kind in zip(arguments, self.signature.args, strict=True):
            if isinstance(kind, types.Array):
                came = numba.typeof(value)
                if (came.dtype, came.ndim, came.layout) != (kind.dtype, kind.ndim, "C"):
                    raise TypeError(f"{self.name} takes {kind}, but {came} came")
        return self._compiled_entry(*arguments)

    @lazy
    def linkable(self) -> Any:
        """numba's result, to be linked into callers."""
        return self._lowered() if self.kind == "leaf" and not linked else self._finished()

    def _finished(self) -> Any:
        """numba's result, compiled in its own way with all callees linked in."""
        dispatcher = numba.njit(nogil=True, error_model="numpy")(self.py_func)
        dispatcher.compile(self.signature)
        (made,) = dispatcher.overloads.values()
        return made

    @global_compiler_lock
    def link(self) -> None:
        """Compile in numba's own way, with all callees linked in where there are no symbols; nothing goes to disk."""
        made = self.linkable
        self._take(made.library.get_pointer_to_function(made.fndesc.llvm_func_name), made.entry_point)

    def _lower(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """The code of a call from a kernel, which hands on an error."""
        status, result = self.call(context, builder, arguments)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    def call(self, context: Any, builder: Any, arguments: Any) -> Any:
        """The code of a call: of the symbol, or of a leaf that is linked into the caller; (status, result)."""
        convention = context.call_conv
        kind = convention.get_function_type(self.signature.return_type, self.signature.args)
        if self.kind == "leaf" or linked:
            made = self.linkable
            context.active_code_library.add_linking_library(made.library)
            function = cgutils.get_or_insert_function(builder.module, kind, made.fndesc.llvm_func_name)
        elif self.deferred is not None:
            function = self.deferred.function(context, builder, kind)
        else:
            function = cgutils.get_or_insert_function(builder.module, kind, self.symbol)
        return convention.call_function(builder, function, self.signature.return_type, self.signature.args, arguments)


class KernelType(types.Callable):
    """The numba type of one kernel."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        super().__init__(f"kernel({kernel.name})")

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        declared = self.kernel.signature
        if keywords or len(arguments) != len(declared.args):
            return None
        if any(context.can_convert(came, wanted) is None for came, wanted in zip(arguments, declared.args)):
            return None
        return declared

    def get_call_signatures(self) -> Any:
        return [self.kernel.signature], False

    def get_impl_key(self, signature: Any) -> Any:
        return self.key

    @property
    def key(self) -> str:
        return f"kernel({self.kernel.name})"


@typeof_impl.register(Kernel)
def _type_of(value: Kernel, context: Any) -> KernelType:
    return value.type


register_model(KernelType)(models.OpaqueModel)


@lower_constant(KernelType)
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


def kernel(py_func: Callable[..., Any]) -> Any:
    """A kernel that Python may call."""
    return py_func if INTERPRETED else Kernel(py_func, "kernel")


def inner(py_func: Callable[..., Any]) -> Any:
    """A kernel that kernels call."""
    return py_func if INTERPRETED else Kernel(py_func, "inner")


def deferred(py_func: Callable[..., Any]) -> Any:
    """A kernel that kernels call rarely."""
    return py_func if INTERPRETED else Kernel(py_func, "inner", is_deferred=True)


def deferred_kernel(py_func: Callable[..., Any]) -> Any:
    """A kernel that Python calls rarely, and maybe kernels."""
    return py_func if INTERPRETED else Kernel(py_func, "kernel", is_deferred=True)


def leaf(py_func: Callable[..., Any]) -> Any:
    """A kernel that is linked into the kernels that call it."""
    return py_func if INTERPRETED else Kernel(py_func, "leaf")


def prepare(wanted: list[Kernel]) -> None:
    """Compile what is missing of these kernels, and load them."""
    load[0](wanted)


def link_from_now_on() -> None:
    """Have kernels linked into each other."""
    global linked
    linked = True


@functools.cache
def _engine() -> Any:
    from . import machine

    return machine.Engine()


def kernels() -> list[Kernel]:
    """All kernels that are defined so far, but for leaves."""
    return list(_kernels)


def globals_of(py_func: Callable[..., Any]) -> Iterator[Any]:
    """What the function's code takes from outside: globals by name, and what it takes from modules among these."""
    names = list(_names_of(py_func.__code__))
    for name in names:
        if name not in py_func.__globals__:
            continue
        value = py_func.__globals__[name]
        if isinstance(value, ModuleType):
            yield from (
                vars(value)[other] for other in names if isinstance(vars(value).get(other), (Kernel, int, float))
            )
        else:
            yield value


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)


def _code_of(code: CodeType) -> Iterator[str]:
    """What a function does, without its docstring and its lines."""
    yield code.co_code.hex()
    yield repr(code.co_names + code.co_varnames)
    for at, constant in enumerate(code.co_consts):
        if isinstance(constant, CodeType):
            yield from _code_of(constant)
        elif at > 0 or not isinstance(constant, str):
            yield repr(constant)


def _contribution(value: Any) -> str:
    if isinstance(value, Kernel):
        return value.stamp if value.kind == "leaf" else _called(value) + _declaration(value)
    if isinstance(value, Foreign):
        return value.name + _declaration(value)
    return repr(value) if isinstance(value, (int, float, np.number, tuple)) else ""


def _called(kernel: Kernel) -> str:
    """How callers call it, in words."""
    return f"{kernel.kind} {'' if kernel.deferred is None else 'deferred '}{kernel.symbol} "


def _declaration(kernel: Kernel | Foreign) -> str:
    return repr([_layout(kind) for kind in (kernel.signature.return_type, *kernel.signature.args)])


@functools.cache
def _layout(kind: types.Type) -> str:
    if isinstance(kind, StructureType):
        return f"{kind.name}{[(name, _layout(field), place) for name, field, place in kind.fields]}"
    return str(kind)


def _side_by_side(py_func: Callable[..., Any]) -> bool:
    """Whether LLVM may make vector instructions of equal operations side by side: where the module says `SIDE_BY_SIDE`.

    numba leaves it out by default, and short loops over pairs of numbers are slower with it.
    """
    return bool(py_func.__globals__.get("SIDE_BY_SIDE", False))


ALLOCATING = {"empty", "zeros", "ones", "full", "arange", "copy", "sort", "argsort", "empty_like", "zeros_like", "sum"}


def _allocates(code: CodeType) -> bool:
    """Whether a kernel makes arrays, of which numba then counts references: two atomic operations an array and call."""
    return bool(ALLOCATING & set(_names_of(code)))


def _way_in(kernel: Kernel) -> Kernel:
    """The same function once more, as a kernel that Python may call."""
    own = kernel.py_func
    copy: Any = FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
    copy.__annotations__, copy.__qualname__ = own.__annotations__, f"{own.__qualname__}.way_in"
    copy.__module__ = own.__module__
    return Kernel(copy, "way in")


_functions: dict[int, Callable[..., Any]] = {}  # by address, where nothing is compiled


def address_of(function: Any) -> int:
    """What a call by address takes for the kernel."""
    if isinstance(function, Kernel):
        return function.address
    _functions[id(function)] = function
    return id(function)


class Foreign:
    """What kernels call beside kernels: its name, its `signature`, and how it is called.

    Where nothing is compiled it is called as it is.
    """

    signature: Signature

    def __init__(self, name: str) -> None:
        self.name = name
        self.type = ForeignType(self)
        lower_builtin(self.type.key, types.VarArg(types.Any))(self._lower)

    def _lower(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return self.lower(context, builder, arguments)

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """The code of a call; returns its result."""
        raise NotImplementedError


def kernel_type(py_func: Callable[..., Any]) -> Any:
    """Make an annotated function without a body, its first argument an address, a call of the kernel there."""
    return Indirect(py_func)


class Indirect(Foreign):
    """A call of a kernel by its address: ``call(address, *arguments)``, the kernel being of the declared signature.

    A structure among the arguments may be declared as one that it begins with.
    """

    def __init__(self, py_func: Callable[..., Any]) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        super().__init__(f"{py_func.__module__}.{py_func.__qualname__}")

    def __call__(self, address: int, *arguments: Any) -> Any:
        """The call without compilation."""
        return _functions[address](*arguments)

    @lazy
    def signature(self) -> Signature:  # type: ignore[override]
        result, arguments = numba_signature(self.py_func)
        return call_signature(result, *arguments)

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """The code of the call, which hands on an error."""
        convention, result, wanted = context.call_conv, self.signature.return_type, self.signature.args[1:]
        kind = convention.get_function_type(result, wanted)
        function = builder.inttoptr(values[0], kind.as_pointer())
        status, value = convention.call_function(builder, function, result, wanted, values[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value


class ForeignType(KernelType):
    """The numba type of what kernels call beside kernels."""


@typeof_impl.register(Foreign)
def _type_of_foreign(value: Foreign, context: Any) -> ForeignType:
    return value.type


register_model(ForeignType)(models.OpaqueModel)
lower_constant(ForeignType)(_constant)
