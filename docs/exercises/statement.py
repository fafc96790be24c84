"""Test of a program's syntax tree: it may import and call what the statement of its exercise allows."""

import ast
import importlib
import re
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Parts of NumPy that no program may call: they read files, or give access to Python.
CLOSED = [f"numpy.{name}" for name in (
    "load", "fromfile", "memmap", "loadtxt", "genfromtxt", "fromregex", "save", "savez", "savez_compressed", "savetxt",
    "lib", "core", "f2py", "ctypeslib", "testing", "distutils", "DataSource", "show_config", "show_runtime", "rec",
)] + ["typing.get_type_hints", "typing.ForwardRef"]  # fmt: skip
HIDDEN = {
    "eval", "exec", "compile", "open", "globals", "locals", "vars", "getattr", "setattr", "delattr", "input",
    "breakpoint", "memoryview", "help", "exit", "quit",
}  # fmt: skip
FRAMES = ("_", "gi_", "cr_", "ag_", "tb_")  # beginnings of attributes that lead to Python's frames
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


def imported(tree, may):
    """Return ({name in the program: dotted path}, complaint or None) of the imports."""
    meant = {}
    for node in ast.walk(tree):
        paths = []
        if isinstance(node, ast.Import):
            paths = [(alias.name, alias.asname or alias.name.split(".")[0], bool(alias.asname)) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            paths = [(f"{node.module}.{alias.name}", alias.asname or alias.name, True) for alias in node.names]
            if node.level or any(alias.name == "*" for alias in node.names):
                return meant, "it imports from a folder or with a star"
        for path, name, whole in paths:
            if not allowed(path, may, []) and not any(one.startswith(f"{path}.") for one in may):
                return meant, f"it imports {path}, which the statement does not allow"
            path = path if whole else name
            if meant.setdefault(name, path) != path:
                return meant, f"its name {name} means both {meant[name]} and {path}"
    return meant, None


def complaint(source, number):
    """Return a sentence about the first violation of the statement in a program, or None."""
    may, closed = rules(number)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return f"it is not Python: {error.msg} in line {error.lineno}"
    meant, said = imported(tree, may)
    if said:
        return said
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        line = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Name) and (node.id in HIDDEN or (node.id.startswith("__") and node.id != "__name__")):
            return f"{line} has {node.id}, which no exercise needs"
        for name in [node.attr] if isinstance(node, ast.Attribute) else getattr(node, "kwd_attrs", []):
            if name.startswith(FRAMES):
                return f"{line} has .{name}, a name that is not public"
        if isinstance(node, (ast.Name, ast.Attribute)):
            first, _, rest = (chain(node) or "").partition(".")
            path = ".".join(filter(None, [meant.get(first), rest])) if first in meant else None
            if path is None:
                continue
            if not isinstance(node.ctx, ast.Load):
                return f"{line} assigns to {path}"
            found = modules(path)
            if found[-1][0] == path and id(node) not in inner:
                return f"{line} hands on the module {path}: write the function with its module"
            strange = any(module.__name__ not in (name, "numpy.lib.scimath") for name, module in found)
            if strange or (found[-1][0] != path and not allowed(path, may, closed)):
                return f"{line} calls {path}, which the statement does not allow"
    return None
