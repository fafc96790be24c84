"""Measurements of a comparison, and its record on disk: settings, versions, the machine, and every measurement."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import peers
from ..programs.sets import DataError

OURS = "centralpath"
NAN = math.nan


@dataclass(frozen=True)
class Measurement:
    """Measurement of one solver on one program in one form."""

    # program, group, size, solver, form: the task; see `bench.programs.catalogue.Case`
    program: str
    group: str
    size: int
    solver: str
    form: str
    # status of the solver, or "crashed", "killed" (at the time limit), "not tried" (a smaller program of the class took
    # the limit), "refused" or "error"
    status: str
    verdict: str  # "solved", "certified", "failed" or "WRONG": `bench.compare.suite.verdict` at 1e-6 for every solver
    seconds: float  # set-up and solve, the least of `runs` runs; for a failure, the time until it
    setup_seconds: float = NAN
    solve_seconds: float = NAN
    runs: int = 0
    iterations: int = 0
    n: int = 0
    m: int = 0
    nnz: int = 0
    objective: float = NAN
    primal: float = NAN
    dual: float = NAN
    gap: float = NAN
    certificate: float = NAN
    peak_megabytes: float = NAN  # largest resident size from loading the program to the answer
    note: str = ""

    @property
    def good(self) -> bool:
        """Whether the verification accepted the answer, as a solution or as a certificate."""
        return self.verdict in ("solved", "certified")

    @property
    def key(self) -> tuple[str, str, str]:
        """Program, solver and form."""
        return self.program, self.solver, self.form


@dataclass
class Record:
    """Record of a comparison: `save` it after every measurement, `resume` it if its file exists."""

    settings: dict[str, Any]  # set, sizes, tol, limit, threads, ...: a record is resumed only if these are equal
    versions: dict[str, str | None]  # versions of solvers, numpy, scipy, numba; ours has a digest of the sources
    machine: dict[str, Any]  # processor, cores, memory, system
    missing: list[str] = field(default_factory=list)  # solvers that are not installed
    # installed solvers that gave no first answer, with the reason
    broken: dict[str, str] = field(default_factory=dict)
    # seconds from importing a solver to its first answer, for a program of two variables
    cold_starts: dict[str, float] = field(default_factory=dict)
    sessions: int = 1  # number of starts of the comparison; 1 if it was not interrupted
    measurements: dict[tuple[str, str, str], Measurement] = field(default_factory=dict)

    def add(self, measurement: Measurement) -> None:
        """Add a measurement; it replaces an older one with its key."""
        self.measurements[measurement.key] = measurement

    def save(self, path: Path) -> None:
        """Write the record as JSON, whole or not at all; numbers that are not finite become null."""
        document = {name: getattr(self, name) for name in _DOCUMENT}
        document["measurements"] = [
            {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(m).items()}
            for m in self.measurements.values()
        ]
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
        os.replace(beside, path)


_DOCUMENT = ("settings", "versions", "machine", "missing", "broken", "cold_starts", "sessions")


def read(path: Path) -> Record:
    """Return the record in the file `path`."""
    numbers = {f.name for f in fields(Measurement) if f.type == "float"}
    if not path.is_file():
        raise DataError(f"{path} is not there: a checkout has the reports in docs/results, and `compare` writes one")
    try:
        document = json.loads(path.read_text())
        record = Record(**{name: document[name] for name in _DOCUMENT})
        for entry in document["measurements"]:
            values: dict[str, Any] = {k: NAN if v is None and k in numbers else v for k, v in entry.items()}
            record.add(Measurement(**values))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not the record of a comparison ({type(error).__name__}: {error})") from error
    return record


def resume(path: Path, new: Record, fresh: bool = False) -> Record:
    """Return `new` with the measurements at `path`; raise DataError if these have other settings or another machine.

    Measurements of a solver whose version has changed are dropped; so are all of them if `fresh`.
    """
    if fresh or not path.exists():
        return new
    old = read(path)
    for name, before, now in (("settings", old.settings, new.settings), ("machine", old.machine, new.machine)):
        changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        if changed:
            raise DataError(f"{path} has other {name} ({', '.join(changed)}): give another --out, or --fresh")
    kept = [m for m in old.measurements.values() if new.versions.get(m.solver) == old.versions.get(m.solver)]
    new.sessions, new.cold_starts = old.sessions + 1, old.cold_starts
    for measurement in kept:
        new.add(measurement)
    return new


def versions(solvers: Iterable[str]) -> dict[str, str | None]:
    """Return the version of each solver and of the packages that ours needs, the date and the commit."""
    known = {name: peer.distribution for name, peer in peers.PEERS.items()}
    found = {solver: version_of(known.get(solver, solver)) for solver in solvers}
    found[OURS] = f"{version_of(OURS) or 'source'} ({source_digest()})"
    found |= {"date": date.today().isoformat(), "commit": _commit()}
    return {**found, **{name: version_of(name) for name in ("numpy", "scipy", "numba")}}


def _commit() -> str | None:
    """Return the commit of a checkout, with a plus if sources of the packages have changed; None elsewhere."""
    root = Path(__file__).resolve().parents[2]

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "socp", "qp", "models", "bench")
        return git("rev-parse", "--short", "HEAD") + "+" * bool(changed) if (root / ".git").exists() else None
    except (OSError, subprocess.CalledProcessError):
        return None


def hardware() -> dict[str, Any]:
    """Return processor, cores, memory, system and Python version, and nothing that names the machine."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        memory = 0.0
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.*?)\s*$", info.read_text() if info.exists() else "", re.MULTILINE)
    return {
        "processor": found.group(1) if found else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def without_paths(note: str) -> str:
    """Return a message in one line, without the folders of this machine."""
    return re.sub(r"(?:[A-Za-z]:)?(?:[\\/][^\s\\/'\":,]+)+[\\/]", "", " ".join(note.split()))[:300]


def version_of(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def source_digest() -> str:
    """Return twelve digits of a hash of the source text, which tell one state of the engine from another."""
    root, digest = Path(__file__).resolve().parents[2], hashlib.sha256()
    for package in ("socp", "qp"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]
