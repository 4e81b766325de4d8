"""Taggers as ONNX graphs: the bundles' tags and probabilities, in ONNX Runtime, and the CRF by brute force."""

import functools
import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from dense_lstm_zoo import layers
from dense_lstm_zoo.exports.onnx import Graph, crf
from dense_lstm_zoo.layers.recurrence.gated_skip import SKIPS
from dense_lstm_zoo.tagging.to_onnx import graphs
from tests import bundle_harness, model_harness
from tests.model_harness import VARIANTS, Case
from tests.onnx_harness import session
from tests.slow_cases import slow_but

SKIPPING = Case("gated_skip_tagger", (("num_layers", 4), ("units", 16)))  # wide enough for weights to be made smaller
CASES = [
    *(case for case in VARIANTS if case.task == "tagging"),
    *(Case("gated_skip_tagger", (("skip", skip),)) for skip in SKIPS if skip not in ("outputs", "gated_outputs")),
    Case("gated_skip_tagger", (("skip", "gated_internals"), ("project_input", True), ("skip_distance", 3))),
    Case("bilstm_tagger", (("interleave", True), ("window", 5))),
    Case("bilstm_tagger", (("char_filters", 4), ("crf", True))),
    Case("highway_tagger", (("num_layers", 1), ("crf", True))),
    Case("rhn_tagger", (("depth", 1), ("couple_gates", True))),
    Case("rhn_tagger", (("depth", 2),)),
]
# Every tagger with its defaults, and with a random field; make test-slow has the others as well.
QUICK = {case for case in CASES if not case.options or case.options == (("crf", True),)}
# Rows of different lengths, one of them empty; more padding than the longest row needs; one token; a long text.
BATCHES = [((6, 4, 3, 1, 0), 6), ((3, 5, 0), 11), ((1,), 1), ((0,), 1), ((500, 17), 500)]


@functools.cache
def random_bundle(case, dtype=None):
    """The case's bundle with random weights. No test changes it."""
    new_bundle = bundle_harness.bundle(case.name, **dict(case.options), kernel="native", dtype=dtype)
    return bundle_harness.with_random_weights(new_bundle, seed=7)


def only_graph(bundle, **options):
    """The only graph of a tagger."""
    by_name = graphs(bundle, **options)
    assert list(by_name) == ["model.onnx"]
    return by_name["model.onnx"].model("model")


def fed(bundle, lengths, time):
    """Inputs of the bundle's network, for rows of these lengths."""
    all_ids = model_harness.given_lengths(lengths, time)
    ids = np.where(all_ids > 0, 1 + all_ids % (bundle.vocabulary.size - 1), 0).astype(np.int32)
    return model_harness.features(ids, list(bundle.tokens_to_ids.signature))


def run(model, feeds):
    """The tags and probabilities of a graph, which is given what it asks for."""
    return model.run(["tags", "probabilities"], {entry.name: feeds[entry.name] for entry in model.get_inputs()})


def assert_same(actual, expected, real, atol=1e-5):
    (tags, shares), (expected_tags, likely) = actual, (np.asarray(output) for output in expected)
    assert (tags.dtype, shares.dtype, tags.shape, shares.shape) == (np.int32, np.float32, real.shape, real.shape)
    np.testing.assert_array_equal(tags[real], expected_tags[real])
    np.testing.assert_allclose(shares[real], likely[real], atol=atol, rtol=0)


def nodes_of(graph):
    """The nodes of a graph and of the bodies of its loops."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


@pytest.mark.parametrize("case", slow_but(QUICK, CASES), ids=str)
def test_the_graph_of_every_tagger_tags_as_its_bundle_does(case):
    bundle = random_bundle(case)
    model = only_graph(bundle)
    assert {node.domain for node in nodes_of(model.graph)} == {""}
    model = session(model)
    for lengths, time in BATCHES:
        feeds = fed(bundle, lengths, time)
        assert_same(run(model, feeds), bundle._decode(feeds)[:2], feeds["token_ids"] > 0)


@pytest.mark.parametrize("case", [SKIPPING, Case("bilstm_tagger", (("crf", True), ("window", 1)))], ids=str)
def test_word_vectors_and_lengths_can_take_the_place_of_the_ids_of_words(case):
    bundle = random_bundle(case)
    model = session(only_graph(bundle, shared=True))
    feeds = fed(bundle, (6, 4, 0), 8)
    real = feeds["token_ids"] > 0
    vectors = bundle.network.get_layer("embedding").get_matrix()[feeds["token_ids"]]
    other_feeds = {name: ids for name, ids in feeds.items() if name != "token_ids"}
    actual = run(model, {**other_feeds, "embedding": vectors, "lengths": real.sum(axis=1, dtype=np.int32)})
    assert_same(actual, bundle._decode(feeds)[:2], real)


def test_an_input_that_the_model_does_not_read_is_left_out():
    def inputs(**arguments):
        model = only_graph(random_bundle(Case("bilstm_tagger", tuple(arguments.items()))))
        return [entry.name for entry in model.graph.input]

    assert inputs(char_filters=4) == ["token_ids", "case_ids", "affix_ids", "char_ids"]
    assert inputs(char_dim=0) == ["token_ids", "case_ids"]
    assert inputs(char_dim=0, case=None) == ["token_ids"]


@pytest.mark.parametrize(("weights", "atol"), [("float16", 2e-3), ("int8", 5e-2)])
def test_smaller_weights_tag_nearly_the_same(weights, atol):
    bundle = random_bundle(SKIPPING)
    model = only_graph(bundle, weights=weights)
    types = {tensor.data_type for tensor in model.graph.initializer if np.prod(tensor.dims) >= 1024}
    assert types == {TensorProto.FLOAT16 if weights == "float16" else TensorProto.INT8}
    feeds = fed(bundle, (6, 4, 3, 1), 6)
    shares, expected = run(session(model), feeds)[1], np.asarray(bundle._decode(feeds)[1])
    real = feeds["token_ids"] > 0
    assert 0 < np.abs(shares - expected)[real].max() < atol


@pytest.mark.parametrize("name", ["gated_skip_tagger", "highway_tagger", "rhn_tagger"])
def test_a_model_trained_in_mixed_precision_becomes_a_graph_in_float32(name):
    case = Case(name)
    model = session(only_graph(random_bundle(case, dtype="mixed_bfloat16")))
    bundle = random_bundle(case)
    feeds = fed(bundle, (6, 4, 0), 6)
    assert_same(run(model, feeds), bundle._decode(feeds)[:2], feeds["token_ids"] > 0)


TAGS, TIME = 3, 5
LENGTHS = np.array([5, 3, 1, 0], np.int32)


@functools.cache
def field_and_session():
    """A CRF, and a graph of it alone, from potentials and lengths to tags and their probabilities."""
    field, rng = layers.CRF(TAGS), np.random.default_rng(0)
    field.set_weights([rng.normal(size=w.shape) for w in field.get_weights()])
    graph = Graph()
    potentials = graph.input("potentials", "float32", ("batch", "time", TAGS))
    tags, shares = crf.decoded(graph, field, potentials, graph.input("lengths", "int32", ("batch",)))
    graph.output(tags, "tags", "int32", ("batch", "time"))
    graph.output(shares, "probabilities", "float32", ("batch", "time"))
    return field, session(graph.model("crf"))


def by_brute_force(field, potentials):
    """The likeliest of all sequences of a sentence's tags, and the probability of each of its tags, in float64."""
    transitions, start, end = (w.astype(np.float64) for w in field.get_weights())
    sequences = np.array(list(itertools.product(range(TAGS), repeat=len(potentials))))
    scores = start[sequences[:, 0]] + end[sequences[:, -1]] + transitions[sequences[:, :-1], sequences[:, 1:]].sum(1)
    scores += potentials.astype(np.float64)[np.arange(len(potentials)), sequences].sum(axis=1)
    shares = np.exp(scores - scores.max())
    best = sequences[scores.argmax()]
    return best, ((sequences == best) * shares[:, None]).sum(axis=0) / shares.sum()


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("time", [1, TIME, TIME + 2])
def test_the_decoding_of_a_crf_is_that_of_brute_force(time, scale):
    field, model = field_and_session()
    potentials = np.random.default_rng(1).normal(scale=scale, size=(len(LENGTHS), time, TAGS)).astype(np.float32)
    lengths = np.minimum(LENGTHS, time)
    tags, shares = run(model, {"potentials": potentials, "lengths": lengths})
    assert tags.shape == shares.shape == (len(LENGTHS), time)
    for row, n in enumerate(lengths[:-1]):
        best, expected = by_brute_force(field, potentials[row, :n])
        np.testing.assert_array_equal(tags[row, :n], best)
        np.testing.assert_allclose(shares[row, :n], expected, atol=1e-5)


@pytest.mark.parametrize("case", [case for case in CASES if case.name != "bilstm_tagger"][::4] + CASES[:1], ids=str)
def test_a_batch_without_sentences_has_no_tags(case):
    bundle = random_bundle(case)
    feeds = {name: value[:0] for name, value in fed(bundle, (3, 2), 3).items()}
    tags, shares = run(session(only_graph(bundle)), feeds)
    assert (tags.shape, shares.shape) == ((0, 3), (0, 3))
