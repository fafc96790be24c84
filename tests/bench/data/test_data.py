"""The loaders of real data, each on a tiny file in the format of the real one."""

import io
import tarfile

import numpy as np
import pytest

from bench import data
from bench.data import source
from bench.data.newsgroups import split_post
from bench.data.text import cached_tokens
from bench.programs.sets import DataError


def pack(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode("latin-1"))
            archive.addfile(member, io.BytesIO(text.encode("latin-1")))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(address, timeout):
        raise OSError(f"no network: {address}")

    monkeypatch.setattr(source.urllib.request, "urlopen", refuse)


def test_newsgroups(tmp_path):
    posts = {
        "20news-bydate-train/rec.autos/7": "From: a@b\nSubject: Re: cars\n and more\nLines: 1\n\nBlue \xe9 ones.\n",
        "20news-bydate-train/rec.autos/11": "From: a@b\n\nNo subject.",
        "20news-bydate-test/alt.atheism/3": "Subject: none\n\nBody\n\nSubject: not this",
    }
    pack(tmp_path / "20news-bydate.tar.gz", posts)
    found = data.newsgroups(tmp_path)
    assert found.groups.tolist() == ["alt.atheism", "rec.autos", "rec.autos"]
    assert found.subjects == ["none", "", "Re: cars\n and more"]
    assert found.bodies == ["Body\n\nSubject: not this", "No subject.", "Blue \xe9 ones.\n"]
    assert data.newsgroups(tmp_path, ["rec.autos"]).groups.tolist() == ["rec.autos"] * 2
    with pytest.raises(DataError, match=r"posts of sci\.space"):
        data.newsgroups(tmp_path, ["rec.autos", "sci.space"])


def test_reuters(tmp_path):
    article = (
        '<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" NEWID="1">\n'
        "<TOPICS>{listed}</TOPICS><PLACES><D>usa</D></PLACES>"
        "<TEXT>\n<TITLE>A &lt;B> title</TITLE><BODY>Text &amp; more\n&#3;</BODY></TEXT>\n</REUTERS>\n"
    )
    first = article.format(topics="YES", split="TRAIN", listed="<D>grain</D><D>wheat</D>")
    first += article.format(topics="NO", split="TRAIN", listed="<D>earn</D>")
    second = article.format(topics="YES", split="TEST", listed="")
    second += article.format(topics="YES", split="NOT-USED", listed="<D>earn</D>")
    pack(tmp_path / "reuters21578.tar.gz", {"reut2-001.sgm": second, "reut2-000.sgm": first, "README.txt": "no"})
    found = data.reuters(tmp_path)
    assert found.topics == [frozenset({"grain", "wheat"}), frozenset()]
    assert found.is_train.tolist() == [True, False]
    assert found.has("grain").tolist() == [True, False]
    assert found.titles == ["A <B> title"] * 2 and found.bodies[0].startswith("Text & more")


@pytest.mark.parametrize("names", ["", "class,name,sequence\n"])
def test_sequences(tmp_path, names):
    write(tmp_path / "uci/promoters.data", f"{names}+,S10,\t\t{'acgt' * 14}a\n-,  867,\t{'t' * 57}\n")
    found = data.promoters(tmp_path)
    assert found.labels.tolist() == ["+", "-"] and found.strings[1] == "T" * 57
    assert found.codes()[0, :5].tolist() == [0, 1, 2, 3, 0] and found.codes().shape == (2, 57)
    write(tmp_path / "splice.data", f"{names}EI, X-1, {'N' * 60}\n N,Y-2,{'ACGTG' * 12}\n")
    found = data.splice_junctions(tmp_path)
    assert found.labels.tolist() == ["EI", "N"] and (found.codes()[0] == -1).all()
    write(tmp_path / "splice.data", f"EI,X-1,{'A' * 59}\n")
    with pytest.raises(DataError, match="60 bases"):
        data.splice_junctions(tmp_path)


def test_series(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.random((3, 90)).round(5)
    lines = [",".join(map(str, row)) + f",{label}" for row, label in zip(rows, (1, 15, 7))]
    write(tmp_path / "uci/movement_libras.data", "\n".join(["FIRST,SECOND", *lines]))
    found = data.libras(tmp_path)
    assert found.labels.tolist() == [1, 15, 7]
    np.testing.assert_array_equal(found.series[1], rows[1].reshape(45, 2))
    write(tmp_path / "uci/movement_libras.data", lines[0][:-1] + "16")
    with pytest.raises(DataError, match="labels 1 to 15"):
        data.libras(tmp_path)


@pytest.mark.parametrize("between", ["\n", " ".join(["1.00"] * 12) + " \n"])
def test_vowels(tmp_path, between):
    def block(points):
        return "".join(" ".join(["0.5"] * 12) + " \n" for _ in range(points))

    write(tmp_path / "uci/ae.train", between.join(block(1 + k % 3) for k in range(270)) + between)
    write(tmp_path / "uci/ae.test", between.join(block(2) for _ in range(370)))
    found = data.japanese_vowels(tmp_path)
    assert len(found.series) == 640
    assert [len(s) for s in found.series[:4]] == [1, 2, 3, 1] and found.series[0].shape == (1, 12)
    assert np.bincount(found.labels[270:])[1:].tolist() == [31, 35, 88, 44, 29, 24, 40, 50, 29]
    write(tmp_path / "uci/ae.test", between.join(block(2) for _ in range(369)))
    with pytest.raises(DataError, match="370 utterances, but 369"):
        data.japanese_vowels(tmp_path)


def test_default(tmp_path):
    write(tmp_path / "Default.csv", '"default","student","balance","income"\n"No","Yes",729.5,1e4\n"Yes","No",0,2\n')
    found = data.default(tmp_path)
    assert found.defaulted.tolist() == [False, True] and found.student.tolist() == [True, False]
    assert found.balance.tolist() == [729.5, 0.0] and found.income.tolist() == [1e4, 2.0]
    write(tmp_path / "Default.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match="columns"):
        data.default(tmp_path)


@pytest.mark.parametrize(
    "load", [data.newsgroups, data.reuters, data.promoters, data.splice_junctions, data.libras, data.default]
)
def test_what_is_missing_is_named_with_both_ways_to_get_it(tmp_path, load):
    with pytest.raises(DataError, match=r"no network: https?://.*Either put the file .* or let this machine"):
        load(tmp_path)
    assert not list(tmp_path.rglob("*.*"))  # no partial files are left


def test_a_file_is_downloaded_once(tmp_path, monkeypatch):
    calls = []

    def serve(address, timeout):
        calls.append(address)
        return io.BytesIO(b"1,2")

    monkeypatch.setattr(source.urllib.request, "urlopen", serve)
    numbers = data.Source("folder/numbers.csv", "https://example.org/numbers.csv", "some numbers")
    monkeypatch.setenv("CENTRALPATH_DATA", str(tmp_path))
    for _ in range(2):
        assert data.locate(numbers) == tmp_path / "folder/numbers.csv"
    assert calls == ["https://example.org/numbers.csv"] and data.locate(numbers).read_text() == "1,2"


def test_tokens_are_counted():
    tokens = data.Tokens.of([data.stem_words(data.tokenize(text)) for text in ("Cars car 12", "", "a@b.org car")])
    counts = tokens.counts().toarray()
    assert tokens.vocabulary.tolist() == ["EMAILADDR", "NUMBER", "car"]
    assert counts.tolist() == [[0, 1, 2], [0, 0, 0], [1, 0, 1]]


def test_tokens_are_kept_on_disk_by_the_checksum_of_their_source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path / "texts", "first")
    calls = []

    def texts():
        calls.append(1)
        yield from (["b", "a"], ["b"])

    own = source.Source("texts", "", "")
    for _ in range(2):
        tokens = cached_tokens("test", own, tmp_path, texts())
        assert tokens.vocabulary.tolist() == ["a", "b"] and tokens.words.tolist() == [1, 0, 1]
    assert len(calls) == 1
    write(tmp_path / "texts", "second")
    cached_tokens("test", own, tmp_path, texts())
    assert len(calls) == 2


def test_a_post_without_a_body_is_split():
    assert split_post("Subject: x") == ("x", "")
