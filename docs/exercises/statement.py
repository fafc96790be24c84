"""Test of a program's syntax tree: it may import and call what the statement of its exercise allows."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Parts of NumPy that no program may call: they read files, or give access to Python.
CLOSED = [f"numpy.{name}" for name in (
    "load", "fromfile", "memmap", "loadtxt", "genfromtxt", "fromregex", "save", "savez", "savez_compressed", "savetxt",
    "lib", "core", "f2py", "ctypeslib", "testing", "distutils", "DataSource", "show_config", "show_runtime",
)]  # fmt: skip
HIDDEN = {
    "eval", "exec", "compile", "open", "globals", "locals", "vars", "getattr", "setattr", "delattr", "input",
    "breakpoint", "memoryview", "help", "exit", "quit",
}  # fmt: skip
MODULES = ("numpy", "numpy.linalg", "numpy.random", "numpy.fft", "numpy.ma", "numpy.polynomial", "scipy",
           "scipy.linalg", "scipy.linalg.lapack", "scipy.linalg.blas", "scipy.linalg.interpolative")  # fmt: skip


def stub_of(number):
    """Return the path of the stub of exercise "e03"."""
    (path,) = (HERE / "stubs").glob(f"{number}_*.py")
    return path


def rules(number):
    """Return (what may be imported, what may not be called) as the statement of an exercise says."""
    text = " ".join(ast.get_docstring(ast.parse(stub_of(number).read_text("utf-8"))).split())
    may, not_ = (re.search(rf"{word} ([^;]*?)(?=\.(?: |$)|;)", text) for word in ("May import", "may not call"))
    names = [re.findall(r"[\w.]+", found[1].replace(" and ", " ")) if found else [] for found in (may, not_)]
    return names[0], names[1] + CLOSED


def allowed(path, may, closed):
    """Return True if the longest name that is a prefix of the dotted path is in `may`, not in `closed`."""

    def longest(names):
        return max((len(name) for name in names if f"{path}.".startswith(f"{name}.")), default=0)

    return longest(may) > longest(closed)


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
            meant[name] = path if whole else name
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
        if isinstance(node, ast.Name) and (node.id in HIDDEN or node.id.startswith("__")):
            return f"{line} has {node.id}, which no exercise needs"
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            return f"{line} has .{node.attr}, a name that is not public"
        if isinstance(node, (ast.Name, ast.Attribute)):
            first, _, rest = (chain(node) or "").partition(".")
            path = ".".join(filter(None, [meant.get(first), rest])) if first in meant else None
            if path is None:
                continue
            if not isinstance(node.ctx, ast.Load):
                return f"{line} assigns to {path}"
            if path in MODULES and id(node) not in inner:
                return f"{line} hands on the module {path}: write the function with its module"
            if path not in MODULES and not allowed(path, may, closed):
                return f"{line} calls {path}, which the statement does not allow"
    return None
