"""Parameters of estimators, declared as the fields of a class, from which its `__init__` and its docstring are made."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from socp.problem.settings import did_you_mean

from .validation import Range, Shown, check_choice, check_number

Class = TypeVar("Class", bound=type)
FITTED = object()
ELSEWHERE = {"class_prior": "priors", "n_components": "n_topics", "reg_param": "shrinkage"}
"""Names of parameters here by the names of scikit-learn."""
FIRST_SECTION = re.compile(r"^(?=[A-Z][\w ]*\n-{3,}$)", re.MULTILINE)
ITEM = re.compile(r"^(\S.*)\n?((?:[ \t].*\n?|\n)*)", re.MULTILINE)
RAISES_OF_FIT = "ValueError\n    By `fit`, if the samples or a parameter cannot be taken, as the message says."
RAISES = "ValueError\n    The samples or a parameter cannot be taken, as the message says."
Positive = Annotated[float, Range(low=0.0, open_low=True)]
NonNegative = Annotated[float, Range(low=0.0)]
Share = Annotated[float, Range(low=0.0, high=1.0, open_low=True)]
Count = Annotated[int, Range(low=1, whole=True)]


class Field(NamedTuple):
    """Parameter, its type as docstrings write it, and a function that raises on values that the type excludes."""

    parameter: inspect.Parameter
    kind: str
    check: Callable[[Any], Any] | None


def fitted(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that `fit` sets, with its type; it is no parameter and does not exist before `fit`."""
    return FITTED


def initializer(signature: inspect.Signature) -> Callable[..., None]:
    """Return the `__init__` of a signature (with `self`) that keeps each argument under its own name, unchecked."""
    by_position = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in signature.parameters.values()) - 1

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        who = type(self).__name__
        for name in named:
            if name not in signature.parameters:
                raise TypeError(f"{who}() got an unexpected keyword argument {name!r}{instead(type(self), name)}")
        if len(values) > by_position:
            most = f"{by_position} argument{'s' * (by_position != 1)}"
            raise TypeError(f"{who}() takes {most} by position, but {len(values)} came: give the others by their names")
        given = signature.bind(self, *values, **named)
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def parameter_names(cls: type) -> list[str]:
    """Return the sorted names of the arguments of `__init__`."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")  # type: ignore[misc]


def instead(who: type, name: str) -> str:
    """Return the end of the error message on an unknown parameter: an alternative or a similar name."""
    if name == "probability" and not hasattr(who, "predict_proba"):
        return f"; for predict_proba use sklearn.calibration.CalibratedClassifierCV({who.__name__}(...))"
    known = parameter_names(who)
    return f"; did you mean {ELSEWHERE[name]!r}?" if ELSEWHERE.get(name) in known else did_you_mean(name, known)


def _parameters(cls: Any) -> Any:
    fields, kinds = {}, inspect.Parameter
    kind: Any = kinds.POSITIONAL_OR_KEYWORD
    for name, annotation in inspect.get_annotations(cls).items():
        value = vars(cls).get(name, kinds.empty)
        if value is FITTED:
            delattr(cls, name)
            continue
        if name.endswith("_") and name != "_" and value is kinds.empty:
            raise TypeError(f"{cls.__name__}.{name} is set by fit, as its underscore says: declare it by fitted()")

        meaning = _meaning(cls, name, annotation)
        if meaning is KW_ONLY:
            kind = kinds.KEYWORD_ONLY
        elif get_origin(meaning) is not ClassVar:
            parameter = kinds(name, kind, default=value, annotation=annotation)
            fields[name] = Field(parameter, _shown(_alternatives(meaning, optional=False)), _check_of(name, meaning))
    cls._fields = fields
    found = fields_of(cls)
    own = [kinds("self", kinds.POSITIONAL_OR_KEYWORD), *(field.parameter for field in found.values())]
    cls.__init__ = initializer(inspect.Signature(own))
    cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls._told = cls.__doc__ or ""
    cls.__doc__ = _completed(cls, found)
    return cls


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(eq_default=False, field_specifiers=(fitted,))
    def parameters(cls: Class) -> Class:
        """Decorate an estimator, or a group of parameters that estimators share.

        Each annotated name of the class body is a parameter, as in a dataclass: names before ``_: KW_ONLY`` may be
        given by position, the value is the default, and parameters of decorated base classes are inherited.
        `Estimator._check_fields` checks the value against the `Range` of an annotation, or a Literal of words.
        `fitted()` declares an attribute.  The decorator makes `__init__` and completes the docstring: the sections
        "Parameters" and "Attributes" get missing items from the base classes, types and defaults from the annotations.
        """
        return cls

else:
    parameters = _parameters


@functools.cache
def fields_of(cls: type) -> dict[str, Field]:
    """Return the parameters in the order of `__init__`: by position, bases first; then by keyword, own ones first."""
    nearest: dict[str, Field] = {}
    for base in cls.__mro__:
        for name, field in vars(base).get("_fields", {}).items():
            nearest.setdefault(name, field)
    by_position = [
        name
        for base in reversed(cls.__mro__)
        for name, field in vars(base).get("_fields", {}).items()
        if field is nearest[name] and field.parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    return {name: nearest[name] for name in [*by_position, *nearest]}


# ---- docstrings


class Item(NamedTuple):
    """Item of a section: its names, the type that follows them, and the indented lines."""

    names: list[str]
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{', '.join(self.names)}{' : ' * bool(self.kind)}{self.kind}\n{self.text}"


def sections(doc: str) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its sections, and each section's body."""
    summary, *rest = FIRST_SECTION.split(inspect.cleandoc(doc))
    parts = [text.split("\n", 2) for text in rest]
    return summary.rstrip(), {part[0]: part[2] if len(part) > 2 else "" for part in parts}


def complete_method(method: Any, told: str) -> None:
    """Add to a method's docstring the items of `told` that are its arguments, and the section "Raises"."""
    summary, own = sections(method.__doc__)
    items = _gather([own.pop("Parameters", ""), told])
    parameters = _listed(items, inspect.signature(method).parameters)
    first = {"Parameters": parameters, "Returns": own.pop("Returns", ""), "Raises": RAISES}
    method.__doc__ = _joined(summary, {**first, **own})


def _completed(cls: type, found: dict[str, Field]) -> str:
    """Return the docstring with an item for each parameter, and each attribute that the class or a base documents."""
    summary, own = sections(vars(cls)["_told"])
    bases = [sections(vars(base).get("_told", base.__doc__) or "")[1] for base in cls.__mro__[1:-1]]
    parameters, attributes = (
        _gather([own.pop(title, ""), *(base.get(title, "") for base in bases)])
        for title in ("Parameters", "Attributes")
    )
    for name in found:
        item = parameters.setdefault(name, Item([name], "", ""))
        item.names[:] = [one for one in item.names if one in found]
    for item in list(parameters.values()):
        kind = _with_default(item.kind, [found[one] for one in item.names if one in found])
        parameters.update(dict.fromkeys(item.names, item._replace(kind=kind)))
    told = {"Parameters": _listed(parameters, found), "Attributes": _listed(attributes, attributes)}
    raises = {"Raises": RAISES_OF_FIT} if hasattr(cls, "fit") else {}
    return _joined(summary, {**told, **raises, **own})


def _gather(bodies: Iterable[str]) -> dict[str, Item]:
    """Return the items of all bodies by name; of a name in several bodies, the first item."""
    gathered: dict[str, Item] = {}
    for body in bodies:
        for header, text in ITEM.findall(body):
            names, _, kind = header.partition(" : ")
            new = [name for name in names.split(", ") if name not in gathered]
            gathered.update(dict.fromkeys(new, Item(new, kind, text.rstrip() + "\n" if text.strip() else "")))
    return gathered


def _listed(items: dict[str, Item], names: Iterable[str]) -> str:
    """Return the text of the items of these names, each item once."""
    return "".join(map(str, {id(items[name].names): items[name] for name in names if name in items}.values()))


def _joined(summary: str, bodies: dict[str, str]) -> str:
    """Return a docstring of `summary` and the sections whose bodies are not empty."""
    parts = [f"{title}\n{'-' * len(title)}\n{body.rstrip()}" for title, body in bodies.items() if body]
    return "\n\n".join([summary, *parts]) + "\n"


def _meaning(cls: type, name: str, annotation: Any) -> Any:
    """Return the type that an annotation stands for, under whatever name its module knows it."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, vars(sys.modules[cls.__module__]))
    except NameError as error:
        raise TypeError(f"{cls.__name__}.{name} has the type {annotation!r}, which its module does not know") from error


def _alternatives(meaning: Any, optional: bool = True) -> list[Any]:
    """Return the types of a union, or the type alone; without None unless `optional`."""
    parts = list(get_args(meaning)) if get_origin(meaning) in (Union, types.UnionType) else [meaning]
    return parts if optional else [one for one in parts if one is not type(None)]


def _metadata(meaning: Any, kind: type) -> Any:
    """Return the metadata of the class `kind` of a type, or None."""
    return next((one for one in getattr(meaning, "__metadata__", ()) if isinstance(one, kind)), None)


def _shown(parts: list[Any]) -> str:
    """Return a union of types as docstrings write it."""
    shown = []
    for one in parts:
        metadata = _metadata(one, Shown)
        if metadata is not None:
            shown.append(metadata.text)
        elif get_origin(one) is Annotated:
            shown.append(get_args(one)[0].__name__)
        elif get_origin(one) is Literal:
            shown.append("{" + ", ".join(f'"{word}"' for word in get_args(one)) + "}")
        elif one is not Any:
            shown.append(getattr(one, "__name__", str(one)))
    return " or ".join(shown)


def _check_of(name: str, meaning: Any) -> Callable[[Any], Any] | None:
    """Return a function that raises on a value outside the `Range` or the words of a type; None if it has none."""
    parts = _alternatives(meaning, optional=False)
    is_optional = len(parts) < len(_alternatives(meaning))
    if len(parts) != 1:
        return None
    if get_origin(parts[0]) is Literal:
        words = get_args(parts[0])
        return lambda value: None if is_optional and value is None else check_choice(name, value, words)
    asked = _metadata(parts[0], Range)
    if asked is None:
        return None
    return lambda value: None if is_optional and value is None else check_number(name, value, *asked)


def _with_default(kind: str, fields: list[Field]) -> str:
    """Return the type of an item, if empty the types of its fields, with their defaults unless it has them."""
    defaults = [field.parameter.default for field in fields]
    kind = kind or ", ".join(dict.fromkeys(field.kind for field in fields if field.kind))
    if "default" in kind or "optional" in kind or inspect.Parameter.empty in defaults:
        return kind
    shown = ", ".join(f'"{value}"' if isinstance(value, str) else repr(value) for value in defaults)
    default = "optional" if all(value is None for value in defaults) else f"default {shown}"
    return f"{kind}, {default}" if kind else default
