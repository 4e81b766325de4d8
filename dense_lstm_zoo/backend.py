"""TensorFlow, for what runs on no other backend of Keras, and the error that the others get."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.display import notices
from dense_lstm_zoo.forks import check_not_forked
from dense_lstm_zoo.settings import check_settings

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["check_tensorflow", "tf"]


def check_tensorflow(users: str = "Language models, taggers and text") -> None:
    """Raise ``ValueError`` on a backend of Keras other than TensorFlow. ``users``, in the plural, need it."""
    check_not_forked()
    check_settings()
    # Of what TensorFlow's C++ code logs, this level hides all that comes after its start.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with contextlib.nullcontext() if "tensorflow" in sys.modules else notices.hidden():
        import keras  # and with it TensorFlow, if that is the backend
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            f"{users} run on Keras's TensorFlow backend only; received {keras.config.backend()!r}. Set "
            "KERAS_BACKEND=tensorflow before Keras is imported. Other backends run the layers, and classifiers that "
            "zoo.build makes and fit() trains on ids of your own."
        )


def __getattr__(name: str) -> Any:
    """Import TensorFlow when ``tf`` is first asked for, or say that this backend is another one."""
    if name != "tf":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_tensorflow()
    import tensorflow

    return tensorflow
