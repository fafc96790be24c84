"""Test of a program's syntax tree: it may import and call what the statement of its exercise allows.

The lists below are the section "Rules" of exercises.md.
"""

import ast
import importlib
import re
import types
from pathlib import Path

from scopes import Scopes

HERE = Path(__file__).resolve().parent
# Parts of NumPy that no program may call: they read files, or give access to Python.
CLOSED = [f"numpy.{name}" for name in (
    "load", "fromfile", "memmap", "loadtxt", "genfromtxt", "fromregex", "save", "savez", "savez_compressed", "savetxt",
    "lib", "core", "f2py", "ctypeslib", "testing", "distutils", "DataSource", "show_config", "show_runtime", "rec",
)] + ["typing.get_type_hints", "typing.ForwardRef"]  # fmt: skip
OPEN = ("numpy.testing.assert_", "numpy.lib.stride_tricks")  # parts of closed parts that programs may call
HIDDEN = {
    "eval", "exec", "compile", "open", "globals", "locals", "vars", "getattr", "setattr", "delattr", "input",
    "breakpoint", "memoryview", "help", "exit", "quit",
}  # fmt: skip
FRAMES = {
    "gi_frame",
    "gi_code",
    "cr_frame",
    "cr_code",
    "ag_frame",
    "ag_code",
    "tb_frame",
    "tb_next",
    "f_back",
    "f_globals",
    "f_locals",
    "f_builtins",
    "_module",
}  # fmt: skip  (attributes that lead to Python's frames)
# Names with two underscores that a class or a script needs.
SPECIAL = {f"__{name}__" for name in (
    "init", "post_init", "call", "len", "iter", "next", "getitem", "setitem", "contains", "enter", "exit", "repr",
    "str", "eq", "lt", "le", "hash", "bool", "float", "int", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv",
    "matmul", "rmatmul", "neg", "abs", "pow", "iadd", "isub", "imul", "name", "doc", "slots", "all", "author",
    "version", "date",
)}  # fmt: skip
INVERSES = ["numpy.matrix", "numpy.asmatrix", "numpy.bmat", "numpy.matlib"]  # they have numpy.linalg's inverse as .I


def stub_of(number):
    """Return the path of the stub of exercise "e03"."""
    (path,) = (HERE / "stubs").glob(f"{number}_*.py")
    return path


def rules(number):
    """Return (what may be imported, what may not be called) as the statement of an exercise says."""
    text = " ".join(ast.get_docstring(ast.parse(stub_of(number).read_text("utf-8"))).split())
    may, not_ = (re.search(rf"{word} ([^;]*?)(?=\.(?: |$)|;)", text) for word in ("May import", "may not call"))
    names = [re.findall(r"[\w.]+", found[1].replace(" and ", " ")) if found else [] for found in (may, not_)]
    return [*names[0], "__future__"], names[1] + CLOSED + (INVERSES if "numpy.linalg" in names[1] else [])


def allowed(path, may, closed):
    """Return True if the longest name that is a prefix of the dotted path is in `may`, not in `closed`."""
    if path.startswith(OPEN):
        return True

    def longest(names):
        return max((len(name) for name in names if f"{path}.".startswith(f"{name}.")), default=0)

    return longest(may) > longest(closed)


def modules(path):
    """Return [(dotted path, its module)] of all prefixes of a path that are modules."""
    first, *rest = path.split(".")
    found, thing = [], importlib.import_module(first)
    for name in (first, *rest):
        thing = getattr(thing, name, None) if found else thing
        if not isinstance(thing, types.ModuleType):
            break
        found.append((f"{found[-1][0]}.{name}" if found else name, thing))
    return found


def chain(node):
    """Return the dotted name of an expression such as np.linalg.solve, else None."""
    if isinstance(node, ast.Attribute):
        before = chain(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


def imported(tree, scopes, may):
    """Return ({(scope, name): dotted path}, complaint or None) of the imports."""
    meant = {}
    for node in ast.walk(tree):
        paths = []
        if isinstance(node, ast.Import):
            paths = [(alias.name, alias.asname or alias.name.split(".")[0], bool(alias.asname)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            paths = [(f"{node.module}.{alias.name}", alias.asname or alias.name, True) for alias in node.names]
            if node.level or any(alias.name == "*" for alias in node.names):
                return meant, f"line {node.lineno} imports from a folder or with a star"
        for path, name, whole in paths:
            if not allowed(path, may, []) and not any(one.startswith(f"{path}.") for one in may):
                return meant, f"it imports {path}, which the statement does not allow; it allows {', '.join(may[:-1])}"
            if isinstance(scopes.of[id(node)][-1], ast.ClassDef):
                return meant, f"line {node.lineno} imports {path} inside a class: import it at the top"
            path, key = path if whole else name, (id(scopes.binds(node, name)), name)
            if meant.setdefault(key, path) != path:
                return meant, f"its name {name} means both {meant[key]} and {path}"
    return meant, None


def aliases(tree, scopes, meant):
    """Add to `meant` the names of `la = np.linalg`; return the ids of the nodes that are settled by that."""
    settled = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            continue
        path, target = path_of(node.value, scopes, meant), node.targets[0]
        key = id(scopes.binds(target, target.id)), target.id
        if path and modules(path)[-1][0] == path and meant.setdefault(key, path) == path:
            settled |= {id(target), id(node.value)}
    return settled


def path_of(node, scopes, meant):
    """Return the dotted path of an expression that begins with an imported name, else None."""
    first, _, rest = (chain(node) or "").partition(".")
    while isinstance(node, ast.Attribute):
        node = node.value
    path = first and meant.get((id(scopes.binds(node, first)), first))
    return ".".join(filter(None, [path, rest])) if path else None


def is_own(node, tree, scopes):
    """Return True if a name of `HIDDEN` is surely the program's: local in a function, or bound at the top before."""
    scope = scopes.binds(node, node.id)
    if scope is not tree or scope is None:
        return scope is not None and (not isinstance(scope, ast.ClassDef) or isinstance(node.ctx, ast.Store))
    if not isinstance(node.ctx, ast.Load):
        return isinstance(node.ctx, ast.Store)
    for one in tree.body:
        if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            if one.name == node.id and node.lineno >= one.body[0].lineno:
                return True
        elif isinstance(one, (ast.Assign, ast.AnnAssign)) and node.lineno > one.end_lineno:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target] if one.value else []
            if any(isinstance(target, ast.Name) and target.id == node.id for target in targets):
                return True
    return False


def complaint(source, number):
    """Return a sentence about the first violation of the statement in a program, or None."""
    may, closed = rules(number)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return f"it is not Python: {error.msg} in line {error.lineno}"
    scopes = Scopes(tree)
    meant, said = imported(tree, scopes, may)
    if said:
        return said
    settled = aliases(tree, scopes, meant)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        line = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Name):
            special = node.id.startswith("__") and node.id.endswith("__") and node.id not in SPECIAL
            if special or (node.id in HIDDEN and not is_own(node, tree, scopes)):
                return f"{line} has Python's own {node.id}, which no exercise needs"
        for name in [node.attr] if isinstance(node, ast.Attribute) else getattr(node, "kwd_attrs", []):
            if name in FRAMES or (name.startswith("__") and name.endswith("__") and name not in SPECIAL):
                return f"{line} has .{name}, a name of Python's own parts"
        if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in settled:
            path = path_of(node, scopes, meant)
            if path is None:
                continue
            if not isinstance(node.ctx, ast.Load):
                return f"{line} assigns to {path}"
            found = modules(path)
            if found[-1][0] == path and id(node) not in inner:
                return f"{line} hands on the module {path}: write the function with its module"
            strange = any(module.__name__ not in (name, "numpy.lib.scimath") for name, module in found)
            private = any(name.startswith("_") for name in path.split("."))
            if strange or private or (found[-1][0] != path and not allowed(path, may, closed)):
                return f"{line} calls {path}, which the statement does not allow"
    return None
