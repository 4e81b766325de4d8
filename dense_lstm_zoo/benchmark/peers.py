"""The sides of a comparison: one DC-Bi-LSTM classifier in our layers, in stock Keras layers and in PyTorch.

All compute the same function of the same weights (tests/test_benchmark.py). Training is what users of each library
write: ``fit`` over a ``tf.data`` dataset for both Keras sides (timed inside, from its second step on, so that neither
its start nor a cold cache is spread over the steps), the usual loop for PyTorch. Prediction is the model as one traced
function for both Keras sides, and the module under ``inference_mode`` for PyTorch. Each turn begins with one untimed
step.

All rows are full, but the Keras sides are given lengths or a mask and honour them, as they must with real text.
PyTorch gets neither a mask nor packed sequences inside its LSTMs, where packing would only cost it time; its pooling
alone honours the lengths.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from dense_lstm_zoo.benchmark.measure import seconds_a_step
from dense_lstm_zoo.benchmark.workloads import Architecture

LEARNING_RATE = 1e-3
SEED = 7


def random_batch(architecture: Architecture, batch: int, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features [B, T, e], lengths [B] (all T) and labels [B]: the same numbers in every process."""
    rng = np.random.default_rng(SEED)
    features = rng.normal(size=(batch, time, architecture.features)).astype(np.float32)
    labels = rng.integers(architecture.num_classes, size=batch).astype(np.int32)
    return features, np.full(batch, time, np.int32), labels


class Side(ABC):
    """One implementation of the classifier.

    Weights are a list in one order for all sides: for each layer, bottom to top, kernel [in, 4u], recurrent kernel
    [u, 4u] and bias [4u] of the forward and then of the backward direction; then the softmax's kernel and bias.
    """

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture

    @abstractmethod
    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights."""

    @abstractmethod
    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""

    @abstractmethod
    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``random_batch``."""

    @abstractmethod
    def train(self, batch: int, time: int, steps: int) -> float:
        """Take Adam steps on ``random_batch`` and return the seconds of one."""

    @abstractmethod
    def first_step(self, batch: int, time: int) -> float:
        """Take one Adam step, with all that a first one has to prepare, and return its seconds."""

    @abstractmethod
    def predict(self, batch: int, time: int, steps: int) -> float:
        """Predict ``random_batch`` over and over and return the seconds of one prediction."""


class KerasSide(Side):
    """A side that is a ``keras.Model`` of features and lengths."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__(architecture)
        import keras
        import tensorflow as tf

        keras.utils.set_random_seed(SEED)
        features = keras.Input((None, architecture.features), name="features")
        lengths = keras.Input((), dtype="int32", name="lengths")
        logits = keras.layers.Dense(architecture.num_classes, name="logits")(self.encode(features, lengths))
        self.model = keras.Model([features, lengths], logits)
        self.model.compile(
            optimizer=keras.optimizers.Adam(LEARNING_RATE),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=False,
        )
        self._call = tf.function(lambda features, lengths: self.model([features, lengths], training=False))
        self._datasets: dict[tuple[int, int], Any] = {}

    @abstractmethod
    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the pooled states."""

    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights."""
        return self.model.get_weights()

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""
        self.model.set_weights(weights)

    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``random_batch``."""
        import tensorflow as tf

        features, lengths, _ = random_batch(self.architecture, batch, time)
        return self._call(tf.constant(features), tf.constant(lengths)).numpy()

    def _dataset(self, batch: int, time: int) -> Any:
        if (batch, time) not in self._datasets:
            import tensorflow as tf

            features, lengths, labels = random_batch(self.architecture, batch, time)
            dataset = tf.data.Dataset.from_tensors(((features, lengths), labels))
            self._datasets[batch, time] = dataset.repeat()
        return self._datasets[batch, time]

    def train(self, batch: int, time: int, steps: int) -> float:
        """Run ``fit`` for one untimed and ``steps`` timed steps and return the seconds of one."""
        import keras

        clock: dict[str, float] = {}

        def begin(step: int, logs: Any = None) -> None:
            if step == 1:
                clock["begin"] = perf_counter()

        def end(epoch: int, logs: Any = None) -> None:
            clock["end"] = perf_counter()

        callback = keras.callbacks.LambdaCallback(on_train_batch_begin=begin, on_epoch_end=end)
        self._fit(batch, time, steps + 1, callbacks=[callback])
        return (clock["end"] - clock["begin"]) / steps

    def first_step(self, batch: int, time: int) -> float:
        """Return the seconds of ``fit`` for one step, its tracing and start included."""
        self._dataset(batch, time)
        return seconds_a_step(lambda: self._fit(batch, time, 1), 1)

    def _fit(self, batch: int, time: int, steps: int, **options: Any) -> None:
        # shuffle=False: Keras warns that it cannot shuffle a dataset.
        self.model.fit(self._dataset(batch, time), steps_per_epoch=steps, verbose=0, shuffle=False, **options)

    def predict(self, batch: int, time: int, steps: int) -> float:
        """Call the traced model ``steps`` times and return the seconds of one call."""
        import tensorflow as tf

        features, lengths, _ = random_batch(self.architecture, batch, time)
        tensors = tf.constant(features), tf.constant(lengths)
        self._call(*tensors)
        return seconds_a_step(lambda: self._call(*tensors).numpy(), steps)


class OurSide(KerasSide):
    """``DenseBiLSTM`` and ``MaskedPooling``."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the pooled states."""
        from dense_lstm_zoo import layers

        a = self.architecture
        options: dict[str, Any] = {"kernel": a.kernel} if a.kernel is not None else {}
        encoder = layers.DenseBiLSTM(a.num_dense_layers, a.dense_units, a.top_units, remat=a.remat, **options)
        return layers.MaskedPooling("mean")(encoder(features, lengths=lengths), lengths=lengths)


class StockSide(KerasSide):
    """Nothing but ``keras.layers``."""

    def encode(self, features: Any, lengths: Any) -> Any:
        """Return the pooled states."""
        import keras

        # A mask from lengths in stock layers: step t is real where t < length.
        steps = keras.ops.cumsum(keras.ops.ones_like(features[..., 0], dtype="int32"), axis=1)
        return stock_encoder(self.architecture.layer_units, features, steps <= lengths[:, None])


def stock_encoder(layer_units: list[int], words: Any, mask: Any) -> Any:
    """Return the mean-pooled states of a densely connected Bi-LSTM in stock Keras layers.

    Args:
        layer_units: Units of each layer, one direction; the last is the top layer.
        words: Word vectors (batch, time, features).
        mask: (batch, time), true at real steps.
    """
    import keras

    read = states = words
    for units in layer_units:
        states = keras.layers.Bidirectional(keras.layers.LSTM(units, return_sequences=True))(read, mask=mask)
        read = keras.layers.Concatenate()([read, states])
    return keras.layers.GlobalAveragePooling1D()(states, mask=mask)


class TorchSide(Side):
    """``torch.nn.LSTM`` and ``torch.cat``; one of torch's two biases is zero and frozen, as the others have one."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__(architecture)
        import torch

        torch.manual_seed(SEED)
        pairs = zip(architecture.input_widths, architecture.layer_units, strict=True)
        self.lstms = [torch.nn.LSTM(width, u, bidirectional=True, batch_first=True) for width, u in pairs]
        for lstm in self.lstms:
            for name, parameter in lstm.named_parameters():
                if name.startswith("bias_hh"):
                    torch.nn.init.zeros_(parameter)
                    parameter.requires_grad_(False)
        self.dense = torch.nn.Linear(2 * architecture.top_units, architecture.num_classes)
        trained = [p for p in torch.nn.ModuleList([*self.lstms, self.dense]).parameters() if p.requires_grad]
        # Keras adds epsilon before the bias correction: this one makes the first step the same. fused is its fastest.
        self.adam = torch.optim.Adam(trained, LEARNING_RATE, eps=1e-7 / math.sqrt(1 - 0.999), fused=True)

    def _parameters(self) -> list[tuple[Any, bool]]:
        """Return the parameters in the common order, and of each whether it is the transpose of Keras' weight."""
        found: list[tuple[Any, bool]] = []
        for lstm in self.lstms:
            for suffix in ("l0", "l0_reverse"):
                kernel, recurrent, bias = (
                    getattr(lstm, f"{n}_{suffix}") for n in ("weight_ih", "weight_hh", "bias_ih")
                )
                found += [(kernel, True), (recurrent, True), (bias, False)]
        return [*found, (self.dense.weight, True), (self.dense.bias, False)]

    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights."""
        pairs = ((parameter.detach().numpy(), transposed) for parameter, transposed in self._parameters())
        return [(value.T if transposed else value).copy() for value, transposed in pairs]

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""
        import torch

        with torch.no_grad():
            for (parameter, transposed), value in zip(self._parameters(), weights, strict=True):
                parameter.copy_(torch.from_numpy((value.T if transposed else value).copy()))

    def _forward(self, features: Any, lengths: Any) -> Any:
        import torch

        read = states = features
        for lstm in self.lstms:
            states, _ = lstm(read)
            if lstm is not self.lstms[-1]:
                read = torch.cat([read, states], dim=-1)
        real = torch.arange(features.shape[1])[None, :] < lengths[:, None]
        return self.dense((states * real[..., None]).sum(1) / lengths[:, None])

    def _batch(self, batch: int, time: int) -> tuple[Any, Any, Any]:
        import torch

        features, lengths, labels = map(torch.from_numpy, random_batch(self.architecture, batch, time))
        return features, lengths, labels.long()

    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``random_batch``."""
        import torch

        with torch.inference_mode():
            return self._forward(*self._batch(batch, time)[:2]).numpy()

    def train(self, batch: int, time: int, steps: int) -> float:
        """Take one untimed and ``steps`` timed steps of the usual loop and return the seconds of one."""
        step = self._step(batch, time)
        step()
        return seconds_a_step(step, steps)

    def first_step(self, batch: int, time: int) -> float:
        """Take one step and return its seconds."""
        return seconds_a_step(self._step(batch, time), 1)

    def _step(self, batch: int, time: int) -> Callable[[], None]:
        import torch

        features, lengths, labels = self._batch(batch, time)

        def step() -> None:
            self.adam.zero_grad()
            torch.nn.functional.cross_entropy(self._forward(features, lengths), labels).backward()
            self.adam.step()

        return step

    def predict(self, batch: int, time: int, steps: int) -> float:
        """Run the module ``steps`` times and return the seconds of one run."""
        import torch

        features, lengths, _ = self._batch(batch, time)
        with torch.inference_mode():
            self._forward(features, lengths)
            return seconds_a_step(lambda: self._forward(features, lengths).numpy(), steps)


SIDES: dict[str, type[Side]] = {"ours": OurSide, "keras": StockSide, "torch": TorchSide}
