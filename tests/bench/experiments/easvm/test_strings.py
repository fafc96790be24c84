"""The experiment on strings: its explanations, its samples, and a quick run on real data."""

import numpy as np
import pytest

from bench.experiments.easvm import strings

pytestmark = pytest.mark.full  # whole experiments, some on real data


def promoter(early, late):
    """Return a string of 57 letters with one motif at `early` and the other at `late`."""
    letters = list("C" * 57)
    letters[early : early + 6], letters[late : late + 6] = "TTGACA", "TATAAT"
    return "".join(letters)


@pytest.mark.parametrize("early, late", [(14, 38), (17, 40), (15, 36)])
def test_the_motifs_of_a_promoter_are_found_where_they_stand(early, late):
    (places,) = strings.promoter_places([promoter(early, late)])
    assert np.flatnonzero(places).tolist() == [*range(early, early + 6), *range(late, late + 6)]


def test_without_any_agreement_the_usual_places_are_taken():
    (places,) = strings.promoter_places(["N" * 57])
    assert np.flatnonzero(places)[[0, 6]].tolist() in ([14, 38], [15, 38])


def test_the_important_words_are_those_over_the_motif():
    # GT is at 30: words of 5 letters overlap it if they begin at 26 to 31; only these remain
    X, _, places = strings.task(
        ["ACGTA" * 12], np.array([True]), np.eye(60, dtype=bool)[[30]] | np.eye(60, dtype=bool)[[31]]
    )
    explained = np.where(places, X, -1.0)
    word = strings.kernel()
    assert word.features(explained).sum() == 6 * (1 + 5 * 3)
    assert word.features(X).sum() == 56 * 16


def test_a_run_depends_on_its_seed_alone_and_finds_a_motif():
    # artificial data: the class depends on a motif at one place; all other letters are random
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(240, 40))
    y = np.where(np.arange(240) % 2 == 0, 1, -1)
    X[:, 20:25] = np.where(y[:, None] > 0, [2, 3, 0, 2, 3], [0, 0, 1, 1, 0])
    places = np.zeros(X.shape, dtype=bool)
    places[:, 16:29] = True
    prepared = {"made up": (X.astype(float), y, places)}
    parameters = {"task": "made up", "size": 10, "seed": 0}
    found = strings.Strings().run(prepared, parameters)
    assert found["area_easvm"] > 0.9 and found["tested"] == 230
    assert found == strings.Strings().run(prepared, parameters)
    assert found != strings.Strings().run(prepared, {**parameters, "seed": 1})
