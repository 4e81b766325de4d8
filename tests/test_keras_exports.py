"""Keras's own ways to smaller models: what ``quantize`` leaves as it is, and which kernel becomes a ``.tflite``."""

from pathlib import Path

import keras
import numpy as np
import pytest

from dense_lstm_zoo import layers
from tests import model_harness

PAGE = " ".join((Path(__file__).parents[1] / "docs" / "serving.md").read_text(encoding="utf-8").split())


def classifier(kernel):
    keras.utils.set_random_seed(1)
    ids = keras.Input((6,), batch_size=1, dtype="int32")
    words = keras.layers.Embedding(20, 8, name="words")(ids)
    states = layers.BiLSTM(4, kernel=kernel)(words)
    pooled = layers.MaskedPooling("mean")(states, lengths=layers.SequenceLengths()(ids))
    return keras.Model(ids, keras.layers.Dense(2, name="logits")(pooled))


def quantized(model):
    """The paths of the weights that are int8 afterwards."""
    model.quantize("int8")
    return {w.path for w in model.weights if keras.backend.standardize_dtype(w.dtype) == "int8"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bilstm", "dc_bilstm", "bilstm_tagger"])
def test_quantize_changes_layers_of_keras_alone(name):
    model = model_harness.tiny(name)
    before = {w.path: w.numpy() for w in model.weights}
    paths = quantized(model)
    assert {path.rpartition("/")[0] for path in paths} == {"logits", *(["case"] if name == "bilstm_tagger" else [])}
    for weight in model.weights:
        if weight.path in before and weight.path not in paths:
            np.testing.assert_array_equal(weight.numpy(), before[weight.path])


@pytest.mark.filterwarnings("ignore")
def test_quantize_changes_layers_of_keras_and_says_that_it_leaves_ours():
    model = classifier("auto")
    with pytest.warns(UserWarning, match="Layer BiLSTM does not have a `quantize` method implemented"):
        paths = quantized(model)
    assert paths == {"words/embeddings", "logits/kernel"}
    assert "does not have a `quantize` method implemented" in PAGE


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_portable_model_becomes_a_tflite_file_and_the_page_has_the_error_of_others(tmp_path):
    classifier("portable").export(tmp_path / "m.tflite", format="litert", verbose=False)
    assert (tmp_path / "m.tflite").read_bytes()[4:8] == b"TFL3"
    with pytest.raises(Exception, match=r"'tf\.BlockLSTM' op is neither a custom op nor a flex op"):
        classifier("native").export(tmp_path / "n.tflite", format="litert", verbose=False)
    assert "'tf.BlockLSTM' op is neither a custom op nor a flex op" in PAGE
