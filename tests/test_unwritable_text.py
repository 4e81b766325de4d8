"""Lone surrogates and line ends, which text files cannot hold: refused in labels, harmless in words."""

import json

import pytest

from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.classification.tables import read_table, read_table_corpus
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.tagging.corpora import read_columns
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary, build_tagging_vocabulary


@pytest.mark.parametrize(
    "reader", [lambda path: read_table_corpus("jsonl", train_file=path), lambda p: read_table("jsonl", p)]
)
def test_a_label_that_no_file_can_hold_is_refused_with_file_and_row(write, reader):
    rows = [{"text": "a", "label": "good"}, {"text": "b", "label": "\ud83d"}, {"text": "c", "label": "bad"}]
    path = write(rows, "mine.jsonl")
    assert b"\\ud83d" in path.read_bytes()
    with pytest.raises(ValueError, match=r"mine\.jsonl: 1 row \(line 2\) with a label with a lone surrogate"):
        reader(path)


def test_whole_pairs_are_labels_like_any_other(write):
    rows = [{"text": "a", "label": "\U0001f600"}, {"text": "b", "label": "bad"}]
    assert read_table_corpus("jsonl", train_file=write(rows, "mine.jsonl")).label_names == ("bad", "\U0001f600")


def test_labels_and_tags_made_by_hand_are_refused_too(write):
    with pytest.raises(ValueError, match=r"The label '\\ud800' holds a lone surrogate"):
        Corpus("mine", ("a", "\ud800"), Split(["x"], [0]), None, None)
    with pytest.raises(ValueError, match=r"Sentence 2: the tag 'N\\udfff' holds a lone surrogate"):
        TaggedSplit([["a"], ["b", "c"]], [["N"], ["N", "N\udfff"]])
    path = write("a N\n\nb N+2AA-\n", "mine.conll")  # a lone surrogate in UTF-7
    with pytest.raises(ValueError, match=r"mine\.conll, line 3: the tag 'N\\ud800' holds a lone surrogate"):
        read_columns(path, encoding="utf-7")


@pytest.mark.parametrize("token", ["a\ud800", "a\rb", "a\nb", "a\r\nb", "a\u2028b", "a\x0bb"])
def test_a_taggers_words_are_read_as_they_were_written(tmp_path, token):
    vocabulary = build_tagging_vocabulary([[token, token, "dog", "dog"]]).vocabulary
    vocabulary.write(tmp_path / "words")
    copy = TaggingVocabulary.read(tmp_path / "words", chars=vocabulary.chars, tokenizer=vocabulary.tokenizer)
    assert copy == vocabulary
    assert "dog" in copy.words


def test_a_language_models_words_can_be_written_and_what_cannot_is_unknown(tmp_path):
    vocabulary = LanguageVocabulary.from_text(["a\ud800 dog\rcat", "dog"])
    vocabulary.write(tmp_path / "words")
    assert LanguageVocabulary.read(tmp_path / "words") == vocabulary
    assert vocabulary.encode(["a\ud800 dog"]).tolist() == [
        vocabulary.unknown,
        vocabulary.words.index("dog"),
        vocabulary.eos,
    ]


def test_json_is_valid_unicode_and_reads_back_the_same(tmp_path):
    value = {"vectors": b"caf\xe9.txt".decode("utf-8", "surrogateescape"), "label": "\U0001f600", "back": "\\\ud800"}
    files.write_json(tmp_path / "a.json", value)
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == value
