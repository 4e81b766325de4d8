"""Linear-chain conditional random field: scores of tag sequences, the likeliest one, and each tag's probability."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor

_IMPOSSIBLE = -1e9  # exp(-1e9) is 0, and an infinite score would have NaN gradients


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class CRF(keras.layers.Layer):
    """Transition scores between neighbouring tags, on top of a network's tag scores (Lafferty et al. 2001).

    For a sentence of n tokens, the score of a tag sequence y is start[y_1] + sum_t potentials[t, y_t] + sum_t
    transitions[y_{t-1}, y_t] + end[y_n]. Its probability is proportional to exp(score).

    Args:
        num_tags: Number of tags K.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: Potentials (batch, time, K), right-padded.
        lengths: (batch,), the real tokens of each row. None means those of ``mask``, else all of them.
        mask: (batch, time), right-padded.

    Returns:
        The likeliest tags (batch, time), int32, -1 past the length.

    Raises:
        ValueError: ``num_tags`` is not a positive integer, or the potentials are for another number.

    Example:
        >>> import numpy as np
        >>> CRF(3)(np.eye(3, dtype="float32")[None]).numpy().tolist()
        [[0, 1, 2]]
    """

    def __init__(self, num_tags: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.supports_jit = keras.config.backend() != "tensorflow"  # XLA does not compile the gradient of its loop
        self.autocast = False  # tags are found among the scores that training sees, whatever the precision
        self.num_tags = checks.integer("num_tags", num_tags)
        self.transitions = self.add_weight(name="transitions", shape=(num_tags, num_tags), initializer="zeros")
        self.start = self.add_weight(name="start", shape=(num_tags,), initializer="zeros")
        self.end = self.add_weight(name="end", shape=(num_tags,), initializer="zeros")
        self.built = True

    def call(self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Find the likeliest tags (Viterbi)."""
        potentials, lengths, real = self._prepare(inputs, lengths, mask)
        if inputs.shape[0] == 0:  # Keras refuses the maximum of nothing
            return ops.zeros(ops.shape(inputs)[:2], "int32")
        transitions = ops.cast(self.transitions, "float32")

        def forward(best: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
            values, is_real = step[:, :-1], step[:, -1:]
            through = best[:, :, None] + transitions
            came_from = ops.cast(ops.argmax(through, axis=1), "float32")
            new = ops.max(through, axis=1) + values
            new = new - ops.max(new, axis=1, keepdims=True)  # sums over a long text would lose precision
            return ops.where(is_real > 0, new, best), came_from

        start = potentials[0] + ops.cast(self.start, "float32")
        steps = ops.concatenate([potentials, ops.cast(real, "float32")], axis=-1)
        best, pointers = ops.scan(forward, start, steps[1:])
        last = ops.cast(ops.argmax(best + ops.cast(self.end, "float32"), axis=1), "float32")[:, None]

        # pointers[t] holds the best tag of token t for each tag of token t + 1. At padding the tag stays the same.
        def backward(tag: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
            came_from = ops.take_along_axis(step[:, :-1], ops.cast(tag, "int32"), axis=1)
            tag = ops.where(step[:, -1:] > 0, came_from, tag)
            return tag, tag

        steps = ops.concatenate([pointers, ops.cast(real[1:], "float32")], axis=-1)
        _, tags = ops.scan(backward, last, ops.flip(steps, axis=0))
        tags = ops.concatenate([ops.flip(tags, axis=0), last[None]], axis=0)
        tags = ops.where(real, ops.cast(tags, "int32"), -1)
        return ops.transpose(tags[:-1, :, 0])

    def log_likelihood(self, potentials: Tensor, tags: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return log p(tags) of each row, (batch,), float32, with 0 for a row of length 0.

        A tag below 0 is unknown: the result is then the probability of the known tags, summed over all possible values
        of the unknown ones.

        Args:
            potentials: (batch, time, K).
            tags: (batch, time), integers. Values past the length are ignored.
            lengths: As in a call.
        """
        log_z = self._forward(potentials, lengths)[0]
        lengths = recurrence.resolve_lengths(potentials, lengths, None)
        tags = ops.where(recurrence.real_steps(lengths, ops.shape(potentials)[1])[:, :, 0], ops.cast(tags, "int32"), 0)
        score = ops.cond(  # summing over all agreeing sequences costs as much as the sum over all sequences
            ops.any(tags < 0),
            lambda: self._score_of_agreeing(potentials, tags, lengths),
            lambda: self._score(potentials, tags, lengths),
        )
        return ops.where(lengths > 0, score - log_z, 0.0)

    def _score(self, potentials: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """Return the score of each row's tags, (batch,). Tags past the length are 0."""
        scores, lengths, real = self._prepare(potentials, lengths)
        tags = ops.pad(ops.transpose(tags), [[0, 1], [0, 0]])
        own = ops.where(real, ops.take_along_axis(scores, tags[:, :, None], axis=2), 0.0)
        flat = ops.reshape(ops.cast(self.transitions, "float32"), (-1,))
        pairs = ops.take(flat, tags[:-1] * self.num_tags + tags[1:])
        pairs = ops.where(real[1:, :, 0], pairs, 0.0)
        ends = ops.take_along_axis(tags, ops.maximum(lengths - 1, 0)[None], axis=0)[0]
        edges = ops.take(ops.cast(self.start, "float32"), tags[0]) + ops.take(ops.cast(self.end, "float32"), ends)
        return ops.sum(own[:, :, 0], axis=0) + ops.sum(pairs, axis=0) + edges

    def _score_of_agreeing(self, potentials: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        """Return the log of the sum of exp(score) over all sequences that agree with the known tags."""
        tags = tags[..., None]
        possible = ops.logical_or(tags < 0, tags == ops.arange(self.num_tags, dtype="int32"))
        return self._forward(ops.where(possible, ops.cast(potentials, "float32"), _IMPOSSIBLE), lengths)[0]

    def marginals(self, potentials: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the probability of each tag at each token, (batch, time, K), zeros past the length."""
        shares, real = self._log_marginals(potentials, lengths)
        return ops.where(real, ops.exp(shares), 0.0)

    def log_marginals(self, potentials: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the logarithm of ``marginals``, (batch, time, K), zeros past the length. It has a gradient."""
        shares, real = self._log_marginals(potentials, lengths)
        return ops.where(real, shares, 0.0)

    def _log_marginals(self, potentials: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the logarithms of the marginals, and which steps are real: (batch, time, 1)."""
        alphas = self._forward(potentials, lengths)[1]
        scores, lengths, real = self._prepare(potentials, lengths)
        if potentials.shape[0] == 0:  # as in a call
            return ops.zeros(ops.shape(potentials), "float32"), ops.ones((*ops.shape(potentials)[:2], 1), bool)
        transitions, end = ops.cast(self.transitions, "float32"), ops.cast(self.end, "float32")

        def backward(beta: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
            values, is_real = step[:, :-1], step[:, -1:]
            before = ops.logsumexp(transitions + (beta + values)[:, None, :], axis=2)
            before = before - ops.max(before, axis=1, keepdims=True)
            beta = ops.where(is_real > 0, before, beta)
            return beta, beta

        last = ops.zeros_like(scores[0]) + end
        steps = ops.concatenate([scores[1:], ops.cast(real[1:], "float32")], axis=-1)
        _, betas = ops.scan(backward, last, ops.flip(steps, axis=0))
        betas = ops.concatenate([ops.flip(betas, axis=0), last[None]], axis=0)
        both = alphas + betas
        shares = both - ops.logsumexp(both, axis=2, keepdims=True)
        return ops.transpose(shares[:-1], (1, 0, 2)), ops.transpose(real[:-1], (1, 0, 2))

    def _prepare(
        self, potentials: Tensor, lengths: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return potentials in time-major float32, lengths, and which steps are real: [T + 1, B, 1].

        One step of padding is added: for a single token, a loop over pairs would have no steps.
        """
        if potentials.shape[-1] != self.num_tags:
            raise ValueError(f"The scores must be (batch, time, {self.num_tags}); received {tuple(potentials.shape)}.")
        potentials, lengths = recurrence.real_inputs(potentials, lengths, mask, "float32")
        scores = ops.transpose(ops.cast(potentials, "float32"), (1, 0, 2))
        scores = ops.pad(scores, [[0, 1], [0, 0], [0, 0]])
        return scores, lengths, recurrence.sequence_mask(lengths, ops.shape(scores)[0])

    def _forward(self, potentials: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return log Z (batch,), and log p(tag of step t | steps 0 to t) [T, B, K]: no sum over a whole text."""
        scores, _, real = self._prepare(potentials, lengths)
        transitions = ops.cast(self.transitions, "float32")

        def normalised(scores: Tensor) -> tuple[Tensor, Tensor]:
            total = ops.logsumexp(scores, axis=1, keepdims=True)
            return scores - total, total

        def forward(carry: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
            alpha, is_real = carry[:, :-1], step[:, -1:]
            new, total = normalised(ops.logsumexp(alpha[:, :, None] + transitions, axis=1) + step[:, :-1])
            alpha, total = ops.where(is_real > 0, new, alpha), ops.where(is_real > 0, total, 0.0)
            carry = ops.concatenate([alpha, total], axis=-1)
            return carry, carry

        start = ops.concatenate(normalised(scores[0] + ops.cast(self.start, "float32")), axis=-1)
        steps = ops.concatenate([scores, ops.cast(real, "float32")], axis=-1)
        last, carries = ops.scan(forward, start, steps[1:])
        carries = ops.concatenate([start[None], carries], axis=0)
        ends = ops.logsumexp(last[:, :-1] + ops.cast(self.end, "float32"), axis=1)
        return ops.sum(carries[:, :, -1], axis=0) + ends, carries[:, :, :-1]

    def compute_output_shape(self, inputs_shape: Shape, **_: object) -> Shape:
        """Return (batch, time)."""
        return inputs_shape[:2]

    def compute_output_spec(self, inputs: Tensor, lengths: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """Return the spec of the tags: (batch, time), int32."""
        return keras.KerasTensor(inputs.shape[:2], dtype="int32")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        return {**super().get_config(), "num_tags": self.num_tags}
