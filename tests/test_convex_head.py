"""A last layer that is fitted as a logistic regression, and the words that it may read past the encoder."""

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from dense_lstm_zoo.classification import convex_head
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.job import ClassificationJob
from dense_lstm_zoo.classification.options import SCORES
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.training.loop import Paused
from dense_lstm_zoo.training.prepare import prepare
from dense_lstm_zoo.training.request import check
from tests import model_harness as harness

WORDS = {"sport": ["goal", "team", "match", "player", "win"], "food": ["soup", "bread", "salt", "cook", "oven"]}


def texts_of(number, seed=1, labels=("sport", "food")):
    """A corpus that single words tell apart."""
    generator = np.random.default_rng(seed)

    def split(number):
        names = [labels[i % len(labels)] for i in range(number)]
        texts = [" ".join(["the", *generator.choice(WORDS[name], 3), "of", "a", "day"]) for name in names]
        return Split(texts, [labels.index(name) for name in names])

    return Corpus("topics", tuple(labels), split(number), split(20), split(20))


def random_features(classes, number=400, width=6, seed=0):
    """Features of different sizes, one of them constant, and labels that depend on them."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(number, width)) * [1, 100, 0.01, 1, 5, 1] + [0, 3, 0, 9, 0, 0]
    features[:, 3] = 7.0
    scores = (features - [0, 3, 0, 7, 0, 0]) / [1, 100, 0.01, 1, 5, 1] @ generator.normal(size=(width, classes))
    labels = (scores + generator.gumbel(size=scores.shape)).argmax(axis=1)
    return features.astype(np.float32), labels


def loss_gradient(head, features, labels, weights):
    """The gradient of C * sum of weighted cross-entropies + |W|^2 / 2, over features of variance 1, by its largest."""
    scale = features.std(axis=0)
    scale[scale < 1e-6] = np.inf
    scaled = (features - features.mean(axis=0)) / scale
    logits = head.logits(features)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    error = (shares - np.eye(logits.shape[1])[labels]) * weights[labels][:, None]
    # Two labels have one logit, the difference, whose penalty is twice that of its halves.
    penalty = 2 * head.kernel if logits.shape[1] == 2 else head.kernel
    return np.abs(head.strength * scaled.T @ error + penalty).max() / np.abs(head.strength * scaled.T @ error).max()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", [None, {0: 1.0, 1: 4.0, 2: 0.5}])
def test_the_head_is_the_minimum_of_the_penalised_loss_of_standardised_features(classes, weights, monkeypatch):
    monkeypatch.setattr(convex_head, "_TOLERANCE", 1e-7)
    features, labels = random_features(classes)
    head = convex_head.fit(features[:300], labels[:300], classes, (features[300:], labels[300:]), weights)
    each = np.array([1.0 if weights is None else weights[i] for i in range(classes)])
    assert loss_gradient(head, features[:300], labels[:300], each) < 1e-3
    assert not head.kernel[3].any()  # the constant feature


def test_the_minimum_is_the_same_where_features_are_more_than_texts(monkeypatch):
    monkeypatch.setattr(convex_head, "_TOLERANCE", 1e-7)
    features = np.random.default_rng(0).normal(size=(40, 90)).astype(np.float32)
    labels = np.arange(40) % 3
    head = convex_head.fit(features, labels, 3, (features, labels))
    assert loss_gradient(head, features, labels, np.ones(3)) < 1e-3


def test_the_strength_is_that_with_the_lowest_loss_on_dev():
    features, labels = random_features(3)
    head = convex_head.fit(features[:300], labels[:300], 3, (features[300:], labels[300:]))
    assert head.dev_accuracy == (head.logits(features[300:]).argmax(axis=1) == labels[300:]).mean()
    strengths = convex_head._STRENGTHS
    likelihoods = {}
    for strength in strengths:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convex_head, "_STRENGTHS", (strength,))
            alone = convex_head.fit(features[:300], labels[:300], 3, (features[300:], labels[300:]))
            likelihoods[strength] = alone.dev_likelihood
    assert head.strength == max(likelihoods, key=likelihoods.get)
    assert strengths[0] < head.strength < strengths[-1]


@pytest.mark.parametrize("present", [[1], [0, 2]])
def test_a_label_without_a_text_is_never_predicted(present):
    features, labels = random_features(3)
    chosen = np.isin(labels, present)
    head = convex_head.fit(features[chosen], labels[chosen], 3, (features, labels))
    assert set(head.logits(features).argmax(axis=1)) == set(present)
    assert np.isfinite(head.kernel).all()


def test_the_softmax_reads_means_and_largest_values_of_the_words_beside_the_states():
    model = harness.tiny("bilstm", pooled_words=True)
    embedding, logits = model.get_layer("embedding"), model.get_layer("logits")
    ids = np.array([[5, 3, 7, 0], [4, 0, 0, 0], [0, 0, 0, 0]], np.int32)
    states = harness.tiny("bilstm")
    states.get_layer("embedding").set_weights(embedding.get_weights())
    states.get_layer("bilstm_1").set_weights(model.get_layer("bilstm_1").get_weights())
    pooled = keras.Model(states.input, states.get_layer("pooling").output)(ids).numpy()
    matrix = embedding.get_matrix()
    rows = [matrix[row[row != 0]] for row in ids]
    means = np.stack([row.mean(axis=0) if len(row) else np.zeros(7) for row in rows])
    largest = np.stack([row.max(axis=0) if len(row) else np.zeros(7) for row in rows])
    kernel, bias = logits.get_weights()
    statistics = np.arange(22) / 9, np.linspace(0.5, 2, 22)
    model.get_layer("standardization").set_statistics(*statistics)
    expected = (np.concatenate([pooled, means, largest], axis=1) - statistics[0]) * statistics[1] @ kernel + bias
    np.testing.assert_allclose(model(ids).numpy(), expected, atol=1e-5)


def test_standardised_features_have_mean_0_and_variance_1_whatever_is_trained(tmp_path):
    layer = layers.Standardization()
    inputs = np.random.default_rng(0).normal(3, 5, (50, 4)).astype(np.float32)
    np.testing.assert_array_equal(layer(inputs), inputs)
    layer.set_statistics(inputs.mean(axis=0), 1 / inputs.std(axis=0))
    outputs = np.asarray(layer(inputs))
    np.testing.assert_allclose(outputs, (inputs - inputs.mean(axis=0)) / inputs.std(axis=0), atol=1e-5)
    assert not layer.trainable_variables
    model = keras.Sequential([keras.Input((4,)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(inputs, inputs[:, 0], epochs=1, verbose=0)
    np.testing.assert_array_equal(layer(inputs), outputs)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.layers[0](inputs), outputs)
    low = layers.Standardization(dtype="mixed_float16")
    low.build((None, 1))
    low.set_statistics(np.array([2000.0]), np.array([4.0]))
    assert np.asarray(low(np.array([[2000.0], [2002.0]], np.float16))).tolist() == [[0.0], [8.0]]
    low.set_statistics(np.array([2000.5]), np.array([4.0]))  # which float16 would round
    assert np.asarray(low(np.array([[2000.0]], np.float16))).tolist() == [[-2.0]]
    np.testing.assert_array_equal(layer(np.array([[1, 2, 3, 4]])), layer(np.array([[1.0, 2.0, 3.0, 4.0]])))
    with pytest.raises(ValueError, match="number of features"):
        layers.Standardization().build((None, None))


def train(folder, **options):
    options = {
        "units": 3,
        "embedding_dim": 8,
        "vectors": "none",
        "recipe": "none",
        "kernel": "native",
        "l2": 0.0,
        **options,
    }
    return zoo.train("bilstm", texts_of(80), folder, head="convex", progress=False, **options)


@pytest.mark.slow
def test_the_first_epoch_fits_the_last_layer_alone_and_later_ones_train_the_rest(tmp_path):
    request = check("bilstm", tmp_path / "none", {"units": 3, "embedding_dim": 8, "vectors": "none"}, recipe="none")
    start = prepare(request, texts_of(80), progress=False).model.get_weights()
    bundle = train(tmp_path / "run", epochs=1, pooled_words=False)
    *encoder, kernel, _ = bundle.model.get_weights()
    for before, after in zip(start, encoder, strict=False):
        np.testing.assert_array_equal(before, after)
    assert not np.allclose(kernel, start[-2])
    row = bundle.history.iloc[0]
    split = bundle.evaluate(texts_of(80).train)
    assert row.accuracy == pytest.approx(split["accuracy"])
    assert row.loss == pytest.approx(split["loss"], rel=1e-4)
    assert row.val_accuracy == pytest.approx(bundle.metrics["dev_accuracy"])
    assert row.val_accuracy > 0.8
    assert bundle.config["training"]["head"] == "convex"

    longer = train(tmp_path / "longer", epochs=2, pooled_words=False, monitor="calibrated_loss", calibrate=True)
    assert longer.history.val_accuracy[0] == row.val_accuracy
    losses = longer.history.val_calibrated_loss
    assert longer.metrics["best_epoch"] == losses.argmin() + 1
    assert longer.metrics["dev_loss"] == pytest.approx(losses.min(), rel=1e-3)


@pytest.mark.slow
def test_a_run_that_was_paused_after_its_head_goes_on_as_if_it_had_not_been(tmp_path):
    with pytest.raises(Paused):
        train(tmp_path / "paused", epochs=3, pause_after=1)
    ours, theirs = train(tmp_path / "paused", epochs=3), train(tmp_path / "whole", epochs=3)
    for one, other in zip(ours.model.get_weights(), theirs.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    seconds = ["seconds"]
    assert ours.history.drop(columns=seconds).equals(theirs.history.drop(columns=seconds))


def test_of_texts_that_take_too_long_to_read_a_part_is_enough(tmp_path, monkeypatch):
    monkeypatch.setattr("dense_lstm_zoo.classification.job._CHUNK", 30)
    numbers = []
    fit = convex_head.fit
    monkeypatch.setattr(
        convex_head, "fit", lambda features, *rest: numbers.append(len(features)) or fit(features, *rest)
    )
    options = {"units": 3, "embedding_dim": 8, "vectors": "none", "head": "convex"}
    run = prepare(check("bilstm", tmp_path / "run", options, recipe="none"), texts_of(80), progress=False)
    assert isinstance(run.job, ClassificationJob)
    run.job.fit_head(run.model, run.config, seconds=1e-9)
    run.job.fit_head(run.model, run.config)
    assert numbers == [30, 80]


def test_without_dev_texts_the_strength_comes_from_five_folds_and_the_head_from_all_texts():
    features, labels = random_features(3, number=120)
    head = convex_head.fit(features, labels, 3)
    scores = {}
    for strength in convex_head._STRENGTHS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convex_head, "_STRENGTHS", (strength,))
            scores[strength] = convex_head.fit(features, labels, 3)
    best = max(scores, key=lambda strength: scores[strength].dev_likelihood)
    assert head.strength == best
    np.testing.assert_allclose(head.kernel, scores[best].kernel, atol=1e-6)
    accuracy, likelihood = convex_head.accuracy_and_likelihood(head.logits(features), labels)
    assert likelihood > head.dev_likelihood
    assert accuracy >= head.dev_accuracy > 0.4


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 1], [1, 1, 1, 1]])
def test_a_few_texts_are_enough_for_a_head(labels):
    features = np.random.default_rng(0).normal(size=(len(labels), 4)).astype(np.float32)
    head = convex_head.fit(features, np.array(labels), 2)
    assert np.isfinite(head.logits(features)).all()


# Words that could be trained, as random ones that cannot are warned of.
FEW = {
    "recipe": "few_labels",
    "trainable_embeddings": True,
    "units": 3,
    "embedding_dim": 8,
    "kernel": "native",
    "progress": False,
}


def test_few_labels_need_no_dev_set_and_are_scored_by_cross_validation(tmp_path):
    corpus = texts_of(10)
    corpus = Corpus("few", corpus.label_names, corpus.train, None, corpus.test)
    bundle = zoo.train("bilstm", corpus, tmp_path / "run", **FEW)
    metrics = bundle.metrics
    assert metrics["train_texts"] == metrics["cross_validation_texts"] == 10
    assert metrics["cross_validation_accuracy"] == bundle.history.val_accuracy[0]
    assert "dev_accuracy" not in metrics
    assert "small_dev" not in metrics
    assert metrics["test_accuracy"] > metrics["test_baseline_accuracy"] - 0.5
    assert f"cross-validation  {metrics['cross_validation_accuracy']:.4f} (10 training texts)" in bundle.summary()


SEVERAL = Split([f"{text} {i}" for i, text in enumerate(texts_of(40).train.texts)], [[0], [1], [], [0, 1]] * 10)


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (SEVERAL, {}),  # whose epoch is chosen by the calibrated loss
        (texts_of(40).train, {"monitor": "macro_f1", "thresholds": "tuned"}),
    ],
)
def test_few_labels_go_on_after_a_kill_with_the_scores_of_their_cross_validation(part, options, tmp_path, monkeypatch):
    corpus = Corpus("few", ("sport", "food"), part, None, None)
    options = {**FEW, "vectors": "none", "l2": 0.01, "baseline": False, **options}
    score = ClassificationJob.score
    whole = {}

    def kill(job, bundle, **rest):
        whole.update(held_out=job.held_out, metrics=score(job, bundle, **rest), thresholds=bundle.config["thresholds"])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ClassificationJob, "score", kill)
        with pytest.raises(KeyboardInterrupt):
            zoo.train("bilstm", corpus, tmp_path / "run", **options)
    bundle = zoo.train("bilstm", corpus, tmp_path / "run", **options)
    assert bundle.metrics["cross_validation_texts"] == 40
    assert whole["metrics"].items() <= bundle.metrics.items()
    assert bundle.config["thresholds"] == whole["thresholds"]
    monitor = options.get("monitor", "calibrated_loss")
    expected = SCORES[monitor](*whole["held_out"])  # without the penalty on weights
    assert bundle.history[f"val_{monitor}"].tolist() == pytest.approx([expected])


def test_one_text_alone_is_no_cross_validation(tmp_path):
    corpus = Corpus("one", ("sport", "food"), SEVERAL.select([3]), None, None)
    with pytest.raises(ValueError, match=r"needs at least two training texts; received 1\. Give more, or dev texts"):
        zoo.train("bilstm", corpus, tmp_path / "run", vectors="none", **FEW)
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_few_labels_without_any_other_texts_make_a_bundle_and_seeds_of_it_a_table(tmp_path):
    corpus = texts_of(10)
    corpus = Corpus("few", corpus.label_names, corpus.train, None, None)
    result = zoo.run_protocol("bilstm", corpus, tmp_path / "runs", seeds=2, **FEW)
    assert result.measure == "cross_validation_accuracy"
    assert "cross-validation accuracy" in str(result)


def test_a_head_alone_cannot_be_calibrated_without_dev_texts(tmp_path):
    corpus = texts_of(10)
    corpus = Corpus("few", corpus.label_names, corpus.train, None, corpus.test)
    with pytest.raises(ValueError, match="calibrate=True needs dev texts"):
        zoo.train("bilstm", corpus, tmp_path / "run", calibrate=True, **FEW)


@pytest.mark.slow
def test_more_epochs_of_the_recipe_hold_dev_texts_out_again(tmp_path):
    corpus = texts_of(40)
    corpus = Corpus("few", corpus.label_names, corpus.train, None, corpus.test)
    bundle = zoo.train("bilstm", corpus, tmp_path / "run", epochs=2, **FEW)
    assert bundle.metrics["train_texts"] == 36
    assert len(bundle.history) == 2
