"""Build what students get and what the lecturer keeps:  python docs/exercises/handout.py --key KEY --to FOLDER

`FOLDER/students` has the stubs, the grader, the statements and the chapters without their solutions.
`FOLDER/lecturer` has the solutions of the programs and of the chapters, and the command that grades all submissions on
the data of the key, which students do not know.
"""

import argparse
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
SOLUTIONS = "\n## Solutions\n"


def without_solutions(text):
    """Return (a chapter without its solutions, the solutions)."""
    chapter, _, solutions = text.partition(SOLUTIONS)
    return chapter.rstrip() + "\n", solutions


def build(key, folder):
    """Write both folders; refuse a folder that holds something."""
    students, lecturer = folder / "students", folder / "lecturer"
    for one in (students, lecturer):
        if one.exists():
            raise SystemExit(f"{one} is there already: name another folder, or remove it")
    ignored = shutil.ignore_patterns("__pycache__", "handout.py")
    shutil.copytree(HERE, students / "exercises", ignore=ignored)
    shutil.copy(DOCS / "exercises.md", students)
    shutil.copytree(DOCS / "instructor", lecturer / "programs", ignore=ignored)
    for path in sorted((DOCS / "course").glob("*.md")):
        chapter, solutions = without_solutions(path.read_text("utf-8"))
        for where, text in ((students, chapter), (lecturer, f"# Solutions: {path.stem}\n{solutions}")):
            (where / "course").mkdir(parents=True, exist_ok=True)
            (where / "course" / path.name).write_text(text, encoding="utf-8")
    command = f"python {HERE / 'grade.py'} --key {key} --of SUBMISSION"
    (lecturer / "grading.txt").write_text(f"Grade a submission on the data of the key:\n\n    {command}\n", "utf-8")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--key", required=True, help="a word of the lecturer's choice, from which the data are drawn")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    options = parser.parse_args(arguments)
    build(options.key, options.to)
    print(f"for students: {options.to / 'students'}; for the lecturer: {options.to / 'lecturer'}")


if __name__ == "__main__":
    sys.exit(main())
