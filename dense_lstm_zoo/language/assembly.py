"""A language model on windows of running text: carried states, the loss of a window, perplexity over an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from dense_lstm_zoo.backend import tf
from dense_lstm_zoo.language.log_likelihood import negative_log_likelihood
from dense_lstm_zoo.language.window_step import WindowStep
from dense_lstm_zoo.layers.recurrence.tensors import Tensor
from dense_lstm_zoo.models.ids_only import IdsOnly

if TYPE_CHECKING:
    import numpy.typing as npt


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class WindowLoss(keras.losses.Loss):
    """Cross-entropy on logits, summed over a window's steps and averaged over the batch.

    A learning rate of 1 and a clipping norm of 3 fit this scale. Targets of -1 do not count.
    """

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Return the loss of each row (batch,), from logits or from the targets' losses (batch, time)."""
        return ops.sum(_losses(y_true, y_pred), axis=1)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class Perplexity(keras.metrics.Metric):
    """exp(total negative log likelihood / predicted tokens), over all batches since the last reset.

    Targets of -1 do not count.

    Example:
        >>> import numpy as np
        >>> metric = Perplexity()
        >>> metric.update_state(np.array([[1, -1]]), np.zeros((1, 2, 8), "float32"))
        >>> round(float(metric.result()), 4)
        8.0
    """

    def __init__(self, name: str = "perplexity", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.total = self.add_variable((), "zeros", name="total")
        self.count = self.add_variable((), "zeros", name="count")

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch: targets (batch, time), logits (batch, time, words) or the targets' losses (batch, time)."""
        # Converted as in the loss, so that a graph runs the same ops only once for both.
        y_true = ops.convert_to_tensor(y_true, dtype=self.dtype)
        self.total.assign_add(ops.sum(_losses(y_true, y_pred)))
        self.count.assign_add(ops.sum(ops.cast(y_true >= 0, self.count.dtype)))

    def result(self) -> Tensor:
        """Return the perplexity. 1 before any token."""
        return ops.exp(self.total / ops.maximum(self.count, 1))


def _losses(targets: Tensor, predictions: Tensor) -> Tensor:
    """Return -log p of every target: computed from logits, or as it is."""
    return predictions if len(predictions.shape) == 2 else negative_log_likelihood(targets, predictions)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class LanguageModel(IdsOnly, keras.Model):
    """Logits of the next word at every step, with the state carried from one window to the next.

    Training and evaluation each carry their own state, so that neither leaks into the other, and a row starts from
    zeros where ``is_first`` is true. ``core`` is the same network without memory, with states as inputs and outputs.

    As the factories compile it, ``fit`` computes losses and gradients without a tape over the softmax
    (``full_softmax``), on some of the words if told to (``sampled_softmax``). Compiled with another loss or other
    metrics, or given sample weights, it takes Keras's own step, on all words.

    Args:
        core: A model from [token_ids, state, state, ...] to [logits, state, state, ...].
        sampled_softmax: Number of words that a training step samples for its softmax. None means all words. Whatever
            it is, predictions and scores are those of all words. Ids must be ranks by frequency in the training text,
            or ``rank_words`` be told their counts: a frequent word with a late rank would spoil the training.
        **kwargs: Arguments of ``keras.Model``.

    Call arguments:
        inputs: Ids (batch, time), which start from zero states, or a dictionary with ``token_ids`` (batch, time) and
            ``is_first`` (batch,), true where a row does not continue the last call. A batch of another size than the
            last one starts from zeros.
        training: Whether to apply dropout. Also selects which of the two states is carried.

    Returns:
        Logits (batch, time, words).

    Raises:
        ValueError: Several devices, in the scope of a ``tf.distribute`` strategy.
    """

    text_class = "LanguageModel"

    def __init__(self, core: keras.Model, sampled_softmax: int | None = None, **kwargs: Any) -> None:
        devices = tf.distribute.get_strategy().num_replicas_in_sync
        if devices > 1:  # each would carry the state of other rows than those of its next window
            raise ValueError(f"A language model carries a state between batches, on one device; received {devices}.")
        super().__init__(**kwargs)
        self.core, self.sampled_softmax = core, sampled_softmax
        # A generator draws its seed from the global one. An unused one would change the seeds of all other layers.
        self.seed_generator = None if sampled_softmax is None else keras.random.SeedGenerator()
        self._carried = _Untracked()
        self.built = True  # the core has all the weights

    def call(self, inputs: Tensor | dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Run a window. See the class for the arguments."""
        return self._run(self.core, inputs, training)

    def _run(self, network: keras.Model, inputs: Tensor | dict[str, Tensor], training: bool | None) -> Tensor:
        """Run a network with the core's inputs and states on a window. Return its first output."""
        if not isinstance(inputs, dict):
            return network([inputs, *self.zero_states(ops.shape(inputs)[0])], training=training)[0]
        token_ids, is_first = inputs["token_ids"], ops.cast(inputs["is_first"], "bool")
        variables = self.carried_states(bool(training), token_ids.shape[0])
        carried = [variable.value() for variable in variables]
        if token_ids.shape[0] is None:  # Keras traces a second batch size for any size
            rows = tf.shape(token_ids)[0]
            carried = [tf.cond(tf.shape(x)[0] == rows, lambda x=x: x, lambda x=x: _zeros(rows, x)) for x in carried]
        start = [ops.where(is_first[:, None], 0.0, state) for state in carried]
        output, *states = network([token_ids, *start], training=training)
        for variable, state in zip(variables, states, strict=True):
            variable.assign(tf.stop_gradient(tf.cast(state, variable.dtype)))
        return output

    def train_step(self, data: Any) -> dict[str, Tensor]:
        """Take a training step on a window and return the metrics. ``fit`` calls it."""
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        step = self._window_step() if sample_weight is None and self.trainable_weights else None
        if step is None:
            return super().train_step(data)
        targets, variables = ops.cast(y, "int32"), self.trainable_weights
        rows = ops.shape(targets)[0]
        losses, gradients = step.differentiate(
            lambda network: self._run(network, x, True),
            targets,
            self.optimizer.scale_loss(1 / ops.cast(rows, "float32")),
            variables,
            self.seed_generator,
        )
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        total = next(metric for metric in self.metrics if metric.name == "loss")
        total.update_state(self.compute_loss(x, y, losses), sample_weight=rows)
        return self.compute_metrics(x, y, losses)

    def _window_step(self) -> WindowStep | None:
        """Return what trains the model as it is compiled, or None if that is Keras's own step."""
        try:
            with tf.init_scope():  # it reads the optimiser's learning rate
                compiled = self.get_compile_config()
        except NotImplementedError:  # a schedule or a loss of the user's that cannot be saved
            return None
        metrics = compiled.get("metrics") or []
        if (
            not isinstance(self.loss, WindowLoss)
            or self.losses
            or self.jit_compile
            or compiled.get("loss_weights")
            or compiled.get("weighted_metrics")
            or not all(isinstance(metric, dict) and metric["class_name"] == "Perplexity" for metric in metrics)
            or tf.distribute.has_strategy()
            or any(getattr(layer, "lora_enabled", False) for layer in self.core.layers)  # their weights are sums
        ):
            return None
        if self._carried.step is None:
            try:
                self._carried.step = WindowStep(self.core, self.sampled_softmax, self._carried.order)
            except KeyError:  # another network than the factories'
                return None
        return self._carried.step

    def rank_words(self, counts: npt.ArrayLike) -> None:
        """Let a sampled softmax draw words by their frequency in the training text. Call it before ``fit``.

        Args:
            counts: How often each word occurs there, by its id (words,).

        Raises:
            ValueError: Counts of another number of words.
        """
        words, counts = self.core.outputs[0].shape[-1], np.asarray(counts)
        if counts.shape != (words,):
            raise ValueError(f"counts must have the shape ({words},), one for each word; received {counts.shape}.")
        self._carried.order, self._carried.step = np.argsort(-counts, kind="stable"), None
        self.train_function = None  # a traced one has the old order

    def carried_states(self, training: bool, batch_size: int | None) -> list[tf.Variable]:
        """Return the variables that carry the state of training or of evaluation: (batch, units) each.

        Those of ``batch_size=None`` are of any number of rows, at first of none.
        """
        for size in (batch_size, None):  # both at once: a function that is traced again may create none
            if (training, size) not in self._carried.states:
                with tf.init_scope():
                    self._carried.states[training, size] = [
                        tf.Variable(zeros, shape=(size, zeros.shape[1])) for zeros in self.zero_states(size or 0)
                    ]
        return self._carried.states[training, batch_size]

    def zero_states(self, batch_size: int | Tensor) -> list[Tensor]:
        """Return the states at the start of a text."""
        return [ops.zeros((batch_size, state.shape[-1]), state.dtype) for state in self.core.inputs[1:]]

    def summary(self, *arguments: Any, expand_nested: bool = True, **options: Any) -> None:
        """Print the layers with their shapes, as ``keras.Model.summary`` does, those of ``core`` among them."""
        super().summary(*arguments, expand_nested=expand_nested, **options)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that rebuild the model."""
        sampled = {} if self.sampled_softmax is None else {"sampled_softmax": self.sampled_softmax}
        return {"core": keras.saving.serialize_keras_object(self.core), **sampled}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LanguageModel:
        """Rebuild a saved model."""
        return cls(keras.saving.deserialize_keras_object(config["core"]), config.get("sampled_softmax"))


def _zeros(rows: Tensor, like: Tensor) -> Tensor:
    return tf.ensure_shape(tf.zeros((rows, like.shape[1]), like.dtype), (None, like.shape[1]))


class _Untracked:
    """Hides states, and layers that the core has, from Keras, which would save them with the model."""

    def __init__(self) -> None:
        self.states: dict[tuple[bool, int | None], list[tf.Variable]] = {}
        self.step: WindowStep | None = None
        self.order: np.ndarray | None = None
