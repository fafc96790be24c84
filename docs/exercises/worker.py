"""Process of a graded program: it receives the name of a function and arguments, and sends the answer.

Nothing is judged here. Whatever the program does to this process, the grader only sees answers.
"""

import contextlib
import copy
import importlib.util
import os
import pickle
import sys

import numpy as np
import scipy.linalg  # noqa: F401  (loaded before LOADED is set, so that its own imports are allowed)

LOADED = {*sys.modules, "resource"}
MEMORY = 4 << 30  # bytes of a program


def foreign():
    """Return the packages loaded since the start other than NumPy, scipy.linalg and the standard library."""
    names = [name.split(".") for name in set(sys.modules) - LOADED]
    known = {*sys.stdlib_module_names, "numpy", "program"}
    found = {name[0] for name in names if name[0] not in {*known, "scipy"}}
    return sorted(found | {".".join(n[:2]) for n in names if n[0] == "scipy" and n[1] not in ("linalg", "_lib")})


def plain(value):
    """Copy an answer into arrays, numbers, strings and containers of these."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (tuple, list)) and not all(isinstance(one, (int, float, np.number)) for one in value):
        return tuple(plain(one) for one in value)
    if value is None or callable(value) or isinstance(value, (bool, int, float, str)):
        return None if callable(value) else value
    array = np.array(value)
    return array if array.dtype.kind in "biufc" else str(value)


class Recorder:
    """Wrapper of a function that records arguments and answers; it can replay a script or spoil the k-th answer."""

    def __init__(self, name, function, calls, script=None, spoiled=None):
        self._name, self._function, self._calls, self._script, self._spoiled = name, function, calls, script, spoiled

    def __call__(self, *arguments, **named):
        taken = plain([*arguments, *named.values()])
        if self._script is None:
            answer = self._function(*arguments, **named)
        elif self._calls.get(self._name, ()) and len(self._calls[self._name]) >= len(self._script):
            raise RuntimeError("called once more than there are points")
        else:
            answer = copy.deepcopy(self._script[len(self._calls.get(self._name, ()))])
        mine = self._calls.setdefault(self._name, [])
        mine.append((taken, plain(answer)))
        if callable(answer):
            return Recorder(f"{self._name}()", answer, self._calls, spoiled=self._spoiled)
        if self._spoiled == (self._name, len(mine) - 1):
            # no multiple of the answer: a step to the boundary may end at the same point
            return tuple(
                (1.5 + k + np.arange(np.size(one)).reshape(np.shape(one))) * one for k, one in enumerate(answer)
            )
        return answer


def called(module, request):
    """Call the program once; return the answer or error, the arguments after the call, and the inner calls."""
    calls, kept = {}, dict(vars(module))
    try:
        for name in request["record"]:
            script = (request["script"] or {}).get(name)
            setattr(module, name, Recorder(name, getattr(module, name, None), calls, script, request["spoiled"]))
        answer = getattr(module, request["name"])(*request["arguments"])
        answer = {"answer": plain(answer if request["then"] is None else [answer(*one) for one in request["then"]])}
    except BaseException as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        answer = {"error": f"{kinds[0]}: {str(error)[:200]}".rstrip(": "), "kinds": kinds}
    vars(module).update(kept)
    arguments = plain([*request["arguments"], *(request["then"] or ())])
    return answer | {"arguments": arguments, "calls": calls, "foreign": foreign()}


def main(path):
    asked, told = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)  # discards what the program prints
    with contextlib.suppress(ImportError, ValueError, OSError):  # where the system knows limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        spec = importlib.util.spec_from_file_location("program", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except BaseException as error:
        pickle.dump({"error": f"cannot be imported: {type(error).__name__}: {error}"[:200]}, told)
        return
    pickle.dump({}, told)
    told.flush()
    while True:
        try:
            request = pickle.load(asked)
        except EOFError:
            return
        pickle.dump(called(module, request), told)
        told.flush()


if __name__ == "__main__":
    main(sys.argv[1])
