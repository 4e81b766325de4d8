"""pandas' frames as corpora, and predictions beside a frame's rows."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from tests.bundle_harness import LABELS, bundle
from tests.cli_harness import output_of


@pytest.fixture
def frame():
    """Forty reviews, a quarter of them with one star, under an index of their own."""
    stars = [1, 5, 5, 5] * 10
    return pd.DataFrame({"review": [f"text {i}" for i in range(40)], "stars": stars}, index=range(100, 140))


def rows(split, corpus):
    return list(zip(split.texts, [corpus.label_names[i] for i in split.labels], strict=True))


def test_a_frame_becomes_a_corpus_with_its_labels_as_strings(frame):
    corpus = zoo.Corpus.from_frame(frame, text="review", label="stars")
    assert (corpus.name, corpus.label_names, corpus.dev, corpus.test) == ("frame", ("1", "5"), None, None)
    assert rows(corpus.train, corpus) == [(f"text {i}", str([1, 5, 5, 5][i % 4])) for i in range(40)]
    assert corpus.columns == {"text_column": "review", "label_column": "stars"}
    for values, names in (
        ([True, False], ("False", "True")),
        ([10, 9], ("9", "10")),
        ([0.5, 1.0], ("0.5", "1.0")),
        (pd.Categorical(["b ", "a"]), ("a", "b")),
        ([pd.Timestamp("2020-01-02"), "x"], ("2020-01-02 00:00:00", "x")),
    ):
        mine = pd.DataFrame({"text": ["x", "y"], "label": values})
        assert zoo.Corpus.from_frame(mine, text="text", label="label", name="mine").label_names == names


def test_shares_are_held_out_by_label_and_by_seed(frame):
    corpus = zoo.Corpus.from_frame(frame, text="review", label="stars", dev=0.2, test=0.1)
    parts = [rows(split, corpus) for split in (corpus.train, corpus.dev, corpus.test)]
    assert [len(part) for part in parts] == [28, 8, 4]
    assert [Counter(label for _, label in part) for part in parts] == [
        {"1": 7, "5": 21},
        {"1": 2, "5": 6},
        {"1": 1, "5": 3},
    ]
    all_texts = zoo.Corpus.from_frame(frame, text="review", label="stars")
    assert sorted(row for part in parts for row in part) == sorted(rows(all_texts.train, all_texts))
    same, other = (
        zoo.Corpus.from_frame(frame, text="review", label="stars", dev=0.2, test=0.1, seed=seed) for seed in (0, 1)
    )
    assert same == corpus != other


def test_frames_of_their_own_are_taken_whole(frame):
    corpus = zoo.Corpus.from_frame(frame[:30], text="review", label="stars", dev=frame[30:34], test=frame[34:])
    assert [len(split) for split in (corpus.train, corpus.dev, corpus.test)] == [30, 4, 6]
    assert rows(corpus.dev, corpus) == [("text 30", "5"), ("text 31", "5"), ("text 32", "1"), ("text 33", "5")]
    mixed = zoo.Corpus.from_frame(frame[:30], text="review", label="stars", dev=0.1, test=frame[34:])
    assert [len(split) for split in (mixed.train, mixed.dev, mixed.test)] == [27, 3, 6]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "reviw"}, r"Unknown column of the training frame: 'reviw'\. Did you mean 'review'\?"),
        ({"label": "star"}, r"'star'\. Did you mean 'stars'\?"),
        ({"label": "review"}, "text and label must be two columns"),
        ({"dev": 1.5}, r"dev must be a frame, or the share .* received 1\.5"),
        ({"test": True}, "test must be a frame, or the share"),
        ({"dev": 0.6, "test": 0.4}, "leave nothing to train on"),
        ({"name": ""}, "name must be a string"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_wrong_arguments_are_refused(frame, change, message):
    with pytest.raises(ValueError, match=message):
        zoo.Corpus.from_frame(frame, **{"text": "review", "label": "stars", **change})


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (("review", None), r"1 row \(row 3\), counted from 0, without a value in 'review'"),
        (("stars", np.nan), r"1 row \(row 3\), counted from 0, without a value in 'stars'"),
        (("review", " \n"), r"1 row \(row 3\), counted from 0, without a value in 'review'"),
        (("stars", ""), "without a value in 'stars'"),
        (("review", 7), r"'review' must hold strings; row 3, counted from 0, is 7 \(int\)"),
        (("stars", "\ud800"), "lone surrogate"),
    ],
)
def test_wrong_cells_are_named_by_row(frame, cell, message):
    frame = frame.astype(object)
    frame.iloc[3, frame.columns.get_loc(cell[0])] = cell[1]
    with pytest.raises(ValueError, match=message):
        zoo.Corpus.from_frame(frame, text="review", label="stars")


def test_what_is_not_a_usable_frame_is_refused(frame):
    secret = pd.Series(["secret"])
    with pytest.raises(TypeError, match="received Series") as caught:
        zoo.Corpus.from_frame(secret, text="review", label="stars")
    assert "secret" not in str(caught.value)
    for wrong in ({"review": ["a"]}, [("a", 1)], None, "frame.csv"):
        with pytest.raises(TypeError, match="The training frame must be a pandas DataFrame; received"):
            zoo.Corpus.from_frame(wrong, text="review", label="stars")
    with pytest.raises(TypeError, match="The dev frame must be a pandas DataFrame"):
        zoo.Corpus.from_frame(frame, text="review", label="stars", dev=["a"])
    with pytest.raises(ValueError, match="The training frame has no rows"):
        zoo.Corpus.from_frame(frame[:0], text="review", label="stars")
    with pytest.raises(ValueError, match="Every row has the label '5'"):
        zoo.Corpus.from_frame(frame[1:4], text="review", label="stars")
    mine = frame.assign(stars=[3, 5] * 20)
    with pytest.raises(ValueError, match=r"test: 1 row \(row 0\).* the first is '1'. Labels there: 3, 5"):
        zoo.Corpus.from_frame(mine, text="review", label="stars", test=frame[:1])
    twice = pd.concat([frame, frame["review"]], axis=1)
    with pytest.raises(ValueError, match="has 2 columns named 'review'"):
        zoo.Corpus.from_frame(twice, text="review", label="stars")


@pytest.fixture(scope="module")
def trained():
    return bundle("bilstm")


def test_predictions_stand_beside_the_rows(trained):
    frame = pd.DataFrame({"text": ["good film", "", "very bad"], "id": [3, 2, 1]}, index=["c", "a", "c"])
    before = frame.copy()
    predictions = trained.predict_frame(frame, text="text")
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_frame_equal(predictions[["text", "id"]], before)
    assert list(predictions) == ["text", "id", "label", "probability", *(f"probability_{label}" for label in LABELS)]
    expected = trained.predict(frame["text"].tolist())
    assert predictions["label"].tolist() == [p.label for p in expected]
    np.testing.assert_allclose(predictions["probability"], [p.probability for p in expected], atol=1e-6)
    for label in LABELS:
        shares = [p.probabilities[label] for p in expected]
        np.testing.assert_allclose(predictions[f"probability_{label}"], shares, atol=1e-6)


def test_levels_and_names_of_columns_stay(trained):
    columns = pd.MultiIndex.from_tuples([("said", "text"), ("said", "id")], names=["what", "which"])
    frame = pd.DataFrame([["good film", 1], ["bad", 2]], columns=columns)
    predictions = trained.predict_frame(frame, text=("said", "text"))
    pd.testing.assert_frame_equal(predictions[["said"]], frame)
    assert predictions.columns.names == ["what", "which"]
    assert predictions["label"].tolist() == [p.label for p in trained.predict(["good film", "bad"])]
    plain = pd.DataFrame({"text": ["good"]})
    plain.columns.name = "field"
    assert trained.predict_frame(plain, text="text").columns.name == "field"


def test_columns_with_these_names_are_never_lost(trained):
    frame = pd.DataFrame({"text": ["good"], "label": ["yes"]})
    assert list(trained.predict_frame(frame, text="text"))[:4] == [
        "text",
        "label",
        "predicted_label",
        "predicted_probability",
    ]
    again = trained.predict_frame(frame, text="text")
    with pytest.raises(ValueError, match=r"already has a column 'predicted_label'; choose another prefix="):
        trained.predict_frame(again, text="text")
    assert "second_label" in trained.predict_frame(again, text="text", prefix="second_")
    with pytest.raises(ValueError, match="already has a column 'label'"):
        trained.predict_frame(frame, text="text", prefix="")


def test_frames_that_cannot_be_predicted_are_refused(trained):
    frame = pd.DataFrame({"text": ["good", None], "n": [1, 2]})
    with pytest.raises(TypeError, match=r"received (None|nan) .* as item 1.*dropna"):
        trained.predict_frame(frame, text="text")
    with pytest.raises(ValueError, match=r"Unknown column of the frame: 'txt'\. Did you mean 'text'"):
        trained.predict_frame(frame, text="txt")
    with pytest.raises(TypeError, match="frame must be a pandas DataFrame; received"):
        trained.predict_frame(["good"], text="text")
    assert trained.predict_frame(frame[:0], text="text").shape == (0, 4 + len(LABELS))


def test_evaluate_asks_for_a_file_of_a_run_whose_frame_is_gone(frame, tmp_path, capsys):
    new_bundle = bundle("bilstm")
    new_bundle.config["training"] |= {"dataset": "frame", "columns": {"text_column": "review", "label_column": "stars"}}
    new_bundle.save(tmp_path / "run")
    status, _, error = output_of(capsys, "evaluate", tmp_path / "run", "--split", "dev")
    assert status == 2
    assert "was trained on 'frame', which is not a published corpus: give its dev texts as --dev-file" in error
    file = tmp_path / "mine.csv"
    pd.DataFrame({"review": ["a b"] * 4, "stars": [LABELS[0]] * 4}).to_csv(file, index=False)
    status, output, _ = output_of(capsys, "evaluate", tmp_path / "run", "--split", "dev", "--dev-file", file)
    assert (status, "4 texts" in output) == (0, True)


def test_load_corpus_takes_a_frame_and_tables_that_become_one(frame):
    import pyarrow

    columns = {"text_column": "review", "label_column": "stars"}
    expected = zoo.Corpus.from_frame(frame, text="review", label="stars")
    assert zoo.load_corpus(frame, **columns) == expected
    assert zoo.load_corpus(pyarrow.Table.from_pandas(frame), **columns) == expected


def test_what_is_no_frame_is_never_shown(frame, tmp_path):
    for wrong in ({"text": ["secret"]}, [("secret", 1)], None):
        with pytest.raises(
            TypeError, match=r"received \w+\. A frame becomes a corpus with Corpus.from_frame"
        ) as caught:
            zoo.load_corpus(wrong)
        assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match=r"column of the frame: 'text'.*Corpus\.from_frame") as caught:
        zoo.train("bilstm", frame, tmp_path / "run")
    assert "text 3" not in str(caught.value)
    with pytest.raises(ValueError, match=r"column of the frame: 'tokens'"):
        zoo.train("bilstm_tagger", frame, tmp_path / "run")
    with pytest.raises(ValueError, match=r"column of the frame: 'text'"):
        zoo.tune("bilstm", frame, run_dir=tmp_path / "sweep")
    with pytest.raises(ValueError, match=r"received a Corpus\. Accepted"):
        zoo.tune("bilstm", zoo.load_corpus("demo"), run_dir=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_equal_numbers_in_frames_are_one_label(frame):
    mixed = frame.assign(stars=pd.Series([1, 5, 5.0, "5"] * 10, dtype=object, index=frame.index))
    corpus = zoo.Corpus.from_frame(mixed, text="review", label="stars", test=frame.assign(stars=frame["stars"] * 1.0))
    assert corpus.label_names == ("1", "5")
    assert corpus.train.labels == corpus.test.labels == [0, 1, 1, 1] * 10


def test_a_bundle_scores_a_frame_with_labels_that_equal_its_own(trained):
    texts = ["good film", "bad film"]
    split = zoo.Split(texts, [0, 1])
    frame = pd.DataFrame({"text": texts, "label": list(LABELS[:2])})
    assert trained.evaluate(frame)["accuracy"] == trained.evaluate(split, LABELS)["accuracy"]
