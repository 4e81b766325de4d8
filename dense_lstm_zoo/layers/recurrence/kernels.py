"""The kernels by name, and the one rule that picks one.

- ``portable``: ``keras.ops`` alone; every backend.
- ``native``: TensorFlow's own ops; nothing is compiled, so any shape starts at once, and an exported graph holds core
  ops only.
- ``compiled``: an XLA program a shape, with a backward pass of our own; the fastest where shapes return.
- ``cudnn``: Keras' LSTM, which is cuDNN's on a GPU.
- ``auto``: ``cudnn`` where TensorFlow sees a GPU, else ``compiled`` in training and for small batches, ``native`` for
  other predictions; ``portable`` on other backends.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers.recurrence.portable import portable_lstm
from dense_lstm_zoo.layers.recurrence.shapes import of_shape

KERNELS = ("auto", "portable", "native", "compiled", "cudnn")
Kernel = Callable[..., list[Any]]
Stack = Callable[[Any, Any, str], list[Any]]
# What runs in place of a kernel that a kind of loop does not have; see ``explain``, ``select`` and ``loop.run_steps``.
_INSTEAD: dict[str, dict[str, str]] = {
    "layer": {},
    "lstm": {"cudnn": "native"},
    "steps": {"cudnn": "portable", "native": "portable", "compiled_if_small": "compiled"},
}


def problem(kernel: str) -> str:
    """Return why ``kernel`` cannot run here, or an empty string."""
    if kernel in ("auto", "portable"):
        return ""
    if keras.config.backend() != "tensorflow":
        return f"it needs the TensorFlow backend, and Keras runs on {keras.config.backend()}"
    if kernel == "compiled" and not _xla_works():
        return "this TensorFlow cannot compile with XLA for this processor"
    if kernel == "cudnn" and not _has_gpu():
        return "TensorFlow sees no GPU"
    return ""


def check(kernel: str) -> str:
    """Return ``kernel`` if it can run here.

    Raises:
        ValueError: An unknown name, or a kernel that cannot run, with the reason and what would run.
    """
    checks.one_of("kernel", kernel, KERNELS)
    if reason := problem(kernel):
        raise ValueError(f"kernel={kernel!r} cannot run here: {reason}. Would run: {', '.join(runnable())}.")
    return kernel


def check_saved(kernel: str) -> str:
    """Return the kernel of a saved layer, or ``portable``, with a warning, where it cannot run on this machine."""
    if reason := problem(kernel):
        warnings.warn(f"A saved layer asks for kernel={kernel!r}; the portable one runs: {reason}.", stacklevel=2)
        return "portable"
    return kernel


def runnable() -> list[str]:
    """Return the kernels that can run here."""
    return [kernel for kernel in KERNELS if not problem(kernel)]


def explain(kernel: str, loop: str = "layer", *, in_training: bool = True) -> str:
    """Return which kernel runs for a layer with this setting, and why.

    Args:
        kernel: A name of ``KERNELS``.
        loop: ``layer`` is an LSTM layer that calls ``lstm``. ``lstm`` is an LSTM's cells whose inputs are projected
            before the kernel is picked, and ``steps`` cells of another kind, which ``loop.run_steps`` runs.
        in_training: Whether training counts; else what predictions run.
    """
    instead = _INSTEAD[loop]
    if kernel != "auto":
        runs = instead.get(kernel, kernel)
        return f"{kernel}: asked for" if runs == kernel else f"{runs}: {kernel} was asked for, which has no such cells"
    picked = _automatic(training=None)
    reasons = {
        "portable": f"Keras runs on {keras.config.backend()}",
        "cudnn": "TensorFlow sees a GPU" + (", and cuDNN's kernel cannot run these cells" if instead else ""),
        "native": "this TensorFlow cannot compile with XLA",
    }
    runs = instead.get(picked, picked)
    if runs == "compiled_if_small":
        runs = "compiled in training and for small batches" if in_training else "compiled for small batches"
        runs += ", native for larger predictions"
    return f"{runs}: {reasons.get(picked, 'there is no GPU')}"


def run_on_inputs(inputs: list[Any], lengths: Any, directions: list[Any], start: list[tuple[Any, Any]]) -> list[Any]:
    """Run the kernel that projects its inputs itself, for each direction with what it reads."""
    from dense_lstm_zoo.layers.recurrence.cudnn import cudnn_lstm

    return [
        cudnn_lstm(inputs[d], lengths, w.kernel, w.recurrent_kernel, w.bias, *start[d], reverse=bool(d))
        for d, w in enumerate(directions)
    ]


def select(kernel: str) -> Kernel:
    """Return the function that runs one direction of projected inputs."""
    if kernel == "portable":
        return portable_lstm
    from dense_lstm_zoo.layers.recurrence import compiled, native

    by_name = {"compiled": compiled.compiled_lstm, "compiled_if_small": compiled.compiled_if_small_lstm}
    return by_name.get(kernel, native.native_lstm)


def over_time(stack: Stack, inputs: Any, lengths: Any, kernel: str, training: bool | None) -> list[Any]:
    """Run one or more recurrent layers over batch-major inputs with the kernel that ``kernel`` stands for.

    This is the rule that picks a kernel, and the only place where a batch is turned around or padded for one.

    Args:
        stack: Called with time-major inputs [T, B, n], lengths and the picked kernel's name; returns time-major
            states [T, B, m] and, after them, states of one step [B, m], in one list.
        inputs: [B, T, n].
        lengths: [B], int32.
        kernel: A name of ``KERNELS``.
        training: Whether gradients will be asked for.

    Returns:
        What ``stack`` returned, batch-major, without padding.
    """
    kernel = _automatic(training) if kernel == "auto" else kernel
    num_steps, batch = ops.shape(inputs)[1], ops.shape(inputs)[0]
    static_batch, static_steps = inputs.shape[:2]
    inputs = unpadded = ops.transpose(inputs, (1, 0, 2))
    if kernel in ("compiled", "compiled_if_small"):
        from dense_lstm_zoo.layers.recurrence.compiled import pad_to_few_shapes

        inputs, lengths = pad_to_few_shapes(inputs, lengths)
    results = stack(inputs, lengths, kernel)
    if inputs is not unpadded:
        results = [x[:num_steps, :batch] if len(x.shape) == 3 else x[:batch] for x in results]
    # The slices, and programs for any time and batch, know neither.
    return [
        of_shape(ops.transpose(x, (1, 0, 2)), (static_batch, static_steps, x.shape[2]))
        if len(x.shape) == 3
        else of_shape(x, (static_batch, x.shape[1]))
        for x in results
    ]


def _automatic(training: bool | None) -> str:
    if keras.config.backend() != "tensorflow":
        return "portable"
    if _has_gpu():
        return "cudnn"
    if not _xla_works():
        return "native"
    return "compiled" if training else "compiled_if_small"


@functools.cache
def _has_gpu() -> bool:
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


@functools.cache
def _xla_works() -> bool:
    """Compile a product of two numbers: the only sure way to know."""
    import tensorflow as tf

    try:
        with tf.init_scope():  # also when a graph is being built
            return float(tf.function(lambda x: x * x, jit_compile=True)(tf.constant(2.0))) == 4.0
    except (tf.errors.OpError, ValueError, NotImplementedError):
        return False
