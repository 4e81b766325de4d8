"""The log probability of each word of a text, as graph code shared by Python and exported models."""

from __future__ import annotations

import keras
import tensorflow as tf

_MOST_STEPS = 32  # logits are held for at most this many steps: vocabularies are large and texts may be long


def log_probabilities(core: keras.Model, token_ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Return log p(id t + 1 | ids 0 .. t) of each row, from zero states.

    Args:
        core: A language model's network, [token_ids, state, state, ...] to [logits, state, state, ...].
        token_ids: (batch, time), int32. Ids after a row's end are ignored.
        lengths: Number of predicted ids per row (batch,), from 0 to time - 1.

    Returns:
        (batch, time - 1), at least one column, float32, zeros after a row's end.
    """
    batch, steps = tf.shape(token_ids)[0], tf.maximum(tf.shape(token_ids)[1] - 1, 1)  # an empty batch has no time
    size = tf.minimum(steps, _MOST_STEPS)
    turns = -(-steps // size)
    padded = tf.pad(token_ids, [[0, 0], [0, turns * size + 1 - tf.shape(token_ids)[1]]])
    blocks = tf.TensorArray(tf.float32, turns, element_shape=(None, None))

    def step(turn: tf.Tensor, blocks: tf.TensorArray, *states: tf.Tensor) -> tuple[tf.Tensor | tf.TensorArray, ...]:
        window = padded[:, turn * size : (turn + 1) * size + 1]
        logits, *states = core([window[:, :-1], *states], training=False)
        for state, before in zip(states, start, strict=True):
            state.set_shape((None, before.shape[-1]))  # a compiled program does not report the width of its results
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(window[:, 1:], logits)
        return turn + 1, blocks.write(turn, tf.transpose(-losses)), *states

    start = [tf.zeros((batch, state.shape[-1]), state.dtype) for state in core.inputs[1:]]
    blocks = tf.while_loop(
        lambda turn, *_: turn < turns,
        step,
        (0, blocks, *start),
        shape_invariants=(tf.TensorShape(()), None, *(tf.TensorShape((None, s.shape[-1])) for s in start)),
    )[1]
    log_p = tf.transpose(blocks.concat())[:, :steps]
    return tf.where(tf.range(steps) < lengths[:, None], log_p, 0.0)
