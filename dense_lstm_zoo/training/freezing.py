"""Training part of a model while the rest keeps its weights, for some epochs or all of them."""

from __future__ import annotations

import logging

import keras

from dense_lstm_zoo.models import registry
from dense_lstm_zoo.models.compiling import inner_optimizer
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training.layer_order import WORDS, decay_rates, head_layers, weights_from_the_top

_TENSORFLOW = logging.getLogger("tensorflow")


def _is_not_of_retracing(record: logging.LogRecord) -> bool:
    return "triggered tf.function retracing" not in record.getMessage()


class Freeze(keras.callbacks.Callback):
    """Keep some weights as they are: they get no gradient, no decay and no step.

    Whenever more weights are trained than in the epoch before, the optimiser begins anew, with no steps and no moments,
    for all weights: those that first get a gradient after many steps would otherwise move too far, as Adam's correction
    for its first steps is over. Its state has the same shape throughout, so that a run can resume anywhere.

    Its place is after the callback that saves the epoch. Whenever more is trained, the step is traced anew. For that
    epoch TensorFlow's warnings of retracing, which would count this, are held back.

    Args:
        part: ``"embedding"`` for the word vectors, ``"encoder"`` for all but the last layer with its CRF, or None for
            neither.
        until: The number of epochs before everything is trained. None means never.
        gradual: Train the last layer alone in the first epoch, and in each epoch after it one more layer from the top
            down, the word vectors last (Howard and Ruder 2018, section 3.3). Both directions of a layer come together.
            The weights that ``part`` names are never trained.
    """

    def __init__(self, part: str | None = None, until: int | None = None, *, gradual: bool = False) -> None:
        super().__init__()
        self.part, self.until, self.gradual = part, until, gradual
        self._frozen: list[keras.Variable] = []

    def first_whole_epoch(self, model: keras.Model) -> int:
        """Return the epoch, counted from 0, from which as much is trained as will ever be."""
        return len(self._layers(model)) - 1 if self.gradual else self.until or 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Freeze what this epoch does not train, and begin anew if it trains more than the one before."""
        frozen = self._frozen_weights(epoch)
        if epoch and len(frozen) < len(self._frozen_weights(epoch - 1)):
            _begin_anew(self.model.optimizer)
            self.model.make_train_function(force=True)
            _TENSORFLOW.addFilter(_is_not_of_retracing)
        self._frozen = frozen
        self._set(False)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Show the model as it is built: ``fit`` ends with what it does to all weights that are trained."""
        self._set(True)
        self._frozen = []
        _TENSORFLOW.removeFilter(_is_not_of_retracing)

    def _set(self, trainable: bool) -> None:
        for variable in self._frozen:
            variable.trainable = trainable

    def _frozen_weights(self, epoch: int) -> list[keras.Variable]:
        """Return the weights that an epoch does not train. The model is as it is built."""
        if self.until is not None and epoch >= self.until:
            return []
        below = self._layers(self.model)[epoch + 1 :] if self.gradual else []
        return [*_weights_of(self.model, self.part), *(weight for layer in below for weight in layer)]

    def _layers(self, model: keras.Model) -> list[list[keras.Variable]]:
        """Return the weights of each layer from the top down, without those that are never trained."""
        never = {id(weight) for weight in _weights_of(model, self.part)}
        layers = ([w for w in layer if id(w) not in never] for layer in weights_from_the_top(model))
        return [layer for layer in layers if layer]


def _weights_of(model: keras.Model, part: str | None) -> list[keras.Variable]:
    if part is None:
        return []
    if part == "embedding":
        tables = [layer for layer in registry.network(model).layers if layer.name == WORDS]
        return [variable for layer in tables for variable in layer.trainable_variables]
    head = {id(variable) for layer in head_layers(model) for variable in layer.variables}
    return [variable for variable in model.trainable_variables if id(variable) not in head]


def _begin_anew(optimizer: keras.optimizers.Optimizer) -> None:
    inner = inner_optimizer(optimizer)
    for variable in inner.variables:
        if variable is not inner._learning_rate:
            variable.assign(keras.ops.zeros_like(variable))


def train_by_layers(model: keras.Model, options: Options) -> Freeze | None:
    """Set the learning rates of a model's layers, and return the callback that freezes some, if a run wants one.

    Args:
        model: The model, with the weights it starts from.
        options: The options of the run: ``layer_decay``, ``freeze``, ``unfreeze_after``, ``unfreeze``.

    Raises:
        ValueError: Too few epochs to train all layers, or ``layer_decay`` for a model that Adam does not train.
    """
    if options.layer_decay is not None:
        decay_rates(model, options.layer_decay)
    if options.freeze is None and options.unfreeze is None:
        return None
    freeze = Freeze(options.freeze, options.unfreeze_after, gradual=options.unfreeze is not None)
    num_epochs = freeze.first_whole_epoch(model) + 1
    if options.epochs < num_epochs:
        raise ValueError(
            f"unfreeze='gradual' trains one more layer in each epoch, which takes this model {num_epochs} epochs; "
            f"received epochs={options.epochs}."
        )
    return freeze
