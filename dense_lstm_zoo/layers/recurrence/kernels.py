"""The kernels by name, and the rule that picks one.

- ``portable``: ``keras.ops`` alone, on every backend.
- ``native``: TensorFlow's own ops. Nothing is compiled, so any shape starts at once, and an exported graph holds only
  core ops.
- ``compiled``: an XLA program for each shape, with the project's own backward pass. The fastest if shapes recur.
- ``cudnn``: Keras's LSTM, which runs cuDNN's on a GPU.
- ``auto``: ``cudnn`` if TensorFlow sees a GPU. Else ``compiled`` in training and for small batches and ``native`` for
  other predictions, and ``portable`` on other backends.

Layers take and save a name. The objects in ``kernel_classes`` run the loops and explain the choice.
"""

from __future__ import annotations

import warnings

import keras

from dense_lstm_zoo import checks
from dense_lstm_zoo.layers.recurrence.kernel_classes import (
    COMPILED,
    COMPILED_IF_SMALL,
    CUDNN,
    NATIVE,
    PORTABLE,
    Kernel,
)

_BY_NAME = {kernel.name: kernel for kernel in (PORTABLE, NATIVE, COMPILED, CUDNN)}
KERNELS = ("auto", *_BY_NAME)


def pick(name: str, training: bool | None) -> Kernel:
    """Return the kernel that a layer with ``kernel=name`` runs.

    Args:
        name: A name of ``KERNELS``.
        training: Whether gradients are needed.
    """
    return _automatic(training)[0] if name == "auto" else _BY_NAME[name]


def problem(name: str) -> str:
    """Return why ``kernel=name`` cannot run here, or an empty string."""
    return "" if name == "auto" else _BY_NAME[name].problem()


def check(name: str) -> str:
    """Return ``name`` if that kernel can run here.

    Raises:
        ValueError: An unknown name, or a kernel that cannot run, with the reason and the kernels that can.
    """
    checks.one_of("kernel", name, KERNELS)
    if reason := problem(name):
        raise ValueError(f"kernel={name!r} cannot run here: {reason}. Accepted: {', '.join(runnable())}.")
    return name


def check_saved(name: str) -> str:
    """Return the kernel of a saved layer. If it cannot run on this machine, warn and return ``portable``.

    Raises:
        ValueError: An unknown name.
    """
    checks.one_of("kernel", name, KERNELS)
    if reason := problem(name):
        warnings.warn(f"A saved layer asks for kernel={name!r}; the portable kernel runs: {reason}.", stacklevel=2)
        return "portable"
    return name


def runnable() -> list[str]:
    """Return the names of the kernels that can run here."""
    return [name for name in KERNELS if not problem(name)]


def explain(name: str, loop: str = "layer", *, in_training: bool = True) -> str:
    """Return which kernel runs for a layer with ``kernel=name``, and why.

    Args:
        name: A name of ``KERNELS``.
        loop: The kind of loop, ``layer``, ``lstm`` or ``steps``. See ``Kernel``.
        in_training: Whether to include training. Otherwise only what predictions run.
    """
    if name != "auto":
        kernel = _BY_NAME[name]
        runs = kernel.for_loop(loop)
        return f"{name}: asked for" if runs is kernel else f"{runs.name}: {name} does not support these cells"
    picked, reason = _automatic(training=False)
    runs, trained = (kernel.for_loop(loop) for kernel in (picked, pick(name, training=True)))
    if picked is CUDNN and runs is not picked:
        reason += ", and cuDNN's kernel cannot run these cells"
    if in_training and trained is not runs:
        return f"{trained.name} in training and {runs.in_predictions}: {reason}"
    return f"{runs.name} {runs.in_predictions}".rstrip() + f": {reason}"


def _automatic(training: bool | None) -> tuple[Kernel, str]:
    """Return the kernel that ``auto`` selects, and why."""
    if NATIVE.problem():
        return PORTABLE, f"Keras runs on {keras.config.backend()}"
    if not CUDNN.problem():
        return CUDNN, "TensorFlow sees a GPU"
    if COMPILED.problem():
        return NATIVE, "this TensorFlow cannot compile with XLA"
    return COMPILED if training else COMPILED_IF_SMALL, "there is no GPU"
