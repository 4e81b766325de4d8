"""Text for language models: streamed files, ids, windows that predict each token from the one before it."""

import collections
import gzip
import os
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.data import text_file
from dense_lstm_zoo.data.text_file import TextFile, num_tokens
from dense_lstm_zoo.language import corpora
from dense_lstm_zoo.language import vocabulary as language_vocabulary
from dense_lstm_zoo.language.batches import TrainingWindows, evaluation_windows
from dense_lstm_zoo.language.corpora import read_ptb, read_text_files
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.language.job import LanguageModelJob
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary

WORDS = LanguageVocabulary(("the", "<eos>", "cat", "<unk>", "sat"))


def write_text(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def ids_by_hand(lines, words):
    ids = []
    for line in lines:
        tokens = line.split()
        for token in tokens + ["<eos>"] * bool(tokens):
            ids.append(words.index(token) if token in words else words.index("<unk>"))
    return ids


def ptb_paths(folder):
    return [folder / f"ptb.{part}.txt" for part in ("train", "valid", "test")]


def test_the_real_penn_treebank_has_its_published_counts_and_windows(data_folder):
    corpus = read_ptb("ptb", ptb_paths(data_folder / "ptb"))
    assert str(corpus) == "ptb: 929,589 train, 73,760 dev, 82,430 test tokens"
    words = LanguageVocabulary.from_text(corpus.train)
    assert len(words) == len(set(words.words)) == 10_000
    assert words.words[:5] == ("the", "<unk>", "<eos>", "N", "of")
    ids = words.encode(corpus.train)
    assert np.bincount(ids, minlength=10_000)[:3].tolist() == [50_770, 45_020, 42_068]
    training = TrainingWindows(ids, vocab_size=len(words))
    assert np.diff(training.starts).tolist() == [46_479] * 19
    assert len(training) == sum(1 for _ in training) == 1327
    text = (data_folder / "ptb" / "ptb.train.txt").read_text().replace("\n", " <eos> ").split()
    inputs, targets = next(iter(training.start_at(1326)))
    assert [words.words[i] for i in targets[19]] == text[46_479 * 19 + 46_411 :][:35]
    assert [words.words[i] for i in inputs["token_ids"][0]] == text[46_410 : 46_410 + 35]
    for source, tokens in ((corpus.dev, 73_760), (corpus.test, 82_430)):
        assert evaluation_windows(words.encode(source)).num_predictions == tokens - 1


def test_a_file_that_is_not_the_published_penn_treebank_is_named_with_its_counts(tmp_path, monkeypatch):
    paths = ptb_paths(tmp_path)
    for path in paths:
        write_text(path, " a b <unk> \n b N \n")
    monkeypatch.setattr(corpora, "_PTB_TYPES", 5)
    monkeypatch.setattr(corpora, "_PTB_TOKENS", {"train": 7, "dev": 7, "test": 7})
    assert list(read_ptb("ptb", paths).test) == ["a b <unk>", "b N"]
    monkeypatch.setattr(corpora, "_PTB_TYPES", 1_000)
    with pytest.raises(ValueError, match=r"train\.txt: found 5 different words with <eos>, expected 1,000"):
        read_ptb("ptb", paths)
    write_text(paths[1], "a b\n")
    with pytest.raises(ValueError, match=r"valid\.txt: found 3 tokens with <eos>, expected 7; it is not the published"):
        read_ptb("ptb", paths)


def test_the_same_lines_come_from_every_way_to_store_them_again_and_again(tmp_path):
    text = "a café\n\n \t\nb\x85c \u2028 d\n e"
    ways = {
        "plain": text.encode(),
        "end": text.encode() + b"\n\n",
        "windows": text.replace("\n", "\r\n").encode(),
        "bom": text.encode("utf-8-sig"),
        "zipped.gz": gzip.compress(text.encode()),
        "zipped.txt": gzip.compress(text.encode()),
    }
    for name, content in ways.items():
        path = tmp_path / name
        path.write_bytes(content)
        source = TextFile(path)
        assert list(source) == list(source) == ["a café", "b\x85c \u2028 d", "e"]
        assert (source.num_lines, source.num_tokens) == (3, 2 + 3 + 1 + 3)
    for options in (("utf-16",), ()):  # by its mark, too
        assert list(TextFile(write_text(tmp_path / "utf-16", text, "utf-16"), *options)) == list(source)


@pytest.mark.parametrize(
    ("content", "encoding", "line"),
    [
        (b"fine\n\nbad \xff\n", "utf-8", 3),
        (b"a line\n" * 50_000 + b"caf\xe9\n" * 2, "utf-8", 50_001),
        (gzip.compress(b"a line\n" * 50_000 + b"caf\xe9\n", mtime=0), "utf-8", 50_001),
        ("é\n".encode() * 50_000 + b"\xff", "utf-8", 50_001),
        (b"fine\ncut \xe2\x82", "utf-8", 2),
        (b"a line\n" * 50_000 + b"\x81\n", "cp1252", 50_001),
        ("a line\n".encode("utf-16") + b"\x00\xd8" * 2, "utf-16", 2),
    ],
)
def test_bytes_that_are_not_in_the_encoding_are_named_by_file_and_line(tmp_path, content, encoding, line):
    path = tmp_path / "train.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"train\.txt, line {line} is not {encoding}: byte 0x"):
        read_text_files(train_file=path, encoding=encoding)


def test_the_advice_on_a_wrong_byte_in_a_large_file_comes_from_the_lines_around_it(tmp_path):
    path, lines = tmp_path / "train.txt", "очень хорошо\n".encode() * 200_000
    for before, after in ((9, 200_000), (50_000, 0)):
        path.write_bytes(gzip.compress(lines[: 24 * before] + b"fi\xffne\n" + lines[: 24 * after], 1))
        tracemalloc.start()
        with pytest.raises(ValueError, match=rf"line {before + 1} is not utf-8: .*The rest is UTF-8, with at least 1 "):
            collections.deque(TextFile(path), maxlen=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6_000_000


def test_files_that_cannot_be_used_are_refused_before_any_work(tmp_path):
    good = write_text(tmp_path / "train.txt", "a b\nc\n")
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'train\.txt'"):
        read_text_files(train_file=tmp_path / "trian.txt")
    with pytest.raises(FileNotFoundError, match=r"test\.txt does not exist"):
        read_text_files(train_file=good, test_file=tmp_path / "test.txt")
    with pytest.raises(ValueError, match="is a folder"):
        read_text_files(train_file=tmp_path)
    with pytest.raises(ValueError, match="must be a text encoding such as 'utf-8' or 'cp1252'; received 'klingon'"):
        read_text_files(train_file=good, encoding="klingon")
    for content in ("", " \n\n\t\n"):
        empty = write_text(tmp_path / "empty.txt", content)
        with pytest.raises(ValueError, match=r"empty\.txt is empty"):
            read_text_files(train_file=good, dev_file=empty)
    with pytest.raises(ValueError, match=r"has only one line, .* give a dev_file \(--dev-file\)"):
        read_text_files(train_file=write_text(tmp_path / "one.txt", "\nonly this\n"))
    with pytest.raises(ValueError, match=r"old\.txt has carriage returns alone at the ends of its lines"):
        read_text_files(train_file=good, dev_file=write_text(tmp_path / "old.txt", "a b\rc\r"))
    unmarked = tmp_path / "unmarked.txt"
    for line in ("the king sleeps\n", "очень скучно\n", "скучно\n"):
        unmarked.write_bytes(line.encode("utf-16-le") * 4)
        with pytest.raises(ValueError, match=r"unmarked\.txt is UTF-16 without its mark.*--encoding utf-16-le"):
            read_text_files(train_file=unmarked, dev_file=good)
    unmarked.write_bytes(b"\0")
    assert list(read_text_files(train_file=good, dev_file=unmarked).dev) == ["\0"]
    truncated = tmp_path / "cut.gz"
    truncated.write_bytes(gzip.compress(b"a b\n" * 10_000)[:-12])
    with pytest.raises(ValueError, match=r"cut\.gz is a truncated or damaged gzip file"):
        read_text_files(train_file=good, dev_file=truncated)


@pytest.mark.parametrize(("lines", "held_out"), [(2, 1), (9, 1), (10, 1), (39, 3), (40, 4)])
def test_without_a_validation_file_the_last_tenth_of_the_lines_is_held_out_in_one_piece(tmp_path, lines, held_out):
    expected = [f"line {i}" for i in range(lines)]
    path = write_text(tmp_path / "train.txt", "\n\n\n" + "\n\n".join(expected))
    corpus = read_text_files("mine", train_file=path)
    assert list(corpus.train) == expected[: lines - held_out]
    assert list(corpus.dev) == expected[lines - held_out :]
    assert str(corpus) == f"mine: {3 * (lines - held_out)} train, {3 * held_out} dev tokens"


def test_own_files_are_the_parts_they_were_given_for(tmp_path):
    parts = {part: write_text(tmp_path / part, f"the {part} text\n") for part in ("train", "dev", "test")}
    corpus = read_text_files(train_file=parts["train"], dev_file=str(parts["dev"]), test_file=parts["test"])
    assert [list(part) for part in (corpus.train, corpus.dev, corpus.test)] == [
        ["the train text"],
        ["the dev text"],
        ["the test text"],
    ]


@pytest.mark.parametrize("source", ["one text", (line for line in ["a"]), b"bytes"])
def test_a_corpus_refuses_text_that_cannot_be_read_line_by_line_again(source):
    with pytest.raises(ValueError, match="train must be a TextFile or a list of lines; received"):
        LanguageCorpus("mine", source, None, None)


def test_text_that_is_not_lines_of_str_is_refused():
    with pytest.raises(ValueError, match="received one str"):
        WORDS.encode("the cat sat")
    with pytest.raises(ValueError, match=r"Line 2 of the text must be a str; received b'sat'"):
        LanguageVocabulary.from_text(["the cat", b"sat"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["b", "<eos>", "a", "d", "c", "<unk>"]),
        ({"max_size": 5}, ["b", "<eos>", "a", "d", "<unk>"]),
        ({"max_size": 2}, ["<unk>", "<eos>"]),
        ({"max_size": 100}, ["b", "<eos>", "a", "d", "c", "<unk>"]),
        ({"min_count": 2}, ["b", "<eos>", "a", "d", "<unk>"]),
        ({"min_count": 4}, ["<unk>", "b", "<eos>"]),
        ({"min_count": 99}, ["<unk>", "<eos>"]),
    ],
)
def test_words_are_ranked_by_count_then_by_first_occurrence_and_cut_to_size(options, expected):
    lines = ["b a b", " ", "d a d c", "b b"]  # 4 b; 3 <eos>; 2 a, 2 d; 1 c
    assert LanguageVocabulary.from_text(lines, **options).words == tuple(expected)
    assert LanguageVocabulary.from_text((line for line in lines), **options).words == tuple(expected)


def test_the_unknown_word_has_the_place_of_its_count_and_of_what_is_cut_and_no_cut_removes_it():
    lines = ["<unk> a <unk> b <unk>", "a"]
    assert LanguageVocabulary.from_text(lines).words == ("<unk>", "a", "<eos>", "b")
    assert LanguageVocabulary.from_text(lines, max_size=3).words == ("<unk>", "a", "<eos>")


def test_a_vocabulary_needs_text_and_sizes_that_can_be():
    for empty in ([], ["", " "]):
        with pytest.raises(ValueError, match="no line with text"):
            LanguageVocabulary.from_text(empty)
    with pytest.raises(ValueError, match="max_size must be an integer of at least 2; received 1"):
        LanguageVocabulary.from_text(["a"], max_size=1)
    with pytest.raises(ValueError, match="min_count must be an integer of at least 1; received 0"):
        LanguageVocabulary.from_text(["a"], min_count=0)


def test_a_text_becomes_one_stream_with_the_end_of_each_line_and_unknown_words():
    ids = WORDS.encode(["the cat", "", "a cat sat on", " <unk> <eos>"])
    assert ids.dtype == np.int32
    assert ids.tolist() == [0, 2, 1, 3, 2, 4, 3, 1, 3, 1, 1]


@given(st.lists(st.text(max_size=8), min_size=1, max_size=20), st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_any_text_has_the_ids_of_a_plain_loop(lines, size):
    if not "".join(lines).strip():
        lines = [*lines, "x"]
    words = LanguageVocabulary.from_text(lines, max_size=size)
    assert words.encode(lines).tolist() == ids_by_hand(lines, words.words)
    assert num_tokens(lines) == len(ids_by_hand(lines, words.words))


def test_text_and_words_that_give_no_ids_are_refused():
    with pytest.raises(ValueError, match="no line with text"):
        WORDS.encode(["", " "])
    with pytest.raises(ValueError, match=r"must hold <eos> and <unk>; <unk> not among 2"):
        LanguageVocabulary(("a", "<eos>"))
    with pytest.raises(ValueError, match="'b' occurs twice"):
        LanguageVocabulary(("b", "<eos>", "<unk>", "b"))


@pytest.mark.slow
def test_a_large_file_is_encoded_in_little_more_memory_than_its_ids(tmp_path):
    generator = random.Random(0)
    words = ["<eos>", "<unk>", *("w" + "x" * generator.randint(5, 20) + str(i) for i in range(500))]
    lines = [" ".join(generator.choices([*words[2:], "rare"], k=20)) for _ in range(500)]
    text = "\n".join(lines) + "\n"
    copies = 30_000_000 // len(text) + 1
    path = tmp_path / "large.txt"
    with path.open("w") as file:
        for _ in range(copies):
            file.write(text)
    assert path.stat().st_size > 30_000_000
    expected = np.array(ids_by_hand(lines, words))
    vocabulary = LanguageVocabulary(tuple(words))

    tracemalloc.start()
    ids = vocabulary.encode(TextFile(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (ids.reshape(copies, -1) == expected).all()
    assert ids.nbytes < peak < 1.2 * ids.nbytes

    tracemalloc.start()
    ids = vocabulary.encode_to_file(TextFile(path, stop=copies // 4 * 500), tmp_path / "ids.npy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(ids, np.memmap)
    assert (ids.reshape(copies // 4, -1) == expected).all()
    assert peak < 0.5 * ids.nbytes
    assert (np.load(tmp_path / "ids.npy") == ids).all()


def test_a_text_that_is_one_long_line_is_never_a_list_of_its_words():
    line = "the cat sat " * 100_000
    assert len(line) > text_file._LONG_LINE
    tracemalloc.start()
    ids = WORDS.encode([line])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ids.tolist() == [0, 2, 4] * 100_000 + [1]
    assert peak < 2 * (len(line) + ids.nbytes)
    text_hashes.hash_texts([])  # imports
    tracemalloc.start()
    hashes = text_hashes.hash_texts(LanguageModelJob.token_rows([line]))
    overlap = text_hashes.overlap(hashes, LanguageModelJob.token_rows([line, "a cat sat down"]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert hashes.tolist() == [text_hashes.text_hash(line.split())]
    assert (overlap.count, overlap.texts) == (1, 2)
    assert peak < 2_000_000


def test_a_file_of_ids_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def failing():
        yield "the cat"
        raise RuntimeError("the disk went away")

    monkeypatch.setattr(language_vocabulary, "_BLOCK", 2)
    path = tmp_path / "ids.npy"
    for _ in range(2):
        with pytest.raises(RuntimeError):
            WORDS.encode_to_file(failing(), path)
        with pytest.raises(ValueError, match="no line with text"):
            WORDS.encode_to_file([], path)
        assert not path.exists()
    encoded = WORDS.encode_to_file(["the cat", "sat"], path)
    with pytest.raises(RuntimeError):
        WORDS.encode_to_file(failing(), path)
    assert encoded.tolist() == np.load(path).tolist() == [0, 2, 1, 4, 1]
    assert [file.name for file in tmp_path.iterdir()] == ["ids.npy"]


@pytest.mark.parametrize("content", ["one\n", "one\ntwo\nthree\n", "two\none\n"])
def test_a_text_file_that_changes_between_two_readings_is_refused(content, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\n")
    os.utime(path, ns=(0, 0))
    source = TextFile(path)
    assert list(source) == list(source) == ["one", "two"]
    path.write_text(content)
    with pytest.raises(ValueError, match=r"text\.txt has changed since it was first read"):
        list(source)
    assert list(TextFile(path)) == content.split()
