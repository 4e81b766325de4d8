"""The PyTorch side of a comparison; PyTorch is an optional peer, imported where it is used."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dense_lstm_zoo.benchmark.measure import seconds_a_step
from dense_lstm_zoo.benchmark.peers import LEARNING_RATE, SEED, Side, random_batch
from dense_lstm_zoo.benchmark.workloads import Architecture


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
