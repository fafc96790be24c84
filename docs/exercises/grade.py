"""The grader:  python docs/exercises/grade.py --of FOLDER e03  grades the third program of a folder.

Each program runs in its own interpreter, on new random data; `--seed` repeats the data of an earlier run.
"""

import argparse
import hashlib
import secrets
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
import statement  # noqa: E402
from checks_cones import CHECKS as CONES  # noqa: E402
from checks_matrices import CHECKS as MATRICES  # noqa: E402
from checks_programs import CHECKS as PROGRAMS  # noqa: E402
from student import Refused, Student  # noqa: E402

CHECKS = CONES | MATRICES | PROGRAMS


def results(path, seed, limit=20.0):
    """Yield (check, points, sentence or None) of a program, check by check; the file's name begins with e01 to e13."""
    number = Path(path).name[:3]
    said = statement.complaint(Path(path).read_text("utf-8"), number)
    with Student(path, limit) as student:
        for k, (points, check) in enumerate(CHECKS[number]):
            try:
                if said:
                    raise Refused(said)
                check(student, np.random.default_rng([seed, int(number[1:]), k]))
            except Refused as refused:
                yield check, points, str(refused)
            except Exception as error:
                yield check, points, f"the answer has another form than the statement says: {error}"
            else:
                yield check, points, None


def report(path, seed, limit):
    """Print the points of a program and a sentence about each failed check; return the points."""
    lines, gained = [], 0
    for check, points, sentence in results(path, seed, limit):
        gained += 0 if sentence else points
        if sentence and not any(sentence in line for line in lines):
            lines.append(f"    -{points}  {check.__doc__.rstrip('.')}: {sentence}")
    print("\n".join([f"{path.stem}: {gained} of 10 points", *lines]), flush=True)
    return gained


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("numbers", nargs="*", metavar="e03", help="which programs; all of them if none is named")
    parser.add_argument("--of", default=HERE / "stubs", type=Path, help="the folder of the programs")
    parser.add_argument("--seed", type=int, default=None, help="of the data; a new one each time")
    parser.add_argument("--key", help="a lecturer's word: data that it alone determines, equal for all submissions")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a call")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    if options.key is not None:
        seed = int.from_bytes(hashlib.sha256(options.key.encode()).digest()[:8], "big")
    print("the data of the key" if options.key is not None else f"seed {seed}")
    whole = True
    for number in options.numbers or sorted(CHECKS):
        found = sorted(options.of.glob(f"{number}_*.py"))
        if not found:
            print(f"{number}: 0 of 10 points\n    there is no {statement.stub_of(number).name} in {options.of}")
        whole &= bool(found) and all([report(path, seed, options.limit) == 10 for path in found])
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
