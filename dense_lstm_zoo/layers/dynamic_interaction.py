"""Pooling in which the layers of an encoder weigh each other's words (Xie et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers import recurrence
from dense_lstm_zoo.layers.initializers import Blocks, InitializerLike, find_initializer, fresh
from dense_lstm_zoo.layers.pooling import masked_softmax, project
from dense_lstm_zoo.layers.recurrence import Words, wide
from dense_lstm_zoo.layers.recurrence.tensors import Shape, Tensor
from dense_lstm_zoo.layers.saving import arguments_of

MODES = ("position", "vector", "projected_vector")
WEIGHTS = ("routed", "constant")


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class DynamicInteractionPooling(keras.layers.Layer):
    """Pool the top layer's states once for each layer below, with weights that depend on both (Algorithm 1).

    For each lower layer j with states u_t in R^{d_j}, and x_t = LeakyReLU(W_j h_t + b_j) in R^{d_c} of the top states
    h_t, b_t = 0 and, ``iterations`` times over the n real steps:

        c = softmax(b),  s_t = c_t mean(u_t),  v_t = sigmoid(s_t),  b_t += v_t sum(x_t)

    then w_j = (1/n) sum_t v_t x_t, and the output is [w_1; ...; w_{L-1}]. That is ``mode="position"``, one weight per
    word. In ``"vector"``, where d_c = d_j, s = (1/n) sum_t c_t u_t, v = sigmoid(s) in R^{d_c}, b_t += <v, x_t> and
    w_j = v * (1/n) sum_t x_t. In ``"projected_vector"`` a matrix P_j maps u_t to d_c features first.

    All layers are computed together. Note that v stays close to 1/2: c_t sums to 1 over the words, so v lies in
    (0.269, 0.731) if states lie in (-1, 1). Compare with ``weights="constant"`` to see what v contributes.

    Args:
        iterations: Rounds r. With 1, c is uniform.
        mode: ``position``, ``vector`` or ``projected_vector``.
        weights: ``routed``, as above, or ``constant``: v = 1/2, without routing.
        units: d_c. None means half the top layer's width (not for ``vector``).
        stop_gradient: Whether the backward pass treats c as a constant.
        negative_slope: Slope of the LeakyReLU below 0.
        kernel_initializer: Initialiser of each W_j and P_j.
        kernel_regularizer: Regulariser of all W_j together.
        **kwargs: Arguments of ``keras.layers.Layer``.

    Call arguments:
        inputs: A list [U_1, ..., U_{L-1}, U_top] of states (batch, time, features), right-padded.
        lengths: (batch,), the real steps of each row. None means those of ``mask``, else all steps.
        mask: (batch, time), right-padded, or a list with the same mask for each input.
        return_routing: Whether to return c, v and b as well.

    Returns:
        (batch, (L - 1) d_c), zeros for an empty row. With ``return_routing`` also a dictionary: ``c`` and ``b`` of the
        last round (batch, time, L - 1), and ``v``, (batch, time, L - 1), or (batch, L - 1, d_c) in the vector modes,
        where layers narrower than the widest are padded with 1/2.

    Raises:
        ValueError: An unknown mode, fewer than two inputs, inputs of another rank.

    Reference: Xie et al. 2019, section 3.4, Algorithm 1. Parameters: sum_j (d_top d_c + d_c), and d_j d_c each for P_j.

    Example:
        >>> import numpy as np
        >>> states = [np.ones((2, 4, width), "float32") for width in (6, 6, 8)]
        >>> DynamicInteractionPooling()(states, lengths=np.array([4, 2])).shape
        TensorShape([2, 8])
    """

    def __init__(
        self,
        iterations: int = 2,
        mode: str = "position",
        weights: str = "routed",
        *,
        units: int | None = None,
        stop_gradient: bool = False,
        negative_slope: float = 0.2,
        kernel_initializer: InitializerLike = "glorot_uniform",
        kernel_regularizer: keras.regularizers.Regularizer | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.iterations = checks.integer("iterations", iterations)
        self.mode = checks.one_of("mode", mode, MODES)
        self.weighting = checks.one_of("weights", weights, WEIGHTS)
        if units is not None and mode == "vector":
            raise ValueError("mode='vector' takes no units; its vectors are as long as the lower layers' states.")
        self.units = None if units is None else checks.integer("units", units)
        self.stop_gradient, self.negative_slope = stop_gradient, float(negative_slope)
        self.kernel_initializer = find_initializer(kernel_initializer)
        self.kernel_regularizer = keras.regularizers.get(kernel_regularizer)
        self.supports_masking = True

    def build(self, inputs_shape: list[Shape]) -> None:
        """Create the weights for a list of shapes (batch, time, features)."""
        *self.lower_widths, top = self._widths(inputs_shape)
        units = top // 2 if self.units is None else self.units
        if not units:
            raise ValueError(f"The top layer has {top} feature, which cannot be halved; give units.")
        self.widths = self.lower_widths if self.mode == "vector" else [units] * len(self.lower_widths)
        self.kernel = self.add_weight(
            name="kernel",
            shape=(top, sum(self.widths)),
            initializer=Blocks(fresh(self.kernel_initializer), self.widths),
            regularizer=self.kernel_regularizer,
        )
        self.bias = self.add_weight(name="bias", shape=(sum(self.widths),), initializer="zeros")
        self.projections = []
        if self.mode == "projected_vector" and self.weighting == "routed":
            self.projections = [
                self.add_weight(
                    name=f"projection_{j}", shape=(width, units), initializer=fresh(self.kernel_initializer)
                )
                for j, width in enumerate(self.lower_widths, start=1)
            ]

    def _widths(self, inputs_shape: Iterable[Any]) -> list[int]:
        shapes = list(inputs_shape)
        if len(shapes) < 2 or any(
            not isinstance(shape, list | tuple) or len(shape) != 3 or shape[-1] is None for shape in shapes
        ):
            raise ValueError(
                "DynamicInteractionPooling takes a list of at least two inputs of shape (batch, time, features), the "
                f"top layer's last; received shapes {inputs_shape}."
            )
        return [int(shape[-1]) for shape in shapes]

    def call(
        self,
        inputs: list[Tensor],
        lengths: Tensor | None = None,
        mask: Tensor | None = None,
        return_routing: bool = False,
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Pool. See the class for the arguments."""
        if len(inputs) != len(self.lower_widths) + 1:
            raise ValueError(f"The layer was built for {len(self.lower_widths) + 1} inputs; received {len(inputs)}.")
        *lower, top = (recurrence.floats(x, self.compute_dtype) for x in inputs)
        lengths = recurrence.resolve_lengths(top, lengths, mask[-1] if isinstance(mask, list | tuple) else mask)
        by_word = self.mode == "position" or self.weighting == "constant"
        words = (recurrence.real_words if by_word else recurrence.padded_words)(lengths, ops.shape(top)[1])
        x = project(words.pack(top), self.kernel, self.bias, self.negative_slope)
        steps = ops.cast(ops.maximum(lengths, 1), x.dtype)[:, None]
        zeros = ops.zeros((ops.shape(top)[0], ops.shape(top)[1], len(lower)), x.dtype)
        if self.weighting == "constant":
            routing = {"c": masked_softmax(zeros, words.mask), "v": 0.5 * ops.ones_like(zeros), "b": zeros}
            pooled = 0.5 * words.total(x) / steps
        else:
            route = self._route_positions if self.mode == "position" else self._route_vectors
            pooled, routing = route(lower, self._by_layer(x), words, steps, zeros)
        pooled = ops.cast(pooled, top.dtype)
        return (pooled, routing) if return_routing else pooled

    def _route_positions(
        self, lower: list[Tensor], x: Tensor, words: Words, steps: Tensor, b: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        means = ops.stack([ops.mean(wide(u), axis=-1) for u in lower], axis=-1)
        means = ops.where(words.mask, means, ops.zeros_like(means))
        sums = words.unpack(ops.sum(x, axis=-1))
        for _ in range(self.iterations):
            c = self._shares(b, words.mask)
            v = ops.sigmoid(c * means)
            b = b + v * sums
        pooled = words.total(self._side_by_side(words.pack(v)[..., None] * x)) / steps
        return pooled, {"c": c, "v": v, "b": b}

    def _route_vectors(
        self, lower: list[Tensor], x: Tensor, words: Words, steps: Tensor, b: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        # Project the weighted mean of the states instead of each state: the same, since the projection is linear.
        if self.projections:
            projections = _stack([wide(ops.convert_to_tensor(p)) for p in self.projections], axis=0)
        real, steps = words.mask[..., None], steps[..., None]
        u = ops.where(real, _stack([wide(u) for u in lower], axis=2), 0.0)
        x = ops.where(real, x, 0.0)
        for _ in range(self.iterations):
            c = self._shares(b, words.mask)
            s = ops.einsum("btj,btjd->bjd", c, u) / steps
            v = ops.sigmoid(ops.einsum("bjd,jdc->bjc", s, projections) if self.projections else s)
            b = b + ops.einsum("bjc,btjc->btj", v, x)
        return self._side_by_side(v * ops.sum(x, axis=1) / steps), {"c": c, "v": v, "b": b}

    def _shares(self, b: Tensor, real: Tensor) -> Tensor:
        c = masked_softmax(b, real)
        return ops.stop_gradient(c) if self.stop_gradient else c

    def _by_layer(self, x: Tensor) -> Tensor:
        """Return (..., sum of widths) as (..., layers, widest): narrow layers are padded with zeros."""
        if len(set(self.widths)) == 1:
            return ops.reshape(x, (*ops.shape(x)[:-1], len(self.widths), self.widths[0]))
        ends = [sum(self.widths[: j + 1]) for j in range(len(self.widths) - 1)]
        return _stack(ops.split(x, ends, axis=-1), axis=2)

    def _side_by_side(self, x: Tensor) -> Tensor:
        """Return (..., layers, widest) as (..., sum of widths)."""
        if len(set(self.widths)) == 1:
            return ops.reshape(x, (*ops.shape(x)[:-2], sum(self.widths)))
        return ops.concatenate([x[..., j, :width] for j, width in enumerate(self.widths)], axis=-1)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        """Return None: no steps are left."""
        return None

    def compute_output_spec(
        self, inputs: list[Tensor], *args: object, return_routing: bool = False, **kwargs: object
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """Return the specs of the outputs."""
        *lower, top = self._widths([x.shape for x in inputs])
        batch, time = inputs[-1].shape[:2]
        units = top // 2 if self.units is None else self.units
        widths = lower if self.mode == "vector" else [units] * len(lower)
        pooled = keras.KerasTensor((batch, sum(widths)), self.compute_dtype)
        if not return_routing:
            return pooled
        dtype = recurrence.wide_dtype(pooled)
        words = keras.KerasTensor((batch, time, len(lower)), dtype)
        by_word = self.mode == "position" or self.weighting == "constant"
        v = words if by_word else keras.KerasTensor((batch, len(lower), max(widths)), dtype)
        return pooled, {"c": words, "v": v, "b": words}

    def compute_output_shape(self, inputs_shape: list[Shape], **_: object) -> Shape:
        """Return (batch, features)."""
        *lower, top = self._widths(inputs_shape)
        units = top // 2 if self.units is None else self.units
        return (inputs_shape[-1][0], sum(lower) if self.mode == "vector" else units * len(lower))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the layer."""
        names = (
            *("iterations", "mode", "units", "stop_gradient", "negative_slope"),
            *("kernel_initializer", "kernel_regularizer"),
        )
        return super().get_config() | arguments_of(self, *names) | {"weights": self.weighting}


def _stack(tensors: list[Tensor], axis: int) -> Tensor:
    """Stack along ``axis`` tensors whose last two sizes may differ, padded with zeros to the largest."""
    ranks = len(tensors[0].shape)
    places = [ranks - 1] if axis == 2 else [ranks - 2, ranks - 1]
    largest = {place: max(x.shape[place] for x in tensors) for place in places}
    padded = []
    for x in tensors:
        missing = [(0, largest[place] - x.shape[place]) if place in largest else (0, 0) for place in range(ranks)]
        padded.append(ops.pad(x, missing) if any(after for _, after in missing) else x)
    return ops.stack(padded, axis=axis)
