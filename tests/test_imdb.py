"""IMDB's reviews: for classifiers, as running text for language models, and from the published archive."""

import contextlib
import dataclasses
import gzip
import hashlib
import io
import tarfile

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import corpora as readers
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.corpora import imdb, imdb_archive
from dense_lstm_zoo.data.download import DownloadError
from dense_lstm_zoo.data.text_file import TextFile
from dense_lstm_zoo.data.tokens import tokenize
from dense_lstm_zoo.language import reviews
from tests.download_harness import serving_folder

TRAIN = [
    ("neg", "3", 'It DOESN\'T work. A "film" for 5.50 dollars?'),
    ("pos", "9", "Fine!"),
    ("neg", "1", "Seen twice, in train and in test."),
    ("pos", "10", "A café in Paris..."),
]
TEST = [
    ("neg", "4", "seen twice , in train and in TEST ."),
    ("pos", "7", "Only tested."),
    ("neg", "2", "Dull"),
    ("pos", "8", "Sharp"),
]
UNSUP = ["It's the first one.", "A second", "Fine !", "third", "A  SECOND", "fourth", "fifth"]
# Every review once, none of the test set's: the raw ones, then those to train on.
KEPT = [UNSUP[i] for i in (0, 1, 2, 3, 5, 6)] + [TRAIN[0][2], TRAIN[3][2]]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Published counts of 2 and 7, every third review for dev, an empty cache."""
    monkeypatch.setattr(imdb, "PER_LABEL", 2)
    monkeypatch.setattr(imdb, "UNLABELLED", range(6, 8))
    monkeypatch.setattr(reviews, "_DEV_EVERY", 3)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DENSE_LSTM_ZOO_DATA", raising=False)
    return tmp_path


@pytest.fixture
def corpus_folder(small, monkeypatch):
    """The folder of a small IMDB in the form that the corpora read."""
    folder = small / "data" / "imdb"
    folder.mkdir(parents=True)
    for part, rows in (("train", TRAIN), ("test", TEST)):
        write_lines(folder / f"{part}.tsv.gz", ["label\trating\ttext", *map("\t".join, rows)])
    write_lines(folder / "unsup.txt.gz", UNSUP)
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(small / "data"))
    return folder


def write_lines(path, lines):
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def in_cache(folder):
    return sorted(path for path in (folder / "cache").rglob("*") if path.is_file())


def test_the_labelled_reviews_are_read_in_full_with_their_labels(corpus_folder):
    corpus = zoo.load_corpus("imdb")
    assert corpus.label_names == ("negative", "positive")
    assert corpus.train == Split([text for *_, text in TRAIN], [0, 1, 0, 1])
    assert corpus.test == Split([text for *_, text in TEST], [0, 1, 0, 1])
    assert corpus.dev is None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["label\trating\ttext", "neg\t3\tDull", "so-so\t5\tHm"], r"line 3: expected neg or pos, .* found 'so-so"),
        (["label\trating\ttext", "neg\t3\tDull\tpos"], "line 2: expected neg or pos"),
        (["label\trating\ttext", "neg\t3\t "], "line 2: expected neg or pos"),
        (["text\tlabel"], "line 1: expected neg or pos"),
        (["label\trating\ttext", "neg\t3\tDull", "pos\t8\tFine"], "found 1 neg and 1 pos reviews, expected 2 of each"),
        (["neg\t3\tDull"] * 3 + ["pos\t8\tFine"], "found 3 neg and 1 pos reviews, expected 2 of each"),
    ],
)
def test_files_with_other_content_are_refused_by_name_and_line(corpus_folder, lines, message):
    write_lines(corpus_folder / "train.tsv.gz", lines)
    for name in ("imdb", "imdb_raw"):
        with pytest.raises(ValueError, match=rf"train\.tsv\.gz.*{message}"):
            zoo.load_corpus(name)
    assert in_cache(corpus_folder.parents[1]) == []


def test_damaged_raw_reviews_are_refused_and_leave_nothing_in_the_cache(corpus_folder):
    path = corpus_folder / "unsup.txt.gz"
    for content, message in (
        (path.read_bytes()[:-9], "truncated or damaged gzip"),
        (gzip.compress(b"one\ntwo\n"), "found 2 reviews, expected 6 to 7; it is not the published file"),
        (gzip.compress(b"caf\xe9\n" * 6), "line 1 is not utf-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"unsup\.txt\.gz.*{message}"):
            zoo.load_corpus("imdb_raw")
    assert in_cache(corpus_folder.parents[1]) == []


def test_raw_text_is_every_untested_review_once_in_a_classifiers_tokens(corpus_folder):
    corpus = zoo.load_corpus("imdb_raw", task="language_model")
    expected = [" ".join(tokens) for tokens in tokenize(KEPT)]
    assert expected[6] == 'it does n\'t work . a " film " for 5.50 dollars ?'
    assert isinstance(corpus.train, TextFile)
    assert list(corpus.dev) == expected[2::3]
    assert list(corpus.train) == [line for i, line in enumerate(expected) if i % 3 != 2]
    assert corpus.test is None


def test_raw_text_that_another_process_tokenises_is_waited_for(corpus_folder, monkeypatch):
    @contextlib.contextmanager
    def turn(folder):
        folder.mkdir(parents=True)  # as the other process leaves it
        for name in ("train.txt", "dev.txt"):
            (folder / name).write_text("of the other\n")
        yield

    monkeypatch.setattr(reviews.lock, "turn", turn)
    assert list(zoo.load_corpus("imdb_raw").train) == ["of the other"]


def test_raw_text_is_tokenised_once_and_again_when_a_file_or_the_rules_change(corpus_folder, monkeypatch, capsys):
    first = zoo.load_corpus("imdb_raw")
    assert "imdb_raw, tokenised once: 15 of 15 reviews, 100 %" in capsys.readouterr().err
    before = {path: path.stat().st_mtime_ns for path in in_cache(corpus_folder.parents[1])}
    assert {path.name for path in before} == {"train.txt", "dev.txt"}
    assert zoo.load_corpus("imdb_raw") == first
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert capsys.readouterr().err == ""
    write_lines(corpus_folder / "unsup.txt.gz", [*UNSUP[:-1], "another"])
    assert "another" in {*zoo.load_corpus("imdb_raw").train, *zoo.load_corpus("imdb_raw").dev}
    monkeypatch.setattr(reviews, "VERSIONS", {1: ()})
    assert zoo.load_corpus("imdb_raw").train.path.parent.parent == first.train.path.parent.parent
    assert len({path.parent for path in in_cache(corpus_folder.parents[1])}) == 3
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_an_interrupted_tokenisation_leaves_nothing_that_a_later_call_would_read(corpus_folder, monkeypatch):
    def failing(texts):
        yield b"one review"
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reviews, "_tokenised", failing)
        with pytest.raises(KeyboardInterrupt):
            zoo.load_corpus("imdb_raw")
    assert in_cache(corpus_folder.parents[1]) == []
    assert len(list(zoo.load_corpus("imdb_raw").train)) == 6


def pack(path, extra=(), without=None):
    """Write an archive as published, with other entries (a name, and content or a ``TarInfo``) before the reviews."""
    members = list(extra)
    for part, rows in (("test", TEST), ("train", TRAIN)):
        for i in reversed(range(len(rows))):
            label, rating, text = rows[i]
            raw_text = text.replace(" in ", "<br /><br />in\n")
            members.append((f"aclImdb/{part}/{label}/{i // 2}_{rating}.txt", raw_text))
    raw = [*UNSUP[:4], TEST[0][2], UNSUP[0], *UNSUP[4:-1]]
    members += [(f"aclImdb/train/unsup/{i}_0.txt", text) for i, text in enumerate(raw[:7])]
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            if name == without:
                continue
            entry = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content.encode()
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def link(name, target):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return name, entry


def lines(path):
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_the_archive_becomes_the_files_that_the_corpora_read(small):
    archive, folder = small / "a.tar.gz", small / "made"
    strangers = [("../evil.txt", "x"), ("/evil.txt", "x"), ("aclImdb/train/unsup/../../evil.txt", "x")]
    strangers += [link("aclImdb/evil", "/etc"), ("aclImdb/README", "read me"), ("aclImdb/train/urls_pos.txt", "urls")]
    pack(archive, strangers)
    imdb_archive.write_files(archive, folder, progress=False)
    assert sorted(path.name for path in small.rglob("*")) == [
        "a.tar.gz", "made", "test.tsv.gz", "train.tsv.gz", "unsup.txt.gz"
    ]  # fmt: skip
    assert lines(folder / "train.tsv.gz") == ["label\trating\ttext", *map("\t".join, TRAIN)]
    assert lines(folder / "test.tsv.gz") == ["label\trating\ttext", *map("\t".join, TEST)]
    assert lines(folder / "unsup.txt.gz") == [*UNSUP[:4], "A SECOND"]  # spaces are single, repeats and test texts gone


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": [link("aclImdb/train/pos/7_7.txt", "/etc/hostname")]}, "7_7.txt is not a plain file of at most"),
        ({"extra": [("aclImdb/train/pos/7_7.txt", "x" * 65_537)]}, "7_7.txt is not a plain file of at most 65,536"),
        ({"extra": [("aclImdb/train/pos/7_7.txt", "one more")]}, "train has 2 neg, 3 pos reviews"),
        ({"without": "aclImdb/test/pos/0_7.txt"}, "test has 2 neg, 1 pos reviews"),
        ({"without": "aclImdb/train/unsup/0_0.txt"}, "unsup has 6 unsup reviews"),
        (
            {"extra": [("aclImdb/train/unsup/1_0.txt", "twice")], "without": "aclImdb/train/unsup/0_0.txt"},
            "unsup has 7 unsup reviews",
        ),
    ],
)
def test_an_archive_with_other_reviews_is_refused_and_nothing_is_written(small, change, message):
    pack(small / "a.tar.gz", **change)
    with pytest.raises(ValueError, match=rf"a\.tar\.gz is not the published archive of IMDB: .*{message}"):
        imdb_archive.write_files(small / "a.tar.gz", small / "made", progress=False)
    assert not (small / "made").exists()


def test_a_damaged_archive_is_refused_and_nothing_is_written(small, monkeypatch):
    path = small / "a.tar.gz"
    pack(path)
    archive_bytes = path.read_bytes()
    for content in (archive_bytes[:200], b"no archive", archive_bytes[:100] + bytes(40) + archive_bytes[140:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not the published archive of IMDB"):
            imdb_archive.write_files(path, small / "made", progress=False)
    path.write_bytes(archive_bytes)
    monkeypatch.setattr(imdb_archive, "_MOST", 9)
    with pytest.raises(ValueError, match="it holds more than 9 entries"):
        imdb_archive.write_files(path, small / "made", progress=False)
    assert not (small / "made").exists()


@pytest.fixture
def home(small, monkeypatch):
    """A loopback server in the archive's place. Yields the served folder."""
    served = small / "home"
    served.mkdir()
    pack(served / "aclImdb_v1.tar.gz")
    content = (served / "aclImdb_v1.tar.gz").read_bytes()
    monkeypatch.setattr(imdb, "UNLABELLED", range(5, 8))
    with serving_folder(monkeypatch, served) as address:
        new = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        new |= {"url": f"{address}/aclImdb_v1.tar.gz"}
        source = readers.SOURCES["imdb"]
        published = tuple(dataclasses.replace(file, **new) for file in source.files)
        monkeypatch.setitem(readers.SOURCES, "imdb", dataclasses.replace(source, files=published))
        yield served


def test_the_archive_is_downloaded_once_and_deleted_when_its_files_are_made(home, small):
    names = ["train.tsv.gz", "test.tsv.gz", "unsup.txt.gz"]
    folder = small / "cache" / "dense_lstm_zoo" / "imdb"
    assert zoo.fetch("imdb") == [folder / name for name in names]
    assert in_cache(small) == sorted(folder / name for name in names)
    (home / "aclImdb_v1.tar.gz").unlink()
    assert zoo.load_corpus("imdb").train.texts == [text for *_, text in TRAIN]


def test_an_archive_in_the_data_folder_is_used_and_stays(home, small, monkeypatch):
    own = small / "data" / "imdb" / "aclImdb_v1.tar.gz"
    own.parent.mkdir(parents=True)
    (home / "aclImdb_v1.tar.gz").rename(own)
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(small / "data"))
    assert len(zoo.load_corpus("imdb").test) == 4
    assert own.exists()
    assert len(in_cache(small)) == 3


def test_an_archive_that_was_put_into_the_cache_by_hand_is_used_and_stays(home, small):
    own = small / "cache" / "dense_lstm_zoo" / "imdb" / "aclImdb_v1.tar.gz"
    own.parent.mkdir(parents=True)
    (home / "aclImdb_v1.tar.gz").rename(own)
    assert len(zoo.load_corpus("imdb").test) == 4
    assert len(in_cache(small)) == 4
    assert own in in_cache(small)


def test_a_failed_download_names_both_places_for_the_archive(home, small):
    (home / "aclImdb_v1.tar.gz").unlink()
    with pytest.raises(DownloadError) as caught:
        zoo.fetch("imdb", progress=False)
    cached = small / "cache" / "dense_lstm_zoo" / "imdb" / "aclImdb_v1.tar.gz"
    for part in ("404", f"by hand at {cached} ", "$DENSE_LSTM_ZOO_DATA/imdb/aclImdb_v1.tar.gz"):
        assert part in str(caught.value)


@pytest.mark.slow
def test_the_real_reviews_have_their_published_counts_and_no_test_review_is_in_the_raw_text(
    data_folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # so that the text is made by this version
    corpus = zoo.load_corpus("imdb")
    assert [len(corpus.train), len(corpus.test), sum(corpus.train.labels), sum(corpus.test.labels)] == [
        25_000, 25_000, 12_500, 12_500
    ]  # fmt: skip
    assert corpus.train.texts[1].startswith("Bromwell High is a cartoon comedy.")
    raw = zoo.load_corpus("imdb_raw")
    test_reviews = {"".join(tokens) for tokens in tokenize(corpus.test.texts)}
    train, dev = ({"".join(line.split()) for line in part} for part in (raw.train, raw.dev))
    assert (len(train), len(dev)) == (raw.train.num_lines, raw.dev.num_lines) == (72_925, 736)
    assert not test_reviews & (train | dev)
    assert not train & dev
