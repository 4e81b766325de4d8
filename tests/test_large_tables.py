"""A table that is larger than memory trains as a small one does, and its texts are not held in memory."""

import csv
import errno
import functools
import gc
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.classification import baseline
from dense_lstm_zoo.classification.batches import TrainingBatches, evaluation_batches
from dense_lstm_zoo.classification.job import ClassificationJob
from dense_lstm_zoo.classification.tables import read_table_corpus
from dense_lstm_zoo.classification.vocabulary import build_vocabulary
from dense_lstm_zoo.data import table_lines, tables
from dense_lstm_zoo.data.stored_ids import StoredIds
from dense_lstm_zoo.data.stored_texts import StoredTexts
from tests.saving_harness import same_weights
from tests.training_harness import interrupted, small_demo, train


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def read_both(folder, monkeypatch):
    """Read a table in memory, and as a large one."""

    def read(kind, path, **options):
        in_memory = read_table_corpus(kind, train_file=path, **options)
        monkeypatch.setattr(tables, "MOST_IN_MEMORY", 0)
        stored = read_table_corpus(kind, train_file=path, **options)
        monkeypatch.undo()
        assert (type(in_memory.train.texts), type(stored.train.texts)) == (list, StoredTexts)
        return in_memory, stored

    return read


@pytest.fixture
def demo_csv(tmp_path):
    """Some hundred texts of the demo corpus, with the names of their labels, as a csv."""
    split = small_demo().train
    path = tmp_path / "demo.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(split.texts, split.labels, strict=True)])
    return path


def same(part, other):
    return [list(getattr(part, name)) for name in ("texts", "labels", "lines")] == [
        list(getattr(other, name)) for name in ("texts", "labels", "lines")
    ]


def contents(dataset):
    return [[x.tolist() for x in batch] for batch in dataset.as_numpy_iterator()]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("csv", 'label,text\n1.0,"two\nlines"\n2,caf\u00e9 \u65e5\u672c\n\nlabel,text\n1,"\'=x"\n2,end\n'),
        ("tsv", 'label\ttext\n1\t"a"\n1\t"b\n2\tc\n'),
        (
            "jsonl",
            [{"text": "\ud800 half \u2028", "label": 1}, {"text": "x", "label": True}, {"label": 2, "text": "y"}],
        ),
        ("csv", "text,label\n,a\nx,b\ny,\n \nz,c\n".encode("utf-16")),
    ],
)
def test_a_large_table_is_the_corpus_that_a_small_one_is(read_both, write, kind, content):
    for name, file in (("plain", write(content)), ("packed", write(content, "packed"))):
        if name == "packed":
            file.write_bytes(gzip.compress(file.read_bytes()))
        in_memory, stored = read_both(kind, file, skip_empty=True)
        assert stored.label_names == in_memory.label_names
        assert same(stored.train, in_memory.train)
        assert ClassificationJob.fingerprint(stored) == ClassificationJob.fingerprint(in_memory)


def test_parts_and_folds_of_a_large_table_are_those_of_a_small_one(read_both, demo_csv):
    in_memory, stored = read_both("csv", demo_csv)
    for ours, theirs in (
        (stored.with_dev(0.2, seed=3), in_memory.with_dev(0.2, seed=3)),
        (stored.fold(2, folds=4), in_memory.fold(2, folds=4)),
        (stored.with_dev().fold(1, folds=3), in_memory.with_dev().fold(1, folds=3)),
        (stored.first_texts({"train": 7}), in_memory.first_texts({"train": 7})),
    ):
        assert str(ours) == str(theirs)
        assert all(same(getattr(ours, p), getattr(theirs, p)) for p in ("train", "dev", "test") if getattr(ours, p))
        assert ClassificationJob.fingerprint(ours) == ClassificationJob.fingerprint(theirs)
    assert stored.json_lines() == in_memory.json_lines()


def test_a_fingerprint_is_the_checksum_of_what_the_corpus_holds(read_both, demo_csv):
    for corpus in read_both("csv", demo_csv):
        train = corpus.train
        text = (
            f"({corpus.label_names!r}, Split(texts={list(train.texts)!r}, labels={list(train.labels)!r}), None, None)"
        )
        assert ClassificationJob.fingerprint(corpus) == hashlib.sha256(text.encode()).hexdigest()


def test_words_hashes_and_batches_of_a_large_table_are_those_of_a_small_one(read_both, demo_csv):
    corpora = [corpus.with_dev() for corpus in read_both("csv", demo_csv)]
    ours, theirs = (build_vocabulary(corpus.train.texts).with_chars for corpus in corpora)
    assert ours == theirs
    hashes, others = (text_hashes.hash_texts(ClassificationJob.token_rows(corpus.train)) for corpus in corpora)
    assert np.array_equal(hashes, others)
    for chars in ("", ours.chars):
        text_to_ids = type(ours)(ours.words, chars=chars).text_to_ids()
        rows = [text_to_ids.rows(corpus.train.texts) for corpus in corpora]
        assert [type(x) for x in rows] == [list, StoredIds]
        assert rows[1].lengths.tolist() == [len(x["token_ids"] if chars else x) for x in rows[0]]
        for i in (0, 5, len(rows[0]) - 1, -1):
            assert np.array_equal(*([x[i]["char_ids"] if chars else x[i] for x in rows]))
        if not chars:
            batches, other_batches = (
                TrainingBatches(ids, corpus.train.labels, batch_size=30, seed=1)
                for ids, corpus in zip(rows, corpora, strict=True)
            )
            assert contents(batches.dataset) == contents(other_batches.dataset)
            assert batches.median_tokens == other_batches.median_tokens
            assert contents(batches.start_at(3)) == contents(other_batches.start_at(3))
            dev = [evaluation_batches(text_to_ids.rows(x.dev.texts), x.dev.labels) for x in corpora]
            assert contents(dev[0]) == contents(dev[1])
    fitted = [baseline.fit(corpus) for corpus in corpora]
    assert np.array_equal(*(x.predict(corpus.dev.texts) for x, corpus in zip(fitted, corpora, strict=True)))


def test_overlap_counts_texts_and_shows_the_first():
    rows = [f"text number {i} here".split() for i in range(50)]
    hashes = text_hashes.hash_texts(rows[10:30])
    overlap = text_hashes.overlap(hashes, iter(rows))
    assert (overlap.count, overlap.texts, overlap.example) == (20, 50, "text number 10 here")
    assert text_hashes.overlap(hashes[:0], rows).count == 0


@pytest.mark.slow
def test_a_large_table_trains_to_the_same_weights_also_after_an_interruption(demo_csv, tmp_path, monkeypatch):
    settings = {"dataset": str(demo_csv), "vectors": "none", "epochs": 2, "baseline": True}
    expected = train(tmp_path / "in_memory", **settings)
    monkeypatch.setattr(tables, "MOST_IN_MEMORY", 0)
    with interrupted(epoch=1, batch=2):
        train(tmp_path / "stored", **settings, checkpoint_minutes=1e-9)
    gc.collect()
    bundle = train(tmp_path / "stored", **settings)
    assert same_weights(bundle, expected)
    assert {**bundle.metrics, "seconds": 0} == {**expected.metrics, "seconds": 0}
    assert bundle.config["training"]["data_sha256"] == expected.config["training"]["data_sha256"]


@pytest.mark.parametrize(
    ("kind", "content", "match"),
    [
        ("csv", "text,label\na,x\n\n,y\nb,\n", r"1 row \(line 4\) with an empty text"),
        ("csv", "text,label\na,x\nb,\nc,y\nd, \n", r"2 rows \(lines 3, 5\) with an empty label"),
        ("csv", f"text,label\na,x\nb,{'y' * 1001}\n", r"1 row \(line 3\) with a label longer than 1,000"),
        ("csv", "text,label\na,x\nb,y,z\n", "line 3 has 3 cells"),
        ("csv", 'text,label\na,x\nb,"y\n', "line 3 opens a quotation mark"),
        ("csv", "text,label\na,x\nb,x\n", "every row has the label 'x'"),
        ("csv", b"text,label\na,x\nb,y\nna\xefve,y\n", r"byte 0xef at offset 21, line 4"),
        (
            "csv",
            "text,label\na,x\nb,y\n".encode("utf-16") + b"\x00\xd8\n\x00",
            r"not utf-16: byte 0x00 at offset 40, line",
        ),
        ("jsonl", '{"text": "a", "label": 1}\n{"text": 2, "label": 1}\n', "line 2: 'text' must be a string"),
        ("jsonl", '{"text": "a", "label": 1}\n{"text": "b"}\n', "column for .* line 2"),
    ],
)
def test_errors_of_a_large_table_name_the_lines(write, monkeypatch, kind, content, match):
    path, messages = write(content), []
    for most in (tables.MOST_IN_MEMORY, 0):
        monkeypatch.setattr(tables, "MOST_IN_MEMORY", most)
        with pytest.raises(ValueError, match=match) as caught:
            read_table_corpus(kind, train_file=path)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_byte_that_cannot_be_decoded_has_its_place_in_a_file_of_many_blocks(write, monkeypatch):
    monkeypatch.setattr(table_lines, "_BLOCK", 7)
    for encoding in ("utf-8", "utf-8-sig"):
        content = "text,label\na,x\n\u65e5\u672c\u65e5,y\n".encode(encoding) + b"bad \xff,x\n"
        with pytest.raises(ValueError, match=rf"byte 0xff at offset {content.index(0xFF)}, line 4 "):
            read_table_corpus("csv", train_file=write(content))


def test_utf_16_without_its_mark_is_read_where_it_is_named(write):
    path = write("text,label\na,x\nb,y\n".encode(f"utf-16-{sys.byteorder[0]}e"))
    assert read_table_corpus("csv", train_file=path, encoding="utf-16").train.texts == ["a", "b"]


def test_a_file_that_changes_while_it_is_read_is_an_error(write):
    path = write("text,label\na,x\nb,y\n")
    lines = table_lines.read_lines(path, "utf-8", newline="")
    next(lines)
    with path.open("a") as file:
        file.write("c,x\n")
    with pytest.raises(ValueError, match="changed while it was read"):
        list(lines)


def test_a_temporary_file_has_no_name_and_goes_with_the_corpus(folder, demo_csv, monkeypatch):
    def open_files():
        links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return [link for link in links if link.startswith(str(folder))]

    monkeypatch.setattr(tables, "MOST_IN_MEMORY", 0)
    corpus = read_table_corpus("csv", train_file=demo_csv)
    part = corpus.with_dev().dev
    assert (list(folder.iterdir()), len(open_files())) == ([], 1)
    del corpus
    gc.collect()
    assert (part.texts[0], len(open_files())) == (next(iter(part.texts)), 1)
    del part
    gc.collect()
    assert open_files() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_named(folder, demo_csv, monkeypatch):
    monkeypatch.setattr(tables, "MOST_IN_MEMORY", 0)
    full = functools.partial(Path("/dev/full").open, "r+b")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    corpus = read_table_corpus("csv", train_file=demo_csv)  # some texts are written together
    with pytest.raises(OSError, match=f"{folder} holds the texts of large files .* TMPDIR names another") as caught:
        list(corpus.train.texts)
    assert caught.value.errno == errno.ENOSPC


def test_texts_far_apart_are_those_at_their_places(folder):
    words = [f"word {i} " * (i % 7) for i in range(5000)]
    texts = StoredTexts(words)
    order = np.random.default_rng(0).permutation(len(words))
    assert list(texts) == words
    assert list(texts.select(order)) == [words[i] for i in order]
    assert list(texts.select(order)[10:4000:3]) == [words[i] for i in order[10:4000:3]]
    assert (texts[-1], texts.select(order)[2], len(texts.select([])[:])) == (words[-1], words[order[2]], 0)
    with pytest.raises(IndexError):
        texts[5000]


PROGRAM = """
import os, resource, sys
import keras
import dense_lstm_zoo as zoo
from dense_lstm_zoo.data import tables

class Report(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
            os._exit(0)

tables.MOST_IN_MEMORY = 1 << 20
zoo.train("bilstm", *sys.argv[1:], vectors="none", units=2, embedding_dim=4, progress=False, callbacks=[Report()])
"""


@pytest.mark.slow
def test_memory_hardly_grows_with_the_rows(tmp_path):
    """A row that is held in memory takes some 400 bytes here, and one in a file some 80: its places, label and hash."""
    peaks = []
    for rows in (100_000, 400_000):
        path = tmp_path / f"{rows}.jsonl"
        with path.open("w") as file:
            for i in range(rows):
                text = (
                    f"the film of {i % 977} and {i % 1009} was {'dull' if i % 2 else 'fine'} {'and long ' * (i % 5)}."
                )
                file.write(json.dumps({"text": text, "label": i % 2}) + "\n")
        command = [sys.executable, "-c", PROGRAM, str(path), str(tmp_path / "run")]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(1024 * int(run.stdout.split("peak ")[1].split()[0]))
    assert (peaks[1] - peaks[0]) / 300_000 < 200, peaks
