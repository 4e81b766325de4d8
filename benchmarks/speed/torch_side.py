"""The PyTorch sides. PyTorch is an optional peer, imported where it is used."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed import language_sides, peers
from benchmarks.speed.measure import seconds_a_step
from benchmarks.speed.networks import Architecture, LanguageArchitecture
from benchmarks.speed.sides import SEED, Side


class TorchSide(Side):
    """A side in PyTorch, trained by the usual loop."""

    @abstractmethod
    def parameters(self) -> list[tuple[Any, bool]]:
        """Return the parameters in the common order, and of each whether it is the transpose of Keras' weight."""

    @abstractmethod
    def make_step(self, batch: int, time: int) -> Callable[[], None]:
        """Return a function that takes a training step."""

    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights."""
        pairs = ((parameter.detach().numpy(), transposed) for parameter, transposed in self.parameters())
        return [(value.T if transposed else value).copy() for value, transposed in pairs]

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take weights in the common order."""
        import torch

        with torch.no_grad():
            for (parameter, transposed), value in zip(self.parameters(), weights, strict=True):
                parameter.copy_(torch.from_numpy((value.T if transposed else value).copy()))

    def train(self, batch: int, time: int, steps: int) -> float:
        """Take one untimed and ``steps`` timed steps of the usual loop and return the seconds of one."""
        step = self.make_step(batch, time)
        step()
        return seconds_a_step(step, steps)

    def first_step(self, batch: int, time: int) -> float:
        """Take one step and return its seconds."""
        return seconds_a_step(self.make_step(batch, time), 1)


def torch_lstm(width: int, units: int, bidirectional: bool) -> Any:
    """Return a ``torch.nn.LSTM``. One of its two biases is zero and frozen, as the others have one."""
    import torch

    lstm = torch.nn.LSTM(width, units, bidirectional=bidirectional, batch_first=True)
    for name, parameter in lstm.named_parameters():
        if name.startswith("bias_hh"):
            torch.nn.init.zeros_(parameter)
            parameter.requires_grad_(False)
    return lstm


def lstm_parameters(lstm: Any) -> list[tuple[Any, bool]]:
    """Return a ``torch.nn.LSTM``'s kernel, recurrent kernel and bias of each direction. See ``parameters``."""
    parameters: list[tuple[Any, bool]] = []
    for suffix in ("l0", "l0_reverse")[: 2 if lstm.bidirectional else 1]:
        kernel, recurrent, bias = (getattr(lstm, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih"))
        parameters += [(kernel, True), (recurrent, True), (bias, False)]
    return parameters


class TorchClassifier(TorchSide, peers.Classifier):
    """``torch.nn.LSTM`` and ``torch.cat``."""

    def __init__(self, architecture: Architecture) -> None:
        import torch

        self.architecture = architecture
        torch.manual_seed(SEED)
        pairs = zip(architecture.input_widths, architecture.layer_units, strict=True)
        self.lstms = [torch_lstm(width, units, bidirectional=True) for width, units in pairs]
        self.dense = torch.nn.Linear(2 * architecture.top_units, architecture.num_classes)
        trained = [parameter for parameter, _ in self.parameters()]
        # Keras adds epsilon before the bias correction: this one makes the first step the same. fused is its fastest.
        self.adam = torch.optim.Adam(trained, peers.LEARNING_RATE, eps=1e-7 / math.sqrt(1 - 0.999), fused=True)

    def parameters(self) -> list[tuple[Any, bool]]:
        """Return the parameters in the common order, and of each whether it is the transpose of Keras' weight."""
        layers = [pair for lstm in self.lstms for pair in lstm_parameters(lstm)]
        return [*layers, (self.dense.weight, True), (self.dense.bias, False)]

    def _forward(self, features: Any, lengths: Any) -> Any:
        import torch

        inputs = states = features
        for lstm in self.lstms:
            states, _ = lstm(inputs)
            if lstm is not self.lstms[-1]:
                inputs = torch.cat([inputs, states], dim=-1)
        real = torch.arange(features.shape[1])[None, :] < lengths[:, None]
        return self.dense((states * real[..., None]).sum(1) / lengths[:, None])

    def _batch(self, batch: int, time: int) -> tuple[Any, Any, Any]:
        import torch

        features, lengths, labels = map(torch.from_numpy, peers.random_batch(self.architecture, batch, time))
        return features, lengths, labels.long()

    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``random_batch``."""
        import torch

        with torch.inference_mode():
            return self._forward(*self._batch(batch, time)[:2]).numpy()

    def make_step(self, batch: int, time: int) -> Callable[[], None]:
        """Return a function that takes a step of Adam on ``random_batch``."""
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


class TorchLanguageModel(TorchSide):
    """``torch.nn.LSTM`` and ``torch.cat``."""

    def __init__(self, architecture: LanguageArchitecture) -> None:
        import torch

        self.architecture = a = architecture
        torch.manual_seed(SEED)
        self.embedding = torch.nn.Embedding(a.vocab_size, a.embedding_dim)
        *widths, width_above = a.input_widths
        self.lstms = [torch_lstm(width, a.units, bidirectional=False) for width in widths]
        self.dense = torch.nn.Linear(width_above, a.vocab_size)
        self.trained = [parameter for parameter, _ in self.parameters()]
        self.sgd = torch.optim.SGD(self.trained, language_sides.LEARNING_RATE, fused=True)
        self.dropout = torch.nn.Dropout(a.dropout)

    def parameters(self) -> list[tuple[Any, bool]]:
        """Return the parameters in the common order, and of each whether it is the transpose of Keras' weight."""
        layers = [pair for lstm in self.lstms for pair in lstm_parameters(lstm)]
        return [(self.embedding.weight, False), *layers, (self.dense.weight, True), (self.dense.bias, False)]

    def _forward(self, ids: Any, start: list[Any]) -> tuple[Any, list[Any]]:
        import torch

        below, ends = self.dropout(self.embedding(ids)), []
        for lstm, state in zip(self.lstms, start, strict=True):
            states, end = lstm(below, state)
            below = torch.cat([below, self.dropout(states)], dim=-1)
            ends.append(tuple(part.detach() for part in end))
        return self.dense(below), ends

    def _windows(self, batch: int, time: int) -> list[tuple[Any, Any]]:
        import torch

        ids, targets = map(torch.from_numpy, language_sides.random_windows(self.architecture, batch, time))
        return list(zip(ids, targets.long(), strict=True))

    def logits(self, batch: int, time: int) -> np.ndarray:
        """Return the logits of ``random_windows`` [windows, B, T, V], the first from zeros, the others going on."""
        import torch

        self.dropout.eval()
        outputs, state = [], [None] * len(self.lstms)
        with torch.inference_mode():
            for ids, _ in self._windows(batch, time):
                logits, state = self._forward(ids, state)
                outputs.append(logits.numpy())
        self.dropout.train()
        return np.stack(outputs)

    def make_step(self, batch: int, time: int) -> Callable[[], None]:
        """Return a function that takes a step of SGD on the next of ``random_windows``."""
        import torch

        windows = itertools.cycle(self._windows(batch, time))
        state: list[Any] = [None] * len(self.lstms)

        def step() -> None:
            ids, targets = next(windows)
            self.sgd.zero_grad()
            logits, state[:] = self._forward(ids, state)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
            (loss / batch).backward()
            torch.nn.utils.clip_grad_norm_(self.trained, language_sides.CLIP_NORM)
            self.sgd.step()

        return step
