"""Language models as ONNX graphs: the same log probabilities and states as the Keras networks, in ONNX Runtime."""

import keras
import numpy as np
import onnx
import onnxruntime
import pytest

from dense_lstm_zoo.exports.onnx import Graph, WeightsFile, trace
from dense_lstm_zoo.language.to_onnx import graphs
from dense_lstm_zoo.layers import Bias, RecurrentStack
from dense_lstm_zoo.models import registry
from tests import bundle_harness
from tests.model_harness import CHOICES, Case
from tests.onnx_harness import session
from tests.slow_cases import slow_but

TIED = (("softmax", "tied"),)
CASES = [
    *(case for case in CHOICES if case.task == "language_model"),
    *(Case(name, TIED) for name in ("residual_lstm_lm", "skip_lstm_lm")),
    Case("stacked_lstm_lm", (*TIED, ("embedding_dim", 6))),  # as wide as its layers: no projection
    Case("dense_lstm_lm", (("num_layers", 1), ("cell", "gru"))),
    Case("skip_lstm_lm", (("dtype", "mixed_bfloat16"),)),
    Case("dense_lstm_lm", (("sampled_softmax", 5),)),
]
# Every wiring with LSTMs, and every option with one of them: wirings and cells are converted apart from each other.
QUICK = [
    case for case in CASES if not case.options or case.name == "dense_lstm_lm" or ("embedding_dim", 6) in case.options
]
EOS = 14  # of the harness's words


def random_bundle(case):
    return bundle_harness.with_random_weights(bundle_harness.bundle(case.name, **dict(case.options)), seed=7)


def write_graphs(folder, bundle, weights="float32"):
    """The graphs as files with one file of weights beside them, which is returned."""
    beside = WeightsFile()
    for name, graph in graphs(bundle, weights=weights).items():
        onnx.save(graph.model(name, beside), folder / name)
    (folder / beside.name).write_bytes(beside.data)
    return folder / beside.name


def run(model, ids, states):
    """Return a graph's outputs for ids and states: log probabilities, the next states."""
    names = [tensor.name for tensor in model.get_inputs()]
    outputs = model.run(None, dict(zip(names, [ids, *states], strict=True)))
    return outputs[0], outputs[1:]


def random_ids(batch, time, seed=0):
    return np.random.default_rng(seed).integers(0, 16, (batch, time)).astype(np.int32)


def zeros(model, batch):
    return [np.zeros((batch, state.shape[-1]), np.float32) for state in model.core.inputs[1:]]


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def in_float32(bundle):
    """The bundle's network, computing in float32 whatever its policy."""
    model = registry.build(bundle.config["model"], **{**bundle.config["arguments"], "dtype": "float32"})
    model.set_weights(bundle.model.get_weights())
    return model


@pytest.mark.parametrize("case", slow_but(QUICK, CASES), ids=str)
def test_every_language_model_gives_the_same_log_probabilities_with_carried_states(case, tmp_path):
    bundle = random_bundle(case)
    write_graphs(tmp_path, bundle)
    step, score = session(tmp_path / "model.onnx"), session(tmp_path / "score.onnx")
    model = in_float32(bundle)
    for batch, sizes in ((3, (4, 1, 7)), (1, (1, 2))):
        ids = random_ids(batch, sum(sizes) + 1)
        logits, *final = (np.asarray(x) for x in model.core([ids[:, :-1], *zeros(model, batch)]))
        expected = log_softmax(logits)
        stepped = scored = zeros(model, batch)
        start = 0
        for size in sizes:
            window = ids[:, start : start + size + 1]
            actual, stepped = run(step, window[:, :-1], stepped)
            np.testing.assert_allclose(actual, expected[:, start : start + size], atol=1e-5)
            actual, scored = run(score, window, scored)
            own = np.take_along_axis(expected[:, start : start + size], window[:, 1:, None], axis=2)
            np.testing.assert_allclose(actual, own[:, :, 0], atol=1e-5)
            start += size
        for states in (stepped, scored):
            for state, final_state in zip(states, final, strict=True):
                np.testing.assert_allclose(state, final_state, atol=1e-5)


def test_a_score_is_that_of_the_bundle(tmp_path):
    bundle = random_bundle(Case("dense_lstm_lm", TIED))
    write_graphs(tmp_path, bundle)
    words = bundle.vocabulary.words
    ids = np.array([[EOS, *map(words.index, ("the", "film", "was", "<unk>", "good")), EOS]], np.int32)
    log_probabilities, _ = run(session(tmp_path / "score.onnx"), ids, zeros(bundle.model, 1))
    (expected,) = bundle.score(["the film was quaint good"])
    assert log_probabilities.sum() == pytest.approx(expected.log_probability, abs=1e-5)


def test_inputs_and_outputs_have_the_names_types_and_sizes_of_the_format():
    step, score = (
        graph.model(name).graph
        for name, graph in graphs(bundle_harness.bundle("stacked_lstm_lm", num_layers=2)).items()
    )

    def described(tensors):
        return {
            t.name: (t.type.tensor_type.elem_type, *(d.dim_param or d.dim_value for d in t.type.tensor_type.shape.dim))
            for t in tensors
        }

    float32, int32 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
    names = ["state_1_h", "state_1_c", "state_2_h", "state_2_c"]
    before = dict.fromkeys(names, (float32, "batch", 6))
    after = {f"next_{name}": (float32, "batch", 6) for name in names}
    assert described(step.input) == {"token_ids": (int32, "batch", "time"), **before}
    assert described(step.output) == {"log_probabilities": (float32, "batch", "time", 16), **after}
    assert described(score.input) == {"token_ids": (int32, "batch", "time + 1"), **before}
    assert described(score.output) == {"log_probabilities": (float32, "batch", "time"), **after}
    assert [t.name for t in step.input][1:] == names


@pytest.mark.parametrize("arguments", [{}, {"cell": "gru"}, {"cell": "simple_rnn"}, {"softmax": "tied"}], ids=str)
def test_the_graphs_are_made_of_core_operators_alone(arguments):
    for graph in graphs(bundle_harness.bundle("dense_lstm_lm", **arguments)).values():
        proto = graph.model("graph")
        assert {node.domain for node in proto.graph.node} == {""}
        assert [opset.domain for opset in proto.opset_import] == [""]


@pytest.mark.parametrize("softmax", ["full", "tied"])
def test_a_score_holds_its_logits_once_and_reads_a_tied_table_as_it_is_stored(softmax):
    score = graphs(bundle_harness.bundle("dense_lstm_lm", softmax=softmax))["score.onnx"].model("score")
    graph = onnx.shape_inference.infer_shapes(score, strict_mode=True, data_prop=True).graph
    wide = {t.name for t in graph.value_info if [d.dim_value for d in t.type.tensor_type.shape.dim][-1:] == [16]}
    made_by = [node.op_type for node in graph.node if node.output[0] in wide]
    assert made_by == ["Gemm", "Reshape"]  # a Reshape copies nothing
    assert [list(t.dims) for t in graph.initializer].count([16, 7]) == 1


def test_likelihoods_of_very_large_logits_do_not_overflow(tmp_path):
    bundle = random_bundle(Case("stacked_lstm_lm"))
    bundle.network.get_layer("logits").bias.assign(np.linspace(-2000, 2000, 16))
    write_graphs(tmp_path, bundle)
    ids = random_ids(2, 5)
    states = zeros(bundle.model, 2)
    expected = log_softmax(bundle.network([ids[:, :-1], *states])[0])
    actual, _ = run(session(tmp_path / "model.onnx"), ids[:, :-1], states)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-3)
    actual, _ = run(session(tmp_path / "score.onnx"), ids, states)
    np.testing.assert_allclose(actual, np.take_along_axis(expected, ids[:, 1:, None], 2)[..., 0], rtol=1e-5, atol=1e-3)


def large(**arguments):
    """A bundle whose table and softmax are large enough to lie in the file of weights."""
    return random_bundle(
        Case("dense_lstm_lm", (("embedding_dim", 80), ("units", 40), ("num_layers", 1), *arguments.items()))
    )


@pytest.mark.parametrize("softmax", ["full", "tied"])
def test_both_graphs_read_one_copy_of_each_large_weight(softmax, tmp_path):
    bundle = large(softmax=softmax)
    sizes = [w.size for w in bundle.model.get_weights()]
    large_sizes = [size for size in sizes if size >= 1024]
    assert len(large_sizes) == 4  # the words, two kernels, and the softmax or the projection
    beside = write_graphs(tmp_path, bundle)
    assert 4 * sum(large_sizes) <= beside.stat().st_size < 4 * sum(large_sizes) + 64 * len(large_sizes)
    for name in ("model.onnx", "score.onnx"):
        assert (tmp_path / name).stat().st_size < 4 * sum(sizes) / 2
        graph = onnx.load(tmp_path / name, load_external_data=False).graph
        assert sum(t.data_location == onnx.TensorProto.EXTERNAL for t in graph.initializer) == len(large_sizes)
        session(tmp_path / name)


def rounded(weight, weights):
    """A large weight as it is stored: in int8 with a scale per word, or per output of a kernel (inputs, outputs)."""
    array = weight.numpy()
    if array.size < 1024:
        return array
    if weights == "float16":
        return array.astype(np.float16).astype(np.float32)
    scales = np.abs(array).max(axis=1 if weight.name == "embeddings" else 0, keepdims=True) / 127
    return np.rint(array / scales) * scales


@pytest.mark.parametrize("softmax", ["full", "tied"])
@pytest.mark.parametrize(("weights", "bytes_each"), [("float16", 2), ("int8", 1)])
def test_smaller_weights_make_a_smaller_file_and_are_rounded_but_once(softmax, weights, bytes_each, tmp_path):
    bundle = large(softmax=softmax)
    large_sizes = [w.size for w in bundle.model.get_weights() if w.size >= 1024]
    beside = write_graphs(tmp_path, bundle, weights)
    assert (
        bytes_each * sum(large_sizes) <= beside.stat().st_size < bytes_each * sum(large_sizes) + 64 * len(large_sizes)
    )
    bundle.model.set_weights([rounded(w, weights) for w in bundle.model.weights])
    ids, states = random_ids(2, 6), zeros(bundle.model, 2)
    expected = log_softmax(bundle.network([ids[:, :-1], *states])[0])
    actual, _ = run(session(tmp_path / "model.onnx"), ids[:, :-1], states)
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    actual, _ = run(session(tmp_path / "score.onnx"), ids, states)
    np.testing.assert_allclose(actual, np.take_along_axis(expected, ids[:, 1:, None], axis=2)[..., 0], atol=1e-4)


@pytest.mark.parametrize("weights", ["float16", "int8"])
def test_biases_stay_in_float32_however_long_they_are(weights):
    inputs = keras.Input((None, 8), name="features")
    model = keras.Model(inputs, Bias("ones")(RecurrentStack(1, 1100, cell="simple_rnn")(inputs)))
    graph = Graph(weights)
    trace(graph, model, {"features": graph.input("features", "float32", ("b", "t", 8))})
    dtypes = {array.size: array.dtype for array in graph.arrays.values() if array.size >= 1100}
    small = np.dtype(weights)
    assert dtypes == {8 * 1100: small, 1100 * 1100: small, 2 * 1100: np.float32, 1100: np.float32}


def test_a_language_model_shares_no_words_and_takes_only_known_weights():
    bundle = bundle_harness.bundle("dense_lstm_lm")
    with pytest.raises(ValueError, match=r"a language model's words are its own.*shared_words=True.*leave it out"):
        graphs(bundle, shared=True)
    with pytest.raises(ValueError, match="Did you mean 'int8'"):
        graphs(bundle, weights="int4")


@pytest.mark.parametrize("cell", ["lstm", "gru", "simple_rnn"])
@pytest.mark.parametrize("options", [{}, {"return_all_layers": True}, {"return_state": True}], ids=str)
def test_a_stack_in_another_model_starts_from_zeros_and_returns_what_is_asked(cell, options):
    inputs = keras.Input((None, 4), name="features")
    stack = RecurrentStack(2, 4, wiring="residual", cell=cell, bias_initializer="random_normal", **options)
    model = keras.Model(inputs, stack(inputs))
    graph = Graph()
    for i, value in enumerate(trace(graph, model, {"features": graph.input("features", "float32", ("b", "t", 4))})):
        graph.output(value, f"out_{i}", "float32", [f"{i}_{axis}" for axis in range(len(value.shape))])
    x = np.random.default_rng(0).normal(size=(3, 5, 4)).astype(np.float32)
    run_session = onnxruntime.InferenceSession(
        graph.model("stack").SerializeToString(), providers=["CPUExecutionProvider"]
    )
    outputs = run_session.run(None, {"features": x})
    expected = model(x)
    for output, theirs in zip(outputs, expected if isinstance(expected, list) else [expected], strict=True):
        np.testing.assert_allclose(output, theirs, atol=1e-6)


def test_a_stack_over_padded_rows_is_refused():
    inputs, lengths = keras.Input((None, 4), name="features"), keras.Input((), dtype="int32", name="lengths")
    model = keras.Model([inputs, lengths], RecurrentStack(1, 4)(inputs, lengths=lengths))
    graph = Graph()
    tensors = {"features": graph.input("features", "float32", ("b", "t", 4))}
    with pytest.raises(ValueError, match="padded rows has no ONNX form here; leave lengths out"):
        trace(graph, model, {**tensors, "lengths": graph.input("lengths", "int32", ("b",))})


@pytest.mark.parametrize("name", ["model.onnx", "score.onnx"])
def test_a_batch_without_texts_has_no_log_probabilities(name, tmp_path):
    bundle = random_bundle(CASES[0])
    write_graphs(tmp_path, bundle)
    outputs, states = run(session(tmp_path / name), random_ids(0, 4), zeros(bundle.model, 0))
    assert outputs.shape[:2] == ((0, 4) if name == "model.onnx" else (0, 3))
    assert {state.shape[0] for state in states} == {0}
