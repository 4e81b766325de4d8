"""The kernels: what each runs, what it needs, and which other kernel runs the rest.

TensorFlow is imported only if one of its kernels runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import keras

from dense_lstm_zoo.layers.recurrence import machine
from dense_lstm_zoo.layers.recurrence.portable import portable_lstm, portable_steps
from dense_lstm_zoo.layers.recurrence.tensors import Tensor


class Kernel:
    """A way to run loops over time. There are three kinds of loop.

    ``layer`` is an LSTM layer, ``lstm`` an LSTM whose inputs are projected before they reach the kernel, and ``steps``
    any other recurrence, given to the kernel as a single step. A kernel's class defines only what it runs itself.
    ``for_loop`` returns the kernel for the rest.
    """

    name: ClassVar[str]
    projects_inputs: ClassVar[bool] = False  # whether it runs a layer with ``lstm_of_inputs`` instead of ``lstm``
    groups_layers: ClassVar[bool] = False  # whether densely connected layers run as ``dense_bilstm``, not one by one
    skips: ClassVar[tuple[str, ...]] = ()  # the skips that ``gated_skip`` supports (others run as steps)
    instead: ClassVar[Mapping[str, Kernel]] = {}  # kinds of loop that it does not run -> the kernel that does
    in_predictions: ClassVar[str] = ""  # when it runs, if that depends on the size of a prediction

    def problem(self) -> str:
        """Return why this kernel cannot run here, or an empty string."""
        if keras.config.backend() != "tensorflow":
            return f"it needs the TensorFlow backend, and Keras runs on {keras.config.backend()}"
        return ""

    def for_loop(self, kind: str) -> Kernel:
        """Return the kernel that runs this kind of loop: this one or its replacement."""
        return self.instead.get(kind, self)

    def pad(self, inputs: Tensor, lengths: Tensor, kind: str) -> tuple[Tensor, Tensor]:
        """Return time-major inputs [T, B, n] and lengths [B], padded to a shape that this kernel runs a loop in."""
        return inputs, lengths

    def lstm(
        self,
        projected: Tensor,
        lengths: Tensor,
        recurrent: Tensor,
        hidden: Tensor | None,
        cell: Tensor | None,
        *,
        reverse: bool,
        final_state: bool,
    ) -> list[Tensor]:
        """Run one direction of an LSTM. See ``portable_lstm``."""
        raise NotImplementedError

    def lstm_of_inputs(
        self,
        inputs: Tensor,
        lengths: Tensor,
        weights: Sequence[Tensor],
        hidden: Tensor | None,
        cell: Tensor | None,
        *,
        reverse: bool,
    ) -> list[Tensor]:
        """Run one direction of an LSTM including the projection of its inputs. See ``cudnn_lstm``."""
        raise NotImplementedError

    def gated_skip(
        self,
        projected: Tensor,
        k: Tensor,
        lengths: Tensor,
        recurrent: Tensor,
        *,
        reverse: bool,
        step: Callable[..., Tensor],
    ) -> Tensor:
        """Run one direction of an LSTM with one of ``skips`` inside its cells, by ``step``. See ``skip_lstm``."""
        raise NotImplementedError

    def steps(
        self,
        step: Callable[..., Tensor],
        width: int,
        inputs: Tensor,
        weights: Sequence[Tensor],
        lengths: Tensor,
        *,
        reverse: bool,
    ) -> Tensor:
        """Run one direction of any recurrence. See ``portable_steps``."""
        raise NotImplementedError


class Portable(Kernel):
    """``keras.ops`` alone: runs everywhere, and is the only kernel that supports a ``recurrent_mask``."""

    name = "portable"
    lstm = staticmethod(portable_lstm)
    steps = staticmethod(portable_steps)

    def problem(self) -> str:
        """Return an empty string."""
        return ""


PORTABLE = Portable()


class Native(Kernel):
    """TensorFlow's own ops, uncompiled."""

    name = "native"
    instead: ClassVar[Mapping[str, Kernel]] = {"steps": PORTABLE}

    def lstm(self, *arguments: Any, **options: Any) -> list[Tensor]:
        """Run one direction of an LSTM."""
        from dense_lstm_zoo.layers.recurrence.native import native_lstm

        return native_lstm(*arguments, **options)


NATIVE = Native()


class Compiled(Kernel):
    """An XLA program for each shape, with the project's own backward pass."""

    name = "compiled"
    groups_layers = True
    skips = ("gated_outputs",)

    def problem(self) -> str:
        """Return why this kernel cannot run here, or an empty string."""
        return super().problem() or (
            "" if machine.xla_works() else "this TensorFlow cannot compile with XLA for this processor"
        )

    def pad(self, inputs: Tensor, lengths: Tensor, kind: str) -> tuple[Tensor, Tensor]:
        """Return inputs and lengths in one of the few shapes that programs are compiled for.

        An LSTM layer's steps are padded once they are projected.
        """
        from dense_lstm_zoo.layers.recurrence.compiled import pad_to_few_shapes

        return pad_to_few_shapes(inputs, lengths, pads_time=kind != "layer")

    def lstm(self, *arguments: Any, **options: Any) -> list[Tensor]:
        """Run one direction of an LSTM."""
        from dense_lstm_zoo.layers.recurrence.compiled import compiled_lstm

        return compiled_lstm(*arguments, **options)

    def gated_skip(
        self,
        projected: Tensor,
        k: Tensor,
        lengths: Tensor,
        recurrent: Tensor,
        *,
        reverse: bool,
        step: Callable[..., Tensor],
    ) -> Tensor:
        """Run one direction of an LSTM with a gated skip to its output."""
        from dense_lstm_zoo.layers.recurrence.compiled_gated_skip import compiled_gated_outputs

        return compiled_gated_outputs(projected, k, lengths, recurrent, reverse, step)

    def steps(self, *arguments: Any, **options: Any) -> Tensor:
        """Run one direction of any recurrence."""
        from dense_lstm_zoo.layers.recurrence.compiled_steps import run_compiled_steps

        return run_compiled_steps(*arguments, **options)


COMPILED = Compiled()


class CompiledIfSmall(Compiled):
    """``compiled`` for predictions, except that an LSTM on a large batch runs as ``native``."""

    groups_layers = False  # joining the kernels of a group takes longer than predicting one text
    instead: ClassVar[Mapping[str, Kernel]] = {"steps": COMPILED}
    in_predictions = "for small batches, native for larger predictions"

    def pad(self, inputs: Tensor, lengths: Tensor, kind: str) -> tuple[Tensor, Tensor]:
        """Return inputs and lengths, padded if the batch is small."""
        from dense_lstm_zoo.layers.recurrence.compiled import SMALL_BATCH, pad_to_few_shapes

        return pad_to_few_shapes(inputs, lengths, SMALL_BATCH)

    def lstm(self, *arguments: Any, **options: Any) -> list[Tensor]:
        """Run one direction of an LSTM."""
        from dense_lstm_zoo.layers.recurrence.compiled import compiled_if_small_lstm

        return compiled_if_small_lstm(*arguments, **options)


COMPILED_IF_SMALL = CompiledIfSmall()


class Cudnn(Kernel):
    """Keras's LSTM, which runs cuDNN's on a GPU."""

    name = "cudnn"
    projects_inputs = True
    instead: ClassVar[Mapping[str, Kernel]] = {"lstm": NATIVE, "steps": PORTABLE}

    def problem(self) -> str:
        """Return why this kernel cannot run here, or an empty string."""
        return super().problem() or ("" if machine.has_gpu() else "TensorFlow sees no GPU")

    def lstm_of_inputs(self, *arguments: Any, **options: Any) -> list[Tensor]:
        """Run one direction of an LSTM including the projection of its inputs."""
        from dense_lstm_zoo.layers.recurrence.cudnn import cudnn_lstm

        return cudnn_lstm(*arguments, **options)


CUDNN = Cudnn()
