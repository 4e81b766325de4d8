"""Every registered model of every task is tested the moment it is registered: the cases come from ``list_models()``."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.classification import distillation
from dense_lstm_zoo.classification.embedding import pooled_of
from dense_lstm_zoo.layers.kernel_layer import KernelLayer
from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.models import registry
from tests import model_harness as harness
from tests.bundle_harness import WORDS
from tests.bundle_harness import bundle as made
from tests.slow_cases import slow_but

ROOT = Path(__file__).parents[1]


def fed(case):
    """The model that tests share, what it takes and how many steps of each row are real."""
    model, token_ids = harness.shared(case), harness.ids()
    return model, harness.inputs(model, token_ids), harness.lengths_of(case.task, token_ids)


def test_every_registered_model_is_a_case_and_every_task_has_one():
    assert [case.name for case in harness.CASES] == zoo.list_models()
    assert {case.task for case in harness.CASES} == set(tasks.names())


@harness.choices
def test_the_closed_formula_counts_what_the_built_model_has(case):
    for biases in (True, False):
        by_formula = zoo.count_encoder_parameters(case.name, biases=biases, **case.arguments)
        assert by_formula == zoo.count_encoder_parameters(harness.shared(case), biases=biases)


@harness.cases
def test_describe_prints_the_count_of_the_defaults_and_every_argument(case):
    page = str(zoo.describe(case.name))
    count, without = (zoo.count_encoder_parameters(case.name, biases=biases) for biases in (True, False))
    assert f"{count:,} ({without:,} without biases)" in page
    assert set(re.findall(r"^    (\w+) ", page, re.M)) == set(registry.entry(case.name).arguments)


@harness.cases
def test_a_summary_shows_the_shape_of_every_layer(case):
    lines, model = [], harness.shared(case)
    model.summary(line_length=120, print_fn=lines.append)
    page = "\n".join(lines)
    assert "?" not in page
    layers = getattr(model, "core", model).layers
    assert page.count("(None") >= len(layers)
    assert all(re.search(rf"\b{layer.name} ", page) for layer in layers)


ALONE = (1, 4)  # rows of some words and of none, in a batch with longer ones


@harness.variants
def test_padding_and_company_never_change_a_result(case):
    model, x, lengths = fed(case)
    with harness.running(model, "native"):
        together = model(x)
        assert np.isfinite(together).all()
        longer = tf.nest.map_structure(lambda ids: np.pad(ids, [(0, 0), (0, 5), *[(0, 0)] * (ids.ndim - 2)]), x)
        expected = harness.real_part(together, lengths)
        np.testing.assert_allclose(harness.real_part(model(longer), lengths), expected, atol=1e-5)
        alone = [
            harness.real_part(model(tf.nest.map_structure(lambda ids, i=i, n=n: ids[i : i + 1, : max(1, n)], x)), [n])
            for i, n in enumerate(lengths)
            if i in ALONE
        ]
        rows = np.concatenate([harness.real_part(together[i : i + 1], lengths[i : i + 1]) for i in ALONE])
        np.testing.assert_allclose(np.concatenate(alone), rows, atol=1e-5)


def values_and_gradients(model, x, y):
    """The logits, and the gradient of the model's loss by each trainable weight."""
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = model.compute_loss(x, y, logits)
    gradients = tape.gradient(loss, [weight.value for weight in model.trainable_weights])
    assert all(gradient is not None for gradient in gradients)
    return np.asarray(logits), [np.asarray(tf.convert_to_tensor(gradient)) for gradient in gradients]


@harness.slow_but_one_of_each_task([case for case in harness.VARIANTS if case.task == "classification"])
def test_the_softmax_of_every_classifier_reads_what_embed_returns(case):
    model, x, _ = fed(case)
    signature = tf.nest.map_structure(lambda ids: tf.TensorSpec([None] * 2 + list(ids.shape[2:]), tf.int32), x)
    with harness.running(model, "native"):
        vectors = pooled_of(model, signature)(x).numpy()
        kernel, bias = model.get_layer("logits").get_weights()
        np.testing.assert_allclose(vectors @ kernel + bias, model(x), atol=1e-5)
        longer = tf.nest.map_structure(lambda ids: np.pad(ids, [(0, 0), (0, 5), *[(0, 0)] * (ids.ndim - 2)]), x)
        np.testing.assert_allclose(pooled_of(model, signature)(longer), vectors, atol=1e-5)


# The others' recurrent layers are among those of these models.
OF_EVERY_LOOP = {"lstm", "bilstm", "dc_bilstm", "lm_classifier", "dense_lstm_lm"}
OF_EVERY_LOOP |= {"gated_skip_tagger", "highway_tagger", "rhn_tagger"}


def test_every_recurrent_layer_of_a_model_is_run_by_every_kernel():
    recurrent = {
        case.name: {
            type(layer) for layer in registry.network(harness.shared(case)).layers if isinstance(layer, KernelLayer)
        }
        for case in harness.CASES
    }
    assert set().union(*(recurrent[name] for name in OF_EVERY_LOOP)) == set().union(*recurrent.values())


@harness.variants
def test_every_trainable_weight_gets_a_gradient_and_the_same_from_every_kernel(case):
    model, token_ids = harness.shared(case), harness.ids(time=4)
    x, y = harness.inputs(model, token_ids), harness.targets(case.task, token_ids)
    results = {}
    for kernel in kernels.runnable() if case.name in OF_EVERY_LOOP and not case.options else ["native"]:
        with harness.running(model, kernel):
            results[kernel] = values_and_gradients(model, x, y)
    logits, gradients = results["native"]
    for weight, gradient in zip(model.trainable_weights, gradients, strict=True):
        assert np.abs(gradient).max() > 1e-7, weight.path
    for kernel, (other_logits, theirs) in results.items():
        np.testing.assert_allclose(other_logits, logits, atol=1e-5, err_msg=kernel)
        for weight, a, b in zip(model.trainable_weights, theirs, gradients, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5, err_msg=f"{kernel}: {weight.path}")


# Of taggers the one with the fewest loops: tests of whole trainings have the others'.
LEARNERS = [harness.Case(name) for name in ("dc_bilstm", "dense_lstm_lm", "bilstm_tagger")]


@pytest.mark.parametrize("case", slow_but(LEARNERS, harness.CASES), ids=str)
def test_fit_learns_a_handful_of_rows_by_every_trainable_weight_and_leaves_the_others_alone(case):
    model = case.build(
        kernel="native",  # tests of whole trainings compile their loops
        **case.accepted(learning_rate=0.05, l2=0.0, optimizer="adam", clip_norm=5.0, init_range=0.5),
    )
    before = {w.path: w.numpy() for w in model.weights}
    token_ids = harness.ids(12, seed=4)[:9]
    x, y = harness.inputs(model, token_ids), harness.targets(case.task, token_ids)
    step, traced = model.train_step, []
    model.train_step = lambda data: traced.append(data) or step(data)
    again = tf.nest.map_structure(lambda rows: np.concatenate([rows] * 200), (x, y))  # 200 epochs would take seconds
    model.fit(*again, batch_size=9, shuffle=False, verbose=0)
    assert len(traced) == 1  # a trace that makes variables is done a second time, which takes seconds
    predictions = np.asarray(model(x)).argmax(axis=-1)
    assert (predictions == y)[y >= 0].all()
    changed = {w.path for w in model.weights if not np.array_equal(before[w.path], w.numpy())}
    assert changed == {w.path for w in model.trainable_weights}
    frozen = [w for w in model.non_trainable_weights if "frozen_table" in w.path]
    assert bool(frozen) == ("num_frozen_words" in case.arguments)


@harness.slow_but_one_of_each_task(harness.CASES)
def test_dropout_acts_in_training_and_never_in_inference(case):
    token_ids = harness.ids()
    for rate in case.rates:
        model = case.build(**{rate: 0.5}, kernel="native")
        x = harness.inputs(model, token_ids)
        trained = [np.asarray(model(x, training=True)) for _ in range(2)]
        assert not np.allclose(*trained), rate
        np.testing.assert_array_equal(model(x, training=False), model(x, training=False))


@harness.slow_but_one_of_each_task(harness.CASES)
def test_mixed_precision_keeps_logits_in_float32_and_near(case):
    full, half = case.build(kernel="native"), case.build(kernel="native", dtype="mixed_bfloat16")
    half.set_weights(full.get_weights())
    token_ids = harness.ids()
    x, y = harness.inputs(half, token_ids), harness.targets(case.task, token_ids)
    lengths = harness.lengths_of(case.task, token_ids)
    logits = half(x)
    assert logits.dtype == "float32"
    assert registry.network(half).get_layer("logits").compute_dtype == "float32"
    np.testing.assert_allclose(harness.real_part(logits, lengths), harness.real_part(full(x), lengths), atol=0.05)
    half.run_eagerly = True  # tracing takes longer than all the rest
    half.fit(x, y, verbose=0)
    assert np.isfinite(half.predict_on_batch(x)).all()


def test_a_student_in_float16_keeps_its_optimiser():
    model = harness.tiny("lstm", dtype="mixed_float16")
    names = [variable.path for variable in model.optimizer.variables]
    distillation.compile_student(model, 1.0, 0.5, is_several=False)
    distillation.compile_as_built(model, is_several=False)
    assert [variable.path for variable in model.optimizer.variables] == names


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(harness.REPRESENTATIVES))
def test_in_float16_the_loss_is_scaled(name):
    """Else small gradients are zero there."""
    half = harness.tiny(name, dtype="mixed_float16")
    assert isinstance(half.optimizer, keras.optimizers.LossScaleOptimizer)
    x, y = harness.inputs(half, harness.ids()), harness.targets(registry.entry(name).task, harness.ids())
    half.fit(x, y, verbose=0)
    assert np.isfinite(half.predict_on_batch(x)).all()
    assert not isinstance(harness.tiny(name).optimizer, keras.optimizers.LossScaleOptimizer)


@harness.slow_but_one_of_each_task(harness.VARIANTS)
def test_a_saved_model_is_the_same(case, tmp_path):
    model, x, _ = fed(case)
    model.save(tmp_path / "m.keras")
    again = keras.saving.load_model(tmp_path / "m.keras")
    with harness.running(model, "native"), harness.running(again, "native"):
        np.testing.assert_allclose(again(x), model(x), atol=1e-6)
        model.run_eagerly = again.run_eagerly = True  # two traces would take longer than all the rest
        y = harness.targets(case.task, harness.ids())
        scores = [network.evaluate(x, y, verbose=0, return_dict=True) for network in (again, model)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)


@pytest.mark.slow
def test_saved_models_give_the_same_logits_in_a_fresh_process_and_train_on(tmp_path):
    expected = {}
    for case in harness.CASES:
        model, x, _ = fed(case)
        model.save(tmp_path / f"{case}.keras")
        expected[str(case)] = np.asarray(model(x))
    np.savez(tmp_path / "expected.npz", **expected)
    script = """
import sys, pathlib, numpy as np, keras
import dense_lstm_zoo.keras_classes
folder = pathlib.Path(sys.argv[1])
expected = np.load(folder / "expected.npz")
models = {case: keras.saving.load_model(folder / f"{case}.keras") for case in expected.files}
from tests import model_harness as harness  # which registers some of the classes itself
for case in harness.CASES:
    model = models[str(case)]
    x = harness.inputs(model, harness.ids())
    np.testing.assert_allclose(model(x), expected[str(case)], atol=1e-6)
    model.fit(x, harness.targets(case.task, harness.ids()), verbose=0)
print("same:", len(expected.files))
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout.strip() == f"same: {len(expected)}", run.stderr


@harness.cases
def test_the_kernel_of_every_recurrent_layer_is_told(case):
    with harness.running(harness.shared(case), "compiled"):
        kernels_by_layer = zoo.describe(harness.shared(case)).kernels
    assert set(kernels_by_layer.values()) <= {"compiled: asked for"}
    assert kernels_by_layer or case.name == "cnn_mc"


@harness.cases
def test_docstrings_document_every_argument(case):
    entry = registry.entry(case.name)
    pages = "\n".join(inspect.getdoc(function) for function in (entry.factory, *entry.options))
    assert set(re.findall(r"^\s+(\w+): ", pages, re.M)) >= set(entry.arguments)


@harness.slow_but_one_of_each_task(harness.CASES)
def test_a_bundle_that_is_saved_rebuilds_the_model_from_its_config(case, tmp_path, monkeypatch):
    bundle = made(case.name)
    monkeypatch.setattr(
        bundle.task.module("report"), "write", lambda *_: None
    )  # drawing takes longer than all the rest
    bundle.save(tmp_path / "run")
    again = zoo.load(tmp_path / "run")
    assert (
        again.config
        == json.loads((tmp_path / "run" / "config.json").read_text())
        == json.loads(json.dumps(bundle.config))
    )
    assert (again.vocabulary, again.labels) == (bundle.vocabulary, bundle.labels)
    x = harness.inputs(bundle.model, np.minimum(harness.ids(), len(WORDS)))
    np.testing.assert_array_equal(again.model(x), bundle.model(x))
