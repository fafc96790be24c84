"""WordNet: its files on a tiny scale, and the real ones."""

import pickle
import re
import shutil
import zipfile

import pytest

import socp
from models import UNREACHABLE, WordNet, semantic_distances
from tests.support.data import data_folder

# offset, words, pointers (symbol, offset, part of speech)
SYNSETS = [
    ("00001740", ["entity"], [("~", "00000010", "n"), ("+", "00000500", "v")]),
    ("00000010", ["weapon", "arm"], [("@", "00001740", "n")]),
    ("00000020", ["gun"], [("@", "00000010", "n")]),
    ("00000030", ["gun", "artillery"], [("@", "00000010", "n"), ("#p", "00000040", "n")]),
    ("00000040", ["field_army"], [("@", "00001740", "n")]),
    ("00000050", ["arm"], [("@", "00001740", "n")]),
    ("00000060", ["limb"], [("~", "00000050", "n")]),
    ("00000070", ["atheism"], [("!", "00000080", "n")]),
    ("00000080", ["theism"], []),
]
LICENCE = "  1 This is a licence.  \n  2 gun n 1 0 1 0 00000000\n"


def write(folder):
    """Write WordNet's three files into `folder` and return it."""
    folder.mkdir(parents=True)
    data, senses = [], {}
    for offset, words, pointers in SYNSETS:
        named = " ".join(f"{word} 0" for word in words)
        pointed = " ".join(f"{symbol} {to} {part} 0000" for symbol, to, part in pointers)
        data.append(f"{offset} 03 n {len(words):02x} {named} {len(pointers):03d} {pointed} | a gloss; @ n 00000010")
        for word in words:
            senses.setdefault(word, []).append(offset)
    index = [f"{w} n {len(at)} 2 @ ~ {len(at)} 0 {' '.join(at)}  " for w, at in sorted(senses.items())]
    (folder / "data.noun").write_text(LICENCE + "\n".join(data) + "\n")
    (folder / "index.noun").write_text(LICENCE + "\n".join(index) + "\n")
    (folder / "noun.exc").write_text("limbi limb\n")
    return folder


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "corpora" / "wordnet")
    return tmp_path


def test_distances_count_the_links_from_word_to_word(folder):
    wordnet = WordNet(folder)
    words = ["gun", "artillery", "weapon", "arm", "entity", "field army", "limb", "atheism", "quickly"]
    #  gun - synset - artillery; gun - synset - synset - weapon; arm by the nearer of its senses; the army by #p
    expected = [0, 2, 3, 3, 4, 3, 6, UNREACHABLE, UNREACHABLE]
    assert wordnet.distances(words, "gun").tolist() == expected
    assert semantic_distances(wordnet, words, ["gun", "theism"])[0].tolist() == expected
    assert semantic_distances(wordnet, words, ["gun", "theism"])[1].tolist() == [-1] * 7 + [3, -1]


def test_only_the_relations_that_are_asked_for_are_followed(folder):
    wordnet = WordNet(folder, relations=["@"])
    found = wordnet.distances(["field_army", "limb", "arm"], "artillery")
    assert found.tolist() == [5, UNREACHABLE, 3]  # over the entity; the hyponym ~ of limb is not followed


def test_words_are_found_in_their_forms(folder):
    wordnet = WordNet(folder)
    assert wordnet.bases("guns") == ("gun",)
    assert wordnet.bases("Limbi") == ("limb",)
    assert wordnet.bases("Field armies") == ("field_army",)
    assert not wordnet.is_noun("shoot") and wordnet.senses("shoot").size == 0
    assert wordnet.senses("arms").size == 2
    assert wordnet.distances(["guns"], "GUN").tolist() == [0]


def test_a_label_may_be_several_words(folder):
    wordnet = WordNet(folder)
    words = ["field_army", "artillery", "theism", "limb"]
    assert wordnet.distances(words, "field army").tolist() == [0, 3, -1, 5]  # one noun
    assert wordnet.distances(words, "limb atheism").tolist() == [5, 6, 3, 0]  # two
    assert wordnet.distances(words, ["limb", "atheism"]).tolist() == [5, 6, 3, 0]
    with pytest.raises(socp.ProgramError, match="label 'soon enough' has no word that is a noun of WordNet"):
        wordnet.distances(words, "soon enough")


def test_it_is_found_in_all_the_places(folder, tmp_path, monkeypatch):
    import nltk.data

    files = folder / "corpora" / "wordnet"
    zipped = tmp_path / "zipped" / "corpora"
    zipped.mkdir(parents=True)
    with zipfile.ZipFile(zipped / "wordnet.zip", "w") as archive:
        for file in files.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nowhere"), str(folder)])
    places = [folder, files, files.parent, zipped.parent, zipped / "wordnet.zip", str(files), None]
    for place in places:
        assert WordNet(place).distances(["arm"], "gun").tolist() == [3]


def test_where_it_is_not_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    import nltk.data

    with pytest.raises(socp.ProgramError, match=r"is not in .*empty\. Either .* python -m nltk\.downloader"):
        WordNet(tmp_path / "empty")
    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(socp.ProgramError, match="is not in any folder"):
        WordNet()


def test_it_is_pickled(folder):
    wordnet = pickle.loads(pickle.dumps(WordNet(folder)))
    shutil.rmtree(folder)
    assert wordnet.distances(["arms"], "gun").tolist() == [3]


def test_verbs_are_read_too(folder):
    files = folder / "corpora" / "wordnet"
    (files / "data.verb").write_text(
        "00000500 30 v 02 be 0 exist 0 001 + 00001740 n 0101 02 + 02 00 + 08 00 | have being\n"
        "00000501 30 v 01 shoot 0 002 @ 00000500 v 0000 + 00000020 n 0101 01 + 02 00 | fire\n"
    )
    (files / "index.verb").write_text("be v 1 1 @ 1 1 00000500\nexist v 1 0 1 0 00000500\nshoot v 1 1 @ 1 0 00000501\n")
    (files / "verb.exc").write_text("was be\nshot shoot\n")
    verbs = WordNet(folder, parts=["verb"])
    assert verbs.distances(["exist", "shooting", "shot", "gun"], "was").tolist() == [2, 3, 3, -1]
    assert not verbs.is_noun("shot") and verbs.bases("shoots") == ("shoot",)
    both = WordNet(folder, parts=["noun", "verb"])
    assert both.distances(["shot", "guns", "limb"], "gun").tolist() == [3, 0, 6]
    assert both.distances(["entity"], "be").tolist() == [3]
    for parts in ("noun", [], ["verb", "adverb"]):
        with pytest.raises(socp.ProgramError, match=re.escape(f"parts must be some of 'noun', 'verb', but {parts!r} ")):
            WordNet(folder, parts=parts)
    with pytest.raises(socp.ProgramError, match="label 'soon' has no word that is a noun or verb"):
        both.distances(["gun"], "soon")


# --- the real one ---


@pytest.fixture(scope="module")
def real():
    return WordNet(data_folder("nltk_data"))


def test_the_examples_of_the_paper_have_distance_two(real):
    words = ["artillery", "shooter", "ordnance", "rifle", "weapon", "gun"]
    assert real.distances(words, "guns").tolist() == [2, 2, 2, 4, 3, 0]


@pytest.mark.full
def test_distances_agree_with_nltk(real, monkeypatch):
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    monkeypatch.setattr(nltk.data, "path", [str(data_folder("nltk_data"))])  # nltk reads from nowhere else
    reader = WordNetCorpusReader(str(data_folder("nltk_data") / "corpora" / "wordnet"), None)
    isa = WordNet(data_folder("nltk_data"), relations=["@", "@i"])
    level = set(reader.synsets("israel", "n"))
    near = {lemma.lower(): 2 for synset in level for lemma in synset.lemma_names()}
    for links in range(1, 4):
        around = [(s.hypernyms(), s.instance_hypernyms(), s.hyponyms(), s.instance_hyponyms()) for s in level]
        level = {synset for four in around for found in four for synset in found}
        for lemma in {lemma.lower() for synset in level for lemma in synset.lemma_names()}:
            near.setdefault(lemma, links + 2)
    near["israel"] = 0
    assert len(near) > 100
    assert isa.distances(list(near), "israel").tolist() == list(near.values())
    words = ["dogs", "women", "axes", "jesus", "senate", "quickly", "oneself", "ass"]
    assert [real.is_noun(word) for word in words] == [bool(reader.synsets(word, "n")) for word in words]
