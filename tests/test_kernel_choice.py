"""The choice of the time loop's kernel, its description, and the replacement of one that cannot run here."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import layers
from dense_lstm_zoo.layers.recurrence import (
    compiled,
    compiled_gated_skip,
    compiled_steps,
    cudnn,
    kernels,
    lstm_programs,
    machine,
    native,
)
from tests import layer_harness as harness


def test_an_unknown_kernel_and_one_that_cannot_run_are_refused_with_what_would_run(monkeypatch):
    with pytest.raises(ValueError, match=r"Unknown value of kernel: 'compild'\. Did you mean 'compiled'"):
        layers.BiLSTM(3, kernel="compild")
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    monkeypatch.setattr(machine, "xla_works", lambda: False)
    with pytest.raises(ValueError, match=r"kernel='cudnn' cannot run here: TensorFlow sees no GPU"):
        layers.BiLSTM(3, kernel="cudnn")
    with pytest.raises(ValueError, match=r"cannot compile with XLA.*Accepted: auto, portable, native\."):
        zoo.build("dc_bilstm", vocab_size=5, num_classes=2, kernel="compiled")
    assert kernels.explain("auto") == "native: this TensorFlow cannot compile with XLA"


@pytest.mark.parametrize(
    ("gpu", "kernel", "jit"), [(True, "auto", False), (False, "auto", False), (False, "compiled", True)]
)
def test_only_a_model_whose_loops_xla_compiles_says_so(gpu, kernel, jit, monkeypatch):
    # Keras compiles a user's model with XLA where there is a GPU, unless a layer says that it cannot be.
    monkeypatch.setattr(machine, "has_gpu", lambda: gpu)
    for layer in (layers.DenseBiLSTM(1, 2, 3, kernel=kernel), layers.SkipBiLSTM(2, 3, kernel=kernel)):
        assert layer.supports_jit is jit
    assert layers.RecurrentStack(1, 2, kernel="compiled", recurrent_dropout=0.5).supports_jit is False


def test_a_model_that_xla_cannot_compile_is_trained_and_scored_without_it():
    inputs = keras.Input((5, 4))
    model = keras.Model(inputs, keras.layers.Dense(1)(layers.LSTM(3)(inputs)))
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        model.compile("sgd", "mse", jit_compile=True)
    x, y = np.ones((4, 5, 4)), np.ones((4, 5, 1))
    assert np.isfinite(model.fit(x, y, validation_data=(x, y), verbose=0).history["val_loss"]).all()


def test_a_saved_kernel_that_cannot_run_falls_back_to_portable_with_a_warning(tmp_path, monkeypatch):
    model = harness.model(harness.BY_NAME["dense_bilstm"], kernel="compiled")
    model.save(tmp_path / "m.keras")
    monkeypatch.setattr(machine, "xla_works", lambda: False)
    with pytest.warns(
        UserWarning, match="asks for kernel='compiled'; the portable kernel runs: this TensorFlow cannot"
    ):
        again = keras.saving.load_model(tmp_path / "m.keras")
    x = [harness.inputs(), harness.LENGTHS]
    np.testing.assert_allclose(again(x), model(x), atol=1e-5)


def test_describe_says_for_each_layer_which_kernel_runs_and_why(monkeypatch):
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    small = {"vocab_size": 9, "num_classes": 2, "embedding_dim": 4}
    text = str(zoo.describe(zoo.build("dc_bilstm", num_dense_layers=1, dense_units=2, top_units=3, **small)))
    assert "encoder (DenseBiLSTM)" in text
    assert "compiled in training and for small batches, native for larger predictions: there is no GPU" in text
    text = str(zoo.describe(zoo.build("stacked_bilstm", units=2, kernel="portable", **small)))
    assert text.count("portable: asked for") == 2
    monkeypatch.setattr(machine, "has_gpu", lambda: True)
    assert "cudnn: TensorFlow sees a GPU" in str(zoo.describe(zoo.build("lstm", units=2, **small)))


STACK = {"num_layers": 3, "units": 2}
BY_BATCH = "compiled in training and for small batches, native for larger predictions: there is no GPU"
NO_GPU = "compiled: there is no GPU"
NO_CUDNN = "TensorFlow sees a GPU, and cuDNN's kernel cannot run these cells"
# Without and with a GPU: what is said, and what then runs in training, for a batch of 2 and for one of 40.
DESCRIBED = {
    "bilstm": (
        lambda: layers.BiLSTM(2),
        (BY_BATCH, "compiled", "compiled", "native"),
        ("cudnn: TensorFlow sees a GPU", "cudnn", "cudnn", "cudnn"),
    ),
    "no skip": (
        lambda: layers.SkipBiLSTM(**STACK, skip="none"),
        (BY_BATCH, "compiled", "compiled", "native"),
        (f"native: {NO_CUDNN}", "native", "native", "native"),
    ),
    "gated outputs": (
        lambda: layers.SkipBiLSTM(**STACK),
        (f"layers 1 to 2 {BY_BATCH}; layers 3 to 3 {NO_GPU}", "compiled", "compiled", "native compiled"),
        (f"layers 1 to 2 native: {NO_CUDNN}; layers 3 to 3 portable: {NO_CUDNN}", *["native portable"] * 3),
    ),
    "all skip": (
        lambda: layers.SkipBiLSTM(**STACK, skip="gates", skip_distance=1, project_input=True),
        (NO_GPU, "compiled", "compiled", "compiled"),
        (f"portable: {NO_CUDNN}", "portable", "portable", "portable"),
    ),
    "highway": (
        lambda: layers.HighwayBiLSTM(**STACK),
        (NO_GPU, "compiled", "compiled", "compiled"),
        (f"portable: {NO_CUDNN}", "portable", "portable", "portable"),
    ),
    "highway network": (
        lambda: layers.BiRecurrentHighway(2),
        (NO_GPU, "compiled", "compiled", "compiled"),
        (f"portable: {NO_CUDNN}", "portable", "portable", "portable"),
    ),
    "recurrent dropout": (
        lambda: layers.RecurrentStack(2, 2, recurrent_dropout=0.5),
        (
            "portable in training: recurrent dropout; otherwise compiled for small batches, native for larger "
            "predictions: there is no GPU",
            *("portable", "compiled", "native"),
        ),
        (
            "portable in training: recurrent dropout; otherwise cudnn: TensorFlow sees a GPU",
            *("portable", "cudnn", "cudnn"),
        ),
    ),
}


@pytest.fixture
def ran(monkeypatch):
    """The kernels that run, in the order in which they are entered."""
    # A traced program is entered no more, and tracing enters both sides of a choice.
    tf.config.run_functions_eagerly(True)
    entered = []

    def spy(module, function, name):
        original = getattr(module, function)

        def run(*args, **kwargs):
            entered.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(module, function, run)

    spy(cudnn, "cudnn_lstm", "cudnn")
    spy(native, "native_lstm", "native")
    spy(compiled, "native_lstm", "native")
    for function in ("forward", "predicting", "states_from_zeros"):
        spy(lstm_programs, function, "compiled")
    spy(compiled_steps, "run_compiled_steps", "compiled")
    spy(compiled_gated_skip, "compiled_gated_outputs", "compiled")
    spy(keras.ops, "scan", "portable")
    yield entered
    tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("name", DESCRIBED)
def test_describe_says_what_really_runs(name, gpu, ran, monkeypatch):
    monkeypatch.setattr(machine, "has_gpu", lambda: gpu)
    make, *cases = DESCRIBED[name]
    explanation, *expected = cases[gpu]
    layer, kernels_of_calls = make(), []
    for training, size in ((True, 2), (False, 2), (False, 40)):
        ran.clear()
        layer(np.ones((size, 3, 2), np.float32), training=training)
        kernels_of_calls.append(set(ran))
    assert kernels_of_calls == [set(names.split()) for names in expected]
    assert layer.explain_kernel() == explanation


@pytest.mark.parametrize("kernel", ["portable", "native", "compiled", "cudnn"])
@pytest.mark.parametrize("name", ["bilstm", "no skip", "gated outputs", "all skip", "highway", "highway network"])
def test_where_a_kernel_cannot_run_some_cells_the_one_that_is_named_runs_them(name, kernel, ran):
    layer = DESCRIBED[name][0]()
    layer.kernel = kernel
    layer(np.ones((2, 3, 2), np.float32), training=True)
    assert set(ran) == set(re.findall(r"(\w+): ", layer.explain_kernel()))


@pytest.mark.parametrize(
    ("kernel", "loop", "explanation"),
    [
        ("cudnn", "lstm", "native: cudnn does not support these cells"),
        ("cudnn", "steps", "portable: cudnn does not support these cells"),
        ("native", "steps", "portable: native does not support these cells"),
        ("native", "lstm", "native: asked for"),
        ("compiled", "steps", "compiled: asked for"),
        ("portable", "steps", "portable: asked for"),
        ("cudnn", "layer", "cudnn: asked for"),
    ],
)
def test_a_kernel_that_was_asked_for_is_named_only_where_it_runs(kernel, loop, explanation):
    assert kernels.explain(kernel, loop) == explanation


@pytest.mark.parametrize(("kernel", "expected"), [("auto", "auto"), ("native", False), ("portable", False)])
def test_a_gru_uses_cudnn_only_where_the_kernel_leaves_it_the_choice(kernel, expected):
    """An export is made of ``native`` layers: on a machine with a GPU, it would hold cuDNN's op alone."""
    assert layers.RecurrentStack(2, 3, cell="gru", kernel=kernel).layers[1].use_cudnn == expected


def test_other_backends_run_the_portable_kernel(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    assert kernels.explain("auto") == "portable: Keras runs on jax"
    assert kernels.runnable() == ["auto", "portable"]
    with pytest.raises(ValueError, match="needs the TensorFlow backend, and Keras runs on jax"):
        kernels.check("compiled")
