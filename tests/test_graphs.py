"""Traced graphs: quiet however many models there are, and no part of a bundle's copy."""

import copy
import pickle

import pytest
import tensorflow as tf

from dense_lstm_zoo.data.graphs import graph, graph_if_used
from tests.bundle_harness import bundle


def test_the_graphs_of_many_models_are_not_taken_for_one_that_is_traced_again(caplog):
    tf.get_logger().propagate, before = True, tf.get_logger().propagate
    try:
        for number in range(8):
            triple = graph(lambda x, number=number: number * x, [tf.TensorSpec((None,))])
            assert triple(tf.constant([2.0])).numpy().tolist() == [2.0 * number]
    finally:
        tf.get_logger().propagate = before
    assert not caplog.records


@pytest.mark.slow
def test_a_bundle_that_has_answered_can_be_copied_and_pickled():
    for name, answer in (("bilstm", "predict"), ("bilstm_tagger", "predict"), ("dense_lstm_lm", "score")):
        bundle_in_use = bundle(name)
        expected = [str(output) for output in getattr(bundle_in_use, answer)(["a good film"])]
        if name == "bilstm":
            bundle_in_use.embed(["a"])
            bundle_in_use.explain("a")
            assert bundle_in_use.model.get_config()["name"]  # what saving as .keras needs
        for again in (copy.deepcopy(bundle_in_use), pickle.loads(pickle.dumps(bundle_in_use))):
            assert again.fingerprint() == bundle_in_use.fingerprint()
            assert [str(output) for output in getattr(again, answer)(["a good film"])] == expected


def test_what_is_called_often_is_traced_once_for_all_shapes():
    kinds = []

    def double(x):
        kinds.append(type(x).__name__)
        return 2 * x

    run = graph_if_used(double, [tf.TensorSpec((None,))])
    for size in range(30):
        assert run(tf.ones([size])).numpy().tolist() == [2.0] * size
    assert kinds == ["EagerTensor"] * 10 + ["SymbolicTensor"]


ODD = ["", " ", "A film", "doesn't", "\ud800 \x00 é", "ﬁlm ½ " * 30, "good good"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bilstm", "cnn_mc", "bilstm_tagger", "gated_skip_tagger"])
def test_texts_are_read_the_same_before_and_after_the_graph_is_made(name):
    new_bundle = bundle(name)
    first = new_bundle.predict(ODD)
    for _ in range(12):
        new_bundle.predict(ODD[2:4])
    for before, after in zip(first, new_bundle.predict(ODD), strict=True):
        assert repr(before) == repr(after)
    if "tagger" in name:
        assert [row.tags for row in new_bundle.predict([[], ["A", "film"], []])] == [
            [],
            new_bundle.predict(["A film"])[0].tags,
            [],
        ]
