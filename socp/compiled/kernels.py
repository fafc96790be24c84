"""Compiled kernels: one declared signature each, called by the address of its symbol.

numba links a copy of every callee into its caller and optimizes it there again, which makes deep chains of kernels slow
to compile (the cost grows with the square of the depth).  Here a kernel is compiled for the types that its arguments
are annotated with, its machine code is known to LLVM under a symbol, and its callers call that symbol:

    @kernel      may be called from Python, too; it returns nothing or a number, as numba crashes if it is interrupted
                 while it makes a Python object of a tuple or structure
    @inner       called from kernels; when Python calls it (tests do) it is compiled once more, with a way in
    @deferred    an inner kernel that most programs never call: compiled, or loaded, at its first call
    @deferred_kernel   a deferred kernel that Python may call, too
    @leaf        a few lines that are linked into their callers, where LLVM puts them in line

A caller depends only on the signatures of its callees: an edit of one kernel recompiles one kernel, and kernels are
compiled in any order, in several processes (see `build`).  Callees are loaded before their callers, as an unknown
symbol ends the process.  The symbol of a deferred kernel is the word that holds its address.

With NUMBA_DISABLE_JIT=1 the decorators return the functions as they are.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core import cgutils, config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.extending import lower_builtin, models, register_model, typeof_impl
from numba.core.imputils import lower_constant
from numba.core.typing.templates import Signature
from numba.core.typing.templates import signature as call_signature

from .deferred import Deferred
from .signatures import numba_signature
from .structure_type import StructureType
from .target import CHECKS, MachineCode, numba_is_known

INTERPRETED = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]

load: list[Callable[[list[Kernel]], None]] = []  # `build.prepare`, once it is imported: compiles and loads
lock = threading.RLock()  # numba's compiler works for one thread at a time
_kernels: list[Kernel] = []


def _after_fork() -> None:
    """Make a new lock in a forked child, which has no thread that would release the old one."""
    global lock
    lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def once(method: Callable[[Any], Any]) -> Any:
    """Decorate a method as a property that is computed once.

    Before Python 3.12 `functools.cached_property` holds a lock, which a fork may copy locked.
    """
    return property(functools.cache(method))


class Callee:
    """Base class of all that kernels call by name: kernels and machine code from elsewhere.

    Attributes
    ----------
    name : str
    type : CalleeType
    signature : numba Signature
    """

    __slots__ = ("__dict__", "__weakref__")
    name: str
    signature: Any

    def __init__(self, name: str) -> None:
        self.name = name
        self.type = CalleeType(self)
        lower_builtin(self.type.key, types.VarArg(types.Any))(self._lower)

    def _lower(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return self.lower(context, builder, arguments)

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """Generate the code of a call and return its result."""
        raise NotImplementedError

    def lower_call(self, context: Any, builder: Any, function: Any, values: list[Any]) -> Any:
        """Generate a call that follows numba's convention and propagates errors; return its result."""
        convention, result = context.call_conv, self.signature.return_type
        wanted = self.signature.args[-len(values) :] if values else ()
        status, value = convention.call_function(builder, function, result, wanted, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value


class CalleeType(types.Callable):
    """Numba type of one callee."""

    def __init__(self, callee: Any) -> None:
        self.callee = callee
        super().__init__(f"callee({callee.name})")

    def get_call_type(self, context: Any, arguments: Any, keywords: Any) -> Any:
        declared = self.callee.signature
        if keywords or len(arguments) != len(declared.args):
            return None
        if any(context.can_convert(came, wanted) is None for came, wanted in zip(arguments, declared.args)):
            return None
        return declared

    def get_call_signatures(self) -> Any:
        return [self.callee.signature], False

    def get_impl_key(self, signature: Any) -> Any:
        return self.key

    @property
    def key(self) -> str:
        return self.name


register_model(CalleeType)(models.OpaqueModel)


@typeof_impl.register(Callee)
def _type_of(value: Callee, context: Any) -> CalleeType:
    return value.type


@lower_constant(CalleeType)
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()


class Kernel(Callee):
    """Function with one compiled signature.

    Attributes
    ----------
    py_func : function
    name : str
        Module and name of the function.
    kind : str
        "kernel", "inner", "leaf", or "way in": a copy of an inner kernel or a leaf that Python may call.
    symbol : str
        Name of the machine code.
    address_or_zero : int
        Address of the machine code, or 0 before it is loaded.
    """

    # After loading, `__call__` is the entry of the machine code: a call from Python needs no further Python frame.
    __slots__ = ("__call__",)
    __call__: Callable[..., Any]

    def __init__(self, py_func: Callable[..., Any], kind: str, is_deferred: bool = False) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func, self.kind = py_func, kind
        super().__init__(f"{py_func.__module__}.{py_func.__qualname__}")
        self.symbol = f"centralpath.{self.name}"
        self.address_or_zero = 0
        self.__call__ = self._first_call
        self.deferred = Deferred(self.symbol, lambda: self.address) if is_deferred else None
        if kind != "leaf":
            _kernels.append(self)

    @once
    def signature(self) -> Signature:
        result, arguments = numba_signature(self.py_func)
        if self.kind == "kernel" and result not in (types.none, types.int64, types.float64, types.boolean):
            raise TypeError(f"{self.name} is called from Python and must return nothing or a number, not {result}")
        return call_signature(result, *arguments)

    def _first_call(self, *arguments: Any) -> Any:
        entry = self if self.kind == "kernel" else _way_in(self)
        load[0]([entry])
        self.__call__ = entry.__call__
        return self(*arguments)

    @property
    def address(self) -> int:
        """Address of the machine code, which is loaded if needed."""
        if not self.address_or_zero:
            load[0]([self])
        return self.address_or_zero

    @property
    def has_entry(self) -> bool:
        """True if Python may call the machine code."""
        return self.kind in ("kernel", "way in")

    @property
    def importable(self) -> bool:
        """True if another process can import the kernel by its module and name."""
        return self.kind != "way in" and self.py_func.__module__ != "__main__"

    @once
    def callees(self) -> tuple[Kernel, ...]:
        """Kernels whose symbols the machine code refers to, except deferred kernels."""
        found: dict[Kernel, None] = {}
        for value in globals_of(self.py_func):
            if isinstance(value, Kernel) and value.deferred is None:
                found.update(dict.fromkeys(value.callees if value.kind == "leaf" else [value]))
        return tuple(found)

    @once
    def stamp(self) -> str:
        """Digest of all that determines the machine code: code, constants, leaves, and declarations of callees."""
        parts = [_called(self), str(_side_by_side(self.py_func)), *_code_of(self.py_func.__code__), _declaration(self)]
        parts += map(_contribution, globals_of(self.py_func))
        return hashlib.sha256("".join(parts).encode()).hexdigest()

    @global_compiler_lock
    def compile(self) -> MachineCode:
        """Compile the kernel, even if it was compiled before, and return its machine code."""
        from . import machine

        return machine.emit(self.typed_and_lowered())

    def typed_and_lowered(self) -> Any:
        """Return numba's compile result, which contains LLVM's optimized module."""
        from . import machine

        return machine.lower(
            self.py_func, self.signature, _allocates(self.py_func.__code__), self.has_entry, self.kind == "leaf",
            _side_by_side(self.py_func),
        )  # fmt: skip

    @once
    def linkable(self) -> Any:
        """Compile result of a leaf, which numba links into callers."""
        return self.typed_and_lowered() if numba_is_known() else self._function()

    @global_compiler_lock
    def load(self, code: MachineCode) -> None:
        """Load the machine code into this process and register it for callers."""
        self._bind(*_engine().load(code, self.py_func.__globals__))

    @global_compiler_lock
    def compile_as_function(self) -> None:
        """Compile the kernel by numba's own pipeline and linker, for this process, and register it for callers."""
        from . import functions

        made = self._function()
        # An entry without a wrapper, as `inner` kernels have, would call address 0.
        self._bind(functions.address(made), made.entry_point if self.has_entry else None)

    def _function(self) -> Any:
        from . import functions

        return functions.compiled(self.py_func, self.signature, self.has_entry)

    def _bind(self, address: int, entry: Callable[..., Any] | None) -> None:
        llvmlite.binding.add_symbol(self.symbol, address)
        if entry is not None:
            self._compiled_entry = entry
            self.__call__ = self._checked_entry if CHECKS else entry
        self.address_or_zero = address  # set last, so that a load that Ctrl-C interrupts is repeated
        if self.deferred is not None:
            self.deferred.word[0] = address

    def _checked_entry(self, *arguments: Any) -> Any:
        for value, kind in zip(arguments, self.signature.args, strict=True):
            if isinstance(kind, types.Array):
                came = numba.typeof(value)
                if (came.dtype, came.ndim, came.layout) != (kind.dtype, kind.ndim, "C"):
                    raise TypeError(f"{self.name} takes {kind}, but {came} came")
        return self._compiled_entry(*arguments)

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """Generate a call of the symbol, or of a leaf that is linked into the caller, and return its result."""
        kind = context.call_conv.get_function_type(self.signature.return_type, self.signature.args)
        if self.deferred is not None:
            function = self.deferred.function(context, builder, kind)
        else:
            symbol = self.symbol
            if self.kind == "leaf":
                context.active_code_library.add_linking_library(self.linkable.library)
                symbol = self.linkable.fndesc.llvm_func_name
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
        return self.lower_call(context, builder, function, values)


def _mark(kind: str, is_deferred: bool = False) -> Callable[[Callable[..., Any]], Any]:
    return lambda py_func: py_func if INTERPRETED else Kernel(py_func, kind, is_deferred)


kernel, deferred_kernel = _mark("kernel"), _mark("kernel", is_deferred=True)
inner, deferred = _mark("inner"), _mark("inner", is_deferred=True)
leaf = _mark("leaf")


@functools.cache
def _engine() -> Any:
    from . import machine

    return machine.Engine()


def kernels() -> list[Kernel]:
    """Return all kernels defined so far, without leaves."""
    return list(_kernels)


def globals_of(py_func: Callable[..., Any]) -> Iterator[Any]:
    """Yield the values that the function's code uses from outside: globals, and attributes of modules among them."""
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
    """Yield the parts of a function that determine its effect, without its docstring and line numbers."""
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
    if isinstance(value, Callee):
        return value.name + _declaration(value)
    return repr(value) if isinstance(value, (int, float, np.number, tuple)) else ""


def _called(kernel: Kernel) -> str:
    """Return the kind of the kernel, if it is deferred, and its symbol: all that its callers' code depends on."""
    return f"{kernel.kind} {'' if kernel.deferred is None else 'deferred '}{kernel.symbol} "


def _declaration(callee: Callee) -> str:
    return repr([_layout(kind) for kind in (callee.signature.return_type, *callee.signature.args)])


@functools.cache
def _layout(kind: types.Type) -> str:
    if isinstance(kind, StructureType):
        return f"{kind.name}{[(name, _layout(field), place) for name, field, place in kind.fields]}"
    return str(kind)


def _side_by_side(py_func: Callable[..., Any]) -> bool:
    """Return True if LLVM may combine equal operations into vector instructions: if the module sets `SIDE_BY_SIDE`.

    numba does not by default, and short loops over pairs of numbers are slower with it.
    """
    return bool(py_func.__globals__.get("SIDE_BY_SIDE", False))


ALLOCATING = {"empty", "zeros", "ones", "full", "arange", "copy", "sort", "argsort", "empty_like", "zeros_like", "sum"}


def _allocates(code: CodeType) -> bool:
    """Return True if a kernel makes arrays: numba then counts references, two atomic operations per array and call."""
    return bool(ALLOCATING & set(_names_of(code)))


def _way_in(kernel: Kernel) -> Kernel:
    """Return a copy of the kernel that Python may call."""
    own = kernel.py_func
    copy: Any = FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
    copy.__annotations__, copy.__qualname__ = own.__annotations__, f"{own.__qualname__}.way_in"
    copy.__module__ = own.__module__
    return Kernel(copy, "way in")


_functions: dict[int, Callable[..., Any]] = {}  # by result of `address_of`, if nothing is compiled


def address_of(function: Any) -> int:
    """Return the address through which compiled code calls this kernel."""
    if isinstance(function, Kernel):
        return function.address
    _functions[id(function)] = function
    return id(function)


class Indirect(Callee):
    """Callee that calls a kernel of the declared signature by its address: ``call(address, *arguments)``.

    It decorates an annotated function without a body, whose first argument is the address.  A structure among the
    arguments may be declared as another structure whose fields it begins with.
    """

    def __init__(self, py_func: Callable[..., Any]) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func = py_func
        super().__init__(f"{py_func.__module__}.{py_func.__qualname__}")

    def __call__(self, address: int, *arguments: Any) -> Any:
        """Call the function of this address, where nothing is compiled."""
        return _functions[address](*arguments)

    @once
    def signature(self) -> Signature:
        result, arguments = numba_signature(self.py_func)
        return call_signature(result, *arguments)

    def lower(self, context: Any, builder: Any, values: list[Any]) -> Any:
        """Generate the call and return its result."""
        kind = context.call_conv.get_function_type(self.signature.return_type, self.signature.args[1:])
        return self.lower_call(context, builder, builder.inttoptr(values[0], kind.as_pointer()), values[1:])


kernel_type: Any = Indirect
