import dataclasses
import hashlib

import pytest

from dense_lstm_zoo.classification import corpora as readers
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.corpora.loader import fetch, list_corpora, load_corpus
from dense_lstm_zoo.data import sources
from dense_lstm_zoo.data.download import DownloadError
from dense_lstm_zoo.data.sources import find_file
from tests.download_harness import serving_folder

TRAIN_LINES = [
    "DESC:manner How did serfdom develop in and then leave Russia ?",
    "ENTY:cremat What films featured the character Popeye Doyle ?",
    "LOC:city Which city has the oldest relationship as a sisterðcity with Los Angeles ?",
    "ABBR:exp What is the full form of .com ?",
    "HUM:ind Who killed Gandhi ?",
    "NUM:date When was Ozzy Osbourne born ?",
]
TEST_LINES = ["NUM:date When did Hawaii become a state ?", "LOC:city What county is Modesto , California in ?"]


@pytest.fixture
def made_trec(tmp_path, monkeypatch):
    """A data folder with a TREC of six and two questions, and nothing in the cache."""
    folder = tmp_path / "data" / "trec"
    folder.mkdir(parents=True)
    (folder / "train_5500.label").write_text("\n".join(TRAIN_LINES) + "\n", encoding="utf-8")
    (folder / "TREC_10.label").write_text("\n".join(TEST_LINES) + "\n", encoding="utf-8")
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(readers, "_TREC_LINES", (6, 2))
    return folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A loopback server in TREC's place, an empty cache and no data folder. Yields the served folder."""
    served = tmp_path / "home"
    served.mkdir()
    for filename, lines in (("train_5500.label", TRAIN_LINES), ("TREC_10.label", TEST_LINES)):
        (served / filename).write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DENSE_LSTM_ZOO_DATA", raising=False)
    monkeypatch.setattr(readers, "_TREC_LINES", (6, 2))
    with serving_folder(monkeypatch, served) as address:
        files = tuple(
            dataclasses.replace(
                file,
                url=f"{address}/{file.filename}",
                sha256=hashlib.sha256((served / file.filename).read_bytes()).hexdigest(),
            )
            for file in readers.SOURCES["trec"].files
        )
        monkeypatch.setitem(readers.SOURCES, "trec", dataclasses.replace(readers.SOURCES["trec"], files=files))
        yield served


def test_every_corpus_has_its_name_in_the_list():
    published = ["trec", "trec_fine", "sst1", "sst1_phrases", "sst2", "sst2_phrases", "mr", "subj", "cr", "imdb"]
    tagged = ["ewt_upos", "ewt_xpos", "conll2000", "ccgbank", "wsj"]
    own = ["columns", "auto", "pos", "mrg"]
    tables = ["csv", "tsv", "jsonl", "parquet", "xlsx"]
    assert list_corpora() == ["demo", *published, "ptb", "imdb_raw", *tagged, *tables, "text", *own]
    assert list_corpora("tagging") == ["demo", *tagged, *own]
    assert list_corpora("classification") == ["demo", *published, *tables]
    assert list_corpora("language_model") == ["demo", "ptb", "imdb_raw", "text"]


def test_the_demo_loads_with_no_file_and_prints_its_sizes():
    corpus = load_corpus("demo")
    assert fetch("demo") == []
    assert corpus.name == "demo"
    for split in (corpus.train, corpus.dev, corpus.test):
        assert set(split.labels) == set(range(len(corpus.label_names)))
        assert all(text.strip() for text in split.texts)
    assert str(corpus) == "demo: 4,000 train, 500 dev, 1,000 test; 2 labels: negative, positive"


def test_a_split_whose_texts_and_labels_differ_in_number_is_refused():
    with pytest.raises(ValueError, match="received 2 and 1"):
        Split(["a", "b"], [0])


@pytest.mark.parametrize(("name", "labels"), [("trec", 6), ("trec_fine", 50)])
def test_the_real_trec_has_its_published_counts(data_folder, name, labels):
    corpus = load_corpus(name)
    assert (len(corpus.train), corpus.dev, len(corpus.test)) == (5452, None, 500)
    assert len(corpus.label_names) == labels
    assert list(corpus.label_names) == sorted(corpus.label_names)
    assert set(corpus.train.labels) == set(range(labels))


def test_the_real_trec_begins_with_its_known_questions_and_labels(data_folder):
    coarse, fine = load_corpus("trec"), load_corpus("trec_fine")
    assert coarse.label_names == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert coarse.train.texts[:2] == [
        "How did serfdom develop in and then leave Russia ?",
        "What films featured the character Popeye Doyle ?",
    ]
    assert coarse.test.texts[0] == "How far is it from Denver to Aspen ?"
    assert [coarse.label_names[i] for i in coarse.train.labels[:3]] == ["DESC", "ENTY", "DESC"]
    assert [fine.label_names[i] for i in fine.train.labels[:3]] == ["DESC:manner", "ENTY:cremat", "DESC:manner"]
    assert fine.label_names[fine.test.labels[0]] == "NUM:dist"
    assert fine.train.texts == coarse.train.texts
    assert "sisterðcity" in coarse.train.texts[65]


def test_the_real_trec_in_its_original_bytes_has_the_published_checksum_and_reads_the_same(
    data_folder, tmp_path, monkeypatch
):
    expected = load_corpus("trec")
    (tmp_path / "trec").mkdir()
    for file in readers.SOURCES["trec"].files:
        original = find_file("trec", file.filename).read_text(encoding="utf-8").encode("latin-1")
        assert hashlib.sha256(original).hexdigest() == file.sha256
        (tmp_path / "trec" / file.filename).write_bytes(original)
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path))
    assert load_corpus("trec") == expected


def test_latin_1_and_windows_line_ends_read_like_utf_8(made_trec):
    expected = load_corpus("trec")
    path = made_trec / "train_5500.label"
    path.write_bytes("\r\n".join(TRAIN_LINES).encode("latin-1"))
    assert load_corpus("trec") == expected
    assert expected.train.texts[2].split()[8] == "sisterðcity"


@pytest.mark.parametrize("line", ["", "DESC:manner", "DESC How ?", "WHAT:manner How ?", "desc:manner How ?"])
def test_a_malformed_trec_line_is_named_by_file_and_number(made_trec, line):
    path = made_trec / "train_5500.label"
    path.write_text("\n".join([*TRAIN_LINES[:3], line, *TRAIN_LINES[4:]]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"train_5500\.label, line 4: expected 'COARSE:fine question'") as caught:
        load_corpus("trec")
    assert repr(line) in str(caught.value)


@pytest.mark.parametrize("count", [0, 5, 7])
def test_a_trec_file_with_lines_too_few_or_too_many_says_how_many(made_trec, count):
    (made_trec / "train_5500.label").write_text("".join(f"{line}\n" for line in (TRAIN_LINES * 2)[:count]))
    with pytest.raises(ValueError, match=rf"train_5500\.label: found {count} lines, expected 6"):
        load_corpus("trec")


def test_a_trec_file_without_all_labels_says_which_it_has(made_trec):
    with pytest.raises(ValueError, match=r"train_5500\.label: found 6 labels, expected 50: ABBR:exp, "):
        load_corpus("trec_fine")
    (made_trec / "train_5500.label").write_text("\n".join([*TRAIN_LINES[:5], TRAIN_LINES[4]]))
    with pytest.raises(ValueError, match="found 5 labels, expected 6: ABBR, DESC, ENTY, HUM, LOC"):
        load_corpus("trec")


def test_a_trec_test_label_that_training_lacks_is_named_with_its_line(made_trec, monkeypatch):
    monkeypatch.setattr(readers, "_TREC_LINES", (50, 2))
    lines = [f"DESC:{chr(97 + i // 26)}{chr(97 + i % 26)} How ?" for i in range(50)]
    (made_trec / "train_5500.label").write_text("\n".join(lines))
    (made_trec / "TREC_10.label").write_text("DESC:aa How ?\nNUM:date When ?\n")
    with pytest.raises(ValueError, match=r"TREC_10\.label, line 2: the label 'NUM:date' does not occur in train_5500"):
        load_corpus("trec_fine")


def test_an_unknown_corpus_gets_a_near_match_and_every_name():
    with pytest.raises(
        ValueError,
        match=r"Unknown corpus 'trek'\. Did you mean 'trec'.*a corpus's name \(demo, trec.*conll2000.*csv, tsv",
    ):
        load_corpus("trek")
    with pytest.raises(ValueError, match=r"Unknown corpus 'trek'\. Did you mean 'trec'"):
        fetch("trek")


def test_options_are_for_tables_only_and_unknown_ones_get_a_near_match():
    with pytest.raises(
        ValueError, match=r"'trec' takes no options; received encoding\. Options are for csv, tsv, jsonl"
    ):
        load_corpus("trec", encoding="latin-1")
    with pytest.raises(ValueError, match=r"Unknown option of corpus 'csv': 'trainfile'\. Did you mean 'train_file'"):
        load_corpus("csv", trainfile="x.csv")
    with pytest.raises(ValueError, match=r"'csv' reads your own files; give them with train_file="):
        load_corpus("csv")
    with pytest.raises(ValueError, match="nothing to fetch"):
        fetch("csv")


def test_a_table_loads_by_the_name_of_its_kind(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("label\tsentence\ngood\tFine .\nbad\tDull .\n")
    corpus = load_corpus("tsv", train_file=path, text_column="sentence")
    assert corpus == Corpus("tsv", ("bad", "good"), Split(["Fine .", "Dull ."], [1, 0]), None, None)


def test_files_are_found_in_the_data_folder_before_the_cache(made_trec, tmp_path, monkeypatch):
    cached = tmp_path / "cache" / "dense_lstm_zoo" / "trec" / "TREC_10.label"
    cached.parent.mkdir(parents=True)
    cached.write_text("")
    assert sources.cache_folder() == tmp_path / "cache" / "dense_lstm_zoo"
    assert find_file("trec", "TREC_10.label") == made_trec / "TREC_10.label"
    monkeypatch.delenv("DENSE_LSTM_ZOO_DATA")
    assert find_file("trec", "TREC_10.label") == cached
    assert find_file("trec", "train_5500.label") is None


def test_the_cache_is_in_the_home_folder_where_no_other_is_set(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sources.cache_folder() == tmp_path / ".cache" / "dense_lstm_zoo"


def test_a_data_folder_that_does_not_exist_is_an_error_not_a_download(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_DATA", str(tmp_path / "typo"))
    with pytest.raises(FileNotFoundError, match=r"DENSE_LSTM_ZOO_DATA must be an existing folder.*typo"):
        fetch("trec")


def test_fetch_downloads_into_the_cache_once_and_the_corpus_then_loads_from_there(home, tmp_path):
    paths = fetch("trec", progress=False)
    folder = tmp_path / "cache" / "dense_lstm_zoo" / "trec"
    assert paths == [folder / "train_5500.label", folder / "TREC_10.label"]
    for path in [*home.iterdir()]:
        path.unlink()
    assert fetch("trec") == paths
    assert load_corpus("trec").test.texts[0] == "When did Hawaii become a state ?"


def test_fetch_refuses_a_file_that_is_not_the_published_one(home, tmp_path):
    (home / "train_5500.label").write_text("something else")
    with pytest.raises(ValueError, match=r"Wrong checksum for http://127\.0\.0\.1"):
        fetch("trec", progress=False)
    assert not list((tmp_path / "cache").rglob("*.*"))


def test_a_failed_fetch_names_file_address_and_both_places_for_it(home, tmp_path):
    (home / "TREC_10.label").unlink()
    with pytest.raises(DownloadError) as caught:
        fetch("trec", progress=False)
    cached = tmp_path / "cache" / "dense_lstm_zoo" / "trec" / "TREC_10.label"
    for part in (
        "Could not download TREC_10.label from http://127.0.0.1",
        "404",
        f"by hand at {cached} ",
        "$DENSE_LSTM_ZOO_DATA/trec/TREC_10.label",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize("task", ["classification", "language_model", "tagging"])
def test_the_repr_of_a_corpus_and_of_its_parts_is_a_short_line(task):
    corpus = load_corpus("demo", task)
    assert repr(corpus).startswith(f"<{type(corpus).__name__} demo: ")
    assert f"{len(corpus.train):,}" in repr(corpus)
    assert len(repr(corpus)) < 200
    if task != "language_model":  # whose parts are the user's own lists or files
        assert len(repr(corpus.train)) < 80
        assert f"{len(corpus.train):,}" in repr(corpus.train)
