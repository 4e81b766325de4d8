"""Error analysis of a classifier: numbers against scikit-learn, and the report."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from dense_lstm_zoo import tasks
from dense_lstm_zoo.classification.analysis import analyse
from dense_lstm_zoo.classification.report import markdown
from dense_lstm_zoo.reports.base import write_evaluation

pytestmark = pytest.mark.usefixtures("real_pictures")


def random_answers(num_labels, texts=500, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(texts, num_labels)) * 2
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(num_labels, p=row) for row in probabilities])  # calibrated by construction
    names = [f"label {i}" for i in range(num_labels)]
    return [f"text {i}" for i in range(texts)], labels, probabilities, names


def test_confusion_and_scores_by_class_equal_scikit_learns():
    texts, labels, probabilities, names = random_answers(4)
    analysis = analyse(texts, labels, probabilities, names)
    predicted = probabilities.argmax(axis=1)
    assert analysis["confusion"] == confusion_matrix(labels, predicted).tolist()
    expected = precision_recall_fscore_support(labels, predicted)
    for name, values in zip(("precision", "recall", "f1", "texts"), expected, strict=True):
        assert [row[name] for row in analysis["classes"]] == pytest.approx(values)


def test_calibration_error_is_small_for_calibrated_probabilities_and_large_for_overconfident_ones():
    texts, labels, probabilities, names = random_answers(3, texts=20_000)
    analysis = analyse(texts, labels, probabilities, names)
    assert analysis["calibration_error"] < 0.02
    assert sum(row["texts"] for row in analysis["calibration"]) == 20_000
    sure = np.eye(3)[probabilities.argmax(axis=1)]
    right = (probabilities.argmax(axis=1) == labels).mean()
    overconfident = analyse(texts, labels, sure, names)
    assert overconfident["calibration_error"] == pytest.approx(1 - right)
    assert overconfident["calibration"] == [{"from": 0.9, "mean": 1.0, "accuracy": right, "texts": 20_000}]


def test_the_most_confidently_wrong_come_first_and_right_ones_not_at_all():
    texts, labels, probabilities, names = random_answers(3)
    wrong = analyse(texts, labels, probabilities, names)["wrong"]
    assert len(wrong) == 20
    assert [w["probability"] for w in wrong] == sorted((w["probability"] for w in wrong), reverse=True)
    by_hand = max((p.max(), t) for t, y, p in zip(texts, labels, probabilities, strict=True) if p.argmax() != y)
    assert (wrong[0]["probability"], wrong[0]["text"]) == by_hand
    assert all(w["label"] != w["predicted"] for w in wrong)


def test_labels_that_never_occur_have_no_scores():
    analysis = analyse(["a"], np.array([0]), np.array([[0.9, 0.1, 0.0]]), ["x", "y", "z"])
    assert analysis["classes"][2] == {"label": "z", "precision": None, "recall": None, "f1": None, "texts": 0}
    assert analysis["wrong"] == []


def test_the_report_shows_text_as_text_and_many_labels_as_their_confusions(tmp_path):
    evaluation = analyse(["<b>|``x``\n# y", "caf\ud800"], np.array([0, 0]), np.array([[0.1, 0.9]] * 2), ["a", "b"])
    text = markdown({"split": "test", **evaluation}, "model")
    assert "| 0.900 | b | a | ```<b>\\|``x`` # y``` |" in text
    assert "| caf? |" in text
    assert "| a | 0 | 2 |" in text
    many = markdown({"split": "dev", **analyse(*random_answers(30))}, "model")
    assert "| texts | right | predicted |" in many
    write_evaluation(tasks.find("classification"), {"split": "dev", **analyse(*random_answers(30))}, tmp_path, "model")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
