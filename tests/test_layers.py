"""Properties of every layer: values, padding, masks, gradients, configs, shapes, half precision, saving."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from dense_lstm_zoo import layers
from tests import backends
from tests import layer_harness as harness
from tests.slow_cases import slow_but

ROOT = Path(__file__).parents[1]

cases = pytest.mark.parametrize("case", harness.CASES, ids=lambda case: case.name)
# What holds of a wiring with one cell holds with another, and every case is tested so by make test-slow.
_LIKE_OTHERS = {
    *("lstm_last", "bilstm", "dense_bilstm_no_dense_layer", "dense_lstm", "dense_simple_rnn_states"),
    *("stacked_gru_states", "skip_gru_states", "residual_gru_states"),
    *("text_encoder_stacked_lstm_2", "text_encoder_skip_lstm_2", "text_encoder_dense_gru_2"),
    *("text_encoder_stacked_lstm_1", "skip_bilstm_gates", "skip_bilstm_internals", "skip_bilstm_outputs"),
    *("skip_bilstm_gated_sigmoid_gate_on_skip", "interaction_position_1", "interaction_position_3"),
}
# What goes through a layer besides its equations is the same for all its cells and skips: one case of each class and of
# each form of output.
_OF_EACH_CLASS = {
    *("lstm", "bilstm_states", "dense_bilstm_all_layers_remat", "dense_bilstm_decoupled", "dense_gru_states"),
    *("residual_lstm_states", "text_encoder_dense_lstm_2", "skip_bilstm_gated_outputs", "highway_bilstm"),
    *("recurrent_highway_coupled", "pooling_attention_1", "pooling_last_mean_max_1", "interaction_vector_2"),
    *("convolution_valid", "map_convolution", "map_blocks_of_3_in_4", "dynamic_self_attention"),
}


def _some(names):
    """A test of the cases of these names. Those of the others are run by make test-slow."""
    quick = {case for case in harness.CASES if case.name in names}
    return pytest.mark.parametrize("case", slow_but(quick, harness.CASES), ids=lambda case: case.name)


different_cases = _some(harness.BY_NAME.keys() - _LIKE_OTHERS)
classes = _some(_OF_EACH_CLASS)


def test_cases_that_are_like_others_are_cases_and_every_class_has_one():
    assert harness.BY_NAME.keys() >= _LIKE_OTHERS | _OF_EACH_CLASS
    classes_by_name = {name: type(case.make()) for name, case in harness.BY_NAME.items()}
    tested = {classes_by_name[name] for name in _OF_EACH_CLASS}
    assert tested | {layers.DenseLSTM} == set(classes_by_name.values())  # a stack of one wiring


def test_every_public_layer_is_a_case_or_is_tested_in_a_file_of_its_own():
    public = {name for name in layers.__all__ if isinstance(getattr(layers, name), type)}
    parents = {parent.__name__ for case in harness.CASES for parent in type(case.make()).__mro__}
    assert public - parents == set(harness.ELSEWHERE)
    for name, file in harness.ELSEWHERE.items():
        assert f"{name}(" in (ROOT / "tests" / file).read_text(), name


@cases
def test_values_equal_the_equations_in_numpy(case):
    layer = harness.layer_of(case)
    expected = harness.flat(case.oracle(harness.inputs(), harness.LENGTHS, layer.get_weights()))
    outputs = harness.flat(layer(harness.inputs(), lengths=harness.LENGTHS))
    assert len(outputs) == len(expected)
    for ours, theirs in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@different_cases
def test_padding_never_changes_a_result(case):
    layer = harness.layer_of(case)
    x = harness.inputs()
    longer = np.concatenate([x, np.full((harness.BATCH, 4, harness.FEATURES), 9.0, np.float32)], axis=1)
    garbage = np.where(np.arange(harness.TIME)[None, :, None] < harness.LENGTHS[:, None, None], x, 1e6)
    for ours, padded in zip(*(harness.flat(layer(i, lengths=harness.LENGTHS)) for i in (x, longer)), strict=True):
        is_sequence = ours.ndim == 3
        np.testing.assert_allclose(padded[:, : harness.TIME] if is_sequence else padded, ours, atol=1e-5)
        assert not is_sequence or not padded[:, harness.TIME :].any()
    for ours, other in zip(*(harness.flat(layer(i, lengths=harness.LENGTHS)) for i in (x, garbage)), strict=True):
        np.testing.assert_allclose(other, ours, atol=1e-5)


@different_cases
def test_nan_in_padding_reaches_no_result_and_no_gradient(case):
    layer = harness.layer_of(case)
    x = harness.inputs()
    dirty = np.where(np.arange(harness.TIME)[None, :, None] < harness.LENGTHS[:, None, None], x, np.float32(np.nan))
    clean = np.nan_to_num(dirty)
    for ours, theirs in zip(*(harness.flat(layer(i, lengths=harness.LENGTHS)) for i in (dirty, clean)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    loss = harness.loss(layer, clean)
    expected = loss.gradients()
    loss.values[0] = ops.convert_to_tensor(dirty)
    for ours, theirs in zip(loss.gradients(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(1, np.abs(theirs).max()))


@classes
def test_the_output_shape_is_known_before_the_weights_are_there(case):
    shape = (harness.BATCH, harness.TIME, harness.FEATURES)
    layer = case.make()
    if isinstance(layer, layers.DynamicInteractionPooling):
        shape = [(*shape[:2], 2), (*shape[:2], 3), shape]
    before = layer.compute_output_shape(shape)
    outputs = keras.tree.flatten(layer(harness.inputs()))
    before = before if isinstance(before, list) else [before]
    assert [tuple(each) for each in before] == [tuple(output.shape) for output in outputs]


@classes
def test_a_batch_gives_what_its_sentences_give_one_by_one(case):
    layer = harness.layer_of(case)
    x = harness.inputs()
    together = harness.flat(layer(x, lengths=harness.LENGTHS))
    for b, n in enumerate(harness.LENGTHS):
        alone = harness.flat(layer(x[b : b + 1, : max(n, 1)], lengths=harness.LENGTHS[b : b + 1]))
        for ours, single in zip(together, alone, strict=True):
            row = ours[b, : max(n, 1)] if ours.ndim == 3 else ours[b]
            np.testing.assert_allclose(single[0], row, atol=1e-5)


@classes
def test_a_mask_does_what_lengths_do(case):
    layer = harness.layer_of(case)
    mask = np.arange(harness.TIME) < harness.LENGTHS[:, None]
    by_lengths = harness.flat(layer(harness.inputs(), lengths=harness.LENGTHS))
    for ours, other in zip(by_lengths, harness.flat(layer(harness.inputs(), mask=mask)), strict=True):
        np.testing.assert_array_equal(ours, other)
    for every in (None, np.full(harness.BATCH, harness.TIME)):
        results = harness.flat(layer(harness.inputs(), lengths=every))
        expected = harness.flat(layer(harness.inputs(), mask=np.ones_like(mask)))
        for ours, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours, other, atol=1e-6)


@different_cases
def test_every_weight_gets_the_gradient_that_finite_differences_give(case):
    exact = backends.BACKEND == "tensorflow"
    dtype, tolerance = ("float64", {"rtol": 1e-4, "atol": 1e-6}) if exact else ("float32", {"rtol": 0.02, "atol": 0.02})
    layer = harness.new_layer(case, dtype=dtype, **harness.native(case))
    loss = harness.loss(layer, harness.inputs().astype(dtype))
    gradients = loss.gradients()
    assert all(np.abs(gradient).max() > 1e-6 for gradient in gradients)
    rng = np.random.default_rng(5)
    directions = [rng.normal(size=gradient.shape) for gradient in gradients]
    slopes = [np.sum(gradient * direction) for gradient, direction in zip(gradients, directions, strict=True)]
    if exact:  # in float64, all weights can move at once: each by as much as changes the loss by one
        directions = [direction / slope for direction, slope in zip(directions, slopes, strict=True)]
        np.testing.assert_allclose(loss.slope(directions), len(directions), rtol=1e-4 / len(directions))
        return
    for i, (direction, slope) in enumerate(zip(directions, slopes, strict=True)):
        np.testing.assert_allclose(slope, loss.difference(i, direction), **tolerance)


@cases
def test_the_config_rebuilds_the_layer(case):
    layer = case.make(name="mine", **harness.kernel(case))
    config = json.loads(json.dumps(layer.get_config()))
    again = type(layer).from_config(config)
    assert again.get_config() == layer.get_config()
    for each in (again, layer):
        each.build((harness.BATCH, harness.TIME, harness.FEATURES))
    assert [w.shape for w in again.weights] == [w.shape for w in layer.weights]


@cases
def test_a_layer_that_is_made_frozen_has_no_weights_that_a_model_trains(case):
    assert harness.model(case, trainable=False).trainable_variables == []


@classes
def test_symbolic_shapes_are_the_real_ones_with_batch_and_time_dynamic(case, other_widths):
    model = harness.model(case, **harness.kernel(case))
    symbolic, run = keras.tree.flatten(model.output), model
    if backends.BACKEND == "tensorflow":
        run, shapes = harness.graph(model)
        # What a layer says of its shape, and what a graph knows of it once other widths were traced.
        assert [x.shape for x in symbolic] == shapes
    for batch, time in ((2, 3), (3, 7), (1, 1)):
        real = harness.flat(run([harness.inputs(batch=batch, time=time), np.full(batch, time, np.int32)]))
        for tensor, value in zip(symbolic, real, strict=True):
            assert tensor.shape[0] is None
            assert tuple(n if s is None else s for s, n in zip(tensor.shape, value.shape, strict=True)) == value.shape


@classes
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", pytest.param("mixed_float16", marks=pytest.mark.slow)])
def test_half_precision_stays_near_float32(case, dtype):
    # One of the two runs in the portable kernel, the other in the native one.
    loop = harness.native(case)
    if dtype == "mixed_float16" and "kernel" in case.make().get_config():
        loop = {"kernel": "portable"}
    full, half = harness.new_layer(case, **loop), harness.new_layer(case, dtype=dtype, **loop)
    half.set_weights(full.get_weights())
    outputs = keras.tree.flatten(half(harness.inputs(), lengths=harness.LENGTHS))
    assert all(keras.backend.standardize_dtype(o.dtype) == dtype.removeprefix("mixed_") for o in outputs)
    tolerance = 0.06 if dtype == "mixed_bfloat16" else 0.01
    for ours, theirs in zip(
        harness.flat(outputs), harness.flat(full(harness.inputs(), lengths=harness.LENGTHS)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)


@pytest.mark.slow
def test_saved_layers_give_the_same_values_in_a_fresh_process(tmp_path):
    expected = harness.save(tmp_path)
    script = """
import pathlib, sys
from tests import layer_harness
print("same:", layer_harness.compare(pathlib.Path(sys.argv[1])))
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == f"same: {len(expected)}", run.stderr
