"""An open loop over time, in which one or more recurrent layers run between batch-major inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import keras
from keras import ops

from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.layers.recurrence.kernel_classes import Kernel
from dense_lstm_zoo.layers.recurrence.tensors import Tensor, of_shape


@dataclass(frozen=True)
class Loop:
    """A batch that was made time-major and padded for the selected kernel. See ``open_loop``.

    Args:
        inputs: [T, B, n].
        lengths: Real steps of each row [B], int32.
        kernel: The selected kernel.
        batch_major: The original inputs [batch, time, n].
        padded: Whether T or B is larger than in the original inputs.
    """

    inputs: Tensor
    lengths: Tensor
    kernel: Kernel
    batch_major: Tensor
    padded: bool

    def run_steps(
        self, step: Callable[..., Tensor], width: int, inputs: Tensor, weights: Sequence[Tensor], *, reverse: bool
    ) -> Tensor:
        """Run ``step`` over time-major inputs from a carry of zeros.

        Args:
            step: Function from (carry [B, width], input [B, n], *weights) to the next carry. The whole state of the
                recurrence is packed into the carry. Programs are compiled per function, so pass the same one each time.
            width: Features of the carry.
            inputs: [T, B, n].
            weights: Everything else the step reads. Tensors that need gradients must be here.
            reverse: Whether to run from each row's last real step to its first.

        Returns:
            The carry after every step, [T, B, width], zeros past the length.
        """
        kernel = self.kernel.for_loop("steps")
        carries = kernel.steps(step, width, inputs, weights, self.lengths, reverse=reverse)
        return of_shape(carries, (*inputs.shape[:2], width))

    def close(self, results: list[Tensor]) -> list[Tensor]:
        """Turn time-major states [T, B, m] back and cut off the padding, also of states of one step [B, m]."""
        if self.padded:
            batch, num_steps = ops.shape(self.batch_major)[:2]
            results = [x[:num_steps, :batch] if len(x.shape) == 3 else x[:batch] for x in results]
        # Slices, and programs for any time and batch, lose both static sizes.
        batch, num_steps = self.batch_major.shape[:2]
        return [
            of_shape(ops.transpose(x, (1, 0, 2)), (batch, num_steps, x.shape[2]))
            if len(x.shape) == 3
            else of_shape(x, (batch, x.shape[1]))
            for x in results
        ]


def open_loop(inputs: Tensor, lengths: Tensor, kernel: str, training: bool | None, kind: str = "steps") -> Loop:
    """Pick a kernel, and transpose and pad a batch for it. This is done only here.

    A layer opens a loop, runs its cells on ``loop.inputs`` and closes the loop on their results::

        loop = recurrence.open_loop(inputs, lengths, self.kernel, training)
        states = ...
        return loop.close([states])[0]

    Args:
        inputs: [batch, time, n], right-padded.
        lengths: Real steps of each row [batch], int32.
        kernel: A name of ``kernels.KERNELS``.
        training: Whether gradients are needed.
        kind: The kind of loop, ``layer`` or ``steps``. See ``Kernel``. It decides which kernel it is padded for.
    """
    picked = kernels.pick(kernel, training)
    turned = ops.transpose(inputs, (1, 0, 2))
    padded, lengths = picked.for_loop(kind).pad(turned, lengths, kind)
    return Loop(padded, lengths, picked, inputs, padded is not turned)


def wide(x: Tensor) -> Tensor:
    """Return a loop's input in float32 or wider, so that sums over many steps stay exact enough."""
    return ops.cast(x, wide_dtype(x))


def wide_dtype(x: Tensor) -> str:
    """Return the dtype of a loop's state for an input: float64 if the input is, else float32."""
    return "float64" if keras.backend.standardize_dtype(x.dtype) == "float64" else "float32"
