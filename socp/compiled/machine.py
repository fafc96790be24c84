"""Machine code of one function: made with numba and LLVM, and loaded into this process.

numba types and lowers a function, LLVM optimizes it and emits an object file, which is all that is kept.  Loading
needs only LLVM's linker, a fraction of a millisecond; numba itself would read modules back and link them again.

Most private names of numba are imported here, when a kernel is first compiled or loaded, and only if the version of
numba is known; with another one kernels are functions of numba (see `functions`).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import compiler, config, ir, registry, typed_passes, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.runtime import rtsys
from numba.core.typing.templates import Signature

from .target import CHECKS, MachineCode


class _Flags(compiler.Flags):
    """Compiler flags with a fast comparison and hash, which numba computes for every operator.

    numba's own hash is equal for all flags, so each look-up compares with many, option by option.
    """

    __slots__ = ("_hash",)

    def __hash__(self) -> int:
        try:
            return self._hash  # type: ignore[has-type]
        except AttributeError:
            self._hash = super().__hash__()
            return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Flags) and self._values == other._values)


@functools.cache
def _flags(allocates: bool, called_from_python: bool, in_line: bool) -> compiler.Flags:
    flags: Any = _Flags()
    flags.release_gil = True
    flags.error_model = "numpy"  # x / 0 is inf or NaN, as in NumPy.
    flags.nrt = allocates  # If False, arrays are borrowed and references are not counted.
    flags.boundscheck = CHECKS
    flags.no_cfunc_wrapper = True
    flags.no_cpython_wrapper = not called_from_python
    flags.no_compile = True
    flags.forceinline = in_line
    return flags


# Passes of numba for features that kernels do not use: closures, literal types, object mode, array expressions.
UNUSED = {
    "WithLifting", "InlineClosureLikes", "RewriteSemanticConstants", "DeadBranchPrune", "RewriteDynamicRaises",
    "MakeFunctionToJitFunction", "InlineInlinables", "FindLiterallyCalls", "LiteralUnroll",
    "LiteralPropagationSubPipelinePass", "InlineOverloads", "NopythonRewrites",
    "NoPythonSupportedFeatureValidation", "DumpParforDiagnostics",
}  # fmt: skip


@register_pass(mutates_CFG=False, analysis_only=False)
class _IndicesAsTheyAre(AnalysisPass):
    """Pass that types array indices as unsigned: kernels count from the front, and numba tests signed indices.

    Loops over computed indices vectorize with it.  A literal index keeps its type: a[-1] is the last entry.
    """

    _name = "centralpath_indices"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        calls = state.calltypes
        for node, call in list(calls.items()):
            is_access = isinstance(node, ir.SetItem) or (isinstance(node, ir.Expr) and node.op == "getitem")
            if is_access and isinstance(call.args[0], types.Array):
                del calls[node]  # `calltypes` refuses to overwrite an entry.
                calls[node] = call.replace(args=(call.args[0], _unsigned(call.args[1]), *call.args[2:]))
        return True


def _unsigned(index: types.Type) -> types.Type:
    if isinstance(index, types.Integer) and not isinstance(index, types.Literal):
        return types.uint64
    if isinstance(index, (types.UniTuple, types.Tuple)):
        return types.BaseTuple.from_types([_unsigned(part) for part in index.types])
    return index


@contextlib.contextmanager
def _remembering(context: Any) -> Iterator[None]:
    """Cache the result types that numba's typing context finds for operators, functions and types of arguments.

    Without the cache it tries all declarations each time: with `_Flags`, 15 % of the time to compile.
    """

    def resolve(function: Any, arguments: Any, keywords: Any) -> Any:
        try:
            made = None if keywords else _resolved.get((function, arguments))
        except TypeError:  # A literal slice has no hash.
            return numbas(function, arguments, keywords)
        if made is None:
            made = numbas(function, arguments, keywords)
            if not keywords:
                _resolved[function, arguments] = made
        return made

    numbas = context.resolve_function_type
    if "resolve_function_type" in vars(context):  # A leaf is compiled while its caller is.
        yield
        return
    context.resolve_function_type = resolve
    try:
        yield
    finally:
        del context.resolve_function_type


_resolved: dict[Any, Any] = {}


class _Compiler(compiler.CompilerBase):
    """numba's pipeline without passes that find nothing in kernels, with `_IndicesAsTheyAre` before the lowering."""

    def define_pipelines(self) -> list[Any]:
        builder = compiler.DefaultPassBuilder
        manager = compiler.PassManager("kernels")
        for part in (
            builder.define_untyped_pipeline(self.state), builder.define_typed_pipeline(self.state),
            builder.define_nopython_lowering_pipeline(self.state),
        ):  # fmt: skip
            manager.passes.extend(item for item in part.passes if item[0].__name__ not in UNUSED)
        manager.add_pass_after(_IndicesAsTheyAre, typed_passes.AnnotateTypes)
        manager.finalize()
        return [manager]


def lower(
    py_func: Callable[..., Any], signature: Signature, allocates: bool, called_from_python: bool, in_line: bool,
    side_by_side: bool,
) -> Any:  # fmt: skip
    """Return numba's compile result: a library with the function's optimized LLVM module, not yet machine code."""
    flags = _flags(allocates, called_from_python, in_line)
    target = registry.cpu_target
    target.target_context.refresh()
    target.typing_context.refresh()
    with _remembering(target.typing_context):
        made = compiler.compile_extra(
            target.typing_context,
            target.target_context,
            py_func,
            signature.args,
            signature.return_type,
            flags,
            {},
            pipeline_class=_Compiler,
        )
    _optimize(made.library, side_by_side)
    return made


@global_compiler_lock
def _optimize(library: Any, vectors: bool) -> None:
    """Run `CodeLibrary.finalize` without the part that adds the module to numba's own engine."""
    seen = []
    for other in library._linking_libraries:
        if other not in seen:
            seen.append(other)
            library._final_module.link_in(other._get_module_for_linking(), preserve=True)
    before = config.SLP_VECTORIZE  # type: ignore[attr-defined]
    config.SLP_VECTORIZE = int(vectors)  # type: ignore[attr-defined]
    try:
        library._optimize_final_module()
    finally:
        config.SLP_VECTORIZE = before  # type: ignore[attr-defined]
    library._final_module.verify()
    library._finalized = True


def emit(made: Any) -> MachineCode:
    """Return the machine code of a compile result from `lower`.

    Raises
    ------
    TypeError
        The kernel needs Python objects, which an object file cannot hold.
    """
    if made.environment.consts:
        raise TypeError(f"a kernel may not hold Python objects, but {made.fndesc.qualname} does")
    fndesc, target = made.fndesc, registry.cpu_target.target_context
    wrapper = fndesc.llvm_cpython_wrapper_name
    names = {function.name for function in made.library._final_module.functions if not function.is_declaration}
    return MachineCode(
        made.library.codegen._tm.emit_object(made.library._final_module), fndesc.llvm_func_name,
        wrapper if wrapper in names else "", target.get_env_name(fndesc), fndesc.qualname.split(".")[-1],
    )  # fmt: skip


class Engine:
    """LLVM's linker of the kernels of this process."""

    def __init__(self) -> None:
        own = registry.cpu_target.target_context.codegen()
        # Kernels that make arrays need numba's allocator, even if all of them come from the cache.
        rtsys.initialize(registry.cpu_target.target_context)
        empty = llvm.parse_assembly(str(own._create_empty_module("centralpath")))
        self._engine = llvm.create_mcjit_compiler(empty, own._tm)
        self._kept: list[Any] = []

    def load(self, code: MachineCode, namespace: dict[str, Any]) -> tuple[int, Callable[..., Any] | None]:
        """Return the address of the function and its Python entry or None; `namespace` is the module's globals."""
        file = llvm.ObjectFileRef.from_data(code.object_file)
        self._engine.add_object_file(file)
        self._engine.finalize_object()
        address = self._engine.get_function_address(code.function)
        self._kept.append(file)
        if not code.wrapper:
            return address, None
        environment = _dynfunc.Environment(namespace)
        place = self._engine.get_global_value_address(code.environment)
        (ctypes.c_void_p * 1).from_address(place)[0] = ctypes.c_void_p(id(environment))
        self._kept.append(environment)
        wrapper = self._engine.get_function_address(code.wrapper)
        entry = _dynfunc.make_function(
            sys.modules[__name__], code.name, f"kernel {code.name}", wrapper, environment, (self,)
        )
        return address, entry


# A fork waits until no thread is in numba's compiler or in LLVM, so that the child inherits no locked lock.
_held = contextlib.ExitStack()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: [_held.enter_context(each) for each in (global_compiler_lock, llvm.ffi.lib._lock)],
        after_in_parent=_held.close, after_in_child=_held.close,
    )  # fmt: skip
