"""The recipes of docs/CONTRIBUTING.md for an experiment and a peer: each place that they name is filled."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from bench import experiments, peers
from bench.experiments.frame.experiment import Experiment
from bench.peers.peer import CONE, PEERS, QUADRATIC
from tests.bench.peers import test_peers

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "experiments"


def modules_of_experiments():
    """Yield (module, names of its experiments) for each file that defines a subclass of `Experiment`."""
    for path in sorted(FOLDER.rglob("*.py")):
        place = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        module = import_module(f"bench.experiments.{place.removesuffix('.__init__')}")
        kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Experiment)]
        names = [kind.name for kind in kinds if "name" in vars(kind) and kind.__module__ == module.__name__]
        if names:
            yield place, names


FOUND = dict(modules_of_experiments())


def test_every_experiment_has_its_name_in_the_list():
    listed = {name: place.partition(":")[0] for name, place in experiments.MODULES.items()}
    assert {name: module for module, names in FOUND.items() for name in names} == listed
    assert all(experiments.find(name).name == name for name in listed)


@pytest.mark.parametrize("name", experiments.MODULES)
def test_every_experiment_has_a_page_with_all_its_runs(name):
    kept = ROOT / "docs" / "results" / "experiments" / name
    assert {"runs.jsonl", "summary.json", "page.html", "tables.md"} <= {path.name for path in kept.iterdir()}


@pytest.mark.parametrize("name", peers.names())
def test_every_peer_can_be_installed_and_is_tested(name):
    extras = (ROOT / "setup.py").read_text("utf-8").lower()
    assert re.search(rf'"{re.escape(PEERS[name].distribution)}[";]|^{name} = ', extras, re.M)
    takes = PEERS[name].takes
    assert (CONE in takes) == (name in test_peers.CONE_PEERS)
    assert (QUADRATIC in takes) == (name in test_peers.QUADRATIC_PEERS)
