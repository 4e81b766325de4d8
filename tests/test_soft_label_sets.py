"""Soft labels of texts that may have several labels: in tables and in memory, their loss, students and teachers."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import convex_head, distillation
from dense_lstm_zoo.classification.calibration import sigmoid
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.teaching import rounds
from tests import bundle_harness
from tests.several_labels_harness import LABELS, corpus, train
from tests.test_soft_labels import WRITERS
from tests.training_harness import interrupted

TEXTS = ["a steak", "a rude waiter", "rain", "soup and bread"]
SHARES = {"probability_food": [0.9, 0.4, 0.2, None], "probability_staff": [0.7, 0.8, 0.1, None]}
MATRIX = [[0.9, 0.7], [0.4, 0.8], [0.2, 0.1], [1.0, 0.0]]
LISTS = {"text": TEXTS, "label": [["food"], None, [], ["food"]], **SHARES}
JOINED = {"text": TEXTS, "label": ["food", None, None, "food"], **SHARES}
COLUMNS = {"text": TEXTS, "food": [1, None, 0, 1], "staff": [0, None, 0, 0], **SHARES}
SEPARATED = {"label_separator": "|"}
FORMS = {
    "lists": (LISTS, {}, [True, False, True, True]),
    "joined": (JOINED, SEPARATED, [True, False, False, True]),
    "columns": (COLUMNS, {"label_columns": ["food", "staff"]}, [True, False, True, True]),
}
ALONE = pd.DataFrame({"text": TEXTS, **SHARES}).iloc[:3]


def soft_meals(labelled=0.5):
    """The meals with probabilities that favour the right labels, of which a part has labels of its own."""
    meals = corpus()
    right = meals.train.targets(3)
    own = np.random.default_rng(3).uniform(0.7, 1.0, right.shape)
    shares = np.where(right > 0, own, 1 - own)
    labels = [label if i < labelled * len(right) else None for i, label in enumerate(meals.train.labels)]
    taught = Split(meals.train.texts, labels, probabilities=shares, teachers=("an oracle",), several=True)
    return dataclasses.replace(meals, train=taught)


@pytest.mark.parametrize(
    ("form", "kind"),
    [(form, kind) for form in WRITERS for kind in FORMS if kind != "lists" or form in ("jsonl", "parquet")],
)
def test_every_kind_of_table_holds_probabilities_beside_several_labels(form, kind, tmp_path):
    rows, options, is_labelled = FORMS[kind]
    path = tmp_path / f"train.{form}"
    WRITERS[form](pd.DataFrame(rows), path)
    train_texts = zoo.load_corpus(path, **options).train
    assert train_texts.labels == [(0,), (1,), (), (0,)]
    assert train_texts.is_labelled.tolist() == is_labelled
    np.testing.assert_allclose(train_texts.probabilities, MATRIX, rtol=1e-6)
    assert all(type(label) is tuple for label in train_texts.select([1, 2]).labels)


@pytest.mark.parametrize("kind", FORMS)
def test_a_frame_holds_the_same_as_a_file(kind):
    rows, options, is_labelled = FORMS[kind]
    own = zoo.load_corpus(pd.DataFrame(rows), **options).train
    assert own.labels == [(0,), (1,), (), (0,)]
    assert own.is_labelled.tolist() == is_labelled
    np.testing.assert_allclose(own.probabilities, MATRIX, rtol=1e-6)


@pytest.mark.parametrize("form", [*WRITERS, "frame"])
def test_probabilities_alone_are_of_several_labels_if_an_option_or_dev_says_so(form, tmp_path):
    source = ALONE if form == "frame" else tmp_path / f"train.{form}"
    dev = pd.DataFrame({"text": ["a steak"], "food": [1], "staff": [1]})
    lists = pd.DataFrame({"text": ["a steak"], "label": [["food", "staff"]]})
    if form != "frame":
        WRITERS[form](ALONE, source)
        dev.to_csv(tmp_path / "dev.csv", index=False)
        lists.to_json(tmp_path / "dev.jsonl", orient="records", lines=True)

    def load(dev_part, name, **options):
        if form == "frame":
            return zoo.load_corpus({"train": source} | ({"dev": dev_part} if name else {}), **options)
        return zoo.load_corpus(source, **({"dev_file": tmp_path / name} if name else {}), **options)

    for each in (
        load(None, "", label_separator="|"),
        load(dev, "dev.csv", label_columns=["staff", "food"]),
        load(lists, "dev.jsonl"),
    ):
        assert [each.label_names[i] for i in each.train.labels[1]] == ["staff"]
        assert not each.train.is_labelled.any()
        assert each.is_several
    with pytest.raises(ValueError, match=r"must add up to 1; .* 1.6\. If texts may have several .*--label-separator"):
        load(None, "")


def test_json_lines_go_back_and_forth(tmp_path):
    meals = soft_meals()
    for part, lines in meals.json_lines().items():
        (tmp_path / f"{part}.jsonl").write_text(lines)
    again = zoo.load_corpus(tmp_path)
    assert (again.train, again.dev, again.test) == (meals.train, meals.dev, meals.test)
    np.testing.assert_array_equal(again.train.probabilities, meals.train.probabilities)
    assert again.train.is_labelled.tolist() == meals.train.is_labelled.tolist()


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        (
            {"probability_food": [1.1, 0.4, 0.2, None]},
            SEPARATED,
            r"line 2: .* must not be above 1; received 1.1, 0.7\.",
        ),
        ({"probability_food": [-0.1, 0.4, 0.2, None]}, SEPARATED, "line 2: .* must not be negative; received -0.1"),
        ({"probability_food": ["inf", 0.4, 0.2, None]}, SEPARATED, "line 2: .* must be finite numbers"),
        ({"label": ["food", None, None, None]}, SEPARATED, r"1 row \(line 5\) with an empty label"),
        ({"label": ["fod", None, None, "food"]}, SEPARATED, "Unknown label for the probabilities .*: 'fod'. Did you"),
        ({"label": ["food;staff", None, None, "food"]}, SEPARATED, "Unknown label .*'food;staff'"),
        (
            {"price": [1, 0, 0, 0], "food": 1},
            {"label_columns": ["food", "price"]},
            "Unknown label .*train.csv: 'price'",
        ),
        (
            {"food": 1, "staff": 1, "probability_price": [0.5, 0.5, 0.5, None]},
            {"label_columns": ["food", "staff"]},
            "Unknown label for label_columns .*, with probabilities in train.csv: 'price'",
        ),
        ({"food": 1}, {"label_columns": ["food", "stafff"]}, "Unknown column for .*: 'stafff'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(changes, options, message, tmp_path):
    path = tmp_path / "train.csv"
    pd.DataFrame({**JOINED, **changes}).to_csv(path, index=False)
    with pytest.raises(ValueError, match=message):
        zoo.load_corpus(path, **options)


def test_parts_of_two_kinds_are_refused(tmp_path):
    pd.DataFrame(JOINED).to_csv(tmp_path / "train.csv", index=False)
    (tmp_path / "dev.jsonl").write_text(json.dumps({"text": "a", "label": ["food"]}) + "\n")
    with pytest.raises(ValueError, match=r"train\.csv has one label for each text, and .*dev\.jsonl has several"):
        zoo.load_corpus(tmp_path / "train.csv", dev_file=tmp_path / "dev.jsonl")


def test_a_split_says_by_its_labels_or_a_word_that_they_are_several():
    split = Split(["a", "b"], [None, (1,)], probabilities=[[0.5, 0.4], [0.1, 0.9]])
    assert (split.labels, split.is_labelled.tolist()) == ([(0,), (1,)], [False, True])
    alone = Split(["a", "b"], None, probabilities=[[0.5, 0.4], [1, 1]], several=True)
    assert alone.labels == [(0,), (0, 1)]
    assert dataclasses.replace(alone, lines=[1, 2]).labels == alone.labels
    with pytest.raises(ValueError, match=r"text 0, counted from 0: .* must not be above 1"):
        Split(["a"], [[0]], probabilities=[[0.5, 1.4]])
    with pytest.raises(TypeError, match=r"a list of them for each text; received \[1\]"):
        Split(["a", "b"], [0, [1]], probabilities=[[0.5, 0.5], [0.1, 0.9]])


def test_dev_and_folds_are_held_out_of_texts_with_labels():
    meals = dataclasses.replace(soft_meals(), dev=None)
    own = dict(zip(meals.train.texts, meals.train.is_labelled.tolist(), strict=True))
    held_out = meals.with_dev(0.2).dev
    assert len(held_out) == 20  # of 100
    assert not held_out.is_soft
    assert all(own[text] for text in [*held_out.texts, *meals.fold(1, 2).test.texts])


def binary_cross_entropy(shares, logits):
    return -(shares * np.log(sigmoid(logits)) + (1 - shares) * np.log(1 - sigmoid(logits)))


@pytest.mark.parametrize(("temperature", "hard_weight"), [(1.0, 0.0), (2.5, 0.0), (4.0, 0.3), (1.0, 1.0)])
def test_the_loss_is_that_of_the_paper_for_each_label(temperature, hard_weight):
    generator = np.random.default_rng(0)
    logits, of_teacher = generator.normal(size=(2, 5, 3)).astype(np.float32)
    labels = [[0], None, [], [0, 1, 2], None]
    split = Split(["text"] * 5, labels, probabilities=sigmoid(2 * of_teacher))
    expected = []
    for i, label in enumerate(labels):
        soft = binary_cross_entropy(sigmoid(2 * of_teacher[i] / temperature), logits[i] / temperature)
        hard = binary_cross_entropy(np.isin(range(3), label or []), logits[i])
        weight = 0.0 if label is None else hard_weight
        expected.append(((1 - weight) * temperature**2 * soft + weight * hard).sum())
    loss = distillation.LabelSetDistillationLoss(temperature, hard_weight)
    assert float(loss(distillation.targets(split, temperature), logits)) == pytest.approx(np.mean(expected), 1e-5)
    dev = np.array([[1, 0, 1]] * 5, np.float32)
    assert float(loss(dev, logits)) == pytest.approx(binary_cross_entropy(dev, logits).sum(axis=1).mean(), 1e-5)
    agreement = distillation.LabelSetAgreement()
    agreement.update_state(distillation.targets(split), of_teacher)
    assert float(agreement.result()) == 1.0


def test_targets_at_a_temperature_near_0_are_certain_but_for_a_half():
    split = Split(["a"], None, probabilities=[[0.5, 0.4, 1, 0, 0.6]], several=True)
    for temperature in (5e-4, 1e-320):
        assert distillation.targets(split, temperature)[0, :5].tolist() == [0.5, 0, 1, 0, 1]


def test_weights_and_mixtures_are_of_each_decision():
    split = Split(["a", "b"], [[0], None], probabilities=[[0.5, 0.25], [1, 0]])
    np.testing.assert_allclose(distillation.weights(split, {0: 3.0, 1: 1.0}), [[2, 1], [3, 1]])
    assert distillation.weights(split, None) is None
    assert distillation.mixture(split, 0.5).tolist() == [[0.75, 0.125], [1, 0]]


def test_a_head_is_fitted_to_the_probabilities_of_each_label():
    features = np.random.default_rng(1).normal(size=(400, 3))
    shares = sigmoid(features @ np.array([[2.0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0.5, 0]]))
    shares[:, 3] = 0.0  # never
    likely = (shares >= 0.5).astype(int)
    head = convex_head.fit(features, likely, 4, (features, likely), shares=shares)
    assert head.dev_accuracy > 0.95
    assert head.logits(features)[:, 3].max() < -5
    (weak,) = convex_head._heads(features, convex_head._Targets(likely, np.ones((400, 4)), shares), 4, (0.3,))
    np.testing.assert_allclose(sigmoid(weak.logits(features)), shares, atol=0.06)
    features, likely = features[:100], likely[:100]
    certain = likely.astype(float)
    own, soft = (convex_head.fit(features, likely, 4, None, {0: 2.0, 1: 1, 2: 1, 3: 1}, x) for x in (None, certain))
    np.testing.assert_allclose(own.kernel, soft.kernel, atol=2e-3)


OPTIONS = {"temperature": 2.0, "hard_weight": 0.25, "epochs": 2}


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student") / "run"
    return train(folder, soft_meals(), class_weights={"food": 2.0}, **OPTIONS), folder


def test_a_student_learns_and_remembers_its_teacher(student):
    bundle, folder = student
    assert bundle.metrics["test_micro_f1"] > 0.7
    assert bundle.config["training"]["taught_by"] == {"teachers": ["an oracle"], "texts": 200, "labelled": 100}
    assert "Taught by an oracle" in (folder / "README.md").read_text()
    assert type(bundle.model.loss).__name__ == "LabelSetCrossentropy"


@pytest.mark.slow
def test_an_interrupted_student_ends_with_the_same_weights(student, tmp_path):
    options = {"class_weights": {"food": 2.0}, **OPTIONS}
    with interrupted(epoch=1, batch=2):
        train(tmp_path / "run", soft_meals(), **options)
    again = train(tmp_path / "run", soft_meals(), **options)
    np.testing.assert_array_equal(again.probabilities(TEXTS), zoo.load(student[1]).probabilities(TEXTS), strict=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Without vectors")
def test_a_head_alone_learns_from_probabilities(tmp_path):
    bundle = train(tmp_path / "run", soft_meals(0.2), recipe="few_labels", epochs=None, learning_rate=0.005)
    assert len(bundle.history) == 1
    assert bundle.metrics["test_ranking_average_precision"] > 0.7


def by_words(texts):
    """A teacher that gives probabilities by words."""
    words = {"food": ("steak", "soup"), "price": ("cheap", "bill"), "staff": ("waiter", "staff")}
    return np.array([[0.9 if any(word in text for word in words[name]) else 0.2 for name in LABELS] for text in texts])


def quiet(teacher, texts=None, **options):
    return zoo.teach(teacher, texts, **{"progress": False, **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained model of several labels."""
    bundle = bundle_harness.with_random_weights(bundle_harness.bundle("bilstm", labels="several"))
    return bundle.save(tmp_path_factory.mktemp("teacher") / "run")


def test_the_file_of_a_trained_teacher_is_read_as_it_was_written(folder, tmp_path):
    teacher, path = zoo.load(folder), tmp_path / "soft.csv"
    result = quiet(folder, TEXTS, output=path)
    assert "read the file with label_separator='|' (--label-separator '|')" in str(result)
    taught = zoo.load_corpus(path, **SEPARATED)
    order = [teacher.labels.index(name) for name in taught.label_names]
    np.testing.assert_allclose(taught.train.probabilities, teacher.probabilities(TEXTS)[:, order], atol=1e-6)
    assert taught.is_several


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_function_labels_a_corpus_of_several_labels_which_keeps_its_own(form, tmp_path):
    meals = corpus(20)
    labelled = [i for i, label in enumerate(meals.train.labels) if label or form != "csv"]
    meals = dataclasses.replace(meals, train=meals.train.select(labelled))
    path = tmp_path / f"soft.{form}"
    result = quiet(by_words, TEXTS, output=path, dataset=meals, train_texts=True)
    assert result.texts == result.labelled + 4
    assert 10 < result.labelled <= len(labelled)  # without copies of dev and test texts
    options = SEPARATED if form == "csv" else {}
    again = meals.with_train(zoo.load_corpus(path, **options)).train
    right = dict(zip(meals.train.texts, meals.train.labels, strict=True))
    assert again.labels[:-4] == [right[text] for text in again.texts[:-4]]
    assert again.is_labelled.tolist() == [True] * result.labelled + [False] * 4
    np.testing.assert_allclose(again.probabilities, by_words(again.texts), atol=1e-6)


def test_csv_does_not_lose_that_a_text_has_no_label(tmp_path):
    meals = corpus(20)
    with pytest.raises(ValueError, match=r"a text has none of the labels\. Write jsonl or parquet"):
        quiet(by_words, None, output=tmp_path / "soft.csv", dataset=meals)
    odd = Corpus("odd", ("a|b", "c"), Split(["x"], [[0]]), None, None)
    with pytest.raises(ValueError, match=r"a label has a '\|' in its name"):
        quiet(lambda texts: [[0.5, 0.5]], None, output=tmp_path / "soft.csv", dataset=odd)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([{"food": 0.9, "staff": 0.9}, {}], [[0.9, 0, 0.9], [0, 0, 0]]),
        ([["food", "Staff."], []], [[1, 0, 1], [0, 0, 0]]),
        ([("food",), ["no idea"]], [[1, 0, 0]]),
        (["staff", None], [[0, 0, 1]]),
        (np.array([[1, 1, 1], [0, 0, 0.5]]), [[1, 1, 1], [0, 0, 0.5]]),
    ],
)
def test_a_function_answers_in_any_form(answers, expected, tmp_path):
    result = quiet(lambda texts: answers, TEXTS[:2], output=tmp_path / "soft.csv", labels=LABELS, **SEPARATED)
    taught = zoo.load_corpus(tmp_path / "soft.csv", **SEPARATED).train
    np.testing.assert_allclose(taught.probabilities, np.array(expected, np.float32))
    assert result.texts == len(expected)


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        ([{"text": "x", "label": ["food", "staff"]}, {"text": "y", "label": []}], {}, [[1, 1], [0, 0]]),
        ([{"text": "x", "answer": "food, Staff"}, {"text": "y", "answer": "none"}], {"label_separator": ","}, [[1, 1]]),
        ([{"text": "x", "probabilities": {"food": 0.9, "staff": 0.75}}], SEPARATED, [[0.9, 0.75]]),
        ([{"text": "x", "probability_food": 0.1, "probability_staff": 0}], SEPARATED, [[0.1, 0]]),
    ],
)
def test_files_of_other_models_are_teachers(rows, options, expected, tmp_path):
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    quiet(tmp_path / "answers.jsonl", output=tmp_path / "soft.csv", labels=["food", "staff"], **options)
    np.testing.assert_allclose(zoo.load_corpus(tmp_path / "soft.csv", **SEPARATED).train.probabilities, expected)


def test_a_table_that_predict_wrote_teaches_of_texts_with_none_of_the_labels_too(tmp_path):
    rows = "soup,food,food,0.9,0.9,0.1\nnothing,,,0.8,0.1,0.2\n"
    (tmp_path / "answers.csv").write_text(f"text,labels,label,probability,p_food,p_staff\n{rows}")
    quiet(tmp_path / "answers.csv", None, output=tmp_path / "soft.csv", **SEPARATED)
    soft = zoo.load_corpus(tmp_path / "soft.csv", **SEPARATED).train
    assert soft.texts == ["soup", "nothing"]
    np.testing.assert_allclose(soft.probabilities, [[0.9, 0.1], [0.1, 0.2]])


def test_several_teachers_of_several_labels_are_averaged(tmp_path):
    row = {"text": TEXTS[0], "probabilities": dict.fromkeys(LABELS, 1.0)}
    (tmp_path / "other.jsonl").write_text(json.dumps(row) + "\n")
    teachers = [by_words, tmp_path / "other.jsonl"]
    quiet(teachers, TEXTS, output=tmp_path / "soft.csv", labels=LABELS, **SEPARATED)
    own = by_words(TEXTS)
    own[0] = (own[0] + 1) / 2
    taught = zoo.load_corpus(tmp_path / "soft.csv", **SEPARATED)
    np.testing.assert_allclose(taught.train.probabilities, own, atol=1e-6)


def test_a_labelling_goes_on_where_its_teacher_failed(tmp_path):
    calls = []

    def teacher(texts):
        if len(calls) == 1:
            calls.append(None)
            raise ConnectionError("gone")
        calls.append(texts)
        return by_words(texts)

    options = {"output": tmp_path / "soft.csv", "labels": LABELS, "batch_size": 2, **SEPARATED}
    with pytest.raises(ConnectionError):
        quiet(teacher, TEXTS, **options)
    with pytest.raises(ValueError, match="labels_per_text"):
        quiet(teacher, TEXTS, **{**options, "label_separator": None})
    quiet(teacher, TEXTS, **options)
    assert calls == [TEXTS[:2], None, TEXTS[2:]]


def test_teachers_and_texts_of_the_other_kind_are_refused(folder, tmp_path):
    one = bundle_harness.bundle("bilstm")
    frame = pd.DataFrame({"text": TEXTS[:2], "label": ["food|staff", None]})
    (tmp_path / "one.csv").write_text("text,label\nx,food\ny,staff\nz,price\n")
    (tmp_path / "sure.jsonl").write_text('{"text": "x", "label": ["food"], "confidence": 0.9}\n')
    for number, (arguments, options, message) in enumerate(
        (
            ((one, TEXTS), SEPARATED, "gives one label per text; the student has several labels per text"),
            (([one, folder], TEXTS), {}, "gives several labels per text; a bilstm trained on none has one label"),
            (
                (tmp_path / "one.csv",),
                {"dataset": corpus(20)},
                "one.csv gives one label per text; the student has several",
            ),
            (
                (by_words, frame),
                {"labels": LABELS, "dataset": corpus(20)},
                "a text to learn has one label: 'food|staff'",
            ),
            ((by_words, TEXTS), {"labels": LABELS}, r"must add up to 1; .* say so with label_separator"),
            ((lambda texts: 2 * by_words(texts), TEXTS), {"labels": LABELS, **SEPARATED}, "must not be above 1"),
            ((tmp_path / "sure.jsonl",), {"labels": LABELS}, "has several labels and one 'confidence'"),
            (
                (by_words, TEXTS),
                {"labels": LABELS, "label_separator": " "},
                "label_separator .* must be what is between",
            ),
        )
    ):
        with pytest.raises(ValueError, match=message):
            quiet(*arguments, output=tmp_path / f"soft{number}.csv", **options)
    with pytest.raises(TypeError, match="must return one label per text; answer 0"):
        quiet(lambda texts: [["a"]] * 4, TEXTS, output=tmp_path / "soft.csv", labels=["a", "b"])
    assert not list(tmp_path.glob("soft*.csv"))


def test_the_command_labels(folder, tmp_path):
    (tmp_path / "raw.csv").write_text("text,label\na steak,no|yes\nrain,\n")
    words = ["--file", str(tmp_path / "raw.csv"), "-o", str(tmp_path / "soft.csv"), "--quiet"]
    assert main(["label", str(folder), *words, "--label-separator", "|"]) == 0
    taught = zoo.load_corpus(tmp_path / "soft.csv", **SEPARATED)
    assert [taught.label_names[i] for i in taught.train.labels[0]] == ["no", "yes"]
    assert taught.train.is_labelled.tolist() == [True, False]


def test_self_training_learns_texts_that_are_sure_of_each_label():
    meals = corpus(20)
    shares = [[0.95, 0.05, 0.99], [0.95, 0.5, 0.99], [0.01, 0.02, 0.03]]
    soft = dataclasses.replace(meals, train=Split(["a b", "c d", "e f"], None, probabilities=shares, several=True))
    part = rounds._with_sure_texts(meals, soft, 0.9).train
    assert part.texts[-2:] == ["a b", "e f"]
    assert part.labels[-2:] == [(0, 2), ()]
    assert part.is_labelled.tolist() == [True] * 20 + [False] * 2
    np.testing.assert_array_equal(part.probabilities[:20], meals.train.targets(3))
    assert rounds._with_sure_texts(meals, soft, 0.999) is None
