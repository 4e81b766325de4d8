"""The memory of a Keras task beside its weights: epochs, frozen layers, words, and the graphs of its predictions."""

import copy

import keras
import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles.bundle import EXPORT_FORMATS
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.interfaces.epoch_rows import rows_of
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from dense_lstm_zoo.tagging.vocabulary import TaggingVocabulary
from dense_lstm_zoo_runtime import Predictor
from tests.keras_task_harness import refused

TEXTS, LABELS = ["a fine film", "dull and bad", "a great cast", "the plot is dull"] * 5, ["pos", "neg"] * 10
TINY = {"units": 3, "embedding_dim": 4, "kernel": "native"}
TAGS = {"label_names": ["NOUN", "VERB"], "char_dim": 2, **TINY}


def new_model(**options):
    keras.utils.set_random_seed(7)
    return zoo.TextClassifier("lstm", texts=TEXTS, label_names=["neg", "pos"], **TINY, **options)


class Rate(keras.callbacks.Callback):
    """Logs a value of the first epoch only."""

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 0:
            logs["rate"] = 0.5


def test_values_that_not_every_epoch_has_stand_at_their_epochs(tmp_path):
    model = new_model()
    options = {"epochs": 3, "validation_split": 0.2, "validation_freq": 2, "verbose": 0}
    history = model.fit(TEXTS, LABELS, callbacks=Rate(), **options)
    rows = model.to_bundle().history
    assert rows["epoch"].tolist() == [1, 2, 3]
    assert rows["loss"].tolist() == history.history["loss"]
    assert rows["val_loss"].isna().tolist() == [True, False, True]
    assert rows["val_loss"][1] == history.history["val_loss"][0]
    assert rows["rate"].isna().tolist() == [False, True, True]
    again = zoo.from_preset(model.save_to_preset(tmp_path / "preset"))
    assert again.labels == ["neg", "pos"]


def test_of_a_history_of_keras_whole_columns_are_taken():
    history = keras.callbacks.History()
    history.epoch, history.history = [0, 1], {"loss": [2.0, 1.0], "val_loss": [3.0]}
    whole = rows_of(history, "accuracy").dropna(axis=1)
    assert whole.to_dict("list") == {"epoch": [1, 2], "loss": [2.0, 1.0]}
    model = new_model()
    callbacks = keras.callbacks.CallbackList([], add_history=True, model=model)
    model.fit(TEXTS, LABELS, callbacks=callbacks, verbose=0)
    assert model.to_bundle().history["loss"].notna().tolist() == [True]
    assert new_model().to_bundle().history.empty


def test_frozen_layers_stay_frozen_in_files_and_copies_with_the_moments_of_the_others(tmp_path):
    model = new_model()
    number = len(model.trainable_variables)
    model.get_layer("embedding").trainable = False
    model.compile()
    model.fit(TEXTS, LABELS, verbose=0)
    model.save(tmp_path / "x.keras")
    for again in (keras.saving.load_model(tmp_path / "x.keras"), copy.deepcopy(model)):
        assert len(again.trainable_variables) == len(model.trainable_variables) == number - 1
        assert not again.get_layer("embedding").trainable
        for ours, right in zip(again.optimizer.variables, model.optimizer.variables, strict=True):
            np.testing.assert_array_equal(ours, right)


def test_configs_name_frozen_layers_of_any_depth():
    model = zoo.TokenClassifier("bilstm_tagger", texts=[["Dogs", "bark"]], crf=True, **TAGS)
    model.core.get_layer("encoder").cells[0][0].trainable = model.crf.trainable = False
    config = model.get_config()
    assert config["frozen"] == ["model/core/encoder/forward_1", "model/crf"]
    again = zoo.TokenClassifier.from_config(config)
    assert again.get_config()["frozen"] == config["frozen"]
    paths = [weight.path.partition("/")[2] for weight in model.trainable_variables]
    assert [weight.path.partition("/")[2] for weight in again.trainable_variables] == paths
    del config["frozen"]  # a file of a former version
    assert zoo.TokenClassifier.from_config(config).get_config()["frozen"] == []


def test_what_is_trained_inside_a_frozen_model_and_what_its_class_freezes_follow_the_config():
    model = zoo.TextClassifier("cnn_mc", texts=TEXTS, num_classes=2, embedding_dim=4, filters=2)
    assert model.get_config()["frozen"] == ["model/static_embedding"]
    model.trainable = False
    model.get_layer("logits").trainable = model.get_layer("static_embedding").trainable = True
    again = zoo.TextClassifier.from_config(model.get_config())
    assert not again.trainable
    assert not again.get_layer("embedding").trainable
    assert again.get_layer("logits").trainable
    assert again.get_layer("static_embedding").trainable


def test_frozen_layers_of_a_strangers_config_are_checked():
    model = new_model()
    refused(model, ("frozen",), "model/embedding", "'frozen' must be a list of names of layers")
    refused(model, ("frozen",), [3], "'frozen' must be a list of names of layers")
    with pytest.raises(ValueError, match=r"is damaged: Unknown layer in 'frozen': 'model/embeding'\. Did you mean"):
        zoo.TextClassifier.from_config({**model.get_config(), "frozen": ["model/embeding"]})


def test_words_that_were_frozen_with_vectors_are_trained_without():
    words = ("a", "fine", "film", "dull")
    for model in (
        zoo.TextClassifier("lstm", vocabulary=Vocabulary(words, 2), num_classes=2, **TINY),
        zoo.TokenClassifier("bilstm_tagger", vocabulary=TaggingVocabulary(words, "abc", 2), **TAGS),
    ):
        assert model.preprocessor.vocabulary.num_frozen_words == 0
        embedding = zoo.models.registry.network(model).get_layer("embedding")
        assert [weight.shape for weight in embedding.trainable_variables] == [(6, 4)]
        assert type(model).from_config(model.get_config()).count_params() == model.count_params()


def test_arguments_beside_a_vocabulary_change_how_it_is_read():
    vocabulary = Vocabulary(("a", "fine", "film"), oov="unk", max_tokens=5)
    for options, settings in (({}, ("unk", 5)), ({"oov": "drop", "max_tokens": 1}, ("drop", 1))):
        model = zoo.TextClassifier("lstm", vocabulary=vocabulary, num_classes=2, **options, **TINY)
        read = model.preprocessor.vocabulary
        assert (read.oov, read.max_tokens) == settings
    backward = LanguageVocabulary(("to", "be", "<eos>", "<unk>"), "backward")
    for options, direction in (({}, "backward"), ({"direction": "forward"}, "forward")):
        model = zoo.LanguageModel("stacked_lstm_lm", vocabulary=backward, units=3, num_layers=1, **options)
        assert model.preprocessor.vocabulary.direction == direction


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (zoo.TextClassifier, {"vocabulary": Vocabulary(("a",)), "num_classes": 2, "vectors": "x", "vector_words": 3}),
        (zoo.TokenClassifier, {"vocabulary": TaggingVocabulary(("a",), "a"), "num_classes": 2, "vectors": "x"}),
        (zoo.LanguageModel, {"vocabulary": LanguageVocabulary(("<eos>", "<unk>")), "max_words": 2, "min_count": 2}),
    ],
)
def test_arguments_that_choose_words_are_refused_beside_a_vocabulary(make, options):
    names = ", ".join(name for name in options if name not in ("vocabulary", "num_classes"))
    with pytest.raises(ValueError, match=rf"^{names} would choose the words of texts=.*by vocabulary=\.\.\. Leave one"):
        make(**options)


def quantized(model):
    model.quantize("int8", filters="logits")


def adapted(model):
    logits = model.get_layer("logits")
    logits.enable_lora(2)
    logits.lora_kernel_b.assign(keras.ops.ones_like(logits.lora_kernel_b) * np.array([3.0, -3.0]))
    model.compile()


@pytest.mark.parametrize("change", [quantized, adapted])
def test_predictions_are_those_of_the_layers_as_they_are_now(change):
    model = new_model()
    before = model.predict(TEXTS, verbose=0)
    change(model)
    after = model.predict(TEXTS, verbose=0)
    assert np.abs(after - before).max() > 1e-5
    np.testing.assert_allclose(after, keras.ops.softmax(model(TEXTS)), atol=1e-6)


def test_quantised_layers_are_refused_by_all_that_would_write_them_wrongly(tmp_path):
    model = new_model()
    quantized(model)
    bundle, what = model.to_bundle(), "its layer 'logits' is quantised \\(int8\\)"
    for write in (bundle.save, bundle.save_to_preset):
        with pytest.raises(ValueError, match=f"^The model cannot be saved: {what}"):
            write(tmp_path / "new")
    for name in EXPORT_FORMATS:
        with pytest.raises(ValueError, match=f"^The model cannot be exported: {what}"):
            bundle.export(tmp_path / "new", format=name)
    with pytest.raises(ValueError, match=f"^The model cannot be saved: {what}"):
        model.save(tmp_path / "new.keras")
    assert not any(tmp_path.iterdir())
    assert "'logits' is quantised (int8)" in model.to_json()
    keras.saving.save_model(model, tmp_path / "new.keras")
    for load in (lambda: keras.saving.load_model(tmp_path / "new.keras"), lambda: copy.deepcopy(model)):
        with pytest.raises(ValueError, match=f"^The model cannot be loaded: {what}"):
            load()
    again = new_model()
    model.save_weights(tmp_path / "new.weights.h5")
    quantized(again)
    again.load_weights(tmp_path / "new.weights.h5")
    np.testing.assert_array_equal(again.predict(TEXTS, verbose=0), model.predict(TEXTS, verbose=0))


def with_lora():
    """A model with trained LoRA, some texts, and its answers to them."""
    model, texts = new_model(), TEXTS[:4]
    adapted(model)
    return model, texts, model.predict(texts, verbose=0)


@pytest.mark.parametrize(
    "options", [pytest.param({}, marks=pytest.mark.slow), {"max_words": 1000}], ids=["all", "fewer"]
)
def test_products_of_lora_are_in_the_weights_of_exports(options, tmp_path):
    model, texts, expected = with_lora()
    bundle = model.to_bundle()
    served = tf.saved_model.load(str(bundle.export(tmp_path / "all", **options))).signatures["serving_default"]
    np.testing.assert_allclose(served(text=tf.constant(texts))["probabilities"], expected, atol=1e-6)
    answers = Predictor(bundle.export(tmp_path / "onnx", format="onnx", **options)).predict(texts)
    np.testing.assert_allclose([answer.probabilities["pos"] for answer in answers], expected[:, 1], atol=1e-6)


def test_products_of_lora_are_in_the_weights_of_files(tmp_path):
    model, texts, expected = with_lora()
    bundle = model.to_bundle()
    np.testing.assert_allclose(zoo.load(bundle.save(tmp_path / "bundle")).probabilities(texts), expected, atol=1e-6)
    bundle.rescore(test=zoo.Split(TEXTS, [1, 0] * 10))
    assert zoo.load(bundle.save_to_preset(tmp_path / "preset")).metrics == bundle.metrics
    model.save(tmp_path / "m.keras")
    same = keras.saving.load_model(tmp_path / "m.keras", compile=False)
    np.testing.assert_allclose(same.predict(texts, verbose=0), expected, atol=1e-6)


def test_scores_are_those_of_layers_that_got_lora_after_the_first_answers(tmp_path):
    bundle, split = new_model().to_bundle(), zoo.Split(TEXTS, [1, 0] * 10)
    before = bundle.rescore(test=split)["test_loss"]
    logits = bundle.model.get_layer("logits")
    logits.enable_lora(2)
    logits.lora_kernel_b.assign(np.array([[3.0, -3.0]] * 2))
    after = bundle.rescore(test=split)["test_loss"]
    assert abs(after - before) > 1e-4
    assert zoo.load(bundle.save(tmp_path / "bundle")).evaluate(split)["loss"] == pytest.approx(after)


def test_forced_graphs_and_other_words_are_read_anew():
    model = new_model()
    for renew in (
        lambda: model.make_predict_function(force=True),
        lambda: setattr(model, "preprocessor", copy.copy(model.preprocessor)),
    ):
        model.predict(TEXTS, verbose=0)
        graphs = [model._answers_of(None), model._answering]
        renew()
        assert model._answering is not graphs[1]
        assert model._answers_of(model.preprocessor.text_to_ids.signature) is not graphs[0]


def test_a_model_that_is_trained_further_is_no_longer_calibrated():
    bundle = new_model().to_bundle()
    bundle.metrics["temperature"] = 2.5
    model = bundle.as_keras()
    calibrated = keras.ops.softmax(model(TEXTS) / 2.5)
    np.testing.assert_allclose(model.predict(TEXTS, verbose=0), calibrated, atol=1e-6)
    model.train_on_batch(TEXTS, LABELS)
    assert model.to_bundle().temperature is None
    np.testing.assert_allclose(model.predict(TEXTS, verbose=0), keras.ops.softmax(model(TEXTS)), atol=1e-6)


def test_in_float16_the_loss_is_scaled_with_any_optimiser():
    model, scaled, adam = new_model(dtype="mixed_float16"), keras.optimizers.LossScaleOptimizer, keras.optimizers.Adam
    for optimizer in ("adam", adam(0.1), scaled(adam(0.1))):
        model.compile(optimizer=optimizer)
        assert isinstance(model.optimizer, scaled)
        assert isinstance(model.optimizer.inner_optimizer, adam)
        again = zoo.TextClassifier.from_config(model.get_config())
        again.compile_from_config(model.get_compile_config())
        assert again.optimizer.get_config() == model.optimizer.get_config()
    model.compile(optimizer=adam(0.1), auto_scale_loss=False)
    assert isinstance(model.optimizer, adam)
    again.compile_from_config(model.get_compile_config())
    assert isinstance(again.optimizer, adam)
    single = new_model()
    single.compile(optimizer="adam")
    assert isinstance(single.optimizer, adam)


@pytest.mark.parametrize("model", ["bilstm", "bilstm_tagger", "dense_lstm_lm"])
def test_word_vectors_that_stay_random_are_warned_of(model):
    task = {"bilstm": zoo.TextClassifier, "bilstm_tagger": zoo.TokenClassifier, "dense_lstm_lm": zoo.LanguageModel}
    texts = [["to", "be"]] if model == "bilstm_tagger" else ["to be"]
    names = {} if model == "dense_lstm_lm" else {"label_names": ["a", "b"]}
    with pytest.warns(UserWarning, match=r"vectors are random\. trainable_embeddings=True trains") as record:
        task[model](model, texts=texts, units=3, embedding_dim=4, trainable_embeddings=False, **names)
    assert record[0].filename == __file__
