"""Interface of the checks to a graded program: its functions are called in another process, with a time limit."""

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

WORKER = Path(__file__).resolve().with_name("worker.py")
READABLE = {"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"}


class Refused(Exception):
    """Error of a failed check, with a sentence about the failure."""


class Answers(pickle.Unpickler):
    """Unpickler of arrays, numbers, strings and containers of these; refuses anything that could run code."""

    def find_class(self, module, name):
        if module.split(".")[0] == "numpy" and name in READABLE:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no answer")


def same(one, other):
    """Return True if two arguments are equal, entry by entry."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.shape(one) == np.shape(other) and np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")


def described(arguments):
    """Return the arguments of a call in words: numbers and short arrays by their entries, others by their shapes."""
    words = []
    for one in arguments:
        if isinstance(one, dict):
            words.append("{" + ", ".join(f"{name}: {np.shape(value)}" for name, value in one.items()) + "}")
        elif np.size(one) <= 4:
            words.append(np.array2string(np.asarray(one), precision=4, separator=", "))
        else:
            words.append(f"an array {np.shape(one)}")
    return "(" + ", ".join(words) + ")"


class Student:
    """Graded program at `path`; a call that exceeds `limit` seconds ends its process, and the next call starts another.

    `calls` holds the inner calls of the last call: {name: [(arguments, answer), ...]} for the functions in `record`.
    """

    def __init__(self, path, limit=20.0):
        self.path, self.limit, self.process, self.calls = path, limit, None, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _exchange(self, request, what):
        """Send `request` unless it is None; return the reply, or raise Refused if none comes within the limit."""
        late = threading.Event()
        timer = threading.Timer(self.limit, lambda: (late.set(), self.process.kill()))
        timer.start()
        try:
            if request is not None:
                pickle.dump(request, self.process.stdin)
                self.process.stdin.flush()
            return Answers(self.process.stdout).load()
        except Exception as error:
            self.__exit__()
            if late.is_set():
                raise Refused(f"{what} had not ended after {self.limit:g} s") from None
            if isinstance(error, (EOFError, OSError)):
                raise Refused(f"the process ended in {what}") from None
            raise Refused(f"{what} gives what is no array, number, string or container of these") from None
        finally:
            timer.cancel()

    def ask(self, name, *arguments, then=None, record=(), script=None, spoiled=None):
        """Return {"answer": ...} or {"error": ..., "kinds": ...}; refuse changed arguments and loaded packages.

        If the function returns a function, `then` holds the arguments of calls of the returned function.
        """
        if self.process is None:
            command = [sys.executable, "-I", "-B", str(WORKER), str(self.path)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=-1)
            said = self._exchange(None, "the import")
            if said:
                self.__exit__()
                raise Refused(said["error"])
        request = {"name": name, "arguments": arguments, "then": then, "record": list(record), "script": script}
        request["spoiled"] = spoiled
        reply = self._exchange(pickle.loads(pickle.dumps(request)), name)
        self.calls = reply["calls"]
        if reply["foreign"]:
            raise Refused(f"{name} loads {', '.join(reply['foreign'])}, which the statement does not allow")
        for k, (before, after) in enumerate(zip([*arguments, *(then or ())], reply["arguments"])):
            if not same(before, after):
                which = f"{name} changes" if k < len(arguments) else f"the function that {name} returns changes"
                raise Refused(f"{which} its argument{f' number {k + 1}' if k < len(arguments) else 's'}")
        return reply

    def call(self, name, *arguments, **options):
        """Return the answer of a call; raise Refused if it raises an error."""
        reply = self.ask(name, *arguments, **options)
        if "error" in reply:
            raise Refused(f"{name} raises {reply['error']} at {described(arguments)}")
        return reply["answer"]

    def raises(self, name, *arguments):
        """Return True if a call raises ValueError, False if it answers; raise Refused for another error."""
        reply = self.ask(name, *arguments)
        kinds = reply.get("kinds", [])
        if "error" in reply and ("ValueError" not in kinds or "LinAlgError" in kinds):
            raise Refused(f"{name} raises {reply['error']} at {described(arguments)}")
        return "error" in reply


# ---- conditions of checks


def require(condition, sentence):
    if not condition:
        raise Refused(sentence)


def holds(equation, residual, at, allowed):
    """Raise Refused if the residual of an equation has an entry above `allowed`, or NaN."""
    residual = np.abs(np.asarray(residual, float))
    largest = residual.max(initial=0.0)
    if not largest <= allowed:
        entry = ", ".join(map(str, np.argwhere(residual == largest)[:1].ravel()))
        place = f" in entry {entry}" if entry else ""
        raise Refused(f"{equation} does not hold at {at}: residual {largest:.2g}{place}, allowed {allowed:.0e}")


def shaped(name, value, shape):
    """Return `value` as an array of floats; raise Refused unless it has `shape`."""
    require(value is not None, f"{name} is None, expected an array of shape {shape}")
    require(np.shape(value) == shape, f"{name} has shape {np.shape(value)}, expected {shape}")
    require(np.asarray(value).dtype.kind in "biuf", f"{name} is {value!r}, expected real numbers")
    return np.asarray(value, float)


def parts(name, value, count):
    """Return `value` as a list; raise Refused unless it is a sequence of `count` items."""
    are = isinstance(value, (tuple, list, np.ndarray)) and len(value) == count
    require(are, f"{name} returns {type(value).__name__}, expected {count} things")
    return list(value)
