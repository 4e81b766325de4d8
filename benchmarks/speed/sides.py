"""The base of all sides: weights in one order, and training as users of each library write it.

Training is ``fit`` over a ``tf.data`` dataset for both Keras sides (timed inside, from its second step on, so that
neither its start nor a cold cache is spread over the steps) and the usual loop for PyTorch. Each turn begins with one
untimed step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.speed.measure import seconds_a_step

SEED = 7


class Side(ABC):
    """One implementation of a model. Its weights are a list in one order for all sides of a comparison."""

    @abstractmethod
    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights."""

    @abstractmethod
    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""

    @abstractmethod
    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of the inputs that all sides are given."""

    @abstractmethod
    def train(self, batch: int, time: int, steps: int) -> float:
        """Take training steps and return the seconds of one."""

    @abstractmethod
    def first_step(self, batch: int, time: int) -> float:
        """Take one training step, with all that a first one has to prepare, and return its seconds."""


class KerasSide(Side):
    """A side that is a compiled ``keras.Model``, trained by ``fit`` on endless batches of one shape."""

    model: Any

    def __init__(self) -> None:
        self._datasets: dict[tuple[int, int], Any] = {}

    @abstractmethod
    def make_dataset(self, batch: int, time: int) -> Any:
        """Return the endless dataset to train on."""

    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights."""
        return [variable.numpy() for variable in self.variables()]

    def variables(self) -> list[Any]:
        """Return the model's weights in the common order."""
        return list(self.model.trainable_variables)

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""
        for variable, value in zip(self.variables(), weights, strict=True):
            variable.assign(value)

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

        def start() -> None:
            self.prepare()
            self._fit(batch, time, 1)

        return seconds_a_step(start, 1)

    def prepare(self) -> None:
        """Do what a side's own factory does between compiling and ``fit``: nothing for a stock model."""

    def _dataset(self, batch: int, time: int) -> Any:
        if (batch, time) not in self._datasets:
            self._datasets[batch, time] = self.make_dataset(batch, time)
        return self._datasets[batch, time]

    def _fit(self, batch: int, time: int, steps: int, **options: Any) -> None:
        # shuffle=False: Keras warns that it cannot shuffle a dataset.
        self.model.fit(self._dataset(batch, time), steps_per_epoch=steps, verbose=0, shuffle=False, **options)


class FeatureSide(KerasSide):
    """A side that is a ``keras.Model`` of features [B, T, e] and lengths [B] to logits."""

    def __init__(self, architecture: Any, num_labels: int) -> None:
        super().__init__()
        import keras
        import tensorflow as tf

        self.architecture = architecture
        keras.utils.set_random_seed(SEED)
        features = keras.Input((None, architecture.features), name="features")
        lengths = keras.Input((), dtype="int32", name="lengths")
        logits = keras.layers.Dense(num_labels, dtype="float32", name="logits")(self.encode(features, lengths))
        self.model = keras.Model([features, lengths], logits)
        self.model.compile(
            optimizer=self.optimizer(),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=False,
        )
        self._call = tf.function(lambda features, lengths: self.model([features, lengths], training=False))

    @abstractmethod
    def encode(self, features: Any, lengths: Any) -> Any:
        """Return what the softmax reads."""

    @abstractmethod
    def optimizer(self) -> Any:
        """Return the optimiser."""

    @abstractmethod
    def examples(self, batch: int, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return features, lengths and labels: the same numbers in every process."""

    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``examples``."""
        import tensorflow as tf

        features, lengths, _ = self.examples(batch, time)
        return self._call(tf.constant(features), tf.constant(lengths)).numpy()

    def make_dataset(self, batch: int, time: int) -> Any:
        """Return ``examples`` over and over."""
        import tensorflow as tf

        features, lengths, labels = self.examples(batch, time)
        return tf.data.Dataset.from_tensors(((features, lengths), labels)).repeat()
