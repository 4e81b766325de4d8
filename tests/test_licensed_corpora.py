"""CCGbank and the Wall Street Journal, made up: found in a licensee's folder and divided as in the paper."""

import re
import shutil
import warnings

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.corpora import loader
from dense_lstm_zoo.tagging import licensed
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from tests.treebank_files import AUTO, TAGS, WORDS, lay_out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The data folder of a user, and a cache, both empty."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def birds(split):
    """The sections that a split has sentences of, in their order."""
    return [int(tokens[0][5:]) for tokens in split.tokens if tokens[0].startswith("Birds")]


@pytest.fixture(autouse=True)
def no_sizes(monkeypatch):
    """The made-up corpora have fewer sentences than the published ones."""
    for corpus in (licensed.CCGBANK, licensed.WSJ):
        monkeypatch.setitem(corpus.__dict__, "sentences", {})


@pytest.mark.parametrize("place", ["", "AUTO", "data/AUTO", "ccgbank_1_1/data/AUTO"])
def test_ccgbank_is_divided_into_its_sections_wherever_its_folder_begins(folder, place):
    lay_out(folder / "ccgbank" / place, "auto")
    assert loader.is_here("ccgbank")
    corpus = zoo.load_corpus("ccgbank")
    assert birds(corpus.train) == [*range(2, 22)]
    assert (birds(corpus.dev), birds(corpus.test)) == ([0], [23])
    assert len(corpus.train) == 2 * 20
    assert corpus.tag_names == (".", "LRB", "N", "N/N", "NP", "NP[nb]/N", "NP\\NP", "RRB", "S[dcl]\\NP")


@pytest.mark.parametrize(
    ("place", "ending"),
    [
        ("", "mrg"),
        ("", "pos"),
        ("parsed/mrg/wsj", "mrg"),
        ("treebank_3/parsed/mrg/wsj", "mrg"),
        ("tagged/pos/wsj", "pos"),
    ],
)
def test_the_wall_street_journal_is_divided_into_its_sections_wherever_its_folder_begins(folder, place, ending):
    lay_out(folder / "wsj" / place, ending, upper=True)
    corpus = zoo.load_corpus("wsj")
    assert [birds(split) for split in (corpus.train, corpus.dev, corpus.test)] == [
        [*range(19)],
        [19, 20, 21],
        [22, 23, 24],
    ]
    assert corpus.train.tags[:2] == TAGS
    assert corpus.train.tokens[0] == WORDS[0]


def test_trees_are_read_before_tagged_files(folder):
    lay_out(folder / "wsj" / "tagged" / "pos" / "wsj", "pos")
    lay_out(folder / "wsj" / "parsed" / "mrg" / "wsj", "mrg")
    assert {path.suffix for path in licensed.WSJ.find()} == {".mrg"}
    shutil.rmtree(folder / "wsj" / "parsed")
    assert {path.suffix for path in licensed.WSJ.find()} == {".pos"}


@pytest.mark.parametrize(("name", "number"), [("ccgbank", "LDC2005T13"), ("wsj", "LDC99T42")])
def test_a_licensed_corpus_that_is_not_here_says_where_to_put_it(folder, name, number, capsys):
    assert not loader.is_here(name)
    assert loader.is_licensed(name)
    assert not loader.is_licensed("trec")
    (folder / name).mkdir()
    (folder / name / "catalog.txt").write_text("")
    for act in (zoo.load_corpus, zoo.fetch):
        with pytest.raises(FileNotFoundError) as caught:
            act(name)
        message = str(caught.value)
        assert f"is not in {folder / name} and {folder.parent / 'cache' / 'dense_lstm_zoo' / name}" in message
        assert f"({folder / name} holds catalog.txt)" in message
        assert "It is licensed, so it cannot be downloaded" in message
        assert f"({number})" in message
        assert re.search(rf"as in \$DENSE_LSTM_ZOO_DATA/{name}/\S+/00/wsj_0001\.\w+\.$", message)
    assert main(["fetch", name]) == 2
    assert number in capsys.readouterr().err
    assert main(["list", "corpora", name]) == 0
    assert "licensed: from a copy of your own" in capsys.readouterr().out


def test_missing_sections_are_named(folder):
    lay_out(folder / "ccgbank", "auto", [0, *range(2, 21)])
    with pytest.raises(FileNotFoundError) as caught:
        zoo.load_corpus("ccgbank")
    assert str(caught.value) == (
        f"CCGbank in {folder / 'ccgbank'} has no files *.auto of sections 21, 23; "
        "training, dev and test need 02-21 (train), 00 (dev), 23 (test)."
    )


def test_fewer_sentences_than_published_are_told(folder, monkeypatch):
    monkeypatch.setitem(licensed.CCGBANK.__dict__, "sentences", {"auto": {"train": 39_604, "test": 2}})
    lay_out(folder / "ccgbank", "auto")
    with pytest.warns(
        UserWarning, match=r"ccgbank: train has 40 sentences, published are 39,604; scores may not"
    ) as warnings_:
        zoo.load_corpus("ccgbank")
    assert len(warnings_) == 1
    monkeypatch.setitem(licensed.CCGBANK.__dict__, "sentences", {"auto": {"train": 40, "test": 2}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zoo.load_corpus("ccgbank")


def test_a_link_to_the_whole_folder_is_followed_and_none_out_of_it(folder, tmp_path):
    lay_out(tmp_path / "elsewhere", "auto")
    (folder / "ccgbank").symlink_to(tmp_path / "elsewhere")
    assert len(zoo.load_corpus("ccgbank").test) == 2
    secret = tmp_path / "secret.auto"
    secret.write_text(AUTO)
    (tmp_path / "elsewhere" / "05" / "wsj_0599.auto").symlink_to(secret)
    with pytest.raises(ValueError, match=r"wsj_0599\.auto lies outside .*ccgbank by a link within it"):
        zoo.load_corpus("ccgbank")


def test_a_broken_file_of_a_section_is_named_with_its_line(folder):
    lay_out(folder / "ccgbank", "auto")
    path = folder / "ccgbank" / "07" / "wsj_0700.auto"
    path.write_text("\n".join(AUTO.splitlines()[:3]))
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))}, line 3 has no derivation below it"):
        zoo.load_corpus("ccgbank")


def test_files_are_read_in_the_order_of_their_names(write, tmp_path):
    for name in ("b", "a"):
        write(f"( (NN {name}) )", f"{name}.mrg")
    write("( (NN c) )", "c.txt")
    assert licensed.files_in(tmp_path / "none", "mrg") == []
    assert licensed.read_all(licensed.files_in(tmp_path, "mrg")) == TaggedSplit([["a"], ["b"]], [["NN"], ["NN"]])
