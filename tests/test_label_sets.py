"""The loss, scores, thresholds and temperature of models whose texts may have several labels, by other means."""

import keras
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import convex_head, label_sets
from dense_lstm_zoo.classification.calibration import fit_temperature, log_likelihoods, sigmoid
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.options import class_weights
from dense_lstm_zoo.comparing.outcomes import of_label_sets
from dense_lstm_zoo.models.label_sets import ExactMatch, LabelSetCrossentropy
from dense_lstm_zoo_runtime.decisions import Decisions
from tests.model_harness import tiny
from tests.several_labels_harness import LABELS, corpus, split
from tests.slow_cases import slow_but

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(scale=2, size=(60, 4)).astype(np.float32)
TARGETS = (LOGITS + RNG.normal(scale=2, size=LOGITS.shape) > 0.5).astype(np.int8)
TARGETS[3] = 0  # a text without any label


def test_the_loss_is_the_sum_of_binary_cross_entropies():
    ours = float(LabelSetCrossentropy()(TARGETS, LOGITS))
    theirs = float(keras.losses.BinaryCrossentropy(from_logits=True)(TARGETS.astype(np.float32), LOGITS))
    assert ours == pytest.approx(4 * theirs, rel=1e-5)
    assert ours == pytest.approx(-log_likelihoods(LOGITS, TARGETS).mean(), rel=1e-5)
    large = np.array([[500.0, -500.0]], np.float32)
    assert float(LabelSetCrossentropy()([[1, 0]], large)) == 0
    assert float(LabelSetCrossentropy()([[0, 1]], large)) == pytest.approx(1000)


def test_weights_may_be_of_texts_or_of_each_decision():
    each = RNG.uniform(size=LOGITS.shape).astype(np.float32)
    by_hand = np.logaddexp(0, LOGITS) - TARGETS * LOGITS
    assert float(LabelSetCrossentropy()(TARGETS, LOGITS, each)) == pytest.approx((by_hand * each).sum() / 60, rel=1e-5)
    of_texts = float(LabelSetCrossentropy()(TARGETS, LOGITS, each[:, 0]))
    assert of_texts == pytest.approx((by_hand.sum(axis=1) * each[:, 0]).sum() / 60, rel=1e-5)


def test_the_accuracy_is_that_of_scikit_learn():
    metric = ExactMatch()
    metric.update_state(TARGETS, LOGITS)
    assert metric.name == "accuracy"
    assert float(metric.result()) == pytest.approx(metrics.accuracy_score(TARGETS, LOGITS >= 0))
    assert ExactMatch.from_config(metric.get_config()).name == "accuracy"


@pytest.mark.parametrize("name", slow_but(["bilstm"], ["bilstm", "cnn_mc", "dsa_dc_bilstm"]))
def test_a_model_gives_logits_and_learns_each_label_by_itself(name, tmp_path):
    model = tiny(name, labels="several", learning_rate=0.05, l2=0.0, kernel="native")
    assert isinstance(model.loss, LabelSetCrossentropy)
    ids = np.tile(np.arange(2, 10, dtype=np.int32)[:, None], (1, 3))
    targets = np.array([[i % 2, i > 4, 0] for i in range(8)])
    again = [np.concatenate([rows] * 60) for rows in (ids, targets)]  # 60 epochs take longer than one of 60 batches
    model.fit(*again, batch_size=8, shuffle=False, verbose=0)
    logits = np.asarray(model(ids))
    assert ((logits > 0) == targets).mean() > 0.9
    assert logits.min() < 0 < logits.max()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(ids), logits, rtol=1e-5)
    assert isinstance(again.loss, LabelSetCrossentropy)
    with pytest.raises(ValueError, match=r"Unknown value of labels: 'two'. .*Accepted: one, several"):
        zoo.build(name, vocab_size=9, num_classes=2, labels="two")


@pytest.mark.parametrize(
    "name", slow_but({"bilstm", "cnn_mc", "lm_classifier"}, zoo.list_models(task="classification"))
)
def test_every_classifier_has_the_same_weights_for_one_label_and_for_several(name):
    several, one = tiny(name, labels="several"), tiny(name)
    assert isinstance(several.loss, LabelSetCrossentropy)
    assert [weight.shape for weight in several.weights] == [weight.shape for weight in one.weights]
    assert several.get_layer("logits").activation is keras.activations.linear


def test_scores_are_those_of_scikit_learn():
    decisions = Decisions(list("abcd"), True, {"a": 0.3, "b": 0.7})
    shares = sigmoid(LOGITS)
    chosen = decisions.decide(shares)
    assert chosen.tolist() == (shares >= [0.3, 0.7, 0.5, 0.5]).tolist()
    scores = label_sets.scores(TARGETS, chosen, LOGITS, None)
    expected = {
        "accuracy": metrics.accuracy_score(TARGETS, chosen),
        "micro_f1": metrics.f1_score(TARGETS, chosen, average="micro"),
        "macro_f1": metrics.f1_score(TARGETS, chosen, average="macro"),
        "hamming_loss": metrics.hamming_loss(TARGETS, chosen),
        "ranking_average_precision": metrics.label_ranking_average_precision_score(TARGETS, shares),
        "coverage_error": metrics.coverage_error(TARGETS, shares),
        "ranking_loss": metrics.label_ranking_loss(TARGETS, shares),
        "loss": sum(metrics.log_loss(TARGETS[:, i], shares[:, i].astype(float)) for i in range(4)),
        "texts": 60,
    }
    assert scores == pytest.approx(expected, rel=1e-5)
    analysis = label_sets.analyse([f"text {i}" for i in range(60)], TARGETS, chosen, shares, decisions.labels)
    report = metrics.classification_report(TARGETS, chosen, output_dict=True, zero_division=np.nan)
    for i, row in enumerate(analysis["classes"]):
        assert row["f1"] == pytest.approx(report[str(i)]["f1-score"])
        assert row["precision"] == pytest.approx(report[str(i)]["precision"])
        assert row["texts"] == report[str(i)]["support"]
    assert sum(row["texts"] for row in analysis["calibration"]) == 240
    first = analysis["wrong"][0]
    i = int(first["text"].split()[1])
    assert first["probability"] == pytest.approx(max(np.abs(shares[i] - TARGETS[i] + 0.0)[chosen[i] != TARGETS[i]]))


def test_texts_without_any_label_or_choice_are_right():
    none = np.zeros((3, 2), np.int8)
    scores = label_sets.scores(none, none > 0, np.full((3, 2), -1.0), None)
    assert (scores["accuracy"], scores["micro_f1"], scores["macro_f1"]) == (1.0, 1.0, 1.0)
    assert all(np.isfinite(value) for value in scores.values())
    assert label_sets.best_thresholds(np.full((3, 2), 0.4), none).tolist() == [0.5, 0.5]


def test_thresholds_have_the_best_f1_of_all():
    shares = sigmoid(LOGITS)
    thresholds = label_sets.best_thresholds(shares, TARGETS)
    for i in range(4):
        assert TARGETS[:, i].sum() >= 5
        own = metrics.f1_score(TARGETS[:, i], shares[:, i] >= thresholds[i])
        assert (
            own >= max(metrics.f1_score(TARGETS[:, i], shares[:, i] >= t) for t in np.linspace(0.01, 0.99, 99)) - 1e-9
        )
    two = np.stack([1 - shares[:, 0], shares[:, 0]], axis=1)
    assert label_sets.best_of_two(two, TARGETS[:, 0].astype(int)) == pytest.approx(thresholds[0])


def test_probabilities_that_are_all_tiny_have_a_threshold_between_them():
    shares = np.array([[3e-7]] * 5 + [[1e-8]] * 100)
    right = np.array([[1]] * 5 + [[0]] * 100)
    (threshold,) = label_sets.best_thresholds(shares, right)
    assert 1e-8 < threshold < 3e-7
    (same,) = label_sets.moved({"a": threshold}, 2.0, 2.0).values()
    assert same == pytest.approx(threshold)


def test_a_rare_label_takes_the_threshold_of_all_together():
    targets = TARGETS.copy()
    targets[:, 2] = 0
    targets[:4, 2] = 1  # four texts
    shares = sigmoid(LOGITS)
    common = label_sets.best_thresholds(shares, targets)[2]
    grid = np.linspace(0.01, 0.99, 99)
    best = max(metrics.f1_score(targets, shares >= t, average="micro") for t in grid)
    assert metrics.f1_score(targets, shares >= common, average="micro") >= best - 1e-9


def test_the_temperature_is_the_best_for_all_decisions():
    best = minimize_scalar(lambda t: -log_likelihoods(LOGITS, TARGETS, t).mean(), bounds=(0.05, 20), method="bounded")
    assert fit_temperature(LOGITS, TARGETS) == pytest.approx(best.x, rel=1e-3)
    assert fit_temperature(np.array([[3.0, -2.0]]), np.array([[1, 0]])) == 1.0  # all right: says nothing
    thresholds = {"a": 0.3, "b": 0.9}
    moved = label_sets.moved(thresholds, None, 2.0)
    before = Decisions(list("abcd"), True, thresholds).decide(sigmoid(LOGITS.astype(float)))
    after = Decisions(list("abcd"), True, moved).decide(sigmoid(LOGITS.astype(float), 2.0))
    np.testing.assert_array_equal(before, after)


def test_the_convex_head_is_a_logistic_regression_for_each_label():
    features = RNG.normal(size=(80, 5)).astype(np.float32)
    targets = np.stack([features[:, 0] + 0.3 * RNG.normal(size=80) > 0, features[:, 1] > 0.5, np.zeros(80)], axis=1)
    targets = targets.astype(np.int8)
    head = convex_head.fit(features, targets, 3, (features[:20], targets[:20]))
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    for i in range(2):
        theirs = LogisticRegression(C=head.strength, tol=1e-6).fit(scaled, targets[:, i])
        np.testing.assert_allclose(head.kernel[:, i], theirs.coef_[0], rtol=0.02, atol=0.02)
    assert head.bias[2] < -5  # a label that no text has
    logits = head.logits(features)
    assert ((logits > 0) == targets).mean() > 0.9
    held_out = convex_head.fit(features, targets, 3)
    assert held_out.dev_logits.shape == held_out.dev_labels.shape == (80, 3)
    weighted = convex_head.fit(features, targets, 3, class_weight={0: 9.0, 1: 1.0, 2: 1.0})
    assert (weighted.logits(features)[:, 0] > 0).sum() > (held_out.logits(features)[:, 0] > 0).sum()


def test_class_weights_are_those_of_a_labels_texts():
    data = corpus()
    counts = data.train.targets(3).sum(axis=0)
    balanced = class_weights("balanced", data)
    assert balanced == pytest.approx({i: (200 - counts[i]) / counts[i] for i in range(3)})
    targets = data.train.targets(3)
    weights = label_sets.weights_of_decisions(class_weights({"food": 3}, data), targets)
    assert weights.shape == (200, 3)
    np.testing.assert_array_equal(weights, np.where(targets * [1, 0, 0] > 0, 3, 1))
    assert label_sets.weights_of_decisions(None, targets) is None
    unseen = Corpus("mine", (*LABELS, "other"), split(20, 1), None, None)
    assert class_weights("balanced", unseen)[3] == 1.0


def test_outcomes_of_two_models_are_those_of_scikit_learn():
    right, first, second = TARGETS > 0, LOGITS >= 0, LOGITS >= 1
    outcomes = of_label_sets([str(i) for i in range(60)], right, first, second, list("abcd"))
    for number, chosen in enumerate((first, second)):
        own = outcomes.of_model(number)
        assert own["micro_f1"] == pytest.approx(metrics.f1_score(right, chosen, average="micro"))
        assert own["macro_f1"] == pytest.approx(metrics.f1_score(right, chosen, average="macro"))
        assert own["accuracy"] == pytest.approx(metrics.accuracy_score(right, chosen))
    assert outcomes.right[3] == ""


@pytest.mark.parametrize("value", [2, 1, 0, -0.1, float("nan"), "0.5", True, None, [0.5]])
def test_a_threshold_is_a_number_between_0_and_1(value):
    if value is None:
        decisions = Decisions(["a", "b"], True, {"a": 0.2})
        assert decisions.with_threshold(None) is decisions
        return
    for decisions in (Decisions(["a", "b"], True), Decisions(["a", "b"])):
        with pytest.raises(ValueError, match=r"must be a number above 0 and below 1; received"):
            decisions.with_threshold(value)
        with pytest.raises(ValueError, match=r"threshold\['a'\] must be a number above 0 and below 1"):
            decisions.with_threshold({"a": value})


def test_thresholds_are_for_labels_that_a_model_has():
    with pytest.raises(ValueError, match=r"Unknown label in threshold: 'spa'. Did you mean 'spam'"):
        Decisions(["ham", "spam"]).with_threshold({"spa": 0.3})
    with pytest.raises(ValueError, match="one has a threshold, below which a text has the other; received 2"):
        Decisions(["ham", "spam"]).with_threshold({"ham": 0.3, "spam": 0.3})
    with pytest.raises(ValueError, match="this one gives a text one of 3 labels, the likeliest"):
        Decisions(["a", "b", "c"]).with_threshold(0.3)


def test_of_two_labels_one_has_the_threshold():
    shares = np.array([[0.6, 0.4], [0.9, 0.1]])
    logits = np.log(shares)
    assert Decisions(["ham", "spam"]).best(logits, shares).tolist() == [0, 0]
    assert Decisions(["ham", "spam"]).with_threshold(0.3).best(logits, shares).tolist() == [1, 0]
    assert Decisions(["ham", "spam"]).with_threshold({"ham": 0.95}).best(logits, shares).tolist() == [1, 1]
    decided = Decisions(["ham", "spam"], thresholds={"spam": 0.3}).predictions(["x", "y"], logits, shares, [1, 1])
    assert [(each.label, each.probability, each.labels) for each in decided] == [
        ("spam", 0.4, None),
        ("ham", 0.9, None),
    ]


def test_several_labels_come_likeliest_first_and_may_be_none():
    decisions = Decisions(["a", "b", "c"], True, {"a": 0.2, "b": 0.5, "c": 0.5})
    shares = np.array([[0.3, 0.8, 0.1], [0.1, 0.4, 0.2]])
    first, second = decisions.predictions(["x", "y"], shares, shares, [1, 1])
    assert (first.labels, first.label, first.probability) == (["b", "a"], "b", 0.8)
    assert (second.labels, second.label) == ([], "")
    assert second.probability == pytest.approx(0.9 * 0.6 * 0.8)
    assert decisions.with_threshold({"b": 0.3}).decide(shares).tolist() == [[True, True, False], [False, True, False]]
