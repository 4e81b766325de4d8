"""Training part of a model while the rest keeps its weights, for some epochs or all of them."""

from __future__ import annotations

import keras

from dense_lstm_zoo import registry

HEAD = ("logits", "softmax", "crf")  # layers on top of the encoder
_TABLES = ("embedding",)


def head_layers(model: keras.Model) -> list[keras.layers.Layer]:
    """Return the layers that turn the encoder's states into labels or words, a CRF among them."""
    layers = [*registry.network(model).layers, *([model.crf] if hasattr(model, "crf") else [])]
    return [layer for layer in layers if layer.name in HEAD]


class Freeze(keras.callbacks.Callback):
    """Keep some weights as they are: they get no gradient, no decay and no step.

    When everything is trained from some epoch on, the optimiser begins anew there, with no steps and no moments:
    weights that first get a gradient after many steps would otherwise move too far, as Adam's correction for its first
    steps is over. Its state has the same shape throughout, so that a run can resume anywhere.

    Its place is after the callback that saves the epoch.

    Args:
        what: ``"embedding"``, the word vectors; or ``"encoder"``, everything but the last layer, with its CRF.
        until: The number of epochs before everything is trained; None means never.
    """

    def __init__(self, what: str, until: int | None) -> None:
        super().__init__()
        self.what, self.until = what, until
        self._frozen: list[keras.Variable] = []

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Freeze, or begin to train everything."""
        if self.until is None or epoch < self.until:
            self._frozen = _chosen(self.model, self.what)
            self._set(False)
        elif epoch == self.until:
            _begin_anew(self.model.optimizer)
            self.model.make_train_function(force=True)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Show the model as it is built: ``fit`` ends with what it does to all weights that are trained."""
        self._set(True)
        self._frozen = []

    def _set(self, trainable: bool) -> None:
        for variable in self._frozen:
            variable.trainable = trainable


def _chosen(model: keras.Model, what: str) -> list[keras.Variable]:
    if what == "embedding":
        tables = [layer for layer in registry.network(model).layers if layer.name in _TABLES]
        return [variable for layer in tables for variable in layer.trainable_variables]
    head = {id(variable) for layer in head_layers(model) for variable in layer.variables}
    return [variable for variable in model.trainable_variables if id(variable) not in head]


def _begin_anew(optimizer: keras.optimizers.Optimizer) -> None:
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # wrapped for loss scaling
    for variable in inner.variables:
        if variable is not inner._learning_rate:
            variable.assign(keras.ops.zeros_like(variable))
