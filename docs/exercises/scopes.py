"""Scopes of a program's syntax tree: which module, class or function binds a name."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Scopes(ast.NodeVisitor):
    """Scopes of a tree, as Python resolves names.

    Attributes
    ----------
    of : dict
        The scope in which each node with a name (a Name or an import) stands, by the id of the node: its node, and
        the list of the scopes around it, the module first.
    bound : dict
        The names that each scope binds, by the id of its node.
    """

    def __init__(self, tree):
        self.of, self.bound, self.stack, self.outside = {}, {}, [tree], {}
        self.bound[id(tree)], self.outside[id(tree)] = set(), {}
        self.visit(tree)

    def binds(self, node, name):
        """Return the scope that binds `name` where `node` stands, or None: the name is Python's own."""
        stack = self.of[id(node)]
        declared = self.outside[id(stack[-1])].get(name)
        if declared == "global":
            stack = stack[:1]
        elif declared == "nonlocal":
            stack = stack[:-1]
        for k, scope in enumerate(reversed(stack)):
            if k > 0 and isinstance(scope, ast.ClassDef):  # functions do not see the names of a class around them
                continue
            if name in self.bound[id(scope)]:
                return scope
        return None

    def _bind(self, name, scope=None):
        self.bound[id(scope or self.stack[-1])].add(name)

    def _inside(self, scope, *parts):
        self.bound[id(scope)], self.outside[id(scope)] = set(), {}
        self.stack.append(scope)
        left = list(ast.iter_child_nodes(scope))
        while left:  # declarations of this scope, not of those inside it
            node = left.pop()
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                self.outside[id(scope)] |= dict.fromkeys(node.names, type(node).__name__.lower())
            if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)):
                left.extend(ast.iter_child_nodes(node))
        for part in parts:
            self.visit(part)
        self.stack.pop()

    def generic_visit(self, node):
        if isinstance(node, (ast.Name, ast.Import, ast.ImportFrom)):
            self.of[id(node)] = list(self.stack)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            declared = self.outside[id(self.stack[-1])].get(node.id)
            self._bind(node.id, self.stack[0] if declared == "global" else None)
        for name in (getattr(node, "name", None), getattr(node, "rest", None)):  # exceptions, patterns, types
            if isinstance(name, str):
                self._bind(name)
        if isinstance(node, FUNCTIONS):
            arguments = node.args
            self._visit_all([*arguments.defaults, *filter(None, arguments.kw_defaults), *outer(node)])
            body = node.body if isinstance(node.body, list) else [node.body]
            self._inside(node, *filter(None, (*arguments.posonlyargs, *arguments.args, arguments.vararg,
                                              *arguments.kwonlyargs, arguments.kwarg)), *body)  # fmt: skip
        elif isinstance(node, ast.ClassDef):
            self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
            self._inside(node, *node.body)
        elif isinstance(node, COMPREHENSIONS):
            self._inside(node, *ast.iter_child_nodes(node))
        elif isinstance(node, ast.NamedExpr):
            around = next(one for one in reversed(self.stack) if not isinstance(one, COMPREHENSIONS))
            self.of[id(node.target)] = list(self.stack)
            self._bind(node.target.id, around)
            self.visit(node.value)
        else:
            if isinstance(node, ast.arg):
                self._bind(node.arg)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    self._bind(alias.asname or alias.name.split(".")[0])
            super().generic_visit(node)

    def _visit_all(self, nodes):
        for node in nodes:
            self.visit(node)


def outer(function):
    """Return what stands at a function and is evaluated outside of it."""
    return [*getattr(function, "decorator_list", []), *filter(None, [getattr(function, "returns", None)])]
