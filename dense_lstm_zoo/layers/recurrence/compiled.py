"""The LSTM loop with its own backward pass, compiled by XLA once per shape and shared by all layers of a width.

One call runs one direction: the two directions of a layer run side by side on two cores, and both use one program.
Lengths act inside the loop: at a padded step states are zeros, so a loop that starts from zeros can run backward in
time without a reversed copy.
"""

from __future__ import annotations

import tensorflow as tf

from dense_lstm_zoo.layers.recurrence import lstm_programs
from dense_lstm_zoo.layers.recurrence.native import final_states, native_lstm
from dense_lstm_zoo.layers.recurrence.own_gradient import WithGradient, unwatched, with_own_gradient
from dense_lstm_zoo.layers.recurrence.portable import portable_lstm, start_or_zeros
from dense_lstm_zoo.layers.recurrence.tensors import Tensor

# Programs are compiled for few shapes (time, batch): two lengths per octave, batches in steps of 4, then of 8.
SMALL_BATCH = 32  # up to this, which is Keras's own size of a batch, predictions are compiled
_TIMES = [8, *(n for k in range(4, 24) for n in (2**k, 3 * 2 ** (k - 1)))]


def missing_steps(inputs: Tensor) -> Tensor | None:
    """Return by how many steps [1] time-major inputs [T, B, n] are shorter than what programs are compiled for.

    None in a graph traced for a single shape, which gets a program for that shape.
    """
    if _has_one_shape(inputs):
        return None
    times, num_steps = tf.constant(_TIMES), tf.shape(inputs)[:1]
    return tf.gather(times, tf.searchsorted(times, num_steps)) - num_steps


def program_shape(time: int, batch: int) -> tuple[int, int]:
    """Return the shape (time, batch) of the program that a training step on a batch of this shape is compiled for.

    Example:
        >>> program_shape(30, 200), program_shape(41, 33), program_shape(5, 3)
        ((32, 200), (48, 40), (8, 3))
    """
    padded, _ = pad_to_few_shapes(tf.zeros((time, batch, 1)), tf.zeros((batch,), tf.int32))
    return padded.shape[0], padded.shape[1]


def _has_one_shape(inputs: Tensor) -> bool:
    return not tf.executing_eagerly() and bool(inputs.shape[:2].is_fully_defined())


def pad_to_few_shapes(
    inputs: Tensor, lengths: Tensor, largest_batch: int | None = None, *, pads_time: bool = True
) -> tuple[Tensor, Tensor]:
    """Pad time-major inputs [T, B, n], and lengths, up to a shape that programs are compiled for.

    A graph traced for a single shape gets a program for that shape. Batches above ``largest_batch`` stay as they are.
    Without ``pads_time`` the missing steps are left to ``compiled_lstm`` and ``run_group``. They pad what is projected,
    which costs less than to multiply padding.
    """
    if _has_one_shape(inputs):
        return inputs, lengths
    batch = tf.shape(inputs)[1]
    missing = missing_steps(inputs) if pads_time else None
    time_padding = tf.constant(0) if missing is None else missing[0]
    unit = tf.where(batch <= 4, 1, tf.where(batch <= 32, 4, 8))
    batch_padding = (unit - batch % unit) % unit
    if largest_batch is not None:
        pads = tf.cast(batch <= largest_batch, tf.int32)
        time_padding, batch_padding = time_padding * pads, batch_padding * pads
    # tf.pad copies even if there is nothing to pad.
    padded = tf.cond(
        time_padding + batch_padding > 0,
        lambda: tf.pad(inputs, [[0, time_padding], [0, batch_padding], [0, 0]]),
        lambda: inputs,
    )
    return tf.ensure_shape(padded, (None, None, inputs.shape[-1])), tf.pad(lengths, [[0, batch_padding]])


def compiled_lstm(
    projected: Tensor,
    lengths: Tensor,
    recurrent: Tensor,
    hidden: Tensor | None,
    cell: Tensor | None,
    reverse: bool,
    final_state: bool,
) -> list[Tensor]:
    """Run one direction. Arguments and results are those of ``portable_lstm``, for a batch of ``pad_to_few_shapes``."""
    missing, num_steps = missing_steps(projected), tf.shape(projected)[0]
    if missing is not None:
        projected = pad_rows(projected, missing[0])
    final: list[Tensor] = []
    if hidden is None and not final_state:
        states = with_own_gradient(_from_zeros, (reverse,), projected, lengths, recurrent, plain=plain_from_zeros)
    else:
        start = start_or_zeros(projected, hidden, cell)
        if reverse:
            projected = tf.reverse_sequence(projected, lengths, seq_axis=0, batch_axis=1)
        tensors = projected, lengths, recurrent, *start
        states, *final = with_own_gradient(_from_start, (), *tensors, plain=_plain_from_start)
        if reverse:
            states = tf.reverse_sequence(states, lengths, seq_axis=0, batch_axis=1)
    states = states if missing is None else states[:num_steps]
    return [states, *final] if final_state else [states]


def pad_rows(x: Tensor, missing: Tensor) -> Tensor:
    """Return ``x`` with ``missing`` more rows of zeros. It is copied only if there are any."""
    padded = tf.cond(missing > 0, lambda: tf.pad(x, [[0, missing], *([[0, 0]] * (len(x.shape) - 1))]), lambda: x)
    return tf.ensure_shape(padded, (None, *x.shape[1:]))


def _from_zeros(reverse: bool, z: Tensor, lengths: Tensor, r: Tensor) -> WithGradient:
    z, r = unwatched(z, r)
    states, cells, gates = run_forward(z, lengths, r, reverse)

    def gradient(d_states: Tensor) -> tuple[Tensor, None, Tensor]:
        dz, d_r = run_backward(states, cells, gates, lengths, r, reverse, d_states)
        return dz, None, d_r

    return states, gradient


def plain_from_zeros(reverse: bool, z: Tensor, lengths: Tensor, r: Tensor) -> Tensor:
    """Return the states of one direction in ops that can be differentiated any number of times."""
    return _plain(z, lengths, r, None, None, reverse, False)[0]


def _plain(
    z: Tensor, lengths: Tensor, r: Tensor, h0: Tensor | None, c0: Tensor | None, reverse: bool, final_state: bool
) -> list[Tensor]:
    kernel = tf.ensure_shape(r, (r.shape[1] // 4, r.shape[1]))
    return portable_lstm(z, lengths, kernel, h0, c0, reverse, final_state)


def _from_start(z: Tensor, lengths: Tensor, r: Tensor, h0: Tensor, c0: Tensor) -> WithGradient:
    z, r, h0, c0 = unwatched(z, r, h0, c0)
    states, cells, gates = unwatched(*lstm_programs.forward(z.dtype, True)(z, lengths, r, tf.constant(0), h0, c0))
    h, c = final_states(lengths, (h0, states), (c0, cells))

    def gradient(d_states: Tensor, d_h: Tensor, d_c: Tensor) -> tuple[Tensor | None, ...]:
        return _gradient_from_start(states, cells, gates, lengths, r, h0, c0, d_states, d_h, d_c)

    return (states, h, c), gradient


def _plain_from_start(z: Tensor, lengths: Tensor, r: Tensor, h0: Tensor, c0: Tensor) -> list[Tensor]:
    return _plain(z, lengths, r, h0, c0, False, True)


def _gradient_from_start(
    states: Tensor,
    cells: Tensor,
    gates: Tensor,
    lengths: Tensor,
    r: Tensor,
    h0: Tensor,
    c0: Tensor,
    d_states: Tensor,
    d_h: Tensor,
    d_c: Tensor,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of projections, lengths (none), recurrent kernel, h0 and c0."""
    program = lstm_programs.backward(gates.dtype, True)
    dz, d_h0, d_c0 = program(gates, cells, lengths, r, tf.constant(0), d_states, c0, d_h, d_c)
    return dz, None, _recurrent_gradient(tf.concat([h0[None], states[:-1]], axis=0), dz), d_h0, d_c0


def run_forward(z: Tensor, lengths: Tensor, r: Tensor, reverse: bool) -> list[Tensor]:
    """Return states, c and gates of every step of one direction, from zeros."""
    return unwatched(*lstm_programs.forward(z.dtype, False)(z, lengths, r, tf.constant(int(reverse))))


def run_backward(
    states: Tensor, cells: Tensor, gates: Tensor, lengths: Tensor, r: Tensor, reverse: bool, d_states: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of the projections and of the recurrent kernel, for what ``run_forward`` returned."""
    program = lstm_programs.backward(gates.dtype, False)
    (dz,) = program(gates, cells, lengths, r, tf.constant(int(reverse)), d_states)
    dz.set_shape((None, None, r.shape[1]))
    return dz, _recurrent_gradient(previous_states(states, reverse), dz)


def previous_states(states: Tensor, reverse: bool) -> Tensor:
    """Return h_{t-1} in the order of reading, [T, B, u], for states that start from zeros."""
    nothing = tf.zeros_like(states[:1])
    return tf.concat([states[1:], nothing] if reverse else [nothing, states[:-1]], axis=0)


def _recurrent_gradient(previous: Tensor, dz: Tensor) -> Tensor:
    return tf.matmul(flat(previous), flat(dz), transpose_a=True)


def flat(x: Tensor) -> Tensor:
    """Return [T, B, n] as [T B, n]."""
    return tf.reshape(x, (-1, tf.shape(x)[-1] if x.shape[-1] is None else x.shape[-1]))


def compiled_if_small_lstm(
    projected: Tensor,
    lengths: Tensor,
    recurrent: Tensor,
    hidden: Tensor | None,
    cell: Tensor | None,
    reverse: bool,
    final_state: bool,
) -> list[Tensor]:
    """Run one direction for a prediction: compiled for small batches, with ``native_lstm`` for others.

    Nothing is kept for a backward pass. If there is one, it first runs the compiled forward pass.
    """
    start = () if hidden is None else (hidden, cell)
    options, tensors = (reverse, final_state), (projected, lengths, recurrent, *start)
    return list(with_own_gradient(_predicted, options, *tensors, plain=_plain_predicted))


def _predicted(reverse: bool, final_state: bool, z: Tensor, lengths: Tensor, r: Tensor, *start: Tensor) -> WithGradient:
    z, r, *start = unwatched(z, r, *start)  # type: ignore[assignment]
    h0, c0 = start or (None, None)

    def compiled() -> list[Tensor]:
        direction = tf.constant(int(reverse))
        # When predicting a single text, every op counts, even those that create a state of zeros.
        if not start and not final_state:
            return [lstm_programs.states_from_zeros(z.dtype)(z, lengths, r, direction)]
        program = lstm_programs.predicting(z.dtype, bool(start))
        return list(program(z, lengths, r, direction, *start)[: 3 if final_state else 1])

    results = tf.cond(
        tf.shape(z)[1] <= SMALL_BATCH,
        compiled,
        lambda: native_lstm(z, lengths, r, h0, c0, reverse, final_state, differentiable=False),
    )

    def gradient(d_states: Tensor, *d_final: Tensor) -> tuple[Tensor | None, ...]:
        sources = [tf.identity(x) for x in (z, r, *start)]
        projected, recurrent, *begin = sources
        padded, its_lengths = pad_to_few_shapes(projected, lengths)
        time, batch = tf.unstack(tf.shape(z)[:2])
        rows = [[0, tf.shape(padded)[1] - batch], [0, 0]]
        begin = [tf.pad(x, rows) for x in begin] or [None, None]
        again = compiled_lstm(padded, its_lengths, recurrent, begin[0], begin[1], reverse, final_state)
        again = [x[:time, :batch] if x.shape.rank == 3 else x[:batch] for x in again]
        dz, d_r, *d_start = tf.gradients(again, sources, [d_states, *d_final])
        return dz, None, d_r, *d_start

    return results, gradient


def _plain_predicted(
    reverse: bool, final_state: bool, z: Tensor, lengths: Tensor, r: Tensor, *start: Tensor
) -> list[Tensor]:
    h0, c0 = start or (None, None)
    return _plain(z, lengths, r, h0, c0, reverse, final_state)
