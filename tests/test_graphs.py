"""Traced graphs: quiet however many models there are, and no part of a bundle's copy."""

import copy
import pickle

import tensorflow as tf

from dense_lstm_zoo.graphs import graph
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


def test_a_bundle_that_has_answered_can_be_copied_and_pickled():
    for name, answer in (("bilstm", "predict"), ("bilstm_tagger", "predict"), ("dense_lstm_lm", "score")):
        used = bundle(name)
        expected = [str(found) for found in getattr(used, answer)(["a good film"])]
        if name == "bilstm":
            used.embed(["a"])
            used.explain("a")
            assert used.model.get_config()["name"]  # what saving as .keras needs
        for again in (copy.deepcopy(used), pickle.loads(pickle.dumps(used))):
            assert again.fingerprint() == used.fingerprint()
            assert [str(found) for found in getattr(again, answer)(["a good film"])] == expected
