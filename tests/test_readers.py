"""Corpora of trees and of one file per label: published counts, malformed files, download as an archive."""

import dataclasses
import hashlib
import zipfile

import pytest

from dense_lstm_zoo.classification import corpora as readers
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.classification.trees import parse_tree
from dense_lstm_zoo.corpora.loader import fetch, load_corpus
from tests.download_harness import serving_folder

TREES = [
    "(3 (2 A) (4 (4 fine) (2 film)))",
    "(1 (2 It) (1 (1 (2 does) (2 n't)) (2 -LRB-)))",
    "(2 (2 A) (2 film))",
]


@pytest.fixture
def made_sst(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "sst" / "trees"
    folder.mkdir(parents=True)
    for part, lines in (("train", TREES), ("dev", TREES[:2]), ("test", TREES[1:])):
        (folder / f"{part}.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(readers, "_SST_TREES", (3, 2, 2))
    return folder


@pytest.mark.parametrize(
    ("name", "sizes", "labels"),
    [
        ("sst1", (8544, 1101, 2210), 5),
        ("sst2", (6920, 872, 1821), 2),
        ("mr", (10662, None, None), 2),
        ("subj", (10000, None, None), 2),
        ("cr", (3775, None, None), 2),
    ],
)
def test_the_real_corpora_have_their_published_counts(data_folder, name, sizes, labels):
    corpus = load_corpus(name)
    assert tuple(None if part is None else len(part) for part in (corpus.train, corpus.dev, corpus.test)) == sizes
    assert len(corpus.label_names) == labels
    assert set(corpus.train.labels) == set(range(labels))


def test_the_real_corpora_have_their_known_texts_and_labels(data_folder):
    mr, cr, subj, sst1 = (load_corpus(name) for name in ("mr", "cr", "subj", "sst1"))
    assert [sum(corpus.train.labels) for corpus in (mr, cr, subj)] == [5331, 2407, 5000]
    assert mr.train.texts[0].startswith("simplistic , silly and tedious")
    assert mr.train.texts[5331].startswith("the rock is destined")
    assert cr.train.texts.count("") == 4
    assert not any(" n 't" in text for text in cr.train.texts)
    assert sst1.train.texts[0].startswith('The Rock is destined to be the 21st Century \'s new " Conan "')
    assert sst1.label_names[sst1.train.labels[0]] == "positive"
    assert not any("-LRB-" in text or "\\/" in text for text in sst1.train.texts)


@pytest.mark.slow
def test_phrases_of_the_real_treebank_are_every_text_once_and_hold_no_neutral_one(data_folder):
    lines = (data_folder / "sst" / "trees" / "train.txt").read_text(encoding="utf-8").splitlines()
    nodes = [node for line in lines for node in parse_tree(line, range(5))]
    assert len(nodes) == 318_582
    phrases, binary = load_corpus("sst1_phrases"), load_corpus("sst2_phrases")
    assert len(phrases.train) == len({text for text, _ in nodes}) == len(set(phrases.train.texts))
    assert set(load_corpus("sst1").train.texts) <= set(phrases.train.texts)
    assert len(binary.train) == sum(label != 2 for label in phrases.train.labels)
    assert binary.test == load_corpus("sst2").test
    assert phrases.dev == load_corpus("sst1").dev


def test_a_tree_gives_every_node_and_its_escapes_become_what_they_stand_for():
    assert parse_tree(TREES[0], range(5)) == [("A fine film", 3), ("A", 2), ("fine film", 4), ("fine", 4), ("film", 2)]
    assert parse_tree(r"(2 (2 -LRB-) (2 (2 ``) (2 (2 a\/b) (2 '')) ) )".replace(" )", ")"), range(5))[0] == (
        '( " a/b "',
        2,
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A fine film", "found 'A fine film' in column 1"),
        ("(3 (2 A) (4 film)", "with 1 brackets left open"),
        ("(3 (2 A)) (2 film)", r"found ' \(2 film\)' in column 10"),
        ("(3 (2 A)))", r"found '\)' in column 10"),
        ("(7 film)", "label 7 in column 1, not one of 0, 1, 2, 3, 4"),
        ("(3 )", "without words that ends in column 4"),
        ("(x film)", r"found '\(x film\)' in column 1"),
        (")", r"found '\)' in column 1"),
        ("", "found '', with 0 brackets"),
    ],
)
def test_malformed_trees_are_named_by_file_line_and_column(made_sst, line, message):
    (made_sst / "dev.txt").write_text(f"{TREES[0]}\n{line}\n")
    with pytest.raises(ValueError, match=rf"dev\.txt, line 2: .*{message}"):
        load_corpus("sst1")


def test_small_trees_become_sentences_and_phrases(made_sst):
    sst1, sst2 = load_corpus("sst1"), load_corpus("sst2")
    assert sst1.train == Split(["A fine film", "It does n't (", "A film"], [3, 1, 2])
    assert sst2.train == Split(["A fine film", "It does n't ("], [1, 0])
    assert sst2.test == Split(["It does n't ("], [0])
    phrases = load_corpus("sst2_phrases").train
    assert dict(zip(phrases.texts, phrases.labels, strict=True)) == {
        "A fine film": 1,
        "fine film": 1,
        "fine": 1,
        "It does n't (": 0,
        "does n't (": 0,
        "does n't": 0,
    }


def test_wrong_counts_are_named_by_file(made_sst, tmp_path):
    (made_sst / "test.txt").write_text(TREES[0] + "\n")
    with pytest.raises(ValueError, match=r"test\.txt: found 1 lines, expected 2"):
        load_corpus("sst1")
    folder = tmp_path / "data" / "mr"
    folder.mkdir()
    for name in ("rt-polarity.neg", "rt-polarity.pos"):
        (folder / name).write_text("a film\n" * 3)
    with pytest.raises(ValueError, match=r"rt-polarity\.neg: found 3 lines, expected 5,331"):
        load_corpus("mr")


def test_a_file_a_label_reads_latin_1_and_joins_crs_negations(tmp_path):
    (tmp_path / "neg").write_bytes("it does n 't play caf\xe9s .\r\n\r\n".encode("latin-1"))
    (tmp_path / "pos").write_text("a fine n 't-free player\n")
    corpus = readers.read_two_files(
        "cr", [tmp_path / "neg", tmp_path / "pos"], label_names=("negative", "positive"), lines=(2, 1)
    )
    assert corpus.train == Split(["it does n't play cafés .", "", "a fine n't-free player"], [0, 0, 1])


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A loopback home of SST's archive, an empty cache and no data folder. Yields a function that makes the archive."""
    served = tmp_path / "home"
    served.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DENSE_LSTM_ZOO_DATA", raising=False)
    monkeypatch.setattr(readers, "_SST_TREES", (3, 3, 3))
    content = "\n".join(TREES) + "\n"
    with serving_folder(monkeypatch, served) as address:
        url = f"{address}/trees.zip"
        sha256 = hashlib.sha256(content.encode()).hexdigest()
        source = readers.SOURCES["sst1"]
        size = len(content.encode())
        files = tuple(dataclasses.replace(file, url=url, sha256=sha256, size=size) for file in source.files)
        monkeypatch.setitem(readers.SOURCES, "sst1", dataclasses.replace(source, files=files))

        def make(contents=content, names=("trees/train.txt", "trees/dev.txt", "trees/test.txt"), num_bytes=None):
            with zipfile.ZipFile(served / "trees.zip", "w", zipfile.ZIP_DEFLATED) as file:
                for name in names:
                    file.writestr(name, contents)
            if num_bytes:
                (served / "trees.zip").write_bytes((served / "trees.zip").read_bytes()[:num_bytes])

        yield make


def test_a_corpus_in_an_archive_is_downloaded_once_and_unpacked_into_its_own_folder(archive, tmp_path):
    archive(names=("../../evil.txt", "/evil.txt", "trees/train.txt", "trees/dev.txt", "trees/test.txt"))
    assert len(load_corpus("sst1").train) == 3
    folder = tmp_path / "cache" / "dense_lstm_zoo" / "sst" / "trees"
    assert sorted(p.name for p in folder.iterdir()) == ["dev.txt", "test.txt", "train.txt", "trees.zip"]
    assert not list(tmp_path.rglob("evil*"))
    (tmp_path / "home" / "trees.zip").unlink()
    assert fetch("sst1") == [folder / "train.txt", folder / "dev.txt", folder / "test.txt"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ({"contents": "(2 other)\n"}, r"trees/train\.txt has 10 bytes, expected"),
        ({"contents": ("\n".join(TREES) + "\n")[::-1]}, r"trees/train\.txt has sha256 .*, expected"),
        ({"names": ("other.txt",)}, "no item named 'trees/train.txt'"),
        ({"num_bytes": 60}, "not a zip file"),
    ],
)
def test_an_archive_that_is_not_the_published_one_is_refused_and_deleted(archive, tmp_path, make, message):
    archive(**make)
    with pytest.raises(ValueError, match=rf"trees\.zip is not the published archive: .*{message}"):
        fetch("sst1")
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    archive()
    assert len(fetch("sst1")) == 3


def test_folds_are_disjoint_complete_stratified_and_the_same_each_time():
    texts = [f"text {i}" for i in range(103)]
    corpus = Corpus("mine", ("a", "b"), Split(texts, [int(i % 3 == 0) for i in range(103)]), None, Split(["x"], [0]))
    folds = [corpus.fold(k, 10) for k in range(1, 11)]
    assert sorted(text for fold in folds for text in fold.test.texts) == sorted(texts)
    for fold in folds:
        assert sorted([*fold.train.texts, *fold.test.texts]) == sorted(texts)
        assert fold.dev is None
        assert len(fold.test) in (10, 11)
        assert sum(fold.test.labels) in (3, 4)
        for text, label in zip(fold.test.texts, fold.test.labels, strict=True):
            assert label == corpus.train.labels[texts.index(text)]
    assert folds[4] == corpus.fold(5, 10)
    assert folds[4].test.texts != [f"text {i}" for i in range(50, 60)]


def test_impossible_folds_are_refused():
    corpus = Corpus("mine", ("a", "b"), Split(list("abcdef"), [0, 0, 0, 0, 1, 1]), None, None)
    for fold, folds, message in [(1, 1, "folds must be"), (0, 3, "fold must be"), (4, 3, "fold must be from 1 to 3")]:
        with pytest.raises(ValueError, match=message):
            corpus.fold(fold, folds)
    with pytest.raises(ValueError, match=r"folds=3 needs 3 examples of each label; 'b' has 2"):
        corpus.fold(1, 3)
