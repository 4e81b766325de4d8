"""Texts with several labels in files, frames and corpora."""

import json

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import convex_head
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.classification.strata import deal_out, folds_of, strata
from tests.several_labels_harness import LABELS, corpus, examples, split

ROWS = examples(40, 1)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        if not isinstance(content, str):
            content = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in content)
        path.write_text(content, encoding="utf-8")
        return path

    return write


def named(part):
    return [tuple(LABELS[i] for i in label) for label in part.labels]


def test_lists_a_separator_and_columns_of_0_and_1_are_the_same_corpus(write):
    lists = zoo.load_corpus(write("a.jsonl", ROWS))
    assert lists.is_several
    assert lists.label_names == LABELS
    assert named(lists.train) == [labels for _, labels in ROWS]
    assert "3 labels, several per text" in str(lists)

    labelled = [(text, labels) for text, labels in ROWS if labels]
    csv = "text,label\n" + "".join(f'"{text}",{" ; ".join(labels)}\n' for text, labels in labelled)
    separated = zoo.load_corpus(write("b.csv", csv), label_separator=";")
    assert named(separated.train) == [labels for _, labels in labelled]
    assert separated.columns == {"text_column": "text", "label_column": "label", "label_separator": ";"}

    cells = "".join(f'"{text}",{",".join(str(int(name in labels)) for name in LABELS)}\n' for text, labels in ROWS)
    columns = zoo.load_corpus(write("c.csv", f"text,{','.join(LABELS)}\n{cells}"), label_columns=list(LABELS))
    assert columns.train.labels == lists.train.labels
    assert columns.columns == {"text_column": "text", "label_columns": list(LABELS)}


@pytest.mark.parametrize("kind", [list, tuple, set, np.array])
def test_cells_of_a_frame_may_be_lists_of_any_kind(kind):
    frame = pd.DataFrame({"text": [text for text, _ in ROWS], "label": [kind(labels) for _, labels in ROWS]})
    assert named(zoo.load_corpus(frame).train) == [labels for _, labels in ROWS]
    with_dev = Corpus.from_frame(frame, text="text", label="label", dev=0.2)
    assert len(with_dev.dev) == 8
    assert with_dev.dev.is_several


def test_columns_of_a_frame_may_be_labels():
    frame = pd.DataFrame({"said": [text for text, _ in ROWS]})
    frame = frame.assign(**{name: [name in labels for _, labels in ROWS] for name in LABELS})
    corpus = Corpus.from_frame(frame, text="said", label_columns=LABELS[::-1])
    assert corpus.label_names == LABELS[::-1]  # in the order that was given
    assert [{corpus.label_names[i] for i in label} for label in corpus.train.labels] == [set(x) for _, x in ROWS]
    joined = frame.assign(label=["|".join(labels) or "none" for _, labels in ROWS])
    separated = Corpus.from_frame(joined, text="said", label="label", label_separator="|")
    assert separated.label_names == ("food", "none", "price", "staff")


def test_parquet_holds_lists(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"text": [text for text, _ in ROWS], "label": [list(labels) for _, labels in ROWS]})
    frame.to_parquet(tmp_path / "mine.parquet")
    assert named(zoo.load_corpus(tmp_path / "mine.parquet").train) == [labels for _, labels in ROWS]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.csv", "text,label\na,b\nc,d\n", {"label_separator": "|"}, r"label_separator.* '\|' occurs in no label"),
        ("a.csv", "text,label\na,b|\nc,d|e\n", {"label_separator": "|"}, r"\(line 2\) with an empty label among"),
        ("a.csv", "text,label\na,\nc,d|e\n", {"label_separator": "|"}, r"\(line 2\) with an empty label; fill"),
        ("a.csv", "text,label\na,b\nc,d\n", {"label_separator": ""}, "must be what is between two labels"),
        ("a.csv", "text,x,y\na,0,2\nb,1,0\n", {"label_columns": ["x", "y"]}, "line 2: 'y' must be 0 or 1"),
        ("a.csv", "text,x,y\na,0,\nb,1,0\n", {"label_columns": ["x", "y"]}, r"\(line 2\) with an empty label; fill"),
        ("a.csv", "text,x,y\na,0,1\nb,1,0\n", {"label_columns": ["x", "z"]}, "Unknown column .*'z'"),
        ("a.csv", "text,x,y\na,0,1\nb,1,0\n", {"label_columns": ["x"]}, "at least two columns, each once"),
        ("a.csv", "text,x\na,0\nb,1\n", {"label_columns": ["x", "y"], "label_column": "x"}, "Leave one of the two out"),
        ("a.csv", "text,x\na,0\nb,1\n", {"label_columns": ["x", "y"], "label_separator": "|"}, "Leave one of the two"),
        ("a.jsonl", [("a", "x"), ("b", ["x", "y"])], {}, r"one label, such as 'x' \(line 1\), .* \(line 2\)"),
        ("a.jsonl", [("a", ["x", ["z"]]), ("b", ["y"])], {}, r"line 1: the list in 'label' .* found \['z'\] in it"),
        ("a.jsonl", [("a", ["x", None]), ("b", ["y"])], {}, "line 1: the list in 'label' .* found None in it"),
        ("a.jsonl", [("a", ["x"]), ("b", [])], {}, "only 'x' in all of them; training needs at least two"),
        ("a.jsonl", [("a", []), ("b", [])], {}, "none in all of them; training needs at least two"),
        ("a.jsonl", [("a", ["x", " "]), ("b", ["y"])], {}, "line 1.* with an empty label among others"),
    ],
)
def test_labels_that_cannot_be_meant_are_one_error(write, name, content, options, message):
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(write(name, content), **options)


def test_parts_must_have_one_kind_of_labels_and_the_same_names(write):
    several, one = write("a.jsonl", ROWS), write("b.jsonl", [("a", "food"), ("b", "staff")])
    for train, dev in ((several, one), (one, several)):
        with pytest.raises(ValueError, match=r"b.jsonl has one label for each text, and .*a.jsonl has several"):
            zoo.load_corpus("jsonl", train_file=train, dev_file=dev)
    with pytest.raises(ValueError, match=r"c.jsonl: 1 row \(line 1\) with a label that does not .* 'fod'"):
        zoo.load_corpus("jsonl", train_file=several, test_file=write("c.jsonl", [("a", ["food", "fod"])]))
    frames = {"train": pd.DataFrame({"text": ["a", "b"], "label": [["x"], ["y"]]})}
    with pytest.raises(ValueError, match=r"the dev frame has one label .* the training frame has several"):
        zoo.load_corpus({**frames, "dev": pd.DataFrame({"text": ["a"], "label": ["x"]})})
    with pytest.raises(ValueError, match="dev texts have one label each, and its training texts several"):
        Corpus("mine", ("a", "b"), Split(["x"], [[0, 1]]), Split(["y"], [0]), None)
    with pytest.raises(TypeError, match="received 1 among lists"):
        Split(["x", "y"], [[0], 1])
    with pytest.raises(TypeError, match=r"where texts have several a list of them for each text; received \[1\]"):
        Split(["x", "y"], [0, [1]])
    with pytest.raises(ValueError, match=r"must be from 0 to 1, one for each name; received 2"):
        Corpus("mine", ("a", "b"), Split(["x"], [[0, 2]]), None, None)


def test_equal_labels_are_one_and_repeats_count_once(write):
    read = zoo.load_corpus(write("a.jsonl", [("a", [1, "1.0", 2]), ("b", [True, 2]), ("c", [])]))
    assert read.label_names == ("1", "2", "True")
    assert read.train.labels == [(0, 1), (1, 2), ()]
    assert zoo.load_corpus(write("b.jsonl", [("a", [1.0, 2.0]), ("b", [1e15])])).label_names == (
        "1",
        "2",
        f"1{15 * '0'}",
    )


def test_what_json_lines_say_is_read_again(write):
    whole = corpus(30)
    again = zoo.load_corpus(
        "jsonl", **{f"{part}_file": write(f"{part}.jsonl", x) for part, x in whole.json_lines().items()}
    )
    assert (again.train, again.dev, again.test) == (whole.train, whole.dev, whole.test)


def test_a_dev_set_has_its_share_of_rare_labels_and_of_texts_without_any():
    labels = [[0]] * 60 + [[0, 1]] * 20 + [[2, 0]] * 10 + [[]] * 10
    texts = Split([f"text {i}" for i in range(100)], labels)
    assert np.bincount(strata(texts.targets(3))).tolist() == [60, 20, 10, 10]
    held_out = Corpus("mine", ("a", "b", "c"), texts, None, None).with_dev(0.1)
    assert held_out.dev.targets(3).sum(axis=0).tolist() == [9, 2, 1]
    assert held_out.dev.labels.count(()) == 1
    folds = [Corpus("mine", ("a", "b", "c"), texts, None, None).fold(i, 5).test for i in range(1, 6)]
    assert {tuple(fold.targets(3).sum(axis=0).tolist()) for fold in folds} == {(18, 4, 2)}
    with pytest.raises(ValueError, match="'c' has 10"):
        Corpus("mine", ("a", "b", "c"), texts, None, None).fold(1, 11)


def labels_in_one_fold(targets, fold_of):
    return {i for i, column in enumerate(targets.T) if column.sum() > 1 and len(set(fold_of[column > 0])) == 1}


def test_exchanges_between_folds_bring_no_label_into_one_fold_and_end_where_none_helps():
    generator = np.random.default_rng(0)
    numbers = np.zeros(2, int)
    for _ in range(200):
        targets = (generator.random((9, 6)) < 0.3).astype(np.int8)
        for folds in (2, 3):
            dealt, exchanged = deal_out(strata(targets), folds), folds_of(targets, folds)
            assert np.bincount(exchanged).tolist() == np.bincount(dealt).tolist()
            before, after = labels_in_one_fold(targets, dealt), labels_in_one_fold(targets, exchanged)
            assert after <= before
            numbers += len(before), len(after)
    assert numbers.tolist() == [103, 1]


def test_a_label_that_divides_no_texts_has_training_texts_in_every_fold(monkeypatch):
    labels = [[0, 20], [0], [1, 20], [1], *([label] for label in range(2, 20) for _ in range(2))]
    texts = Split([f"text {i}" for i in range(40)], labels)
    assert len(set(deal_out(strata(texts.targets(21)), 2)[[0, 2]])) == 1
    corpus = Corpus("mine", tuple(f"label {i}" for i in range(21)), texts, None, None)
    for fold in (corpus.fold(1, 2), corpus.fold(2, 2)):
        assert fold.train.targets(21).any(axis=0).all()
        assert len(fold.test) == 20
    monkeypatch.setattr(convex_head, "_FOLDS", 2)
    features = np.random.default_rng(1).normal(size=(40, 3))
    assert (convex_head.fit(features, texts.targets(21), 21).dev_logits > -10).all()  # -10: no training text


def test_a_large_file_keeps_its_labels(write, monkeypatch):
    monkeypatch.setattr("dense_lstm_zoo.data.tables.MOST_IN_MEMORY", 100)
    read = zoo.load_corpus(write("a.jsonl", ROWS)).train
    assert type(read.texts).__name__ == "StoredTexts"
    assert named(read) == [labels for _, labels in ROWS]
    assert named(read.select([3, 1])) == [ROWS[3][1], ROWS[1][1]]
    assert named(read.select(np.array([2])))[0] == ROWS[2][1]


def test_targets_are_indices_or_a_matrix():
    assert split(5, 1).targets(3).shape == (5, 3)
    assert Split(["a", "b"], [1, 0]).targets(2).tolist() == [1, 0]


def test_text_dataset_takes_lists_for_fit():
    texts, labels = [text for text, _ in ROWS], [labels for _, labels in ROWS]
    train = zoo.text_dataset(texts, labels, batch_size=10, shuffle=False, sample_weight=np.arange(40))
    assert train.label_names == LABELS
    assert train.model_arguments["labels"] == "several"
    rows = [tuple(row) for _, targets, _ in train.as_numpy_iterator() for row in targets]
    assert sorted(rows) == sorted(tuple(int(name in own) for name in LABELS) for own in labels)
    model = zoo.build("bilstm", units=3, embedding_dim=4, **train.model_arguments)
    model.run_eagerly = True  # tracing takes longer than all the rest
    assert np.isfinite(model.fit(train, epochs=1, verbose=0, shuffle=False).history["loss"][0])
    dev = zoo.text_dataset(texts[:3], [[], [1], [0, 2]], vocabulary=train.vocabulary, label_names=LABELS)
    assert dev.element_spec[1].shape == (None, 3)
    with pytest.raises(TypeError, match="item 1, counted from 0, is 'food' among lists"):
        zoo.text_dataset(texts[:2], [["food"], "food"])
    with pytest.raises(ValueError, match="only empty lists; name the labels"):
        zoo.text_dataset(texts[:2], [[], []])
    with pytest.raises(ValueError, match=r"Unknown label 'fod'. Did you mean 'food'"):
        zoo.text_dataset(texts[:2], [["fod"], []], label_names=LABELS)


def test_bucketed_takes_lists_of_indices():
    batches = zoo.bucketed([[2, 3], [4], [5, 6, 7]], [[0, 2], [], [1]], batch_size=3, shuffle=False, num_classes=4)
    ((_, targets),) = batches.as_numpy_iterator()
    assert sorted(map(tuple, targets.tolist())) == [(0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 1, 0)]
    with pytest.raises(ValueError, match="Labels must be from 0 to 1; item 1, counted from 0, is 2"):
        zoo.bucketed([[2, 3], [4]], [[0, 2], []], num_classes=2)
    with pytest.raises(ValueError, match="Of several labels, give a list for each text"):
        zoo.bucketed([[2, 3], [4]], np.eye(2, dtype=int), num_classes=2)


def test_an_array_in_a_cell_must_be_a_list_of_labels():
    frame = pd.DataFrame({"text": ["a", "b"], "label": [np.array([["x"]]), np.array(["y"])]})
    with pytest.raises(ValueError, match=r"row 0, counted from 0: the list in 'label' .* found \['x'\] in it"):
        zoo.load_corpus(frame)
