"""Soft labels from a teacher: its forms, its texts, and a labelling that is interrupted."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.teaching import augmenting
from dense_lstm_zoo.teaching.answers import label_finder, probabilities_of
from dense_lstm_zoo.teaching.teachers import FileTeacher
from dense_lstm_zoo.teaching.written_answers import read_answers
from tests import bundle_harness

TEXTS = ["the film was good", "it was bad", "but very long , but good", "caf\u00e9 !", "so n't short"]
LABELS = ["bad", "good"]


def by_length(texts):
    """A teacher that counts characters."""
    shares = np.array([min(len(text), 40) / 50 for text in texts])
    return np.stack([1 - shares, shares], axis=1)


def quiet(teacher, texts=TEXTS, **options):
    return zoo.teach(teacher, texts, **{"progress": False, **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained classifier of three labels."""
    bundle = bundle_harness.with_random_weights(bundle_harness.bundle("bilstm"))
    return bundle.save(tmp_path_factory.mktemp("teacher") / "run")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", pytest.param("csv.gz", marks=pytest.mark.slow)])
def test_the_file_of_a_teacher_is_read_as_it_was_written(form, folder, tmp_path):
    teacher = zoo.load(folder)
    path = tmp_path / f"soft.{form}"
    result = quiet(folder, output=path)
    corpus = zoo.load_corpus(path)
    assert corpus.train.texts == TEXTS
    assert set(corpus.label_names) == set(teacher.labels)
    order = [teacher.labels.index(name) for name in corpus.label_names]
    np.testing.assert_allclose(corpus.train.probabilities, teacher.probabilities(TEXTS)[:, order], atol=1e-6)
    (name,) = corpus.train.teachers
    assert name == result.teacher
    assert name.startswith("run, a bilstm trained on none (manifest ")
    assert [path.name for path in tmp_path.iterdir()] == [f"soft.{form}"]


def test_the_same_labelling_gives_the_same_bytes(folder, tmp_path):
    teacher = zoo.load(folder)
    for name in ("one.parquet", "two.parquet", "one.csv", "two.csv"):
        quiet(teacher, output=tmp_path / name)
    for form in ("parquet", "csv"):
        assert (tmp_path / f"one.{form}").read_bytes() == (tmp_path / f"two.{form}").read_bytes()


def test_several_teachers_are_averaged_whatever_the_order_of_their_labels(tmp_path):
    (tmp_path / "other.jsonl").write_text(
        "".join(json.dumps({"text": text, "probabilities": {"good": 0.75, "bad": 0.25}}) + "\n" for text in TEXTS[:4])
    )
    quiet([by_length, tmp_path / "other.jsonl"], output=tmp_path / "soft.csv", labels=["good", "bad"])
    corpus = zoo.load_corpus(tmp_path / "soft.csv")
    by_function = by_length(TEXTS)  # of "good" first
    expected = np.vstack([(by_function[:4] + np.array([0.75, 0.25])) / 2, by_function[4:]])[:, ::-1]
    np.testing.assert_allclose(corpus.train.probabilities, expected, atol=1e-6)
    assert corpus.train.teachers == ("by_length and other.jsonl",)


def test_teachers_with_other_labels_are_refused(folder, tmp_path):
    (tmp_path / "other.csv").write_text("text,label\na,bad\nb,good\n")
    with pytest.raises(ValueError, match=r"other\.csv has the labels bad, good; run, .* has d\u00e9j\u00e0, no, yes"):
        quiet([folder, tmp_path / "other.csv"], output=tmp_path / "soft.csv")
    corpus = Corpus("mine", ("bad", "good"), Split(["a"], [0]), None, None)
    with pytest.raises(ValueError, match=r"the student has bad, good\. A teacher must know the same labels"):
        quiet(folder, output=tmp_path / "soft.csv", dataset=corpus)
    assert not list(tmp_path.glob("soft*"))


def test_answers_in_another_column_of_a_file_are_of_another_teacher(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("text,first,second\nx,good,bad\ny,bad,good\n")
    identities = [FileTeacher(read_answers(path, LABELS, label_column=x)).identity for x in ("first", "second")]
    assert len(set(identities)) == 2


@pytest.mark.parametrize(
    ("lines", "options", "expected"),
    [
        ("text,label\nx,bad\ny,good\n", {}, {"x": [1, 0], "y": [0, 1]}),
        ("text,label,confidence\nx,bad,0.75\ny,good,0.5\n", {}, {"x": [0.75, 0.25], "y": [0.5, 0.5]}),
        ("text,probability_bad,probability_good\nx,0.25,0.75\ny,1,0\n", {}, {"x": [0.25, 0.75], "y": [1, 0]}),
        ("text,label\nx,Bad.\ny,I cannot say\nz, **good**\n", {"labels": LABELS}, {"x": [1, 0], "z": [0, 1]}),
        ("words;mood\nx;bad\ny;good\n", {"text_column": "words", "label_column": "mood"}, {"x": [1, 0], "y": [0, 1]}),
    ],
)
def test_files_of_other_models_are_teachers(lines, options, expected, tmp_path):
    (tmp_path / "answers.csv").write_text(lines)
    result = quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.jsonl", **options)
    corpus = zoo.load_corpus(tmp_path / "soft.jsonl")
    assert dict(zip(corpus.train.texts, corpus.train.probabilities.tolist(), strict=True)) == expected
    assert result.left_out == ({"without an answer": 1} if "z" in expected else {})


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_spaces_around_the_columns_of_answers_do_not_count(form, tmp_path):
    frame = pd.DataFrame({"text": ["x", "y"], " mood": ["bad", "good"], " confidence": [0.75, 0.5]})
    path = tmp_path / f"answers.{form}"
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "parquet": lambda: frame.to_parquet(path),
    }[form]()
    for column in ("mood", " mood"):
        answers = read_answers(path, LABELS, label_column=column)
        assert answers.rows.tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_the_first_answer_to_a_text_counts_and_others_are_said(tmp_path, capsys):
    (tmp_path / "answers.csv").write_text("text,label\nx,bad\ny,good\nx,good\n")
    quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.csv")
    assert "answers.csv: rows that repeat a text: 1. The first answer to it counts." in capsys.readouterr().err
    corpus = zoo.load_corpus(tmp_path / "soft.csv")
    assert [corpus.label_names[label] for label in corpus.train.labels] == ["bad", "good"]


def test_a_file_answers_only_the_texts_that_it_holds(tmp_path):
    rows = [{"text": "x", "answer": "Sentiment: good"}, {"text": "z", "answer": "bad"}, {"text": "y", "answer": None}]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = quiet(tmp_path / "answers.jsonl", ["x", "y", "w"], output=tmp_path / "soft.csv", labels=LABELS)
    assert (result.texts, result.left_out) == (1, {"without an answer": 2})
    with pytest.raises(ValueError, match=r"has no answer to any of the 1 texts"):
        quiet(tmp_path / "answers.jsonl", ["w"], output=tmp_path / "none.csv", labels=LABELS)
    assert [path.name for path in tmp_path.iterdir() if "none" in path.name] == []


def test_a_confidence_that_is_no_number_is_refused_with_its_line(tmp_path):
    for number in ('"much"', "1" + "0" * 400):
        (tmp_path / "answers.jsonl").write_text(f'{{"text": "x", "label": "bad", "confidence": {number}}}\n')
        with pytest.raises(ValueError, match=r"line 1: 'confidence' must be a number; found"):
            quiet(tmp_path / "answers.jsonl", None, output=tmp_path / "soft.csv", labels=LABELS)


def test_an_answer_is_a_label_whatever_its_case_and_punctuation():
    find = label_finder(["1", "2", "very good", "good"])
    assert [find(x) for x in ("2.0", "Very Good!", "Answer: '1'", "GOOD", "3", "", "not good")] == [1, 2, 0, 3] + [
        None
    ] * 3
    assert label_finder(["+", "-"])("-") == 1


def test_minus_one_is_not_one():
    assert [label_finder(["0", "1"])(x) for x in ("-1", "Label: -1.", "\N{MINUS SIGN}1", "- 1", "(1)")] == [
        None,
        None,
        None,
        1,
        1,
    ]
    assert [label_finder(["-1", "0"])(x) for x in ("1", "-1.0", "Label: -1.")] == [None, 0, 0]


def test_a_table_of_answers_is_read_by_its_columns():
    shares = [[0.1, 0.9], [0.7, 0.3]]
    for columns, expected in (
        (["bad", "good"], shares),
        (["good", "bad"], np.fliplr(shares).tolist()),
        ([0, 1], shares),
    ):
        answers = pd.DataFrame(shares, columns=columns)
        assert probabilities_of(answers, LABELS, 2, "mine").tolist() == np.array(expected, np.float32).tolist()
    with pytest.raises(ValueError, match="'bat'"):
        probabilities_of(pd.DataFrame(shares, columns=["bat", "good"]), LABELS, 2, "mine")
    with pytest.raises(ValueError, match="without a column for good"):
        probabilities_of(pd.DataFrame({"bad": [1.0]}), LABELS, 1, "mine")


def test_labels_of_the_texts_are_kept(tmp_path):
    frame = pd.DataFrame({"text": TEXTS[:3], "label": ["good", None, "bad"]})
    result = quiet(by_length, frame, output=tmp_path / "soft.csv", labels=LABELS)
    corpus = zoo.load_corpus(tmp_path / "soft.csv")
    assert corpus.train.is_labelled.tolist() == [True, False, True]
    assert [corpus.label_names[label] for label in corpus.train.labels][::2] == ["good", "bad"]
    assert result.labelled == 2
    frame.to_parquet(tmp_path / "raw.parquet")
    frame.rename(columns={"label": " label"}).to_parquet(tmp_path / "spaced.parquet")
    (tmp_path / "spaced.csv").write_text("text, label\na,good\nb,\nc,bad\n")
    spaced = (tmp_path / "raw.parquet", tmp_path / "spaced.parquet", tmp_path / "spaced.csv")
    for texts in (*spaced, frame.rename(columns={"label": "label "})):
        assert quiet(by_length, texts, output=tmp_path / "again.csv", labels=LABELS, overwrite=True).labelled == 2
    with pytest.raises(ValueError, match=r"Unknown label of a text to learn: 'god'\. Did you mean 'good'"):
        quiet(by_length, frame.replace("good", "god"), output=tmp_path / "other.csv", labels=LABELS)


def test_repeated_texts_and_copies_of_scored_ones_are_left_out_and_counted(tmp_path):
    scored = Split(["A film that nobody has seen .", "quite dull"], [0, 1])
    corpus = Corpus("mine", ("bad", "good"), Split(["a training text here"], [1]), Split(["so dev"], [0]), scored)
    texts = [*TEXTS, "the film  was good ", "a film that nobody has seen", "Quite  dull", "", "so dev ...", "nu\0ll"]
    (tmp_path / "raw.txt").write_text("\n".join(texts))
    result = quiet(by_length, tmp_path / "raw.txt", output=tmp_path / "soft.csv", dataset=corpus, train_texts=True)
    assert zoo.load_corpus(tmp_path / "soft.csv").train.texts == ["a training text here", *TEXTS]
    assert result.left_out == {"empty": 1, "with a null character": 1, "repeated": 1, "in test": 2, "in dev": 1}
    assert result.labelled == 1
    with pytest.raises(ValueError, match="There is no text to label: of all texts, 1 in dev"):
        quiet(by_length, ["so dev"], output=tmp_path / "none.csv", dataset=corpus)
    result = quiet(by_length, None, output=tmp_path / "own.csv", dataset=corpus)
    assert result.texts == 1


def test_copies_are_masked_or_cut_seeded_and_never_a_scored_text(tmp_path):
    text = "a smart and sweet comedy about a family of seven"
    once, again = (list(augmenting.copies(text, 400, seed=2, key=9)) for _ in range(2))
    assert once == again != list(augmenting.copies(text, 400, seed=3, key=9))
    whole = [copy.split() for copy in once if len(copy.split()) == 10]
    spans = [copy.split() for copy in once if len(copy.split()) < 10]
    words = text.split()
    assert all(all(a in (b, augmenting.MASK) for a, b in zip(copy, words, strict=True)) for copy in whole)
    assert max(map(len, spans)) == 5
    assert 0.15 < len(spans) / 400 < 0.35
    result = quiet(by_length, [text], output=tmp_path / "soft.csv", labels=LABELS, augment=5)
    rows = zoo.load_corpus(tmp_path / "soft.csv").train.texts
    assert rows[0] == text
    assert result.copies == len(rows) - 1 > 0
    scored = Corpus("mine", tuple(LABELS), Split(["x"], [0]), None, Split([rows[1]], [0]))
    quiet(by_length, [text], output=tmp_path / "other.csv", dataset=scored, augment=5)
    assert rows[1] not in zoo.load_corpus(tmp_path / "other.csv").train.texts


def test_texts_that_differ_in_a_sign_are_two_and_a_repeated_one_keeps_its_first_label(tmp_path):
    texts = ["see you :)", "see you :(", "I love C", "I love C++", "GREAT", "great"]
    quiet(by_length, texts, output=tmp_path / "signs.csv", labels=LABELS)
    assert zoo.load_corpus(tmp_path / "signs.csv").train.texts == texts
    frame = pd.DataFrame({"text": ["a b", "a  b", "c d", "c d", "c d"], "label": [None, "good", "bad", "good", None]})
    result = quiet(by_length, frame, output=tmp_path / "labels.csv", labels=LABELS)
    assert result.left_out == {"repeated": 2, "repeated with another label": 1}
    train = zoo.load_corpus(tmp_path / "labels.csv").train
    assert (train.texts, list(train.labels), train.is_labelled.tolist()) == (["a b", "c d"], [1, 0], [True, True])


def test_copies_without_a_dataset_are_said_to_meet_texts_held_out_of_them(tmp_path, capsys):
    notes.say.cache_clear()
    quiet(by_length, output=tmp_path / "copies.csv", labels=LABELS, augment=2)
    assert "texts that train holds out for dev may have changed copies" in capsys.readouterr().err
    quiet(by_length, output=tmp_path / "none.csv", labels=LABELS)
    assert capsys.readouterr().err == ""


def test_a_changed_function_is_asked_for_all_texts_if_it_may_overwrite(tmp_path, capsys):
    texts, answered = [f"text {i}" for i in range(6)], []

    def ask(batch, share=0.9, limit=3):
        if len(answered) >= limit:
            raise ConnectionError("gone")
        answered.extend(batch)
        return [[share, 1 - share]] * len(batch)

    options = {"labels": LABELS, "batch_size": 3, "output": tmp_path / "soft.csv"}
    with pytest.raises(ConnectionError):
        quiet(ask, texts, **options)
    ask.__defaults__ = (0.2, 20)
    quiet(ask, texts, **options, overwrite=True)
    assert answered == [*texts[:3], *texts]
    assert "the answers of an interrupted labelling are discarded" in capsys.readouterr().err
    assert (zoo.load_corpus(tmp_path / "soft.csv").train.probabilities.round(3) == np.float32([0.2, 0.8])).all()


def test_a_labelling_without_answers_leaves_nothing_that_refuses_the_next(tmp_path):
    def unreachable(batch):
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        quiet(unreachable, output=tmp_path / "soft.csv", labels=["bad", "gud"])
    assert list(tmp_path.iterdir()) == []
    quiet(by_length, output=tmp_path / "soft.csv", labels=LABELS)


def test_damaged_settings_of_a_labelling_are_named_and_may_be_overwritten(folder, tmp_path):
    unfinished = tmp_path / "soft.csv.unfinished"
    unfinished.mkdir()
    (unfinished / "lock").touch()
    (unfinished / "answers.f32").write_bytes(bytes(12))
    (unfinished / "settings.json").write_text("{")
    with pytest.raises(ValueError, match=r"settings\.json is damaged|not JSON"):
        quiet(folder, output=tmp_path / "soft.csv")
    quiet(folder, output=tmp_path / "soft.csv", overwrite=True)
    assert len(zoo.load_corpus(tmp_path / "soft.csv").train) == len(TEXTS)


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        ({"bad", "good"}, TypeError),
        (5, TypeError),
        ([1, 2], ValueError),
        (["a", "a "], ValueError),
        (["a", "b" * 1001], ValueError),
    ],
)
def test_labels_have_an_order_and_are_strings(labels, error, tmp_path):
    with pytest.raises(error, match="labels must be"):
        quiet(by_length, output=tmp_path / "soft.csv", labels=labels)


def test_spaces_around_labels_do_not_count(tmp_path):
    result = quiet(by_length, output=tmp_path / "soft.csv", labels=[" bad", "good "])
    assert result.labels == zoo.load_corpus(tmp_path / "soft.csv").label_names == ("bad", "good")


def test_columns_named_by_numbers_are_labels_whatever_their_order(tmp_path):
    def table(texts):
        return pd.DataFrame({0: [0.75] * len(texts), 1: [0.25] * len(texts)})

    quiet(table, output=tmp_path / "soft.csv", labels=["1", "0"])
    corpus = zoo.load_corpus(tmp_path / "soft.csv")
    assert corpus.label_names == ("0", "1")
    assert corpus.train.probabilities[0].tolist() == [0.75, 0.25]


def test_a_table_that_predict_wrote_teaches_with_all_its_probabilities(tmp_path):
    (tmp_path / "answers.csv").write_text("text,label,probability,p_a,p_b,p_c\nx,a,0.6,0.6,0.4,0\ny,c,0.8,0,0.2,0.8\n")
    quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.csv")
    np.testing.assert_allclose(zoo.load_corpus(tmp_path / "soft.csv").train.probabilities[0], [0.6, 0.4, 0])


def test_the_first_row_that_answers_a_repeated_text_counts(tmp_path, capsys):
    (tmp_path / "answers.csv").write_text("text,label\nx,hm\nx,good\nx,bad\ny,bad\n")
    quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.csv", labels=LABELS)
    corpus = zoo.load_corpus(tmp_path / "soft.csv")
    assert corpus.train.probabilities.tolist() == [[0, 1], [1, 0]]
    assert "rows that repeat a text: 2" in capsys.readouterr().err
    (tmp_path / "one.jsonl").write_text('{"text": "x", "probabilities": {"good": 1}}\n')
    with pytest.raises(ValueError, match=r"one\.jsonl has probabilities of 'good' alone"):
        quiet(tmp_path / "one.jsonl", None, output=tmp_path / "soft.csv", overwrite=True)


def test_two_columns_for_one_label_of_a_file_of_answers_are_refused(tmp_path):
    (tmp_path / "answers.csv").write_text("text,probability_1,probability_1.0\nx,0.9,0.1\n")
    with pytest.raises(ValueError, match=r"of one label twice, as '1' and '1\.0'"):
        quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.csv", labels=["1", "2"])


def test_a_column_that_is_read_and_is_there_twice_is_refused(tmp_path):
    for header in (
        "text,label,label",
        "text,confidence,label,confidence",
        "text,probability_a,probability_b,probability_b",
    ):
        (tmp_path / "answers.csv").write_text(f"{header}\n{','.join('x' * len(header.split(',')))}\n")
        with pytest.raises(
            ValueError, match=rf"answers\.csv has 2 columns named '{header.split(',')[-1]}'; rename all"
        ):
            quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.csv")
    (tmp_path / "raw.csv").write_text("text,label,id,label,id\nx,bad,1,good,2\n")
    with pytest.raises(ValueError, match=r"raw\.csv has 2 columns named 'label'; rename all but one"):
        quiet(by_length, tmp_path / "raw.csv", output=tmp_path / "soft.csv", labels=LABELS)
    (tmp_path / "raw.csv").write_text("text,label,id,id\nx,bad,1,2\n")
    assert quiet(by_length, tmp_path / "raw.csv", output=tmp_path / "soft.csv", labels=LABELS).labelled == 1


def test_columns_of_a_file_of_answers_may_lack_in_the_texts(tmp_path):
    (tmp_path / "answers.csv").write_text("review;mood\nx;bad\ny;good\n")
    answers = [tmp_path / "answers.csv"]
    pd.DataFrame({"review": ["x", "z"]}).to_parquet(tmp_path / "raw.parquet")
    (tmp_path / "raw.txt").write_text("x\nz\n")
    columns = {"text_column": "review", "label_column": "mood", "delimiter": ";", "encoding": "utf-8"}
    for texts in (tmp_path / "raw.txt", tmp_path / "raw.parquet", pd.read_parquet(tmp_path / "raw.parquet")):
        result = quiet(answers, texts, output=tmp_path / "soft.csv", overwrite=True, **columns)
        assert (result.texts, result.labelled, result.left_out) == (1, 0, {"without an answer": 1})
    assert (
        quiet([*answers, by_length], tmp_path / "raw.txt", output=tmp_path / "both.csv", labels=LABELS, **columns).texts
        == 2
    )
    with pytest.raises(ValueError, match="--text-column is for csv"):
        quiet(by_length, tmp_path / "raw.txt", output=tmp_path / "new.csv", labels=LABELS, **columns)


def test_the_result_shows_few_of_many_labels_on_one_line(tmp_path):
    labels = [f"label\n{i}" for i in range(30)]
    result = quiet(lambda texts: [labels[0]] * len(texts), output=tmp_path / "soft.csv", labels=labels)
    assert str(result).count("\n") == 0
    assert r"label\n19 and 10 more labels" in str(result)


class Dying:
    """A teacher that fails at its third batch, once, and remembers what it was asked."""

    def __init__(self):
        self.texts, self.is_ill = [], True

    def __call__(self, texts):
        if len(self.texts) >= 4 and self.is_ill:
            raise ConnectionError("the endpoint is gone")
        self.texts += texts
        return by_length(texts)


def test_a_labelling_whose_teacher_died_goes_on_where_it_was(tmp_path, capsys):
    texts = [f"text number {i}" for i in range(11)]
    options = {"labels": LABELS, "batch_size": 2}
    quiet(by_length, texts, output=tmp_path / "whole.csv", **options)
    teacher = Dying()
    with pytest.raises(ConnectionError, match="the endpoint is gone"):
        quiet(teacher, texts, output=tmp_path / "soft.csv", **{**options, "progress": True})
    assert "stopped after 4 of 11 texts; the same call goes on from there" in capsys.readouterr().out
    assert not (tmp_path / "soft.csv").exists()
    answers = tmp_path / "soft.csv.unfinished" / "answers.f32"
    with answers.open("ab") as file:  # as a kill in the middle of a batch leaves it
        file.write(b"12345")
    with pytest.raises(ValueError, match="other settings: the texts are others"):
        quiet(teacher, texts[:-1], output=tmp_path / "soft.csv", **options)
    teacher.is_ill = False
    quiet(teacher, texts, output=tmp_path / "soft.csv", **{**options, "progress": True})
    assert "resuming an interrupted labelling after 4 of 11 texts" in capsys.readouterr().out
    assert teacher.texts == texts
    own, whole = ((tmp_path / name).read_text() for name in ("soft.csv", "whole.csv"))
    assert own.replace("Dying", "by_length") == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["soft.csv", "whole.csv"]


def test_a_labelling_that_began_with_overwrite_goes_on_where_it_was(tmp_path, capsys):
    texts, teacher = [f"text number {i}" for i in range(11)], Dying()
    options = {"output": tmp_path / "soft.csv", "labels": LABELS, "batch_size": 2, "overwrite": True}
    (tmp_path / "soft.csv").write_text("of another day")
    for _ in range(2):
        with pytest.raises(ConnectionError):
            quiet(teacher, texts, **options)
    teacher.is_ill = False
    notes.say.cache_clear()
    quiet(teacher, texts, **options)
    assert teacher.texts == texts
    assert "the answers that Dying has given since the interrupted call began are kept" in capsys.readouterr().err
    assert zoo.load_corpus(tmp_path / "soft.csv").train.texts == texts


@pytest.mark.slow
def test_a_killed_labelling_is_resumed_in_a_fresh_process(tmp_path):
    program = """
import sys, time
import dense_lstm_zoo as zoo
def slow(texts):
    with open("asked.txt", "a") as file:
        file.writelines(f"{text}\\n" for text in texts)
    time.sleep(float(sys.argv[1]))
    return [[len(text) / 50, 1 - len(text) / 50] for text in texts]
texts = [f"text number {i}" for i in range(30)]
zoo.teach(slow, texts, output=sys.argv[2], labels=["a", "b"], batch_size=3)
"""
    (tmp_path / "program.py").write_text(program)

    def start(pause, output):
        return subprocess.Popen([sys.executable, "program.py", pause, output], cwd=tmp_path)

    process = start("0.5", "soft.parquet")
    answers = tmp_path / "soft.parquet.unfinished" / "answers.f32"
    while not (answers.is_file() and answers.stat().st_size >= 2 * 3 * 8):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    num_texts = len((tmp_path / "asked.txt").read_text().splitlines())
    assert start("0", "soft.parquet").wait() == 0
    again = (tmp_path / "asked.txt").read_text().splitlines()[num_texts:]
    assert len(again) <= 30 - 6
    assert start("0", "whole.parquet").wait() == 0
    assert (tmp_path / "soft.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize(
    ("teacher", "options", "error", "message"),
    [
        (by_length, {}, ValueError, "A function does not say what its labels are"),
        (by_length, {"labels": ["one"]}, ValueError, "labels must be at least two different strings"),
        (by_length, {"labels": ["1", "1.0"]}, ValueError, "labels must be at least two different strings"),
        (by_length, {"labels": LABELS, "augment": -1}, ValueError, "augment must be an integer of at least 0"),
        (by_length, {"labels": LABELS, "batch_size": 0}, ValueError, "batch_size must be an integer of at least 1"),
        (by_length, {"labels": LABELS, "texts": []}, ValueError, "The list of texts holds no text to label"),
        (by_length, {"labels": LABELS, "texts": None}, ValueError, "Say what to label"),
        (by_length, {"labels": LABELS, "texts": ["a", 3]}, TypeError, "texts"),
        (by_length, {"labels": LABELS, "texts": ["a", b"b"]}, TypeError, r"received b'b' \(bytes\) as item 1"),
        (
            by_length,
            {"texts": None, "dataset": Corpus("mine", ("bad", "good"), Split([b"a", b"b"], [0, 1]), None, None)},
            TypeError,
            r"the training texts of mine must hold strings; received b'a' \(bytes\) as item 0",
        ),
        (by_length, {"labels": LABELS, "train_texts": True}, ValueError, "train_texts=True needs dataset"),
        (by_length, {"labels": ["a", "b", "c"]}, ValueError, "returned 2 probabilities per text; there are 3 labels"),
        (lambda texts: [[0.5, 0.6]] * len(texts), {"labels": LABELS}, ValueError, "must add up to 1"),
        (
            lambda texts: [{"bad": 1.5, "good": -0.5}] * len(texts),
            {"labels": LABELS},
            ValueError,
            "must not be negative",
        ),
        (lambda texts: [{"bat": 1.0}] * len(texts), {"labels": LABELS}, ValueError, "Did you mean 'bad'"),
        (lambda texts: [[0.5, np.nan]] * len(texts), {"labels": LABELS}, ValueError, "hold NaN"),
        (
            lambda texts: [{"bad": None, "good": 1}] * len(texts),
            {"labels": LABELS},
            ValueError,
            "answer 0, counted from 0: the probability of 'bad' must be a number; found None",
        ),
        (lambda texts: [["bad", 0.5]] * len(texts), {"labels": LABELS}, TypeError, "answer 0, counted from 0, is"),
        (lambda texts: [0.5] * len(texts), {"labels": LABELS}, TypeError, "answer 0, counted from 0, is 0.5"),
        (lambda texts: [[0.5]] * len(texts), {"labels": LABELS}, TypeError, r"answer 0, counted from 0, is \[0.5\]"),
        (lambda texts: [[[0.1], 0.5]] * len(texts), {"labels": LABELS}, TypeError, "answer 0, counted from 0, is"),
        (by_length, {"labels": LABELS, "seed": 2**32}, ValueError, "seed must be an integer from 0 to 4,294,967,295;"),
        (lambda texts: texts[:-1], {"labels": LABELS}, ValueError, "4 answers to 5 texts"),
        (lambda texts: "good", {"labels": LABELS}, TypeError, "must return a matrix"),
        (3, {}, TypeError, "A teacher must be a trained classifier"),
        ([], {}, ValueError, "The list of teachers is empty"),
        ("dc_bilstm_sst", {}, (ValueError, FileNotFoundError), "dc_bilstm_sst"),
    ],
)
def test_what_cannot_be_is_refused(teacher, options, error, message, tmp_path):
    options = {"texts": TEXTS, **options}
    with pytest.raises(error, match=message):
        quiet(teacher, options.pop("texts"), output=tmp_path / "soft.csv", **options)
    assert not (tmp_path / "soft.csv").exists()


def test_outputs_and_files_are_checked_before_any_work(tmp_path, folder):
    def never(texts):
        raise AssertionError("asked")

    for name in ("soft.xlsx", "soft.tsv", "soft"):
        with pytest.raises(ValueError, match=r"the output's name says how it is written. Accepted: .csv, .jsonl"):
            quiet(never, output=tmp_path / name, labels=LABELS)
    (tmp_path / "soft.csv").write_text("mine")
    with pytest.raises(FileExistsError, match="already exists"):
        quiet(never, output=tmp_path / "soft.csv", labels=LABELS)
    read = {"output": tmp_path / "soft.csv", "overwrite": True}
    for teacher, texts in (
        (tmp_path / "soft.csv", None),
        ([tmp_path / "soft.csv", never], TEXTS),
        (never, tmp_path / "soft.csv"),
    ):
        with pytest.raises(ValueError, match=r"soft\.csv is one of the files that are read; name another one"):
            quiet(teacher, texts, labels=LABELS, **read)
    (tmp_path / "soft.csv").write_text("text,label\na,bad\nb,good\n")
    with pytest.raises(ValueError, match=r"soft\.csv is one of the files that are read; name another one"):
        quiet(never, dataset=tmp_path / "soft.csv", texts=TEXTS, **read)
    (tmp_path / "empty.txt").write_text("\n  \n")
    with pytest.raises(ValueError, match=r"empty\.txt holds no text to label"):
        quiet(never, tmp_path / "empty.txt", output=tmp_path / "new.csv", labels=LABELS)
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'empty\.txt'"):
        quiet(never, tmp_path / "emty.txt", output=tmp_path / "new.csv", labels=LABELS)
    (tmp_path / "answers.csv").write_text("text,mood\na,bad\n")
    with pytest.raises(ValueError, match="has no answer: expected columns probability_NAME"):
        quiet(tmp_path / "answers.csv", output=tmp_path / "new.csv")
    language_model = bundle_harness.bundle("dense_lstm_lm").save(tmp_path / "lm")
    with pytest.raises(ValueError, match="is for language_model; a teacher gives labels, as classifiers or taggers do"):
        quiet(language_model, output=tmp_path / "new.csv")


def test_the_command_labels_and_its_file_trains(folder, tmp_path, capsys):
    (tmp_path / "raw.txt").write_text(
        "\n".join(f"the film number {i} was {'good' if i % 2 else 'bad'}" for i in range(60))
    )
    soft = str(tmp_path / "soft.csv")
    assert main(["label", str(folder), "--file", str(tmp_path / "raw.txt"), "-o", soft, "--quiet"]) == 0
    words = ["--units", "3", "--embedding-dim", "4", "--kernel", "native", "--epochs", "1", "--vectors", "none"]
    run = ["--run-dir", str(tmp_path / "student"), "--no-baseline"]
    assert main(["train", "bilstm", "--train-file", soft, *words, *run]) == 0
    out = capsys.readouterr().out
    assert "taught by run, a bilstm trained on none" in out
    assert main(["label", soft, "-o", soft, "--overwrite"]) == 2
    assert "soft.csv is one of the files that are read; name another one" in capsys.readouterr().err
    assert main(["label", soft, "--labels", "good", "-o", str(tmp_path / "x.csv")]) == 2
    assert "labels must be at least two different strings" in capsys.readouterr().err
    assert "how often the model agrees with its teacher" in out
    assert main(["label", "no_such_preset", "--file", soft, "-o", str(tmp_path / "x.csv")]) == 2
    assert "no_such_preset" in capsys.readouterr().err
    assert not list(tmp_path.glob("x.csv*"))


@pytest.mark.slow
def test_a_published_corpus_takes_training_texts_from_a_file(tmp_path):
    demo = zoo.load_corpus("demo")
    quiet(
        by_length, demo.train.texts[:40], output=tmp_path / "soft.csv", labels=["positive", "negative"], dataset="demo"
    )
    corpus = zoo.load_corpus("demo", train_file=tmp_path / "soft.csv")
    assert corpus.name == "demo"
    assert corpus.label_names == demo.label_names
    assert (corpus.dev, corpus.test) == (demo.dev, demo.test)
    assert corpus.train.is_soft
    np.testing.assert_allclose(corpus.train.probabilities[:, ::-1], by_length(corpus.train.texts), atol=1e-6)
    with pytest.raises(ValueError, match="has its own dev and test texts; received dev_file"):
        zoo.load_corpus("demo", train_file=tmp_path / "soft.csv", dev_file=tmp_path / "soft.csv")
    quiet(by_length, ["a b"], output=tmp_path / "other.csv", labels=["positiv", "negative"])
    with pytest.raises(ValueError, match=r"Unknown label for demo: 'positiv'\. Did you mean 'positive'"):
        zoo.load_corpus("demo", train_file=tmp_path / "other.csv")
    with pytest.raises(ValueError, match=r"soft\.csv is csv by its name"):
        zoo.load_corpus("demo", task="tagging", train_file=tmp_path / "soft.csv")
    words = ["--units", "3", "--embedding-dim", "4", "--kernel", "native", "--epochs", "1", "--vectors", "none"]
    run = ["--run-dir", str(tmp_path / "run"), "--no-baseline", "--quiet"]
    assert main(["train", "bilstm", "--dataset", "demo", "--train-file", str(tmp_path / "soft.csv"), *words, *run]) == 0
    assert "train_file = " in (tmp_path / "run" / "run.toml").read_text()
    assert "--dataset demo --train-file soft.csv" in (tmp_path / "run" / "README.md").read_text()


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_odd_texts_and_labels_come_back(form, tmp_path):
    texts = ["=1+1 is two", "two\rlines\nhere", 'a "quote", a comma', "\u0130stanbul \U0001f600", "'=x", "a;b|c"]
    labels = ["=yes", "no, really", 'd\u00e9j\u00e0 "vu"']
    shares = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 0, 1], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 1 / 3], [0, 1, 0]])
    quiet(lambda asked_texts: shares, texts, output=tmp_path / f"soft.{form}", labels=labels)
    corpus = zoo.load_corpus(tmp_path / f"soft.{form}")
    assert corpus.train.texts == texts
    assert set(corpus.label_names) == set(labels)
    order = [labels.index(name) for name in corpus.label_names]
    np.testing.assert_allclose(corpus.train.probabilities, shares[:, order], atol=1e-6)


def test_half_a_surrogate_pair_is_replaced(tmp_path):
    for form in ("csv", "jsonl", "parquet"):
        quiet(by_length, ["a \ud800 b"], output=tmp_path / f"soft.{form}", labels=LABELS)
        assert len(zoo.load_corpus(tmp_path / f"soft.{form}").train) == 1


def test_a_corpus_without_dev_texts_is_warned_of(tmp_path, capsys):
    corpus = Corpus("no_dev", tuple(LABELS), Split(["a b c"], [1]), None, None)
    quiet(by_length, None, output=tmp_path / "soft.csv", dataset=corpus)
    assert "no_dev has no dev texts" in capsys.readouterr().err


def test_raw_texts_in_another_encoding_are_refused_and_not_replaced(tmp_path):
    (tmp_path / "raw.txt").write_bytes("le caf\u00e9 est tr\u00e8s bon\nfine\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"raw\.txt, line 1 is not utf-8: .* give encoding=\"cp1252\""):
        quiet(by_length, tmp_path / "raw.txt", output=tmp_path / "soft.csv", labels=LABELS)
    assert (
        quiet(by_length, tmp_path / "raw.txt", output=tmp_path / "soft.csv", labels=LABELS, encoding="cp1252").texts
        == 2
    )
