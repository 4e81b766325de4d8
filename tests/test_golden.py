"""The golden files: their script reproduces their outputs, and the dense language model gives the golden values."""

import ast

import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from tests.golden import make


@pytest.mark.parametrize("name", make.FILES)
def test_the_script_makes_the_outputs_of_every_golden_file_from_its_inputs(golden, name):
    file = dict(np.load(golden / f"{name}.npz"))
    outputs = make.FILES[name](file)
    real = np.arange(make.TIME) < file["lengths"][:, None] if "lengths" in file else 1
    for output, values in outputs.items():
        # Weights of words are compared under the mask.
        weights_of_words = name == "dynamic_interaction" and (output[-2] == "c" or output.startswith("position_r"))
        weights_of_words = weights_of_words and output[-1] != "w"
        np.testing.assert_allclose(values, file[output] * (real if weights_of_words else 1), rtol=0, atol=1e-12)
    assert len(outputs) >= {"dynamic_interaction": 66, "skip_lstm": 16}.get(name, 1)


def test_the_projects_own_files_are_what_the_script_draws_and_it_imports_numpy_alone():
    for name, inputs in make.inputs(np.random.default_rng(2016)).items():
        file = dict(np.load(make.FOLDER / f"{name}.npz"))
        for part, values in inputs.items():
            np.testing.assert_array_equal(file.pop(part), values)
        assert set(file) == set(make.FILES[name](inputs))
    tree = ast.parse((make.FOLDER / "make.py").read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {getattr(node, "module", None) or node.names[0].name for node in imported}
    assert modules == {"__future__", "collections.abc", "pathlib", "typing", "numpy"}


def test_the_dense_language_model_gives_the_golden_probabilities_whole_and_in_two_windows(golden):
    file = np.load(golden / "dense_lm.npz")
    model = zoo.build("dense_lstm_lm", vocab_size=11, num_layers=3, units=4, embedding_dim=5)
    parts = [file[f"layer{layer}_{part}"] for layer in range(3) for part in ("kernel", "recurrent", "bias")]
    model.set_weights([file["embedding"], *parts, file["softmax_kernel"], file["softmax_bias"]])
    expected = file["log_probabilities"]
    final = [file[f"final_{part}{layer}"] for layer in range(3) for part in "hc"]

    def log_probabilities(logits):
        logits = np.asarray(logits, np.float64)
        return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))

    logits, *states = model.core([tf.constant(file["ids"]), *model.zero_states(2)])
    np.testing.assert_allclose(log_probabilities(logits), expected, atol=1e-5)
    np.testing.assert_allclose(log_probabilities(model(file["ids"])), expected, atol=1e-5)
    for carried_state, state in zip(states, final, strict=True):
        np.testing.assert_allclose(carried_state, state, atol=1e-5)
    for window, first in ((slice(0, 5), True), (slice(5, 10), False)):
        logits = model({"token_ids": file["ids"][:, window], "is_first": np.full(2, first)})
        np.testing.assert_allclose(log_probabilities(logits), expected[:, window], atol=1e-5)
    for carried, state in zip(model.carried_states(False, 2), final, strict=True):
        np.testing.assert_allclose(carried, state, atol=1e-5)
