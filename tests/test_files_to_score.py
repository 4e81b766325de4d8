"""Files that a bundle scores in Python, by their path."""

import gzip

import pytest

from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from tests.bundle_harness import bundle


def test_a_classifier_scores_a_file_by_the_columns_of_its_training(tmp_path):
    model = bundle("bilstm")
    model.config["training"] |= {"dataset": "csv", "columns": {"text_column": "opinion", "label_column": "verdict"}}
    texts, labels = ["the film was good", "very bad", "it was short"], ["yes", "no", "no"]
    rows = "".join(f"{text};{label}\n" for text, label in zip(texts, labels, strict=True))
    (tmp_path / "later.csv").write_text(f"opinion;verdict\n{rows}")
    expected = model.evaluate(Split(texts, [1, 0, 0]), ["no", "yes"])
    assert model.evaluate(tmp_path / "later.csv") == model.evaluate(str(tmp_path / "later.csv")) == expected
    with gzip.open(tmp_path / "later.jsonl.gz", "wt") as file:
        file.writelines(
            f'{{"opinion": "{text}", "verdict": "{label}"}}\n' for text, label in zip(texts, labels, strict=True)
        )
    assert model.evaluate(tmp_path / "later.jsonl.gz") == expected
    with pytest.raises(FileNotFoundError, match=r"missing\.csv does not exist"):
        model.evaluate(tmp_path / "missing.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"Unknown column .*'opinion'"):
        model.evaluate(tmp_path / "other.csv")


def test_a_tagger_and_a_language_model_score_files(tmp_path):
    tagger = bundle("bilstm_tagger")
    (tmp_path / "mine.conll").write_text("The T0\nfilm T1\n\nvery T2\n")
    split = TaggedSplit([["The", "film"], ["very"]], [["T0", "T1"], ["T2"]])
    assert tagger.evaluate(tmp_path / "mine.conll") == tagger.evaluate(split)
    model = bundle("dense_lstm_lm")
    (tmp_path / "mine.txt").write_text("the film was good\nvery bad\n")
    assert model.evaluate(str(tmp_path / "mine.txt")) == model.evaluate(["the film was good", "very bad"])
