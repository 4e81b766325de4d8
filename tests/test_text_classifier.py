"""A Keras model over raw texts: Keras' promises hold for strings, and its batches are those of ``train``."""

import copy
import json
import random
import re

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.fit_inputs import labels_of
from dense_lstm_zoo.interfaces.shaped_steps import by_shape, over_batches
from tests.keras_task_harness import refused

WORDS = ("fine", "dull", "film", "plot", "cast", "a", "the", "is")
TEXTS = [" ".join(WORDS[(i * j) % 8] for j in range(1, 2 + i % 9)) for i in range(90)]
LABELS = [("neg", "pos", "so-so")[i * i % 3] for i in range(90)]
NAMES = ["neg", "pos", "so-so"]
PLACES = [NAMES.index(label) for label in LABELS]
WEIGHTS = [0.5 + i % 4 for i in range(90)]
TINY = {"units": 3, "embedding_dim": 4, "kernel": "native", "dropout": 0.0, "embedding_dropout": 0.0}


def new_model(**options):
    """A classifier of ``TEXTS``, with the same weights in each test."""
    keras.utils.set_random_seed(7)
    return zoo.TextClassifier("lstm", texts=TEXTS, **{"label_names": NAMES, **TINY, **options})


@pytest.fixture(scope="module")
def trained():
    """A trained model. No test changes it."""
    model = new_model(learning_rate=0.05)
    model.fit(TEXTS, LABELS, epochs=2, verbose=0)
    return model


def in_batches(*columns, size=20):
    return tf.data.Dataset.from_tensor_slices(columns if len(columns) > 1 else columns[0]).batch(size)


class Batches(keras.callbacks.Callback):
    number = 0

    def on_predict_batch_end(self, batch, logs=None):
        self.number += 1


class Steps(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.steps = self.params["steps"]


@pytest.mark.parametrize("names", [[1, 0], [True, False], [1, 2, 3], [1.0, 2.0], [None, "a"]])
def test_names_that_are_no_strings_are_refused_as_labels_may_be_their_places(names):
    with pytest.raises(ValueError, match="label_names must be strings; item 0, counted from 0, is"):
        new_model(label_names=names)
    assert new_model(label_names=[0, np.int64(1)]).label_names == ("0", "1")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_is_named_by_its_place(missing):
    with pytest.raises(TypeError, match=r"all strings or all integers; item 1, counted from 0, is (None|nan)"):
        new_model().fit(TEXTS[:3], ["neg", missing, "pos"])


def test_labels_in_tensors_and_arrays_of_bytes_are_names(trained):
    for labels in (
        tf.constant(LABELS),
        tf.constant(LABELS)[:, None],
        np.array(LABELS, "S"),
        [x.encode() for x in LABELS],
    ):
        np.testing.assert_array_equal(trained._read(TEXTS, labels).labels, PLACES)
    with pytest.raises(ValueError, match=r"Unknown label 'nag'\. Did you mean 'neg'"):
        trained._read(TEXTS[:1], tf.constant(["nag"]))
    assert labels_of(["d\u00e9j\u00e0".encode(), b"new"], 2, None)[1] == ("d\u00e9j\u00e0", "new")


@pytest.mark.parametrize(
    "weights", [pytest.param(None, marks=pytest.mark.slow, id="alike"), pytest.param(WEIGHTS, id="weighted")]
)
def test_fit_on_strings_takes_the_batches_of_train_and_learns_what_they_teach(weights):
    model, same, steps = new_model(), new_model(), [Steps(), Steps()]
    keras.utils.set_random_seed(5)
    seed = random.randrange(1 << 31)
    keras.utils.set_random_seed(5)
    options = {"epochs": 2, "verbose": 0}
    history = model.fit(TEXTS, LABELS, sample_weight=weights, callbacks=[steps[0]], **options).history
    dataset = zoo.text_dataset(TEXTS, LABELS, label_names=NAMES, batch_size=16, seed=seed, sample_weight=weights)
    same.preprocessor = None
    expected = same.fit(dataset, callbacks=[steps[1]], **options).history
    assert history == expected
    for ours, theirs in zip(model.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert steps[0].steps == steps[1].steps == 6  # of 16 texts, as train takes of few


def test_an_epoch_has_little_padding(trained):
    """The count of padded tokens is that of batches by length, not of texts in their order."""
    data = trained._read(TEXTS, LABELS)
    lengths = np.array([len(row) for row in data.rows])
    sizes = [ids.shape for ids, _ in data.training(None, 3, 0, True).as_numpy_iterator()]
    padded = sum(rows * time for rows, time in sizes)
    in_order = sum(padded_in_order(lengths[i : i + 16]) for i in range(0, 90, 16))
    assert lengths.sum() < padded < 0.8 * in_order
    assert all(time in (4, 6, 8, 12) for _, time in sizes)


def padded_in_order(lengths):
    return len(lengths) * max(lengths)


@pytest.mark.slow
def test_the_last_texts_are_held_out_and_scored_as_evaluate_does():
    model = new_model()
    options = {"epochs": 1, "verbose": 0, "shuffle": False}
    history = model.fit(TEXTS, LABELS, sample_weight=WEIGHTS, validation_split=0.2, **options).history
    scores = model.evaluate(TEXTS[72:], LABELS[72:], sample_weight=WEIGHTS[72:], verbose=0, return_dict=True)
    assert scores == pytest.approx({"loss": history["val_loss"][0], "accuracy": history["val_accuracy"][0]})
    same = new_model()
    validation = TEXTS[72:], LABELS[72:], WEIGHTS[72:]
    again = same.fit(TEXTS[:72], LABELS[:72], sample_weight=WEIGHTS[:72], validation_data=validation, **options).history
    assert {name: values[0] for name, values in again.items()} == pytest.approx(
        {name: values[0] for name, values in history.items()}
    )


@pytest.mark.slow
def test_names_and_integers_are_the_same_labels_and_weights_of_classes():
    histories = []
    for labels, weights in ((LABELS, {"pos": 3.0}), (np.array(PLACES), {1: 3.0}), (pd.Series(LABELS), {"pos": 3.0})):
        model = new_model()
        keras.utils.set_random_seed(2)
        weights = {"neg": 1.0, "so-so": 1.0, **weights} if "pos" in weights else {0: 1.0, 2: 1.0, **weights}
        histories.append(model.fit(TEXTS, labels, class_weight=weights, verbose=0).history)
    assert histories[0] == histories[1] == histories[2]
    plain = new_model()
    keras.utils.set_random_seed(2)
    assert plain.fit(TEXTS, LABELS, verbose=0).history != histories[0]


def test_all_forms_of_texts_have_the_same_probabilities_in_their_order(trained):
    expected = trained.to_bundle().probabilities(TEXTS)
    assert len(np.unique(expected.round(4), axis=0)) > 20  # so that the order shows
    frame = pd.DataFrame({"review": TEXTS})
    forms = [TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object), frame["review"], frame, tf.constant(TEXTS)]
    forms += [in_batches(TEXTS), in_batches(TEXTS, LABELS), frame["review"].astype("category")]
    column = np.array(TEXTS)[:, None]
    for texts in (*forms, column):
        np.testing.assert_allclose(trained.predict(texts, verbose=0), expected, atol=1e-6)
    np.testing.assert_allclose(trained.predict_on_batch(column[:5]), expected[:5], atol=1e-6)
    np.testing.assert_array_equal(trained(frame[:5].to_numpy(str)), trained(TEXTS[:5]))
    with pytest.raises(TypeError, match=r"texts must be a list of strings; received a ndarray of shape \(2, 2\)"):
        trained.predict(np.array(TEXTS[:4]).reshape(2, 2), verbose=0)


def test_the_batches_of_a_prediction_change_nothing_and_odd_texts_have_probabilities(trained):
    expected = trained.to_bundle().probabilities(TEXTS)
    np.testing.assert_allclose(trained.predict(TEXTS, batch_size=7, verbose=0), expected, atol=1e-6)
    batches = Batches()
    np.testing.assert_allclose(trained.predict(TEXTS, callbacks=[batches], verbose=0), expected, atol=1e-6)
    assert batches.number > 0
    np.testing.assert_allclose(trained.predict_on_batch(TEXTS[:5]), expected[:5], atol=1e-6)
    np.testing.assert_allclose(keras.ops.softmax(trained(TEXTS[:5])), expected[:5], atol=1e-6)
    assert trained.predict([], verbose=0).shape == (0, 3)
    for options, number in (({"batch_size": 3, "steps": 2}, 6), ({"steps": 1}, len(TEXTS)), ({"batch_size": 9}, 90)):
        np.testing.assert_allclose(trained.predict(TEXTS, verbose=0, **options), expected[:number], atol=1e-6)
    odd = trained.predict(["", "qwer", "\ud800", "film " * 300], verbose=0)
    np.testing.assert_allclose(odd.sum(axis=1), 1, rtol=1e-5)


def test_a_text_without_a_known_word_has_even_probabilities_as_from_the_bundle(trained):
    texts = ["", "qwer asdf", "qwer film"]
    shares = trained.predict(texts, verbose=0)
    np.testing.assert_allclose(shares[:2], 1 / 3, atol=1e-3)
    assert abs(shares[2] - 1 / 3).max() > 0.01
    np.testing.assert_allclose(shares, trained.to_bundle().probabilities(texts), atol=1e-6)


def test_steps_score_the_first_texts_and_not_the_shortest(trained):
    first = trained.evaluate(TEXTS[:8], LABELS[:8], sample_weight=WEIGHTS[:8], verbose=0)
    weighted = {"sample_weight": WEIGHTS, "verbose": 0}
    assert trained.evaluate(TEXTS, LABELS, 4, steps=2, **weighted) == pytest.approx(first)
    every = trained.evaluate(TEXTS, LABELS, **weighted)
    assert trained.evaluate(TEXTS, LABELS, steps=2, **weighted) == pytest.approx(every)
    model = new_model()
    options = {"validation_steps": 2, "validation_batch_size": 4, "batch_size": 45, "verbose": 0}
    history = model.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS, WEIGHTS), **options).history
    expected = model.evaluate(TEXTS[:8], LABELS[:8], sample_weight=WEIGHTS[:8], verbose=0)
    assert [history["val_loss"][0], history["val_accuracy"][0]] == pytest.approx(expected)
    del options["validation_batch_size"]
    history = model.fit(TEXTS, LABELS, validation_split=0.5, **{**options, "batch_size": 5}).history
    expected = model.evaluate(TEXTS[45:55], LABELS[45:55], verbose=0)
    assert [history["val_loss"][0], history["val_accuracy"][0]] == pytest.approx(expected)


def test_all_forms_of_texts_have_the_same_scores(trained):
    bundle, split = trained.to_bundle(), zoo.Split(TEXTS, PLACES)
    scores = trained.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    expected = bundle.evaluate(split)
    penalty = float(keras.ops.sum(keras.ops.stack(trained.losses)))
    assert scores == pytest.approx({"loss": expected["loss"] + penalty, "accuracy": expected["accuracy"]}, rel=1e-5)
    for data in ((in_batches(TEXTS, LABELS),), (in_batches(TEXTS, PLACES),), (pd.Series(TEXTS), pd.Series(PLACES))):
        assert trained.evaluate(*data, verbose=0, return_dict=True) == pytest.approx(scores, rel=1e-5)
    assert trained.test_on_batch(TEXTS, LABELS, return_dict=True)["accuracy"] == pytest.approx(scores["accuracy"])


def test_one_step_weighs_classes_by_name_or_index():
    model = new_model()
    losses = -np.log(keras.ops.softmax(model(TEXTS)).numpy()[np.arange(90), PLACES])
    penalty = float(keras.ops.sum(keras.ops.stack(model.losses)))
    loss = model.train_on_batch(TEXTS, LABELS, class_weight={"pos": 3.0, 0: 0.5}, return_dict=True)["loss"]
    assert loss == pytest.approx((losses * np.array([0.5, 3, 1])[PLACES]).mean() + penalty, rel=1e-5)
    with pytest.raises(ValueError, match="Unknown label in class_weight: 'nag'"):
        model.train_on_batch(TEXTS, LABELS, class_weight={"nag": 1.0})
    with pytest.raises(ValueError, match="counts the labels of raw text in memory that fit trains on; of a batch"):
        model.train_on_batch(TEXTS, LABELS, class_weight="balanced")


@pytest.mark.slow
def test_a_dataset_of_strings_is_fitted_as_it_is_batched():
    model, same = new_model(), new_model()
    history = model.fit(in_batches(TEXTS, LABELS, WEIGHTS), verbose=0).history
    same.preprocessor = None
    preprocessor = model.preprocessor
    assert same.fit(in_batches(TEXTS, LABELS, WEIGHTS).map(preprocessor), verbose=0).history == history
    with pytest.raises(TypeError, match="preprocessor is None"):
        same.predict(TEXTS)
    loss = model.train_on_batch(TEXTS[:9], LABELS[:9])[0]
    assert np.isfinite(loss)


def test_saving_keeps_answers_words_and_the_state_of_the_optimiser(trained, tmp_path):
    trained.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert type(again) is zoo.TextClassifier
    assert again.label_names == ("neg", "pos", "so-so")
    np.testing.assert_array_equal(again.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0))
    assert int(again.optimizer.iterations) == int(trained.optimizer.iterations) == 12
    other = copy.deepcopy(again)
    for model in (again, other):
        keras.utils.set_random_seed(3)
        model.fit(TEXTS, LABELS, verbose=0)
    assert again.history.history == other.history.history


def test_a_config_is_json_and_rebuilds_the_model(trained):
    config = json.loads(json.dumps(trained.get_config()))
    again = zoo.TextClassifier.from_config(config)
    assert again.get_config() == trained.get_config()
    assert not again.compiled
    again.compile()
    assert float(again.optimizer.learning_rate) == pytest.approx(0.05)  # as the model was built, not Adam's own
    assert again.loss.get_config() == trained.loss.get_config()
    layer = trained.preprocessor
    copied = keras.saving.deserialize_keras_object(json.loads(json.dumps(keras.saving.serialize_keras_object(layer))))
    assert copied.get_config() == layer.get_config()
    assert copied.vocabulary == layer.vocabulary


def test_callbacks_see_and_save_the_whole_model(tmp_path):
    path = str(tmp_path / "best.keras")
    best = keras.callbacks.ModelCheckpoint(path, monitor="val_loss", save_best_only=True)
    stopping = keras.callbacks.EarlyStopping("val_loss", patience=1, restore_best_weights=True)
    model = new_model(learning_rate=0.5)
    model.fit(TEXTS, LABELS, epochs=6, validation_split=0.3, callbacks=[best, stopping], verbose=0)
    again = keras.saving.load_model(path)
    np.testing.assert_array_equal(again.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0))


def test_a_model_without_compilation_says_so_and_compiles_with_losses_on_logits():
    model = new_model(compile=False)
    with pytest.raises(ValueError, match="You must call `compile"):
        model.fit(TEXTS, LABELS)
    for loss in ("sparse_categorical_crossentropy", keras.losses.SparseCategoricalCrossentropy()):
        with pytest.raises(ValueError, match=r"outputs are logits; .* Use from_logits=True"):
            model.compile(loss=loss)
    model.compile(optimizer="sgd", metrics=["accuracy"])
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    assert set(model.fit(TEXTS, LABELS, verbose=0).history) == {"accuracy", "loss"}


def crossentropy(y_true, y_pred):
    """A loss of one's own, on logits."""
    return keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)


def test_losses_of_keras_on_probabilities_are_refused_in_any_form():
    model, losses = new_model(compile=False), keras.losses
    names = ["crossentropy", "ce", "CE", "bce", "BCE", "kld", "categorical_focal_crossentropy", "BinaryCrossentropy"]
    functions = [losses.sparse_categorical_crossentropy, losses.binary_focal_crossentropy, losses.kl_divergence]
    objects = [losses.BinaryFocalCrossentropy(), losses.CategoricalFocalCrossentropy(), losses.KLDivergence()]
    nested = [["bce"], ("crossentropy",), {"logits": "ce"}, {"logits": losses.CategoricalCrossentropy()}]
    for loss in [*names, *functions, *objects, losses.CategoricalCrossentropy, *nested]:
        with pytest.raises(ValueError, match=r"outputs are logits; .* takes probabilities\. Use from_logits=True"):
            model.compile(loss=loss)
    for loss in (crossentropy, [losses.BinaryFocalCrossentropy(from_logits=True)], {"logits": "hinge"}):
        model.compile(loss=loss)
        assert model.loss is loss or model.loss == loss


def test_a_step_that_xla_cannot_compile_is_trained_without():
    model = new_model(kernel="portable")
    with pytest.warns(UserWarning, match="jit_compile"):
        model.compile(jit_compile=True)
    assert not model.jit_compile
    assert np.isfinite(model.fit(TEXTS, LABELS, verbose=0).history["loss"][0])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 4])
def test_xla_compiles_a_step_for_each_shape(steps):
    model, same = new_model(kernel="compiled"), new_model()
    model.compile(jit_compile=True, steps_per_execution=steps)
    assert model.jit_compile
    texts, labels = TEXTS[:48], LABELS[:48]
    for each in (model, same):
        keras.utils.set_random_seed(5)
        options = {"validation_data": (TEXTS[48:], LABELS[48:]), "epochs": 2, "verbose": 0}
        each.fit(texts, labels, **options)
    for name, values in same.history.history.items():
        np.testing.assert_allclose(model.history.history[name], values, rtol=1e-4)
    for ours, theirs in zip(model.get_weights(), same.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(model.predict(in_batches(TEXTS)), same.predict(in_batches(TEXTS)), atol=1e-5)
    assert model.jit_compile


def test_a_step_is_compiled_once_for_each_shape():
    traces = []

    def step(batch):
        ids, weights = batch
        traces.append(ids.shape)
        return {"sum": tf.reduce_sum(ids * (1 if weights is None else weights))}

    run = over_batches(by_shape(step), 2)
    nothing = tf.experimental.Optional.empty(None)
    batches = iter([(np.ones((2, n)), nothing) for n in (3, 4, 3, 3, 4)])
    assert [float(run(batches)["sum"]) for _ in range(3)] == [8, 6, 8]  # of the last of two batches, or of one
    assert traces == [(2, 3), (2, 4)]
    with pytest.raises(StopIteration):
        run(batches)


@pytest.mark.slow
def test_characters_are_read_by_models_that_have_filters_for_them():
    model = new_model(char_filters=2, char_dim=2, max_tokens=5)
    assert model.preprocessor.vocabulary.max_tokens == 5
    expected = model.to_bundle().probabilities(TEXTS)
    np.testing.assert_allclose(model.predict(in_batches(TEXTS), verbose=0), expected, atol=1e-6)
    assert np.isfinite(model.fit(TEXTS, LABELS, verbose=0).history["loss"][0])
    again = zoo.TextClassifier.from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0))


def test_a_bundle_and_a_keras_model_are_one_network(trained, tmp_path):
    bundle = trained.to_bundle()
    assert bundle.labels == NAMES
    assert bundle.history["loss"].tolist() == trained.history.history["loss"]
    again = bundle.as_keras()
    np.testing.assert_array_equal(again.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0))
    assert again.optimizer.get_config() == trained.optimizer.get_config()
    explanation = bundle.explain("a fine film")
    assert explanation.tokens == ["a", "fine", "film"]
    assert trained.backbone.predict(trained.preprocessor(TEXTS[:3]), verbose=0) == pytest.approx(
        bundle.embed(TEXTS[:3]), abs=1e-6
    )
    bundle.save(tmp_path / "run")
    np.testing.assert_allclose(zoo.load(tmp_path / "run").probabilities(TEXTS), bundle.probabilities(TEXTS), atol=1e-7)


def test_a_preset_comes_back_with_its_labels_or_with_a_new_last_layer(trained, tmp_path):
    folder = trained.save_to_preset(tmp_path / "preset")
    for names in (None, NAMES):
        again = zoo.TextClassifier.from_preset(folder, label_names=names)
        np.testing.assert_allclose(again.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0), atol=1e-7)
        assert again.to_bundle().config["training"] == {"dataset": "texts"}
    other = zoo.TextClassifier.from_preset(folder, num_classes=5)
    assert other.label_names == ("0", "1", "2", "3", "4")
    ids = trained.preprocessor(TEXTS[:3])
    np.testing.assert_allclose(other.backbone(ids), trained.backbone(ids), atol=1e-6)
    assert np.isfinite(other.fit(TEXTS, [i % 5 for i in range(90)], verbose=0).history["loss"][0])
    origin = other.to_bundle().config["training"]["init_from"]
    assert (origin["dataset"], origin["model"], origin["head"]) == ("texts", "lstm", "new")
    again = zoo.TextClassifier.from_config(json.loads(json.dumps(other.get_config())))
    assert again.to_bundle().config["training"] == other.to_bundle().config["training"]
    other.to_bundle().save(tmp_path / "other")  # whose card names the source


def test_labels_in_another_order_keep_the_last_layer(trained):
    bundle, order = trained.to_bundle(), [2, 0, 1]
    bundle.metrics["temperature"] = 2.5
    model = zoo.TextClassifier.from_bundle(bundle, [NAMES[place] for place in order])
    expected = bundle.probabilities(TEXTS)
    np.testing.assert_allclose(model.predict(TEXTS, verbose=0), expected[:, order], atol=1e-6)
    again = model.to_bundle()
    assert again.labels == [NAMES[place] for place in order]
    assert again.config["training"] == bundle.config["training"]
    np.testing.assert_allclose(bundle.probabilities(TEXTS), expected)


def test_one_label_per_text_is_what_a_model_has_whose_config_does_not_say(trained):
    bundle = trained.to_bundle()
    del bundle.config["arguments"]["labels"]
    model = zoo.TextClassifier.from_bundle(bundle, labels="one")
    np.testing.assert_allclose(model.predict(TEXTS, verbose=0), trained.predict(TEXTS, verbose=0), atol=1e-7)


def test_calibrated_probabilities_stay_calibrated(trained, tmp_path):
    bundle = trained.to_bundle()
    bundle.metrics["temperature"] = 2.5
    model = bundle.as_keras()
    np.testing.assert_allclose(model.predict(TEXTS, verbose=0), bundle.probabilities(TEXTS), atol=1e-6)
    model.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    np.testing.assert_allclose(again.to_bundle().probabilities(TEXTS), bundle.probabilities(TEXTS), atol=1e-6)
    assert zoo.TextClassifier.from_bundle(bundle, ["x", "y"]).to_bundle().temperature is None


BAD_MODELS = {
    "no labels": ({"texts": TEXTS}, "needs label_names"),
    "no texts": ({"label_names": NAMES}, "takes its words from texts"),
    "empty": ({"texts": [], "label_names": NAMES}, "texts holds no texts"),
    "one string": ({"texts": "a film", "label_names": NAMES}, "received one string"),
    "a missing text": ({"texts": ["a", None], "label_names": NAMES}, "item 1, counted from 0. It is missing"),
    "three for two": ({"texts": TEXTS, "label_names": NAMES, "num_classes": 2}, "holds 3 names, and num_classes is 2"),
    "one name": ({"texts": TEXTS, "label_names": ["x"]}, "needs at least two labels; label_names holds 1"),
    "twice": ({"texts": TEXTS, "label_names": ["x", "x"]}, "label_names must be different strings: 'x' occurs twice"),
    "a string of names": ({"texts": TEXTS, "label_names": "xy"}, "received one string, 'xy'"),
    "one class": ({"texts": TEXTS, "num_classes": 1}, "num_classes must be an integer of at least 2"),
    "a model": ({"model": "bilsm", "texts": TEXTS, "num_classes": 2}, "Did you mean 'bilstm'"),
    "another task": ({"model": "bilstm_tagger", "texts": TEXTS, "num_classes": 2}, "Unknown model 'bilstm_tagger'"),
    "an argument": ({"texts": TEXTS, "num_classes": 2, "unit": 3}, "Did you mean 'units'"),
    "a size": ({"texts": TEXTS, "num_classes": 2, "vocab_size": 3}, "vocab_size: the words and labels"),
}


@pytest.mark.parametrize("name", BAD_MODELS)
def test_a_model_that_cannot_be_is_refused_with_what_is_accepted(name):
    options, message = BAD_MODELS[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        zoo.TextClassifier(**options)


BAD_DATA = {
    "no labels": ((TEXTS,), {}, "y is missing"),
    "an unknown label": ((["a"], ["nag"]), {}, "Did you mean 'neg'"),
    "out of range": ((["a"], [3]), {}, "Labels must be from 0 to 2; item 0"),
    "another number": ((TEXTS, LABELS[:3]), {}, "received 3 for 90 texts"),
    "a float": ((["a"], [1.0]), {}, "is 1.0 (float)"),
    "one hot": ((["a", "b"], np.eye(2)), {}, "Turn one-hot rows into integers"),
    "a one-hot table": (
        (["a", "b"], pd.DataFrame(np.eye(2, 3), columns=NAMES)),
        {},
        "received shape (2, 3). Turn one-hot",
    ),
    "no texts": (([], []), {}, "x holds no texts"),
    "one string": (("a", ["pos"]), {}, "received one string"),
    "a missing text": ((pd.Series([None, "a"]), ["pos", "pos"]), {}, "item 0, counted from 0. It is missing"),
    "weights": ((["a"], ["pos"]), {"sample_weight": [-1]}, "sample_weight, item 0"),
    "a table of weights": (
        (["a"], ["pos"]),
        {"sample_weight": pd.DataFrame([[1.0, 2.0]])},
        "sample_weight must be one per text: (1,); received shape (1, 2)",
    ),
    "a class": ((TEXTS, LABELS), {"class_weight": {"nag": 1.0}}, "Unknown label in class_weight: 'nag'"),
    "all held out": ((TEXTS[:1], LABELS[:1]), {"validation_split": 0.5}, "leaves none to train on"),
    "a split": ((TEXTS, LABELS), {"validation_split": 1.5}, "validation_split must be a number from 0"),
    "validation": ((TEXTS, LABELS), {"validation_data": (["a"], ["nag"])}, "Did you mean 'neg'"),
    "a dataset": ((in_batches(["a"], ["nag"]),), {}, "Unknown label nag. Accepted: neg, pos, so-so."),
    "a dataset's integers": ((in_batches(["a"], [7]),), {}, "Unknown label 7. Accepted: integers from 0 to 2"),
    "single texts": ((tf.data.Dataset.from_tensor_slices((["a"], [1])),), {}, "as from batch(32); it holds shape ()"),
    "a split of a dataset": ((in_batches(["a"], [1]),), {"validation_split": 0.5}, "validation_split"),
    "labels of a dataset": ((in_batches(["a"], [1]), ["pos"]), {}, "`y` should not be passed"),
    "a dataset's floats": ((in_batches(["a"], [7.5]),), {}, "received float"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_data_that_do_not_fit_are_refused_in_one_clear_error(trained, name):
    data, options, message = BAD_DATA[name]
    before = trained.get_weights()
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        trained.fit(*data, verbose=0, **options)
    np.testing.assert_array_equal(trained.get_weights()[0], before[0])


DAMAGE = {
    "a word twice": (("preprocessor", "words"), ["a"] * 8, "'a' occurs twice"),
    "more words": (("preprocessor", "words"), [f"w{i}" for i in range(9)], "vocab_size is 10; its words"),
    "no strings": (("preprocessor", "words"), list(range(8)), "must be strings"),
    "a policy": (("preprocessor", "oov"), "exec", "'oov' in 'text' is 'exec'"),
    "a setting": (("preprocessor", "module"), "os", "Unrecognized keyword arguments"),
    "labels": (("labels",), ["x", "x", "y"], "'x' occurs twice"),
    "more labels": (("labels",), ["x", "y"], "num_classes is 3"),
    "a task": (("model",), "bilstm_tagger", "bilstm_tagger is for tagging"),
    "a model": (("model",), "os.system", "Unknown model 'os.system'"),
    "an argument": (("arguments", "units"), {"class_name": "Lambda"}, "argument 'units' must be a plain value"),
    "a temperature": (("temperature",), -1.0, "temperature must be"),
    "training": (("training",), [], "'training' must be a dict"),
    "word vectors": (("arguments", "embedding_matrix"), "x.npy", "word vectors are weights"),
    "a kernel": (("arguments", "kernel"), "os", "Unknown value of kernel"),
    "another": (("module",), "os", "unexpected keyword argument"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_config_from_a_stranger_is_checked_before_memory_is_taken(trained, name):
    refused(trained, *DAMAGE[name])


@pytest.mark.parametrize("texts", [TEXTS, np.array(TEXTS), pd.Series(TEXTS), in_batches(TEXTS)], ids=type)
def test_a_network_of_ids_that_is_given_text_names_the_class_that_takes_it(texts):
    network = zoo.build("bilstm", vocab_size=9, num_classes=3, **TINY)
    for use in (network.predict, network.fit, network.evaluate):
        with pytest.raises(TypeError, match=r"reads ids of words; received raw text\. zoo\.TextClassifier is"):
            use(texts)
    with pytest.raises(TypeError, match=r"zoo\.TextClassifier"):
        network(TEXTS)
