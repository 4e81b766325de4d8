"""Soft labels: probabilities in tables and in memory, the loss of a student, and its runs."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import convex_head, distillation
from dense_lstm_zoo.classification.calibration import softmax
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.cli import main
from tests.training_harness import TINY, interrupted, small_demo, train

ROWS = {
    "text": ["a fine film", "a dull film", "so so", "good"],
    "label": [None, "bad", "good", "good"],
    "probability_bad": [0.1, 0.9, 0.5, None],
    "probability_good": [0.9, 0.1, 0.5, None],
    "teacher": ["me", "you", "me", None],
}
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


def _spaced(name):
    """Return the name of a column as a header has it with a space after each comma."""
    return name if name in ("text", "label") else f" {name}"


def soft_demo(labelled=0.5):
    """The demo corpus with probabilities that favour the right label, of which a part has labels of their own."""
    corpus = small_demo()
    generator = np.random.default_rng(3)
    n = len(corpus.train)
    own = generator.uniform(0.6, 1.0, n)
    shares = np.where(np.arange(2)[None] == np.array(corpus.train.labels)[:, None], own[:, None], 1 - own[:, None])
    labels = [label if i < labelled * n else None for i, label in enumerate(corpus.train.labels)]
    return dataclasses.replace(
        corpus, train=Split(corpus.train.texts, labels, probabilities=shares, teachers=("an oracle",))
    )


@pytest.mark.parametrize("form", WRITERS)
def test_every_kind_of_table_may_hold_probabilities(form, tmp_path):
    path = tmp_path / f"train.{form}"
    WRITERS[form](pd.DataFrame(ROWS), path)
    corpus = zoo.load_corpus(path)
    WRITERS[form](pd.DataFrame(ROWS).rename(columns=_spaced), tmp_path / f"spaced.{form}")
    spaced = zoo.load_corpus(tmp_path / f"spaced.{form}").train
    assert spaced.probabilities.tolist() == corpus.train.probabilities.tolist()
    assert spaced.teachers == corpus.train.teachers
    assert corpus.label_names == ("bad", "good")
    assert corpus.train.labels == [1, 0, 1, 1]
    assert corpus.train.is_labelled.tolist() == [False, True, True, True]
    np.testing.assert_allclose(corpus.train.probabilities, [[0.1, 0.9], [0.9, 0.1], [0.5, 0.5], [0, 1]], rtol=1e-6)
    assert corpus.train.teachers == ("me", "you")


@pytest.mark.parametrize("form", WRITERS)
def test_a_table_with_probabilities_needs_no_labels(form, tmp_path):
    path = tmp_path / f"train.{form}"
    frame = pd.DataFrame(ROWS).drop(columns=["label", "teacher"]).iloc[:3]
    for each in (frame, frame.rename(columns=_spaced)):
        WRITERS[form](each, path)
        corpus = zoo.load_corpus(path)
        assert corpus.train.labels == [1, 0, 0]
        assert not corpus.train.is_labelled.any()


def test_a_frame_holds_the_same_as_a_file(tmp_path):
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "train.csv", index=False)
    read, own = zoo.load_corpus(tmp_path / "train.csv").train, zoo.load_corpus(frame).train
    assert own == read
    assert own.probabilities.tolist() == read.probabilities.tolist()
    assert own.is_labelled.tolist() == read.is_labelled.tolist()
    assert own.teachers == read.teachers
    spaced = zoo.load_corpus(frame.rename(columns=_spaced)).train
    assert (spaced.probabilities.tolist(), spaced.teachers) == (own.probabilities.tolist(), own.teachers)
    without = zoo.load_corpus(frame.drop(columns="label").iloc[:3]).train
    assert without.labels == [1, 0, 0]
    numbers = pd.DataFrame(
        {"text": ["a", "b"], "label": [2, np.nan], "probability_1": [0.5, 0.1], "probability_2": [0.5, 0.9]}
    )
    assert zoo.load_corpus(numbers).train.labels == [1, 1]


def test_json_lines_hold_an_object_of_probabilities_and_go_back_and_forth(tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [
        {"text": "fine", "probabilities": {"good": 0.75, "bad": 0.25}},
        {"text": "dull", "probabilities": {"bad": 1}},
        {"text": "so so", "label": "good"},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = zoo.load_corpus(path)
    assert corpus.train.probabilities.tolist() == [[0.25, 0.75], [1, 0], [0, 1]]
    (tmp_path / "again.jsonl").write_text(corpus.json_lines()["train"])
    again = zoo.load_corpus(tmp_path / "again.jsonl")
    assert again.train == corpus.train
    assert again.train.is_labelled.tolist() == corpus.train.is_labelled.tolist()


def test_spaces_around_a_label_do_not_count_in_json_either(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text(
        "".join(json.dumps({"text": "x", "probabilities": {name: 1, "b": 0}}) + "\n" for name in ("a", " a"))
    )
    assert zoo.load_corpus(path).label_names == ("a", "b")
    for row in ({" a": 0.5, "a": 0.5}, {" ": 0.5, "a": 0.5}):
        path.write_text(json.dumps({"text": "x", "probabilities": row}) + "\n")
        with pytest.raises(ValueError, match="line 1: 'probabilities' names a label twice, or an empty one"):
            zoo.load_corpus(path)
    path.write_text(f'{{"text": "x", "probabilities": {{"a": 1{"0" * 400}, "b": 0}}}}\n')
    with pytest.raises(ValueError, match="line 1: the probability of 'a' must be a number; found 1000"):
        zoo.load_corpus(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability_bad": [0.1, 0.9, 0.4, None]}, r"line 4: .* must add up to 1; received 0.4, 0.5, which add up"),
        ({"probability_bad": [0.1, -0.9, 0.5, None]}, "line 3: .* must not be negative; received -0.9, 0.1"),
        ({"probability_bad": [0.1, None, 0.5, None]}, "line 3: the probability of 'bad' must be a number; found ''"),
        ({"probability_bad": [0.1, "much", 0.5, None]}, "line 3: the probability of 'bad' must be a number"),
        ({"probability_bad": [0.1, "inf", 0.5, None]}, "line 3: .* must be finite numbers"),
        ({"label": [None, "bat", "good", "good"]}, "Unknown label for the probabilities .*'bat'. Did you mean 'bad'"),
        ({"label": [None, "bad", "good", None]}, r"1 row \(line 5\) with an empty label"),
        (
            {"probability_bad": ["NaN ", 0.9, 0.5, None], "probability_good": ["nan", 0.1, 0.5, None]},
            r"1 row \(line 2\) with an empty label",
        ),
        ({"probability_bad ": [0.1] * 4}, r"has 2 columns named 'probability_bad'; rename all but one\. Spaces"),
        ({f"probability_{'x' * 1001}": [0, 0, 0, None]}, "probabilities of a label longer than 1,000 characters: 'xxx"),
    ],
)
def test_wrong_probabilities_are_refused_with_their_line(changes, message, tmp_path):
    path = tmp_path / "train.csv"
    pd.DataFrame({**ROWS, **changes}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(path)


def test_dev_labels_need_a_column_each(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "train.csv", index=False)
    (tmp_path / "dev.csv").write_text("text,label\nfine,god\n")
    with pytest.raises(ValueError, match=r"does not occur in train.csv; the first is 'god'"):
        zoo.load_corpus(tmp_path / "train.csv", dev_file=tmp_path / "dev.csv")
    pd.DataFrame(ROWS).drop(columns="label").iloc[:3].to_csv(tmp_path / "dev.csv", index=False)
    with pytest.raises(ValueError, match=r"Unknown column for .*dev\.csv: 'label'"):
        zoo.load_corpus(tmp_path / "train.csv", dev_file=tmp_path / "dev.csv")


def test_one_column_alone_is_not_read(tmp_path, capsys):
    path = tmp_path / "rain.csv"
    path.write_text("text,label,probability_rain\nfine,good,0.3\ndull,bad,0.7\n")
    assert not zoo.load_corpus(path).train.is_soft
    assert "the column 'probability_rain' is not read" in capsys.readouterr().err


def test_a_split_needs_labels_or_probabilities():
    with pytest.raises(ValueError, match="A split without labels needs probabilities"):
        zoo.Split(["a"], None)
    assert not zoo.Split(["a"], [0], probabilities=None).is_soft


def test_a_matrix_is_checked():
    with pytest.raises(ValueError, match=r"text 1, counted from 0: .* must add up to 1"):
        Split(["a", "b"], None, probabilities=[[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(ValueError, match="must be finite numbers; received nan"):
        Split(["a"], None, probabilities=[[np.nan, 1.0]])
    with pytest.raises(ValueError, match="a row for each of 2 texts; received 1"):
        Split(["a", "b"], None, probabilities=[[0.5, 0.5]])
    with pytest.raises(TypeError, match="at least two labels"):
        Split(["a"], None, probabilities=[0.5])
    with pytest.raises(ValueError, match="3 columns; there are 2 label_names"):
        Corpus("mine", ("a", "b"), Split(["x"], None, probabilities=[[0.2, 0.3, 0.5]]), None, None)


def test_a_table_of_probabilities_is_refused_as_its_columns_may_be_in_another_order():
    with pytest.raises(TypeError, match=r"received a table\. Give table\[label_names\]\.to_numpy\(\)"):
        zoo.Split(["a"], None, probabilities=pd.DataFrame({"good": [1.0], "bad": [0.0]}))


def test_dev_and_folds_are_held_out_of_texts_with_labels():
    corpus = dataclasses.replace(soft_demo(), dev=None)
    with_dev = corpus.with_dev(0.2, seed=2)
    assert len(with_dev.dev) == 30  # of 150
    assert not with_dev.dev.is_soft
    own = dict(zip(corpus.train.texts, corpus.train.is_labelled.tolist(), strict=True))
    assert all(own[text] for text in with_dev.dev.texts)
    tested = []
    for number in range(1, 4):
        fold = corpus.fold(number, 3)
        assert not fold.test.is_soft
        assert len(fold.train) + len(fold.test) == 300
        tested += fold.test.texts
    assert sorted(tested) == sorted(text for text in corpus.train.texts[:150])
    with pytest.raises(ValueError, match="has 0"):
        dataclasses.replace(soft_demo(0), dev=None).fold(1, 3)


def test_the_loss_is_that_of_the_paper():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(5, 3)).astype(np.float32)
    shares = softmax(generator.normal(size=(5, 3)) * 2)
    labels = [0, None, 2, 1, None]
    split = Split(["text"] * 5, labels, probabilities=shares)
    for temperature, hard_weight in ((1.0, 0.0), (2.5, 0.0), (4.0, 0.3), (1.0, 1.0)):
        expected = []
        for i, label in enumerate(labels):
            teacher = shares[i] ** (1 / temperature)
            teacher /= teacher.sum()
            soft = -(teacher * np.log(softmax(logits[i : i + 1] / temperature)[0])).sum() * temperature**2
            weight = 0.0 if label is None else hard_weight
            hard = 0.0 if label is None else -np.log(softmax(logits[i : i + 1])[0, label])
            expected.append((1 - weight) * soft + weight * hard)
        loss = distillation.DistillationLoss(temperature, hard_weight)
        assert float(loss(distillation.targets(split, temperature), logits)) == pytest.approx(np.mean(expected), 1e-5)
    hard = distillation.DistillationLoss(3.0, 0.5)(np.array([0, 1, 2, 0, 1]), logits)
    assert float(hard) == pytest.approx(-np.log(softmax(logits)[range(5), [0, 1, 2, 0, 1]]).mean(), 1e-5)


@pytest.mark.slow
def test_teaching_certainties_is_training_on_labels(tmp_path):
    corpus = small_demo()
    certain = np.eye(2)[corpus.train.labels]
    taught = dataclasses.replace(corpus, train=Split(corpus.train.texts, None, probabilities=certain))
    one, other = (
        train(tmp_path / name, dataset=each, epochs=1) for name, each in (("own", corpus), ("taught", taught))
    )
    for own, learnt in zip(one.model.get_weights(), other.model.get_weights(), strict=True):
        np.testing.assert_allclose(own, learnt, atol=1e-4)
    assert one.metrics["test_accuracy"] == other.metrics["test_accuracy"]


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student") / "run"
    return train(folder, dataset=soft_demo(), temperature=2.0, hard_weight=0.25), folder


@pytest.mark.slow
def test_an_interrupted_student_ends_with_the_same_weights(student, tmp_path):
    options = {"dataset": soft_demo(), "temperature": 2.0, "hard_weight": 0.25}
    with interrupted(epoch=1, batch=2):
        train(tmp_path / "run", **options)
    with pytest.raises(ValueError, match=r"temperature was 2\.0 and is 3\.0"):
        train(tmp_path / "run", **{**options, "temperature": 3.0})
    other = soft_demo()
    other.train.probabilities[0] = [0.5, 0.5]
    with pytest.raises(ValueError, match="data_sha256 was"):
        train(tmp_path / "run", **{**options, "dataset": other})
    again = train(tmp_path / "run", **options)
    for one, other in zip(student[0].model.get_weights(), again.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_student_remembers_its_teacher(student):
    bundle, folder = student
    training = bundle.config["training"]
    assert training["taught_by"] == {"teachers": ["an oracle"], "texts": 300, "labelled": 150}
    assert (training["temperature"], training["hard_weight"]) == (2.0, 0.25)
    card = (folder / "README.md").read_text()
    assert "Taught by an oracle: soft labels for 300 training texts, of which 150 have a label of their own." in card
    assert "--temperature 2.0" in card
    assert "Taught by: an oracle" in str(zoo.describe(folder))
    settings = (folder / "run.toml").read_text()
    assert "temperature = 2.0" in settings
    assert "hard_weight = 0.25" in settings
    bundle.model.fit(np.array([[2, 3]]), np.array([1]), verbose=0)  # learns from labels again


def test_weights_of_classes_count_by_probability():
    split = soft_demo().train
    weights = distillation.weights(split, {0: 1.0, 1: 3.0})
    np.testing.assert_allclose(weights, split.probabilities @ [1, 3])
    assert distillation.weights(split, None) is None


def test_a_student_with_class_weights_and_a_head_trains(tmp_path):
    bundle = train(
        tmp_path / "run", dataset=soft_demo(0), class_weights={"positive": 2.0}, head="convex", epochs=2, patience=2
    )
    assert bundle.history["loss"].notna().all()
    assert len(bundle.history) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "temperature must be a finite number above 0; received 0"),
        ({"hard_weight": 2}, "hard_weight must be a number from 0 to 1; received 2"),
        ({"hard_weight": True}, "hard_weight must be a number from 0 to 1; received True"),
        ({"temperature": 2.0}, "temperature=2.0 is for training texts with soft labels"),
        ({"hard_weight": 0.5}, "hard_weight=0.5 is for training texts with soft labels"),
    ],
)
def test_options_of_teaching_are_checked(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_head_is_fitted_to_the_probabilities():
    generator = np.random.default_rng(1)
    features = generator.normal(size=(400, 3))
    shares = softmax(features @ np.array([[2.0, 0, -1], [0, 1, 0], [0, 0, 0.5]]))
    dev = features, shares.argmax(axis=1)
    head = convex_head.fit(features, shares.argmax(axis=1), 3, dev, shares=shares)
    (weak,) = convex_head._heads(features, convex_head._Targets(dev[1], np.ones(400), shares), 3, (0.3,))
    np.testing.assert_allclose(softmax(weak.logits(features)), shares, atol=0.06)
    assert head.dev_accuracy > 0.95
    certain = np.eye(3)[dev[1]]
    own, soft = (convex_head.fit(features, dev[1], 3, None, {0: 2.0, 1: 1.0, 2: 1.0}, each) for each in (None, certain))
    np.testing.assert_allclose(own.kernel, soft.kernel, atol=1e-5)
    assert own.dev_accuracy == soft.dev_accuracy


def test_a_head_alone_takes_no_temperature(tmp_path):
    with pytest.raises(ValueError, match="not for a run that fits the last layer alone"):
        train(tmp_path / "run", dataset=soft_demo(), head="convex", epochs=1, temperature=2.0)


@pytest.mark.slow
def test_dev_scores_without_any_label_are_said_to_be_agreement(tmp_path):
    corpus = dataclasses.replace(soft_demo(0), dev=None, test=None)
    bundle = train(tmp_path / "run", dataset=corpus, epochs=1)
    assert "how often the model agrees with its teacher" in bundle.metrics["taught_dev"]


@pytest.mark.slow
def test_the_command_trains_on_a_table_with_probabilities_and_repeats_it(tmp_path, capsys):
    corpus = soft_demo()
    (tmp_path / "train.jsonl").write_text(corpus.json_lines()["train"])
    (tmp_path / "dev.jsonl").write_text(corpus.json_lines()["dev"])
    sizes = [word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", json.dumps(value))]
    words = ["--epochs", "1", "--vectors", "none", "--no-baseline", *sizes]
    files = ["--train-file", str(tmp_path / "train.jsonl"), "--dev-file", str(tmp_path / "dev.jsonl")]
    run = tmp_path / "run"
    assert (
        main(["train", "bilstm", *files, *words, "--hard-weight", "0", "--temperature", "3", "--run-dir", str(run)])
        == 0
    )
    assert (
        "taught by an oracle: probabilities of 2 labels for 300 training texts, 150 of which" in capsys.readouterr().out
    )
    again = tmp_path / "again"
    assert main(["train", "--config", str(run / "run.toml"), "--no-baseline", "--run-dir", str(again)]) == 0
    for one, other in zip(zoo.load(run).model.get_weights(), zoo.load(again).model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_column_of_labels_that_is_named_must_be_there(tmp_path):
    frame = pd.DataFrame(ROWS).drop(columns="label").iloc[:3]
    for form, write in WRITERS.items():
        write(frame, tmp_path / f"train.{form}")
        with pytest.raises(ValueError, match=r"Unknown column .*'lable'"):
            zoo.load_corpus(tmp_path / f"train.{form}", label_column="lable")
    with pytest.raises(ValueError, match=r"Unknown column .*'lable'"):
        zoo.load_corpus(frame, label_column="lable")
    assert Corpus.from_frame(frame, text="text", label=None).train.labels == [1, 0, 0]


def test_probabilities_of_a_large_file_stay_beside_its_stored_texts(tmp_path, monkeypatch):
    path = tmp_path / "train.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    small = zoo.load_corpus(path)
    monkeypatch.setattr("dense_lstm_zoo.data.tables.MOST_IN_MEMORY", 3)
    large = zoo.load_corpus(path)
    assert type(large.train.texts).__name__ == "StoredTexts"
    part, own = large.train.select([2, 0]), small.train.select([2, 0])
    assert list(part.texts) == own.texts
    assert list(part.labels) == own.labels
    assert part.probabilities.tolist() == own.probabilities.tolist()
    assert part.is_labelled.tolist() == own.is_labelled.tolist() == [True, False]


def test_names_of_teachers_are_short_and_few(tmp_path):
    path = tmp_path / "train.csv"
    rows = [f"text {i},0.5,0.5,teacher {i}" + "x" * 600 for i in range(100)]
    path.write_text("text,probability_a,probability_b,teacher\n" + "\n".join(rows))
    teachers = zoo.load_corpus(path).train.teachers
    assert len(teachers) == 20
    assert max(map(len, teachers)) == 500
